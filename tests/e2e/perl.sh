#!/bin/bash
# Perl programs: the whole stack of script frames among native ones, however C code comes to call
# subs, also of short-lived processes and when nothing is known of the interpreter yet.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

perls() { interpreters perl; }

# Perl's own functions in stacks: those of a program in another root have no names.
nameless='perl[+]0x[0-9a-f]+' runops='(Perl_runops_standard|perl[+]0x[0-9a-f]+)'

record_shape() { # PERL SECONDS THREADS OPTION...
	local perl=$1 seconds=$2 threads=$3
	shift 3
	"$EBPROF" record -q -o shape.data "$@" -- "$perl" "$here/perl_shape.pl" "$seconds" "$threads" >spent 2>err ||
		fail "record $perl: $(cat err)"
}

# What stands between the frames of by_* and those of the sub that C code calls for them.
calls_from_c() { # PERL
	local what
	count shape.data '
		function is(what, pattern) { if ($0 ~ "main::by_" pattern) add(what) }
		{
			gsub(/'"$nameless"'/, "?")
			runops = "[^<>]*;(Perl_runops_standard|[?]);"
			is("sort SUB", "sort;" runops "main::by_name;main::key;")
			is("sort BLOCK", "block;" runops "main::key;")
			is("sort, a last call", "last;" runops "main::by_name;main::key;")
			is("sort, with eval", "sort_eval;" runops "main::key;")
			is("first", "first;" runops "main::__ANON__;main::key;")
			is("reduce", "reduce;" runops "main::__ANON__;main::key;")
			is("eval BLOCK", "eval;main::spin")
			is("eval TEXT", "text;[(]eval[)];main::spin")
			is("code in a regex", "regex;" runops "main::key;")
			is("tie", "tie;" runops "Tied::FETCH;main::spin")
			is("overload", "operator;" runops "Number::add;main::spin")
			is("DESTROY", "destroy;" runops "Guard::DESTROY;main::spin")
			is("a closure", "closure;main::__ANON__;main::spin")
			is("a signal", "signal;" runops "main::on_signal;main::spin")
		}
		/;main::recurse/ { copy = $0; if (gsub(/;main::recurse/, "", copy) == 41) add("41 frames of recursion") }
		END { for (k in c) print k }' >found
	for what in "sort SUB" "sort BLOCK" "sort, a last call" "sort, with eval" first reduce "eval BLOCK" "eval TEXT" \
		"code in a regex" tie overload DESTROY "a closure" "a signal" "41 frames of recursion"; do
		grep -qx "$what" found || fail "$1: no sample of $what"
	done
}

