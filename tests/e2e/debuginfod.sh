#!/bin/bash
# Debug files by HTTP: from Debian's own server, and from servers that are dead, slow or lie.
# Beside others: what else the machine does changes nothing here.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"
. "$(dirname "$0")/terminal.bash"

unset DEBUGINFOD_PROGRESS DEBUGINFOD_URLS DEBUGINFOD_CACHE_PATH DEBUGINFOD_TIMEOUT

# A recording of a stripped program; its debug file is in served/.
record_stripped() {
	export XDG_CACHE_HOME=$PWD/cache HOME=$PWD
	ldconfig -p | grep -q 'libdebuginfod\.so\.1' || skip "no libdebuginfod.so.1 here"
	mkdir served
	cp "$WORKLOADS/workload" program && objcopy --only-keep-debug program served/program.debug &&
		strip program || skip "no objcopy here"
	run "$EBPROF" record -F 2999 -- ./program 0.5
	want_status 0 record
	build_id=$(readelf -n program | sed -n 's/.*Build ID: //p')
}

# Sets DEBUGINFOD_URLS to a real server of served/.
start_real() {
	local i j port
	command -v debuginfod >/dev/null || skip "no debuginfod here"
	for ((i = 0; i < 5; i++)); do
		port=$((20000 + RANDOM % 20000))
		rm -f server.log # one that is about to end may still write to its own
		debuginfod -F served -p $port -d :memory: -t 1000 -vv >server.log 2>&1 &
		server=$!
		for ((j = 0; j < 600; j++)); do
			grep -q 'fts traversed' server.log && break 2
			kill -0 $server 2>/dev/null || break
			sleep 0.1
		done
	done
	grep -q 'fts traversed' server.log || fail "debuginfod does not run: $(tail -n 3 server.log)"
	export DEBUGINFOD_URLS=http://127.0.0.1:$port
}

start_odd() { # KIND [FILE]
	command -v python3 >/dev/null || skip "no python3 here"
	rm -f port
	"$here/odd_server.py" "$@" >port 2>requests &
	wait_until "a server" test -s port
	DEBUGINFOD_URLS=http://127.0.0.1:$(cat port)
	export DEBUGINFOD_URLS
}

report() { # OPTION...
	local began
	began=$(now_ms)
	run "$EBPROF" report "$@"
	took_ms=$(($(now_ms) - began))
	want_status 0 report
	want_no_control_bytes out err
}

want_names() { grep -q '\[\.\] heavy$' out || fail "no names: $(cat out err)"; }
want_no_names() {
	! grep -q heavy out || fail "a name from nowhere: $(cat out)"
	grep -q '\[\.\] fn_' out || fail "no report: $(cat out err)"
}
want_reason() { grep -q "$1" out || fail "it does not say \"$1\": $(cat out)"; }
want_said() { grep -q "$1" err || fail "it does not say \"$1\" on stderr: $(cat err)"; }
want_ms_below() { ((took_ms < $1)) || fail "took $took_ms ms"; }

test_real_server() {
	record_stripped
	start_real
	report
	want_names
	want_said 'debuginfod: fetched'
	[[ -s cache/debuginfod_client/$build_id/debuginfo ]] || fail "not in the library's cache"
	kill $server
	rm -r cache/ebprof
	report
	want_names # from the cache
}

# As much as names need, and no more.
test_names() {
	record_stripped
	start_real
	report --debuginfod=names
	want_names
	[[ -s cache/debuginfod_client/$build_id/section-.symtab ]] || fail "no section was fetched"
	! grep -q "buildid/$build_id/debuginfo" server.log || fail "the whole file was fetched"
}

# A recording of arm64, whose program is not on this machine.
test_another_machine() {
	local data=$here/arm64/shape.data
	export XDG_CACHE_HOME=$PWD/cache HOME=$PWD
	ldconfig -p | grep -q 'libdebuginfod\.so\.1' || skip "no libdebuginfod.so.1 here"
	mkdir served
	cp "$here/arm64/root/programs/shape_arm64" served/
	start_real
	report --stdio -i "$data"
	grep -qE '134  shape_arm64 +\[\.\] burn' out || fail "$(cat out err)"
	run "$EBPROF" convert --folded -i "$data" -o folded
	want_status 0 convert
	grep -qE ';main;a;b;c;spin;burn(_\[i\])? ' folded || fail "$(cat folded)"
	run "$EBPROF" convert --pprof --debuginfod=full -i "$data" -o out.pb.gz
	want_status 0 convert
	zcat out.pb.gz | grep -qa 'shape\.c' || fail "no file names"
}

