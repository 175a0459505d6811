#!/bin/bash
# A crash over one stack that was left to be unwound does not take the report down.
. "$(dirname "$0")/prelude.bash"

# A recording with stacks to unwind, and a process that crashes over the fifth of them, when it
# begins to count the CPU time that it takes: once, or in each process.
prepare() {
	command -v gcc >/dev/null || skip "no gcc here"
	ldd "$EBPROF" >/dev/null 2>&1 || skip "no function can be replaced in a static program"
	ldd "$EBPROF" | grep -q libasan && skip "the sanitizer wants to be preloaded itself"
	cat >failing.c <<-'END'
		#include <dlfcn.h>
		#include <fcntl.h>
		#include <signal.h>
		#include <stdlib.h>
		int setitimer(int which, const void *value, void *old)
		{
			static int calls;
			int (*own)(int, const void *, void *) = dlsym(RTLD_NEXT, "setitimer");
			const char *once = getenv("FAIL_ONCE");
			if (++calls == 5 && (!once || open(once, O_CREAT | O_EXCL, 0600) >= 0))
				raise(SIGSEGV);
			return own(which, value, old);
		}
	END
	gcc -shared -fPIC -D_GNU_SOURCE -o failing.so failing.c -ldl || fail "gcc"
	run "$EBPROF" record -q --no-archive -F 997 --call-graph dwarf -o r.data -- "$WORKLOADS/unwind_shapes" callback 1.5
	want_status 0 record
	(($(field r.data snapshots) > 100)) || fail "$(field r.data snapshots) of $(field r.data samples) stacks were left"
	"$EBPROF" convert --folded r.data -o - >whole.folded || fail "convert"
}

total() { awk '{ sum += $NF } END { print sum + 0 }' "$1"; }

test_a_crash_costs_one_stack() {
	prepare
	FAIL_ONCE=$PWD/failed LD_PRELOAD=$PWD/failing.so run "$EBPROF" convert --folded r.data -o -
	want_status 0 convert
	[[ -e failed ]] || fail "it did not crash"
	grep -q '1 snapshot could not be unwound: unwinding crashed over 1 ' err || fail "it says: $(cat err)"
	[[ $(total out) == "$(total whole.folded)" ]] || fail "samples are missing"
	local cut
	cut=$(($(grep truncated out | total /dev/stdin) - $(grep truncated whole.folded | total /dev/stdin)))
	# Equal stacks share a snapshot; one of ld.so would have been cut anyway.
	((cut >= 0 && cut <= 20)) || fail "$cut samples were cut"
}

test_crashes_without_end() {
	prepare
	LD_PRELOAD=$PWD/failing.so run "$EBPROF" report -g r.data
	want_status 0 report
	grep -q 'unwinding crashed over 8 .* were not tried' err || fail "it says: $(cat err)"
	LD_PRELOAD=$PWD/failing.so "$EBPROF" info --json r.data >info.json || fail "info"
	grep -qE '"snapshots_lost": [1-9]' info.json || fail "not counted: $(cat info.json)"
	LD_PRELOAD=$PWD/failing.so "$EBPROF" convert --folded r.data -o - 2>/dev/null >out
	[[ $(total out) == "$(total whole.folded)" ]] || fail "samples are missing"
}

# They are not unwound again, so nothing can go wrong.
test_archived_stacks_are_not_unwound() {
	prepare
	run "$EBPROF" archive r.data
	want_status 0 archive
	LD_PRELOAD=$PWD/failing.so run "$EBPROF" convert --folded r.data -o -
	want_status 0 convert
	[[ ! -s err ]] || fail "it says: $(cat err)"
	cmp -s out whole.folded || fail "other stacks: $(diff out whole.folded | head -n 4)"
}

run_tests
