#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dropin.py BUILD PROGRAM [ARG...]: check that a pthread program behaves the same natively and
under the drop-in: exit status, signal, stdout. Differences are printed. The native run is the
reference; a test of tests/posix that cannot run natively prints "skip: why" and exits with
77. UK_TEST_ROOT: both runs use that root, where the build has the same path
(scripts/other-libc)."""
import os
import signal
import subprocess
import sys

BUILD = os.path.abspath(sys.argv[1])
PROGRAM = [os.path.abspath(sys.argv[2])] + sys.argv[3:]
LIMIT = float(os.environ.get("UK_TEST_LIMIT", "100"))
ROOT = os.environ.get("UK_TEST_ROOT")


def enter_root():
    if ROOT:
        os.chroot(ROOT)
        os.chdir("/tmp")


def run(dropin):
    env = {k: v for k, v in os.environ.items()
           if dropin or not k.startswith("UK_") or k.startswith("UK_TEST")}
    if dropin:
        env["LD_PRELOAD"] = os.path.join(BUILD, "libuk-posix.so")
        env["UK_DEBUG"] = env.get("UK_DEBUG", "") + ",hostile-short=no"  # as natively
    p = subprocess.Popen(PROGRAM, env=env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                         start_new_session=True, preexec_fn=enter_root)
    try:
        out, _ = p.communicate(timeout=LIMIT)
        return p.returncode, out.decode(errors="replace")
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)  # also its children, which have its stdout
        out, _ = p.communicate()
        return "hangs", out.decode(errors="replace")


def main():
    native, ours = run(False), run(True)
    if native[0] == 77:
        print(native[1].strip())
        return 77
    if native == ours and native[0] == 0:
        print("ok: the same as natively")
        return 0
    print("natively: %s\n%s\nunder the drop-in: %s\n%s" % (native + ours))
    return 1


sys.exit(main())
