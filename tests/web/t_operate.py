# SPDX-License-Identifier: Apache-2.0
"""What an operator expects: restart, service manager, several listeners, few
privileges."""
import ctypes
import os
import re
import signal
import socket
import subprocess
import time

from harness import Conn, Skip, check, equal, test
from t_life import Load, until


class Heir:
    """The process that took over from a server of the suite. It is made a child of this
    process, which can wait for it."""

    def __init__(self, t, old):
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans become children of this process
        n = len(old.err)
        old.signal(signal.SIGUSR2)
        until('no successor', lambda: any('takes over' in e for e in old.err[n:]), 60)
        line = [e for e in old.err[n:] if 'takes over' in e][0]
        self.pid = int(re.search(r'process (\d+) takes over', line).group(1))
        self.err, self.port, self.tls, self.suite = old.err, old.port, old.tls, t
        self.rc = None

    def signal(self, sig):
        os.kill(self.pid, sig)

    def conn(self, timeout=60, **kw):
        return Conn(self, timeout, **kw)

    def wait(self):
        self.rc = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.rc

    def stop(self):
        self.signal(signal.SIGTERM)
        return self.wait()


@test(limit=120)
def a_restart_refuses_and_loses_nobody(t):
    pid = os.path.join(t.tmp, 'heir.pid')
    s = t.server('--pid-file=' + pid, '--access-log=' + os.path.join(t.tmp, 'heir.log'),
                 '--timeout=stop=300')  # a sixth of it is the limit for a client's first request
    loads = [Load(s, '/small.bin', t.small, close=True) for _ in range(8)]
    loads += [Load(s, '/n/1.txt', b'file number 1\n') for _ in range(4)]
    for ld in loads:
        ld.start()
    now = s
    for _ in range(3):
        heir = Heir(t, now)
        equal(now.wait() if now is s else now.wait(), 0)
        now = heir
        done = sum(ld.ok for ld in loads)
        until('nobody is served', lambda: sum(ld.ok for ld in loads) > done + 50)
    equal(int(open(pid).read()), now.pid)
    for ld in loads:
        ld.quit = True
    for ld in loads:
        ld.join(30)
    lost = [x for ld in loads for x in ld.lost]
    check(not lost, 'lost', len(lost), lost[:5])
    equal(sum(ld.refused for ld in loads), 0, 'refused')
    equal(now.stop(), 0)
    check(not os.path.exists(pid))


@test(limit=60)
def a_successor_that_does_not_start_changes_nothing(t):
    root = os.path.join(t.tmp, 'short-lived')
    os.makedirs(root)
    with open(os.path.join(root, 'big.bin'), 'wb') as f:
        f.write(b'x' * 100000)
    s = t.server(root=root)
    with s.conn() as c:
        equal(c.request('/big.bin').status, 200)
        os.rename(root, root + '2')
        s.signal(signal.SIGUSR2)
        until('silent', lambda: any('has not started' in e for e in s.err))
        equal(c.request('/big.bin').status, 200)
    equal(s.get('/big.bin').status, 200)
    equal(s.stop(), 0)


class UnixConn(Conn):
    def __init__(self, s, path):
        self.s = self.raw = socket.socket(socket.AF_UNIX)
        self.s.settimeout(60)
        self.s.connect(path)
        if s.tls:
            self.s = s.suite.client_ctx.wrap_socket(self.s, server_hostname='localhost')
        self.server, self.buf = s, b''


def other_ports(s, n):
    """The ports of the second and later listeners, in order."""
    until('not all listeners are named',
          lambda: sum('and on ' in e for e in s.err) >= n)
    return [int(m.group(1)) for e in s.err for m in [re.search(r'and on http.*:(\d+)/', e)] if m]


@test(limit=60)
def several_listeners_and_a_unix_socket(t):
    path, log = os.path.join(t.tmp, 'sock'), os.path.join(t.tmp, 'unix.log')
    s = t.server('--listen=127.0.0.1', '--listen=unix:' + path, '--listen=127.0.0.2:0',
                 '--listen=[::1]:0', '--access-log=' + log)
    two, six = other_ports(s, 3)
    equal(s.get('/').status, 200)
    for addr, port in (('127.0.0.2', two), ('::1', six)):
        socket.create_connection((addr, port), 60).close()
    with UnixConn(s, path) as c:
        equal(c.request('/small.bin').body, t.small)
        equal(c.request('/large.bin').body, t.large)
        equal(c.request('/metrics').status, 404, 'who comes through a proxy is not this machine')
    equal(s.stop(), 0)
    check(not os.path.exists(path), 'the name is left')
    lines = open(log).read().splitlines()
    check(any(ln.startswith('unix: - - ') for ln in lines), lines)
    # A socket file that no process listens on is replaced; one that is in use is not.
    left = socket.socket(socket.AF_UNIX)
    left.bind(path)
    left.close()
    s = t.server('--listen=127.0.0.1', '--listen=unix:' + path)
    other_ports(s, 1)
    try:
        t.server('--listen=unix:' + path)
        raise ValueError('taken from under another server')
    except AssertionError as e:
        check('Address already in use' in str(e), e)
    with UnixConn(s, path) as c:
        equal(c.request('/').status, 200)
    heir = Heir(t, s)
    equal(s.wait(), 0)
    with UnixConn(heir, path) as c:
        equal(c.request('/').status, 200)
    equal(heir.stop(), 0)
    check(not os.path.exists(path), 'the name is left')


