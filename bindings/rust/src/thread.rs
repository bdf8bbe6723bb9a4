// SPDX-License-Identifier: Apache-2.0
//! User threads, with the interface of [`std::thread`].
//!
//! The design is that of std: the result goes through a packet that the thread and its
//! handle share, and a scope counts its packets. A thread is ended by returning, never
//! by `uk_thread_exit`, so no frame is skipped.
use crate::sys;
use crate::wait::{self, must, until_done};
use std::any::Any;
use std::cell::{OnceCell, UnsafeCell};
use std::ffi::{c_void, CString};
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::num::{NonZeroU64, NonZeroUsize};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::process::abort;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

pub use std::thread::{panicking, Result};

/// Bytes. A smaller stack has no room for the frames of a panic.
const LEAST_STACK: usize = 32 << 10;

// -- handles --

/// Identifies a thread for the whole life of the process, like
/// [`std::thread::ThreadId`].
///
/// Dumps show the same number for a user thread. Kernel threads have numbers of their
/// own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ThreadId(NonZeroU64);

impl ThreadId {
    fn new(n: u64) -> ThreadId {
        ThreadId(NonZeroU64::new(n).expect("a thread has no id"))
    }

    fn of_kernel_thread() -> ThreadId {
        static NEXT: AtomicU64 = AtomicU64::new(1 << 63);
        ThreadId::new(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

struct Inner {
    name: Option<String>,
    id: OnceLock<ThreadId>,
    token: AtomicU32,
}

const EMPTY: u32 = 0;
const NOTIFIED: u32 = 1;
const PARKED: u32 = u32::MAX;

/// A handle to a thread, like [`std::thread::Thread`]. It does not keep the thread
/// alive.
#[derive(Clone)]
pub struct Thread(Arc<Inner>);

impl Thread {
    fn new(name: Option<String>) -> Thread {
        Thread(Arc::new(Inner {
            name,
            id: OnceLock::new(),
            token: AtomicU32::new(EMPTY),
        }))
    }

    fn of_caller() -> Thread {
        // SAFETY: the handle of the calling thread is valid
        let id = unsafe {
            match sys::uk_thread_self() {
                t if t.is_null() => ThreadId::of_kernel_thread(),
                t => ThreadId::new(sys::uk_thread_id(t)),
            }
        };
        let thread = Thread::new(std::thread::current().name().map(String::from));
        let _ = thread.0.id.set(id);
        thread
    }

    /// The thread's id.
    pub fn id(&self) -> ThreadId {
        // set by the thread when it begins, and by its creator before that returns the
        // handle
        *self.0.id.get().expect("a thread has its id from the start")
    }

    /// The thread's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// Makes the thread's next or present [`park`] return.
    pub fn unpark(&self) {
        let token = &self.0.token;
        if token.swap(NOTIFIED, Ordering::Release) == PARKED {
            // SAFETY: only the address is used
            unsafe { sys::uk_futex_wake(token.as_ptr(), 1) };
        }
    }

    /// By the thread itself. True: it was unparked.
    fn park(&self, deadline: sys::uk_time) -> bool {
        let token = &self.0.token;
        if token.fetch_sub(1, Ordering::Acquire) == NOTIFIED {
            return true;
        }
        loop {
            // SAFETY: the word lives as long as self
            let r = until_done(|| unsafe { sys::uk_futex_wait(token.as_ptr(), PARKED, deadline) });
            if token
                .compare_exchange(NOTIFIED, EMPTY, Ordering::Acquire, Ordering::Acquire)
                .is_ok()
            {
                return true;
            }
            if r == -sys::ETIMEDOUT {
                return token.swap(EMPTY, Ordering::Acquire) == NOTIFIED;
            }
            if r != -sys::EAGAIN {
                must("park", r);
            }
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Thread")
            .field("id", &self.id())
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

thread_local! {
    static CURRENT: OnceCell<Thread> = const { OnceCell::new() };
}

/// The calling thread, which may also be a kernel thread.
pub fn current() -> Thread {
    CURRENT
        .try_with(|c| c.get_or_init(Thread::of_caller).clone())
        .unwrap_or_else(|_| Thread::of_caller()) // in a destructor that runs late
}

// -- what the calling thread does --

/// Waits until [`Thread::unpark`] is called for this thread.
pub fn park() {
    current().park(sys::UK_FOREVER);
}

/// The same, for at most `dur`.
pub fn park_timeout(dur: Duration) {
    current().park(wait::after(dur));
}

/// Lets other threads run.
pub fn yield_now() {
    // SAFETY: no arguments
    unsafe { sys::uk_yield() };
}

/// Sleeps for at least `dur`, also if the thread is cancelled.
pub fn sleep(dur: Duration) {
    sleep_until_time(wait::after(dur));
}

/// Sleeps until `deadline`.
pub fn sleep_until(deadline: Instant) {
    sleep(deadline.saturating_duration_since(Instant::now()));
}

fn sleep_until_time(at: sys::uk_time) {
    // SAFETY: takes a number
    must("sleep", until_done(|| unsafe { sys::uk_sleep_until(at) }));
}

/// The number of virtual processors: how many user threads run at the same time.
pub fn available_parallelism() -> io::Result<NonZeroUsize> {
    // SAFETY: no arguments
    let n = wait::done(unsafe { sys::uk_vp_count() })?;
    NonZeroUsize::new(n as usize).ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Calls `f`, and bounds all of its calls in this thread that return [`io::Result`]: at
/// `deadline` they fail with [`io::ErrorKind::TimedOut`]. An earlier deadline around it
/// holds.
pub fn with_deadline<R>(deadline: Instant, f: impl FnOnce() -> R) -> R {
    let _bound = Bound::new(wait::after(
        deadline.saturating_duration_since(Instant::now()),
    ));
    f()
}

/// The thread's deadline, until this is dropped.
pub(crate) struct Bound(sys::uk_time);

impl Bound {
    pub(crate) fn new(at: sys::uk_time) -> Bound {
        // SAFETY: takes and returns numbers
        unsafe {
            let before = sys::uk_thread_set_deadline(at);
            if before < at {
                sys::uk_thread_set_deadline(before);
            }
            Bound(before)
        }
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        // SAFETY: as above
        unsafe { sys::uk_thread_set_deadline(self.0) };
    }
}

/// Whether [`JoinHandle::cancel`] was called for the calling thread.
pub fn is_cancelled() -> bool {
    // SAFETY: no arguments
    unsafe { sys::uk_thread_is_cancelled() != 0 }
}

// -- create and join --

/// Settings of a new thread, like [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct Builder {
    name: Option<String>,
    stack_size: usize,
}

impl Builder {
    /// No name, and the stack size of the library: 256 KiB, or the environment variable
    /// `UK_STACK`.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// The name, which dumps and debuggers show (its first 31 bytes).
    pub fn name(mut self, name: String) -> Builder {
        self.name = Some(name);
        self
    }

    /// The size of the stack in bytes, rounded up to a power of two. The memory is
    /// reserved, and not used before the thread touches it.
    pub fn stack_size(mut self, size: usize) -> Builder {
        self.stack_size = size.max(LEAST_STACK);
        self
    }

    /// Starts a user thread.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn spawn<F, T>(self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        // SAFETY: what f borrows lives for ever
        unsafe { self.spawn_any(f, None) }.map(JoinHandle)
    }

    /// Starts a user thread of a scope.
    ///
    /// # Panics
    /// If the name contains a null byte.
    pub fn spawn_scoped<'scope, 'env, F, T>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        f: F,
    ) -> io::Result<ScopedJoinHandle<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        // SAFETY: `scope` does not return before the packet of this thread is gone, and
        // f is gone before the packet
        unsafe { self.spawn_any(f, Some(scope.data.clone())) }.map(ScopedJoinHandle)
    }

    /// # Safety
    /// What `f` and its result borrow lives until the packet's scope has seen its end,
    /// or for ever.
    unsafe fn spawn_any<'scope, F, T>(
        self,
        f: F,
        scope: Option<Arc<ScopeData>>,
    ) -> io::Result<Joint<'scope, T>>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        let name = self
            .name
            .as_deref()
            .map(|n| CString::new(n).expect("thread name may not contain interior null bytes"));
        let thread = Thread::new(self.name);
        let packet = Arc::new(Packet {
            scope,
            result: UnsafeCell::new(None),
            borrows: PhantomData,
        });
        if let Some(scope) = &packet.scope {
            scope.begun();
        }
        let theirs = packet.clone();
        let f = MaybeDangling::new(f);
        let main = move || {
            let result = catch_unwind(AssertUnwindSafe(f.into_inner()));
            // SAFETY: the creator reads this only when the packet has no other owner
            unsafe { *theirs.result.get() = Some(result) };
            drop(theirs); // the scope may end here
        };
        let main: Box<dyn FnOnce() + Send + '_> = Box::new(main);
        // SAFETY: only the lifetime changes; the caller sees to it
        let main = unsafe {
            std::mem::transmute::<Box<dyn FnOnce() + Send + '_>, Box<dyn FnOnce() + Send + 'static>>(
                main,
            )
        };
        let start = Box::new(Start {
            thread: thread.clone(),
            main,
        });
        let a = sys::uk_thread_attr {
            stack_size: self.stack_size,
            set: ptr::null_mut(),
            vp: ptr::null_mut(),
            name: name.as_ref().map_or(ptr::null(), |n| n.as_ptr()),
            flags: 0,
            reserved0: 0,
            guard_size: 0,
            reserved: [0; 2],
        };
        let mut handle = ptr::null_mut();
        let arg = Box::into_raw(start);
        // SAFETY: the attributes and the place of the handle live during the call. On
        // success the thread owns arg.
        let r = until_done(|| unsafe { sys::uk_thread_create(&mut handle, &a, run, arg.cast()) });
        if r < 0 {
            // SAFETY: no thread was made, so arg is still ours
            drop(unsafe { Box::from_raw(arg) });
            return Err(wait::error(r as isize));
        }
        // SAFETY: the handle is valid until it is joined or detached
        let id = ThreadId::new(unsafe { sys::uk_thread_id(handle) });
        let _ = thread.0.id.set(id);
        Ok(Joint {
            native: Native(handle),
            thread,
            packet,
        })
    }
}

struct Start {
    thread: Thread,
    main: Box<dyn FnOnce() + Send>,
}

/// The first function of a thread. A panic cannot leave it: what the closure of
/// `spawn_any` does not catch ends the process here.
extern "C" fn run(arg: *mut c_void) -> *mut c_void {
    // SAFETY: arg is from Box::into_raw in spawn_any, and given to this thread alone
    let start = unsafe { Box::from_raw(arg.cast::<Start>()) };
    // SAFETY: the handle of the calling thread is valid
    let id = ThreadId::new(unsafe { sys::uk_thread_id(sys::uk_thread_self()) });
    let Start { thread, main } = *start;
    let _ = thread.0.id.set(id);
    CURRENT.with(|c| {
        if c.set(thread).is_err() {
            // the variable has the value of another thread: see lib.rs
            eprintln!("ukthreads: this build of the library has only light threads");
            abort();
        }
    });
    main();
    ptr::null_mut()
}

/// A closure that may outlive what it borrows, because its thread still runs a little
/// when the scope has ended (rust-lang/rust#101983).
struct MaybeDangling<T>(MaybeUninit<T>);

impl<T> MaybeDangling<T> {
    fn new(x: T) -> Self {
        MaybeDangling(MaybeUninit::new(x))
    }

