/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the engine. Runs once for each vp, on the thread that makes the vp. */
#include "reactor/reactor.h"

#include <string.h>

#include "base/log.h"
#include "reactor/engine.h"

int reactor_dropped;
/* The engine was forced (UK_REACTOR, valgrind). Written whenever a vp is made, always
 * with the same value. */
static bool forced;

static int start(struct reactor *r, const struct reactor_ops *ops, struct net_cpu *n)
{
	int err;

	*r = (struct reactor){ .ops = ops, .fds = fdtab_create(), .net_cpu = n };
	if (!r->fds)
		return -ENOMEM;
	late_init(r);
	err = ops->init(r);
	if (err) {
		fdtab_destroy(r->fds);
		*r = (struct reactor){ 0 };
	}
	return err;
}

static int start_epoll(struct reactor *r, struct net_cpu *n, int why)
{
	if (n)
		n->err = why;
	return start(r, &epoll_ops, n);
}

int reactor_init(struct reactor *r, const char *want, struct net_cpu *n)
{
	int err;

	store_relaxed(&forced, want != NULL);
	if (want && !strcmp(want, "epoll"))
		return start_epoll(r, n, -EOPNOTSUPP);
	if (want && strcmp(want, "uring") && strcmp(want, "io_uring"))
		return -EINVAL;
	err = start(r, &uring_ops, n);
	if (!err || want)
		return err;
	store_relaxed(&reactor_dropped, err);
	return start_epoll(r, n, err);
}

int reactor_again(struct reactor *r)
{
	int err = r->ops->fork_child(r);

	late_init(r);
	if (!err || forced || r->ops != &uring_ops)
		return err;
	store_relaxed(&reactor_dropped, err);
	r->ops = &epoll_ops;
	if (r->net_cpu)
		r->net_cpu->err = err;
	return r->ops->init(r);
}

void reactor_fini(struct reactor *r)
{
	if (!r->ops)
		return;
	r->ops->fini(r);
	fdtab_destroy(r->fds);
	*r = (struct reactor){ 0 };
}

bool reactor_peek_fd(const struct reactor *r, int fd)
{
	return fdtab_peek(r->fds, fd);
}
