# SPDX-License-Identifier: Apache-2.0
# pgbench.sh - PostgreSQL's client with four threads, and a native server
bin=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
as=
[ "$(id -u)" != 0 ] || { as="setpriv --reuid=postgres --regid=postgres --clear-groups"; chmod 777 .; }
$as $bin/initdb -A trust -D db >/dev/null
$as $bin/pg_ctl -D db -w -l log -o "-k $PWD -c listen_addresses=" start >/dev/null
export PGHOST=$PWD PGUSER=postgres PGDATABASE=postgres
[ -n "$as" ] || export PGUSER=$(id -un)
pgbench -q -i -s 1 2>/dev/null
$UK pgbench -n -j 4 -c 16 -t 50 -M prepared 2>/dev/null | grep processed
$UK pgbench -n -j 8 -c 8 -C -t 5 -S 2>/dev/null | grep processed
$UK psql -c 'select count(*) from pgbench_history'
$as $bin/pg_ctl -D db -m fast stop >/dev/null
