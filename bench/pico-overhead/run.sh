#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gson, Jackson, jsoup, H2 and a regex engine, translated, never blocking: time and class size
#
# Unit x: translated relative to plain. The geometric mean is over the workloads of one
# JDK. Both run on a thread of their own (platform; pico), and every result is compared
# with that of the plain run. With --minima, JMH is not used: for each workload, plain
# and pico run in turn, 10 s each in a new JVM, and the shortest batch counts. Use it on
# a machine that others use, where JMH's means include their load. The regex engine is
# re2j: the JDK's own is not translated and would show nothing.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/bench/lib/pico.sh"

failed=0
for home in $jdks; do
	systems=
	for s in plain pico; do
		wanted "$s" && systems=$systems${systems:+,}$s
	done
	if [ -n "$minima" ]; then
		v=$(version "$home")
		for work_ in gson jackson-write jackson-read jsoup h2 regex; do
			for run in $(seq "${runs:-$([ -n "$quick" ] && echo 1 || echo 3)}"); do
				for s in ${systems//,/ }; do
					timeout 300 "$home/bin/java" -Xmx1g -cp "$path" \
						org.ukthreads.bench.jmh.Minima "$work_" "$s" 10 \
						>"$work/out" 2>"$work/err" || { failed=1; tail -n 5 "$work/err" >&2; }
					sed -n "s/^result /$work_,jdk$v $s /p" "$work/out" >>"$work/minima"
					cat "$work/out" >>"$work/$v-minima.log"
				done
			done
		done
		continue
	fi
	[ -z "$systems" ] || jmh "$home" "$(version "$home")-overhead" 'Overhead.work' -p system="$systems" ||
		failed=1
done
python3 "$root/bench/lib/pico_rows.py" pico-overhead "$work" ${json:+"$json"} || failed=1
exit $failed
