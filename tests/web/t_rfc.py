# SPDX-License-Identifier: Apache-2.0
"""RFC 9110 and 9112, case by case: what each byte means in each place, and the forms of
length, chunk, host, target and version.

Every case is one or more requests in one piece, followed by a last valid request. A
case that must be refused must get one reply and the end of the connection. A case that
is accepted must leave the stream at the first byte of what follows: then the last
request is answered, and nothing else. So a server that is out of step by one byte
fails, whatever it replies.

  t_rfc.py PORT: the same with any server on this machine; prints what differs"""
import re
import socket
import string
import sys

if __name__ != '__main__':
    from harness import check, equal, test

LAST = b'GET /n/1.txt HTTP/1.1\r\nHost: last\r\nConnection: close\r\n\r\n'
GOOD = b'GET /n/2.txt HTTP/1.1\r\nHost: a\r\n'
POST = b'POST /n/2.txt HTTP/1.1\r\nHost: a\r\n'
TCHAR = set(("!#$%&'*+-.^_`|~" + string.ascii_letters + string.digits).encode())
# Allowed, or tolerated by a lenient server (9112, 3.2); such a path does not exist.
URI = set(("-._~!$&'()*+,;=:@/?" + string.ascii_letters + string.digits).encode())
FORGIVEN = set(b'"<>[\\]^`{|}')
REFUSE, NO_METHOD = (400,), (405, 501)


def bytes_everywhere():
    for b in range(256):
        c = bytes([b])
        name = '%02x' % b
        if b not in b' \r\nE':
            yield ('method ' + name, b'G' + c + b'T / HTTP/1.1\r\nHost: a\r\n\r\n',
                   NO_METHOD if b in TCHAR else REFUSE)
        if b not in b' %#\n?':
            yield ('target ' + name, b'GET /n' + c + b'b HTTP/1.1\r\nHost: a\r\n\r\n',
                   (404,) if b in URI else (400, 404) if b in FORGIVEN else REFUSE)
            yield ('query ' + name, b'GET /n/2.txt?' + c + b'b HTTP/1.1\r\nHost: a\r\n\r\n',
                   (200,) if b in URI else (400, 200) if b in FORGIVEN else REFUSE)
        yield ('field name ' + name, GOOD + b'X' + c + b'y: z\r\n\r\n',
               (200,) if b in TCHAR or b == 0x3a else REFUSE)
        yield ('field name begins with ' + name, GOOD + c + b'y: z\r\n\r\n',
               (200,) if b in TCHAR else REFUSE)
        yield ('field value ' + name, GOOD + b'X: y' + c + b'z\r\n\r\n',
               (200,) if b in b' \t' or 0x21 <= b and b != 0x7f else REFUSE)
        yield ('host ' + name, b'GET /n/2.txt HTTP/1.1\r\nHost: a' + c + b'z\r\n\r\n',
               (200, 400) if b in TCHAR or b in b"()*,;=:[]" else REFUSE)
        yield ('length ' + name, POST + b'Content-Length: 1' + c + b'\r\n\r\nx',
               NO_METHOD if chr(b) in ' \t' else REFUSE if chr(b) not in string.digits else None)
        yield ('chunk size ' + name, POST + b'Transfer-Encoding: chunked\r\n\r\n' + c +
               b'\r\n' + b'x' * int(chr(b), 16) + b'\r\n0\r\n\r\n'
               if chr(b) in string.hexdigits and chr(b) != '0' else
               POST + b'Transfer-Encoding: chunked\r\n\r\n' + c + b'\r\nx\r\n0\r\n\r\n',
               NO_METHOD if chr(b) in string.hexdigits and chr(b) != '0' else REFUSE
               if chr(b) != '0' else None)
        yield ('chunk end ' + name, POST + b'Transfer-Encoding: chunked\r\n\r\n1\r\nx' + c +
               b'\n0\r\n\r\n', NO_METHOD if b == 0x0d else REFUSE)


