# SPDX-License-Identifier: Apache-2.0
"""Runs a real ukweb on loopback: starts and stops it, sends it raw HTTP, counts."""
import ctypes
import os
import re
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

TESTS = []
PARSING = {'t_rfc', 't_smuggle'}  # parsing is the same in all modes: these run in one


class Skip(Exception):
    pass


def test(limit=60, tls=True, plain=True):
    """Declares a test: a function that takes the suite and raises an exception on
    failure. The limit, in seconds, only ends hangs: the machine may be loaded."""
    def mark(fn):
        TESTS.append((fn, limit, tls, plain))
        return fn
    return mark


def check(cond, *what):
    if not cond:
        raise AssertionError(' '.join(repr(w) if not isinstance(w, str) else w for w in what)
                             or 'check failed')


def equal(a, b, *what):
    if a != b:
        raise AssertionError('%s: got %.300r, want %.300r' % (
            ' '.join(str(w) for w in what) or 'differ', a, b))


def need_files(n):
    """Skips the test if this process may not have n fds (a login has 1024)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < n:
        raise Skip('the limit of open files is %d' % hard)
    if soft != resource.RLIM_INFINITY and soft < n:
        resource.setrlimit(resource.RLIMIT_NOFILE, (n, hard))


def forbid_syscall(nr, err):
    """From now on the system call nr fails with -err, here and in all children
    (seccomp)."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = [(0x20, 0, 0, 0), (0x15, 0, 1, nr), (0x06, 0, 0, 0x00050000 | err),
            (0x06, 0, 0, 0x7fff0000)]
    insns = b''.join(struct.pack('HBBI', *c) for c in code)
    buf = ctypes.create_string_buffer(insns)
    prog = struct.pack('HxxxxxxP', len(code), ctypes.addressof(buf))
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, prog, 0, 0):
        raise OSError(ctypes.get_errno(), 'seccomp')


# Any time may pass between two steps of a test. A test of a deadline sets its own.
PATIENT = ['--timeout=header=600,idle=600,handshake=600']


def cpu_of(path):
    """Seconds of CPU time that a process or a thread has used."""
    with open(path + '/stat') as f:
        ticks = f.read().rsplit(')', 1)[1].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf('SC_CLK_TCK')


def polls(task):
    """Is the task an SQPOLL kernel thread?"""
    try:
        with open(task + '/comm') as f:
            return f.read().startswith('iou-sqp')
    except OSError:  # it has ended
        return False


class Server:
    """One ukweb process on a free port."""

    def __init__(self, suite, *extra, root=None, nofile=None, tls=None, port=0, env=None,
                 forbid=None, before=None, wrap=(), keep=()):
        self.suite = suite
        self.tls = suite.tls if tls is None else tls
        cmd = [suite.ukweb, '--mode=' + suite.mode, '--port=%d' % port,
               '--root=' + (root or suite.root)] + PATIENT
        if suite.mode != 'pth':
            cmd.append('--vps=%d' % suite.vps)
            if suite.full and not self.tls:
                cmd.append('--thread=full')
        if self.tls:
            cmd += ['--tls-cert=' + suite.cert, '--tls-key=' + suite.key]
        cmd += extra

        def limits():
            if nofile:
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
            if forbid:
                forbid_syscall(*forbid)
            if before:
                before()
        self.proc = subprocess.Popen(list(wrap) + cmd, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                                     stdin=subprocess.DEVNULL, preexec_fn=limits, pass_fds=keep,
                                     env=dict(os.environ, **(env or {})))
        suite.servers.append(self)
        self.err = []
        self.listens = threading.Event()  # while cleared, the server's standard error is not read
        self.listens.set()
        self.ready = threading.Event()
        self.port = None
        self.reader = threading.Thread(target=self._read_err, daemon=True)
        self.reader.start()
        if not self.ready.wait(60):
            raise AssertionError('no ready line; stderr: %s' % ''.join(self.err))
        if self.port is None:
            raise AssertionError('did not start: %s' % ''.join(self.err))

    def _read_err(self):
        for raw in self.proc.stderr:
            self.listens.wait()
            line = raw.decode('utf-8', 'replace')
            self.err.append(line)
            m = re.search(r'https?://[^ /]*:(\d+)/', line)
            if m and not self.ready.is_set():
                self.port = int(m.group(1))
                self.ready.set()
        self.ready.set()

    def conn(self, timeout=60, **kw):
        return Conn(self, timeout, **kw)

    def get(self, path, method='GET', headers=(), timeout=60):
        with self.conn(timeout) as c:
            return c.request(path, method, headers)

    def fds(self):
        return len(os.listdir('/proc/%d/fd' % self.proc.pid))

    def cpu(self):
        """Seconds of CPU time, without those of a network processor, which polls on
        purpose."""
        pid = self.proc.pid
        tasks = ['/proc/%d/task/%s' % (pid, tid) for tid in os.listdir('/proc/%d/task' % pid)]
        return cpu_of('/proc/%d' % pid) - sum(cpu_of(t) for t in tasks if polls(t))

    def signal(self, sig):
        self.proc.send_signal(sig)

    def wait(self, timeout=100):
        rc = self.proc.wait(timeout)
        self.reader.join(2)
        return rc

    def stop(self, timeout=100):
        if self.proc.poll() is None:
            self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def kill(self):
        self.listens.set()
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()


