#!/bin/bash
# Stacks of programs without frame pointers are whole, from the first sample on, and no frame
# comes from the wrong file.
. "$(dirname "$0")/prelude.bash"

shapes=$WORKLOADS/unwind_shapes
cache=(--unwind-cache none)

record() { # FILE OPTION... -- COMMAND...
	local file=$1
	shift
	run "$EBPROF" record -q -F 997 "${cache[@]}" -o "$file" "$@"
	want_status 0 "record $*"
	want_whole "$file"
}

fold() { "$EBPROF" convert --folded "$1" 2>fold.err || fail "convert: $(cat fold.err)"; }

# Samples in a folded file whose stack matches.
count() { # FILE PATTERN
	sed -E 's/ ([0-9]+)$/\t\1/' "$1" | grep -P "^(?=[^\t]*($2))" | awk -F '\t' '{ sum += $NF } END { print sum + 0 }'
}

# At least PERCENT of the samples match.
want_share() { # FOLDED PATTERN PERCENT
	local all got
	all=$(count "$1" .) got=$(count "$1" "$2")
	((all > 100)) || fail "only $all samples"
	((got * 100 >= all * $3)) || fail "$got of $all are $2: $(head -n 3 "$1" | cut -c1-300)"
}

shape() { # CHAIN SHAPE [N]
	local chain=$1
	shift
	record r.data -- "$shapes" "$1" 1.5 "${@:2}"
	fold r.data >r.folded
	want_share r.folded "^unwind_shapes;.*_start;.*main;$chain" 97
	local truncated
	truncated=$(count r.folded truncated)
	((truncated * 100 <= $(count r.folded .) * 2)) || fail "$truncated stacks are cut"
}

test_recursion_400_deep() {
	record r.data -- "$shapes" recursion 1.5 400
	fold r.data >r.folded
	want_share r.folded "main;(recurse;){401}spin" 97
}
test_recursion_900_deep() {
	record r.data -- "$shapes" recursion 1.5 900
	fold r.data >r.folded
	want_share r.folded "main;(recurse;){901}spin" 90 # deeper than a snapshot, before tables are there
}
test_recursion_beyond_the_limit_is_cut_and_says_so() {
	record r.data -- "$shapes" recursion 1 3000
	fold r.data >r.folded
	want_share r.folded "truncated: depth_limit.;(recurse;){1000,}spin" 80
}
test_callback_through_libc() { shape 'callback;.*qsort.*;compare;spin' callback; }
test_signal_handler() { shape 'interrupt;.*raise.*;on_signal;spin' signal; }
# A snapshot holds one of the two stacks, so those before the tables were there are cut.
test_signal_handler_on_another_stack() {
	record r.data -- "$shapes" altstack 1.5
	fold r.data >r.folded
	want_share r.folded 'main;interrupt;.*raise.*;on_signal;spin' 85
}
# The handler stands on what jumped to a bad address, which stands on the function that called it.
fault='jump_badly;jump_to;(\[unknown\]|unwind_shapes|\[anon\])[^;]*;[^;]*;on_fault;spin'
test_handler_of_a_call_through_null() { shape "$fault" fault null; }
test_handler_of_a_call_to_nowhere() { shape "$fault" fault nowhere; }
test_handler_of_a_call_to_data() { shape "$fault" fault data; }
test_vdso() { shape 'read_clock' vdso; }
test_kernel() { shape 'enter_kernel' kernel; }
test_frame_pointer_points_nowhere() { shape 'jump;spin' jump; }
test_thread() {
	record r.data -- "$shapes" thread 1.5
	fold r.data >r.folded
	want_share r.folded '^unwind_shapes;.*clone.*;start_thread;start_routine;spin' 97
}

# Behind the system call of clone3() there are no rules: the parent is there below its callers, the
# child has none.
makes() { # SHAPE CALLER SECONDS
	record r.data -- "$shapes" "$1" "$3"
	fold r.data >r.folded
	local all truncated
	all=$(count r.folded .) truncated=$(count r.folded truncated)
	((all > 100)) || fail "only $all samples"
	((truncated * 100 <= all)) || fail "$truncated of $all stacks are cut"
	grep 'kernel_clone_\[k\]' r.folded >parents || skip "no sample in the kernel's clone"
	! grep -v "main;$2;" parents || fail "a parent without its callers"
}
test_making_threads() { makes threads make_threads 0.7; } # of CPU time, while it waits for most of them
test_making_processes() { makes processes make_processes 2; }

