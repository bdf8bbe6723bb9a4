#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Piranha with one thread per URL, 30,000 URLs, 100 ms of delay, over page sizes: pages/s, MB/s
#
# The CPU time is that of the crawler's process from start to end, including the JIT and
# the collector. It says more than pages/s on a machine that others use.
#
# A server (its own JVM, one selector thread) delays every answer by 100 ms. The crawler
# fetches all pages of the test web once, in a new JVM for each run, so its time
# includes the JIT's warm-up, as for all systems. The thread kinds run in turn within a
# round, so that a change in the machine's load affects all of them. The systems differ
# in --threads and nothing else; pico is the same jar, translated by the launcher.
#
# A pool of 32 fetches at most 32 pages per 100 ms on any machine. So it gets fewer URLs
# (the rate is the same), unless --all-urls is given.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
json='' urls=30000 sizes="1 3 10 30 100" systems="pico platform pool-32 virtual" runs=3 delay=100
jdk=${PIRANHA_JAVA_HOME:-} heap=2g all_urls='' plot=''

usage() {
	echo "usage: run.sh [--json FILE] [--plot FILE.svg] [--urls N] [--sizes 'KB ...']" \
	     "[--only SYSTEM,...] [--runs N] [--delay MS] [--heap 2g] [--all-urls]" \
	     "[--jdk HOME] [--quick]" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--all-urls) all_urls=1; shift; continue ;;
	--quick) urls=3000 sizes="1 10" runs=1; shift; continue ;;
	--help) usage ;;
	esac
	[ $# -ge 2 ] || usage
	case $1 in
	--json) json=$2 ;; --plot) plot=$2 ;; --urls) urls=$2 ;; --sizes) sizes=$2 ;;
	--only|--systems) systems=${2//,/ } ;; --runs) runs=$2 ;; --delay) delay=$2 ;; --heap) heap=$2 ;;
	--jdk) jdk=$2 ;;
	*) usage ;;
	esac
	shift 2
done

# Virtual threads need JDK 21 or later. Without --jdk: the newest one that is installed.
if [ -z "$jdk" ]; then
	for home in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
		[ -x "$home/bin/java" ] || continue
		v=$("$home/bin/java" -XshowSettings:properties -version 2>&1 |
			sed -n 's/.*java.specification.version = //p')
		case $v in 1.*|'') continue ;; esac
		if [ -z "$jdk" ] || [ "$v" -gt "$newest" ]; then jdk=$home newest=$v; fi
	done
fi
[ -x "$jdk/bin/java" ] || { echo "run.sh: no JDK; use --jdk HOME" >&2; exit 2; }

pico=$root/picothreads
crawler=$(ls "$pico"/piranha/target/piranha-*.jar 2>/dev/null | head -1 || true)
server=$(ls "$pico"/piranha-web/target/piranha-web-*.jar 2>/dev/null | head -1 || true)
if [ -z "$crawler" ] || [ -z "$server" ] || [ ! -f "$pico/pico-cli/target/pico.jar" ]; then
	mvn -q -f "$pico" -pl piranha-web,piranha,pico-cli -am package -DskipTests >&2
	crawler=$(ls "$pico"/piranha/target/piranha-*.jar | head -1)
	server=$(ls "$pico"/piranha-web/target/piranha-web-*.jar | head -1)
fi

ulimit -n "$(ulimit -Hn)"
work=$(mktemp -d)
server_pid=
cleanup() {
	[ -z "$server_pid" ] || kill "$server_pid" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

serve() { # KB PAGES: starts a new server; its URL is in $seed
	[ -z "$server_pid" ] || { kill "$server_pid"; wait "$server_pid" 2>/dev/null || true; }
	: > "$work/url"
	"$jdk/bin/java" -Xmx1g -XX:+UseSerialGC -jar "$server" --pages="$2" --hosts=8 \
		--fanout=200 --size=$(($1 * 1024)) --delay="$delay" > "$work/url" &
	server_pid=$!
	until [ -s "$work/url" ]; do sleep 0.05; done
	seed=$(head -1 "$work/url")
}

crawl() { # SYSTEM: one crawl of $seed; the summary is in $work/out.json
	local system=$1 threads
	local common=(--quiet --scope=any --delay=0 --per-host=1000000 --max-threads=1000000
		--max-connections=8000 --connect-timeout=60s --read-timeout=60s
		--total-timeout=120s --retries=2 --json="$work/out.json" "$seed")
	rm -f "$work/out.json"
	case $system in
	pico)
		JAVA_HOME=$jdk PICO_JAVA_OPTS=-Xmx$heap python3 "$here/usage.py" "$work/usage" \
			timeout 900 "$pico/bin/pico" piranha --threads=pico "${common[@]}" \
			2> "$work/err" ;;
	*)
		case $system in
		pool-*) threads=pool:${system#pool-} ;;
		*) threads=$system ;;
		esac
		python3 "$here/usage.py" "$work/usage" \
			timeout 900 "$jdk/bin/java" -Xmx"$heap" -jar "$crawler" --threads="$threads" \
			"${common[@]}" 2> "$work/err" ;;
	esac
}

# Translates, unless that was done since the last build.
JAVA_HOME=$jdk "$pico/bin/pico" piranha --help > "$work/help"

: > "$work/rows"
for size in $sizes; do
	for ((run = 1; run <= runs; run++)); do
		for system in $systems; do
			n=$urls
			if [ "${system%%-*}" = pool ] && [ -z "$all_urls" ]; then
				n=$((urls < 3000 ? urls : 3000))
			fi
			serve "$size" "$n"
			if crawl "$system" && [ -s "$work/out.json" ]; then
				echo "$size $system $n $(cat "$work/usage") $(cat "$work/out.json")" \
					>> "$work/rows"
				tail -1 "$work/rows" >&2
			else
				echo "run.sh: $system failed at $size KB:" >&2
				tail -5 "$work/err" >&2
			fi
		done
	done
done

python3 "$here/rows.py" "$work/rows" "$delay" "$json" "$work/table"
if [ -z "$plot" ]; then
	mkdir -p "$root/bench/out/pico-piranha"
	plot=$root/bench/out/pico-piranha/pages.svg
fi
if command -v gnuplot > /dev/null && [ -s "$work/table" ]; then
	gnuplot -e "table='$work/table'" -e "picture='$plot'" -e "delay=$delay" \
		"$here/plot.gp"
fi
