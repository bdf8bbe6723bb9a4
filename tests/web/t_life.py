# SPDX-License-Identifier: Apache-2.0
"""Start, limits, load, log and stop."""
import os
import re
import signal
import socket
import ssl
import subprocess
import threading
import time

from harness import Skip, check, equal, need_files, test


@test()
def bad_options_are_refused_with_one_clear_line(t):
    def run(*args):
        p = subprocess.run([t.ukweb] + list(args), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, timeout=100)
        return p.returncode, p.stdout.decode(), p.stderr.decode()
    for args, code, want in [
            (['--mode=green'], 2, 'one of pth, uk, uk-set, net'), (['--port=x'], 2, 'number from 0'),
            (['--port=70000'], 2, 'number from 0 to 65535'), (['--frobnicate'], 2, 'frobnicate'),
            (['--limit=header=1'], 2, 'number from 512'), (['--timeout=idle=-1'], 2, 'a time such'),
            (['--timeout=idle=1y'], 2, 'a time such'), (['extra'], 2, 'not an option'),
            (['--tls-cert=x'], 2, 'go together'), (['--vps=0'], 2, 'number from 1'),
            (['--mode=pth', '--thread=full'], 2, '--thread full is for'),
            (['--net-cpu=0'], 2, 'for --mode=net'), (['--root'], 2, 'requires an argument'),
            (['--limit=files=1'], 2, '--limit=files=1: must be one of conns=..., header=..., '
             'uri=..., body=..., backlog=... (see --help)'),
            (['--limit', 'body=1m,'], 2, '--limit=: must be one of conns=...'),
            (['--limit=body=1m,conns=0'], 2, '--limit conns=0: needs a number from 1 to'),
            (['--limit=backlog='], 2, '--limit backlog=: needs a number from 1 to 65535'),
            (['--timeout=idle'], 2, '--timeout=idle: must be one of idle=..., header=..., '),
            (['--timeout=handshake=0'], 2, '--timeout handshake=0: needs a time'),
            (['--timeout'], 2, 'requires an argument'),
            (['--thread=stack'], 2, 'must be one of stack=..., light, full (see --help)'),
            (['--thread=full=1'], 2, 'must be one of stack=..., light, full (see --help)'),
            (['--thread=light,stack=1k'], 2, '--thread stack=1k: needs a number from 32768'),
            (['--show-status=no,local'], 2, 'must be one of no, local, remote (see --help)'),
            (['--mode=' + t.mode, '--port=0', '--root=/nonexistent'], 3,
             '/nonexistent: No such file'),
            (['--mode=' + t.mode, '--port=0', '--root=/etc/passwd'], 3, 'Not a directory'),
            (['--mode=' + t.mode, '--port=0', '--listen=no.such.host.invalid'], 3,
             'no.such.host.invalid'),
            (['--mode=' + t.mode, '--port=0', '--listen=192.0.2.1'], 3, 'Cannot assign'),
            (['--mode=' + t.mode, '--port=0', '--access-log=/nonexistent/x'], 3,
             '/nonexistent/x: No such file'),
            (['--mode=' + t.mode, '--port=0', '--tls-cert=/nonexistent', '--tls-key=/x'], 3,
             'certificate /nonexistent: No such file'),
            (['--mode=' + t.mode, '--port=0', '--tls-cert=' + t.cert, '--tls-key=' + t.cert], 3,
             'key ')]:
        rc, out, err = run(*args)
        equal((rc, out), (code, ''), args, err)
        ours = [x for x in err.splitlines() if not x.startswith('ukthreads: ')]
        check(want in err and len(ours) == 1, args, err)
    rc, out, err = run('--help')
    check(rc == 0 and 'usage: ukweb' in out and err == '')
    check(run('--version')[0] == 0)


