/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to block that the library does not wrap. Another thread of the same vp ends
 * each: if the vp stayed with the blocked thread, the test would hang. They are raw
 * system calls by an instruction of the program, locks inside libc, memory that another
 * thread provides (userfaultfd), a word that another process wakes, and files of a file
 * system that another thread serves (FUSE). All run on one vp. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <uk/uk.h>
#include <unistd.h>

#include "test.h"

#define BIG 65536u

static uk_thread_attr one = UK_THREAD_ATTR_INIT; /* the set has one vp */

static uk_thread *spawn(void *(*fn)(void *), void *arg)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, &one, fn, arg), 0);
	return t;
}

/* `blocks` runs first on the only vp; `ends` runs when `blocks` has lost it. */
static void one_ends_what_the_other_blocks_in(void *(*blocks)(void *),
					      void *(*ends)(void *), void *arg)
{
	uk_thread *a = spawn(blocks, arg), *b = spawn(ends, arg);

	CHECK_EQ(uk_thread_join(a, NULL), 0);
	CHECK_EQ(uk_thread_join(b, NULL), 0);
}

/* -- raw calls -- */

static long by_an_instruction(long nr, long a, void *b, long c)
{
	long r;

#ifdef __x86_64__
	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "0"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
#else
	r = syscall(nr, a, b, c);
#endif
	return r;
}

static void *reads(void *arg)
{
	const int *ends = arg;
	char c;

	CHECK_EQ(by_an_instruction(SYS_read, ends[0], &c, 1), 1);
	return NULL;
}

static void *writes(void *arg)
{
	const int *ends = arg;

	CHECK_EQ(write(ends[1], "x", 1), 1);
	return NULL;
}

static void a_raw_read_blocks_without_its_vp(void)
{
	int ends[2];

	CHECK_EQ(pipe(ends), 0);
	one_ends_what_the_other_blocks_in(reads, writes, ends);
	close(ends[0]);
	close(ends[1]);
}

static char name[300];

static void *opens_to_read(void *arg)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY);

	CHECK(fd >= 0);
	close(fd);
	return arg;
}

static void *opens_to_write(void *arg)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_WRONLY);

	CHECK(fd >= 0);
	close(fd);
	return arg;
}

static void an_open_of_a_fifo_blocks_without_its_vp(void)
{
	snprintf(name, sizeof(name), "/tmp/uk-act-fifo-%d", getpid());
	CHECK_EQ(mkfifo(name, 0600), 0);
	one_ends_what_the_other_blocks_in(opens_to_read, opens_to_write, NULL);
	unlink(name);
}

/* -- locks inside libc -- */

static FILE *locked;
static uint32_t holds;

static void *prints(void *arg)
{
	while (!__atomic_load_n(&holds, __ATOMIC_ACQUIRE))
		uk_yield();
	CHECK(fputs("x", locked) >= 0);
	return arg;
}

static void *holds_the_stream(void *arg)
{
	flockfile(locked);
	__atomic_store_n(&holds, 1, __ATOMIC_RELEASE);
	uk_sleep(5 * UK_MS);
	funlockfile(locked);
	return arg;
}

/* The owner of a stream is libc's thread, which a light thread does not have. */
static void a_stream_lock_blocks_without_its_vp(void)
{
	locked = fopen("/dev/null", "w");
	CHECK(locked);
	one_ends_what_the_other_blocks_in(prints, holds_the_stream, NULL);
	fclose(locked);
}

/* -- a word that another process wakes -- */

struct shared {
	uint32_t word, asked;
};

