# SPDX-License-Identifier: Apache-2.0
"""--mode=net: the network processor. The other files test what the server serves in
this mode."""
import os
import re
import time

from harness import Skip, check, equal, test


def pollers(pid):
    """The SQPOLL kernel threads of pid: id -> (state, how often it has gone to
    sleep)."""
    out = {}
    for tid in os.listdir('/proc/%d/task' % pid):
        try:
            text = open('/proc/%d/task/%s/status' % (pid, tid)).read()
        except OSError:
            continue
        if text.startswith('Name:\tiou-sqp'):
            out[tid] = (re.search(r'State:\t(.)', text).group(1),
                        int(re.search(r'\nvoluntary_ctxt_switches:\t(.*)', text).group(1)))
    return out


def asleep(pid):
    while True:
        p = pollers(pid)
        if all(state == 'S' for state, _ in p.values()):
            return p
        time.sleep(.01)


@test()
def the_network_processor_sleeps_and_is_woken(t):
    if t.mode != 'net':
        raise Skip('no network processor in this mode')
    before = asleep(t.main.proc.pid)
    if not before:
        raise Skip('the kernel, or the engine, has given none')
    equal(len(before), 1)  # one for all vps
    equal(t.main.get('/').status, 200)
    after = asleep(t.main.proc.pid)
    equal(list(after), list(before))
    for tid in after:
        check(after[tid][1] > before[tid][1])


@test()
def a_cpu_that_is_not_there_is_done_without(t):
    if t.mode != 'net':
        raise Skip('no network processor in this mode')
    s = t.server('--net-cpu=1023')
    equal(s.get('/').status, 200)
    equal(pollers(s.proc.pid), {})


@test()
def it_says_that_another_mode_serves_more(t):
    if t.mode != 'net':
        raise Skip('no network processor in this mode')
    s = t.server()
    equal(s.get('/').status, 200)
    there = bool(pollers(s.proc.pid))
    s.stop()
    equal('--mode=uk serves more' in ''.join(s.err), there)