def versions():
    for v, want in [(b'HTTP/1.1', (200,)), (b'HTTP/1.2', (200,)), (b'HTTP/1.9', (200,)),
                    (b'HTTP/2.0', (505,)), (b'HTTP/3.0', (505,)), (b'HTTP/0.9', (400, 505)),
                    (b'HTTP/1', REFUSE), (b'HTTP/1.', REFUSE), (b'HTTP/.1', REFUSE),
                    (b'HTTP/1.10', REFUSE), (b'HTTP/01.1', REFUSE), (b'HTTP/1.1.1', REFUSE),
                    (b'HTTP/1,1', REFUSE), (b'HTTP/ 1.1', REFUSE), (b'HTTP /1.1', REFUSE),
                    (b'http/1.1', REFUSE), (b'HtTP/1.1', REFUSE), (b'HTTPS/1.1', REFUSE),
                    (b'HTTP/A.1', REFUSE), (b'HTTP/1.A', REFUSE), (b'HTTP/-1.1', REFUSE),
                    (b'HTTP/+1.1', REFUSE), (b'FTP/1.1', REFUSE), (b'HTTP', REFUSE),
                    (b'HTTP/', REFUSE), (b'HTTP/1.1 ', REFUSE), (b'HTTP/1.1\t', REFUSE),
                    (b'HTTP/1.1 x', REFUSE), (b'HTTP/1.1\0', REFUSE), (b'', REFUSE),
                    (b'\x00', REFUSE), (b'HTTP/11.1', (400, 505)), (b'HTTP\\1.1', REFUSE)]:
        yield 'version %r' % v, b'GET /n/2.txt ' + v + b'\r\nHost: a\r\n\r\n', want


def lines():
    for name, raw, want in [
            ('empty lines before', b'\r\n\r\n' + GOOD + b'\r\n', (200,)),
            ('bare LF ends the line', GOOD.replace(b'\r\n', b'\n') + b'\n', REFUSE),
            ('bare CR in the request line', b'GET /n/2.txt\rHTTP/1.1\r\nHost: a\r\n\r\n', REFUSE),
            ('CR CR LF', GOOD + b'X: y\r\r\n\r\n', REFUSE),
            ('LF ends the head', GOOD + b'X: y\r\n\n', REFUSE),
            ('two spaces', b'GET  /n/2.txt HTTP/1.1\r\nHost: a\r\n\r\n', REFUSE),
            ('two spaces before the version', b'GET /n/2.txt  HTTP/1.1\r\nHost: a\r\n\r\n', REFUSE),
            ('a space first', b' GET /n/2.txt HTTP/1.1\r\nHost: a\r\n\r\n', REFUSE),
            ('a tab between', b'GET\t/n/2.txt HTTP/1.1\r\nHost: a\r\n\r\n', REFUSE),
            ('VT between', b'GET\x0b/n/2.txt HTTP/1.1\r\nHost: a\r\n\r\n', REFUSE),
            ('space before the colon', GOOD + b'X : y\r\n\r\n', REFUSE),
            ('tab before the colon', GOOD + b'X\t: y\r\n\r\n', REFUSE),
            ('no colon', GOOD + b'X\r\n\r\n', REFUSE), ('no name', GOOD + b': y\r\n\r\n', REFUSE),
            ('only a colon', GOOD + b':\r\n\r\n', REFUSE),
            ('folded', GOOD + b'X: y\r\n z\r\n\r\n', REFUSE),
            ('folded by a tab', GOOD + b'X: y\r\n\tz\r\n\r\n', REFUSE),
            ('folded, empty', GOOD + b'X: y\r\n \r\n\r\n', REFUSE),
            ('space before the first field', b'GET /n/2.txt HTTP/1.1\r\n Host: a\r\n\r\n', REFUSE),
            ('white space around a value', GOOD + b'X: \t y \t \r\n\r\n', (200,)),
            ('no space before a value', GOOD + b'X:y\r\n\r\n', (200,)),
            ('an empty value', GOOD + b'X:\r\n\r\n', (200,)),
            ('a value of spaces', GOOD + b'X:   \r\n\r\n', (200,)),
            ('the same field twice', GOOD + b'X: y\r\nX: z\r\n\r\n', (200,))]:
        yield name, raw, want


