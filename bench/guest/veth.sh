#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# veth.sh GUEST ROUNDS - in new namespaces: the echo between the two ends of a veth.
set -eu
mount --make-rprivate /
mount -t tmpfs none /run
ip netns add peer
ip link add near type veth peer name far netns peer
ip addr add 10.0.0.1/24 dev near
ip link set near up
ip -n peer addr add 10.0.0.2/24 dev far
ip -n peer link set far up
ip netns exec peer "$1" echo 10.0.0.2 &
echo=$!
trap 'kill $echo; wait $echo || true' EXIT
"$1" "$2" 10.0.0.2
