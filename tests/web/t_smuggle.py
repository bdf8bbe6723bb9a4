# SPDX-License-Identifier: Apache-2.0
"""Request smuggling: requests whose end two servers might see in different places,
compared with nginx.

A case is a GET for one file whose framing (Transfer-Encoding, Content-Length, the
chunks) is mutated. A second request is hidden where a body would be, and a last one
follows. Each file contains its own name, so the replies show which server took what for
a request. Our server may refuse anything, because then nobody is misled. What it
accepts nginx must accept, with the same requests in it. The RFC allows one thing that
nginx refuses: a tab around a field's value (9110, 5.6.3). Such a case is sent to nginx
with a space instead.

  t_smuggle.py OURS NGINX: compares servers on two ports; prints what differs"""
import os
import shutil
import socket
import subprocess
import sys
import time

from t_rfc import hear

if __name__ != '__main__':
    from harness import Skip, check, equal, test

LAST = b'GET /n/1.txt HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n'
INNER = b'GET /n/3.txt HTTP/1.1\r\nHost: inner\r\n\r\n'
CHUNKED = b'%x\r\n%s\r\n0\r\n\r\n' % (len(INNER), INNER)
ODD = [b'\t', b'\x0b', b'\x0c', b'\0', b'\x01', b'\x7f', b'\x85', b'\xa0', b'\xff', b'"', b"'",
       b',',
       b';', b':', b'/', b'\\', b'_', b'-', b'.', b'+', b'0', b'x', b'%20', b'(a)', b'\r', b'\n',
       b'\r\n', b'\r\n ', b'\r\n\t', b'\n ', b'  ']


