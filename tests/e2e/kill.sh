#!/bin/bash
# kill -9 at random moments: what was recorded can be read, less than a second is lost.
# KILLS=200 (make check-kill) for more of them.
. "$(dirname "$0")/prelude.bash"

# How many seconds the threads of a process were ready to run and did not get a CPU.
waited_s() { # PID
	cat /proc/"$1"/task/*/schedstat 2>/dev/null | awk '{ ns += $2 } END { printf "%.3f\n", ns / 1e9 }'
}

# One recorder, killed after MS; how much of its time is missing from the file.
kill_after() { # INDEX MS
	local file=k$1.data began lived recorded waited
	"$EBPROF" record -a -F 997 -o "$file" 2>"k$1.err" &
	local pid=$!
	wait_ready "k$1.err"
	began=$(now_ms)
	sleep "$(awk -v ms="$2" 'BEGIN { print ms / 1000 }')"
	waited=$(waited_s $pid)
	kill -KILL $pid
	lived=$(($(now_ms) - began))
	wait $pid
	run "$EBPROF" info --json "$file"
	want_status 0 "info after kill -9 at $2 ms"
	[[ -z $(field "$file" ended) ]] || fail "killed at $2 ms, but it ended: $(field "$file" ended)"
	[[ $(field "$file" damage) == *cut* ]] || fail "info does not say that it was cut: $(field "$file" damage)"
	want_exact "$file"
	recorded=$(field "$file" duration_s)
	# By how much the sleep above came late, the whole machine stood still, the recorder too; and
	# what others took from it.
	awk -v lived=$lived -v asked="$2" -v recorded="$recorded" -v waited="$waited" \
		'BEGIN { exit !(lived / 1000 - recorded <= 1.0 + (lived - asked) / 1000 + waited) }' ||
		fail "killed after $lived ms, recorded $recorded s, waited for a CPU for $waited s"
	rm "$file"
}

test_kill_at_random_moments() {
	"$WORKLOADS/workload" 1000 &
	local i
	for ((i = 0; i < ${KILLS:-20}; i++)); do
		kill_after $i $((RANDOM % 2500))
	done
}

# The command goes on when its recorder dies; before it was let go it never runs.
test_command_survives() {
	"$EBPROF" record -- sh -c 'until [ -e killed ]; do sleep 0.1; done; touch survived' 2>err &
	local pid=$!
	wait_ready err
	kill -KILL $pid
	wait $pid 2>/dev/null
	touch killed
	is_soon test -e survived || fail "the command died with its recorder"
}

run_tests
