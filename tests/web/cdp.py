# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, controlled through its DevTools protocol with the standard
library alone."""
import base64
import json
import os
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import urllib.request


class Browser:
    def __init__(self, exe, tmp):
        self.dir = tempfile.mkdtemp(dir=tmp)
        self.proc = subprocess.Popen(
            [exe, '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-dev-shm-usage', '--ignore-certificate-errors', '--no-proxy-server',
             '--remote-debugging-port=0', '--window-size=1100,1400',
             '--user-data-dir=' + self.dir, 'about:blank'],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.errors, self.n, self.buf = [], 0, b''

    def __enter__(self):
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()
        shutil.rmtree(self.dir, ignore_errors=True)

    def _connect(self):
        """Waits until the browser listens or has died. If it hangs, the time limit of
        the test ends it."""
        name = os.path.join(self.dir, 'DevToolsActivePort')
        port = None
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while True:
            try:
                port = int(open(name).read().split()[0])
                pages = json.load(opener.open('http://127.0.0.1:%d/json' % port))
                page = [p for p in pages if p['type'] == 'page'][0]
                break
            except (OSError, ValueError, IndexError):
                if self.proc.poll() is not None:
                    raise AssertionError('the browser does not start')
                time.sleep(0.1)
        path = page['webSocketDebuggerUrl'].split('/', 3)[3]
        self.s = socket.create_connection(('127.0.0.1', port))
        self.s.sendall(('GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\n'
                        'Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
                        'Sec-WebSocket-Key: %s\r\n\r\n' % (
                            path, port, base64.b64encode(os.urandom(16)).decode())).encode())
        while b'\r\n\r\n' not in self.buf:
            self.buf += self.s.recv(4096)
        head, self.buf = self.buf.split(b'\r\n\r\n', 1)
        assert b' 101 ' in head.split(b'\r\n')[0], head
        self.call('Page.enable')
        self.call('Runtime.enable')

    def _take(self, n):
        while len(self.buf) < n:
            d = self.s.recv(65536)
            if not d:
                raise EOFError('browser gone')
            self.buf += d
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def _message(self):
        data = b''
        while True:
            b0, b1 = self._take(2)
            n = b1 & 127
            if n == 126:
                n = struct.unpack('>H', self._take(2))[0]
            elif n == 127:
                n = struct.unpack('>Q', self._take(8))[0]
            payload = self._take(n)
            if b0 & 15 < 8:
                data += payload
                if b0 & 128:
                    return json.loads(data)

    def call(self, method, **params):
        self.n += 1
        data = json.dumps({'id': self.n, 'method': method, 'params': params}).encode()
        mask = os.urandom(4)
        n = len(data)
        head = struct.pack('>BB', 0x81, 0x80 | n) if n < 126 else \
            struct.pack('>BBH', 0x81, 0x80 | 126, n)
        self.s.sendall(head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(data)))
        while True:
            m = self._message()
            if m.get('method') == 'Runtime.exceptionThrown':
                self.errors.append(m['params']['exceptionDetails'].get('text', '?'))
            if m.get('id') == self.n:
                if 'error' in m:
                    raise AssertionError(m['error'])
                return m['result']

    def open(self, url):
        r = self.call('Page.navigate', url=url)
        if r.get('errorText'):
            raise AssertionError('%s: %s' % (url, r['errorText']))

    def eval(self, js):
        r = self.call('Runtime.evaluate', expression=js, returnByValue=True)
        if 'exceptionDetails' in r:
            raise AssertionError(r['exceptionDetails'])
        return r['result'].get('value')

    def wait_for(self, js):
        while not self.eval(js):
            time.sleep(0.1)

    def screenshot(self, path):
        data = self.call('Page.captureScreenshot', format='png')['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))
