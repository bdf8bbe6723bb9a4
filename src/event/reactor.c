/* SPDX-License-Identifier: Apache-2.0 */
/* Choice of the engine. Runs once per vp, on the thread that makes the vp. */
#include "event/reactor.h"

#include <string.h>

#include "base/panic.h"
#include "event/fdtab.h"

int reactor_dropped;
static bool
    forced; /* by whoever made the last vp: the environment is the same for all */

static int start(struct reactor *r, const struct reactor_ops *ops)
{
	int err;

	*r = (struct reactor){ .ops = ops, .fds = fdtab_create() };
	if (!r->fds)
		return -ENOMEM;
	err = ops->init(r);
	if (err) {
		fdtab_destroy(r->fds);
		*r = (struct reactor){ 0 };
	}
	return err;
}

int reactor_init(struct reactor *r, const char *want)
{
	int err;

	store_relaxed(&forced, want != NULL);
	if (want && !strcmp(want, "epoll"))
		return start(r, &epoll_ops);
	if (want && strcmp(want, "uring") && strcmp(want, "io_uring"))
		return -EINVAL;
	err = start(r, &uring_ops);
	if (!err || want)
		return err;
	store_relaxed(&reactor_dropped, err);
	return start(r, &epoll_ops);
}

int reactor_again(struct reactor *r)
{
	int err = r->ops->fork_child(r);

	if (!err || forced || r->ops != &uring_ops)
		return err;
	store_relaxed(&reactor_dropped, err);
	r->ops = &epoll_ops;
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
