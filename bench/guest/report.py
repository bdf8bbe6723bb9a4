#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report.py LINES JSON: prints the results of run.sh as a table, and writes them to a
file as JSON."""
import json
import sys

WHAT = {
    "cpuid": "CPUID: an exit and nothing else",
    "system-call": "a system call: no exit",
    "timer-later": "arm a timer that is not the next",
    "timer-next": "arm the next timer",
    "page-fault": "first touch of a page",
    "wake-same-cpu": "wake a thread and wait for it, one CPU",
    "wake-other-cpu": "the same on another CPU: kick, idle, wake",
    "memory-other-cpu": "the same by shared memory, both poll",
    "echo-loopback": "a datagram of 256 bytes and its echo, lo",
    "echo-veth": "the same over veth",
}


def main():
    found = {"told": {}, "cost_ns": {}, "not_measured": {}}
    with open(sys.argv[1], encoding="utf-8") as f:
        for line in f:
            kind, name, rest = line.rstrip("\n").split(" ", 2)
            if kind == "told":
                found["told"][name] = rest
            elif kind == "none":
                found["not_measured"][name] = rest
            else:
                least, median = map(float, rest.split())
                found["cost_ns"][name] = {"least": least, "median": median}
    for name, value in found["told"].items():
        print("%-44s %s" % (name, value))
    print("\n%-44s %10s %10s" % ("nanoseconds", "least", "median"))
    for name, cost in found["cost_ns"].items():
        print("%-44s %10.1f %10.1f" % (WHAT[name], cost["least"], cost["median"]))
    for name, why in found["not_measured"].items():
        print("not measured: %s: %s" % (name, why))
    if sys.argv[2]:
        with open(sys.argv[2], "w", encoding="utf-8") as f:
            json.dump(found, f, indent=1)


main()
