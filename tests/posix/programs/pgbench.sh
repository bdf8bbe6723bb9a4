# SPDX-License-Identifier: Apache-2.0
# pgbench.sh client|server: PostgreSQL's client with several threads and its server, of which the
# named one runs by $UK. The server has a process for each client, and shares memory with them.
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as=
case $1 in
client) client=$UK server= ;;
server) client= server=$UK ;;
esac
[ "$(id -u)" != 0 ] || { as="setpriv --reuid=postgres --regid=postgres --clear-groups"; chmod 777 .; }
$as $bin/initdb -A trust -D db >/dev/null
export PGHOST=$PWD PGUSER=postgres PGDATABASE=postgres
[ -n "$as" ] || export PGUSER=$(id -un)
$server $as $bin/postgres -D db -k $PWD -c listen_addresses= >log 2>&1 &
pid=$!
until $bin/pg_isready -q; do
	kill -0 $pid || { cat log; exit 1; }
	sleep .1
done
pgbench -q -i -s 1 2>/dev/null
$client pgbench -n -j 4 -c 16 -t 50 -M prepared 2>/dev/null | grep processed
$client pgbench -n -j 8 -c 8 -C -t 5 -S 2>/dev/null | grep processed
$client psql -At <<END
select count(*) from pgbench_history;
select sum(delta) = (select sum(abalance) from pgbench_accounts) from pgbench_history;
set min_parallel_table_scan_size = 0;
set parallel_setup_cost = 0;
set parallel_tuple_cost = 0;
select count(*), sum(aid) from pgbench_accounts;
set statement_timeout = 100;
select pg_sleep(1000);
END
kill -INT $pid
wait $pid && echo ended
