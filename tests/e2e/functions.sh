#!/bin/bash
# Functions of stripped programs: one row each, by the bounds that the file tells.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# heavy() takes 3 parts, medium() 2 and light() 1, of CPU time, whatever the machine's speed.
make_program() { # NAME [GCC_OPTION...]
	command -v gcc >/dev/null || skip "no gcc here"
	local name=$1
	shift
	cat >shape.c <<'END'
#include <time.h>
static double now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}
volatile unsigned sink;
#ifdef MORE
__attribute__((noipa)) void more(void) { for (unsigned i = 0; i < 100; i++) sink *= i + sink / 3; }
#endif
#define SPIN(name) static __attribute__((noipa)) void name(double seconds) \
{ \
	double end = now() + seconds; \
	do \
		for (unsigned i = 0; i < 20000; i++) \
			sink += i ^ sink >> 3; \
	while (now() < end); \
}
SPIN(light)
SPIN(medium)
SPIN(heavy)
__attribute__((noipa)) static void work(void) { heavy(0.03); medium(0.02); light(0.01); sink++; }
int main(void)
{
#ifdef MORE
	more();
#endif
	for (int i = 0; i < 25; i++)
		work();
	return 0;
}
END
	gcc -O2 -fno-toplevel-reorder -Wl,--build-id "$@" shape.c -o "$name.full" || fail gcc
	strip -s -o "$name" "$name.full" || fail strip
}

address_of() { # FILE SYMBOL: as fn_ADDRESS
	nm "$1" | awk -v name="$2" '$3 == name { sub(/^0+/, "", $1); print "fn_" $1 }'
}

# A function's share of all, by its row: NAME is heavy and so on.
want_share() { # FILE_OF_ROWS ROW PERCENT
	awk -v row="$2" -v want="$3" '$NF == row { got += $1 } END { exit !(got > want - 4 && got < want + 4) }' "$1" ||
		fail "$2 has not about $3 %: $(cat "$1")"
}

want_shape() { # FILE_OF_ROWS FULL_PROGRAM
	want_share "$1" "$(address_of "$2" heavy)" 50
	want_share "$1" "$(address_of "$2" medium)" 33.3
	want_share "$1" "$(address_of "$2" light)" 16.7
}

test_a_row_for_each_function() {
	make_program program
	run "$EBPROF" record -- ./program
	want_status 0 record
	"$EBPROF" report --stdio --percent-limit 1 >rows || fail report
	want_shape rows program.full
	! grep -q 'program+0x' rows || fail "addresses: $(cat rows)"
	(($(grep -c 'program  *\[\.\] fn_' rows) == 3)) || fail "not one row each: $(cat rows)"
	grep -q 'shown: *as fn_START' rows || fail "it does not say what stands in place of names"
	"$EBPROF" report --stdio -s sym --percent-limit 1 | grep -q "program $(address_of program.full heavy)$" ||
		fail "no file beside the name where it has no column"
	# Callers are functions, too: work() has all of it.
	"$EBPROF" report --stdio -g >tree || fail "report -g"
	awk -v row="$(address_of program.full work)" '$NF == row { got = $1 + 0 } END { exit !(got > 95) }' tree ||
		fail "work() has not all of it: $(cat tree)"
	"$EBPROF" report --stats --stdio | grep -q 'in functions without one (fn_START), 0\.[0-9]% at addresses' ||
		fail "what has no name is not counted"
}

test_names_replace_them_when_they_are_found() {
	make_program program
	"$EBPROF" record -q -- ./program || fail record
	"$EBPROF" report --stdio >before || fail report
	local id
	id=$(readelf -n program | awk '/Build ID/ { print $3 }')
	mkdir -p "debug/.build-id/${id:0:2}"
	cp program.full "debug/.build-id/${id:0:2}/${id:2}.debug"
	"$EBPROF" report --stdio --debug-dir debug >rows || fail "report with names"
	want_share rows heavy 50
	! grep -q fn_ rows || fail "not all names: $(cat rows)"
	# The same function has the same share.
	local hottest
	hottest=$(awk -v row="$(address_of program.full heavy)" '$NF == row { print $1 }' before)
	[[ $(awk '$NF == "heavy" { print $1 }' rows) == "$hottest" ]] || fail "another share: $(cat before rows)"
}

test_exports_and_annotate() {
	make_program program
	"$EBPROF" record -q -- ./program || fail record
	local heavy work
	heavy=$(address_of program.full heavy) work=$(address_of program.full work)
	"$EBPROF" convert --folded -o out.folded || fail folded
	awk -v path="program $work;program $heavy" 'index($0, path) { got += $NF } { all += $NF }
		END { exit !(got > all * 0.45 && got < all * 0.55) }' out.folded || fail "folded: $(head out.folded)"
	"$EBPROF" convert --pprof -o out.pb.gz || fail pprof
	gzip -dc out.pb.gz | grep -aq "program $heavy" || fail "no name in pprof"
	"$EBPROF" convert --csv -o out.csv || fail csv
	grep -q "program,$heavy,,," out.csv || fail "csv: $(head out.csv)"
	"$EBPROF" convert --perf-script -o out.script || fail perf-script
	grep -q " $heavy+0x" out.script || fail "perf-script: $(head out.script)"
	command -v objdump >/dev/null || skip "no objdump here"
	"$EBPROF" annotate --stdio "$heavy" >listing || fail annotate
	grep -q "^ *${heavy#fn_}: " listing || fail "the listing does not begin with the function: $(head listing)"
	! grep -q 'nothing says where' listing || fail "bounds are not known"
}