test_full_has_lines() {
	record_stripped
	start_real
	run "$EBPROF" convert --pprof --debuginfod=full -o out.pb.gz
	want_status 0 convert
	zcat out.pb.gz | grep -qa 'workload\.c' || fail "no file names"
}

# As much as lines need: no inlined functions, but all others have theirs.
test_lines() {
	record_stripped
	start_real
	run "$EBPROF" convert --pprof --debuginfod=lines -o out.pb.gz
	want_status 0 convert
	zcat out.pb.gz | grep -qa 'workload\.c' || fail "no file names"
	! grep -q "buildid/$build_id/debuginfo" server.log || fail "the whole file was fetched"
	report --debuginfod=lines
	want_names
}

# The same lines from sections as from the file, in older DWARF and packed ones, too. Nothing is
# inlined: lines alone would give the innermost one, whatever function that is of.
test_lines_of_kinds() {
	local kind source=$here/workload.c
	export XDG_CACHE_HOME=$PWD/cache HOME=$PWD
	command -v go >/dev/null || skip "no go tool pprof here"
	mkdir served
	for kind in -gdwarf-4 -gdwarf-5 '-gdwarf-5 -gz'; do
		rm -rf cache whole lines
		# shellcheck disable=SC2086
		"${CC:-cc}" -O2 -fno-inline $kind "$source" -o program -lpthread 2>err || skip "cannot build: $(cat err)"
		"$EBPROF" record -q -F 2999 -- ./program 0.3 >/dev/null 2>&1
		"$EBPROF" convert --pprof -o whole.pb.gz --no-inline 2>/dev/null
		objcopy --only-keep-debug program served/program.debug && strip program
		start_real
		"$EBPROF" convert --pprof -o lines.pb.gz --debuginfod=lines 2>err || fail "$(cat err)"
		kill $server
		for name in whole lines; do
			go tool pprof -lines -top -nodecount=1000 $name.pb.gz 2>/dev/null |
				sed -nE 's/.* ([a-z_]+) .*\/?(workload\.c:[0-9]+).*/\1 \2/p' | sort -u >$name
		done
		[[ -s whole ]] || fail "no lines at all"
		diff whole lines >difference || fail "$kind: $(cat difference)"
	done
}

# libdebuginfod before 0.188 has no sections: then names come with the whole file.
test_old_library() {
	record_stripped
	start_real
	cat >old.c <<'EOF'
#include <dlfcn.h>
static void *real(const char *name) {
	static void *library;
	if (!library) library = dlopen(REAL, RTLD_NOW);
	return dlsym(library, name);
}
void *debuginfod_begin(void) { return ((void *(*)(void))real("debuginfod_begin"))(); }
void debuginfod_end(void *c) { ((void (*)(void *))real("debuginfod_end"))(c); }
int debuginfod_find_debuginfo(void *c, const unsigned char *b, int n, char **p) {
	return ((int (*)(void *, const unsigned char *, int, char **))real("debuginfod_find_debuginfo"))(c, b, n, p);
}
void debuginfod_set_progressfn(void *c, void *f) { ((void (*)(void *, void *))real("debuginfod_set_progressfn"))(c, f); }
const char *debuginfod_get_url(void *c) { return ((const char *(*)(void *))real("debuginfod_get_url"))(c); }
EOF
	mkdir lib
	library=$(ldconfig -p | sed -n 's/.*libdebuginfod\.so\.1 .*=> //p' | head -n 1)
	"${CC:-cc}" -shared -fPIC -DREAL="\"$library\"" old.c -o lib/libdebuginfod.so.1 2>err || skip "cannot build: $(cat err)"
	LD_LIBRARY_PATH=$PWD/lib report --debuginfod=names
	want_names
	[[ -s cache/debuginfod_client/$build_id/debuginfo ]] || fail "not by the whole file"
	! grep -q /section/ server.log || fail "it asked for sections"
}

