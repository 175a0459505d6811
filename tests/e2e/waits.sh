#!/bin/bash
# Waits of threads: a program that clocks its own says how long each of its functions waited, and that
# is what the recording has to say of them.
. "$(dirname "$0")/prelude.bash"
. "$(dirname "$0")/terminal.bash"

record_waits() { # EVENT... -- WAY N...: what the program says of itself is in the file said
	local events=()
	while [[ $1 != -- ]]; do
		events+=(-e "$1")
		shift
	done
	shift
	"$EBPROF" record "${events[@]}" --wait-period "${period:-10ms}" -- "$WORKLOADS/waits" "$@" >said 2>err || fail "record: $(tail -n 2 err)"
}

# ns that the report has of an event and all stacks with the function.
recorded_ns() { # EVENT FUNCTION
	"$EBPROF" convert --folded --event "$1" -o - ebprof.data 2>/dev/null |
		awk -v name="$2" 'index($0, ";" name ";") || index($0, ";" name "_[i];") { sum += $NF } END { printf "%.0f\n", sum }'
}

# What the program clocked of a way, within so many percent and what a handful of ms may be off.
want_clocked() { # WAY RECORDED_NS PERCENT
	local clocked
	clocked=$(awk -v way="$1" '$1 == way { print $3 }' said)
	awk -v got="$2" -v want="$clocked" -v percent="$3" \
		'BEGIN { off = got - want; exit !((off < 0 ? -off : off) <= want * percent / 100 + 4e6) }' ||
		fail "$1: recorded $2 ns, clocked $clocked"
}

# count or sum of what became of waits
tally() { # COUNTER count|sum
	"$EBPROF" info --json ebprof.data | grep '"name": "wait"' |
		sed -E "s/.*\"$1\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+)\}.*/\1 \2/" |
		awk -v which="$2" '{ print which == "count" ? $1 : $2 }'
}

# events = samples + below + filtered + lost, in number and in ns, and what was lost is none.
want_balance() {
	local which all sum counter
	for which in count sum; do
		all=$(tally events $which) sum=0
		for counter in samples idle filtered below lost_ring lost_busy lost_unresolved lost_write; do
			sum=$((sum + $(tally $counter $which)))
		done
		[[ $all == "$sum" && $all -gt 0 ]] || fail "$which: $all waits, $sum accounted for"
	done
	[[ $(tally lost_busy count) == 0 && $(tally lost_unresolved count) == 0 ]] || fail "waits were lost"
}

# Waits of more than the period are all there, each with its length; of shorter ones the estimate may
# be off by a period for each CPU.
test_long_waits_are_what_the_program_clocked() {
	local period=500us
	record_waits offcpu runq -- long_sleeps 8 pipe_reads 10 futex_waits 10
	want_balance
	local way
	for way in long_sleeps pipe_reads futex_waits; do
		want_clocked $way $(($(recorded_ns offcpu $way) + $(recorded_ns runq $way))) 3
	done
	"$EBPROF" report --stdio ebprof.data >report || fail "report fails"
	! grep -qE '__schedule|bpf_prog|  \[k\] schedule$' report || fail "leaves are the scheduler's: $(sed -n 4,8p report)"
	local reason
	for reason in futex pipe sleep; do
		grep -q "\[wait: $reason\]" report || fail "nothing waits for $reason: $(sed -n 4,8p report)"
	done
	! grep -q 'wait: other' report || fail "waits without a reason: $(sed -n 4,12p report)"
}

# 0.3 ms each: of their time one of 10 ms is a sample.
test_short_waits_are_estimated() {
	record_waits offcpu -- short_sleeps 3000
	want_balance
	(($(tally samples count) < $(tally events count) / 10)) || fail "all of them are samples"
	local exact estimate
	exact=$(tally events sum) estimate=$(recorded_ns offcpu short_sleeps)
	awk -v exact="$exact" -v got="$estimate" 'BEGIN { exit !(got > 0.95 * exact - 2e7 && got < 1.05 * exact + 2e7) }' ||
		fail "estimated $estimate ns of $exact"
}

test_run_queue() {
	record_waits runq -- queueing 4
	want_balance
	want_clocked queueing "$(recorded_ns runq spin)" 8
}

test_wall_is_all_of_a_threads_life() {
	record_waits wall cpu-clock -- long_sleeps 5 queueing 3
	local lived ticks
	ticks=$(recorded_ns cpu-clock spin)
	lived=$((ticks * 1001001 + $(recorded_ns offcpu spin) + $(recorded_ns runq spin)))
	awk -v got="$lived" 'BEGIN { exit !(got > 0.85 * 9e8 && got < 1.15 * 9e8) }' ||
		fail "three threads lived 0.3 s each, recorded were $lived ns"
}

