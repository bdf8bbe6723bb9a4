#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# archive.sh ROOMS.a OUT.a DIR LD OBJCOPY AR: the rooms as one object with local names.
set -eu
mkdir -p "$3"
"$4" -r --whole-archive "$1" -o "$3/ukthreads.o"
"$5" --localize-hidden "$3/ukthreads.o"
rm -f "$2"
"$6" rcs "$2" "$3/ukthreads.o"
