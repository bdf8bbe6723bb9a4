# SPDX-License-Identifier: Apache-2.0
"""The status page, its JSON and the metrics; and the page in a real browser."""
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from cdp import Browser
from harness import Skip, check, equal, test


@test()
def the_json_counts(t):
    with t.main.conn() as c:
        a = json.loads(c.request('/-/status.json').body)
        for _ in range(10):
            c.request('/n/1.txt')
        b = json.loads(c.request('/-/status.json').body)
    equal(b['server']['requests'] - a['server']['requests'], 11)
    equal((b['mode'], b['tls']), (t.mode, t.tls))
    check(b['alive'] >= 1 and len(b['connections']) >= 1)
    me = [x for x in b['connections'] if x['requests'] == 11]
    check(me and me[0]['peer'] == '127.0.0.1' and me[0]['state'] == 'busy', b['connections'])
    check(b['now_ms'] >= a['now_ms'] and b['kernel_threads'] >= 1)
    if t.mode != 'pth':
        check(b['engine'] in ('io_uring', 'epoll'), b['engine'])
        want = os.environ.get('UK_REACTOR')
        check(not want or b['engine'].endswith(want), b['engine'], want)
        equal(len(b['vps']), t.vps)
        check(b['runtime']['threads'] >= 2 and b['runtime']['creates'] >= 2, b['runtime'])
        check(b['runtime']['parks'] >= a['runtime']['parks'])
        check(any(x['name'] == 'acceptor' for x in b['threads']), b['threads'])


SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})? '
                    r'(-?[0-9.e+]+|NaN|[+-]Inf)$')


