// SPDX-License-Identifier: Apache-2.0
//! Results of the C calls, times, and waits that cancellation must not end.
//!
//! A call of the library ends early when its thread is cancelled or the thread's own
//! deadline passes. Calls that return `io::Result` report that. The others cannot: a
//! mutex is locked or it is not, and a scope may not end before its threads. These wait
//! through `until_done`.
use crate::sys;
use std::ffi::c_int;
use std::io;
use std::time::Duration;

pub(crate) fn error(r: isize) -> io::Error {
    io::Error::from_raw_os_error(-r as i32)
}

/// The result of a call that returns a count or -errno.
pub(crate) fn count(r: isize) -> io::Result<usize> {
    usize::try_from(r).map_err(|_| error(r))
}

/// The result of a call that returns an fd, 0 or -errno.
pub(crate) fn done(r: c_int) -> io::Result<c_int> {
    if r < 0 {
        Err(error(r as isize))
    } else {
        Ok(r)
    }
}

pub(crate) fn nanoseconds(d: Duration) -> sys::uk_time {
    sys::uk_time::try_from(d.as_nanos()).unwrap_or(sys::UK_FOREVER)
}

pub(crate) fn after(d: Duration) -> sys::uk_time {
    // SAFETY: takes and returns numbers
    unsafe { sys::uk_after(nanoseconds(d)) }
}

/// While this lives, the thread is not cancelled and has no deadline of its own. A
/// cancellation that comes meanwhile is in force at once, and remains.
pub(crate) struct Undisturbed {
    cancelled: bool,
    deadline: sys::uk_time,
}

impl Undisturbed {
    pub(crate) fn new() -> Undisturbed {
        // SAFETY: both calls concern only the flags of the calling thread
        unsafe {
            Undisturbed {
                deadline: sys::uk_thread_set_deadline(sys::UK_FOREVER),
                cancelled: sys::uk_thread_cancel_clear() != 0,
            }
        }
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        // SAFETY: as above. A thread that was cancelled is a user thread, so its handle
        // is not null, and it lives.
        unsafe {
            sys::uk_thread_set_deadline(self.deadline);
            if self.cancelled {
                sys::uk_thread_cancel(sys::uk_thread_self());
            }
        }
    }
}

/// Makes a call until neither cancellation nor the thread's own deadline is what ended
/// it. So -ETIMEDOUT means the deadline of the call.
pub(crate) fn until_done(mut call: impl FnMut() -> c_int) -> c_int {
    let mut r = call();
    let mut alone = false;
    while r == -sys::ECANCELED || (r == -sys::ETIMEDOUT && !alone) {
        let _undisturbed = Undisturbed::new();
        r = call();
        alone = true;
    }
    r
}

/// Panics if a call that can fail only when the library cannot start has failed.
#[track_caller]
pub(crate) fn must(what: &str, r: c_int) {
    if r < 0 {
        panic!("{what}: {}", error(r as isize));
    }
}
