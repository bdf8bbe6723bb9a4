// SPDX-License-Identifier: Apache-2.0
//! Workloads on tokio tasks: tokio-micro VPS WORKLOAD N [M].
//! One vp is the current-thread runtime, more the multi-thread one. Tasks have no stack of
//! their own: they are the peer that pays with a different style of program.
#[path = "../../rust/bench.rs"]
mod bench;
use bench::{check, cpu_ns, late, mem_kernel, mem_own, p99_us, per, result, Dozers, Lap, Spans};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch, Mutex, Notify};
use tokio::task::{spawn, yield_now};
use tokio::time::timeout;

async fn meet(lap: &Lap) {
    lap.arrive();
    while !lap.all_in() {
        yield_now().await;
    }
}

async fn run_yield(n: usize, total: usize) {
    let (each, lap) = (total / n, Lap::of(n));
    let tasks: Vec<_> = (0..n)
        .map(|_| {
            let lap = lap.clone();
            spawn(async move {
                lap.arrive();
                while !lap.all_in() {
                    yield_now().await;
                    lap.count();
                }
                for _ in 0..each {
                    yield_now().await;
                    lap.count();
                }
                lap.leave();
                each as i64
            })
        })
        .collect();
    let mut sum = 0;
    for h in tasks {
        sum += h.await.unwrap();
    }
    result("yield", lap.cost());
    check(sum);
}

// A baton goes round; timed: each wait has a deadline, which is never met.
async fn ring(n: usize, total: usize, timed: bool) {
    const FAR: Duration = Duration::from_secs(300);
    let (each, lap) = (total / n, Lap::of(n));
    let seats: Arc<Vec<Notify>> = Arc::new((0..n).map(|_| Notify::new()).collect());
    let tasks: Vec<_> = (0..n)
        .map(|id| {
            let (lap, seats) = (lap.clone(), seats.clone());
            spawn(async move {
                if lap.arrive() {
                    seats[0].notify_one();
                }
                for _ in 0..each {
                    if timed {
                        timeout(FAR, seats[id].notified()).await.unwrap();
                    } else {
                        seats[id].notified().await;
                    }
                    lap.count();
                    seats[(id + 1) % n].notify_one();
                }
                lap.leave();
            })
        })
        .collect();
    for h in tasks {
        h.await.unwrap();
    }
    result("wake", lap.cost());
    check(lap.counted());
}

async fn run_spawn(n: usize) {
    let mut sum = 0;
    let t = Instant::now();
    for _ in 0..n {
        sum += spawn(async { 1i64 }).await.unwrap();
    }
    result("one", per(t, n));
    check(sum);
}

async fn start_gated(
    n: usize,
    arrived: &Arc<AtomicI64>,
    gate: &watch::Receiver<bool>,
) -> Vec<tokio::task::JoinHandle<i64>> {
    let mut tasks = Vec::with_capacity(n);
    for _ in 0..n {
        let (a, mut g) = (arrived.clone(), gate.clone());
        tasks.push(spawn(async move {
            a.fetch_add(1, Relaxed);
            g.wait_for(|open| *open).await.unwrap();
            1i64
        }));
    }
    while arrived.load(Relaxed) != n as i64 {
        yield_now().await;
    }
    tasks
}

async fn spawn_many_round(n: usize) -> i64 {
    let (open, gate) = watch::channel(false);
    let arrived = Arc::new(AtomicI64::new(0));
    let tasks = start_gated(n, &arrived, &gate).await;
    open.send(true).unwrap();
    let mut sum = 0;
    for h in tasks {
        sum += h.await.unwrap();
    }
    sum
}

async fn run_spawn_many(n: usize, rounds: usize) {
    let t = Instant::now();
    let mut sum = spawn_many_round(n).await;
    result("first", per(t, n));
    let (t, again) = (Instant::now(), if rounds > 2 { rounds - 1 } else { 1 });
    for _ in 0..again {
        sum += spawn_many_round(n).await;
    }
    result("again", per(t, again * n));
    check(sum);
}