    fn into_inner(self) -> T {
        let this = ManuallyDrop::new(self);
        // SAFETY: it is initialised, and `this` is not dropped
        unsafe { this.0.assume_init_read() }
    }
}

impl<T> Drop for MaybeDangling<T> {
    fn drop(&mut self) {
        // SAFETY: it is initialised, and dropped once
        unsafe { self.0.assume_init_drop() }
    }
}

/// Passes the result from the thread to its handle. The last owner says to the scope
/// that the thread has ended.
struct Packet<'scope, T> {
    scope: Option<Arc<ScopeData>>,
    result: UnsafeCell<Option<Result<T>>>,
    borrows: PhantomData<Option<&'scope ScopeData>>,
}

// SAFETY: the thread writes the result before it gives up its reference, and the handle
// reads it when it has the only one. T goes from one thread to another, so it is Send.
unsafe impl<T: Send> Sync for Packet<'_, T> {}

impl<T> Drop for Packet<'_, T> {
    fn drop(&mut self) {
        let unhandled = matches!(self.result.get_mut(), Some(Err(_)));
        // the result may use what it borrows: it goes before the scope hears of it
        let dropped = catch_unwind(AssertUnwindSafe(|| *self.result.get_mut() = None));
        if dropped.is_err() {
            eprintln!("ukthreads: the result of a thread panicked when it was dropped");
            abort();
        }
        if let Some(scope) = &self.scope {
            scope.ended(unhandled);
        }
    }
}

