#!/bin/bash
# PHP programs: the whole stack of script frames among native ones, with and without opcache's
# compiler, and where native frames cannot be had.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

phps() { interpreters php; }

# The loop's native frame: files of another root have no names.
loop='(execute_ex|php[^;]*[+]0x[0-9a-f]+)'
# The native stack is there up to the process's beginning, and the script's is in the middle of it.
is_whole='/;[{]main[}]/ && !/truncated|^[^;]*;[{]main[}]/'

record_shape() { # PHP SECONDS FACTOR [PHP_OPTION...] -- [OPTION...]
	local php=$1 seconds=$2 factor=$3 options=()
	shift 3
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	shift
	"$EBPROF" record -q -o shape.data "$@" -- "$php" "${options[@]}" "$here/php_shape.php" "$seconds" "$factor" >spent 2>err ||
		fail "record $php: $(cat err)"
}

# Options for opcache's compiler, or nothing where there is none: packages that were only unpacked
# have no configuration that loads it.
compiler() { # PHP tracing|function
	local load=() options
	"$1" -m 2>/dev/null | grep -q 'Zend OPcache' || load=(-d zend_extension=opcache.so)
	options=("${load[@]}" -d opcache.enable_cli=1 -d opcache.jit="$2" -d opcache.jit_buffer_size=32M)
	"$1" "${options[@]}" -r 'exit(function_exists("opcache_get_status")
		&& !empty(opcache_get_status(false)["jit"]["on"]) ? 0 : 1);' >/dev/null 2>&1 && printf '%s\n' "${options[@]}"
}

