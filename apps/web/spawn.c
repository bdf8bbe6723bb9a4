/* SPDX-License-Identifier: Apache-2.0 */
/* The three kinds of thread: the only file where the modes differ (with the one accept in
 * listen.c).
 *
 *   pth     a kernel thread for each connection, as ever
 *   uk      user threads in the default set, the acceptor among them
 *   uk-set  the acceptor alone in a set of one vp, blocking for real in accept(2); the
 *           connections in the default set (the founding paper's third server) */
#include "web.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static uk_vpset *acceptor_set;
static pthread_attr_t pth_attr;

const char *mode_name(void)
{
	return cfg.mode == MODE_PTH ? "pth" : cfg.mode == MODE_UK ? "uk" : "uk-set";
}

int spawn_init(void)
{
	char n[16];
	int rc;

	if (cfg.mode == MODE_PTH) {
		pthread_attr_init(&pth_attr);
		pthread_attr_setdetachstate(&pth_attr, PTHREAD_CREATE_DETACHED);
		return -pthread_attr_setstacksize(&pth_attr, cfg.stack);
	}
	if (cfg.vps) {
		snprintf(n, sizeof(n), "%u", cfg.vps);
		setenv("UK_VPS", n, 1);
	}
	rc = uk_init();
	if (rc == 0 && cfg.mode == MODE_UK_SET)
		rc = uk_vpset_create(&acceptor_set, "acceptor", 1, NULL, 0);
	return rc;
}

static int spawn(const char *name, uk_vpset *set, unsigned flags, void *(*fn)(void *),
		 void *arg)
{
	uk_attr a = UK_ATTR_INIT;
	pthread_t id;

	if (cfg.mode == MODE_PTH)
		return -pthread_create(&id, &pth_attr, fn, arg);
	a.stack_size = cfg.stack;
	a.set = set ? set : uk_vpset_default();
	a.name = name;
	a.flags = UK_ATTR_DETACHED | UK_ATTR_NOWAIT | flags;
	return uk_thread_create(NULL, &a, fn, arg);
}

int spawn_acceptor(void)
{
	return spawn("acceptor", acceptor_set, 0, acceptor_main, NULL);
}

int spawn_helper(const char *name, void *(*fn)(void *))
{
	return spawn(name, NULL, 0, fn, NULL);
}

int spawn_conn(struct ticket *t)
{
	return spawn("connection", NULL, cfg.light ? UK_ATTR_LIGHT : 0, conn_main, t);
}
