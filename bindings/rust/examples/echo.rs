// SPDX-License-Identifier: Apache-2.0
//! A server that echoes, with one thread for each connection, and its clients: one user
//! thread each, too. `cargo run --example echo [CLIENTS]`
use std::io::{self, Read, Write};
use ukthreads::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

fn serve(mut stream: TcpStream) -> io::Result<()> {
    let mut buf = [0; 4096];
    loop {
        match stream.read(&mut buf)? {
            0 => return Ok(()),
            n => stream.write_all(&buf[..n])?,
        }
    }
}

fn client(to: SocketAddr, number: usize) -> io::Result<usize> {
    let mut stream = TcpStream::connect(to)?;
    let said = format!("hello from client {number}\n");
    stream.write_all(said.as_bytes())?;
    stream.shutdown(Shutdown::Write)?;
    let mut heard = String::new();
    stream.read_to_string(&mut heard)?;
    assert_eq!(said, heard);
    Ok(heard.len())
}

fn main() -> io::Result<()> {
    let clients: usize = match std::env::args().nth(1) {
        Some(n) => n.parse().expect("usage: echo [CLIENTS]"),
        None => 100,
    };
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let addr = listener.local_addr()?;
    ukthreads::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("accept");
            ukthreads::spawn(move || serve(stream));
        }
    });
    let threads: Vec<_> = (0..clients)
        .map(|i| ukthreads::spawn(move || client(addr, i)))
        .collect();
    let mut bytes = 0;
    for t in threads {
        bytes += t.join().expect("a client panicked")?;
    }
    println!("{clients} clients, {bytes} bytes");
    Ok(())
}
