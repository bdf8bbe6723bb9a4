/* SPDX-License-Identifier: Apache-2.0 */
/* vp.h - virtual processors and their sets. */
#ifndef UK_VP_H
#define UK_VP_H

#include <sched.h>
#include <uk/types.h>

UK_BEGIN

#define UK_VPSET_NET                                                                   \
	1u             /* socket operations on a reactive vp (a carrier) of their own */
#define UK_VPSET_IO 2u /* the same for files, pipes and ttys */
#define UK_VPSET_BIND 4u /* bind each vp to one CPU of the mask, in turn */
#define UK_VPSET_NOSTEAL 8u
#define UK_VPSET_SQPOLL 16u /* the set has a network processor: uk_vpset_attr */

/* Start the runtime (otherwise the first call that needs it does): 0 or -errno. */
UK_API int uk_init(void);
/* Number of vps that the default set has or will have (UK_VPS, else CPUs allowed). */
UK_API int uk_vps(void);

/* A new set of n vps (n = 0: one per CPU of the mask) on the CPUs of mask (NULL: those
 * allowed to the process). Sets live until the process ends. */
UK_API int uk_vpset_create(uk_vpset **out, const char *name, unsigned n,
			   const cpu_set_t *mask, unsigned flags);

/* The same by attributes (NULL: UK_VPSET_ATTR_INIT, with which they begin; it may grow at its
 * end).
 * What stands below flags counts with UK_VPSET_SQPOLL: what the threads of the set ask of
 * files and sockets is then carried out by one thread of the kernel's, to which it goes
 * through shared memory. Where that is refused the set does without; uk_vpset_sqpoll tells. */
typedef struct uk_vpset_attr {
	size_t size;           /* sizeof(uk_vpset_attr) */
	const char *name;      /* copied, cut to 31 bytes; NULL = none */
	const cpu_set_t *mask; /* as for uk_vpset_create, as are the next two */
	unsigned n;
	unsigned flags;
	int net_cpu; /* that thread's CPU; -1 = any */
	unsigned
	    batch; /* a vp without work sleeps until so many operations have ended */
	uk_time min_wait; /* or for so long, then until one has; 0 = no batches */
	uk_time
	    idle; /* that thread sleeps if it had no work for so long; 0 = the kernel's
			 choice, a second */
	uk_time
	    napi; /* it polls the queue of a network interface for so long; 0 = not */
	unsigned napi_prefer; /* 1 = and wants no interrupts from it meanwhile */
	unsigned reserved;
} uk_vpset_attr;

#define UK_VPSET_ATTR_INIT                                                             \
	{                                                                              \
		sizeof(uk_vpset_attr), UK_NULL, UK_NULL, 0, 0, -1, 0, 0, 0, 0, 0, 0    \
	}

UK_API int uk_vpset_create_attr(uk_vpset **out, const uk_vpset_attr *a);
/* Has s a network processor? 1: yes; 0: none was asked for; -errno: it was refused, by this
 * (-EOPNOTSUPP: the engine is epoll). */
UK_API int uk_vpset_sqpoll(const uk_vpset *s);

UK_API uk_vpset *uk_vpset_default(void);
UK_API uk_vpset *
uk_vpset_self(void); /* of the calling thread; default set if foreign */
UK_API unsigned uk_vpset_size(const uk_vpset *s);
UK_API uk_vp *uk_vpset_vp(const uk_vpset *s, unsigned i); /* NULL beyond the size */
/* The next vp of the set, round robin. */
UK_API uk_vp *uk_vpset_next_vp(uk_vpset *s);
/* Who computes for longer than ns without a call that switches loses its vp to the other threads
 * of the set, and runs on beside them. -EINVAL: not above 0. */
UK_API int uk_set_slice(uk_vpset *s, uk_time ns);
/* The vp that runs the caller now (it may change at any blocking call); NULL if foreign
 * or if the vp has been handed off. */
UK_API uk_vp *uk_vp_self(void);
UK_API unsigned uk_vp_id(const uk_vp *vp);
/* Bind the carriers of vp to CPUs from now on. */
UK_API int uk_vp_bind(uk_vp *vp, const cpu_set_t *mask);

UK_END
#endif
