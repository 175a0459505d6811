#!/bin/bash
# Script stacks by the probes of functions entered and left: whole, in their true order among native
# frames, and right again after exceptions, generators and jumps; what is said of their cost.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

# The file that has the probe, or the end of the test.
want_probes() { # FILE PROBE
	[[ $(uname -m) == x86_64 ]] || skip "the arguments of probes are read on x86-64 only"
	"$EBPROF" check | grep -q 'one probe at a time' && skip "this kernel has one probe at a time"
	"$EBPROF" record --list-usdt "$1" 2>/dev/null | grep -q ":$2 " || skip "$1 has no probes $2"
}

interpreter() { # NAME: its path
	local path
	path=$(PATH=/usr/bin:/bin command -v "$1") || skip "no $1 here"
	realpath "$path"
}

record_shape() { # LANGUAGE COMMAND...
	local language=$1
	shift
	run "$EBPROF" record -v -F 499 -o shape.data --usdt-stacks "$language" -- "$@"
	want_status 0 "record $*"
	mv err told
	want_whole shape.data
}

# In the loops of the program: of all samples those that have the function that everything is run by.
# But for those from before the unwind table was there.
want_stacks() { # REGEX-OF-ALL REGEX-OF-WHOLE
	local all whole wrong
	read -r all whole wrong < <(count shape.data "
		!/$1/ || /truncated|runtime_pending/ { next }
		{ add(\"all\") } /$2/ { add(\"whole\") } /(thrower|jumper).*;quiet|generate;.*;quiet/ { add(\"wrong\") }
		END { print c[\"all\"] + 0, c[\"whole\"] + 0, c[\"wrong\"] + 0 }")
	percent "whole stacks" "$whole" "$all" 95
	[[ $wrong == 0 ]] || fail "$wrong samples have functions that were left: $(grep -E 'thrower.*quiet|generate;.*quiet' stacks)"
}

want_functions() { # REGEX...: there are samples of each
	local regex
	for regex; do
		grep -qE -- "$regex" stacks || fail "no sample of $regex: $(cut -c1-300 stacks | head -n 20)"
	done
}

want_recursion() { # FUNCTION
	awk -v name=";$1" '{ if (gsub(name, "") == 41) found = 1 } END { exit !found }' stacks ||
		fail "no sample has $1 41 times"
}

want_cost() {
	grep -qE '^ *probes of functions: [1-9][0-9]* entries \+ [1-9][0-9]* returns took [0-9.]+ s, [0-9.]+% of [0-9.]+ s CPU time$' told ||
		fail "the cost is not told: $(cat told)"
	grep -qE '^ *of that [0-9.]+ s in BPF \(by ' told || fail "nor by what clock: $(cat told)"
}

test_php() {
	local php
	php=$(interpreter php) || exit $?
	want_probes "$php" php:function__entry
	USE_ZEND_DTRACE=1 record_shape php "$php" -n "$here/usdt_stacks_shape.php" 1
	want_stacks 'execute_ex;.*spin' ';main;.*execute_ex;run;.*execute_ex;'
	want_functions ';Work::heavy;.*execute_ex;spin' ';Work::light;.*;spin' ';catcher;.*execute_ex;quiet;.*;spin' \
		';consume;.*zend_generator_resume;.*generate;.*;spin' ';zend_call_function;.*closure.*;by_map;.*;spin'
	want_recursion recurse
	want_cost
	grep -q ' 0 returns without an entry; 0 entries too deep' told || fail "not all of it matches: $(cat told)"
	! grep -q '^ebprof: hint: .*probes' told || fail "a hint too many: $(cat told)"
	"$EBPROF" convert --callgrind -i shape.data -o lines 2>/dev/null || fail "convert --callgrind"
	grep -qE '^c?f[il]=.*usdt_stacks_shape.php$' lines || fail "the file is not known: $(grep '^f[il]=' lines | head)"
}

# What was entered while recording is known of a thread, too, that sleeps when it ends.
test_stacks_of_a_sleeper() {
	local php
	php=$(interpreter php) || exit $?
	want_probes "$php" php:function__entry
	echo '<?php function inner() { touch("said"); sleep(60); } function outer() { inner(); } outer();' >nap.php
	USE_ZEND_DTRACE=1 "$EBPROF" record -q -e offcpu -o nap.data --usdt-stacks php -- "$php" -n nap.php 2>err &
	local recorder=$!
	wait_until "it sleeps" [ -e said ]
	sleep 0.2
	kill -INT $recorder
	wait $recorder
	"$EBPROF" convert --folded nap.data 2>/dev/null >stacks || fail "convert"
	grep -qE ';main;.*execute_ex;outer;.*execute_ex;inner;.*\[wait: sleep\]' stacks || fail "$(cat stacks err)"
}

# What is too deep is missed, and that is said; the rest is what it is.
test_deep_stacks() {
	local php
	php=$(interpreter php) || exit $?
	want_probes "$php" php:function__entry
	USE_ZEND_DTRACE=1 record_shape php "$php" -n "$here/usdt_stacks_shape.php" 0.1 300
	count shape.data '{ next }'
	grep ';bottom' stacks | grep -q 'too_deep' || fail "nothing is too deep"
	grep -qE ' [1-9][0-9]* entries too deep to be kept' told || fail "which is not told: $(cat told)"
}

test_ruby() {
	local ruby library
	ruby=$(interpreter ruby) || exit $?
	library=$(ldd "$ruby" | awk '$1 ~ /^libruby/ { print $3 }')
	want_probes "${library:-$ruby}" ruby:method__entry
	record_shape ruby "$ruby" --disable-gems "$here/usdt_stacks_shape.rb" 1
	want_stacks 'rb_vm_exec;.*#spin' 'rb_vm_exec;.*Object#(run|in_thread);'
	want_functions 'Object#run;.*Work#heavy;.*Object#spin' '[lL]ight;Object#spin' 'Object#catcher;Object#quiet;Object#spin' \
		'Array#each;.*;rb_ary_each;.*;Object#by_each;Object#spin' 'Object#in_thread;.*Object#spin'
	want_recursion 'Object#recurse'
	want_cost
	record_shape ruby "$ruby" --disable-gems "$here/usdt_stacks_shape.rb" 0.2 silent
	grep -q 'hint: Ruby since 2.5 tells of methods.*TracePoint' told || fail "no word on silent probes: $(cat told)"
}

test_python() {
	local python
	python=$(interpreter python3) || exit $?
	want_probes "$python" python:function__entry
	record_shape python "$python" -SE "$here/usdt_stacks_shape.py" 1
	want_stacks ';spin' ';(run;.*|in_thread;)spin'
	want_functions ';heavy;spin' ';light;spin' ';catcher;quiet;spin' ';consume;.*;generate;spin' ';by_reduce;spin' \
		';in_thread;spin'
	want_recursion recurse
	want_cost
}

# One that runs already: its semaphores are raised, and functions that it enters from now on are seen.
test_running_process() {
	local php
	php=$(interpreter php) || exit $?
	want_probes "$php" php:function__entry
	USE_ZEND_DTRACE=1 "$php" -n "$here/usdt_stacks_shape.php" 600 &
	local program=$!
	until grep -q "$php" /proc/$program/maps 2>/dev/null; do sleep 0.05; done
	record_for_cpu_ms 1500 $program -F 499 -o shape.data --usdt-stacks php
	kill $program
	want_status 0 "record -p"
	mv err told
	count shape.data '{ next }'
	want_functions 'execute_ex;Work::heavy;.*execute_ex;spin'
	want_cost
}

# Processes that never come to a probe have the frames that they would have without the option.
test_silent_process() {
	local php
	php=$(interpreter php) || exit $?
	want_probes "$php" php:function__entry
	run "$EBPROF" record --usdt-stacks php -o shape.data -- "$php" -n "$here/usdt_stacks_shape.php" 0.1
	want_status 125 "record without the variable"
	grep -q 'only in processes with USE_ZEND_DTRACE=1 in their environment; it is not in this one' err ||
		fail "the message does not name the variable: $(cat err)"
	record_shape php sh -c "exec $php -n '$here/usdt_stacks_shape.php' 0.5"
	grep -q 'hint: PHP.s probes tell of functions only in processes with USE_ZEND_DTRACE' told ||
		fail "nor afterwards: $(cat told)"
	count shape.data '{ next }'
	want_functions 'execute_ex;.*Work::heavy;.*spin'
}

# Most of the functions that tests/e2e/script_probes.c entered were heard of, and stacks are whole.
want_script() { # PART: of so many functions at least one was heard
	local entered heard
	entered=$(sed -n 's/ entered,.*//p' out)
	heard=$(sed -nE 's/^ *probes of functions: ([0-9]+) entries .*/\1/p' told)
	[[ $((heard * $1)) -ge $entered && $heard -le $entered ]] || fail "$heard of $entered functions were heard of: $(cat told)"
	count shape.data '{ next }'
	want_functions ';heavy;spin' ';light;spin' ';catcher;quiet;spin'
	! grep -qE 'thrower;quiet|heavy;heavy|spin;spin;[^;]*start' stacks || fail "too many functions: $(grep -E 'thrower;quiet|heavy;heavy|spin;spin' stacks)"
}

# What no process mapped when the recording began, and the recorder could not know; at a place that
# we see, and at one where we have nothing.
test_late_files() {
	want_probes "$WORKLOADS/script_probes" python:function__entry
	cp "$WORKLOADS/script_probes" late
	mkdir hidden
	local -a record=("$EBPROF" record -v -F 499 -o shape.data --usdt-stacks "python:$WORKLOADS/script_probes" --)
	run "${record[@]}" sh -c 'exec ./late 1500'
	want_status 0 "record of a late file"
	mv err told
	want_script 8
	unshare -m mount -t tmpfs tmpfs hidden 2>/dev/null || return 0 # not allowed here
	run "${record[@]}" unshare -m sh -c 'mount -t tmpfs tmpfs hidden && mv late hidden/ && exec hidden/late 1500'
	want_status 0 "record of a late file in another mount namespace"
	mv err told
	want_script 8
	[[ ! -e late ]] || fail "it was not in another mount namespace"
}

# The system is asked for a language that no process runs yet.
test_nobody_yet() {
	want_probes "$WORKLOADS/script_probes" python:function__entry
	PATH=/nowhere run "$EBPROF" record -a -o shape.data --usdt-stacks ruby --duration 0.1
	want_status 0 "record -a"
}

# A file that two processes see by way of different overlay file systems is probed twice, and heard once.
test_shared_layers() {
	want_probes "$WORKLOADS/script_probes" python:function__entry
	mkdir lower empty merged
	cp "$WORKLOADS/script_probes" lower/
	local mount='mount -t overlay overlay -o "lowerdir=$PWD/lower:$PWD/empty" merged'
	unshare -m sh -c "$mount" 2>/dev/null || skip "no overlay file system can be mounted here"
	local -a programs=()
	for _ in 1 2; do
		unshare -m sh -c "$mount && exec merged/script_probes 600000" >/dev/null &
		programs+=($!)
	done
	for program in "${programs[@]}"; do
		until grep -q script_probes "/proc/$program/maps" 2>/dev/null; do sleep 0.05; done
	done
	record_for_cpu_ms 700 "${programs[0]},${programs[1]}" -v -F 499 -o shape.data --usdt-stacks python
	kill "${programs[@]}"
	want_status 0 "record -p"
	mv err told
	count shape.data '{ next }'
	want_functions ';heavy;spin' ';light;spin'
	! grep -qE 'heavy;heavy|spin;spin;[^;]*start' stacks || fail "functions are there twice: $(grep -E 'spin;spin' stacks)"
	grep -q ' 0 entries too deep' told || fail "$(cat told)"
}

# The recording begins and ends amid a program that enters functions all the time: none is heard to be
# entered at a time when no probe reports that it is left.
test_begins_and_ends_amid_calls() {
	want_probes "$WORKLOADS/script_probes" python:function__entry
	"$WORKLOADS/script_probes" 600000 10 >/dev/null &
	local program=$!
	wait_until "the program runs" grep -q script_probes "/proc/$program/maps"
	record_for_cpu_ms 500 $program -v -F 499 -o shape.data --usdt-stacks python
	kill $program
	want_status 0 "record -p"
	mv err told
	grep -q ' 0 entries too deep' told || fail "$(cat told)"
	count shape.data '{ next }'
	want_functions ';heavy;spin' ';light;spin'
	# The script's functions stand in front of the program's own.
	! grep -qE '(heavy|light);(.*;)?(heavy|light);.*_start' stacks ||
		fail "functions that were left: $(grep -E '(heavy|light);(.*;)?(heavy|light);.*_start' stacks | head -n 3)"
}

test_refusals() {
	run "$EBPROF" record --usdt-stacks php:/bin/true -- true
	want_status 125 "a file without probes"
	grep -q '/bin/true has no USDT probes php:function__entry' err || fail "$(cat err)"
	run "$EBPROF" record --usdt-stacks fortran -- true
	want_status 125 "another language"
	grep -q '"fortran" has no probes that are known here: php, python, ruby' err || fail "$(cat err)"
	run "$EBPROF" record --usdt-stacks php --call-graph fp -- true
	want_status 125 "frame pointers"
	run "$EBPROF" record --usdt-stacks php --no-vm php -- true
	want_status 125 "without script frames"
	PATH=/nowhere run "$EBPROF" record --usdt-stacks ruby -- /bin/true
	want_status 125 "no such probes anywhere"
	grep -q 'no ruby with USDT probes ruby:method__entry was found' err || fail "$(cat err)"
}

run_tests
