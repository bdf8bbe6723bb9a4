#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net.py UK: `uk net` makes the right plan for a machine, and restores every setting.

On recorded trees (--root) it checks which rung a machine gets and what is written. Then
apply and undo are killed before each call that changes something, in all combinations,
and undone. In a network namespace of the test, with veth, it checks the same on the
kernel's files, each rung, and what happens in containers (read-only files, the wrong
/sys, no privileges). No result depends on a clock.

A preloaded library counts calls and kills the process, so the tool needs no hooks, and
every place where something changes is one of its steps."""
import array
import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile

UK = os.path.abspath(sys.argv[1])
KILLER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
/* Writes 13 instead of TWIST, as if the kernel stored another value. */
static ssize_t twisted(int fd, const void *p, size_t n)
{
	ssize_t (*next)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
	const char *twist = getenv("TWIST");
	if (twist && strlen(twist) == n - 1 && !memcmp(p, twist, n - 1))
		return next(fd, "13\n", 3) == 3 ? (ssize_t)n : -1;
	return next(fd, p, n);
}
static void step(void)
{
	static int n;
	const char *at = getenv("KILL_AT");
	if (at && ++n == atoi(at))
		kill(getpid(), SIGKILL);
}
#define NEXT(name) __typeof__(name) *next = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); step()
ssize_t write(int fd, const void *p, size_t n) { step(); return twisted(fd, p, n); }
int fsync(int fd) { NEXT(fsync); return next(fd); }
int rename(const char *a, const char *b) { NEXT(rename); return next(a, b); }
int unlink(const char *a) { NEXT(unlink); return next(a); }
int mkdir(const char *a, mode_t m) { NEXT(mkdir); return next(a, m); }
int sched_setaffinity(pid_t p, size_t n, const cpu_set_t *s)
{ NEXT(sched_setaffinity); return next(p, n, s); }
ssize_t recv(int fd, void *p, size_t n, int flags)
{
	static int calls;
	ssize_t (*next)(int, void *, size_t, int) = dlsym(RTLD_NEXT, "recv");
	if (getenv("INTERRUPT") && ++calls % 2) {
		errno = EINTR;
		return -1;
	}
	return next(fd, p, n, flags);
}
"""
ALL = {}  # what all calls use: the path of the preloaded library


