#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Start-up: java, pico run for the first time and later, of a class, H2, Spring Boot
# --only hello,h2,spring; --runs N: N starts of each (3); a first start has an empty cache,
# and a later one begins when the translation has ended
# H2 and Spring Boot 3.3 with JDBC come from Maven (PICO_MVN adds words to
# its command line).
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
pico=$(cd "$here/../../picothreads" && pwd)
json='' runs=3 only=hello,h2,spring
while [ $# -gt 0 ]; do
	case $1 in
	--quick) runs=1; shift; continue ;;
	esac
	[ $# -ge 2 ] || {
		echo "usage: run.sh [--json FILE] [--runs N] [--quick] [--only hello,h2,spring]" >&2
		exit 2
	}
	case $1 in
	--json) json=$2 ;; --runs) runs=$2 ;; --only) only=$2 ;;
	*) echo "run.sh: $1?" >&2; exit 2 ;;
	esac
	shift 2
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PICO_CACHE=$work/cache PICO_PROGRESS=false
# shellcheck disable=SC2086
mvn -q -B ${PICO_MVN:-} ${MAVEN_REPO:+-Dmaven.repo.local="$MAVEN_REPO"} -f "$here/spring" \
	dependency:copy-dependencies -DoutputDirectory="$work/lib" compile >&2
cp -r "$here/spring/target/classes" "$work/classes"
rm -rf "$here/spring/target"
"$pico/bin/pico" help >/dev/null # builds it, and the archive of its classes, once

once() { # NAME SYSTEM WORDS...: prints its seconds, wall and CPU; its output must be right
	local name=$1 system=$2 TIMEFORMAT='%R %U %S' want
	shift 2
	want=$(sed -n "s/^$name //p" "$work/want")
	{ time "$@" >"$work/out" 2>"$work/err"; } 2>"$work/time" || {
		cat "$work/err" >&2
		exit 1
	}
	grep -q "$want" "$work/out" || { echo "run.sh: $name, $system: no '$want'" >&2; exit 1; }
	awk -v n="$name" -v s="$system" '{ print n, s, "wall", $1; print n, s, "cpu", $2 + $3 }' \
		"$work/time" | tee -a "$work/results"
}

translated() { # a first start translates in the background, and holds a lock
	while [ -n "$(find /proc/[0-9]*/fd -lname "$PICO_CACHE/*.lock" 2>/dev/null)" ]; do
		sleep 0.2
	done
}

program() { # NAME WORDS...: the words after java and pico run
	local name=$1
	shift
	case ,$only, in *,"$name",*) ;; *) return 0 ;; esac
	for _ in $(seq "$runs"); do
		rm -f "$PICO_CACHE"/*.pico
		once "$name" java java "$@"
		once "$name" pico-first "$pico/bin/pico" run "$@"
		translated
		once "$name" pico-later "$pico/bin/pico" run "$@"
	done
}

printf '%s\n' "hello hello" "h2 42" "spring answer 42" >"$work/want"
cat >"$work/Hello.java" <<'J'
public class Hello {
	public static void main(String[] args) throws Exception {
		Thread t = new Thread(() -> System.out.println("hello"));
		t.start();
		t.join();
	}
}
J
mkdir "$work/hello"
javac -d "$work/hello" "$work/Hello.java"
h2=$(ls "$work"/lib/h2-*.jar)
spring=$work/classes
for j in "$work"/lib/*.jar; do spring=$spring:$j; done

program hello -cp "$work/hello" Hello
program h2 -cp "$h2" org.h2.tools.Shell -url jdbc:h2:mem: -sql 'select 6 * 7'
program spring -cp "$spring" start.Start
[ -z "$json" ] || python3 - "$work/results" "$json" <<-'PY'
	import json, statistics, sys
	values = {}
	for line in open(sys.argv[1]):
	    name, system, what, v = line.split()
	    values.setdefault((f"{name} {what}", system), []).append(float(v))
	json.dump([{"workload": "pico-start", "variant": variant, "system": system, "unit": "s",
	            "median": statistics.median(v), "min": min(v), "max": max(v)}
	           for (variant, system), v in values.items()], open(sys.argv[2], "w"), indent=1)
	PY
