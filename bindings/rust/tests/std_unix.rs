// SPDX-License-Identifier: Apache-2.0 OR MIT
// Copyright (c) The Rust Project Contributors
//! std's tests of Unix sockets, ported: library/std/src/os/unix/net/tests.rs of Rust
//! 1.95.0, under Apache-2.0 or MIT. Changed: the types and threads are those of this
//! crate, and each test runs on a user thread and on a kernel thread; abstract names
//! are unique.
//! Left out: what needs unstable features of std (peek, control messages).
#![allow(clippy::all)] // std's style
#[macro_use]
mod common;

use common::{tmpdir, unique};
use std::io::prelude::*;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::time::Duration;
use ukthreads::os::unix::net::*;
use ukthreads::thread;

fn basic() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");
    let msg1 = b"hello";
    let msg2 = b"world!";

    let listener = t!(UnixListener::bind(&socket_path));
    let thread = thread::spawn(move || {
        let mut stream = t!(listener.accept()).0;
        let mut buf = [0; 5];
        t!(stream.read(&mut buf));
        assert_eq!(&msg1[..], &buf[..]);
        t!(stream.write_all(msg2));
    });

    let mut stream = t!(UnixStream::connect(&socket_path));
    assert_eq!(
        Some(&*socket_path),
        stream.peer_addr().unwrap().as_pathname()
    );
    t!(stream.write_all(msg1));
    let mut buf = vec![];
    t!(stream.read_to_end(&mut buf));
    assert_eq!(&msg2[..], &buf[..]);
    drop(stream);

    thread.join().unwrap();
}

fn vectored() {
    let (mut s1, mut s2) = t!(UnixStream::pair());

    let len = t!(s1.write_vectored(&[
        IoSlice::new(b"hello"),
        IoSlice::new(b" "),
        IoSlice::new(b"world!")
    ],));
    assert_eq!(len, 12);

    let mut buf1 = [0; 6];
    let mut buf2 = [0; 7];
    let len = t!(s2.read_vectored(&mut [IoSliceMut::new(&mut buf1), IoSliceMut::new(&mut buf2)],));
    assert_eq!(len, 12);
    assert_eq!(&buf1, b"hello ");
    assert_eq!(&buf2, b"world!\0");
}

fn pair() {
    let msg1 = b"hello";
    let msg2 = b"world!";

    let (mut s1, mut s2) = t!(UnixStream::pair());
    let thread = thread::spawn(move || {
        // s1 must be moved in or the test will hang!
        let mut buf = [0; 5];
        t!(s1.read(&mut buf));
        assert_eq!(&msg1[..], &buf[..]);
        t!(s1.write_all(msg2));
    });

    t!(s2.write_all(msg1));
    let mut buf = vec![];
    t!(s2.read_to_end(&mut buf));
    assert_eq!(&msg2[..], &buf[..]);
    drop(s2);

    thread.join().unwrap();
}

fn try_clone() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");
    let msg1 = b"hello";
    let msg2 = b"world";

    let listener = t!(UnixListener::bind(&socket_path));
    let thread = thread::spawn(move || {
        let mut stream = t!(listener.accept()).0;
        t!(stream.write_all(msg1));
        t!(stream.write_all(msg2));
    });

    let mut stream = t!(UnixStream::connect(&socket_path));
    let mut stream2 = t!(stream.try_clone());

    let mut buf = [0; 5];
    t!(stream.read(&mut buf));
    assert_eq!(&msg1[..], &buf[..]);
    t!(stream2.read(&mut buf));
    assert_eq!(&msg2[..], &buf[..]);

    thread.join().unwrap();
}

fn iter() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");

    let listener = t!(UnixListener::bind(&socket_path));
    let thread = thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = t!(stream);
            let mut buf = [0];
            t!(stream.read(&mut buf));
        }
    });

    for _ in 0..2 {
        let mut stream = t!(UnixStream::connect(&socket_path));
        t!(stream.write_all(&[0]));
    }

    thread.join().unwrap();
}