def uk(*args, root=None, kill=None, want=0, user=None, twist=None):
    """The JSON of one call, or None if it was killed."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("UK_")}
    cmd = [UK, "net", *args, "--json"] + (["--root", root] if root else [])
    if kill:
        env.update(LD_PRELOAD=ALL["killer"], KILL_AT=str(kill))
    if twist:
        env.update(LD_PRELOAD=ALL["killer"], TWIST=twist)
    p = subprocess.run(cmd, capture_output=True, text=True, env=env, check=False, user=user,
                       cwd="/", encoding="utf-8")  # fails on output that is not UTF-8
    if kill and p.returncode == -signal.SIGKILL:
        return None
    assert p.returncode == want, (cmd, p.returncode, want, p.stdout, p.stderr)
    assert bool(p.stderr) == bool(want), (cmd, p.stderr)
    return json.loads(p.stdout)


def changes(plan):
    return {c["setting"]: c["new"] for c in plan["changes"]}


# ---- recorded trees ----

BASE = {
    "/proc/sys/kernel/osrelease": "6.18.0", "/proc/sys/kernel/random/boot_id": "boot-1",
    "/proc/sys/net/core/busy_poll": "0", "/proc/sys/net/core/busy_read": "0",
    "/proc/net/route": "Iface Destination Gateway\neth0 00000000 0102000A",
    "/sys/devices/system/cpu/online": "0-3", "/sys/devices/system/cpu/isolated": "",
    "/asked/features": "sqpoll uring-napi epoll-poll",
    "/asked/napi": "2 513 0 0 0",
    "/proc/interrupts": "     CPU0 CPU1 CPU2 CPU3\n"
                        " 24: 1 2 3 4 IO-APIC 5-edge ttyS0\n"
                        " 38: 1 2 3 4 PCI-MSIX 1-edge eth0-rx-0\n"
                        " 39: 1 2 3 4 PCI-MSIX 0-edge virtio2-config\nLOC: 1 2 3 4 timer",
    "/proc/irq/24/smp_affinity_list": "0-3", "/proc/irq/38/smp_affinity_list": "0-3",
    "/proc/irq/39/smp_affinity_list": "0-3",
    "/sys/class/net/eth0/ifindex": "2", "/sys/class/net/eth0/operstate": "up",
    "/sys/class/net/eth0/threaded": "0", "/sys/class/net/eth0/napi_defer_hard_irqs": "0",
    "/sys/class/net/eth0/gro_flush_timeout": "0",
    "/sys/class/net/eth0/queues/rx-0/rps_cpus": "00000000,00000000",
    "/sys/class/net/eth0/queues/tx-0/xps_cpus": "00000000,00000000",
}
ETH = "/sys/class/net/eth0/"
DEFER = {ETH + "napi_defer_hard_irqs": "2", ETH + "gro_flush_timeout": "200000"}
IRQ = {"/proc/irq/38/smp_affinity_list": "3"}
RPS = ETH + "queues/rx-0/rps_cpus"
OLD = dict(BASE, **{"/asked/features": "", "/asked/napi": None})  # an old kernel
THREADED = {ETH + "threaded": "1", "/asked/thread-513": "0-3"}


def tree(top, *more):
    """Makes the files of a machine in a new directory."""
    root = tempfile.mkdtemp(dir=top)
    files = dict(BASE)
    for m in more:
        files.update(m)
    for path, text in files.items():
        if text is not None:
            put(root + path, text + "\n")
    os.makedirs(root + "/run")
    if os.path.isdir(root + ETH):
        os.symlink("/devices/virtio2", root + ETH + "device")
    return root


def put(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


def snapshot(root):
    found = {}
    for d, _, names in os.walk(root):
        for n in names:
            path = os.path.join(d, n)
            if os.path.islink(path) or path.startswith(root + "/run") or \
                    path.endswith(".new"):
                continue
            with open(path, "rb") as f:
                found[path] = f.read()
    return found


def each_machine_gets_its_rung(top):
    irqbalance = {"/proc/77/comm": "irqbalance", "/proc/77/cmdline": "irqbalance"}
    banned = dict(irqbalance, **{"/proc/77/cmdline": "irqbalance\0--banirq=38"})
    busy = {"/proc/sys/net/core/busy_poll": "50", "/proc/sys/net/core/busy_read": "50"}
    no_defer = {ETH + "napi_defer_hard_irqs": None, ETH + "gro_flush_timeout": None}
    table = [  # name, files, arguments, rung, changes
        ("all", {}, [], "sqpoll", {**DEFER, **IRQ}),
        ("a chosen CPU", {}, ["--cpu", "1"], "sqpoll",
         {**DEFER, "/proc/irq/38/smp_affinity_list": "1"}),
        ("an isolated CPU", {"/sys/devices/system/cpu/isolated": "2"}, [], "sqpoll",
         {**DEFER, "/proc/irq/38/smp_affinity_list": "2"}),
        ("alone", {"/proc/irq/24/smp_affinity_list": "3"}, ["--alone"], "sqpoll",
         {**DEFER, **IRQ, "/proc/irq/24/smp_affinity_list": "0-2",
          "/proc/irq/39/smp_affinity_list": "0-2"}),
        ("all as it should be", {ETH + "napi_defer_hard_irqs": "7", "/asked/napi":
                                 "2 513 0 7 9", ETH + "gro_flush_timeout": "9",
                                 "/proc/irq/38/smp_affinity_list": "3"}, [], "sqpoll", {}),
        ("a queue with its own settings", {"/asked/napi": "2 513 0 5 0"}, [], "sqpoll", IRQ),
        ("threads and rps are on", {**THREADED, RPS: "00000000,00000003"}, [], "sqpoll",
         {"napi-thread 513": "-", ETH + "threaded": "0", RPS: "00000000,00000000",
          **DEFER, **IRQ}),
        ("irqbalance", irqbalance, [], "sqpoll", DEFER),
        ("irqbalance that excludes the interrupt", banned, [], "sqpoll", {**DEFER, **IRQ}),
        ("irqbalance, its option in two words",
         {**irqbalance, "/proc/77/cmdline": "irqbalance\0-i\0" "38"}, [], "sqpoll",
         {**DEFER, **IRQ}),
        ("irqbalance, its option in short",
         {**irqbalance, "/proc/77/cmdline": "irqbalance\0-i38"}, [], "sqpoll",
         {**DEFER, **IRQ}),
        ("an isolated CPU, which RPS may not use",
         {"/asked/napi": "", "/sys/devices/system/cpu/isolated": "3"}, [], "rps",
         {RPS: "00000000,00000004", "/proc/irq/38/smp_affinity_list": "2"}),
        ("no io_uring", {"/asked/features": "epoll-poll"}, [], "epoll", {**DEFER, **IRQ}),
        ("an old epoll", {"/asked/features": "sqpoll"}, [], "epoll",
         {**DEFER, **IRQ, **busy}),
        ("no deferral", no_defer, [], "threaded",
         {ETH + "threaded": "1", "napi-thread 513": "3", **IRQ}),
        ("nothing can be queried", OLD, [], "epoll", {**DEFER, **IRQ, **busy}),
        ("no NAPI", {"/asked/napi": ""}, [], "rps", {RPS: "00000000,00000008", **IRQ}),
        ("one CPU", {"/sys/devices/system/cpu/online": "0"}, [], "advise", {}),
        ("no device", {p: None for p in BASE if p.startswith("/sys/class")}, [],
         "advise", {}),
        ("no /sys, no /proc", {p: None for p in BASE}, [], "advise", {}),
    ]
    for name, files, args, rung, want in table:
        root = tree(top, files)
        before = snapshot(root)
        plan = uk("plan", *args, root=root)
        assert plan["rung"] == rung and changes(plan) == want, (name, plan)
        uk("discover", root=root)
        assert snapshot(root) == before, name
    for args, want in ((["--dev", "eth9"], 5), (["--cpu", "9"], 5), (["--cpu", "x"], 2),
                       (["--rung", "best"], 2), (["--dev", "../x"], 2), (["what"], 2),
                       (["plan", "more"], 2), (["--what"], 2), (["--cpu", ""], 2)):
        assert uk(*args, root=tree(top), want=want)["error"], args
    root = tree(top, {"/asked/napi": "", "/sys/devices/system/cpu/isolated": "3"})
    lacks = uk("--rung", "rps", "--cpu", "3", root=root, want=5)["error"]
    assert "isolated" in lacks, lacks


def a_software_device_has_no_interrupts(top):
    """A software device has no interrupts, even if its name is that of another
    interrupt's line, a common word, or .x."""
    for name in ("ttyS0", "edge", ".x", "virtio2"):
        at = "/sys/class/net/%s/" % name
        root = tree(top, {at + "ifindex": "3", at + "operstate": "up",
                          at + "queues/rx-0/rps_cpus": "0"})
        plan = uk("--dev", name, "--cpu", "1", "--alone", root=root)
        mine = {at + "queues/rx-0/rps_cpus": "2"}
        others = {"/proc/irq/%d/smp_affinity_list" % i: "0,2-3" for i in (24, 38, 39)}
        assert changes(plan) == {**mine, **others}, (name, plan)


