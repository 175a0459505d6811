%% Processes whose every chain of callers is known: erlang_chains.py has the chains. Each runs until
%% the time is over: erlang_shape:run(Seconds), or run(Seconds, [Worker]). A line each says which
%% process it is: "process NAME PID".
-module(erlang_shape).
-export([run/1, run/2, reload/1]).
-export([fibonacci/0, recursion/0, sorting/0, mapping/0, bytes/0, tables/0, garbage/0, packing/0,
	matching/0, throwing/0, formatting/0, terms/0, variables/0, guarding/0, calling/0, ring/1,
	reading/0, steps/0]).

workers() ->
	[fibonacci, recursion, sorting, mapping, bytes, tables, garbage, packing, matching, throwing,
		formatting, terms, variables, guarding, calling, reading, steps].

run(Seconds) -> run(Seconds, workers()).

run(Seconds, Workers) ->
	[io:format("process ~s ~p~n", [W, spawn(?MODULE, W, [])]) || W <- Workers],
	Library = proc_lib:spawn(?MODULE, calling, []),
	register(shape_of_library, Library),
	io:format("process shape_of_library ~p~n", [Library]),
	Last = lists:foldl(fun(_, Next) -> spawn(?MODULE, ring, [Next]) end, spawn(?MODULE, ring, [none]),
		lists:seq(1, 50)),
	Last ! {token, 0},
	timer:sleep(round(Seconds * 1000)),
	halt(0, [{flush, false}]).

%% A module that is loaded again and again, each time with another function in it, which it runs
%% until the next one comes. A line each of these says when, by the monotonic clock: NUMBER NS.
reload(Seconds) ->
	reload(0, erlang:monotonic_time(millisecond) + round(Seconds * 1000)),
	halt().
reload(N, End) ->
	Name = list_to_atom("version" ++ integer_to_list(N)),
	X = {var, 1, 'X'},
	Loop = {function, 2, Name, 1, [
		{clause, 2, [{integer, 2, 0}], [], [{integer, 2, N}]},
		{clause, 3, [X], [], [{op, 3, '+', {integer, 3, 1}, {call, 3, {atom, 3, Name}, [{op, 3, '-', X, {integer, 3, 1}}]}}]}]},
	Run = {function, 4, run, 0, [{clause, 4, [], [], [{call, 4, {atom, 4, Name}, [{integer, 4, 100}]}]}]},
	{ok, Module, Code} = compile:forms([{attribute, 1, module, shape_reloaded},
		{attribute, 1, export, [{run, 0}]}, Run, Loop]),
	code:purge(Module),
	{module, Module} = code:load_binary(Module, "shape_reloaded.erl", Code),
	code:purge(Module),
	Now = proplists:get_value(time, erlang:system_info(os_monotonic_time_source)),
	io:format("~b ~b~n", [N, erlang:convert_time_unit(Now, native, nanosecond)]),
	Until = erlang:monotonic_time(millisecond) + 40,
	reload_run(Until),
	case Until < End of true -> reload(N + 1, End); false -> ok end.
reload_run(Until) ->
	[shape_reloaded:run() || _ <- lists:seq(1, 100)],
	case erlang:monotonic_time(millisecond) < Until of true -> reload_run(Until); false -> ok end.

same(X) -> X.

%% A message that goes round, or to the end and is sent again by a timer.
ring(Next) ->
	receive
		{token, N} when Next =:= none -> erlang:send_after(1, self(), {token, ring_pass(N)}), ring(Next);
		{token, N} -> Next ! {token, ring_pass(N)}, ring(Next)
	end.
ring_pass(N) -> same(N) + 1.

fibonacci() -> put(result, fibonacci_top(21)), fibonacci().
fibonacci_top(N) -> X = fibonacci_of(N), same(X) + 1.
fibonacci_of(N) when N < 2 -> N;
fibonacci_of(N) -> fibonacci_of(N - 1) + fibonacci_of(N - 2).

%% As deep as is kept of a stack, nearly.
recursion() -> put(result, recursion_top(900)), recursion().
recursion_top(N) -> same(recursion_down(N)) + 1.
recursion_down(0) -> 0;
recursion_down(N) -> 1 + recursion_down(N - 1).

sorting() -> put(result, sorting_top([(I * 7919) rem 10007 || I <- lists:seq(1, 2000)])), sorting().
sorting_top(List) -> Sorted = lists:sort(List), length(Sorted) + length(lists:sort(fun sorting_order/2, List)).
sorting_order(A, B) -> A =< B.