fn long_path() {
    let dir = tmpdir();
    let socket_path = dir.path().join(
        "asdfasdfasdfasdfasdfasdfasdfasdfasdfasdfasdfasdfasdfasdfasdfa\
                                sasdfasdfasdasdfasdfasdfadfasdfasdfasdfasdfasdf",
    );
    match UnixStream::connect(&socket_path) {
        Err(ref e) if e.kind() == io::ErrorKind::InvalidInput => {}
        Err(e) => panic!("unexpected error {e}"),
        Ok(_) => panic!("unexpected success"),
    }

    match UnixListener::bind(&socket_path) {
        Err(ref e) if e.kind() == io::ErrorKind::InvalidInput => {}
        Err(e) => panic!("unexpected error {e}"),
        Ok(_) => panic!("unexpected success"),
    }

    match UnixDatagram::bind(&socket_path) {
        Err(ref e) if e.kind() == io::ErrorKind::InvalidInput => {}
        Err(e) => panic!("unexpected error {e}"),
        Ok(_) => panic!("unexpected success"),
    }
}

fn timeouts() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");

    let _listener = t!(UnixListener::bind(&socket_path));

    let stream = t!(UnixStream::connect(&socket_path));
    let dur = Duration::new(15410, 0);

    assert_eq!(None, t!(stream.read_timeout()));

    t!(stream.set_read_timeout(Some(dur)));
    assert_eq!(Some(dur), t!(stream.read_timeout()));

    assert_eq!(None, t!(stream.write_timeout()));

    t!(stream.set_write_timeout(Some(dur)));
    assert_eq!(Some(dur), t!(stream.write_timeout()));

    t!(stream.set_read_timeout(None));
    assert_eq!(None, t!(stream.read_timeout()));

    t!(stream.set_write_timeout(None));
    assert_eq!(None, t!(stream.write_timeout()));
}

fn test_read_timeout() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");

    let _listener = t!(UnixListener::bind(&socket_path));

    let mut stream = t!(UnixStream::connect(&socket_path));
    t!(stream.set_read_timeout(Some(Duration::from_millis(1000))));

    let mut buf = [0; 10];
    let kind = stream
        .read_exact(&mut buf)
        .err()
        .expect("expected error")
        .kind();
    assert!(
        kind == ErrorKind::WouldBlock || kind == ErrorKind::TimedOut,
        "unexpected_error: {:?}",
        kind
    );
}

fn test_read_with_timeout() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");

    let listener = t!(UnixListener::bind(&socket_path));

    let mut stream = t!(UnixStream::connect(&socket_path));
    t!(stream.set_read_timeout(Some(Duration::from_millis(1000))));

    let mut other_end = t!(listener.accept()).0;
    t!(other_end.write_all(b"hello world"));

    let mut buf = [0; 11];
    t!(stream.read(&mut buf));
    assert_eq!(b"hello world", &buf[..]);

    let kind = stream
        .read_exact(&mut buf)
        .err()
        .expect("expected error")
        .kind();
    assert!(
        kind == ErrorKind::WouldBlock || kind == ErrorKind::TimedOut,
        "unexpected_error: {:?}",
        kind
    );
}

// Ensure the `set_read_timeout` and `set_write_timeout` calls return errors
// when passed zero Durations
fn test_unix_stream_timeout_zero_duration() {
    let dir = tmpdir();
    let socket_path = dir.path().join("sock");

    let listener = t!(UnixListener::bind(&socket_path));
    let stream = t!(UnixStream::connect(&socket_path));

    let result = stream.set_write_timeout(Some(Duration::new(0, 0)));
    let err = result.unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidInput);

    let result = stream.set_read_timeout(Some(Duration::new(0, 0)));
    let err = result.unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidInput);

    drop(listener);
}

fn test_unix_datagram() {
    let dir = tmpdir();
    let path1 = dir.path().join("sock1");
    let path2 = dir.path().join("sock2");

    let sock1 = t!(UnixDatagram::bind(&path1));
    let sock2 = t!(UnixDatagram::bind(&path2));

    let msg = b"hello world";
    t!(sock1.send_to(msg, &path2));
    let mut buf = [0; 11];
    t!(sock2.recv_from(&mut buf));
    assert_eq!(msg, &buf[..]);
}

fn test_unnamed_unix_datagram() {
    let dir = tmpdir();
    let path1 = dir.path().join("sock1");

    let sock1 = t!(UnixDatagram::bind(&path1));
    let sock2 = t!(UnixDatagram::unbound());

    let msg = b"hello world";
    t!(sock2.send_to(msg, &path1));
    let mut buf = [0; 11];
    let (usize, addr) = t!(sock1.recv_from(&mut buf));
    assert_eq!(usize, 11);
    assert!(addr.is_unnamed());
    assert_eq!(msg, &buf[..]);
}

