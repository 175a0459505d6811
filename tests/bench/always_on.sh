#!/bin/bash
# A recorder that runs all day: what it costs beside what keeps the CPUs busy, whether short processes
# are accounted for and have their labels, and how long nothing is recorded when another takes over.
# A line a figure, and what is aimed at beside it; nothing is asserted.
#   ALWAYS_ON=LIST            of its parts "endless processes take_over"; all of them
#   ENDLESS_SECONDS=30 PROCESS_SECONDS=60 PROCESS_RATE=5000 TAKE_OVERS=10
set -u
ebprof=${EBPROF:?path of the ebprof binary} build=${BUILD:?}
work=$(mktemp -d "${TMPDIR:-/tmp}/ebprof-bench.XXXXXX")
stats_were=$(sysctl -n kernel.bpf_stats_enabled)
groups=/sys/fs/cgroup
[[ -d $groups/memory ]] && groups=$groups/memory
trap 'sysctl -q kernel.bpf_stats_enabled=$stats_were; kill $(jobs -p) 2>/dev/null; rmdir "$groups"/ebprof-short-?.service 2>/dev/null; rm -rf "$work"' EXIT
cd "$work" || exit 1
if [ "$(id -u)" != 0 ]; then echo "needs root"; exit 1; fi

has_part() { [[ " ${ALWAYS_ON:-endless processes take_over} " == *" $1 "* ]]; }
line() { printf '%-58s %12s %-24s %s\n' "$1" "$2" "$3" "$4"; }
cpu_ns() { cat /proc/"$1"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'; }          # PID
peak_mb() { awk '/^VmHWM/ { printf "%.0f", $2 / 1024 }' /proc/"$1"/status; }                            # PID
percent_of_cpu() { awk -v a="$1" -v b="$2" -v s="$3" 'BEGIN { printf "%.2f", (b - a) / s / 1e7 }'; } # NS NS SECONDS
wait_ready() { until grep -q 'Ctrl-C to stop' "$1"; do sleep 0.05; done; }                               # FILE

# ---- a recorder that never ends, beside what keeps the CPUs busy ----

# Of its own threads, from 5 s on, when it knows what runs; BPF programs are counted apart, by the
# kernel's own clock, since they run in the time of others.
endless() {
	local seconds=${ENDLESS_SECONDS:-30} busy=() before after peak
	for _ in 1 2 3; do
		sh -c 'while :; do i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; sleep 0.01; done' &
		busy+=($!)
	done
	sysctl -q kernel.bpf_stats_enabled=1
	"$ebprof" record -q -a -F 99 -e wall --ring "$work/ring" --keep 1G --switch 1m >/dev/null 2>&1 &
	local recorder=$!
	sleep 5
	bpf_ns() { cat /proc/$recorder/fdinfo/* 2>/dev/null | awk '/^prog_id/ { id = $2 } /^run_time_ns/ && !seen[id]++ { ns += $2 } END { printf "%.0f\n", ns }'; }
	before=("$(cpu_ns $recorder)" "$(bpf_ns)")
	sleep "$seconds"
	after=("$(cpu_ns $recorder)" "$(bpf_ns)")
	sysctl -q kernel.bpf_stats_enabled="$stats_were"
	peak=$(peak_mb $recorder)
	kill -INT $recorder
	wait $recorder
	kill "${busy[@]}"
	line "always on, 99 Hz and waits: CPU of the recorder" "$(percent_of_cpu "${before[0]}" "${after[0]}" "$seconds")" "% of one (load $(cut -d' ' -f1 /proc/loadavg))" "<= 1"
	line "... of its BPF programs, with measuring" "$(percent_of_cpu "${before[1]}" "${after[1]}" "$seconds")" "% of one" ""
	line "... memory, at most" "$peak" MB "<= 64"
}

# ---- thousands of programs a second, each for some microseconds ----

# From each of two CPUs, at half of the pace (0: as fast as it goes): with a name, a unit and a variable
# of its own, by which a sample's labels are judged. Prints how many programs there were.
spawn() { # SECONDS PACE
	local i
	for i in 0 1; do
		ln -sf "$build/tests/bench/brief" brief-$i
		(
			mkdir -p "$groups/ebprof-short-$i.service" && echo $BASHPID >"$groups/ebprof-short-$i.service/cgroup.procs"
			WHO=w$i exec "$build/tests/bench/short_processes" "$1" $i $(($2 / 2)) ./brief-$i >spawned-$i
		) 2>/dev/null &
		spawners[i]=$!
	done
	wait "${spawners[@]}"
	awk '{ sum += $1 } END { print sum }' spawned-?
}

processes() { # PACE
	local seconds=${PROCESS_SECONDS:-60} count before after recorder peak spawners
	"$ebprof" record -a -F 499 --env-label WHO --ring processes --keep 1G --switch 10s 2>err &
	recorder=$!
	wait_ready err
	before=$(cpu_ns $recorder)
	count=$(spawn "$seconds" "$1")
	after=$(cpu_ns $recorder) peak=$(peak_mb $recorder)
	kill -INT $recorder
	wait $recorder
	line "processes a second, for $seconds s" "$((count / seconds))" "$count in all" "$1"
	"$ebprof" merge --ring processes -o processes.data 2>/dev/null
	counter() { grep -oE "\"$1\": [0-9]+" processes.json | head -n 1 | grep -oE '[0-9]+$'; }
	"$ebprof" info --json processes.data >processes.json
	line "... ticks, of which samples, lost, idle" "$(counter ticks)" "$(counter samples) $(counter lost) $(counter idle)" "0 lost, nothing missing"
	line "... the kernel's records of execs and mappings lost" "$(counter sideband_lost)" "" 0
	"$ebprof" report --stdio --percent-limit 0 -F samples,comm,unit,label:WHO processes.data |
		awk '$2 ~ /^brief-[01]$/ { all += $1; i = substr($2, 7); right["unit"] += $3 == "ebprof-short-" i ".service" ? $1 : 0
			right["WHO"] += $4 == "w" i ? $1 : 0 } END { printf "%d %.2f %.2f\n", all, 100 * right["unit"] / all, 100 * right["WHO"] / all }' >labels
	line "... samples of theirs: their unit is right" "$(cut -d' ' -f2 labels)" "% of $(cut -d' ' -f1 labels)" ">= 99"
	line "... and the label of their environment" "$(cut -d' ' -f3 labels)" "%" ">= 99"
	line "... CPU of the recorder (load $(cut -d' ' -f1 /proc/loadavg))" "$(percent_of_cpu "$before" "$after" "$seconds")" "% of one, $peak MB" ""
	rm -rf processes
}

# ---- a newer recorder takes over ----

# Between the last sample of one file and the first of the next, while both CPUs are busy all the time.
take_over() {
	local busy=() recorder next i
	for i in 0 1; do
		taskset -c $i sh -c 'while :; do :; done' &
		busy+=($!)
	done
	"$ebprof" record -a -F 997 --ring taken --switch 1h 2>err &
	recorder=$!
	wait_ready err
	for ((i = 0; i < ${TAKE_OVERS:-10}; i++)); do
		sleep 2
		"$ebprof" record -a -F 997 --ring taken --switch 1h --take-over 2>err &
		next=$!
		wait "$recorder"
		recorder=$next
		wait_ready err
	done
	sleep 1
	kill -INT "$recorder"
	wait "$recorder"
	kill "${busy[@]}"
	for i in taken/*.data; do
		"$ebprof" convert --perf-script "$i" 2>/dev/null | grep -oE '[0-9]+\.[0-9]{6}: ' | tr -d ': ' | sort -n | sed -n '1p;$p' | xargs
	done | sort -n | awk 'NR > 1 { printf "%.0f\n", 1000 * ($1 - last) } { last = $2 }' | sort -n >gaps
	line "--take-over: not recorded, at most of $(wc -l <gaps) times" "$(tail -n 1 gaps)" "ms, median $(sed -n "$((($(wc -l <gaps) + 1) / 2))p" gaps)" "<= 1000"
}

has_part endless && endless
has_part processes && processes "${PROCESS_RATE:-5000}" && PROCESS_SECONDS=10 processes 0
has_part take_over && take_over
true