# What dwz moved out of a debug file is fetched after it.
test_dwz() {
	local name
	export XDG_CACHE_HOME=$PWD/cache HOME=$PWD
	command -v dwz >/dev/null || skip "no dwz here"
	mkdir served
	for name in program twin; do
		"${CC:-cc}" -g -O2 -D_GNU_SOURCE "$here/workload.c" -o $name -lpthread 2>err ||
			skip "cannot build: $(cat err)"
		objcopy --only-keep-debug $name served/$name.debug
	done
	dwz -m served/moved.debug -M /nowhere/moved.debug served/program.debug served/twin.debug 2>err ||
		skip "dwz: $(cat err)"
	strip program
	"$EBPROF" record -q -F 2999 -- ./program 0.5 >/dev/null 2>&1
	start_real
	run "$EBPROF" convert --pprof --debuginfod=full -o out.pb.gz
	want_status 0 convert
	zcat out.pb.gz | grep -qa 'workload\.c' || fail "no file names: $(cat err)"
	moved=$(readelf -n served/moved.debug | sed -n 's/.*Build ID: //p')
	[[ -s cache/debuginfod_client/$moved/debuginfo ]] || fail "$moved was not fetched: $(grep GET server.log)"
}

test_off() {
	record_stripped
	start_odd unknown
	report --debuginfod=off
	want_no_names
	report --offline
	want_reason 'let debuginfod be used'
	DEBUGINFOD_URLS='' report
	[[ ! -s requests ]] || fail "it asked: $(cat requests)"
	want_reason 'set DEBUGINFOD_URLS'
	run "$EBPROF" report --debuginfod=some
	want_status 2 "a bad tier"
}

test_dead_server() {
	record_stripped
	DEBUGINFOD_URLS=http://127.0.0.1:1 report
	want_no_names
	want_ms_below 30000
	want_reason 'debuginfod: http://127.0.0.1:1 failed (Connection refused)'
	want_said 'Connection refused'
}

# What an archive says is not asked for.
test_archived() {
	record_stripped
	start_odd hang
	mkdir -p "own/${build_id:0:2}"
	cp served/program.debug "own/${build_id:0:2}/${build_id:2}.debug"
	"$EBPROF" archive -q --offline --debug-dir own || fail "archive"
	DEBUGINFOD_URLS='' "$EBPROF" report --symfs served --symbol-cache none | grep -q heavy || fail "no names"
	report --symfs served --symbol-cache none
	! grep -q "$build_id" requests || fail "it asked: $(cat requests)"
}

# Every object hangs: that must not add up.
test_hanging_server() {
	record_stripped
	start_odd hang
	report
	want_no_names
	want_ms_below 60000
	want_reason 'was too slow'
	want_said 'too slow'
	report --debuginfod=full
	want_no_names
	want_ms_below 60000
}

test_dripping_server() {
	record_stripped
	start_odd drip
	report --debuginfod=full
	want_no_names
	want_ms_below 60000
	want_reason 'was too slow'
}

# A report that the user interrupts while it waits leaves nothing behind.
test_killed_while_fetching() {
	record_stripped
	start_odd drip
	"$EBPROF" report --debuginfod=full >out 2>err &
	local report=$!
	wait_until "a file" compgen -G "cache/debuginfod_client/$build_id/section-.symtab.??????"
	kill -TERM $report
	wait $report
	(($? == 128 + 15)) || fail "it did not die of it"
	[[ -z $(find "cache/debuginfod_client/$build_id" -type f) ]] || fail "left: $(ls "cache/debuginfod_client/$build_id")"
}

# In the interface, names are asked for in the background. The first ^C gives that up, the second
# one quits.
test_interrupt_while_fetching() {
	record_stripped
	start_odd drip
	begin xterm-256color 100 30
	type_line "$EBPROF report --debuginfod=full"
	wait_for 'fetching [0-9]' 'names on their way'
	wait_for 'fn_[0-9a-f]+' 'addresses meanwhile'
	keys C-c
	wait_for '\^C again quits' 'a first ^C'
	wait_gone 'fetching [0-9]'
	keys C-c
	wait_for '^\$ *(\^C)?$' 'shell'
	wait_gone 'fn_[0-9a-f]+'
}

# The baseline's names come from servers, too, once the first recording has its own.
test_baseline() {
	record_stripped
	mv ebprof.data old.data
	run "$EBPROF" record -F 2999 -- sh -c 'i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done'
	want_status 0 record
	start_real
	begin xterm-256color 100 30
	type_line "$EBPROF report --baseline old.data"
	wait_for '- heavy' 'a name of the baseline'
}

# What was cut off is not taken for unknown: the next time it is asked again.
test_slow_then_well() {
	record_stripped
	start_odd hang
	report
	want_no_names
	start_odd serve served/program.debug
	report
	want_names
}

test_wrong_build() {
	record_stripped
	echo 'int main(void) { return 0; }' >other.c
	"${CC:-cc}" -g other.c -o other || skip "no compiler here"
	start_odd serve other
	report --debuginfod=full
	want_no_names
	want_reason 'debuginfod: .* is another build'
}