test_archive_takes_them_along() {
	make_program program
	"$EBPROF" record -q --archive -- ./program || fail record
	"$EBPROF" report --stdio >here || fail report
	mkdir -p root
	"$EBPROF" report --stdio --symfs root --symbol-cache none >there || fail "report elsewhere"
	diff <(grep -v '^#' here) <(grep -v '^#' there) >difference || fail "it differs: $(cat difference)"
	want_shape there program.full
}

test_without_the_file_it_is_said() {
	make_program program
	"$EBPROF" record -q --no-archive -- ./program || fail record
	mkdir -p root
	"$EBPROF" report --stdio --symfs root --symbol-cache none >there || fail "report elsewhere"
	grep -q 'as addresses, since nothing tells the bounds' there || fail "it is not said: $(cat there)"
}

test_diff_of_one_build() {
	make_program program
	"$EBPROF" record -q -o old.data -- ./program || fail record
	"$EBPROF" record -q -o new.data -- ./program || fail record
	"$EBPROF" diff --json out.json old.data new.data >/dev/null || fail diff
	grep -q "program $(address_of program.full heavy)\"" out.json || fail "no row of heavy(): $(cat out.json)"
	! grep -q 'no symbol' out.json || fail "functions were lumped together"
}

test_diff_of_two_builds() {
	mkdir -p old new
	make_program old/program
	make_program new/program -DMORE
	local old new
	old=$(address_of old/program.full heavy) new=$(address_of new/program.full heavy)
	[[ $old != "$new" ]] || fail "the builds do not differ"
	"$EBPROF" record -q -o old.data -- old/program || fail record
	"$EBPROF" record -q -o new.data -- new/program || fail record
	"$EBPROF" diff --json out.json old.data new.data >/dev/null || fail diff
	grep -q "program $new, was $old\"" out.json || fail "heavy() is not matched: $(cat out.json)"
}

# Assembly that says nothing of itself: neither symbols nor call frame information.
test_assembly_without_call_frame_information() {
	[[ $(uname -m) == x86_64 ]] || skip "assembly of x86-64"
	command -v gcc >/dev/null || skip "no gcc here"
	cat >spin.S <<'END'
	.text
	.globl first
	.p2align 4
first:	mov %edi, %eax
1:	imul %eax, %eax
	dec %edi
	jne 1b
	ret
	.p2align 4
	.globl second
second:	mov %edi, %eax
	test %eax, %eax
	je 2f
1:	imul %eax, %eax
	vpaddd %xmm0, %xmm0, %xmm1
	dec %edi
	jne 1b
	ret
	.p2align 4
2:	xor %eax, %eax
	ret
	.section .note.GNU-stack,"",@progbits
END
	cat >call.c <<'END'
int first(unsigned), second(unsigned);
int main(void) { for (int i = 0; i < 200; i++) { first(6000000); second(3000000); } return 0; }
END
	if ! gcc -O2 spin.S call.c -o program.full || ! strip -s -o program program.full; then
		fail gcc
	fi
	"$EBPROF" record -q -- ./program || fail record
	"$EBPROF" report --stdio --percent-limit 1 >rows || fail report
	grep -q 'shown: *as fn_START: bounds of [0-9]* by call frame information, of 2 guessed from the code' rows ||
		fail "it does not say whose bounds are guessed: $(cat rows)"
	"$EBPROF" report --stats --stdio | grep -q '9[0-9]\.[0-9]% in functions whose bounds were guessed' ||
		fail "the share of guesses is not said"
	local function
	for function in first second; do
		(($(grep -c " $(address_of program.full $function)$" rows) == 1)) || fail "$function: $(cat rows)"
	done
	(($(grep -c '\] fn_' rows) == 2)) || fail "more than two rows: $(cat rows)"
}

# Both are mapped at one address, one after the other.
test_files_of_one_name() {
	command -v gcc >/dev/null || skip "no gcc here"
	local version
	for version in 1 2; do
		mkdir "v$version"
		cat >"v$version/plug.c" <<-END
			volatile unsigned long sink;
			__attribute__((noipa)) void run(void) { for (long i = 0; i < ${version}50000000; i++) sink += i; }
		END
		gcc -O1 -g -shared -fPIC -o "v$version/plug.so" "v$version/plug.c" || fail gcc
	done
	cat >host.c <<-'END'
		#include <dlfcn.h>
		int main(void)
		{
			const char *names[] = {"./v1/plug.so", "./v2/plug.so"};
			for (int i = 0; i < 2; i++) {
				void *file = dlopen(names[i], RTLD_NOW);
				((void (*)(void))dlsym(file, "run"))();
				dlclose(file);
			}
		}
	END
	gcc -g -o host host.c -ldl || fail gcc
	"$EBPROF" record -q -e cpu-clock:u -- ./host || fail record
	"$EBPROF" report --stdio >rows || fail report
	grep -q ' v1/plug\.so .* run$' rows && grep -q ' v2/plug\.so .* run$' rows || fail "$(cat rows)"
	"$EBPROF" report --stdio -d v2/plug.so >rows || fail "the end of a path is refused"
	grep -q v2/plug rows && ! grep -q v1/plug rows || fail "v2 alone: $(cat rows)"
	"$EBPROF" report --stdio -d plug.so >rows || fail "the name is refused"
	grep -q v2/plug rows && grep -q v1/plug rows || fail "both: $(cat rows)"
}

run_tests
