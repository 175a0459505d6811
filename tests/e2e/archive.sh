#!/bin/bash
# An archived recording has its names, lines and stacks with it.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

make_program() {
cat >inlined.c <<'END'
static inline __attribute__((always_inline)) unsigned scramble(unsigned x)
{
	return x * x ^ x >> 3;
}
__attribute__((noinline)) unsigned spin(long rounds)
{
	unsigned sum = 0;
	for (long i = 0; i < rounds; i++)
		sum += scramble(sum + (unsigned)i);
	return sum;
}
int main(int argc, char **argv) { return spin(argc > 1 ? 1200000000 : 300000000) == 1 && argv; }
END
	command -v gcc >/dev/null || skip "no gcc here"
	gcc -O2 -g inlined.c -o program || fail "gcc"
	mkdir -p root
}

# Everything that is shown must be the same, with the files and without.
want_same_elsewhere() { # FILE
	for how in "report --percent-limit 0" "report -g --percent-limit 0" "convert --folded -o -"; do
		# shellcheck disable=SC2086
		"$EBPROF" $how "$1" >here.txt 2>/dev/null || fail "$how"
		# shellcheck disable=SC2086
		"$EBPROF" $how --symfs root --symbol-cache none "$1" >there.txt 2>/dev/null || fail "$how elsewhere"
		diff <(grep -v '^#' here.txt) <(grep -v '^#' there.txt) >difference || fail "$how differs: $(head -n 5 difference)"
	done
}

test_names_lines_and_inlined_functions() {
	make_program
	run "$EBPROF" record --archive -- ./program
	want_status 0 record
	grep -q '^ebprof: ebprof.data: .* places have names' <(tail -n 2 err) && tail -n 1 err | grep -q '^ebprof: next:' ||
		fail "what to do next does not come last: $(cat err)"
	want_same_elsewhere ebprof.data
	want_whole ebprof.data
	"$EBPROF" report --symfs root -g ebprof.data | grep -q 'scramble' || fail "no inlined function"
	"$EBPROF" convert --pprof --symfs root -o elsewhere.pb.gz || fail "pprof"
	gzip -dc elsewhere.pb.gz | grep -aq 'inlined.c' || fail "no file names in pprof"
	! grep -q 'not on this machine' <("$EBPROF" report --symfs root) || fail "it says that something lacks"
}

test_archiving_twice_adds_nothing() {
	make_program
	"$EBPROF" record -q --no-archive -- ./program
	"$EBPROF" archive -q || fail "archive"
	local size
	size=$(stat -c %s ebprof.data)
	run "$EBPROF" archive
	want_status 0 "archive again"
	[[ $(stat -c %s ebprof.data) == "$size" ]] || fail "it grew"
}

# Stacks that are to be unwound by the reader need the files: an archive has them unwound.
test_stacks_that_were_left() {
	make_program
	"$EBPROF" record -q --no-archive --call-graph dwarf -- ./program
	"$EBPROF" report -g --symfs root --symbol-cache none | grep -q 'truncated' || fail "they were not left"
	run "$EBPROF" archive
	want_status 0 archive
	grep -q 'stacks were unwound' err || fail "$(cat err)"
	want_same_elsewhere ebprof.data
	"$EBPROF" report -g --symfs root --percent-limit 5 | grep -v '^#' | grep -q 'truncated' && fail "still cut"
	want_whole ebprof.data
}

# Symbols alone are replaced where there is debug information.
test_more_is_known_elsewhere() {
	make_program
	cp program with_debug
	strip -g program
	"$EBPROF" record -q --archive -- ./program
	! "$EBPROF" report -g | grep -q scramble || fail "from where?"
	mkdir -p "root$PWD"
	cp with_debug "root$PWD/program"
	"$EBPROF" report -g --symfs root | grep -q scramble || fail "the debug information was not used"
}

# That a stripped file knows no name is archived, too, so that it is not read again; but a symbol
# table is asked.
test_what_only_a_symbol_table_knows() {
	make_program
	gcc -O2 inlined.c -o program || fail "gcc"
	cp program with_symbols
	strip program
	"$EBPROF" record -q --archive -- ./program
	local size
	size=$(stat -c %s ebprof.data)
	! "$EBPROF" report | grep -q spin || fail "from where?"
	"$EBPROF" archive -q || fail "archive"
	[[ $(stat -c %s ebprof.data) == "$size" ]] || fail "what is not known was archived twice"
	run "$EBPROF" report --symfs root --symbol-cache none
	grep -q 'the file is not on this machine' out || fail "it does not say why: $(cat out)"
	mkdir -p "root$PWD"
	cp with_symbols "root$PWD/program"
	"$EBPROF" report --symfs root --symbol-cache none | grep -q spin || fail "the symbol table was not asked"
	"$EBPROF" archive -q --symfs root --symbol-cache none || fail "archive"
	"$EBPROF" report --symfs / --symbol-cache none | grep -q spin || fail "it was not archived"
}

