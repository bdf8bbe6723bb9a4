# SPDX-License-Identifier: Apache-2.0
# Sourced by bench/pico-core and bench/pico-overhead: options, the jar, the JDKs, one
# run of JMH.
json='' runs='' quick='' only='' jdks='' minima=''
usage() {
	echo "usage: run.sh [--json FILE] [--runs N] [--quick] [--only SYSTEM,...] [--jdk 'HOME ...']" >&2
	exit 2
}
while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick=1; shift; continue ;;
	--minima) minima=1; shift; continue ;;
	--json|--runs|--only|--jdk) [ $# -ge 2 ] || usage ;;
	*) usage ;;
	esac
	case $1 in
	--json) json=$2 ;; --runs) runs=$2 ;; --only) only=$2 ;; --jdk) jdks=$2 ;;
	esac
	shift 2
done

# Without --jdk: of the installed JDKs, the oldest from 17 on and the newest.
version() {
	"$1/bin/java" -XshowSettings:properties -version 2>&1 |
		sed -n 's/.*java.specification.version = //p'
}
if [ -z "$jdks" ]; then
	old='' new='' oldv=99 newv=0
	for home in "${JAVA_HOME:-}" /usr/lib/jvm/*; do
		[ -n "$home" ] && [ -x "$home/bin/java" ] || continue
		v=$(version "$home")
		case $v in 1.*|'') continue ;; esac
		[ "$v" -ge 17 ] || continue
		if [ "$v" -lt "$oldv" ]; then old=$home oldv=$v; fi
		if [ "$v" -gt "$newv" ]; then new=$home newv=$v; fi
	done
	jdks=$old
	[ "$old" = "$new" ] || jdks="$old $new"
fi
[ -n "$jdks" ] || { echo "run.sh: no JDK; use --jdk HOME" >&2; exit 2; }

bench=$root/picothreads/pico-bench
mvn -q -f "$root/picothreads" -P bench -pl pico-bench -am package -DskipTests >&2
path=$(ls "$bench"/target/pico-bench-*.jar | head -n 1):$bench/target/lib/*
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

wanted() { # SYSTEM
	case ,${only:-$1}, in *,"$1",*) return 0 ;; *) return 1 ;; esac
}

# A run is a fork of JMH: a new JVM each.
if [ -n "$quick" ]; then
	times="-f ${runs:-1} -wi 2 -i 1 -w 1 -r 1"
else
	times="-f ${runs:-5} -wi 5 -i 3 -w 2 -r 2"
fi

jmh() { # JDK-HOME NAME JMH-WORDS...: the result is $work/NAME.json, the output $work/NAME.log
	local home=$1 name=$2 loom=
	shift 2
	[ "$(version "$home")" -lt 21 ] ||
		loom="-jvmArgsAppend --add-exports=java.base/jdk.internal.vm=ALL-UNNAMED"
	# shellcheck disable=SC2086
	timeout 14400 "$home/bin/java" -cp "$path" org.openjdk.jmh.Main "$@" $times -foe true \
		-jvmArgsAppend --add-opens=java.base/java.lang=ALL-UNNAMED $loom -jvmArgsAppend -Xmx1g \
		-rf json -rff "$work/$name.json" >"$work/$name.log" 2>&1 || {
		grep -vE '^#|^$' "$work/$name.log" | tail -n 20 >&2
		return 1
	}
}
