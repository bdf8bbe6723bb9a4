// SPDX-License-Identifier: Apache-2.0
//! Bounded channels, with the interface of `std::sync::mpsc::sync_channel`, for any
//! number of receivers, and a select over several.
//!
//! An element goes through the C channel by copy, as a move does: whatever call has
//! succeeded owns it. The last sender or the last receiver closes the channel. The last
//! receiver also drops what is left, so that a closed channel without receivers is
//! empty.
use crate::sys;
use crate::wait::{after, error, must, until_done};
use std::fmt;
use std::marker::PhantomData;
use std::mem::{size_of, ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::atomic::{fence, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvError, RecvTimeoutError, SendError, TryRecvError, TrySendError};
use std::sync::Arc;
use std::time::{Duration, Instant};

struct Chan<T> {
    raw: *mut sys::uk_chan,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    owns: PhantomData<T>,
}

// SAFETY: the C channel may be used by any thread, and its elements go from one to
// another
unsafe impl<T: Send> Send for Chan<T> {}
// SAFETY: as above
unsafe impl<T: Send> Sync for Chan<T> {}

impl<T> Chan<T> {
    /// -EPIPE, or another result of `call`, with the element again if it was not sent.
    fn send(
        &self,
        t: T,
        call: unsafe extern "C" fn(*mut sys::uk_chan, *const std::ffi::c_void) -> i32,
    ) -> Result<(), (i32, T)> {
        let t = ManuallyDrop::new(t);
        // SAFETY: the element is valid during the call, and has the size of the
        // channel's
        let r = until_done(|| unsafe { call(self.raw, ptr::from_ref(&t).cast()) });
        match r {
            0 => Ok(()),
            _ => Err((r, ManuallyDrop::into_inner(t))),
        }
    }

    fn recv(
        &self,
        call: impl Fn(*mut sys::uk_chan, *mut std::ffi::c_void) -> i32,
    ) -> Result<T, i32> {
        let mut t = MaybeUninit::<T>::uninit();
        let r = until_done(|| call(self.raw, t.as_mut_ptr().cast()));
        match r {
            // SAFETY: the call has written an element that a send has given up
            0 => Ok(unsafe { t.assume_init() }),
            _ => Err(r),
        }
    }

    fn try_recv(&self) -> Result<T, i32> {
        // SAFETY: the place has the size of an element
        self.recv(|c, t| unsafe { sys::uk_chan_tryrecv(c, t) })
    }

    fn close(&self) {
        // SAFETY: the channel is valid. Whether it was closed before does not matter.
        unsafe { sys::uk_chan_close(self.raw) };
    }
}

impl<T> Drop for Chan<T> {
    fn drop(&mut self) {
        // SAFETY: no other reference is left. The channel is empty: see Receiver.
        unsafe { sys::uk_chan_destroy(self.raw) };
    }
}

/// A bounded channel for `bound` elements; 0: a send waits for its receive.
///
/// # Panics
/// If there is no memory for it.
pub fn sync_channel<T>(bound: usize) -> (SyncSender<T>, Receiver<T>) {
    let mut raw = ptr::null_mut();
    // SAFETY: the place of the handle is valid
    must("sync_channel", unsafe {
        sys::uk_chan_create(&mut raw, size_of::<T>(), bound)
    });
    let chan = Arc::new(Chan {
        raw,
        senders: AtomicUsize::new(1),
        receivers: AtomicUsize::new(1),
        owns: PhantomData,
    });
    (SyncSender(chan.clone()), Receiver(chan))
}

/// True: it was the last one, and what the others did is visible.
fn last(count: &AtomicUsize) -> bool {
    let last = count.fetch_sub(1, Ordering::Release) == 1;
    if last {
        fence(Ordering::Acquire);
    }
    last
}

// -- the sending end --

/// The sending end of a channel, like [`std::sync::mpsc::SyncSender`].
pub struct SyncSender<T>(Arc<Chan<T>>);

impl<T> SyncSender<T> {
    /// Waits for space, or for a receiver if the bound is 0. An error means that all
    /// receivers are gone.
    pub fn send(&self, t: T) -> Result<(), SendError<T>> {
        self.0
            .send(t, sys::uk_chan_send)
            .map_err(|(_, t)| SendError(t))
    }

    /// Sends if that is possible at once.
    pub fn try_send(&self, t: T) -> Result<(), TrySendError<T>> {
        self.0
            .send(t, sys::uk_chan_trysend)
            .map_err(|(r, t)| match r {
                r if r == -sys::EPIPE => TrySendError::Disconnected(t),
                _ => TrySendError::Full(t),
            })
    }
}

impl<T> Clone for SyncSender<T> {
    fn clone(&self) -> SyncSender<T> {
        self.0.senders.fetch_add(1, Ordering::Relaxed);
        SyncSender(self.0.clone())
    }
}

impl<T> Drop for SyncSender<T> {
    fn drop(&mut self) {
        if last(&self.0.senders) {
            self.0.close();
        }
    }
}

impl<T> fmt::Debug for SyncSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SyncSender").finish_non_exhaustive()
    }
}

