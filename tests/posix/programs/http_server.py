# SPDX-License-Identifier: Apache-2.0
"""A ThreadingHTTPServer: prints its port; /stop ends it."""
import http.server
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = (self.path * 50).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if self.path == "/stop":
            threading.Thread(target=self.server.shutdown).start()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


with Server(("127.0.0.1", 0), Handler) as s:
    print(s.server_port, flush=True)
    s.serve_forever()
print("stopped")
