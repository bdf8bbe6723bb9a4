// SPDX-License-Identifier: Apache-2.0
//! Finds libukthreads with pkg-config.
//!
//! `UKTHREADS_LIB_DIR` names the directory of a library that is not installed, `src` in
//! a build directory of Meson: its .pc file is then looked for there, too.
//! `UKTHREADS_STATIC=1` links libukthreads.a.
use std::env;
use std::path::Path;
use std::process::{exit, Command};

fn fail(why: &str) -> ! {
    eprintln!("ukthreads: {why}");
    eprintln!("Install the library (make install) and set PKG_CONFIG_PATH if its prefix is not");
    eprintln!("searched, or set UKTHREADS_LIB_DIR to the directory src of a build directory.");
    exit(1)
}

/// The places of the .pc file of a library that is in `dir`, before those of
/// PKG_CONFIG_PATH.
fn search_path(dir: &str) -> String {
    let dir = Path::new(dir);
    let mut places = vec![
        dir.join("pkgconfig").display().to_string(),
        dir.join("../meson-uninstalled").display().to_string(),
    ];
    places.extend(env::var("PKG_CONFIG_PATH"));
    places.join(":")
}

fn main() {
    for name in ["UKTHREADS_LIB_DIR", "UKTHREADS_STATIC", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    let linked_static = env::var("UKTHREADS_STATIC").is_ok_and(|v| v == "1");
    let mut ask = Command::new(env::var("PKG_CONFIG").unwrap_or("pkg-config".into()));
    if let Ok(dir) = env::var("UKTHREADS_LIB_DIR") {
        ask.env("PKG_CONFIG_PATH", search_path(&dir));
    }
    if linked_static {
        ask.arg("--static");
    }
    // the directory is wanted even if it is a usual one: a program finds the library at
    // run time
    ask.env("PKG_CONFIG_ALLOW_SYSTEM_LIBS", "1")
        .args(["--libs", "ukthreads"]);
    let out = match ask.output() {
        Ok(out) if out.status.success() => String::from_utf8_lossy(&out.stdout).into_owned(),
        Ok(out) => fail(String::from_utf8_lossy(&out.stderr).trim()),
        Err(e) => fail(&format!("pkg-config does not start: {e}")),
    };
    for word in out.split_whitespace() {
        if let Some(dir) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={dir}");
            if !linked_static {
                // of the tests and examples here; README.md says what other packages do
                println!("cargo:rustc-link-arg=-Wl,-rpath,{dir}");
                println!("cargo:lib_dir={dir}");
            }
        } else if word == "-lukthreads" && linked_static {
            println!("cargo:rustc-link-lib=static=ukthreads");
        } else if let Some(lib) = word.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={lib}");
        }
    }
}