def hosts_and_targets():
    def host(h):
        return b'GET /n/2.txt HTTP/1.1\r\n' + h + b'\r\n'
    for h, want in [(b'', REFUSE), (b'Host: a\r\nHost: a\r\n', REFUSE),
                    (b'Host: a\r\nHost: b\r\n', REFUSE), (b'Host:\r\n', (200, 400)),
                    (b'Host: a:80\r\n', (200,)), (b'Host: a:\r\n', (200,)),
                    (b'Host: [::1]\r\n', (200,)), (b'Host: [::1]:80\r\n', (200,)),
                    (b'Host: 127.0.0.1:65535\r\n', (200,)), (b'Host: a:b\r\n', REFUSE),
                    (b'Host: a:80:80\r\n', REFUSE), (b'Host: a b\r\n', REFUSE),
                    (b'Host: a, b\r\n', REFUSE), (b'Host: u@a\r\n', REFUSE),
                    (b'Host: a/b\r\n', REFUSE), (b'Host: http://a\r\n', REFUSE),
                    (b'hOST: a\r\n', (200,)), (b'Host : a\r\n', REFUSE)]:
        yield 'host field %r' % h, host(h), want
    yield 'no host in 1.0', b'GET /n/2.txt HTTP/1.0\r\nConnection: keep-alive\r\n\r\n', (200,)
    for x, want in [(b'/n/2.txt', (200,)), (b'http://a/n/2.txt', (200,)),
                    (b'HTTP://A:80/n/2.txt', (200,)), (b'https://a/n/2.txt', (200, 400)),
                    (b'http://a', (200,)), (b'http://a?x', (200, 400)), (b'http:///n', REFUSE),
                    (b'http://', REFUSE), (b'http:/n', REFUSE), (b'ftp://a/n', REFUSE),
                    (b'http://u:p@a/', REFUSE), (b'a', REFUSE), (b'n/2.txt', REFUSE), (b'*', REFUSE),
                    (b'?x', REFUSE), (b'/n/2.txt#f', REFUSE), (b'/n/%32.txt', (200,)),
                    (b'/n/%', REFUSE), (b'/n/%3', REFUSE), (b'/n/%g0', REFUSE),
                    (b'/n/%00', (400, 404)), (b'/../n/2.txt', (400, 404)),
                    (b'/%2e%2e/n/2.txt', (400, 404)), (b'/x/../n/2.txt', (200, 404)),
                    (b'//n/2.txt', (200, 400, 404)), (b'/n/%2f2.txt', (400, 404, 200)),
                    (b'/n//2.txt', (200, 404))]:
        yield 'target %r' % x, b'GET ' + x + b' HTTP/1.1\r\nHost: a\r\n\r\n', want
    for m, target, want in [(b'OPTIONS', b'*', (200, 204, 405)), (b'OPTIONS', b'/', (200, 204, 405)),
                            (b'CONNECT', b'a:80', (400, 405, 501)), (b'TRACE', b'/', NO_METHOD),
                            (b'DELETE', b'/n/2.txt', NO_METHOD), (b'PUT', b'/n/2.txt', NO_METHOD),
                            (b'PATCH', b'/n/2.txt', NO_METHOD), (b'get', b'/n/2.txt', NO_METHOD + (400,)),
                            (b'GETT', b'/n/2.txt', NO_METHOD), (b'X' * 40, b'/', NO_METHOD + (400,))]:
        yield ('method %r %r' % (m, target), m + b' ' + target + b' HTTP/1.1\r\nHost: a\r\n\r\n', want)


