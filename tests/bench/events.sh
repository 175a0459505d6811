#!/bin/bash
# Waits of threads: are their sums right, what does a switch of tasks cost, what is lost, and how long
# do many sleepers take at the end; what a page fault costs, and whether their number is right. A line
# a figure, and what is aimed at beside it; nothing is asserted.
set -u
ebprof=${EBPROF:?path of the ebprof binary} build=${BUILD:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
stats_were=$(sysctl -n kernel.bpf_stats_enabled)
trap 'sysctl -q kernel.bpf_stats_enabled=$stats_were; kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
if [ "$(id -u)" != 0 ]; then echo "needs root"; exit 1; fi

line() { printf '%-58s %12s %-24s %s\n' "$1" "$2" "$3" "$4"; }
tally() { # FILE COUNTER count|sum
	"$ebprof" info --json "$1" | grep '"name": "wait"' |
		sed -E "s/.*\"$2\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+)\}.*/\1 \2/" |
		awk -v which="$3" '{ print which == "count" ? $1 : $2 }'
}
recorded_ns() { # FILE EVENT FUNCTION
	"$ebprof" convert --folded --event "$2" -o - "$1" 2>/dev/null |
		awk -v name="$3" 'index($0, ";" name ";") || index($0, ";" name "_[i];") { sum += $NF } END { printf "%.0f\n", sum }'
}

# ---- a program that clocks its own waits ----

"$ebprof" record -q -e offcpu -e runq --wait-period 500us -o clocked.data -- "$build/tests/e2e/waits" \
	long_sleeps 25 pipe_reads 50 futex_waits 50 >said
for way in long_sleeps pipe_reads futex_waits; do
	clocked=$(awk -v way=$way '$1 == way { print $3 }' said)
	got=$(($(recorded_ns clocked.data offcpu $way) + $(recorded_ns clocked.data runq $way)))
	line "$way: recorded, of what the program clocked" \
		"$(awk -v a="$got" -v b="$clocked" 'BEGIN { printf "%.2f", 100 * a / b }')" % "99..101"
done
"$ebprof" record -q -e offcpu -o short.data -- "$build/tests/e2e/waits" short_sleeps 20000 >said
line "sleeps of 0.3 ms: estimate, of the exact sum" \
	"$(awk -v a="$(recorded_ns short.data offcpu short_sleeps)" -v b="$(tally short.data events sum)" 'BEGIN { printf "%.2f", 100 * a / b }')" % "99..101"
"$ebprof" info clocked.data | awk '/^stacks/ { print $2 }' >whole
line "stacks of waits that are whole" "$(cat whole)" "" ">= 99%"

# ---- two processes that hand a byte to and fro on one CPU ----

switches=400000
rate() { # COMMAND...: switches a second
	"$@" "$build/tests/bench/switches" $switches 2>/dev/null | awk '{ printf "%.0f\n", 1e6 / $1 }'
}
bare=$(rate env)
ours=$(rate "$ebprof" record -q -e offcpu -e runq -o switches.data --)
timer=$(rate "$ebprof" record -q -o timer.data --)
line "switches a second, bare" "$bare" "" ""
line "... with -e offcpu -e runq" "$ours" "$(awk -v a="$ours" -v b="$bare" 'BEGIN { printf "%.1f %% less", 100 - 100 * a / b }')" "less than the others"
line "... with the timer alone" "$timer" "$(awk -v a="$timer" -v b="$bare" 'BEGIN { printf "%.1f %% less", 100 - 100 * a / b }')" ""
if command -v perf >/dev/null; then
	perf=$(rate perf record -q --off-cpu -o perf.data --)
	[ -n "$perf" ] && line "... with perf record --off-cpu" "$perf" "$(awk -v a="$perf" -v b="$bare" 'BEGIN { printf "%.1f %% less", 100 - 100 * a / b }')" ""
fi
line "waits of them lost" "$(awk -v lost="$(tally switches.data lost_ring count)" -v all="$(tally switches.data events count)" 'BEGIN { printf "%.4f", 100 * lost / all }')" % "<= 0.1"

sysctl -q kernel.bpf_stats_enabled=1
"$ebprof" record -q -e offcpu -e runq -o cost.data -- "$build/tests/bench/switches" $((switches * 4)) >/dev/null &
recorder=$!
until [ -s cost.data ]; do sleep 0.05; kill -0 $recorder 2>/dev/null || break; done
sleep 1
awk '/^run_time_ns/ { ns += $2 } END { printf "%.0f\n", ns }' /proc/$recorder/fdinfo/* >ns 2>/dev/null
sysctl -q kernel.bpf_stats_enabled="$stats_were"
awk '/^prog_id/ { id = $2 } /^run_cnt/ { if ($2 > most) most = $2 } END { print most }' /proc/$recorder/fdinfo/* >runs 2>/dev/null
wait $recorder
line "BPF a switch, all programs" "$(awk 'NR == FNR { ns = $1; next } { printf "%.0f", ns / $1 }' ns runs)" ns "<= 200 (10 % at 500,000)"

# ---- page faults of which hardly any is a sample ----

pages=1000000
fault_ns() { # COMMAND...: of the program's own time, the least of five
	for _ in 1 2 3 4 5; do
		"$@" "$build/tests/e2e/counted" faults $pages 2>/dev/null |
			awk -v n=$pages '/cpu_us/ { printf "%.1f\n", 1000 * $2 / n }'
	done | sort -n | head -n 1
}
bare=$(fault_ns env)
with=$(fault_ns "$ebprof" record -q -e page-faults -c 100000 -o faults.data --)
line "a page fault, bare" "$bare" ns ""
line "... recorded, not selected: more" "$(awk -v a="$with" -v b="$bare" 'BEGIN { printf "%.1f", a - b }')" ns "<= 100"
"$ebprof" record -q -e page-faults -c 1000 -o faults.data -- "$build/tests/e2e/counted" faults $pages >said
line "page faults, counted of the program's own number" \
	"$("$ebprof" info --json faults.data | sed -nE 's/.*"name": "page-faults", "events": \{"count": ([0-9]+).*/\1/p')" \
	"of $(awk '/faults/ { print $2 }' said)" "less what the exec took"

# ---- 10,000 threads that sleep ----

"$build/tests/e2e/waits" sleepers 10000 >asleep &
sleeper=$!
until grep -q asleep asleep; do sleep 0.1; done
TIMEFORMAT='%R %U %S'
for _ in 1 2 3; do
	{ time "$ebprof" record -q -e offcpu --duration 1 -p $sleeper -o asleep.data 2>/dev/null; } 2>>with
	{ time "$ebprof" record -q -e cpu-clock --duration 1 -p $sleeper -o without.data 2>/dev/null; } 2>>without
done
{ /usr/bin/env time -f %M "$ebprof" record -q -e offcpu --duration 1 -p $sleeper -o asleep.data; } 2>memory
kill $sleeper
least() { sort -n "$1" | awk 'NR == 1 { print $1 }'; }
line "10,000 sleepers: samples" "$(tally asleep.data samples count)" "" 10001
line "... longer than a recording of ticks" "$(awk -v a="$(least with)" -v b="$(least without)" 'BEGIN { printf "%.0f", 1000 * (a - b) }')" ms "<= 100"
line "... memory of the recorder" "$(awk 'END { printf "%.0f", $1 / 1024 }' memory)" MB "<= 64"
