# SPDX-License-Identifier: Apache-2.0
"""Turns the summaries of single crawls into rows: the median of the runs and their
range.

usage: rows.py SUMMARIES DELAY-MS JSON TABLE; plot.gp reads TABLE. A crawl that did not
fetch every page is reported and left out."""
import json
import statistics
import sys


def main(summaries, delay, out, table):
    runs = {}
    for line in open(summaries):
        size, system, urls, cpu, rss, summary = line.split(" ", 5)
        crawl = json.loads(summary)
        crawl["cpu_us"] = float(cpu) * 1e6 / int(urls)
        crawl["rss_mb"] = int(rss) / 1024
        if crawl["pages"] != int(urls):
            print(f"{system} at {size} KB fetched {crawl['pages']} of {urls}", file=sys.stderr)
            continue
        runs.setdefault((int(size), system, int(urls)), []).append(crawl)
    rows = []
    points = {}
    for (size, system, urls), crawls in sorted(runs.items()):
        rates = {
            "pages/s": [c["pages"] / c["seconds"] for c in crawls],
            "MB/s": [c["body_bytes"] / c["seconds"] / 1e6 for c in crawls],
            "threads": [c["peak_threads"] for c in crawls],
            "CPU us/page": [c["cpu_us"] for c in crawls],
            "MB RSS": [c["rss_mb"] for c in crawls],
        }
        for unit, values in rates.items():
            rows.append({
                "workload": "pico-piranha",
                "variant": f"{size}KB,{delay}ms,{urls}urls",
                "system": system,
                "unit": unit,
                "median": round(statistics.median(values), 2),
                "min": round(min(values), 2),
                "max": round(max(values), 2),
                "runs": len(values),
            })
        points.setdefault(system, []).append(
            (size, *(statistics.median(rates[u]) for u in ("pages/s", "MB/s", "CPU us/page"))))
    print(f"{'page':>6} {'system':10} {'pages/s':>9} {'range':>15} {'MB/s':>8} {'threads':>8}"
          f" {'CPU us/page':>12} {'MB RSS':>8}")
    for (size, system, urls), crawls in sorted(runs.items()):
        rates = [c["pages"] / c["seconds"] for c in crawls]
        print("%4dKB %-10s %9.0f %7.0f-%-7.0f %8.2f %8d %12.0f %8.0f" % (
            size, system, statistics.median(rates), min(rates), max(rates),
            statistics.median(c["body_bytes"] / c["seconds"] / 1e6 for c in crawls),
            statistics.median(c["peak_threads"] for c in crawls),
            statistics.median(c["cpu_us"] for c in crawls),
            statistics.median(c["rss_mb"] for c in crawls)))
    if out:
        with open(out, "w") as f:
            json.dump(rows, f, indent=1)
            f.write("\n")
    with open(table, "w") as f:
        f.write("\n\n".join(
            f'"{system}"\n' + "".join("%d %.1f %.3f %.1f\n" % p for p in line)
            for system, line in points.items()))


main(*sys.argv[1:])
