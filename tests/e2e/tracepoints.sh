#!/bin/bash
# Tracepoints of the kernel, of a program that knows how often it comes upon them; filters on their
# fields; ebprof list, which shows them.
# Beside others: what is counted is the program's own.
. "$(dirname "$0")/prelude.bash"

record_traced() { # OPTION... -- WAY N...
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	"$EBPROF" record -m 64M "${options[@]}" -- "$WORKLOADS/counted" "$@" >said 2>err || fail "record: $(tail -n 2 err)"
	want_whole ebprof.data
	want_exact ebprof.data
}

tally() { # NAME COUNTER
	"$EBPROF" info --json ebprof.data | grep -F "\"name\": \"$1\"" | sed -E "s/.*\"$2\": \{\"count\": ([0-9]+).*/\1/"
}

weight() { # EVENT FUNCTION
	"$EBPROF" convert --folded --event "$1" -o - ebprof.data 2>/dev/null |
		awk -v name="$2" 'index($0, ";" name ";") || index($0, ";" name " ") { sum += $NF } END { printf "%.0f\n", sum }'
}

want_calls() { # COUNT: of the program's own calls of getppid(), by raw_syscalls
	[[ $(weight raw_syscalls:sys_enter do_calls) == "$1" ]] || fail "$(weight raw_syscalls:sys_enter do_calls) calls, not $1"
}

test_each_hit_is_a_sample() {
	record_traced -e syscalls:sys_enter_getppid -- calls 700
	[[ $(weight syscalls:sys_enter_getppid do_calls) == 700 ]] || fail "$(weight syscalls:sys_enter_getppid do_calls) of 700"
	[[ $(tally syscalls:sys_enter_getppid lost_busy) == 0 ]] || fail "some were lost"
	"$EBPROF" info ebprof.data | grep -q '^syscalls:sys_enter_getppid .* = 700 samples' || fail "info: $("$EBPROF" info ebprof.data)"
}

test_patterns_and_periods() {
	record_traced -e 'syscalls:sys_*_getppid' -- calls 500
	[[ $(weight syscalls:sys_enter_getppid do_calls) == 500 ]] || fail "$(weight syscalls:sys_enter_getppid do_calls) enter"
	[[ $(weight syscalls:sys_exit_getppid do_calls) == 500 ]] || fail "$(weight syscalls:sys_exit_getppid do_calls) return"
	record_traced -c 10 -e syscalls:sys_enter_getppid -e syscalls:sys_exit_getppid -- calls 2000
	local event weight
	for event in syscalls:sys_enter_getppid syscalls:sys_exit_getppid; do
		weight=$(weight $event do_calls)
		((weight >= 1970 && weight <= 2000)) || fail "$event: $weight of 2000"
		(($(tally $event below) >= 1700)) || fail "$event: $(tally $event below) below"
	done
}

test_filters() {
	[[ $(uname -m) == x86_64 ]] || skip "knows the number of getppid on x86-64 only"
	local filter
	for filter in 'id == 110' 'id >= 110 && id <= 110' '!(id != 110)' 'id == 5000 || (id == 110 && common_pid > 0)' \
		'id > 109 && (id < 111 || id == 500) && !(id == 7)' 'id & 64 && id == 0x6e'; do
		record_traced -e raw_syscalls:sys_enter --filter "$filter" -- calls 300
		want_calls 300
		[[ $(tally raw_syscalls:sys_enter samples) == 300 ]] || fail "$filter: $(tally raw_syscalls:sys_enter samples) samples"
		(($(tally raw_syscalls:sys_enter filtered) > 10)) || fail "$filter: $(tally raw_syscalls:sys_enter filtered) filtered"
	done
	record_traced -e raw_syscalls:sys_enter --filter 'id == -110' -- calls 300
	[[ $(tally raw_syscalls:sys_enter samples) == 0 ]] || fail "of none $(tally raw_syscalls:sys_enter samples)"
}