def a_kill_at_any_step_can_be_undone(top):
    for name, files, args in (
            ("sqpoll", {**THREADED, RPS: "00000000,00000003"}, ["--alone"]),
            ("threaded", {"/asked/thread-513": "-"}, ["--rung", "threaded"])):
        root = tree(top, files)
        before, at, whole = snapshot(root), 0, False
        while not whole:  # kills apply at each step, and undo at the same step number
            at += 1
            whole = uk("apply", *args, root=root, kill=at) is not None
            uk("undo", root=root, kill=at)
            uk("undo", root=root)
            assert snapshot(root) == before, (name, at)
        at, whole = 0, False
        while not whole:  # kills undo of a full apply at each step
            at += 1
            uk("apply", *args, root=root)
            whole = uk("undo", root=root, kill=at) is not None
            uk("undo", root=root)
            assert snapshot(root) == before, (name, at)
        assert at > 5, at


def conflicts_are_reported(top):
    root = tree(top)
    before = snapshot(root)
    first = uk("apply", root=root)
    assert {s["outcome"] for s in first["steps"]} == {"written"}, first
    applied = snapshot(root)
    assert "steps" not in uk("apply", root=root)  # the same plan is applied already
    uk("apply", "--cpu", "1", root=root, want=3)
    assert uk("plan", root=root)["changes"] == []
    assert uk("plan", root=root)["applied"] and uk("verify", root=root)["applied"]
    assert snapshot(root) == applied
    with open(root + "/run/uk-net/lock") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        uk("apply", root=root, want=3)
        uk("undo", root=root, want=3)
    journal = root + "/run/uk-net/journal"
    text = open(journal).read()
    put(journal, text[:-5])
    for command in ("apply", "undo", "verify"):
        uk(command, root=root, want=1)
    lines = text.split("\n")
    put(journal, "\n".join(lines[:2] + ["netns net:[1]"] + lines[3:]))
    uk("undo", root=root, want=3)
    put(journal, text)
    put(root + ETH + "gro_flush_timeout", "5\n")  # another program's value
    uk("verify", root=root, want=1)
    uk("apply", root=root, want=3)
    steps = {s["setting"]: (s["outcome"], s.get("now"))
             for s in uk("undo", root=root)["steps"]}
    assert steps[ETH + "gro_flush_timeout"] == ("changed by another", "5"), steps
    put(root + ETH + "gro_flush_timeout", "0\n")
    assert snapshot(root) == before
    uk("apply", root=root)
    put(root + "/proc/sys/kernel/random/boot_id", "boot-2\n")
    assert not uk("verify", root=root)["applied"]
    assert uk("undo", root=root)["steps"] == []  # a reboot resets the settings
    assert not os.path.exists(journal)


