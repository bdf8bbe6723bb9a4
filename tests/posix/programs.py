#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.py BUILD [NAME...] [--report FILE] [--rounds N]: run programs of other projects, and
programs on the runtimes of others (HotSpot, CPython, Rust's std), natively and by `uk run`.

Each function below runs one program with a client. It returns the results, which must be the
same both times. Programs that need no client are in programs/commands; they run on both engines
and with several numbers of vps, unless the environment chooses. Programs that are not installed
are skipped; `scripts/deps programs` installs them. meson.build lists those that `make check` runs.

Clients always run natively. A program that hangs gets SIGQUIT, so its dump is shown."""
import argparse
import concurrent.futures
import contextlib
import glob
import hashlib
import imaplib
import os
import poplib
import re
import resource
import selectors
import shutil
import signal
import smtplib
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bench/lib"))
from ports import free_port  # noqa: E402

SOURCES = os.path.join(HERE, "programs")
LIMIT = float(os.environ.get("UK_TEST_LIMIT", "200"))
PYTHON = "/usr/bin/python3"
PROGRAMS = {}
COMMANDS = set()  # the names that come from programs/commands


class Skip(Exception):
    pass


class Wrong(Exception):
    pass


def program(needs=()):
    def mark(fn):
        PROGRAMS[fn.__name__] = (fn, needs)
        return fn
    return mark


class Runner:
    """Starts programs, natively or by `uk run`, in a directory of their own."""

    def __init__(self, prefix, tmp):
        self.prefix, self.tmp = prefix, tmp
        self.env = {k: v for k, v in os.environ.items()
                    if k != "LD_PRELOAD" and (prefix or not k.startswith("UK_"))}

    def start(self, *cmd, **kw):
        kw = dict(dict(env=self.env, cwd=self.tmp, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       stdin=subprocess.DEVNULL, start_new_session=True), **kw)
        return subprocess.Popen([*self.prefix, *map(str, cmd)], **kw)

    def finish(self, p, data=None, ok=(0,)):
        try:
            out, err = p.communicate(data, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            dump(p)
            out, err = p.communicate()
            raise Wrong("hangs\n" + said(out, err))
        if p.returncode not in ok:
            raise Wrong("ends with %d\n%s" % (p.returncode, said(out, err)))
        return out

    def run(self, *cmd, data=None, ok=(0,), **kw):
        if data is not None:
            kw["stdin"] = subprocess.PIPE
        return self.finish(self.start(*cmd, **kw), data, ok)

    @contextlib.contextmanager
    def server(self, *cmd, stop=signal.SIGTERM, ok=(0,), **kw):
        """Runs a server. At the end it is stopped by a signal, or by end-of-file on its input."""
        p = self.start(*cmd, stdin=subprocess.PIPE, **kw)
        try:
            yield p
            if stop:
                p.send_signal(stop)
            p.out = self.finish(p, None, ok)
        except Exception as e:
            if p.poll() is None:
                dump(p)
            out, err = p.communicate()
            raise Wrong("%s: %s\n%s" % (type(e).__name__, e, said(out, err)))
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(p.pid, signal.SIGKILL)


def said(*texts):
    return "\n".join((t or b"").decode(errors="replace")[-4000:] for t in texts)


def dump(p):
    for sig, sec in ((signal.SIGQUIT, 3), (signal.SIGKILL, 0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(p.pid, sig)
        time.sleep(sec)


def until(fn):
    """Calls fn until its result is true, and returns the result."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with contextlib.suppress(OSError):
            r = fn()
            if r:
                return r
        time.sleep(0.02)
    raise Wrong("no result within %d s: %s" % (LIMIT, fn))


def listens(port):
    until(lambda: socket.create_connection(("127.0.0.1", port), 5).close() is None)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def compiled(r, name, *cmd):
    exe = os.path.join(r.tmp, name)
    subprocess.run([*cmd, "-o", exe], check=True, stderr=subprocess.PIPE, cwd=r.tmp)
    return exe


def source(name):
    return os.path.join(SOURCES, name)


def clients(n, fn):
    with concurrent.futures.ThreadPoolExecutor(n) as pool:
        return sum(pool.map(fn, range(n)))


# ---- commands without a client ----

CONFIGURATIONS = [{"UK_REACTOR": "uring", "UK_VPS": "2"}, {"UK_REACTOR": "epoll", "UK_VPS": "1"},
                  {"UK_REACTOR": "uring", "UK_VPS": "8"}, {"UK_REACTOR": "epoll", "UK_VPS": "8"}]
BUILT = tempfile.TemporaryDirectory()


def some_data(tmp, size):
    path = os.path.join(tmp, "data")
    with open(path, "wb") as f:
        for lib in sorted(glob.glob("/usr/lib/x86_64-linux-gnu/*.so.*")):
            with open(lib, "rb") as one:
                f.write(one.read(size - f.tell()))
            if f.tell() >= size:
                return path
    return path


def command(text):
    def run(r):
        some_data(r.tmp, 12 << 20)
        env = dict(r.env, UK=" ".join(r.prefix), S=SOURCES, B=BUILT.name, HOME=r.tmp,
                   LC_ALL="C.UTF-8")
        p = Runner([], r.tmp).start("bash", "-e", "-o", "pipefail", "-c", text, env=env)
        return r.finish(p)
    return run


def read_commands(path):
    """Reads blocks of a line `name: tool=package...` and shell lines that begin with a tab."""
    with open(path) as f:
        text = re.sub(r"^#.*\n", "", f.read(), flags=re.M)
    for name, tools, lines in re.findall(r"^(\w+): (.*)\n((?:\t.*\n)+)", text, re.M):
        needs = [tool.split("=")[0] for tool in tools.split()]
        PROGRAMS[name] = command(lines), needs
        COMMANDS.add(name)


# ---- everyday tools ----

@program(["git"])
def git(r):
    def cmd(*args, **kw):
        return r.run("git", "-c", "pack.threads=4", "-c", "index.threads=4", "-C", "repo", *args, **kw)
    env = {"HOME": r.tmp, "GIT_CONFIG_NOSYSTEM": "1"}
    r.env.update(env)
    r.run("git", "init", "-q", "repo")
    stream = []
    for n in range(30):
        stream.append("commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 2\nc\n"
                      % (1700000000 + n))
        for f in range(20):
            body = "".join("line %d of file %d, %d\n" % (k, f, (k * n * f) % 97)
                           for k in range(200))
            stream.append("M 644 inline d%d/f%d\ndata %d\n%s\n" % (f % 5, f, len(body), body))
    cmd("fast-import", "--quiet", data="".join(stream).encode())
    cmd("reset", "-q", "--hard", "main")
    cmd("repack", "-adfq", "--threads=4", "--depth=50", "--window=50")
    packs = glob.glob(os.path.join(r.tmp, "repo", ".git", "objects", "pack", "*.pack"))
    with open(packs[0], "rb") as f:
        cmd("index-pack", "--threads=4", "--strict", "--stdin", data=f.read())
    cmd("gc", "-q", "--prune=now")
    cmd("fsck", "--full", "--strict")
    return (digest(cmd("rev-list", "--objects", "--all")), len(packs),
            digest(cmd("grep", "--threads=4", "-c", "line 7")), cmd("status", "-s"))


# ---- language runtimes ----

@program(["g++"])
def cxx(r):
    return r.run(compiled(r, "cxx", "g++", "-std=c++20", "-O1", "-pthread", source("threads.cc")))


@program(["gcc"])
def openmp(r):
    exe = compiled(r, "omp", "gcc", "-O1", "-fopenmp", source("omp.c"))
    try:
        return r.run(exe)
    except Wrong as e:
        if "libgomp" in str(e):
            raise Skip("no libgomp")
        raise


@program([PYTHON])
def python(r):
    return r.run(PYTHON, source("python_threads.py"))


@program([PYTHON])
def python_http(r):
    with r.server(PYTHON, source("http_server.py"), stop=None) as p:
        port = int(p.stdout.readline())

        def get(k):
            good = 0
            for n in range(40):
                path = "/%d/%d" % (k, n)
                with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path),
                                            timeout=LIMIT) as u:
                    good += u.read() == (path * 50).encode()
            return good
        good = clients(16, get)
        urllib.request.urlopen("http://127.0.0.1:%d/stop" % port, timeout=LIMIT).read()
    return good, p.out