static void *waits_for_the_word(void *arg)
{
	struct shared *s = arg;

	while (!__atomic_load_n(&s->word, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &s->word, FUTEX_WAIT, 0, NULL, NULL, 0);
	return NULL;
}

static void *asks_for_it(void *arg)
{
	struct shared *s = arg;

	__atomic_store_n(&s->asked, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->asked, FUTEX_WAKE, 1, NULL, NULL, 0);
	return NULL;
}

static struct shared *shared;
static pid_t other;

/* Called before any user thread exists. */
static void begin_other(void)
{
	shared =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	other = fork();
	CHECK(other >= 0);
	if (other)
		return;
	while (!__atomic_load_n(&shared->asked, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &shared->asked, FUTEX_WAIT, 0, NULL, NULL, 0);
	__atomic_store_n(&shared->word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
	_exit(0);
}

static void a_futex_of_two_processes_blocks_without_its_vp(void)
{
	one_ends_what_the_other_blocks_in(waits_for_the_word, asks_for_it, shared);
	CHECK_EQ(waitpid(other, NULL, 0), other);
}

/* -- memory that another thread provides -- */

struct missing {
	int uffd;
	volatile char *page;
};

static void *touches(void *arg)
{
	const struct missing *m = arg;

	CHECK_EQ(*m->page, 'u');
	return NULL;
}

static void *brings(void *arg)
{
	static char page[4096] __attribute__((aligned(4096)));
	const struct missing *m = arg;
	struct uffd_msg msg;
	struct uffdio_copy c = { .src = (unsigned long)page, .len = sizeof(page) };

	memset(page, 'u', sizeof(page));
	CHECK_EQ(read(m->uffd, &msg, sizeof(msg)), sizeof(msg));
	c.dst = msg.arg.pagefault.address & ~UINT64_C(4095);
	CHECK_EQ(ioctl(m->uffd, UFFDIO_COPY, &c), 0);
	return NULL;
}

static void a_page_fault_blocks_without_its_vp(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct missing m = { .uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC) };

	if (m.uffd < 0) {
		puts("skipped the page fault: no userfaultfd here");
		return;
	}
	m.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	CHECK(m.page != MAP_FAILED);
	r.range.start = (unsigned long)m.page;
	r.range.len = 4096;
	CHECK_EQ(ioctl(m.uffd, UFFDIO_API, &api), 0);
	CHECK_EQ(ioctl(m.uffd, UFFDIO_REGISTER, &r), 0);
	one_ends_what_the_other_blocks_in(touches, brings, &m);
	close(m.uffd);
}

/* -- a file system that another thread serves: one file, "f", filled with 'f' -- */

static int fuse = -1;
static char folder[] = "/tmp/uk-act-fuse-XXXXXX";

/* If a process dies with a file of its own file system open, it waits for itself for
 * ever: the kernel closes the file and asks the file system. So a guard process forces
 * the unmount when the test dies. */
static pid_t guard;

static void begin_guard(void)
{
	pid_t test = getpid();
	sigset_t usr1;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	guard = fork();
	CHECK(guard >= 0);
	sigprocmask(SIG_UNBLOCK, guard ? &usr1 : &(sigset_t){ 0 }, NULL);
	if (guard)
		return;
	close(fuse);
	prctl(PR_SET_PDEATHSIG, SIGUSR1);
	if (getppid() == test)
		sigwaitinfo(&usr1, NULL);
	umount2(folder, MNT_FORCE);
	rmdir(folder);
	_exit(0);
}

/* Mounts in a private mount namespace, before any thread exists. */
static bool begin_fuse(void)
{
	char options[100];

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    !mkdtemp(folder))
		return false;
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=%d,group_id=%d", fuse, getuid(),
		 getgid());
	if (fuse >= 0 && !mount("uk", folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		begin_guard();
		return true;
	}
	rmdir(folder);
	return false;
}

static void reply(uint64_t unique, int error, const void *body, size_t n)
{
	static char out[BIG + 64];
	struct fuse_out_header h = { (uint32_t)(sizeof(h) + n), error, unique };

	memcpy(out, &h, sizeof(h));
	if (n)
		memcpy(out + sizeof(h), body, n);
	CHECK_EQ(write(fuse, out, h.len), h.len);
}

/* The kernel sends RELEASE and waits for nothing. By the time of the reply the file
 * system may have been unmounted, and the kernel have forgotten the request. */
static void reply_to_release(uint64_t unique)
{
	struct fuse_out_header h = { sizeof(h), 0, unique };

	if (write(fuse, &h, sizeof(h)) < 0)
		CHECK(errno == ENOENT || errno == ENODEV);
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){ .ino = node,
				   .size = node == 1 ? 0 : BIG,
				   .mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0644,
				   .nlink = 1,
				   .blksize = 4096 };
}

