#!/bin/bash
# Allocations of a program that knows how many there are: their number and bytes are exact, what the
# samples stand for is near, and what stays is what was not freed.
# Mostly waits: what is recorded is the programs' own.
. "$(dirname "$0")/prelude.bash"

record_heap() { # OPTION... -- COMMAND...
	"$EBPROF" record "${way[@]}" -o heap.data "$@" >said 2>err || fail "record: $(tail -n 2 err)"
	want_whole heap.data
	want_exact heap.data
}

# What became of the events of an event's source: count or sum.
tally() { # EVENT COUNTER count|sum
	"$EBPROF" info --json heap.data | grep -F "\"name\": \"$1\"" |
		sed -E "s/.*\"$2\": \{\"count\": ([0-9]+), \"sum\": ([0-9]+).*/\1 \2/" |
		if [[ $3 == count ]]; then cut -d' ' -f1; else cut -d' ' -f2; fi
}

# What all stacks of an event weigh that have the function.
weight() { # EVENT FUNCTION
	"$EBPROF" convert --folded --event "$1" -o - heap.data 2>/dev/null |
		awk -v name="$2" 'index($0, ";" name ";") || index($0, ";" name " ") { sum += $NF } END { printf "%.0f\n", sum }'
}

# By a part of what is expected.
want_near() { # WHAT VALUE EXPECTED PERCENT
	(($2 * 100 >= $3 * (100 - $4) && $2 * 100 <= $3 * (100 + $4))) || fail "$1: $2, not $3 by $4 %"
}

# Column of what the program said, all functions: 2 bytes, 3 objects, 4 bytes and 5 objects in use.
said() { # COLUMN
	awk -v at="$1" '{ sum += $at } END { printf "%.0f\n", sum }' said
}

# Of a few hundred samples the sum is known by some percent, of each function less so.
want_functions() {
	local name bytes objects used_bytes
	while read -r name bytes objects used_bytes _; do
		want_near "bytes of $name" "$(weight alloc_space "$name")" "$bytes" 25
		want_near "objects of $name" "$(weight alloc_objects "$name")" "$objects" 30
		if [[ $used_bytes == 0 ]]; then
			[[ $(weight inuse_space "$name") == 0 ]] || fail "$name: $(weight inuse_space "$name") bytes in use"
		else
			want_near "bytes in use of $name" "$(weight inuse_space "$name")" "$used_bytes" 60
		fi
	done <said
}

# And a few that the C library makes for itself.
check_program() { # COMMAND...
	record_heap -- "$@"
	local objects bytes
	objects=$(tally heap events count) bytes=$(tally heap events sum)
	((objects >= $(said 3) && objects <= $(said 3) + 60)) || fail "$objects allocations, not $(said 3)"
	((bytes >= $(said 2) && bytes <= $(said 2) + 200000)) || fail "$bytes bytes, not $(said 2)"
	want_near "bytes in all" "$(weight alloc_space main)" "$(($(said 2) - $(awk '/leak/ { print $2 }' said)))" 10
	want_functions
}

test_preloaded() {
	way=(--heap=32K)
	check_program "$WORKLOADS/heap" 16
	! grep -q hint err || fail "$(cat err)"
}

# The allocator is the program's own: each of its calls runs into a probe.
test_probes() {
	way=(--heap=32K --max-overhead=100%)
	check_program "$WORKLOADS/heap_static" 8
	grep -q 'is statically linked' err || fail "it is not said: $(cat err)"
}

test_programs_that_a_command_starts() {
	way=(--heap=32K)
	LD_PRELOAD=libdl.so.2 record_heap -- sh -c "echo \$LD_PRELOAD >preloaded; '$WORKLOADS/heap' 4; (exec '$WORKLOADS/heap' 4)"
	grep -q '^/.*/heap_sampler.so:libdl.so.2$' preloaded || fail "LD_PRELOAD was $(cat preloaded)"
	[[ ! -e $(cut -d: -f1 preloaded) ]] || fail "the library is still there"
	local objects
	objects=$(tally heap events count)
	((objects >= $(said 3) && objects <= $(said 3) + 3000)) || fail "$objects allocations, not $(said 3)"
	# what is in use when a program ends is that of both
	want_near "bytes in use" "$(weight inuse_space allocate_leak)" "$(awk '/leak/ { sum += $4 } END { print sum }' said)" 40
}