// -- the receiving end --

/// The receiving end of a channel, like [`std::sync::mpsc::Receiver`]. It may be cloned
/// and shared: each element goes to one receiver.
pub struct Receiver<T>(Arc<Chan<T>>);

impl<T> Receiver<T> {
    /// Waits for an element. An error means that all senders are gone and nothing is
    /// left.
    pub fn recv(&self) -> Result<T, RecvError> {
        // SAFETY: the place has the size of an element
        self.0
            .recv(|c, t| unsafe { sys::uk_chan_recv(c, t) })
            .map_err(|_| RecvError)
    }

    /// Receives if that is possible at once.
    pub fn try_recv(&self) -> Result<T, TryRecvError> {
        self.0.try_recv().map_err(|r| match r {
            r if r == -sys::EPIPE => TryRecvError::Disconnected,
            _ => TryRecvError::Empty,
        })
    }

    /// As [`recv`](Self::recv), for at most `timeout`.
    pub fn recv_timeout(&self, timeout: Duration) -> Result<T, RecvTimeoutError> {
        let end = after(timeout);
        // SAFETY: as recv
        self.0
            .recv(|c, t| unsafe { sys::uk_chan_recv_until(c, t, end) })
            .map_err(|r| match r {
                r if r == -sys::EPIPE => RecvTimeoutError::Disconnected,
                _ => RecvTimeoutError::Timeout,
            })
    }

    /// Waits for elements until all senders are gone.
    pub fn iter(&self) -> Iter<'_, T> {
        Iter(self)
    }

    /// The elements that are there, without waiting.
    pub fn try_iter(&self) -> TryIter<'_, T> {
        TryIter(self)
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        self.0.receivers.fetch_add(1, Ordering::Relaxed);
        Receiver(self.0.clone())
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        if last(&self.0.receivers) {
            self.0.close();
            while let Ok(t) = self.0.try_recv() {
                drop(t);
            }
        }
    }
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").finish_non_exhaustive()
    }
}

/// Made by [`Receiver::iter`].
#[derive(Debug)]
pub struct Iter<'a, T>(&'a Receiver<T>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

/// Made by [`Receiver::try_iter`].
#[derive(Debug)]
pub struct TryIter<'a, T>(&'a Receiver<T>);

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.try_recv().ok()
    }
}

/// Owns its receiver.
#[derive(Debug)]
pub struct IntoIter<T>(Receiver<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.recv().ok()
    }
}

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}

impl<T> IntoIterator for Receiver<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

// -- select --

/// Waits until one of several sends and receives can proceed, and performs that one.
///
/// Each case has a function for its result, which `wait` calls. Among several cases
/// that can proceed the choice is fair. An element of a send that was not performed is
/// dropped.
///
/// ```
/// use ukthreads::sync::{sync_channel, Select};
///
/// let (numbers, numbers_out) = sync_channel(1);
/// let (_words, words_out) = sync_channel::<String>(1);
/// numbers.send(7).unwrap();
/// let which = Select::new()
///     .recv(&numbers_out, |n| format!("number {}", n.unwrap()))
///     .recv(&words_out, |w| format!("word {}", w.unwrap()))
///     .wait();
/// assert_eq!(which, "number 7");
/// ```
pub struct Select<'a, R>(Vec<Box<dyn Case<R> + 'a>>);

