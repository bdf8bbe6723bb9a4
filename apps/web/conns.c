/* SPDX-License-Identifier: Apache-2.0 */
/* All live connections: how many there are, and which are idle.
 *
 * A connection's thread links and unlinks itself. main and the acceptors walk the list
 * to end idle connections (graceful stop, no fds left). To wake a thread from its read
 * in any mode, the socket is shut down for reading: data that arrived before is still
 * delivered, then comes end of file. A CAS changes the idle state, so a connection that
 * has just received a request is not touched. The fd is never used after its thread
 * closed it, because the thread unlinks itself first, under the same lock. */
#include "web.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uk_mutex lock = UK_MUTEX_INIT;
static uk_cond changed = UK_COND_INIT;
static struct conn *head, *tail; /* under lock */
static struct tally dead;        /* under lock: sums of the ended connections */
static unsigned places;          /* under lock: reserved or alive */
static unsigned linked;          /* under lock */
static bool waited;              /* under lock: a thread may wait on changed */

struct counters counters[SHARDS];
_Atomic(int) stopping;
_Atomic(int64_t) stop_by = UK_FOREVER;

int conns_enter(void)
{
	int rc = 0;

	uk_mutex_lock(&lock);
	while (places >= cfg.max_conns) {
		uk_time t = uk_after(100 * UK_MS);

		if (uk_now() >= atomic_load(&stop_by)) {
			rc = -ETIMEDOUT;
			break;
		}
		waited = true;
		uk_mutex_unlock(&lock);
		conns_close_idle(
		    1); /* full: close the one that has been idle longest */
		uk_mutex_lock(&lock);
		if (places >= cfg.max_conns)
			uk_cond_wait_until(&changed, &lock, t);
	}
	if (rc == 0)
		places++;
	uk_mutex_unlock(&lock);
	return rc;
}

void conns_leave(void)
{
	uk_thread_set_deadline(UK_FOREVER);
	uk_mutex_lock(&lock);
	places--;
	if (waited)
		uk_cond_broadcast(&changed);
	uk_mutex_unlock(&lock);
}

void conns_add(struct conn *c)
{
	uk_mutex_lock(&lock);
	c->next = head;
	c->prev = NULL;
	if (head)
		head->prev = c;
	else
		tail = c;
	head = c;
	linked++;
	uk_mutex_unlock(&lock);
}

static void add_tally(struct tally *sum, const struct tally *t)
{
	TALLY(sum, r2xx, atomic_load_explicit(&t->r2xx, memory_order_relaxed));
	TALLY(sum, cache_hits,
	      atomic_load_explicit(&t->cache_hits, memory_order_relaxed));
	TALLY(sum, bytes_sent,
	      atomic_load_explicit(&t->bytes_sent, memory_order_relaxed));
}

void conns_tally(struct tally *sum)
{
	uk_mutex_lock(&lock);
	add_tally(sum, &dead);
	for (struct conn *c = head; c; c = c->next)
		add_tally(sum, &c->s.tally);
	uk_mutex_unlock(&lock);
}

/* All bytes that it could send are sent, so its tally is final. */
void conns_remove(struct conn *c)
{
	uk_thread_set_deadline(UK_FOREVER);
	uk_mutex_lock(&lock);
	add_tally(&dead, &c->s.tally);
	if (c->prev)
		c->prev->next = c->next;
	else
		head = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		tail = c->prev;
	linked--;
	uk_mutex_unlock(&lock);
}

/* The places that the acceptors have reserved count, too, until the acceptors end. */
int conns_wait_none(uk_time deadline)
{
	int rc = 0;

	uk_mutex_lock(&lock);
	while (places && rc == 0) {
		waited = true;
		rc = uk_cond_wait_until(&changed, &lock, deadline);
	}
	uk_mutex_unlock(&lock);
	return rc;
}

static bool end_idle(struct conn *c)
{
	int idle = C_IDLE;

	if (!atomic_compare_exchange_strong(&c->state, &idle, C_ENDING))
		return false;
	uk_shutdown(c->s.fd, SHUT_RD);
	return true;
}

static bool is_fresh(const struct conn *c)
{
	return atomic_load_explicit(&c->requests, memory_order_relaxed) == 0;
}

/* The oldest connections are at the end of the list. */
unsigned conns_close_idle(unsigned max)
{
	unsigned n = 0;

	uk_mutex_lock(&lock);
	for (struct conn *c = tail; c && n < max; c = c->prev)
		n += !is_fresh(c) && end_idle(c);
	uk_mutex_unlock(&lock);
	return n;
}

unsigned conns_end_idle(bool fresh)
{
	unsigned n = 0;

	uk_mutex_lock(&lock);
	for (struct conn *c = head; c; c = c->next)
		n += (fresh || !is_fresh(c)) && end_idle(c);
	uk_mutex_unlock(&lock);
	return n;
}

unsigned conns_cut(void)
{
	unsigned n = 0;

	uk_mutex_lock(&lock);
	for (struct conn *c = head; c; c = c->next, n++)
		uk_shutdown(c->s.fd, SHUT_RDWR);
	uk_mutex_unlock(&lock);
	return n;
}

unsigned conns_each(int (*fn)(const struct conn *, void *), void *arg)
{
	unsigned n;

	uk_mutex_lock(&lock);
	n = linked;
	for (struct conn *c = head; c && fn(c, arg) == 0; c = c->next)
		;
	uk_mutex_unlock(&lock);
	return n;
}

void peer_text(const union peer *a, char out[INET6_ADDRSTRLEN])
{
	const struct in6_addr *six = &a->six.sin6_addr;

	strcpy(out, a->any.sa_family == AF_UNIX ? "unix:" : "-");
	if (a->any.sa_family == AF_INET)
		inet_ntop(AF_INET, &a->four.sin_addr, out, INET6_ADDRSTRLEN);
	else if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(six))
		inet_ntop(AF_INET, six->s6_addr + 12, out, INET6_ADDRSTRLEN);
	else if (a->any.sa_family == AF_INET6)
		inet_ntop(AF_INET6, six, out, INET6_ADDRSTRLEN);
}