@test()
def rare_settings_are_items_of_options_and_have_old_names(t):
    for extra, notes in [
            (['--limit', 'uri=64,header=600,conns=50', '--limit=body=10,backlog=20',
              '--limit=body=20', '--timeout=body=9,write=500ms,stop=2m,cache=0',
              '--thread=full,stack=256k,light', '--show-status=remote', '--show-status=no'], []),
            (['--max-uri=64', '--max-header=600', '--max-conns=50', '--max-body=10',
              '--max-body=20', '--backlog=20', '--timeout-body=9', '--cache-time=0', '--light',
              '--stack=256k', '--no-status', '--status-remote', '--bind=127.0.0.1'],
             ['--max-uri is now --limit uri=...', '--max-header is now --limit header=...',
              '--max-conns is now --limit conns=...', '--max-body is now --limit body=...',
              '--backlog is now --limit backlog=...', '--timeout-body is now --timeout body=...',
              '--cache-time is now --timeout cache=...', '--light is now --thread light',
              '--stack is now --thread stack=...', '--no-status is now --show-status no',
              '--status-remote is now --show-status remote', '--bind is now --listen=...'])]:
        s = t.server(*extra)
        equal([x for x in s.err if 'is now' in x],
              ['ukweb: %s; the old name will be removed in 0.3\n' % x for x in notes])
        equal(s.get('/' + 'a' * 63).status, 404)
        equal(s.get('/' + 'a' * 64).status, 414)
        equal(s.get('/', headers=[('X', 'a' * 600)]).status, 431)
        equal(s.get('/', 'POST', [('Content-Length', '21')]).status, 413)
        equal(s.get('/metrics').status, 404)
        equal(s.stop(), 0)
    s = t.server('--show-status=no', '--show-status=local')
    equal(s.get('/metrics').status, 200)


@test()
def a_port_in_use_is_said_and_a_restart_takes_it_at_once(t):
    p = subprocess.run([t.ukweb, '--mode=' + t.mode, '--port=%d' % t.main.port], timeout=100,
                       stderr=subprocess.PIPE)
    check(p.returncode == 3 and b'Address already in use' in p.stderr, p.stderr)
    s = t.server()
    with s.conn() as c:
        equal(c.request('/').status, 200)
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)
        s = t.server(port=s.port)
        equal(s.get('/').status, 200)
    equal(s.stop(), 0)


@test(limit=60)
def a_thousand_connections_at_once(t):
    n = 1000
    need_files(n + 500)
    s = t.server()
    cs = [s.conn() for _ in range(n)]
    for round_ in range(3):
        for i, c in enumerate(cs):
            c.send('GET /n/%d.txt HTTP/1.1\r\nHost: a\r\n\r\n' % (i % 100))
        for i, c in enumerate(cs):
            equal(c.response().body, b'file number %d\n' % (i % 100))
    for c in cs:
        c.close()
    equal(s.stop(), 0)


@test(limit=40)
def at_max_conns_the_rest_waits_its_turn(t):
    s = t.server('--limit=conns=20', '--timeout=idle=30,header=30')
    # Twenty connections are kept alive; the next twenty make the server close the idle
    # ones.
    cs = []
    for i in range(40):
        c = s.conn()
        equal(c.request('/').status, 200)
        cs.append(c)
    check(s.fds() < 60, 'descriptors', s.fds())
    for c in cs:
        c.close()
    equal(s.stop(), 0)


def answers(s):
    """503: it has no fd left for the file."""
    try:
        return s.get('/').status == 200
    except (OSError, EOFError):
        return False


@test(limit=120)
def out_of_descriptors_it_neither_spins_nor_dies(t):
    s = t.server('--limit=conns=1000', nofile=80)
    start = time.monotonic()
    with s.conn() as first:
        equal(first.request('/').status, 200)
        cs = []
        for _ in range(150):
            if t.tls:  # a handshake would wait for its turn
                c = socket.create_connection(('127.0.0.1', s.port), 60)
            else:
                c = s.conn()
                c.send('G')
            cs.append(c)
        until('has descriptors left', lambda: any('accept: ' in e for e in s.err), 100)
        time.sleep(1)  # time in which it could spin
        for c in cs:
            c.close()
    until('does not come back', lambda: answers(s), 100)
    failed = int(re.search(r'^ukweb_accept_errors_total (\d+)', s.get('/metrics').body.decode(),
                           re.M).group(1))
    ms = 1000 * (time.monotonic() - start)
    check(0 < failed < 10 + ms / 2, 'spins:', failed, 'failures in ms:', ms)  # 2 ms of rest after each
    equal(s.stop(), 0)


