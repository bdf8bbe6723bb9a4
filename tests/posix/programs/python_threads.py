# SPDX-License-Identifier: Apache-2.0
"""CPython threads: locks, conditions, queues, timers, pools, thread-locals, subprocesses."""
import concurrent.futures
import hashlib
import queue
import subprocess
import sys
import threading
import time


def producers():
    q, out = queue.Queue(10), queue.SimpleQueue()

    def work():
        while (item := q.get()) is not None:
            out.put(hashlib.sha256(b"%d" % item).hexdigest())
            q.task_done()
        q.task_done()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for i in range(2000):
        q.put(i)
    for _ in threads:
        q.put(None)
    q.join()
    for t in threads:
        t.join()
    return hashlib.sha256("".join(sorted(out.get() for _ in range(2000))).encode()).hexdigest()


def conditions():
    cond, turn, seen = threading.Condition(), [0], []

    def player(me):
        for _ in range(50):
            with cond:
                cond.wait_for(lambda: turn[0] % 4 == me)
                seen.append(me)
                turn[0] += 1
                cond.notify_all()

    threads = [threading.Thread(target=player, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return seen == [0, 1, 2, 3] * 50


def rest():
    local, hits = threading.local(), []
    barrier, event = threading.Barrier(20), threading.Event()

    def work(i):
        local.value = i
        barrier.wait()
        time.sleep(0.001)
        event.wait()
        hits.append(local.value == i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
    for t in threads:
        t.start()
    threading.Timer(0.01, event.set).start()
    for t in threads:
        t.join()
    return len(hits), all(hits), threading.Event().wait(0.01), threading.Lock().acquire(timeout=1)


def pools():
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        squares = sum(pool.map(lambda n: n * n, range(3000)))
        runs = list(pool.map(lambda n: subprocess.run(
            [sys.executable, "-S", "-c", "print(%d)" % n], capture_output=True).stdout.strip(),
            range(6)))
        try:
            pool.submit(lambda: 1 // 0).result()
        except ZeroDivisionError:
            squares += 1
    return squares, runs


threading.stack_size(256 << 10)
print(producers(), conditions(), rest(), pools())
