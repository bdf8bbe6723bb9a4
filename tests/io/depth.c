/* SPDX-License-Identifier: Apache-2.0 */
/* How much of its thread's stack a waiting call uses, because an idle connection keeps
 * this memory. With the program's frames and the colour (offset) of the stack it must
 * fit into one page: a buffer of 1 KB in the frame below uk_recv() gave every eighth
 * connection a second page. */
#include "iotest.h"

#include <stddef.h>

#define LIMIT 1500
#define DEEP 8192u
#define PAINT 0xa5

struct reader {
	int fd;
	ssize_t (*call)(int fd, char *byte);
	_Atomic(bool) ready; /* the next call is measured */
	ptrdiff_t depth;
};

static ssize_t by_recv(int fd, char *byte)
{
	return uk_recv(fd, byte, 1, 0);
}

static ssize_t by_read(int fd, char *byte)
{
	return uk_read(fd, byte, 1);
}

/* Fills the stack below the caller, and stores its lowest address. */
static __attribute__((noinline)) void paint(uintptr_t *lowest)
{
	volatile unsigned char below[DEEP];

	for (size_t i = 0; i < DEEP; i++)
		below[i] = PAINT;
	*lowest = (uintptr_t)below;
}

static __attribute__((noinline)) void *reader(void *arg)
{
	struct reader *r = arg;
	uintptr_t top = (uintptr_t)__builtin_frame_address(0), p;
	char byte = 0;

	CHECK_EQ(r->call(r->fd, &byte), 1); /* creates what is created once */
	paint(&p);
	r->ready = true;
	CHECK_EQ(r->call(r->fd, &byte), 1);
	while (p < top && *(volatile unsigned char *)p == PAINT)
		p++;
	r->depth = (ptrdiff_t)(top - p);
	return NULL;
}

static int is_parked(const uk_thread_info *i, void *arg)
{
	const uint64_t *id = arg;

	return i->id == *id && !strcmp(i->state, "parked");
}

static void one(ssize_t (*call)(int, char *), bool ahead, const char *what)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	struct reader r = { .call = call };
	uk_thread *t;
	uint64_t id;
	int s[2];

	make_tcp(s, 0);
	r.fd = s[0];
	if (ahead)
		CHECK_EQ(uk_recv_ahead(s[0]), 0);
	a.flags = UK_THREAD_LIGHT;
	CHECK_EQ(uk_thread_create(&t, &a, reader, &r), 0);
	id = uk_thread_id(t);
	UNTIL(uk_thread_each(is_parked, &id, sizeof(uk_thread_info)));
	CHECK_EQ(uk_send(s[1], "a", 1, MSG_NOSIGNAL), 1);
	UNTIL(r.ready);
	UNTIL(uk_thread_each(is_parked, &id, sizeof(uk_thread_info)));
	CHECK_EQ(uk_send(s[1], "b", 1, MSG_NOSIGNAL), 1);
	join(t);
	printf("%s: %td bytes\n", what, r.depth);
	CHECK(r.depth > 100 && r.depth < LIMIT);
	CHECK_EQ(uk_close(s[0]), 0);
	CHECK_EQ(uk_close(s[1]), 0);
}

static void a_wait_for_bytes_uses_little_stack(void)
{
	one(by_recv, false, "uk_recv");
	one(by_recv, true, "uk_recv, ahead");
	one(by_read, false, "uk_read");
}

int main(void)
{
	io_test_init(HANG_SEC);
	if (SANITIZED || UK_HOSTILE)
		SKIP("the frames of this build are larger");
	USER(a_wait_for_bytes_uses_little_stack);
	return 0;
}
