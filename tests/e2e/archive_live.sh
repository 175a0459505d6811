#!/bin/bash
# record names what is not at its path when recording is over, or never was for us; with --archive
# all that was sampled.
. "$(dirname "$0")/prelude.bash"

make_program() { # a static one of two functions: main > spin
	command -v gcc >/dev/null || skip "no gcc here"
	cat >spin.c <<'END_OF_C'
__attribute__((noinline)) unsigned spin(long rounds)
{
	unsigned sum = 0;
	for (long i = 0; i < rounds; i++)
		sum = sum * 2654435761u ^ sum >> 7 ^ (unsigned)i;
	return sum;
}
int main(int argc, char **argv) { return spin(argc > 1 ? 100000000000 : 500000000) == 1 && argv; }
END_OF_C
	cat >while_it_runs.sh <<-'END_OF_SCRIPT'
		./program &
		until [[ $(readlink /proc/$!/exe) == */program ]]; do sleep 0.05; done
		sleep 0.2
		$1
		wait
	END_OF_SCRIPT
	gcc -O2 -g -static -o program spin.c 2>gcc.err || skip "gcc links nothing statically: $(tail -n 1 gcc.err)"
	mkdir elsewhere # where nothing is
}

# With nothing but the recording at hand: a name, a file and a line.
want_named() { # FILE
	"$EBPROF" report -g --symfs elsewhere --symbol-cache none "$1" >report.txt 2>&1
	awk '$1 + 0 > 60 && / spin/ { found = 1 } END { exit !found }' report.txt ||
		fail "spin has no name: $(grep -v '^#' report.txt | head -n 5)"
	"$EBPROF" convert --pprof --symfs elsewhere --symbol-cache none -o named.pb.gz "$1" 2>convert.err ||
		fail "convert: $(cat convert.err)"
	gzip -dc named.pb.gz | grep -aq 'spin\.c' || fail "it has no lines"
}

# Moves all debug information to where the build ID tells, below a root.
split_debug() { # PROGRAM ROOT
	local id
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	[[ -n $id ]] || skip "gcc makes no build IDs here"
	mkdir -p "$2/usr/lib/debug/.build-id/${id:0:2}"
	objcopy --only-keep-debug "$1" "$2/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
	strip "$1"
}

test_a_deleted_program() {
	make_program
	run "$EBPROF" record --archive -- bash while_it_runs.sh 'rm program'
	want_status 0 record
	want_named ebprof.data
}

test_a_program_that_was_rebuilt() {
	make_program
	gcc -O2 -g -static -Dspin=other -o newer spin.c || fail "gcc"
	run "$EBPROF" record --archive -- bash while_it_runs.sh 'mv newer program'
	want_status 0 record
	want_named ebprof.data
}

# Which files stacks are in is found out by who unwinds them, when the program is long gone.
test_stacks_that_are_unwound_later() {
	make_program
	local how
	for how in fp dwarf; do
		gcc -O2 -g -static -fomit-frame-pointer -o program spin.c || fail "gcc"
		run "$EBPROF" record --archive --call-graph $how -- bash while_it_runs.sh 'rm program'
		want_status 0 "record $how"
		want_named ebprof.data
	done
	grep -q 'main' report.txt || fail "it has no caller: $(grep -v '^#' report.txt | head -n 5)"
}

is_program() { [[ $(readlink "/proc/$1/exe") == */program ]]; } # PID

# The process is older than the recording: /proc says "(deleted)", the kernel announces nothing.
test_a_program_that_was_deleted_before() {
	make_program
	./program for long &
	local pid=$!
	wait_until "the program" is_program $pid # no longer a shell
	rm program
	record_for_cpu_ms 500 $pid --archive
	kill $pid
	want_status 0 record
	want_named ebprof.data
}

