#!/bin/bash
# What happens to tasks while they wait: they die, exec, are stopped, traced, frozen, their ids are used
# again; rings that are too small, a flood of switches. Each wait is accounted for once, with its time.
# Beside others: what waits is the program's own.
. "$(dirname "$0")/prelude.bash"

tally() { # COUNTER count|sum
	"$EBPROF" info --json ebprof.data | grep '"name": "wait"' |
		sed -E "s/.*\"$1\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+)\}.*/\1 \2/" |
		awk -v which="$2" '{ print which == "count" ? $1 : $2 }'
}

# events = samples + below + filtered + lost, in number and in ns.
want_exact_waits() {
	local which all sum counter
	for which in count sum; do
		all=$(tally events $which) sum=0
		for counter in samples idle filtered below lost_ring lost_busy lost_unresolved lost_write; do
			sum=$((sum + $(tally $counter $which)))
		done
		[[ $all == "$sum" && $all -gt 0 ]] || fail "$which: $all waits, $sum accounted for"
	done
}

# Of all stacks with the text, in ms.
waited_ms() { # REGEX
	"$EBPROF" convert --folded --event offcpu -o - ebprof.data 2>/dev/null |
		awk -v text="$1" '$0 ~ text { sum += $NF } END { printf "%.0f\n", sum / 1e6 }'
}

want_ms() { # WHAT GOT LEAST MOST
	(($2 >= $3 && $2 <= $4)) || fail "$1: $2 ms, not from $3 to $4"
}

test_threads_that_die_in_their_wait() {
	"$WORKLOADS/waits" sleepers 300 >asleep &
	local pid=$!
	wait_until "threads that sleep" grep -q asleep asleep
	"$EBPROF" record -e offcpu -p $pid >out 2>err &
	local recorder=$!
	wait_until "a recorder that is ready" grep -q 'Ctrl-C' err
	sleep 0.5
	kill -KILL $pid
	wait $recorder || fail "record: $(cat err)"
	want_exact_waits
	[[ $(tally lost_busy count) == 0 && $(tally events count) -ge 301 && $(tally events count) -le 620 ]] ||
		fail "$(tally events count) waits of 301 threads, $(tally lost_busy count) lost"
	local stacks
	stacks=$(waited_ms ';sleep_for_ever;.*pause')
	# of those that died with all of their stack still there
	want_ms "300 threads that slept for half a second" "$stacks" 120000 400000
}

test_exec_in_between() {
	run "$EBPROF" record -e offcpu -- sh -c 'sleep 0.2; exec sleep 0.3'
	want_status 0 record
	want_exact_waits
	want_ms "two sleeps" "$(waited_ms 'wait: sleep')" 490 700
	# The command's first wait is for its child: the same 0.2 s.
	want_ms "the wait for the child" "$(waited_ms '^sh;.*wait: child')" 190 400
	want_ms "what the command became" "$(waited_ms '^sleep;')" 490 700
}

test_stopped() {
	"$WORKLOADS/waits" sleepers 3 >asleep &
	local pid=$!
	wait_until "threads that sleep" grep -q asleep asleep
	"$EBPROF" record -e offcpu --duration 1.2 -p $pid >out 2>err &
	local recorder=$!
	wait_until "a recorder that is ready" grep -q 'Ctrl-C' err
	kill -STOP $pid
	sleep 0.5
	kill -CONT $pid
	wait $recorder || fail "record: $(cat err)"
	kill -KILL $pid
	want_exact_waits
	want_ms "four threads that were stopped" "$(waited_ms 'wait: stopped')" 1700 3200
	want_ms "four threads, asleep or stopped" "$(waited_ms .)" 4400 5400
}

test_stopped_by_a_tracer() {
	"$WORKLOADS/waits" sleepers 1 >asleep &
	local pid=$!
	wait_until "threads that sleep" grep -q asleep asleep
	"$EBPROF" record -e offcpu --duration 1.2 -t $pid >out 2>err &
	local recorder=$!
	wait_until "a recorder that is ready" grep -q 'Ctrl-C' err
	python3 - $pid <<'END' || fail "no ptrace"
import ctypes, os, sys, time
pid = int(sys.argv[1])
ptrace = ctypes.CDLL(None, use_errno=True).ptrace
assert ptrace(16, pid, None, None) == 0, ctypes.get_errno()  # PTRACE_ATTACH
os.waitpid(pid, 0)
time.sleep(0.5)
assert ptrace(17, pid, None, None) == 0, ctypes.get_errno()  # PTRACE_DETACH
END
	wait $recorder || fail "record: $(cat err)"
	kill -KILL $pid
	want_exact_waits
	want_ms "a thread that is traced" "$(waited_ms 'wait: stopped')" 450 900
	want_ms "the thread, asleep or stopped" "$(waited_ms .)" 1100 1350
}

