#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test the code that users copy first: serve() is taken from README.md, compiled with the library,
and run while a thousand clients reset their connections at every stage. Afterwards it still
answers, and has leaked no fd."""
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build")
CLIENTS = 1000
HANG = 120
# The rest of a program around serve().
MAIN = r"""
#include <arpa/inet.h>
#include <stdio.h>

static void *listens(void *arg)
{
	int l = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	uk_thread_attr detached = UK_THREAD_ATTR_INIT;

	detached.flags = UK_THREAD_DETACHED;
	if (bind(l, (struct sockaddr *)&a, len) || listen(l, 512) ||
	    getsockname(l, (struct sockaddr *)&a, &len))
		return arg;
	printf("%d\n", ntohs(a.sin_port));
	fflush(stdout);
	while ((fd = uk_accept4(l, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		uk_thread_create(NULL, &detached, serve, (void *)(long)fd);
	return arg;
}

int main(void)
{
	uk_thread *t;

	return uk_thread_create(&t, NULL, listens, NULL) || uk_thread_join(t, NULL);
}
"""


def connect(port):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(HANG)
    return s


def reset(s):
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def one_that_resets(port, i):
    s = connect(port)
    if i % 4 == 1:
        s.sendall(b"x" * 1000)
    elif i % 4 == 2:  # the server echoes this, and nobody reads the echo
        s.setblocking(False)
        try:
            while True:
                s.send(b"x" * 65536)
        except BlockingIOError:
            pass
    elif i % 4 == 3:
        s.sendall(b"x" * 1000)
        s.recv(1)
    reset(s)


def descriptors(pid):
    """Count the program's own fds. Those of the runtime are at 1024 and above, and some are opened
    when they are first needed (the one that uk_close puts in place of an fd)."""
    return sum(int(fd) < 1024 for fd in os.listdir("/proc/%d/fd" % pid))


def main():
    text = open(os.path.join(ROOT, "README.md")).read()
    code = re.search(r"^```c\n(.*?serve\(.*?)^```", text, re.S | re.M).group(1)
    with tempfile.TemporaryDirectory() as tmp:
        src, exe = os.path.join(tmp, "readme.c"), os.path.join(tmp, "readme")
        with open(src, "w") as f:
            f.write(code + MAIN)
        lib = os.path.join(BUILD, "src")
        subprocess.run(os.environ.get("CC", "cc").split() +
                       ["-O2", "-Wall", "-Wextra", "-Werror", "-o", exe, src, "-I",
                        os.path.join(ROOT, "include"), "-L", lib, "-lukthreads",
                        "-Wl,-rpath," + lib], check=True)
        p = subprocess.Popen([exe], stdout=subprocess.PIPE, text=True)
        try:
            port = int(p.stdout.readline())
            with connect(port) as s:
                s.sendall(b"first")
                assert s.recv(100)
                before = descriptors(p.pid)
            for i in range(CLIENTS):
                try:
                    one_that_resets(port, i)
                except OSError as e:
                    print("FAILED after %d clients: %s; the server: %s" % (i, e, p.poll()))
                    return 1
            with connect(port) as s:
                s.sendall(b"hello")
                got = s.recv(100)
                # the last connections may still be closing; only a hang is an error
                while descriptors(p.pid) > before:
                    time.sleep(0.05)
            if got != b"hello" or p.poll() is not None:
                print("FAILED: it answered %r, and ended with %s" % (got, p.poll()))
                return 1
        finally:
            p.kill()
            p.wait()
    print("ok: still answers after %d resets" % CLIENTS)
    return 0


sys.exit(main())