def many_connections(port, n, rounds):
    """n connections at the same time echo `rounds` messages each. Returns how many came back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sel, good = selectors.EpollSelector(), 0
    for i in range(n):
        s = socket.create_connection(("127.0.0.1", port), LIMIT)
        sel.register(s, selectors.EVENT_READ, [i, rounds, b""])
    for key in list(sel.get_map().values()):
        key.fileobj.send(b"%08d" % key.data[0])
    left = n
    while left:
        events = sel.select(LIMIT)
        if not events:
            raise Wrong("%d connections got no answer" % left)
        for key, _ in events:
            state = key.data
            state[2] += key.fileobj.recv(64)
            if len(state[2]) < 8:
                continue
            good += state[2] == b"%08d" % state[0]
            state[1:] = [state[1] - 1, b""]
            if state[1]:
                key.fileobj.send(b"%08d" % state[0])
            else:
                left -= 1
    for key in list(sel.get_map().values()):
        key.fileobj.close()
    sel.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return good


def echo_server(r, exe, n, rounds):
    with r.server(exe, n, stop=None) as p:
        good = many_connections(int(p.stdout.readline()), n, rounds)
    return good, p.out


def c_echo(r, n):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < n + 100:
        raise Skip("RLIMIT_NOFILE is too small")
    return echo_server(r, compiled(r, "echo", "gcc", "-O1", "-pthread", source("echo.c")), n, 3)


@program(["gcc"])
def echo_500(r):
    return c_echo(r, 500)


@program(["gcc"])
def echo_10000(r):
    return c_echo(r, 10000)


@program(["mpicc", "mpirun"])
def openmpi(r):
    exe = compiled(r, "mpi", "mpicc", "-O1", "-pthread", source("mpi.c"))
    return r.run("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", 3, exe)


@program(["rustc"])
def rust(r):
    return echo_server(r, compiled(r, "rust", "rustc", "-O", source("server.rs")), 200, 5)


@program(["javac", "java"])
def javac(r):
    r.run("javac", "-d", r.tmp, source("Many.java"))
    names = sorted(os.path.basename(f) for f in glob.glob(os.path.join(r.tmp, "*.class")))
    return names, r.run("java", "-cp", r.tmp, "Many", 20)


@program(["javac", "java"])
def java_10000(r):
    subprocess.run(["javac", "-d", r.tmp, source("Many.java")], check=True)
    return r.run("java", "-Xmx512m", "-cp", r.tmp, "Many", 10000)


@program(["sbcl"])
def sbcl(r):
    return r.run("sbcl", "--script", source("threads.lisp"))


# ---- servers ----

def asks(port, *lines):
    """Sends the lines on one connection, and yields the answer to each."""
    with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rwb") as f:
        for line in lines:
            f.write(line + b"\r\n")
            f.flush()
            yield f.readline().strip()


@program(["memcached"])
def memcached(r):
    port = free_port()
    with r.server("memcached", "-u", "root", "-l", "127.0.0.1", "-p", port, "-U", 0, "-t", 4) as p:
        listens(port)

        def client(k):
            with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rwb") as f:
                good = 0
                for n in range(200):
                    f.write(b"set k%d-%d 0 0 6\r\n%06d\r\nget k%d-%d\r\n" % (k, n, n, k, n))
                    f.flush()
                    lines = [f.readline().strip() for _ in range(4)]
                    good += lines[0] == b"STORED" and lines[2] == b"%06d" % n
                return good
        good = clients(16, client)
    return good, p.returncode


@program(["redis-server"])
def redis(r):
    port = free_port()
    with r.server("redis-server", "--port", port, "--bind", "127.0.0.1", "--io-threads", 4,
                  "--io-threads-do-reads", "yes", "--save", "", "--dir", r.tmp, stop=None) as p:
        listens(port)

        def client(k):
            answers = asks(port, *[b"INCRBY sum %d" % n for n in range(200)])
            return len([a for a in answers if a.startswith(b":")])
        good = clients(32, client)
        answers = list(asks(port, b"GETSET sum 0", b"BGSAVE", b"CONFIG GET nosuch"))
        until(lambda: os.path.exists(os.path.join(r.tmp, "dump.rdb")))
        with contextlib.suppress(OSError):
            list(asks(port, b"SHUTDOWN NOSAVE"))
    return good, answers, p.returncode


@program(["stunnel", "openssl"])
def stunnel(r):
    port, back = free_port(), socket.create_server(("127.0.0.1", 0), backlog=128)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x",
                    "-keyout", "key.pem", "-out", "cert.pem"], cwd=r.tmp, check=True,
                   stderr=subprocess.DEVNULL)
    with open(os.path.join(r.tmp, "conf"), "w") as f:
        f.write("foreground = yes\npid =\n[echo]\naccept = 127.0.0.1:%d\nconnect = 127.0.0.1:%d\n"
                "cert = %s/cert.pem\nkey = %s/key.pem\n"
                % (port, back.getsockname()[1], r.tmp, r.tmp))

    def echo():
        c, _ = back.accept()
        with c:
            while data := c.recv(65536):
                c.sendall(data)
    context = ssl.create_default_context(cafile=os.path.join(r.tmp, "cert.pem"))
    context.check_hostname = False

    def client(k):
        with socket.create_connection(("127.0.0.1", port), LIMIT) as raw, \
                context.wrap_socket(raw) as s:
            good = 0
            for n in range(20):
                data = b"%d" % n * 2000
                s.sendall(data)
                back = b""
                while len(back) < len(data):
                    back += s.recv(65536)
                good += back == data
            return good
    with concurrent.futures.ThreadPoolExecutor(33) as pool, \
            r.server("stunnel", os.path.join(r.tmp, "conf")) as p:
        until(lambda: "LISTEN" in subprocess.run(["ss", "-ltn", "sport = :%d" % port], text=True,
                                                 stdout=subprocess.PIPE).stdout)
        for _ in range(32):
            pool.submit(echo)
        good = clients(32, client)
    back.close()
    return good, p.returncode


APACHE = """
ServerRoot {tmp}
PidFile {tmp}/pid
ErrorLog {tmp}/error
ServerName localhost
Listen 127.0.0.1:{port}
LoadModule mpm_worker_module {modules}/mod_mpm_worker.so
LoadModule authz_core_module {modules}/mod_authz_core.so
DocumentRoot {tmp}/www
StartServers 2
ThreadsPerChild 25
MaxRequestWorkers 100
MaxKeepAliveRequests 0
"""


def write_pages(folder):
    os.makedirs(folder)
    for n in range(50):
        with open(os.path.join(folder, str(n)), "w") as f:
            f.write(str(n) * 3000)


def apache_site(r, port):
    write_pages(os.path.join(r.tmp, "www"))
    os.chmod(r.tmp, 0o755)
    with open(os.path.join(r.tmp, "conf"), "w") as f:
        f.write(APACHE.format(tmp=r.tmp, port=port, modules="/usr/lib/apache2/modules"))
    return "apache2", "-DFOREGROUND", "-f", os.path.join(r.tmp, "conf")


def pages(port, n, good):
    """Requests n pages on persistent connections. An empty head: the server closed it."""
    while n:
        with socket.create_connection(("127.0.0.1", port), LIMIT) as s, s.makefile("rwb") as f:
            while n:
                with contextlib.suppress(ConnectionError):
                    f.write(b"GET /%d HTTP/1.1\r\nHost: localhost\r\n\r\n" % (n % 50))
                    f.flush()
                head = b"".join(iter(f.readline, b"\r\n")) if f.peek(1) else b""
                if not head:
                    break
                size = int(re.search(rb"Content-Length: (\d+)", head, re.I).group(1))
                good.append(f.read(size) == (str(n % 50) * 3000).encode())
                n -= 1


@program(["apache2"])
def apache(r):
    port, good = free_port(), []
    with r.server(*apache_site(r, port)) as p:
        listens(port)
        clients(40, lambda k: pages(port, 50, good) or 0)
    return len(good), all(good), p.returncode


@program(["apache2"])
def apache_graceful(r):
    """Restarts under load truncate no answer; the final stop waits for the last answer."""
    port, good = free_port(), []
    with r.server(*apache_site(r, port), stop=signal.SIGWINCH) as p:
        listens(port)
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            ends = [pool.submit(pages, port, 400, good) for _ in range(20)]
            for n in range(1, 4):
                until(lambda: len(good) > n * 1500)
                p.send_signal(signal.SIGUSR1)
            for e in ends:
                e.result()
    with open(os.path.join(r.tmp, "error")) as f:
        log = f.read()
    return len(good), all(good), p.returncode, log.count("resuming normal"), "crit" in log


@program(["varnishd"])
def varnish(r):
    """The manager forks a worker with a thread pool, which fetches pages that are not cached."""
    port, back, asked, good = free_port(), socket.create_server(("127.0.0.1", 0)), [], []

    def backend():
        with contextlib.suppress(OSError):
            while True:
                c, _ = back.accept()
                with c, c.makefile("rwb") as f:
                    n = int(re.match(rb"GET /(\d+)", f.readline()).group(1))
                    while f.readline() != b"\r\n":
                        pass
                    asked.append(n)
                    f.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                            % (len(str(n)) * 3000, str(n).encode() * 3000))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        pool.submit(backend)
        try:
            with r.server("varnishd", "-F", "-j", "none", "-a", "127.0.0.1:%d" % port,
                          "-b", "127.0.0.1:%d" % back.getsockname()[1], "-n", r.tmp + "/v",
                          "-t", 3600, "-p", "thread_pool_min=50", "-s", "malloc,32m") as p:
                listens(port)
                clients(32, lambda k: pages(port, 200, good) or 0)
        finally:
            back.shutdown(socket.SHUT_RDWR)
            back.close()
    return len(good), all(good), sorted(asked), p.returncode


TOMCAT = """<Server port="-1"><Service name="Catalina">
<Connector port="{port}" address="127.0.0.1" protocol="{kind}" maxThreads="100"/>
<Engine name="Catalina" defaultHost="localhost"><Host name="localhost" appBase="webapps"/></Engine>
</Service></Server>"""
PAGE = """<%@ page session="true" %><%
Integer n = (Integer) session.getAttribute("n");
session.setAttribute("n", n = n == null ? 1 : n + 1);
%><%= n * 7 %>"""


@program(["java"])
def tomcat(r):
    """Static pages, and a compiled page with a session. Each of 40 clients has a thread."""
    home, port, good = "/usr/share/tomcat10", free_port(), []
    if not os.path.exists(home + "/bin/bootstrap.jar"):
        raise Skip("no tomcat10")
    for folder in ("conf", "logs", "temp", "work"):
        os.makedirs(os.path.join(r.tmp, folder))
    write_pages(os.path.join(r.tmp, "webapps", "ROOT"))
    for name, text in (("conf/server.xml", TOMCAT.format(
            port=port, kind="org.apache.coyote.http11.Http11Nio2Protocol")),
            ("webapps/ROOT/count.jsp", PAGE)):
        with open(os.path.join(r.tmp, name), "w") as f:
            f.write(text)
    shutil.copy("/etc/tomcat10/web.xml", os.path.join(r.tmp, "conf"))

    def client(k):
        pages(port, 50, good)
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        return sum(int(opener.open("http://127.0.0.1:%d/count.jsp" % port, timeout=LIMIT).read())
                   for _ in range(10))
    with r.server("java", "-Xmx256m", "-Dcatalina.base=" + r.tmp, "-Dcatalina.home=" + home,
                  "-Djava.io.tmpdir=" + r.tmp, "-cp",
                  home + "/bin/bootstrap.jar:" + home + "/bin/tomcat-juli.jar",
                  "org.apache.catalina.startup.Bootstrap", "start", ok=(143,)) as p:
        listens(port)
        counts = clients(40, client)
    return len(good), all(good), counts, p.returncode


DOVECOT = """
protocols = imap pop3
base_dir = {tmp}/run
state_dir = {tmp}/state
log_path = {tmp}/log
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
mail_location = maildir:~/Maildir
first_valid_uid = 1
first_valid_gid = 1
import_environment = LD_PRELOAD {uk}
passdb {{
 driver = static
 args = password=x
}}
userdb {{
 driver = static
 args = uid=mail gid=mail home={tmp}/home/%u
}}
service imap-login {{
 inet_listener imap {{
  port = {imap}
 }}
}}
service pop3-login {{
 inet_listener pop3 {{
  port = {pop3}
 }}
}}
"""


def none_left(p):
    """Waits until the session that the program began has no process."""
    until(lambda: subprocess.run(["ps", "-o", "pid=", "-s", str(p.pid)],
                                 stdout=subprocess.DEVNULL).returncode)


@program(["dovecot", "/usr/lib/dovecot/imap", "/usr/lib/dovecot/pop3"])
def dovecot(r):
    """A process for each client, which gets its connection from a login process in a chroot.
    Between the two kinds of clients the configuration is read again."""
    if os.getuid():
        raise Skip("only root may start it")
    imap, pop3 = free_port(), free_port()
    os.chmod(r.tmp, 0o755)
    os.mkdir(os.path.join(r.tmp, "home"))
    os.chmod(os.path.join(r.tmp, "home"), 0o777)
    with open(os.path.join(r.tmp, "conf"), "w") as f:
        f.write(DOVECOT.format(tmp=r.tmp, imap=imap, pop3=pop3,
                               uk=" ".join(k for k in r.env if k.startswith("UK_"))))

    def body(k, n):
        return b"%d" % (k * n + n) * 500

    def stores(k):
        with imaplib.IMAP4("127.0.0.1", imap, LIMIT) as c:
            c.login("u%d" % k, "x")
            for n in range(50):
                c.append("INBOX", None, None, b"Subject: s%d\r\n\r\n%s\r\n" % (n, body(k, n)))
            c.select("INBOX")
            found = c.search(None, "SUBJECT", "s4")[1]
            texts = [x[1] for x in c.fetch("1:*", "(BODY[TEXT])")[1][::2]]
            c.store("1:10", "+FLAGS", r"(\Deleted)")
            c.expunge()
        return found, sum(t == body(k, n) + b"\r\n" for n, t in enumerate(texts))

    def login(k):
        """An old login process may still take the connection, and ends."""
        with contextlib.suppress(poplib.error_proto):
            c = poplib.POP3("127.0.0.1", pop3, LIMIT)
            c.user("u%d" % k)
            c.pass_("x")
            return c

    def fetches(k):
        c = until(lambda: login(k))
        good = sum(c.retr(n - 9)[1][-1] == body(k, n) for n in range(10, 50))
        return good, len(c.list()[1]), c.quit()
    with r.server("dovecot", "-F", "-c", os.path.join(r.tmp, "conf")) as p, \
            concurrent.futures.ThreadPoolExecutor(20) as pool:
        listens(imap)
        said = list(pool.map(stores, range(20)))
        p.send_signal(signal.SIGHUP)
        said += pool.map(fetches, range(20))
    none_left(p)
    with open(os.path.join(r.tmp, "log")) as f:
        log = f.read()
    return said, p.returncode, log.count("SIGHUP"), re.findall(r"(?:Error|Fatal|Panic): .*", log)


EXIM = """
exim_path = {tmp}/exim
spool_directory = {tmp}/spool
log_file_path = {tmp}/spool/%slog
pid_file_path = {tmp}/spool/pid
primary_hostname = h.example
domainlist here = h.example
daemon_smtp_ports = {port}
local_interfaces = 127.0.0.1
smtp_accept_max = 100
smtp_accept_queue_per_connection = 5
deliver_drop_privilege = true
keep_environment = LD_PRELOAD : ^UK_
acl_smtp_rcpt = accept
acl_smtp_data = accept
host_lookup =
never_users =
begin routers
local:
  driver = accept
  domains = +here
  local_parts = dsearch,ret=key;{tmp}/users
  transport = box
