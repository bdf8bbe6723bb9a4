/* SPDX-License-Identifier: Apache-2.0 */
/* hooks.h - the functions of higher layers that lower layers call. No layer calls up
 * (src/LAYERS), so the higher layer sets a pointer here.
 *
 * Unless its line says otherwise, a hook is set once, before the runtime starts, by
 * AT_LOAD (at_load.h) in the file that its line names, and is read without an atomic.
 * NULL: nothing is to be done. */
#ifndef BASE_HOOKS_H
#define BASE_HOOKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct carrier;
struct uk_thread;

enum carrier_question {
	QUESTION_FRAMES,
	QUESTION_MASK,
	QUESTION_TRACE,
	CARRIER_QUESTIONS
};

struct hooks {
	/* debug/crash.c: prints the current thread after the message of a panic. Set by
	 * the start of the runtime. */
	void (*panic)(void);
	/* monitor/file_table.c: opens the program's standard error; the caller closes
	 * it. -errno on failure. Set before files_apart (fds.h). */
	int (*stderr_fd)(void);

	/* sync/futex.c: in a forked child only the thread that forked goes on. fork
	 * calls this for every other thread that is in a wait: what that thread did to
	 * the object that it waits for is undone. Then it is called once with NULL. */
	void (*wait_lost)(struct uk_thread *t);
	/* sync/sem.c: does the wake-ups that handlers have put off (rt_defer_wake). */
	void (*deferred_wake)(void);

	/* lifecycle/fork.c: rebuilds the runtime of a child; called by the first thread
	 * that enters it. */
	void (*gate_rebuild)(void);
	/* lifecycle/limit.c, NULL while nothing is counted; relaxed. thread_dead is
	 * called for each thread that died, in the runtime; thread_leaves by an exiting
	 * thread, before it enters the runtime for the last time. */
	void (*thread_dead)(void);
	void (*thread_leaves)(void);

	/* monitor/monitor.c: sets the alarm of the sleeping monitor, or stops it
	 * (monitor_state in sched/vp.h). Set by the start of the runtime. */
	void (*monitor_call)(bool set);
	/* monitor/detect.c, by its state: called by each new carrier once it is in
	 * carriers_all. Release; pairs with the acquire in carrier.c. */
	void (*carrier_born)(void);

	/* preload/pt_interrupt.c, NULL without the preload library: c answers the
	 * question in a handler, by carrier_answer, as soon as it runs. False: it was
	 * not asked. */
	bool (*carrier_ask)(const struct carrier *c, enum carrier_question q);
	/* debug/dump.c, preload/pt_signal.c, preload/pt_children.c. context: of what
	 * the handler interrupted; an interrupted system call goes on. */
	void (*carrier_answer[CARRIER_QUESTIONS])(void *context);
	/* preload/pt_interrupt.c: handles this signal of libc's (setxid.c), if the
	 * preload library sent it; else false. */
	bool (*interrupted)(const siginfo_t *info, void *context);
	/* preload/pt_cputime.c, once the CPU time of a thread is asked for; relaxed.
	 * Called after a switch, before any carrier can run the thread that it
	 * left. */
	void (*thread_switched)(struct carrier *c);
	/* preload/pt_cputime.c: in a forked child, before its runtime is rebuilt.
	 * survivor: the user thread that forked, or NULL. */
	void (*child_thread)(struct uk_thread *survivor);
	/* preload/pt_signal.c, set when the program first has user threads: runs the
	 * handlers of handler_thread(), outside the runtime; or cancels the caller, if
	 * that is a kernel thread. context: of the kernel signal that interrupted the
	 * user code; NULL: at the end of a call. */
	void (*thread_signals)(void *context);
	/* preload/pt_signal.c, set with it: the mask of the calling user thread, which
	 * is not its carrier's. */
	uint64_t (*thread_mask)(void);
	/* preload/pt_signal.c: a foreign thread leaves the runtime and has put off a
	 * handler. If it is set, a wait of a foreign thread that a handler interrupts
	 * ends with WAKE_SIGNAL. */
	void (*foreign_signals)(void);
	/* preload/pt_signal.c: a kernel thread has got its descriptor, in order to wait
	 * and to wake; called outside the runtime. */
	void (*foreign_adopted)(void);
};

extern struct hooks hooks;

#endif
