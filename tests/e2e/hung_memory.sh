#!/bin/bash
# A process whose memory cannot be read, ever: the recorder ends when it should, and says what is
# missing.
. "$(dirname "$0")/prelude.bash"

test_a_line_table_that_is_never_brought() {
	[[ -x /usr/bin/python3 ]] || skip "no python3"
	/usr/bin/python3 "$here/hung_memory.py" >ready &
	target=$!
	until [[ -s ready ]]; do
		if ! kill -0 $target 2>/dev/null; then
			wait $target
			[[ $? != 77 ]] || skip "no userfaultfd, or a Python that keeps lines elsewhere"
			fail "hung_memory.py ended"
		fi
		sleep 0.1
	done
	timeout -k 1 60 "$EBPROF" record -q -o hung.data --duration 2 -p $target 2>err ||
		fail "the recorder did not end by itself: $? $(cat err)"
	kill -0 $target 2>/dev/null || fail "the target is gone: nothing hung"
	"$EBPROF" info --json hung.data >info.json || fail "info failed"
	grep -q '"code_given_up": *[1-9]' info.json || fail "nothing was given up: $(cat info.json)"
	"$EBPROF" convert --folded -i hung.data -o folded 2>err || fail "convert failed: $(cat err)"
	grep -q ';hung;spin' folded || fail "no names: $(head -n 3 folded)"
	kill -9 $target
}

run_tests
