#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples.py PROGRAM OUTPUT: check that the program prints exactly OUTPUT."""
import os
import subprocess
import sys

# A kernel does not cut short the read of a local file, and the examples do not test that.
env = dict(os.environ, UK_DEBUG=os.environ.get("UK_DEBUG", "") + ",hostile-short=no")
out = subprocess.run([sys.argv[1]], stdout=subprocess.PIPE, text=True, env=env)
want = open(sys.argv[2]).read()
print(out.stdout, end="")
if out.returncode:
    sys.exit("exit code %d" % out.returncode)
if out.stdout != want:
    sys.exit("expected:\n" + want)
