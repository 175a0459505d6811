#!/bin/bash
# Names of other people's making never reach a terminal as they are.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

evil=$'evil\033]0;PWN\007\033[31m\xc2\x9bq\x9b'

test_path_with_escapes() {
	cp "$WORKLOADS/workload" "$evil"
	run "$EBPROF" record -v -o "$evil.data" -- "./$evil" 0.5
	want_status 0 'odd path'
	want_no_control_bytes err
	run "$EBPROF" info --mappings "$evil.data"
	want_status 0 info
	want_no_control_bytes out err
	grep -q 'evil\\x1b' out || fail "the path is not among the objects"
	if has_command report; then
		run "$EBPROF" report --stdio -i "$evil.data"
		want_no_control_bytes out err
	fi
}

test_path_with_newline() {
	cp "$WORKLOADS/workload" $'two\nfile           forged'
	run "$EBPROF" record -- $'./two\nfile           forged' 0.5
	run "$EBPROF" info --mappings ebprof.data
	! grep -q '^file  *forged' out || fail "a newline in a path makes a line of its own"
}

# Our own messages quote names in one line.
test_newline_in_messages() {
	run "$EBPROF" info $'no\nebprof: such file'
	[[ $(wc -l <err) == 1 ]] || fail "a newline in a name makes a line of its own: $(cat -A err)"
	run "$EBPROF" record -- $'./no\nebprof: such file'
	[[ $(wc -l <err) == 1 ]] || fail "a newline in a command makes a line of its own: $(cat -A err)"
}

test_comm_with_escapes() {
	# exec -a sets argv[0] only; the comm comes from the file's name, here with the escapes first.
	cp "$WORKLOADS/workload" $'\033[31mred'
	run "$EBPROF" record -- $'./\033[31mred' 0.5
	want_no_control_bytes err
	local command
	for command in info report; do
		has_command $command || continue
		run "$EBPROF" $command -i ebprof.data
		want_no_control_bytes out err
	done
}

run_tests
