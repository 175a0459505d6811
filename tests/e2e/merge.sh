#!/bin/bash
# Several recordings become one, with all that they hold.
# Mostly waits: for the programs that it records.
. "$(dirname "$0")/prelude.bash"

# Rows "samples name" of all functions.
functions_of() { # FILE...
	"$EBPROF" report --stdio --percent-limit 0 -s sym "$@" 2>/dev/null | grep -v '^#' |
		awk '$3 { count = $3; $1 = $2 = $3 = ""; print count, $0 }' | sort -k 2
}

add_up() { awk '{ count = $1; $1 = ""; sum[$0] += count } END { for (name in sum) print sum[name], name }' | sort -k 2; }

want_sum() { # MERGED PART...
	local part all=0
	functions_of "$1" | add_up >got.txt
	for part in "${@:2}"; do functions_of "$part"; done | add_up >wanted.txt
	for part in "${@:2}"; do all=$((all + $(field "$part" samples))); done
	diff wanted.txt got.txt >difference || fail "functions differ: $(head -n 4 difference)"
	[[ $(field "$1" samples) == "$all" ]] || fail "$(field "$1" samples) samples, not $all"
}

record_two() {
	"$EBPROF" record -q -F 499 -o one.data -- "$WORKLOADS/workload" 1 >/dev/null 2>&1 || fail "record"
	"$EBPROF" record -q -F 499 -o two.data -- bash -c 'for ((i = 0; i < 300000; i++)); do :; done' || fail "record"
	[[ $(field one.data samples) -gt 50 && $(field two.data samples) -gt 50 ]] || fail "too few samples"
}

test_totals_are_sums_in_any_order() {
	record_two
	run "$EBPROF" merge -o both.data one.data two.data
	want_status 0 merge
	[[ $(stat -c %a both.data) == 600 ]] || fail "mode $(stat -c %a both.data)"
	want_whole both.data
	want_exact both.data
	want_sum both.data one.data two.data
	"$EBPROF" merge -q -o other.data two.data one.data || fail "merge"
	want_sum other.data one.data two.data
	# One boot: the clock stays, and the duration is that from the first to the last.
	"$EBPROF" info --json both.data | grep -q '"shift_ns": "0".*' || fail "times were moved"
	! grep -q "time of day" err || fail "of one boot, it says otherwise"
}

test_origins_are_told() {
	record_two
	"$EBPROF" report --stdio -s origin one.data two.data >out 2>err || fail "report: $(cat err)"
	grep -q 'one\.data' out && grep -q 'two\.data' out || fail "$(cat out)"
	# Of one boot a process ID says which process it is.
	"$EBPROF" report --stdio -s pid one.data two.data >out
	! grep -q '#.*origin.*pid' out || fail "an origin that was not asked for: $(cat out)"
	"$EBPROF" info one.data two.data | grep -q '^  two.data, ' || fail "info does not tell"
	"$EBPROF" convert --pprof -o both.pb.gz one.data two.data 2>err || fail "convert: $(cat err)"
	gzip -dc both.pb.gz | grep -aq 'two.data' || fail "no label"
	"$EBPROF" convert --pprof --labels comm -o less.pb.gz one.data two.data 2>err || fail "convert"
	! gzip -dc less.pb.gz | grep -aq 'two.data' || fail "a label that was not asked for"
	run "$EBPROF" convert --pprof -o two.data one.data two.data
	want_status 2 "onto an input"
}

# Two recordings of one process are two origins, but it is one process.
test_a_process_in_two_recordings() {
	local pid at
	"$WORKLOADS/workload" 600 >/dev/null 2>&1 &
	pid=$!
	for at in 1 2; do
		"$EBPROF" record -q -F 499 -p $pid --duration 0.5 -o $at.data || fail "record"
	done
	kill $pid
	"$EBPROF" report --stdio -s pid 1.data 2.data >out 2>err || fail "report: $(cat err)"
	[[ $(grep -c " $pid\$" out) == 1 ]] || fail "not one row: $(cat out)"
	"$EBPROF" report --stdio -s origin,pid 1.data 2.data >out
	[[ $(grep -c "data *$pid\$" out) == 2 ]] || fail "not a row for each origin: $(cat out)"
	"$EBPROF" info 1.data 2.data | grep -q ' 1 process, ' || fail "not one process"
}

