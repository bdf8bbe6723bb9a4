% SPDX-License-Identifier: Apache-2.0
% threads.prolog - SWI-Prolog: message queues, atom garbage collection
:- initialization(main).

worker(Work, Done) :-
	thread_get_message(Work, X),
	(   X == end
	->  true
	;   Y is X * X,
	    thread_send_message(Done, Y),
	    worker(Work, Done)
	).

main :-
	message_queue_create(Work),
	message_queue_create(Done),
	findall(T, (between(1, 20, _), thread_create(worker(Work, Done), T, [])), Ts),
	forall(between(1, 1000, I), thread_send_message(Work, I)),
	forall(member(_, Ts), thread_send_message(Work, end)),
	forall(member(T, Ts), thread_join(T, _)),
	findall(Y, (between(1, 1000, _), thread_get_message(Done, Y)), Ys),
	sum_list(Ys, Sum),
	print(Sum), nl,
	concurrent_maplist([X, Y]>>(Y is X + 1), [1, 2, 3], More),
	print(More), nl,
	garbage_collect_atoms,
	halt.
