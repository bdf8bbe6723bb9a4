#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of a build directory over the matrix of engines and vps.

Each run is a process of its own with a time limit. One that exceeds it is asked for a dump
of all its threads (SIGQUIT), then killed; the dump is printed. Exit status 77 = skipped.
The last line is `N passed, N failed, N skipped`.

usage: tests/run.py [--build DIR] [--full] [--jobs N] [--only REGEX]
                    [--wrap CMD] [--env K=V]... [--no-web] [--times X]
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Rooms below the scheduler know neither engines nor vps; their tests run once.
ONCE = {"base", "arch", "mem", "event", "thread", "tree", "model", "tools"}


def matrix(suite, name, full):
    if suite in ONCE or "/fake-" in name:
        return [{}]
    if suite == "web":
        if "fuzz" in name:
            return [{}]
        envs = [{"UK_REACTOR": "uring", "UK_VPS": "2"}]
        if not name.startswith("web/pth"):
            envs.append({"UK_REACTOR": "epoll", "UK_VPS": "1"})
        return envs
    vps = ["1", "2", "8"]
    out = [{"UK_REACTOR": e, "UK_VPS": v} for e in ("uring", "epoll") for v in vps]
    return out if full else [out[0], out[1], out[4], out[5]]


def run_one(test, env, args):
    cmd = list(test["cmd"])
    if args.wrap:
        cmd = shlex.split(args.wrap) + cmd
    full = dict(os.environ)
    for more in (test["env"], env, dict(e.split("=", 1) for e in args.env)):
        full.update(more)
    limit = test["timeout"] * args.times
    start = time.monotonic()
    p = subprocess.Popen(cmd, cwd=test["workdir"] or args.build, env=full,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, _ = p.communicate(timeout=limit)
        code = p.returncode
    except subprocess.TimeoutExpired:
        try:
            os.killpg(p.pid, signal.SIGQUIT)
        except ProcessLookupError:
            pass
        time.sleep(2)
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        out, _ = p.communicate()
        code = "time-out after %d s" % limit
    return code, out.decode("utf-8", "replace"), time.monotonic() - start


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--full", action="store_true", help="every engine with 1, 2 and 8 vps")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--only", default="")
    ap.add_argument("--skip", default="")
    ap.add_argument("--wrap", default="")
    ap.add_argument("--env", action="append", default=[])
    ap.add_argument("--times", type=float, default=1.0, help="multiply the time limits")
    args = ap.parse_args()
    args.build = os.path.abspath(args.build)
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", args.build]))
    jobs, alone = [], []
    for t in tests:
        suite = t["suite"][0].split(":")[-1]
        if args.only and not re.search(args.only, t["name"]):
            continue
        if args.skip and re.search(args.skip, t["name"]):
            continue
        for env in matrix(suite, t["name"], args.full):
            if set(env) & set(t["env"]):
                env = {}  # the test chooses for itself
            if (t, env) not in jobs and (t, env) not in alone:
                (jobs if t["is_parallel"] else alone).append((t, env))
    passed = failed = skipped = 0
    bad = []

    def report(t, env, result):
        nonlocal passed, failed, skipped
        code, out, secs = result
        label = t["name"] + "".join(" %s=%s" % kv for kv in sorted(env.items()))
        if code == 0:
            passed += 1
            print("ok      %s (%.1f s)" % (label, secs), flush=True)
        elif code == 77:
            skipped += 1
            print("skipped %s: %s" % (label, out.strip().splitlines()[-1:] or ""), flush=True)
        else:
            failed += 1
            bad.append(label)
            print("FAILED  %s: %s (%.1f s)\n%s" % (label, code, secs, out[-20000:]), flush=True)

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(run_one, t, env, args): (t, env) for t, env in jobs}
        for f in concurrent.futures.as_completed(futures):
            report(*futures[f], f.result())
    for t, env in alone:
        report(t, env, run_one(t, env, args))
    for label in bad:
        print("FAILED  " + label)
    print("%d passed, %d failed, %d skipped" % (passed, failed, skipped))
    if passed + failed == 0:
        print("no test ran")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