test_what_others_say_of_it() {
	command -v python3 >/dev/null || skip "no python3 here"
	record_two
	"$EBPROF" merge -q -o both.data one.data two.data || fail "merge"
	"$EBPROF" info --json both.data >info.json
	python3 "$here/read_recording.py" both.data >reader.json || fail "the independent reader fails"
	python3 - <<'END' || fail "the independent reader differs"
import json
info, mine = json.load(open("info.json")), json.load(open("reader.json"))
for key in ("samples", "ticks", "idle", "filtered", "lost", "processes", "threads", "mappings", "build_ids", "meta"):
    assert info[key] == mine[key], (key, info[key], mine[key])
assert [(it["name"], it["meta"]) for it in info["origins"]] == [(it["name"], it["meta"]) for it in mine["origins"]]
assert len(info["origins"]) == 2
END
}

# Copies of stacks are unwound by who reads the merged one, names that were archived are there.
test_snapshots_and_archives() {
	command -v gcc >/dev/null || skip "no gcc here"
	cat >inlined.c <<'END'
static inline __attribute__((always_inline)) unsigned scramble(unsigned x) { return x * x ^ x >> 3; }
__attribute__((noinline)) unsigned spin(long rounds)
{
	unsigned sum = 0;
	for (long i = 0; i < rounds; i++)
		sum += scramble(sum + (unsigned)i);
	return sum;
}
int main(void) { return spin(300000000) == 1; }
END
	gcc -O2 -g inlined.c -o program || fail gcc
	"$EBPROF" record -q --archive -o archived.data -- ./program
	"$EBPROF" record -q --call-graph dwarf -o dwarf.data -- ./program
	cp dwarf.data dwarf_archived.data
	"$EBPROF" archive -q dwarf_archived.data || fail archive
	"$EBPROF" merge -q -o both.data archived.data dwarf.data || fail merge
	want_whole both.data
	want_exact both.data
	want_sum both.data archived.data dwarf.data
	[[ $(field both.data snapshots) == "$(field dwarf.data snapshots)" ]] || fail "snapshots were lost"
	"$EBPROF" report -g both.data | grep -q scramble || fail "no inlined function"
	# Elsewhere: all that both archives have, and no file.
	mkdir root
	"$EBPROF" merge -q -o elsewhere.data archived.data dwarf_archived.data || fail merge
	mv program away
	"$EBPROF" report -g --symfs root --symbol-cache none --percent-limit 5 elsewhere.data >tree.txt || fail report
	grep -q scramble tree.txt || fail "the archive did not survive: $(cat tree.txt)"
	! grep -v '^#' tree.txt | grep -q truncated || fail "unwound stacks did not survive"
}

# How many samples `annotate` says that digest() has.
samples_of_digest() { # FILE...
	"$EBPROF" annotate --stdio digest "$@" 2>/dev/null |
		awk '/^# self / { sub(/.*total /, ""); sub(/%/, ""); printf "%.0f\n", $1 * $3 / 100; exit }'
}

# Each recorder numbers the functions of scripts as it meets them.
test_a_function_of_a_script_is_one() {
	local python files form wanted got
	python=$(command -v python3) || skip "no python3 here"
	cat >program.py <<'END'
import sys
def digest(rounds):
    x = 0
    for i in range(rounds):
        x = (x * 31 + i) & 0xffffffff
def other(rounds):
    return sum([i * i for i in range(rounds)])
for function in (digest, other) if sys.argv[1] == "1" else (other, digest):
    function(3000000)
END
	"$EBPROF" record -q -F 499 -o 1.data -- "$python" program.py 1 || fail record
	"$EBPROF" record -q -F 499 -o 2.data -- "$python" program.py 2 || fail record
	wanted=$(($(samples_of_digest 1.data) + $(samples_of_digest 2.data)))
	((wanted > 50)) || fail "digest has $wanted samples in both"
	"$EBPROF" merge -q -o both.data 1.data 2.data || fail merge
	for files in both.data "1.data 2.data"; do
		# shellcheck disable=SC2086
		{
			got=$(samples_of_digest $files)
			[[ $got == "$wanted" ]] || fail "$files: annotate has $got samples of digest, not $wanted"
			for form in "" -g; do
				"$EBPROF" report --stdio $form --no-native --percent-limit 0 $files >text 2>&1
				[[ $(grep -c ' digest$' text) == 1 ]] || fail "$files, $form: $(cat text)"
			done
			"$EBPROF" convert --svg --no-native -o picture.svg $files 2>err || fail "svg: $(cat err)"
			got=$(grep -c '<title>digest (' picture.svg)
			[[ $got == 1 ]] || fail "$files: $got towers of digest"
			rm picture.svg
		}
	done
}

