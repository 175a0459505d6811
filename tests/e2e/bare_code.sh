#!/bin/bash
# Code that has no unwind rules is read: of programs whose callers are known each stack is the one
# that it has to be.
. "$(dirname "$0")/prelude.bash"
. "$here/known_chains.bash"

[[ $(uname -m) == x86_64 ]] || all_skip=1
shapes=$WORKLOADS/unwind_shapes bare=$WORKLOADS/bare_code no_root=$WORKLOADS/no_root

# A copy of a program whose rules are zeroes.
without_rules() { # PROGRAM COPY
	local offset size
	command -v readelf >/dev/null || skip "no readelf"
	read -r offset size < <(readelf -SW "$1" |
		sed -nE 's/.* \.eh_frame +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/0x\1 0x\2/p')
	[[ -n $size ]] || fail "no .eh_frame in $1"
	cp "$1" "$2"
	dd if=/dev/zero of="$2" bs=1 seek=$((offset)) count=$((size)) conv=notrunc 2>/dev/null
}

is_x86() { [[ -z ${all_skip:-} ]] || skip "only x86-64 code is read"; }

test_program_whose_rules_are_gone() {
	is_x86
	without_rules "$shapes" bare
	record r.data ./bare callback 1.5
	want_stacks r.data 97 'main;callback;.*qsort.*;compare;spin'
	(($(frames r.data code) > 0)) || fail "nothing was read: $("$EBPROF" info r.data)"
	record r.data ./bare recursion 1.5 60
	want_stacks r.data 97 ';main;(recurse[^;]*;|recursion[^;]*;)+'
}

# What lies behind a frame that is larger than any copy is read from the process.
test_frame_larger_than_snapshots() {
	is_x86
	without_rules "$shapes" bare
	record r.data ./bare large 0.7
	want_stacks r.data 97 ';main;keep_much;spin'
	"$EBPROF" convert --folded -o folded r.data || fail "convert"
	grep -q 'truncated: unreadable_stack.*keep_much' folded &&
		fail "cut: $(grep -m 1 unreadable_stack folded)"
	return 0
}

# Written anew at one address: a rule must not outlive the code that it was read from.
test_code_of_no_file_that_changes() {
	is_x86
	record r.data "$bare" 2
	# On a busy machine the code may be another one before the recorder can read it.
	want_stacks r.data 85 ';main;calls;[^;]*JIT[^;]*;spin_(small|large)'
	want_stacks r.data 99 ';main;(calls;[^;]*JIT[^;]*;spin_(small|large)|calls|cpu_seconds)|;\[truncated: unclaimed'
	(($(frames r.data code) > 0)) || fail "nothing was read"
	(($(frames r.data frame_pointer) + $(frames r.data scan) <= 20)) ||
		fail "guessed: $("$EBPROF" info r.data | grep frames)"
}

# Whatever way its stacks are walked: a zero on the stack that a guess came upon is not their root.
test_stack_without_a_root_is_not_complete() {
	is_x86
	local how complete truncated
	for how in auto fp dwarf; do
		run "$EBPROF" record -q -F 997 --call-graph $how -o r.data -- "$no_root" 0.5
		want_status 0 "record --call-graph $how"
		"$EBPROF" info --json r.data >info || fail "info --json"
		complete=$(grep -oP '"stacks": \{"complete": \K[0-9]+' info)
		truncated=$(grep -oP '"truncated": \K[0-9]+(?=, "kernel_only)' info)
		# What the first thread does is the rest.
		((truncated > 100 && complete <= truncated / 15)) || fail "$how: $(grep '"stacks"' info)"
	done
}

# The same for code that was read: main's calls prove its frame, but not that the thread has none.
test_code_that_was_read_does_not_prove_a_root() {
	is_x86
	run "$EBPROF" record -q -F 997 -o r.data -- "$no_root" 2 returning
	want_status 0 record
	"$EBPROF" convert --folded -o folded r.data || fail "convert"
	"$EBPROF" info --json r.data >info || fail "info --json"
	local complete truncated called
	called=$(awk '/;main;spin_for [0-9]+$/ {sum += $NF} END {print sum + 0}' folded)
	complete=$(grep -oP '"stacks": \{"complete": \K[0-9]+' info)
	truncated=$(grep -oP '"truncated": \K[0-9]+(?=, "kernel_only)' info)
	((called > 100 && truncated > called / 2 && complete < called + called / 4)) ||
		fail "of $called calls: $(grep '"stacks"' info)"
}


run_tests
