/* SPDX-License-Identifier: Apache-2.0 */
/* One bit for each fd that a process can have by the kernel's default (fs.nr_open). */
#include "base/fds.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "base/base.h"
#include "base/os.h"

#define WORD 64u

int files_apart;
int files_kept = -1;
static uint64_t ours[FILES_MOST / WORD]; /* atomics */
/* One past the highest fd ever claimed; files_claim only raises it. It only bounds
 * searches, so nothing depends on its order. */
static uint32_t end;

void files_claim(int fd)
{
	uint32_t now = load_relaxed(&end), n = (uint32_t)fd + 1;

	if ((unsigned)fd >= FILES_MOST)
		return;
	while (now < n && !cas_acq_rel(&end, &now, n))
		;
	fetch_or_acq_rel(&ours[(unsigned)fd / WORD], 1ull << ((unsigned)fd % WORD));
}

/* The bit first: once closed, the fd may be the program's. */
void files_drop(int fd)
{
	if (fd < 0)
		return;
	if ((unsigned)fd < FILES_MOST)
		fetch_and_acq_rel(&ours[(unsigned)fd / WORD],
				  ~(1ull << ((unsigned)fd % WORD)));
	sys1(SYS_close, fd);
}

static void *const no_memory = &files_apart;

void *files_high(void **high, unsigned fd, size_t size)
{
	size_t bytes = (FILES_MOST - FILES_LOW) * size;
	void *at, *was = NULL;

	if (fd >= FILES_MOST)
		return NULL;
	at = load_acquire(high);
	if (!at) {
		at = os_map(bytes);
		if (!at)
			at = no_memory;
		if (!cas_acq_rel(high, &was, at)) {
			if (at != no_memory)
				os_unmap(at, bytes);
			at = was;
		}
	}
	return at == no_memory ? NULL : (char *)at + (fd - FILES_LOW) * size;
}

void files_zeroed(void *low, size_t bytes, void **high)
{
	void *at = load_relaxed(high);

	sys3(SYS_madvise, low, bytes, MADV_DONTNEED);
	if (at && at != no_memory)
		sys3(SYS_madvise, at, bytes / FILES_LOW * (FILES_MOST - FILES_LOW),
		     MADV_DONTNEED);
}

bool files_raise(struct rlimit *was)
{
	struct rlimit most;

	if (sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, was) ||
	    was->rlim_cur >= was->rlim_max)
		return false;
	most = (struct rlimit){ was->rlim_max, was->rlim_max };
	return !sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, NULL);
}

void files_lower(const struct rlimit *was)
{
	sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, was, NULL);
}

int files_dup(int fd)
{
	long r = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FILES_HIGH);
	struct rlimit lim;

	if (r == -EINVAL && !sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim))
		r = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lim.rlim_cur / 2);
	if (r < 0)
		r = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
	if (r >= 0)
		files_claim((int)r);
	return (int)r;
}

void files_fork_child(void)
{
	unsigned fd = 0;

	for (; (fd = files_next(fd, FILES_MOST - 1)) < FILES_MOST; fd++)
		if ((int)fd != files_kept)
			files_drop((int)fd);
}

bool files_claimed(int fd)
{
	return (unsigned)fd < FILES_MOST &&
	       load_relaxed(&ours[(unsigned)fd / WORD]) >> ((unsigned)fd % WORD) & 1;
}

unsigned files_next(unsigned fd, unsigned last)
{
	while (fd <= last && fd < load_relaxed(&end)) {
		uint64_t w = load_relaxed(&ours[fd / WORD]) >> (fd % WORD);

		if (w) {
			fd += (unsigned)__builtin_ctzll(w);
			return fd <= last ? fd : last + 1;
		}
		fd = (fd / WORD + 1) * WORD;
	}
	return last + 1;
}
