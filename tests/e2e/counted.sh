#!/bin/bash
# Events that the kernel counts, of a program that knows how many there are: each count is exact, and
# the samples stand for it.
# Beside others: what is counted is the program's own.
. "$(dirname "$0")/prelude.bash"

record_counted() { # OPTION... -- WAY N...
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	"$EBPROF" record "${options[@]}" -- "$WORKLOADS/counted" "$@" >said 2>err || fail "record: $(tail -n 2 err)"
	want_whole ebprof.data
	want_exact ebprof.data
}

# What became of an event, in number.
tally() { # EVENT COUNTER
	"$EBPROF" info --json ebprof.data | grep -F "\"name\": \"$1\"" | sed -E "s/.*\"$2\": \{\"count\": ([0-9]+).*/\1/"
}

# What all stacks of an event weigh that have the function.
weight() { # EVENT FUNCTION
	"$EBPROF" convert --folded --event "$1" -o - ebprof.data 2>/dev/null |
		awk -v name="$2" 'index($0, ";" name ";") || index($0, ";" name " ") { sum += $NF } END { printf "%.0f\n", sum }'
}

want_between() { # WHAT VALUE LEAST MOST
	(($2 >= $3 && $2 <= $4)) || fail "$1: $2, not from $3 to $4"
}

test_each_fault_is_a_sample() {
	record_counted -e page-faults -c 1 -- faults 3000
	[[ $(tally page-faults events) == "$(tally page-faults samples)" ]] || fail "of $(tally page-faults events) faults $(tally page-faults samples) are samples"
	[[ $(weight page-faults touch_pages) == 3000 ]] || fail "$(weight page-faults touch_pages) faults of 3000"
	# the program's own count began with the process, before its exec
	want_between "faults in all" "$(tally page-faults events)" 3030 "$(awk '/faults/ { print $2 }' said)"
	"$EBPROF" report --stdio ebprof.data >report || fail "report"
	grep -q 'touch_pages' report || fail "the report has no touch_pages: $(cat report)"
	"$EBPROF" info ebprof.data | grep -q '^page-faults ' || fail "info does not count them"
}

test_periods() {
	record_counted -e page-faults -c 100 -- faults 20000
	want_between "faults in all" "$(tally page-faults events)" 20030 20200
	want_between "their weight" "$(weight page-faults touch_pages)" 19900 20100
	want_between samples "$(tally page-faults samples)" 199 202
	record_counted -e 'page-faults/period=500,name=touched/u' -- faults 20000
	want_between "faults of its own code" "$(tally touched events)" 20000 20200
	want_between samples "$(tally touched samples)" 39 41
}

# Seldom ones are all samples; of many, about as many a second as of the timer.
test_frequency() {
	record_counted -e page-faults -- faults 200000
	want_between "faults in all" "$(tally page-faults events)" 200030 200200
	want_between samples "$(tally page-faults samples)" 20 40000
	want_between "their weight" "$(weight page-faults touch_pages)" 190000 210000
}

test_children() {
	record_counted -e page-faults -c 1 -- children 20
	[[ $(weight page-faults touch_pages) == 2000 ]] || fail "$(weight page-faults touch_pages) faults of 2000"
	record_counted -i -e page-faults -c 1 -- children 20
	[[ $(weight page-faults touch_pages) == 0 ]] || fail "children were counted"
}

test_several_events() {
	record_counted -e cs,page-faults -e cpu-migrations -c 1 -- faults 500 switches 300 migrations 40
	want_between "faults" "$(weight page-faults touch_pages)" 500 500
	want_between "switches" "$(weight cs do_switches)" 295 330
	[[ $(nproc) -lt 2 ]] || want_between migrations "$(tally cpu-migrations events)" 40 80
	local event
	for event in cs page-faults cpu-migrations; do
		"$EBPROF" info ebprof.data | grep -q "^$event .* = " || fail "info does not account for $event"
	done
}

