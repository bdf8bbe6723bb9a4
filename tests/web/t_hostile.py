# SPDX-License-Identifier: Apache-2.0
"""Clients that are malicious or broken."""
import os
import random
import select
import socket
import ssl
import subprocess
import sys
import threading
import time

from harness import Skip, check, equal, need_files, test


@test()
def nothing_outside_the_root_is_served(t):
    with t.main.conn() as c:
        for path in ('/../outside.txt', '/..%2foutside.txt', '/%2e%2e/outside.txt',
                     '/dir/../../outside.txt', '/dir/%2e%2e/%2e%2e/outside.txt',
                     '/%2e%2e%2foutside.txt', '/..', '/../', '/dir/../..', '/..\\outside.txt',
                     '/%252e%252e/outside.txt', '/....//outside.txt', '/.%2e/outside.txt',
                     '/link-out', '/link-abs', '/link-dir/', '/link-dir/index.html',
                     '/link-proc/etc/passwd', '/link-proc/', '/loop', '/link-dir',
                     '/%2fetc/passwd', '//etc/passwd', '/dir/..%00/outside.txt', '/%00',
                     '/small.bin%00.html', '/%', '/%4', '/%zz', '/link-dir/../outside.txt'):
            r = c.request(path)
            check(r.status in (400, 403, 404), path, r.status)
            check(b'OUTSIDE' not in r.body and b'root:' not in r.body, path)
        equal(c.request('/link-in').body, t.small)
    s = t.server('--no-symlinks')
    equal(s.get('/link-in').status, 404)
    equal(s.get('/small.bin').body, t.small)


@test()
def without_openat2_no_link_is_followed(t):
    """As on an old kernel (ENOSYS), or under an old filter of a container (EPERM)."""
    if os.uname().machine not in ('x86_64', 'aarch64'):
        raise Skip('number of openat2 unknown')
    for err in (38, 1):
        s = t.server(forbid=(437, err))
        with s.conn() as c:
            equal(c.request('/').status, 200)
            equal(c.request('/small.bin').body, t.small)
            equal(c.request('/dir/').body, b'in a directory\n')
            equal(c.request('/dir')['location'], '/dir/')
            for path in ('/link-in', '/link-out', '/link-abs', '/link-dir/', '/link-proc/',
                         '/link-dir/index.html', '/link-proc/etc/passwd', '/../outside.txt',
                         '/nope', '/n/0.txt/', '/n/0.txt/x', '/loop'):
                equal(c.request(path).status, 404 if '..' not in path else 400, path)
            equal(c.request('/fifo').status, 403)
            equal(c.request('/noindex/a.txt').body, b'a\n')
        equal(s.stop(), 0)


@test()
def a_rename_race_never_leaves_the_root(t):
    """A directory is replaced by a link to the outside and back, again and again, while
    it is requested."""
    a, link = os.path.join(t.root, 'race'), os.path.join(t.tmp, 'race-link')
    os.makedirs(a)
    with open(os.path.join(a, 'outside.txt'), 'w') as f:
        f.write('inside\n')
    os.symlink(t.tmp, link)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(a, a + '2')
            os.rename(link, a)
            os.rename(a, link)
            os.rename(a + '2', a)
    s = t.server('--timeout=cache=0')
    th = threading.Thread(target=swap)
    th.start()
    try:
        seen = set()
        with s.conn() as c:
            for _ in range(2000):
                r = c.request('/race/outside.txt')
                check(b'OUTSIDE' not in r.body, 'escaped')
                seen.add(r.status)
        check(seen <= {200, 404}, seen)
    finally:
        stop.set()
        th.join()


@test()
def hidden_files_and_special_files_are_not_served(t):
    with t.main.conn() as c:
        for path in ('/.secret', '/.git/config', '/%2esecret', '/dir/../.secret', '/.git/',
                     '/n/.hidden', '/.git', '/.well-knownx', '/dir/.well-known/x'):
            equal(c.request(path).status, 404, path)
        equal(c.request('/.well-known/test').body, b'known\n')
        equal(c.request('/fifo').status, 403)