# A program of C loads a library of C++ by RTLD_LOCAL: the C++ operators are not in the global scope.
test_operators_of_a_library_that_is_loaded_later() {
	command -v g++ >/dev/null || skip "no g++"
	way=(--heap=4K)
	cat >news.cc <<-'CODE'
		#include <new>
		struct block { char bytes[1000]; };
		extern "C" int make_blocks(int count) {
			int sum = 0;
			for (int i = 0; i < count; i++) {
				block *made = new block, *others = new (std::nothrow) block[2];
				made->bytes[0] = others->bytes[0] = 1;
				sum += made->bytes[0] + others->bytes[0];
				delete made;
				if (i % 2)
					delete[] others;
			}
			return sum;
		}
	CODE
	cat >loads.c <<-'CODE'
		#include <dlfcn.h>
		int main(int argc, char **argv) {
			void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : 0;
			int (*make)(int) = library ? (int (*)(int))dlsym(library, "make_blocks") : 0;
			return !make || make(2000) != 4000;
		}
	CODE
	g++ -O0 -shared -fPIC -o news.so news.cc && cc -o loads loads.c -ldl || fail "compiling"
	record_heap -- ./loads ./news.so
	[[ $(tally heap events count) -ge 4000 ]] || fail "$(tally heap events count) allocations"
	want_near "bytes" "$(weight alloc_space make_blocks)" 6000000 10
	want_near "bytes in use" "$(weight inuse_space make_blocks)" 2000000 20
}

# An allocator that is preloaded, too, is behind the sampler; its own operators are counted as such.
test_preloaded_allocators() {
	local library found=
	way=(--heap=32K)
	for library in /usr/lib/*/libjemalloc.so.2 /usr/lib/*/libtcmalloc_minimal.so.4; do
		[[ -e $library ]] || continue
		found=1
		LD_PRELOAD=$library record_heap -- "$WORKLOADS/heap" 4
		(($(tally heap events count) >= $(said 3))) || fail "$library: $(tally heap events count) allocations, not $(said 3)"
	done
	[[ $found ]] || skip "neither libjemalloc2 nor libtcmalloc-minimal4 is here"
}

# What the child frees is not what the parent has: both have 5 MB at their end, or the parent alone.
test_memory_of_a_child_is_its_own() {
	command -v python3 >/dev/null || skip "no python3"
	way=(--heap=4K)
	record_heap -- python3 -c '
import os
kept = [bytearray(5000) for _ in range(1000)]
if os.fork() == 0:
    del kept
    os._exit(0)
os.wait()
os._exit(0)'
	"$EBPROF" report --stdio -s pid --event inuse_space heap.data >report || fail report
	want_near "bytes in use" "$("$EBPROF" convert --folded --event inuse_space -o - heap.data 2>/dev/null | awk '{ sum += $NF } END { printf "%.0f\n", sum }')" 7000000 40
}

