# SPDX-License-Identifier: Apache-2.0
"""A port for a server that is about to start. It lies below the range of ports that the
kernel gives to clients: there another process may take it before the server binds
it."""
import random
import socket


def free_port():
    while True:
        port = random.randrange(20000, 32000)
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass  # taken
