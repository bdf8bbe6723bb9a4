/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection for the hostile build; empty otherwise. Any thread. The generator's
 * state is one atomic word, so a seed fixes the sequence of decisions (not which thread
 * gets which). */
#include "reactor/hostile.h"

#if UK_HOSTILE
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/env.h"
#include "reactor/engine.h"

static uint64_t state; /* 0 = not seeded */

static void seed(void)
{
	uint64_t v = env_key_number(ENV_SEED, (uint64_t)sys_now()), old = 0;

	v = v ? v : 1;
	if (cas_relaxed(&state, &old, v))
		uk_warn("hostile build: UK_DEBUG=seed=%lu", (unsigned long)v);
}

/* splitmix64 */
uint64_t hostile_draw(void)
{
	uint64_t z;

	if (unlikely(!load_relaxed(&state)))
		seed();
	z = fetch_add_relaxed(&state, 0x9e3779b97f4a7c15u) + 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static bool one_in(unsigned n)
{
	return hostile_draw() % n == 0;
}

bool hostile_no_uring(void)
{
	return env_key_is(ENV_HOSTILE_URING, "refuse");
}

bool hostile_eintr(void)
{
	return one_in(16);
}

bool hostile_full(void)
{
	return one_in(32);
}

bool hostile_miss(void)
{
	return one_in(8);
}

bool hostile_eagain(const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_READ:
	case IO_WRITE:
	case IO_RECV:
	case IO_SEND:
	case IO_SEND_ZC:
	case IO_RECVMSG:
	case IO_SENDMSG:
	case IO_SENDMSG_ZC:
	case IO_ACCEPT:
		return one_in(16) && fd_nonblock(op->fd);
	default:
		return false;
	}
}

static bool is_stream(int fd)
{
	int type = 0;
	uint32_t len = sizeof(type);

	return sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_STREAM;
}

bool hostile_short(void)
{
	return !env_key_is(ENV_HOSTILE_SHORT, "no");
}

/* Byte streams may be short; files that keep message boundaries may not. */
static bool may_be_short(const struct io_op *op)
{
	struct stat st;

	if (!hostile_short())
		return false;
	switch ((enum io_kind)op->kind) {
	case IO_RECV:
	case IO_RECV_AHEAD:
	case IO_SEND:
	case IO_SEND_ZC:
		return !(op->flags & (MSG_WAITALL | MSG_PEEK | MSG_OOB)) &&
		       is_stream(op->fd);
	case IO_READ:
		return sys2(SYS_fstat, op->fd, &st) == 0 &&
		       (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode));
	case IO_WRITE:
		return sys2(SYS_fstat, op->fd, &st) == 0 && S_ISREG(st.st_mode);
	default:
		return false;
	}
}

uint32_t hostile_len(const struct io_op *op)
{
	if (op->len < 2 || !one_in(4) || !may_be_short(op))
		return op->len;
	return 1 + (uint32_t)(hostile_draw() % (op->len - 1));
}

static bool sends_or_receives(uint8_t kind)
{
	return (kind >= IO_RECV && kind <= IO_SENDMSG) || kind == IO_SEND_ZC ||
	       kind == IO_SENDMSG_ZC;
}

bool hostile_poll_first(const struct io_op *op)
{
	struct stat st;

	if (!op_events(op) || op->kind == IO_POLL || op->kind == IO_CONNECT ||
	    !one_in(4))
		return false;
	if (sends_or_receives(op->kind) && op->flags & MSG_DONTWAIT)
		return false; /* it must be answered at once */
	return sys2(SYS_fstat, op->fd, &st) == 0 &&
	       (S_ISSOCK(st.st_mode) || S_ISFIFO(st.st_mode));
}
#else
typedef int hostile_is_empty;
#endif
