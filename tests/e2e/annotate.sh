#!/bin/bash
# Lines and instructions of functions: a real program whose time is spent in known lines.
# Mostly waits: for the programs that it records.
. "$(dirname "$0")/prelude.bash"

make_program() { # COMPILER_OPTIONS...
	command -v gcc >/dev/null || skip "no gcc here"
	mkdir -p src
	cat >src/hot.c <<-'PROGRAM'
		#include <stdint.h>
		#include <time.h>
		static volatile uint64_t sink;
		static inline __attribute__((always_inline)) uint64_t mix(uint64_t x)
		{
			for (int i = 0; i < 400; i++)
				x = x * 0xff51afd7ed558ccd % 1000003; /* inner line */
			return x;
		}
		__attribute__((noipa)) uint64_t hot(uint64_t n)
		{
			uint64_t sum = n;
			for (uint64_t i = 0; i < 1000; i++)
				sum = (sum + i) * 7919 % 65521 + sum / 3 % 1021; /* hot line */
			return sum;
		}
		__attribute__((noipa)) uint64_t calls(uint64_t n)
		{
			uint64_t sum = hot(n); /* calling line */
			return sum + mix(sum); /* inlining line */
		}
		int main(void)
		{
			while (clock() < CLOCKS_PER_SEC)
				for (int i = 0; i < 100; i++)
					sink += calls(i);
			return 0;
		}
	PROGRAM
	gcc -g -fno-omit-frame-pointer "$@" -o hot "$PWD/src/hot.c" || fail "gcc failed"
	"$EBPROF" record -o hot.data -- ./hot 2>err || fail "record: $(cat err)"
}

# The columns self and total of the row that holds a text, 0 where there is nothing.
shares() { # TEXT
	awk -v text="$1" 'index($0, text) {
		self = substr($0, 1, 8) + 0; total = substr($0, 9, 8) + 0; print self, total; exit }' out
}

want_share() { # TEXT COLUMN LEAST MOST
	local got
	got=$(shares "$1" | cut -d' ' -f "$2")
	awk -v got="${got:--1}" -v least="$3" -v most="$4" 'BEGIN { exit !(got >= least && got <= most) }' ||
		fail "column $2 of \"$1\" is ${got:-not there}, not $3 to $4: $(cat out)"
}

test_hot_line() {
	make_program -O1
	run "$EBPROF" annotate hot hot.data
	want_status 0 annotate
	want_share 'hot line' 1 80 100
	want_share 'return sum;' 1 0 10
	grep -q '^# hot  hot$' out || fail "no head: $(head -n 2 out)"
}

# Of some of the samples, by what ran and when; none of them is an error.
test_of_some_samples() {
	make_program -O1
	run "$EBPROF" annotate hot hot.data --time 0,100ms -c hot
	want_status 0 "annotate of a tenth of a second"
	want_share 'hot line' 1 80 100
	local all few
	few=$(grep -oE '[0-9]+ samples' out)
	all=$("$EBPROF" annotate hot hot.data 2>/dev/null | grep -oE '[0-9]+ samples')
	((${few% *} > 0 && ${few% *} < ${all% *})) || fail "$few of $all"
	run "$EBPROF" annotate hot hot.data --pid 1
	want_status 2 "of another process"
	run "$EBPROF" annotate hot hot.data --time 3600,
	want_status 2 "of a time behind it"
	grep -q 'nothing from 3600' err || fail "$(cat err)"
}

# What was inlined is another function's time, but the line of the call has it in its total.
test_calls_and_inlined() {
	make_program -O1
	run "$EBPROF" annotate -i hot.data -S calls
	want_share 'calling line' 1 0 5
	want_share 'calling line' 2 20 95
	want_share 'inlining line' 2 5 80
	run "$EBPROF" annotate -i hot.data mix
	want_share 'inner line' 1 50 100
	run "$EBPROF" annotate -i hot.data mix --layout assembly
	command -v objdump >/dev/null || skip "no objdump here"
	grep -q '^# inlined: the assembly is that of calls' out || fail "whose code is it: $(cat out)"
	grep -Eq '^ +outside: hot.c:[0-9]+ calls$' out || fail "the caller's is not told: $(cat out)"
	! grep -Eq 'inlined: hot.c:[0-9]+ calls$' out || fail "the caller is inlined: $(cat out)"
	run "$EBPROF" annotate -i hot.data calls --layout both
	grep -Eq '%.* inlined: hot.c:7 mix$' out || fail "no line of what was inlined: $(cat out)"
}

