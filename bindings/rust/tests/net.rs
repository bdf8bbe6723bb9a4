// SPDX-License-Identifier: Apache-2.0
//! What sockets of this crate promise beside what std's tests check: conversions,
//! closing, signals, and that waits park only the thread.
#[macro_use]
mod common;

use common::next_test_ip4;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream as StdStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::time::Duration;
use ukthreads::net::{TcpListener, TcpStream, UdpSocket};
use ukthreads::os::unix::net::{UnixDatagram, UnixStream};
use ukthreads::{sys, thread};

fn pair() -> (TcpStream, TcpStream) {
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let a = TcpStream::connect(l.local_addr().unwrap()).unwrap();
    (a, l.accept().unwrap().0)
}

/// One byte goes through, after a wait.
fn works(mut from: impl Write + Send + 'static, to: &mut impl Read) {
    let t = thread::spawn(move || {
        thread::yield_now();
        from.write_all(b"x").unwrap();
        from
    });
    let mut b = [0];
    to.read_exact(&mut b).unwrap();
    assert_eq!(&b, b"x");
    drop(t.join().unwrap());
}

fn a_socket_survives_its_conversions() {
    let (a, mut b) = pair();
    let fd = a.as_raw_fd();
    assert_eq!(a.as_fd().as_raw_fd(), fd);
    let std: StdStream = a.into();
    let owned: OwnedFd = TcpStream::from(std).into();
    let raw = TcpStream::from(owned).into_raw_fd();
    assert_eq!(raw, fd);
    // SAFETY: into_raw_fd gave it to us
    works(unsafe { TcpStream::from_raw_fd(raw) }, &mut b);
    let u: UdpSocket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().into();
    let l: std::net::TcpListener = TcpListener::bind("127.0.0.1:0").unwrap().into();
    assert_ne!(u.as_raw_fd(), l.as_raw_fd());
}

fn fds_that_std_has_closed_are_used_again() {
    for _ in 0..100 {
        let (a, mut b) = UnixStream::pair().unwrap();
        works(a, &mut b);
        drop(std::os::unix::net::UnixStream::from(b)); // closed by std
        let (a, b) = UnixDatagram::pair().unwrap(); // of another kind, often with that fd
        let t = thread::spawn(move || a.send(b"xy").unwrap());
        assert_eq!(b.recv(&mut [0; 4]).unwrap(), 2);
        t.join().unwrap();
        drop(OwnedFd::from(b));
    }
}

fn a_dropped_socket_is_closed() {
    let (a, mut b) = pair();
    drop(a);
    assert_eq!(b.read(&mut [0]).unwrap(), 0);
}

fn a_peer_that_has_gone_raises_no_signal() {
    extern "C" {
        fn signal(signum: i32, handler: usize) -> usize;
    }
    // SAFETY: 13 is SIGPIPE, and 0 its default, which ends the process. std had it
    // ignored.
    unsafe { signal(13, 0) };
    let (mut a, b) = UnixStream::pair().unwrap();
    drop(b);
    assert_eq!(a.write(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
    let parts = [IoSlice::new(b"x"), IoSlice::new(b"y")];
    assert_eq!(
        a.write_vectored(&parts).unwrap_err().kind(),
        ErrorKind::BrokenPipe
    );
    let (a, b) = UnixDatagram::pair().unwrap();
    b.shutdown(Shutdown::Read).unwrap();
    assert_eq!(a.send(b"x").unwrap_err().kind(), ErrorKind::BrokenPipe);
}

fn more_parts_than_the_kernel_takes_are_a_short_count() {
    let (mut a, mut b) = UnixStream::pair().unwrap();
    let parts: Vec<_> = (0..2000).map(|_| IoSlice::new(b"x")).collect();
    assert_eq!(a.write_vectored(&parts).unwrap(), 1024);
    let mut got = vec![[0u8; 1]; 2000];
    let mut parts: Vec<_> = got.iter_mut().map(|b| io::IoSliceMut::new(b)).collect();
    assert_eq!(b.read_vectored(&mut parts).unwrap(), 1024);
}

fn connect_timeout_ends_an_attempt() {
    let addr = next_test_ip4();
    let l = TcpListener::bind(addr).unwrap();
    // SAFETY: only changes the length of the queue
    assert_eq!(unsafe { sys::listen(l.as_raw_fd(), 0) }, 0);
    let mut held = Vec::new();
    let e = loop {
        match TcpStream::connect_timeout(&addr, Duration::from_millis(50)) {
            Ok(s) => held.push(s),
            Err(e) => break e,
        }
        assert!(held.len() < 10);
    };
    assert_eq!(e.kind(), ErrorKind::TimedOut);
    let e = TcpStream::connect_timeout(&addr, Duration::ZERO).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::InvalidInput);
}

fn a_write_timeout_is_reported_as_by_std() {
    let (mut a, _b) = pair();
    a.set_write_timeout(Some(Duration::from_millis(20)))
        .unwrap();
    let all = vec![0; 64 << 20]; // more than the buffers hold
    let e = a.write_all(&all).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::WouldBlock);
}

fn addresses_are_tried_in_turn() {
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let free = next_test_ip4();
    let both = [free, l.local_addr().unwrap()];
    assert_eq!(
        TcpStream::connect(&both[..]).unwrap().peer_addr().unwrap(),
        both[1]
    );
    let none: [std::net::SocketAddr; 0] = [];
    assert_eq!(
        TcpStream::connect(&none[..]).unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
}

/// With one virtual processor this works only if each wait parks its thread alone.
fn hundreds_of_connections_wait_at_once() {
    const N: usize = 300;
    let l = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = l.local_addr().unwrap();
    thread::scope(|s| {
        s.spawn(|| {
            let all: Vec<_> = l.incoming().take(N).map(Result::unwrap).collect();
            // all wait; now they are answered from the last to the first
            for mut c in all.into_iter().rev() {
                let mut b = [0; 4];
                c.read_exact(&mut b).unwrap();
                c.write_all(&b).unwrap();
            }
        });
        for i in 0..N as u32 {
            s.spawn(move || {
                let mut c = TcpStream::connect(addr).unwrap();
                c.write_all(&i.to_ne_bytes()).unwrap();
                let mut b = Vec::new();
                c.read_to_end(&mut b).unwrap();
                assert_eq!(b, i.to_ne_bytes());
            });
        }
    });
}

both! {
    a_socket_survives_its_conversions,
    fds_that_std_has_closed_are_used_again,
    a_dropped_socket_is_closed,
    a_peer_that_has_gone_raises_no_signal,
    more_parts_than_the_kernel_takes_are_a_short_count,
    connect_timeout_ends_an_attempt,
    a_write_timeout_is_reported_as_by_std,
    addresses_are_tried_in_turn,
    hundreds_of_connections_wait_at_once,
}
