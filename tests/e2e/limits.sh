#!/bin/bash
# What bounds a recording: --duration, -D, --max-size, --switch-output.
# Mostly waits: and what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

test_duration() {
	local began
	began=$(now_ms)
	run "$EBPROF" record -a --duration 1.5
	local took=$(($(now_ms) - began))
	want_status 0 --duration
	awk -v s="$(field ebprof.data duration_s)" -v ms=$took 'BEGIN { exit !(s >= 1.4 && s <= ms / 1000) }' ||
		fail "recorded $(field ebprof.data duration_s) s, in all $took ms"
	[[ $(field ebprof.data ended) == "duration reached" ]] || fail "ended: $(field ebprof.data ended)"
}

# The recorder cannot run when the time is over, as on a machine that has too much to do.
test_duration_is_kept_by_a_late_recorder() {
	"$WORKLOADS/workload" 1000 &
	local pid
	"$EBPROF" record -a --duration 2 2>err &
	pid=$!
	wait_ready err
	sleep 0.5
	kill -STOP $pid
	sleep 3
	kill -CONT $pid
	wait $pid || fail "status $?: $(cat err)"
	want_whole ebprof.data
	want_exact ebprof.data
	awk -v s="$(field ebprof.data duration_s)" 'BEGIN { exit !(s > 1.9 && s <= 2.001) }' ||
		fail "recorded $(field ebprof.data duration_s) s"
	grep -q ' 2\.0 s, ' err || fail "the summary: $(cat err)"
}

# A tick every 10 us would leave nothing for the program.
test_highest_rate() {
	run "$EBPROF" record -F max -- "$WORKLOADS/workload" 0.3
	want_status 0 '-F max'
	local hz
	hz=$(sed -nE 's/^ebprof: -F max: ([0-9]+) Hz, which takes up to 25% .*/\1/p' err)
	# Where that is cheap enough, it is what the kernel allows.
	[[ -n $hz ]] || hz=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
	grep -q "^ebprof: $hz Hz, " err || fail "recorded at another rate than $hz Hz: $(cat err)"
	want_exact ebprof.data
}

test_rate_that_costs_much() {
	run "$EBPROF" record -F 100000 -- "$WORKLOADS/workload" 0.01
	want_status 0 '-F 100000'
	grep -qE '^ebprof: warning: 100000 ticks a second may take ([0-9]+%|all) of the CPU time .*; -F [0-9]+ takes up to 25%' err ||
		fail "no warning: $(cat err)"
	grep -q '^ebprof: 100000 Hz, ' err || fail "it is another rate: $(cat err)"
	run "$EBPROF" record -e cpu-clock -c 10000 -- "$WORKLOADS/workload" 0.01
	grep -q 'warning: 100000 ticks' err || fail "-c: no warning: $(cat err)"
	run "$EBPROF" record -F 999 -- true
	! grep -q 'warning' err || fail "a warning at 999 Hz: $(cat err)"
}

# The command outlives the recording; its status still counts.
test_duration_of_command() {
	local began
	began=$(now_ms)
	run "$EBPROF" record --duration 0.5 -- sh -c '"$WORKLOADS/workload" 2; exit 5'
	local took=$(($(now_ms) - began))
	want_status 5 '--duration with a command'
	awk -v s="$(field ebprof.data duration_s)" -v ms=$took 'BEGIN { exit !(s > 0.3 && s < ms / 1000 - 0.5) }' ||
		fail "recorded $(field ebprof.data duration_s) s of $took ms"
}

test_delay() {
	run "$EBPROF" record -D 2000 -- sh -c '"$WORKLOADS/workload" 0.1; sleep 2.2'
	want_status 0 -D
	want_exact ebprof.data
	[[ $(field ebprof.data samples) -lt 50 ]] || fail "$(field ebprof.data samples) samples from before -D"
	run "$EBPROF" record -D 100 -- sh -c 'sleep 2; "$WORKLOADS/workload" 1'
	want_exact ebprof.data
	want_rate ebprof.data 999
}

