#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test how tests/run.py judges failed runs. It repeats them alone, and a run that then passes is
unsteady. A crash, a panic and the like are serious. A test that does not exist fails at once.
The tests here are shell commands, listed by a fake meson."""
import json
import os
import subprocess
import sys
import tempfile

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run.py")


def run(*options, env=None, **commands):
    """(exit status, output) of run.py over these tests; $N is the number of the run, from 1."""
    count = 'N=$(($(cat "$0" 2>/dev/null || echo 0) + 1)); echo $N >"$0"; '
    with tempfile.TemporaryDirectory() as d:
        tests = [{"name": "base/" + name, "suite": ["uk:base"], "env": env or {}, "timeout": 60,
                  "workdir": None, "is_parallel": True, "depends": [],
                  "cmd": cmd if isinstance(cmd, list) else
                  ["sh", "-c", count + cmd, os.path.join(d, name)]}
                 for name, cmd in commands.items()]
        with open(os.path.join(d, "meson"), "w") as f:
            f.write("#!/bin/sh\ncat <<'END'\n%s\nEND\n" % json.dumps(tests))
        os.chmod(f.name, 0o755)
        p = subprocess.run([sys.executable, RUN, "--build", d, "--only", "^base/[a-z]$", *options],
                           env=dict(os.environ, PATH=d + ":" + os.environ["PATH"]), check=False,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return p.returncode, p.stdout


def last(out):
    return out.splitlines()[-2:]


def a_run_that_fails_three_times_has_failed():
    code, out = run(a="exit 0", b="echo run $N; exit 1")
    assert code == 1 and last(out) == ["unsteady: 0", "1 passed, 1 failed, 0 skipped"], out
    assert "failed  base/b: 1" in out and "\nFAILED  base/b\n" in out, out


def a_run_that_passes_when_repeated_is_unsteady():
    code, out = run(a="exit 77", b="echo run $N; [ $N = 3 ]")
    assert code == 0, out
    assert last(out) == ["unsteady: 1, base/b", "1 passed, 0 failed, 1 skipped"], out
    assert "\nrun 1\n" in out and "unsteady base/b: passed at run 3" in out, out


def crashes_and_broken_invariants_are_serious():
    for bad in ("kill -SEGV $$", "echo 'ukthreads: panic: lost'; exit 1",
                "echo '1: runtime error: x'; exit 1", "echo 'under the drop-in: -11'; exit 1",
                "echo 'WARNING: ThreadSanitizer: data race'; exit 66"):
        code, out = run(a="[ $N = 2 ] || { %s; }" % bad)
        assert code == 0 and last(out)[0] == "unsteady: 1, base/a (serious)", bad + out


def what_does_not_exist_fails_at_once():
    code, out = run(a="exit 0", b=["/nowhere/test-base-b"])
    assert code == 1 and "FAILED  base/b: there is no /nowhere/test-base-b" in out, out
    assert last(out)[1] == "1 passed, 1 failed, 0 skipped", out


def many_failures_are_no_noise():
    code, out = run(**{chr(ord("a") + k): "[ $N = 2 ]" for k in range(21)})
    assert code == 1 and last(out)[1] == "0 passed, 21 failed, 0 skipped", out


def keys_of_the_runner_and_of_the_test_are_together():
    code, out = run("--fuzz", "--seed", "7", env={"UK_DEBUG": "tls=none"},
                    a='[ "$UK_DEBUG" = tls=none,fuzz,seed=7 ]')
    assert code == 0, out
    assert run(env={"UK_DEBUG": "tls=none"}, a='[ "$UK_DEBUG" = tls=none ]')[0] == 0


def nothing_is_no_success():
    code, out = run()
    assert code == 1 and out.endswith("no test ran\n"), out


if __name__ == "__main__":
    a_run_that_fails_three_times_has_failed()
    a_run_that_passes_when_repeated_is_unsteady()
    crashes_and_broken_invariants_are_serious()
    what_does_not_exist_fails_at_once()
    many_failures_are_no_noise()
    keys_of_the_runner_and_of_the_test_are_together()
    nothing_is_no_success()
