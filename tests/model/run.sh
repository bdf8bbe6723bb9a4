#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh [holds]: checks the models exhaustively, as many at a time as there are CPUs: each
# model must hold, and each of its mutants ("Must fail" at the top of the model) must break.
# With "holds" without the mutants, which test only the models. Prints "N passed, N failed".
# Needs spin and a C compiler.
# One check alone: run.sh one MODEL MODE holds|breaks [-DMUTANT]
here=$(cd "$(dirname "$0")" && pwd)
command -v spin >/dev/null || { echo "skipped: spin is not installed"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# verify MODEL MODE holds|breaks [-DMUTANT]: prints the number of errors, or why it is
# unknown
verify() {
	spin ${4:+"$4"} -a "$here/$1.pml" >spin.log 2>&1 || { echo "spin failed"; return; }
	case $2 in
	safety) flags="-DSAFETY -DNOCLAIM" args="" ;;
	live) flags="-DNFAIR=3" args="-a -f" ;;
	esac
	# most mutants break soon, so optimising the checker would take longer than
	# running it
	case $1-$3 in
	*-holds | gate-*) flags="$flags -O2" ;;
	esac
	# shellcheck disable=SC2086
	${CC:-cc} -w -DCOLLAPSE $flags -o pan pan.c || { echo "cc failed"; return; }
	# shellcheck disable=SC2086
	timeout 3600 ./pan $args -m2000000 -w22 >pan.log 2>&1 || { echo "time-out"; return; }
	grep -q "max search depth too small" pan.log && { echo "too deep"; return; }
	sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log
}

one() { # MODEL MODE holds|breaks [-DMUTANT]
	got=$(verify "$1" "$2" "$3" "$4")
	what="$1, $2${4:+ $4}: $3"
	if { [ "$3" = holds ] && [ "$got" = 0 ]; } ||
		{ [ "$3" = breaks ] && [ "${got:-0}" -ge 1 ] 2>/dev/null; }; then
		echo "ok $what"
	else
		echo "FAILED $what (errors: $got)"
		cat pan.log 2>/dev/null
	fi
}

if [ "$1" = one ]; then
	shift
	one "$@"
	exit
fi

expect() {
	echo "$@"
}

# model MODEL MUTANT...: the model holds, and each mutant breaks
model() {
	name=$1
	shift
	expect "$name" safety holds
	for mutant; do
		expect "$name" safety breaks "-D$mutant"
	done
}

all() { # the slowest first
	model gate NO_WATCH_LOCK NO_MEMBARRIER ONE_LOOK NO_GATE STOPPED_STAYS BACK_AT_ONCE
	model park NO_CANCEL_CHECK NO_MEMBARRIER QUEUE_ARMED PARK_BY_STORE NO_TOKEN
	model handoff NO_MEMBARRIER CHECK_FIRST NO_CHECK NO_CAS NO_ORPHAN_CHECK BACK_BY_STORE
	expect handoff live holds
	expect handoff live breaks -DNO_MONITOR
	expect handoff live breaks -DNO_LOOKS
	model runq NO_CAS NO_COUNT TAIL_LAST NO_LOOK
	model signal HANDLER_MOVES NO_REENTER GUEST_INSIDE
	model guest NO_LOOK LATE_WAKE NO_LOCK
	model putoff AT_ONCE NO_CUT NO_LOOK FORGET NO_LOOP
	model alarm NO_STATE NO_IDLE NOTICE_FIRST SLEEP_BLIND
	model rest NO_KICK LOOK_FIRST LOSE_CALL CLEAR_LATE BACK_BY_STORE KICK_BY_STORE
	model op NO_STATE NO_ORPHAN LIFO KEEP_TOKEN NO_COUNT COUNT_LATE COUNT_SHORT ONE_LOOK MOVE_DONE
	model fd COUNT_LATE COUNT_ROUNDS ONE_MOVE NO_WAIT NO_ANEW NO_DEAD NO_USERS NO_BOUND NO_LIFE LIFE_FIRST KEEP_COUNTS
	model mutex NO_RECHECK NO_PASS IGNORE_HANDED KEEP_WOKEN LATE_WOKEN
	model sqpoll NO_FENCE NO_RELOOK KEEP_WOKEN ONE_FLAG
	model loan COUNT_LATE TOUCH_LATE MARK_HERE NO_LOOK NO_MARK ONE_LOAN
	model select BUSY_IS_GONE SELF_THEN_OTHER NO_CLAIM
	# the JVM runtime's
	model carrier NO_LOCK KEEP_BY_STORE TAKE_BUSY NO_OUT
	model fiber NO_RECHECK CLAIM_BY_STORE PARK_BY_STORE QUEUE_STOPPING KEEP_TIMER
	model lent NO_TAKE_BACK NO_OUT_LOOK LATE_FLAG NO_LOOK NO_WITHDRAW NO_FLAG_CHECK
	model monitor NO_TAKE_IN EXIT_BY_STORE EARLY_NULL FORGET_WAITERS READ_EARLY FORGET_QUEUE NO_WAKE
}

all | grep " ${1:-}" >list
xargs -P "$(nproc)" -L 1 "$here/run.sh" one <list | tee all.log
passed=$(grep -c '^ok ' all.log)
failed=$(($(wc -l <list) - passed))
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
