/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* spot.bpf.c - the kernel's half of the event detector: sees a carrier block, tells the monitor.
 *
 * At each switch of kernel threads: is the one that leaves the processor a carrier of ours, does
 * it leave because it waits (and not because it was preempted), is it outside the runtime, and
 * does it have a vp? Then the monitor gets a signal with the carrier's address. Nothing is
 * decided here and nothing of the process is written: what becomes of the vp is the monitor's
 * business, by the protocol of sched/vp.h.
 *
 * Which tasks are carriers stands in their own storage (a pointer in the task, no table to
 * search; it goes with the task). For all other tasks of the machine this is a comparison.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "spot_view.h"

#define WAITS                                                                          \
	3u /* TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE: not stopped, not traced */

enum pid_type { PIDTYPE_PID };
struct task_struct {
	int pid, tgid;
} __attribute__((preserve_access_index));

extern struct task_struct *bpf_task_from_pid(int pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern int bpf_send_signal_task(struct task_struct *task, int sig, enum pid_type type,
				__u64 value) __ksym;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct spot_home);
} home SEC(".maps");

/* The address of its struct carrier. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} seats SEC(".maps");

/* Run by the monitor, once: this is me. (In a container it cannot know its own number.) */
SEC("syscall") int learn(void *ctx)
{
	__u32 zero = 0;
	struct spot_home *h = bpf_map_lookup_elem(&home, &zero);
	__u64 id = bpf_get_current_pid_tgid();

	if (!h)
		return -1;
	h->tgid = (__u32)(id >> 32);
	h->watcher = (__u32)id;
	return 0;
}

/* Of the carrier at this address of the current process. */
static int has_vp_outside(__u64 carrier)
{
	struct spot_carrier c;
	__u64 owner;

	return !bpf_probe_read_user(&c, sizeof(c), (void *)carrier) && !c.in_rt &&
	       c.vp && !bpf_probe_read_user(&owner, sizeof(owner), (void *)c.vp) &&
	       owner == carrier;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct *prev,
	     struct task_struct *next, unsigned state)
{
	__u32 zero = 0;
	struct spot_home *h;
	struct task_struct *w;
	__u64 *seat;

	if (preempt || !(state & WAITS))
		return 0;
	h = bpf_map_lookup_elem(&home, &zero);
	if (!h || (__u32)prev->tgid != h->tgid)
		return 0;
	seat = bpf_task_storage_get(&seats, prev, 0, 0);
	if (!seat || !has_vp_outside(*seat))
		return 0;
	w = bpf_task_from_pid((int)h->watcher);
	if (!w)
		return 0;
	/* its number may be another's by now */
	if ((__u32)w->tgid == h->tgid &&
	    !bpf_send_signal_task(w, SPOT_SIGNAL, PIDTYPE_PID, *seat))
		__sync_fetch_and_add(&h->sent, 1);
	else
		__sync_fetch_and_add(&h->lost, 1);
	bpf_task_release(w);
	return 0;
}

char licence[] SEC("license") = "Dual BSD/GPL";
