# SPDX-License-Identifier: Apache-2.0
"""What only TLS has. Every other test runs over TLS as well, with --tls."""
import os
import shutil
import signal
import socket
import ssl
import subprocess
import time

from harness import Skip, check, equal, test


def s_client(t, *args, data=b'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'):
    p = subprocess.run(['openssl', 's_client', '-connect', '127.0.0.1:%d' % t.main.port,
                        '-CAfile', t.cert, '-quiet', '-no_ign_eof'][:6] + ['-ign_eof'] + list(args),
                       input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=15)
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
        c.at_end()  # raises SSLEOFError where the notice is missing
    with t.main.conn() as c:
        c.send('BAD\r\n\r\n')
        equal(c.response().status, 400)
        c.at_end()


@test(plain=False)
def a_handshake_that_stalls_is_ended(t):
    with socket.create_connection(('127.0.0.1', t.short().port)) as s:
        s.settimeout(60)
        s.send(b'\x16\x03\x01\x02\x00')
        check(s.recv(100) == b'')


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
        equal(c.request('/').status, 200)  # the old connection lives on
    shutil.copy('/dev/null', paths[0])
    s.signal(signal.SIGHUP)
    time.sleep(0.3)
    check('two' in subject(), 'a bad file must not replace a good one')
    equal(s.stop(), 0)