def around(name, value, odd=ODD):
    """A field line with something odd in each place where a parser looks."""
    line = name + b': ' + value
    for o in odd:
        for at in (0, len(name) // 2, len(name), len(name) + 1, len(name) + 2,
                   len(name) + 2 + len(value) // 2, len(line)):
            yield line[:at] + o + line[at:]
    for end in (b'\n', b'\r', b'\r\r\n', b' \r\n', b'\t\r\n', b'\0\r\n', b'\n\r\n'):
        yield line + end + b'X: y'
    yield name + b':' + value
    yield name.upper() + b': ' + value.upper()
    yield name + b' : ' + value
    yield b'X: y\r\n' + line
    yield b'X: y\r' + line
    yield b'X: y\n' + line
    yield b'X: y\r\n ' + line


def codings():
    te = b'Transfer-Encoding'
    yield from around(te, b'chunked')
    for v in (b'', b'identity', b'identity, chunked', b'chunked, identity', b'chunked, chunked',
              b'gzip',
              b'gzip, chunked', b'chunked, gzip', b'xchunked', b'chunkedx', b'chunk', b'cHuNkEd',
              b',chunked',
              b'chunked,', b',,chunked', b'chunked;', b'chunked;q=1', b'"chunked"',
              b'chunked chunked',
              b'trailers', b'chunked, trailers', b'c\xc4\xa7unked', b'chun\xe2\x84\xaaed'):
        yield te + b': ' + v
    for v in (b'chunked', b'identity', b'', b'x'):
        yield te + b': chunked\r\n' + te + b': ' + v
        yield te + b': ' + v + b'\r\n' + te + b': chunked'
        yield b'TE: ' + v
    yield b'Transfer_Encoding: chunked'
    yield b'Transfer Encoding: chunked'
    yield b'Transfer-Encoding\r\n: chunked'
    yield b'Content-Encoding: chunked'
    yield b'X-Transfer-Encoding: chunked'


def lengths(n):
    cl, s = b'Content-Length', b'%d' % n
    yield from around(cl, s)
    for v in (b'', b'+' + s, b'-' + s, b'0' + s, b'000000000000000000000000' + s, b'0x%x' % n,
              s + b'.0', s + b'e0',
              s + b' 0', s + b',' + s, s + b', ' + s, s + b',0', b'0,' + s, s + b';',
              b'"' + s + b'"', s + b'h',
              b'%d' % (n + 2 ** 32), b'%d' % (n + 2 ** 64), b'%d' % (n - 2 ** 64), b'9' * 19,
              b'9' * 30, b'NaN',
              b'\xd9\xa1', b'\xef\xbc\x91', b'1_0', s[:1] + b'\r\n ' + s[1:]):
        yield cl + b': ' + v
    for v in (s, b'0', b'1', b'%d' % (n + 1), b'0' + s, b'', b'x'):
        yield cl + b': ' + s + b'\r\n' + cl + b': ' + v
        yield cl + b': ' + v + b'\r\n' + cl + b': ' + s
    yield b'Content_Length: ' + s
    yield b'Content Length: ' + s
    yield b'X-Content-Length: ' + s


def chunks():
    n = len(INNER)
    s = b'%x' % n
    tail = b'\r\n0\r\n\r\n'
    for o in ODD + [b';', b';a', b';a=b', b';a="b"', b';a="\r\n"', b';\n', b' ;a', b'; a',
    b'\n' + INNER]:
        for size in (o + s, s + o, s[:1] + o + s[1:]):
            yield size + b'\r\n' + INNER + tail
        yield s + b'\r\n' + o + INNER + tail
        yield s + b'\r\n' + INNER + o + tail
        for last in (o + b'0', b'0' + o):
            yield s + b'\r\n' + INNER + b'\r\n' + last + b'\r\n\r\n'
    for size in (b'', b'0x' + s, b'+' + s, b'-' + s, b'0' + s, b'0' * 30 + s,
                 b'%x' % (n + 2 ** 32), b'%x' % (n + 2 ** 64),
                 b'f' * 16, b'f' * 30, s.upper(), b'%d' % n, b'%x' % (n - 1), b'%x' % (n + 1),
                 b'%x' % (n + 2), b'g'):
        yield size + b'\r\n' + INNER + tail
    for end in (b'\n', b'\r', b'', b'\r\r\n', b'xx', b'\n\r'):
        yield s + end + INNER + tail
        yield s + b'\r\n' + INNER + end + b'0\r\n\r\n'
        yield s + b'\r\n' + INNER + b'\r\n0' + end + b'\r\n'
        yield s + b'\r\n' + INNER + b'\r\n0\r\n' + end
    for trailer in (b'X: y', b'Content-Length: 5', b'Transfer-Encoding: chunked', b'Host: b', b'X',
                    b' X: y', b'X : y',
                    b'X: y\n', b':', b'X: \0', INNER[:-4]):
        yield s + b'\r\n' + INNER + b'\r\n0\r\n' + trailer + b'\r\n\r\n'
    for zero in (b'00', b'000000000000000000000', b'0x0', b'-0', b'+0', b'0;a'):
        yield s + b'\r\n' + INNER + b'\r\n' + zero + b'\r\n\r\n'


def cases():
    """(head after the request line, body)"""
    whole = b'Content-Length: %d' % len(CHUNKED)
    line = CHUNKED.index(b'\n') + 1
    for te in codings():
        yield te, CHUNKED
        yield te + b'\r\n' + whole, CHUNKED
        yield b'Content-Length: %d\r\n' % line + te, CHUNKED[:-5] + b'\r\n'
        yield b'Content-Length: 0\r\n' + te, INNER
    for cl in lengths(len(INNER)):
        yield cl, INNER
        yield b'Transfer-Encoding: chunked\r\n' + cl, CHUNKED
    for c in chunks():
        yield b'Transfer-Encoding: chunked', c


def requests():
    for version in (b'1.1', b'1.0'):
        for head, body in cases():
            more = b'' if version == b'1.1' else b'Connection: keep-alive\r\n'
            yield (b'GET /n/2.txt HTTP/%s\r\nHost: a\r\n%s%s\r\n\r\n' % (version, more,
            head)) + body


def ask(port, raw):
    """The numbers of the files that were served, in this order; 0: a request was
    refused."""
    with socket.create_connection(('127.0.0.1', port)) as s:
        s.settimeout(60)
        try:
            s.sendall(raw + LAST)
            s.shutdown(socket.SHUT_WR)  # else a server could wait for more of a body
        except OSError:
            pass
        data, seen = hear(lambda: s.recv(65536)), []
    while data:
        head, _, data = data.partition(b'\r\n\r\n')
        if not head.startswith(b'HTTP/1.1 200'):
            return seen + [0]
        n = int(head.lower().partition(b'content-length: ')[2].split(b'\r')[0])
        seen.append(int(data[:n].split()[-1]))
        data = data[n:]
    return seen


def differs(ours, theirs):
    if ours and ours[-1] == 0:  # ours refused a request; the requests before it must agree
        return ours[:-1] != theirs[:len(ours) - 1]
    return ours != theirs


def compare(ours, theirs):
    wrong, n = [], 0
    for raw in requests():
        a, b = ask(ours, raw), ask(theirs, raw)
        if b == [0] and b'\t' in raw:
            b = ask(theirs, raw.replace(b'\t', b' '))
        n += 1
        if differs(a, b):
            wrong.append('%r: ours %s, nginx %s' % (raw, a, b))
    return wrong, n


CONF = """daemon off; worker_processes 1; pid %(dir)s/pid; error_log /dev/null crit; %(user)s
events { worker_connections 512; }
http { access_log off; client_body_temp_path %(dir)s/body; proxy_temp_path %(dir)s/a;
  fastcgi_temp_path %(dir)s/b; uwsgi_temp_path %(dir)s/c; scgi_temp_path %(dir)s/d;
  server { listen 127.0.0.1:%(port)d; root %(root)s; } }
"""


def start_nginx(t, program):
    """(process, port). The port was free a moment ago; if it is taken now, tries the
    next one."""
    for _ in range(20):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            port = s.getsockname()[1]
        conf = os.path.join(t.tmp, 'nginx.conf')
        with open(conf, 'w', encoding='utf-8') as f:
            f.write(CONF % {'dir': t.tmp, 'port': port, 'root': t.root,
                            'user': '' if os.geteuid() else 'user root;'})
        p = subprocess.Popen([program, '-c', conf, '-e', '/dev/null'])
        while p.poll() is None:
            try:
                socket.create_connection(('127.0.0.1', port)).close()
                return p, port
            except ConnectionRefusedError:
                time.sleep(0.02)
    raise AssertionError('nginx does not start')


if __name__ != '__main__':
    @test(tls=False, limit=900)
    def a_hidden_request_is_seen_by_nobody_or_by_nginx_too(t):
        program = shutil.which('nginx', path=os.environ['PATH'] + ':/usr/sbin')
        if not program or t.mode != 'uk':
            raise Skip('nginx judges, beside user threads')
        nginx, port = start_nginx(t, program)
        try:
            wrong, n = compare(t.main.port, port)
        finally:
            nginx.terminate()
            nginx.wait()
        check(n > 3000, n)
        equal(wrong, [], 'of %d cases' % n)


def main():
    wrong, n = compare(int(sys.argv[1]), int(sys.argv[2]))
    print('\n'.join(wrong))
    print('%d of %d differ' % (len(wrong), n))


if __name__ == '__main__':
    main()
