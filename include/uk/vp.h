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

/* Start the runtime (otherwise the first call that needs it does): 0 or -errno. */
UK_API int uk_init(void);
/* Number of vps that the default set has or will have (UK_VPS, else CPUs allowed). */
UK_API int uk_vps(void);

/* A new set of n vps (n = 0: one per CPU of the mask) on the CPUs of mask (NULL: those
 * allowed to the process). Sets live until the process ends. */
UK_API int uk_vpset_create(uk_vpset **out, const char *name, unsigned n,
			   const cpu_set_t *mask, unsigned flags);
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