def a_renamed_device_is_found(top):
    root = tree(top)
    before = snapshot(root)
    uk("apply", root=root)
    os.rename(root + ETH, root + "/sys/class/net/lan")
    put(root + ETH + "ifindex", "9\n")  # and another device has its name
    put(root + ETH + "gro_flush_timeout", "200000\n")
    uk("verify", root=root)
    steps = uk("undo", root=root)["steps"]
    assert {s["outcome"] for s in steps} == {"written"}, steps
    assert {s["at"] for s in steps if "eth0" in s["setting"]} == \
        {"/sys/class/net/lan/gro_flush_timeout",
         "/sys/class/net/lan/napi_defer_hard_irqs"}, steps
    assert open(root + ETH + "gro_flush_timeout").read() == "200000\n"
    shutil.rmtree(root + ETH)
    os.rename(root + "/sys/class/net/lan", root + ETH)
    assert snapshot(root) == before


def a_missing_proc_sys_forgets_nothing(top):
    """/proc/sys may be missing (ProcSubset=pid of a systemd unit). Then the boot is
    unknown, but nothing is forgotten."""
    boot = "/proc/sys/kernel/random/boot_id"
    for first, then in ((None, "boot-1"), ("boot-1", None)):
        root = tree(top, {boot: first})
        uk("apply", root=root)
        if then:
            put(root + boot, then + "\n")
        else:
            os.remove(root + boot)
        assert uk("verify", root=root)["applied"]
        assert {s["outcome"] for s in uk("undo", root=root)["steps"]} == {"written"}
        assert open(root + ETH + "gro_flush_timeout").read() == "0\n"


