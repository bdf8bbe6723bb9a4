#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Durable threads: bytes and time to save twelve frames; kill -9 at random moments, N times
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
pico=$(cd "$here/../../picothreads" && pwd)
json='' kills=10000
while [ $# -gt 0 ]; do
	case $1 in
	--quick) kills=20; shift; continue ;;
	esac
	[ $# -ge 2 ] || { echo "usage: run.sh [--json FILE] [--kills N] [--quick]" >&2; exit 2; }
	case $1 in
	--json) json=$2 ;; --kills) kills=$2 ;; --runs|--only) ;;
	*) echo "run.sh: $1?" >&2; exit 2 ;;
	esac
	shift 2
done

mvn -q -f "$pico" package -DskipTests -pl pico-durable -am >&2
repo=${MAVEN_REPO:-$HOME/.m2/repository}
cp=$pico/pico-durable/target/test-classes
for m in durable rt juc translate; do cp=$cp:$pico/pico-$m/target/classes; done
asm=$(sed -n 's:.*<asm.version>\(.*\)</asm.version>.*:\1:p' "$pico/pom.xml")
cp=$cp:$(find "$repo/org/ow2/asm" -name "asm*-$asm.jar" | tr '\n' ':')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
java -cp "$cp" org.ukthreads.pico.durable.Cost | tee "$work/cost"
java -Xmx300m -cp "$cp" org.ukthreads.pico.durable.Kills "$kills" "$work/k" | tee "$work/kills"
if [ -n "$json" ]; then
	python3 - "$work/cost" "$work/kills" "$json" <<-'EOF'
	import json, sys
	cost = json.load(open(sys.argv[1]))
	last = open(sys.argv[2]).read().splitlines()[-1].split()
	rows = [(k, cost[k], u) for k, u in (("bytes", "bytes"), ("save_us", "us"),
	        ("sign_us", "us"), ("load_us", "us"))]
	rows += [("kills", int(last[0]), "kills"), ("lost", 0, "steps")]
	json.dump([{"workload": "pico-durable", "variant": n, "system": "pico", "unit": u,
	            "median": v, "min": v, "max": v} for n, v, u in rows],
	          open(sys.argv[3], "w"), indent=1)
	EOF
fi