test_beside_the_timer() {
	record_counted -e cpu-clock -e page-faults -c 1000000 -- faults 100000
	want_between "faults in all" "$(tally page-faults events)" 100030 100200
	(($(field ebprof.data ticks) > 0)) || fail "no ticks"
}

test_of_the_system() {
	run "$EBPROF" record -m 64M -a -e page-faults -c 1 -- "$WORKLOADS/counted" faults 2000
	want_status 0 record
	want_exact ebprof.data
	# some of the first stacks may be cut: unwind tables are made while it runs
	want_between "faults of the program" \
		"$("$EBPROF" convert --folded -o - ebprof.data | awk '/^counted;/ { sum += $NF } END { print sum + 0 }')" 2000 2200
}

test_running_process() {
	"$WORKLOADS/counted" switches 20000 >said &
	run "$EBPROF" record -e cs -c 1 --duration 0.5 -p $!
	want_status 0 record
	want_exact ebprof.data
	want_between switches "$(weight cs do_switches)" 100 5000
}

test_writes_to_an_address() {
	"$EBPROF" record --dry-run -e mem:0x10000000/4:w -- true 2>err || skip "no breakpoints: $(tail -n 1 err)"
	record_counted -e mem:0x10000000/4:w -c 1 -- writes 700
	want_between writes "$(weight mem:0x10000000/4:w do_writes)" 700 700
}

# A copy of its own: a probe is hit by whatever runs the same file.
test_calls_and_returns() {
	"$EBPROF" check | grep -q 'one probe at a time' && skip "this kernel has one probe at a time"
	cp "$WORKLOADS/counted" . || fail "cannot copy the workload"
	run "$EBPROF" record -m 64M -e uprobe:./counted:touch_pages,uretprobe:./counted:touch_pages -e uprobe:./counted:do_calls \
		-- ./counted children 30 calls 10
	want_status 0 record
	"$EBPROF" info ebprof.data | grep -q '^hits  *61 = 61 samples + 0 filtered + 0 lost$' || fail "info: $("$EBPROF" info ebprof.data)"
	[[ $(weight uprobe:counted:touch_pages touch_pages) == 30 ]] || fail "$(weight uprobe:counted:touch_pages touch_pages) calls of 30"
	# when it returns the stack is its caller's; do_faults() has jumped there
	[[ $(weight uretprobe:counted:touch_pages do_children) == 30 ]] || fail "$(weight uretprobe:counted:touch_pages do_children) returns of 30"
	[[ $(weight uprobe:counted:do_calls main) == 1 ]] || fail "$(weight uprobe:counted:do_calls main) calls of one"
	want_refusal 'did you mean touch_pages' -e uprobe:./counted:touch_page
	want_refusal 'cannot open' -e uprobe:./nowhere:main
	want_refusal 'cannot open libnowhere' -e uprobe:libnowhere:main
	run "$EBPROF" record -e uprobe:libc:getenv -- bash -c true
	want_status 0 "a library by its name"
	grep -q 'uprobe:libc\.so\.[0-9]*:getenv' err || fail "$(cat err)"
}

line_of() { # TEXT
	grep -nF "$1" "$(dirname "$0")/counted.c" | head -n 1 | cut -d: -f1
}

test_lines_of_sources() {
	local call field
	call=$(line_of 'syscall(SYS_getppid);')
	field=$(line_of 'const char *name;')
	cp "$WORKLOADS/counted" . || fail "cannot copy the workload"
	run "$EBPROF" record -m 64M -e "uprobe:./counted:e2e/counted.c:$call" -- ./counted calls 25
	want_status 0 record
	[[ $(weight "uprobe:counted:e2e/counted.c:$call" do_calls) == 25 ]] ||
		fail "$(weight "uprobe:counted:e2e/counted.c:$call" do_calls) of 25, line $call"
	want_refusal "no code of counted.c:$field: the nearest lines that have some are [0-9]* and [0-9]*" \
		-e "uprobe:./counted:counted.c:$field"
	want_refusal 'did you mean counted.c' -e "uprobe:./counted:counte.c:$call"
	want_refusal 'no code of a source file "unted.c"' -e "uprobe:./counted:unted.c:$call"
	want_refusal 'is not PATH:FILE:LINE' -e "uprobe:./counted:$call"
	want_refusal 'a line does not return' -e "duration:./counted:counted.c:$call"
	strip -o stripped counted && want_refusal 'build it with -g' -e "uprobe:./stripped:counted.c:$call"
}

