#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# what a guest pays, as far as it sees: exit, timer, kick, wake-up, page fault, loopback, veth
#
# The report of docs/GUEST.md: first what the host tells the guest (hypervisor, clock,
# halt polling, stolen time), then what operations cost. --quick: fewer rounds. With
# root, ip and a second CPU it also measures a veth between two network namespaces,
# which it creates and removes.
set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
json='' rounds=5000
while [ $# -gt 0 ]; do
	case $1 in
	--quick) rounds=1000; shift ;;
	--json) json=$2; shift 2 ;;
	--runs | --only) shift 2 ;;
	--busy) shift ;;
	*) echo "usage: run.sh [--json FILE] [--quick]" >&2; exit 2 ;;
	esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -O2 -Wall -std=gnu17 -D_GNU_SOURCE -pthread -o "$work/guest" "$here/guest.c"

told() { # FILE: its first line, or a dash
	head -n 1 "$1" 2>/dev/null || echo -
}
stolen() {
	awk '/^cpu /{print $9}' /proc/stat
}
poll=/sys/module/haltpoll/parameters
{
	echo "told hypervisor $(grep -qw hypervisor /proc/cpuinfo && echo yes || echo no)"
	echo "told kernel $(uname -r)"
	echo "told clock $(told /sys/devices/system/clocksource/clocksource0/current_clocksource)"
	echo "told idle $(told /sys/devices/system/cpu/cpuidle/current_governor)"
	for p in guest_halt_poll_ns guest_halt_poll_grow_start; do
		[ ! -e $poll/$p ] || echo "told $p $(told $poll/$p)"
	done
	[ ! -e /sys/module/kvm/parameters/halt_poll_ns ] ||
		echo "told halt_poll_ns_for_guests_of_its_own $(told /sys/module/kvm/parameters/halt_poll_ns)"
	before=$(stolen)
	"$work/guest" "$rounds"
	if [ "$(id -u)" = 0 ] && PATH=$PATH:/usr/sbin:/sbin command -v ip >/dev/null; then
		PATH=$PATH:/usr/sbin:/sbin unshare -n -m "$here/veth.sh" "$work/guest" "$rounds" ||
			echo "none veth this machine makes no namespaces"
	else
		echo "none veth it takes root and ip"
	fi
	echo "none virtio it takes a peer beyond the NIC"
	echo "none exits only the host counts them (perf kvm stat)"
	echo "told stolen_ticks $(($(stolen) - before))"
} >"$work/out"
python3 -B "$here/report.py" "$work/out" "$json"
