/* SPDX-License-Identifier: Apache-2.0 */
/* uk.hpp - the C++20 face of the library: user threads, locks, channels and file
 * descriptors with the interfaces of the standard library. uk.hpp(3) is its manual.
 *
 *  - Names and meanings are those of std; comments here say only what differs.
 *  - An error is a std::system_error. A call that waits throws it with
 *    std::errc::operation_canceled when its thread is cancelled, and with
 *    std::errc::timed_out when the thread's own deadline passes. When the time given to
 *    a call passes, the call returns that, as in std.
 *  - lock(), lock_shared() and the destructor of a thread wait regardless of both,
 *    because destructors and handlers of exceptions need them.
 *  - The calls of the C API may be mixed with these: native_handle(). */
#ifndef UK_UK_HPP
#define UK_UK_HPP

#include <uk/chan.hpp>
#include <uk/io.hpp>
#include <uk/sync.hpp>
#include <uk/thread.hpp>
#include <uk/uk.h>

#endif
