#!/bin/bash
# ebprof top in terminals that tmux plays: it goes on while it is looked at.
# Mostly waits: for the screen to be renewed.
. "$(dirname "$0")/prelude.bash"
. "$(dirname "$0")/terminal.bash"

samples_shown() { screen | grep -m 1 -oE '[0-9]+ samples?' | grep -oE '[0-9]+'; }
has_more_samples_than() { (($(samples_shown) > $1)); } # N

begin_top() { # WIDTH HEIGHT ARGUMENT...
	begin xterm-256color "$1" "$2" XDG_CACHE_HOME="$PWD"
	type_line "$EBPROF top ${*:3}"
	wait_for "LIVE, the last" "top"
}

want_nothing_left() {
	is_soon lacks 'LIVE|PAUSED|ENDED' || fail "the screen is still there: $(screen)"
	local left
	left=$(compgen -G "/dev/shm/ebprof-top.$(in_tmux display-message -p '#{pane_pid}').*")
	[[ -z $left ]] || fail "left: $left"
}

test_goes_on_pauses_and_saves() {
	"$WORKLOADS/workload" 120 >/dev/null &
	begin_top 80 24 -p $! -d 300ms
	local pid=$! before
	wait_for '^ +[0-9.]+% .* heavy$'
	before=$(samples_shown)
	is_soon has_more_samples_than "$before" || fail "it stands still: $(screen)"
	keys j
	want_selected medium "a row further"
	before=$(samples_shown)
	is_soon has_more_samples_than "$((before + 200))" || fail "it stands still: $(screen)"
	want_selected medium "after it was renewed"
	keys Space
	wait_for PAUSED
	before=$(samples_shown)
	sleep 1
	[[ $(samples_shown) == "$before" ]] || fail "paused, and $before became $(samples_shown)"
	keys O
	wait_for '^save to: ebprof.data'
	keys Enter
	wait_for 'written: ebprof.data'
	want_whole ebprof.data
	[[ $(field ebprof.data samples) == "$before" ]] || fail "saved: $(field ebprof.data samples) samples, seen: $before"
	keys Space
	is_soon has_more_samples_than "$before" || fail "it does not go on: $(screen)"
	kill $pid
	wait_for ENDED
	keys q
	want_nothing_left
}

has_ended() { ! kill -0 "$1" 2>/dev/null; } # PID

test_command_tree_and_filter() {
	begin_top 120 36 -d 300ms -F 499 -- "$WORKLOADS/workload" 120
	local before
	keys 3
	wait_for 'call_heavy'
	keys -l ':stacks matching'
	wait_for '^: *stacks matching|^:stacks matching' "what was typed"
	wait_for 'only stacks matching what is typed' "the command"
	keys Enter
	keys -l call_medium
	keys Enter
	wait_for '/call_medium/'
	wait_gone 'call_heavy'
	before=$(samples_shown)
	is_soon has_more_samples_than "$before" || fail "it stands still: $(screen)"
	lacks call_heavy || fail "the filter is gone: $(screen)"
	local command_pid
	command_pid=$(pgrep -nfx "$WORKLOADS/workload 120") || fail "the command does not run"
	keys q
	want_nothing_left
	is_soon has_ended "$command_pid" || fail "the command still runs"
}

# Starts a program that only a mount namespace of its own has, at a path where another one is here.
contained() {
	command -v gcc >/dev/null || skip "no gcc here"
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	mkdir -p image/opt
	cat >spin.c <<'END_OF_C'
__attribute__((noinline)) unsigned NAME(long rounds)
{
	unsigned sum = 0;
	for (long i = 0; i < rounds; i++)
		sum = sum * 2654435761u ^ sum >> 7 ^ (unsigned)i;
	return sum;
}
int main(int argc, char **argv) { return NAME(argc * 100000000000) == 1 && argv; }
END_OF_C
	gcc -O2 -static -DNAME=only_inside -o program spin.c || skip "gcc links nothing statically"
	gcc -O2 -static -DNAME=only_outside -o image/opt/program spin.c || fail "gcc"
	cat >contain.sh <<'END_OF_SCRIPT'
mount -t tmpfs tmpfs image && mkdir image/opt image/proc && cp program image/opt && rm program || exit
exec chroot image /opt/program
END_OF_SCRIPT
	unshare -m bash contain.sh &
	contained_pid=$!
	wait_until "the program" is_contained $contained_pid
}

is_contained() { [[ $(readlink "/proc/$1/exe") == */opt/program && ! -e program ]]; } # PID

test_names_of_what_only_a_container_sees() {
	contained
	begin_top 100 24 -p $contained_pid -d 300ms --symbol-cache none
	wait_for '^ +[0-9.]+% .* only_inside$'
	lacks only_outside || fail "another file's name: $(screen)"
	keys O
	wait_for '^save to: ebprof.data'
	keys Enter
	wait_for 'written: ebprof.data'
	keys q
	want_nothing_left
	kill $contained_pid
	wait $contained_pid 2>/dev/null
	"$EBPROF" report --symbol-cache none -g ebprof.data >report 2>&1
	awk '$1 + 0 > 60 && / only_inside/ { found = 1 } END { exit !found }' report || fail "what is saved has no names: $(cat report)"
}

test_refusals() {
	run "$EBPROF" top
	want_status 2 "no terminal"
	begin xterm-256color 80 24
	type_line "$EBPROF top -p 999999; echo status \$?"
	wait_for 'there is no process 999999' "an error"
	wait_for 'status 1'
}

test_few_colours() {
	"$WORKLOADS/workload" 60 >/dev/null &
	begin_top 60 12 -p $! -d 300ms
	keys q
	want_nothing_left
	type_line "NO_COLOR=1 TERM=vt100 $EBPROF top -p $! -d 300ms; echo status \$?"
	wait_for "LIVE, the last" "top without colours"
	keys q
	wait_for 'status 0' "the shell"
}

run_tests