test_a_damaged_recording() {
	make_program
	"$EBPROF" record -q --no-archive -F 9999 -- ./program long
	truncate -s -100 ebprof.data
	run "$EBPROF" archive
	want_status 0 archive
	run "$EBPROF" report --symfs root
	want_status 0 report
	grep -q spin out || fail "no names"
}

# An archive that was not finished, as after kill -9, is made anew: the recording stays whole.
test_an_archive_cut_short() {
	make_program
	"$EBPROF" record -q --no-archive --call-graph dwarf -- ./program
	local recorded
	recorded=$(stat -c %s ebprof.data)
	"$EBPROF" archive -q || fail "archive"
	truncate -s $(((recorded + $(stat -c %s ebprof.data)) / 2)) ebprof.data
	run "$EBPROF" archive
	want_status 0 "archive again"
	want_whole ebprof.data
	want_same_elsewhere ebprof.data
}

test_what_is_refused() {
	run "$EBPROF" archive
	want_status 2 "no file"
	run "$EBPROF" archive -
	want_status 2 "standard input"
	run "$EBPROF" archive /dev/null
	want_status 2 "a device"
	echo "no recording" >text
	run "$EBPROF" archive text
	want_status 1 "a text"
	[[ $(cat text) == "no recording" ]] || fail "it was changed"
	run "$EBPROF" record --archive -o - -- true
	want_status 125 "to standard output"
	"$EBPROF" record -q -o running.data -- sleep 5 &
	for _ in $(seq 50); do
		[[ -e running.data ]] && break
		sleep 0.1
	done
	run "$EBPROF" archive running.data
	want_status 2 "a recording that is being made"
	grep -q 'is being recorded' err || fail "$(cat err)"
}

# A full disk: the recording stays as it was.
test_no_room() {
	"$EBPROF" record -q -o small.data -- true
	"$EBPROF" record -q --no-archive -F 9999 -- bash -c "for i in {1..40}; do '$EBPROF' report small.data; done" >/dev/null
	cp ebprof.data before.data
	run bash -c "ulimit -f \$(( (\$(stat -c %s ebprof.data) + 1023) / 1024 )); trap '' XFSZ; \"$EBPROF\" archive --symbol-cache none"
	if [[ $status == 0 ]]; then
		skip "what was to be added fitted into the file's last kilobyte"
	fi
	cmp ebprof.data before.data || fail "it was changed"
}

# What a report has found once it finds without looking into the files; damage there costs time only.
test_the_cache() {
	make_program
	"$EBPROF" record -q --no-archive -- ./program
	"$EBPROF" report -g --symbol-cache kept >first.txt || fail "report"
	local entry
	entry=$(grep -l scramble kept/*.answers) || fail "nothing was kept"
	"$EBPROF" report -g --symbol-cache kept >second.txt || fail "report"
	cmp first.txt second.txt || fail "the kept answers differ"
	printf 'X' | dd of="$entry" bs=1 seek=60 conv=notrunc 2>/dev/null
	"$EBPROF" report -g --symbol-cache kept >third.txt || fail "report"
	cmp first.txt third.txt || fail "damage shows"
	printf 'X' | dd of="$entry" bs=1 seek=$(($(stat -c %s "$entry") - 20)) conv=notrunc 2>/dev/null # in the names
	"$EBPROF" report -g --symbol-cache kept >third.txt || fail "report"
	cmp first.txt third.txt || fail "damaged names show"
	"$EBPROF" report -g --demangle=none --symbol-cache kept >third.txt || fail "report"
	cmp first.txt third.txt || fail "C has other names without demangling"
	chmod 777 kept
	"$EBPROF" report -g --symbol-cache kept >fourth.txt || fail "report"
	cmp first.txt fourth.txt || fail "a folder that others can write to"
	cp program program.new && mv program.new program # another inode
	"$EBPROF" report -g --symbol-cache kept >fifth.txt || fail "report"
	cmp first.txt fifth.txt || fail "the same file elsewhere"
}

# What was found out without a part of the debug information is no lasting truth.
test_a_part_that_comes_later() {
	make_program
	gcc -O2 -g -gsplit-dwarf -o program inlined.c || fail "gcc"
	"$EBPROF" record -q --no-archive -- ./program
	mkdir away
	mv ./*.dwo away
	run "$EBPROF" report -g --symbol-cache kept
	! grep -q scramble out || fail "from where?"
	grep -q 'other files, which are missing' out || fail "it does not say what lacks: $(cat out)"
	"$EBPROF" archive -q --symbol-cache kept || fail "archive"
	mv away/*.dwo .
	run "$EBPROF" report -g --symbol-cache kept
	grep -q scramble out || fail "what the cache and the archive have was believed: $(cat out)"
	! grep -q 'are missing' out || fail "it says that something lacks"
	"$EBPROF" archive -q --symbol-cache kept || fail "archive again"
	"$EBPROF" report -g --symfs root --symbol-cache none | grep -q scramble || fail "nothing was added"
}

run_tests
