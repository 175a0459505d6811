#!/bin/bash
# Does the check of BPF stacks bite? Of small programs it must know the deepest chain.
set -u
check=$(cd "$(dirname "$0")" && pwd)/bpf_stack.awk
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# The source is read from standard input; what is said must match.
try() { # NAME WANTED_STATUS WANTED_PATTERN
	local status
	cat >program.c <<<"
		#define SEC(name) __attribute__((section(name), used))
		#define NOINLINE __attribute__((noinline))
		static long (*const bpf_loop)(unsigned, void *, void *, unsigned long) = (void *)181;
		static long (*const bpf_get_current_comm)(void *, unsigned) = (void *)16;
		$(cat)"
	"${CLANG:-clang}" -target bpf -mcpu=v3 -O2 -c -o program.o program.c &&
		llvm-objdump -dr program.o >program.s || exit 1
	awk -v show=1 -f "$check" program.s >said
	status=$?
	if [[ $status == "$2" ]] && grep -qE "$3" said; then
		echo "ok stack: $1"
	else
		echo "not ok stack: $1: status $status, not $2, or not '$3': $(cat said)"
		failed=1
	fi
}

try "a program alone" 0 '^run: 64 bytes .*: run 40$' <<'C'
SEC("perf_event") int run(void *ctx) { char name[40]; bpf_get_current_comm(name, 40); return name[3]; }
C
try "a program without a frame" 0 '^run: 32 bytes .*: run 0$' <<'C'
SEC("perf_event") int run(void *ctx) { return 0; }
C
try "calls of functions in one section, and in two" 1 '^run: 544 bytes .*: run 200, outer 200, inner 88$' <<'C'
static NOINLINE int inner(int x) { char name[88]; bpf_get_current_comm(name, 88); return name[x & 7]; }
static NOINLINE int other(int x) { char name[40]; bpf_get_current_comm(name, 40); return name[x & 7]; }
static NOINLINE int outer(int x)
{
	char name[200];
	bpf_get_current_comm(name, 200);
	return other(x) + inner(name[x & 7]);
}
SEC("perf_event") int run(int *ctx)
{
	char name[200];
	bpf_get_current_comm(name, 200);
	return outer(*ctx) + name[1];
}
C
try "a global function" 1 '^run: 544 bytes .*: run 400, global 104$' <<'C'
NOINLINE int global(int x) { char name[104]; bpf_get_current_comm(name, 104); return name[x & 7]; }
SEC("perf_event") int run(int *ctx)
{
	char name[400];
	bpf_get_current_comm(name, 400);
	return global(*ctx) + name[1];
}
C
try "a function called back" 1 '^run: 544 bytes .*: run 400, again 104$' <<'C'
static long again(unsigned i, void *x) { char name[104]; bpf_get_current_comm(name, 104); return name[i & 7]; }
SEC("perf_event") int run(int *ctx)
{
	char name[400];
	bpf_get_current_comm(name, 400);
	bpf_loop(9, again, 0, 0);
	return name[1];
}
C
exit $failed
