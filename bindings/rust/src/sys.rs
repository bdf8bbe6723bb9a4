// SPDX-License-Identifier: Apache-2.0
//! The C interface, as far as this crate uses it: `include/uk/*.h`.
//!
//! `tests/abi.rs` compiles each declaration of this file together with the headers, so
//! a difference in a type, an offset or a value is an error there. It reads this file
//! as text: a declaration is one statement, and each type has one of the names that it
//! knows.
//!
//! The calls are described in the manual pages. A program may use them beside the safe
//! interface, with the file descriptors of its sockets.
#![allow(non_camel_case_types, missing_docs)]

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::marker::{PhantomData, PhantomPinned};

/// Nanoseconds of CLOCK_MONOTONIC.
pub type uk_time = i64;
/// What a user thread runs.
pub type start_fn = extern "C" fn(*mut c_void) -> *mut c_void;
pub type socklen_t = u32;

macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub struct $name {
            data: [u8; 0],
            marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}
opaque!(uk_thread uk_vp uk_vpset uk_chan);

#[repr(C)]
pub struct uk_thread_attr {
    pub stack_size: usize,
    pub set: *mut uk_vpset,
    pub vp: *mut uk_vp,
    pub name: *const c_char,
    pub flags: c_uint,
    pub reserved0: c_uint,
    pub guard_size: usize,
    pub reserved: [c_uint; 2],
}

#[repr(C)]
pub struct uk_mutex {
    pub word: u32,
    pub flags: u32,
    pub owner: u64,
    pub depth: u32,
    pub spare: u32,
}

#[repr(C)]
pub struct uk_cond {
    pub spare: u32,
    pub waiters: u32,
}

#[repr(C)]
pub struct uk_rwlock {
    pub state: u32,
    pub writers_waiting: u32,
    pub readers_waiting: u32,
    pub spare: u32,
    pub owner: u64,
}

#[repr(C)]
pub struct uk_chan_case {
    pub chan: *mut uk_chan,
    pub op: c_int,
    pub result: c_int,
    pub elem: *mut c_void,
}