# A line and its instructions are one question: what is printed in front of a line's own
# instructions adds up to the line's, that of inlined instructions to that of their row.
test_lines_are_what_their_instructions_are() {
	command -v objdump >/dev/null || skip "no objdump here"
	make_program -O1
	run "$EBPROF" annotate -i hot.data calls --layout both
	want_share 'inlined: hot.c:7 mix' 1 5 80
	awk '
		function share(at) { return substr($0, at, 8) + 0 }
		function judge() { if (row != "" && (sum > self + .1 || sum < self - .1)) {
			print row ": " sum " of its instructions"; bad = 1 } }
		/^#/ { next }
		substr($0, 17) ~ /^ +[0-9a-f]+:  / { sum += share(1); all += share(1); next }
		NF { judge(); row = $0; self = share(1); rows += self; sum = 0 }
		END { judge(); if (rows < 5) { print "lines have " rows; bad = 1 } exit bad }
	' out >sums || fail "$(cat sums out)"
	run "$EBPROF" annotate -i hot.data calls --layout source
	want_share 'inlined: hot.c:7 mix' 1 5 80
	grep -q '^# what was inlined into a line has rows of its own below it$' out ||
		fail "it is not said: $(cat out)"
}

test_assembly() {
	command -v objdump >/dev/null || skip "no objdump here"
	make_program -O1
	run "$EBPROF" annotate hot hot.data --layout assembly
	# In total: the kernel interrupts it, on a busy machine for more than rounding takes.
	awk '/^ *[0-9.]+%/ { sum += $2 } END { exit !(sum > 98 && sum < 102) }' out ||
		fail "the instructions do not add up: $(cat out)"
	grep -q 'hot.c:14$' out || fail "no line above the instructions: $(cat out)"
	if [[ $(uname -m) == x86_64 ]]; then
		run "$EBPROF" annotate hot hot.data --layout assembly --intel
		! grep -q '%r' out || fail "not Intel's syntax: $(cat out)"
	fi
}

test_moved_source() {
	make_program -O1
	mkdir -p away/tree
	mv src away/tree/src
	run "$EBPROF" annotate hot hot.data --layout source
	grep -q "# the source $PWD/src/hot.c is not here; tried $PWD/src/hot.c: --source-dir" out ||
		fail "not what was tried: $(cat out)"
	grep -Eq '^ *[0-9.]+%.* 14$' out || fail "no weights of lines without text: $(cat out)"
	run "$EBPROF" annotate hot hot.data --source-dir away/tree
	want_share 'hot line' 1 80 100
	touch -d '1 hour' away/tree/src/hot.c
	run "$EBPROF" annotate hot hot.data --source-dir away/tree
	grep -q '^# this file is newer than the binary' out || fail "newer, and the report does not say so"
}

# Another build at the path of the recorded one is not shown.
test_rebuilt_binary() {
	make_program -O1
	run "$EBPROF" archive hot.data
	gcc -g -O2 -DX -o hot src/hot.c
	run "$EBPROF" annotate hot hot.data --layout assembly
	grep -q '^# no assembly of .*/hot: the file here is another build' out ||
		fail "it is not said: $(cat out)"
	! grep -q 'ret' out || fail "instructions of another build"
	run "$EBPROF" annotate hot hot.data
	want_share 'hot line' 1 80 100
}

test_newer_script() {
	[[ -x /usr/bin/python3 ]] || skip "no python3 here"
	printf '%s\n' 'def leaf(n):' '    s = 0' '    for i in range(n): s += i' 'for k in range(150): leaf(100000)' >script.py
	"$EBPROF" record -q -o script.data -- /usr/bin/python3 script.py 2>err || fail "record: $(cat err)"
	run "$EBPROF" annotate leaf script.data
	! grep -q 'is newer' out || fail "it is not: $(cat out)"
	sed -i '1i import os' script.py
	run "$EBPROF" annotate leaf script.data
	grep -q '^# this file is newer than the recording' out || fail "newer, and it is not said: $(cat out)"
}

test_no_debug_information() {
	command -v objdump >/dev/null || skip "no objdump here"
	make_program -O1 -g0
	run "$EBPROF" annotate hot hot.data
	grep -q 'ret' out || fail "no instructions: $(cat out)"
	rm hot
	run "$EBPROF" annotate hot hot.data
	grep -q '^# no assembly of .*/hot: the file is not on this machine' out || fail "it is not said: $(cat out)"
	make_program -O1 -g0
	"$EBPROF" record -q --no-archive -o hot.data -- ./hot 2>err || fail "record: $(cat err)"
	rm hot
	run "$EBPROF" annotate hot hot.data
	[[ $status == 2 ]] || fail "a function that cannot be named was found"
}

