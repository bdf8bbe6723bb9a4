// SPDX-License-Identifier: Apache-2.0
//! Workloads on may's coroutines: may-micro VPS WORKLOAD N [M].
//! Stacks of 16 KiB, as the other peers with stacks. may has no rendezvous channel: its
//! mpsc is unbounded. Its pool keeps 1,000 coroutines; beyond that each start maps a stack.
#[path = "../../rust/bench.rs"]
mod bench;
use bench::{check, cpu_ns, late, mem_kernel, mem_own, p99_us, per, result, Dozers, Lap, Spans};
use may::coroutine::{self, sleep, yield_now, JoinHandle};
use may::io::CoIo;
use may::sync::{mpsc, Mutex, Semphore, SyncFlag};
use std::io::{pipe, Read, Write};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

const STACK_WORDS: usize = (16 << 10) / std::mem::size_of::<usize>();

fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    // SAFETY: nothing here keeps thread-local data over a switch, and no stack is outgrown.
    unsafe { coroutine::spawn(f) }
}

fn run_all(n: usize, each: impl Fn(usize) + Send + Sync + 'static) {
    let each = Arc::new(each);
    let all: Vec<_> = (0..n)
        .map(|id| {
            let each = each.clone();
            spawn(move || each(id))
        })
        .collect();
    for h in all {
        h.join().unwrap();
    }
}

fn meet(lap: &Lap) {
    lap.arrive();
    while !lap.all_in() {
        yield_now();
    }
}

fn run_yield(n: usize, total: usize) {
    let (each, lap) = (total / n, Lap::of(n));
    let (l, done) = (lap.clone(), Arc::new(AtomicI64::new(0)));
    let sum = done.clone();
    run_all(n, move |_| {
        l.arrive();
        while !l.all_in() {
            yield_now();
            l.count();
        }
        for _ in 0..each {
            yield_now();
            l.count();
        }
        l.leave();
        sum.fetch_add(each as i64, Relaxed);
    });
    result("yield", lap.cost());
    check(done.load(Relaxed));
}

// A baton goes round; timed: each wait has a deadline, which is never met.
fn ring(n: usize, total: usize, timed: bool) {
    const FAR: Duration = Duration::from_secs(300);
    let (each, lap) = (total / n, Lap::of(n));
    let l = lap.clone();
    let seats: Vec<_> = (0..n).map(|_| Semphore::new(0)).collect();
    run_all(n, move |id| {
        if l.arrive() {
            seats[0].post();
        }
        for _ in 0..each {
            if timed {
                assert!(seats[id].wait_timeout(FAR));
            } else {
                seats[id].wait();
            }
            l.count();
            seats[(id + 1) % n].post();
        }
        l.leave();
    });
    result("wake", lap.cost());
    check(lap.counted());
}

fn run_spawn(n: usize) {
    let t = Instant::now();
    let sum: i64 = (0..n).map(|_| spawn(|| 1i64).join().unwrap()).sum();
    result("one", per(t, n));
    check(sum);
}

// Sleeps instead of yielding until the last one has arrived: may does not look at the queue of new
// coroutines while old ones are ready.
fn start_gated(n: usize, gate: &Arc<SyncFlag>) -> Vec<JoinHandle<i64>> {
    let arrived = Arc::new((AtomicI64::new(0), SyncFlag::new()));
    let all = (0..n)
        .map(|_| {
            let (a, g) = (arrived.clone(), gate.clone());
            spawn(move || {
                if a.0.fetch_add(1, Relaxed) + 1 == n as i64 {
                    a.1.fire();
                }
                g.wait();
                1i64
            })
        })
        .collect();
    arrived.1.wait();
    all
}

fn join_all(all: Vec<JoinHandle<i64>>) -> i64 {
    all.into_iter().map(|h| h.join().unwrap()).sum()
}

