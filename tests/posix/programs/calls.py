# SPDX-License-Identifier: Apache-2.0
"""calls.py - gRPC: a server with a thread pool, and clients in threads of the same process."""
import concurrent.futures

import grpc


class Doubles(grpc.GenericRpcHandler):
    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda x, _: b"%d" % (int(x) * 2))


def main():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(10))
    server.add_generic_rpc_handlers((Doubles(),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()

    def client(k):
        with grpc.insecure_channel("127.0.0.1:%d" % port) as channel:
            call = channel.unary_unary("/a/b")
            return sum(int(call(b"%d" % (k * 100 + n))) for n in range(50))
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        print(sum(pool.map(client, range(10))))
    server.stop(None).wait()


if __name__ == "__main__":
    main()
