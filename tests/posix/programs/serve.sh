# SPDX-License-Identifier: Apache-2.0
# serve.sh SERVER: starts a multithreaded server by $UK, sends requests from native clients, makes it
# reload its configuration if it can, and ends it by a signal
port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

P=$(port) Q=$(port)
quit=TERM
chmod 755 .

# -- content --

zone() {
	cat >zone <<-END
		\$TTL 60
		@ IN SOA ns.example. a.example. 1 60 60 60 60
		@ IN NS ns.example.
		ns IN A 127.0.0.1
		a IN A 10.0.0.1
	END
}

files() {
	mkdir -p www
	for i in $(seq 20); do
		head -c $((i * 20000)) data >www/f$i
	done
	chmod -R a+rX www
}

# a native file server on port $Q
behind() {
	files
	python3 -c '
import functools, http.server, sys
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 100
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args): pass
Server(("127.0.0.1", int(sys.argv[1])), functools.partial(Handler, directory="www")).serve_forever()' $Q &
	behind=$!
	trap 'kill $behind' EXIT
	until_it curl -s -o got http://127.0.0.1:$Q/f1
}

# -- clients --

until_it() { # COMMAND...: repeats it until it succeeds; fails if the server has ended
	until "$@" >/dev/null 2>&1; do
		[ -z "$server" ] || kill -0 $server || { cat out; exit 1; }
		sleep .1
	done
}

at_once() { # COMMAND: runs eight at once, numbered by $k
	local clients=
	for k in $(seq 8); do
		eval "$1" >answer$k 2>&1 &
		clients="$clients $!"
	done
	wait $clients
}

answers() {
	cat answer? | sort | uniq -c
}

names() {
	at_once 'for i in $(seq 10); do
		dig +short +tries=5 -p $P @127.0.0.1 a.example; dig +short +tcp -p $P @127.0.0.1 a.example; done'
	answers
}

fetches() { # CURL-OPTIONS PORT: gets all files
	at_once 'for i in $(seq 20); do curl -s '"$1"' http://127.0.0.1:$2/f$i | cmp - www/f$i && echo same; done'
	answers
}

# -- servers --

start() {
	$UK "$@" >out 2>&1 &
	server=$!
}

stop() {
	kill -$quit $server
	wait $server && echo ended || echo "ended by $?"
}

dns_answers() {
	dig +short +time=1 +tries=1 -p $P @127.0.0.1 a.example | grep -q 10.0
}

serve_unbound() {
	cat >conf <<-END
		server:
		 num-threads: 4
		 interface: 127.0.0.1@$P
		 chroot: ""
		 username: ""
		 directory: "$PWD"
		 pidfile: "$PWD/pid"
		 use-syslog: no
		 do-daemonize: no
		 local-zone: "example." static
		 local-data: "a.example. A 10.0.0.1"
		remote-control:
		 control-enable: yes
		 control-interface: $PWD/control
	END
	start unbound -d -c conf
	until_it dns_answers
	names
	unbound-control -c conf -s $PWD/control reload
	names
}

serve_named() {
	zone
	cat >conf <<-END
		options { directory "$PWD"; listen-on port $P { 127.0.0.1; }; listen-on-v6 { none; };
			pid-file "$PWD/pid"; recursion no; session-keyfile "$PWD/key"; lock-file none;
			managed-keys-directory "$PWD"; };
		key "k" { algorithm hmac-sha256; secret "c2VjcmV0c2VjcmV0"; };
		controls { inet 127.0.0.1 port $Q allow { any; } keys { "k"; }; };
		zone "example" { type master; file "$PWD/zone"; };
	END
	cat >rndc.conf <<-END
		key "k" { algorithm hmac-sha256; secret "c2VjcmV0c2VjcmV0"; };
		options { default-key "k"; default-server 127.0.0.1; default-port $Q; };
	END
	start named -g -n 4 -c $PWD/conf
	until_it dns_answers
	names
	rndc -c rndc.conf reload
	names
}

serve_knotd() {
	zone
	cat >conf <<-END
		server:
		  rundir: $PWD
		  listen: 127.0.0.1@$P
		  udp-workers: 3
		  tcp-workers: 3
		  background-workers: 3
		database:
		  storage: $PWD/db
		control:
		  listen: $PWD/control
		zone:
		  - domain: example
		    file: $PWD/zone
	END
	start knotd -c $PWD/conf
	until_it dns_answers
	names
	knotc -s $PWD/control zone-reload example
	names
}

