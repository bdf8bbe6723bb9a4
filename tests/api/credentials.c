/* SPDX-License-Identifier: Apache-2.0 */
/* setuid() and related calls, while user threads run: every kernel thread gets the new
 * credentials, and the call returns. Each case runs in its own process. */
#include <dirent.h>
#include <grp.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "uk/uk.h"

#define HOGS 2
#define NOBODY 65534u

static volatile int running, stop;

static void *hog(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST);
	while (!stop)
		;
	return NULL;
}

static void *sleeper(void *arg)
{
	(void)arg;
	while (!stop)
		uk_sleep(UK_MS / 4);
	return NULL;
}

static void *blocker(void *arg)
{
	(void)arg;
	while (!stop)
		usleep(300);
	return NULL;
}

/* The line `key` in the status file of each kernel thread must have `id`. */
static void all_have(const char *key, unsigned id)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	int tasks = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		char path[300], line[300];
		unsigned got[4] = { 0 };
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		while (fgets(line, sizeof(line), f)) {
			if (strncmp(line, key, strlen(key)) != 0)
				continue;
			sscanf(line + strlen(key), "%u %u %u %u", &got[0], &got[1],
			       &got[2], &got[3]);
			for (int i = 0; i < 4; i++)
				if (got[i] != id)
					fprintf(stderr, "%s: %s", e->d_name, line);
			CHECK(got[0] == id && got[1] == id && got[2] == id);
			tasks++;
		}
		fclose(f);
	}
	closedir(d);
	CHECK(tasks > 3);
}

static void crowd(uk_thread *t[], int *n)
{
	void *(*fn[])(void *) = { hog, sleeper, blocker };
	uk_thread_attr light;

	uk_thread_attr_init(&light);
	light.flags |= UK_THREAD_LIGHT;
	*n = 0;
	for (int i = 0; i < 3 * HOGS; i++)
		CHECK_EQ(uk_thread_create(&t[(*n)++], NULL, fn[i % 3], NULL), 0);
	CHECK_EQ(uk_thread_create(&t[(*n)++], &light, hog, NULL), 0);
	while (running < HOGS + 1)
		usleep(1000);
}

static void crowd_ends(uk_thread *t[], int n)
{
	stop = 1;
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void *change(void *arg)
{
	unsigned uid = getuid() ? getuid() : NOBODY, gid = getgid() ? getgid() : NOBODY;

	(void)arg;
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(setegid(getgid()), 0);
		CHECK_EQ(seteuid(getuid()), 0);
	}
	if (!getuid())
		CHECK_EQ(initgroups("nobody", gid), 0);
	CHECK_EQ(setresgid(gid, gid, gid), 0);
	all_have("Gid:", gid);
	CHECK_EQ(setuid(uid), 0);
	all_have("Uid:", uid);
	return NULL;
}

static void main_can_change_the_credentials(void)
{
	uk_thread *t[20];
	int n;

	crowd(t, &n);
	change(NULL);
	crowd_ends(t, n);
}

static void a_user_thread_can_change_the_credentials(void)
{
	uk_thread *t[20], *u;
	int n;

	crowd(t, &n);
	CHECK_EQ(uk_thread_create(&u, NULL, change, NULL), 0);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
	crowd_ends(t, n);
}

static void a_light_thread_can_change_the_credentials(void)
{
	uk_thread *t[20], *u;
	uk_thread_attr light;
	int n;

	uk_thread_attr_init(&light);
	light.flags |= UK_THREAD_LIGHT;
	crowd(t, &n);
	CHECK_EQ(uk_thread_create(&u, &light, change, NULL), 0);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
	crowd_ends(t, n);
}

/* Carriers are created, and full threads come and go meanwhile. */
static void *short_one(void *arg)
{
	(void)arg;
	usleep(100);
	return NULL;
}

static void *breeder(void *arg)
{
	uk_thread *u;

	(void)arg;
	while (!stop) {
		CHECK_EQ(uk_thread_create(&u, NULL, short_one, NULL), 0);
		CHECK_EQ(uk_thread_join(u, NULL), 0);
	}
	return NULL;
}

static void the_credentials_can_change_while_threads_come_and_go(void)
{
	uk_thread *t[40];
	int n = 0;

	for (; n < 30; n++)
		CHECK_EQ(uk_thread_create(&t[n], NULL, breeder, NULL), 0);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(setegid(getgid()), 0);
	change(NULL);
	crowd_ends(t, n);
}

static void *change_then_exit(void *arg)
{
	change(arg);
	_exit(0);
}

static void *fork_and_change(void *arg)
{
	int status;
	pid_t pid = fork();

	(void)arg;
	CHECK(pid >= 0);
	if (!pid) {
		/* our kernel thread was a carrier of the parent */
		uk_thread *t[20];
		pthread_t p;
		int n;

		running = 0;
		crowd(t, &n);
		CHECK_EQ(pthread_create(&p, NULL, change_then_exit, NULL), 0);
		for (;;)
			;
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	return NULL;
}

static void a_forked_child_of_a_user_thread_can_change_its_credentials(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, fork_and_change, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* The same before the child's runtime is rebuilt: it has only this kernel thread. */
static void *fork_and_change_at_once(void *arg)
{
	unsigned uid = getuid() ? getuid() : NOBODY;
	int status;
	pid_t pid = fork();

	(void)arg;
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(setuid(uid), 0);
		_exit(getuid() == uid && geteuid() == uid ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	return NULL;
}

static void a_forked_child_can_change_its_credentials_before_its_first_call(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, fork_and_change_at_once, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

static void apart(void (*fn)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		fn();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

#define RUN_APART(fn) RUN_AS(fn, apart(fn))

int main(void)
{
	if (SANITIZED)
		SKIP("the sanitizer's own threads disturb libc's broadcast");
	RUN_APART(main_can_change_the_credentials);
	RUN_APART(a_user_thread_can_change_the_credentials);
	RUN_APART(a_light_thread_can_change_the_credentials);
	RUN_APART(the_credentials_can_change_while_threads_come_and_go);
	RUN_APART(a_forked_child_can_change_its_credentials_before_its_first_call);
	RUN_APART(a_forked_child_of_a_user_thread_can_change_its_credentials);
	return 0;
}
