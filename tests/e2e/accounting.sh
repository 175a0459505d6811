#!/bin/bash
# Every tick of the timer is accounted for, and info says how.
. "$(dirname "$0")/prelude.bash"

test_info_keys() {
	run "$EBPROF" record -- "$WORKLOADS/workload" 0.5
	want_status 0 workload
	"$EBPROF" info --json ebprof.data >info.json || fail "info --json"
	local key
	for key in samples ticks lost idle filtered duration_s file_bytes processes threads mappings \
		build_ids stacks complete truncated kernel_only truncated_by ended damage; do
		grep -q "\"$key\":" info.json || fail "no key $key"
	done
	[[ $(field ebprof.data file_bytes) == $(stat -c %s ebprof.data) ]] || fail "file_bytes"
	if command -v python3 >/dev/null; then
		python3 -c 'import json; d = json.load(open("info.json"))
assert d["stacks"]["complete"] + d["stacks"]["truncated"] + d["stacks"]["kernel_only"] == d["samples"]
assert sum(d["truncated_by"].values()) == d["stacks"]["truncated"]
assert d["counters"]["samples"] == d["samples"]' || fail "info --json is not what it should be"
	fi
}

test_json_of_hostile_names() {
	command -v python3 >/dev/null || skip "no python3 to read JSON with"
	local name=$'a"b\\c\033]0;PWN\007\nd\xff\u2028'
	cp "$WORKLOADS/workload" "$name"
	run "$EBPROF" record -- "./$name" 0.3
	want_status 0 "odd name"
	"$EBPROF" info --json ebprof.data >info.json || fail "info --json"
	want_no_control_bytes info.json
	python3 -c 'import json; d = json.load(open("info.json"))
assert any("PWN" in o["path"] for o in d["objects"])' || fail "no valid JSON"
}

test_command() {
	run "$EBPROF" record -- "$WORKLOADS/workload" 1 2 1
	want_exact ebprof.data
	want_rate ebprof.data 999
}

# The recorder's child is not the command before it has become that.
test_command_from_exec_on() {
	local i
	for i in 1 2 3 4 5; do
		run "$EBPROF" record -F 19999 -o "$i.data" -- sh -c :
		want_exact "$i.data"
		"$EBPROF" report --offline -s comm --percent-limit 0 "$i.data" >report
		! grep -q ebprof report || fail "$(cat report)"
	done
}

test_system() {
	"$WORKLOADS/workload" 20 &
	run "$EBPROF" record -a -F 997 --duration 1
	want_status 0 '-a'
	want_exact ebprof.data
	[[ $(field ebprof.data filtered) == 0 ]] || fail "-a filtered something"
}

# What another user runs, from before and from then on, and nothing of ours.
test_user() {
	local uid=64999
	command -v setpriv >/dev/null || skip "no setpriv here"
	"$WORKLOADS/workload" 20 &
	setpriv --reuid $uid --clear-groups sh -c 'while :; do :; done' &
	run "$EBPROF" record -u $uid -F 997 -- setpriv --reuid $uid --clear-groups sh -c '
		i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
	want_status 0 '-u'
	want_exact ebprof.data
	[[ $(field ebprof.data filtered) -gt 0 ]] || fail "-u filtered nothing"
	"$EBPROF" report --offline -s comm,pid --percent-limit 0 ebprof.data | grep -v '^#' >report
	[[ -z $(awk '$4 != "sh" && $4 != "setpriv"' report) ]] || fail "others: $(cat report)"
	[[ $(awk '{ print $5 }' report | sort -u | wc -l) == 2 ]] ||
		fail "not two processes: $(cat report)"
}

# A ring of one page that nobody reads for 3 s: almost everything is lost, and counted.
test_overload() {
	run "$EBPROF" record -m 4K -F 20000 --debug-stall 3 -- "$WORKLOADS/workload" 4
	want_status 0 overload
	want_exact ebprof.data
	[[ $(field ebprof.data lost) -gt 1000 ]] || fail "only $(field ebprof.data lost) lost"
	grep -q 'lost.*raise -m' err || fail "no hint about lost samples: $(cat err)"
}

test_overload_of_system() {
	"$WORKLOADS/workload" 20 2 &
	run "$EBPROF" record -m 4K -F max --debug-stall 1 -a --duration 3
	want_status 0 'overload -a'
	want_exact ebprof.data
}

test_short_execs() {
	run "$EBPROF" record -F 997 -- sh -c 'seq 2000 | xargs -n1 -P2 /bin/true'
	want_status 0 'short execs'
	want_whole ebprof.data
	want_exact ebprof.data
	[[ $(field ebprof.data processes) -gt 500 ]] || fail "only $(field ebprof.data processes) processes"
}

run_tests