test_filters_on_texts() {
	record_traced -e sched:sched_switch --filter 'prev_comm == "counted" && prev_state != 0' -- switches 200
	(($(weight sched:sched_switch do_switches) >= 198)) || fail "$(weight sched:sched_switch do_switches) switches of 200"
	record_traced -e sched:sched_switch --filter 'prev_comm != "counted"' -- switches 200
	[[ $(tally sched:sched_switch samples) == 0 ]] || fail "other names: $(tally sched:sched_switch samples)"
}

# As the kernel's own filters have them.
test_filters_by_patterns() {
	local pattern
	for pattern in 'count*' '*ted' 'c*n*e?' '[a-c]ou[!x]ted'; do
		record_traced -e sched:sched_switch --filter "prev_comm ~ \"$pattern\" && prev_state != 0" -- switches 100
		(($(weight sched:sched_switch do_switches) >= 98)) || fail "$pattern: $(weight sched:sched_switch do_switches) switches of 100"
	done
	for pattern in 'count' '?ount' 'c*n' '[!c]*' ; do
		record_traced -e sched:sched_switch --filter "prev_comm ~ \"$pattern\"" -- switches 100
		[[ $(tally sched:sched_switch samples) == 0 ]] || fail "$pattern: $(tally sched:sched_switch samples) of none"
	done
}

test_of_the_system() {
	run "$EBPROF" record -m 64M -a -e syscalls:sys_enter_getppid -- "$WORKLOADS/counted" calls 300
	want_status 0 record
	want_exact ebprof.data
	(($(tally syscalls:sys_enter_getppid samples) >= 300)) || fail "$(tally syscalls:sys_enter_getppid samples) of 300"
}

# Without tracefs, and with nothing left behind.
test_not_mounted() {
	unshare -m true 2>/dev/null || skip "no mount namespaces"
	unshare -m bash -c 'umount -l /sys/kernel/debug /sys/kernel/tracing 2>/dev/null
		[[ ! -e /sys/kernel/tracing/events ]] || exit 77
		"$EBPROF" record -m 64M -e syscalls:sys_enter_getppid -- "$WORKLOADS/counted" calls 50 >said 2>err || exit 1
		! grep -q tracefs /proc/self/mounts || exit 2'
	status=$?
	[[ $status != 77 ]] || skip "tracefs cannot be unmounted"
	[[ $status == 0 ]] || fail "status $status: $(cat err)"
	[[ $(weight syscalls:sys_enter_getppid do_calls) == 50 ]] || fail "$(weight syscalls:sys_enter_getppid do_calls) of 50"
}

want_refusal() { # WORDS OPTION...
	local words=$1
	shift
	run "$EBPROF" record "$@" -- true
	want_status 125 "$*"
	grep -q -- "$words" err || fail "$*: $(cat err)"
}

test_refusals() {
	want_refusal 'did you mean sched:sched_switch' -e sched:sched_swich
	want_refusal 'no tracepoint "nothing:\*"' -e 'nothing:*'
	want_refusal 'did you mean prev_comm' -e sched:sched_switch --filter 'prev_com == "x"'
	want_refusal 'no number' -e sched:sched_switch --filter 'prev_pid == x'
	want_refusal 'no )' -e sched:sched_switch --filter '(prev_pid == 1'
	want_refusal '~ cannot compare' -e sched:sched_switch --filter 'prev_pid ~ "1*"'
	want_refusal 'goes with the tracepoint' -e cpu-clock --filter 'prev_pid == 1'
}

test_list() {
	"$EBPROF" list >all || fail "list"
	grep -q '^  page-faults, faults  .*memory' all || fail "no page faults: $(cat all)"
	grep -q '^tracepoints: [1-9]' all || fail "no tracepoints: $(tail -n 1 all)"
	"$EBPROF" list 'sched:sched_sw*' | grep -q '^  sched:sched_switch$' || fail "no sched_switch"
	"$EBPROF" list --json faults >faults.json || fail "list --json"
	python3 -c 'import json; names = {it["name"]: it for it in json.load(open("faults.json"))}
assert names["page-faults"]["is_here"] and names["major-faults"]["unit"] == "faults", names' || fail "list --json: $(cat faults.json)"
	run "$EBPROF" list nothing-like-that
	want_status 2 "no event"
}

run_tests