fn test_unix_datagram_connect_to_recv_addr() {
    let dir = tmpdir();
    let path1 = dir.path().join("sock1");
    let path2 = dir.path().join("sock2");

    let sock1 = t!(UnixDatagram::bind(&path1));
    let sock2 = t!(UnixDatagram::bind(&path2));

    let msg = b"hello world";
    let sock1_addr = t!(sock1.local_addr());
    t!(sock2.send_to_addr(msg, &sock1_addr));
    let mut buf = [0; 11];
    let (_, addr) = t!(sock1.recv_from(&mut buf));

    let new_msg = b"hello back";
    let mut new_buf = [0; 10];
    t!(sock2.connect_addr(&addr));
    t!(sock2.send(new_msg)); // set by connect_addr
    let usize = t!(sock2.recv(&mut new_buf));
    assert_eq!(usize, 10);
    assert_eq!(new_msg, &new_buf[..]);
}

fn test_connect_unix_datagram() {
    let dir = tmpdir();
    let path1 = dir.path().join("sock1");
    let path2 = dir.path().join("sock2");

    let bsock1 = t!(UnixDatagram::bind(&path1));
    let bsock2 = t!(UnixDatagram::bind(&path2));
    let sock = t!(UnixDatagram::unbound());
    t!(sock.connect(&path1));

    // Check send()
    let msg = b"hello there";
    t!(sock.send(msg));
    let mut buf = [0; 11];
    let (usize, addr) = t!(bsock1.recv_from(&mut buf));
    assert_eq!(usize, 11);
    assert!(addr.is_unnamed());
    assert_eq!(msg, &buf[..]);

    // Changing default socket works too
    t!(sock.connect(&path2));
    t!(sock.send(msg));
    t!(bsock2.recv_from(&mut buf));
}

fn test_unix_datagram_recv() {
    let dir = tmpdir();
    let path1 = dir.path().join("sock1");

    let sock1 = t!(UnixDatagram::bind(&path1));
    let sock2 = t!(UnixDatagram::unbound());
    t!(sock2.connect(&path1));

    let msg = b"hello world";
    t!(sock2.send(msg));
    let mut buf = [0; 11];
    let size = t!(sock1.recv(&mut buf));
    assert_eq!(size, 11);
    assert_eq!(msg, &buf[..]);
}

fn datagram_pair() {
    let msg1 = b"hello";
    let msg2 = b"world!";

    let (s1, s2) = t!(UnixDatagram::pair());
    let thread = thread::spawn(move || {
        // s1 must be moved in or the test will hang!
        let mut buf = [0; 5];
        t!(s1.recv(&mut buf));
        assert_eq!(&msg1[..], &buf[..]);
        t!(s1.send(msg2));
    });

    t!(s2.send(msg1));
    let mut buf = [0; 6];
    t!(s2.recv(&mut buf));
    assert_eq!(&msg2[..], &buf[..]);
    drop(s2);

    thread.join().unwrap();
}

// Ensure the `set_read_timeout` and `set_write_timeout` calls return errors
// when passed zero Durations
fn test_unix_datagram_timeout_zero_duration() {
    let dir = tmpdir();
    let path = dir.path().join("sock");

    let datagram = t!(UnixDatagram::bind(&path));

    let result = datagram.set_write_timeout(Some(Duration::new(0, 0)));
    let err = result.unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidInput);

    let result = datagram.set_read_timeout(Some(Duration::new(0, 0)));
    let err = result.unwrap_err();
    assert_eq!(err.kind(), ErrorKind::InvalidInput);
}

fn abstract_socket_addr_debug() {
    assert_eq!(
        r#""\0hello world\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x11\x12\r\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f \x7f\x80\x81\xfe\xff" (abstract)"#,
        format!("{:?}", SocketAddr::from_abstract_name(b"\0hello world\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x11\x12\r\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f \x7f\x80\x81\xfe\xff").unwrap()),
    );
}

fn abstract_namespace_not_allowed_connect() {
    assert!(UnixStream::connect("\0asdf").is_err());
}

fn test_abstract_stream_connect() {
    let msg1 = b"hello";
    let msg2 = b"world";

    let name = unique("name");
    let socket_addr = t!(SocketAddr::from_abstract_name(&name));
    let listener = t!(UnixListener::bind_addr(&socket_addr));

    let thread = thread::spawn(move || {
        let mut stream = t!(listener.accept()).0;
        let mut buf = [0; 5];
        t!(stream.read(&mut buf));
        assert_eq!(&msg1[..], &buf[..]);
        t!(stream.write_all(msg2));
    });

    let mut stream = t!(UnixStream::connect_addr(&socket_addr));

    let peer = t!(stream.peer_addr());
    assert_eq!(peer.as_abstract_name().unwrap(), name.as_bytes());

    t!(stream.write_all(msg1));
    let mut buf = vec![];
    t!(stream.read_to_end(&mut buf));
    assert_eq!(&msg2[..], &buf[..]);
    drop(stream);

    thread.join().unwrap();
}

