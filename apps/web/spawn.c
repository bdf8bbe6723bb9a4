/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of thread. The modes differ only in this file and in the accepts of
 * accept.c.
 *
 *   pth     a kernel thread for each connection
 *   uk      user threads in the default set, the acceptors among them
 *   uk-set  each acceptor on its own vp of a separate set, really blocking in
 *           accept(2); the connections in the default set (the founding paper's third
 *           server)
 *   net     user threads in a set with a network processor, a kernel thread that does
 *           the socket calls of all of them; the vps are kept off its CPU. If the
 *           kernel refuses it, the set is an ordinary one, and the server says so */
#include "web.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NET_IDLE (20 * UK_MS) /* idle time until the network processor sleeps */
#define NET_POLL (50 * UK_US) /* how long it polls a queue of the interface at a time */

static uk_vpset *acceptor_set, *net_set;
static pthread_attr_t pth_attr;

const char *mode_name(void)
{
	static const char *const names[] = { "pth", "uk", "uk-set", "net" };

	return names[cfg.mode];
}

uk_vpset *spawn_set(void)
{
	return net_set ? net_set : uk_vpset_default();
}

static int make_net_set(void)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	cpu_set_t rest;
	int rc, has;

	a.name = "net";
	a.n = cfg.vps;
	a.flags = UK_VPSET_SQPOLL;
	a.net_cpu = cfg.net_cpu;
	a.idle = NET_IDLE;
	if (cfg.net_cpu >= 0 && !sched_getaffinity(0, sizeof(rest), &rest)) {
		CPU_CLR(cfg.net_cpu, &rest);
		a.mask = CPU_COUNT(&rest) ? &rest : NULL; /* NULL: the only CPU */
		a.napi = NET_POLL;
		a.napi_prefer = 1;
	}
	rc = uk_vpset_create_attr(&net_set, &a);
	has = rc ? rc : uk_vpset_sqpoll(net_set);
	if (rc == 0 && has < 0)
		say("no network processor: %s; continuing without it", strerror(-has));
	else if (rc == 0 && !cfg.quiet)
		say("note: --mode=net keeps network work off the CPUs of the program, but "
		    "--mode=uk serves more requests with the same CPUs");
	return rc;
}

int spawn_init(void)
{
	char n[16];
	int rc;

	if (cfg.mode == MODE_PTH) {
		pthread_attr_init(&pth_attr);
		pthread_attr_setdetachstate(&pth_attr, PTHREAD_CREATE_DETACHED);
		return -pthread_attr_setstacksize(&pth_attr, cfg.stack);
	}
	if (cfg.mode == MODE_NET) {
		setenv("UK_VPS", "1", 1); /* the default set is not used */
	} else if (cfg.vps) {
		snprintf(n, sizeof(n), "%u", cfg.vps);
		setenv("UK_VPS", n, 1);
	}
	rc = uk_init();
	if (rc == 0 && cfg.mode == MODE_UK_SET)
		rc = uk_vpset_create(&acceptor_set, "acceptor", n_listeners, NULL, 0);
	if (rc == 0 && cfg.mode == MODE_NET)
		rc = make_net_set();
	return rc;
}

static int spawn(const char *name, uk_vpset *set, unsigned flags, void *(*fn)(void *),
		 void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	pthread_t id;

	if (cfg.mode == MODE_PTH)
		return -pthread_create(&id, &pth_attr, fn, arg);
	a.stack_size = cfg.stack;
	a.set = set ? set : spawn_set();
	a.name = name;
	a.flags = UK_THREAD_DETACHED | UK_THREAD_NOWAIT | flags;
	return uk_thread_create(NULL, &a, fn, arg);
}

int spawn_acceptor(struct listener *l)
{
	return spawn("acceptor", acceptor_set, 0, acceptor_main, l);
}

int spawn_helper(const char *name, void *(*fn)(void *))
{
	return spawn(name, NULL, 0, fn, NULL);
}

/* Light: nothing that a connection calls keeps data in thread-local storage while it
 * waits (tls.c). A thread block for each would waste 5 KB, and memory for OpenSSL's
 * generators and malloc's caches. */
int spawn_conn(struct ticket *t)
{
	return spawn("connection", NULL, cfg.full ? 0 : UK_THREAD_LIGHT, conn_main, t);
}

static bool own_stack(char **base, size_t *size)
{
	pthread_attr_t a;
	void *p = NULL;
	bool ok;

	if (cfg.mode != MODE_PTH) {
		ok = uk_thread_stack(uk_thread_self(), &p, size) == 0;
	} else if (pthread_getattr_np(pthread_self(), &a) == 0) {
		ok = pthread_attr_getstack(&a, &p, size) == 0;
		pthread_attr_destroy(&a);
	} else {
		return false;
	}
	*base = p;
	return ok;
}

#define PAGE 4096u
#define CALLEES 1024u /* bytes below our frame that the calls here may use */

/* Give the part of the stack that only deeper calls used back to the system. */
__attribute__((noinline)) void spawn_trim_stack(void)
{
	uintptr_t end = (uintptr_t)__builtin_frame_address(0) - CALLEES;
	char *base;
	size_t size;

	/* The lowest page is the guard (pthreads keep theirs outside). */
	if (own_stack(&base, &size) && end - (uintptr_t)base < size &&
	    end - (uintptr_t)base > 2 * PAGE)
		madvise(base + PAGE,
			(end & ~(uintptr_t)(PAGE - 1)) - (uintptr_t)base - PAGE,
			MADV_DONTNEED);
}