begin transports
box:
  driver = appendfile
  file = {tmp}/spool/box-$local_part_data
  user = Debian-exim
  group = Debian-exim
begin retry
* * F,1h,1m
"""


@program(["exim4"])
def exim(r):
    """A process for each connection and each delivery. What a connection sends after its fifth
    message waits for a queue runner."""
    if os.getuid():
        raise Skip("only root may become its user")
    port, conf = free_port(), os.path.join(r.tmp, "conf")
    spool, users = os.path.join(r.tmp, "spool"), os.path.join(r.tmp, "users")
    os.chmod(r.tmp, 0o755)
    with open(conf, "w") as f:
        f.write(EXIM.format(tmp=r.tmp, port=port))
    exe = shutil.copyfile("/usr/sbin/exim4", os.path.join(r.tmp, "exim"))
    os.chmod(exe, 0o755)  # not setuid, so that it is preloaded
    os.mkdir(spool)
    os.mkdir(users)
    for k in range(20):
        open(os.path.join(users, "u%d" % k), "w").close()
    shutil.chown(spool, "Debian-exim", "Debian-exim")
    exim = ["setpriv", "--reuid=Debian-exim", "--regid=Debian-exim", "--clear-groups", exe,
            "-C", conf]

    def sends(k):
        with smtplib.SMTP("127.0.0.1", port, timeout=LIMIT) as s:
            for n in range(10):
                s.sendmail("a@h.example", ["u%d@h.example" % k, "u%d@h.example" % (19 - k)],
                           "Subject: m%d.%d\r\n\r\n%s\r\n" % (k, n, "x%d" % (k * n) * 300))
        return 10

    def delivered():
        found = []
        for box in glob.glob(os.path.join(spool, "box-*")):
            with open(box) as f:
                found += re.findall(r"^(Subject:.*)\n\n(.*)", f.read(), re.M)
        return sorted(found)
    with r.server(*exim, "-bdf", "-q10m") as p:
        listens(port)
        sent = clients(20, sends)
        r.run(*exim, "-qff")
        until(lambda: len(delivered()) >= 400 and not int(r.run(*exim, "-bpc")))
    none_left(p)
    with open(os.path.join(spool, "mainlog")) as f:
        log = f.read()
    return (sent, delivered(), p.returncode, log.count("Completed"),
            os.path.exists(os.path.join(spool, "paniclog")))


class MariaDB:
    """A data directory, and the servers that use it one after the other."""

    def __init__(self, r):
        self.r, self.data = r, os.path.join(r.tmp, "data")
        self.sock = os.path.join(r.tmp, "sock")
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root",
                        "--datadir=" + self.data, "--auth-root-authentication-method=normal"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       # at its start the server deletes all temporary tables in TMPDIR
                       env=dict(os.environ, TMPDIR=r.tmp))

    @contextlib.contextmanager
    def server(self, *args, **kw):
        with self.r.server(
                "mariadbd", "--no-defaults", "--user=root", "--datadir=" + self.data,
                "--socket=" + self.sock, "--skip-networking", "--innodb-buffer-pool-size=32M",
                "--tmpdir=" + self.r.tmp,
                "--max-connections=5100", "--back-log=4096", "--max-prepared-stmt-count=1000000",
                "--thread-handling=one-thread-per-connection", *args, **kw) as p:
            until(lambda: self.sql("select 1"))
            yield p

    def client(self, **kw):
        return subprocess.Popen(["mariadb", "--no-defaults", "-uroot", "-S", self.sock, "-N",
                                 "--unbuffered"], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)

    def sql(self, text):
        return self.client().communicate(text.encode(), timeout=LIMIT)[0]


@program(["mariadbd", "mariadb", "mariadb-install-db"])
def mariadb(r):
    db = MariaDB(r)
    with db.server() as p:
        db.sql("create database d; create table d.t (id int auto_increment primary key, n int)")
        work = "".join("insert into d.t (n) values (%d);" % n for n in range(50))
        clients(40, lambda k: len(db.sql("begin;" + work + "commit;")))
        answer = db.sql("select count(*), sum(n) from d.t; select sleep(0.01);"
                        "check table d.t")
    return answer, p.returncode


@program(["mariadbd", "mariadb", "mariadb-install-db"])
def mariadb_waits(r):
    """Waiting connections are killed, time out, or go on, with both kinds of thread handling."""
    db, said = MariaDB(r), []
    for handling in ("one-thread-per-connection", "pool-of-threads"):
        with db.server("--thread-handling=" + handling, "--thread-pool-size=2") as p:
            db.sql("create database if not exists d; create or replace table d.t (n int); "
                   "insert into d.t values (1)")

            def session(text):
                out, err = db.client().communicate(text.encode(), timeout=LIMIT)
                return out + re.sub(rb"(id|thread_id|at line) '?\d+'?", b"", err)

            def waiting(what, n=1):
                until(lambda: int(db.sql("select count(*) from information_schema.processlist "
                                         "where info like '%s%%'" % what)) >= n)

            def kill(how, what):
                db.sql("".join("kill %s %d;" % (how, int(i)) for i in db.sql(
                    "select id from information_schema.processlist "
                    "where info like '%s%%'" % what).split()))
            with concurrent.futures.ThreadPoolExecutor(64) as pool:
                ends = [pool.submit(session, "select sleep(1000); select 1") for _ in range(16)]
                waiting("select sleep", 16)
                kill("query", "select sleep")
                held = db.client()
                held.stdin.write(b"select get_lock('b', 1); lock tables d.t write; select 7;\n")
                held.stdin.flush()
                got = [held.stdout.readline() for _ in range(2)]
                ends += [pool.submit(session, "select get_lock('b', 0.1); select 8"),
                         pool.submit(session, "set lock_wait_timeout = 1; insert into d.t values (2)")]
                ends += [pool.submit(session, "update d.t set n = n + 1") for _ in range(8)]
                waiting("update d.t", 8)
                cut = [pool.submit(session, "select sleep(999)") for _ in range(8)]
                waiting("select sleep(999)", 8)
                kill("connection", "select sleep(999)")
                concurrent.futures.wait(ends[:18] + cut)
                held.stdin.close()
                said += [got, held.wait(LIMIT)] + [e.result() for e in ends]
            db.sql("set global wait_timeout = 1")
            idle = db.client()
            idle.stdin.write(b"select 1;\n")
            idle.stdin.flush()
            idle.stdout.readline()
            until(lambda: db.sql("select count(*) from information_schema.processlist "
                                 "where command = 'Sleep'") == b"0\n")
            said += [idle.communicate(b"", timeout=LIMIT)[0], db.sql("select n from d.t")]
        said.append(p.returncode)
    return said


def sysbench(db, load, *args):
    out = subprocess.run(
        ["sysbench", "oltp_" + load, "--mysql-socket=" + db.sock, "--mysql-user=root",
         "--tables=4", "--table-size=25000", "--time=0", *args],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3 * LIMIT, text=True).stdout
    return re.findall(r"FATAL.*| transactions: +\d+", out)


@program(["mariadbd", "mariadb", "mariadb-install-db", "sysbench"])
def mariadb_oltp(r):
    """Both loads with few, many and very many connections. Commits do not wait for the disk."""
    db, said = MariaDB(r), []
    with db.server("--innodb-flush-log-at-trx-commit=2") as p:
        db.sql("create database sbtest")
        sysbench(db, "read_write", "prepare")
        for load, events in (("read_only", 2000), ("read_write", 1000)):
            for n in (1, 16, 200, 1000, 5000):
                said.append(sysbench(db, load, "--threads=%d" % n,
                                     "--events=%d" % max(events, n), "run"))
        said.append(db.sql("check table sbtest.sbtest1, sbtest.sbtest2, sbtest.sbtest3, "
                           "sbtest.sbtest4"))
    return said, p.returncode


@program(["mariadbd", "mariadb", "mariadb-install-db"])
def mariadb_crash(r):
    """SIGKILL during writes: every acknowledged commit is there after the recovery."""
    db, n = MariaDB(r), 8
    with db.server(stop=signal.SIGKILL, ok=(-signal.SIGKILL,)) as p:
        db.sql("create database d; create table d.t (k int, n int, primary key (k, n))")

        def writer(k):
            """Returns how many of its commits were acknowledged."""
            with db.client() as c:
                for i in range(1 << 20):
                    try:
                        c.stdin.write(b"begin; insert into d.t values (%d, %d);"
                                      b"commit; select %d;\n" % (k, i, i))
                        c.stdin.flush()
                    except OSError:
                        return i
                    if c.stdout.readline() != b"%d\n" % i:
                        c.kill()
                        return i
                    answered[k] = i
        answered = [0] * n
        pool = concurrent.futures.ThreadPoolExecutor(n)
        ends = [pool.submit(writer, k) for k in range(n)]
        until(lambda: min(answered) >= 20)
    done = [e.result() for e in ends]
    with db.server() as p:
        found = [list(map(int, line.split())) for line in
                 db.sql("select k, count(*), max(n) from d.t group by k").splitlines()]
        lost = [(k, done[k], count, most) for k, count, most in found
                if not done[k] <= count <= done[k] + 1 or count != most + 1]
        checked = db.sql("check table d.t")
    return len(found), lost, checked, p.returncode


@program(["stress-ng"])
def stress_ng(r):
    said = []
    for name, ops in (("pthread", 500), ("futex", 20000), ("mutex", 20000), ("sem", 0),
                      ("pipe", 20000), ("sock", 50), ("switch", 20000), ("fork", 200),
                      ("sigq", 2000), ("sigsegv", 500), ("poll", 2000), ("timer", 1000),
                      ("mq", 2000), ("eventfd", 2000), ("vfork", 200), ("clone", 50)):
        # "sem" also counts operations that do not wait, so it gets a time limit
        limit = ("--%s-ops" % name, ops) if ops else ("-t", 3)
        p = r.start("stress-ng", "--" + name, 2, *limit, "--verify", "--temp-path", r.tmp)
        try:
            r.finish(p)
            said.append((name, "done"))
        except Wrong as e:
            said.append((name, str(e)))
    return said


# ---- CPython's own tests ----

PYTHON_TESTS = ("test_threading test_thread test_queue test_concurrent_futures test_socket "
                "test_subprocess test_signal test_threadsignals test_threading_local "
                "test_thread_local_bytecode test_asyncio.test_subprocess").split()


# without the class that hangs natively if the kernel has no vsock loopback
PYTHON_MAIN = """import importlib, sys, unittest
module = importlib.import_module("test." + sys.argv.pop())
vars(module).pop("ThreadedVSOCKSocketStreamTest", None)
unittest.main(module=module, argv=["unittest", "-v"])
"""


@program([])
def python_tests(r):
    """Tests that pass natively pass with the preload library."""
    python = next((p for p in (PYTHON, shutil.which("python3")) if p and subprocess.run(
        [p, "-c", "import test.test_threading"], stderr=subprocess.DEVNULL).returncode == 0), None)
    if not python:
        raise Skip("no Python with its own tests (Debian: libpython3-testsuite)")
    found = []
    for module in PYTHON_TESTS:
        p = r.start(python, "-c", PYTHON_MAIN, module, stdout=subprocess.DEVNULL)
        try:
            err = p.communicate(timeout=3 * LIMIT)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            dump(p)
            err = p.communicate()[1].decode(errors="replace")
            found.append(module + " hangs\n" + err[-3000:])
        found += re.findall(r"^(?:ERROR|FAIL): (.*)$", err, re.M)
        found += ["%s: %s" % (module, n) for n in re.findall(r"^Ran \d+ tests", err, re.M)]
    return found


# ---- comparison ----

def once(name, prefix, env={}):
    fn, needs = PROGRAMS[name]
    for n in needs:
        if not shutil.which(n, path=os.environ["PATH"] + ":/usr/sbin") and not glob.glob(n):
            raise Skip("no " + n)
    with tempfile.TemporaryDirectory() as tmp:
        r = Runner(prefix, tmp)
        r.env.update(env, PATH=r.env["PATH"] + ":/usr/sbin")
        try:
            return fn(r)
        except Wrong as e:
            return str(e)


def judge(name, uk):
    """Returns None if the results are equal, else the difference."""
    chosen = "UK_REACTOR" in os.environ or "UK_VPS" in os.environ
    several = CONFIGURATIONS if name in COMMANDS and not chosen else [{}]
    native = once(name, [])
    if name in COMMANDS and isinstance(native, str):
        return "natively: " + native
    for env in several:
        ours = once(name, [uk, "run", "--"], env)
        if native != ours:
            return "natively: %s\nby uk run: %s %s" % (native, env or "", ours)
    return None


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build", type=os.path.abspath)
    a.add_argument("names", nargs="*")
    a.add_argument("--report")
    a.add_argument("--rounds", type=int, default=1)
    opts = a.parse_args()
    os.environ["PATH"] += ":/usr/sbin"
    bad = skipped = 0
    read_commands(os.path.join(SOURCES, "commands"))
    unknown = sorted(set(opts.names) - set(PROGRAMS))
    if unknown:
        a.error("no such program: %s; known are %s" % (" ".join(unknown), " ".join(PROGRAMS)))
    names = (opts.names or list(PROGRAMS)) * opts.rounds
    report = open(opts.report, "w") if opts.report else sys.stdout
    for name in names:
        begin = time.monotonic()
        try:
            differs = judge(name, os.path.join(opts.build, "uk"))
        except Skip as e:
            skipped += 1
            print("skipped %s: %s" % (name, e), flush=True)
            continue
        print("%-7s %s (%.0f s)" % ("FAILED" if differs else "ok", name, time.monotonic() - begin),
              flush=True)
        if differs:
            bad += 1
            print("== %s\n%s" % (name, differs), file=report, flush=True)
    print("%d passed, %d failed, %d skipped" % (len(names) - bad - skipped, bad, skipped))
    return 1 if bad else 77 if skipped == len(names) else 0


if __name__ == "__main__":
    sys.exit(main())
