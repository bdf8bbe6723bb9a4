/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's io_uring interface, as far as we use it. Our own copy, because
 * distributions' headers are often older than the kernels on which the library runs. */
#ifndef REACTOR_URING_ABI_H
#define REACTOR_URING_ABI_H

#include <sys/syscall.h>

#include "base/base.h"

#ifndef SYS_io_uring_setup
#define SYS_io_uring_setup 425
#define SYS_io_uring_enter 426
#define SYS_io_uring_register 427
#endif

struct uring_sqe {
	uint8_t opcode, flags;
	uint16_t ioprio;
	int32_t fd;
	uint64_t off; /* also addr2 */
	uint64_t addr;
	uint32_t len;
	uint32_t op_flags;
	uint64_t user_data;
	uint16_t buf, personality;
	int32_t splice_fd_in;
	uint64_t addr3, pad;
};
_Static_assert(sizeof(struct uring_sqe) == 64, "the kernel's size");

struct uring_cqe {
	uint64_t user_data;
	int32_t res;
	uint32_t flags;
};

struct uring_sq_off {
	uint32_t head, tail, ring_mask, ring_entries, flags, dropped, array, resv1;
	uint64_t user_addr;
};

struct uring_cq_off {
	uint32_t head, tail, ring_mask, ring_entries, overflow, cqes, flags, resv1;
	uint64_t user_addr;
};

struct uring_params {
	uint32_t sq_entries, cq_entries, flags, sq_thread_cpu, sq_thread_idle, features,
	    wq_fd;
	uint32_t resv[3];
	struct uring_sq_off sq;
	struct uring_cq_off cq;
};
_Static_assert(sizeof(struct uring_params) == 120, "the kernel's size");

struct uring_buf_reg {
	uint64_t ring_addr;
	uint32_t ring_entries;
	uint16_t bgid, flags;
	uint64_t resv[3];
};

struct uring_enter_arg {
	uint64_t sigmask;
	uint32_t sigmask_size, min_wait_us;
	uint64_t ts;
};

struct uring_napi {
	uint32_t busy_poll_us;
	uint8_t prefer_busy_poll, opcode, pad[2];
	uint32_t param, resv;
};

struct uring_probe_op {
	uint8_t op, resv;
	uint16_t flags;
	uint32_t resv2;
};

struct uring_probe {
	uint8_t last_op, ops_len;
	uint16_t resv;
	uint32_t resv2[3];
	struct uring_probe_op ops[64];
};
#define URING_PROBE_SUPPORTED 1u

/* setup */
#define URING_SETUP_SQPOLL (1u << 1)
#define URING_SETUP_SQ_AFF (1u << 2)
#define URING_SETUP_CQSIZE (1u << 3)
#define URING_SETUP_CLAMP (1u << 4)
#define URING_SETUP_ATTACH_WQ (1u << 5)
#define URING_SETUP_SUBMIT_ALL (1u << 7)
#define URING_SETUP_COOP_TASKRUN (1u << 8)
#define URING_SETUP_TASKRUN_FLAG (1u << 9)

/* features */
#define URING_FEAT_SINGLE_MMAP (1u << 0)
#define URING_FEAT_NODROP (1u << 1)
#define URING_FEAT_SUBMIT_STABLE (1u << 2)
#define URING_FEAT_RW_CUR_POS (1u << 3)
#define URING_FEAT_FAST_POLL (1u << 5)
#define URING_FEAT_EXT_ARG (1u << 8)
#define URING_FEAT_MIN_TIMEOUT (1u << 15)

/* mmap offsets */
#define URING_OFF_RINGS 0L
#define URING_OFF_SQES 0x10000000L

/* sq flags */
#define URING_SQ_NEED_WAKEUP (1u << 0)
#define URING_SQ_CQ_OVERFLOW (1u << 1)
#define URING_SQ_TASKRUN (1u << 2)

/* enter */
#define URING_ENTER_GETEVENTS (1u << 0)
#define URING_ENTER_SQ_WAKEUP (1u << 1)
#define URING_ENTER_EXT_ARG (1u << 3)

/* register */
#define URING_REGISTER_PROBE 8
#define URING_REGISTER_PBUF_RING 22
#define URING_REGISTER_NAPI 27
#define URING_REGISTER_SEND_MSG_RING 31

/* sqe flags */
#define URING_SQE_ASYNC (1u << 4)
#define URING_SQE_BUFFER_SELECT (1u << 5)

/* ioprio of RECV */
#define URING_RECV_MULTISHOT (1u << 1)

/* cqe flags */
#define URING_CQE_F_BUFFER (1u << 0)
#define URING_CQE_F_MORE (1u << 1)
#define URING_CQE_F_NOTIF (1u << 3)
#define URING_CQE_BUFFER_SHIFT 16

/* cancel flags */
#define URING_CANCEL_ALL (1u << 0)
#define URING_CANCEL_ANY (1u << 2)

enum uring_opcode {
	URING_OP_NOP = 0,
	URING_OP_READV = 1,
	URING_OP_WRITEV = 2,
	URING_OP_FSYNC = 3,
	URING_OP_POLL_ADD = 6,
	URING_OP_SENDMSG = 9,
	URING_OP_RECVMSG = 10,
	URING_OP_ACCEPT = 13,
	URING_OP_ASYNC_CANCEL = 14,
	URING_OP_CONNECT = 16,
	URING_OP_READ = 22,
	URING_OP_WRITE = 23,
	URING_OP_SEND = 26,
	URING_OP_RECV = 27,
	URING_OP_MSG_RING = 40,
	URING_OP_SEND_ZC = 47,
	URING_OP_SENDMSG_ZC = 48,
};

#endif
