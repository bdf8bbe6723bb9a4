#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends mutated requests to a live server: fuzz_live.py PORT [ROUNDS [SEED]]

Each connection sends one or more inputs of tests/web/corpus, mutated, in pieces or at
once, and a last valid request. All that comes back must be whole HTTP replies, and
nothing may follow a reply that says "close". At the end the server must still answer,
and hold no more fds than before (so run it on this machine)."""
import os
import random
import re
import socket
import struct
import sys

CORPUS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'corpus')
LAST = b'GET / HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n'
WORDS = [b'\r\n', b'\r\n\r\n', b'\n', b'\0', b' ', b':', b'%00', b'/../', b'HTTP/1.1', b'chunked',
         b'Transfer-Encoding: chunked\r\n', b'Content-Length: 5\r\n', b'0\r\n\r\n', b'\xff', b'GET ',
         b'Host: a\r\n', b'Connection: close\r\n', b'Expect: 100-continue\r\n', b'HEAD ', b'\t']


def mutate(rnd, data):
    data = bytearray(data)
    for _ in range(rnd.choice([0, 1, 1, 2, 4])):
        at = rnd.randrange(len(data) + 1)
        what = rnd.randrange(5)
        if what == 0:
            data[at:at] = rnd.choice(WORDS)
        elif what == 1:
            del data[at:at + rnd.randrange(1, 9)]
        elif what == 2 and at < len(data):
            data[at] = rnd.randrange(256)
        elif what == 3:
            data[at:at] = data[at:at + rnd.randrange(40)]
        else:
            data[at:at + 4] = rnd.randbytes(rnd.randrange(6))
    return bytes(data)


def hear(s):
    data = b''
    try:
        while True:
            d = s.recv(65536)
            if not d:
                return data, True
            data += d
    except ConnectionResetError:
        return data, False


def check(data, whole, sent):
    """Checks that replies fill the data from the first byte to the last. The reply to a
    HEAD has a length but no body, so the check searches for the next reply after it."""
    heads = b'HEAD' in sent
    while data:
        head, sep, rest = data.partition(b'\r\n\r\n')
        m = re.match(rb'HTTP/1\.1 (\d{3}) [ -~]*\r\n', head + sep)
        n = re.search(rb'\r\nContent-Length: (\d+)', head)
        if not m or not sep and whole:
            return 'no reply: %r' % data[:80]
        n = int(n.group(1)) if n and m.group(1) not in (b'304', b'204') else 0
        if heads and (rest.startswith(b'HTTP/1.1 ') or not rest):
            n = 0
        if whole and len(rest) < n:
            return 'cut: %r' % head
        data = rest[n:]
        if b'\r\nConnection: close' in head and data:
            return 'more after the last: %r' % data[:80]
    return None


def main():
    port, rounds = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100000
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 32)
    rnd = random.Random(seed)
    seeds = [open(os.path.join(CORPUS, f), 'rb').read() for f in sorted(os.listdir(CORPUS))]
    print('seed', seed, flush=True)
    for i in range(rounds):
        sent = b''.join(mutate(rnd, rnd.choice(seeds)) for _ in range(rnd.choice([1, 1, 2, 3]))) + LAST
        with socket.create_connection(('127.0.0.1', port)) as s:
            s.settimeout(300)
            try:
                cut = rnd.randrange(len(sent)) if rnd.random() < 0.2 else len(sent)
                s.sendall(sent[:cut])
                if rnd.random() < 0.05:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
                    continue
                s.sendall(sent[cut:])
                s.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass
            except OSError as e:
                if e.errno != 107:  # ENOTCONN: reset before the shutdown
                    raise
            bad = check(*hear(s), sent)
            if bad:
                sys.exit('round %d: %s\nsent: %r' % (i, bad, sent))
    with socket.create_connection(('127.0.0.1', port)) as s:
        s.sendall(LAST)
        if not hear(s)[0].startswith(b'HTTP/1.1 200 '):
            sys.exit('it does not answer any more')
    print('%d rounds' % rounds)


if __name__ == '__main__':
    main()
