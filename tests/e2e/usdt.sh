#!/bin/bash
# Each hit of a USDT probe is a sample with its stack, filtered or lost; which probes there are.
. "$(dirname "$0")/prelude.bash"

# A copy of its own: a probe is hit by whatever runs the same file, other tests included.
take_program() { cp "$WORKLOADS/usdt" . || fail "cannot copy the workload"; }

record_probe() { # NAME... -- COMMAND...: with room for the stacks that wait for unwind tables
	local events=()
	while [[ $1 != -- ]]; do
		events+=(-e "usdt:./usdt:ebtest:$1")
		shift
	done
	run "$EBPROF" record -m 64M "${events[@]}" "$@"
	want_status 0 "record $*"
}

counter() { # FILE NAME
	"$EBPROF" info --json "$1" | sed -n 's/^ *"counters": {\(.*\)},$/\1/p' | tr ',' '\n' |
		sed -n "s/^ *\"$2\": //p"
}

# As many hits, each a sample, filtered or lost; and the same of ticks.
want_hits() { # FILE HITS
	local file=$1 samples filtered lost=0 name ticks left
	[[ $(counter "$file" hits) == "$2" ]] || fail "$(counter "$file" hits) hits, not $2"
	samples=$(counter "$file" hit_samples) filtered=$(counter "$file" hits_filtered)
	for name in ring busy unresolved write; do
		lost=$((lost + $(counter "$file" "hits_lost_$name")))
	done
	[[ $2 == $((samples + filtered + lost)) ]] ||
		fail "$2 hits, but $samples samples + $filtered filtered + $lost lost"
	ticks=$(counter "$file" ticks) left=0
	for name in samples idle filtered lost_ring lost_unresolved lost_write; do
		left=$((left + $(counter "$file" "$name")))
	done
	[[ $ticks == "$left" ]] || fail "$ticks ticks, but $left are accounted for"
	[[ $(field "$file" samples) == $((samples + $(counter "$file" samples))) ]] ||
		fail "$(field "$file" samples) samples in the file"
}

want_samples() { # FILE HITS: of which none was lost
	want_hits "$1" "$2"
	[[ $(counter "$1" hit_samples) == "$2" ]] || fail "$(counter "$1" hit_samples) samples, not $2"
}

# So many stacks of an event. Before the unwind tables are there, stacks are copied into the ring, 4K
# each: as it is large, some thousands are whole from the first on.
want_stacks() { # REGEX COUNT EVENT
	local count
	"$EBPROF" convert --folded --event "$3" -i ebprof.data -o hits.folded || fail "convert --folded"
	count=$(grep -E -- "$1" hits.folded | awk '{ sum += $NF } END { print sum + 0 }')
	[[ $count == "$2" ]] || fail "$count stacks match $1, not $2: $(cat hits.folded)"
}

test_exact() {
	take_program
	record_probe plain -- ./usdt plain 1000
	want_whole ebprof.data
	want_samples ebprof.data 1000
	want_stacks ';main;outer;plain_place 1000$' 1000 ebtest:plain
	"$EBPROF" info ebprof.data >info.txt || fail "info"
	grep -q '^hits  *1000 = 1000 samples + 0 filtered + 0 lost$' info.txt || fail "info: $(cat info.txt)"
	grep -q '^event  *usdt:usdt:ebtest:plain$' info.txt || fail "no event: $(cat info.txt)"
}

test_several_places() {
	take_program
	record_probe twice -- ./usdt twice 500
	want_samples ebprof.data 1000
	want_stacks ';main;first_place ' 500 twice
	want_stacks ';main;second_place ' 500 twice
}

# The program sees that its probe is wanted while it is, and only then.
test_semaphore() {
	take_program
	record_probe guarded -- ./usdt guarded 700
	[[ $(cat out) == 700 ]] || fail "the program saw its semaphore set $(cat out) times"
	want_samples ebprof.data 700
	want_stacks ';main;guarded_place ' 700 guarded
	[[ $(./usdt guarded 10) == 0 ]] || fail "the semaphore stays set"
}

# One that runs already is told, too.
test_semaphore_of_running_process() {
	take_program
	mkfifo go
	./usdt wait 300 <go >/dev/null &
	local program=$!
	exec 9>go
	"$EBPROF" record -m 64M -e usdt:./usdt:ebtest:plain -p $program 2>err &
	local recorder=$!
	wait_ready err
	echo >&9
	exec 9>&-
	wait $recorder || fail "the recorder failed: $(cat err)"
	want_samples ebprof.data 300
}

