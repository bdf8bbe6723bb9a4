# SPDX-License-Identifier: Apache-2.0
"""docker.py BUILD: programs run in a container under Docker's default seccomp profile, natively and
under `uk run`: on epoll, with the same output as without the filter, and without a line on standard
error.

Nothing here needs Docker. The filter refuses what the profile refuses to a container without more
capabilities: io_uring (since Docker 25), perf events, userfaultfd, the NUMA policy, keys, name
spaces, clone3. The second filter also refuses the calls of newer kernels, as container runtimes do
with calls that they do not know: as if they did not exist."""
import ctypes
import errno
import os
import re
import subprocess
import sys

BUILD = os.path.abspath(sys.argv[1])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
UK = os.path.join(BUILD, "uk")
RINGS = "io_uring_setup io_uring_enter io_uring_register"
REFUSED = """acct add_key bpf clock_settime delete_module fanotify_init finit_module fsconfig fsmount
    fsopen fspick get_mempolicy init_module ioperm iopl kcmp kexec_file_load kexec_load keyctl
    lookup_dcookie mbind migrate_pages mount mount_setattr move_mount move_pages open_by_handle_at
    open_tree perf_event_open pidfd_getfd pivot_root process_madvise quotactl quotactl_fd reboot
    request_key set_mempolicy set_mempolicy_home_node setdomainname sethostname setns settimeofday
    swapoff swapon sysfs syslog umount2 unshare uselib userfaultfd ustat vhangup"""
LATER = "cachestat fchmodat2 futex_wait futex_wake futex_requeue futex_waitv epoll_pwait2 mseal"
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
SPACES = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
FILTERS = {
    "io_uring refused": {RINGS: errno.EPERM},
    "nothing new": {RINGS + " " + LATER: errno.ENOSYS},
}
EXAMPLES = "threads sets sync io channels time blocking async events".split()
PROGRAMS = "cond file fork life messages poll sem signals sleep socket".split()
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("UK_", "LD_"))}
# what a debug or hostile build prints at its start
SEED = ("ukthreads: schedule fuzzer on", "ukthreads: hostile build")
ALLOW, ERRNO, MASKED_EQ = 0x7fff0000, 0x50000, 7  # of libseccomp


class Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("mask", ctypes.c_uint64),
                ("value", ctypes.c_uint64)]


def confine(lib, rings):
    """Returns a function that installs the filter in a child."""
    rules = {REFUSED: errno.EPERM, "clone3": errno.ENOSYS, **rings}
    lib.seccomp_init.restype = ctypes.c_void_p
    it = ctypes.c_void_p(lib.seccomp_init(ALLOW))
    for names, error in rules.items():
        for name in names.split():
            nr = lib.seccomp_syscall_resolve_name(name.encode())
            if nr >= 0:  # else this libseccomp does not know it
                assert not lib.seccomp_rule_add_array(it, ERRNO | error, nr, 0, None), name
    clone = lib.seccomp_syscall_resolve_name(b"clone")
    for flag in SPACES:
        has = Argument(0, MASKED_EQ, flag, flag)
        assert not lib.seccomp_rule_add_array(it, ERRNO | errno.EPERM, clone, 1,
                                              ctypes.byref(has))
    return lambda: lib.seccomp_load(it) and os._exit(99)


def run(cmd, go=None):
    p = subprocess.run(cmd, env=ENV, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                       stderr=subprocess.PIPE, preexec_fn=go, timeout=200, check=False)
    said = [l for l in p.stderr.splitlines(True) if not l.startswith(SEED)]
    return p.returncode, p.stdout, "".join(said)


def main():
    try:
        lib = ctypes.CDLL("libseccomp.so.2")
    except OSError:
        print("skipped: libseccomp is not installed")
        return 77
    bad = []

    def same(what, seen, wanted):
        if seen != wanted:
            bad.append("%s: %s instead of %s" % (what, seen, wanted))

    programs = [os.path.join(BUILD, "tests", "posix", "test-posix-" + n) for n in PROGRAMS]
    natively = {p: run([p]) for p in programs}
    for name, rings in FILTERS.items():
        go = confine(lib, rings)
        code, out, said = run([UK, "doctor"], go)
        same(name + ", uk doctor", (code, said, bool(re.search("reactor +epoll", out))), (0, "", True))
        for e in EXAMPLES:
            with open(os.path.join(ROOT, "examples", e + ".out"), encoding="utf-8") as f:
                same("%s, example %s" % (name, e),
                     run([os.path.join(BUILD, "examples", "example-" + e)], go), (0, f.read(), ""))
        same(name + ", its threads",
             run([UK, "run", os.path.join(BUILD, "tests", "posix", "test-posix-run-probe"), "thread"], go),
             (0, "user\n", ""))
        for p in programs:
            same("%s, uk run %s" % (name, os.path.basename(p)), run([UK, "run", p], go), natively[p])
    for b in bad:
        print("FAILED " + b)
    print("%d filters" % len(FILTERS))
    return 1 if bad else 0


sys.exit(main())
