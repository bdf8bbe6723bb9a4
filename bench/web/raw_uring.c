/* SPDX-License-Identifier: Apache-2.0 */
/* raw_uring.c - the limit with io_uring: one kernel thread, multishot accept, multishot
 * recv into a ring of provided buffers, one io_uring_enter a pass, raw system calls.
 * raw_uring PORT [now|sqe]: replies by send(2) at once, or as operations of the ring.
 *
 * user_data is KIND << 32 | fd. With DEFER_TASKRUN, completions are made in this
 * thread's own enter call, so only this thread touches the ring. */
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "raw.h"

#define SQ_ENTRIES 4096u
#define CQ_ENTRIES 32768u
#define BUFS 4096u /* a power of two */
#define BUF_SIZE 512u

enum kind { ACCEPT = 1, RECV, SEND };

static int ring;
static unsigned *sq_head, *sq_tail, *cq_head, *cq_tail, sq_mask, cq_mask, pending;
static struct io_uring_sqe *sqes;
static struct io_uring_cqe *cqes;
static struct io_uring_buf_ring *bufs;
static char *buf_mem;
static unsigned short buf_tail;
static int send_now = 1;

static void enter(unsigned wait)
{
	long n = syscall(SYS_io_uring_enter, ring, pending, wait,
			 IORING_ENTER_GETEVENTS, NULL, 0);
	if (n >= 0)
		pending -= (unsigned)n;
	else if (errno != EINTR && errno != EBUSY && errno != EAGAIN)
		die("io_uring_enter", errno);
}

static struct io_uring_sqe *sqe_get(enum kind kind, int fd)
{
	while (*sq_tail - __atomic_load_n(sq_head, __ATOMIC_ACQUIRE) == SQ_ENTRIES)
		enter(0);
	struct io_uring_sqe *s = &sqes[*sq_tail & sq_mask];
	memset(s, 0, sizeof *s);
	s->fd = fd;
	s->user_data = (uint64_t)kind << 32 | (uint32_t)fd;
	__atomic_store_n(sq_tail, *sq_tail + 1, __ATOMIC_RELEASE);
	pending++;
	return s;
}

static void arm_accept(int fd)
{
	struct io_uring_sqe *s = sqe_get(ACCEPT, fd);
	s->opcode = IORING_OP_ACCEPT;
	s->ioprio = IORING_ACCEPT_MULTISHOT;
	s->accept_flags = SOCK_CLOEXEC;
}

static void arm_recv(int fd)
{
	struct io_uring_sqe *s = sqe_get(RECV, fd);
	s->opcode = IORING_OP_RECV;
	s->ioprio = IORING_RECV_MULTISHOT;
	s->flags = IOSQE_BUFFER_SELECT;
	s->buf_group = 0;
}

static void buf_give(unsigned id)
{
	struct io_uring_buf *b = &bufs->bufs[buf_tail & (BUFS - 1)];
	b->addr = (uint64_t)(uintptr_t)(buf_mem + (size_t)id * BUF_SIZE);
	b->len = BUF_SIZE;
	b->bid = (unsigned short)id;
	__atomic_store_n(&bufs->tail, ++buf_tail, __ATOMIC_RELEASE);
}

static void reply(int fd)
{
	if (send_now) {
		if (send(fd, small_reply, SMALL_LEN, MSG_DONTWAIT | MSG_NOSIGNAL) !=
		    (ssize_t)SMALL_LEN)
			shutdown(fd, SHUT_RDWR);
		return;
	}
	struct io_uring_sqe *s = sqe_get(SEND, fd);
	s->opcode = IORING_OP_SEND;
	s->addr = (uint64_t)(uintptr_t)small_reply;
	s->len = SMALL_LEN;
	s->msg_flags = MSG_NOSIGNAL;
}

static void received(int fd, const struct io_uring_cqe *c)
{
	if (c->res > 0) {
		unsigned id = c->flags >> IORING_CQE_BUFFER_SHIFT;
		if (request_whole(buf_mem + (size_t)id * BUF_SIZE, (size_t)c->res))
			reply(fd);
		else
			shutdown(fd, SHUT_RDWR);
		buf_give(id);
	}
	if (c->flags & IORING_CQE_F_MORE)
		return;
	if (c->res > 0 || c->res == -ENOBUFS)
		arm_recv(fd);
	else
		close(fd);
}

static void complete(const struct io_uring_cqe *c)
{
	int fd = (int)(uint32_t)c->user_data;
	switch ((enum kind)(c->user_data >> 32)) {
	case ACCEPT:
		if (c->res >= 0)
			arm_recv(c->res);
		if (!(c->flags & IORING_CQE_F_MORE))
			arm_accept(fd);
		break;
	case RECV:
		received(fd, c);
		break;
	case SEND:
		if (c->res != (int)SMALL_LEN)
			shutdown(fd, SHUT_RDWR);
		break;
	}
}

static void *map(size_t len, off_t off)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		       ring, off);
	if (p == MAP_FAILED)
		die("mmap", errno);
	return p;
}

static void setup(void)
{
	struct io_uring_params p = { .flags = IORING_SETUP_SINGLE_ISSUER |
					      IORING_SETUP_DEFER_TASKRUN |
					      IORING_SETUP_CQSIZE,
				     .cq_entries = CQ_ENTRIES };
	ring = (int)syscall(SYS_io_uring_setup, SQ_ENTRIES, &p);
	if (ring < 0)
		die("io_uring_setup", errno);
	char *sq =
	    map(p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	char *cq = map(p.cq_off.cqes + p.cq_entries * sizeof *cqes, IORING_OFF_CQ_RING);
	sqes = map(p.sq_entries * sizeof *sqes, IORING_OFF_SQES);
	sq_head = (unsigned *)(void *)(sq + p.sq_off.head);
	sq_tail = (unsigned *)(void *)(sq + p.sq_off.tail);
	sq_mask = *(unsigned *)(void *)(sq + p.sq_off.ring_mask);
	cq_head = (unsigned *)(void *)(cq + p.cq_off.head);
	cq_tail = (unsigned *)(void *)(cq + p.cq_off.tail);
	cq_mask = *(unsigned *)(void *)(cq + p.cq_off.ring_mask);
	cqes = (struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes);
	unsigned *array = (unsigned *)(void *)(sq + p.sq_off.array);
	for (unsigned i = 0; i < p.sq_entries; i++)
		array[i] = i;

	bufs = mmap(NULL, BUFS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	buf_mem = mmap(NULL, (size_t)BUFS * BUF_SIZE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct io_uring_buf_reg reg = { .ring_addr = (uint64_t)(uintptr_t)bufs,
					.ring_entries = BUFS,
					.bgid = 0 };
	if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_PBUF_RING, &reg, 1))
		die("register buffers", errno);
	for (unsigned i = 0; i < BUFS; i++)
		buf_give(i);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	send_now = argc < 3 || strcmp(argv[2], "sqe") != 0;
	int lfd = listen_on(atoi(argv[1]), 0);
	setup();
	arm_accept(lfd);
	for (;;) {
		enter(1);
		unsigned head = *cq_head,
			 tail = __atomic_load_n(cq_tail, __ATOMIC_ACQUIRE);
		for (; head != tail; head++) {
			struct io_uring_cqe c = cqes[head & cq_mask];
			__atomic_store_n(cq_head, head + 1, __ATOMIC_RELEASE);
			complete(&c);
		}
	}
}
