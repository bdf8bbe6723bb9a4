// SPDX-License-Identifier: Apache-2.0
//! UDP.
use super::{delegate, peek, recv, recv_from, send, send_to, socket, Addr};
use crate::sys;
use std::io;
use std::net::{self, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::time::Duration;

socket! {
    /// A UDP socket, like [`std::net::UdpSocket`].
    UdpSocket, net::UdpSocket
}

impl UdpSocket {
    /// A socket with the first address of `addr` that is free.
    pub fn bind<A: ToSocketAddrs>(addr: A) -> io::Result<UdpSocket> {
        net::UdpSocket::bind(addr).map(UdpSocket::from)
    }

    /// Sets where [`send`](Self::send) sends, and [`recv`](Self::recv) receives from.
    pub fn connect<A: ToSocketAddrs>(&self, addr: A) -> io::Result<()> {
        self.0.connect(addr) // a datagram socket does not wait for that
    }

    /// Receives a message and its sender.
    pub fn recv_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = recv_from(self.as_raw_fd(), buf, 0)?;
        Ok((n, from.ip()?))
    }

    /// The same, and leaves the message there for the next call.
    pub fn peek_from(&self, buf: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        let (n, from) = recv_from(self.as_raw_fd(), buf, sys::MSG_PEEK)?;
        Ok((n, from.ip()?))
    }

    /// Sends a message to the first address of `addr`.
    pub fn send_to<A: ToSocketAddrs>(&self, buf: &[u8], addr: A) -> io::Result<usize> {
        match addr.to_socket_addrs()?.next() {
            Some(addr) => send_to(self.as_raw_fd(), buf, &Addr::from(&addr)),
            None => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no addresses to send data to",
            )),
        }
    }

    /// Sends a message to where the socket is connected.
    pub fn send(&self, buf: &[u8]) -> io::Result<usize> {
        send(self.as_raw_fd(), buf)
    }

    /// Receives a message from where the socket is connected.
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<usize> {
        recv(self.as_raw_fd(), buf, 0)
    }

    /// The same, and leaves the message there for the next call.
    pub fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
        peek(self.as_raw_fd(), buf)
    }

    /// Another owner of the same socket.
    pub fn try_clone(&self) -> io::Result<UdpSocket> {
        self.0.try_clone().map(UdpSocket::from)
    }

    delegate! { UdpSocket:
        fn broadcast() -> io::Result<bool>;
        fn join_multicast_v4(multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()>;
        fn join_multicast_v6(multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()>;
        fn leave_multicast_v4(multiaddr: &Ipv4Addr, interface: &Ipv4Addr) -> io::Result<()>;
        fn leave_multicast_v6(multiaddr: &Ipv6Addr, interface: u32) -> io::Result<()>;
        fn local_addr() -> io::Result<SocketAddr>;
        fn multicast_loop_v4() -> io::Result<bool>;
        fn multicast_loop_v6() -> io::Result<bool>;
        fn multicast_ttl_v4() -> io::Result<u32>;
        fn peer_addr() -> io::Result<SocketAddr>;
        fn read_timeout() -> io::Result<Option<Duration>>;
        fn set_broadcast(broadcast: bool) -> io::Result<()>;
        fn set_multicast_loop_v4(multicast_loop_v4: bool) -> io::Result<()>;
        fn set_multicast_loop_v6(multicast_loop_v6: bool) -> io::Result<()>;
        fn set_multicast_ttl_v4(multicast_ttl_v4: u32) -> io::Result<()>;
        fn set_nonblocking(nonblocking: bool) -> io::Result<()>;
        fn set_read_timeout(dur: Option<Duration>) -> io::Result<()>;
        fn set_ttl(ttl: u32) -> io::Result<()>;
        fn set_write_timeout(dur: Option<Duration>) -> io::Result<()>;
        fn take_error() -> io::Result<Option<io::Error>>;
        fn ttl() -> io::Result<u32>;
        fn write_timeout() -> io::Result<Option<Duration>>;
    }
}
