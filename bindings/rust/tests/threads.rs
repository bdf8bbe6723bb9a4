// SPDX-License-Identifier: Apache-2.0
//! What threads of this crate promise beside what std's tests of threads check.
#[macro_use]
mod common;

use std::cell::{Cell, RefCell};
use std::io::{ErrorKind, Read};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ukthreads::os::unix::net::UnixStream;
use ukthreads::os::unix::process::CommandExt;
use ukthreads::sync::{sync_channel, Condvar, Mutex, SyncSender};
use ukthreads::{sys, thread, Builder, JoinHandle};

const ECANCELED: i32 = 125;

// -- thread-local variables --

thread_local! {
    static NUMBER: Cell<usize> = const { Cell::new(0) };
    static WORDS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn a_thread_local_has_the_value_of_its_thread_across_waits() {
    let threads: Vec<JoinHandle<()>> = (1..=100)
        .map(|i| {
            thread::spawn(move || {
                assert_eq!(NUMBER.get(), 0);
                NUMBER.set(i);
                for k in 0..20 {
                    WORDS.with_borrow_mut(|w| w.push(format!("{i}.{k}")));
                    thread::yield_now();
                    assert_eq!(NUMBER.get(), i);
                }
                thread::sleep(Duration::from_micros(100));
                WORDS.with_borrow(|w| assert_eq!(w[19], format!("{i}.19")));
                assert_eq!(NUMBER.get(), i);
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
}

struct Sends(SyncSender<&'static str>, &'static str);

impl Drop for Sends {
    fn drop(&mut self) {
        thread::yield_now(); // a destructor may wait
        self.0.send(self.1).unwrap();
    }
}

thread_local! {
    static FIRST: RefCell<Option<Sends>> = const { RefCell::new(None) };
    static SECOND: RefCell<Option<Sends>> = const { RefCell::new(None) };
}

fn thread_locals_are_dropped_before_join_returns() {
    let (tx, rx) = sync_channel(2);
    let t = thread::spawn(move || {
        FIRST.set(Some(Sends(tx.clone(), "first")));
        SECOND.set(Some(Sends(tx, "second")));
    });
    t.join().unwrap();
    let mut dropped: Vec<_> = rx.try_iter().collect();
    dropped.sort();
    assert_eq!(dropped, ["first", "second"]);
}

fn current_works_in_a_destructor() {
    struct Asks(SyncSender<thread::ThreadId>);
    impl Drop for Asks {
        fn drop(&mut self) {
            self.0.send(thread::current().id()).unwrap();
        }
    }
    thread_local!(static ASKS: RefCell<Option<Asks>> = const { RefCell::new(None) });
    let (tx, rx) = sync_channel(1);
    let t = thread::spawn(move || {
        ASKS.set(Some(Asks(tx)));
        thread::current().id()
    });
    assert_eq!(rx.recv().unwrap(), t.join().unwrap());
}

// -- panics --

fn a_panic_belongs_to_its_thread() {
    let threads: Vec<_> = (0..50)
        .map(|i| {
            thread::spawn(move || {
                struct Looks;
                impl Drop for Looks {
                    fn drop(&mut self) {
                        // other threads run while this one unwinds
                        thread::yield_now();
                        thread::sleep(Duration::from_micros(50));
                        assert_eq!(std::thread::panicking(), NUMBER.get() % 2 == 1);
                    }
                }
                NUMBER.set(i);
                let _looks = Looks;
                thread::yield_now();
                if i % 2 == 1 {
                    std::panic::resume_unwind(Box::new(i)); // without a message
                }
                i
            })
        })
        .collect();
    for (i, t) in threads.into_iter().enumerate() {
        match t.join() {
            Ok(n) => assert_eq!((n, i % 2), (i, 0)),
            Err(e) => assert_eq!((*e.downcast::<usize>().unwrap(), i % 2), (i, 1)),
        }
    }
}

fn a_panic_fits_on_the_default_stack() {
    let t = thread::spawn(|| {
        // what the panic hook does with RUST_BACKTRACE=1
        let trace = std::backtrace::Backtrace::force_capture().to_string();
        assert!(
            trace.contains("a_panic_fits_on_the_default_stack"),
            "{trace}"
        );
        panic!("on purpose");
    });
    assert_eq!(
        *t.join().unwrap_err().downcast::<&str>().unwrap(),
        "on purpose"
    );
}

// -- creation and end --

fn a_thread_that_cannot_be_made_drops_its_closure() {
    let alive = Arc::new(());
    let theirs = alive.clone();
    let r = Builder::new()
        .stack_size(1 << 60)
        .spawn(move || drop(theirs));
    assert_eq!(r.unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(Arc::strong_count(&alive), 1);
    thread::scope(|s| {
        let theirs = alive.clone();
        let b = Builder::new().stack_size(1 << 60);
        assert!(b.spawn_scoped(s, move || drop(theirs)).is_err());
    });
    assert_eq!(Arc::strong_count(&alive), 1);
}

fn a_small_stack_suffices_for_a_panic() {
    let t = Builder::new()
        .stack_size(1)
        .spawn(|| std::panic::resume_unwind(Box::new(7)))
        .unwrap();
    assert_eq!(*t.join().unwrap_err().downcast::<i32>().unwrap(), 7);
}

fn a_thread_without_a_handle_goes_on() {
    let (tx, rx) = sync_channel(1);
    drop(thread::spawn(move || {
        thread::sleep(Duration::from_millis(1));
        tx.send(7).unwrap();
    }));
    assert_eq!(rx.recv(), Ok(7));
}

fn a_thread_cannot_join_itself() {
    let (tx, rx) = sync_channel::<JoinHandle<()>>(1);
    let t = thread::spawn(move || drop(rx.recv().unwrap().join()));
    let id = t.thread().id();
    // its end is seen by the channel's end, since its handle is gone
    tx.send(t).unwrap();
    while tx.try_send(thread::spawn(|| ())).is_ok() {
        thread::yield_now();
    }
    assert_ne!(thread::current().id(), id);
}

fn ids_and_names_are_the_same_from_all_sides() {
    extern "C" {
        fn uk_thread_get_name(t: *const sys::uk_thread, buf: *mut u8, n: usize) -> i32;
    }
    let long = "a name of more than thirty-one bytes";
    let t = Builder::new()
        .name(long.into())
        .spawn(|| {
            let mut buf = [0; 64];
            // SAFETY: the handle of the calling thread is valid, and the size is right
            let n = unsafe { uk_thread_get_name(sys::uk_thread_self(), buf.as_mut_ptr(), 64) };
            let me = thread::current();
            (
                me.id(),
                me.name().map(String::from),
                buf[..n as usize].to_vec(),
            )
        })
        .unwrap();
    let (id, name) = (t.thread().id(), t.thread().name().map(String::from));
    assert_eq!(name.as_deref(), Some(long));
    assert_eq!(
        t.join().unwrap(),
        (id, name, long.as_bytes()[..31].to_vec())
    );
}

fn ten_thousand_threads() {
    static SUM: AtomicUsize = AtomicUsize::new(0);
    let before = SUM.load(Ordering::Relaxed);
    let n = 10_000;
    thread::scope(|s| {
        for i in 0..n {
            s.spawn(move || {
                thread::sleep(Duration::from_millis(1));
                SUM.fetch_add(i, Ordering::Relaxed);
            });
        }
    });
    let sum = SUM.load(Ordering::Relaxed) - before;
    assert_eq!(sum % (n * (n - 1) / 2), 0); // the two runs of this test may overlap
}

fn as_many_threads_run_at_once_as_there_are_vps() {
    let n = thread::available_parallelism().unwrap().get();
    if let Ok(vps) = std::env::var("UK_VPS") {
        assert_eq!(n.to_string(), vps);
    }
}

// -- scopes --

fn a_scope_waits_for_threads_that_borrow() {
    let mut numbers = vec![1, 2, 3];
    let sum = AtomicUsize::new(0);
    thread::scope(|s| {
        for n in &mut numbers {
            let sum = &sum;
            s.spawn(move || {
                thread::sleep(Duration::from_millis(1));
                *n *= 10;
                sum.fetch_add(*n, Ordering::Relaxed);
            });
        }
    });
    assert_eq!((numbers, sum.into_inner()), (vec![10, 20, 30], 60));
}

fn a_scope_that_panics_waits_all_the_same() {
    let done = AtomicBool::new(false);
    let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                done.store(true, Ordering::Relaxed);
            });
            std::panic::resume_unwind(Box::new(1));
        })
    }));
    assert!(r.is_err() && done.into_inner());
}

