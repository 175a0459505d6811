#!/bin/bash
# Programs that Node.js runs: functions of JavaScript among native ones, as they are interpreted and
# compiled, judged by a program of which every caller is known.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

# It need not be Debian's.
nodes() {
	[[ -n ${INTERPRETERS-} ]] || INTERPRETERS=$(command -v node)
	interpreters node
}

record_shape() { # NODE SECONDS OPTION_OF_NODE...
	local node=$1 seconds=$2
	shift 2
	# shellcheck disable=SC2086
	"$EBPROF" record -q -F 997 -o shape.data ${RECORD_OPTIONS:-} -- "$node" "$@" "$here/node_shape.mjs" "$seconds" \
		>out 2>err || fail "record $node: $(cat err)"
}

# Every stack with a step has all those ahead of it, each once.
exact_chains() { # WHAT
	local steps wrong
	read -r steps wrong < <(count shape.data '
		/;step[0-9]/ {
			add("steps")
			n_frames = split($0, frame, ";"); want = 0; is_wrong = 0
			for (i = 1; i <= n_frames; i++)
				if (frame[i] ~ /^step[0-9][0-9]$/ && substr(frame[i], 5) + 0 != want++) is_wrong = 1
			if (is_wrong) { add("wrong"); print >"wrong" }
		}
		END { print c["steps"] + 0, c["wrong"] + 0 }')
	[[ $steps -ge 150 ]] || fail "$1: $steps samples with steps"
	percent "$1: chains that are exact: $(head -n 1 wrong 2>/dev/null | tail -c 400)" $((steps - wrong)) "$steps" 99.5
}

major_of() { # NODE
	"$1" -p 'process.versions.node.split(".")[0]'
}

options_of() { # NODE WHAT
	local major
	major=$(major_of "$1")
	case $2 in
	interpreter) printf -- '--no-opt --no-sparkplug' ;;
	baseline) printf -- '--no-opt --always-sparkplug' ;;
	optimizing) printf -- '--max-inlined-bytecode-size=0 --max-inlined-bytecode-size-cumulative=0' ;;
	esac
	[[ $major -lt 22 ]] || printf -- ' --no-maglev'
}

try_chains() { # WHAT
	local node list
	list=$(nodes) || exit $?
	for node in $list; do
		# shellcheck disable=SC2046
		record_shape "$node" 2 $(options_of "$node" "$1")
		exact_chains "$node $1"
	done
}

test_interpreter() { try_chains interpreter; }
test_baseline() { try_chains baseline; }
test_optimizing() { try_chains optimizing; }

# As it runs without options. Behind Node.js 22 not all functions that are inlined are found.
test_inlining() {
	local node list
	list=$(nodes) || exit $?
	for node in $list; do
		[[ $(major_of "$node") -le 22 ]] || continue
		record_shape "$node" 2
		exact_chains "$node"
	done
}

# A process that runs already when the recorder comes.
test_attached() {
	local node list pid
	list=$(nodes) || exit $?
	for node in $list; do
		# shellcheck disable=SC2046
		"$node" $(options_of "$node" optimizing) "$here/node_shape.mjs" 6 >/dev/null </dev/null &
		sleep 1.5
		pid=$(pgrep -f "node_shape.mjs 6" | tail -n 1)
		"$EBPROF" record -q -F 997 -o shape.data --duration 2 -p "$pid" 2>err || fail "record: $(cat err)"
		kill "$pid"
		wait
		exact_chains "$node attached"
	done
}

test_whole_and_named() {
	local node list all modules unnamed lines line
	list=$(nodes) || exit $?
	line=$(grep -n '// hot' "$here/node_shape.mjs" | cut -d: -f1)
	for node in $list; do
		# shellcheck disable=SC2046
		record_shape "$node" 2 $(options_of "$node" interpreter)
		read -r all modules unnamed < <(count shape.data '
			/;turn;/ { add("all") } /;turn;/ && /\[unnamed/ { add("unnamed") }
			/;turn;/ && /_start.*turn|start_main.*turn/ { add("whole") }
			END { print c["all"] + 0, c["whole"] + 0, c["unnamed"] + 0 }')
		percent "$node: stacks up to the beginning of the program" "$modules" "$all" 98
		percent "$node: stacks whose functions have names" $((all - unnamed)) "$all" 98
		command -v go >/dev/null || continue
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		lines=$(sed -n 's/.* mix .*node_shape[.]mjs:\([0-9]*\).*/\1/p' top |
			awk -v line="$line" '$1 >= line - 1 && $1 <= line { n++ } END { print n + 0 }')
		[[ $lines -ge 1 ]] || fail "$node: no line of the loop in mix(): $(grep mix top | head -3)"
	done
}

test_left_out() {
	local node list
	list=$(nodes) || exit $?
	for node in $list; do
		RECORD_OPTIONS="--no-vm node" record_shape "$node" 1
		[[ $(count shape.data '/;step[0-9]/ { add("js") } END { print c["js"] + 0 }') == 0 ]] ||
			fail "$node: functions in spite of --no-vm node"
	done
}

run_tests