@test(limit=60)
def out_of_descriptors_it_stops_without_spinning(t):
    s = t.server('--limit=conns=1000', '--timeout=stop=3', nofile=60)
    cs = []
    for _ in range(90):
        c = socket.create_connection(('127.0.0.1', s.port), 60)
        if not t.tls:
            c.sendall(b'GET / HTTP/1.1\r\nHost: ')  # a request under way, which the server may end
        cs.append(c)
    until('has descriptors left', lambda: any('accept: ' in e for e in s.err), 50)
    cpu, start = s.cpu(), time.monotonic()
    s.signal(signal.SIGTERM)
    time.sleep(2)  # time in which it could spin
    cpu, wall = s.cpu() - cpu, time.monotonic() - start
    check(cpu < wall / 4, 'spins:', cpu, 's of', wall)
    for c in cs:
        c.close()
    equal(s.wait(), 0)


@test(limit=40)
def at_the_limit_of_threads_idle_ones_make_room(t):
    if t.mode == 'pth':
        raise Skip('the limit is one of user threads')
    s = t.server('--timeout=idle=30', env={'UK_THREAD_LIMIT': '12'})
    cs = []
    for i in range(40):
        c = s.conn()
        equal(c.request('/').status, 200)
        cs.append(c)
    for c in cs:
        c.close()
    equal(s.stop(), 0)


class Load(threading.Thread):
    """Keep-alive clients; counts requests that were accepted but not answered in
    full."""

    def __init__(self, s, path, want, close=False):
        super().__init__(daemon=True)
        self.s, self.path, self.want, self.close_each = s, path, want, close
        self.ok, self.lost, self.refused = 0, [], 0
        self.stopping = self.quit = False

    def run(self):
        req = ('GET %s HTTP/1.1\r\nHost: a\r\n%s\r\n' % (
            self.path, 'Connection: close\r\n' if self.close_each else '')).encode()
        while True:
            try:
                c = self.s.conn()
            except (ConnectionRefusedError, socket.timeout):
                self.refused += 1
                return
            except (OSError, ssl.SSLError) as e:
                self.lost.append('connect: %r' % e)
                return
            first = True
            with c:
                while True:
                    try:
                        c.send(req)
                        r = c.response()
                    except (OSError, EOFError, ssl.SSLError) as e:
                        # Closed between two requests before the server saw this one.
                        # HTTP has this race, and the client repeats the request.
                        # Anything else is a loss.
                        if first or c.buf:
                            self.lost.append('request: %r %r' % (e, c.buf[:80]))
                        break
                    if r.status != 200 or r.body != self.want:
                        self.lost.append('status %d, %d bytes' % (r.status, len(r.body)))
                    self.ok += 1
                    first = False
                    if r['connection'] == 'close' or self.quit:
                        break
            if self.stopping or self.quit:
                return


@test(limit=60)
def a_stop_under_load_loses_no_accepted_request(t):
    for round_ in range(3):
        s = t.server('--timeout=stop=300', '--access-log=' + os.path.join(t.tmp, 'stop.log'))
        loads = [Load(s, '/small.bin', t.small, close=i % 2 == 0) for i in range(16)]
        loads += [Load(s, '/large.bin', t.large) for i in range(4)]
        for ld in loads:
            ld.start()
        until('the load is too small', lambda: sum(ld.ok for ld in loads) > 500)
        s.signal(signal.SIGTERM)
        for ld in loads:
            ld.stopping = True
        rc = s.wait()
        for ld in loads:
            ld.join(60)
        lost = [x for ld in loads for x in ld.lost]
        done = sum(ld.ok for ld in loads)
        equal(rc, 0)
        check(not lost, 'round', round_, 'lost', len(lost), lost[:5])
        lines = open(os.path.join(t.tmp, 'stop.log')).read().splitlines()
        os.unlink(os.path.join(t.tmp, 'stop.log'))
        check(len(lines) >= done, 'log lines', len(lines), 'requests', done)


