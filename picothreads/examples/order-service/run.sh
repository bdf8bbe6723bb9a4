#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the order service with two workers on its own PostgreSQL, and kills one of them. Exits with
# 0 if each step of each order was booked exactly once.
#   run.sh PGJDBC.jar
set -eu

here=$(cd "$(dirname "$0")" && pwd)
pico=$here/../../bin/pico
jar=$here/../../pico-cli/target/pico.jar
driver=${1:?run.sh PGJDBC.jar}
bin=$(dirname "$(command -v initdb || ls /usr/lib/postgresql/*/bin/initdb | tail -1)")
psql=$(command -v psql || echo "$bin/psql")
work=$(mktemp -d)
as=""
if [ "$(id -u)" = 0 ]; then
	chown nobody "$work"
	as="setpriv --reuid=nobody --clear-groups"
fi
pids=""
stop() {
	for p in $pids; do kill -9 "$p" 2>/dev/null || true; done
	$as "$bin/pg_ctl" -D "$work/data" -m immediate stop >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap stop EXIT
cd "$work"
port=$((10000 + RANDOM % 9000))
$as "$bin/initdb" -D "$work/data" -U pico -A trust -E UTF8 --locale=C >/dev/null
$as "$bin/pg_ctl" -w -D "$work/data" -o "-p $port -h 127.0.0.1 -k $work" -l "$work/data/log" \
	start >/dev/null
url="jdbc:postgresql://127.0.0.1:$port/postgres?user=pico"

"$pico" help >/dev/null # builds pico.jar on the first use
javac -cp "$jar" -d "$work/in" "$here/OrderService.java"
(cd "$work/in" && jar cf "$work/orders.jar" .)
"$pico" translate "$work/orders.jar" -o "$work/out.jar" >/dev/null

worker() { # NAME PORT
	java -Xmx200m -cp "$work/out.jar:$jar:$driver" OrderService "$2" "$url" "$work/key" "$1" \
		>"$work/$1.log" 2>&1 &
	pids="$pids $!"
	eval "$1=$!"
}
up() {
	for _ in $(seq 600); do
		grep -q "is up" "$work/$1.log" && return
		! grep -q "Exception in" "$work/$1.log" || break
		sleep 0.1
	done
	cat "$work/$1.log"
	exit 1
}
a=$((port + 1)) b=$((port + 3))
worker first "$a"
up first
worker second "$b"
up second
for n in $(seq 10); do
	curl -sf -d "lamp desk chair" "http://127.0.0.1:$a/orders/order-$n" >/dev/null
done
# Pays at the other worker: it does not matter which worker has the order.
for n in $(seq 9); do
	curl -sf -d "120 EUR" "http://127.0.0.1:$b/orders/order-$n/pay" >/dev/null
done
curl -sf -X DELETE "http://127.0.0.1:$b/orders/order-10" >/dev/null
sleep 0.5
kill -9 "$first"
echo "killed the first worker; order-3: $(curl -s "http://127.0.0.1:$b/orders/order-3")"
sql() {
	"$psql" -h 127.0.0.1 -p "$port" -U pico -d postgres -Atc "$1"
}
for _ in $(seq 600); do
	[ "$(sql "select count(*) from booked where what in ('shipped', 'cancelled')")" = 10 ] && break
	sleep 0.1
done
sql "select what, count(*), count(distinct (id, what, detail)) from booked group by what order by 1"
[ "$(sql "select count(*) from booked")" = 46 ]
[ "$(sql "select count(*) from (select distinct id, what, detail from booked) x")" = 46 ]
curl -s "http://127.0.0.1:$((b + 1))/metrics" | grep -E "taken_over|ended"
echo "each step of each order was booked once"