# CPU time of one program and waits of another are no wall-clock time of either.
test_no_sum_of_two_programs() {
	"$EBPROF" record -q -F 499 -o one.data -- "$WORKLOADS/workload" 0.5 >/dev/null 2>&1 || fail "record"
	"$EBPROF" record -q -e offcpu -o two.data -- bash -c 'sleep 0.2; sleep 0.2' || fail "record"
	"$EBPROF" merge -q -o both.data one.data two.data || fail "merge"
	! "$EBPROF" report --stdio both.data 2>/dev/null | grep -q wall || fail "$("$EBPROF" report --stdio both.data | head -n 3)"
	"$EBPROF" record -q -e wall -o wall.data -- bash -c 'for ((i = 0; i < 100000; i++)); do :; done; sleep 0.2' || fail "record"
	"$EBPROF" merge -q -o all.data one.data wall.data || fail "merge"
	"$EBPROF" report --stdio all.data 2>/dev/null | grep -q '^# .*wall = ' || fail "$("$EBPROF" report --stdio all.data | head -n 3)"
}

test_merging_again_and_twice() {
	record_two
	"$EBPROF" record -q -F 499 -o three.data -- "$WORKLOADS/workload" 1 >/dev/null 2>&1
	"$EBPROF" merge -q -o both.data one.data two.data || fail merge
	"$EBPROF" merge -q -o all.data both.data three.data || fail "merge again"
	want_sum all.data one.data two.data three.data
	want_exact all.data
	[[ $("$EBPROF" info --json all.data | grep -c '"shift_ns"') == 3 ]] || fail "not three origins"
	cp one.data copy.data
	for twice in "one.data one.data" "one.data copy.data" "both.data copy.data"; do
		# shellcheck disable=SC2086
		run "$EBPROF" merge -o twice.data $twice
		want_status 2 "$twice"
		[[ ! -e twice.data ]] || fail "$twice left an output"
	done
	run "$EBPROF" merge --force -o twice.data one.data copy.data
	want_status 0 "by force"
	want_sum twice.data one.data one.data
	run "$EBPROF" report one.data copy.data
	want_status 2 "a report of one twice"
}

test_damage() {
	record_two
	head -c $(($(stat -c %s two.data) * 2 / 3)) two.data >cut.data
	run "$EBPROF" merge -o both.data one.data cut.data
	want_status 0 merge
	grep -q '^ebprof: cut.data: recording cut' err || fail "damage is not said: $(cat err)"
	want_exact both.data
	want_sum both.data one.data cut.data
	"$EBPROF" info both.data | grep -q 'cut.data.*, cut' || fail "the origin is not marked"
	echo "no recording" >text
	run "$EBPROF" merge -o none.data one.data text
	want_status 1 "a text"
	[[ ! -e none.data ]] || fail "an output was left"
}

test_the_output_is_safe() {
	record_two
	echo before >file
	ln -s file link.data
	run "$EBPROF" merge -o link.data one.data two.data
	want_status 2 "a symbolic link"
	[[ $(cat file) == before ]] || fail "it was followed"
	echo before >both.data
	"$EBPROF" merge -q -o both.data one.data two.data || fail merge
	[[ $(cat both.data.old) == before ]] || fail "the older one is not kept"
	"$EBPROF" merge -q -o - one.data two.data >piped.data || fail "to a pipe"
	cmp both.data piped.data || fail "the same merge differs"
	"$EBPROF" merge -q -o both.data - two.data <one.data || fail "from standard input"
	grep -aq stdin both.data || "$EBPROF" info both.data | grep -q '^  stdin' || fail "no name"
	run bash -c "ulimit -f 1; trap '' XFSZ; \"$EBPROF\" merge -o full.data one.data one.data -f"
	if [[ $status == 0 ]]; then skip "it fitted into a kilobyte"; fi
	want_status 1 "no room"
	[[ -z $(ls full.data* 2>/dev/null) ]] || fail "something was left: $(ls full.data*)"
}

run_tests
