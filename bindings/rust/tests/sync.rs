// SPDX-License-Identifier: Apache-2.0
//! Locks, channels and select, and a stress of everything together.
#[macro_use]
mod common;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use ukthreads::os::unix::net::UnixStream;
use ukthreads::sync::*;
use ukthreads::thread;

fn panics_with<T: Send>(f: impl FnOnce() -> T + Send) {
    thread::scope(|s| {
        let r = s.spawn(|| {
            let _held = f();
            std::panic::resume_unwind(Box::new(1));
        });
        assert!(r.join().is_err());
    });
}

fn a_mutex_excludes() {
    let m = Mutex::new(0);
    thread::scope(|s| {
        for _ in 0..20 {
            s.spawn(|| {
                for _ in 0..100 {
                    let mut n = m.lock().unwrap();
                    let before = *n;
                    if before % 10 == 0 {
                        thread::yield_now();
                    }
                    *n = before + 1;
                }
            });
        }
    });
    assert_eq!(m.into_inner().unwrap(), 2000);
}

fn a_panic_poisons() {
    let (mut m, l) = (Mutex::new(1), RwLock::new(2));
    thread::scope(|s| {
        let r = s.spawn(|| {
            let _m = m.lock().unwrap();
            let _l = l.write().unwrap();
            std::panic::resume_unwind(Box::new(1));
        });
        assert!(r.join().is_err());
    });
    assert!(m.is_poisoned() && l.is_poisoned());
    assert_eq!(*m.lock().unwrap_err().into_inner(), 1);
    assert!(matches!(m.try_lock(), Err(TryLockError::Poisoned(_))));
    assert_eq!(*l.read().unwrap_err().into_inner(), 2);
    assert!(m.get_mut().is_err());
    m.clear_poison();
    l.clear_poison();
    assert_eq!(*m.lock().unwrap() + *l.write().unwrap(), 3);
    // a reader does not poison
    panics_with(|| drop(l.read()));
    assert!(!l.is_poisoned());
    assert_eq!(format!("{m:?}"), "Mutex { data: 1, poisoned: false, .. }");
}

fn a_lock_that_is_held_is_reported() {
    let (m, l) = (Mutex::new(()), RwLock::new(()));
    let (held, read) = (m.lock().unwrap(), l.read().unwrap());
    thread::scope(|s| {
        s.spawn(|| {
            assert!(matches!(m.try_lock(), Err(TryLockError::WouldBlock)));
            assert!(l.try_read().is_ok());
            assert!(matches!(l.try_write(), Err(TryLockError::WouldBlock)));
        });
    });
    drop((held, read));
    assert!(m.try_lock().is_ok() && l.try_write().is_ok());
}

fn a_second_lock_of_the_same_thread_panics() {
    let m = Mutex::new(());
    let _held = m.lock().unwrap();
    let again = std::panic::AssertUnwindSafe(|| drop(m.lock()));
    assert!(std::panic::catch_unwind(again).is_err());
}

fn a_condition_wakes_one_and_all() {
    let (m, c) = (Mutex::new(0), Condvar::new());
    thread::scope(|s| {
        for _ in 0..10 {
            s.spawn(|| {
                let mut n = c.wait_while(m.lock().unwrap(), |n| *n == 0).unwrap();
                *n -= 1;
                c.notify_one();
            });
        }
        *m.lock().unwrap() = 4;
        c.notify_one();
        *m.lock().unwrap() += 6;
        c.notify_all();
    });
    assert_eq!(*m.lock().unwrap(), 0);
    let start = Instant::now();
    let (_g, r) = c
        .wait_timeout(m.lock().unwrap(), Duration::from_millis(5))
        .unwrap();
    assert!(r.timed_out() && start.elapsed() >= Duration::from_millis(5));
}

fn readers_share_and_writers_exclude() {
    let l = RwLock::new((0, 0));
    thread::scope(|s| {
        for i in 0..20 {
            let l = &l;
            s.spawn(move || {
                for _ in 0..50 {
                    if i % 4 == 0 {
                        let mut g = l.write().unwrap();
                        g.0 += 1;
                        thread::yield_now();
                        g.1 += 1;
                    } else {
                        let g = l.read().unwrap();
                        thread::yield_now();
                        assert_eq!(g.0, g.1);
                    }
                }
            });
        }
    });
    assert_eq!(l.into_inner().unwrap(), (250, 250));
}

// -- channels --

