/* SPDX-License-Identifier: Apache-2.0 */
/* A start that gets no memory or no kernel thread returns an error and leaves nothing
 * behind, and a later start may succeed. The tests refuse each system call that asks
 * the kernel for a resource, one after another. */
#include <dirent.h>
#include <sys/resource.h>
#include <uk/uk.h>

#include "inject.h"
#include "sched/vp.h"
#include "thread/tls.h"

static const char *method; /* of making thread blocks, if nothing is refused */
static const char *engine;

static unsigned entries(const char *dir)
{
	unsigned n = 0;
	DIR *d = opendir(dir);

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* The open files, a line each, so that a failure can print the difference. */
struct files {
	unsigned n;
	char what[16384];
};

static void look_at_files(struct files *f)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	size_t at = 0;

	CHECK(d);
	f->n = 0;
	while ((e = readdir(d))) {
		char to[200] = "";

		f->n++;
		if (readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1) > 0 &&
		    at < sizeof(f->what) - 500)
			at += (size_t)sprintf(f->what + at, "%s %s\n", e->d_name, to);
	}
	f->what[at] = 0;
	closedir(d);
}

static void files_are_as(const struct files *before)
{
	struct files now;

	look_at_files(&now);
	if (now.n != before->n)
		fprintf(stderr, "before:\n%snow:\n%s", before->what, now.what);
	CHECK_EQ(now.n, before->n);
}

/* Threads that were joined may stay in /proc for a moment. */
static void until_alone(void)
{
	while (entries("/proc/self/task") > 3)
		sched_yield();
}

static int p[2];

static void *writes(void *arg)
{
	CHECK_EQ(uk_sleep(UK_MS), 0);
	CHECK_EQ(uk_write(p[1], "x", 1), 1);
	return arg;
}