fn test_abstract_stream_iter() {
    let addr = t!(SocketAddr::from_abstract_name(unique("hidden")));
    let listener = t!(UnixListener::bind_addr(&addr));

    let thread = thread::spawn(move || {
        for stream in listener.incoming().take(2) {
            let mut stream = t!(stream);
            let mut buf = [0];
            t!(stream.read(&mut buf));
        }
    });

    for _ in 0..2 {
        let mut stream = t!(UnixStream::connect_addr(&addr));
        t!(stream.write_all(&[0]));
    }

    thread.join().unwrap();
}

fn test_abstract_datagram_bind_send_to_addr() {
    let name = unique("ns1");
    let addr1 = t!(SocketAddr::from_abstract_name(&name));
    let sock1 = t!(UnixDatagram::bind_addr(&addr1));

    let local = t!(sock1.local_addr());
    assert_eq!(local.as_abstract_name().unwrap(), name.as_bytes());

    let addr2 = t!(SocketAddr::from_abstract_name(unique("ns2")));
    let sock2 = t!(UnixDatagram::bind_addr(&addr2));

    let msg = b"hello world";
    t!(sock1.send_to_addr(msg, &addr2));
    let mut buf = [0; 11];
    let (len, addr) = t!(sock2.recv_from(&mut buf));
    assert_eq!(msg, &buf[..]);
    assert_eq!(len, 11);
    assert_eq!(addr.as_abstract_name().unwrap(), name.as_bytes());
}

fn test_abstract_datagram_connect_addr() {
    let addr1 = t!(SocketAddr::from_abstract_name(unique("ns3")));
    let bsock1 = t!(UnixDatagram::bind_addr(&addr1));

    let sock = t!(UnixDatagram::unbound());
    t!(sock.connect_addr(&addr1));

    let msg = b"hello world";
    t!(sock.send(msg));
    let mut buf = [0; 11];
    let (len, addr) = t!(bsock1.recv_from(&mut buf));
    assert_eq!(len, 11);
    assert_eq!(addr.is_unnamed(), true);
    assert_eq!(msg, &buf[..]);

    let addr2 = t!(SocketAddr::from_abstract_name(unique("ns4")));
    let bsock2 = t!(UnixDatagram::bind_addr(&addr2));

    t!(sock.connect_addr(&addr2));
    t!(sock.send(msg));
    t!(bsock2.recv_from(&mut buf));
}

fn test_abstract_name_too_long() {
    match SocketAddr::from_abstract_name(
        b"abcdefghijklmnopqrstuvwxyzabcdefghijklmn\
        opqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghi\
        jklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz",
    ) {
        Err(ref e) if e.kind() == io::ErrorKind::InvalidInput => {}
        Err(e) => panic!("unexpected error {e}"),
        Ok(_) => panic!("unexpected success"),
    }
}

fn test_abstract_no_pathname_and_not_unnamed() {
    let name = b"local";
    let addr = t!(SocketAddr::from_abstract_name(name));
    assert_eq!(addr.as_pathname(), None);
    assert_eq!(addr.as_abstract_name(), Some(&name[..]));
    assert_eq!(addr.is_unnamed(), false);
}

both! {
    basic,
    vectored,
    pair,
    try_clone,
    iter,
    long_path,
    timeouts,
    test_read_timeout,
    test_read_with_timeout,
    test_unix_stream_timeout_zero_duration,
    test_unix_datagram,
    test_unnamed_unix_datagram,
    test_unix_datagram_connect_to_recv_addr,
    test_connect_unix_datagram,
    test_unix_datagram_recv,
    datagram_pair,
    test_unix_datagram_timeout_zero_duration,
    abstract_socket_addr_debug,
    abstract_namespace_not_allowed_connect,
    test_abstract_stream_connect,
    test_abstract_stream_iter,
    test_abstract_datagram_bind_send_to_addr,
    test_abstract_datagram_connect_addr,
    test_abstract_name_too_long,
    test_abstract_no_pathname_and_not_unnamed,
}
