// SPDX-License-Identifier: Apache-2.0
//! Compares `src/sys.rs` with the C headers: a C program declares each function again
//! with the types of the Rust declaration, and asserts each constant, size and offset.
//! The compiler rejects what differs.
use std::collections::HashMap;
use std::ffi::OsString;
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;
use ukthreads::sys::*;

const SYS: &str = include_str!("../src/sys.rs");
const HEADERS: &str = "#include <uk/uk.h>\n#include <errno.h>\n#include <netinet/in.h>\n\
                       #include <signal.h>\n#include <sys/socket.h>\n#include <sys/un.h>\n\
                       typedef void *start_fn(void *);\n";

/// A type of sys.rs in C.
fn c_type(rust: &str) -> String {
    if let Some(to) = rust.strip_prefix("*mut ") {
        return c_type(to) + " *";
    }
    if let Some(to) = rust.strip_prefix("*const ") {
        return "const ".to_string() + &c_type(to) + " *";
    }
    let known = HashMap::from([
        ("c_int", "int"),
        ("c_uint", "unsigned"),
        ("c_void", "void"),
        ("u32", "uint32_t"),
        ("u64", "uint64_t"),
        ("usize", "size_t"),
        ("isize", "ssize_t"),
        ("uk_time", "uk_time"),
        ("sigset_t", "sigset_t"),
        ("socklen_t", "socklen_t"),
        ("start_fn", "start_fn *"),
        ("sockaddr", "struct sockaddr"),
        ("msghdr", "struct msghdr"),
        ("iovec", "struct iovec"),
    ]);
    match known.get(rust) {
        Some(c) => c.to_string(),
        None if rust.starts_with("uk_") => rust.to_string(),
        None => panic!("sys.rs has a type that this test does not know: {rust}"),
    }
}

fn prototypes() -> Vec<String> {
    let block = SYS.split_once("extern \"C\" {").unwrap().1;
    let block = block.split_once("\n}").unwrap().0;
    let block = block.replace("// of libc\n", "");
    let statements = block.split(';').map(str::trim).filter(|s| !s.is_empty());
    let mut all = Vec::new();
    for s in statements {
        let s = s.strip_prefix("pub fn ").unwrap();
        let (name, rest) = s.split_once('(').unwrap();
        let (args, ret) = rest.rsplit_once(')').unwrap();
        let args: Vec<String> = args
            .split(',')
            .map(str::trim)
            .filter(|a| !a.is_empty())
            .map(|a| c_type(a.split_once(": ").unwrap().1))
            .collect();
        let ret = match ret.trim().strip_prefix("-> ") {
            Some(r) => c_type(r),
            None => "void".into(),
        };
        let args = if args.is_empty() {
            "void".into()
        } else {
            args.join(", ")
        };
        all.push(format!("{ret} {name}({args});"));
    }
    all
}

fn constants() -> Vec<String> {
    let mut all = vec![format!(
        "_Static_assert(UK_FOREVER == {UK_FOREVER}, \"UK_FOREVER\");"
    )];
    for line in SYS.lines().filter(|l| l.starts_with("pub const ")) {
        let (name, rest) = line["pub const ".len()..]
            .split_once(": c_int = ")
            .unwrap_or(("", ""));
        let value = rest.trim_end_matches(';').replace("0o", "0");
        if !name.is_empty() {
            all.push(format!("_Static_assert({name} == {value}, \"{name}\");"));
        }
    }
    all
}

fn size_of_field<S, F>(_: fn(&S) -> &F) -> usize {
    size_of::<F>()
}

macro_rules! layout {
    ($all:ident, $($c:literal $rust:ident: $($field:ident)*;)*) => {$(
        $all.push(format!(
            "_Static_assert(sizeof({0}) == {1}, \"sizeof {0}\");", $c, size_of::<$rust>()
        ));
        $(
            $all.push(format!(
                "_Static_assert(offsetof({0}, {1}) == {2} && sizeof((({0} *)0)->{1}) == {3}, \"{0}.{1}\");",
                $c, stringify!($field), offset_of!($rust, $field),
                size_of_field(|s: &$rust| &s.$field)
            ));
        )*
    )*};
}

fn layouts() -> Vec<String> {
    let mut all = Vec::new();
    layout!(all,
        "uk_thread_attr" uk_thread_attr: stack_size set vp name flags reserved0 guard_size reserved;
        "uk_mutex" uk_mutex: word flags owner depth spare;
        "uk_cond" uk_cond: spare waiters;
        "uk_rwlock" uk_rwlock: state writers_waiting readers_waiting spare owner;
        "uk_chan_case" uk_chan_case: chan op result elem;
        "struct sockaddr_in" sockaddr_in: sin_family sin_port sin_addr sin_zero;
        "struct sockaddr_in6" sockaddr_in6: sin6_family sin6_port sin6_flowinfo sin6_addr
            sin6_scope_id;
        "struct sockaddr_un" sockaddr_un: sun_family sun_path;
        "struct msghdr" msghdr: msg_name msg_namelen msg_iov msg_iovlen msg_control
            msg_controllen msg_flags;
        "struct iovec" iovec: iov_base iov_len;
        "sigset_t" sigset_t: __val;
    );
    let structs = SYS.matches("pub struct ").count() - 1; // of the macro
    let compared = all.iter().filter(|l| l.contains("assert(sizeof")).count();
    assert_eq!(structs, compared, "a struct of sys.rs is not compared");
    all
}

#[test]
fn sys_is_what_the_headers_say() {
    let lines = [prototypes(), constants(), layouts()].concat();
    assert!(lines.len() > 100, "only {} lines", lines.len());
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("abi.c");
    std::fs::write(&source, HEADERS.to_string() + &lines.join("\n") + "\n").unwrap();
    let cc = std::env::var_os("CC").unwrap_or(OsString::from("cc"));
    let cc = cc.to_str().unwrap();
    let mut words = cc.split_whitespace();
    let out = Command::new(words.next().unwrap())
        .args(words)
        .args([
            "-std=gnu17",
            "-D_GNU_SOURCE",
            "-Werror",
            "-fsyntax-only",
            "-I",
        ])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include"))
        .arg(&source)
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
}
