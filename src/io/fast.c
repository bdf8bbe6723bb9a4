/* SPDX-License-Identifier: Apache-2.0 */
/* The whole path of a receive that finds its data, and of a send that finds space, from
 * the program's call to the kernel and back.
 *
 * The caller is a user thread outside the runtime, and stays outside: it makes one
 * system call that cannot block. Nothing of the runtime is touched, whatever happens to
 * its vp meanwhile. All else is done by io_recv and the like (sock.c, file.c), which
 * enter the runtime. tests/tools/fast.py counts what this costs. A list of a writev is
 * read here only after the kernel has, and so has checked it.
 *
 * A thread that makes only such calls would never let others run, so every QUICK_MOST
 * calls it goes the other way (sched_inline). */
#include "fd/known.h"
#include "io/io.h"

#define QUICK_MOST 64

/* No tail call: a dump of a thread that waits has the name of the program's call. */
#define FULL(call)                                                                     \
	({                                                                             \
		long full_ = (call);                                                   \
                                                                                       \
		__asm__ volatile("" : "+r"(full_));                                    \
		full_;                                                                 \
	})

/* Nothing says that t's call must do more than to ask the kernel. */
static inline bool may(struct uk_thread *t, const struct fd_state *s, size_t n)
{
	/* one by one: the compiler must not read `asked`, which others write, along with
	 * its neighbours */
	return likely(t && s) && load_relaxed(&t->kind) == THREAD_USER &&
	       !load_relaxed(&t->depth) && !load_relaxed(&t->asked) &&
	       t->deadline == TIME_NEVER && !load_relaxed(&s->ahead) &&
	       !load_relaxed(&reactor_serves) && t->quick < QUICK_MOST &&
	       n <= IO_MAX_LEN && !UK_HOSTILE;
}

/* A read of 0 bytes takes nothing, while a receive takes a datagram. */
static inline bool is_socket(int fd, size_t n)
{
	return n && known_ask(fd) & KNOWN_ALL;
}

/* The last receive filled its buffer, and no try has failed since: so there is more. */
static inline bool likely_more(const struct fd_state *s, unsigned kind)
{
	unsigned h = load_relaxed(&s->hints);

	return (h & (HINT_MORE | HINT_TRIES)) == HINT_MORE && h & kind;
}

/* Any other error is the answer: the kernel reports it once. */
static inline bool again(long r)
{
	return r == -EAGAIN || r == -EINTR;
}

/* As fd_life. */
static inline uint32_t life_of(const struct fd_state *s)
{
	return s ? (uint32_t)(load_seq_cst(&s->word) >> FD_LIFE) : 0;
}

static inline long receive(struct uk_thread *t, struct fd_state *s, int fd, void *buf,
			   size_t n)
{
	long r = sysn(SYS_recvfrom, fd, buf, n, MSG_DONTWAIT, NULL, NULL);

	if (unlikely(r < 0))
		return r;
	t->quick++;
	if ((size_t)r < n)
		store_relaxed(&s->hints, load_relaxed(&s->hints) & ~HINT_MORE);
	return r;
}

static inline long send_now(struct uk_thread *t, int fd, const void *buf, size_t n,
			    int flags)
{
	long r = sysn(SYS_sendto, fd, buf, n, flags | MSG_DONTWAIT, NULL, 0);

	t->quick++;
	return r;
}

ssize_t uk_recv(int fd, void *buf, size_t n, int flags)
{
	struct uk_thread *t = thread_self_tls;
	struct fd_state *s = fd_peek(fd);
	long r = -EAGAIN;

	if (!flags && may(t, s, n) && likely_more(s, HINT_SOCK))
		r = receive(t, s, fd, buf, n);
	return likely(!again(r)) ? r : FULL(io_recv(fd, buf, n, flags));
}

ssize_t uk_read(int fd, void *buf, size_t n)
{
	struct uk_thread *t = thread_self_tls;
	struct fd_state *s = fd_peek(fd);
	long r = -EAGAIN;

	if (may(t, s, n) && likely_more(s, HINT_STREAM) && is_socket(fd, n))
		r = receive(t, s, fd, buf, n);
	if (unlikely(r == -ENOTSOCK)) /* it was closed without our knowledge */
		known_forget(fd, KNOWN_ALL);
	return likely(!again(r) && r != -ENOTSOCK) ? r : FULL(io_read(fd, buf, n));
}

ssize_t uk_send(int fd, const void *buf, size_t n, int flags)
{
	struct uk_thread *t = thread_self_tls;
	struct fd_state *s = fd_peek(fd);
	uint32_t life = life_of(s);
	long r = 0;

	if (!(flags & ~(MSG_NOSIGNAL | MSG_MORE)) && may(t, s, n)) {
		r = send_now(t, fd, buf, n, flags);
		if (likely(r == (long)n))
			return r;
	}
	return FULL(io_send(fd, buf, n, flags, r, life));
}

ssize_t uk_write(int fd, const void *buf, size_t n)
{
	struct uk_thread *t = thread_self_tls;
	struct fd_state *s = fd_peek(fd);
	uint32_t life = life_of(s);
	long r;

	if (!may(t, s, n) || !is_socket(fd, n))
		return FULL(io_write(fd, buf, n));
	r = send_now(t, fd, buf, n, 0);
	if (likely(r == (long)n))
		return r;
	if (r != -ENOTSOCK)
		return FULL(io_send(fd, buf, n, 0, r, life));
	known_forget(fd, KNOWN_ALL);
	return FULL(io_write(fd, buf, n));
}

ssize_t uk_writev(int fd, const struct iovec *v, int n)
{
	struct uk_thread *t = thread_self_tls;
	struct fd_state *s = fd_peek(fd);
	uint32_t life = life_of(s);
	long r;

	if (!may(t, s, 0) || !is_socket(fd, 1) || load_relaxed(&s->hints) & HINT_NO_TRY)
		return FULL(io_writev(fd, v, n, 0, life));
	r = sysn(SYS_pwritev2, fd, v, n, -1, 0, RWF_NOWAIT);
	t->quick++;
	if (likely(r >= 0 ? (size_t)r == io_iov_len(v, (size_t)n)
			  : !again(r) && r != -EOPNOTSUPP))
		return r;
	return FULL(io_writev(fd, v, n, r, life));
}
