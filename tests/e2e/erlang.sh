#!/bin/bash
# Erlang programs: functions that BEAM has compiled, between the frames of its schedulers and those of
# what is written in C, judged by a program of which every chain of callers is known.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

erlangs() { interpreters erl; }

# The program, compiled by this Erlang.
compile() { # ERL [PROGRAM]
	"$1" -noshell -eval "halt(case compile:file(\"$here/${2-erlang_shape}.erl\", [report, {outdir, \"$PWD\"}]) of
		{ok, _} -> 0; _ -> 1 end)." </dev/null >err 2>&1 || fail "$1: compile: $(cat err)"
}

record_shape() { # ERL EXPRESSION OPTION_OF_ERL...
	local erl=$1 expression=$2
	shift 2
	compile "$erl"
	# shellcheck disable=SC2086
	"$EBPROF" record -q -F 997 -o shape.data ${RECORD_OPTIONS:-} -- "$erl" "$@" -noshell -noinput -pa "$PWD" \
		-eval "$expression." </dev/null >out 2>err || fail "record $erl: $(cat err)"
}

judge() { # WHAT
	local judged wrong unnamed whole all
	count shape.data '{ add("all") }'
	python3 "$here/erlang_chains.py" named >chains
	read -r judged wrong unnamed whole all < <(tail -n 1 chains)
	[[ $judged -ge 150 ]] || fail "$1: $judged samples with functions of the program"
	percent "$1: chains that are exact: $(head -n 1 chains)" $((judged - wrong)) "$judged" 99
	percent "$1: stacks whose functions have names" $((all - unnamed)) "$all" 99
	percent "$1: stacks up to the beginning of the thread" "$whole" "$all" 99
}

test_chains() {
	local erl list
	list=$(erlangs) || exit $?
	for erl in $list; do
		record_shape "$erl" "erlang_shape:run(2)"
		judge "$erl"
	done
}

# Processes are labels: as Erlang itself calls them.
test_processes() {
	local erl list
	list=$(erlangs) || exit $?
	for erl in $list; do
		record_shape "$erl" "erlang_shape:run(2)"
		"$EBPROF" convert --json ${SYMFS:+--symfs "$SYMFS"} -i shape.data -o shape.json 2>err || fail "convert: $(cat err)"
		"$here/judge_erlang_labels.py" shape.json out >verdict || fail "no verdict: $(cat verdict)"
		echo "$erl: $(head -n 1 verdict)"
		awk 'NR == 1 { exit !($1 >= 150 && !$3 && $5 <= 0.002 * $1 && $7 >= 12) }' verdict || fail "$erl: $(cat verdict)"
		run "$EBPROF" report --stdio -s label:erlang-process -i shape.data
		grep -q ' shape_of_library$' out || fail "$erl: no registered name: $(head out)"
		run "$EBPROF" convert --folded --label 'erlang-process=erlang_shape:terms/0' -i shape.data
		grep -q 'erlang_shape:terms' out || fail "$erl: no samples of the process: $(head -n 2 out)"
		! grep -v 'erlang_shape:terms' out | grep -q erlang_shape || fail "$erl: other processes: $(grep -v terms out | head -n 2)"
	done
}

test_processes_where_none_are_wanted() {
	local erl list
	list=$(erlangs) || exit $?
	for erl in $list; do
		RECORD_OPTIONS='--label-sources go' record_shape "$erl" "erlang_shape:run(0.5)"
		run "$EBPROF" info shape.data
		! grep -q '^labels' out || fail "$erl: $(grep '^labels' out)"
	done
}

# As it lays frames for profilers that need frame pointers.
test_frame_pointers() {
	local erl list
	list=$(erlangs) || exit $?
	for erl in $list; do
		record_shape "$erl" "erlang_shape:run(1)" +JPperf true
		judge "$erl +JPperf true"
	done
}

# A node that runs already when the recorder comes.
test_attached() {
	local erl list pid
	list=$(erlangs) || exit $?
	for erl in $list; do
		compile "$erl"
		"$erl" -noshell -noinput -pa "$PWD" -eval "erlang_shape:run(60)." </dev/null >/dev/null 2>&1 &
		wait_until "$erl that runs" pgrep -f "beam.*pa $PWD .*erlang_shape:run"
		pid=$(pgrep -f "beam.*pa $PWD .*erlang_shape:run" -n)
		wait_until "$erl that runs" has_cpu_ms "$pid" 1000
		record_for_cpu_ms 3000 "$pid" -F 997 -o shape.data
		kill "$pid"
		wait
		want_status 0 "record -p"
		judge "$erl attached"
	done
}

