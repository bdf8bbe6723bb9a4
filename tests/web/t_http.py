# SPDX-License-Identifier: Apache-2.0
"""The protocol as well-behaved clients use it."""
import email.utils
import os
import random
import shutil
import subprocess
import time

from harness import Skip, check, equal, test
import reference


@test()
def a_page_is_served(t):
    before = time.time()
    r = t.main.get('/')
    equal((r.status, r.body, r['content-type']),
          (200, b'<h1>index</h1>\n', 'text/html; charset=utf-8'))
    when = email.utils.parsedate_to_datetime(r['date']).timestamp()
    check(before - 2 <= when <= time.time(), 'Date is off', r['date'])
    check(r['etag'].startswith('"') and r['last-modified'] and r['accept-ranges'] == 'bytes')
    equal(t.main.get('/empty.txt').body, b'')
    equal(t.main.get('/small.bin').body, t.small)
    equal(t.main.get('/large.bin').body, t.large)


@test()
def media_types_follow_the_extension(t):
    for ext, want in [('css', 'text/css; charset=utf-8'), ('svg', 'image/svg+xml'),
                      ('js', 'text/javascript; charset=utf-8'), ('png', 'image/png'),
                      ('json', 'application/json'), ('HTML', 'text/html; charset=utf-8'),
                      ('unknown_ext', 'application/octet-stream')]:
        equal(t.main.get('/m/x.' + ext)['content-type'], want)


@test()
def head_is_get_without_a_body(t):
    with t.main.conn() as c:
        for path in ('/', '/small.bin', '/large.bin', '/nope', '/dir', '/empty.txt'):
            h = c.request(path, 'HEAD')
            g = c.request(path)
            equal(h.status, g.status, path)
            for name in ('content-length', 'content-type', 'etag', 'location'):
                equal(h[name], g[name], path, name)


@test()
def a_connection_is_kept_alive(t):
    with t.main.conn() as c:
        for i in range(200):
            r = c.request('/n/%d.txt' % (i % 100))
            equal((r.status, r.body), (200, b'file number %d\n' % (i % 100)))
            check(r['connection'] is None)


@test()
def connection_close_is_honoured(t):
    for value in ('close', 'Close', 'foo, close', 'keep-alive, close'):
        with t.main.conn() as c:
            r = c.request('/', headers=[('Connection', value)])
            equal((r.status, r['connection']), (200, 'close'))
            c.at_end()


@test()
def http_1_0_closes_unless_asked(t):
    with t.main.conn() as c:
        c.send('GET / HTTP/1.0\r\n\r\n')
        r = c.response()
        equal((r.status, r.body, r['connection']), (200, b'<h1>index</h1>\n', 'close'))
        c.at_end()
    with t.main.conn() as c:
        for _ in range(3):
            c.send('GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n')
            equal(c.response()['connection'], 'keep-alive')


@test()
def other_methods_get_405_and_unknown_ones_501(t):
    with t.main.conn() as c:
        for m in ('POST', 'PUT', 'DELETE', 'PATCH', 'TRACE'):
            r = c.request('/', m, [('Content-Length', '3')], b'abc')
            equal((r.status, r['allow']), (405, 'GET, HEAD, OPTIONS'))
        r = c.request('/', 'OPTIONS')
        equal((r.status, r['allow'], r['content-length']), (204, 'GET, HEAD, OPTIONS', None))
        c.send('OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n')
        equal(c.response().status, 204)
        c.send('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n')
        equal(c.response().status, 405)
        equal(c.request('/').status, 200)
    for m in ('BREW', 'get', 'Get'):
        with t.main.conn() as c:
            c.send('%s / HTTP/1.1\r\nHost: a\r\n\r\n' % m)
            equal(c.response().status, 501)
            c.at_end()


@test()
def absolute_form_is_understood(t):
    with t.main.conn() as c:
        for target in ('http://localhost/dir/', 'HTTP://x.example:81/dir/?q', 'https://h/dir/'):
            c.send('GET %s HTTP/1.1\r\nHost: other\r\n\r\n' % target)
            equal(c.response().body, b'in a directory\n', target)
        c.send('GET http://localhost HTTP/1.1\r\nHost: a\r\n\r\n')
        equal(c.response().body, b'<h1>index</h1>\n')
        c.send('GET http://localhost?x=y HTTP/1.1\r\nHost: a\r\n\r\n')
        equal(c.response().body, b'<h1>index</h1>\n')