test_frozen() {
	local root group
	root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
	[[ -n $root ]] && group=$root/ebprof-test.$$ && mkdir "$group" 2>/dev/null || skip "no cgroups (v2) to make"
	"$WORKLOADS/waits" sleepers 3 >asleep &
	local pid=$!
	# A group is removed when its last process is gone, which takes a moment.
	# shellcheck disable=SC2064
	trap "echo 0 >'$group/cgroup.freeze'; kill -KILL $pid; for _ in {1..50}; do rmdir '$group' && break; sleep 0.1; done" EXIT
	wait_until "threads that sleep" grep -q asleep asleep
	echo $pid >"$group/cgroup.procs" || skip "no process can be moved"
	"$EBPROF" record -e offcpu -e runq --duration 1.2 -p $pid >out 2>err &
	local recorder=$!
	wait_until "a recorder that is ready" grep -q 'Ctrl-C' err
	echo 1 >"$group/cgroup.freeze"
	sleep 0.5
	echo 0 >"$group/cgroup.freeze"
	wait $recorder || fail "record: $(cat err)"
	want_exact_waits
	want_ms "four threads, asleep or frozen" "$(waited_ms .)" 4400 5400
	local queued
	queued=$("$EBPROF" convert --folded --event runq -o - ebprof.data 2>/dev/null | awk '{ sum += $NF } END { printf "%.0f\n", sum / 1e6 }')
	((queued < 400)) || fail "frozen threads stood in the run queue: $queued ms"
}

# Two processes with one id, one after the other: the second did not wait when it was not there.
test_an_id_that_is_used_again() {
	[[ -w /proc/sys/kernel/ns_last_pid ]] || skip "ids cannot be chosen here"
	cat >again.py <<'END'
import os, sys, time

def sleeper():
    pid = os.fork()
    if pid == 0:
        time.sleep(0.1)
        os._exit(0)
    os.waitpid(pid, 0)
    return pid

for _ in range(40):
    first = sleeper()
    time.sleep(0.3)
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(first - 1))
    if sleeper() == first:
        print(first)
        sys.exit(0)
sys.exit(3)
END
	run "$EBPROF" record -e offcpu -- python3 again.py
	[[ $status != 3 ]] || skip "another process took each id"
	want_status 0 record
	want_exact_waits
	local tid waited
	tid=$(cat out)
	waited=$("$EBPROF" convert --folded --event offcpu --tid "$tid" -o - ebprof.data 2>/dev/null | awk '{ sum += $NF } END { printf "%.0f\n", sum / 1e6 }')
	want_ms "two processes of one id" "$waited" 195 290
}

test_a_ring_of_a_page() {
	run "$EBPROF" record -m 4K -e offcpu -e runq --wait-period 1us -- "$WORKLOADS/waits" short_sleeps 800 hand_overs 20000
	want_status 0 record
	want_exact_waits
	(($(tally lost_ring count) > 0)) || fail "nothing was lost, which is no test"
	grep -q 'lost' err || fail "no word of what was lost: $(cat err)"
}

# As fast as two CPUs can.
test_a_flood_of_switches() {
	run "$EBPROF" record -e offcpu -e runq -- sh -c '"$WORKLOADS/waits" hand_overs 150000 & "$WORKLOADS/waits" hand_overs 150000; wait'
	want_status 0 record
	want_exact_waits
	(($(tally events count) > 500000)) || fail "only $(tally events count) waits"
	awk -v lost="$(($(tally lost_ring count) + $(tally lost_busy count)))" -v all="$(tally events count)" \
		'BEGIN { exit !(lost <= all / 1000) }' || fail "$(tally lost_ring count) and $(tally lost_busy count) lost of $(tally events count)"
}

run_tests
