#!/bin/bash
# Code that processes register for debuggers (GDB's JIT interface): it has names, and each stack
# through it is the one that it has to be, by the rules that the process gives.
. "$(dirname "$0")/prelude.bash"
. "$here/known_chains.bash"

[[ $(uname -m) == x86_64 ]] || all_skip=1
made=$WORKLOADS/registered_code

is_x86() { [[ -z ${all_skip:-} ]] || skip "the programs' code is x86-64's"; }

# Nothing of it was read from code or guessed. The first sample is not the first instruction.
want_rules_alone() { # FILE
	(($(frames "$1" code) + $(frames "$1" scan) + $(frames "$1" frame_pointer) <= 5)) ||
		fail "not by rules: $("$EBPROF" info "$1" | grep -A9 '^stacks')"
}

test_executable_image() { # as QEMU's
	is_x86
	record r.data "$made" executable 1.5
	want_stacks r.data 97 '_start;.*;main;run_code;calls;small;spin_small'
	want_rules_alone r.data
	[[ $(field r.data images_read) -ge 1 ]] || fail "images: $("$EBPROF" info r.data)"
}

test_relocatable_image() { # as LLVM's
	is_x86
	record r.data "$made" relocatable 1.5
	want_stacks r.data 97 '_start;.*;main;run_code;calls;small;spin_small'
	want_rules_alone r.data
}

# At one address in turn, with another frame. When one came is known within a tenth of a second:
# within that the name may be the other's, the stack may not.
test_images_that_come_and_go() {
	is_x86
	record r.data "$made" changing 4
	want_stacks r.data 97 '_start;.*;main;run_code;calls;[^;]*;spin_(small|large)'
	want_stacks r.data 60 'calls;(small;spin_small|large;spin_large)'
	want_rules_alone r.data
	[[ $(field r.data stale_names) -gt 0 ]] || fail "no name is stale"
}

# Without its rule that code is not what can be read: the test above means something.
test_code_that_is_not_registered() {
	is_x86
	record r.data "$made" silent 1.5
	(($(frames r.data code) <= 5)) || fail "it was read: $("$EBPROF" info r.data)"
	want_stacks r.data 90 '\[JIT\][^;]*;spin_small'
}

# What makes no sense is left out and counted; the recording goes on.
test_lists_that_lie() {
	is_x86
	local mode
	for mode in circle liar unmapped; do
		record r.data "$made" "$mode" 1.5
		want_whole r.data
		want_stacks r.data 90 '\[JIT\][^;]*;spin_small'
		[[ $(field r.data images_given_up) -ge 1 ]] ||
			fail "$mode: nothing was given up: $("$EBPROF" info r.data)"
	done
}

# What C++'s exceptions need, which compilers give to libgcc: rules without names.
test_frames_for_libgcc() {
	is_x86
	record r.data "$made" frames 1.5
	want_stacks r.data 97 '_start;.*;main;run_code;calls;\[JIT\][^;]*;spin_small'
	want_rules_alone r.data
	record r.data "$made" crowd 1.5
	want_stacks r.data 97 '_start;.*;main;run_code;calls;\[JIT\][^;]*;spin_small'
	want_rules_alone r.data
}

# From libgcc 13 on they are in a tree: LIBGCC names another libgcc_s.so.1.
# When the library comes, the process was looked at already, and has another registry.
test_frames_for_a_libgcc_that_comes_later() {
	is_x86
	record r.data "$made" late 1.5
	# spin_large() is called before it comes
	want_stacks r.data 97 '_start;.*;main;run_code;calls;\[JIT\][^;]*;spin_small' spin_small
}

# What was guessed of the code before it was registered holds for some tenths of a second.
test_frames_for_code_that_runs_already() {
	is_x86
	record r.data "$made" after 4
	want_stacks r.data 80 '_start;.*;main;run_code;calls;\[JIT\][^;]*;spin_small' spin_small
}

test_frames_for_another_libgcc() {
	is_x86
	[[ -n ${LIBGCC:-} ]] || skip "LIBGCC names no other libgcc_s.so.1"
	local mode
	for mode in frames crowd; do
		record r.data env LD_PRELOAD="$LIBGCC" "$made" $mode 1.5
		want_stacks r.data 95 '_start;.*;main;run_code;calls;\[JIT\][^;]*;spin_small'
		want_rules_alone r.data
	done
}

