#!/bin/bash
# Waits of threads: are their sums and reasons right, what does a switch of tasks cost, what is lost, and
# how long do many sleepers take at the end; what a page fault costs, and whether their number is right.
# A line a figure, and what is aimed at beside it; nothing is asserted.
#   EVENTS=LIST      of its parts "waits switches faults sleepers heap"; all of them
# For the figures of others: offcputime of bcc's (libbpf-tools) is unpacked into the cache folder where
# it is not installed; perf needs one that was built with BPF skeletons, which Debian's are not (6.1,
# 6.12, 7.2).
set -u
ebprof=${EBPROF:?path of the ebprof binary} build=${BUILD:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
stats_were=$(sysctl -n kernel.bpf_stats_enabled)
trap 'sysctl -q kernel.bpf_stats_enabled=$stats_were; kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
if [ "$(id -u)" != 0 ]; then echo "needs root"; exit 1; fi

has_part() { [[ " ${EVENTS:-waits switches faults sleepers heap} " == *" $1 "* ]]; }
line() { printf '%-58s %12s %-24s %s\n' "$1" "$2" "$3" "$4"; }
tally() { # FILE COUNTER count|sum
	"$ebprof" info --json "$1" | grep '"name": "wait"' |
		sed -E "s/.*\"$2\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+)\}.*/\1 \2/" |
		awk -v which="$3" '{ print which == "count" ? $1 : $2 }'
}
recorded_ns() { # FILE EVENT FUNCTION [REASON]
	"$ebprof" convert --folded --event "$2" -o - "$1" 2>/dev/null |
		awk -v name="$3" -v reason="${4:-}" '(index($0, ";" name ";") || index($0, ";" name "_[i];")) &&
			(reason == "" || index($0, "[wait: " reason "]")) { sum += $NF } END { printf "%.0f\n", sum }'
}
of_percent() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", 100 * a / b; else printf "-" }'; }

# ---- a program that clocks its own waits ----

# In ticks of 10 ms, of all CPUs. A program that a hypervisor keeps from its CPU has waited by its own
# clocks, and has run for all that the kernel can see: such runs are made again.
stolen() { awk '/^cpu / { print $9 }' /proc/stat; }
without_theft() { # COMMAND...
	local before
	for _ in 1 2 3 4 5; do
		before=$(stolen)
		"$@"
		(($(stolen) == before)) && return
	done
	echo "the host took $((10 * ($(stolen) - before))) ms of the CPUs meanwhile: less is right of what was clocked"
}

record_clocked() {
	"$ebprof" record -q -e offcpu -e runq --wait-period 20us -o clocked.data -- "$build/tests/e2e/waits" \
		long_sleeps 25 pipe_reads 50 futex_waits 50 disk_reads 25 queueing 4 >said
}
clocked_waits() {
	without_theft record_clocked
	local way function reason share clocked blocked queued
	while read -r way function reason share; do
		clocked=$(awk -v way="$way" '$1 == way { print $3 }' said)
		blocked=$(recorded_ns clocked.data offcpu "$function") queued=$(recorded_ns clocked.data runq "$function")
		line "$way: recorded, of what the program clocked" \
			"$(of_percent "$((blocked + queued))" "$clocked")" % "99..101"
		[[ $reason == - ]] && continue
		[[ $share == clocked ]] && share=$(awk -v way="$way" '$1 == way { printf "%.1f", 100 * $4 / $3 }' said)
		line "... for the reason \"$reason\"" \
			"$(of_percent "$(recorded_ns clocked.data offcpu "$function" "$reason")" "$blocked")" % "$share +- 2"
	done <<-END
		long_sleeps long_sleeps sleep 100
		pipe_reads pipe_reads pipe 100
		futex_waits futex_waits futex clocked
		disk_reads read_blocks disk 100
		queueing spin - -
	END
	"$ebprof" record -q -e offcpu -o short.data -- "$build/tests/e2e/waits" short_sleeps 20000 >said
	line "sleeps of 0.3 ms: estimate, of the exact sum" \
		"$(of_percent "$(recorded_ns short.data offcpu short_sleeps)" "$(tally short.data events sum)")" % "99..101"
	line "stacks of waits that are whole" "$("$ebprof" info clocked.data | awk '/^stacks/ { print $2 }')" "" ">= 99%"
}

# ---- two processes that hand a byte to and fro on one CPU ----

switches=400000
rate() { # COMMAND...: switches a second of CPU time, so that other load does not count
	"$@" "$build/tests/bench/switches" $switches 2>/dev/null | awk '{ printf "%.0f\n", 1e6 / $2 }'
}
beside() { # COMMAND...: the same while that watches the whole system
	"$@" >watched 2>&1 </dev/null &
	local watcher=$!
	sleep 1.5
	rate env
	kill -INT $watcher
	wait $watcher
}
# Bare and with each way by turns, since the machine's own pace changes: the medians.
turns() {
	for _ in 1 2 3 4 5; do
		rate env >>bare
		rate "$ebprof" record -q -e offcpu -e runq -o switches.data -- >>ours
		beside "$ebprof" record -q -a -e offcpu -e runq -o system.data >>ours_system
		rate "$ebprof" record -q -o timer.data -- >>timer
		[[ -z $offcputime ]] || beside "$offcputime" 60 >>theirs
		[[ -z $perf ]] || rate perf record -q --off-cpu -o perf.data -- >>perfs
	done
}
median() { sort -n "$1" | sed -n 3p; }
rate_line() { # WHAT FILE AIM
	line "$1" "$(median "$2")" "$(awk -v a="$(median "$2")" -v b="$(median bare)" 'BEGIN { printf "%.1f %% less", 100 - 100 * a / b }')" "$3"
}

# A million a second: of two such pairs, each on a CPU.
many_switches() {
	"$ebprof" record -q -e offcpu -e runq -o many.data -- sh -c \
		'"$0" $1 0 & "$0" $1 1; wait' "$build/tests/bench/switches" $((switches * 4)) >us
	line "switches a second of two CPUs" "$(awk '{ sum += 1e6 / $1 } END { printf "%.0f", sum }' us)" "" ""
	line "... waits of them lost" "$(awk -v ring="$(tally many.data lost_ring count)" -v busy="$(tally many.data lost_busy count)" \
		-v all="$(tally many.data events count)" 'BEGIN { printf "%.4f", 100 * (ring + busy) / all }')" % "<= 0.1"
}

# What the BPF programs take, by the kernel's own clock, less what it measures of one that is empty.
bpf_cost() {
	sysctl -q kernel.bpf_stats_enabled=1
	"$ebprof" record -q -e offcpu -e runq -o cost.data -- "$build/tests/bench/switches" $((switches * 4)) >/dev/null &
	local recorder=$!
	until [ -s cost.data ]; do sleep 0.05; kill -0 $recorder 2>/dev/null || break; done
	"$build/tests/bench/empty_program" >empty
	cat /proc/$recorder/fdinfo/* >programs 2>/dev/null
	sysctl -q kernel.bpf_stats_enabled="$stats_were"
	wait $recorder
	# a program has several descriptors
	awk '/^prog_id/ { id = $2 } /^run_time_ns/ { time = $2 }
		/^run_cnt/ && !seen[id]++ { ns += time; runs += $2; if ($2 > most) most = $2 } END { print ns / most, runs / most }' programs >cost
	line "BPF a switch, all programs, an empty one: $(cat empty) ns" \
		"$(awk -v empty="$(cat empty)" '{ printf "%.0f", $1 - empty * $2 }' cost)" "ns ($(awk '{ printf "%.0f", $1 }' cost) with measuring)" "<= 200 (10 % at 500,000)"
}

# Nothing is installed.
find_offcputime() {
	local folder=${XDG_CACHE_HOME:-$HOME/.cache}/ebprof/bench tool
	tool=$(PATH=/usr/sbin:/usr/share/bcc/libbpf-tools:$PATH command -v offcputime)
	[[ -z $tool ]] || ! grep -q python "$tool" || tool=
	if [[ -z $tool && ! -x $folder/libbpf-tools/usr/sbin/offcputime ]]; then
		mkdir -p "$folder"
		(cd "$folder" && apt-get -qq download libbpf-tools && dpkg-deb -x libbpf-tools_*.deb libbpf-tools) >&2
	fi
	tool=${tool:-$folder/libbpf-tools/usr/sbin/offcputime}
	[[ ! -x $tool ]] || echo "$tool"
}

switch_costs() {
	offcputime=$(find_offcputime 2>/dev/null)
	perf=$(command -v perf)
	[[ -n $perf ]] && perf record -q --off-cpu -o perf.data true 2>&1 | grep -q 'being ignored' && perf=
	turns
	line "switches a second, bare" "$(median bare)" "" ""
	rate_line "... with -e offcpu -e runq" ours "less than the others"
	rate_line "... with -a -e offcpu -e runq" ours_system "less than the others"
	rate_line "... with the timer alone" timer ""
	if [[ -n $offcputime ]]; then rate_line "... with bcc's offcputime" theirs ""; else echo "no offcputime here"; fi
	if [[ -n $perf ]]; then rate_line "... with perf record --off-cpu" perfs ""; else echo "no perf here that knows --off-cpu"; fi
	bpf_cost
	many_switches
}

# ---- page faults of which hardly any is a sample ----

# Of each of eleven runs by turns, what a fault takes more of the program's own time: the median, and
# between which half of them are. No program of ours runs at a fault that is no sample: the kernel
# counts it. `ebprof stat` has that alone, which is the least that exact counts can cost here; what
# recording adds are the samples.
page_faults() {
	local pages=400000
	fault_ns() { # COMMAND...
		"$@" "$build/tests/e2e/counted" faults $pages 2>/dev/null |
			awk -v n=$pages '/cpu_us/ { printf "%.1f ", 1000 * $2 / n }'
	}
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		fault_ns env
		fault_ns "$ebprof" record -q -e page-faults -o faults.data --
		fault_ns "$ebprof" stat -e page-faults --
		echo
	done >runs
	line_of_more() { # WHAT COLUMN THAN TARGET
		local what=$1 target=$4 median low high
		read -r median low high < <(awk -v column="$2" -v than="$3" '{ printf "%.1f\n", $column - $than }' runs |
			sort -n | awk '{ of[NR] = $1 } END { print of[6], of[3], of[9] }')
		line "$what" "$median" "ns ($low to $high)" "$target"
	}
	line "a page fault, bare" "$(sort -n runs | awk 'NR == 6 { print $1 }')" ns ""
	line_of_more "... recorded, by default: more" 2 1 "<= 100"
	line_of_more "... counted by the kernel, for ebprof stat: more" 3 1 ""
	line_of_more "... recorded, more than counted" 2 3 ""
	line "... samples of a million faults" "$("$ebprof" info --json faults.data |
		sed -nE 's/.*"name": "page-faults", "events": \{"count": ([0-9]+),.*"samples": \{"count": ([0-9]+),.*/\1 \2/p' |
		awk '{ printf "%.0f", 1000000 * $2 / $1 }')" "" ""
	"$ebprof" record -q -e page-faults -c 1000 -o faults.data -- "$build/tests/e2e/counted" faults $pages >said
	line "page faults, counted of the program's own number" \
		"$("$ebprof" info --json faults.data | sed -nE 's/.*"name": "page-faults", "events": \{"count": ([0-9]+).*/\1/p')" \
		"of $(awk '/faults/ { print $2 }' said)" "less what the exec took"
}

