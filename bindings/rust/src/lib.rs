// SPDX-License-Identifier: Apache-2.0
#![doc = include_str!("../README.md")]

// Rust keeps the addresses of thread-local variables across calls. That is right in a
// full thread only, and the library has full threads on x86-64 alone.
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
compile_error!("ukthreads for Rust needs full threads: Linux with glibc on x86-64");

pub mod net;
pub mod os;
pub mod sync;
pub mod sys;
pub mod thread;
mod wait;

pub use sync::run_blocking;
pub use thread::{
    available_parallelism, current, park, park_timeout, scope, sleep, sleep_until, spawn,
    yield_now, Builder, JoinHandle, Scope, ScopedJoinHandle, Thread, ThreadId,
};
