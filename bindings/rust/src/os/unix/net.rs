// SPDX-License-Identifier: Apache-2.0
//! Unix sockets, with the interface of [`std::os::unix::net`]. What [`crate::net`] says
//! of sockets holds for these, too.
use crate::net::{accept, connect, delegate, recv, recv_from, send, send_to, socket};
use crate::net::{stream, stream_socket, Addr};
use crate::sys;
use std::ffi::OsStr;
use std::io;
use std::iter::FusedIterator;
use std::mem::offset_of;
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net;
use std::path::Path;
use std::time::Duration;

pub use std::os::unix::net::SocketAddr;

const PATH: usize = offset_of!(sys::sockaddr_un, sun_path);

impl Addr {
    fn unix(&self) -> io::Result<SocketAddr> {
        // SAFETY: the kernel wrote `len` bytes of a sockaddr_un, and the rest is zero
        let path = unsafe { &self.raw.un.sun_path };
        let path = &path[..(self.len as usize).saturating_sub(PATH).min(path.len())];
        match path.first() {
            None => SocketAddr::from_pathname(""),
            Some(0) => SocketAddr::from_abstract_name(&path[1..]),
            Some(_) => {
                let end = path.iter().position(|b| *b == 0).unwrap_or(path.len());
                SocketAddr::from_pathname(OsStr::from_bytes(&path[..end]))
            }
        }
    }
}

/// std has checked that the name fits.
impl From<&SocketAddr> for Addr {
    fn from(addr: &SocketAddr) -> Addr {
        let mut un = sys::sockaddr_un {
            sun_family: sys::AF_UNIX as u16,
            sun_path: [0; 108],
        };
        let end = if let Some(path) = addr.as_pathname() {
            let path = path.as_os_str().as_bytes();
            un.sun_path[..path.len()].copy_from_slice(path);
            (path.len() + 1).min(un.sun_path.len())
        } else if let Some(name) = addr.as_abstract_name() {
            un.sun_path[1..=name.len()].copy_from_slice(name);
            name.len() + 1
        } else {
            0
        };
        Addr {
            raw: sys::sockaddr { un },
            len: (PATH + end) as sys::socklen_t,
        }
    }
}

socket! {
    /// A connection, like [`std::os::unix::net::UnixStream`].
    UnixStream, net::UnixStream
}
stream!(UnixStream, &UnixStream);

impl UnixStream {
    /// Connects to the socket that `path` names.
    pub fn connect<P: AsRef<Path>>(path: P) -> io::Result<UnixStream> {
        UnixStream::connect_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Connects to `addr`.
    pub fn connect_addr(addr: &SocketAddr) -> io::Result<UnixStream> {
        // SAFETY: the fd is new
        let s = unsafe { UnixStream::from_raw_fd(stream_socket(sys::AF_UNIX)?) };
        connect(s.as_raw_fd(), &Addr::from(addr))?;
        Ok(s)
    }

    /// Two sockets that are connected to each other.
    pub fn pair() -> io::Result<(UnixStream, UnixStream)> {
        net::UnixStream::pair().map(|(a, b)| (a.into(), b.into()))
    }

    /// Another owner of the same socket.
    pub fn try_clone(&self) -> io::Result<UnixStream> {
        self.0.try_clone().map(UnixStream::from)
    }

    delegate! { UnixStream:
        fn local_addr() -> io::Result<SocketAddr>;
        fn peer_addr() -> io::Result<SocketAddr>;
        fn read_timeout() -> io::Result<Option<Duration>>;
        fn set_nonblocking(nonblocking: bool) -> io::Result<()>;
        fn set_read_timeout(timeout: Option<Duration>) -> io::Result<()>;
        fn set_write_timeout(timeout: Option<Duration>) -> io::Result<()>;
        fn shutdown(how: Shutdown) -> io::Result<()>;
        fn take_error() -> io::Result<Option<io::Error>>;
        fn write_timeout() -> io::Result<Option<Duration>>;
    }
}

socket! {
    /// A socket that listens, like [`std::os::unix::net::UnixListener`].
    UnixListener, net::UnixListener
}

impl UnixListener {
    /// Listens at `path`, where it makes a file.
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixListener> {
        net::UnixListener::bind(path).map(UnixListener::from)
    }

    /// Listens at `addr`.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<UnixListener> {
        net::UnixListener::bind_addr(addr).map(UnixListener::from)
    }