test_several_probes() {
	take_program
	"$EBPROF" check | grep -q 'one probe at a time' && skip "this kernel has one probe at a time"
	record_probe plain twice guarded -- sh -c './usdt plain 100; ./usdt twice 50; ./usdt guarded 30'
	want_samples ebprof.data 230
	want_stacks ';plain_place ' 100 ebtest:plain
	want_stacks ';(first|second)_place ' 100 twice
	want_stacks ';guarded_place ' 30 guarded
	local event
	for event in plain twice guarded; do
		"$EBPROF" info ebprof.data | grep -q "usdt:usdt:ebtest:$event" || fail "no event of $event"
	done
}

# Many at once on each CPU: none gets into another's way without being told.
test_threads() {
	take_program
	record_probe plain -- ./usdt threads 5000 8
	want_hits ebprof.data 40000
}

# A library that is loaded when everything runs.
test_late_library() {
	take_program
	cp "$WORKLOADS/usdt.so" . || fail "cannot copy the library"
	run "$EBPROF" record -m 64M -e usdt:usdt.so:ebtest:plain -- ./usdt late 400 ./usdt.so
	want_status 0 "record late"
	want_samples ebprof.data 400
	want_stacks ';main;.*outer;plain_place ' 400 ebtest:plain
}

# Ticks interrupt hits, and neither disturbs the other's stacks.
test_beside_the_timer() {
	take_program
	run "$EBPROF" record -v -m 64M -F 4999 -e cpu-clock -e usdt:./usdt:ebtest:plain -- ./usdt busy 20000
	want_status 0 "record busy"
	want_samples ebprof.data 20000
	grep -q 'hits: 20000 = ' err || fail "the recorder does not tell of hits: $(cat err)"
	want_stacks ';main;outer;plain_place |truncated: table_pending' 20000 ebtest:plain
	[[ $(counter ebprof.data samples) -gt 0 ]] || fail "no tick is a sample"
	"$EBPROF" convert --folded --event cpu-clock -i ebprof.data -o ticks.folded || fail "convert --event"
	grep -q ';main;work ' ticks.folded || fail "no ticks in the workload: $(cat ticks.folded)"
	[[ $("$EBPROF" report --stdio --event none | grep -c plain_place) == 0 ]] || fail "--event none"
}

test_other_processes_are_filtered() {
	take_program
	"$EBPROF" record -e usdt:./usdt:ebtest:plain -- sh -c 'until [ -e enough ]; do sleep 0.05; done' 2>err &
	local recorder=$!
	wait_ready err
	./usdt plain 250
	touch enough
	wait $recorder || fail "the recorder failed: $(cat err)"
	want_hits ebprof.data 250
	[[ $(counter ebprof.data hits_filtered) == 250 ]] || fail "$(counter ebprof.data hits_filtered) filtered"
}

# A ring of one page that is not read: almost everything is lost, and counted.
test_overload() {
	take_program
	run "$EBPROF" record -m 4K --debug-stall 3 -e usdt:./usdt:ebtest:plain -- ./usdt plain 100000
	want_status 0 overload
	want_hits ebprof.data 100000
	[[ $(counter ebprof.data hits_lost_ring) -gt 0 ]] || fail "nothing was lost"
	grep -q 'lost.*raise -m' err || fail "no hint about what was lost: $(cat err)"
}

test_full_output() {
	take_program
	run "$EBPROF" record -m 64M --max-size 64K -e usdt:./usdt:ebtest:plain -- ./usdt threads 50000 2
	want_status 0 "--max-size"
	want_hits ebprof.data "$(counter ebprof.data hits)"
	[[ $(stat -c %s ebprof.data) -le 65536 ]] || fail "$(stat -c %s ebprof.data) bytes"
}

# Files that follow each other account for all hits together, each for its own.
test_switched_files() {
	take_program
	run "$EBPROF" record -m 64M --switch-output=64K -e usdt:./usdt:ebtest:plain -- ./usdt threads 50000 2
	want_status 0 "--switch-output"
	local file sum=0
	for file in ebprof.data*; do
		want_hits "$file" "$(counter "$file" hits)"
		sum=$((sum + $(counter "$file" hits)))
	done
	[[ $sum == 100000 ]] || fail "$sum hits in all files"
}

test_merged() {
	take_program
	record_probe plain -- ./usdt plain 600
	mv ebprof.data a.data
	run "$EBPROF" record -m 64M -e cpu-clock -e usdt:./usdt:ebtest:plain -- ./usdt busy 3000
	want_status 0 "record busy"
	"$EBPROF" merge -o both.data a.data ebprof.data 2>err || fail "merge: $(cat err)"
	want_hits both.data 3600
	# One that was cut: what it lacks is counted as lost, or was not counted yet.
	head -c $(($(stat -c %s a.data) - 40)) a.data >cut.data
	"$EBPROF" merge -o mended.data cut.data ebprof.data 2>err || fail "merge of a cut one: $(cat err)"
	want_hits mended.data "$(counter mended.data hits)"
}