# ---- 10,000 threads that sleep ----

least() { sort -n "$1" | awk 'NR == 1 { print $1 }'; }
# From when a second of recording is over until the recorder is gone, in ms.
end_ms() { # OPTION...
	local line began=
	"$ebprof" record --duration 1 "$@" 2> >(while read -r line; do
		[[ $line == *Ctrl-C* ]] && echo "$EPOCHREALTIME" >began
	done)
	local ended=$EPOCHREALTIME
	read -r began <began
	awk -v a="$began" -v b="$ended" 'BEGIN { printf "%.0f\n", 1000 * (b - a - 1) }'
}

many_sleepers() {
	"$build/tests/e2e/waits" sleepers 10000 >asleep &
	local sleeper=$!
	until grep -q asleep asleep; do sleep 0.1; done
	for _ in 1 2 3 4 5; do
		end_ms -e offcpu -p $sleeper -o asleep.data >>with
		end_ms -e cpu-clock -p $sleeper -o without.data >>without
	done
	{ /usr/bin/env time -f %M "$ebprof" record -q -e offcpu --duration 1 -p $sleeper -o asleep.data; } 2>memory
	kill $sleeper
	line "10,000 sleepers: samples" "$(tally asleep.data samples count)" "" 10001
	line "... the end takes (of a recording of ticks: $(least without))" "$(least with)" ms "<= 100"
	line "... memory of the recorder" "$(awk 'END { printf "%.0f", $1 / 1024 }' memory)" MB "<= 64"
}