def a_journal_that_cannot_be_written_changes_nothing(top):
    root = tree(top)
    before = snapshot(root)
    put(root + "/run/uk-net", "")  # as on a disk without free inodes; privileges do not help
    uk("apply", root=root, want=1)
    os.remove(root + "/run/uk-net")
    os.makedirs(root + "/run/uk-net/journal.new")
    uk("apply", root=root, want=1)
    os.rmdir(root + "/run/uk-net/journal.new")
    put(root + "/run/uk-net/journal", "what?")
    assert "journal" in uk("plan", root=root)
    uk("apply", root=root, want=1)
    os.remove(root + "/run/uk-net/journal")
    os.mkdir(root + "/run/uk-net/journal")
    uk("undo", root=root, want=1)
    os.rmdir(root + "/run/uk-net/journal")
    assert uk("undo", root=root) == {} and snapshot(root) == before
    assert os.stat(root + "/run/uk-net/lock").st_mode & 0o777 == 0o600


def a_failed_write_undoes_all(top):
    root = tree(top)
    before = snapshot(root)
    os.mkdir(root + ETH + "napi_defer_hard_irqs.new")  # so that the file cannot be replaced
    plan = uk("apply", root=root, want=1)
    assert [s["outcome"] for s in plan["steps"]] == ["written", "failed", "skipped"], plan
    assert snapshot(root) == before and uk("undo", root=root) == {}
    os.rmdir(root + ETH + "napi_defer_hard_irqs.new")
    os.mkdir(root + "/proc/irq/38/smp_affinity_list.new")  # as managed interrupts refuse the write
    plan = uk("apply", root=root)
    assert [s["outcome"] for s in plan["steps"]] == ["written", "written", "refused"], plan
    assert len(uk("verify", root=root)["steps"]) == 2
    uk("undo", root=root)
    os.rmdir(root + "/proc/irq/38/smp_affinity_list.new")
    assert snapshot(root) == before
    uk("apply", root=root, want=1, twist="2")  # the kernel stores 13 instead of the value
    assert snapshot(root) == before and uk("undo", root=root) == {}
    uk("apply", root=root, twist="3")  # the CPUs of an interrupt
    uk("undo", root=root)
    assert snapshot(root) == before


def a_device_that_vanished_is_reported_gone(top):
    for become in (None, "9"):
        root = tree(top)
        uk("apply", root=root)
        shutil.rmtree(root + "/sys/class/net/eth0")
        if become:
            put(root + ETH + "ifindex", become + "\n")
            put(root + ETH + "gro_flush_timeout", "200000\n")  # another device's own setting
        uk("verify", root=root, want=1)
        got = {s["setting"]: s["outcome"] for s in uk("undo", root=root)["steps"]}
        assert got == {**{k: "gone" for k in DEFER}, **{k: "written" for k in IRQ}}, got
        if become:
            assert open(root + ETH + "gro_flush_timeout").read() == "200000\n"
        assert uk("undo", root=root) == {}


def a_user_without_privileges_may_look():
    user = 65534 if os.geteuid() == 0 else None
    if os.path.exists("/run/uk-net/journal"):
        print("not tested without privileges: a plan is applied on this machine")
        return
    try:
        subprocess.run([UK, "--version"], check=True, capture_output=True, user=user, cwd="/")
    except (OSError, subprocess.CalledProcessError) as e:
        print("not tested without privileges: another user cannot run it: %s" % e)
        return
    for command, want in (("discover", 0), ("apply", 4), ("undo", 4)):
        uk(command, want=want, user=user)
    strange = any("namespace" in l for l in uk("discover", user=user)["lacks"])
    uk("plan", want=5 if strange else 0, user=user)
    uk("verify", "--seconds", "0", user=user)


# ---- the kernel ----

def sh(line):
    subprocess.run(["sh", "-ec", line], check=True, stdout=subprocess.DEVNULL)


def gro_on(dev):
    """Does what `ethtool -K DEV gro on` does; then veth has NAPI."""
    value = array.array("B", struct.pack("II", 0x2c, 1))  # ETHTOOL_SGRO
    request = struct.pack("16sP", os.fsencode(dev), value.buffer_info()[0])
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8946, request.ljust(40, b"\0"))  # SIOCETHTOOL


