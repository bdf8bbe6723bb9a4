// SPDX-License-Identifier: Apache-2.0
//! An addition to [`std::process`].
use crate::sys;
use std::io;
use std::process::Command;
use std::ptr;

/// An addition to [`Command`].
///
/// The rest of [`std::process`] works in user threads.
/// [`Child::wait`](std::process::Child::wait) blocks the kernel thread, so call it in
/// [`run_blocking`](crate::run_blocking) if the program runs for long.
pub trait CommandExt {
    /// The program begins with no signal blocked. A program that a user thread starts
    /// inherits the signal mask of a kernel thread of the library otherwise, and
    /// ignores SIGTERM.
    fn unblock_signals(&mut self) -> &mut Command;
}

impl CommandExt for Command {
    fn unblock_signals(&mut self) -> &mut Command {
        use std::os::unix::process::CommandExt;

        // SAFETY: the function only makes a call that is async-signal-safe
        unsafe { self.pre_exec(unblock) }
    }
}

fn unblock() -> io::Result<()> {
    let none = sys::sigset_t { __val: [0; 16] };
    // SAFETY: the set is valid, and the old one is not wanted
    match unsafe { sys::sigprocmask(sys::SIG_SETMASK, &none, ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