# What the kernel counts is always counted, in a group or not.
test_groups() {
	record_counted -e '{page-faults,minor-faults},cs' -c 1 -- faults 500
	[[ $(weight page-faults touch_pages) == 500 && $(weight minor-faults touch_pages) == 500 ]] ||
		fail "of 500 faults $(weight page-faults touch_pages) and $(weight minor-faults touch_pages)"
}

# What became of an event, summed up.
tally_sum() { # EVENT COUNTER
	"$EBPROF" info --json ebprof.data | grep -F "\"name\": \"$1\"" | sed -E "s/.*\"$2\": \{\"count\": [0-9]+, \"sum\": ([0-9]+).*/\1/"
}

# What the samples of an event weigh, or those of a program.
weight_of() { # EVENT [COMM]
	"$EBPROF" convert --folded --event "$1" -o - ebprof.data 2>/dev/null |
		awk -v comm="${2-}" 'index($0, comm) == 1 { sum += $NF } END { printf "%.0f\n", sum }'
}

# The samples of a group weigh all that was counted, but for what is below.
want_group_exact() { # EVENT...
	local event
	for event; do
		[[ $(weight_of "$event") == $(($(tally_sum "$event" events) - $(tally_sum "$event" below))) ]] ||
			fail "$event: samples of $(weight_of "$event"), exactly $(tally_sum "$event" events) less $(tally_sum "$event" below) below"
	done
}

# Of the program itself, whatever else runs on the CPUs: what it counts, from its exec on.
test_groups_that_are_read_together() {
	record_counted -e '{cpu-clock,page-faults,cs,cpu-migrations}:S' -- faults 100000 switches 300 migrations 40 children 20
	want_between "faults in all" "$(tally_sum page-faults events)" 102030 "$(($(awk '/faults/ { print $2 }' said) + 4000))"
	want_between "switches" "$(tally_sum cs events)" 300 1500
	[[ $(nproc) -lt 2 ]] || want_between migrations "$(tally_sum cpu-migrations events)" 40 200
	want_between "faults of the function that makes them, and before their samples" \
		"$(weight page-faults touch_pages)" 80000 "$(tally_sum page-faults events)"
	want_group_exact page-faults cs cpu-migrations
	"$EBPROF" info ebprof.data | grep -qE '^ +[0-9]+ faults exactly, [0-9]+ faults by the samples$' || fail "info has no sum: $("$EBPROF" info ebprof.data)"
	"$EBPROF" report --stdio ebprof.data >report || fail "report"
	grep -q '^# .* cpu-clock 999 Hz, ' report || fail "the group's first is not shown first: $(head -n 3 report)"
	grep -q 'also recorded: page-faults [0-9]* faults, cs [0-9]* switches' report || fail "the report does not name the others: $(head -n 3 report)"
}

# By events of its own, of which each is one sample: the others since the one before.
test_a_group_of_periods() {
	record_counted -e '{page-faults/period=100/,minor-faults}:S,cs' -c 1 -- faults 20000 switches 30
	want_between "faults in all" "$(tally_sum minor-faults events)" 20030 20200
	want_between "of each sample a hundred, but for where strangers fault between" \
		"$(weight minor-faults touch_pages)" 19500 20100
	want_group_exact minor-faults
	[[ $(weight cs do_switches) -ge 30 ]] || fail "$(weight cs do_switches) switches beside the group"
}

