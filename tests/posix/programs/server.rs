// SPDX-License-Identifier: Apache-2.0
// An echo server on std::thread. It prints its port, ends at end-of-file on standard input, joins
// all its threads, and prints the results of its channels and locks.
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::thread;

fn serve(mut s: TcpStream, bytes: &Mutex<u64>) {
    let mut buf = [0u8; 512];
    while let Ok(n) = s.read(&mut buf) {
        if n == 0 || s.write_all(&buf[..n]).is_err() {
            return;
        }
        *bytes.lock().unwrap() += n as u64;
    }
}

fn locks() -> (u64, u32, bool) {
    let (tx, rx) = mpsc::sync_channel(4);
    let pair = Arc::new((Mutex::new(0u32), Condvar::new()));
    let table = Arc::new(RwLock::new(vec![0u64; 16]));
    let barrier = Arc::new(Barrier::new(16));
    let all: Vec<_> = (0..16usize)
        .map(|i| {
            let (tx, pair, table, barrier) =
                (tx.clone(), pair.clone(), table.clone(), barrier.clone());
            thread::Builder::new()
                .name(format!("worker-{}", i))
                .stack_size(128 << 10)
                .spawn(move || {
                    barrier.wait();
                    table.write().unwrap()[i] = i as u64;
                    tx.send(table.read().unwrap()[i]).unwrap();
                    *pair.0.lock().unwrap() += 1;
                    pair.1.notify_one();
                    thread::park_timeout(std::time::Duration::from_millis(1));
                })
                .unwrap()
        })
        .collect();
    drop(tx);
    let sum: u64 = rx.iter().sum();
    let done = pair.1.wait_while(pair.0.lock().unwrap(), |n| *n < 16).unwrap();
    let n = *done;
    drop(done);
    for t in all {
        t.join().unwrap();
    }
    (sum, n, thread::spawn(|| panic!("expected")).join().is_err())
}

fn main() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let want: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let bytes = Arc::new(Mutex::new(0u64));
    let counted = bytes.clone();
    let server = thread::spawn(move || {
        let all: Vec<_> = (0..want)
            .map(|_| {
                let s = listener.accept().unwrap().0;
                let bytes = counted.clone();
                thread::spawn(move || serve(s, &bytes))
            })
            .collect();
        for t in all {
            t.join().unwrap();
        }
    });
    println!("{}", port);
    let mut rest = String::new();
    std::io::stdin().read_to_string(&mut rest).unwrap();
    server.join().unwrap();
    println!("{} bytes, {:?}", bytes.lock().unwrap(), locks());
}
