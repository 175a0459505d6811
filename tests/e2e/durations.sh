#!/bin/bash
# What takes time between two places: calls of functions, system calls. A program that clocks its own
# says how many there were and how long they took.
# Beside others: numbers are exact, and times are compared with the program's own clock.
. "$(dirname "$0")/prelude.bash"

# A copy of its own: a probe is hit by whatever runs the same file.
record_durations() { # OPTION... -- WAY N...
	local options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	cp "$WORKLOADS/durations" . || fail "cannot copy the workload"
	"$EBPROF" record -m 16M "${options[@]}" -- ./durations "$@" >said 2>err || fail "record: $(tail -n 2 err)"
	want_whole ebprof.data
	want_exact ebprof.data
}

tally() { # SOURCE COUNTER count|sum
	"$EBPROF" info --json ebprof.data | grep -F "\"name\": \"$1\"" |
		sed -E "s/.*\"$2\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+)\}.*/\1 \2/" |
		awk -v which="$3" '{ print which == "count" ? $1 : $2 }'
}

weight() { # EVENT FUNCTION
	"$EBPROF" convert --folded --event "$1" -o - ebprof.data 2>/dev/null |
		awk -v name="$2" 'index($0, ";" name ";") || index($0, ";" name " ") { sum += $NF } END { printf "%.0f\n", sum }'
}

clocked() { # WAY
	awk -v way="$1" '$1 == way { print $3 }' said
}

# At least what the program clocked, and what a trap or two a call add.
want_time() { # WHAT NS CLOCKED CALLS
	awk -v got="$2" -v want="$3" -v calls="$4" 'BEGIN { exit !(got >= want * 0.98 && got <= want * 1.02 + calls * 200e3) }' ||
		fail "$1: $2 ns, clocked $3 in $4 calls"
}

needs_cookies() {
	"$EBPROF" check | grep -q 'one probe at a time' && skip "this kernel has one probe at a time"
	return 0
}

test_calls_take_what_the_program_clocked() {
	needs_cookies
	record_durations -e duration:./durations:nap,duration:./durations:blink -- naps 20 blinks 300
	local nap=duration:durations:nap blink=duration:durations:blink
	[[ $(tally $nap events count) == 20 && $(tally $blink events count) == 300 ]] ||
		fail "$(tally $nap events count) naps, $(tally $blink events count) blinks"
	want_time nap "$(tally $nap events sum)" "$(clocked naps)" 20
	want_time blink "$(tally $blink events sum)" "$(clocked blinks)" 300
	# what samples stand for, within a period for each CPU
	awk -v got="$(weight $blink blink)" -v want="$(tally $blink events sum)" -v cpus="$(nproc)" \
		'BEGIN { off = got - want; exit !((off < 0 ? -off : off) <= 10e6 * cpus) }' ||
		fail "samples stand for $(weight $blink blink) ns of $(tally $blink events sum)"
	[[ $(weight $nap naps) -gt 0 ]] || fail "nap's caller is not in its stack"
	"$EBPROF" report --stdio --event "$blink" ebprof.data >out 2>err
	grep -qE '^# exactly 300 calls, [0-9.]+ ms: [0-9.]+ [um]s each' out || fail "report: $(head -n 3 out)"
	"$EBPROF" info ebprof.data | grep -q "^$blink  *300 = .* below" || fail "info: $("$EBPROF" info ebprof.data)"
}

# Each by itself when all are samples.
test_periods() {
	record_durations -e duration:./durations:blink --wait-period 1us -- blinks 100
	[[ $(tally duration:durations:blink samples count) == 100 ]] || fail "$(tally duration:durations:blink samples count) samples"
	[[ $(weight duration:durations:blink blink) == "$(tally duration:durations:blink events sum)" ]] ||
		fail "samples stand for $(weight duration:durations:blink blink) of $(tally duration:durations:blink events sum)"
}

test_recursion_and_threads() {
	needs_cookies
	record_durations -e duration:./durations:descend,duration:./durations:nap -- deep 30 threads 8
	[[ $(tally duration:durations:descend events count) == 30 ]] || fail "$(tally duration:durations:descend events count) of 30"
	want_time descend "$(tally duration:durations:descend events sum)" "$(clocked deep)" 30
	[[ $(tally duration:durations:nap events count) == 80 ]] || fail "$(tally duration:durations:nap events count) of 80"
	want_time nap "$(tally duration:durations:nap events sum)" "$(clocked threads)" 80
}

# A call that does not return is none, and no other one's beginning.
test_calls_that_are_left() {
	record_durations -e duration:./durations:leap -- leaps 50
	[[ $(tally duration:durations:leap events count) == 1 ]] || fail "$(tally duration:durations:leap events count) calls returned"
	[[ $(tally duration:durations:leap filtered count) == 0 ]] || fail "a return without its call"
	want_time leap "$(tally duration:durations:leap events sum)" "$(clocked leaps)" 1
}