# ---- allocations: a program that knows them, and one that does more than allocate ----

heap_tally() { # FILE COUNTER count|sum: of the source "heap"
	"$ebprof" info --json "$1" | grep '"name": "heap"' |
		sed -E "s/.*\"$2\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+)\}.*/\1 \2/" |
		awk -v which="$3" '{ print which == "count" ? $1 : $2 }'
}
heap_weight() { # FILE EVENT
	"$ebprof" convert --folded --event "$2" -o - "$1" 2>/dev/null | awk '{ sum += $NF } END { printf "%.0f\n", sum }'
}
# Words are cut, counted and joined: its own CPU time, in ms. times() would have it in ticks of 10 ms.
cat >words.pl <<-'END'
	use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);
	my (%count, $text);
	for my $round (1 .. 15) {
		$text = join " ", map { "word" . ($_ * $round % 997) . "x" x ($_ % 13) } 1 .. 10000;
		$count{$_}++ for split / /, $text;
		my @sorted = sort { $count{$a} <=> $count{$b} || $a cmp $b } keys %count;
	}
	printf STDERR "cpu_ms %.3f\n", 1000 * clock_gettime(CLOCK_PROCESS_CPUTIME_ID);
END
words_ms() { "$@" perl words.pl 2>&1 | awk '/^cpu_ms/ { printf "%s ", $2 }'; }
allocations() {
	local bytes
	"$ebprof" record -q -m 64M --heap=16K -o heap.data -- "$build/tests/e2e/heap" 64 >said
	bytes=$(awk '{ sum += $2 } END { printf "%.0f", sum }' said)
	line "bytes allocated, preloaded: counted, of the program's own" "$(of_percent "$(heap_tally heap.data events sum)" "$bytes")" % "100.0x"
	line "... estimate by $(heap_tally heap.data samples count) samples" "$(of_percent "$(heap_weight heap.data alloc_space)" "$bytes")" % "97..103"
	# 73 MB are in use: of one sample each 16 KiB the estimate's own standard deviation would be 1.5 %.
	"$ebprof" record -q -m 64M --heap=2K -o heap.data -- "$build/tests/e2e/heap" 64 >said
	line "... in use at the end, estimate by a sample each 2 KiB" \
		"$(of_percent "$(heap_weight heap.data inuse_space)" "$(awk '{ sum += $4 } END { printf "%.0f", sum }' said)")" % "97..103"
	"$ebprof" record -q -m 64M --heap=16K --max-overhead 100 -o heap.data -- "$build/tests/e2e/heap_static" 64 >said
	line "by probes: estimate" "$(of_percent "$(heap_weight heap.data alloc_space)" "$bytes")" % "97..103"
	local bare preloaded
	bare=$("$build/tests/e2e/heap" pairs 500000 | awk '{ print $2 }')
	preloaded=$("$ebprof" record -q --heap -o pairs.data -- "$build/tests/e2e/heap" pairs 500000 | awk '/pair_ns/ { print $2 }')
	line "malloc and free, bare" "$bare" ns ""
	line "... preloaded: more" "$(awk -v a="$preloaded" -v b="$bare" 'BEGIN { printf "%.2f", a - b }')" ns ""
	local runs=21
	for ((i = 0; i < runs; i++)); do
		words_ms env
		words_ms "$ebprof" record -q --heap -o words.data --
		echo
	done >pairs
	awk '{ printf "%.2f\n", 100 * ($2 / $1 - 1) }' pairs | sort -n >differences
	nth() { sed -n "$(((runs - 1) * $1 / 4 + 1))p" differences; }
	line "a program that cuts words, preloaded: more CPU time" "$(nth 2)" "% ($(nth 1) to $(nth 3))" "<= 2"
	line "... of the fastest runs of each" "$(awk 'NR == 1 { a = $1; b = $2 } { if ($1 < a) a = $1; if ($2 < b) b = $2 } END { printf "%.2f", 100 * (b / a - 1) }' pairs)" % "<= 2"
	line "... by its number of allocations and what a pair takes" \
		"$(awk -v n="$(heap_tally words.data events count)" -v more="$(awk -v a="$preloaded" -v b="$bare" 'BEGIN { print a - b }')" \
			-v ms="$(sort -n pairs | awk 'NR == 1 { print $1 }')" 'BEGIN { printf "%.2f", 100 * n * more / 1e6 / ms }')" % "<= 2"
	perl -e 'do "./words.pl" while 1' 2>/dev/null &
	local running=$!
	sleep 0.5
	"$ebprof" record --heap --duration 2 -o running.data -p $running 2>err >/dev/null
	kill $running
	line "... by probes while it runs" "$(sed -nE 's/.*allocations took ([0-9]+%).*after ([0-9.]+ s).*/\1/p' err)" \
		"$(sed -nE 's/.*allocations took ([0-9]+%).*after ([0-9.]+ s).*/for \2, then taken off/p' err)" "<= 5, or off"
}

has_part waits && clocked_waits
has_part switches && switch_costs
has_part faults && page_faults
has_part sleepers && many_sleepers
has_part heap && allocations
true