fn sum_range(lo: i64, hi: i64) -> Pin<Box<dyn Future<Output = i64> + Send>> {
    Box::pin(async move {
        if lo == hi {
            return lo;
        }
        let mid = (lo + hi) / 2;
        let a = spawn(sum_range(lo, mid));
        let b = spawn(sum_range(mid + 1, hi));
        a.await.unwrap() + b.await.unwrap()
    })
}

async fn run_tree(n: usize) {
    let mut sum = 0;
    for name in ["first", "again"] {
        let t = Instant::now();
        sum = sum_range(1, n as i64).await;
        result(name, per(t, 2 * n - 2));
    }
    check(sum);
}

async fn run_pipe(n: usize) {
    let (mut s1, mut r1) = pipe::pipe().unwrap();
    let (mut s2, mut r2) = pipe::pipe().unwrap();
    let echo = spawn(async move {
        let mut b = [0u8; 1];
        while r1.read_exact(&mut b).await.is_ok() {
            s2.write_all(&b).await.unwrap();
        }
    });
    let mut ok = 0;
    let mut c = [0u8; 1];
    let t = Instant::now();
    for i in 0..n {
        let b = [(i & 0x7f) as u8];
        s1.write_all(&b).await.unwrap();
        r2.read_exact(&mut c).await.unwrap();
        ok += (b == c) as i64;
    }
    result("round", per(t, n) / 1000.0);
    drop(s1);
    echo.await.unwrap();
    check(ok);
}

async fn run_memory(n: usize) {
    let (open, gate) = watch::channel(false);
    let arrived = Arc::new(AtomicI64::new(0));
    let (m0, k0) = (mem_own(), mem_kernel());
    let tasks = start_gated(n, &arrived, &gate).await;
    let (m1, k1) = (mem_own(), mem_kernel());
    result("bytes", (m1 - m0) as f64 / n as f64);
    result("kernel", (k1 - k0) as f64 / n as f64);
    open.send(true).unwrap();
    let mut sum = 0;
    for h in tasks {
        sum += h.await.unwrap();
    }
    check(sum);
}

// tokio has no rendezvous channel: capacity 1 is its smallest.
async fn run_chan(n: usize) {
    let (s1, mut r1) = mpsc::channel::<i64>(1);
    let (s2, mut r2) = mpsc::channel::<i64>(1);
    let echo = spawn(async move {
        while let Some(v) = r1.recv().await {
            s2.send(v).await.unwrap();
        }
    });
    let mut ok = 0;
    let t = Instant::now();
    for i in 0..n as i64 {
        s1.send(i).await.unwrap();
        ok += (r2.recv().await == Some(i)) as i64;
    }
    result("round", per(t, n));
    drop(s1);
    echo.await.unwrap();
    check(ok);
}

// Tasks in pairs, each with two channels; after each trip there and back a pair stands behind
// the others.
async fn pairs(n: usize, total: usize) {
    let (each, lap) = ((total / (n / 2)) as i64, Lap::of(n));
    let mut tasks = Vec::with_capacity(n);
    for _ in 0..n / 2 {
        let (there, mut arrives) = mpsc::channel::<i64>(1);
        let (back, mut comes_back) = mpsc::channel::<i64>(1);
        let a = lap.clone();
        tasks.push(spawn(async move {
            meet(&a).await;
            for i in 0..each {
                there.send(i).await.unwrap();
                assert_eq!(comes_back.recv().await, Some(i));
                a.count();
                yield_now().await;
            }
            a.leave();
        }));
        let b = lap.clone();
        tasks.push(spawn(async move {
            meet(&b).await;
            for _ in 0..each {
                back.send(arrives.recv().await.unwrap()).await.unwrap();
            }
            b.leave();
        }));
    }
    for h in tasks {
        h.await.unwrap();
    }
    result("trip", lap.cost());
    check(lap.counted());
}

