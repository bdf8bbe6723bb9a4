// SPDX-License-Identifier: Apache-2.0
//! What all sockets share: the calls that wait, addresses, ownership of the fd.
use crate::sys;
use crate::wait::{count, done};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::{size_of, zeroed};
use std::net::{SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::RawFd;
use std::ptr;

/// The kernel takes so many parts at once.
const MOST_PARTS: usize = 1024;

// -- addresses --

/// An address as the kernel has it.
pub(crate) struct Addr {
    pub(crate) raw: sys::sockaddr,
    pub(crate) len: sys::socklen_t,
}

impl Addr {
    pub(crate) fn empty() -> Addr {
        Addr {
            // SAFETY: numbers and arrays of numbers may be all zero
            raw: unsafe { zeroed() },
            len: size_of::<sys::sockaddr>() as sys::socklen_t,
        }
    }

    pub(crate) fn domain(&self) -> i32 {
        // SAFETY: all variants begin with the family
        unsafe { self.raw.family }.into()
    }

    pub(crate) fn ip(&self) -> io::Result<SocketAddr> {
        match self.domain() {
            sys::AF_INET => {
                // SAFETY: the family says which variant it is
                let a = unsafe { self.raw.v4 };
                Ok(SocketAddrV4::new(a.sin_addr.into(), u16::from_be(a.sin_port)).into())
            }
            sys::AF_INET6 => {
                // SAFETY: as above
                let a = unsafe { self.raw.v6 };
                Ok(SocketAddrV6::new(
                    a.sin6_addr.into(),
                    u16::from_be(a.sin6_port),
                    a.sin6_flowinfo,
                    a.sin6_scope_id,
                )
                .into())
            }
            _ => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "invalid argument",
            )),
        }
    }
}

impl From<&SocketAddr> for Addr {
    fn from(addr: &SocketAddr) -> Addr {
        match addr {
            SocketAddr::V4(a) => Addr {
                raw: sys::sockaddr {
                    v4: sys::sockaddr_in {
                        sin_family: sys::AF_INET as u16,
                        sin_port: a.port().to_be(),
                        sin_addr: a.ip().octets(),
                        sin_zero: [0; 8],
                    },
                },
                len: size_of::<sys::sockaddr_in>() as sys::socklen_t,
            },
            SocketAddr::V6(a) => Addr {
                raw: sys::sockaddr {
                    v6: sys::sockaddr_in6 {
                        sin6_family: sys::AF_INET6 as u16,
                        sin6_port: a.port().to_be(),
                        sin6_flowinfo: a.flowinfo(),
                        sin6_addr: a.ip().octets(),
                        sin6_scope_id: a.scope_id(),
                    },
                },
                len: size_of::<sys::sockaddr_in6>() as sys::socklen_t,
            },
        }
    }
}

// -- calls that wait --

pub(crate) fn recv(fd: RawFd, buf: &mut [u8], flags: i32) -> io::Result<usize> {
    // SAFETY: the kernel writes at most buf.len() bytes, and none after the call
    count(unsafe { sys::uk_recv(fd, buf.as_mut_ptr().cast(), buf.len(), flags) })
}

pub(crate) fn peek(fd: RawFd, buf: &mut [u8]) -> io::Result<usize> {
    recv(fd, buf, sys::MSG_PEEK)
}

pub(crate) fn recv_from(fd: RawFd, buf: &mut [u8], flags: i32) -> io::Result<(usize, Addr)> {
    let mut from = Addr::empty();
    // SAFETY: as recv; the address has its size in len
    let n = count(unsafe {
        sys::uk_recvfrom(
            fd,
            buf.as_mut_ptr().cast(),
            buf.len(),
            flags,
            &mut from.raw,
            &mut from.len,
        )
    })?;
    Ok((n, from))
}

pub(crate) fn recv_vectored(fd: RawFd, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
    let n = bufs.len().min(MOST_PARTS) as i32;
    // SAFETY: IoSliceMut is an iovec, and its buffers are borrowed during the call
    count(unsafe { sys::uk_readv(fd, bufs.as_ptr().cast(), n) })
}

pub(crate) fn send(fd: RawFd, buf: &[u8]) -> io::Result<usize> {
    // SAFETY: the kernel reads at most buf.len() bytes
    count(unsafe { sys::uk_send(fd, buf.as_ptr().cast(), buf.len(), sys::MSG_NOSIGNAL) })
}

pub(crate) fn send_to(fd: RawFd, buf: &[u8], to: &Addr) -> io::Result<usize> {
    // SAFETY: as send; the address has len bytes
    count(unsafe {
        sys::uk_sendto(
            fd,
            buf.as_ptr().cast(),
            buf.len(),
            sys::MSG_NOSIGNAL,
            &to.raw,
            to.len,
        )
    })
}