# ---- finding probes ----

test_list() {
	take_program
	run "$EBPROF" record --list-usdt ./usdt
	want_status 0 --list-usdt
	grep -q '^usdt:./usdt:ebtest:plain  1 place  8@' out || fail "plain: $(cat out)"
	grep -q '^usdt:./usdt:ebtest:twice  2 places  8@' out || fail "twice: $(cat out)"
	grep -q '^usdt:./usdt:ebtest:guarded  1 place, semaphore  8@' out || fail "guarded: $(cat out)"
	[[ $(wc -l <out) == 3 ]] || fail "more than three probes: $(cat out)"
}

want_refusal() { # MESSAGE_REGEX EVENT
	run "$EBPROF" record -e "$2" -- true
	want_status 125 "-e $2"
	grep -Eq -- "$1" err || fail "-e $2: $(cat err)"
	[[ ! -e ebprof.data ]] || fail "-e $2 left a recording"
}

test_refusals() {
	take_program
	mkfifo fifo
	printf 'no program' >text
	want_refusal 'no USDT probe ebtest:plane, but ebtest:plain, .*3 in all.*--list-usdt' usdt:./usdt:ebtest:plane
	want_refusal 'no USDT probe ebtest:guard, but ebtest:guarded\.\.\. \(' usdt:./usdt:ebtest:guard
	want_refusal 'no USDT probe other:plain' usdt:./usdt:other:plain
	want_refusal 'has no USDT probes' usdt:/bin/true:a:b
	want_refusal 'cannot open ./none' usdt:./none:a:b
	want_refusal 'text' usdt:./text:a:b
	want_refusal 'fifo' usdt:./fifo:a:b
	want_refusal 'is not usdt:PATH:PROVIDER:NAME' usdt:./usdt
	want_refusal 'is not usdt:PATH:PROVIDER:NAME' usdt:./usdt:plain:
	want_refusal 'is not uprobe:PATH:FUNCTION' uprobe:./usdt
	run "$EBPROF" record -F 99 -e usdt:./usdt:ebtest:plain -- true
	want_status 125 '-F without a timer'
	run "$EBPROF" record --list-usdt /bin/true
	want_status 125 'listing none'
}

# ---- probes of Debian's interpreters ----

# The command hits the probe so often at the least, and its stacks are read.
want_runtime_probe() { # MIN_HITS REGEX EVENT COMMAND...
	local min=$1 regex=$2 event=$3
	shift 3
	run "$EBPROF" record -m 64M -e "$event" -- "$@"
	want_status 0 "$event"
	[[ $(counter ebprof.data hits) -ge $min ]] || fail "$event: $(counter ebprof.data hits) hits, not $min"
	want_hits ebprof.data "$(counter ebprof.data hits)"
	"$EBPROF" convert --folded -i ebprof.data -o hits.folded || fail "convert --folded"
	grep -Eq -- "$regex" hits.folded || fail "$event: $(tail -n 2 hits.folded)"
}

has_probe() { # PATH PROVIDER:NAME
	[[ -e $1 ]] && "$EBPROF" record --list-usdt "$1" 2>/dev/null | grep -q ":$2  "
}

test_ruby() {
	local ruby library
	ruby=$(command -v ruby) || skip "no ruby"
	library=$(ldd "$ruby" | grep -o '/[^ ]*libruby[^ ]*') || library=$ruby
	has_probe "$library" ruby:cmethod__entry || skip "$library has no probe of methods"
	want_runtime_probe 100 ';ruby_run_node;' "usdt:$library:ruby:cmethod__entry" \
		"$ruby" --disable-gems -e '100.times { "a".upcase }'
}

test_php() {
	local php
	php=$(realpath "$(command -v php)" 2>/dev/null) || skip "no php"
	has_probe "$php" php:function__entry || skip "$php has no probe of functions"
	# shellcheck disable=SC2016 # that is PHP
	echo '<?php function f() { return 1; } for ($i = 0; $i < 100; $i++) f();' >f.php
	USE_ZEND_DTRACE=1 want_runtime_probe 100 ';dtrace_execute_ex ' "usdt:$php:php:function__entry" \
		"$php" -n f.php
}

# With frames of the script in its stacks.
test_python() {
	local python=/usr/bin/python3
	python=$(realpath "$python" 2>/dev/null)
	has_probe "$python" python:gc__start || skip "no /usr/bin/python3 with probes"
	want_runtime_probe 50 ';collects;' "usdt:$python:python:gc__start" "$python" -c '
import gc
def collects():
    gc.collect()
for i in range(50):
    collects()'
}

run_tests