# 4 MB that stay, 40 MB that are freed, then five times 20 MB, each of which is freed: 44 MB at a time.
test_peak() {
	cat >peaks.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		static void *kept[2000];
		static void *take(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
		__attribute__((noinline)) void *stays(void) { void *at = take(20000); memset(at, 2, 1); return at; }
		__attribute__((noinline)) void *first(void) { void *at = take(20000); memset(at, 3, 1); return at; }
		__attribute__((noinline)) void *later(void) { void *at = take(10000); memset(at, 4, 1); return at; }
		static void *left[200];
		int main(void)
		{
			for (int i = 0; i < 200; i++) left[i] = stays();
			for (int i = 0; i < 2000; i++) kept[i] = first();
			for (int i = 0; i < 2000; i++) free(kept[i]);
			for (int n = 0; n < 5; n++) {
				for (int i = 0; i < 2000; i++) kept[i] = later();
				for (int i = 0; i < 2000; i++) free(kept[i]);
			}
			return left[0] == NULL;
		}
	END
	gcc -g -O1 -o peaks peaks.c || fail "cannot compile"
	way=(--heap=64K)
	record_heap -- ./peaks
	want_near "bytes at the peak of first()" "$(weight peak_space first)" 40000000 15
	want_near "bytes at the peak of stays()" "$(weight peak_space stays)" 4000000 40
	want_near "objects at the peak of first()" "$(weight peak_objects first)" 2000 15
	[[ $(weight peak_space later) == 0 ]] || fail "later() has $(weight peak_space later) bytes at the peak"
	want_near "bytes of later()" "$(weight alloc_space later)" 100000000 15
	local heap freed used
	heap=$(tally heap samples count) freed=$(tally heap-lifetime samples count) used=$(tally heap-used samples count)
	((heap == freed + used)) || fail "$heap samples, $freed freed, $used in use"
	"$EBPROF" report --stdio --peak heap.data >report || fail "report --peak"
	grep -qE '^# what was in use [0-9.]+ s after the beginning, when most was$' report || fail "when: $(head -n 3 report)"
	! "$EBPROF" report --stdio heap.data | grep -q lifetime || fail "lifetimes are shown"
}

# Of what the recorder saw until it was killed it is known what was in use.
test_in_use_when_the_recorder_was_killed() {
	cat >grows.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static void *kept[100000];
		__attribute__((noinline)) void *keeps(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
		int main(void)
		{
			for (int i = 0; i < 100000; i++) { kept[i] = keeps(10000); free(memset(malloc(10000), 2, 10)); usleep(2000); }
			return kept[0] == NULL;
		}
	END
	gcc -g -O1 -o grows grows.c || fail "cannot compile"
	"$EBPROF" record -q --heap=4K -o cut.data -- ./grows &
	local recorder=$!
	is_soon test -s cut.data
	sleep 3
	kill -9 $recorder
	wait $recorder 2>/dev/null
	pkill -x grows
	"$EBPROF" convert --folded --event alloc_space -o all cut.data 2>/dev/null || fail "no allocations"
	"$EBPROF" convert --folded --event inuse_space -o used cut.data 2>/dev/null || fail "nothing is in use"
	local all used
	all=$(awk '/;keeps / { sum += $NF } END { print sum + 0 }' all)
	used=$(awk '/;keeps / { sum += $NF } END { print sum + 0 }' used)
	((all > 0 && used == all)) || fail "$used of $all bytes are in use"
	! grep -q 'main [0-9]*$' used || fail "what was freed is in use: $(cat used)"
}

# Siblings that one process forked have points of their own: alike, their errors would not even out.
test_forked_siblings_differ() {
	cat >forks.c <<-'END'
		#include <stdlib.h>
		#include <string.h>
		#include <sys/wait.h>
		#include <unistd.h>
		static void *kept[2000];
		int main(void)
		{
			for (int n = 0; n < 12; n++)
				if (!fork()) {
					for (int i = 0; i < 2000; i++) kept[i] = memset(malloc(1000), 1, 10);
					_exit(0);
				}
			while (wait(0) > 0) {}
			return kept[0] != NULL;
		}
	END
	gcc -g -O1 -o forks forks.c || fail "cannot compile"
	way=(--heap=64K)
	record_heap -- ./forks
	"$EBPROF" report --stdio -s pid -e alloc_space heap.data >report || fail report
	awk '/^ *[0-9.]+% / { counts[$3]++; rows++ } END { for (i in counts) kinds++; exit !(rows == 12 && kinds >= 4) }' report ||
		fail "siblings are alike: $(cat report)"
	want_near "bytes of all" "$(weight alloc_space main)" 24000000 20
}

# Those of a running process get probes when they are there.
test_forked_by_a_running_process() {
	cat >server.c <<-'END'
		#include <signal.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static void *kept[100000];
		static volatile sig_atomic_t forks;
		static void on_signal(int number) { forks = number; }
		__attribute__((noinline)) void *of_parent(void) { return memset(malloc(10000), 1, 10); }
		__attribute__((noinline)) void *of_child(void) { return memset(malloc(10000), 2, 10); }
		int main(void)
		{
			int n = 0;
			signal(SIGUSR1, on_signal);
			for (int i = 0; i < 3000; i++) {
				kept[n++] = of_parent();
				usleep(10000);
				if (forks && !(forks = 0) && !fork())
					for (;;) { kept[n++ % 100000] = of_child(); usleep(5000); }
			}
		}
	END
	gcc -g -O1 -o server server.c || fail "cannot compile"
	./server &
	local server=$!
	"$EBPROF" record --heap=4K -p $server --duration 6 -o heap.data 2>err &
	local recorder=$!
	is_soon grep -q 'Ctrl-C to stop' err || fail "it does not begin: $(cat err)"
	kill -USR1 $server
	wait $recorder || fail "record: $(cat err)"
	pkill -x server
	[[ $(weight alloc_space of_parent) -gt 0 ]] || fail "the parent has none: $(cat err)"
	[[ $(weight alloc_space of_child) -gt 0 ]] || fail "the child has none: $(cat err)"
	grep -q 'process that was forked got probes of allocations' err || fail "it is not said: $(cat err)"
}

# What a command starts may be without the library: that is told, and stands in the file.
test_programs_without_the_library() {
	cat >takes.c <<-'END'
		#include <malloc.h>
		#include <stdlib.h>
		#include <string.h>
		static void *kept[3000];
		__attribute__((noinline)) void *by_malloc(void) { return memset(malloc(10240), 1, 10); }
		__attribute__((noinline)) void *by_valloc(void) { return memset(valloc(10240), 2, 10); }
		__attribute__((noinline)) void *by_pvalloc(void) { return memset(pvalloc(10240), 3, 10); }
		int main(void)
		{
			for (int i = 0; i < 1000; i++) {
				kept[3 * i] = by_malloc();
				kept[3 * i + 1] = by_valloc();
				kept[3 * i + 2] = by_pvalloc();
			}
			return kept[0] == NULL;
		}
	END
	gcc -g -O1 -Wno-deprecated-declarations -o takes takes.c || fail "cannot compile"
	run "$EBPROF" record --heap=64K -o heap.data -- sh -c 'env -i ./takes; ./takes; sh -c ./takes'
	want_status 0 record
	grep -q 'hint: 1 program that it started (takes) ran without the library' err || fail "it is not said: $(cat err)"
	"$EBPROF" info heap.data 2>&1 | grep -q '1 programs* that the command started without the library' || fail "info: $("$EBPROF" info heap.data 2>&1)"
	want_near "malloc" "$(weight alloc_space by_malloc)" 20480000 25
	want_near "valloc" "$(weight alloc_space by_valloc)" 20480000 25
	want_near "pvalloc" "$(weight alloc_space by_pvalloc)" 24576000 25
	run "$EBPROF" record --heap=64K -o heap.data -- sh -c './takes; ./takes'
	! grep -q 'without the library' err || fail "all had it: $(cat err)"
}

test_events_are_shown_everywhere() {
	way=(--heap=64K)
	record_heap -- "$WORKLOADS/heap" 4
	local event
	for event in alloc_space alloc_objects inuse_space inuse_objects peak_space peak_objects; do
		"$EBPROF" report --stdio --event "$event" heap.data >report || fail "report --event $event"
		grep -q "$event" report || fail "report --event $event: $(head -n 3 report)"
	done
	"$EBPROF" report --stdio --event inuse_space heap.data | grep -q 'allocate_leak' || fail "the leak is not shown"
	"$EBPROF" report --stdio heap.data | grep -q 'also recorded: .*inuse_space [0-9.]* MiB' || fail "no unit"
	"$EBPROF" info heap.data | grep -q '[0-9.]* MiB exactly, [0-9.]* MiB by the samples' || fail "info has no sums"
	"$EBPROF" convert --pprof -o heap.pb.gz heap.data 2>/dev/null || fail "pprof"
	! command -v go >/dev/null || go tool pprof -sample_index=inuse_space -top heap.pb.gz 2>/dev/null | grep -q 'allocate_leak' ||
		fail "pprof has no leak"
	"$EBPROF" diff --event alloc_space heap.data heap.data >/dev/null || fail "diff"
}

# Who calls C++'s operators allocates, also through inlined allocators of containers.
test_callers_of_operators() {
	command -v g++ >/dev/null || skip "no g++ here"
	cat >callers.cpp <<-'END'
		#include <vector>

		__attribute__((noinline)) static char *grow(unsigned long bytes)
		{
			char *grown = new char[bytes];
			asm volatile("" ::"r"(grown) : "memory"); /* no tail call */
			return grown;
		}

		int main()
		{
			for (int i = 0; i < 2000; i++) {
				char *grown = grow(30000);
				asm volatile("" ::"r"(grown) : "memory");
				delete[] grown;
				std::vector<int> ints(2500);
				asm volatile("" ::"r"(ints.data()) : "memory");
			}
		}
	END
	g++ -O2 -g -o callers callers.cpp || skip "g++ cannot compile here"
	way=(--heap=64K)
	record_heap -- ./callers
	"$EBPROF" report --stdio -F self,sym heap.data >report 2>&1
	! grep -q 'operator new\|allocator<int>::allocate' report || fail "operators are shown: $(cat report)"
	grep -q '[67].\...%.*grow(unsigned long)' report || fail "no grow: $(cat report)"
	grep -q '[23].\...%.*std::vector\|[23].\...%.*std::_Vector_base' report || fail "no vector: $(cat report)"
}

# What is kept is 3 MB for ever, and as much from shortly before the end, when it may be freed yet,
# unless the program has ended.
test_leaks() {
	way=(--heap=8K)
	program='sub keep { push @kept, "x" x 30000 for 1 .. 100 } keep();
		select undef, undef, undef, 1.5; push @late, "y" x 30000 for 1 .. 100;'
	record_heap -- perl -MPOSIX -e "$program POSIX::_exit(0)"
	"$EBPROF" report --stdio --leaks heap.data >report || fail "report --leaks"
	! grep -q '^# without' report || fail "leaks of what ended are left out: $(cat report)"
	program=${program/1.5/4.6}
	record_heap --duration 5 -- perl -e "$program sleep 9"
	"$EBPROF" report --stdio --leaks heap.data >report || fail "report --leaks"
	"$EBPROF" report --stdio --event inuse_space heap.data >all || fail report
	local leaks all
	leaks=$(sed -En 's/^# .*, inuse_space, ([0-9]+)( of [0-9]+)? samples.*/\1/p' report) all=$(sed -En 's/^# .*, inuse_space, ([0-9]+)( of [0-9]+)? samples.*/\1/p' all)
	grep -qE '^# without [0-9.]+ (MiB|KiB) of the last [0-9.]+ s, .*: -e inuse_space has them$' report ||
		fail "it is not said what is left out: $(cat report)"
	((leaks > 50 && all > leaks + 50)) || fail "$leaks of $all samples are leaks: $(head -n 3 report)"
}

test_running_process() {
	local pid
	way=(--heap=16K --max-overhead=100%)
	perl -e 'my @a; while (1) { push @a, "x" x 5000; @a = () if @a > 300; select undef, undef, undef, 0.0005 }' &
	pid=$!
	until grep -q libc /proc/$pid/maps; do sleep 0.05; done
	record_heap --duration 0.5 -p "$pid"
	kill "$pid"
	(($(tally heap events count) > 50)) || fail "$(tally heap events count) allocations"
	(($(tally heap samples count) > 5)) || fail "$(tally heap samples count) samples"
}

# It does nothing but allocate, and the probes take most of its time.
test_too_much_overhead() {
	local pid
	perl -e 'while (1) { my @a = map { "x" x 100 . $_ } 1 .. 100 }' &
	pid=$!
	until grep -q libc /proc/$pid/maps; do sleep 0.05; done
	run "$EBPROF" record -m 64M --heap --duration 5 -o heap.data -p "$pid"
	kill "$pid"
	want_status 0 record
	grep -q 'hint: the probes of allocations took [0-9]*% of the CPU time .*--max-overhead' err || fail "$(cat err)"
	(($("$EBPROF" info --json heap.data | jq .counters.heap_unseen_ms) > 300)) || fail "info: $("$EBPROF" info heap.data)"
	"$EBPROF" report --stdio --leaks heap.data >out 2>err
	grep -q 'what stayed in use is not known\|what is shown in use was so when they were taken off' out ||
		fail "$(cat out err)"
	! grep -q 'all of it was freed' out || fail "$(cat out err)"
	"$EBPROF" convert --json -o all.json heap.data 2>err
	grep -q 'ms without the probes of allocations' all.json || fail "an export does not say it: $(cat err)"
}

# A list of objects of 16 bytes each is a table by malloc(), and they are on Python's own heap.
test_heaps_that_are_not_seen() {
	[[ -x /usr/bin/python3 ]] || skip "no /usr/bin/python3"
	way=(--heap=16K)
	record_heap -- /usr/bin/python3 -c 'a = [object() for i in range(300000)]'
	grep -q 'hint: python3.* keeps objects of Python .* on a heap of its own, .* unless PYTHONMALLOC=malloc' err || fail "$(cat err)"
	(($(tally heap events count) < 100000)) || fail "$(tally heap events count) allocations"
	"$EBPROF" report --stdio heap.data >out
	grep -q '^# not among these: objects of Python ' out || fail "$(cat out)"
	record_heap -- env PYTHONMALLOC=malloc /usr/bin/python3 -c 'a = [object() for i in range(300000)]'
	(($(tally heap events count) > 300000)) || fail "$(tally heap events count) allocations by malloc"
}

test_refusals() {
	run "$EBPROF" record --heap -a -- true
	want_status 125 "-a"
	grep -q -- '--heap needs a command' err || fail "$(cat err)"
	run "$EBPROF" record --heap=1 -- true
	want_status 125 "--heap=1"
	run "$EBPROF" record --heap -- ./not-there
	want_status 125 "no such program"
	grep -q 'there is no program ./not-there' err || fail "$(cat err)"
	run "$EBPROF" record --heap -p 4194305
	want_status 125 "no such process"
	grep -q 'there is no process 4194305' err || fail "$(cat err)"
}

# A program of Go that has samples of its own, at the distance that it sets; or none, if it is built so.
build_go() { # NAME FLAGS...
	local name=$1
	shift
	command -v go >/dev/null || skip "no go here"
	mkdir -p go && cp "$here/heap_go/"*.go go
	(cd go && HOME=$PWD GO111MODULE=off GOFLAGS='' go build -o "../$name" "$@" .) >go.log 2>&1 ||
		skip "go build $*: $(tail -n 1 go.log)"
}

# What the program's own count says, of what it does itself.
go_bytes() { # FILE
	"$EBPROF" convert --folded --event alloc_space -o - "$1" 2>/dev/null |
		awk '/;main\.(small|large)(_\[i\])? [0-9]+$/ { sum += $NF } END { printf "%.0f\n", sum }'
}

test_go_by_its_samples() {
	build_go sampled -tags sampled
	way=(-m 64M --heap --max-overhead=100%) # 4096 is close to the default limit on a slow machine
	# long enough that the first distances, which are of the rate of before, account for little
	record_heap -- ./sampled 2000 4096
	grep -q 'is a program of Go: allocations are those that its runtime samples' err || fail "it is not said: $(cat err)"
	want_near "bytes of Go" "$(go_bytes heap.data)" "$(awk '{ print $2 }' said)" 2
	[[ $(tally heap-used samples count) == 0 && $(tally heap-used filtered count) == "$(tally heap events count)" ]] ||
		fail "in use: $("$EBPROF" info heap.data | grep heap-used)"
}

test_go_without_samples() {
	build_go stripped -ldflags=-s
	way=(-m 64M --heap=16K --max-overhead=100%)
	record_heap -- ./stripped 100 0
	grep -q 'seen by a probe in its allocator' err || fail "it is not said: $(cat err)"
	# small ones are of 88 bytes, large ones of 100,000 and up to 6 more
	want_near "bytes that were asked for" "$(tally heap events sum)" $((100 * (1000 * 88 + 100003))) 1
	want_near "estimate" "$(go_bytes heap.data)" $((100 * (1000 * 88 + 100003))) 10
}

test_go_that_runs() {
	build_go sampled -tags sampled
	local rate
	for rate in 65536 0; do
		./sampled 1000000 $rate >/dev/null &
		sleep 0.3
		run "$EBPROF" record -m 64M --heap --max-overhead=100% --duration 0.5 -o heap.data -p $!
		kill $!
		want_status 0 record
		want_exact heap.data
		(($(go_bytes heap.data) > 1000000)) || fail "rate $rate: $(go_bytes heap.data) bytes, $(cat err)"
		if ((rate)); then grep -q 'runtime samples;' err; else grep -q 'a probe in its allocator' err; fi ||
			fail "rate $rate: it is not said: $(cat err)"
	done
}

run_tests
