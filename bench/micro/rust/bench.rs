// SPDX-License-Identifier: Apache-2.0
//! What the Rust programs of the comparison share, as bench/lib/bench.h for C: the output
//! protocol, clocks, the random generator, and what threads count together.
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub fn result(metric: &str, v: f64) {
    println!("result {metric} {v:.3}");
}
pub fn check(v: i64) {
    println!("check {v}");
}
pub fn per(t: Instant, n: usize) -> f64 {
    t.elapsed().as_nanos() as f64 / n as f64
}
pub fn cpu_ns() -> i64 {
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
pub fn mem_own() -> i64 {
    sum_kb("/proc/self/status", &["VmRSS:", "VmPTE:"])
}
pub fn mem_kernel() -> i64 {
    sum_kb("/proc/meminfo", &["KernelStack:", "Slab:"])
}

/// 1 ms ... 100 ms, the same for each sleeper in every language.
pub struct Spans(u64);

impl Spans {
    pub fn of(id: usize) -> Spans {
        Spans((id as u64 + 1).wrapping_mul(0x9E3779B97F4A7C15))
    }
    pub fn next(&mut self) -> Duration {
        let s = &mut self.0;
        *s ^= *s >> 12;
        *s ^= *s << 25;
        *s ^= *s >> 27;
        Duration::from_nanos(1_000_000 + s.wrapping_mul(0x2545F4914F6CDD1D) % 99_000_001)
    }
    /// Of n sleepers, so that as many wake in a second as of 10,000.
    pub fn next_of(&mut self, n: usize) -> Duration {
        Duration::from_nanos(self.next().as_nanos() as u64 * n as u64 / 10_000)
    }
}

/// How late, ns; too early is not late.
pub fn late(due: Instant) -> u64 {
    Instant::now().saturating_duration_since(due).as_nanos() as u64
}

pub fn p99_us(late: &mut [u64]) -> f64 {
    late.sort_unstable();
    late[late.len() * 99 / 100] as f64 / 1000.0
}

/// What n threads count together from the moment at which the last has arrived to that at
/// which the first is done. One vp: a load and a store are enough to add.
#[derive(Default)]
pub struct Lap {
    n: i64,
    count: AtomicI64,
    came: AtomicI64,
    left: AtomicI64,
    at: Mutex<(i64, Option<Instant>, f64)>,
}

impl Lap {
    pub fn of(n: usize) -> Arc<Lap> {
        Arc::new(Lap { n: n as i64, ..Default::default() })
    }
    fn add(c: &AtomicI64) -> i64 {
        let v = c.load(Relaxed) + 1;
        c.store(v, Relaxed);
        v
    }
    pub fn count(&self) {
        Self::add(&self.count);
    }
    pub fn counted(&self) -> i64 {
        self.count.load(Relaxed)
    }
    /// Is it the last?
    pub fn arrive(&self) -> bool {
        let last = Self::add(&self.came) == self.n;
        if last {
            let mut at = self.at.lock().unwrap();
            (at.0, at.1) = (self.counted(), Some(Instant::now()));
        }
        last
    }
    pub fn all_in(&self) -> bool {
        self.came.load(Relaxed) >= self.n
    }
    pub fn leave(&self) {
        if Self::add(&self.left) == 1 {
            let mut at = self.at.lock().unwrap();
            at.2 = per(at.1.unwrap(), (self.counted() - at.0) as usize);
        }
    }
    pub fn cost(&self) -> f64 {
        self.at.lock().unwrap().2
    }
}

/// n sleepers. What came due while they were made is late: so, once all are there, n wake-ups
/// pass, then as many as are wanted are counted, and each ends at its next.
#[derive(Default)]
pub struct Dozers {
    n: usize,
    wakes: usize,
    state: Mutex<Dozing>,
}

#[derive(Default)]
struct Dozing {
    came: usize,
    passed: usize,
    late: Vec<u64>,
    from: i64,
    to: i64,
}

impl Dozers {
    pub fn of(n: usize, wakes: usize) -> Arc<Dozers> {
        let state = Mutex::new(Dozing { late: Vec::with_capacity(wakes), ..Default::default() });
        Arc::new(Dozers { n, wakes, state })
    }
    pub fn arrive(&self) {
        self.state.lock().unwrap().came += 1;
    }
    /// Is it to go on?
    pub fn woke(&self, due: Instant) -> bool {
        let mut s = self.state.lock().unwrap();
        if s.late.len() == self.wakes {
            return false;
        }
        if s.came < self.n || s.passed < self.n {
            s.passed += (s.came == self.n) as usize;
            return true;
        }
        if s.late.is_empty() {
            s.from = cpu_ns();
        }
        s.late.push(late(due));
        if s.late.len() == self.wakes {
            s.to = cpu_ns();
        }
        s.late.len() < self.wakes
    }
    pub fn tell(&self) {
        let mut s = self.state.lock().unwrap();
        result("late", p99_us(&mut s.late));
        result("cpu", (s.to - s.from) as f64 / self.wakes as f64 / 1000.0);
        check(s.late.len() as i64);
    }
}