def lengths():
    def cl(v, body=b''):
        return POST + b'Content-Length: ' + v + b'\r\n\r\n' + body
    for v, body, want in [(b'0', b'', NO_METHOD), (b'3', b'abc', NO_METHOD), (b'003', b'abc', NO_METHOD),
                          (b'3, 3', b'abc', NO_METHOD + REFUSE), (b'3,4', b'abc', REFUSE),
                          (b'-1', b'', REFUSE), (b'+3', b'abc', REFUSE), (b'3.0', b'abc', REFUSE),
                          (b'0x3', b'abc', REFUSE), (b'3 ', b'abc', NO_METHOD), (b'', b'', REFUSE),
                          (b'3 3', b'abc', REFUSE), (b'3;a', b'abc', REFUSE), (b'"3"', b'abc', REFUSE),
                          (b'a', b'', REFUSE), (b'1e1', b'', REFUSE), (b'3\x00', b'abc', REFUSE),
                          (b'9223372036854775808', b'', (400, 413)),
                          (b'18446744073709551616', b'', (400, 413)),
                          (b'18446744073709551619', b'abc', (400, 413)),
                          (b'99999999999999999999999', b'', (400, 413)), (b'\xb2', b'', REFUSE)]:
        yield 'length %r' % v, cl(v, body), want
    two = b'Content-Length: 3\r\n'
    yield 'length twice', POST + two + two + b'\r\nabc', NO_METHOD + REFUSE
    yield 'lengths differ', POST + two + b'Content-Length: 4\r\n\r\nabc', REFUSE
    yield 'length and chunked', POST + two + b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', REFUSE
    yield 'chunked and length', POST + b'Transfer-Encoding: chunked\r\n' + two + b'\r\n0\r\n\r\n', REFUSE
    yield 'a body of a GET', GOOD + two + b'\r\nabc', (200, 400)
    yield 'Content_Length', POST + b'Content_Length: 3\r\n\r\n', NO_METHOD
    for v, want in [(b'chunked', NO_METHOD), (b'Chunked', NO_METHOD), (b'CHUNKED', NO_METHOD),
                    (b' \tchunked\t ', NO_METHOD), (b'chunked, chunked', (400, 501)),
                    (b'gzip, chunked', (400, 501)), (b'chunked, gzip', (400, 501)),
                    (b'gzip', (400, 501)), (b'identity', (400, 501)), (b'', (400, 501)),
                    (b'xchunked', (400, 501)), (b'chunkedx', (400, 501)), (b'"chunked"', (400, 501)),
                    (b'chunked;q=1', (400, 501)), (b'chun ked', (400, 501)), (b',chunked', NO_METHOD + REFUSE),
                    (b'chunked,', NO_METHOD + REFUSE), (b'\x0bchunked', (400, 501)),
                    (b'chunked\x0c', (400, 501)), (b'\xa0chunked', (400, 501))]:
        yield ('coding %r' % v, POST + b'Transfer-Encoding: ' + v + b'\r\n\r\n0\r\n\r\n', want)
    yield ('coding twice', POST + b'Transfer-Encoding: chunked\r\n' * 2 + b'\r\n0\r\n\r\n', NO_METHOD + REFUSE)
    yield ('coding in two fields', POST + b'Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n'
           b'\r\n0\r\n\r\n', (400, 501))
    yield ('coding in 1.0', POST.replace(b'1.1', b'1.0') + b'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', REFUSE)
    yield ('Transfer_Encoding', POST + b'Transfer_Encoding: chunked\r\n\r\n', NO_METHOD)


def chunks():
    for body, ok in [
            (b'0\r\n\r\n', 1), (b'000\r\n\r\n', 1), (b'1\r\nx\r\n0\r\n\r\n', 1),
            (b'A\r\n' + b'x' * 10 + b'\r\n0\r\n\r\n', 1), (b'a\r\n' + b'x' * 10 + b'\r\n0\r\n\r\n', 1),
            (b'0000001\r\nx\r\n0\r\n\r\n', 1), (b'1;a\r\nx\r\n0\r\n\r\n', 1), (b'1;a=b\r\nx\r\n0\r\n\r\n', 1),
            (b'1;a="b c"\r\nx\r\n0\r\n\r\n', 1), (b'1 ;a\r\nx\r\n0\r\n\r\n', 1), (b'1\t; a = b\r\nx\r\n0\r\n\r\n', 1),
            (b'0;a\r\n\r\n', 1), (b'0\r\nX: y\r\n\r\n', 1), (b'0\r\nX: y\r\nZ: a\r\n\r\n', 1),
            (b'0\r\nContent-Length: 5\r\n\r\n', 1), (b'1\r\nx\r\n1\r\ny\r\n0\r\n\r\n', 1),
            (b'1 \r\nx\r\n0\r\n\r\n', 0), (b' 1\r\nx\r\n0\r\n\r\n', 0), (b'1\nx\r\n0\r\n\r\n', 0),
            (b'1\rx\r\n0\r\n\r\n', 0), (b'1\r\nx\n0\r\n\r\n', 0), (b'1\r\nx0\r\n\r\n', 0), (b'1\r\nxy\r\n0\r\n\r\n', 0),
            (b'2\r\nx\r\n0\r\n\r\n', 0), (b'-1\r\n\r\n', 0), (b'+1\r\nx\r\n0\r\n\r\n', 0), (b'0x1\r\nx\r\n0\r\n\r\n', 0),
            (b'1,1\r\nx\r\n0\r\n\r\n', 0), (b'1.0\r\nx\r\n0\r\n\r\n', 0), (b'g\r\n\r\n', 0), (b'\r\n\r\n', 0), (b';a\r\n\r\n', 0),
            (b'"1"\r\nx\r\n0\r\n\r\n', 0), (b'1\x00\r\nx\r\n0\r\n\r\n', 0), (b'1;\x00\r\nx\r\n0\r\n\r\n', 0), (b'1;a\nx\r\n0\r\n\r\n', 0),
            (b'1;a\r\r\nx\r\n0\r\n\r\n', 0), (b'10000000000000000\r\nx\r\n0\r\n\r\n', 0), (b'fffffffffffffffff\r\nx\r\n0\r\n\r\n', 0),
            (b'10000000000000001\r\nx\r\n0\r\n\r\n', 0), (b'0\n\r\n', 0), (b'0\r\n\n', 0), (b'0\r\nX\r\n\r\n', 0), (b'0\r\nX: y\n\r\n', 0),
            (b'0\r\nX : y\r\n\r\n', 0), (b'0\r\n X: y\r\n\r\n', 0), (b'0\r\n: y\r\n\r\n', 0), (b'0\r\nX: \x00\r\n\r\n', 0)]:
        yield ('chunks %r' % body[:40], POST + b'Transfer-Encoding: chunked\r\n\r\n' + body,
               NO_METHOD if ok else (400, 413))


