#!/bin/bash
# What takes the recorder long to learn holds up neither samples nor the end.
# Mostly waits: and what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# Files with 63 MB of call frame information each: their tables take seconds of CPU time.
begin_flood() {
	"$WORKLOADS/workload" 1000 &
	"$WORKLOADS/eh_frame_flood" 1000 &
	flood=$!
	XDG_CACHE_HOME=$PWD/cache "$EBPROF" record -a -F 199 -o x.data 2>err &
	recorder=$!
	wait_ready err
	wait_until "the flood" has_cpu_ms $flood 1500
}

# A zombie: its CPU time can still be read.
is_ended() { [[ $(sed 's/.*) //' "/proc/$1/stat") == Z* ]]; } # PID

test_the_end_does_not_wait_for_tables() {
	local before
	begin_flood
	before=$(cpu_ms_of $recorder)
	kill -INT $recorder
	wait_until "the recorder's end" is_gone $recorder
	want_whole x.data
	want_exact x.data
	"$EBPROF" info --json x.data | grep -q '"table_pending": [1-9]' ||
		fail "nothing was cut for want of a table: the test tests nothing ($before ms)"
	# Cut is what the flood ran, not what ran beside it.
	[[ $("$EBPROF" convert --folded -i x.data -o - | grep -c '^workload;.*main') -gt 0 ]] ||
		fail "no whole stacks of other programs"
}

# The newest sample that kill -9 left is hardly older than a second, though samples wait.
test_kill_9_while_tables_are_made() {
	local end newest
	begin_flood
	end=$(awk '{ print $1 }' /proc/uptime)
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	want_readable x.data
	newest=$("$EBPROF" convert --perf-script -i x.data -o - | awk '/^[^ \t]/ {
		for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9]+:$/ && $i + 0 > newest) newest = $i + 0 }
		END { print newest }')
	awk -v newest="$newest" -v end="$end" 'BEGIN { exit !(end - newest < 3) }' ||
		fail "killed at $end s, the newest sample is of $newest s"
}

# Six processes share a jitdump of 67 MB: it is read once, and the recording is no longer than that.
test_the_end_does_not_wait_for_a_shared_jitdump() {
	local before spent began ended
	"$WORKLOADS/jit_share" 1000 &
	local target=$!
	wait_until "the processes" eval "((\$(pgrep -c -P $target) == 5))"
	"$EBPROF" record -a -F 999 -o x.data 2>err &
	recorder=$!
	wait_ready err
	began=$(now_ms)
	wait_until "the target" has_cpu_ms $target 500
	sleep 2
	before=$(cpu_ms_of $recorder)
	kill -INT $recorder
	ended=$(now_ms)
	is_soon is_ended $recorder
	spent=$(($(cpu_ms_of $recorder) - before))
	wait $recorder
	pkill -KILL -P $target
	reap $target KILL
	want_whole x.data
	"$EBPROF" report -i x.data 2>/dev/null | grep -q 'JIT.*shared' || fail "no names"
	((spent < 2500)) || fail "the end took $spent ms of CPU time"
	awk -v s="$(field x.data duration_s)" -v most=$((ended - began + 1500)) 'BEGIN { exit !(s * 1000 < most) }' ||
		fail "$(field x.data duration_s) s, sampled for $((ended - began)) ms"
}

has_maps() { (($(wc -l <"/proc/$1/maps") > $2)); } # PID COUNT

# More mappings than the recorder holds: libc, which lies behind them, is unwound all the same.
test_more_mappings_than_are_held() {
	local before target pending
	before=$(cat /proc/sys/vm/max_map_count)
	sysctl -qw vm.max_map_count=400000 2>/dev/null || skip "cannot raise vm.max_map_count"
	"$WORKLOADS/many_mappings" 1000 200000 &
	target=$!
	is_soon has_maps $target 200000
	sysctl -qw vm.max_map_count="$before"
	record_for_cpu_ms 2000 $target -F 499 -o x.data
	kill -9 $target
	pending=$("$EBPROF" info --json x.data | grep -oE '"(table_pending|no_mapping)": [0-9]+' |
		awk '{ sum += $2 } END { print sum + 0 }')
	((pending * 5 < $(field x.data samples))) ||
		fail "$pending of $(field x.data samples) samples are cut"
}

run_tests