@test(tls=False)
def the_backlog_is_served_before_the_end(t):
    """The server is stopped by SIGSTOP. Clients connect and send. Then it gets the
    signal to stop, and continues."""
    s = t.server()
    s.signal(signal.SIGSTOP)
    cs = [s.conn() for _ in range(100)]
    for i, c in enumerate(cs):
        c.send('GET /n/%d.txt HTTP/1.1\r\nHost: a\r\n\r\n' % i)
    s.signal(signal.SIGTERM)
    s.signal(signal.SIGCONT)
    for i, c in enumerate(cs):
        r = c.response()
        equal(r.body, b'file number %d\n' % i)
        c.close()
    equal(s.wait(), 0)


@test()
def a_transfer_under_way_is_finished_and_idle_ones_are_closed(t):
    s = t.server('--timeout=idle=60')
    big = t.put('big.bin', b'z' * 20000000)
    with s.conn(rcvbuf=65536) as c, s.conn() as idle, s.conn() as half:
        equal(idle.request('/').status, 200)
        c.send('GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n')
        c.recv(1)
        half.send('GET /n/1.txt HT')
        time.sleep(0.1)
        s.signal(signal.SIGTERM)
        time.sleep(0.6)
        idle.at_end()
        half.send('TP/1.1\r\nHost: a\r\n\r\n')
        r = half.response()
        equal((r.body, r['connection']), (b'file number 1\n', 'close'))
        check(s.proc.poll() is None, 'gone before its work was done')
        n = 1
        while True:
            d = c.recv(1 << 20)
            if not d:
                break
            n += len(d)
        check(n > 20000000, 'cut', n)
    equal(s.wait(), 0)
    os.unlink(big)


@test()
def a_second_signal_means_now_and_a_stop_is_bounded(t):
    s = t.server()
    with s.conn(rcvbuf=4096) as c:
        c.send('GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n')
        c.recv(1)
        s.signal(signal.SIGTERM)
        time.sleep(0.3)
        check(s.proc.poll() is None)
        s.signal(signal.SIGINT)
        equal(s.wait(), 1)
    s = t.server('--timeout=stop=1')
    with s.conn(rcvbuf=4096) as c:
        c.send('GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n')
        c.recv(1)
        t0 = time.monotonic()
        s.signal(signal.SIGTERM)
        equal(s.wait(), 0)
        check(time.monotonic() - t0 > 0.8, 'too early')


LINE = re.compile(r'^127\.0\.0\.1 - - \[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d \+0000\] '
                  r'"((?:[^"\\]|\\.)*)" (\d{3}) (\d+) "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)"$')


@test(limit=40)
def the_access_log_is_complete_and_well_formed(t):
    log = os.path.join(t.tmp, 'access.log')
    s = t.server('--access-log=' + log)
    with s.conn() as c:
        c.request('/small.bin', headers=[('User-Agent', 'a "quoted" \\ \xfc'),
                                         ('Referer', 'http://x/')])
        c.request('/nope', 'HEAD')
        c.send('GET /"\x7f HTTP/1.1\r\nHost: a\r\n\r\n')
        equal(c.response().status, 400)

    def hammer():
        with s.conn() as c:
            for i in range(50):
                c.send('GET /n/1.txt HTTP/1.1\r\nHost: a\r\n\r\n' * 20)
                for _ in range(20):
                    c.response()
    ths = [threading.Thread(target=hammer) for _ in range(4)]
    for th in ths:
        th.start()
    time.sleep(0.1)
    os.rename(log, log + '.1')
    s.signal(signal.SIGHUP)
    for th in ths:
        th.join()
    end = time.monotonic() + 60
    while not os.path.exists(log) and time.monotonic() < end:
        time.sleep(0.02)
    s.get('/n/1.txt')
    equal(s.stop(), 0)
    old, new = open(log + '.1').read(), open(log).read()
    lines = (old + new).splitlines()
    equal(len(lines), 4 * 50 * 20 + 4)
    for ln in lines:
        check(LINE.match(ln), 'bad line', ln)
    m = LINE.match(lines[0])
    equal(m.groups(), ('GET /small.bin HTTP/1.1', '200', '10000', 'http://x/',
                       'a \\"quoted\\" \\\\ \\xfc'))
    equal(LINE.match(lines[1]).groups()[:3], ('HEAD /nope HTTP/1.1', '404', '0'))
    check(LINE.match(lines[2]).group(2) == '400')
    check(new, 'SIGHUP did not reopen the log')


