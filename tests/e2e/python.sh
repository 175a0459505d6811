#!/bin/bash
# Python programs: the whole stack of script frames among native ones, also of short-lived
# processes and when nothing is known of the interpreter yet.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"
. "$here/suite_interpreter.bash"

pythons() { interpreters python3; }

# Sets $list to those that can do this, or, where none of the system's can, to a later one.
find_pythons() { # WHAT ARGUMENT...
	local python all
	all=$(pythons) || exit $?
	list=()
	for python in $all; do
		"$python" "${@:2}" >/dev/null 2>&1 && list+=("$python")
	done
	((${#list[@]})) && return
	[[ -z ${INTERPRETERS-} ]] || skip "no Python here with $1"
	suite_python
	list=("$interpreter")
}

# In a loop of the interpreter: in some builds what runs has no symbol.
in_loop='/_PyEval_EvalFrameDefault|PyEval_EvalCode;|<module>|_bootstrap/'
# Before and behind the program itself: imports, and no loop in a stack that is not cut.
besides="/_find_and_load|_install/ || !/truncated/ && !$in_loop { next }"

record_shape() { # PYTHON SECONDS OPTION...
	local python=$1 seconds=$2
	shift 2
	"$EBPROF" record -q -o shape.data "$@" -- "$python" "$here/python_shape.py" "$seconds" >spent 2>err ||
		fail "record $python: $(cat err)"
}

whole_stacks() { # PYTHON
	local all whole h m l sort sub deep gen thread method want_h want_m want_l
	read -r want_h want_m want_l <spent
	read -r all whole h m l sort sub deep gen thread method < <(count shape.data '
		'"$besides"'
		{ add("all") }
		/<module>.*run|_bootstrap.*run_in_thread/ { add("whole") }
		/;heavy;.*spin/ { add("h") } /;medium;.*spin/ { add("m") } /;light;.*spin/ { add("l") }
		/by_sort;.*[Pp]y.*;[^;]*<lambda>;.*key/ { add("sort") }
		/by_sub;.*[Pp]y.*;[^;]*<lambda>;.*key/ { add("sub") }
		/;recurse/ { copy = $0; if (gsub(/;recurse/, "", copy) == 41) add("deep") }
		/generate;.*produce;.*spin/ { add("gen") }
		/;run_in_thread;/ { add("thread") }
		/;method;|Größe.method;/ { add("method") }
		END { print c["all"] + 0, c["whole"] + 0, c["h"] + 0, c["m"] + 0, c["l"] + 0, c["sort"] + 0,
			c["sub"] + 0, c["deep"] + 0, c["gen"] + 0, c["thread"] + 0, c["method"] + 0 }' |
		tr '\n' ' ')
	percent "$1: stacks up to the program's beginning" "$whole" "$all" 98
	near "$1: heavy" "$h" $((h + m + l)) "$want_h"
	near "$1: medium" "$m" $((h + m + l)) "$want_m"
	near "$1: light" "$l" $((h + m + l)) "$want_l"
	percent "$1: the second thread" "$thread" "$all" 20
	for found in "sorted(key=lambda): $sort" "re.sub(lambda): $sub" "a generator: $gen" "a method: $method" "41 frames of recursion: $deep"; do
		[[ ${found##*: } != 0 ]] || fail "$1: no sample of ${found%: *}"
	done
}

test_whole_stacks() {
	local python list
	list=$(pythons) || exit $?
	for python in $list; do
		record_shape "$python" 5
		whole_stacks "$python"
		want_whole shape.data
		want_exact shape.data
	done
}

# Nothing is known of any file when the program begins.
test_cold() {
	local python list all whole
	list=$(pythons) || exit $?
	for python in $list; do
		record_shape "$python" 5 --unwind-cache none
		read -r all whole < <(count shape.data '
			'"$besides"'
			{ add("all") }
			/<module>.*run|_bootstrap.*run_in_thread/ { add("whole") }
			END { print c["all"] + 0, c["whole"] + 0 }')
		percent "$python: stacks up to the program's beginning" "$whole" "$all" 97
	done
}

# What `-X perf` has called before each function neither ends a stack nor doubles a frame.
test_trampolines() {
	local python list all whole twice
	find_pythons "-X perf (3.12)" -X perf -c 'import sys; sys.exit(not sys.is_stack_trampoline_active())'
	for python in "${list[@]}"; do
		"$EBPROF" record -q -o shape.data -- "$python" -X perf "$here/python_shape.py" 2 >spent 2>err ||
			fail "record $python: $(cat err)"
		read -r all whole twice < <(count shape.data '
			'"$besides"'
			{ add("all") }
			/<module>.*run|_bootstrap.*run_in_thread/ { add("whole") }
			/py::/ { add("twice") }
			/;recurse/ { copy = $0; if (gsub(/;recurse/, "", copy) > 41) add("twice") }
			END { print c["all"] + 0, c["whole"] + 0, c["twice"] + 0 }')
		percent "$python: stacks up to the program's beginning" "$whole" "$all" 95
		percent "$python: no frame twice" $((all - twice)) "$all" 98
	done
}

# Each task's stack goes from the loop of events through the coroutines that wait for each other.
test_tasks() {
	local python list all whole
	list=$(pythons) || exit $?
	for python in $list; do
		"$EBPROF" record -q -o tasks.data -- "$python" "$here/python_ways.py" tasks 2 2>err || fail "record: $(cat err)"
		read -r all whole < <(count tasks.data '
			/;spin/ { add("all") }
			/;<module>;.*run_tasks;.*_run_once;.*outer;.*inner;.*innermost;.*spin/ { add("whole") }
			END { print c["all"] + 0, c["whole"] + 0 }')
		percent "$python: whole stacks of tasks" "$whole" "$all" 95
	done
}

# threading.Thread(name=...), of which the kernel has nothing before 3.14, also where the threads
# have other numbers than here, and in whatever shows threads.
test_thread_names() {
	local python list run
	list=$(pythons) || exit $?
	for python in $list; do
		for run in "" "unshare --pid --fork --mount-proc"; do
			# shellcheck disable=SC2086
			"$EBPROF" record -q -F 499 -o threads.data -- $run "$python" "$here/python_ways.py" threads 2 2>err ||
				fail "record $python: $(cat err)"
			"$EBPROF" report --stdio --percent-limit 0 -s thread -i threads.data >names 2>/dev/null
			for name in loader 'a long name of a thread' Größe Thread-1 subclass; do
				grep -qE " $name( |\$)" names ||
					fail "$python: no thread is called $name: $(grep -v '^#' names | tr '\n' '|')"
			done
		done
		"$EBPROF" convert --pprof -i threads.data -o - | gzip -d | grep -qa 'a long name of a thread' ||
			fail "$python: pprof's file has no such name"
		"$python" "$here/python_ways.py" threads 20 &
		wait_until "six threads of Python" has_threads $! 6
		"$EBPROF" dump -p $! >dump 2>err || fail "dump: $(cat err)"
		kill %%
		grep -qE '(run|wait).*: (.*, )?Größe [0-9]' dump ||
			fail "$python: dump has no such name: $(grep -E ' thread' dump | tr '\n' '|')"
	done
}

has_threads() { # PID COUNT
	(($(find "/proc/$1/task" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l) >= $2))
}

# Interpreters within one: each has its own frames.
test_interpreters() {
	local python list all whole wrong
	find_pythons "interpreters within one" "$here/python_ways.py" interpreter 0
	for python in "${list[@]}"; do
		"$EBPROF" record -q -o inner.data -- "$python" "$here/python_ways.py" interpreter 2 2>err || fail "record: $(cat err)"
		read -r all whole wrong < <(count inner.data '
			/_run_script.*_PyEval_EvalFrameDefault|;inside;/ { add("all") }
			/;<module>;([^<]*;)?inside;/ { add("whole") }
			/_run_script.*run_interpreter/ { add("wrong") }
			END { print c["all"] + 0, c["whole"] + 0, c["wrong"] + 0 }')
		percent "$python: named up to the inner interpreter's beginning" "$whole" "$all" 95
		percent "$python: none with frames of the outer one" $((all - wrong)) "$all" 99
	done
}

test_lines() {
	local python list line hot all
	line=$(grep -n '# hot' "$here/python_shape.py" | cut -d: -f1)
	command -v go >/dev/null || skip "no go here, whose pprof shows lines"
	list=$(pythons) || exit $?
	for python in $list; do
		record_shape "$python" 3
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		hot=$(awk -v at="python_shape.py:$line" '/ spin / && index($0, at) { print $4 + 0 }' top)
		all=$(awk '/ spin / { if ($4 + 0 > max) max = $4 + 0 } END { print max }' top)
		[[ -n $hot && $hot == "$all" ]] || fail "$python: line $line has ${hot:-nothing}, the hottest of spin $all"
	done
}

# The file, and where the format has room the line, that the frames of the hottest function are at.
test_formats_tell_files() {
	local python list file line
	file=$here/python_shape.py
	line=$(grep -n '# hot' "$file" | cut -d: -f1)
	list=$(pythons) || exit $?
	command -v jq >/dev/null || skip "no jq here"
	python=${list%%$'\n'*}
	record_shape "$python" 3
	for format in json speedscope firefox chrome csv callgrind perf-script otlp; do
		"$EBPROF" convert --$format -i shape.data -o shape.$format >/dev/null 2>err || fail "convert: $(cat err)"
	done
	jq -e --arg file "$file" --argjson line "$line" '
		(.functions | map(.name == "spin" and .file == $file) | index(true)) as $spin |
		any(.frames[]; .function == $spin and .file == $file and .line == $line)' shape.json >/dev/null ||
		fail "json: spin has no line $line"
	jq -e --arg file "$file" 'any(.shared.frames[]; .name == "spin" and .file == $file)' shape.speedscope >/dev/null ||
		fail "speedscope: spin has no file"
	jq -e --arg file "$file" --argjson line "$line" '.shared as $s | ($s.stringArray | index("spin")) as $name |
		any(range($s.frameTable.length); $s.frameTable.func[.] as $f | $s.frameTable.line[.] == $line and
			$s.funcTable.name[$f] == $name and
			$s.stringArray[$s.sources.filename[$s.funcTable.source[$f]]] == $file)' shape.firefox >/dev/null ||
		fail "firefox: spin has no line $line"
	grep -q "\"functionName\":\"spin\",.*\"url\":\"$file\"" shape.chrome || fail "chrome: spin has no file"
	grep -q ",\[python\],spin,$file," shape.csv || fail "csv: $(grep ,spin, shape.csv)"
	grep -q "^f[lie]=([0-9]*) $file\$\|^cf[il]=([0-9]*) $file\$" shape.callgrind || fail "callgrind: no $file"
	grep -q " spin+0x[0-9a-f]* ($file)" shape.perf-script || fail "perf-script: $(grep -m 1 ' spin' shape.perf-script)"
	grep -aq cpython shape.otlp || fail "otlp: no frame is of cpython"
}

# 40 processes of 0.3 s, one after the other, on a busy machine as well.
test_short_lived() {
	local python list loops named
	list=$(pythons) || exit $?
	cat >"$PWD/short.py" <<'PY'
import time
def work():
    return sum([i * i for i in range(1000)])
def main(end):
    while time.process_time() < end:
        work()
main(0.25)
PY
	for python in $list; do
		"$EBPROF" record -q -a -F 999 -o short.data -- \
			bash -c 'for i in {1..40}; do "$0" "$PWD/short.py"; done' "$python" 2>err || fail "$(cat err)"
		read -r loops named < <(count short.data '
			/^python/ && '"$in_loop"' {
				add("loops")
				if ($0 !~ /unnamed:|_PyEval_EvalFrameDefault(;_PyEval_EvalFrameDefault|$)/) add("named")
			}
			END { print c["loops"] + 0, c["named"] + 0 }')
		[[ $loops -gt 2000 ]] || fail "$python: only $loops samples in interpreters"
		percent "$python: named" "$named" "$loops" 95
	done
}

test_selected() {
	local python list
	list=$(pythons) || exit $?
	record_shape "${list%%$'\n'*}" 1
	"$EBPROF" report --stdio -G --lang python --no-native -i shape.data >report || fail "report"
	grep -qE '\| heavy$' report || fail "no heavy: $(head report)"
	! grep -qE '_PyEval|start_main|\+0x' report || fail "native frames: $(grep -E '_PyEval|\+0x' report | head -n 3)"
	run "$EBPROF" report --stdio --lang perl -i shape.data
	want_status 2 "a language that is not there"
	grep -q 'no scripts in "perl" but python$' err || fail "it says $(cat err)"
}

test_unwanted() {
	local python list option
	list=$(pythons) || exit $?
	python=${list%%$'\n'*}
	for option in '--no-vm=python' --no-python; do
		record_shape "$python" 1 $option
		count shape.data '/heavy|unnamed/ { add("x") } END { print c["x"] + 0 }' | grep -qx 0 ||
			fail "script frames in spite of $option"
	done
	run "$EBPROF" record --no-vm cobol -- true
	want_status 125 "an unknown interpreter"
	grep -q 'none of all, python' err || fail "it says: $(cat err)"
}

test_counted() {
	local python list
	list=$(pythons) || exit $?
	record_shape "${list%%$'\n'*}" 1
	"$EBPROF" info --json shape.data | grep -qE '"script_frames": \{"\[python\]": \{"frames": [1-9]' ||
		fail "info does not count: $("$EBPROF" info --json shape.data | grep script)"
	"$EBPROF" info shape.data | grep -q '^script frames  \[python\]' || fail "info does not tell"
	"$EBPROF" report -i shape.data >report || fail "report"
	grep -qE '\[python\] +\[\.\] spin$' report || fail "no [python] in: $(head -n 8 report)"
}

run_tests 2 # each samples one thread, by the CPU time that it gets