test_a_program_in_memory() {
	make_program
	command -v python3 >/dev/null || skip "no python3 here"
	cat >in_memory.py <<'END_OF_PYTHON'
import os, sys
fd = os.memfd_create("program", 0)
os.write(fd, open("program", "rb").read())
os.execve(fd, ["program"], os.environ)
END_OF_PYTHON
	run "$EBPROF" record --archive -- python3 in_memory.py
	want_status 0 record
	want_named ebprof.data
}

# Neither the program nor its debug information can be seen from here under that name.
test_another_root_directory() {
	make_program
	mkdir -p container/bin
	cp program container/bin
	split_debug container/bin/program container
	rm program
	run "$EBPROF" record --archive -- chroot container /bin/program
	want_status 0 record
	want_named ebprof.data
}

# As a container has it: all is gone with its last process, long before recording ends.
test_another_mount_namespace() {
	make_program
	mkdir image
	cat >contain.sh <<'END_OF_SCRIPT'
mount -t tmpfs tmpfs image || exit 77
mkdir -p image/opt/mounted image/usr && mount -t tmpfs tmpfs image/opt/mounted || exit 77
cp program image/opt/mounted && cp -r debug/usr/lib image/usr && rm -r debug program
chroot image /opt/mounted/program
END_OF_SCRIPT
	mkdir debug
	split_debug program debug
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	run "$EBPROF" record --archive -- bash -c 'unshare -m bash contain.sh && sleep 0.5'
	[[ $status != 77 ]] || skip "nothing can be mounted here"
	want_status 0 record
	[[ ! -e image/opt ]] || fail "it is to be seen here"
	want_named ebprof.data
}

# A file without a build ID is known by its size and time.
test_without_a_build_id() {
	make_program
	gcc -O2 -g -static -Wl,--build-id=none -o program spin.c || fail "gcc"
	run "$EBPROF" record --archive -- bash while_it_runs.sh 'rm program'
	want_status 0 record
	want_named ebprof.data
}

# ---- without being asked ----

want_said() { # NUMBER
	grep -q "names of $1 files\? that will be gone are in the recording" err || fail "it is not said: $(cat err)"
}

test_a_deleted_program_by_default() {
	make_program
	run "$EBPROF" record -- bash while_it_runs.sh 'rm program'
	want_status 0 record
	want_said 1
	want_whole ebprof.data
	want_named ebprof.data
	# Of what stays nothing is put in: bash was sampled, too.
	[[ $(field ebprof.data archived_places) -lt 50 ]] || fail "$(field ebprof.data archived_places) places"
}

test_a_program_in_memory_by_default() {
	make_program
	command -v python3 >/dev/null || skip "no python3 here"
	cat >in_memory.py <<'END_OF_PYTHON'
import os, sys
fd = os.memfd_create("program", 0)
os.write(fd, open("program", "rb").read())
os.execve(fd, ["program"], os.environ)
END_OF_PYTHON
	run "$EBPROF" record -- python3 in_memory.py
	want_status 0 record
	want_said 1
	want_named ebprof.data
}

# It is there when recording ends, but not after the next boot.
test_a_program_on_no_disk_by_default() {
	make_program
	mkdir mnt && mount -t tmpfs tmpfs mnt 2>/dev/null || skip "nothing can be mounted here"
	cp program mnt/
	run "$EBPROF" record -- mnt/program
	want_status 0 record
	want_said 1
	umount mnt
	want_named ebprof.data
}

test_another_mount_namespace_by_default() {
	make_program
	mkdir image
	cat >contain.sh <<'END_OF_SCRIPT'
mount -t tmpfs tmpfs image && cp program image || exit 77
exec image/program
END_OF_SCRIPT
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	run "$EBPROF" record -- bash -c 'unshare -m bash contain.sh && sleep 0.5'
	[[ $status != 77 ]] || skip "nothing can be mounted here"
	want_status 0 record
	want_said 1
	want_named ebprof.data
}

# It is built anew later, and the two builds are compared.
test_a_program_that_stays_has_its_names_without_a_word() {
	make_program
	run "$EBPROF" record -- ./program
	want_status 0 record
	! grep -q 'names of' err || fail "it is there: $(cat err)"
	rm program
	want_named ebprof.data
}