test_garbage() {
	record_stripped
	start_odd garbage
	report --debuginfod=full
	want_no_names
	want_reason 'debuginfod: .*/debuginfo is not an ELF file'
}

test_broken_off() {
	record_stripped
	start_odd die
	report --debuginfod=full
	want_no_names
	want_reason 'debuginfod: .* failed'
	want_said 'failed'
	[[ -z $(ls cache/ebprof/debuginfod) ]] || fail "taken for unknown"
}

# What a server cannot tell now it may know in a minute.
test_server_error() {
	record_stripped
	start_odd error
	report
	want_no_names
	want_reason 'debuginfod: .* failed (Remote I/O error)'
	[[ -z $(ls cache/ebprof/debuginfod) ]] || fail "taken for unknown"
	start_odd serve served/program.debug
	report
	want_names
}

# One that says nothing has not said that it knows nothing.
test_no_answer() {
	record_stripped
	start_odd close
	report
	want_no_names
	want_reason 'debuginfod: .* failed (Protocol error)'
	start_odd serve served/program.debug
	report
	want_names
}

# Nor does one that knows nothing speak for another that cannot be asked.
test_dead_and_unknown() {
	record_stripped
	start_odd unknown
	DEBUGINFOD_URLS="http://127.0.0.1:1 $DEBUGINFOD_URLS" report --debuginfod=full
	want_no_names
	[[ -z $(ls cache/ebprof/debuginfod) ]] || fail "taken for unknown"
	[[ -z $(find "cache/debuginfod_client/$build_id" -type f) ]] || fail "the library takes it for unknown"
}

# What a server sends does not fill the disk.
test_huge_answer() {
	record_stripped
	start_odd huge
	report --debuginfod=full
	want_no_names
	want_reason 'debuginfod: .* sends more than any such file has'
	[[ -z $(find "cache/debuginfod_client/$build_id" -type f) ]] || fail "something was kept"
}

# Nor by what it packed: each section would have stayed for a week.
test_bomb() {
	record_stripped
	start_odd bomb
	report --debuginfod=lines
	want_no_names
	want_reason 'debuginfod: .* unpacks to far more than was sent'
	[[ -z $(find cache/debuginfod_client -type f -size +1M) ]] ||
		fail "something was kept: $(find cache/debuginfod_client -type f -size +1M -ls)"
}

test_full_disk() {
	record_stripped
	start_real
	mkdir mnt && mount -t tmpfs -o size=64k tmpfs mnt || skip "no tmpfs here"
	mkdir mnt/debuginfod_client
	dd if=/dev/zero of=mnt/filler bs=4k 2>/dev/null
	XDG_CACHE_HOME=$PWD/mnt report --debuginfod=full
	want_no_names
	want_reason 'failed (No space left on device)'
	want_reason 'fix: .*DEBUGINFOD_CACHE_PATH'
	DEBUGINFOD_CACHE_PATH=$PWD/elsewhere XDG_CACHE_HOME=$PWD/mnt report
	want_names
}

# A server that has no sections gives the whole; that is taken as long as it is small.
test_no_sections() {
	record_stripped
	start_odd nosections served/program.debug
	report --debuginfod=names
	want_names
}

test_memo() {
	record_stripped
	start_odd unknown
	report
	want_no_names
	want_reason 'knows no such build ID'
	grep -q "$build_id" requests || fail "it did not ask: $(cat requests err)"
	# The library has a memory of its own, for ten minutes.
	: >requests
	rm -r cache/debuginfod_client
	report
	[[ ! -s requests ]] || fail "it asked again: $(cat requests)"
	want_reason 'knew no such build ID'
	find cache/ebprof -name '*.unknown' -exec touch -d '5 hours ago' {} +
	report
	grep -q "$build_id" requests || fail "it never asks again"
	rm -r cache/debuginfod_client
	start_odd serve served/program.debug # others may know
	report
	want_names
}

# A library that cannot be loaded matters only to those who want it.
test_no_library() {
	record_stripped
	mkdir lib && : >lib/libdebuginfod.so.1
	export LD_LIBRARY_PATH=$PWD/lib
	report
	! grep -q libdebuginfod out err || fail "unasked: $(cat out err)"
	DEBUGINFOD_URLS=http://127.0.0.1:1 report
	want_no_names
	want_said 'libdebuginfod.so.1 cannot be loaded'
	want_reason 'install libdebuginfod1'
}

run_tests 3 # servers let them wait