    /// Waits for a connection.
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        let (fd, from) = accept(self.as_raw_fd())?;
        // SAFETY: the fd is new
        let s = unsafe { UnixStream::from_raw_fd(fd) };
        Ok((s, from.unix()?))
    }

    /// The connections as they come; it never ends.
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming(self)
    }

    /// Another owner of the same socket.
    pub fn try_clone(&self) -> io::Result<UnixListener> {
        self.0.try_clone().map(UnixListener::from)
    }

    delegate! { UnixListener:
        fn local_addr() -> io::Result<SocketAddr>;
        fn set_nonblocking(nonblocking: bool) -> io::Result<()>;
        fn take_error() -> io::Result<Option<io::Error>>;
    }
}

/// Made by [`UnixListener::incoming`].
#[derive(Debug)]
pub struct Incoming<'a>(&'a UnixListener);

impl Iterator for Incoming<'_> {
    type Item = io::Result<UnixStream>;

    fn next(&mut self) -> Option<io::Result<UnixStream>> {
        Some(self.0.accept().map(|(s, _)| s))
    }
}

impl FusedIterator for Incoming<'_> {}

impl<'a> IntoIterator for &'a UnixListener {
    type Item = io::Result<UnixStream>;
    type IntoIter = Incoming<'a>;

    fn into_iter(self) -> Incoming<'a> {
        self.incoming()
    }
}

socket! {
    /// A socket for messages, like [`std::os::unix::net::UnixDatagram`].
    UnixDatagram, net::UnixDatagram
}

impl UnixDatagram {
    /// A socket at `path`, where it makes a file.
    pub fn bind<P: AsRef<Path>>(path: P) -> io::Result<UnixDatagram> {
        net::UnixDatagram::bind(path).map(UnixDatagram::from)
    }

    /// A socket at `addr`.
    pub fn bind_addr(addr: &SocketAddr) -> io::Result<UnixDatagram> {
        net::UnixDatagram::bind_addr(addr).map(UnixDatagram::from)
    }

    /// A socket without an address.
    pub fn unbound() -> io::Result<UnixDatagram> {
        net::UnixDatagram::unbound().map(UnixDatagram::from)
    }

    /// Two sockets that are connected to each other.
    pub fn pair() -> io::Result<(UnixDatagram, UnixDatagram)> {
        net::UnixDatagram::pair().map(|(a, b)| (a.into(), b.into()))
    }

    /// Sets where [`send`](Self::send) sends, and [`recv`](Self::recv) receives from.
    pub fn connect<P: AsRef<Path>>(&self, path: P) -> io::Result<()> {
        self.0.connect(path) // a datagram socket does not wait for that
    }

    /// Receives a message and its sender.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = recv_from(self.as_raw_fd(), buf, 0)?;
        Ok((n, from.unix()?))
    }

    /// Receives a message.
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        recv(self.as_raw_fd(), buf, 0)
    }

    /// Sends a message to the socket that `path` names.
    pub fn send_to<P: AsRef<Path>>(&self, buf: &[u8], path: P) -> io::Result<usize> {
        self.send_to_addr(buf, &SocketAddr::from_pathname(path)?)
    }

    /// Sends a message to `addr`.
    pub fn send_to_addr(&self, buf: &[u8], addr: &SocketAddr) -> io::Result<usize> {
        send_to(self.as_raw_fd(), buf, &Addr::from(addr))
    }

    /// Sends a message to where the socket is connected.
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        send(self.as_raw_fd(), buf)
    }

    /// Another owner of the same socket.
    pub fn try_clone(&self) -> io::Result<UnixDatagram> {
        self.0.try_clone().map(UnixDatagram::from)
    }

    delegate! { UnixDatagram:
        fn connect_addr(addr: &SocketAddr) -> io::Result<()>;
        fn local_addr() -> io::Result<SocketAddr>;
        fn peer_addr() -> io::Result<SocketAddr>;
        fn read_timeout() -> io::Result<Option<Duration>>;
        fn set_nonblocking(nonblocking: bool) -> io::Result<()>;
        fn set_read_timeout(timeout: Option<Duration>) -> io::Result<()>;
        fn set_write_timeout(timeout: Option<Duration>) -> io::Result<()>;
        fn shutdown(how: Shutdown) -> io::Result<()>;
        fn take_error() -> io::Result<Option<io::Error>>;
        fn write_timeout() -> io::Result<Option<Duration>>;
    }
}
