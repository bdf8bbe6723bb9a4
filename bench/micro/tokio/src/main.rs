// SPDX-License-Identifier: Apache-2.0
//! Workloads w1..w8 on tokio tasks: tokio-micro VPS WORKLOAD N [M].
//! One vp is the current-thread runtime, more the multi-thread one. Tasks have no stack of
//! their own: they are the peer that pays with a different style of program.
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

fn result(metric: &str, v: f64) {
    println!("result {metric} {v:.3}");
}
fn check(v: i64) {
    println!("check {v}");
}
fn per(t: Instant, n: usize) -> f64 {
    t.elapsed().as_nanos() as f64 / n as f64
}
fn cpu_ns() -> i64 {
    // SAFETY: a plain system call that fills the struct.
    unsafe {
        let mut t: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t);
        t.tv_sec * 1_000_000_000 + t.tv_nsec
    }
}
fn sum_kb(file: &str, keys: &[&str]) -> i64 {
    std::fs::read_to_string(file)
        .unwrap_or_default()
        .lines()
        .filter_map(|l| {
            let mut w = l.split_whitespace();
            let k = w.next()?;
            if keys.contains(&k) { w.next()?.parse::<i64>().ok() } else { None }
        })
        .sum::<i64>()
        * 1024
}
fn mem_own() -> i64 {
    sum_kb("/proc/self/status", &["VmRSS:", "VmPTE:"])
}
fn mem_kernel() -> i64 {
    sum_kb("/proc/meminfo", &["KernelStack:", "Slab:"])
}
fn rng_next(s: &mut u64) -> u64 {
    *s ^= *s >> 12;
    *s ^= *s << 25;
    *s ^= *s >> 27;
    s.wrapping_mul(0x2545F4914F6CDD1D)
}

// What n tasks count together from the moment at which the last has arrived to that at which
// the first is done. One vp: a load and a store are enough to add.
#[derive(Default)]
struct Lap {
    n: i64,
    count: AtomicI64,
    came: AtomicI64,
    left: AtomicI64,
    at: std::sync::Mutex<(i64, Option<Instant>, f64)>,
}

impl Lap {
    fn of(n: usize) -> Arc<Lap> {
        Arc::new(Lap { n: n as i64, ..Default::default() })
    }
    fn add(c: &AtomicI64) -> i64 {
        let v = c.load(Relaxed) + 1;
        c.store(v, Relaxed);
        v
    }
    fn count(&self) {
        Self::add(&self.count);
    }
    fn arrive(&self) -> bool {
        let last = Self::add(&self.came) == self.n;
        if last {
            let mut at = self.at.lock().unwrap();
            (at.0, at.1) = (self.count.load(Relaxed), Some(Instant::now()));
        }
        last
    }
    async fn meet(&self) {
        self.arrive();
        while !self.all_in() {
            yield_now().await;
        }
    }
    fn all_in(&self) -> bool {
        self.came.load(Relaxed) >= self.n
    }
    fn leave(&self) {
        if Self::add(&self.left) == 1 {
            let mut at = self.at.lock().unwrap();
            at.2 = per(at.1.unwrap(), (self.count.load(Relaxed) - at.0) as usize);
        }
    }
    fn cost(&self) -> f64 {
        self.at.lock().unwrap().2
    }
}

async fn w1(n: usize, total: usize) {
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
    check(lap.count.load(Relaxed));
}

