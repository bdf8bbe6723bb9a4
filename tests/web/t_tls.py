# SPDX-License-Identifier: Apache-2.0
"""What only TLS has. With --tls, every other test runs over TLS as well."""
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time

from harness import Skip, check, equal, need_files, test


def s_client(t, *args, data=b'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'):
    p = subprocess.run(['openssl', 's_client', '-connect', '127.0.0.1:%d' % t.main.port,
                        '-CAfile', t.cert, '-quiet', '-no_ign_eof'][:6] + ['-ign_eof'] + list(args),
                       input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=100)
    return p.stdout


@test(plain=False)
def openssl_s_client_agrees(t):
    for version in ('-tls1_2', '-tls1_3'):
        out = s_client(t, version)
        check(b'HTTP/1.1 200 OK' in out and b'<h1>index</h1>' in out, version, out[-300:])
        check(b'Verify return code: 0 (ok)' in out, version)
    check(b'ALPN protocol: http/1.1' in s_client(t, '-alpn', 'h2,http/1.1'))
    check(b'200 OK' not in s_client(t, '-tls1_1', '-cipher', 'DEFAULT@SECLEVEL=0'))


@test(plain=False)
def sessions_are_resumed(t):
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        ctx = t.new_ctx()
        ctx.minimum_version = ctx.maximum_version = version
        with t.main.conn(ctx=ctx) as c:
            equal(c.request('/').status, 200)
            session = c.s.session
            check(not c.s.session_reused)
        with t.main.conn(ctx=ctx, session=session) as c:
            check(c.s.session_reused, version)
            equal(c.request('/').status, 200)


@test(plain=False)
def the_end_is_a_close_notify(t):
    with t.main.conn() as c:
        equal(c.request('/', headers=[('Connection', 'close')]).status, 200)
        c.at_end()  # raises SSLEOFError if the close_notify is missing
    with t.main.conn() as c:
        c.send('BAD\r\n\r\n')
        equal(c.response().status, 400)
        c.at_end()


@test(plain=False)
def a_handshake_that_stalls_is_ended(t):
    with socket.create_connection(('127.0.0.1', t.server('--timeout=handshake=2').port)) as s:
        s.settimeout(60)
        s.send(b'\x16\x03\x01\x02\x00')
        check(s.recv(100) == b'')


@test(plain=False)
def a_cut_is_no_end_of_a_request(t):
    """The end of TCP without a close_notify: a complete request is answered, an
    incomplete one is dropped."""
    for raw, want in [('GET / HTTP/1.1\r\nHost: a\r\n\r\n', 200),
                      ('GET / HTTP/1.1\r\nHost: a\r\n', None),
                      ('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12345', None)]:
        with t.main.conn() as c:
            c.send(raw)
            socket.socket.shutdown(c.s, socket.SHUT_WR)
            if want:
                equal(c.response().status, want)
            try:
                got = c.recv()  # its body is cut short
                check(raw[:4] == 'POST' and got.startswith(b'HTTP/1.1 400 ') or not got, raw, got)
            except (ConnectionResetError, ssl.SSLEOFError):
                pass
    equal(t.main.get('/').status, 200)


