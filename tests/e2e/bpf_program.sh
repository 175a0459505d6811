#!/bin/bash
# BPF programs have their names and lines: those that are compiled while we record, which kallsyms
# did not know when it was read, and those from before.
. "$(dirname "$0")/prelude.bash"

make_program() {
	local tool
	for tool in bpftool clang; do
		command -v $tool >/dev/null || [[ -x /usr/sbin/$tool ]] || skip "no $tool here"
	done
	PATH=$PATH:/usr/sbin
	cat >spin.bpf.c <<'END'
struct packet { unsigned data, data_end, data_meta, interface, queue, egress; };
static __attribute__((noinline)) unsigned spin_inner(unsigned sum)
{
	for (int i = 0; i < 3000; i++)
		sum = sum * 2654435761u ^ sum >> 7; /* line 5 */
	return sum;
}
__attribute__((section("xdp"), used)) int spin_many_rounds(struct packet *packet)
{
	unsigned sum = spin_inner(packet->queue);
	for (int i = 0; i < 9000; i++)
		sum = sum * 2654435761u ^ sum >> 7; /* line 12 */
	return sum ? 2 : 1;
}
char _license[] __attribute__((section("license"), used)) = "GPL";
END
	clang -O2 -g -target bpf -c spin.bpf.c -o spin.bpf.o 2>clang.err || skip "clang cannot compile for BPF: $(head -n 1 clang.err)"
	mkdir mnt
	mount -t bpf bpf mnt 2>/dev/null || skip "no BPF file system can be mounted here"
	head -c 64 /dev/zero >packet
}

want_program_recorded() {
	if [[ $status != 0 ]]; then
		skip "bpftool cannot run a program here: $(grep -i error err | head -n 1)"
	fi
	run "$EBPROF" report ebprof.data
	awk '/\[k\] bpf_prog_[0-9a-f]*_spin_many_rounds/ { found = $1 + 0 } END { exit !(found > 40) }' out ||
		fail "the program has no name: $(head -n 8 out)"
	awk '/\[k\] bpf_prog_[0-9a-f]*_spin_inner/ { found = $1 + 0 } END { exit !(found > 10) }' out ||
		fail "its function has no name: $(head -n 8 out)"
	"$EBPROF" info --mappings ebprof.data | grep -q '^  bpf .*spin_many_rounds' || fail "it is no object of its own"
}

# Only of what the recording has: the program is gone.
want_lines() {
	"$EBPROF" convert --pprof -o lines.pb.gz ebprof.data 2>err || fail "convert: $(cat err)"
	gzip -dc lines.pb.gz | grep -aq 'spin\.bpf\.c' || fail "it has no lines"
	go tool pprof -h >/dev/null 2>&1
	(($? <= 2)) || return 0
	go tool pprof -lines -top lines.pb.gz >lines.txt 2>err || fail "pprof: $(cat err)"
	awk '/spin_inner .*spin\.bpf\.c:[45]$/ { inner += $2 } /spin_many_rounds .*spin\.bpf\.c:1[12]$/ { outer += $2 }
		END { exit !(inner > 10 && outer > 40) }' lines.txt || fail "not on the right lines: $(head -n 12 lines.txt)"
}

test_program_compiled_while_recording() {
	make_program
	run "$EBPROF" record -- sh -c 'sleep 0.3; bpftool prog load spin.bpf.o mnt/spin type xdp &&
		bpftool prog run pinned mnt/spin data_in packet repeat 30000'
	umount mnt
	want_program_recorded
	want_lines
}

test_program_from_before() {
	make_program
	bpftool prog load spin.bpf.o mnt/spin type xdp 2>err || skip "bpftool cannot load a program here: $(head -n 1 err)"
	run "$EBPROF" record -- bpftool prog run pinned mnt/spin data_in packet repeat 30000
	umount mnt
	want_program_recorded
	want_lines
}

# The same code at two places is one object: its places count from where each begins.
test_program_loaded_twice() {
	make_program
	run "$EBPROF" record -- sh -c 'bpftool prog load spin.bpf.o mnt/one type xdp &&
		bpftool prog load spin.bpf.o mnt/two type xdp &&
		bpftool prog run pinned mnt/one data_in packet repeat 15000 &&
		bpftool prog run pinned mnt/two data_in packet repeat 15000'
	umount mnt
	want_program_recorded
	want_lines
	[[ $("$EBPROF" info --mappings ebprof.data | grep -c '^  bpf .*spin_many_rounds') == 1 ]] || fail "there are several"
}

# Without lines in it, as from a compiler that was not asked for any.
test_program_without_lines() {
	make_program
	clang -O2 -target bpf -c spin.bpf.c -o spin.bpf.o || fail "clang"
	bpftool prog load spin.bpf.o mnt/spin type xdp 2>err || skip "bpftool cannot load a program here: $(head -n 1 err)"
	run "$EBPROF" record -- bpftool prog run pinned mnt/spin data_in packet repeat 30000
	umount mnt
	[[ $status == 0 ]] || skip "bpftool cannot run a program here"
	run "$EBPROF" report ebprof.data
	awk '/\[k\] bpf_prog_/ { found += $1 } END { exit !(found > 60) }' out || fail "it has no name: $(head -n 8 out)"
}

# What the recorder's own programs take at each switch between threads stands in the threads' time.
test_the_recorders_own_programs_are_told_from_others() {
	cat >turns.c <<'END'
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int there[2], back[2];
	char byte = 0;
	if (pipe(there) || pipe(back))
		return 1;
	int is_child = fork() == 0;
	for (int i = 0; i < 100000; i++) {
		if (!is_child && write(there[1], &byte, 1) != 1)
			return 1;
		if (read(is_child ? there[0] : back[0], &byte, 1) != 1)
			return 1;
		if (is_child && write(back[1], &byte, 1) != 1)
			return 1;
	}
	return 0;
}
END
	"${CC:-cc}" -O1 -o turns turns.c || skip "no C compiler here"
	run "$EBPROF" record -q -F 4999 -e cpu-clock -e offcpu -- ./turns
	want_status 0 record
	run "$EBPROF" report --stdio --event cpu-clock --percent-limit 0 -s sym,file ebprof.data
	grep -qE '\[k\] ebprof: bpf_prog_[0-9a-f]{16}_on_wait +\[ebprof: bpf_prog_' out || fail "its own are not called so: $(grep bpf_prog out)"
	! grep -qE '\[k\] bpf_prog_[0-9a-f]{16}_on_(wait|switch|waking) ' out || fail "a program's own: $(grep bpf_prog out)"
}

run_tests