class Response:
    def __init__(self, status, reason, version, headers, raw):
        self.status, self.reason, self.version = status, reason, version
        self.headers, self.raw, self.body = headers, raw, b''

    def __getitem__(self, name):
        return self.headers.get(name.lower())


class Conn:
    """A raw connection that can also read whole responses."""

    def __init__(self, server, timeout=60, tls=None, ctx=None, session=None, rcvbuf=None):
        self.server = server
        s = socket.socket()
        if rcvbuf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rcvbuf)
        s.settimeout(timeout)
        s.connect(('127.0.0.1', server.port))
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.raw = s
        if server.tls if tls is None else tls:
            ctx = ctx or server.suite.client_ctx
            s = ctx.wrap_socket(s, server_hostname='localhost', session=session,
                                suppress_ragged_eofs=False)
        self.s = s
        self.buf = b''

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.s.close()

    def reset(self):
        """Closes the connection with RST."""
        self.raw = self.s
        self.s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
        self.s.close()

    def send(self, data):
        if isinstance(data, str):
            data = data.encode()
        self.s.sendall(data)

    def recv(self, n=65536):
        return self.s.recv(n)

    def more(self):
        d = self.s.recv(262144)
        self.buf += d
        return d

    def response(self, head=False):
        while b'\r\n\r\n' not in self.buf:
            if not self.more():
                raise EOFError('end of file inside a head: %r' % self.buf[:200])
        raw, self.buf = self.buf.split(b'\r\n\r\n', 1)
        lines = raw.decode('latin-1').split('\r\n')
        m = re.match(r'^(HTTP/1\.1) (\d{3}) (.*)$', lines[0])
        check(m, 'bad status line', lines[0])
        headers = {}
        for ln in lines[1:]:
            k, sep, v = ln.partition(': ')
            check(sep and k.lower() not in headers, 'bad or repeated field', ln)
            headers[k.lower()] = v
        r = Response(int(m.group(2)), m.group(3), m.group(1), headers, raw)
        if r.status == 100:
            return r
        check('date' in headers, 'no Date')
        if head or r.status in (204, 304):
            return r
        n = int(headers['content-length'])
        parts, have = [self.buf], len(self.buf)
        self.buf = b''
        while have < n:
            d = self.s.recv(262144)
            if not d:
                raise EOFError('end of file inside a body: %d of %d' % (have, n))
            parts.append(d)
            have += len(d)
        whole = b''.join(parts)
        r.body, self.buf = whole[:n], whole[n:]
        return r

    def request(self, path, method='GET', headers=(), body=b''):
        h = ''.join('%s: %s\r\n' % kv for kv in headers)
        self.send(('%s %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n' % (method, path, h))
                  .encode('latin-1') + body)
        return self.response(head=method == 'HEAD')

    def at_end(self):
        """Checks that the server closes the connection properly and sends nothing
        more."""
        check(self.buf == b'', 'bytes after the response', self.buf[:100])
        try:
            d = self.s.recv(1000)
        except ssl.SSLEOFError:
            raise AssertionError('TLS ended without close_notify')
        check(d == b'', 'more than expected', d)