mapping() -> put(result, mapping_top(#{}, 700)), mapping().
mapping_top(Map, 0) -> maps:fold(fun mapping_add/3, 0, Map) + map_size(Map);
mapping_top(Map, N) -> More = mapping_put(Map, N), X = mapping_top(More, N - 1), same(X).
mapping_put(Map, N) -> Map#{{key, N rem 300} => N}.
mapping_add(_, Value, Sum) -> Sum + Value.

bytes() -> put(result, bytes_top(2000)), bytes().
bytes_top(N) -> Bytes = bytes_make(N, <<>>), bytes_sum(Bytes, 0) + size(list_to_binary(binary_to_list(Bytes))).
bytes_make(0, Bytes) -> Bytes;
bytes_make(N, Bytes) -> bytes_make(N - 1, <<Bytes/binary, N:32>>).
bytes_sum(<<X:32, Rest/binary>>, Sum) -> bytes_sum(Rest, Sum + X);
bytes_sum(<<>>, Sum) -> Sum.

%% Match programs, too, for which a scheduler has a pseudo process at hand.
tables() -> tables_loop(ets:new(shape, [set, public])).
tables_loop(Table) -> put(result, tables_top(Table, 400)), tables_loop(Table).
tables_top(Table, 0) -> length(ets:select(Table, [{{'$1', '$2'}, [{'>', '$2', 3}], ['$1']}]));
tables_top(Table, N) ->
	ets:insert(Table, {N, N}),
	[{_, X}] = ets:lookup(Table, N),
	tables_top(Table, N - 1) + X.

garbage() -> put(result, garbage_top(300)), garbage().
garbage_top(N) -> length(garbage_make(N, [])).
garbage_make(0, List) -> List;
garbage_make(N, List) ->
	More = [{X, [X]} || X <- lists:seq(1, 100)],
	[hd(More) | garbage_make(N - 1, [More | List])].

%% NIFs.
packing() -> put(result, packing_top(40)), packing().
packing_top(0) -> 0;
packing_top(N) ->
	Bytes = binary:copy(<<"abcdefg">>, 1500),
	{Sum, Packed} = packing_do(Bytes),
	size(Sum) + size(Packed) + packing_top(N - 1).
packing_do(Bytes) -> Sum = erlang:md5(Bytes), {Sum, zlib:compress(Bytes)}.

matching() -> put(result, matching_top(30)), matching().
matching_top(0) -> 0;
matching_top(N) ->
	Found = re:run(lists:duplicate(300, $a) ++ "b", "(a+)+b$"),
	X = matching_top(N - 1),
	case Found of nomatch -> X; _ -> X + 1 end.

throwing() -> put(result, throwing_top(150)), throwing().
throwing_top(0) -> 0;
throwing_top(N) ->
	X = try throwing_down(30) catch throw:T -> T; error:_:Stack -> length(Stack) end,
	X + throwing_top(N - 1).
throwing_down(0) ->
	case get(turn) of
		true -> put(turn, false), throw(1);
		_ -> put(turn, true), erlang:error(badarg)
	end;
throwing_down(N) -> 1 + throwing_down(N - 1).

guarding() -> put(result, guarding_top(100)), guarding().
guarding_top(N) -> try guarding_down(N) after put(after_all, N) end.
guarding_down(0) -> 0;
guarding_down(N) -> try guarding_down(N - 1) + 1 catch error:badarith -> 0 end.

formatting() -> put(result, formatting_top(20)), formatting().
formatting_top(0) -> 0;
formatting_top(N) ->
	Text = io_lib:format("~p ~w ~s", [{N, [a, b, <<"x">>]}, #{a => N}, "hello"]),
	length(lists:flatten(Text)) + formatting_top(N - 1).

terms() -> put(result, terms_top(50)), terms().
terms_top(0) -> 0;
terms_top(N) ->
	Term = {N, lists:seq(1, 200), #{a => b}},
	Bytes = term_to_binary(Term),
	Term = binary_to_term(Bytes),
	size(Bytes) + terms_top(N - 1).

%% Many variables that live across calls: large frames, with return addresses of calls before.
variables() -> put(result, variables_top(1, 2, 3)), variables().
variables_top(A, B, C) -> variables_loop(200, A, B, C).
variables_loop(0, A, B, C) -> A + B + C;
variables_loop(N, A, B, C) ->
	D = same(A + N), E = same(B + D), F = same(C + E), G = same(D + E), H = same(F + G),
	X = variables_loop(N - 1, A, B, C),
	Y = variables_few(same(X), same(H)),
	D + E + F + G + H + X + Y.
variables_few(X, H) -> Z = same(X band 16#ffff), Z + same(H).

calling() -> put(result, lists:foldl(fun calling_each/2, 0, lists:seq(1, 1000))), calling().
calling_each(X, Sum) -> X + calling_inner(Sum).
calling_inner(X) -> same(X) rem 999.

%% By a dirty scheduler, which waits for files.
reading() -> put(result, reading_top(code:which(lists))), reading().
reading_top(File) -> {ok, Bytes} = file:read_file(File), size(Bytes) + 1.

steps() -> put(result, step0(0)), steps().
step0(X) -> step1(X) + 1.
step1(X) -> step2(X) + 1.
step2(X) -> step3(X) + 1.
step3(X) -> step4(X) + 1.
step4(X) -> step5(X) + 1.
step5(X) -> step6(X) + 1.
step6(X) -> step7(X) + 1.
step7(X) -> step8(X) + 1.
step8(X) -> step9(X) + 1.
step9(X) -> steps_mix(X, 50) + 1.
steps_mix(X, 0) -> X;
steps_mix(X, N) -> steps_mix((X * 33 + N) band 16#fffffff, N - 1).