def cases():
    for part in (bytes_everywhere, versions, lines, hosts_and_targets, lengths, chunks):
        for name, raw, want in part():
            if want:
                yield name, raw, want


def replies(data):
    """Status codes and bodies of the replies; a string where the data is not HTTP."""
    out = []
    while data:
        head, sep, rest = data.partition(b'\r\n\r\n')
        m = re.match(rb'HTTP/1\.1 (\d{3}) ', head)
        n = re.search(rb'(?i)\r\ncontent-length: *(\d+)', head)
        if not sep or not m:
            out.append(('junk', data[:60]))
            break
        n = int(n.group(1)) if n else 0
        if b'chunked' in head.lower():
            out.append(('chunked', b''))
            break
        out.append((int(m.group(1)), rest[:n]))
        data = rest[n:]
    return out


def verdict(name, got, want):
    """What is wrong, or None."""
    codes = [g[0] for g in got]
    if not codes:
        return 'no reply'
    if codes[0] not in want:
        return '%s, not %s' % (codes, want)
    if len(codes) == 1:
        # Refused, and the connection ended. If the request was accepted, the next one
        # must be answered.
        return None if codes[0] in (400, 413, 431, 501, 505) else 'closed after %d' % codes[0]
    if len(codes) != 2 or codes[1] != 200 or got[1][1] != b'file number 1\n':
        return 'out of step: %s' % (got[1:],)
    # A 400 for a bad path may keep the connection: the end of the request is not in
    # doubt.
    return 'goes on after 400' if codes[0] == 400 and not name.startswith('target') else None


def hear(recv):
    data = b''
    try:
        while True:
            d = recv()
            if not d:
                return data
            data += d
    except ConnectionResetError:
        return data


if __name__ != '__main__':
    @test(limit=300)
    def every_byte_means_what_the_rfc_says(t):
        wrong, n = [], 0
        for name, raw, want in cases():
            with t.main.conn() as c:
                c.send(raw + LAST)
                bad = verdict(name, replies(hear(c.recv)), want)
            n += 1
            if bad:
                wrong.append('%s: %s' % (name, bad))
        check(n > 2000, n)
        equal(wrong, [], 'of %d cases' % n)


def main():
    differ = n = 0
    for name, raw, want in cases():
        with socket.create_connection(('127.0.0.1', int(sys.argv[1]))) as s:
            s.settimeout(5)
            try:
                s.sendall(raw + LAST)
                bad = verdict(name, replies(hear(lambda: s.recv(65536))), want)
            except (socket.timeout, BrokenPipeError) as e:
                bad = repr(e)
        n += 1
        if bad:
            differ += 1
            print('%s: %s' % (name, bad))
    print('%d of %d differ' % (differ, n))


if __name__ == '__main__':
    main()