# Percent of what an event's samples stand for whose stack does not match.
other_percent() { # EVENT PATTERN
	"$EBPROF" convert --folded --event "$1" -o stacks ebprof.data 2>/dev/null
	grep -vE "$2" stacks | awk -v all="$(awk '{ all += $NF } END { printf "%.0f", all }' stacks)" \
		'{ other += $NF } END { printf "%.0f\n", all ? 100 * other / all : 100 }'
}

# Probes lead the program into a page of the kernel's: over copies of instructions, and where
# functions return to. In stacks it is where it would be without them. Between the writing of a
# return address and the noting of the old one, it cannot be had.
stacks_under_probes() { # OPTION...
	needs_cookies
	record_durations -F 999 -e cpu-clock,offcpu --wait-period 1ms "$@" \
		-e duration:./durations:descend,duration:./durations:leap,duration:./durations:nap \
		-e duration:./durations:spin,duration:./durations:spins -- spins 30000 deep 30 leaps 20 naps 20
	(($(weight cpu-clock spin) > 20)) || fail "$(weight cpu-clock spin) samples of spin()"
	local cut
	cut=$(other_percent cpu-clock ';main;|;(ld-linux|_dl_|_start)')
	((cut <= 3)) || fail "$cut percent of the samples without their callers"
	! grep -F '[JIT]' stacks || fail "code of the kernel's page is shown"
	cut=$(other_percent offcpu ';main;(leaps;leap|naps;nap|deep(;descend){30});sleep_ns')
	((cut <= 3)) || fail "$cut percent of the waits without their callers: $(cat stacks)"
}

test_stacks_under_probes() { stacks_under_probes; }
test_stacks_under_probes_are_copied() { stacks_under_probes --call-graph dwarf; }

test_calls_of_a_running_process() {
	cp "$WORKLOADS/durations" .
	./durations naps 400 >said &
	run "$EBPROF" record -e duration:./durations:nap --duration 0.5 -p $!
	want_status 0 record
	kill $!
	want_exact ebprof.data
	local calls
	calls=$(tally duration:durations:nap events count)
	((calls > 20 && calls <= 100)) || fail "$calls calls in half a second"
	(($(tally duration:durations:nap filtered count) <= 1)) || fail "more than one had begun before"
}

test_system_calls() {
	record_durations -e syscalls/period=1/ -- reads 1000 naps 3
	[[ $("$EBPROF" convert --folded -o - ebprof.data | grep -c 'reads;.*\[syscall: read\]') -ge 1 ]] ||
		fail "no reads: $("$EBPROF" report --stdio | head -n 12)"
	"$EBPROF" report --stdio -s sym --samples >report 2>/dev/null || "$EBPROF" report --stdio >report
	grep -qE ' 1[0-9]{3} .*\[syscall: read\]' report || fail "not 1000 reads: $(head -n 12 report)"
	[[ $(tally syscalls samples count) == "$(tally syscalls events count)" ]] || fail "not all are samples"
	awk -v got="$(weight syscalls reads)" -v want="$(clocked reads)" 'BEGIN { exit !(got > 0 && got <= want) }' ||
		fail "reads took $(weight syscalls reads) ns, the program clocked $(clocked reads)"
	want_time clock_nanosleep "$(weight syscalls nap)" "$(clocked naps)" 3
}

test_chosen_system_calls() {
	record_durations -e syscall:read,syscall:clock_nanosleep -- reads 500 naps 4
	local calls
	calls=$(tally syscalls events count)
	((calls >= 504 && calls <= 520)) || fail "$calls calls"
	# those of the loader are below in time; nothing else is there
	! "$EBPROF" convert --folded -o - ebprof.data | grep '\[syscall: ' | grep -vE '\[syscall: (read|clock_nanosleep)\]' ||
		fail "other calls were recorded"
	record_durations -e syscall:read -- reads 500
	"$EBPROF" report --stdio --event syscall:read ebprof.data >out 2>err
	grep -qE '^# .*, syscall:read, .* samples?' out || fail "one is not called by its name: $(head -n 2 out err)"
	grep -qE '^# exactly 5[0-9][0-9] system calls, ' out || fail "$(head -n 3 out)"
}

# Those of other processes are no events.
test_system_calls_of_the_target_alone() {
	"$WORKLOADS/durations" reads 100000000 >/dev/null &
	local stranger=$!
	record_durations -e syscalls -- naps 5
	kill $stranger
	(($(tally syscalls events count) < 200)) || fail "$(tally syscalls events count) calls"
}