#[allow(unreachable_code)]
fn a_scope_reports_a_panic_that_was_not_joined() {
    let boom = || -> () { std::panic::resume_unwind(Box::new(1)) };
    let r = std::panic::catch_unwind(|| thread::scope(|s| drop(s.spawn(boom))));
    assert_eq!(
        *r.unwrap_err().downcast::<&str>().unwrap(),
        "a scoped thread panicked"
    );
    thread::scope(|s| assert!(s.spawn(boom).join().is_err()));
}

fn a_cancelled_thread_still_waits_for_its_scope() {
    let (tx, rx) = sync_channel(0);
    let t = thread::spawn(move || {
        let done = AtomicBool::new(false);
        rx.recv().unwrap(); // cancelled now
        assert!(thread::is_cancelled());
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_millis(5));
                done.store(true, Ordering::Relaxed);
            });
        });
        assert!(thread::is_cancelled());
        done.into_inner()
    });
    t.cancel();
    tx.send(()).unwrap();
    assert!(t.join().unwrap());
}

// -- cancellation and deadlines --

fn a_cancelled_thread_leaves_its_read() {
    let (mut a, _b) = UnixStream::pair().unwrap();
    let t = thread::spawn(move || a.read(&mut [0]));
    t.cancel();
    assert_eq!(
        t.join().unwrap().unwrap_err().raw_os_error(),
        Some(ECANCELED)
    );
}