@test(limit=60)
def a_connection_that_is_new_at_a_stop_is_answered(t):
    """Its first request arrives when idle keep-alive connections have already been
    closed."""
    s = t.server('--timeout=stop=120,header=100')
    with s.conn() as used, s.conn() as fresh:
        equal(used.request('/').status, 200)
        s.signal(signal.SIGTERM)
        used.at_end()  # the time of grace is over
        r = fresh.request('/n/1.txt')
        equal((r.status, r.body, r['connection']), (200, b'file number 1\n', 'close'))
        fresh.at_end()
    equal(s.wait(), 0)
    s = t.server('--timeout=stop=6')
    with s.conn() as fresh, s.conn() as used:
        equal(used.request('/').status, 200)
        s.signal(signal.SIGTERM)
        used.at_end()
        fresh.at_end()  # but it does not delay the end for ever
    equal(s.wait(), 0)


def pending(s):
    """Is a signal pending for it?"""
    for ln in open('/proc/%d/status' % s.proc.pid):
        if ln.startswith('ShdPnd:'):
            return int(ln.split()[1], 16)


def frozen_log(t):
    """An access log that blocks: a full pipe."""
    p = os.path.join(t.tmp, 'frozen-%d' % len(t.servers))
    os.mkfifo(p)
    fd = os.open(p, os.O_RDWR | os.O_NONBLOCK)
    try:
        while True:
            os.write(fd, b'x' * 4096)
    except BlockingIOError:
        return p, fd


@test(limit=90)
def nothing_keeps_a_second_signal_from_ending_it(t):
    """Downloads that do not proceed, and a log that blocks."""
    big = t.put('fifty.bin', b'z' * 50000000)
    log, fd = frozen_log(t)
    s = t.server('--timeout=stop=1000,write=1000', '--access-log=' + log)
    cs = [s.conn(rcvbuf=4096) for _ in range(40)]
    for i, c in enumerate(cs):
        if i % 2:
            equal(c.request('/').status, 200)  # a line for the log
        c.send('GET /fifty.bin HTTP/1.1\r\nHost: a\r\n\r\n')
        c.recv(1)
    s.signal(signal.SIGTERM)
    end = time.monotonic() + 60
    while not any('stopping' in e for e in s.err) and time.monotonic() < end:
        time.sleep(0.01)
    check(s.proc.poll() is None)
    s.signal(signal.SIGTERM)
    equal(s.wait(60), 1)  # and not after the thousand seconds
    for c in cs:
        c.close()
    os.close(fd)
    os.unlink(big)


@test(limit=90)
def a_second_signal_ends_it_while_files_are_being_sent(t):
    """Downloads that keep every CPU busy, and a limit for the stop that is far away."""
    big = t.put('fifty.bin', b'z' * 50000000)
    s = t.server('--timeout=stop=1000')
    got = [0] * 16

    def download(i):
        try:
            while True:
                with s.conn() as c:
                    c.send('GET /fifty.bin HTTP/1.1\r\nHost: a\r\n\r\n')
                    while c.recv(1 << 20):
                        got[i] += 1
        except (OSError, EOFError):
            pass  # the server has ended
    ths = [threading.Thread(target=download, args=(i,)) for i in range(len(got))]
    for th in ths:
        th.start()
    until('nothing is sent', lambda: min(got) > 1, 60)
    s.signal(signal.SIGTERM)
    until('the first signal', lambda: any('stopping' in e for e in s.err), 60)
    s.signal(signal.SIGTERM)
    equal(s.wait(), 1)
    for th in ths:
        th.join()
    os.unlink(big)


