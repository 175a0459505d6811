#!/bin/bash
# Code that runtimes compiled: what they tell of it gets into the recording, of the right process
# and only when it may be believed.
. "$(dirname "$0")/prelude.bash"
. "$here/suite_interpreter.bash"

MADE=$WORKLOADS/jit_code

# The share of a symbol's own samples, in percent.
share_of() { # FILE SYMBOL
	"$EBPROF" report --stdio --percent-limit 0 -i "$1" 2>/dev/null |
		awk -v want="] $2" 'index($0, want) == length($0) - length(want) + 1 { sub(/%/, "", $1); sum += $1 } END { printf "%.0f", sum }'
}

want_share() { # FILE SYMBOL LOW HIGH
	local share
	share=$(share_of "$1" "$2")
	((share >= $3 && share <= $4)) ||
		fail "$2 has $share %, not $3 to $4: $("$EBPROF" report --stdio -i "$1" 2>&1 | grep -v '^#' | head -n 5 | tr '\n' '|')"
}

# Runtimes leave their maps behind; the names in them are ours.
drop_maps() {
	grep -lE 'alpha \(made here\)|ours$|theirs$|late$|planted$|hot\.(js|py)' /tmp/perf-*.map 2>/dev/null | xargs -r rm -f
}

record_made() { # MODE SECONDS
	run "$EBPROF" record -o data -- "$MADE" "$1" "$2"
	want_status 0 "recording $1"
	want_whole data
}

test_perf_map() {
	record_made map 1
	want_share data "alpha (made here)" 60 85
	want_share data beta 15 35
	rm -f data.old
	[[ $(stat -c %s data) -lt 16384 ]] || fail "the recording has $(stat -c %s data) bytes"
}

# Code in memory without a name that processes may share is not the program's.
test_perf_map_of_shared_memory() {
	record_made shared 1
	want_share data 'alpha (made here)' 60 90
	"$EBPROF" report --stdio -s dso --percent-limit 0 -i data >out 2>/dev/null
	awk '$4 == "jit_code" { found = $1 + 0 } END { exit !(found < 20) }' out || fail "it is taken for the program's: $(cat out)"
}

test_perf_map_of_a_short_life() {
	record_made map 0.05
	want_share data "alpha (made here)" 40 90
}

# A perf map has no times; when its lines came is known. How few samples fell between is not asked.
test_perf_map_tells_when() {
	record_made reuse 1.2
	want_share data early 35 65
	want_share data late 35 65
	[[ $(field data stale_names) -lt $(($(field data samples) / 2)) ]] ||
		fail "$(field data stale_names) of $(field data samples) samples have stale names"
}

# All that is told was told before: whether it held then is not known.
test_perf_map_that_came_late_is_said() {
	cat >late.sh <<-'END'
		"$WORKLOADS/jit_code" none 1.5 &
		sleep 0.7
		echo 600000000000 1000 afterwards >/tmp/perf-$!.map
		wait
	END
	run "$EBPROF" record -o data -- bash late.sh
	want_status 0 record
	grep -lx '600000000000 1000 afterwards' /tmp/perf-*.map | xargs -r rm -f
	want_share data afterwards 80 100
	[[ $(field data stale_names) -gt 0 ]] || fail "no name is stale"
	"$EBPROF" info data | grep -q 'with stale names' || fail "info does not say so"
	"$EBPROF" report --stdio -i data | grep -q '^# stale names: in [0-9]* samples' || fail "report does not say so"
}

test_two_processes_at_one_address() {
	record_made pair 1
	want_share data ours 35 65
	want_share data theirs 35 65
}

test_no_map_is_said() {
	record_made none 0.3
	run "$EBPROF" report --stdio -i data
	want_status 0 report
	grep -q 'unsymbolized' out || fail "nothing says that there are no names"
	grep -q 'perf map' out || fail "the reason is not told: $(grep anon out)"
	grep -q 'fix: *let its runtime write a perf map' out || fail "no way out: $(grep fix: out)"
}

# Nothing names what a library compiles, but whose it is.
test_code_of_a_library() {
	ldd "$(command -v grep)" | grep -q libpcre2 || skip "grep is built without PCRE2 here"
	seq -f 'abcdefg hijk %g aaab foo bar' 400000 >text
	run "$EBPROF" record -o data -- grep -cP '(\w+)\s+\1[^a]*x{2}|(?:f|o)+?[xy]' text
	want_whole data
	want_share data "[pcre2 jit]" 50 100
}

# The shell's number is that of the program it becomes.
test_foreign_map_is_not_believed() {
	local low=600000000000 all=1000
	run "$EBPROF" record -o data -- sh -c "echo $low $all planted >/tmp/perf-\$\$.map; exec $MADE none 0.3"
	want_share data planted 80 100
	run "$EBPROF" record -o data -- sh -c "echo $low $all planted >/tmp/perf-\$\$.map
		chown 65534 /tmp/perf-\$\$.map; exec $MADE none 0.3; "
	want_share data planted 0 0
	run "$EBPROF" record -o data -- sh -c "echo $low $all planted >secret
		ln -s \$PWD/secret /tmp/perf-\$\$.map; exec $MADE none 0.3"
	want_share data planted 0 0
}

