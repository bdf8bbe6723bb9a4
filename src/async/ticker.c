/* SPDX-License-Identifier: Apache-2.0 */
/* Timers that send to a channel. Each is a light thread, which sleeps and sends as any
 * thread does: a full channel delays it, and select works.
 *
 * Rejected: sending from the dispatcher, which fires timers (it cannot wait for space,
 * so elements would be lost, and it would touch the program's memory).
 */
#include <stdlib.h>
#include <string.h>

#include "async/async.h"
#include "sync/chan.h"
#include "uk/thread.h"
#include "uk/time.h"

struct uk_timer {
	uk_thread *thread;
	uk_chan *chan;
	uk_time at, period;
	char elem[];
};

/* The first of the times at, at + period, ... that is not over. */
static uk_time next_time(const uk_timer *t, uk_time now)
{
	return t->at > now ? t->at
			   : t->at + ((now - t->at) / t->period + 1) * t->period;
}

static void *ticks(void *arg)
{
	uk_timer *t = arg;

	while (!uk_sleep_until(t->at) && !uk_chan_send(t->chan, t->elem) && t->period)
		t->at = next_time(t, uk_now());
	return NULL;
}

int uk_timer_start(uk_timer **out, uk_chan *c, const void *elem, uk_time at,
		   uk_time period)
{
	uk_timer *t;
	int r;

	if (!out || !c || (c->elem && !elem) || period < 0)
		return -EINVAL;
	t = malloc(sizeof(*t) + c->elem);
	if (!t)
		return -ENOMEM;
	*t = (uk_timer){ .chan = c, .at = at, .period = period };
	if (elem)
		memcpy(t->elem, elem, c->elem);
	r = helper_thread(&t->thread, "timer", ticks, t);
	if (r)
		free(t);
	else
		*out = t;
	return r;
}

void uk_timer_stop(uk_timer *t)
{
	if (!t)
		return;
	helper_end(t->thread);
	free(t);
}
