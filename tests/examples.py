#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py PROGRAM OUTPUT: the program prints exactly that."""
import subprocess
import sys

out = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True)
want = open(sys.argv[2]).read()
print(out.stdout, end="")
if out.returncode:
    sys.exit("exit code %d" % out.returncode)
if out.stdout != want:
    sys.exit("expected:\n" + want)