/// The library's handle, given up by one join or detach.
struct Native(*mut sys::uk_thread);

// SAFETY: any thread may join or detach
unsafe impl Send for Native {}
// SAFETY: a shared reference serves only to cancel, which any thread may do
unsafe impl Sync for Native {}

impl Native {
    fn join(self) {
        // SAFETY: the handle is valid: drop does not run before the join has succeeded
        let r = until_done(|| unsafe { sys::uk_thread_join(self.0, ptr::null_mut()) });
        must("failed to join thread", r);
        let _ = ManuallyDrop::new(self);
    }

    fn cancel(&self) {
        // SAFETY: the handle is valid. That the thread has ended is no error.
        unsafe { sys::uk_thread_cancel(self.0) };
    }
}

impl Drop for Native {
    fn drop(&mut self) {
        // SAFETY: the handle is valid, and this is its end
        unsafe { sys::uk_thread_detach(self.0) };
    }
}

struct Joint<'scope, T> {
    native: Native,
    thread: Thread,
    packet: Arc<Packet<'scope, T>>,
}

impl<T> Joint<'_, T> {
    fn join(mut self) -> Result<T> {
        self.native.join();
        Arc::get_mut(&mut self.packet)
            .expect("threads should not terminate unexpectedly")
            .result
            .get_mut()
            .take()
            .expect("threads should not terminate unexpectedly")
    }

    fn is_finished(&self) -> bool {
        Arc::strong_count(&self.packet) == 1
    }
}