# Two threads want the lock of one file's inode at once.
test_locks_of_the_kernel() {
	"$EBPROF" record --dry-run -e lock -- true 2>err || skip "no locks: $(tail -n 1 err)"
	"$EBPROF" record -e lock -o none.data -- true 2>err || fail "record: $(cat err)"
	grep -q "hint: nothing waited .* -e offcpu has waits for programs' own locks" err ||
		! grep -q ' 0 samples' err || fail "no hint: $(cat err)"
	# Who finds a lock taken spins while its owner runs: so owners are to be preempted.
	local i busy=()
	for ((i = 0; i < 2 * $(nproc); i++)); do
		(while :; do :; done) &
		busy+=($!)
	done
	record_durations -e lock --wait-period 1us -- writers 200
	kill "${busy[@]}"
	(($(tally lock events count) >= 5)) || fail "$(tally lock events count) waits for a lock"
	awk -v got="$(weight lock write_contended)" -v all="$(clocked writers)" 'BEGIN { exit !(got > all / 100 && got < 2 * all) }' ||
		fail "two threads waited $(weight lock write_contended) ns in $(clocked writers)"
	"$EBPROF" convert --folded -o - ebprof.data | grep write_contended | grep -qE ';(rwsem|mutex|down_|__down)[a-z_]*(\.[a-z0-9.]+)?_\[k\] [0-9]+$' ||
		fail "the leaf is no lock: $("$EBPROF" convert --folded -o - ebprof.data | head -n 3)"
	record_durations -e syscall:pwrite64,lock -- writers 3
	[[ $(weight syscall:pwrite64 write_contended) -gt 0 ]] || fail "no writes beside"
}

# Reads past the page cache, each a request; a disk of bios alone (zram, overlays in memory) has none.
#
# A request ends in an interrupt of the thread that runs just then, and machines
# are met whose kernel runs no BPF program in the threads of the agent that manages them (seen with
# ftrace beside: 0 of 21 ends in the agent's threads ran ours, all others did). No recorder sees
# those: so one recording of a few has all.
test_requests_to_disks() {
	local requests sum try counts=
	dd if=/dev/zero of=blocks bs=4k count=60 conv=fsync 2>/dev/null || fail "cannot write a file"
	dd if=blocks of=/dev/null bs=4k iflag=direct 2>/dev/null || skip "no reads past the page cache here"
	for try in 1 2 3 4 5 6 7 8; do
		run "$EBPROF" record -e blk-io/period=1/ -- dd if=blocks of=/dev/null bs=4k iflag=direct
		want_status 0 "record $try"
		want_exact ebprof.data
		requests=$(tally blk-io events count) sum=$(tally blk-io events sum)
		((requests)) || skip "this disk has no requests"
		((requests < 60)) || break
		counts+=" $requests"
	done
	((requests >= 60 && requests <= 90)) || fail "$requests requests of 60 reads, before it $counts"
	[[ $(tally blk-io samples count) == "$requests" && $(tally blk-io samples sum) == "$sum" ]] ||
		fail "not all are samples: $("$EBPROF" info ebprof.data | grep ^blk-io)"
	[[ $(weight blk-io read) == "$sum" ]] || fail "read() has $(weight blk-io read) ns of $sum"
	"$EBPROF" report --stdio -s label:disk,label:io >report 2>/dev/null || fail report
	grep -qE '100\.00% .* [a-z]+[0-9a-z]* +read$' report || fail "which disk: $(cat report)"
	want_refusal 'have no modifiers' -e blk-io:u
	want_refusal 'did you mean blk-io' -e blk_io
}

# What hits of a tracepoint weigh is a field of theirs.
test_values_of_tracepoints() {
	record_durations -e syscalls:sys_exit_read/value=ret/ -- reads 1000
	[[ $(weight syscalls:sys_exit_read reads) == 1000 ]] || fail "read $(weight syscalls:sys_exit_read reads) bytes of 1000"
	record_durations -e syscalls:sys_exit_read/value=ret,period=100/ -- reads 5000
	local read
	read=$(weight syscalls:sys_exit_read reads)
	((read >= 5000 - 100 * $(nproc) && read <= 5000 + 100 * $(nproc))) || fail "estimated $read of 5000"
	(($(tally syscalls:sys_exit_read/value=ret,period=100/ samples count) < 100)) || fail "all are samples"
	record_durations -e sched:sched_stat_runtime/value=runtime/ -- naps 2
	"$EBPROF" convert --pprof -o runtime.pb.gz 2>/dev/null && gzip -dc runtime.pb.gz | grep -qa nanoseconds || fail "runtime has no ns"
	want_refusal 'did you mean runtime' -e sched:sched_stat_runtime/value=runtme/
	want_refusal 'no number "comm"' -e sched:sched_stat_runtime/value=comm/
	want_refusal 'not a freq=' -e sched:sched_stat_runtime/freq=99/
}

want_refusal() { # WORDS OPTION...
	local words=$1
	shift
	run "$EBPROF" record "$@" -- true
	want_status 125 "$*"
	grep -q -- "$words" err || fail "$*: $(cat err)"
}

test_refusals() {
	cp "$WORKLOADS/durations" .
	want_refusal 'did you mean blink' -e duration:./durations:blnk
	want_refusal 'duration:PATH:FUNCTION' -e duration:durations
	want_refusal 'did you mean read?' -e syscall:reed
	want_refusal 'no modifiers' -e syscall:read/period=1/u
	want_refusal 'more than 6 functions' -e "$(printf 'duration:./durations:nap,%.0s' 1 2 3 4 5 6)duration:./durations:blink"
	if command -v go >/dev/null; then
		want_refusal 'Go' -e "duration:$(command -v go):main.main"
		want_refusal 'Go' -e "uretprobe:$(command -v go):main.main"
	fi
}

run_tests
