#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stall.py COMMAND...: run COMMAND and stop all its processes together, again and again, for longer
than a second, like a virtual machine that its host does not run. Needs root.

  tests/stall.py python3 tests/run.py --build build --on uring/2 --jobs 5 --times 4

This finds tests that depend on the speed of the machine: no test may fail. It uses the quota of a
control group (version 1 or 2), which does not interrupt system calls, unlike a stop signal or the
freezer. STALL and GAP: the seconds that the processes stop and run, as LEAST-MOST."""
import os
import random
import subprocess
import sys
import threading
import time

PERIOD_US = 1000000
V1, V2 = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"


def span(name, default):
    least, most = os.environ.get(name, default).split("-")
    return lambda: random.uniform(float(least), float(most))


class Group:
    def __init__(self):
        self.first = os.path.exists(V1 + "/cpu.cfs_quota_us")
        self.path = "%s/stall%d" % (V1 if self.first else V2, os.getpid())
        os.mkdir(self.path)
        if self.first:
            self.write("cpu.cfs_period_us", PERIOD_US)

    def write(self, name, what):
        with open(self.path + "/" + name, "w") as f:
            f.write(str(what))

    def join(self):
        self.write("cgroup.procs", os.getpid())

    def stand(self, yes):
        if self.first:
            self.write("cpu.cfs_quota_us", 1000 if yes else -1)
        else:
            self.write("cpu.max", "%s %d" % (1000 if yes else "max", PERIOD_US))

    def end(self):
        """Move the processes that still run to the parent group, and remove the group."""
        with open(self.path + "/cgroup.procs") as f:
            pids = f.read().split()
        for pid in pids:
            try:
                with open(os.path.dirname(self.path) + "/cgroup.procs", "w") as f:
                    f.write(pid)
            except OSError:
                pass  # it has ended
        os.rmdir(self.path)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    stall, gap, over = span("STALL", "1-1.8"), span("GAP", "0.3-2.5"), threading.Event()
    group = Group()

    def stalls():
        while not over.wait(gap()):
            group.stand(True)
            time.sleep(stall())
            group.stand(False)

    thread = threading.Thread(target=stalls)
    try:
        command = subprocess.Popen(sys.argv[1:], preexec_fn=group.join)
        thread.start()
        code = command.wait()
        over.set()
        thread.join()
    finally:
        over.set()
        group.stand(False)
        group.end()
    sys.exit(code if code >= 0 else 1)


if __name__ == "__main__":
    main()