fn a_cancelled_thread_waits_for_locks_channels_and_time() {
    let pair = Arc::new((Mutex::new(0), Condvar::new()));
    let (tx, rx) = sync_channel(0);
    let held = pair.0.lock().unwrap();
    let t = thread::spawn({
        let pair = pair.clone();
        move || {
            assert_eq!(rx.recv(), Ok(1));
            let start = Instant::now();
            thread::sleep(Duration::from_millis(2));
            assert!(start.elapsed() >= Duration::from_millis(2));
            let guard = pair.0.lock().unwrap();
            let guard = pair.1.wait_while(guard, |n| *n == 0).unwrap();
            let (guard, over) = pair
                .1
                .wait_timeout_while(guard, Duration::from_millis(2), |_| true)
                .unwrap();
            assert!(over.timed_out() && thread::is_cancelled());
            *guard
        }
    });
    t.cancel();
    tx.send(1).unwrap();
    drop(held);
    *pair.0.lock().unwrap() = 7;
    pair.1.notify_all();
    assert_eq!(t.join().unwrap(), 7);
}

fn a_deadline_bounds_calls_and_the_earlier_one_holds() {
    let (mut a, _b) = UnixStream::pair().unwrap();
    let soon = Instant::now() + Duration::from_millis(5);
    let late = soon + Duration::from_secs(1000);
    let r = thread::with_deadline(soon, || thread::with_deadline(late, || a.read(&mut [0])));
    assert_eq!(r.unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(Instant::now() >= soon);
    // and nothing is left of it
    let (mut a, mut b) = UnixStream::pair().unwrap();
    let t = thread::spawn(move || std::io::Write::write(&mut b, b"x").unwrap());
    assert_eq!(a.read(&mut [0]).unwrap(), 1);
    t.join().unwrap();
}

// -- what blocks the kernel thread --

fn std_park_and_locks_work_in_user_threads() {
    let n = Arc::new(std::sync::Mutex::new(0));
    let (tx, rx) = sync_channel(8);
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let (n, tx) = (n.clone(), tx.clone());
            thread::spawn(move || {
                tx.send(std::thread::current()).unwrap();
                std::thread::park(); // blocks the kernel thread
                let mut n = n.lock().unwrap();
                thread::yield_now(); // with the guard
                thread::sleep(Duration::from_micros(100));
                *n += 1;
            })
        })
        .collect();
    for _ in 0..8 {
        rx.recv().unwrap().unpark();
    }
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(*n.lock().unwrap(), 8);
}

fn run_blocking_returns_and_unwinds() {
    assert_eq!(ukthreads::run_blocking(|| 7), 7);
    let r = std::panic::catch_unwind(|| {
        ukthreads::run_blocking(|| std::panic::resume_unwind(Box::new(8)))
    });
    assert_eq!(*r.unwrap_err().downcast::<i32>().unwrap(), 8);
    thread::yield_now();
}

fn a_program_starts_with_no_signal_blocked() {
    let out = Command::new("grep")
        .args(["SigBlk", "/proc/self/status"])
        .unblock_signals()
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert_eq!(text.trim(), "SigBlk:\t0000000000000000");
}

#[test]
fn handles_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<JoinHandle<Cell<u8>>>();
    crosses::<thread::Thread>();
    crosses::<ukthreads::net::TcpStream>();
    crosses::<SyncSender<Cell<u8>>>();
    crosses::<Mutex<Cell<u8>>>();
    crosses::<thread::ScopedJoinHandle<'_, u8>>();
}

both! {
    a_thread_local_has_the_value_of_its_thread_across_waits,
    thread_locals_are_dropped_before_join_returns,
    current_works_in_a_destructor,
    a_panic_belongs_to_its_thread,
    a_panic_fits_on_the_default_stack,
    a_thread_that_cannot_be_made_drops_its_closure,
    a_small_stack_suffices_for_a_panic,
    a_thread_without_a_handle_goes_on,
    a_thread_cannot_join_itself,
    ids_and_names_are_the_same_from_all_sides,
    ten_thousand_threads,
    as_many_threads_run_at_once_as_there_are_vps,
    a_scope_waits_for_threads_that_borrow,
    a_scope_that_panics_waits_all_the_same,
    a_scope_reports_a_panic_that_was_not_joined,
    a_cancelled_thread_still_waits_for_its_scope,
    a_cancelled_thread_leaves_its_read,
    a_cancelled_thread_waits_for_locks_channels_and_time,
    a_deadline_bounds_calls_and_the_earlier_one_holds,
    std_park_and_locks_work_in_user_threads,
    run_blocking_returns_and_unwinds,
    a_program_starts_with_no_signal_blocked,
}