/// Counts how many of it live.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(n: &Arc<AtomicUsize>) -> Alive {
        n.fetch_add(1, Ordering::Relaxed);
        Alive(n.clone())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn each_element_goes_to_one_receiver() {
    let (tx, rx) = sync_channel(3);
    let got: Vec<usize> = thread::scope(|s| {
        let takers: Vec<_> = (0..5)
            .map(|_| {
                let rx = rx.clone();
                s.spawn(move || rx.into_iter().collect::<Vec<usize>>())
            })
            .collect();
        drop(rx);
        for k in 0..4 {
            let tx = tx.clone();
            s.spawn(move || (0..250).for_each(|i| tx.send(k * 250 + i).unwrap()));
        }
        drop(tx);
        takers.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(got.len(), 1000);
    assert_eq!(got.into_iter().collect::<HashSet<_>>().len(), 1000);
}

fn every_element_is_dropped_once() {
    let n = Arc::new(AtomicUsize::new(0));
    // what is left, what a send returns, what select did not send, what a receiver got
    let (tx, rx) = sync_channel(2);
    tx.send(Alive::new(&n)).unwrap();
    tx.send(Alive::new(&n)).unwrap();
    assert!(matches!(
        tx.try_send(Alive::new(&n)),
        Err(TrySendError::Full(_))
    ));
    assert!(Select::new()
        .send(&tx, Alive::new(&n), |r| r.is_ok())
        .try_wait()
        .is_none());
    assert_eq!(n.load(Ordering::Relaxed), 2);
    assert!(Select::new().recv(&rx, |r| r.is_ok()).wait());
    assert!(Select::new()
        .send(&tx, Alive::new(&n), |r| r.is_ok())
        .wait());
    assert_eq!(n.load(Ordering::Relaxed), 2);
    drop(rx);
    assert_eq!(n.load(Ordering::Relaxed), 0); // as std does, before the sender is gone
    assert!(matches!(
        tx.try_send(Alive::new(&n)),
        Err(TrySendError::Disconnected(_))
    ));
    assert!(tx.send(Alive::new(&n)).is_err());
    assert!(!Select::new()
        .send(&tx, Alive::new(&n), |r| r.is_ok())
        .wait());
    drop(tx);
    assert_eq!(n.load(Ordering::Relaxed), 0);
}

fn elements_of_no_size_and_of_any_alignment_pass() {
    #[repr(align(64))]
    #[derive(PartialEq, Debug)]
    struct Wide(u8);
    let (tx, rx) = sync_channel(1);
    let (wide, wide_out) = sync_channel(0);
    let t = thread::spawn(move || {
        tx.send(()).unwrap();
        drop(tx);
        wide.send(Wide(7)).unwrap();
    });
    assert_eq!(rx.recv(), Ok(()));
    assert_eq!(rx.recv(), Err(RecvError));
    assert_eq!(wide_out.recv(), Ok(Wide(7)));
    t.join().unwrap();
}

fn select_takes_what_comes_first() {
    let (_never, never_out) = sync_channel::<u8>(1);
    let (tx, rx) = sync_channel::<String>(0);
    let (full, full_out) = sync_channel(1);
    full.send(1).unwrap();
    let soon = Instant::now() + Duration::from_millis(2);
    let none = Select::new()
        .recv(&never_out, |_| ())
        .recv(&rx, |_| ())
        .send(&full, 2, |_| ())
        .wait_deadline(soon);
    assert!(none.is_none() && Instant::now() >= soon);
    let t = thread::spawn(move || tx.send("hello".into()));
    let got = Select::new()
        .recv(&never_out, |n| n.unwrap().to_string())
        .recv(&rx, |s| s.unwrap())
        .send(&full, 3, |_| "sent".into())
        .wait();
    assert_eq!(got, "hello");
    t.join().unwrap().unwrap();
    // the sender is gone: that is an event, too
    assert!(Select::new().recv(&rx, |r| r.is_err()).wait());
    assert_eq!(full_out.recv(), Ok(1));
}

// -- everything together --

/// Threads pass numbers through channels, sockets and locks, sleep, panic and create
/// each other.
fn stress() {
    let total = Arc::new(Mutex::new((0, 0)));
    let (tx, rx) = sync_channel::<usize>(4);
    let threads: Vec<_> = (0..200_usize)
        .map(|i| {
            let (tx, rx, total) = (tx.clone(), rx.clone(), total.clone());
            thread::spawn(move || {
                for k in 0..10 {
                    match (i + k) % 5 {
                        0 => {
                            let (mut a, mut b) = UnixStream::pair().unwrap();
                            let t = thread::spawn(move || {
                                a.write_all(&i.to_ne_bytes()).unwrap();
                            });
                            let mut bytes = Vec::new();
                            b.read_to_end(&mut bytes).unwrap();
                            assert_eq!(bytes, i.to_ne_bytes());
                            t.join().unwrap();
                        }
                        1 => thread::sleep(Duration::from_micros(i as u64)),
                        2 => {
                            let t = thread::spawn(|| std::panic::resume_unwind(Box::new(1)));
                            assert!(t.join().is_err());
                        }
                        3 => {
                            let _held = total.lock().unwrap();
                            thread::yield_now();
                        }
                        _ => ukthreads::run_blocking(std::thread::yield_now),
                    }
                    // (sent, received)
                    let (s, r) = Select::new()
                        .recv(&rx, |r| (0, r.unwrap()))
                        .send(&tx, i, |r| r.map(|_| (i, 0)).unwrap())
                        .wait();
                    let mut total = total.lock().unwrap();
                    *total = (total.0 + s, total.1 + r);
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    drop(tx);
    let (sent, received) = *total.lock().unwrap();
    assert_eq!(sent, received + rx.iter().sum::<usize>());
    assert!(sent > 0);
}

both! {
    a_mutex_excludes,
    a_panic_poisons,
    a_lock_that_is_held_is_reported,
    a_second_lock_of_the_same_thread_panics,
    a_condition_wakes_one_and_all,
    readers_share_and_writers_exclude,
    each_element_goes_to_one_receiver,
    every_element_is_dropped_once,
    elements_of_no_size_and_of_any_alignment_pass,
    select_takes_what_comes_first,
    stress,
}
