/* SPDX-License-Identifier: Apache-2.0 */
/* The state of an fd (fd/fd.h) without the calls that use it: lives, counts, the
 * table's limits, what a fork's child keeps, and which fds are the runtime's own. */
#include "fd/fd.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd/hint.h"
#include "test.h"

enum { FD = 700, HIGH = 5 * FD_CHUNK + 7, UNTRACKED = FD_MOST };

static void a_request_is_bound_in_its_own_life_only(void)
{
	uint32_t life = fd_life(FD);

	CHECK(fd_bind(FD, life));
	CHECK(fd_end_life(FD));
	CHECK_EQ(fd_life(FD), life + 1);
	CHECK(!fd_bind(FD, life));
	fd_unbind(FD);
	CHECK(!fd_end_life(FD));
}

static void users_and_lives_do_not_touch_each_other(void)
{
	uint32_t life = fd_life(HIGH);

	fd_claim(HIGH);
	fd_use(HIGH);
	fd_use(HIGH);
	CHECK(fd_used(HIGH));
	fd_end_life(HIGH);
	CHECK_EQ(fd_life(HIGH), life + 1);
	fd_unuse(HIGH);
	CHECK(fd_used(HIGH));
	fd_unuse(HIGH);
	CHECK(!fd_used(HIGH));
	CHECK(fd_is_ours(HIGH));
	CHECK_EQ(fd_life(HIGH), life + 1);
	fd_at(HIGH)->word |= ~UINT64_C(0) << FD_LIFE; /* the last of all lives */
	fd_end_life(HIGH);
	CHECK_EQ(fd_life(HIGH), 0);
	CHECK(fd_is_ours(HIGH) && !fd_used(HIGH));
	fd_drop(HIGH);
	CHECK(!fd_is_ours(HIGH));
}

static void an_untracked_fd_is_harmless(void)
{
	static const int fds[] = { -1, INT_MIN, UNTRACKED, INT_MAX };

	for (unsigned i = 0; i < array_size(fds); i++) {
		int fd = fds[i];

		fd_use(fd);
		CHECK(!fd_used(fd));
		fd_unuse(fd);
		CHECK(fd_bind(fd, 5));
		fd_unbind(fd);
		CHECK(!fd_end_life(fd) && fd_life(fd) == 0);
		fd_hint_set(fd, HINT_FILE);
		CHECK_EQ(fd_hint(fd), 0);
		fd_claim(fd);
		CHECK(!fd_is_ours(fd) && !fd_is_ahead(fd));
		CHECK(fd_try(fd, FD_SENDING) && !fd_try(fd, FD_SENDING));
		CHECK(fd_try(fd, FD_TICKING));
		fd_done(fd, FD_SENDING | FD_TICKING);
	}
}

/* The table's chunk cannot be mapped: once for all, although there is memory later. */
static void an_fd_without_memory_stays_untracked(void)
{
	struct rlimit was, none = { 0, 0 };
	int fd = 9 * FD_CHUNK;

	CHECK(!getrlimit(RLIMIT_AS, &was));
	none.rlim_max = was.rlim_max;
	CHECK(!setrlimit(RLIMIT_AS, &none));
	fd_use(fd);
	CHECK(!setrlimit(RLIMIT_AS, &was));
	CHECK(!fd_at(fd) && !fd_used(fd));
	fd_unuse(fd);
	CHECK(!fd_used(fd + 1));
	CHECK(fd_at(fd + FD_CHUNK));
}

static void a_child_has_no_users_of_its_fds(void)
{
	struct fd_state *s = fd_at(HIGH);
	uint32_t life = fd_life(HIGH);

	fd_use(HIGH);
	CHECK(fd_bind(HIGH, life) && fd_try(HIGH, FD_ACCEPTING));
	s->foreign = 1;
	s->heir = 1;
	fd_hint_set(HIGH, HINT_STREAM);
	fd_claim(HIGH);
	fd_fork_child();
	CHECK(!fd_used(HIGH) && !s->bound && !s->foreign && !s->heir && !s->busy);
	CHECK_EQ(fd_life(HIGH), life);
	CHECK(fd_is_ours(HIGH) && fd_hint(HIGH) == HINT_STREAM);
	fd_drop(HIGH);
	fd_hint_set(HIGH, 0);
}

static void our_own_fds_are_found_in_order(void)
{
	int low = open("/dev/null", O_RDONLY | O_CLOEXEC), a, b;

	CHECK(low >= 0);
	a = fd_dup(low);
	b = fd_dup(low);
	CHECK(a >= FD_HIGH && b > a && fd_is_ours(a) && fd_is_ours(b));
	fd_claim(a); /* a second claim changes nothing */
	CHECK_EQ(fd_next_ours(0, FD_MOST - 1), a);
	CHECK_EQ(fd_next_ours((unsigned)a + 1, FD_MOST - 1), b);
	CHECK_EQ(fd_next_ours((unsigned)a + 1, (unsigned)a + 1),
		 b == a + 1 ? a + 1 : a + 2);
	CHECK_EQ(fd_next_ours((unsigned)b + 1, FD_MOST - 1), FD_MOST);
	CHECK_EQ(fd_next_ours(0, UINT_MAX), a);
	CHECK_EQ(fd_next_ours((unsigned)b + 1, UINT_MAX), 0);
	CHECK_EQ(fd_next_ours(3, 3), 4);
	fd_drop(a);
	CHECK(!fd_is_ours(a) && fcntl(a, F_GETFD) < 0);
	fd_drop_all();
	CHECK(!fd_is_ours(b) && fcntl(b, F_GETFD) < 0);
	CHECK_EQ(fd_next_ours(0, FD_MOST - 1), FD_MOST);
	close(low);
}

int main(void)
{
	RUN(a_request_is_bound_in_its_own_life_only);
	RUN(users_and_lives_do_not_touch_each_other);
	RUN(an_untracked_fd_is_harmless);
	RUN(an_fd_without_memory_stays_untracked);
	RUN(a_child_has_no_users_of_its_fds);
	RUN(our_own_fds_are_found_in_order);
	return 0;
}