@test()
def paths_are_decoded_and_normalised(t):
    with t.main.conn() as c:
        for path, body in [('/with%20space.txt', b'space\n'), ('/%C3%BC.txt', b'umlaut\n'),
                           ('/100%25.txt', b'percent\n'), ('/%64ir/', b'in a directory\n'),
                           ('/./dir/./', b'in a directory\n'), ('//dir//', b'in a directory\n'),
                           ('/noindex/../dir/', b'in a directory\n'),
                           ('/dir/x/..', b'in a directory\n'), ('/dir/.', b'in a directory\n'),
                           ('/dir/?a=/../b', b'in a directory\n'),
                           ('/ü.txt', b'umlaut\n'), ('/dir/../ü.txt?ö', b'umlaut\n'),
                           ('/dir/index.html?', b'in a directory\n')]:
            r = c.request(path.encode().decode('latin-1'))
            equal((r.status, r.body), (200, body), path)
        for path in ('/nope', '/n/0.txt/', '/noindex/', '/a%2fb', '/dir/index.html/x'):
            equal(c.request(path).status, 404, path)


@test()
def a_directory_without_its_slash_is_redirected(t):
    with t.main.conn() as c:
        for path, want in [('/dir', '/dir/'), ('/dir?a=1&b', '/dir/?a=1&b'),
                           ('/%64ir', '/dir/'), ('//dir', '/dir/'), ('/n/../dir', '/dir/')]:
            r = c.request(path)
            equal((r.status, r['location']), (301, want))
        r = c.request('/dir?ö=\xff'.encode()[:-2].decode('latin-1'))
        equal((r.status, r['location']), (301, '/dir/?%C3%B6='))
        for path in ('//evil.example', '//evil.example/%2e%2e', '/%5cevil.example'):
            r = c.request(path)
            to = r['location']
            check(to is None if r.status != 301 else to[0] == '/' and to[1:2] != '/', path, to)


@test()
def conditions_follow_the_order_of_the_rfc(t):
    with t.main.conn() as c:
        r = c.request('/small.bin')
        etag, mod = r['etag'], r['last-modified']
        old = 'Sun, 06 Nov 1994 08:49:37 GMT'
        new = 'Fri, 31 Dec 2100 23:59:59 GMT'
        cases = [
            ([('If-None-Match', etag)], 304),
            ([('If-None-Match', 'W/' + etag)], 304),
            ([('If-None-Match', '"x", %s' % etag)], 304),
            ([('If-None-Match', '*')], 304),
            ([('If-None-Match', '"x"')], 200),
            ([('If-None-Match', '"x')], 200),
            ([('If-None-Match', '"x"'), ('If-Modified-Since', mod)], 200),
            ([('If-Modified-Since', mod)], 304),
            ([('If-Modified-Since', new)], 304),
            ([('If-Modified-Since', old)], 200),
            ([('If-Modified-Since', 'Sunday, 06-Nov-94 08:49:37 GMT')], 200),
            ([('If-Modified-Since', 'Sun Nov  6 08:49:37 1994')], 200),
            ([('If-Modified-Since', 'Fri Dec 31 23:59:59 2100')], 304),
            ([('If-Modified-Since', 'yesterday')], 200),
            ([('If-Match', etag)], 200),
            ([('If-Match', '*')], 200),
            ([('If-Match', 'W/' + etag)], 412),
            ([('If-Match', '"x"')], 412),
            ([('If-Match', '"x"'), ('If-None-Match', etag)], 412),
            ([('If-Match', etag), ('If-None-Match', etag)], 304),
            ([('If-Unmodified-Since', old)], 412),
            ([('If-Unmodified-Since', mod)], 200),
            ([('If-Match', etag), ('If-Unmodified-Since', old)], 200),
        ]
        for headers, want in cases:
            r = c.request('/small.bin', headers=headers)
            equal(r.status, want, headers)
            if want == 304:
                equal((r['etag'], r['content-length']), (etag, None))
            equal(r.body, t.small if want == 200 else r.body)


def one_range(t, c, path, data, field):
    r = c.request(path, headers=[('Range', field)])
    want = reference.ranges(field, len(data))
    if want is None:
        equal((r.status, len(r.body)), (200, len(data)), field)
    elif not want:
        equal((r.status, r['content-range']), (416, 'bytes */%d' % len(data)), field)
    elif len(want) == 1:
        a, b = want[0]
        equal((r.status, r['content-range']), (206, 'bytes %d-%d/%d' % (a, b, len(data))), field)
        check(r.body == data[a:b + 1], 'bytes differ', field)
    else:
        equal(r.status, 206, field)
        parts = reference.split_multipart(r.body, r['content-type'])
        equal([p[0] for p in parts], ['bytes %d-%d/%d' % (a, b, len(data)) for a, b in want])
        for (a, b), p in zip(want, parts):
            check(p[2] == data[a:b + 1], 'bytes of a part differ', field)


