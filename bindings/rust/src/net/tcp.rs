// SPDX-License-Identifier: Apache-2.0
//! TCP.
use super::{accept, connect, delegate, peek, socket, stream, stream_socket, Addr};
use crate::sys;
use crate::thread::Bound;
use crate::wait::after;
use std::io;
use std::iter::FusedIterator;
use std::net::{self, Shutdown, SocketAddr, ToSocketAddrs};
use std::os::fd::{AsRawFd, FromRawFd};
use std::time::Duration;

socket! {
    /// A TCP connection, like [`std::net::TcpStream`].
    TcpStream, net::TcpStream
}
stream!(TcpStream, &TcpStream);

impl TcpStream {
    /// Connects to the first address of `addr` that accepts.
    pub fn connect<A: ToSocketAddrs>(addr: A) -> io::Result<TcpStream> {
        let mut last = io::Error::new(
            io::ErrorKind::InvalidInput,
            "could not resolve to any addresses",
        );
        for addr in addr.to_socket_addrs()? {
            match TcpStream::connect_one(&addr) {
                Ok(s) => return Ok(s),
                Err(e) => last = e,
            }
        }
        Err(last)
    }

    /// The same, but fails with [`io::ErrorKind::TimedOut`] after `timeout`.
    pub fn connect_timeout(addr: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
        if timeout.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "cannot set a 0 duration timeout",
            ));
        }
        let _bound = Bound::new(after(timeout));
        TcpStream::connect_one(addr)
    }

    fn connect_one(addr: &SocketAddr) -> io::Result<TcpStream> {
        let addr = Addr::from(addr);
        // SAFETY: the fd is new
        let s = unsafe { TcpStream::from_raw_fd(stream_socket(addr.domain())?) };
        connect(s.as_raw_fd(), &addr)?;
        Ok(s)
    }

    /// Receives, and leaves the bytes there for the next call.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        peek(self.as_raw_fd(), buf)
    }

    /// Another owner of the same socket.
    pub fn try_clone(&self) -> io::Result<TcpStream> {
        self.0.try_clone().map(TcpStream::from)
    }

    delegate! { TcpStream:
        fn local_addr() -> io::Result<SocketAddr>;
        fn nodelay() -> io::Result<bool>;
        fn peer_addr() -> io::Result<SocketAddr>;
        fn read_timeout() -> io::Result<Option<Duration>>;
        fn set_nodelay(nodelay: bool) -> io::Result<()>;
        fn set_nonblocking(nonblocking: bool) -> io::Result<()>;
        fn set_read_timeout(dur: Option<Duration>) -> io::Result<()>;
        fn set_ttl(ttl: u32) -> io::Result<()>;
        fn set_write_timeout(dur: Option<Duration>) -> io::Result<()>;
        fn shutdown(how: Shutdown) -> io::Result<()>;
        fn take_error() -> io::Result<Option<io::Error>>;
        fn ttl() -> io::Result<u32>;
        fn write_timeout() -> io::Result<Option<Duration>>;
    }
}

socket! {
    /// A TCP socket that listens, like [`std::net::TcpListener`].
    TcpListener, net::TcpListener
}

impl TcpListener {
    /// Listens at the first address of `addr` that is free.
    ///
    /// As many connections wait to be accepted as the system allows
    /// (net.core.somaxconn), not 128 as in std: with user threads thousands of clients
    /// connect at the same time.
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<TcpListener> {
        let l = net::TcpListener::bind(addr)?;
        // SAFETY: takes numbers; it only makes the queue longer
        match unsafe { sys::listen(l.as_raw_fd(), i32::MAX) } {
            0 => Ok(l.into()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits for a connection.
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        let (fd, from) = accept(self.as_raw_fd())?;
        // SAFETY: the fd is new
        let s = unsafe { TcpStream::from_raw_fd(fd) };
        Ok((s, from.ip()?))
    }

    /// The connections as they come; it never ends.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// Another owner of the same socket.
    pub fn try_clone(&self) -> io::Result<TcpListener> {
        self.0.try_clone().map(TcpListener::from)
    }

    delegate! { TcpListener:
        fn local_addr() -> io::Result<SocketAddr>;
        fn set_nonblocking(nonblocking: bool) -> io::Result<()>;
        fn set_ttl(ttl: u32) -> io::Result<()>;
        fn take_error() -> io::Result<Option<io::Error>>;
        fn ttl() -> io::Result<u32>;
    }
}

/// Made by [`TcpListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a>(&'a TcpListener);

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<io::Result<TcpStream>> {
        Some(self.0.accept().map(|(s, _)| s))
    }
}

impl FusedIterator for Incoming<'_> {}
