# SPDX-License-Identifier: Apache-2.0
"""messages.py - ZeroMQ with its I/O threads: a broker, workers and clients."""
import threading

import zmq


def worker(context):
    s = context.socket(zmq.REP)
    s.connect("inproc://back")
    while (x := s.recv()) != b"end":
        s.send(b"%d" % (int(x) * 2))
    s.send(b"")
    s.close()


def client(context, port, k, said):
    s = context.socket(zmq.REQ)
    s.connect("tcp://127.0.0.1:%d" % port)
    for n in range(100):
        s.send(b"%d" % (k * 1000 + n))
        said.append(int(s.recv()))
    s.close()


def main():
    context, said = zmq.Context(2), []
    front, back = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    port = front.bind_to_random_port("tcp://127.0.0.1")
    back.bind("inproc://back")

    def broker():
        try:
            zmq.proxy(front, back)
        except zmq.ContextTerminated:
            front.close()
            back.close()
    threads = [threading.Thread(target=worker, args=(context,)) for _ in range(8)]
    threads += [threading.Thread(target=broker)]
    clients = [threading.Thread(target=client, args=(context, port, k, said)) for k in range(10)]
    for t in threads + clients:
        t.start()
    for t in clients:
        t.join()
    print(len(said), sum(said))
    end = context.socket(zmq.REQ)
    end.connect("tcp://127.0.0.1:%d" % port)
    for _ in range(8):
        end.send(b"end")
        end.recv()
    end.close()
    context.term()
    for t in threads:
        t.join()


if __name__ == "__main__":
    main()