fn spawn_many_round(n: usize) -> i64 {
    let gate = Arc::new(SyncFlag::new());
    let all = start_gated(n, &gate);
    gate.fire();
    join_all(all)
}

fn run_spawn_many(n: usize, rounds: usize) {
    let t = Instant::now();
    let mut sum = spawn_many_round(n);
    result("first", per(t, n));
    let (t, again) = (Instant::now(), if rounds > 2 { rounds - 1 } else { 1 });
    for _ in 0..again {
        sum += spawn_many_round(n);
    }
    result("again", per(t, again * n));
    check(sum);
}

fn sum_range(lo: i64, hi: i64) -> i64 {
    if lo == hi {
        return lo;
    }
    let mid = (lo + hi) / 2;
    let a = spawn(move || sum_range(lo, mid));
    let b = spawn(move || sum_range(mid + 1, hi));
    a.join().unwrap() + b.join().unwrap()
}

fn run_tree(n: usize) {
    let mut sum = 0;
    for name in ["first", "again"] {
        let t = Instant::now();
        sum = sum_range(1, n as i64);
        result(name, per(t, 2 * n - 2));
    }
    check(sum);
}

fn run_pipe(n: usize) {
    let (r1, s1) = pipe().unwrap();
    let (r2, s2) = pipe().unwrap();
    let (mut r1, mut s1) = (CoIo::new(r1).unwrap(), CoIo::new(s1).unwrap());
    let (mut r2, mut s2) = (CoIo::new(r2).unwrap(), CoIo::new(s2).unwrap());
    let echo = spawn(move || {
        let mut b = [0u8; 1];
        while r1.read(&mut b).unwrap() == 1 {
            s2.write_all(&b).unwrap();
        }
    });
    let mut ok = 0;
    let mut c = [0u8; 1];
    let t = Instant::now();
    for i in 0..n {
        let b = [(i & 0x7f) as u8];
        s1.write_all(&b).unwrap();
        r2.read_exact(&mut c).unwrap();
        ok += (b == c) as i64;
    }
    result("round", per(t, n) / 1000.0);
    drop(s1);
    echo.join().unwrap();
    check(ok);
}

fn run_memory(n: usize) {
    let gate = Arc::new(SyncFlag::new());
    let (m0, k0) = (mem_own(), mem_kernel());
    let all = start_gated(n, &gate);
    let (m1, k1) = (mem_own(), mem_kernel());
    result("bytes", (m1 - m0) as f64 / n as f64);
    result("kernel", (k1 - k0) as f64 / n as f64);
    gate.fire();
    check(join_all(all));
}

fn run_chan(n: usize) {
    let (s1, r1) = mpsc::channel::<i64>();
    let (s2, r2) = mpsc::channel::<i64>();
    let echo = spawn(move || {
        while let Ok(v) = r1.recv() {
            s2.send(v).unwrap();
        }
    });
    let mut ok = 0;
    let t = Instant::now();
    for i in 0..n as i64 {
        s1.send(i).unwrap();
        ok += (r2.recv() == Ok(i)) as i64;
    }
    result("round", per(t, n));
    drop(s1);
    echo.join().unwrap();
    check(ok);
}

// Threads in pairs, each with two channels; after each trip there and back a pair stands
// behind the others.
fn pairs(n: usize, total: usize) {
    let (each, lap) = ((total / (n / 2)) as i64, Lap::of(n));
    let mut all = Vec::with_capacity(n);
    for _ in 0..n / 2 {
        let (there, arrives) = mpsc::channel::<i64>();
        let (back, comes_back) = mpsc::channel::<i64>();
        let (a, b) = (lap.clone(), lap.clone());
        all.push(spawn(move || {
            meet(&a);
            for i in 0..each {
                there.send(i).unwrap();
                assert_eq!(comes_back.recv(), Ok(i));
                a.count();
                yield_now();
            }
            a.leave();
        }));
        all.push(spawn(move || {
            meet(&b);
            for _ in 0..each {
                back.send(arrives.recv().unwrap()).unwrap();
            }
            b.leave();
        }));
    }
    for h in all {
        h.join().unwrap();
    }
    result("trip", lap.cost());
    check(lap.counted());
}

