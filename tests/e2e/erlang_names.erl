%% erlang_names:main(FILE, STEPS): until there is that file, functions that each run for a millisecond or
%% so: a judge that looks at the program counter twice within much less, and finds the same function, knows
%% what ran in between. Prints which share of its CPU time each had, by its own clock.
-module(erlang_names).
-export([main/2]).

m00(X, 0) -> X;
m00(X, N) -> m00((X * 31 + N) band 16#ffffff, N - 1).
m01(X, 0) -> X;
m01(X, N) -> m01(((X * 33) bxor N) band 16#ffffff, N - 1).
m02(X, 0) -> X;
m02(X, N) -> m02((X + (N bxor (X bsr 7))) band 16#ffffff, N - 1).
m03(X, 0) -> X;
m03(X, N) -> m03((X * 37 - N) band 16#ffffff, N - 1).
m04(X, 0) -> X;
m04(X, N) -> m04(((X bxor (X bsl 3)) bxor N) band 16#ffffff, N - 1).
m05(X, 0) -> X;
m05(X, N) -> m05((X * 41 + (N band 9)) band 16#ffffff, N - 1).
m06(X, 0) -> X;
m06(X, N) -> m06(((X bxor N) * 43) band 16#ffffff, N - 1).
m07(X, 0) -> X;
m07(X, N) -> m07((X - ((N * X) bsr 5)) band 16#ffffff, N - 1).
m08(X, 0) -> X;
m08(X, N) -> m08((X * 47 + (bnot N)) band 16#ffffff, N - 1).
m09(X, 0) -> X;
m09(X, N) -> m09(((X * 53) bxor (N bsr 1)) band 16#ffffff, N - 1).
m10(X, 0) -> X;
m10(X, N) -> m10((X + ((X bsl 5) bxor N)) band 16#ffffff, N - 1).
m11(X, 0) -> X;
m11(X, N) -> m11((X * 59 + N * 3) band 16#ffffff, N - 1).
m12(X, 0) -> X;
m12(X, N) -> m12(((X + N) * 61) band 16#ffffff, N - 1).
m13(X, 0) -> X;
m13(X, N) -> m13(((X bxor (X bsr 9)) bxor N) band 16#ffffff, N - 1).
m14(X, 0) -> X;
m14(X, N) -> m14((X * 67 - (N bor 5)) band 16#ffffff, N - 1).
m15(X, 0) -> X;
m15(X, N) -> m15(((X bsl 1) + N) band 16#ffffff, N - 1).

functions() ->
	[{m00, fun m00/2}, {m01, fun m01/2}, {m02, fun m02/2}, {m03, fun m03/2},
	{m04, fun m04/2}, {m05, fun m05/2}, {m06, fun m06/2}, {m07, fun m07/2},
	{m08, fun m08/2}, {m09, fun m09/2}, {m10, fun m10/2}, {m11, fun m11/2},
	{m12, fun m12/2}, {m13, fun m13/2}, {m14, fun m14/2}, {m15, fun m15/2}].

cpu_ms() ->
	{Total, _} = statistics(runtime),
	Total.

%% The first function does STEPS turns, the last four times as many.
rounds(End, Steps, X, Spent) ->
	case filelib:is_file(End) of
		true -> Spent;
		false ->
			{Y, _, Now} = lists:foldl(fun({Name, Function}, {A, At, Sums}) ->
				From = cpu_ms(),
				B = Function(A, Steps + Steps * 3 * At div 15),
				Time = cpu_ms() - From,
				{B, At + 1, maps:update_with(Name, fun(Sum) -> Sum + Time end, Time, Sums)}
			end, {X, 0, Spent}, functions()),
			rounds(End, Steps, Y, Now)
	end.

main(End, Steps) ->
	Spent = rounds(End, Steps, 1, #{}),
	All = lists:sum(maps:values(Spent)),
	[io:format("~s ~.2f~n", [Name, 100 * Time / All]) || {Name, Time} <- lists:sort(maps:to_list(Spent))],
	halt().