test_max_size() {
	"$WORKLOADS/workload" 1000 2 &
	local bytes
	run timeout 300 "$EBPROF" record -a -F 5000 --max-size 64K --duration 18
	bytes=$(stat -c %s ebprof.data)
	want_status 0 --max-size
	((bytes <= 64 * 1024)) || fail "$bytes bytes, more than 64K"
	want_whole ebprof.data
	want_exact ebprof.data
}

has_files() { # MINIMUM
	local files=(sw.data*)
	((${#files[@]} >= $1))
}

want_files() { # MINIMUM
	local file count=0
	for file in sw.data*; do
		[[ $file == *.old ]] && continue
		count=$((count + 1))
		want_whole "$file"
		want_exact "$file"
		[[ $(stat -c %a "$file") == 600 ]] || fail "$file has mode $(stat -c %a "$file")"
	done
	((count >= $1)) || fail "$count files, not $1: $(ls)"
}

test_switch_by_time() {
	run "$EBPROF" record --switch-output=1s -o sw.data -- "$WORKLOADS/workload" 3.5
	want_status 0 --switch-output=1s
	want_files 3
}

test_switch_by_size() {
	"$WORKLOADS/workload" 1000 2 &
	run timeout 300 "$EBPROF" record --switch-output=100K -F 10000 -o sw.data -a --duration 8
	want_status 0 --switch-output=100K
	want_files 2
	local files=(sw.data*)
	((${#files[@]} <= 60)) || fail "${#files[@]} files of 100K in 8 s"
}

test_limits_without_use() {
	run "$EBPROF" record --switch-output=4K -o sw.data -- true
	want_status 125 '--switch-output=4K'
	run "$EBPROF" record --max-size=4K -o sw.data -- true
	want_status 125 '--max-size=4K'
	[[ ! -e sw.data ]] || fail "a file was made all the same"
}

test_switch_by_signal() {
	record_until_enough --switch-output -o sw.data 2>err &
	local pid=$!
	wait_ready err
	sleep 0.3
	kill -USR2 $pid
	wait_until "a second file" has_files 2
	sleep 0.3
	kill -USR2 $pid
	wait_until "a third file" has_files 3
	touch enough
	wait $pid || fail "status $?"
	want_files 3
}

# The file is moved away by another process: nothing to set aside, recording goes on.
test_switch_after_file_was_taken() {
	record_until_enough --switch-output -o sw.data 2>err &
	local pid=$!
	wait_ready err
	wait_until "a file" test -s sw.data
	mv sw.data taken
	kill -USR2 $pid
	wait_until "another file" test -s sw.data
	touch enough
	wait $pid || fail "status $?: $(tail -n 3 err)"
	want_whole taken
	want_exact taken
	want_files 1
}

# No file can follow: that ends the recording, and not by a crash. All of it is in the first one.
test_switch_that_fails() {
	mkdir folder
	record_until_enough --switch-output -o folder/sw.data 2>err &
	local pid=$!
	wait_ready err
	wait_until "a file" test -s folder/sw.data
	mv folder moved
	kill -USR2 $pid
	wait_until "a word of its end" grep -q 'stopped early' err
	touch enough
	run wait $pid
	want_status 125 'its folder is gone'
	local file
	file=$(echo moved/sw.data*) # set aside in the folder, wherever that is by now, or not yet
	want_readable "$file"
	want_exact "$file"
	[[ $(field "$file" ended) == 'write error' ]] || fail "ended: $(field "$file" ended)"
	[[ $(field "$file" lost) == 0 ]] || fail "lost $(field "$file" lost) samples"
}

test_switch_keeps_some() {
	run "$EBPROF" record --switch-output=500ms --switch-max-files 2 -o sw.data -- "$WORKLOADS/workload" 3
	want_status 0 --switch-max-files
	want_files 2
	local files=(sw.data*)
	((${#files[@]} <= 2)) || fail "${#files[@]} files are left: ${files[*]}"
}

# SIGUSR2 without --switch-output does not end the recorder.
test_usr2_is_harmless() {
	"$EBPROF" record -- "$WORKLOADS/workload" 2 2>err &
	local pid=$!
	wait_ready err
	kill -USR2 $pid
	wait $pid || fail "status $?"
	want_whole ebprof.data
}

run_tests