GOOD = 'GET / HTTP/1.1\r\nHost: a\r\n'


@test()
def requests_that_could_be_smuggled_are_refused(t):
    chunk = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
    bad = [
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 3\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x3\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3 3\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nabc',
        'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'POST / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
        'GET / HTTP/1.1\nHost: a\n\n', 'GET / HTTP/1.1\r\nHost: a\n\r\n',
        'GET / HTTP/1.1\r\nHost: a\r\n\n', 'GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n',
        GOOD + 'X y\r\n\r\n', GOOD + ': y\r\n\r\n', GOOD + 'X\0: y\r\n\r\n',
        GOOD + 'X: a\0b\r\n\r\n', GOOD + 'X: a\x07b\r\n\r\n', GOOD + 'X@: y\r\n\r\n',
        GOOD + 'X: a\rb\r\n\r\n', GOOD + 'Host: b\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n',
        'GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a@b\r\n\r\n',
        'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a:b\r\n\r\n',
        'GET  / HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /  HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET /\tHTTP/1.1\r\nHost: a\r\n\r\n', ' GET / HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET / HTTP/1.1 \r\nHost: a\r\n\r\n', 'GET /\r\n\r\n', 'GET / HTTP/1\r\nHost: a\r\n\r\n',
        'GET / http/1.1\r\nHost: a\r\n\r\n', 'GET / HTTP/0.9\r\nHost: a\r\n\r\n',
        'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n', 'GET a HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n', 'GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n', 'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
        # Raw bytes above 127 that are not UTF-8: cut short, overlong, a surrogate, too
        # large.
        'GET /\xc3 HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /\xc0\xaf HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET /\xed\xa0\x80 HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET /\xf4\x90\x80\x80 HTTP/1.1\r\nHost: a\r\n\r\n',
        'GET /\xe0\x80\xaf HTTP/1.1\r\nHost: a\r\n\r\n', 'GET /?\xc3( HTTP/1.1\r\nHost: a\r\n\r\n',
        chunk + '1 x\r\nx\r\n', chunk + '1\t\t\r\nx\r\n', chunk + '1 ;a\nx\r\n',
        chunk + '1 ' + ' ' * 5000 + ';a\r\n',
        'GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n', '\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03',
        chunk + 'x\r\n', chunk + '-1\r\n', chunk + '0x1\r\na\r\n', chunk + '1\r\nab\r\n',
        chunk + '1\nx\n', chunk + '\r\n', chunk + ' 1\r\nx\r\n', chunk + '1 \r\nx\r\n',
        chunk + '1;\x01\r\nx\r\n', chunk + 'fffffffffffffffff\r\n', chunk + '0\r\nX\n\r\n',
        chunk + '1\r\nx\r0\r\n\r\n',
    ]
    for raw in bad:
        with t.main.conn() as c:
            # What follows must never be taken for a request.
            c.send(raw.encode('latin-1') + b'GET /n/1.txt HTTP/1.1\r\nHost: a\r\n\r\n')
            r = c.response()
            equal((r.status, r['connection']), (400, 'close'), repr(raw))
            c.at_end()
    for raw, want in [('GET / HTTP/2.0\r\nHost: a\r\n\r\n', 505),
                      ('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505),
                      ('GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n', 501),
                      ('GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\n\r\n', 501)]:
        with t.main.conn() as c:
            c.send(raw)
            equal(c.response().status, want, raw)
            c.at_end()


@test()
def what_is_odd_but_clear_is_served(t):
    for raw in ['\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n', 'GET / HTTP/1.7\r\nHost: a\r\n\r\n',
                'GET / HTTP/1.1\r\nhOsT:a\r\n\r\n', 'GET / HTTP/1.1\r\nHost:  \t a \t \r\n\r\n',
                'GET / HTTP/1.1\r\nHost:\r\n\r\n', 'GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n',
                GOOD + 'X:\r\n\r\n', GOOD + 'X: \xfc\r\n\r\n', GOOD + 'Connection: ,,foo,\r\n\r\n',
                'GET /?a={"x":[1|2]}^ HTTP/1.1\r\nHost: a\r\n\r\n']:
        with t.main.conn() as c:
            c.send(raw.encode('latin-1'))
            equal(c.response().status, 200, repr(raw))


@test()
def too_long_is_414_and_431_and_413(t):
    def ask(raw, want):
        with t.main.conn() as c:
            c.send(raw)
            r = c.response()
            equal((r.status, r['connection']), (want, 'close'))
            c.at_end()
    ask('GET /' + 'a' * 8300 + ' HTTP/1.1\r\nHost: a\r\n\r\n', 414)
    ask('GET /' + 'a' * 500000, 414)
    ask(GOOD + 'X: ' + 'a' * 17000 + '\r\n\r\n', 431)
    ask(GOOD + 'X: ' + 'a' * 2000000, 431)
    ask(GOOD + ''.join('X%d: a\r\n' % i for i in range(101)) + '\r\n', 431)
    ask('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 70000\r\n\r\n' + 'x' * 70000, 413)
    ask('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' +
        '1000\r\n%s\r\n' % ('x' * 4096) * 20, 413)
    with t.main.conn() as c:
        c.send(GOOD + 'X: ' + 'a' * 15000 + '\r\n\r\n')
        equal(c.response().status, 200)
        c.send(GOOD + ''.join('X%d: a\r\n' % i for i in range(99)) + '\r\n')
        equal(c.response().status, 200)
        # Names that no file can have: 404, as with nginx.
        equal(c.request('/' + 'a' * 300).status, 404)
        equal(c.request('/' + 'b' * 5000).status, 404)
        equal(c.request('/' + '%62' * 2600).status, 404)
        equal(c.request('/n/' + 'c' * 256 + '/../1.txt').status, 200)
        equal(c.request('/?' + 'a' * 8000).status, 200)


def drip(conn, data):
    """Sends one byte at a time, until there is an answer."""
    for i in range(len(data)):
        try:
            conn.send(data[i:i + 1])
        except (OSError, ssl.SSLError):
            return
        if select.select([conn.s], [], [], 0.05)[0]:
            return


@test(limit=120)
def slow_clients_are_told_or_dropped(t):
    """Only clients that are slow on purpose meet a short limit; on a slow machine
    nothing else may."""
    s = t.server('--timeout=header=2')
    with s.conn() as silent, s.conn() as head:
        drip(head, (GOOD + 'X: ' + 'a' * 100000).encode())
        equal(head.response().status, 408)
        silent.at_end()
    equal(s.stop(), 0)
    s = t.server('--timeout=body=2')
    with s.conn() as body:
        body.send('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n')
        drip(body, b'x' * 100000)
        equal(body.response().status, 408)
    equal(s.stop(), 0)
    s = t.server('--timeout=idle=2')
    with s.conn() as idle:
        t0 = time.monotonic()
        equal(idle.request('/').status, 200)
        idle.at_end()
        check(time.monotonic() - t0 > 1.9, 'too early', time.monotonic() - t0)
    equal(s.stop(), 0)


@test(limit=60)
def a_reader_that_stands_still_is_dropped(t):
    """It is dropped after t_write, with much of its response unsent. Its fd and its
    thread are freed."""
    s = t.server('--timeout=write=3')
    equal(s.get('/large.bin', 'HEAD').status, 200)
    fds = s.fds()
    cs = [s.conn(rcvbuf=4096) for _ in range(8)]
    for c in cs:
        c.send(('GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n') * 10)
    equal(s.get('/n/1.txt').status, 200)
    end = time.monotonic() + 60
    while s.fds() > fds + 1 and time.monotonic() < end:
        time.sleep(0.1)
    check(s.fds() <= fds + 1, 'still open:', s.fds(), fds)
    for c in cs:
        c.close()
    equal(s.stop(), 0)


@test(limit=60)
def three_hundred_slow_clients_do_not_keep_others_out(t):
    slow = []
    for i in range(300):
        c = t.main.conn()
        c.send(GOOD[:1 + i % len(GOOD)])
        slow.append(c)
    with t.main.conn() as c:
        for i in range(500):
            equal(c.request('/n/%d.txt' % (i % 100)).status, 200)
    for c in slow:
        c.close()


@test(tls=False, limit=900)
def ten_thousand_slow_heads_and_posts_keep_nobody_out(t):
    """In `make check` (UK_TEST_FULL). None of the requests is ever complete; then all
    clients close at once."""
    if not os.environ.get('UK_TEST_FULL') or t.mode == 'pth':
        raise Skip('make check runs it, on user threads')
    n = 10000
    need_files(n + 500)
    s = t.server('--limit=conns=20000', '--timeout=body=600', nofile=n + 500)
    fds = s.fds()
    post = b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n'
    slow = []
    for i in range(n):
        c = s.conn()
        c.send(GOOD[:1 + i % len(GOOD)] if i % 2 else post + b'x')
        slow.append(c)
    with s.conn() as c:
        for i, other in enumerate(slow):
            other.send('X' if i % 2 == 0 else GOOD[(1 + i % len(GOOD)) % len(GOOD)])
            if i % 20 == 0:
                equal(c.request('/n/%d.txt' % (i % 100)).status, 200)
    for c in slow:
        c.close()
    end = time.monotonic() + 300
    while s.fds() > fds + 2:
        check(time.monotonic() < end, 'descriptors', fds, s.fds())
        time.sleep(0.05)
    equal(s.get('/').status, 200)
    equal(s.stop(), 0)


@test(tls=False, limit=600)
def what_comes_back_is_http_whatever_is_sent(t):
    """Some mutations of the corpus. To run a million, use tests/web/fuzz_live.py."""
    p = subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fuzz_live.py'),
                        str(t.main.port), '1500', str(t.seed)], stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    equal(p.returncode, 0, p.stdout.decode())


