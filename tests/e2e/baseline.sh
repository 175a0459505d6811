#!/bin/bash
# Baselines have what their recordings have, need no other file, and stay whole whatever happens.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# Three runs of a program of our own, so that it can be taken away.
record_runs() {
	local i
	cp "$WORKLOADS/workload" program || fail "copy"
	for i in 1 2 3; do
		run "$EBPROF" record -q -F 499 -o "run$i.data" -- ./program 0.4
		want_status 0 record
	done
}

save() { # JOB FILE...
	run "$EBPROF" baseline save -k "$1" "${@:2}"
	want_status 0 "save $1"
}

get() { # JOB FILE
	run "$EBPROF" baseline get -k "$1" -o "$2"
	want_status 0 "get $1"
}

# What a report says of all functions, and of each run, in any order.
report_of() { # FILE...
	"$EBPROF" report --stdio --percent-limit 0 -s file,sym "$@" 2>/dev/null | grep -v '^#' | sort
	"$EBPROF" report --stdio --percent-limit 0 -s origin,comm,sym "$@" 2>/dev/null | grep -v '^#' |
		sed 's/\.data//; s/  */ /g' | sort
	"$EBPROF" convert --folded -o - "$@" 2>/dev/null | sort
}

test_has_what_the_recordings_have_without_the_program() {
	record_runs
	report_of run[123].data >wanted.txt
	grep -q heavy wanted.txt || fail "no heavy: $(head -n 5 wanted.txt)"
	save job run3.data run1.data run2.data
	get job base.data
	rm program
	report_of base.data >got.txt
	diff wanted.txt got.txt >difference || fail "$(head -n 6 difference)"
	want_whole base.data
	want_exact base.data
	"$EBPROF" info base.data | grep -qE '^runs +3$' || fail "info: $(cat info.json)"
	(($(stat -c %s base.data) < 1000000)) || fail "$(stat -c %s base.data) bytes"
	"$EBPROF" convert --pprof -o base.pb.gz base.data 2>err || fail "pprof: $(cat err)"
	gzip -dc base.pb.gz | grep -aq 'workload\.c' || fail "no lines in pprof"
}

test_same_runs_are_one_file() {
	record_runs
	save job run1.data run2.data
	save other run2.data run1.data
	[[ $(find ebprof-baselines/objects -type f | wc -l) == 1 ]] || fail "$(find ebprof-baselines)"
	"$EBPROF" baseline list >list || fail list
	[[ $(wc -l <list) == 2 && $(cut -c 1-12 list | sort -u | wc -l) == 1 ]] || fail "$(cat list)"
	grep -q '2 runs .* job on main ' list || fail "$(cat list)"
}

test_names_may_be_anything() {
	local name
	shared_recording -F 499
	for name in ../../outside /etc/passwd .. 'a b' $'\033]0;x\007' 'grün' "$(printf '%04000d' 1)"; do
		save "$name:x/../../$name" ebprof.data
	done
	run "$EBPROF" baseline save -k "$(printf '%010000d' 1)" ebprof.data
	want_status 2 "a name of 10,000 bytes"
	for name in '' ':' 'job:' ':main'; do
		run "$EBPROF" baseline save -k "$name" ebprof.data
		want_status 2 "key \"$name\""
	done
	[[ -z $(find . -mindepth 1 -maxdepth 1 -newer ebprof.data ! -name ebprof-baselines ! -name out ! -name err) ]] ||
		fail "outside: $(ls -A)"
	"$EBPROF" baseline list >list || fail list
	[[ $(wc -l <list) == 7 ]] || fail "$(cut -c 1-200 list)"
	want_no_control_bytes list
}

