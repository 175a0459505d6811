#!/bin/bash
# A recording is read on another machine: alone, with none of the binaries it names.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

record_here() {
	export HOME=$PWD # perf keeps in ~/.debug what it recorded, by build ID
	cp "$WORKLOADS/workload" ./program
	run "$EBPROF" record --no-archive -F 2999 -- ./program 1
	want_status 0 record
	mkdir elsewhere root
	mv ebprof.data elsewhere/
	cd elsewhere || exit
}

# --symfs of an empty folder hides every binary of this machine.
test_without_binaries() {
	record_here
	run "$EBPROF" report --symfs ../root
	want_status 0 report
	grep -q 'program+0x' out || fail "unknown functions have no address: $(cat out)"
	grep -q '^# .*program: the file is not on this machine' out || fail "it does not say what it lacks: $(cat out)"
	! grep -q 'heavy' out || fail "a name from nowhere"
	run "$EBPROF" convert --folded --symfs ../root
	want_status 0 convert
	grep -q 'program+0x' out || fail "folded: $(head -n 3 out)"
}

# What the recording itself holds stays known: the kernel's symbols.
test_kernel_symbols_travel() {
	record_here
	"$EBPROF" record -q -o kernel.data -- dd if=/dev/zero of=/dev/null bs=64k count=60000 2>/dev/null
	run "$EBPROF" report --symfs ../root --percent-limit 0 kernel.data
	want_status 0 report
	grep -q '\[k\] [a-z_]' out || fail "no kernel function has a name: $(head -n 8 out)"
}

# Another program at the same path must not lend its names.
test_rebuilt_binary() {
	record_here
	cp /bin/true ../program
	run "$EBPROF" report
	want_status 0 report
	grep -q 'program+0x' out || fail "names of another build: $(cat out)"
	grep -q 'another build' out || fail "it does not say so: $(cat out)"
}

want_reason() { # WHAT
	run "$EBPROF" report --symfs ../root
	want_status 0 report
	grep -q "^# .*program: $1" out || fail "it does not say that $1: $(sed -n '/unsymbolized/,$p' out)"
}

# What is at the path but is no program has reasons of its own.
test_odd_files() {
	record_here
	local place
	place=../root$(dirname "$PWD")/program
	mkdir -p "$(dirname "$place")"
	mkfifo "$place"
	want_reason 'what is at its path is not a regular file'
	rm "$place" && mkdir "$place"
	want_reason 'what is at its path is not a regular file'
	rmdir "$place" && echo text >"$place"
	want_reason 'not an ELF file'
	head -c $(($(stat -c %s ../program) - 100)) ../program >"$place"
	want_reason 'the file is cut off or damaged'
	rm "$place"
	want_reason 'the file is not on this machine'
	grep -q 'fix: *ebprof archive where it was recorded' out || fail "no way out: $(grep fix: out)"
}

# A program that does not tell where it was built has its other half beside it, and not where
# the reader of the recording happens to be.
test_split_program_of_a_relative_folder() {
	command -v gcc >/dev/null || skip "no gcc here"
	gcc -O2 -g -gsplit-dwarf -ffile-prefix-map="$PWD=." "$here/workload.c" -D_GNU_SOURCE -pthread -o program ||
		fail "gcc"
	compgen -G '*.dwo' >/dev/null || skip "this gcc writes no .dwo"
	run "$EBPROF" record -F 2999 -- ./program 0.5
	want_status 0 record
	mkdir elsewhere && mv ebprof.data elsewhere && cd elsewhere || exit
	run "$EBPROF" report --symbol-cache none
	! grep -q 'are missing' out || fail "it is beside the program: $(cat out)"
	mv ../*.dwo .
	run "$EBPROF" report --symbol-cache none
	grep -q 'are missing' out || fail "it was taken from the current folder: $(cat out)"
	mkfifo "../$(echo *.dwo)"
	run "$EBPROF" report --symbol-cache none
	want_status 0 report
}

# ... and the right one below --symfs does.
test_symfs() {
	record_here
	mkdir -p "../root$(dirname "$PWD")"
	mv ../program "../root$(dirname "$PWD")/program"
	run "$EBPROF" report --symfs ../root
	want_status 0 report
	grep -q 'heavy' out || fail "--symfs was not used: $(cat out)"
}

run_tests
