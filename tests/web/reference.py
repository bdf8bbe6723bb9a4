# SPDX-License-Identifier: Apache-2.0
"""What RFC 9110 says about Range, written for clarity. The tests compare the server
with it."""
import re


def ranges(field, size, limit=16):
    """List of (first, last), [] if none is satisfiable, None if the field is ignored."""
    m = re.match(r'(?i)^bytes=(.*)$', field)
    if not m:
        return None
    out, seen = [], 0
    for spec in m.group(1).split(','):
        spec = spec.strip(' \t')
        if not spec:
            continue
        seen += 1
        m = re.match(r'^(\d*)-(\d*)$', spec)
        if not m or not (m.group(1) or m.group(2)):
            return None
        # Numbers beyond 64 bits are all alike: far behind any end.
        a, b = (x and str(min(int(x), 2 ** 64 - 1)) for x in m.groups())
        if a and b and int(b) < int(a):
            return None
        if not a:
            n = min(int(b), size)
            if n:
                out.append((size - n, size - 1))
        elif int(a) < size:
            out.append((int(a), min(int(b), size - 1) if b else size - 1))
    if not seen or seen > 4 * limit:
        return None
    if len(out) > limit or sum(b - a + 1 for a, b in out) > size:
        return None
    return out


def split_multipart(body, content_type):
    """[(content-range, type, data)] of a multipart/byteranges body."""
    boundary = re.match(r'^multipart/byteranges; boundary=(\S+)$', content_type).group(1)
    mark = b'\r\n--' + boundary.encode()
    parts = body.split(mark)
    assert parts[0] == b'', 'preamble'
    assert parts[-1] == b'--\r\n', parts[-1]
    out = []
    for p in parts[1:-1]:
        assert p.startswith(b'\r\n')
        head, data = p[2:].split(b'\r\n\r\n', 1)
        h = dict(x.split(': ', 1) for x in head.decode().split('\r\n'))
        out.append((h['Content-Range'], h['Content-Type'], data))
    return out