@test()
def the_metrics_are_valid_prometheus_text(t):
    r = t.main.get('/metrics')
    equal(r['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    text = r.body.decode()
    check(text.endswith('\n'))
    types, helps, seen, current = {}, set(), set(), None
    for ln in text.splitlines():
        if ln.startswith('# HELP '):
            name = ln.split(' ')[2]
            check(name not in helps and len(ln.split(' ', 3)[3]) > 3, ln)
            helps.add(name)
        elif ln.startswith('# TYPE '):
            _, _, name, kind = ln.split(' ')
            check(name not in types and kind in ('counter', 'gauge'), ln)
            check(name in helps, 'TYPE without HELP', ln)
            check((kind == 'counter') == name.endswith('_total'), 'counters end in _total', ln)
            types[name], current = kind, name
        else:
            m = SAMPLE.match(ln)
            check(m, 'bad sample', ln)
            equal(m.group(1), current, 'samples of a family stand together')
            key = (m.group(1), m.group(2))
            check(key not in seen, 'twice', ln)
            seen.add(key)
    check('ukweb_requests_total' in types and 'ukweb_replies_total' in types)
    check(t.mode == 'pth' or 'ukthreads_switches_total' in types)
    equal(types.keys(), helps)
    if shutil.which('promtool'):
        p = subprocess.run(['promtool', 'check', 'metrics'], input=r.body, timeout=100,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal(p.returncode, 0, p.stdout.decode())


@test()
def only_this_machine_sees_them(t):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        s.connect(('192.0.2.1', 9))
        me = s.getsockname()[0]
    except OSError:
        raise Skip('no address besides loopback')
    finally:
        s.close()

    def status(server, addr, path):
        out = subprocess.run(['curl', '-sk', '--noproxy', '*', '--max-time', '5', '-o', '/dev/null',
                              '-w', '%{http_code}', '%s://%s:%d%s' % (
                                  'https' if t.tls else 'http', addr, server.port, path)],
                             stdout=subprocess.PIPE).stdout.decode()
        return out
    if me.startswith('127.') or not shutil.which('curl'):
        raise Skip('no address besides loopback, or no curl')
    s = t.server('--listen=0.0.0.0')
    for path in ('/-/status', '/-/status.json', '/metrics'):
        equal(status(s, '127.0.0.1', path), '200')
        equal(status(s, me, path), '404', path)
    equal(status(s, me, '/'), '200')
    equal(status(t.server('--listen=0.0.0.0', '--show-status=remote'), me, '/metrics'), '200')
    s = t.server('--show-status=no')
    equal(status(s, '127.0.0.1', '/metrics'), '404')


@test()
def a_name_that_is_not_ours_is_told_nothing(t):
    """DNS rebinding: a page from elsewhere whose host name now resolves to
    127.0.0.1."""
    with t.main.conn() as c:
        for host, want in [('evil.example', 404), ('evil.example:8080', 404), ('localhost', 200),
                           ('LocalHost:1', 200), ('127.0.0.1', 200), ('127.0.0.1:80', 200),
                           ('[::1]', 200), ('[::1]:80', 200), ('localhost.evil.example', 404),
                           ('127.0.0.1.evil.example', 404), ('', 200), ('[evil]', 404),
                           ('2130706433', 404), ('a' * 200, 404)]:
            for path in ('/-/status', '/-/status.json', '/metrics'):
                c.send('GET %s HTTP/1.1\r\nHost: %s\r\n\r\n' % (path, host))
                equal(c.response().status, want, host)
            c.send('GET http://%s/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'
                   % (host or 'localhost'))
            equal(c.response().status, want, host)
        c.send('GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n')
        equal(c.response().status, 200)
    s = t.server('--show-status=remote')
    with s.conn() as c:
        c.send('GET /metrics HTTP/1.1\r\nHost: stats.example\r\n\r\n')
        equal(c.response().status, 200)


@test(limit=60)
def the_numbers_of_one_reply_fit_together(t):
    """All numbers of one reply were taken at one moment, although other clients ask
    meanwhile."""
    stop = threading.Event()

    def load():
        with t.main.conn() as c:
            while not stop.is_set():
                c.request('/n/1.txt')
                c.request('/nope')
    ths = [threading.Thread(target=load, daemon=True) for _ in range(4)]
    for th in ths:
        th.start()
    try:
        with t.main.conn() as c:
            for _ in range(100):
                k = json.loads(c.request('/-/status.json').body)['server']
                equal(k['requests'], sum(k['r%dxx' % i] for i in (2, 3, 4, 5)))
                m = dict(SAMPLE.match(x).group(0).rsplit(' ', 1)
                         for x in c.request('/metrics').body.decode().splitlines()
                         if x.startswith('ukweb_re'))
                equal(int(m['ukweb_requests_total']), sum(
                    int(v) for n, v in m.items() if 'replies' in n and '1xx' not in n))
    finally:
        stop.set()
        for th in ths:
            th.join(10)


@test(limit=300)
def the_page_lives_in_a_browser(t):
    chromium = shutil.which('chromium') or shutil.which('chromium-browser') or \
        shutil.which('google-chrome')
    if not chromium:
        raise Skip('no chromium')
    stop = threading.Event()

    def load():
        with t.main.conn() as c:
            while not stop.is_set():
                c.request('/n/1.txt')
                time.sleep(0.002)
    th = threading.Thread(target=load, daemon=True)
    th.start()
    try:
        with Browser(chromium, t.tmp) as b:
            b.open('%s://127.0.0.1:%d/-/status' % ('https' if t.tls else 'http', t.main.port))
            text = "document.getElementById('%s')?.textContent"
            b.wait_for(text % 'state' + " === 'live'")
            b.wait_for(text % 'n-rps' + "?.match(/^[0-9]/) != null")
            one = b.eval(text % 'n-requests')
            b.wait_for(text % 'n-requests' + ' !== %r' % one)
            b.wait_for("parseFloat(%s) > 0" % (text % 'n-rps'))
            check(b.eval("document.querySelectorAll('#counters tbody tr').length") >= 15)
            check(b.eval("document.querySelectorAll('#conns tbody tr').length") >= 1)
            check(b.eval("document.querySelector('#spark polyline').getAttribute('points')"
                         ".split(' ').length") >= 2)
            # The scale is a round number that no point exceeds, and the axis shows the
            # time.
            top = b.eval(text % 'spark-max')
            check(re.match(r'^[125]0*( [kMG])?$|^[125]0*\.0+ [kMG]$', top), 'scale', top)
            check(b.eval("document.querySelector('#spark polyline').getAttribute('points')"
                         ".split(' ').every(p=>p.split(',')[1]>=2)"), 'above the scale')
            check('2 minutes ago' in b.eval("document.querySelector('.axis').textContent"))
            if t.mode != 'pth':
                equal(b.eval("document.querySelectorAll('#vps tbody tr').length"), t.vps)
                check(b.eval("document.querySelectorAll('#threads tbody tr').length") >= 2)
                sw = b.eval(text % 'n-switches')
                check(sw not in ('-', '0'), 'switches/s', sw)
            equal(b.errors, [])
            if t.screenshot:
                b.screenshot(t.screenshot)
    finally:
        stop.set()
        th.join(5)
