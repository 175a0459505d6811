#!/bin/bash
# Lua programs, in Lua and in LuaJIT: the whole stack of script frames among native ones, in code
# that is interpreted as in code that was compiled.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/script_frames.bash"

luas() {
	local found=${INTERPRETERS-$(PATH=/usr/bin:/bin command -v lua5.4 luajit)}
	INTERPRETERS=${found:-lua5.4} interpreters lua5.4
}

# What makes an interpreter not compile; an empty line: it never does.
uncompiled() { # LUA
	"$1" -e 'print(jit and jit.status() and "-joff" or "")'
}

record_shape() { # LUA SECONDS OPTION... -- OPTION OF LUA...
	local lua=$1 seconds=$2 options=()
	shift 2
	while [[ $# != 0 && $1 != -- ]]; do
		options+=("$1")
		shift
	done
	"$EBPROF" record -q -o shape.data "${options[@]}" -- "$lua" "${@:2}" "$here/lua_shape.lua" "$seconds" >spent 2>err ||
		fail "record $lua: $(cat err)"
}

shares() { # WHAT HEAVY MEDIUM LIGHT
	local want_h want_m want_l all=$(($2 + $3 + $4))
	read -r want_h want_m want_l <spent
	[[ $all -gt 500 ]] || fail "$1: only $all samples"
	near "$1: heavy" "$2" "$all" "$want_h" 6
	near "$1: medium" "$3" "$all" "$want_m" 6
	near "$1: light" "$4" "$all" "$want_l" 6
}

whole_stacks() { # WHAT
	local all whole h m l sort pattern deep coroutine method field protected found
	read -r all whole h m l sort pattern deep coroutine method field protected < <(count shape.data '
		{ add("all") }
		/;main chunk;run/ { add("whole") }
		/;heavy;spin/ { add("h") } /;medium;spin/ { add("m") } /;light;spin/ { add("l") }
		/;by_sort;(.*;)?function@[^;]*lua_shape.lua:[0-9]+;spin/ { add("sort") }
		/;by_pattern;(.*;)?function@[^;]*lua_shape.lua:[0-9]+;spin/ { add("pattern") }
		/;by_pcall;(.*;)?function@[^;]*lua_shape.lua:[0-9]+;spin/ { add("protected") }
		/;recurse/ { copy = $0; if (gsub(/;recurse/, "", copy) == 41) add("deep") }
		/;generate;(.*;)?produce;spin/ { add("coroutine") }
		/;run;method;spin/ { add("method") }
		/;run;field;spin/ { add("field") }
		END { print c["all"] + 0, c["whole"] + 0, c["h"] + 0, c["m"] + 0, c["l"] + 0, c["sort"] + 0,
			c["pattern"] + 0, c["deep"] + 0, c["coroutine"] + 0, c["method"] + 0, c["field"] + 0,
			c["protected"] + 0 }')
	percent "$1: stacks up to the program's beginning" "$whole" "$all" 95
	shares "$1" "$h" "$m" "$l"
	for found in "table.sort(function): $sort" "string.gsub(function): $pattern" "41 frames of recursion: $deep" \
		"a coroutine: $coroutine" "a method: $method" "a field: $field" "pcall(function): $protected"; do
		[[ ${found##*: } != 0 ]] || fail "$1: no sample of ${found%: *}"
	done
}

test_whole_stacks() {
	local lua list option
	list=$(luas) || exit $?
	for lua in $list; do
		option=$(uncompiled "$lua")
		record_shape "$lua" 2 -- ${option:+"$option"}
		whole_stacks "$lua"
		want_whole shape.data
		want_exact shape.data
	done
}

test_compiled() {
	local lua list all whole h m l compiled=0
	list=$(luas) || exit $?
	for lua in $list; do
		[[ -n $(uncompiled "$lua") ]] || continue
		compiled=1
		record_shape "$lua" 2
		read -r all whole h m l < <(count shape.data '
			{ add("all") }
			/;main chunk;run/ { add("whole") }
			/;heavy;spin/ { add("h") } /;medium;spin/ { add("m") } /;light;spin/ { add("l") }
			END { print c["all"] + 0, c["whole"] + 0, c["h"] + 0, c["m"] + 0, c["l"] + 0 }')
		percent "$lua: stacks up to the program's beginning" "$whole" "$all" 95
		shares "$lua" "$h" "$m" "$l"
	done
	[[ $compiled == 1 ]] || skip "no LuaJIT that compiles here"
}

# Nothing is known of any file when the program begins.
test_cold() {
	local lua list all whole
	list=$(luas) || exit $?
	for lua in $list; do
		record_shape "$lua" 1.5 --unwind-cache none
		read -r all whole < <(count shape.data '
			{ add("all") }
			/;main chunk;run/ { add("whole") }
			END { print c["all"] + 0, c["whole"] + 0 }')
		percent "$lua: stacks up to the program's beginning" "$whole" "$all" 90
	done
}

test_lines() {
	local lua list line hot all option
	line=$(grep -n -- '-- hot' "$here/lua_shape.lua" | cut -d: -f1)
	command -v go >/dev/null || skip "no go here, whose pprof shows lines"
	list=$(luas) || exit $?
	for lua in $list; do
		option=$(uncompiled "$lua")
		record_shape "$lua" 1 -- ${option:+"$option"}
		"$EBPROF" convert --pprof -i shape.data -o shape.pb.gz >/dev/null 2>&1 || fail "convert"
		go tool pprof -lines -top -nodecount=2000 shape.pb.gz >top 2>/dev/null || fail "pprof"
		hot=$(awk -v at="lua_shape.lua:$line" '/ spin / && index($0, at) { print $4 + 0 }' top)
		all=$(awk '/ spin / { if ($4 + 0 > max) max = $4 + 0 } END { print max }' top)
		[[ -n $hot && $hot == "$all" ]] || fail "$lua: line $line has ${hot:-nothing}, the hottest of spin $all"
	done
}

test_unwanted() {
	local lua list
	list=$(luas) || exit $?
	for lua in $list; do
		record_shape "$lua" 0.5 --no-vm lua,luajit
		count shape.data '/heavy|unnamed/ { add("x") } END { print c["x"] + 0 }' | grep -qx 0 ||
			fail "$lua: script frames in spite of --no-vm"
	done
}

run_tests 2 # each samples one thread, by the CPU time that it gets