test_nothing_is_archived_of_packages_and_whole_machines() {
	head -c 300M /dev/zero >zeros
	run "$EBPROF" record -- sha1sum zeros
	want_status 0 record
	[[ $(field ebprof.data archived_places) == 0 ]] || fail "$(field ebprof.data archived_places) places"
	make_program
	./program on &
	run "$EBPROF" record -a --duration 0.5
	kill $!
	want_status 0 record
	[[ $(field ebprof.data archived_places) == 0 ]] || fail "-a: $(field ebprof.data archived_places) places"
}

runs_program() { [[ $(readlink "/proc/$1/exe") == */image/program ]]; } # PID

# A recording without names, of a program that only its process sees: by that, as long as it runs.
test_names_by_a_process_that_runs() {
	make_program
	mkdir image
	unshare -m true 2>/dev/null || skip "no mount namespaces here"
	unshare -m sh -c 'mount -t tmpfs tmpfs image && cp program image && rm program && exec image/program on' &
	local pid=$!
	wait_until "the program" runs_program $pid
	"$EBPROF" record -q -o - -p $pid --duration 0.5 >piped.data 2>err || fail "$(cat err)"
	"$EBPROF" record -q --ring ring --switch 300ms -p $pid --duration 1 2>err || fail "$(cat err)"
	"$EBPROF" report --symbol-cache none -g piped.data >report.txt 2>&1
	"$EBPROF" report --symbol-cache none -g --ring ring >ring.txt 2>&1
	"$EBPROF" annotate --symbol-cache none -i piped.data spin >annotated.txt 2>&1
	"$EBPROF" report --symfs elsewhere --symbol-cache none -g piped.data >elsewhere.txt 2>&1
	kill $pid
	wait $pid 2>/dev/null
	"$EBPROF" report --symbol-cache none -g piped.data >ended.txt 2>&1
	local file
	for file in report.txt ring.txt; do
		awk '$1 + 0 > 60 && / spin/ { found = 1 } END { exit !found }' $file || fail "$(cat $file)"
	done
	grep -q 'sum = sum \* 2654435761u' annotated.txt || fail "no lines: $(cat annotated.txt)"
	for file in elsewhere.txt ended.txt; do
		! grep -q ' spin' $file || fail "named: $(cat $file)"
		grep -q 'the file is not on this machine' $file || fail "$(cat $file)"
	done
}

test_no_archive() {
	make_program
	run "$EBPROF" record --no-archive -- bash while_it_runs.sh 'rm program'
	want_status 0 record
	! grep -q 'will be gone' err || fail "it was archived: $(cat err)"
	[[ $(field ebprof.data archived_places) == 0 ]] || fail "$(field ebprof.data archived_places) places"
	run "$EBPROF" record --no-archive --archive -- true
	want_status 125 'both'
}

# What takes too long is given up, and the recording is as it was.
test_too_slow_is_said() {
	make_program
	run "$EBPROF" record --debug-archive-time 0.0001s -- bash while_it_runs.sh 'rm program'
	want_status 0 record
	grep -q 'names of 1 file that will be gone are not in the recording, that took too long: .*/program' err ||
		fail "it is not said: $(cat err)"
	want_whole ebprof.data
	[[ $(field ebprof.data archived_places) == 0 ]] || fail "$(field ebprof.data archived_places) places"
}

# Within --max-size there is no room for them; more than that no recording ever has.
test_too_large_is_said() {
	make_program
	run "$EBPROF" record --max-size 64K -F 10000 -- bash -c '"$WORKLOADS/workload" 1000 2 & bash while_it_runs.sh "rm program"; kill $!'
	[[ $(stat -c %s ebprof.data) -le 65536 ]] || fail "$(stat -c %s ebprof.data) bytes"
	want_whole ebprof.data
}

run_tests
