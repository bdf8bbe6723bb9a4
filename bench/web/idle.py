#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an idle keep-alive connection costs a web server: bytes of PSS, by slope.

  idle.py [--tls] [--nginx] [--counts 1000,10000] [--maps] [OPTION of ukweb...]

Each connection makes one request and is then left alone. At each count the memory is read when
it has stopped falling (idle connections return memory with a delay). The kernel's memory for a
socket is not included. --maps prints the mappings of the bytes. nginx serves the same file
with one worker."""
import argparse
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, TOP + '/bench/lib')
from ports import free_port  # noqa: E402

REQUEST = b'GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n'
NGINX = '''daemon off; worker_processes 1; pid %(dir)s/pid; error_log %(dir)s/err;
events { worker_connections 20000; }
http { access_log off; keepalive_requests 1000000000; keepalive_timeout 1000s;
client_body_temp_path %(dir)s/a; proxy_temp_path %(dir)s/b; fastcgi_temp_path %(dir)s/c;
uwsgi_temp_path %(dir)s/d; scgi_temp_path %(dir)s/e;
server { listen 127.0.0.1:%(port)d %(ssl)s backlog=4096; root %(dir)s/www;
ssl_certificate %(dir)s/cert.pem; ssl_certificate_key %(dir)s/key.pem; } }
'''


def prepare(d):
    os.mkdir(d + '/www')
    os.chmod(d, 0o755)
    with open(d + '/www/index.html', 'w') as f:
        f.write('hello\n')
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                    'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=localhost',
                    '-out', d + '/cert.pem', '-keyout', d + '/key.pem'],
                   check=True, stderr=subprocess.DEVNULL)


def command(a, d, port):
    if a.nginx:
        with open(d + '/nginx.conf', 'w') as f:
            f.write(NGINX % {'dir': d, 'port': port, 'ssl': 'ssl' if a.tls else ''})
        return ['nginx', '-c', d + '/nginx.conf', '-e', d + '/err']
    tls = ['--tls-cert=%s/cert.pem' % d, '--tls-key=%s/key.pem' % d]
    return [a.ukweb, '--root=%s/www' % d, '--port=%d' % port, '--timeout=idle=10000',
            '--limit=conns=20000'] + (tls if a.tls else []) + a.options


def family(pid):
    kids = open('/proc/%d/task/%d/children' % (pid, pid)).read().split()
    return [pid] + [int(k) for k in kids]


def pss(pids):
    return sum(int(re.search(r'^Pss:\s+(\d+)', open('/proc/%d/smaps_rollup' % p).read(),
                             re.M).group(1)) for p in pids) * 1024


def maps(pids):
    """PSS by the name of the mapping; a mapping without a name is listed by its
    size."""
    out, name = {}, None
    for p in pids:
        for ln in open('/proc/%d/smaps' % p):
            m = re.match(r'([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+\s*(.*)', ln)
            if m:
                size = int(m.group(2), 16) - int(m.group(1), 16)
                name = m.group(3) or 'anonymous'
                if name == 'anonymous' and size < 64 << 20:
                    name = 'anonymous, small'
                m = re.search(r'[^/]*$', name)
                name = m.group(0)
            elif ln.startswith('Pss:'):
                out[name] = out.get(name, 0) + int(ln.split()[1]) * 1024
    return out


def settled(pids):
    last = pss(pids)
    while True:
        time.sleep(2.5)
        now = pss(pids)
        if now > last - 65536:
            return now
        last = now


class Client:
    def __init__(self, port, tls):
        self.addr, self.conns = ('127.0.0.1', port), []
        self.ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if tls else None
        if tls:
            self.ctx.check_hostname = False
            self.ctx.verify_mode = ssl.CERT_NONE

    def warm(self):
        """Touches what all connections share once: the receive buffers of the rings."""
        self.grow(8)
        for i in range(6000):
            self.ask(self.conns[i % 8])

    def grow(self, n):
        while len(self.conns) < n:
            s = socket.create_connection(self.addr)
            if self.ctx:
                s = self.ctx.wrap_socket(s)
            self.conns.append(s)
            self.ask(s)

    @staticmethod
    def ask(s):
        s.sendall(REQUEST)
        got = b''
        while not got.endswith(b'hello\n'):
            part = s.recv(4096)
            if not part:
                raise EOFError('ended: %r' % got)
            got += part


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument('--tls', action='store_true')
    p.add_argument('--nginx', action='store_true')
    p.add_argument('--maps', action='store_true')
    p.add_argument('--counts', default='1000,10000')
    p.add_argument('--ukweb', default=TOP + '/build/ukweb')
    a, a.options = p.parse_known_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as d:
        prepare(d)
        port = free_port()
        server = subprocess.Popen(command(a, d, port), stderr=subprocess.DEVNULL)
        try:
            measure(a, server, port)
        finally:
            server.send_signal(signal.SIGQUIT if a.nginx else signal.SIGTERM)
            time.sleep(0.5)
            server.kill()
            server.wait()


def measure(a, server, port):
    while True:
        try:
            socket.create_connection(('127.0.0.1', port)).close()
            break
        except OSError:
            if server.poll() is not None:
                sys.exit('the server did not start')
            time.sleep(0.05)
    pids, client, rows = family(server.pid), Client(port, a.tls), []
    client.warm()
    for n in map(int, a.counts.split(',')):
        client.grow(n)
        rows.append((n, settled(pids), maps(pids)))
        print('%6d connections: PSS %8.1f KiB' % (n, rows[-1][1] / 1024), flush=True)
    (n0, p0, m0), (n1, p1, m1) = rows[0], rows[-1]
    print('%.0f bytes a connection' % ((p1 - p0) / (n1 - n0)))
    for name in sorted(m1, key=m1.get, reverse=True) if a.maps else []:
        print('  %-20s %8.1f' % (name, (m1[name] - m0.get(name, 0)) / (n1 - n0)))
    for s in client.conns:
        client.ask(s)
    print('all %d answered once more' % len(client.conns))


if __name__ == '__main__':
    main()