class SClient:
    """An interactive openssl s_client: a line of one letter is a command."""

    def __init__(self, t, version):
        self.p = subprocess.Popen(['openssl', 's_client', '-connect',
                                   '127.0.0.1:%d' % t.main.port, version, '-CAfile', t.cert],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.out = b''

    def type(self, line, answer):
        os.write(self.p.stdin.fileno(), line)
        self.until(answer)

    def until(self, answer):
        while answer not in self.out:
            d = os.read(self.p.stdout.fileno(), 4096)
            check(d, answer, self.out)
            self.out += d
        self.out = self.out.split(answer, 1)[1]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.p.kill()
        self.p.communicate()


@test(plain=False)
def renegotiation_is_refused_and_new_keys_are_taken(t):
    with SClient(t, '-tls1_2') as c:
        c.until(b'Verify return code')
        c.type(b'R\n', b'RENEGOTIATING')
        c.until(b'no renegotiation')
    with SClient(t, '-tls1_3') as c:
        c.until(b'Verify return code')
        for i in range(20):
            c.type(b'k\n' if i % 2 else b'K\n', b'KEYUPDATE')
        c.type(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n', b'HTTP/1.1 200 OK')
        c.until(b'<h1>index</h1>')
    equal(t.main.get('/').status, 200)


@test(plain=False)
def plain_http_is_told_to_use_https(t):
    with socket.create_connection(('127.0.0.1', t.main.port)) as s:
        s.settimeout(60)
        s.send(b'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
        data = b''
        while True:
            d = s.recv(1000)
            if not d:
                break
            data += d
        check(data.startswith(b'HTTP/1.1 400 ') and b'HTTPS' in data, data)


@test(plain=False)
def noise_in_a_handshake_is_survived(t):
    import random
    rnd = random.Random(t.seed)
    for _ in range(100):
        with socket.create_connection(('127.0.0.1', t.main.port)) as s:
            s.send(b'\x16\x03\x01' + rnd.randbytes(rnd.randrange(1, 300)))
    equal(t.main.get('/').status, 200)


@test(plain=False)
def sighup_loads_a_new_certificate(t):
    t.make_cert('cert2.pem', 'key2.pem', 'one')
    paths = [os.path.join(t.tmp, n) for n in ('cert2.pem', 'key2.pem')]
    s = t.server('--tls-cert=' + paths[0], '--tls-key=' + paths[1])

    def subject():
        pem = ssl.get_server_certificate(('127.0.0.1', s.port))
        return subprocess.run(['openssl', 'x509', '-noout', '-subject'], input=pem.encode(),
                              stdout=subprocess.PIPE, check=True).stdout.decode()
    check('one' in subject(), subject())
    ctx = ssl.create_default_context(cafile=paths[0])
    with s.conn(ctx=ctx) as c:
        equal(c.request('/').status, 200)
        t.make_cert('cert2.pem', 'key2.pem', 'two')
        s.signal(signal.SIGHUP)
        end = time.monotonic() + 60
        while 'two' not in subject() and time.monotonic() < end:
            time.sleep(0.05)
        check('two' in subject(), subject())
        equal(c.request('/').status, 200)  # the old connection stays usable
    shutil.copy('/dev/null', paths[0])
    s.signal(signal.SIGHUP)
    time.sleep(0.3)
    check('two' in subject(), 'a bad file must not replace a good one')
    equal(s.stop(), 0)


def numbers(s):
    """/metrics, when only its reader is connected."""
    while True:
        text = s.get('/metrics').body.decode()
        m = dict(ln.rsplit(' ', 1) for ln in text.splitlines() if not ln.startswith('#'))
        if int(m['ukweb_connections']) == 1:
            return {k: int(v) for k, v in m.items() if v.isdigit()}
        time.sleep(0.02)


def handshakes(t, s, n):
    """Complete handshakes, resumed ones, aborted ones, and bytes that are no
    handshake."""
    for i in range(n // 4):
        with s.conn() as c:
            equal(c.request('/', headers=[('Connection', 'close')]).status, 200)
            c.at_end()
            session = c.s.session
        with s.conn(session=session) as c:
            equal(c.request('/').status, 200)
        with socket.create_connection(('127.0.0.1', s.port)) as c:
            c.sendall(b'\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03' + b'x' * (i % 64))
        with s.conn() as c:
            c.send('GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n')
            c.reset()


@test(plain=False, limit=300)
def handshakes_leave_nothing_behind(t):
    """By malloc's count, without its caches: what a kernel thread keeps in them is no
    leak. A carrier that uses OpenSSL for the first time keeps some KB of its state per
    thread. There are few carriers, so some round has no new one, while a leak is in
    every round."""
    s = t.server('--timeout=cache=1h,handshake=1000',
                 env={'GLIBC_TUNABLES': 'glibc.malloc.tcache_count=0'})
    rounds, n, used = [], 400, 'ukweb_heap_used_bytes'
    handshakes(t, s, n)
    last = numbers(s)
    if not last[used]:
        raise Skip('this malloc does not count')
    while len(rounds) < 20:
        handshakes(t, s, n)
        m = numbers(s)
        rounds.append(m[used] - last[used])
        last = m
        if rounds[-1] < 8 * n:
            break
    else:
        check(False, 'bytes left by %d handshakes, and again:' % n, rounds)
    equal(s.stop(), 0)


@test(plain=False, limit=900)
def ten_thousand_connections_are_kept_alive(t):
    """In `make check` (UK_TEST_FULL). Each connection makes a request at once and
    another one at the end."""
    if not os.environ.get('UK_TEST_FULL'):
        raise Skip('make check runs it')
    if t.mode == 'pth':
        raise Skip('a kernel thread has its own price')
    n = 10000
    need_files(n + 500)
    s = t.server('--timeout=idle=10000,header=10000', '--limit=conns=20000',
                 nofile=n + 500)
    cs = []
    for i in range(n):
        cs.append(s.conn(600))
        equal(cs[-1].request('/n/%d.txt' % (i % 100)).status, 200)
    for i, c in enumerate(cs):
        equal(c.request('/n/%d.txt' % (i % 100)).body, b'file number %d\n' % (i % 100))
        c.close()
    m = numbers(s)
    equal(m['ukweb_tls_failures_total'] + m['ukweb_timeouts_total'] +
          m['ukweb_aborts_total'] + m['ukweb_refused_total'], 0)
    equal(s.stop(), 0)
