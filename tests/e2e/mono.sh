#!/bin/bash
# Programs of Mono: methods that it compiled, by its own table of them, judged by a program of which
# every caller is known.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

monos() { interpreters mono; }

# The program, compiled by this Mono's compiler.
compile() { # MONO
	[[ -n ${INTERPRETERS-} || -e /usr/lib/mono/4.5/mcs.exe ]] || skip "no mcs here"
	[[ -e shape.exe ]] ||
		"$1" /usr/lib/mono/4.5/mcs.exe -unsafe -optimize+ -debug -out:"$PWD/shape.exe" "$here/mono_shape.cs" \
			</dev/null >err 2>&1 || fail "mcs: $(cat err)"
}

record_shape() { # MONO SECONDS [thread]
	local mono=$1
	shift
	compile "$mono"
	# shellcheck disable=SC2086
	"$EBPROF" record -q -F 997 -o shape.data ${RECORD_OPTIONS:-} -- "$mono" ${MONO_OPTIONS:-} "$PWD/shape.exe" "$@" \
		>out 2>err </dev/null || fail "record: $(cat err)"
}

# Every stack with a step has all those ahead of it, each once, whatever is between them.
exact_chains() { # WHAT [PERCENT]
	local steps wrong whole
	read -r steps wrong whole < <(count shape.data '
		/;Shape[.]Steps[.]Step00/ || /;Shape[.][^;]*[.]Step[0-9][0-9]/ {
			add("steps")
			if (!/\[truncated/) add("whole")
			n_frames = split($0, frame, ";"); want = 0; is_wrong = !/[.]Turn;/
			for (i = 1; i <= n_frames; i++) {
				if (frame[i] ~ /\[/ || frame[i] !~ /^Shape[.]/ || !match(frame[i], /[.]Step[0-9][0-9]/)) continue
				number = substr(frame[i], RSTART + 5, 2) + 0
				if (frame[i] ~ /[.]Step[0-9][0-9]$/) { if (number != want++) is_wrong = 1 }
				else if (number != want - 1) is_wrong = 1
			}
			if (/;Shape[.]Steps[.]Work/ && !/Step[0-9][0-9](Each[^;]*)?;Shape[.]Steps[.]Work/) is_wrong = 1
			if (is_wrong) { add("wrong"); print >"wrong" }
		}
		END { print c["steps"] + 0, c["wrong"] + 0, c["whole"] + 0 }')
	[[ $steps -ge 150 ]] || fail "$1: $steps samples with steps: $(sort -t' ' -k2 stacks | head -c 2000)"
	percent "$1: chains that are exact: $(head -n 1 wrong 2>/dev/null | tail -c 1500)" $((steps - wrong)) "$steps" "${2-99.5}"
	percent "$1: stacks from the beginning of their threads on" "$whole" "$steps" "${2-99}"
	[[ -z ${VERBOSE:-} ]] || echo "$1: $steps steps, $wrong wrong, $whole whole" >&2
}

try_chains() { # WHAT [thread]
	local mono list
	list=$(monos) || exit $?
	for mono in $list; do
		record_shape "$mono" 3 "${@:2}"
		exact_chains "$mono, $1"
	done
}

test_main_thread() { try_chains "main thread"; }
test_another_thread() { try_chains "another thread" thread; }
test_without_optimization() { MONO_OPTIONS=-O=-all try_chains "without optimization"; }
test_without_code_of_files() { MONO_OPTIONS=-O=-aot try_chains "without code compiled ahead"; }

test_names() {
	local mono list all named name
	list=$(monos) || exit $?
	for mono in $list; do
		record_shape "$mono" 3
		exact_chains "$mono, names"
		read -r all named < <(count shape.data '
			{ n_frames = split($0, frame, ";")
			for (i = 1; i <= n_frames; i++)
				if (frame[i] ~ /^(\[JIT\]|\[un)|[.](dll|exe)[.]so[+ ]/) c["unnamed"] += n
				else if (frame[i] ~ /[.]/ && frame[i] !~ /[.]so/) c["named"] += n }
			END { print c["unnamed"] + c["named"] + 0, c["named"] + 0 }')
		percent "$mono: frames with names: $(grep -oE "\[JIT\][^;]*|[^;]*[.](dll|exe)[.]so[+ ][^;]*" stacks | sort | uniq -c | sort -rn | head -n 3)" \
			"$named" "$all" 99
		for name in 'Shape[.]Steps[.]Step05' 'Shape[.]Steps[.]Step09 \[synchronized\]' 'Emitted' \
			'Shape[.]Steps[.]Step04 lambda' 'Shape[.]Steps[.]Sorting lambda' 'Shape[.]Steps[.]Step07Each;' \
			'Shape[.]Holder[^;]*[.]Step03' 'System[.]Object[.]AllocVector \[alloc\]'; do
			grep -qE "$name" stacks || fail "$mono: nothing is called $name: $(tr ';' '\n' <stacks | sort -u | head -c 3000)"
		done
	done
}

# Of the steps that are one line: each calls the next one in it. --debug has Mono keep more.
test_lines() {
	local mono list options all right
	list=$(monos) || exit $?
	command -v go >/dev/null || skip "no go, whose pprof shows lines"
	for mono in $list; do
		for options in "" --debug; do
			MONO_OPTIONS=$options record_shape "$mono" 2
			"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
			go tool pprof -lines -top -nodecount=5000 -nodefraction=0 -sample_index=samples shape.pb.gz >top 2>/dev/null || fail "pprof"
			read -r all right < <(awk '
				FNR == NR { if (match($0, /Work[(][0-9]+, depth[)] [+].*Step[0-9]/)) line[substr($0, RSTART + 5) + 0] = FNR; next }
				match($0, / Shape[.].*[.]Step(00|01|02|03|05|09) [^[]*:[0-9]+$/) {
					match($0, /[.]Step[0-9][0-9]/)
					number = substr($0, RSTART + 5, 2) + 0
					all += $4
					if (/mono_shape[.]cs:/ && substr($NF, index($NF, ":") + 1) == line[number]) right += $4
				}
				END { print all + 0, right + 0 }' "$here/mono_shape.cs" top)
			[[ $all -ge 300 ]] || fail "$mono $options: $all samples: $(head -n 20 top)"
			percent "$mono $options: samples in the lines of the steps: $(grep 'Step0' top | head -n 12)" "$right" "$all" 97
			percent "$mono $options: steps with lines" "$all" "$(awk '/ Shape[.].*[.]Step(00|01|02|03|05|09)( [^[]|$)/ { n += $4 } END { print n + 0 }' top)" 97
		done
	done
}

# A process that runs already when the recorder comes.
test_attached() {
	local mono list pid
	list=$(monos) || exit $?
	for mono in $list; do
		compile "$mono"
		"$mono" "$PWD/shape.exe" 60 >/dev/null </dev/null &
		wait_until "$mono that runs" pgrep -f "$PWD/shape.exe 60"
		pid=$(pgrep -f "$PWD/shape.exe 60" | tail -n 1)
		wait_until "$mono that runs" has_cpu_ms "$pid" 1500
		record_for_cpu_ms 3000 "$pid" -F 997 -o shape.data
		kill "$pid"
		wait
		want_status 0 "record -p"
		exact_chains "$mono, attached"
	done
}

# Most programs of the command line: what they do is over before the recorder looks for the third time.
test_short_lives() {
	local mono list
	list=$(monos) || exit $?
	for mono in $list; do
		compile "$mono"
		# shellcheck disable=SC2016
		"$EBPROF" record -q -F 997 -o shape.data -- bash -c \
			'for i in {1..20}; do "$0" "$1" 0.2; done' "$mono" "$PWD/shape.exe" 2>err || fail "record: $(cat err)"
		exact_chains "$mono, short lives" 85 # what is compiled last is gone before it can be read
	done
}

run_tests