async fn run_mutex(n: usize, rounds: usize, held: bool) {
    let m = Arc::new(Mutex::new(0i64));
    let t = Instant::now();
    let tasks: Vec<_> = (0..n)
        .map(|_| {
            let m = m.clone();
            spawn(async move {
                for _ in 0..rounds {
                    let mut v = m.lock().await;
                    *v += 1;
                    if held {
                        yield_now().await;
                    }
                }
            })
        })
        .collect();
    for h in tasks {
        h.await.unwrap();
    }
    result("lock", per(t, n * rounds));
    check(*m.lock().await);
}

fn sky(
    up: mpsc::Sender<i64>,
    num: i64,
    size: i64,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if size == 1 {
            up.send(num).await.unwrap();
            return;
        }
        let (tx, mut rx) = mpsc::channel(1);
        for i in 0..10 {
            spawn(sky(tx.clone(), num + i * (size / 10), size / 10));
        }
        let mut sum = 0;
        for _ in 0..10 {
            sum += rx.recv().await.unwrap();
        }
        up.send(sum).await.unwrap();
    })
}

async fn run_skynet(leaves: usize) {
    let mut sum = 0;
    for name in ["first", "again"] {
        let (tx, mut rx) = mpsc::channel(1);
        let t = Instant::now();
        spawn(sky(tx, 0, leaves as i64));
        sum = rx.recv().await.unwrap();
        result(name, per(t, leaves));
    }
    check(sum);
}

async fn run_timers(n: usize, rounds: usize) {
    let c = cpu_ns();
    let tasks: Vec<_> = (0..n)
        .map(|id| {
            spawn(async move {
                let mut spans = Spans::of(id);
                let mut all = Vec::with_capacity(rounds);
                for _ in 0..rounds {
                    let due = Instant::now() + spans.next();
                    tokio::time::sleep_until(due.into()).await;
                    all.push(late(due));
                }
                all
            })
        })
        .collect();
    let mut all = Vec::with_capacity(n * rounds);
    for h in tasks {
        all.extend(h.await.unwrap());
    }
    let c = cpu_ns() - c;
    result("late", p99_us(&mut all));
    result("cpu", c as f64 / all.len() as f64 / 1000.0);
    check(all.len() as i64);
}

// Sleepers, whose spans grow with their number, so that as many wake in a second.
async fn run_timers_steady(n: usize, wakes: usize) {
    let all = Dozers::of(n, wakes);
    let tasks: Vec<_> = (0..n)
        .map(|id| {
            let all = all.clone();
            spawn(async move {
                let mut spans = Spans::of(id);
                all.arrive();
                loop {
                    let due = Instant::now() + spans.next_of(n);
                    tokio::time::sleep_until(due.into()).await;
                    if !all.woke(due) {
                        break;
                    }
                }
            })
        })
        .collect();
    for h in tasks {
        h.await.unwrap();
    }
    all.tell();
}

async fn run(w: String, n: usize, m: usize) {
    match w.as_str() {
        "yield" => run_yield(n, m).await,
        "spawn" => run_spawn(n).await,
        "spawn-many" => run_spawn_many(n, m).await,
        "tree" => run_tree(n).await,
        "pipe" => run_pipe(n).await,
        "memory" => run_memory(n).await,
        "chan" => run_chan(n).await,
        "mutex" => run_mutex(n, m, false).await,
        "mutex-held" => run_mutex(n, m, true).await,
        "skynet" => run_skynet(n).await,
        "pairs" => pairs(n, m).await,
        "timers-steady" => run_timers_steady(n, m).await,
        "ring" => ring(n, m, false).await,
        "timed" => ring(n, m, true).await,
        "timers" => run_timers(n, m).await,
        _ => panic!("no such workload: {w}"),
    }
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let vps: usize = a[1].parse().unwrap();
    let n: usize = a[3].parse().unwrap();
    let m: usize = a.get(4).map_or(0, |s| s.parse().unwrap());
    let rt = if vps == 1 {
        tokio::runtime::Builder::new_current_thread().enable_all().build()
    } else {
        tokio::runtime::Builder::new_multi_thread().worker_threads(vps).enable_all().build()
    }
    .unwrap();
    let root = rt.spawn(run(a[2].clone(), n, m));
    rt.block_on(root).unwrap();
}