def settings():
    """All settings that could differ, as the kernel shows them."""
    found = {}
    for dev in os.listdir("/sys/class/net"):
        top = "/sys/class/net/%s/" % dev
        queues = ["queues/" + q for q in os.listdir(top + "queues")]
        for f in ["threaded", "napi_defer_hard_irqs", "gro_flush_timeout"] + \
                [q + "/rps_cpus" for q in queues if "/rx-" in q]:
            with open(top + f) as at:
                found[top + f] = at.read()
    for d in uk("discover")["devices"]:
        found[d["device"]] = d["napis"]
    return found


class Namespace(Exception):
    """This machine gives the test no network namespace."""


def enter_namespace():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(0x00020000 | 0x40000000):  # CLONE_NEWNS, CLONE_NEWNET
        raise Namespace("unshare: " + os.strerror(ctypes.get_errno()))
    try:
        sh("mount --make-rprivate / && mount -t tmpfs none /run")
        if os.listdir("/sys/class/net") != ["lo"]:  # /sys still shows the machine's namespace
            wrong = uk("plan", "--dev", "lo", want=5)
            assert "another network namespace" in wrong["error"], wrong
        sh("mount -t sysfs none /sys && ip link set lo up")
        sh("ip link add uka type veth peer name ukb && ip link set uka up && "
           "ip link set ukb up")
        gro_on("uka")
    except (subprocess.CalledProcessError, OSError) as e:
        raise Namespace(str(e)) from e


def each_rung_on_the_kernel():
    top = "/sys/class/net/uka/"
    napi = next(d for d in uk("discover")["devices"] if d["device"] == "uka")["napis"]
    if not napi:
        raise Namespace("the kernel does not report NAPIs, or veth has none")
    thread = "napi-thread " + napi[0]["id"]
    cpu = str(max(os.sched_getaffinity(0)))
    deferred = {top + "napi_defer_hard_irqs": "2", top + "gro_flush_timeout": "200000"}
    can = uk("discover")["features"]
    best = "sqpoll" if can["uring_napi"] else "epoll" if can["epoll_busy_poll"] else None
    for rung, want in (("sqpoll", deferred), ("epoll", deferred),
                       ("threaded", {top + "threaded": "1", thread: cpu}),
                       ("rps", {top + "queues/rx-0/rps_cpus": None}), ("advise", {})):
        if rung == "sqpoll" and best != rung or rung == "epoll" and not best:
            print("this kernel does not have the rung %s: %s" % (rung, can))
            continue
        before = settings()
        args = ["--dev", "uka", "--cpu", cpu, "--rung", rung]
        plan = changes(uk("plan", *args))
        assert set(plan) == set(want), (rung, plan)
        assert settings() == before
        steps = uk("apply", *args).get("steps", [])
        assert all(s["outcome"] == "written" for s in steps), steps
        assert (settings() != before) == bool(want), rung
        uk("verify", "--seconds", "0", "--dev", "uka")
        uk("undo")
        assert settings() == before, rung
    if best:
        assert uk("plan", "--dev", "uka")["rung"] == best


def napi_threads_keep_their_cpus():
    """Each write of `threaded` makes a new kernel thread. It gets the CPUs of the old
    one."""
    with open("/sys/class/net/uka/threaded", "w") as f:
        f.write("1\n")
    args = ["--dev", "uka", "--rung", "threaded", "--cpu"]
    uk("apply", *args, "0")
    os.remove("/run/uk-net/journal")  # so this is the original state now
    before = settings()
    for rung in ("epoll", "threaded"):
        if not uk("discover")["features"]["epoll_busy_poll"] and rung == "epoll":
            continue
        kills = 0
        done = False
        while not done:  # killed at each step
            kills += 1
            done = uk("apply", "--dev", "uka", "--rung", rung, "--cpu", "1",
                      kill=kills) is not None
            undone = uk("undo", kill=kills) is not None
            if not undone:
                uk("undo")
            assert settings() == before, (rung, kills)
        print("ok %s on the kernel: killed at %d steps" % (rung, kills - 1))