/// Starts a user thread, like [`std::thread::spawn`].
///
/// What the thread gets must be [`Send`], as for a kernel thread:
/// ```compile_fail,E0277
/// let here = std::rc::Rc::new(1);
/// ukthreads::spawn(move || println!("{here}"));
/// ```
///
/// # Panics
/// If the thread cannot be made; [`Builder::spawn`] returns that as an error.
pub fn spawn<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Builder::new().spawn(f).expect("failed to spawn thread")
}

/// Owns the right to join a thread. The thread goes on without it if it is dropped.
pub struct JoinHandle<T>(Joint<'static, T>);

impl<T> JoinHandle<T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.0.thread
    }

    /// Waits for the thread's end. `Err` has the payload of its panic.
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Whether the thread's function has returned.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Asks the thread to end. Its present and later calls that return [`io::Result`]
    /// and would wait fail; [`io::Error::raw_os_error`] is then ECANCELED. Nothing else
    /// changes: locks, channels, sleeps and joins wait on, and nothing is unwound.
    pub fn cancel(&self) {
        self.0.native.cancel()
    }
}

impl<T> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").finish_non_exhaustive()
    }
}

// -- scopes --

struct ScopeData {
    running: AtomicUsize,
    a_thread_panicked: AtomicBool,
    main: Thread,
}

