# SPDX-License-Identifier: Apache-2.0
"""Rows from JMH's JSON and from "result" lines.

usage: pico_rows.py WORKLOAD FOLDER [JSON-OUT]; FOLDER holds JDK-*.json (JMH), JDK-*.log (with
"growth NAME BEFORE AFTER" lines) and results ("VARIANT SYSTEM UNIT VALUE" lines).
"""
import glob
import json
import math
import os
import statistics
import sys


def main(workload, folder, out=None):
    values = {}

    def add(variant, system, unit, value):
        values.setdefault((variant, system, unit), []).append(value)

    ratios = {}
    for name in sorted(glob.glob(os.path.join(folder, "*.json"))):
        jdk = "jdk" + os.path.basename(name).split("-")[0]
        plain = {}
        for r in json.load(open(name)):
            p = r["params"]
            variant = f"{p['work']},{jdk}" if "work" in p else \
                f"{p['pattern']},d{p['depth']},{jdk}"
            m = r["primaryMetric"]
            unit = m["scoreUnit"].split("/")[0]
            # the figure of a fork is the median of its iterations
            for fork in m["rawData"]:
                add(variant, p["system"], unit, statistics.median(fork))
            plain[variant, p["system"]] = statistics.median(
                statistics.median(f) for f in m["rawData"])
        for (variant, system), v in plain.items():
            if system == "pico" and (variant, "plain") in plain:
                x = v / plain[variant, "plain"]
                add(variant, "pico", "x", x)
                ratios.setdefault(jdk, []).append(x)
    minima = os.path.join(folder, "minima")
    if os.path.exists(minima):
        for line in open(minima):
            variant, system, unit, value = line.split()
            add(variant, system, unit, float(value))
        for variant, system, unit in list(values):
            plain = values.get((variant, "plain", unit))
            if system == "pico" and plain:
                x = min(values[variant, "pico", unit]) / min(plain)
                add(variant, "pico", "x of minima", x)
                ratios.setdefault(variant.split(",")[1], []).append(x)
    for jdk, xs in ratios.items():
        add(f"geometric mean of {len(xs)},{jdk}", "pico", "x",
            math.exp(sum(map(math.log, xs)) / len(xs)))
    growth = {}
    for name in glob.glob(os.path.join(folder, "*.log")):
        for line in open(name, errors="replace"):
            if line.startswith("growth "):
                _, work, before, after = line.split()
                growth[work] = int(after) / int(before)
    for work, x in sorted(growth.items()):
        add(f"{work},class growth", "pico", "x", x)
    results = os.path.join(folder, "results")
    if os.path.exists(results):
        for line in open(results):
            variant, system, unit, value = line.split()
            add(variant, system, unit, float(value))
    rows = [{"workload": workload, "variant": v, "system": s, "unit": u,
             "median": round(statistics.median(x), 4), "min": round(min(x), 4),
             "max": round(max(x), 4), "runs": len(x)} for (v, s, u), x in values.items()]
    for r in rows:
        print("%-28s %-12s %12.2f %12.2f %12.2f %s" % (
            r["variant"], r["system"], r["median"], r["min"], r["max"], r["unit"]))
    if out:
        with open(out, "w") as f:
            json.dump(rows, f, indent=1)
            f.write("\n")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