static void works(void)
{
	uk_thread *t[8];
	char c;

	CHECK_EQ(pipe(p), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, writes, NULL), 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(uk_read(p[0], &c, 1), 1);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static bool is_shortage(int r)
{
	return r == -ENOMEM || r == -EAGAIN;
}

/* ---- each call refused ---- */

static void starts(void)
{
	struct files files;
	int r;

	look_at_files(&files);
	inject_mark();
	r = uk_init();
	inject_mark();
	if (r) {
		CHECK(is_shortage(r));
		until_alone();
		files_are_as(&files);
		CHECK(!vpset_default && !vp_count_all);
		CHECK_EQ(uk_init(), 0);
	}
	if (method) {
		CHECK(!strcmp(tls_method(), method));
		/* without UK_REACTOR, a refused call for the ring means epoll */
		CHECK(!getenv("UK_REACTOR") || !strcmp(uk_reactor_name(), engine));
	}
	works();
}

static void makes_a_set(void)
{
	struct files files;
	uk_vpset *s;
	uint32_t vps;
	int r;

	CHECK_EQ(uk_init(), 0);
	works();
	look_at_files(&files);
	vps = vp_count_all;
	inject_mark();
	r = uk_vpset_create(&s, "more", 3, NULL, UK_VPSET_NET | UK_VPSET_IO);
	inject_mark();
	if (r) {
		CHECK(is_shortage(r));
		files_are_as(&files);
		CHECK_EQ(vp_count_all, vps);
		CHECK_EQ(uk_vpset_create(&s, "more", 3, NULL, 0), 0);
		CHECK_EQ(vp_count_all, vps + 3);
	}
	works();
}

static unsigned refuse(unsigned nth, bool all, void (*body)(void))
{
	struct inject in = { .nth = nth, .all = all };
	int status = inject_run(&in, body);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("ptrace is not permitted here");
	if (status)
		fprintf(stderr, "call %u%s refused\n", nth,
			all ? " and all later ones" : "");
	CHECK_EQ(status, 0);
	return in.asked;
}

static void each_refused(void (*body)(void))
{
	unsigned n = refuse(0, false, body), step = n / 150 + 1;

	CHECK(n > 5);
	for (unsigned i = 1; i <= n; i += step) {
		refuse(i, false, body);
		refuse(i, true, body);
	}
	printf("(%u calls)\n", n);
}

static void a_start_succeeds_or_leaves_nothing_whatever_call_is_refused(void)
{
	each_refused(starts);
}

static void a_set_is_created_or_leaves_nothing_whatever_call_is_refused(void)
{
	each_refused(makes_a_set);
}

/* ---- limits ---- */

static void in_a_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		body();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void soft_limit(int what, rlim_t n)
{
	struct rlimit rl;

	CHECK_EQ(getrlimit(what, &rl), 0);
	rl.rlim_cur = n == RLIM_INFINITY ? rl.rlim_max : MIN(n, rl.rlim_max);
	CHECK_EQ(setrlimit(what, &rl), 0);
}

static void with_few_threads(void)
{
	if (!getuid())
		CHECK_EQ(setuid(65534), 0);
	soft_limit(RLIMIT_NPROC, 1);
	CHECK_EQ(uk_init(), -EAGAIN);
	until_alone();
	CHECK_EQ(uk_init(), -EAGAIN);
	soft_limit(RLIMIT_NPROC, RLIM_INFINITY);
	CHECK_EQ(uk_init(), 0);
	works();
}

static void a_start_fails_if_the_user_may_create_no_thread(void)
{
	in_a_child(with_few_threads);
}

static size_t address_space(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f);
	CHECK_EQ(fscanf(f, "%zu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

static void with_little_memory(void)
{
	size_t now = address_space();
	int failed = 0;

	for (size_t more = 0; more < 64; more++) {
		soft_limit(RLIMIT_AS, now + (more << 19));
		if (!uk_init())
			break;
		failed++;
		until_alone();
	}
	CHECK(failed > 0);
	soft_limit(RLIMIT_AS, RLIM_INFINITY);
	CHECK_EQ(uk_init(), 0);
	works();
}

static void a_start_succeeds_once_the_address_space_suffices(void)
{
	in_a_child(with_little_memory);
}

static uk_sem sem = UK_SEM_INIT(0);
static uk_mutex mutex = UK_MUTEX_INIT;
static uk_rwlock rwlock = UK_RWLOCK_INIT;

/* The first call starts the runtime, and returns the error if it can return one. */
static void calls_of_all_kinds(void)
{
	uk_thread *t;
	char c;

	soft_limit(RLIMIT_AS, 4096);
	CHECK(is_shortage(uk_thread_create(&t, NULL, writes, NULL)));
	CHECK(is_shortage(uk_sleep(1)));
	CHECK(is_shortage((int)uk_read(0, &c, 1)));
	CHECK(is_shortage((int)uk_recv(0, &c, 1, 0)));
	CHECK(is_shortage(uk_socket(1, 1, 0)));
	CHECK(is_shortage(uk_open("/dev/null", 0, 0)));
	CHECK(is_shortage(uk_wait_fd(0, 1, 0)));
	CHECK(is_shortage(uk_sem_wait(&sem)));
	CHECK(is_shortage(uk_thread_limit(10)));
	CHECK(is_shortage(uk_mutex_lock(&mutex)));
	CHECK(is_shortage(uk_mutex_trylock(&mutex)));
	CHECK(is_shortage(uk_rwlock_wrlock(&rwlock)));
	CHECK(is_shortage(uk_rwlock_trywrlock(&rwlock)));
	soft_limit(RLIMIT_AS, RLIM_INFINITY);
	CHECK_EQ(uk_sleep(1), 0);
	CHECK_EQ(uk_mutex_lock(&mutex), 0);
	CHECK_EQ(uk_mutex_unlock(&mutex), 0);
	CHECK_EQ(uk_rwlock_wrlock(&rwlock), 0);
	CHECK_EQ(uk_rwlock_unlock(&rwlock), 0);
	works();
}

static void the_first_call_returns_the_error_of_the_start(void)
{
	in_a_child(calls_of_all_kinds);
}

static void as_it_is(void)
{
	CHECK_EQ(uk_init(), 0);
	/* the library has the same address in later children */
	CHECK_EQ(write(p[1], &(const char *){ tls_method() }, sizeof(method)),
		 sizeof(method));
	CHECK_EQ(write(p[1], &(const char *){ uk_reactor_name() }, sizeof(engine)),
		 sizeof(engine));
}

int main(void)
{
	if (SANITIZED)
		SKIP("a sanitizer's runtime asks for memory itself");
	RUN(a_start_fails_if_the_user_may_create_no_thread);
	RUN(a_start_succeeds_once_the_address_space_suffices);
	RUN(the_first_call_returns_the_error_of_the_start);
#if !defined(__x86_64__)
	SKIP("system calls can be refused on x86-64 only");
#endif
	CHECK_EQ(pipe(p), 0);
	in_a_child(as_it_is);
	CHECK_EQ(read(p[0], &method, sizeof(method)), sizeof(method));
	CHECK_EQ(read(p[0], &engine, sizeof(engine)), sizeof(engine));
	RUN(a_start_succeeds_or_leaves_nothing_whatever_call_is_refused);
	RUN(a_set_is_created_or_leaves_nothing_whatever_call_is_refused);
	return 0;
}
