%% outer() calls middle(), which calls inner() for some seconds: that computes, builds lists, which
%% the garbage collector sees to, and has the emulator work in C.
-module(chain).
-export([start/1]).

start([Seconds]) ->
	Milliseconds = list_to_integer(atom_to_list(Seconds)) * 1000,
	outer(erlang:monotonic_time(millisecond) + Milliseconds),
	halt(0).

outer(End) -> middle(End) + 1.

middle(End) -> inner(0, lists:seq(1, 1000), End) + 2.

inner(Sum, Terms, End) ->
	Next = compute(Sum, 3000) + length(build(1000)) + erlang:phash2(Terms),
	case erlang:monotonic_time(millisecond) < End of
		true -> inner(Next band 16#ffffff, Terms, End);
		false -> Next
	end.

compute(Sum, 0) -> Sum;
compute(Sum, N) -> compute((Sum * 7 + N) band 16#ffffff, N - 1).

build(0) -> [];
build(N) -> [{N, N + 1} | build(N - 1)].
