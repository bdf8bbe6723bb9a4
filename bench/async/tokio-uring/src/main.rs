// SPDX-License-Identifier: Apache-2.0
//! async-io on tokio-uring: one task for each request in flight.
//! reads DEPTH N | stats DEPTH N FOLDER
use std::fs::File as StdFile;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::io::{FromRawFd, IntoRawFd};
use std::rc::Rc;
use std::time::Instant;

#[allow(dead_code)]
#[path = "../../../micro/rust/bench.rs"]
mod bench;

const BLOCK: usize = 4096;
const BLOCKS: u64 = 16384;

/// The random generator of bench.h.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545F4914F6CDD1D)
    }
}

/// A file of blocks, each of which contains its number.
fn file() -> StdFile {
    let name = format!("/tmp/bench-async-{}", std::process::id());
    let f = StdFile::options().read(true).write(true).create_new(true).open(&name).expect("file");
    std::fs::remove_file(&name).expect("unlink");
    let mut b = [0u8; BLOCK];
    for i in 0..BLOCKS {
        (&mut b[..8]).write_all(&i.to_ne_bytes()).expect("block");
        f.write_at(&b, i * BLOCK as u64).expect("write");
    }
    f
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let depth: usize = args[2].parse().expect("DEPTH");
    let n: usize = args[3].parse().expect("N");
    let share = n.div_ceil(depth);
    let reads = args[1] == "reads";
    tokio_uring::start(async move {
        // SAFETY: from here on only this File uses the fd.
        let f = Rc::new(unsafe { tokio_uring::fs::File::from_raw_fd(file().into_raw_fd()) });
        let mut names = vec![];
        if !reads {
            std::env::set_current_dir(&args[4]).expect("FOLDER");
            names.extend((0..n).map(|i| i.to_string()));
        }
        let names = Rc::new(names);
        let since = Instant::now();
        let tasks: Vec<_> = (0..depth)
            .map(|task| {
                let (f, names) = (f.clone(), names.clone());
                tokio_uring::spawn(async move {
                    let mut rng = Rng(task as u64 + 1);
                    let mut buf = vec![0u8; BLOCK];
                    for k in 0..share {
                        if reads {
                            let block = rng.next() % BLOCKS;
                            let (r, b) = f.read_at(buf, block * BLOCK as u64).await;
                            assert_eq!(r.expect("read"), BLOCK);
                            assert_eq!(b[..8], block.to_ne_bytes());
                            buf = b;
                        } else {
                            let name = &names[task * share + k];
                            tokio_uring::fs::statx(name).await.expect("statx");
                        }
                    }
                })
            })
            .collect();
        for t in tasks {
            t.await.expect("a task");
        }
        bench::result("op", bench::per(since, share * depth));
        bench::check((share * depth) as i64);
        let f = Rc::try_unwrap(f).ok().expect("the only owner");
        f.close().await.expect("close");
    });
}