fn run_mutex(n: usize, rounds: usize, held: bool) {
    let m = Arc::new(Mutex::new(0i64));
    let own = m.clone();
    let t = Instant::now();
    run_all(n, move |_| {
        for _ in 0..rounds {
            let mut v = own.lock().unwrap();
            *v += 1;
            if held {
                yield_now();
            }
        }
    });
    result("lock", per(t, n * rounds));
    check(*m.lock().unwrap());
}

fn sky(up: mpsc::Sender<i64>, num: i64, size: i64) {
    if size == 1 {
        up.send(num).unwrap();
        return;
    }
    let (tx, rx) = mpsc::channel();
    for i in 0..10 {
        let tx = tx.clone();
        drop(spawn(move || sky(tx, num + i * (size / 10), size / 10)));
    }
    up.send((0..10).map(|_| rx.recv().unwrap()).sum()).unwrap();
}

fn run_skynet(leaves: usize) {
    let mut sum = 0;
    for name in ["first", "again"] {
        let (tx, rx) = mpsc::channel();
        let t = Instant::now();
        drop(spawn(move || sky(tx, 0, leaves as i64)));
        sum = rx.recv().unwrap();
        result(name, per(t, leaves));
    }
    check(sum);
}

fn run_timers(n: usize, rounds: usize) {
    let c = cpu_ns();
    let all: Vec<_> = (0..n)
        .map(|id| {
            spawn(move || {
                let mut spans = Spans::of(id);
                let mut all = Vec::with_capacity(rounds);
                for _ in 0..rounds {
                    let span = spans.next();
                    let due = Instant::now() + span;
                    sleep(span);
                    all.push(late(due));
                }
                all
            })
        })
        .collect();
    let mut all: Vec<u64> = all.into_iter().flat_map(|h| h.join().unwrap()).collect();
    let c = cpu_ns() - c;
    result("late", p99_us(&mut all));
    result("cpu", c as f64 / all.len() as f64 / 1000.0);
    check(all.len() as i64);
}

// Sleepers, whose spans grow with their number, so that as many wake in a second.
fn run_timers_steady(n: usize, wakes: usize) {
    let all = Dozers::of(n, wakes);
    let dozers = all.clone();
    run_all(n, move |id| {
        let mut spans = Spans::of(id);
        dozers.arrive();
        loop {
            let span = spans.next_of(n);
            let due = Instant::now() + span;
            sleep(span);
            if !dozers.woke(due) {
                break;
            }
        }
    });
    all.tell();
}

fn run(w: &str, n: usize, m: usize) {
    match w {
        "yield" => run_yield(n, m),
        "spawn" => run_spawn(n),
        "spawn-many" => run_spawn_many(n, m),
        "tree" => run_tree(n),
        "pipe" => run_pipe(n),
        "memory" => run_memory(n),
        "chan" => run_chan(n),
        "mutex" => run_mutex(n, m, false),
        "mutex-held" => run_mutex(n, m, true),
        "skynet" => run_skynet(n),
        "timers" => run_timers(n, m),
        "ring" => ring(n, m, false),
        "timed" => ring(n, m, true),
        "pairs" => pairs(n, m),
        "timers-steady" => run_timers_steady(n, m),
        _ => panic!("no such workload: {w}"),
    }
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: usize = a[3].parse().unwrap();
    let m: usize = a.get(4).map_or(0, |s| s.parse().unwrap());
    may::config().set_workers(a[1].parse().unwrap()).set_stack_size(STACK_WORDS);
    may::config().set_worker_pin(false); // the harness pins the process
    spawn(move || run(&a[2], n, m)).join().unwrap();
}
