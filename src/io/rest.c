/* SPDX-License-Identifier: Apache-2.0 */
/* The rest of a partial transfer. Where the kernel's blocking call continues by itself,
 * we make further operations for what is left. They share the first one's time limit
 * (op.until). Runs on the calling thread's stack, in the runtime. */
#include "io/io.h"

/* Take r bytes off the front. */
static void iov_advance(struct io_iov *io, size_t r)
{
	r += io->skip;
	while (io->n && r >= io->v->iov_len) {
		r -= io->v->iov_len;
		io->v++;
		io->n--;
	}
	io->skip = io->n ? r : 0;
}

size_t io_iov_len(const struct iovec *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = v[i].iov_len > SIZE_MAX - sum ? SIZE_MAX : sum + v[i].iov_len;
	return sum;
}

/* The next piece: the rest of a partly done element, else all remaining elements. */
static void next_piece(struct io_op *op, const struct io_op *first,
		       const struct io_iov *io, struct msghdr *m, int64_t off)
{
	*op = (struct io_op){ .kind = first->kind,
			      .fd = op->fd,
			      .was = op->was,
			      .held = op->held,
			      .listed = op->listed,
			      .below = op->below,
			      .parts = true,
			      .flags = first->flags & ~(uint32_t)MSG_FASTOPEN,
			      .off = off,
			      .until = op->until };
	if (io->skip || io->n == 1) {
		op->kind = io_calls[first->kind].one;
		op->addr = (const char *)io->v->iov_base + io->skip;
		op->len = (uint32_t)MIN(io->v->iov_len - io->skip, IO_MAX_LEN);
	} else if (first->kind == IO_RECVMSG || first->kind == IO_SENDMSG) {
		*m = (struct msghdr){ .msg_iov = (struct iovec *)(uintptr_t)io->v,
				      .msg_iovlen = io->n };
		op->addr = m;
		op->len = 1;
	} else {
		op->addr = io->v;
		op->len = (uint32_t)io->n;
	}
}

static long do_piece(struct uk_thread *t, struct io_op *op)
{
	bool read = op->kind == IO_READ || op->kind == IO_READV;

	if (read && op->off == IO_CURRENT)
		return io_block(t, op, IO_WHOLE);
	/* the last one took less than all: the file is full, or empty, now */
	op->tried = !read;
	return io_wait(t, op);
}

/* Continues in op what first has begun. */
static long pieces(struct uk_thread *t, const struct io_op *first, struct io_op *op,
		   struct io_iov *io, long r, uint32_t life)
{
	int64_t off = first->off;
	struct msghdr m;
	size_t done = 0;

	while (r > 0) {
		done += (size_t)r;
		if (off != IO_CURRENT)
			off += r;
		iov_advance(io, (size_t)r);
		if (!io->n || done >= IO_MAX_LEN || io_check(t) ||
		    !io_go_on(t, op, life))
			break;
		next_piece(op, first, io, &m, off);
		r = do_piece(t, op);
	}
	return done ? (long)done : r;
}

long io_rest(struct uk_thread *t, struct io_op *first, const struct iovec *v, size_t n,
	     long r, uint32_t life)
{
	struct io_iov io = { v, n, 0 };
	struct io_op op = { .until = first->until };

	io_take_over(&op, first);
	r = pieces(t, first, &op, &io, r, life);
	io_settle(&op);
	first->fd = op.fd;
	return r;
}