# Of each thread, to the ns; and the kernel's own accounts say the same, within what a switch takes.
test_life_is_running_and_waiting() {
	record_waits offcpu runq -- long_sleeps 5 queueing 3
	"$EBPROF" info --json ebprof.data >json
	jq -e '.thread_times.threads | length == 4 and all(.running_ns + .queued_ns + .blocked_ns == .life_ns)' json >/dev/null ||
		fail "lives: $(jq -c .thread_times json)"
	jq -e 'def near(a; b): (a - b | fabs) <= 0.02 * .life_ns + 3e6;
		.thread_times.threads | all(near(.running_ns; .kernel_running_ns) and near(.queued_ns; .kernel_queued_ns))' json >/dev/null ||
		fail "the kernel has others: $(jq -c .thread_times json)"
	"$EBPROF" info ebprof.data | grep -q "^threads' time  .* running + .* in run queues + .* blocked" ||
		fail "info: $("$EBPROF" info ebprof.data)"
}

# What there is of a wait when a file ends is in that file, and the rest in the next.
test_waits_are_divided_by_files() {
	run "$EBPROF" record -e offcpu --switch-output=1s -o part -- sleep 2.5
	want_status 0 record
	local files=(part*) file slept=0 lived=0
	((${#files[@]} >= 2)) || fail "files: ${files[*]}"
	for file in "${files[@]}"; do
		cp "$file" ebprof.data
		(($(tally events count))) || continue # it ended with the sleep
		want_balance
		(($(tally samples sum) > 0)) || fail "$file has no wait"
		slept=$((slept + $(tally events sum)))
		lived=$((lived + $("$EBPROF" info --json ebprof.data | jq .thread_times.blocked_ns)))
	done
	((slept > 2450000000 && slept < 2800000000)) || fail "slept 2.5 s, recorded are $slept ns"
	((lived - slept < 20000000 && slept - lived < 20000000)) || fail "threads were blocked $lived ns, their waits are $slept"
}

# Those of other processes are no waits of the target's.
test_only_the_targets() {
	"$WORKLOADS/waits" long_sleeps 200 >other &
	local stranger=$!
	record_waits offcpu -- long_sleeps 5
	kill $stranger
	want_balance
	(($(tally samples count) <= 12)) || fail "$(tally samples count) samples of 5 sleeps"
}

test_attached_to_a_sleeper() {
	"$WORKLOADS/waits" long_sleeps 1000 >other &
	local sleeper=$!
	sleep 0.2
	run "$EBPROF" record -e offcpu --duration 1 -p $sleeper
	kill $sleeper
	want_status 0 record
	want_balance
	awk -v sum="$(tally samples sum)" 'BEGIN { exit !(sum > 0.85e9 && sum < 1.1e9) }' ||
		fail "of a second of sleeping $(tally samples sum) ns"
}

# Threads that sleep all the time: a sample each, as long as the recording, with a whole stack.
test_sleepers_of_the_whole_recording() {
	"$WORKLOADS/waits" sleepers 2000 >asleep &
	local pid=$! stacks
	wait_until "threads that sleep" grep -q asleep asleep
	run "$EBPROF" record -e offcpu --duration 0.5 -p $pid
	want_status 0 record
	want_balance
	kill $pid
	[[ $(tally samples count) == 2001 ]] || fail "$(tally samples count) samples of 2001 threads"
	stacks=$("$EBPROF" convert --folded -o - ebprof.data | awk '/;start_thread;sleep_for_ever;.*pause/ { sum += $NF } END { printf "%.0f\n", sum }')
	awk -v ns="$stacks" 'BEGIN { exit !(ns > 2000 * 0.45e9 && ns < 2000 * 0.7e9) }' ||
		fail "2000 threads slept $stacks ns in half a second"
}

# Of the time of such stacks, how much has such a waker: an interrupt amid another sample hides one.
want_waker() { # STACK WAKER
	# Not by -v, of which gawk takes the backslashes.
	STACK=$1 WAKER=$2 awk '$0 ~ ENVIRON["STACK"] { all += $NF; if ($0 ~ ENVIRON["WAKER"]) right += $NF }
		END { exit !(all && right >= 0.9 * all) }' stacks ||
		fail "wakers of $1: $(grep -E "$1" stacks | grep -vE "$2" | head -n 2)"
}

# Who ended each wait is known: the thread that writes into the pipe, or unlocks; or an interrupt.
test_wakers() {
	run "$EBPROF" record -e offcpu --wakers --wait-period 5ms -- "$WORKLOADS/waits" long_sleeps 5 pipe_reads 10 futex_waits 10
	want_status 0 record
	want_balance
	"$EBPROF" convert --folded --event offcpu --wakers -o stacks 2>/dev/null || fail "convert --wakers"
	# each sample of a pipe has its writer, each of a lock who unlocked it, but for one of ten
	want_waker ';pipe_reads;.*\[wait: pipe\]' '\[woken by: waits\].*;write_now_and_then;start_thread'
	want_waker ';pthread_mutex_lock.*\[wait: futex\]' '\[woken by: waits\].*;hold_lock;start_thread'
	want_waker ';long_sleeps;' '\[wait: sleep\]_\[k\];\[woken by: interrupt\]'
	"$EBPROF" report --stdio --event offcpu -s waker,reason >report || fail "report -s waker"
	grep -qE ' interrupt +sleep$' report && grep -qE ' waits +pipe$' report || fail "columns: $(cat report)"
	"$EBPROF" report --stdio --event offcpu -s reason --hide-reason sleep,pipe >report || fail "report --hide-reason"
	! grep -qE ' (sleep|pipe)$' report && grep -q ' futex$' report || fail "not hidden: $(cat report)"
	"$EBPROF" convert --pprof --event offcpu -o p.pb.gz 2>/dev/null && gzip -dc p.pb.gz | grep -qa waker || fail "pprof has no label"
	begin xterm-256color 120 30
	type_line "$EBPROF report --event offcpu"
	wait_for 'wait: sleep' 'the waits'
	keys Z
	wait_for '[0-9.]+ ms +[0-9]+  waits:[0-9]+ +.*write_now_and_then|[0-9.]+ ms +[0-9]+  interrupt' 'who woke them'
	keys Escape q
	run "$EBPROF" record -e runq --wakers -- true
	want_status 125 "runq --wakers"
	run "$EBPROF" report --hide-reason slep
	want_status 2 "a reason that is none"
}

# One event at a time, by its unit; what adds up is one more.
test_events_of_a_recording_are_shown_one_by_one() {
	record_waits wall -- long_sleeps 10 queueing 2
	local name
	"$EBPROF" report --stdio >report 2>err || fail "report fails: $(cat err)"
	grep -q '^# [^ ]*waits, wall = cpu-clock .* + offcpu + runq, ' report || fail "head: $(sed -n 1,2p report)"
	grep -qE '^# also recorded: cpu-clock [0-9.]+ m?s, offcpu [0-9.]+ m?s, runq [0-9.]+ m?s \(--event NAME' report ||
		fail "others: $(sed -n 2p report)"
	"$EBPROF" report --stdio --event offcpu >report || fail "report --event fails"
	sed -n 1p report | grep -q ', offcpu, ' || fail "head of offcpu: $(sed -n 1p report)"
	! grep -qE '\[\.\] spin$' report || fail "offcpu has what ran"
	! "$EBPROF" report --stdio --event nothing 2>err || fail "an unknown event is taken"
	grep -q 'no event "nothing" but cpu-clock, offcpu, runq, wall' err || fail "no names: $(cat err)"
	"$EBPROF" report --waits >waits || fail "report --waits fails"
	grep -qE '^ +(4[0-9]|[5-9][0-9])\.[0-9] ms +10 .* waits:[0-9]+ +sleep +.*long_sleeps' waits ||
		fail "the ten sleeps are not the longest waits: $(head -n 14 waits)"
	"$EBPROF" convert --pprof -o all.pb.gz 2>/dev/null || fail "no pprof"
	if command -v go >/dev/null; then
		for name in cpu offcpu runq wall; do
			go tool pprof -top -sample_index="$name" all.pb.gz >"$name" 2>err || fail "pprof $name: $(cat err)"
		done
		grep -q 'wait: sleep' offcpu && grep -q 'wait: run queue' runq && grep -q ' spin$' cpu &&
			! grep -q wait: cpu && grep -q 'wait: sleep' wall && grep -q ' spin$' wall ||
			fail "pprof's sample types are mixed up: $(head -n 12 wall)"
	fi
	record_waits cpu-clock offcpu -- long_sleeps 2 queueing 1
	grep -q ' Hz, cpu-clock, offcpu, pid' err || fail "run queues are not sampled: $(head -n 1 err)"
	"$EBPROF" info | grep -q '^event *runq: no samples, it was counted' || fail "info of runq: $("$EBPROF" info | grep ^event)"
	"$EBPROF" info | grep -qE 'measured at each switch.* cpu-clock.* [0-9.]+ m?s' || fail "which CPU time is which: $("$EBPROF" info | grep -A3 ^threads)"
	"$EBPROF" report --stdio >report 2>err || fail "report fails: $(cat err)"
	! grep -q '^# .*runq' report || fail "run queues were not sampled: $(sed -n 1,2p report)"
	"$EBPROF" report --stdio --event runq >report 2>err && fail "a report of what was not sampled: $(cat report)"
	grep -q 'no samples of runq: waits for a CPU were only counted (ebprof info)' err || fail "why not: $(cat err)"
	"$EBPROF" diff ebprof.data ebprof.data | tr '\n' ' ' >compared
	grep -q 'Compared is wall, the sum of cpu-clock, offcpu: --event compares one' compared ||
		fail "diff does not say of what: $(cat compared)"
}

# Each sleep is a marker of its length, in no thread's time on a CPU.
test_firefox_has_them_as_markers() {
	record_waits offcpu -- long_sleeps 6
	"$EBPROF" convert --firefox -o waits.json 2>err || fail "no profile: $(cat err)"
	python3 - <<'END' >differs || fail "$(cat differs)"
import json
profile = json.load(open("waits.json"))
names = profile["shared"]["stringArray"]
idle = [it["name"] for it in profile["meta"]["categories"]].index("Idle")
sleeps = 0
for thread in profile["threads"]:
    markers = thread["markers"]
    for i in range(markers["length"]):
        if markers["data"][i] == {"type": "EbprofWait", "reason": "[wait: sleep]"}:
            assert names[markers["name"][i]] == "wait" and markers["category"][i] == idle
            assert 40 <= markers["endTime"][i] - markers["startTime"][i] < 200, markers
            sleeps += 1
    assert not any(thread["samples"]["threadCPUDelta"]), thread["samples"]
assert sleeps == 6, sleeps
assert idle in profile["shared"]["frameTable"]["category"]
END
}

test_the_terminal_shows_them_by_a_key() {
	record_waits wall -- long_sleeps 10 queueing 2
	begin xterm-256color 100 24
	type_line "$EBPROF report"
	wait_for 'wall \(4 of 4 events: m\)' 'the event in the title'
	wait_for 'wait: sleep' 'reasons'
	keys W
	wait_for 'longest +times +in all +thread' 'the heading of the waits'
	wait_for '[0-9.]+ ms +10 +[0-9.]+ m?s +waits:[0-9]+ +sleep +sleep_ns(:[0-9]+)? < long_sleeps' 'the longest waits'
	keys Enter
	wait_gone 'times +in all'
	wait_for 'waits:[0-9]+ [a-z ]+ in (queueing|sleep_ns) *$' 'the thread, the reason and the function that were chosen'
	keys Escape
	wait_gone 'waits:[0-9]+ '
	keys m
	wait_for 'cpu-clock \(1 of 4 events: m\)' 'the first event'
	wait_gone 'wait: sleep'
	keys m
	wait_for 'offcpu \(2 of 4 events: m\)' 'the second event'
	wait_gone ' spin '
	keys '%'
	wait_for ' (4[0-9]{2}\.[0-9] ms|0\.4[0-9] s)' 'a sum of sleeps'
	keys m m
	wait_for 'wall \(4 of 4 events: m\)' 'the sum again'
	keys q
}

# A page has a choice of them.
test_the_page_shows_them_by_a_choice() {
	local browser event
	browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "no chromium here"
	record_waits wall -- long_sleeps 10 queueing 2
	"$EBPROF" convert --html -o page.html 2>err || fail "no page: $(cat err)"
	for event in 0 1 2 3; do
		timeout 60 "$browser" --headless --no-sandbox --disable-gpu --virtual-time-budget=5000 --dump-dom \
			"file://$PWD/page.html#event=$event" >dom.$event 2>/dev/null || fail "no page of event $event"
		sed -nE 's/.*<p id="summary">([a-z-]+).*/\1/p' dom.$event
	done >shown
	grep -oE '<option value="[0-3]">[a-z-]+ \(ns\)' dom.0 | sed -E 's/.*>(.*) .*/\1/' >offered
	diff shown offered >differs || fail "what is chosen is not shown: $(cat differs)"
	[[ $(sort shown | paste -sd ' ') == "cpu-clock offcpu runq wall" && $(head -n 1 shown) == wall ]] ||
		fail "events of the page: $(cat shown)"
}

# Of a process that only waits there are samples, though none of CPU time.
test_nothing_but_waiting() {
	sleep 60 &
	run "$EBPROF" record -e wall -p $! --duration 500ms -o idle.data
	want_status 0 record
	grep -q '^ebprof: hint: no samples of CPU time: it only waited$' err || fail "$(cat err)"
	kill $!
}

run_tests
