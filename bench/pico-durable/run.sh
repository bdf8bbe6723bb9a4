#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Durable threads: cost of a save, steps/s against a table, Restate, Temporal, parked, kill -9
#   --kills N    as many kills (10,000); --parked N: as many parked threads (1,000,000)
#   --quick      small sizes
# Temporal's own Java test server is run where Maven can get it, and Restate's server, with
# its default settings, where npm can.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
pico=$(cd "$here/../../picothreads" && pwd)
json='' kills=10000 parked=1000000 threads=1000 steps=100
while [ $# -gt 0 ]; do
	case $1 in
	--quick) kills=20 parked=20000 threads=200 steps=50; shift; continue ;;
	esac
	[ $# -ge 2 ] || {
		echo "usage: run.sh [--json FILE] [--kills N] [--parked N] [--quick]" >&2
		exit 2
	}
	case $1 in
	--json) json=$2 ;; --kills) kills=$2 ;; --parked) parked=$2 ;; --runs|--only) ;;
	*) echo "run.sh: $1?" >&2; exit 2 ;;
	esac
	shift 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# PICO_MVN adds words to Maven's command line (-o).
mvn -q ${PICO_MVN:-} -f "$pico" test -pl pico-durable -am -DskipTests >&2
repo=${MAVEN_REPO:-$HOME/.m2/repository}
jars() { # PATTERN: the newest of each
	find "$repo" -name '*.jar' | grep -E "$1" | tr '\n' ':'
}
asm=$(sed -n 's:.*<asm.version>\(.*\)</asm.version>.*:\1:p' "$pico/pom.xml")
cp=$pico/pico-durable/target/test-classes
for m in durable rt juc translate; do cp=$cp:$pico/pico-$m/target/classes; done
cp=$cp:$pico/pico-net/target/test-classes
cp=$cp:$(jars "asm(-[a-z]+)?-$asm.jar|/h2-2.3.232|/sqlite-jdbc-3.46|/postgresql-42.7.4")
cp=$cp$(jars "/opentest4j-1.3|/junit-jupiter-api-5.11.4|/junit-platform-commons-1.11.4")
cp=$cp$(jars "/slf4j-(api|nop)-2.0.17")
java -cp "$cp" org.ukthreads.pico.durable.Cost | tee "$work/all"
java -Xmx512m -cp "$cp" org.ukthreads.pico.durable.Throughput "$threads" "$steps" "$parked" |
	tee -a "$work/all"
peer() { # NAME ARGUMENTS: runs its Steps
	# shellcheck disable=SC2086
	mvn -q -B ${PICO_MVN:-} ${MAVEN_REPO:+-Dmaven.repo.local="$MAVEN_REPO"} -f "$here/$1" \
		compile exec:java -Dexec.mainClass=Steps -Dexec.args="$2" \
		>"$work/$1" 2>"$work/$1.err" || {
		echo "$1: not here, or failed:" >&2
		tail -n 3 "$work/$1.err" >&2
	}
	sed -n 's/.*\({"bench".*}\).*/\1/p' "$work/$1" | tee -a "$work/all"
	rm -rf "$here/$1/target"
}
peer temporal "$((threads / 10)) $steps"
if (cd "$work" && npm pack @restatedev/restate-server-linux-x64@1.7.12 >/dev/null 2>&1 &&
	tar xf restatedev-*.tgz); then
	RESTATE_INGRESS__BIND_PORT=18080 RESTATE_ADMIN__BIND_PORT=19070 RESTATE_BIND_PORT=15122 \
		RESTATE_DISABLE_TELEMETRY=true "$work/package/bin/restate-server" --no-logo \
		--listen-mode tcp --base-dir "$work/restate.d" >"$work/restate.log" 2>&1 &
	server=$!
	trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
	until curl -sf http://127.0.0.1:19070/health >/dev/null; do
		kill -0 "$server" 2>/dev/null || { tail -n 5 "$work/restate.log" >&2; break; }
		sleep 0.2
	done
	peer restate "$threads $steps 18080 19070"
	kill "$server" 2>/dev/null && wait "$server" || :
else
	echo "restate: its server is not here (npm pack)" >&2
fi
java -Xmx300m -cp "$cp" org.ukthreads.pico.durable.Kills "$kills" "$work/k" | tee "$work/kills"
if [ -n "$json" ]; then
	python3 - "$work/all" "$work/kills" "$json" <<-'PY'
	import json, sys
	rows = []
	def row(system, variant, unit, v):
	    rows.append({"workload": "pico-durable", "variant": variant, "system": system,
	                 "unit": unit, "median": v, "min": v, "max": v})
	for line in open(sys.argv[1]):
	    r = json.loads(line)
	    if r["bench"] == "durable":
	        for k, u in (("bytes", "bytes"), ("save_us", "us"), ("sign_us", "us"),
	                     ("load_us", "us")):
	            row("pico", k, u, r[k])
	    elif r["bench"] == "parked":
	        for k, u in (("threads", "threads"), ("heap_used_mb", "MB"),
	                     ("parked_per_s", "1/s"), ("start_ms", "ms"), ("wake_ms", "ms")):
	            row("pico", "parked " + k, u, r[k])
	    else:
	        system = {"durable-steps": "pico", "polled-table": "table",
	                  "restate-server": "restate"}.get(r["bench"], "temporal")
	        row(system, r["on"] + " steps_per_s", "1/s", r["steps_per_s"])
	        if "bytes_per_step" in r:
	            row(system, r["on"] + " bytes_per_step", "bytes", r["bytes_per_step"])
	last = open(sys.argv[2]).read().splitlines()[-1].split()
	row("pico", "kills", "kills", int(last[0]))
	row("pico", "lost", "steps", 0)
	json.dump(rows, open(sys.argv[3], "w"), indent=1)
	PY
fi