impl ScopeData {
    fn begun(&self) {
        // so many can be counted only if handles were forgotten
        if self.running.fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            self.ended(false);
            panic!("too many running threads in thread scope");
        }
    }

    fn ended(&self, panicked: bool) {
        if panicked {
            self.a_thread_panicked.store(true, Ordering::Relaxed);
        }
        // release: the scope that sees 0 sees what the thread did
        if self.running.fetch_sub(1, Ordering::Release) == 1 {
            self.main.unpark();
        }
    }
}

/// A scope in which threads may borrow local variables, like [`std::thread::Scope`].
pub struct Scope<'scope, 'env: 'scope> {
    data: Arc<ScopeData>,
    // invariant in both lifetimes, or a thread could borrow what ends before the scope
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Calls `f` with a scope, and waits for all threads of the scope, like
/// [`std::thread::scope`].
///
/// ```
/// let mut numbers = vec![1, 2, 3];
/// ukthreads::scope(|s| {
///     for n in &mut numbers {
///         s.spawn(|| *n *= 10);
///     }
/// });
/// assert_eq!(numbers, [10, 20, 30]);
/// ```
///
/// A thread cannot borrow what ends before the scope:
/// ```compile_fail,E0597
/// ukthreads::scope(|s| {
///     let short = 1;
///     s.spawn(|| println!("{short}"));
/// });
/// ```
///
/// # Panics
/// If a thread that was not joined has panicked.
#[track_caller]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    // in an Arc, because the last thread still uses it when this function returns
    let data = Arc::new(ScopeData {
        running: AtomicUsize::new(0),
        a_thread_panicked: AtomicBool::new(false),
        main: current(),
    });
    let scope = Scope {
        data: data.clone(),
        scope: PhantomData,
        env: PhantomData,
    };
    let result: std::result::Result<T, Box<dyn Any + Send>> =
        catch_unwind(AssertUnwindSafe(|| f(&scope)));
    while data.running.load(Ordering::Acquire) != 0 {
        data.main.park(sys::UK_FOREVER);
    }
    match result {
        Err(e) => resume_unwind(e),
        Ok(_) if data.a_thread_panicked.load(Ordering::Relaxed) => {
            panic!("a scoped thread panicked")
        }
        Ok(result) => result,
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a user thread of this scope.
    ///
    /// # Panics
    /// If the thread cannot be made; [`Builder::spawn_scoped`] returns that as an
    /// error.
    pub fn spawn<F, T>(&'scope self, f: F) -> ScopedJoinHandle<'scope, T>
    where
        F: FnOnce() -> T + Send + 'scope,
        T: Send + 'scope,
    {
        Builder::new()
            .spawn_scoped(self, f)
            .expect("failed to spawn thread")
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope")
            .field("running", &self.data.running.load(Ordering::Relaxed))
            .finish_non_exhaustive()
    }
}

/// Owns the right to join a thread of a scope. The scope waits for the thread in any
/// case.
pub struct ScopedJoinHandle<'scope, T>(Joint<'scope, T>);

impl<T> ScopedJoinHandle<'_, T> {
    /// The thread.
    pub fn thread(&self) -> &Thread {
        &self.0.thread
    }

    /// Waits for the thread's end. `Err` has the payload of its panic.
    pub fn join(self) -> Result<T> {
        self.0.join()
    }

    /// Whether the thread's function has returned.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// As [`JoinHandle::cancel`].
    pub fn cancel(&self) {
        self.0.native.cancel()
    }
}

impl<T> fmt::Debug for ScopedJoinHandle<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedJoinHandle").finish_non_exhaustive()
    }
}