@test(limit=60)
def noise_never_kills_the_server(t):
    rnd = random.Random(t.seed)
    words = [b'GET ', b'/', b' HTTP/1.1\r\n', b'Host: a\r\n', b'\r\n', b'\r\n\r\n', b'\0', b'%',
             b'Range: bytes=0-', b'Content-Length: 5\r\n', b'Transfer-Encoding: chunked\r\n',
             b'5\r\nhello\r\n', b'0\r\n\r\n', b'\n', b':', b'/../', b'?' * 100]
    for i in range(300):
        with t.main.conn() as c:
            data = b''.join(rnd.choice(words) if rnd.random() < 0.9 else rnd.randbytes(9)
                            for _ in range(rnd.randrange(1, 30)))
            try:
                c.send(data)
                if rnd.random() < 0.3:
                    c.reset()
                elif rnd.random() < 0.5:
                    c.s.settimeout(0.02)
                    while c.recv():
                        pass
            except (OSError, ssl.SSLError):
                pass
    equal(t.main.get('/').status, 200)


@test(limit=60)
def clients_that_die_in_mid_transfer_leave_nothing_behind(t):
    time.sleep(0.2)
    fds = t.main.fds()
    rnd = random.Random(t.seed)
    for i in range(200):
        c = t.main.conn()
        c.send('GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n' * 3)
        if i % 3:
            c.recv(rnd.choice([1, 1000, 100000]))
        if i % 2:
            c.reset()
        else:
            c.close()
    end = time.monotonic() + 60
    while t.main.fds() > fds + 2 and time.monotonic() < end:
        time.sleep(0.05)
    check(t.main.fds() <= fds + 2, 'descriptors', fds, t.main.fds())
    equal(t.main.get('/small.bin').body, t.small)


@test()
def a_file_cut_short_ends_the_connection_early(t):
    """The server cannot keep the promised length, and the client must be able to
    notice."""
    p = t.put('shrinking.bin', os.urandom(8000000))
    with t.main.conn(rcvbuf=8192) as c:
        c.send('GET /shrinking.bin HTTP/1.1\r\nHost: a\r\n\r\n')
        c.recv(100)
        os.truncate(p, 1000)
        try:
            n = 0
            while True:
                d = c.recv(1 << 20)
                if not d:
                    break
                n += len(d)
            check(n < 8000000, 'got all of it')
        except (ConnectionResetError, ssl.SSLError):
            pass
    os.unlink(p)