trait Case<R> {
    /// The case for the C call. What it points to stays where it is until the end.
    fn raw(&mut self) -> sys::uk_chan_case;
    /// The case was performed, with this result.
    fn performed(self: Box<Self>, result: i32) -> R;
}

struct Recv<'a, T, F> {
    chan: &'a Chan<T>,
    place: MaybeUninit<T>,
    then: F,
}

impl<T, R, F: FnOnce(Result<T, RecvError>) -> R> Case<R> for Recv<'_, T, F> {
    fn raw(&mut self) -> sys::uk_chan_case {
        sys::uk_chan_case {
            chan: self.chan.raw,
            op: sys::UK_CHAN_RECV,
            result: 0,
            elem: self.place.as_mut_ptr().cast(),
        }
    }

    fn performed(self: Box<Self>, result: i32) -> R {
        (self.then)(match result {
            // SAFETY: the call has written an element that a send has given up
            0 => Ok(unsafe { self.place.assume_init() }),
            _ => Err(RecvError),
        })
    }
}

struct Send_<'a, T, F> {
    chan: &'a Chan<T>,
    elem: T,
    then: F,
}

impl<T, R, F: FnOnce(Result<(), SendError<T>>) -> R> Case<R> for Send_<'_, T, F> {
    fn raw(&mut self) -> sys::uk_chan_case {
        sys::uk_chan_case {
            chan: self.chan.raw,
            op: sys::UK_CHAN_SEND,
            result: 0,
            elem: ptr::from_mut(&mut self.elem).cast(),
        }
    }

    fn performed(self: Box<Self>, result: i32) -> R {
        (self.then)(match result {
            0 => {
                std::mem::forget(self.elem); // it belongs to the receiver
                Ok(())
            }
            _ => Err(SendError(self.elem)),
        })
    }
}

impl<'a, R: 'a> Select<'a, R> {
    /// No case yet.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Select<'a, R> {
        Select(Vec::new())
    }

    /// Adds a receive.
    #[must_use]
    pub fn recv<T, F>(mut self, from: &'a Receiver<T>, then: F) -> Select<'a, R>
    where
        F: FnOnce(Result<T, RecvError>) -> R + 'a,
    {
        self.0.push(Box::new(Recv {
            chan: &*from.0,
            place: MaybeUninit::uninit(),
            then,
        }));
        self
    }

    /// Adds a send.
    #[must_use]
    pub fn send<T: 'a, F>(mut self, to: &'a SyncSender<T>, elem: T, then: F) -> Select<'a, R>
    where
        F: FnOnce(Result<(), SendError<T>>) -> R + 'a,
    {
        self.0.push(Box::new(Send_ {
            chan: &*to.0,
            elem,
            then,
        }));
        self
    }

    fn until(mut self, deadline: sys::uk_time) -> Option<R> {
        let mut cases: Vec<_> = self.0.iter_mut().map(|c| c.raw()).collect();
        let n = cases.len() as u32;
        // SAFETY: the cases point to what the boxes hold, which stays there; they
        // borrow the channels
        let r = until_done(|| unsafe { sys::uk_chan_select(cases.as_mut_ptr(), n, deadline) });
        match r {
            r if r >= 0 => {
                let i = r as usize;
                Some(self.0.swap_remove(i).performed(cases[i].result))
            }
            r if r == -sys::EAGAIN || r == -sys::ETIMEDOUT => None,
            r => panic!("select: {}", error(r as isize)),
        }
    }

    /// Waits until a case can proceed. Without a case it waits for ever.
    pub fn wait(self) -> R {
        self.until(sys::UK_FOREVER)
            .expect("a wait without a deadline ends with a case")
    }

    /// None: no case can proceed at once.
    pub fn try_wait(self) -> Option<R> {
        self.until(0)
    }

    /// None: no case could proceed until `deadline`.
    pub fn wait_deadline(self, deadline: Instant) -> Option<R> {
        self.until(after(deadline.saturating_duration_since(Instant::now())))
    }
}

impl<R> fmt::Debug for Select<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select").finish_non_exhaustive()
    }
}