test_list_for_programs() {
	command -v jq >/dev/null || skip "no jq here"
	shared_recording -F 499
	run "$EBPROF" baseline list --json
	want_status 2 "no folder"
	save $'a "b"\n' ebprof.data
	save other:fix ebprof.data
	run "$EBPROF" baseline list --json
	want_status 0 "list --json"
	jq -e --arg hash "$(basename "$(find ebprof-baselines/objects -type f)" .ebprof)" --argjson now "$(date +%s)" \
		--argjson samples "$(field ebprof.data samples)" '
		.schema == "ebprof-baselines" and .version == 1 and .damaged_keys == 0 and
		([.baselines[] | [.job, .branch]] | sort) == [["a \"b\"\n", "main"], ["other", "fix"]] and
		([.baselines[] | select(.sha256 == $hash and .runs == 1 and .samples == $samples and .bytes > 0 and
			.saved > $now - 86400 and (.event | length) > 0 and (.cpu_model | length) > 0)] | length) == 2
	' out >/dev/null || fail "$(cat out)"
	truncate -s 20 ebprof-baselines/refs/other/fix/*
	run "$EBPROF" baseline list --json
	want_status 0 "list --json beside damage"
	jq -e '.damaged_keys == 1 and (.baselines | length) == 1' out >/dev/null || fail "$(cat out)"
	run "$EBPROF" baseline gc --json
	want_status 2 "gc --json"
}

test_foreign_and_missing_are_refused() {
	shared_recording -F 499
	run "$EBPROF" baseline get -k job -o base.data
	want_status 2 "no folder"
	save job ebprof.data
	run "$EBPROF" baseline get -k job:other -o base.data
	want_status 2 "no such branch"
	grep -q 'no baseline of job on other' err || fail "$(cat err)"
	run "$EBPROF" baseline get -k job -e instructions -o base.data
	want_status 2 "another event"
	grep -q 'not by instructions' err || fail "$(cat err)"
	run "$EBPROF" baseline get -k job -e instructions --force -o base.data
	want_status 0 "another event, by force"
	# As if it came from another machine.
	sed -i 's/^cpu .*/cpu Some_other_CPU/' ebprof-baselines/refs/job/main/*
	mv ebprof-baselines/refs/job/main/* ebprof-baselines/refs/job/main/Some_other_CPU
	rm base.data
	run "$EBPROF" baseline get -k job -o base.data
	want_status 2 "another CPU model"
	grep -q 'of another CPU model, Some other CPU' err || fail "$(cat err)"
	[[ ! -e base.data ]] || fail "written all the same"
	run "$EBPROF" baseline get -k job --force -o base.data
	want_status 0 "another CPU model, by force"
	run "$EBPROF" baseline get --keep 5 -k job -o base.data
	want_status 2 "an option of gc"
}

test_damage_is_told() {
	local object
	shared_recording -F 499
	save job ebprof.data
	object=$(find ebprof-baselines/objects -type f)
	printf 'X' | dd of="$object" bs=1 seek=100 conv=notrunc status=none
	run "$EBPROF" baseline get -k job -o base.data
	want_status 1 "a damaged baseline"
	grep -q "$(basename "$object")" err || fail "$(cat err)"
	[[ ! -e base.data ]] || fail "written all the same"
	truncate -s 20 ebprof-baselines/refs/job/main/*
	run "$EBPROF" baseline get -k job -o base.data
	want_status 1 "a damaged list"
	run "$EBPROF" baseline gc --keep 1
	want_status 1 "gc beside a damaged list"
	[[ -e $object ]] || fail "removed"
}

# Whatever stands in the folder: each command ends with a word, and nothing outside is read or written.
test_hostile_folder() {
	local object ref kind at command
	record_runs
	save json run1.data
	object=$(find ebprof-baselines/objects -type f)
	ref=$(find ebprof-baselines/refs -type f)
	cp -r ebprof-baselines good
	echo secret >outside
	for kind in 'mkfifo AT' 'ln -s ../../../../outside AT' 'mkdir AT' 'ln -s /dev/zero AT' \
		'truncate -s 10G AT' 'head -c 5000 /dev/urandom >AT'; do
		for at in "$object" "$ref"; do
			rm -rf ebprof-baselines && cp -r good ebprof-baselines && rm "$at"
			eval "${kind//AT/$at}"
			for command in list 'get -k json -f -o got.data' 'gc --dry-run' gc 'save -k json run1.data'; do
				# shellcheck disable=SC2086 # words of the command
				run timeout 20 "$EBPROF" baseline $command
				[[ $status == [012] ]] || fail "$kind: $command: status $status"
			done
		done
	done
	[[ $(cat outside) == secret ]] || fail "what is outside was written"
}

# A link in place of a folder of refs is no empty folder, whose objects nothing refers to.
test_linked_folders_lose_nothing() {
	record_runs
	save json run1.data
	for folder in refs refs/json objects; do
		mv "ebprof-baselines/$folder" moved
		ln -s "$PWD/moved" "ebprof-baselines/$folder"
		run "$EBPROF" baseline gc
		want_status 1 "gc with a link to $folder"
		grep -q 'is a symbolic link, which is not followed' err || fail "$(cat err)"
		rm "ebprof-baselines/$folder"
		mv moved "ebprof-baselines/$folder"
	done
	get json base.data
}

test_nothing_is_no_baseline() {
	run "$EBPROF" record -q -F 1 -o none.data -- true
	want_status 0 record
	[[ $(field none.data samples) == 0 ]] || skip "the only tick there was hit"
	run "$EBPROF" baseline save -k job none.data
	want_status 2 "no samples"
	grep -q 'no samples' err || fail "$(cat err)"
}

test_gc_says_what_goes() {
	record_runs
	save job run1.data
	save job run2.data
	save job run3.data
	run "$EBPROF" baseline gc --keep 1 --dry-run
	want_status 0 "gc --dry-run"
	[[ $(grep -c 'would go:' err) == 2 ]] || fail "$(cat err)"
	[[ $(find ebprof-baselines/objects -type f | wc -l) == 3 ]] || fail "a dry run removes"
	run "$EBPROF" baseline gc --keep 1
	want_status 0 gc
	[[ $(grep -c 'removed:' err) == 2 ]] || fail "$(cat err)"
	[[ $(find ebprof-baselines/objects -type f | wc -l) == 1 ]] || fail "$(find ebprof-baselines)"
	get job base.data
	[[ $(field base.data samples) == $(field run3.data samples) ]] || fail "not the newest"
	run "$EBPROF" baseline gc --older-than 1
	want_status 0 "gc --older-than"
	get job base.data
}

# Killed amid a file: its limit is where it dies. The recording has its names, so that no other file
# comes to the limit first: one in the cache of names, or debug information that is unpacked in memory.
# Then another saver comes.
test_what_killed_savers_leave_goes() {
	local next
	record_runs
	"$EBPROF" archive run2.data 2>err || fail "archive: $(cat err)"
	save job run1.data
	"$EBPROF" baseline list >before || fail list
	for next in 'save -q -k job run1.data' gc; do
		(ulimit -c 0 -f 1 && exec "$EBPROF" baseline save -q --symbol-cache none -k job run2.data) 2>/dev/null
		[[ $? != 0 ]] || fail "saved all the same"
		[[ -n $(find ebprof-baselines -name 'new-*') ]] || fail "nothing was left: $(find ebprof-baselines)"
		"$EBPROF" baseline list | diff before - >difference || fail "$(cat difference)"
		get job base.data
		want_whole base.data
		run "$EBPROF" baseline gc --dry-run
		grep -q '^ebprof: 1 file,' err || fail "$(cat err)"
		# shellcheck disable=SC2086
		run "$EBPROF" baseline $next
		want_status 0 "$next"
		[[ -z $(find ebprof-baselines -name 'new-*') ]] || fail "$next leaves it: $(find ebprof-baselines)"
	done
}

# Killed at any moment, beside others that save: what is there is whole.
test_killed_savers_leave_a_whole_folder() {
	local i pid pids=() name
	record_runs
	save job run1.data
	for ((i = 0; i < 12; i++)); do
		"$EBPROF" baseline save -q -k "job$((i % 3))" "run$((1 + i % 3)).data" &
		pid=$!
		if ((i % 2)); then
			sleep "0.0$((RANDOM % 10))"
			kill -9 $pid 2>/dev/null
		fi
		pids+=("$pid")
	done 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	run "$EBPROF" baseline list
	want_status 0 list
	[[ ! -s err ]] || fail "$(cat err)"
	# All of 0, 2, 4 ... were not killed: job0, job2 and job1 have theirs.
	for name in job job0 job1 job2; do
		get "$name" base.data
		want_whole base.data
	done
	run "$EBPROF" baseline gc
	want_status 0 gc
	[[ -z $(find ebprof-baselines -name 'new-*') ]] || fail "left behind: $(find ebprof-baselines)"
}

run_tests
