# SPDX-License-Identifier: Apache-2.0
# fetch.sh CLIENT...: the client gets 40 files from a native server on many connections
mkdir www got
for i in $(seq 40); do
	head -c $((i * 20000)) data >www/f$i
done
exec 3< <(exec python3 -u -c '
import functools, http.server
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def log_message(self, *args): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory="www"))
print(s.server_port)
s.serve_forever()')
server=$!
read -r port <&3
for i in $(seq 40); do
	echo "http://127.0.0.1:$port/f$i"
done >list
sed 's/.*/url = "&"/' list >list.curl
mv list list.curl got
(cd got && "$@" && rm list list.curl && md5sum *)
echo $?
kill $server
