#!/bin/bash
# The profile of a program of known shape has that shape; children and threads are followed.
. "$(dirname "$0")/prelude.bash"

# Percent of the samples of folded stacks (standard input) whose stack has the frame.
share_of() { # FRAME
	awk -v frame="$1" '{
		count = $NF; sub(/ [0-9]+$/, ""); all += count
		if ((";" $0 ";") ~ (";" frame "(_\\[.\\])?;")) with += count
	} END { printf "%.1f", all ? 100 * with / all : 0 }'
}

want_share() { # FOLDED FRAME PERCENT
	local share
	share=$(share_of "$2" <"$1")
	awk -v got="$share" -v want="$3" 'BEGIN { exit !(got >= want - 3 && got <= want + 3) }' ||
		fail "$2 has $share %, not $3 % (+-3): $(sort -k2 -n "$1" | tail -n 3)"
}

record_shape() { # WORKLOAD_ARGUMENTS...
	has_command convert || skip "no ebprof convert yet"
	# So many samples that chance stays far below the tolerance.
	run "$EBPROF" record -F 4999 -- "$WORKLOADS/workload" "$@"
	want_status 0 workload
	"$EBPROF" convert --folded -i ebprof.data -o shape.folded || fail "convert --folded"
}

want_shape() {
	want_share shape.folded light 10
	want_share shape.folded medium 30
	want_share shape.folded heavy 60
	want_share shape.folded call_heavy 60
	want_share shape.folded work 100
}

test_shares() {
	record_shape 3
	want_shape
}

test_shares_of_one_function() {
	record_shape 3
	run "$EBPROF" report -g -S medium
	want_status 0 "report -g -S"
	grep -q ' medium$' out || fail "the tree lacks what was chosen: $(cat out)"
	! grep -q ' heavy$' out || fail "the tree has what was not chosen: $(cat out)"
	"$EBPROF" convert --folded -S medium -o shape.folded || fail "convert -S"
	want_share shape.folded medium 100
	run "$EBPROF" report -G -S no_such_function
	want_status 2 "report -G -S"
	grep -q 'no function "no_such_function"' err || fail "$(cat out err)"
}

# Rows that are no functions have the samples with one that is asked for, and no others.
test_samples_with_a_function_by_thread() {
	shared_recording -F 999
	run "$EBPROF" report --stdio -S heavy -s comm --percent-limit 0 ebprof.data
	want_status 0 report
	awk '/^#.* samples \(/ { for (i = 1; i < NF && !all; i++) if ($(i + 1) == "of") { want = $i; all = $(i + 2) } }
		!/^#/ { rows++; seen += $3 } END { exit !(rows && seen == want && seen < all) }' out ||
		fail "$(cat out err)"
	run "$EBPROF" report --stdio -S call_heavy ebprof.data
	grep -q ' call_heavy$' out || fail "no row of a function that only calls another: $(cat out)"
}

test_shares_of_threads() {
	record_shape 1 4
	want_shape
}

test_shares_of_children() {
	record_shape 1 1 3
	want_shape
}

# 500 Hz would be in step with the scheduler's tick, two samples at fixed places of each: where CPUs
# are shared, slices begin and end there, and one program gets more of them than its share.
test_rate() {
	run "$EBPROF" record -F 499 -e cpu-clock -- "$WORKLOADS/workload" 2
	want_rate ebprof.data 499
}

test_threads_and_children_are_followed() {
	run "$EBPROF" record -- "$WORKLOADS/workload" 1 3 2
	want_status 0 workload
	[[ $(field ebprof.data processes) == 3 ]] || fail "$(field ebprof.data processes) processes, not 3"
	[[ $(field ebprof.data threads) == 5 ]] || fail "$(field ebprof.data threads) threads, not 5"
	want_rate ebprof.data 999
}

# A thread, and a child, that begin after -p did.
test_pid_follows_new_children() {
	bash -c 'until grep -q "Ctrl-C to stop" err; do sleep 0.1; done; "$WORKLOADS/workload" 1 2 1; :' &
	local target=$!
	run timeout 300 "$EBPROF" record -p $target
	want_status 0 -p
	want_rate ebprof.data 999
	want_exact ebprof.data
}

test_no_inherit() {
	run "$EBPROF" record -i -- sh -c '"$WORKLOADS/workload" 1; :'
	want_status 0 -i
	[[ $(field ebprof.data samples) -lt 50 ]] || fail "$(field ebprof.data samples) samples of a child"
	want_exact ebprof.data
}

test_exec_is_followed() {
	run "$EBPROF" record -- sh -c 'exec "$WORKLOADS/workload" 1'
	want_rate ebprof.data 999
	"$EBPROF" info --mappings ebprof.data >text
	grep -q 'workload$' text || fail "the new program is not among the objects"
}

test_all_user_and_all_kernel() {
	run "$EBPROF" record --all-kernel -- "$WORKLOADS/workload" 1
	want_exact ebprof.data
	local kernel user
	kernel=$(field ebprof.data samples)
	run "$EBPROF" record --all-user -- "$WORKLOADS/workload" 1
	want_exact ebprof.data
	user=$(field ebprof.data samples)
	((user > 3 * kernel)) || fail "$user user and $kernel kernel samples of a program that computes"
}

run_tests