# What the thread did most is to wait in the kernel: that is not what is shown without being named.
test_user_code_is_chosen() {
	command -v gcc >/dev/null || skip "no gcc here"
	cat >naps.c <<-'PROGRAM'
		#include <stdint.h>
		#include <time.h>
		#include <unistd.h>
		static volatile uint64_t sink;
		__attribute__((noipa)) static void works(void)
		{
			for (int i = 0; i < 3000000; i++)
				sink += i * 7919 % 65521; /* working line */
		}
		int main(void)
		{
			while (clock() < CLOCKS_PER_SEC / 2) {
				works();
				usleep(50000);
			}
			return 0;
		}
	PROGRAM
	gcc -g -O1 -fno-omit-frame-pointer -o naps naps.c || fail "gcc failed"
	"$EBPROF" record -e wall -o naps.data -- ./naps 2>err || fail "record: $(cat err)"
	run "$EBPROF" annotate -i naps.data
	want_status 0 annotate
	head -n 1 out | grep -q '^# works  naps  (none was named; another one: ebprof annotate FUNCTION' ||
		fail "another function, or not how to choose: $(cat out)"
	grep -Eq '^# the hottest is another one: .*  self [0-9.]+%$' out ||
		fail "it is not said that another one has more: $(cat out)"
	want_share 'working line' 2 80 100
	run "$EBPROF" annotate -i naps.data works
	! grep -Eq 'hottest|none was named' out || fail "what was named is called a choice: $(cat out)"
}

# The C library takes most of the time, for a line of the program: this is what can be changed.
test_own_code_before_libraries() {
	command -v gcc >/dev/null || skip "no gcc here"
	cat >fills.c <<-'PROGRAM'
		#include <stdlib.h>
		#include <string.h>
		#include <time.h>
		enum { SIZE = 1 << 16 };
		__attribute__((noipa)) static void fills(char *room)
		{
			memset(room, 1, SIZE); /* filling line */
		}
		__attribute__((noipa)) static long counts(const char *room)
		{
			long sum = 0;
			for (int i = 0; i < SIZE / 512; i++)
				sum += room[i] * 7919 % 65521; /* counting line */
			return sum;
		}
		int main(void)
		{
			char *room = malloc(SIZE);
			volatile long sink = 0;
			while (clock() < CLOCKS_PER_SEC)
				for (int i = 0; i < 300; i++) {
					fills(room);
					sink += counts(room) & 1;
				}
			free(room);
			return 0;
		}
	PROGRAM
	gcc -g -O1 -fno-omit-frame-pointer -o fills fills.c || fail "gcc failed"
	"$EBPROF" record -o fills.data -- ./fills 2>err || fail "record: $(cat err)"
	run "$EBPROF" annotate -i fills.data
	want_status 0 annotate
	grep -Eq '^# the hottest is another one: .*memset.*  libc.so.6  self' out ||
		skip "memset() is not the hottest here: $(head -n 3 out)"
	grep -q '^# fills  fills  (none was named; ' out || fail "another function: $(cat out)"
	want_share 'filling line' 2 90 100
}

# The source may be anything by now, and say anything.
test_odd_source() {
	make_program -O1
	printf '\033]0;title\007\n\t\302\233\n%.0s' {1..20} >src/hot.c
	run "$EBPROF" annotate hot hot.data
	want_no_control_bytes out err
	grep -q 'x1b' out || fail "the text is not there: $(cat out)"
	local kind
	for kind in fifo zero; do
		rm -f src/hot.c
		if [[ $kind == fifo ]]; then mkfifo src/hot.c; else ln -s /dev/zero src/hot.c; fi
		run timeout 120 "$EBPROF" annotate hot hot.data
		want_status 0 "a $kind as source"
		grep -q 'is not here' out || fail "a $kind was read"
	done
}

test_words() {
	make_program -O1
	run "$EBPROF" annotate nosuch hot.data
	want_status 2 'an unknown function'
	grep -q 'no sample has a function nosuch: ebprof report lists what was met$' err || fail "$(cat err)"
	run "$EBPROF" annotate hott hot.data
	want_status 2 'a mistyped function'
	grep -q 'no sample has a function hott: did you mean "hot"?' err || fail "$(cat err)"
	run "$EBPROF" annotate hot.data
	want_status 2 'only a file'
	grep -q 'hot.data was taken for a function' err || fail "$(cat err)"
	run "$EBPROF" annotate --layout nosuch
	want_status 2 'an unknown layout'
	run "$EBPROF" annotate -i hot.data
	want_status 0 'the hottest'
}

run_tests
