# SPDX-License-Identifier: Apache-2.0
"""The web servers of the comparison: how each is started from a private prefix, and the
CPU time of its processes. Each listens on 127.0.0.1 and a high port. The machine's own
nginx and apache2 services are never touched."""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
import time

import build
import harness
from ports import free_port

WWW = os.path.join(build.OUT, "www")
SMALL = b"hello, world\n"


def make_root():
    """The served files: the small reply, and 10,000 bytes of the founding test."""
    os.makedirs(WWW, exist_ok=True)
    for name, data in (("small", SMALL), ("file10k", bytes(
            b"0123456789abcdefghijklmnopqrstuvwxyz\n"[(i * 7 + i // 64) % 37]
            for i in range(10_000)))):
        path = os.path.join(WWW, name)
        if not os.path.exists(path) or open(path, "rb").read() != data:
            with open(path, "wb") as f:
                f.write(data)


def prefix(name):
    path = os.path.join(build.OUT, "run", name)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


def ukweb(mode, env=None):
    def command(port, cpus, _):
        return [build.built("ukweb", "apps/web/ukweb"), f"--mode={mode}", f"--port={port}",
                f"--root={WWW}", f"--vps={cpus}"], env or {}
    return command


def raw(name):
    def command(port, cpus, _):
        if cpus > 1:
            raise build.Missing("one kernel thread only")
        return [build.program(name), str(port), WWW], {}
    return command


def raw_uring(port, cpus, _):
    if cpus > 1:
        raise build.Missing("one kernel thread only")
    return [build.program("raw-uring"), str(port)], {}


def go_web(port, cpus, _):
    return [build.program("go-net-http"), str(port), WWW], {"GOMAXPROCS": str(cpus)}


def hyper(port, cpus, _):
    return [build.program("hyper"), str(port), WWW, str(cpus)], {}


def nginx(cache=""):
    return lambda port, cpus, _: nginx_command(port, cpus, cache)


def nginx_command(port, cpus, cache):
    home = prefix(f"nginx-{port}")
    with open(os.path.join(build.BENCH, "web", "nginx.conf"), encoding="utf-8") as f:
        text = f.read()
    conf = os.path.join(home, "nginx.conf")
    with open(conf, "w", encoding="utf-8") as f:
        f.write(text.replace("@PREFIX@", home).replace("@PORT@", str(port))
                .replace("@ROOT@", WWW).replace("@WORKERS@", str(cpus))
                .replace("@CACHE@", cache)
                .replace("@USER@", pwd.getpwuid(os.getuid()).pw_name))
    return [build.which("nginx", "nginx"), "-p", home, "-e", f"{home}/error.log",
            "-c", conf], {}


def apache(mpm):
    def command(port, _, connections):
        home = prefix(f"apache-{mpm}-{port}")
        binary = build.which("apache2", "apache2")
        modules = "/usr/lib/apache2/modules"
        if not os.path.exists(f"{modules}/mod_mpm_{mpm}.so"):
            raise build.Missing(f"no mod_mpm_{mpm}.so (Debian: apache2)")
        with open(os.path.join(build.BENCH, "web", f"apache-{mpm}.conf"),
                  encoding="utf-8") as f:
            text = f.read()
        with open(os.path.join(build.BENCH, "web", "apache-common.conf"),
                  encoding="utf-8") as f:
            text += f.read()
        # worker: a thread for each connection, and some more. event: it closes idle
        # connections when all its threads are busy, so as many threads, but at most
        # 1,064
        room = (connections if mpm == "worker" else min(connections, 1000)) + 64
        per_child = min(room, 1000)
        conf = os.path.join(home, "apache.conf")
        with open(conf, "w", encoding="utf-8") as f:
            f.write(text.replace("@PREFIX@", home).replace("@PORT@", str(port))
                    .replace("@ROOT@", WWW).replace("@MODULES@", modules)
                    .replace("@PER_CHILD@", str(per_child))
                    .replace("@CHILDREN@", str(-(-room // per_child)))
                    .replace("@WORKERS@", str(-(-room // per_child) * per_child))
                    .replace("@FACTOR@", str(connections // per_child + 4))
                    .replace("@USER@", "www-data" if os.getuid() == 0
                             else pwd.getpwuid(os.getuid()).pw_name))
        return [binary, "-DFOREGROUND", "-f", conf], {}
    return command


# by the mechanism that detects blocked threads
MECHANISMS = {f"ukweb-{mode}-{how}": ukweb(mode, {"UK_ACTIVATION": how})
              for mode in ("uk", "uk-set") for how in ("perf", "monitor")}
SERVERS = MECHANISMS | {
    "ukweb-uk": ukweb("uk"), "ukweb-uk-set": ukweb("uk-set"), "ukweb-pth": ukweb("pth"),
    "raw-uring": raw_uring, "raw-epoll": raw("raw-epoll"),
    "nginx": nginx(),
    "nginx-cache": nginx("open_file_cache max=1000 inactive=60s;"), "hyper": hyper, "go-net-http": go_web,
    "apache-event": apache("event"), "apache-worker": apache("worker"),
}


def in_bytes(path, fields):
    with open(path, encoding="utf-8") as f:
        return sum(int(line.split()[1]) for line in f if line.startswith(fields)) * 1024


def resident(pids):
    """Bytes of processes: proportional set size and page tables."""
    total = 0
    for pid in pids:
        try:
            total += in_bytes(f"/proc/{pid}/smaps_rollup", ("Pss:",))
            total += in_bytes(f"/proc/{pid}/status", ("VmPTE:",))
        except OSError:
            continue
    return total


def kernel_memory():
    """Kernel stacks and slabs of the whole machine."""
    return in_bytes("/proc/meminfo", ("KernelStack:", "Slab:"))


STARTING = threading.Lock()  # held from the choice of a port until the server listens on it


class Server:
    """A running server: `with Server("nginx", cpus=1) as s: s.port, s.cpu()`. Several
    may be started at once."""
    patience = 10  # s, for its end

    def __init__(self, name, cpus, connections, command=None):
        self.name, self.cpus, self.connections = name, cpus, connections
        self.command = command or SERVERS[name]

    def start(self):
        name, cpus = self.name, self.cpus
        self.port = free_port()
        words, env = self.command(self.port, cpus, self.connections)
        log = os.path.join(build.OUT, f"{name}-{self.port}.log")
        self.log = open(log, "wb")
        self.process = subprocess.Popen(
            harness.pinned(cpus) + words, env={**os.environ, **env}, cwd=build.OUT,
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
            start_new_session=True)

    def __enter__(self):
        with STARTING:
            self.start()
            return self.wait_for_port()

    def wait_for_port(self):
        end = time.monotonic() + 10
        while time.monotonic() < end and self.process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                time.sleep(0.3)
                return self
            except OSError:
                time.sleep(0.05)
        self.__exit__()
        raise harness.Failed(f"does not start: {self.last_words()}")

    def last_words(self):
        """The end of its output, if any."""
        with open(self.log.name, "rb") as f:
            return " ".join(f.read()[-300:].decode(errors="replace").split())

    def __exit__(self, *_):
        """Stops the child politely, then by force, with its process group."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(self.patience)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.log.close()

    def cpu(self):
        """Seconds of CPU time of the process, its descendants and the children they
        waited for, and of the kernel's network thread on the server's CPUs. Under load
        that thread handles packets that are otherwise charged to the process that sends
        them."""
        stats = harness.process_stats()
        soft = {f"ksoftirqd/{c}" for c in harness.CPUS[:self.cpus]}
        pids = harness.family(self.process.pid, stats)
        pids.update(pid for pid, (name, _) in stats.items() if name in soft)
        return harness.seconds_of(pids, stats)

    def memory(self):
        """Bytes of the process tree, its page tables, and an estimate of what the
        kernel keeps for it: kernel_memory(). Only differences are meaningful."""
        family = harness.family(self.process.pid, harness.process_stats())
        return kernel_memory() + resident(family)
