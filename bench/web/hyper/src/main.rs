// SPDX-License-Identifier: Apache-2.0
//! The web peer on hyper 1 and tokio: hyper-web PORT ROOT [THREADS].
//! /small is answered from memory; any other path is a file of ROOT, opened and read for
//! each request (hyper has no file service, and no sendfile). THREADS > 1 runs that many
//! current-thread runtimes on one listening socket each (SO_REUSEPORT is not used: the
//! socket is shared).
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;

async fn answer(
    root: Arc<String>,
    req: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = req.uri().path();
    if path == "/small" {
        return Ok(Response::builder()
            .header("Content-Type", "text/plain")
            .body(Full::new(Bytes::from_static(b"hello, world\n")))
            .unwrap());
    }
    if path.contains("..") {
        return Ok(status(StatusCode::NOT_FOUND));
    }
    match std::fs::read(format!("{root}{path}")) {
        Ok(data) => Ok(Response::builder()
            .header("Content-Type", "application/octet-stream")
            .body(Full::new(Bytes::from(data)))
            .unwrap()),
        Err(_) => Ok(status(StatusCode::NOT_FOUND)),
    }
}

fn status(s: StatusCode) -> Response<Full<Bytes>> {
    let mut r = Response::new(Full::new(Bytes::new()));
    *r.status_mut() = s;
    r
}

fn serve(l: std::net::TcpListener, root: Arc<String>) {
    let rt = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    rt.block_on(async move {
        let l = tokio::net::TcpListener::from_std(l).unwrap();
        loop {
            let Ok((s, _)) = l.accept().await else { continue };
            let _ = s.set_nodelay(true);
            let root = root.clone();
            tokio::spawn(async move {
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(
                        TokioIo::new(s),
                        service_fn(move |r| answer(root.clone(), r)),
                    )
                    .await;
            });
        }
    });
}

fn main() {
    let a: Vec<String> = std::env::args().collect();
    let root = Arc::new(a[2].clone());
    let n: usize = a.get(3).map_or(1, |s| s.parse().unwrap());
    let l = std::net::TcpListener::bind(format!("127.0.0.1:{}", a[1])).unwrap();
    l.set_nonblocking(true).unwrap();
    for _ in 1..n {
        let (l, root) = (l.try_clone().unwrap(), root.clone());
        std::thread::spawn(move || serve(l, root));
    }
    serve(l, root);
}