shares() { # PERL
	local h m l want_h want_m want_l
	read -r want_h want_m want_l <spent
	read -r h m l < <(count shape.data '
		/;main::heavy;main::spin/ { add("h") } /;main::medium;main::spin/ { add("m") }
		/;main::light;main::spin/ { add("l") }
		END { print c["h"] + 0, c["m"] + 0, c["l"] + 0 }')
	near "$1: heavy" "$h" $((h + m + l)) "$want_h"
	near "$1: medium" "$m" $((h + m + l)) "$want_m"
	near "$1: light" "$l" $((h + m + l)) "$want_l"
}

test_whole_stacks() {
	local perl list all whole
	list=$(perls) || exit $?
	for perl in $list; do
		record_shape "$perl" 5 0
		read -r all whole < <(count shape.data '
			{ add("all") }
			/;'"$runops"';<main>;main::run;/ { add("whole") }
			END { print c["all"] + 0, c["whole"] + 0 }')
		percent "$perl: stacks up to the program's beginning" "$whole" "$all" 96
		shares "$perl"
		calls_from_c "$perl"
		want_whole shape.data
		want_exact shape.data
	done
}

# Two interpreters, and nothing is known of any file when the program begins.
test_cold_threads() {
	local perl list all whole thread
	list=$(perls) || exit $?
	for perl in $list; do
		record_shape "$perl" 4 1 --unwind-cache none
		read -r all whole thread < <(count shape.data '
			{ add("all") }
			/;'"$runops"';<main>;main::run;/ { add("whole") }
			/;'"$runops"';main::run_in_thread;main::run;/ { add("whole"); add("thread") }
			END { print c["all"] + 0, c["whole"] + 0, c["thread"] + 0 }')
		percent "$perl: stacks up to the program's beginning" "$whole" "$all" 95
		percent "$perl: the second thread" "$thread" "$all" 20
	done
}

test_lines() {
	local perl list line hot all
	line=$(grep -n '# hot' "$here/perl_shape.pl" | cut -d: -f1)
	command -v go >/dev/null || skip "no go here, whose pprof shows lines"
	list=$(perls) || exit $?
	for perl in $list; do
		record_shape "$perl" 2 0
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -cum -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		hot=$(awk -v at="perl_shape.pl:$line" '/ main::spin / && index($0, at) { print $4 + 0 }' top)
		all=$(awk '/ main::spin / { if ($4 + 0 > max) max = $4 + 0 } END { print max }' top)
		[[ -n $hot && $hot == "$all" ]] || fail "$perl: line $line has ${hot:-nothing}, the hottest of spin $all"
	done
}

# What is run while the program is still read, and what is asked for later.
test_modules() {
	local perl list compiled required
	list=$(perls) || exit $?
	cat >"$PWD/Compiled.pm" <<'PERL'
package Compiled;
my $x = 0;
for my $i (1 .. 4_000_000) { $x += $i }
1;
PERL
	sed 's/Compiled/Required/' "$PWD/Compiled.pm" >"$PWD/Required.pm"
	for perl in $list; do
		"$EBPROF" record -q -F 999 -o modules.data -- "$perl" -I "$PWD" \
			-e 'use Compiled; sub later { require Required } later()' 2>err || fail "$(cat err)"
		read -r compiled required < <(count modules.data '
			/;'"$runops"';main::BEGIN;require Compiled.pm/ { add("compiled") }
			/;'"$runops"';<main>;main::later;require Required.pm/ { add("required") }
			END { print c["compiled"] + 0, c["required"] + 0 }')
		[[ $compiled -gt 20 && $required -gt 20 ]] ||
			fail "$perl: $compiled samples in a module that is used, $required in one that is required"
	done
}

# 30 processes of 0.25 s, one after the other: all of it, from exec to exit.
test_short_lived() {
	local perl list all named
	list=$(perls) || exit $?
	cat >"$PWD/short.pl" <<'PERL'
sub work { my $x = 0; $x += $_ for 1 .. 1000; return $x }
sub main { work() while (times)[0] < 0.25 }
main();
PERL
	for perl in $list; do
		"$EBPROF" record -q -F 999 -o short.data -- \
			bash -c 'for i in {1..30}; do "$0" "$PWD/short.pl"; done' "$perl" 2>err || fail "$(cat err)"
		read -r all named < <(count short.data '
			/^perl;/ { add("all"); if (/;<main>;main::main;/ && !/unnamed:/) add("named") }
			END { print c["all"] + 0, c["named"] + 0 }')
		[[ $all -gt 1500 ]] || fail "$perl: only $all samples in interpreters"
		percent "$perl: named" "$named" "$all" 85
	done
}

test_unwanted_and_counted() {
	local perl list
	list=$(perls) || exit $?
	perl=${list%%$'\n'*}
	record_shape "$perl" 1 0 --no-vm perl
	count shape.data '/main::heavy|unnamed/ { add("x") } END { print c["x"] + 0 }' | grep -qx 0 ||
		fail "script frames in spite of --no-vm"
	record_shape "$perl" 1 0
	"$EBPROF" info --json shape.data | grep -qE '"script_frames": \{"\[perl\]": \{"frames": [1-9]' ||
		fail "info does not count: $("$EBPROF" info --json shape.data | grep script)"
	"$EBPROF" report -i shape.data >report || fail "report"
	grep -qE '\[perl\] +\[\.\] main::spin$' report || fail "no [perl] in: $(head -n 8 report)"
}

run_tests 2 # each samples one thread, by the CPU time that it gets