@test(limit=90)
def a_standard_error_that_nobody_reads_holds_nothing_up(t):
    for signals, code in (1, 0), (2, 1):
        s = t.server('--timeout=stop=1000' if code else '--timeout=stop=500ms', nofile=40)
        s.listens.clear()
        fd = os.open('/proc/%d/fd/2' % s.proc.pid, os.O_WRONLY | os.O_NONBLOCK)
        full = 0
        while full < 3:  # the reader takes one more buffer
            try:
                os.write(fd, b'x' * 100 + b'\n')
            except BlockingIOError:
                full += 1
                time.sleep(0.1)
        os.close(fd)
        cs = [socket.create_connection(('127.0.0.1', s.port)) for _ in range(60)]
        until('it cannot say that it lacks descriptors', lambda: s.fds() >= 39)
        for c in cs[1:]:
            c.close()
        until('it hangs', lambda: answers(s), 60)
        s.signal(signal.SIGTERM)
        for _ in range(signals - 1):
            until('the first signal', lambda: not pending(s), 60)
            s.signal(signal.SIGTERM)
        equal(s.proc.wait(60), code)
        s.listens.set()
        cs[0].close()


@test(limit=90)
def a_stop_that_is_over_ends_though_the_log_is_stuck(t):
    log, fd = frozen_log(t)
    s = t.server('--timeout=stop=500ms', '--access-log=' + log)
    equal(s.get('/').status, 200)
    s.signal(signal.SIGTERM)
    equal(s.wait(60), 0)
    os.close(fd)


@test(limit=40)
def usr1_opens_the_log_anew_and_the_pid_file_is_kept(t):
    log, pid = os.path.join(t.tmp, 'usr1.log'), os.path.join(t.tmp, 'pid')
    s = t.server('--access-log=' + log, '--pid-file=' + pid)
    equal(int(open(pid).read()), s.proc.pid)
    equal(s.get('/').status, 200)
    os.rename(log, log + '.1')
    s.signal(signal.SIGUSR1)
    end = time.monotonic() + 30
    while not os.path.exists(log) and time.monotonic() < end:
        time.sleep(0.01)
    equal(s.get('/nope').status, 404)
    equal(s.stop(), 0)
    check(' 404 ' in open(log).read() and ' 200 ' in open(log + '.1').read())
    check(not os.path.exists(pid), 'the pid file is left')


def open_files(s, part):
    d = '/proc/%d/fd' % s.proc.pid
    out = []
    for f in os.listdir(d):
        try:
            out.append(os.readlink(os.path.join(d, f)))
        except OSError:
            pass
    return [x for x in out if part in x]


def until(what, cond, limit=100):
    end = time.monotonic() + limit
    while not cond():
        check(time.monotonic() < end, what)
        time.sleep(0.02)


@test(limit=60)
def the_cache_lets_go_of_what_is_deleted_or_not_used(t):
    big = t.put('deleted.bin', b'd' * 100000)
    t.put('unused.bin', b'u' * 100000)
    s = t.server('--timeout=cache=200ms')
    equal(len(s.get('/deleted.bin').body), 100000)
    equal(len(s.get('/unused.bin').body), 100000)
    check(open_files(s, 'deleted.bin') and open_files(s, 'unused.bin'))
    os.unlink(big)
    until('a deleted file is held', lambda: not open_files(s, 'deleted.bin'))
    until('a file that nobody asks for is held', lambda: not open_files(s, 'unused.bin'))
    equal(len(s.get('/unused.bin').body), 100000)
    equal(s.stop(), 0)


