#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py PROGRAM OUTPUT: the program prints exactly that."""
import os
import subprocess
import sys

# No kernel cuts the read of a local file, and an example is not about that.
env = dict(os.environ, UK_HOSTILE_SHORT="no")
out = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True, env=env)
want = open(sys.argv[2]).read()
print(out.stdout, end="")
if out.returncode:
    sys.exit("exit code %d" % out.returncode)
if out.stdout != want:
    sys.exit("expected:\n" + want)