static void serve_read(const struct fuse_in_header *h, const struct fuse_read_in *in)
{
	static char bytes[BIG];

	memset(bytes, 'f', sizeof(bytes));
	reply(h->unique, 0, bytes, in->size < sizeof(bytes) ? in->size : sizeof(bytes));
}

/* Requests that the test does not need get -ENOSYS. FORGET and INTERRUPT need no
 * reply. */
static void serve(const struct fuse_in_header *h)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 31,
				      .max_write = BIG };
	struct fuse_entry_out entry = { .nodeid = 2, .attr = attributes(2) };
	struct fuse_attr_out attr = { .attr = attributes(h->nodeid) };
	struct fuse_open_out opened = { .fh = 1 };

	switch (h->opcode) {
	case FUSE_INIT:
		reply(h->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		reply(h->unique, 0, &entry, sizeof(entry));
		return;
	case FUSE_GETATTR:
		reply(h->unique, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
		reply(h->unique, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		serve_read(h, (const void *)(h + 1));
		return;
	case FUSE_FLUSH:
		reply(h->unique, 0, NULL, 0);
		return;
	case FUSE_RELEASE:
		reply_to_release(h->unique);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		reply(h->unique, -ENOSYS, NULL, 0);
	}
}

/* Serves until it is unmounted. */
static void *is_the_file_system(void *arg)
{
	static char in[2 * BIG] __attribute__((aligned(8)));

	for (;;) {
		ssize_t n = read(fuse, in, sizeof(in));

		if (n < 0 && (errno == EINTR || errno == ENOENT))
			continue;
		if (n < 0)
			break;
		serve((const void *)in);
	}
	CHECK_EQ(errno, ENODEV);
	return arg;
}

/* Looks up a name, opens the file, reads it by a plain call and by uk_pread, and maps
 * it. */
static void *uses_its_file(void *arg)
{
	char path[300], byte[100];
	struct stat st;
	const char *mapped;
	int fd;

	snprintf(path, sizeof(path), "%s/f", folder);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_size, BIG);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, byte, 1, 0), 1);
	CHECK_EQ(byte[0], 'f');
	CHECK_EQ(uk_pread(fd, byte, sizeof(byte), BIG / 2), sizeof(byte));
	CHECK_EQ(byte[99], 'f');
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	mapped = mmap(NULL, BIG, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(mapped != MAP_FAILED);
	CHECK_EQ(mapped[BIG - 1], 'f');
	munmap((void *)(uintptr_t)mapped, BIG);
	CHECK_EQ(uk_close(fd), 0);
	CHECK_EQ(umount2(folder, MNT_DETACH), 0);
	rmdir(folder);
	return arg;
}

static void a_fuse_file_blocks_without_its_vp(void)
{
	one_ends_what_the_other_blocks_in(uses_its_file, is_the_file_system, NULL);
	close(fuse);
	kill(guard, SIGUSR1);
	CHECK_EQ(waitpid(guard, NULL, 0), guard);
}

int main(void)
{
	bool mounted = begin_fuse();

	begin_other();
	CHECK_EQ(uk_vpset_create(&one.set, "one", 1, NULL, 0), 0);
	RUN(a_raw_read_blocks_without_its_vp);
	RUN(an_open_of_a_fifo_blocks_without_its_vp);
	if (!SANITIZED)
		RUN(a_stream_lock_blocks_without_its_vp);
	RUN(a_futex_of_two_processes_blocks_without_its_vp);
	RUN(a_page_fault_blocks_without_its_vp);
	if (mounted)
		RUN(a_fuse_file_blocks_without_its_vp);
	else
		puts("skipped the FUSE file: FUSE cannot be mounted here");
	return 0;
}