class Manager:
    """A service manager: holds the sockets and receives the notifications."""

    def __init__(self, t, n=1):
        self.socks = [socket.socket() for _ in range(n)]
        for k in self.socks:
            k.bind(('127.0.0.1', 0))
            k.listen(100)
            k.setblocking(False)  # as some managers pass them
        self.box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.path = os.path.join(t.tmp, 'notify-%d' % len(t.servers))
        self.box.bind(self.path)
        self.box.settimeout(60)

    def start(self, t, *extra):
        def place():
            for i, fd in enumerate(self.fds):
                os.dup2(fd, 3 + i)
        # Duplicates with numbers above the ones that the server gets.
        import fcntl
        self.fds = [fcntl.fcntl(k, fcntl.F_DUPFD, 50) for k in self.socks]
        return t.server(*extra, env={'NOTIFY_SOCKET': self.path, 'LISTEN_FDS': str(len(self.fds))},
                        before=place, keep=range(3, 3 + len(self.fds)),
                        wrap=['sh', '-c', 'LISTEN_PID=$$ exec "$@"', 'sh'])

    def hear(self):
        return dict(x.split('=', 1) for x in self.box.recv(1000).decode().splitlines())


@test(limit=60)
def sockets_are_taken_from_a_service_manager_which_is_told(t):
    m = Manager(t, 2)
    s = m.start(t)
    equal(m.hear()['READY'], '1')
    ports = [k.getsockname()[1] for k in m.socks]
    equal([s.port] + other_ports(s, 1), ports)
    equal(s.get('/').status, 200)
    s.signal(signal.SIGHUP)
    a = m.hear()
    check(a['RELOADING'] == '1' and int(a['MONOTONIC_USEC']) > 0, a)
    equal(m.hear()['READY'], '1')
    # A client that connects between two runs waits in the backlog, which belongs to the
    # manager.
    s.signal(signal.SIGTERM)
    equal(m.hear()['STOPPING'], '1')
    equal(s.wait(), 0)
    early = socket.create_connection(('127.0.0.1', ports[0]), 60)
    early.settimeout(60)
    s = m.start(t)
    equal(m.hear()['READY'], '1')
    if t.tls:
        early = t.client_ctx.wrap_socket(early, server_hostname='localhost')
    early.sendall(b'GET /n/1.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    check(early.recv(1000).startswith(b'HTTP/1.1 200 '))
    early.close()
    heir = Heir(t, s)
    a = m.hear()
    while 'MAINPID' not in a:  # the successor says READY, too
        a = m.hear()
    equal(int(a['MAINPID']), heir.pid)
    equal(s.wait(), 0)
    with heir.conn() as c:
        equal(c.request('/').status, 200)
    equal(heir.stop(), 0)
    for k in m.socks:
        k.close()


@test(limit=60)
def precompressed_files_go_to_those_who_accept_them(t):
    import gzip
    text = b'body { color: red }\n' * 200
    packed = gzip.compress(text)
    t.put('pre/a.css', text)
    t.put('pre/a.css.gz', packed)
    t.put('pre/b.css', text)
    t.put('pre/b.css.gz', packed)
    t.put('pre/b.css.br', b'not really brotli')
    t.put('pre/old.css', text)
    os.utime(t.put('pre/old.css.gz', packed), (1e9, 1e9))
    t.put('pre/index.html', text)
    t.put('pre/index.html.gz', packed)
    s = t.server('--precompressed', '--timeout=cache=200ms')
    with s.conn() as c:
        def ask(path, accept, *more, method='GET'):
            return c.request(path, method, ([('Accept-Encoding', accept)] if accept else []) + list(more))
        for path, accept, want in [
                ('a.css', None, None), ('a.css', 'gzip', 'gzip'), ('a.css', 'GZip', 'gzip'),
                ('a.css', 'deflate, gzip;q=1.0', 'gzip'), ('a.css', 'gzip;q=0', None),
                ('a.css', 'gzip; q=0.000', None), ('a.css', 'gzip;q=0.001', 'gzip'),
                ('a.css', '*', 'gzip'), ('a.css', '*;q=0', None), ('a.css', 'gzip;q=0, *', None),
                ('a.css', 'br', None), ('a.css', 'xgzip, gzipx', None), ('a.css', 'identity', None),
                ('b.css', 'gzip, deflate, br', 'br'), ('b.css', 'gzip, br;q=0', 'gzip'),
                ('old.css', 'gzip', None), ('', 'gzip', 'gzip')]:
            r = ask('/pre/' + path, accept)
            equal((r.status, r['content-encoding'], r['vary']), (200, want, 'Accept-Encoding'),
                  path, accept)
            equal(r['content-type'], 'text/css; charset=utf-8' if path
                  else 'text/html; charset=utf-8')
            equal(r.body, {None: text, 'gzip': packed, 'br': b'not really brotli'}[want])
        plain, gz = ask('/pre/a.css', None), ask('/pre/a.css', 'gzip', method='HEAD')
        equal(gz['content-length'], str(len(packed)))
        check(plain['etag'] != gz['etag'], 'one tag for two representations')
        r = ask('/pre/a.css', 'gzip', ('If-None-Match', gz['etag']))
        equal((r.status, r['vary'], r['etag']), (304, 'Accept-Encoding', gz['etag']))
        equal(ask('/pre/a.css', 'gzip', ('If-None-Match', plain['etag'])).status, 200)
        r = ask('/pre/a.css', 'gzip', ('Range', 'bytes=3-9'))
        equal((r.status, r.body, r['content-encoding']), (206, packed[3:10], 'gzip'))
        r = ask('/pre/a.css.gz', 'gzip')
        equal((r.status, r['content-encoding'], r['content-type'], r.body),
              (200, None, 'application/gzip', packed))
        # A file that appears or vanishes later is noticed, too.
        t.put('pre/old.css.gz', packed)
        os.unlink(os.path.join(t.root, 'pre/a.css.gz'))
        until('not seen', lambda: ask('/pre/old.css', 'gzip')['content-encoding'] == 'gzip')
        until('still there', lambda: ask('/pre/a.css', 'gzip')['content-encoding'] is None)
    equal(t.main.get('/pre/b.css', headers=[('Accept-Encoding', 'gzip')])['content-encoding'], None)
    equal(s.stop(), 0)


@test()
def cache_control_is_what_was_said_for_the_path(t):
    t.put('cc/a.js', b'js\n')
    os.utime(t.put('cc/a.js.gz', b'gz\n'), (2e9, 2e9))
    s = t.server('--cache-control=*.js: max-age=31536000, immutable',
                 '--cache-control=/n/*:no-store', '--cache-control=max-age=60', '--precompressed')
    with s.conn() as c:
        for path, want in [('/cc/a.js', 'max-age=31536000, immutable'), ('/n/1.txt', 'no-store'),
                           ('/small.bin', 'max-age=60'), ('/', 'max-age=60'), ('/nope', None)]:
            equal(c.request(path)['cache-control'], want, path)
        r = c.request('/cc/a.js', headers=[('Accept-Encoding', 'gzip')])
        equal((r.body, r['cache-control']), (b'gz\n', 'max-age=31536000, immutable'))
        r = c.request('/n/1.txt', headers=[('If-None-Match', '*')])
        equal((r.status, r['cache-control']), (304, 'no-store'))
        r = c.request('/small.bin', headers=[('Range', 'bytes=0-1,4-5')])
        equal((r.status, r['cache-control']), (206, 'max-age=60'))
    equal(s.stop(), 0)
    equal(t.main.get('/cc/a.js')['cache-control'], None)


def status_of(pid):
    return dict(x.split(':\t', 1) for x in open('/proc/%d/status' % pid).read().splitlines()
                if ':\t' in x)


def threads_of(pid):
    """The status of each thread that still exists."""
    for task in os.listdir('/proc/%d/task' % pid):
        try:
            yield status_of(int(task))
        except (FileNotFoundError, ProcessLookupError):
            pass


def as_root():
    if os.getuid() != 0:
        raise Skip('only root can give rights away')


@test(limit=60)
def it_serves_as_another_user_with_all_its_threads(t):
    as_root()
    os.chmod(t.tmp, 0o755)
    logs = os.path.join(t.tmp, 'userlogs')
    os.makedirs(logs)
    os.chown(logs, 65534, 65534)
    secret = t.put('root-only.txt', b'secret\n')
    os.chmod(secret, 0o600)
    os.chmod(t.key, 0o644)  # the successor reads it as that user
    log = os.path.join(logs, 'log')
    s = t.server('--user=nobody', '--access-log=' + log)
    equal(s.get('/small.bin').body, t.small)
    equal(s.get('/root-only.txt').status, 403)
    for st in threads_of(s.proc.pid):
        equal(set(st['Uid'].split()) | set(st['Gid'].split()), {'65534'}, st['Name'])
        equal((int(st['CapEff'], 16), int(st['CapPrm'], 16)), (0, 0))
        check('0' not in st['Groups'].split(), st['Groups'])
    os.rename(log, log + '.1')
    s.signal(signal.SIGHUP)
    until('the log is not opened anew', lambda: os.path.exists(log))
    # that user starts the successor, but may not have access to the program
    if subprocess.call(['setpriv', '--reuid=65534', '--clear-groups', 'test', '-r', t.ukweb]):
        equal(s.stop(), 0)
    else:
        heir = Heir(t, s)
        equal(s.wait(), 0)
        with heir.conn() as c:
            equal(c.request('/').status, 200)
        equal(status_of(heir.pid)['Uid'].split()[0], '65534')
        equal(heir.stop(), 0)
    for who in ('no-such-user', 'nobody:no-such-group', ''):
        try:
            t.server('--user=' + who)
            raise ValueError('started as ' + who)
        except AssertionError as e:
            check('no such' in str(e), e)


@test(limit=60)
def it_serves_from_behind_a_chroot(t):
    as_root()
    os.chmod(t.tmp, 0o755)
    s = t.server('--chroot', '--user=65534:65534')
    equal(os.readlink('/proc/%d/root' % s.proc.pid), t.root)
    with s.conn() as c:
        equal(c.request('/small.bin').body, t.small)
        equal(c.request('/dir/').body, b'in a directory\n')
        equal(c.request('/link-abs').status, 404)
        equal(c.request('/metrics').status, 200)
        s.signal(signal.SIGHUP)
        equal(c.request('/large.bin').body, t.large)
    equal(s.get('/').status, 200)
    equal(s.stop(), 0)


@test(limit=60)
def in_the_sandbox_it_serves_and_can_do_little_else(t):
    """The same directory tree, log, certificate and switch of the root still work.
    Three things show what is forbidden: the filter that every thread has, a log that
    has become a link to elsewhere, and an exec."""
    d = os.path.join(t.tmp, 'box')
    for n in ('one', 'two'):
        os.makedirs(os.path.join(d, n))
        with open(os.path.join(d, n, 'a.txt'), 'w') as f:
            f.write(n + '\n')
    link, log = os.path.join(d, 'current'), os.path.join(d, 'log')
    os.symlink('one', link)
    path = os.path.join(d, 'sock')
    s = t.server('--sandbox', '--access-log=' + log, '--timeout=cache=100ms', '--listen=127.0.0.1',
                 '--listen=unix:' + path, root=link)
    for st in threads_of(s.proc.pid):
        equal((st['Seccomp'], st['NoNewPrivs']), ('2', '1'), st['Name'])
    equal(s.get('/a.txt').body, b'one\n')
    equal(s.get('/-/status.json').status, 200)
    with UnixConn(s, path) as c:
        equal(c.request('/a.txt').body, b'one\n')
    os.symlink('two', link + '2')
    os.rename(link + '2', link)
    until('the old tree', lambda: s.get('/a.txt').body == b'two\n')
    os.rename(log, log + '.1')
    s.signal(signal.SIGHUP)
    until('the log is not opened anew', lambda: os.path.exists(log))
    if not any('no Landlock' in e for e in s.err):
        os.unlink(log)
        os.symlink(os.path.join(t.tmp, 'elsewhere.log'), log)
        s.signal(signal.SIGHUP)
        until('it writes elsewhere', lambda: any('Permission denied' in e for e in s.err))
        check(not os.path.exists(os.path.join(t.tmp, 'elsewhere.log')))
    cs = [s.conn() for _ in range(50)]  # threads are still created
    for c in cs:
        equal(c.request('/a.txt').body, b'two\n')
        c.close()
    s.signal(signal.SIGUSR2)  # needs exec, which is forbidden
    until('silent', lambda: any('successor' in e for e in s.err))
    equal(s.get('/a.txt').body, b'two\n')
    equal(s.stop(), 0)
    check(not os.path.exists(path), 'the name of the socket is left')