pub(crate) fn send_vectored(fd: RawFd, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
    let m = sys::msghdr {
        msg_name: ptr::null_mut(),
        msg_namelen: 0,
        msg_iov: bufs.as_ptr().cast_mut().cast(),
        msg_iovlen: bufs.len().min(MOST_PARTS),
        msg_control: ptr::null_mut(),
        msg_controllen: 0,
        msg_flags: 0,
    };
    // SAFETY: IoSlice is an iovec; the call only reads the parts. No SIGPIPE, unlike
    // uk_writev.
    count(unsafe { sys::uk_sendmsg(fd, &m, sys::MSG_NOSIGNAL) })
}

pub(crate) fn accept(fd: RawFd) -> io::Result<(RawFd, Addr)> {
    let mut from = Addr::empty();
    // SAFETY: the address has its size in len
    let new =
        done(unsafe { sys::uk_accept4(fd, &mut from.raw, &mut from.len, sys::SOCK_CLOEXEC) })?;
    Ok((new, from))
}

pub(crate) fn stream_socket(domain: i32) -> io::Result<RawFd> {
    // SAFETY: takes and returns numbers
    done(unsafe { sys::uk_socket(domain, sys::SOCK_STREAM | sys::SOCK_CLOEXEC, 0) })
}

pub(crate) fn connect(fd: RawFd, to: &Addr) -> io::Result<()> {
    // SAFETY: the address has len bytes
    done(unsafe { sys::uk_connect(fd, &to.raw, to.len) }).map(drop)
}

// -- ownership --

/// A socket type around the one of std: conversions, and the close by the library.
macro_rules! socket {
    ($(#[$doc:meta])* $name:ident, $std:ty) => {
        $(#[$doc])*
        pub struct $name(std::mem::ManuallyDrop<$std>);

        impl Drop for $name {
            fn drop(&mut self) {
                use std::os::fd::AsRawFd;
                // SAFETY: the fd is ours, and nothing uses it afterwards
                unsafe { crate::sys::uk_close(self.0.as_raw_fd()) };
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl std::os::fd::AsRawFd for $name {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.0.as_raw_fd()
            }
        }

        impl std::os::fd::AsFd for $name {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.0.as_fd()
            }
        }

        impl std::os::fd::FromRawFd for $name {
            unsafe fn from_raw_fd(fd: std::os::fd::RawFd) -> Self {
                // SAFETY: the caller gives us the fd
                unsafe { <$std>::from_raw_fd(fd) }.into()
            }
        }

        impl std::os::fd::IntoRawFd for $name {
            fn into_raw_fd(self) -> std::os::fd::RawFd {
                <$std>::from(self).into_raw_fd()
            }
        }

        impl From<$std> for $name {
            fn from(s: $std) -> Self {
                Self(std::mem::ManuallyDrop::new(s))
            }
        }

        impl From<$name> for $std {
            fn from(s: $name) -> Self {
                let mut s = std::mem::ManuallyDrop::new(s);
                // SAFETY: s is not dropped and not used again
                unsafe { std::mem::ManuallyDrop::take(&mut s.0) }
            }
        }

        impl From<std::os::fd::OwnedFd> for $name {
            fn from(fd: std::os::fd::OwnedFd) -> Self {
                <$std>::from(fd).into()
            }
        }

        impl From<$name> for std::os::fd::OwnedFd {
            fn from(s: $name) -> Self {
                <$std>::from(s).into()
            }
        }
    };
}
pub(crate) use socket;

/// Methods that never wait: std's own.
macro_rules! delegate {
    ($std:ident: $(fn $name:ident($($arg:ident: $type:ty),*) $(-> $ret:ty)?;)*) => {$(
        #[doc = concat!("As the method of [`", stringify!($std), "`].")]
        pub fn $name(&self $(, $arg: $type)*) $(-> $ret)? {
            self.0.$name($($arg),*)
        }
    )*};
}
pub(crate) use delegate;

/// Read and Write of a stream, for T and &T.
macro_rules! stream {
    ($($name:ty),*) => {$(
        impl std::io::Read for $name {
            fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
                crate::net::recv(self.as_raw_fd(), buf, 0)
            }

            fn read_vectored(
                &mut self,
                bufs: &mut [std::io::IoSliceMut<'_>],
            ) -> std::io::Result<usize> {
                crate::net::recv_vectored(self.as_raw_fd(), bufs)
            }
        }

        impl std::io::Write for $name {
            fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
                crate::net::send(self.as_raw_fd(), buf)
            }

            fn write_vectored(
                &mut self,
                bufs: &[std::io::IoSlice<'_>],
            ) -> std::io::Result<usize> {
                crate::net::send_vectored(self.as_raw_fd(), bufs)
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
    )*};
}
pub(crate) use stream;
