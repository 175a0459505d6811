#!/bin/bash
# Racket CS: functions by name between C's, on a stack of their own.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

# Racket of a version whose stacks are known, or the end of the test.
racket_of_known_version() {
	interpreters racket >/dev/null || exit $?
	racket --version | grep -q ' v8\.7 \[cs\]' || skip "$(racket --version): only 8.7 CS is known"
}

record_shape() { # SECONDS OPTION...
	"$EBPROF" record -q -o shape.data "${@:2}" -- racket "$here/racket_shape.rkt" "$1" >/dev/null 2>err ||
		fail "record racket: $(cat err)"
}

# Of all samples in turn(): those with each of its callees, and with just the callers that these have.
# What the runtime does, its timer and its collector say, comes behind these.
test_whole_stacks() {
	local all known h m l deep capture callback collect gc found
	racket_of_known_version
	record_shape 3
	read -r all known h m l deep capture callback collect gc < <(count shape.data '
		/;main;racket_boot;Scall2;S_call_help;.*;turn(;|$)/ {
			add("all")
			sub(/.*;turn/, "")
			if (/^;heavy(;spin|$)/) add("h")
			if (/^;medium(;spin|$)/) add("m")
			if (/^;light(;spin|$)/) add("l")
			if (/^;capture;.*:13:32;light;spin/) add("capture")
			if (/^;callback;.*;qsort_r;.*;S_call_help;.*;compare;light;spin/) add("callback")
			if (/^;collect;allocate/) add("collect")
			if (/;S_do_gc/) add("gc")
			if (/^$|^;(heavy|medium|light|capture|callback|collect)(;|$)/) add("known")
			if (/^;recurse(;|$)/) {
				calls = gsub(/;recurse/, "")
				if (/^;light;spin/ && calls == 40) add("deep")
				if (!/^;light/ || calls == 40) add("known")
			}
		}
		END { print c["all"] + 0, c["known"] + 0, c["h"] + 0, c["m"] + 0, c["l"] + 0, c["deep"] + 0,
			c["capture"] + 0, c["callback"] + 0, c["collect"] + 0, c["gc"] + 0 }')
	[[ $all -gt 800 ]] || fail "only $all samples in turn(): $(cut -c1-300 stacks | head -5)"
	percent "callers of turn()'s callees" "$known" "$all" 99.5
	near "medium, of that and heavy" "$m" $((h + m)) 33.3 6
	near "light, of that and heavy" "$l" $((h + l)) 14.3 6
	for found in "40 frames of recursion: $deep" "call/cc(lambda): $capture" "C calls back: $callback" \
		"a list: $collect" "the collector: $gc"; do
		[[ ${found##*: } -ge 3 ]] || fail "samples of ${found}"
	done
	want_whole shape.data
}

test_attached() {
	local all whole pid
	racket_of_known_version
	racket "$here/racket_shape.rkt" 60 >turning &
	pid=$!
	wait_until "that its files are loaded" test -s turning
	"$EBPROF" record -q -o shape.data --duration 1 --unwind-cache none -p $pid >/dev/null 2>err || fail "record: $(cat err)"
	kill $pid
	read -r all whole < <(count shape.data '
		{ add("all") }
		/;main;racket_boot;Scall2;S_call_help;./ { add("whole") }
		END { print c["all"] + 0, c["whole"] + 0 }')
	percent "stacks from main() on" "$whole" "$all" 98
}

test_unwanted() {
	racket_of_known_version
	record_shape 0.3 --no-vm racket
	count shape.data '/;(turn|heavy|spin)(;|$)/ { add("x") } END { print c["x"] + 0 }' | grep -qx 0 ||
		fail "functions of Racket in spite of --no-vm"
}

run_tests 2 # each samples one thread, by the CPU time that it gets
