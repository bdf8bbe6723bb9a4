#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds and starts the application, places an order, kills the application, starts it again, pays,
# and prints what was booked. Exits with 0 if each step was booked exactly once.
#   run.sh           on a free port, with its data in a temporary folder
#   run.sh serve     starts it on port 8080, with its data in ./data, until it is interrupted
set -eu

here=$(cd "$(dirname "$0")" && pwd)
pico=$(cd "$here/../.." && pwd)
lib=$here/target/lib
[ -d "$lib" ] && [ -z "$(find "$here/src" "$here/pom.xml" -newer "$lib" -print -quit)" ] || {
	# shellcheck disable=SC2086
	mvn -q -B ${PICO_MVN:-} -f "$pico" -P examples -pl examples/spring-boot -am -Dmaven.test.skip \
		package >&2
	touch "$lib"
}
program=(run -cp "$here/target/classes:$lib/*" orders.Application)
[ "${1:-}" != serve ] || exec "$pico/bin/pico" "${program[@]}"

work=$(mktemp -d)
trap 'kill -9 $app 2>/dev/null || true; rm -rf "$work"' EXIT
port=$((10000 + RANDOM % 20000)) app=
up() {
	"$pico/bin/pico" "${program[@]}" --server.port=$port --data="$work" >"$work/log" &
	app=$!
	until grep -q ^ready "$work/log"; do
		kill -0 $app || { cat "$work/log"; exit 1; }
		sleep 0.1
	done
}
order=http://127.0.0.1:$port/orders/17
booked() { # LINES: waits for so many
	until [ "$(curl -sf "$order" | grep -c .)" = "$1" ]; do sleep 0.1; done
}
up
curl -sf -X POST "$order?item=lamp&item=desk"
booked 1
kill -9 $app
wait $app 2>/dev/null || true
echo killed
up
curl -sf -X POST "$order/paid?sum=120"
booked 4
curl -sf "$order" | tee "$work/booked"
[ "$(tr '\n' , <"$work/booked")" = "ordered,paid 120,shipped lamp,shipped desk," ]