@test(limit=60)
def ranges_agree_with_the_reference(t):
    rnd = random.Random(t.seed)

    def spec(n):
        k = rnd.choice([0, 1, 2, 5, n // 2, n - 2, n - 1, n, n + 1, 10 ** 9, 10 ** 25])
        j = rnd.choice([k, k + 1, k + 10, n - 1, n, n * 2, max(0, k - 1)])
        return rnd.choice(['%d-%d' % (k, j), '%d-' % k, '-%d' % k, '', ' %d-%d ' % (k, j),
                           '-', 'x', '%d' % k, '%d-%d-' % (k, j)][:rnd.choice([5, 5, 9])])
    fixed = ['bytes=0-0', 'bytes=-1', 'bytes=0-', 'bytes=9999-', 'bytes=10000-', 'bytes=-0',
             'bytes=', 'bytes=,', 'bytes', 'BYTES=0-4', 'items=0-4', 'bytes =0-4', 'bytes=4-2',
             'bytes=0-1,5-6,-2', 'bytes=0-9999,0-9999', 'bytes=' + ','.join(['0-0'] * 17),
             'bytes=' + ','.join(['%d-%d' % (i, i) for i in range(16)]),
             'bytes=' + ','.join(['0-0'] * 70), 'bytes=1-1,,2-2', 'bytes=99999-,1-1']
    for path, data, rounds in [('/small.bin', t.small, 300), ('/large.bin', t.large, 60),
                               ('/empty.txt', b'', 30), ('/n/5.txt', b'file number 5\n', 100)]:
        with t.main.conn() as c:
            for field in fixed:
                one_range(t, c, path, data, field)
            for _ in range(rounds):
                one_range(t, c, path, data, 'bytes=' + ','.join(
                    spec(len(data)) for _ in range(rnd.choice([1, 1, 2, 3]))))


@test()
def if_range_guards_a_range(t):
    with t.main.conn() as c:
        r = c.request('/small.bin')
        etag, mod = r['etag'], r['last-modified']
        for value, want in [(etag, 206), ('W/' + etag, 200), ('"x"', 200), (mod, 206),
                            ('Sun, 06 Nov 1994 08:49:37 GMT', 200), ('junk', 200)]:
            r = c.request('/small.bin', headers=[('Range', 'bytes=0-4'), ('If-Range', value)])
            equal(r.status, want, value)
        r = c.request('/small.bin', 'HEAD', [('Range', 'bytes=0-4')])
        equal((r.status, r['content-length']), (200, '10000'))


@test()
def expect_100_continue(t):
    with t.main.conn() as c:
        c.send('GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
        equal(c.response().status, 100)
        c.send('hello')
        equal(c.response().status, 200)
        c.send('GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n')
        equal(c.response().status, 200)
    with t.main.conn() as c:
        c.send('POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n')
        equal(c.response().status, 405)
        c.at_end()
    with t.main.conn() as c:
        c.send('GET / HTTP/1.1\r\nHost: a\r\nExpect: the-moon\r\n\r\n')
        equal(c.response().status, 417)


@test()
def bodies_are_dropped_to_their_exact_end(t):
    chunked = (b'5\r\nhello\r\n', b'00a;x="y"\r\n0123456789\r\n', b'1 \t;a\r\nx\r\n',
               b'1 ; a = b ;c\r\nx\r\n', b'0\r\n',
               b'Trailer: 1\r\n', b'\r\n')
    with t.main.conn() as c:
        for _ in range(3):
            c.send(b'POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n' + b'x' * 20000
                   + b'GET /n/1.txt HTTP/1.1\r\nHost: a\r\n\r\n')
            equal(c.response().status, 405)
            equal(c.response().body, b'file number 1\n')
            c.send(b'POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n' +
                   b''.join(chunked) + b'GET /n/2.txt HTTP/1.1\r\nHost: a\r\n\r\n')
            equal(c.response().status, 405)
            equal(c.response().body, b'file number 2\n')
        c.send('GET /n/3.txt HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n')
        for piece in chunked:
            for i in range(len(piece)):
                c.send(piece[i:i + 1])
                time.sleep(0.0005)
        equal(c.response().body, b'file number 3\n')
        # Nearly as large as the buffers, at every alignment.
        for n in list(range(400, 530, 3)) + list(range(1990, 2060, 3)):
            pad = 'x' * n
            c.send('POST /a HTTP/1.1\r\nHost: a\r\nX: %s\r\nContent-Length: 300\r\n\r\n%s'
                   'GET /n/4.txt HTTP/1.1\r\nHost: a\r\n\r\n' % (pad, 'y' * 300))
            equal(c.response().status, 405)
            equal(c.response().body, b'file number 4\n')


@test()
def pipelining_a_thousand_requests_in_one_write(t):
    rnd = random.Random(t.seed)
    wants, out = [], []
    for i in range(1000):
        k = rnd.randrange(100)
        kind = rnd.randrange(10)
        if kind < 7:
            out.append('GET /n/%d.txt HTTP/1.1\r\nHost: a\r\n\r\n' % k)
            wants.append((200, b'file number %d\n' % k, False))
        elif kind == 7:
            out.append('HEAD /n/%d.txt HTTP/1.1\r\nHost: a\r\n\r\n' % k)
            wants.append((200, b'', True))
        elif kind == 8:
            out.append('GET /small.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=%d-%d\r\n\r\n'
                       % (k, k + 9))
            wants.append((206, t.small[k:k + 10], False))
        else:
            out.append('GET /nope%d HTTP/1.1\r\nHost: a\r\n\r\n' % k)
            wants.append((404, None, False))
    with t.main.conn() as c:
        c.send(''.join(out))
        for status, body, head in wants:
            r = c.response(head)
            equal(r.status, status)
            if body is not None:
                equal(r.body, body)
        equal(c.request('/').status, 200)


@test(limit=60)
def the_way_bytes_are_chopped_does_not_matter(t):
    rnd = random.Random(t.seed)
    reqs = [b'GET /n/7.txt HTTP/1.1\r\nHost: a\r\nUser-Agent: chop\r\n\r\n',
            b'\r\nGET /small.bin HTTP/1.1\r\nHost: a\r\nRange: bytes=5-9\r\n\r\n',
            b'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
            b'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789',
            b'GET /dir HTTP/1.1\r\nHost: a\r\nX: ' + b'y' * 3000 + b'\r\n\r\n']
    wants = [(200, b'file number 7\n'), (206, t.small[5:10]), (405, None), (405, None),
             (301, None)]
    for round_ in range(25):
        order = [rnd.randrange(len(reqs)) for _ in range(8)]
        data = b''.join(reqs[k] for k in order)
        with t.main.conn() as c:
            i = 0
            while i < len(data):
                n = rnd.choice([1, 2, 3, 7, 50, 500, 5000])
                c.send(data[i:i + n])
                i += n
                if rnd.random() < 0.1:
                    time.sleep(0.001)
            for k in order:
                r = c.response()
                equal(r.status, wants[k][0], 'round', round_)
                if wants[k][1] is not None:
                    equal(r.body, wants[k][1])


@test()
def a_changed_file_shows_within_the_cache_time(t):
    p = t.put('changing.txt', b'one\n')

    def see(c, what):
        end = time.monotonic() + 30
        while True:
            r = c.request('/changing.txt')
            if (r.body if r.status == 200 else r.status) == what:
                return r
            check(time.monotonic() < end, 'not seen', what, r.body)
            time.sleep(0.02)
    with t.main.conn() as c:
        r = see(c, b'one\n')
        with open(p + '.new', 'wb') as f:
            f.write(b'two!\n')
        os.rename(p + '.new', p)
        check(see(c, b'two!\n')['etag'] != r['etag'])
        with open(p, 'wb') as f:
            f.write(b'three in place\n')
        see(c, b'three in place\n')
        os.unlink(p)
        see(c, 404)


@test()
def curl_agrees(t):
    if not shutil.which('curl'):
        raise Skip('no curl')
    url = '%s://localhost:%d' % ('https' if t.tls else 'http', t.main.port)
    base = ['curl', '-sS', '--http1.1', '--max-time', '100', '--noproxy', '*', '--resolve',
            'localhost:%d:127.0.0.1' % t.main.port, '--cacert', t.cert]

    def curl(*args):
        return subprocess.run(base + list(args), check=True, stdout=subprocess.PIPE).stdout
    equal(curl(url + '/small.bin'), t.small)
    equal(curl('-r', '100-199', url + '/large.bin'), t.large[100:200])
    equal(curl('-L', url + '/dir'), b'in a directory\n')
    equal(curl('-o', '/dev/null', '-w', '%{http_code} %{num_connects}', url + '/', url + '/dir/',
               '-o', '/dev/null'), b'200 1200 0')
    equal(curl('-o', '/dev/null', '-w', '%{http_code}', '-d', 'x' * 3000, url + '/'), b'405')
    equal(curl('-o', '/dev/null', '-w', '%{http_code}', '-T', os.path.join(t.root, 'small.bin'),
               url + '/'), b'405')
    equal(curl('-o', '/dev/null', '-w', '%{http_code}', '-z', 'Sun, 01 Jan 2040 00:00:00 GMT', url + '/'), b'304')
    equal(curl('--http1.0', url + '/n/1.txt'), b'file number 1\n')
    check(b'200 OK' in curl('-I', url + '/'))
