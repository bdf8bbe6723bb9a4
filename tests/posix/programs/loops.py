# SPDX-License-Identifier: Apache-2.0
"""loops.py uvloop|gevent: event loops of other projects in threads, beside thread pools."""
import concurrent.futures
import sys
import threading
import time


def with_uvloop():
    import asyncio

    import uvloop

    async def echo(reader, writer):
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async def client(port, k):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        good = 0
        for n in range(20):
            writer.write(b"%04d" % (k * 20 + n))
            good += await reader.readexactly(4) == b"%04d" % (k * 20 + n)
        writer.close()
        return good

    async def work():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        good = sum(await asyncio.gather(*[client(port, k) for k in range(50)]))
        loop = asyncio.get_running_loop()
        late = await asyncio.gather(*[loop.run_in_executor(None, slow, n) for n in range(50)])
        p = await asyncio.create_subprocess_exec("echo", "sub", stdout=asyncio.subprocess.PIPE)
        out, _ = await p.communicate()
        server.close()
        return good, sum(late), out, p.returncode

    def slow(n):
        time.sleep(0.01)
        return n

    print(uvloop.run(work()) if hasattr(uvloop, "run") else in_loop(uvloop, work))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for each in pool.map(lambda _: in_loop(uvloop, quiet), range(4)):
            print(each)


async def quiet():
    import asyncio
    await asyncio.sleep(0.05)
    return 1


def in_loop(uvloop, work):
    loop = uvloop.new_event_loop()
    try:
        return loop.run_until_complete(work())
    finally:
        loop.close()


def with_gevent():
    import gevent
    import gevent.pool
    import gevent.server
    import gevent.socket
    import gevent.subprocess
    import gevent.threadpool

    def echo(s, _):
        while data := s.recv(100):
            s.sendall(data)

    def client(port):
        s = gevent.socket.create_connection(("127.0.0.1", port))
        for n in range(20):
            s.sendall(b"%04d" % n)
            assert s.recv(4) == b"%04d" % n
        s.close()
        return 20
    server = gevent.server.StreamServer(("127.0.0.1", 0), echo)
    server.start()
    print(sum(gevent.pool.Pool(50).map(client, [server.server_port] * 100)))
    pool = gevent.threadpool.ThreadPool(20)
    print(sum(pool.map(lambda n: (time.sleep(0.01), n)[1], range(200))))
    print(gevent.subprocess.check_output(["echo", "sub"]))
    print(gevent.socket.gethostbyname("localhost"))
    t = threading.Thread(target=lambda: gevent.sleep(0.05))
    t.start()
    t.join()
    server.stop()


if __name__ == "__main__":
    {"uvloop": with_uvloop, "gevent": with_gevent}[sys.argv[1]]()
