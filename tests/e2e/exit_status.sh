#!/bin/bash
# What ebprof record ends with: the command's own status, or one that says what failed.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

test_command_succeeds() {
	run "$EBPROF" record -- true
	want_status 0 true
	want_whole ebprof.data
}

test_command_fails() {
	run "$EBPROF" record -- sh -c 'exit 3'
	want_status 3 'exit 3'
	want_whole ebprof.data
}

test_command_dies_of_signal() {
	run "$EBPROF" record -- sh -c 'kill -TERM $$'
	want_status 143 'kill -TERM'
	# Raised again, not only turned into a number: the shell's own shell sees a signal.
	if command -v python3 >/dev/null; then
		run python3 -c 'import subprocess, sys
print(subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode)' \
			"$EBPROF" record -- sh -c 'kill -TERM $$'
		[[ $(cat out) == -15 ]] || fail "waitpid says $(cat out), not killed by 15"
	fi
}

test_command_not_found() {
	run "$EBPROF" record -- ./no-such-program
	want_status 127 './no-such-program'
	grep -q 'no-such-program' err || fail "the name is not in: $(cat err)"
}

test_command_not_executable() {
	echo text >file
	run "$EBPROF" record -- ./file
	want_status 126 './file'
}

test_command_output_is_untouched() {
	run "$EBPROF" record -- sh -c 'echo to-out; echo to-err >&2; cat' </dev/null
	[[ $(cat out) == to-out ]] || fail "standard output: $(cat out)"
	grep -q '^to-err$' err || fail "standard error: $(cat err)"
}

test_usage() {
	run "$EBPROF" record
	want_status 125 'no target'
	run "$EBPROF" record --frobnicate -- true
	want_status 125 'unknown option'
	[[ ! -e ebprof.data ]] || fail "a file was written"
}

test_no_such_pid() {
	# Above the highest pid there can be.
	run "$EBPROF" record -p 4194999
	want_status 125 '-p of no process'
	grep -q 4194999 err || fail "the pid is not in: $(cat err)"
}

test_own_failure() {
	run "$EBPROF" record -o no/such/folder/file -- touch ran
	want_status 125 'output cannot be created'
	[[ ! -e ran ]] || fail "the command ran unprofiled"
}

stop_by() { # SIGNAL STATUS TARGET...
	local signal=$1 wanted=$2
	shift 2
	"$EBPROF" record -o "$signal.data" "$@" 2>"$signal.err" &
	local pid=$!
	wait_ready "$signal.err"
	sleep 0.3
	reap $pid "$signal"
	[[ $status == "$wanted" ]] || fail "SIG$signal with $1: status $status, not $wanted"
	want_whole "$signal.data"
	want_exact "$signal.data"
}

test_nohup() {
	nohup "$EBPROF" record -a -o nohup.data 2>nohup.err </dev/null >/dev/null &
	local pid=$!
	wait_ready nohup.err
	kill -HUP $pid
	sleep 0.5
	kill -0 $pid || fail "SIGHUP ended it under nohup"
	reap $pid TERM
	[[ $status == 143 ]] || fail "status $status"
	want_whole nohup.data
}

test_signals_end_pid() {
	sleep 1000 &
	local target=$!
	stop_by INT 0 -p $target
	stop_by TERM 143 -p $target
	stop_by HUP 129 -p $target
	stop_by QUIT 131 -p $target
	stop_by USR1 138 -p $target
	stop_by ALRM 142 -p $target
	kill -0 $target || fail "the target was killed"
}

test_signals_end_system() {
	stop_by INT 0 -a
	stop_by TERM 143 -a
}

test_target_exits() {
	sleep 1000 &
	local target=$! pid
	"$EBPROF" record -p $target -o t.data 2>err &
	pid=$!
	wait_ready err
	kill $target
	is_soon is_gone $pid || fail "it goes on without its target"
	wait $pid
	status=$?
	want_status 0 'the target exited'
	[[ $(field t.data ended) == "target exited" ]] || fail "ended: $(field t.data ended)"
}

# A terminal's ^C reaches recorder and command alike, ^C twice as well.
test_ctrl_c_with_command() {
	set -m
	"$EBPROF" record -- "$WORKLOADS/workload" 1000 2>err &
	local pid=$!
	wait_ready err
	sleep 0.5
	kill -INT -- -$pid
	kill -INT -- -$pid 2>/dev/null
	is_soon is_gone $pid || { kill -KILL -- -$pid; fail "still runs after ^C"; }
	wait $pid
	status=$?
	want_status 130 '^C'
	want_whole ebprof.data
}

# TERM to the recorder alone: the recording ends, the command is left alone.
test_term_leaves_command() {
	"$EBPROF" record -- "$WORKLOADS/workload" 1000 2>err &
	local pid=$! child
	wait_ready err
	child=$(pgrep -P $pid workload)
	reap $pid TERM
	want_status 143 'TERM'
	want_whole ebprof.data
	kill -0 "$child" 2>/dev/null || fail "the command was killed"
	kill "$child"
}

run_tests
