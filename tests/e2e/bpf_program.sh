#!/bin/bash
# BPF programs that are compiled while we record have their names: kallsyms was read before.
. "$(dirname "$0")/prelude.bash"

make_program() {
	local tool
	for tool in bpftool clang; do
		command -v $tool >/dev/null || [[ -x /usr/sbin/$tool ]] || skip "no $tool here"
	done
	PATH=$PATH:/usr/sbin
	cat >spin.bpf.c <<'END'
struct packet { unsigned data, data_end, data_meta, interface, queue, egress; };
__attribute__((section("xdp"), used)) int spin_many_rounds(struct packet *packet)
{
	unsigned sum = packet->queue;
	for (int i = 0; i < 4000; i++)
		sum = sum * 2654435761u ^ sum >> 7;
	return sum ? 2 : 1;
}
char _license[] __attribute__((section("license"), used)) = "GPL";
END
	clang -O2 -g -target bpf -c spin.bpf.c -o spin.bpf.o 2>clang.err || skip "clang cannot compile for BPF: $(head -n 1 clang.err)"
	mkdir pinned
	mount -t bpf bpf pinned 2>/dev/null || skip "no BPF file system can be mounted here"
	head -c 64 /dev/zero >packet
}

test_program_compiled_while_recording() {
	make_program
	run "$EBPROF" record -- sh -c 'sleep 0.3; bpftool prog load spin.bpf.o pinned/spin type xdp &&
		bpftool prog run pinned pinned/spin data_in packet repeat 100000'
	umount pinned
	if [[ $status != 0 ]]; then
		skip "bpftool cannot run a program here: $(grep -i error err | head -n 1)"
	fi
	run "$EBPROF" report ebprof.data
	awk '/\[k\] bpf_prog_[0-9a-f]*_spin_many_rounds/ { found = $1 + 0 } END { exit !(found > 60) }' out ||
		fail "the program has no name: $(head -n 8 out)"
	"$EBPROF" info ebprof.data | grep -q '^  bpf .*spin_many_rounds' || fail "it is no object of its own"
}

run_tests