// of <sys/socket.h>, <sys/un.h> and <netinet/in.h>

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sockaddr_in {
    pub sin_family: u16,
    pub sin_port: u16,
    pub sin_addr: [u8; 4],
    pub sin_zero: [u8; 8],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sockaddr_in6 {
    pub sin6_family: u16,
    pub sin6_port: u16,
    pub sin6_flowinfo: u32,
    pub sin6_addr: [u8; 16],
    pub sin6_scope_id: u32,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct sockaddr_un {
    pub sun_family: u16,
    pub sun_path: [u8; 108],
}

#[repr(C)]
pub struct msghdr {
    pub msg_name: *mut c_void,
    pub msg_namelen: socklen_t,
    pub msg_iov: *mut iovec,
    pub msg_iovlen: usize,
    pub msg_control: *mut c_void,
    pub msg_controllen: usize,
    pub msg_flags: c_int,
}

/// The same as `IoSlice` and `IoSliceMut` on Unix, as these promise.
#[repr(C)]
pub struct iovec {
    pub iov_base: *mut c_void,
    pub iov_len: usize,
}

/// Of <signal.h>.
#[repr(C)]
pub struct sigset_t {
    pub __val: [u64; 16],
}

/// In the C interface a `struct sockaddr`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union sockaddr {
    pub family: u16,
    pub v4: sockaddr_in,
    pub v6: sockaddr_in6,
    pub un: sockaddr_un,
}

pub const UK_FOREVER: i64 = i64::MAX;
pub const UK_CHAN_RECV: c_int = 0;
pub const UK_CHAN_SEND: c_int = 1;

pub const AF_UNIX: c_int = 1;
pub const AF_INET: c_int = 2;
pub const AF_INET6: c_int = 10;
pub const SOCK_STREAM: c_int = 1;
pub const SOCK_CLOEXEC: c_int = 0o2000000;
pub const MSG_PEEK: c_int = 2;
pub const MSG_NOSIGNAL: c_int = 0x4000;

pub const SIG_SETMASK: c_int = 2;

pub const EAGAIN: c_int = 11;
pub const EPIPE: c_int = 32;
pub const ETIMEDOUT: c_int = 110;
pub const ECANCELED: c_int = 125;

extern "C" {
    pub fn uk_thread_create(
        out: *mut *mut uk_thread,
        a: *const uk_thread_attr,
        start: start_fn,
        arg: *mut c_void,
    ) -> c_int;
    pub fn uk_thread_join(t: *mut uk_thread, ret: *mut *mut c_void) -> c_int;
    pub fn uk_thread_detach(t: *mut uk_thread) -> c_int;
    pub fn uk_thread_self() -> *mut uk_thread;
    pub fn uk_thread_id(t: *const uk_thread) -> u64;
    pub fn uk_yield() -> c_int;
    pub fn uk_sleep_until(deadline: uk_time) -> c_int;
    pub fn uk_thread_cancel(t: *mut uk_thread) -> c_int;
    pub fn uk_thread_is_cancelled() -> c_int;
    pub fn uk_thread_cancel_clear() -> c_int;
    pub fn uk_thread_set_deadline(deadline: uk_time) -> uk_time;
    pub fn uk_blocking_begin();
    pub fn uk_blocking_end();
    pub fn uk_vp_count() -> c_int;
    pub fn uk_after(span: uk_time) -> uk_time;

    pub fn uk_futex_wait(addr: *const u32, expected: u32, deadline: uk_time) -> c_int;
    pub fn uk_futex_wake(addr: *const u32, n: c_int) -> c_int;
    pub fn uk_mutex_lock(m: *mut uk_mutex) -> c_int;
    pub fn uk_mutex_trylock(m: *mut uk_mutex) -> c_int;
    pub fn uk_mutex_unlock(m: *mut uk_mutex) -> c_int;
    pub fn uk_cond_wait_until(c: *mut uk_cond, m: *mut uk_mutex, deadline: uk_time) -> c_int;
    pub fn uk_cond_signal(c: *mut uk_cond) -> c_int;
    pub fn uk_cond_broadcast(c: *mut uk_cond) -> c_int;
    pub fn uk_rwlock_rdlock(l: *mut uk_rwlock) -> c_int;
    pub fn uk_rwlock_tryrdlock(l: *mut uk_rwlock) -> c_int;
    pub fn uk_rwlock_wrlock(l: *mut uk_rwlock) -> c_int;
    pub fn uk_rwlock_trywrlock(l: *mut uk_rwlock) -> c_int;
    pub fn uk_rwlock_unlock(l: *mut uk_rwlock) -> c_int;

    pub fn uk_chan_create(out: *mut *mut uk_chan, elem_size: usize, capacity: usize) -> c_int;
    pub fn uk_chan_destroy(c: *mut uk_chan);
    pub fn uk_chan_close(c: *mut uk_chan) -> c_int;
    pub fn uk_chan_send(c: *mut uk_chan, elem: *const c_void) -> c_int;
    pub fn uk_chan_trysend(c: *mut uk_chan, elem: *const c_void) -> c_int;
    pub fn uk_chan_recv(c: *mut uk_chan, elem: *mut c_void) -> c_int;
    pub fn uk_chan_recv_until(c: *mut uk_chan, elem: *mut c_void, deadline: uk_time) -> c_int;
    pub fn uk_chan_tryrecv(c: *mut uk_chan, elem: *mut c_void) -> c_int;
    pub fn uk_chan_select(cases: *mut uk_chan_case, n: c_uint, deadline: uk_time) -> c_int;

    pub fn uk_close(fd: c_int) -> c_int;
    pub fn uk_readv(fd: c_int, iov: *const iovec, n: c_int) -> isize;
    pub fn uk_socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    pub fn uk_accept4(fd: c_int, addr: *mut sockaddr, len: *mut socklen_t, flags: c_int) -> c_int;
    pub fn uk_connect(fd: c_int, addr: *const sockaddr, len: socklen_t) -> c_int;
    pub fn uk_recv(fd: c_int, buf: *mut c_void, n: usize, flags: c_int) -> isize;
    pub fn uk_send(fd: c_int, buf: *const c_void, n: usize, flags: c_int) -> isize;
    pub fn uk_recvfrom(
        fd: c_int,
        buf: *mut c_void,
        n: usize,
        flags: c_int,
        addr: *mut sockaddr,
        len: *mut socklen_t,
    ) -> isize;
    pub fn uk_sendto(
        fd: c_int,
        buf: *const c_void,
        n: usize,
        flags: c_int,
        addr: *const sockaddr,
        len: socklen_t,
    ) -> isize;
    pub fn uk_sendmsg(fd: c_int, m: *const msghdr, flags: c_int) -> isize;

    // of libc
    pub fn listen(fd: c_int, backlog: c_int) -> c_int;
    pub fn sigprocmask(how: c_int, set: *const sigset_t, old: *mut sigset_t) -> c_int;
}
