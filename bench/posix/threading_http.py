# SPDX-License-Identifier: Apache-2.0
"""threading_http.py PORT ROOT: Python's own server, with a thread for each connection.
It serves ROOT/small from memory, with keep-alive."""
import http.server
import os
import socket
import sys

with open(os.path.join(sys.argv[2], "small"), "rb") as f:
    BODY = f.read()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def setup(self):
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        super().setup()

    def log_message(self, *_):
        pass


class Threads(http.server.ThreadingHTTPServer):
    request_queue_size = 4096


Threads(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