whole_stacks() { # WHAT LEAST measured|compiled
	local all whole h m l sort pattern deep gen method included string want_h want_m want_l found
	read -r want_h want_m want_l <spent
	read -r all whole h m l sort pattern deep gen method included string < <(count shape.data '
		/^php/ { add("all") }
		'"$is_whole"' { add("whole") }
		/;heavy;spin/ { add("h") } /;medium;spin/ { add("m") } /;light;spin/ { add("l") }
		/by_sort;usort;.*'"$loop"';[^;]*[{]closure[^;]*;spin/ { add("sort") }
		/by_pattern;preg_replace_callback;.*'"$loop"';[^;]*[{]closure[^;]*;spin/ { add("pattern") }
		/;recurse/ { copy = $0; if (gsub(/;recurse/, "", copy) == 41) add("deep") }
		/;generate;.*'"$loop"';produce;spin/ { add("gen") }
		/;run;Größe::method;spin/ { add("method") }
		/;run;[{]include[}];spin/ { add("included") }
		/;by_string;.*'"$loop"';Größe::__toString;spin/ { add("string") }
		END { print c["all"] + 0, c["whole"] + 0, c["h"] + 0, c["m"] + 0, c["l"] + 0, c["sort"] + 0,
			c["pattern"] + 0, c["deep"] + 0, c["gen"] + 0, c["method"] + 0, c["included"] + 0, c["string"] + 0 }' |
		tr '\n' ' ')
	percent "$1: stacks up to the program's beginning" "$whole" "$all" "$2"
	if [[ $3 == measured ]]; then
		near "$1: heavy" "$h" $((h + m + l)) "$want_h"
		near "$1: medium" "$m" $((h + m + l)) "$want_m"
		near "$1: light" "$l" $((h + m + l)) "$want_l"
	else # compiling takes its time, wherever it begins
		percent "$1: heavy" "$h" $((h + m + l)) 50
		percent "$1: medium" "$m" $((h + m + l)) 20
		percent "$1: light" "$l" $((h + m + l)) 4
	fi
	for found in "usort(function): $sort" "preg_replace_callback(function): $pattern" "a generator: $gen" \
		"a method: $method" "41 frames of recursion: $deep" "an included file: $included" "__toString: $string"; do
		[[ ${found##*: } != 0 ]] || fail "$1: no sample of ${found%: *}"
	done
}

test_whole_stacks() {
	local php list
	list=$(phps) || exit $?
	for php in $list; do
		record_shape "$php" 3 1 --
		whole_stacks "$php" 96 measured
		want_whole shape.data
		want_exact shape.data
	done
}

# Nothing is known of any file when the program begins.
test_cold() {
	local php list all main
	list=$(phps) || exit $?
	for php in $list; do
		record_shape "$php" 2 1 -- --unwind-cache none
		read -r all main < <(count shape.data '
			/^php/ { add("all") }
			/[{]main[}]/ { add("main") }
			END { print c["all"] + 0, c["main"] + 0 }')
		percent "$php: stacks with the program's beginning" "$main" "$all" 95
	done
}

test_compiled() {
	local php list how options=() compiled=0
	list=$(phps) || exit $?
	for php in $list; do
		for how in tracing function; do
			mapfile -t options < <(compiler "$php" "$how")
			[[ ${#options[@]} != 0 ]] || continue
			record_shape "$php" 2 10 "${options[@]}" --
			whole_stacks "$php, $how" 90 compiled
			compiled=1
		done
	done
	[[ $compiled == 1 ]] || skip "no opcache that compiles here"
}

test_lines() {
	local php list line hot all
	line=$(grep -n '// hot' "$here/php_shape.php" | cut -d: -f1)
	command -v go >/dev/null || skip "no go here, whose pprof shows lines"
	list=$(phps) || exit $?
	for php in $list; do
		record_shape "$php" 2 1 --
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		hot=$(awk -v at="php_shape.php:$line" '/ spin / && index($0, at) { print $4 + 0 }' top)
		all=$(awk '/ spin / { if ($4 + 0 > max) max = $4 + 0 } END { print max }' top)
		[[ -n $hot && $hot == "$all" ]] || fail "$php: line $line has ${hot:-nothing}, the hottest of spin $all"
	done
}

# Stacks in order where loops end late, generators delegate, and native frames are elsewhere.
test_odd_frames() {
	local php list all main freed delegated fiber pattern found
	list=$(phps) || exit $?
	for php in $list; do
		"$EBPROF" record -q -o odd.data -- "$php" -d pcre.jit=1 "$here/php_odd.php" 3 >has_fibers 2>err ||
			fail "record $php: $(cat err)"
		read -r all main freed delegated fiber pattern < <(count odd.data '
			/^php/ { add("all") }
			/[{]main[}]/ { add("main") }
			/;freeing;array_map;/ { add(/;execute_ex;/ ? "calls" : "freed") }
			/execute_ex;[{]main[}];freeing;array_map;.*execute_ex;zend_array_destroy/ { add("freed") }
			/;delegating;.*outest;outer;inner;spin/ { add("delegated") }
			/[{]main[}];in_fiber;Fiber::resume;.*'"$loop"';[^;]*[{]closure[^;]*;spin/ { add("fiber") }
			/[{]main[}];by_pattern;.*\[pcre2 jit\]/ { add("pattern") }
			END { print c["all"] + 0, c["main"] + 0, c["freed"] + 0, c["delegated"] + 0, c["fiber"] + 0, c["pattern"] + 0 }')
		percent "$php: stacks with the program's beginning" "$main" "$all" 95
		[[ $(cat has_fibers) == 1 ]] || fiber="none there"
		for found in "what a callback frees: $freed" "yield from: $delegated" "a fiber: $fiber" "a compiled pattern: $pattern"; do
			[[ ${found##*: } != 0 ]] || fail "$php: no sample of ${found%: *}"
		done
	done
}

test_unwanted() {
	local php list
	list=$(phps) || exit $?
	record_shape "${list%%$'\n'*}" 1 1 -- --no-vm php
	count shape.data '/heavy|unnamed/ { add("x") } END { print c["x"] + 0 }' | grep -qx 0 ||
		fail "script frames in spite of --no-vm"
}

# A version that is yet to come: its frames are native ones, and the summary says so once. What is
# kept of its build is of the true one.
test_unknown_version() {
	local php list
	list=$(interpreters php) || exit $?
	[[ -z ${SYMFS-} ]] || skip "a copy runs outside of the suite's folder only"
	php=${list%%$'\n'*}
	sed 's/Zend Engine v[0-9]/Zend Engine v9/' "$php" >php9 || fail "sed"
	chmod +x php9
	cmp -s "$php" php9 && skip "does not say its version as others do"
	run "$EBPROF" record --unwind-cache none -o php9.data -- ./php9 -r 'function work() { $x = 0; for ($i = 0; $i < 20000000; $i++) $x += $i; } work();'
	want_status 0 record
	[[ $(grep -c 'php9 is a php that is not known here' err) == 1 ]] || fail "no word of it: $(cat err)"
	"$EBPROF" info php9.data | grep -q '^script frames' && fail "script frames all the same"
	run "$EBPROF" record --unwind-cache none --no-vm php -o php9.data -- ./php9 -r '1;'
	! grep -q 'is a php that' err || fail "unwanted, and mentioned"
}

run_tests 2 # each samples one thread, by the CPU time that it gets