class Suite:
    def __init__(self, args):
        self.mode, self.tls, self.vps = args.mode, args.tls, args.vps
        self.full, self.seed = args.full, args.seed
        self.ukweb = os.path.abspath(args.ukweb)
        self.tls_min = os.path.abspath(args.tls_min)
        self.servers = []
        self.tmp = tempfile.mkdtemp(prefix='ukweb-test-')
        self.root = os.path.join(self.tmp, 'root')
        self.make_root()
        self.make_cert('cert.pem', 'key.pem', 'localhost')
        self.cert = os.path.join(self.tmp, 'cert.pem')
        self.key = os.path.join(self.tmp, 'key.pem')
        self.client_ctx = self.new_ctx()
        self.main = None

    def new_ctx(self):
        ctx = ssl.create_default_context(cafile=self.cert)
        return ctx

    def make_cert(self, cert, key, cn):
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt',
                        'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj',
                        '/CN=' + cn, '-addext', 'subjectAltName=DNS:localhost',
                        '-out', os.path.join(self.tmp, cert),
                        '-keyout', os.path.join(self.tmp, key)],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def put(self, name, data):
        p = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(p), exist_ok=True)
        with open(p, 'wb') as f:
            f.write(data)
        return p

    def make_root(self):
        import random
        rnd = random.Random(42)
        self.small = rnd.randbytes(10000)
        self.large = rnd.randbytes(3000000)
        self.put('index.html', b'<h1>index</h1>\n')
        self.put('small.bin', self.small)
        self.put('large.bin', self.large)
        self.put('empty.txt', b'')
        self.put('dir/index.html', b'in a directory\n')
        self.put('noindex/a.txt', b'a\n')
        self.put('with space.txt', b'space\n')
        self.put('ü.txt', b'umlaut\n')
        self.put('100%.txt', b'percent\n')
        self.put('.secret', b'hidden\n')
        self.put('.git/config', b'hidden\n')
        self.put('.well-known/test', b'known\n')
        for i in range(100):
            self.put('n/%d.txt' % i, b'file number %d\n' % i)
        for ext in ('css', 'js', 'svg', 'png', 'json', 'unknown_ext', 'HTML'):
            self.put('m/x.' + ext, b'x')
        with open(os.path.join(self.tmp, 'outside.txt'), 'w') as f:
            f.write('OUTSIDE\n')
        os.makedirs(os.path.join(self.tmp, 'outdir'))
        with open(os.path.join(self.tmp, 'outdir', 'index.html'), 'w') as f:
            f.write('OUTSIDE\n')
        os.symlink('small.bin', os.path.join(self.root, 'link-in'))
        os.symlink('../outside.txt', os.path.join(self.root, 'link-out'))
        os.symlink(os.path.join(self.tmp, 'outside.txt'), os.path.join(self.root, 'link-abs'))
        os.symlink('../outdir', os.path.join(self.root, 'link-dir'))
        os.symlink('/proc/self/root', os.path.join(self.root, 'link-proc'))
        os.symlink('loop', os.path.join(self.root, 'loop'))
        os.mkfifo(os.path.join(self.root, 'fifo'))

    def server(self, *extra, **kw):
        return Server(self, *extra, **kw)

    def close(self):
        for s in self.servers:
            s.kill()
        shutil.rmtree(self.tmp, ignore_errors=True)


class TimeLimit(BaseException):
    pass


def run_all(suite, only):
    """Runs the tests one after the other. Prints a line for each, and the totals."""
    passed = failed = skipped = 0
    told = []
    pattern = re.compile(only) if only else None

    def alarm(*_):
        raise TimeLimit()
    signal.signal(signal.SIGALRM, alarm)
    import traceback
    for fn, limit, tls, plain in TESTS:
        name = fn.__name__
        if pattern and not pattern.search(name) or not (tls if suite.tls else plain):
            continue
        if fn.__module__ in PARSING and suite.mode != 'uk':
            continue
        t = time.monotonic()
        before = len(suite.servers)
        signal.alarm(2 * limit)
        verdict, why = 'ok', ''
        try:
            fn(suite)
            signal.alarm(0)
            if suite.main.proc.poll() is not None:
                raise AssertionError('the server died (%s): %s' % (
                    suite.main.proc.returncode, ''.join(suite.main.err[-5:])))
            passed += 1
        except Skip as e:
            signal.alarm(0)
            verdict, why = 'skipped', str(e)
            skipped += 1
        except TimeLimit:
            verdict, why = 'FAILED', 'time limit of %d s' % (2 * limit) + '\n' + traceback.format_exc()
            failed += 1
        except Exception as e:
            signal.alarm(0)
            verdict = 'FAILED'
            why = '%s: %s' % (type(e).__name__, e) + '\n' + traceback.format_exc()
            failed += 1
        if verdict == 'FAILED':
            for s in suite.servers[before:]:
                why += '\n  stderr of its server: ' + ''.join(s.err[-10:])
        notes = [e for s in suite.servers[before:] + [suite.main] for e in s.err
                 if e.startswith('ukthreads: ') and e not in told]
        told += notes
        for s in suite.servers[before:]:
            if s is not suite.main:
                s.kill()
        if verdict == 'FAILED' and suite.main.proc.poll() is not None:
            why += '\n  main server: exit %s, %s' % (suite.main.proc.returncode,
                                                     ''.join(suite.main.err[-20:]))
            suite.main = suite.server(*suite.main_options)
        print('%-8s %s (%.2f s)%s' % (verdict, name.replace('_', ' '),
                                      time.monotonic() - t, ': ' + why if why else ''))
        for e in notes:  # for example of the watchdog
            print('  note: ' + e.rstrip())
        sys.stdout.flush()
    print('%d passed, %d failed, %d skipped' % (passed, failed, skipped))
    return failed