@test(limit=60)
def another_directory_under_the_roots_name_is_served(t):
    """The directory is renamed and made anew, or a link to it is switched. SIGHUP makes
    the server see it at once."""
    d = os.path.join(t.tmp, 'site')
    for n in ('one', 'two', 'www'):
        os.makedirs(os.path.join(d, n))
        for f, k in (('a.txt', 1), ('b.bin', 20000)):
            with open(os.path.join(d, n, f), 'w') as out:
                out.write((n + '\n') * k)
    www, link = os.path.join(d, 'www'), os.path.join(d, 'current')
    os.symlink('one', link)
    a, b = t.server('--timeout=cache=100ms', root=www), t.server('--timeout=cache=100ms', root=link)
    forever = t.server('--timeout=cache=1h', root=link)

    def get(s, f):
        r = s.get(f)
        return r.body.split(b'\n')[0] if r.status == 200 else r.status
    for f in ('/a.txt', '/b.bin'):
        equal([get(x, f) for x in (a, b, forever)], [b'www', b'one', b'one'])
    os.rename(www, www + '.old')
    os.rename(os.path.join(d, 'two'), www)
    os.symlink('www', link + '2')
    os.rename(link + '2', link)
    for f in ('/a.txt', '/b.bin'):
        until('the old tree after a rename', lambda: get(a, f) == b'two')
        until('the old tree after a switch', lambda: get(b, f) == b'two')
        equal(get(forever, f), b'one')
    until('the old root is held', lambda: not open_files(a, 'www.old'))
    forever.signal(signal.SIGHUP)
    for f in ('/a.txt', '/b.bin'):
        until('the old tree after SIGHUP', lambda: get(forever, f) == b'two')
    for s in (a, b, forever):
        equal(s.stop(), 0)


def memory(s):
    """Bytes of anonymous memory. Pages of files are left out (and Pss is not used),
    because the server's share of them depends on which other processes map the same
    libraries."""
    for ln in open('/proc/%d/smaps_rollup' % s.proc.pid):
        if ln.startswith('Anonymous:'):
            return int(ln.split()[1]) * 1024


def kept_by_openssl(t):
    """The bytes that OpenSSL alone keeps for each connection: 14,048 with 3.0, 28,384
    with 3.5."""
    out = subprocess.run([t.tls_min, t.cert, t.key], check=True, capture_output=True, text=True)
    return int(re.search(r"(\d+) with malloc's own", out.stdout).group(1))


@test(limit=120)
def an_idle_connection_costs_a_page_and_what_tls_keeps(t):
    """New connections and used ones, whatever their requests needed meanwhile. With
    10,000 connections it is 4.7 KB plus what OpenSSL keeps (bench/web/idle.py); each
    vp's table takes 40 bytes of it. A thread with frames of two pages would not
    pass."""
    if t.mode == 'pth':
        raise Skip('a kernel thread has its own price')
    # With only 1,500, the heaps and the first pages of the tables add to each.
    limit = 7000 + 100 * t.vps + (kept_by_openssl(t) if t.tls else 0)
    s = t.server('--timeout=idle=1000,header=1000')
    if re.search('lib[at]san', open('/proc/%d/maps' % s.proc.pid).read()):
        raise Skip('a sanitizer has its own price')
    for _ in range(20):
        s.get('/large.bin')
    warm = [s.conn() for _ in range(8)]  # the rings' 1,024 buffers do not count for a connection
    for i in range(4000):
        warm[i % 8].request('/n/1.txt', headers=[('X', 'y' * 1500)])
    for c in warm:
        c.close()
    n, other = 1500, t.server()
    base, cs = memory(s), [s.conn(60) for _ in range(n)]
    equal(other.stop(), 0)
    for i, c in enumerate(cs):
        if i % 2:
            equal(c.request('/nope%64', headers=[('X', 'y' * 3000)]).status, 404)
            equal(c.request('/small.bin').status, 200)
    price = [0]

    def is_cheap():
        price[0] = (memory(s) - base) // n
        return price[0] < limit
    until(price, is_cheap, 60)
    for c in cs:
        equal(c.request('/n/1.txt').body, b'file number 1\n')
        c.close()
    equal(s.stop(), 0)
