#!/bin/bash
# Programs that are stepped, so that at each instruction all callers are known: what is recorded
# there is that list, or says that it was guessed or is cut.
# Mostly waits: and what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

is_possible() {
	[[ $(uname -m) == x86_64 ]] || skip "only x86-64 can be stepped"
	command -v nm >/dev/null || skip "no nm"
}

# What became of the samples at 1,000 instructions or so, as judge_stacks.py counts them: in judged.
judge() { # PROGRAM SHAPE
	local main
	main=$(nm "$WORKLOADS/$1" | awk '$3 == "main" { print $1 }')
	run "$EBPROF" record -q -F 2000 -o r.data -- "$WORKLOADS/stepped" -o known -n 1500 -f 2 -e 0 \
		-a "$main" "$WORKLOADS/$1" "$2"
	want_status 0 "record $*"
	# shellcheck disable=SC2154 # the prelude sets it
	python3 "$here/judge_stacks.py" --show 5 known r.data >judged 2>wrong || fail "$(tail -n 1 wrong)"
}

count() { # VERDICT
	grep -oP "\b$1 \K[0-9]+" judged
}

want_right() { # PERCENT
	(($(count samples) >= 500)) || fail "too few samples: $(cat judged)"
	[[ $(count wrong) == 0 ]] || fail "$(cat judged): $(head -c 1500 wrong)"
	(($(count exact) * 100 >= $(count samples) * $1)) || fail "too few are whole: $(cat judged)"
}

test_frames_of_compilers() {
	is_possible
	judge frame_shapes compiler
	want_right 97
	judge frame_shapes_bare compiler
	want_right 85
}

test_frames_of_assembly() {
	is_possible
	judge frame_shapes_bare hand
	want_right 80
}

test_contexts_and_signals() {
	is_possible
	local shape
	for shape in context signal switch thread; do
		judge frame_shapes $shape
		want_right 70
		judge frame_shapes_bare $shape
		want_right 60
	done
}

run_tests 2
