/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* spot.bpf.c - the kernel's half of the event detector: sees a carrier block, tells the
 * monitor.
 *
 * At each switch of kernel threads it checks four things. Is the thread that leaves the
 * CPU a carrier of ours? Does it leave because it waits (and was not preempted)? Is it
 * outside the runtime? Does it have a vp? If so, the monitor gets a signal with the
 * carrier's address. Nothing is decided here and nothing of the process is written: the
 * monitor decides about the vp, by the protocol of sched/handoff.h.
 *
 * Which task is a carrier, and of which process, is in the task's own storage (a
 * pointer in the task; there is no table to search, and it goes with the task). For all
 * other tasks of the machine this is one look at that pointer; for a carrier that has
 * no vp, or is inside, two more reads.
 *
 * The monitor has a seat, too, and is known from the first time that it sleeps: in a
 * pid namespace neither itself nor a broker can tell its id.
 *
 * One program may serve many processes (tool/broker), which may lie about themselves.
 * So the last check is here: the signal goes to a thread of the very process that
 * blocked, and only if the user for whom it was registered could have sent it by
 * kill(2). A program that has become another user's by execve gets none.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "spot_view.h"

#define WAITS                                                                          \
	3u /* TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE: not stopped, not traced */

#define AS_IT_LIES_THERE __attribute__((preserve_access_index))

enum pid_type { PIDTYPE_PID };
typedef struct {
	unsigned val;
} AS_IT_LIES_THERE kuid_t;
struct cred {
	kuid_t uid, suid, euid;
} AS_IT_LIES_THERE;
struct task_struct {
	int pid, tgid;
	__u64 start_time;
	const struct cred *cred;
} AS_IT_LIES_THERE;

extern struct task_struct *bpf_task_from_pid(int pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type,
				__u64 value) __ksym;

/* A key is never used twice, so a seat whose home is gone is void. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SPOT_HOMES);
	__type(key, __u64);
	__type(value, struct spot_home);
} homes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct spot_seat);
} seats SEC(".maps");

/* The carrier at this address of the current process has a vp and is outside the
 * runtime. */
static int has_vp_outside(__u64 carrier)
{
	struct spot_carrier c;
	__u64 owner;

	return !bpf_probe_read_user(&c, sizeof(c), (void *)carrier) && !c.in_rt &&
	       c.vp && !bpf_probe_read_user(&owner, sizeof(owner), (void *)c.vp) &&
	       owner == carrier;
}

static int belongs_to(const struct task_struct *t, unsigned uid)
{
	return uid == SPOT_ANYONE ||
	       (t->cred->uid.val == uid && t->cred->euid.val == uid &&
		t->cred->suid.val == uid);
}

/* Is w still the watcher of h, in the process tgid? */
static int watches(const struct task_struct *w, const struct spot_home *h, int tgid)
{
	return w->tgid == tgid && w->start_time == h->born && belongs_to(w, h->uid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev,
	     struct task_struct *next, unsigned state)
{
	struct spot_home *h;
	struct spot_seat *seat;
	struct task_struct *w;

	if (preempt || !(state & WAITS))
		return 0;
	seat = bpf_task_storage_get(&seats, prev, 0, 0);
	if (!seat || (seat->carrier && !has_vp_outside(seat->carrier)))
		return 0;
	h = bpf_map_lookup_elem(&homes, &seat->home);
	if (!h)
		return 0;
	if (!seat->carrier) {
		h->born = prev->start_time;
		h->watcher = (unsigned)prev->pid;
		return 0;
	}
	w = bpf_task_from_pid((int)h->watcher);
	if (!w)
		return 0;
	if (watches(w, h, prev->tgid) &&
	    !bpf_send_signal_task(w, SPOT_SIGNAL, PIDTYPE_PID, seat->carrier))
		__sync_fetch_and_add(&h->sent, 1);
	else
		__sync_fetch_and_add(&h->lost, 1);
	bpf_task_release(w);
	return 0;
}

char licence[] SEC("license") = "Dual BSD/GPL";
