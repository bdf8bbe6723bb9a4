/* SPDX-License-Identifier: Apache-2.0 */
/* vp.h - virtual processors and their sets. */
#ifndef UK_VP_H
#define UK_VP_H

#include <sched.h>
#include <uk/types.h>

UK_BEGIN

#define UK_VPSET_NET 1u     /* a reactive vp of its own does the socket operations */
#define UK_VPSET_IO 2u      /* the same for files, pipes and ttys */
#define UK_VPSET_BIND 4u    /* bind each vp to one CPU of the mask, in turn */
#define UK_VPSET_NOSTEAL 8u /* threads stay on the vp where they were put */
#define UK_VPSET_SQPOLL 16u /* the set has a network processor: uk_vpset_attr */

/* Start the runtime; otherwise the first call that needs it does. 0 or -errno. */
UK_API int uk_init(void);
/* Number of vps that the default set has or will have (UK_VPS, else CPUs allowed). */
UK_API int uk_vp_count(void);

/* A new set of n vps (0: one for each CPU) on the CPUs of mask (NULL: all that are
 * allowed to the process, not bound). Sets live until the process ends. -EINVAL,
 * -ENOMEM, -EAGAIN. */
UK_API int uk_vpset_create(uk_vpset **out, const char *name, unsigned n,
			   const cpu_set_t *mask, unsigned flags);

/* The same by attributes; begin with UK_VPSET_ATTR_INIT. The structure may grow at its
 * end. Fields after flags are used only with UK_VPSET_SQPOLL: one thread of the kernel
 * then carries out what the set's threads ask of files and sockets, through shared
 * memory. */
typedef struct uk_vpset_attr {
	size_t size;           /* sizeof(uk_vpset_attr) */
	const char *name;      /* copied, cut to 31 bytes; NULL = none */
	const cpu_set_t *mask; /* as for uk_vpset_create, as are the next two */
	unsigned n;
	unsigned flags;
	int net_cpu;          /* CPU of that thread; -1 = any */
	unsigned batch;       /* a vp without work sleeps for so many completions, */
	uk_time min_wait;     /* or for one, once these ns are over; 0 = no batches */
	uk_time idle;         /* ns of idling before that thread sleeps; 0 = 1 s */
	uk_time napi;         /* ns for which it polls a network queue; 0 = never */
	unsigned napi_prefer; /* 1 = and asks for no interrupts meanwhile */
	unsigned reserved;
} uk_vpset_attr;

#define UK_VPSET_ATTR_INIT                                                             \
	{                                                                              \
		sizeof(uk_vpset_attr), UK_NULL, UK_NULL, 0, 0, -1, 0, 0, 0, 0, 0, 0    \
	}

UK_API int uk_vpset_create_attr(uk_vpset **out, const uk_vpset_attr *a);
/* 1: s has a network processor; 0: none was asked for; -errno: the kernel's refusal,
 * after which the set works without one (-EOPNOTSUPP: the engine is epoll). */
UK_API int uk_vpset_sqpoll(const uk_vpset *s);

UK_API uk_vpset *uk_vpset_default(void);
UK_API uk_vpset *uk_vpset_self(void); /* the caller's; the default set if foreign */
UK_API unsigned uk_vpset_size(const uk_vpset *s);
UK_API uk_vp *uk_vpset_vp(const uk_vpset *s, unsigned i); /* NULL beyond the size */
/* A thread of s that computes for ns of CPU time without a call that switches loses its
 * vp to the other threads, and runs on beside them. -EINVAL: ns is not above 0. */
UK_API int uk_vpset_set_slice(uk_vpset *s, uk_time ns);
/* The vp that runs the caller now; it may change at any blocking call. NULL if foreign,
 * or if the vp has been handed off. */
UK_API uk_vp *uk_vp_self(void);
UK_API unsigned uk_vp_id(const uk_vp *vp);
/* Bind the carriers of vp to the CPUs of mask from now on. -EINVAL: none is allowed. */
UK_API int uk_vp_bind(uk_vp *vp, const cpu_set_t *mask);

UK_END
#endif