# Two programs at the same addresses, each executing the other: no function of one in the other.
test_exec_race() {
	cp "$shapes" shape_a.bin
	cp "${shapes}_a" shape_b.bin
	mv shape_a.bin prog_b # built with only_b()
	mv shape_b.bin prog_a
	record r.data -- setarch -R ./prog_a exec 1 ./prog_b
	fold r.data >r.folded
	local right wrong
	right=$(($(count r.folded '^prog_a;.*only_a') + $(count r.folded '^prog_b;.*only_b')))
	wrong=$(($(count r.folded '^prog_a;.*only_b') + $(count r.folded '^prog_b;.*only_a')))
	((right > 500)) || fail "only $right samples"
	((wrong == 0)) || fail "$wrong frames from the wrong program: $(grep -E '^prog_a.*only_b|^prog_b.*only_a' r.folded | head -n 2)"
}

# Two libraries, one at a time at the same place.
test_dlopen_race() {
	local name
	for name in x y; do
		echo "void only(void); static volatile unsigned long s;
		__attribute__((noinline)) void only_$name(void) { for (unsigned long i = 0; i < 900000; i++) s += i; __asm__ volatile(\"\"); }
		__attribute__((noinline)) void padding_$name(void) { __asm__ volatile(\".skip $([[ $name == x ]] && echo 64 || echo 16), 0x90\"); }
		void only(void) { only_$name(); __asm__ volatile(\"\"); }" >$name.c
		cc -shared -fPIC -O2 -fomit-frame-pointer -Wl,-soname,lib$name.so -o lib$name.so $name.c ||
			skip "no compiler here"
	done
	record r.data -- setarch -R "$shapes" dlopen 2 ./libx.so ./liby.so
	fold r.data >r.folded
	local x y cut
	x=$(count r.folded 'main;load;only;only_x') y=$(count r.folded 'main;load;only;only_y')
	cut=$(count r.folded truncated)
	((x > 200 && y > 200)) || fail "$x and $y samples"
	# Both do the same work; taken for one another they would not be equally many.
	((x * 10 > y * 8 && y * 10 > x * 8)) || fail "$x of one, $y of the other"
	((cut * 100 <= (x + y) * 2)) || fail "$cut are cut: $(grep trunc r.folded | head -n 3)"
}

# Hundreds of processes that live for 10 ms: their samples are there, by their names and complete.
test_short_lives() {
	"$EBPROF" record -a -F 997 "${cache[@]}" -o r.data 2>err &
	local recorder=$!
	wait_ready err
	"$shapes" lives 2 10 >lives
	reap $recorder INT
	want_whole r.data
	fold r.data >r.folded
	local wanted got whole
	wanted=$(awk '{ sum += $2 } END { printf "%d", sum * 997 }' lives)
	got=$(count r.folded '^life-[0-9]+;') whole=$(count r.folded '^life-[0-9]+;.*_start;.*main;live;spin')
	((wanted > 1000)) || fail "$(wc -l <lives) processes should have had $wanted samples only"
	((got * 100 >= wanted * 95)) || fail "$got of $wanted samples"
	((whole * 100 >= got * 95)) || fail "$whole of $got are whole"
}

# Each is a file of its own, and over when the recorder comes to its first samples.
test_short_lives_with_large_frames() {
	local i
	for ((i = 0; i < 60; i++)); do cp "$shapes" "life-$i"; done
	record r.data -- bash -c "for ((i = 0; i < 60; i++)); do ./life-\$i some 0.01; done"
	fold r.data >r.folded
	grep -E '^life-[0-9]+;.*keep_some' r.folded >some.folded
	want_share some.folded '_start;.*main;keep_some;spin' 99
}

# A recorder that hardly gets a CPU has no tables of large libraries in time: stacks go on by what the
# files themselves are searched by.
test_tables_that_come_too_late() {
	local i compilers=() cut samples
	command -v clang >/dev/null || skip "no clang"
	need setpriv
	ldd "$(command -v clang)" | grep -q libLLVM || skip "this clang has its LLVM in itself"
	printf 'int f(int a) { for (int i = 0; i < a; i++) a ^= i; return a; }\n' >f.c
	for ((i = 0; i < 2 * $(nproc); i++)); do
		(while :; do clang -O2 -g -c f.c -o /dev/null; done) &
		compilers+=($!)
	done
	nice -n 10 setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice \
		"$EBPROF" record -a -q -F 499 "${cache[@]}" --duration 2 -o r.data 2>err || fail "record: $(cat err)"
	kill "${compilers[@]}"
	wait "${compilers[@]}" 2>/dev/null
	samples=$(fold r.data | count /dev/stdin '^clang')
	cut=$("$EBPROF" info --json r.data | python3 -c '
import json, sys
print(sum(file["truncated_by"].get("table_pending", 0) for file in json.load(sys.stdin)["cut_or_guessed"]
          if "libLLVM" in file["path"] or "libclang-cpp" in file["path"]))')
	((samples > 300)) || fail "only $samples samples of compilers"
	((cut * 20 <= samples)) || fail "$cut of $samples stacks end in libLLVM or libclang-cpp, for whose tables there was no time"
}

# So little memory that tables push each other out.
test_tables_are_dropped_and_asked_for_again() {
	command -v clang >/dev/null || skip "no clang"
	record r.data --unwind-memory 8M -- clang -c -O2 -x c++ -std=c++17 -o /dev/null \
		"$here/../bench/templates.cpp"
	local complete samples
	samples=$(field r.data samples)
	complete=$(field r.data complete)
	((complete * 100 >= samples * 90)) || fail "$complete of $samples are complete"
}

test_cache_is_used_and_survives_damage() {
	mkdir cache
	cache=(--unwind-cache "$PWD/cache")
	record r.data -- "$shapes" callback 0.5
	(($(find cache -type f | wc -l) >= 2)) || fail "nothing was cached: $(ls -la cache)"
	find cache -type f -exec sh -c 'printf XXXXXXXX | dd of="$1" bs=1 seek=200 conv=notrunc 2>/dev/null' _ {} \;
	shape 'callback;.*qsort.*;compare;spin' callback
}

# In a container any file can be root's and claim the build ID of another.
test_cache_believes_no_build_id() {
	command -v readelf >/dev/null || skip "no readelf"
	local offset size
	read -r offset size < <(readelf -SW "$shapes" |
		sed -nE 's/.* \.eh_frame +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+) .*/0x\1 0x\2/p')
	[[ -n $size ]] || fail "no .eh_frame in $shapes"
	mkdir cache
	cache=(--unwind-cache "$PWD/cache")
	cp "$shapes" fake
	dd if=/dev/zero of=fake bs=1 seek=$((offset)) count=$((size)) conv=notrunc 2>/dev/null
	# Both have their frames: those of the fake by its code, which is read place by place.
	places_read fake ./fake
	(($(cat fake.places) > 0)) || fail "the fake has its rules: $(cat fake.err)"
	places_read real "$shapes"
	(($(cat real.places) == 0)) || fail "the program has the fake's rules: $(cat real.err)"
	shape 'callback;.*qsort.*;compare;spin' callback
}

# How many places of code the recorder had to read for want of rules.
places_read() { # NAME PROGRAM
	run "$EBPROF" record -v -F 997 "${cache[@]}" -o "$1.data" -- "$2" callback 0.5
	want_status 0 "record $2"
	cp err "$1.err"
	grep -oP 'new places: \K[0-9]+(?= read)' err >"$1.places" || echo 0 >"$1.places"
}

test_by_frame_pointer() {
	record r.data --call-graph fp -- "$WORKLOADS/workload" 1
	fold r.data >r.folded
	want_share r.folded 'main;.*heavy|main;.*medium|main;.*light' 80
}

test_by_the_report() {
	record r.data --call-graph dwarf -- "$shapes" callback 1
	fold r.data >r.folded
	want_share r.folded 'main;callback;.*qsort.*;compare;spin' 95
}

# The BPF program's stacks and the report's, of the same ticks, frame for frame.
same_as_report() { # COMMAND...
	local oracle
	oracle=$(dirname "$WORKLOADS")/oracle/both_ways
	[[ -x $oracle ]] || skip "built without libdw-dev"
	# Scripts' frames, which are there as soon as an interpreter is known, the report has not.
	record r.data --call-graph both --no-vm all -m 16M -- "$@"
	"$oracle" r.data >both || fail "$(cat both)"
	local stacks frames different
	read -r stacks frames different < <(sed -nE \
		's/^stacks ([0-9]+),.*frames ([0-9]+), different ([0-9]+)$/\1 \2 \3/p' both)
	((stacks > 30)) || fail "only $stacks stacks: $(tail -n 1 both)"
	((different * 1000 <= frames)) || fail "$(tr '\n' ' ' <both)"
}

test_same_as_report_recursion() { same_as_report "$shapes" recursion 1 60; }
test_same_as_report_signal() { same_as_report "$shapes" signal 1; }
test_same_as_report_compiler() {
	CCACHE_DISABLE=1 same_as_report cc -O2 -c -D_GNU_SOURCE -I "$here/../.." -o x.o "$here/../../format/file/writer.c"
}
test_same_as_report_python() {
	command -v python3 >/dev/null || skip "no python3"
	same_as_report python3 -c 'def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
f(28)'
}

run_tests
