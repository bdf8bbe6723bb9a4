/* SPDX-License-Identifier: Apache-2.0 */
/* at_load.h - functions that prepare a file of the library before it is first used:
 * they set hooks, register for fork, look up names.
 *
 *	AT_LOAD(name)
 *	{
 *		...
 *	}
 *
 * All of them run when the library is loaded, or before the runtime starts if that is
 * earlier: a constructor of another library may make a thread before those of a
 * preloaded library run. Their order is not defined.
 *
 * The list is a section of pointers. Rejected: constructors (not all had run by then);
 * one list in the highest layer (the unit tests and the static library have other
 * highest layers). */
#ifndef BASE_AT_LOAD_H
#define BASE_AT_LOAD_H

#ifdef __has_attribute
#if __has_attribute(retain)
#define AT_LOAD_LIST __attribute__((used, retain, section("uk_at_load")))
#endif
#endif
#ifndef AT_LOAD_LIST
#define AT_LOAD_LIST __attribute__((used, section("uk_at_load")))
#endif

#define AT_LOAD(name)                                                                  \
	static void name(void);                                                        \
	AT_LOAD_LIST static void (*const at_load_##name)(void) = name;                 \
	static void name(void)

/* Runs them, unless that was done. */
void at_load(void);

#endif