test_a_group_of_the_system() {
	run "$EBPROF" record -m 64M -a -e '{cpu-clock,page-faults,cs}:S' -- "$WORKLOADS/counted" faults 100000 switches 300
	want_status 0 record
	want_exact ebprof.data
	want_group_exact page-faults cs
	want_between "faults of the program and all others" "$(tally_sum page-faults events)" 100030 100000000
	want_between "switches" "$(tally_sum cs events)" 300 100000000
	want_between "what is below" "$(tally_sum page-faults below)" 0 "$(($(tally_sum page-faults events) / 10))"
}

# Of two CPUs neither is due; their times are not added up.
test_a_clock_is_skipped_where_a_cpu_is_due() {
	run "$EBPROF" record -a -e '{cpu-clock/period=1500000000/,page-faults}:S' --duration 1
	want_status 0 record
	want_between skipped "$("$EBPROF" info --json ebprof.data | grep -F '"name": "cpu-clock' |
		sed -nE 's/.*"skipped": \{"count": ([0-9]+).*/\1/p')" 0 0
}

test_a_group_of_a_running_process() {
	"$WORKLOADS/counted" switches 20000 >said &
	run "$EBPROF" record -e '{cpu-clock,cs}:S' -c 100000 --duration 0.5 -p $!
	kill $!
	want_status 0 record
	want_exact ebprof.data
	want_group_exact cs
	want_between switches "$(tally_sum cs events)" 100 5000
}

# It runs when the recording ends: what it has counted since its last sample, which is most here, is
# counted, beside what the kernel counts of it.
test_a_group_counts_what_runs_at_the_end() {
	local all grouped
	"$WORKLOADS/counted" faults 1000000000 &
	wait_until "the program" has_cpu_ms $! 100
	run "$EBPROF" record -e minor-faults -e '{cpu-clock/period=300000000/,page-faults}:S' --duration 0.8 -p $!
	kill $!
	want_status 0 record
	want_exact ebprof.data
	all=$(tally_sum minor-faults events) grouped=$(tally_sum page-faults events)
	want_between "faults of the group" "$grouped" $((all - all / 50 - 200)) $((all + all / 50 + 200))
}

# Nothing is left out in silence.
want_refusal() { # WORDS OPTION...
	local words=$1
	shift
	run "$EBPROF" record "$@" -- true
	want_status 125 "$*"
	grep -q -- "$words" err || fail "$*: $(cat err)"
}

test_refusals() {
	want_refusal 'did you mean page-faults' -e page-fault
	want_refusal 'events in {a,b}:S are those that' -e '{cpu-clock,sched:sched_switch}:S'
	want_refusal 'only the first event of {a,b}:S is sampled' -e '{cs,page-faults/period=7/}:S'
	want_refusal 'S goes behind the group' -e '{cs:S,page-faults}'
	want_refusal 'leave the braces out' -e '{instructions,page-faults}'
	want_refusal 'there is no PMU' -e nowhere/event=1/
	want_refusal 'more than kernel.perf_event_max_sample_rate' -e page-faults/freq=1000000/
	[[ ! -d /sys/bus/event_source/devices/msr ]] || want_refusal 'cannot sample: ebprof stat' -e msr/tsc/
	want_refusal 'multiple of the length' -e mem:0x10000001/4:w
	want_refusal 'always precise' -e page-faults:pp
	want_refusal 'modifier x is not known' -e page-faults:x
	want_refusal 'exclude each other' -e page-faults/period=1,freq=2/
	want_refusal 'more than 8' -e cs,cs:u,cs:k,faults,faults:u,faults:k,migrations,minor-faults,major-faults
	"$EBPROF" check | grep -q 'hardware cycles.*do not count' || return 0
	want_refusal "the processor's counters are not to be had" -e instructions
}

run_tests
