# SPDX-License-Identifier: Apache-2.0
"""usage.py FILE COMMAND...: runs the command, and writes its CPU seconds and its peak
memory in KB to FILE."""
import resource
import subprocess
import sys

code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as f:
    f.write(f"{used.ru_utime + used.ru_stime:.2f} {used.ru_maxrss}")
sys.exit(code)
