// SPDX-License-Identifier: Apache-2.0
//! Sockets, with the interface of [`std::net`].
//!
//! A socket here is one of std, whose calls that may wait are replaced by those of the
//! library: they park the user thread. What never waits (options, addresses, shutdown)
//! is std's own code.
//!
//! - A read or write timeout is the socket's (`SO_RCVTIMEO`, `SO_SNDTIMEO`), as in std:
//!   the call fails with [`WouldBlock`](std::io::ErrorKind::WouldBlock).
//!   [`with_deadline`](crate::thread::with_deadline) bounds several calls together.
//! - A socket is closed by `uk_close` when it is dropped. One that was converted to an
//!   [`OwnedFd`](std::os::fd::OwnedFd) or a socket of std is closed by std. That is
//!   right, too: nothing waits on a file descriptor when its owner is dropped, and what
//!   the library remembers of it are hints.
//! - Names are resolved by std, in the calling thread: its kernel thread blocks, and
//!   the virtual processor is handed off. Resolve names inside
//!   [`run_blocking`](crate::run_blocking) to hand it off at once.
mod raw;
mod tcp;
mod udp;

pub(crate) use raw::{accept, connect, delegate, socket, stream, stream_socket};
pub(crate) use raw::{peek, recv, recv_from, recv_vectored, send, send_to, send_vectored, Addr};
pub use tcp::{Incoming, TcpListener, TcpStream};
pub use udp::UdpSocket;

pub use std::net::{
    AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, SocketAddrV4, SocketAddrV6,
    ToSocketAddrs,
};
