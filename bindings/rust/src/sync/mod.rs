// SPDX-License-Identifier: Apache-2.0
//! Locks and channels that park the user thread, with the interface of [`std::sync`].
//!
//! They work between user threads and kernel threads. The locks of std and of other
//! crates work in user threads, too: a thread that waits for one blocks its kernel
//! thread, whose virtual processor the library hands off. That is correct, but dear if
//! threads wait often or long. A guard of either kind may be held across calls that
//! wait.
mod chan;
mod lock;

pub use chan::{sync_channel, IntoIter, Iter, Receiver, Select, SyncSender, TryIter};
pub use lock::{
    Condvar, Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, WaitTimeoutResult,
};

pub use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
pub use std::sync::{Arc, LockResult, PoisonError, TryLockError, TryLockResult, Weak};

use crate::sys;

/// Calls `f`, which may block the kernel thread or compute for long. Other user threads
/// go on at once on another kernel thread. Without this they do so when the library
/// notices.
pub fn run_blocking<R>(f: impl FnOnce() -> R) -> R {
    struct Blocking;

    impl Drop for Blocking {
        fn drop(&mut self) {
            // SAFETY: ends what the same thread has begun below
            unsafe { sys::uk_blocking_end() };
        }
    }

    // SAFETY: a thread has one end for each begin, by the guard
    unsafe { sys::uk_blocking_begin() };
    let _blocking = Blocking;
    f()
}
