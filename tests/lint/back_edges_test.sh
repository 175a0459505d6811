#!/bin/bash
# Are loops that Linux 6.1 refuses told from others? Code as llvm-objdump prints it.
set -u
script=$(cd "$(dirname "$0")/../.." && pwd)/bpf/back_edges.awk
failed=0

try() { # NAME WANTED INSTRUCTION...
	local name=$1 wanted=$2 said
	shift 2
	said=$({
		echo "0000000000000000 <$name>:"
		printf '%8d:\t%s\n' "$@"
	} | awk -f "$script")
	if [[ $said == "$wanted" ]]; then
		echo "ok back edges: $name"
	else
		echo "not ok back edges: $name: \"$said\" is not \"$wanted\""
		failed=1
	fi
}

try no_loop "" 0 "w0 = 0" 1 "if w1 == 0 goto +1 <LBB0_2>" 2 "w0 = 1" 3 "exit"
try ends_with_a_jump "" 0 "w1 = 0" 1 "w1 += 1" 2 "if w1 < 9 goto -2 <LBB0_1>" 3 "exit"
try ends_with_goto "" 0 "w1 = 0" 1 "if w1 > 9 goto +2 <LBB0_2>" 2 "w1 += 1" 3 "goto -3 <LBB0_1>" 4 "exit"
try wide_instruction "" 0 "r1 = 0 ll" 2 "w1 += 1" 3 "if w1 < 9 goto -2 <LBB0_1>" 4 "exit"
# Entered in the middle: what is ahead of it there is the loop's end.
try falls_through "falls_through: insn 2 falls through into a loop, which Linux 6.1 refuses" \
	0 "w1 = 0" 1 "goto +1 <LBB0_1>" 2 "w1 += 1" 3 "if w1 < 9 goto -2 <LBB0_2>" 4 "exit"
try calls_at_its_end "calls_at_its_end: insn 2 falls through into a loop, which Linux 6.1 refuses" \
	0 "w6 = 0" 1 "goto +1 <LBB0_1>" 2 "call 7" 3 "if w0 < 9 goto -2 <LBB0_2>" 4 "exit"
exit $failed
