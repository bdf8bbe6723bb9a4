// SPDX-License-Identifier: Apache-2.0
//! Mutex, condition and reader-writer lock, poisoned as in std.
//!
//! The C objects lie in the Rust objects. They may be moved while no thread uses them,
//! and a guard or a wait borrows them.
use crate::sys;
use crate::wait::{after, must, until_done};
use std::cell::UnsafeCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::thread::panicking;
use std::time::{Duration, Instant};

// -- poison --

struct Poison(AtomicBool);

impl Poison {
    const fn new() -> Poison {
        Poison(AtomicBool::new(false))
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn guard<G>(&self, guard: G) -> LockResult<G> {
        if self.is_set() {
            Err(PoisonError::new(guard))
        } else {
            Ok(guard)
        }
    }

    /// before: whether the thread panicked already when it locked
    fn done(&self, before: bool) {
        if !before && panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

fn tried<G>(r: LockResult<G>) -> TryLockResult<G> {
    r.map_err(TryLockError::Poisoned)
}

// -- mutex --

/// A mutex, like [`std::sync::Mutex`]. A thread that locks it again panics.
pub struct Mutex<T: ?Sized> {
    raw: UnsafeCell<sys::uk_mutex>,
    poison: Poison,
    data: UnsafeCell<T>,
}

// SAFETY: the mutex gives the data to one thread at a time, so T must be Send
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// A mutex that is free.
    pub const fn new(t: T) -> Mutex<T> {
        Mutex {
            raw: UnsafeCell::new(sys::uk_mutex {
                word: 0,
                flags: 0,
                owner: 0,
                depth: 0,
                spare: 0,
            }),
            poison: Poison::new(),
            data: UnsafeCell::new(t),
        }
    }

    /// The data.
    pub fn into_inner(self) -> LockResult<T> {
        let poison = self.poison.is_set();
        let data = self.data.into_inner();
        if poison {
            Err(PoisonError::new(data))
        } else {
            Ok(data)
        }
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Waits until the mutex is free, and locks it.
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        // SAFETY: the object is valid and borrowed
        must(
            "lock",
            until_done(|| unsafe { sys::uk_mutex_lock(self.raw.get()) }),
        );
        self.poison.guard(MutexGuard::new(self))
    }

    /// Locks the mutex if it is free.
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        // SAFETY: as above
        match unsafe { sys::uk_mutex_trylock(self.raw.get()) } {
            0 => tried(self.poison.guard(MutexGuard::new(self))),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a thread panicked while it held the mutex.
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_set()
    }

    /// Forgets that.
    pub fn clear_poison(&self) {
        self.poison.0.store(false, Ordering::Relaxed);
    }

    /// The data; no thread can hold the mutex.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let data = self.data.get_mut();
        self.poison.guard(data)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Mutex<T> {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(t: T) -> Mutex<T> {
        Mutex::new(t)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(e)) => d.field("data", &&**e.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &format_args!("<locked>")),
        };
        d.field("poisoned", &self.is_poisoned());
        d.finish_non_exhaustive()
    }
}

/// Unlocks the mutex when it is dropped, by the thread that locked it:
/// ```compile_fail,E0277
/// static M: ukthreads::sync::Mutex<u8> = ukthreads::sync::Mutex::new(0);
/// let guard = M.lock().unwrap();
/// ukthreads::spawn(move || drop(guard));
/// ```
#[must_use = "if unused the Mutex will immediately unlock"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    panicking: bool,
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives only &T
unsafe impl<T: ?Sized + Sync> Sync for MutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    fn new(lock: &'a Mutex<T>) -> MutexGuard<'a, T> {
        MutexGuard {
            lock,
            panicking: panicking(),
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread holds the mutex
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.poison.done(self.panicking);
        // SAFETY: this thread locked it, and the guard is not Send
        unsafe { sys::uk_mutex_unlock(self.lock.raw.get()) };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: ?Sized + fmt::Display> fmt::Display for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

// -- condition --

/// Whether a wait ended because its time was over.
#[derive(Debug, PartialEq, Eq, Copy, Clone)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// True: the time was over.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

/// A condition, like [`std::sync::Condvar`].
pub struct Condvar(UnsafeCell<sys::uk_cond>);

// SAFETY: the C object is made for this
unsafe impl Send for Condvar {}
// SAFETY: as above
unsafe impl Sync for Condvar {}

impl Condvar {
    /// A condition for which no thread waits.
    pub const fn new() -> Condvar {
        Condvar(UnsafeCell::new(sys::uk_cond {
            spare: 0,
            waiters: 0,
        }))
    }

    /// False: the deadline has passed.
    fn wait_raw<T>(&self, guard: &MutexGuard<'_, T>, deadline: sys::uk_time) -> bool {
        let m = guard.lock.raw.get();
        // Not until_done: it would miss a signal between two waits. A wait that is
        // cancelled in spite of this returns, which Condvar allows, and the next one is
        // undisturbed.
        let _undisturbed = crate::wait::Undisturbed::new();
        // SAFETY: both objects are valid and borrowed, and this thread holds the mutex
        let r = unsafe { sys::uk_cond_wait_until(self.0.get(), m, deadline) };
        if r != -sys::ECANCELED && r != -sys::ETIMEDOUT {
            must("wait", r);
        }
        r != -sys::ETIMEDOUT
    }

    /// Unlocks the mutex, waits to be notified and locks it again. It may also return
    /// without a cause.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        self.wait_raw(&guard, sys::UK_FOREVER);
        guard.lock.poison.guard(guard)
    }

    /// Waits while `condition` is true.
    pub fn wait_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: F,
    ) -> LockResult<MutexGuard<'a, T>>
    where
        F: FnMut(&mut T) -> bool,
    {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// As [`wait`](Self::wait), for at most `dur`.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        dur: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let over = WaitTimeoutResult(!self.wait_raw(&guard, after(dur)));
        guard.lock.poison.guard((guard, over))
    }

    /// As [`wait_while`](Self::wait_while), for at most `dur`. If the result says that
    /// the time was over, the condition is still true.
    pub fn wait_timeout_while<'a, T, F>(
        &self,
        mut guard: MutexGuard<'a, T>,
        dur: Duration,
        mut condition: F,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)>
    where
        F: FnMut(&mut T) -> bool,
    {
        let start = Instant::now();
        loop {
            if !condition(&mut guard) {
                return Ok((guard, WaitTimeoutResult(false)));
            }
            match dur.checked_sub(start.elapsed()) {
                Some(left) => guard = self.wait_timeout(guard, left)?.0,
                None => return Ok((guard, WaitTimeoutResult(true))),
            }
        }
    }

    /// Wakes one thread that waits.
    pub fn notify_one(&self) {
        // SAFETY: the object is valid and borrowed
        unsafe { sys::uk_cond_signal(self.0.get()) };
    }

    /// Wakes all threads that wait.
    pub fn notify_all(&self) {
        // SAFETY: as above
        unsafe { sys::uk_cond_broadcast(self.0.get()) };
    }
}

impl Default for Condvar {
    fn default() -> Condvar {
        Condvar::new()
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

// -- reader-writer lock --

/// A reader-writer lock, like [`std::sync::RwLock`]. A writer that waits holds new
/// readers back, so a thread that reads must not lock it once more.
pub struct RwLock<T: ?Sized> {
    raw: UnsafeCell<sys::uk_rwlock>,
    poison: Poison,
    data: UnsafeCell<T>,
}

// SAFETY: a writer gets the data as its own, so T must be Send
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above; and several threads read at once, so T must be Sync
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T> RwLock<T> {
    /// A lock that is free.
    pub const fn new(t: T) -> RwLock<T> {
        RwLock {
            raw: UnsafeCell::new(sys::uk_rwlock {
                state: 0,
                writers_waiting: 0,
                readers_waiting: 0,
                spare: 0,
                owner: 0,
            }),
            poison: Poison::new(),
            data: UnsafeCell::new(t),
        }
    }

    /// The data.
    pub fn into_inner(self) -> LockResult<T> {
        let poison = self.poison.is_set();
        let data = self.data.into_inner();
        if poison {
            Err(PoisonError::new(data))
        } else {
            Ok(data)
        }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Waits until no thread writes, and locks it for reading.
    ///
    /// # Panics
    /// If the thread itself writes.
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        // SAFETY: the object is valid and borrowed
        must(
            "read",
            until_done(|| unsafe { sys::uk_rwlock_rdlock(self.raw.get()) }),
        );
        self.poison.guard(RwLockReadGuard::new(self))
    }

    /// Locks it for reading, if that is possible at once.
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        // SAFETY: as above
        match unsafe { sys::uk_rwlock_tryrdlock(self.raw.get()) } {
            0 => tried(self.poison.guard(RwLockReadGuard::new(self))),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Waits until no thread reads or writes, and locks it for writing.
    ///
    /// # Panics
    /// If the thread itself writes already.
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        // SAFETY: as above
        must(
            "write",
            until_done(|| unsafe { sys::uk_rwlock_wrlock(self.raw.get()) }),
        );
        self.poison.guard(RwLockWriteGuard::new(self))
    }

    /// Locks it for writing, if that is possible at once.
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        // SAFETY: as above
        match unsafe { sys::uk_rwlock_trywrlock(self.raw.get()) } {
            0 => tried(self.poison.guard(RwLockWriteGuard::new(self))),
            _ => Err(TryLockError::WouldBlock),
        }
    }

    /// Whether a thread panicked while it wrote.
    pub fn is_poisoned(&self) -> bool {
        self.poison.is_set()
    }

    /// Forgets that.
    pub fn clear_poison(&self) {
        self.poison.0.store(false, Ordering::Relaxed);
    }

    /// The data; no thread can hold the lock.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let data = self.data.get_mut();
        self.poison.guard(data)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> RwLock<T> {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(t: T) -> RwLock<T> {
        RwLock::new(t)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut d = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => d.field("data", &&*guard),
            Err(TryLockError::Poisoned(e)) => d.field("data", &&**e.get_ref()),
            Err(TryLockError::WouldBlock) => d.field("data", &format_args!("<locked>")),
        };
        d.field("poisoned", &self.is_poisoned());
        d.finish_non_exhaustive()
    }
}

/// Ends the reading when it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives only &T
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    fn new(lock: &'a RwLock<T>) -> RwLockReadGuard<'a, T> {
        RwLockReadGuard {
            lock,
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread reads, so none writes
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: this thread locked it
        unsafe { sys::uk_rwlock_unlock(self.lock.raw.get()) };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Ends the writing when it is dropped.
#[must_use = "if unused the RwLock will immediately unlock"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    panicking: bool,
    not_send: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives only &T
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    fn new(lock: &'a RwLock<T>) -> RwLockWriteGuard<'a, T> {
        RwLockWriteGuard {
            lock,
            panicking: panicking(),
            not_send: PhantomData,
        }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard's thread writes, so no other has the data
        unsafe { &*self.lock.data.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably
        unsafe { &mut *self.lock.data.get() }
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.poison.done(self.panicking);
        // SAFETY: this thread locked it
        unsafe { sys::uk_rwlock_unlock(self.lock.raw.get()) };
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
