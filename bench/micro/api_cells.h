/* SPDX-License-Identifier: Apache-2.0 */
/* api_cells.h - gate and channel for an API that has neither, made of a condition variable
 * in the textbook way. The header that includes this one defines struct condition: a
 * condition variable and, where threads are preempted, its mutex. */
#ifndef API_CELLS_H
#define API_CELLS_H

static struct condition gate_condition; /* run() initialises it */
static int gate;
static long arrived;

static inline void gate_close(void)
{
	gate = 0;
	arrived = 0;
}

static inline void gate_wait(void)
{
	condition_enter(&gate_condition);
	arrived++;
	while (!gate)
		condition_wait(&gate_condition);
	condition_leave(&gate_condition);
}

static inline long gate_arrived(void)
{
	condition_enter(&gate_condition);
	long n = arrived;
	condition_leave(&gate_condition);
	return n;
}

static inline void gate_open(void)
{
	condition_enter(&gate_condition);
	gate = 1;
	condition_wake_all(&gate_condition);
	condition_leave(&gate_condition);
}

struct cell {
	struct condition changed; /* senders and receivers wait for it: wake all */
	int full;
	long value;
};
typedef struct cell *chan;

static inline chan chan_new(void)
{
	chan c = (chan)calloc(1, sizeof *c);
	if (!c)
		die("calloc", ENOMEM);
	condition_init(&c->changed);
	return c;
}

static inline void chan_send(chan c, long v)
{
	condition_enter(&c->changed);
	while (c->full)
		condition_wait(&c->changed);
	c->value = v;
	c->full = 1;
	condition_wake_all(&c->changed);
	condition_leave(&c->changed);
}

static inline long chan_recv(chan c)
{
	condition_enter(&c->changed);
	while (!c->full)
		condition_wait(&c->changed);
	long v = c->value;
	c->full = 0;
	condition_wake_all(&c->changed);
	condition_leave(&c->changed);
	return v;
}

static inline void chan_free(chan c)
{
	condition_fini(&c->changed);
	free(c);
}

#endif
