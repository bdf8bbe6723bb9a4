#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suspend + resume at depth 1/10/50, down-suspend-return, bytes per parked thread, spawn + park
#
# pico, javaflow and loom (jdk.internal.vm.Continuation, JDK 21 or later) are bare
# continuations. quasar (JDK 11; it cannot read the class files of later ones) is a fiber
# that the unparking thread runs. pico-thread, virtual, platform and kotlin are whole
# threads that yield, including their schedulers. The yield of a platform thread alone on
# its CPU is only a system call, not a suspension. In the parked rows, pico is a light fiber
# and pico-thread a fiber with a java.lang.Thread. Their bytes are those of the heap alone,
# so platform threads are left out. The full run parks 10,000,000 light fibers in a heap
# of 4 GB.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/bench/lib/pico.sh"

failed=0
for home in $jdks; do
	v=$(version "$home")
	systems=
	for s in pico javaflow quasar pico-thread platform kotlin loom virtual; do
		wanted "$s" || continue
		case $s in
		loom|virtual) [ "$v" -ge 21 ] || continue ;;
		quasar) [ "$v" -le 11 ] || continue ;;
		esac
		systems=$systems${systems:+,}$s
	done
	depths=1,10,50
	[ -z "$quick" ] || depths=10
	[ -z "$systems" ] || jmh "$home" "$v-core" 'Core.suspend' -p system="$systems" -p depth="$depths" ||
		failed=1

	n=1000000
	[ -z "$quick" ] || n=100000
	for run in $(seq "${runs:-$([ -n "$quick" ] && echo 1 || echo 5)}"); do
		for d in 1 10 50; do
			for s in pico pico-thread virtual; do
				wanted "$s" || continue
				[ "$s" != virtual ] || [ "$v" -ge 21 ] || continue
				if timeout 600 "$home/bin/java" -Xmx4g -cp "$path" \
					org.ukthreads.bench.jmh.Memory "$s" "$d" "$n" \
					>"$work/out" 2>"$work/err" && grep -q "^check $n$" "$work/out"; then
					sed -n "s/^result \([A-Za-z]*\) /parked,d$d,jdk$v $s \1 /p" \
						"$work/out" >>"$work/results"
				else
					echo "run.sh: $s, depth $d, JDK $v failed (run $run)" >&2
					tail -n 5 "$work/err" >&2
					failed=1
				fi
			done
		done
	done
	if [ -z "$quick" ] && wanted pico; then
		if timeout 1200 "$home/bin/java" -Xmx4g -XX:+UseParallelGC -cp "$path" \
			org.ukthreads.bench.jmh.Memory pico 1 10000000 >"$work/out" 2>"$work/err" &&
			grep -q '^check 10000000$' "$work/out"; then
			sed -n "s/^result \([A-Za-z]*\) /parked-10M-in-4g,d1,jdk$v pico \1 /p" "$work/out" \
				>>"$work/results"
		else
			echo "run.sh: 10,000,000 parked in 4 GB failed on JDK $v" >&2
			tail -n 5 "$work/err" >&2
			failed=1
		fi
	fi
done
python3 "$root/bench/lib/pico_rows.py" pico-core "$work" ${json:+"$json"} || failed=1
exit $failed
