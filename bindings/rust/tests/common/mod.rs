// SPDX-License-Identifier: Apache-2.0
//! What the tests share. Each test runs on a user thread and on a kernel thread of
//! libtest, because most calls behave differently there.
#![allow(dead_code, unused_macros)]

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use ukthreads::sync::{sync_channel, Receiver, SyncSender};

/// The tests: `name,`, or `#[should_panic] name,`. A function that is missing here is
/// an error (dead code).
macro_rules! both {
    ($($(#[$attr:meta])* $name:ident,)*) => {
        mod user_thread {
            $(#[test] $(#[$attr])* fn $name() { crate::common::on_user_thread(super::$name) })*
        }
        mod kernel_thread {
            $(#[test] $(#[$attr])* fn $name() { super::$name() })*
        }
    };
}

macro_rules! t {
    ($e:expr) => {
        match $e {
            Ok(t) => t,
            Err(e) => panic!("received error for `{}`: {}", stringify!($e), e),
        }
    };
}

pub fn on_user_thread(f: fn()) {
    // the tests of std assume a large stack
    let t = ukthreads::Builder::new()
        .stack_size(2 << 20)
        .spawn(f)
        .unwrap();
    if let Err(e) = t.join() {
        resume_unwind(e);
    }
}

/// In place of std's unbounded channel: no test has so many elements in it.
pub type Sender<T> = SyncSender<T>;
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    sync_channel(64)
}

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port that is free and not one that the kernel chooses. Processes begin far from
/// each other.
fn port(free: impl Fn(u16) -> bool) -> u16 {
    loop {
        let n = std::process::id() * 131 + NEXT.fetch_add(1, Ordering::Relaxed);
        let port = (10_000 + n % 20_000) as u16;
        if free(port) {
            return port;
        }
    }
}

pub fn next_test_ip4() -> SocketAddr {
    let ip = Ipv4Addr::LOCALHOST;
    (ip, port(|p| TcpListener::bind((ip, p)).is_ok())).into()
}

pub fn next_test_ip6() -> SocketAddr {
    let ip = Ipv6Addr::LOCALHOST;
    (ip, port(|p| TcpListener::bind((ip, p)).is_ok())).into()
}

pub fn compare_ignore_zoneid(a: &SocketAddr, b: &SocketAddr) -> bool {
    match (a, b) {
        (SocketAddr::V6(a), SocketAddr::V6(b)) => {
            a.ip() == b.ip() && a.flowinfo() == b.flowinfo() && a.port() == b.port()
        }
        _ => a == b,
    }
}

/// Abstract names of Unix sockets are those of the whole machine.
pub fn unique(name: &str) -> String {
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("ukthreads-{name}-{}-{n}", std::process::id())
}

/// Removed with what is in it when it is dropped.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn tmpdir() -> TempDir {
    let dir = std::env::temp_dir().join(unique("tests"));
    std::fs::create_dir(&dir).unwrap();
    TempDir(dir)
}