async fn w2one(n: usize) {
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

async fn w2many_round(n: usize) -> i64 {
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

async fn w2many(n: usize, rounds: usize) {
    let t = Instant::now();
    let mut sum = w2many_round(n).await;
    result("first", per(t, n));
    let (t, again) = (Instant::now(), if rounds > 2 { rounds - 1 } else { 1 });
    for _ in 0..again {
        sum += w2many_round(n).await;
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

async fn w3(n: usize) {
    let mut sum = 0;
    for name in ["first", "again"] {
        let t = Instant::now();
        sum = sum_range(1, n as i64).await;
        result(name, per(t, 2 * n - 2));
    }
    check(sum);
}

async fn w4(n: usize) {
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

async fn w5(n: usize) {
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
async fn w6chan(n: usize) {
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
            a.meet().await;
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
            b.meet().await;
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
    check(lap.count.load(Relaxed));
}

async fn w6mutex(n: usize, rounds: usize, held: bool) {
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

async fn w7(leaves: usize) {
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

async fn w8(n: usize, rounds: usize) {
    let c = cpu_ns();
    let tasks: Vec<_> = (0..n as u64)
        .map(|id| {
            spawn(async move {
                let mut seed = (id + 1).wrapping_mul(0x9E3779B97F4A7C15);
                let mut late = Vec::with_capacity(rounds);
                for _ in 0..rounds {
                    let span = 1_000_000 + rng_next(&mut seed) % 99_000_001;
                    let due = Instant::now() + Duration::from_nanos(span);
                    tokio::time::sleep_until(due.into()).await;
                    late.push(Instant::now().saturating_duration_since(due).as_nanos() as u64);
                }
                late
            })
        })
        .collect();
    let mut late = Vec::with_capacity(n * rounds);
    for h in tasks {
        late.extend(h.await.unwrap());
    }
    let c = cpu_ns() - c;
    let done = late.len();
    late.sort_unstable();
    result("late", late[done * 99 / 100] as f64 / 1000.0);
    result("cpu", c as f64 / done as f64 / 1000.0);
    check(done as i64);
}

// Sleepers, whose spans grow with their number, so that as many wake in a second. Once all are
// there, n wake-ups pass, and then they are counted.
#[derive(Default)]
struct Dozers {
    came: usize,
    passed: usize,
    late: Vec<u64>,
    from: i64,
    to: i64,
}

async fn timers(n: usize, wakes: usize) {
    let all = Arc::new(std::sync::Mutex::new(Dozers {
        late: Vec::with_capacity(wakes),
        ..Default::default()
    }));
    let tasks: Vec<_> = (0..n as u64)
        .map(|id| {
            let all = all.clone();
            spawn(async move {
                let mut seed = (id + 1).wrapping_mul(0x9E3779B97F4A7C15);
                all.lock().unwrap().came += 1;
                loop {
                    let span = (1_000_000 + rng_next(&mut seed) % 99_000_001) * n as u64 / 10_000;
                    let due = Instant::now() + Duration::from_nanos(span);
                    tokio::time::sleep_until(due.into()).await;
                    let mut a = all.lock().unwrap();
                    if a.late.len() == wakes {
                        break;
                    }
                    if a.came < n {
                        continue;
                    }
                    if a.passed < n {
                        a.passed += 1;
                        continue;
                    }
                    if a.late.is_empty() {
                        a.from = cpu_ns();
                    }
                    let late = Instant::now().saturating_duration_since(due).as_nanos();
                    a.late.push(late as u64);
                    if a.late.len() == wakes {
                        a.to = cpu_ns();
                        break;
                    }
                }
            })
        })
        .collect();
    for h in tasks {
        h.await.unwrap();
    }
    let mut a = all.lock().unwrap();
    a.late.sort_unstable();
    result("late", a.late[wakes * 99 / 100] as f64 / 1000.0);
    result("cpu", (a.to - a.from) as f64 / wakes as f64 / 1000.0);
    check(a.late.len() as i64);
}

async fn run(w: String, n: usize, m: usize) {
    match w.as_str() {
        "w1" => w1(n, m).await,
        "w2one" => w2one(n).await,
        "w2many" => w2many(n, m).await,
        "w3" => w3(n).await,
        "w4" => w4(n).await,
        "w5" => w5(n).await,
        "w6chan" => w6chan(n).await,
        "w6mutex" => w6mutex(n, m, false).await,
        "w6held" => w6mutex(n, m, true).await,
        "w7" => w7(n).await,
        "pairs" => pairs(n, m).await,
        "timers" => timers(n, m).await,
        "ring" => ring(n, m, false).await,
        "timed" => ring(n, m, true).await,
        "w8" => w8(n, m).await,
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