test_lines() {
	local erl list line lines
	list=$(erlangs) || exit $?
	command -v go >/dev/null || skip "no go here, whose pprof shows lines"
	line=$(grep -n '^steps_mix(X, N)' "$here/erlang_shape.erl" | cut -d: -f1)
	for erl in $list; do
		record_shape "$erl" "erlang_shape:run(1, [steps])"
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		lines=$(sed -n 's/.* erlang_shape:steps_mix.2 .*erlang_shape[.]erl:\([0-9]*\).*/\1/p' top |
			awk -v line="$line" '$1 == line { n++ } END { print n + 0 }')
		[[ $lines -ge 1 ]] || fail "$erl: no line of the loop in steps_mix/2: $(grep mix top | head -3)"
	done
}

# A module is loaded again and again, often at the same address: no name is one of another time.
test_reloaded() {
	local erl list
	list=$(erlangs) || exit $?
	for erl in $list; do
		record_shape "$erl" "erlang_shape:reload(3)"
		"$EBPROF" convert --perf-script -i shape.data -o script >/dev/null 2>err || fail "convert: $(cat err)"
		awk '
			FILENAME == "out" { loaded[$1] = $2 / 1e9; last = $1; next }
			/^[^\t ]/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+[.][0-9]+:$/) time = $i + 0 }
			match($0, /shape_reloaded:version[0-9]+/) && time != seen {
				seen = time; n++
				v = substr($0, RSTART + 22, RLENGTH - 22) + 0
				# The line is written a little after the module was loaded.
				if (time < loaded[v] - 0.02 || (v < last && time > loaded[v + 1] + 0.002)) wrong++
			}
			END { print n + 0, wrong + 0, last + 0 }' out script >counted
		read -r samples wrong versions <counted
		[[ $samples -ge 100 && $versions -ge 10 ]] || fail "$erl: $samples samples of $versions versions"
		[[ $wrong == 0 ]] || fail "$erl: $wrong of $samples names are of another version"
	done
}

test_elixir() {
	local elixir
	[[ -z ${INTERPRETERS-} ]] || skip "with this system's Elixir only"
	elixir=$(PATH=/usr/bin:/bin command -v elixir) || skip "no elixir here"
	"$EBPROF" record -q -F 997 -o shape.data -- "$elixir" -e '
		defmodule Shape do
			def run(0), do: 0
			def run(n), do: 1 + Enum.reduce(1..2000, 0, fn x, a -> x * n + a end) + run(n - 1)
		end
		for _ <- 1..100, do: Shape.run(100)' </dev/null >out 2>err || fail "record: $(cat err)"
	read -r shape reduce < <(count shape.data '
		/;Shape[.]run\/1;/ { add("shape") } /;Shape[.]run\/1;Enum[.]reduce/ { add("reduce") }
		END { print c["shape"] + 0, c["reduce"] + 0 }')
	[[ $shape -ge 100 ]] || fail "$shape samples in Shape.run/1: $(grep Elixir named | head -n 1)"
	percent "functions of Enum that Shape.run/1 called" "$reduce" "$shape" 50
}

# It writes all of a module when that is loaded.
copy_map() { # PID NUMBER
	local map=/proc/$1/root/tmp/perf-$1.map
	wait_until "functions in the map" grep -q 'erlang_names:m15/2' "$map"
	cp "$map" "map.$2"
	[[ $2 == 1 ]] || rm -f "$map"
}

# Names by the runtime's own word: its perf map says of each address which function it is of. Names that
# the recorder took from there would have another form.
test_names_of_addresses() {
	local erl list seconds=${NAMES_SECONDS-3}
	command -v python3 >/dev/null || skip "no python3 here"
	[[ -z ${INTERPRETERS-} ]] || seconds=14 # for 10,000 samples
	list=$(erlangs) || exit $?
	for erl in $list; do
		compile "$erl" erlang_names
		rm -f end
		"$erl" +JPperf true -noshell -noinput -pa "$PWD" -eval "erlang_names:main(\"$PWD/end\", 200000)." >clocked </dev/null &
		sample_names $! "$seconds" copy_map
		names_are_right "$erl" "$seconds"
		! grep -q '[$]erlang_names' names.txt || fail "$erl: names are those of the map"
	done
}

test_left_out() {
	local erl list
	list=$(erlangs) || exit $?
	for erl in $list; do
		RECORD_OPTIONS="--no-vm erlang" record_shape "$erl" "erlang_shape:run(0.5)"
		[[ $(count shape.data '/erlang_shape:/ { add("erlang") } END { print c["erlang"] + 0 }') == 0 ]] ||
			fail "$erl: functions in spite of --no-vm erlang"
	done
}

run_tests
