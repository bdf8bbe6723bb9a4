/* SPDX-License-Identifier: Apache-2.0 */
/* types.h - what every public header needs. */
#ifndef UK_TYPES_H
#define UK_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define UK_BEGIN extern "C" {
#define UK_END }
#define UK_NULL nullptr
#else
#define UK_BEGIN
#define UK_END
#define UK_NULL ((void *)0)
#endif

#define UK_API __attribute__((visibility("default")))

/* Nanoseconds of CLOCK_MONOTONIC; a point in time (deadline) or a span. */
typedef int64_t uk_time;
#define UK_FOREVER INT64_MAX
#define UK_US INT64_C(1000)
#define UK_MS INT64_C(1000000)
#define UK_SEC INT64_C(1000000000)

typedef struct uk_thread uk_thread; /* opaque: one user thread */
typedef struct uk_vp uk_vp;         /* opaque: one virtual processor */
typedef struct uk_vpset uk_vpset;   /* opaque: a named group of vps */
typedef struct uk_chan uk_chan;     /* opaque: a bounded channel */

#endif
