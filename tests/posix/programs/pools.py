# SPDX-License-Identifier: Apache-2.0
"""pools.py - CPython: a pool of 200 threads, a pool of processes, and the pool of asyncio."""
import asyncio
import concurrent.futures
import multiprocessing
import time


def late(i):
    time.sleep(0.01)
    return i


def main():
    with concurrent.futures.ThreadPoolExecutor(200) as pool:
        print(sum(pool.map(late, range(2000))))
    with multiprocessing.Pool(4) as pool:
        print(sum(pool.map(abs, range(-1000, 0))))
    print(asyncio.run(asyncio.wait_for(asyncio.to_thread(sum, [1, 2]), 100)))


if __name__ == "__main__":
    main()
