%% SPDX-License-Identifier: Apache-2.0
%% threads.erl - Erlang: schedulers, their thread pool for files, timers, and a child process
-module(threads).
-export([main/0]).

main() ->
	Self = self(),
	Add = fun(N) -> Self ! {sum, lists:sum(lists:seq(1, N))} end,
	[spawn(fun() -> Add(N) end) || N <- lists:seq(1, 2000)],
	io:format("~p~n", [lists:sum([receive {sum, X} -> X end || _ <- lists:seq(1, 2000)])]),
	{ok, File} = file:read_file("/etc/passwd"),
	io:format("~p~n", [byte_size(File) > 10]),
	timer:sleep(100),
	io:format("~s", [os:cmd("echo sub")]),
	halt(0).