# A pid and a /tmp of its own, both gone by the time at which the recorder looks.
test_container() {
	unshare --mount --pid --fork true 2>/dev/null || skip "cannot make namespaces here"
	mkdir own && cp "$MADE" own/
	run "$EBPROF" record -o data -- unshare --mount --pid --fork --mount-proc \
		sh -c "mount --bind own /tmp && /tmp/jit_code map 0.5"
	want_status 0 "recording in namespaces"
	want_share data "alpha (made here)" 55 85
}

test_running_process() {
	"$MADE" map 1000 &
	wait_until "a perf map" test -s "/tmp/perf-$!.map"
	local program=$!
	record_for_cpu_ms 1000 $program -o data
	want_status 0 "recording a running process"
	reap $program TERM
	want_share data "alpha (made here)" 60 85
}

test_every_file_has_the_names() {
	run "$EBPROF" record -o data --switch-output=500ms -- "$MADE" map 1.6
	want_status 0 "recording with switching"
	local file
	for file in data.*; do
		[[ $(field "$file" samples) -gt 100 ]] || continue
		want_share "$file" "alpha (made here)" 55 90
	done
}

test_jitdump() {
	record_made dump 1
	want_share data "alpha (made here)" 60 85
	want_share data beta 15 35
	[[ $(stat -c %s data) -lt 16384 ]] || fail "the recording has $(stat -c %s data) bytes"
	# The loop stands in line 7, the head of the function in line 3.
	"$EBPROF" convert --pprof -i data -o - 2>/dev/null | gunzip | grep -a -q 'made/alpha\.src' ||
		fail "alpha() has no file"
	! "$EBPROF" report --stdio -i data | grep -q 'without symbols' || fail "something has no name"
}

test_jitdump_of_a_short_life() {
	record_made dump 0.05
	want_share data "alpha (made here)" 40 90
}

# The same address, one function after the other; and a function that was moved.
test_jitdump_tells_when() {
	record_made move 1.2
	want_share data early 35 65
	want_share data late 35 65
}

test_jitdump_in_a_container() {
	unshare --mount --pid --fork true 2>/dev/null || skip "cannot make namespaces here"
	mkdir own && cp "$MADE" own/
	run "$EBPROF" record -o data -- unshare --mount --pid --fork --mount-proc \
		sh -c "mount --bind own /tmp && cd /tmp && ./jit_code dump 0.5"
	want_status 0 "recording in namespaces"
	want_share data "alpha (made here)" 55 85
}

test_jitdump_of_a_running_process() {
	"$MADE" dump 1000 &
	wait_until "a jitdump" test -e "jit-$!.dump"
	local program=$!
	record_for_cpu_ms 300 $program -o data
	want_status 0 "recording a running process"
	reap $program TERM
	# What the program still has in its own buffer cannot be known.
	want_whole data
}

# Without --no-vm functions have their names anyway.
test_node_jitdump() {
	command -v node >/dev/null || skip "no node here"
	write_script
	run "$EBPROF" record --no-vm node -o data -- node --perf-prof hot.js
	want_status 0 "recording node"
	ls jit-*.dump >/dev/null 2>&1 || skip "this node writes no jitdump"
	"$EBPROF" report --stdio -i data | grep -qE '^ *[5-9][0-9]\.[0-9]+%.*JS:\*hot .*hot\.js:1' ||
		fail "hot() is not there: $("$EBPROF" report --stdio -i data | grep -v '^#' | head -n 3 | tr '\n' '|')"
}

write_script() {
	cat >hot.js <<'END'
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
const began = process.cpuUsage();
let t = 0;
while (process.cpuUsage(began).user < 1.5e6) t += hot(200000);
console.log(t);
END
}

test_node_perf_map() {
	command -v node >/dev/null || skip "no node here"
	write_script
	run "$EBPROF" record --no-vm node -o data -- node --perf-basic-prof hot.js
	want_status 0 "recording node"
	"$EBPROF" report --stdio -i data | grep -qE '^ *[5-9][0-9]\.[0-9]+%.*JS:\*hot .*hot\.js:1' ||
		fail "hot() is not there: $("$EBPROF" report --stdio -i data | grep -v '^#' | head -n 3 | tr '\n' '|')"
}

test_python_perf_map() {
	local python found=
	for python in python3 python3.12 python3.13 python3.14; do
		"$python" -c 'import sys; sys.activate_stack_trampoline' 2>/dev/null || continue
		found=$("$python" -c 'import sys; print(sys.executable)')
		break
	done
	if [[ -z $found ]]; then
		suite_python
		found=$interpreter
	fi
	cat >hot.py <<'END'
import time
def hot(n):
    s = 0
    for i in range(n):
        s = s * 31 + i & 0xffff
    return s
until = time.process_time() + 1
while time.process_time() < until:
    hot(20000)
END
	# Where script frames are walked they stand for the trampolines, which are what the map names.
	run "$EBPROF" record --no-vm python -o data -- "$found" -X perf "$PWD/hot.py"
	want_status 0 "recording python"
	"$EBPROF" convert --folded ${SYMFS:+--symfs "$SYMFS"} -i data -o folded 2>/dev/null || fail convert
	grep -q ';py::hot:.*hot.py;' folded || fail "hot() is not there: $(head -n 3 folded)"
}

trap drop_maps EXIT
(run_tests)