# LLVM's code as PostgreSQL has it, by default with libgcc alone.
test_postgresql() {
	local bin pid all whole
	bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
	[[ -n $bin && -e ${bin%/bin}/lib/llvmjit.so ]] || skip "no PostgreSQL with LLVM here"
	is_x86
	id postgres >/dev/null 2>&1 || skip "no user postgres"
	chmod 755 . ..
	mkdir -m 700 data && chown postgres data
	su postgres -s /bin/sh -c "$bin/initdb -D $PWD/data -A trust" >init.out 2>&1 || fail "initdb: $(tail -n 2 init.out)"
	su postgres -s /bin/sh -c "exec $bin/postgres -D $PWD/data -h '' -k $PWD/data" >server.out 2>&1 </dev/null &
	local i sql="set jit=on; set jit_above_cost=0; set jit_optimize_above_cost=0; set max_parallel_workers_per_gather=0;"
	for i in {1..50}; do
		[[ ! -S data/.s.PGSQL.5432 ]] || break
		sleep 0.1
	done
	"$bin/psql" -q -h "$PWD/data" -U postgres -c "create table t as select i as a, i*2 as b from generate_series(1,800000) i" ||
		fail "psql: $(tail -n 3 server.out)"
	for i in 3 4 5 6 7 8; do sql+=" select sum(a*b::bigint + a % 7), count(*) from t where a % $i <> 1 and b + a > 5;"; done
	# The recorder is there before the first query is.
	mkfifo statements
	"$bin/psql" -qAt -h "$PWD/data" -U postgres <statements >answers 2>&1 &
	exec 9>statements
	echo "select pg_backend_pid();" >&9
	wait_until "a process for the queries" test -s answers
	pid=$(<answers)
	"$EBPROF" record -F 997 -o p.data -p "$pid" --duration 20 2>err 9>&- &
	wait_ready err
	echo "$sql" >&9
	exec 9>&-
	wait $! || fail "record: $(tail -n 2 err)"
	"$EBPROF" convert --folded p.data >p.data.folded 2>fold.err || fail "convert: $(cat fold.err)"
	read -r all whole < <(awk '/\[JIT\]|\[unregistered\]/ { all += $NF; if (/_start/) whole += $NF }
		END { print all + 0, whole + 0 }' p.data.folded)
	((all >= 50 && whole * 100 >= all * 99)) ||
		fail "$whole of $all stacks with code of LLVM are whole: $("$EBPROF" info p.data | grep -A9 '^stacks')"
}

test_qemu() {
	command -v qemu-x86_64 >/dev/null || skip "no qemu-x86_64"
	is_x86
	cat >fib.c <<-'END'
		int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
		int main(void) { return fib(39) == 0; }
	END
	cc -O1 -static -o fib fib.c 2>cc.err || skip "no static program: $(head -c 200 cc.err)"
	record q.data qemu-x86_64 ./fib
	want_stacks q.data 95 'qemu-x86_64;_start;.*;main;cpu_loop;cpu_exec;[^;]*;code_gen_buffer'
	want_rules_alone q.data
}

test_llvm() {
	command -v lli >/dev/null && command -v clang >/dev/null || skip "no lli or clang"
	is_x86
	cat >p.c <<-'END'
		#include <stdlib.h>
		volatile unsigned long sink;
		__attribute__((noinline)) void spin(unsigned n) { for (unsigned i = 0; i < n; i++) sink += i * sink; }
		__attribute__((noinline)) void alpha(void) { spin(1000000); sink++; }
		__attribute__((noinline)) int compare(const void *a, const void *b) { spin(20000); return *(int *)a - *(int *)b; }
		__attribute__((noinline)) void sorts(void) { int a[64]; for (int i = 0; i < 64; i++) a[i] = i * 37 % 64; qsort(a, 64, sizeof(int), compare); sink++; }
		int main(void) { for (int i = 0; i < 80; i++) { alpha(); sorts(); } return 0; }
	END
	clang -O1 -emit-llvm -c p.c -o p.bc 2>cc.err || skip "clang: $(head -c 200 cc.err)"
	local kind
	for kind in mcjit orc; do
		record l.data lli --jit-kind=$kind p.bc
		want_stacks l.data 90 '_start;.*;main;.*;main;(alpha;spin|sorts;qsort.*;compare;spin)'
		want_rules_alone l.data
	done
}

run_tests
