#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the web server: the real binary, driven over loopback.

  run.py --mode pth|uk|uk-set|net [--tls] [--ukweb build/ukweb] [--only REGEX] [--seed N]

Each test has a time limit. The last line reads `N passed, N failed, N skipped`; the exit
status is 1 if a test failed. UK_REACTOR=uring|epoll in the environment picks the engine."""
import argparse
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import harness  # noqa: E402
import t_http  # noqa: E402,F401
import t_hostile  # noqa: E402,F401
import t_life  # noqa: E402,F401
import t_net  # noqa: E402,F401
import t_operate  # noqa: E402,F401
import t_tls  # noqa: E402,F401
import t_rfc  # noqa: E402,F401
import t_smuggle  # noqa: E402,F401
import t_status  # noqa: E402,F401


def main():
    top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    p = argparse.ArgumentParser()
    p.add_argument('--mode', default='uk', choices=['pth', 'uk', 'uk-set', 'net'])
    p.add_argument('--tls', action='store_true')
    p.add_argument('--full', action='store_true')
    p.add_argument('--vps', type=int, default=int(os.environ.get('UK_VPS', 2)))
    p.add_argument('--ukweb', default=os.path.join(top, 'build', 'ukweb'))
    p.add_argument('--tls-min', default=os.path.join(top, 'build', 'apps', 'web', 'tls-min'))
    p.add_argument('--only', default='')
    p.add_argument('--seed', type=int, default=random.randrange(1 << 32))
    p.add_argument('--screenshot', default='', help='keep the picture of the status page')
    args = p.parse_args()
    print('mode %s%s, %d vps, reactor %s, seed %d' % (
        args.mode, ' with TLS' if args.tls else '', args.vps,
        os.environ.get('UK_REACTOR', 'auto'), args.seed))
    suite = harness.Suite(args)
    suite.screenshot = args.screenshot
    try:
        suite.main_options = ['--limit=body=64k', '--timeout=cache=200ms']
        suite.main = suite.server(*suite.main_options)
        return 1 if harness.run_all(suite, args.only) else 0
    finally:
        suite.close()


if __name__ == '__main__':
    sys.exit(main())
