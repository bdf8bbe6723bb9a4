#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gson, Jackson, jsoup, H2 and a regex engine, translated, never blocking: time and class size
#
# Unit x: translated to plain; the geometric mean is over the works of one JDK. Both run on a
# thread of their own (platform; pico), and every result is compared with the plain one's.
# The regex engine is re2j: the JDK's own is not translated and would show nothing.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/bench/lib/pico.sh"

failed=0
for home in $jdks; do
	systems=
	for s in plain pico; do
		wanted "$s" && systems=$systems${systems:+,}$s
	done
	[ -z "$systems" ] || jmh "$home" "$(version "$home")-overhead" 'Overhead.work' -p system="$systems" ||
		failed=1
done
python3 "$root/bench/lib/pico_rows.py" pico-overhead "$work" ${json:+"$json"} || failed=1
exit $failed