def all_names_and_all_queues_are_seen():
    """Device names may contain any bytes, and a machine may have several NAPIs."""
    odd, quoted = os.fsdecode(b"b\xff\xed\xbfd"), '"q\\\x1b'
    sh("ip link add '%s' type veth peer name '%s'" % (quoted, odd))
    try:
        for dev in (odd, quoted):
            gro_on(dev)
            sh("ip link set '%s' up" % dev)
        found = {os.fsdecode(os.fsencode(d["device"])): d["napis"]
                 for d in uk("discover")["devices"]}
        assert all(len(found[d]) == 1 for d in ("uka", odd, quoted)), found
        before = settings()
        for dev in (odd, quoted):
            assert len(uk("apply", "--dev", dev, "--cpu", "1")["steps"]) >= 1
            assert uk("verify", "--seconds", "0")["applied"]
            uk("undo")
            assert settings() == before, dev
    finally:
        sh("ip link del '%s'" % quoted)


def packets_are_counted_on_their_cpu():
    before = settings()
    uk("apply", "--dev", "lo", "--cpu", "1")  # lo has no NAPI: rps
    got = uk("verify", "--loopback", "1000")["probe"]
    assert got["packets"] >= 1000, got
    assert [c["cpu"] for c in got["cpus"] if c["network"]] == ["1"], got
    assert next(c for c in got["cpus"] if c["cpu"] == "1")["net_rx_softirqs"] > 0, got
    uk("undo")
    assert settings() == before


def an_interrupted_receive_is_repeated():
    """A receive with a time limit may fail with EINTR although no signal was sent."""
    env = dict(os.environ, LD_PRELOAD=ALL["killer"], INTERRUPT="1")
    p = subprocess.run([UK, "net", "verify", "--loopback", "100", "--json"], env=env, check=True,
                       capture_output=True, text=True)
    assert json.loads(p.stdout)["probe"]["packets"] >= 100, p.stdout


def a_container_is_recognised():
    before = settings()
    sh("mount -o remount,bind,ro /sys")
    plan = uk("plan", "--dev", "uka")["changes"]
    assert not any(c["writable"] for c in plan if c["setting"].startswith("/sys"))
    assert any("a container" in lack for lack in uk("discover")["lacks"])
    uk("apply", "--dev", "uka", want=5)
    assert uk("undo") == {} and settings() == before
    sh("mount -o remount,bind,rw /sys && mount -o remount,ro /run")
    uk("apply", "--dev", "uka", want=5)
    assert settings() == before
    sh("mount -o remount,rw /run")
    uk("apply", "--dev", "uka")
    sh("ip link del uka")
    assert {s["outcome"] for s in uk("undo")["steps"]} == {"gone"}


def on_the_kernel():
    if os.geteuid() != 0 or os.cpu_count() < 2:
        raise Namespace("needs root and two CPUs")
    for tool in ("ip", "mount"):
        if not shutil.which(tool):
            raise Namespace("no " + tool)
    enter_namespace()
    for test in (each_rung_on_the_kernel, napi_threads_keep_their_cpus,
                 all_names_and_all_queues_are_seen, packets_are_counted_on_their_cpu,
                 an_interrupted_receive_is_repeated,
                 a_container_is_recognised):
        test()
        print("ok " + test.__name__)


def main():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    # each replaced file is synced, which is slow on a disk
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=fast) as top:
        put(top + "/killer.c", KILLER)
        ALL["killer"] = top + "/killer.so"
        subprocess.run(os.environ.get("CC", "cc").split() +
                       ["-shared", "-fPIC", "-o", ALL["killer"], top + "/killer.c", "-ldl"],
                       check=True)
        for test in (each_machine_gets_its_rung, a_software_device_has_no_interrupts,
                     a_kill_at_any_step_can_be_undone, a_renamed_device_is_found,
                     a_missing_proc_sys_forgets_nothing,
                     a_journal_that_cannot_be_written_changes_nothing,
                     conflicts_are_reported, a_failed_write_undoes_all,
                     a_device_that_vanished_is_reported_gone):
            test(top)
            print("ok " + test.__name__)
        a_user_without_privileges_may_look()
        print("ok a_user_without_privileges_may_look")
        try:
            on_the_kernel()
        except Namespace as e:
            print("not tested on the kernel's files: %s" % e)
    return 0


sys.exit(main())