serve_slapd() {
	mkdir db
	cat >conf <<-END
		include /etc/ldap/schema/core.schema
		modulepath /usr/lib/ldap
		moduleload back_mdb
		threads 8
		database mdb
		suffix "dc=a"
		rootdn "cn=m,dc=a"
		rootpw x
		directory $PWD/db
		index cn eq
	END
	printf 'dn: dc=a\nobjectClass: dcObject\nobjectClass: organization\ndc: a\no: a\n\n' >ldif
	for i in $(seq 200); do
		printf "dn: cn=p$i,dc=a\nobjectClass: person\ncn: p$i\nsn: s\n\n"
	done >>ldif
	start slapd -d 0 -f conf -h ldap://127.0.0.1:$P
	until_it ldapsearch -x -H ldap://127.0.0.1:$P -b "" -s base
	ldapadd -x -H ldap://127.0.0.1:$P -D cn=m,dc=a -w x -f ldif | grep -c adding
	at_once 'for i in $(seq 25); do
		ldapsearch -x -LLL -H ldap://127.0.0.1:$P -b dc=a "(cn=p$((i * k)))" sn; done | grep ^sn'
	answers
}

serve_haproxy() {
	behind
	cat >conf <<-END
		global
		 nbthread 4
		defaults
		 mode http
		 timeout connect 60s
		 timeout client 60s
		 timeout server 60s
		frontend f
		 bind 127.0.0.1:$P
		 default_backend b
		backend b
		 server a 127.0.0.1:$Q
	END
	quit=USR1
	start haproxy -db -f conf
	until_it curl -s -f -o got http://127.0.0.1:$P/f1
	fetches "" $P
}

# threads read and write its cache
serve_squid() {
	behind
	chmod 777 .
	cat >conf <<-END
		http_port 127.0.0.1:$P
		http_access allow all
		cache_dir aufs $PWD/cache 50 4 4
		cache_mem 0 MB
		pid_filename $PWD/pid
		access_log none
		cache_log $PWD/log
		cache_effective_user $([ $(id -u) = 0 ] && echo nobody || id -un)
		coredump_dir $PWD
		netdb_filename none
		shutdown_lifetime 1 seconds
	END
	squid -n uk$P -z -N -f conf >made 2>&1
	start squid -n uk$P -N -f conf
	until_it curl -s -f -x 127.0.0.1:$P -o got http://127.0.0.1:$Q/f1
	fetches "-x 127.0.0.1:$P" $Q
	fetches "-x 127.0.0.1:$P" $Q
}

serve_nginx() {
	files
	cat >conf <<-END
		daemon off;
		worker_processes 2;
		pid $PWD/pid;
		error_log $PWD/log;
		user $(id -un) $(id -gn);
		events { worker_connections 200; }
		thread_pool default threads=8;
		http {
		 access_log off;
		 aio threads;
		 sendfile off;
		 directio 512;
		 client_body_temp_path $PWD/b;
		 proxy_temp_path $PWD/p;
		 fastcgi_temp_path $PWD/f;
		 uwsgi_temp_path $PWD/u;
		 scgi_temp_path $PWD/s;
		 server { listen 127.0.0.1:$P; root $PWD/www; }
		}
	END
	quit=QUIT
	start nginx -c $PWD/conf
	until_it curl -s -f -o got http://127.0.0.1:$P/f1
	fetches "" $P
	kill -HUP $server
	fetches "" $P
}

serve_rsyslogd() {
	cat >conf <<-END
		template(name="T" type="string" string="%msg%\\n")
		module(load="imtcp" MaxSessions="200")
		input(type="imtcp" port="$P" ruleset="r")
		ruleset(name="r" queue.type="LinkedList" queue.workerThreads="4") {
		 action(type="omfile" file="$PWD/log" template="T")
		}
	END
	start rsyslogd -n -f $PWD/conf -i $PWD/pid
	until_it eval "exec 3<>/dev/tcp/127.0.0.1/$P"
	at_once 'for i in $(seq 1000); do echo "<13>Nov 26 10:00:00 h t: m$k.$i"; done >/dev/tcp/127.0.0.1/$P'
	until_it eval '[ "$(grep -c " m" log)" -ge 8000 ]'
	grep " m" log | sort | uniq | wc -l
}

serve_$1
stop
