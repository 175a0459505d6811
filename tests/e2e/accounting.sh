#!/bin/bash
# Every tick of the timer is accounted for, and info says how.
#   VALUES=all      each option as often as there are values for it, instead of once
#   COMBINATIONS=N  so many recordings under options by chance; SEED=N repeats those of another run
# Beside others: a sum is exact whatever else the machine does.
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
assert sum(d["stacks"].values()) == d["samples"]
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

test_a_cpu_that_is_given_twice_counts_once() {
	run "$EBPROF" record -F 997 -C 0 -C 0 -a --duration 1
	want_status 0 '-C 0 -C 0'
	want_exact ebprof.data
	(($(field ebprof.data ticks) < 1500)) || fail "$(field ebprof.data ticks) ticks of one CPU in a second"
}

# A ring of one page that is not read for 3 s: almost everything is lost, and counted.
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

# ---- under all options ----

# What each option of record is given here; a row of cmd/record_options.c without a line fails. One
# value of several is chosen by chance. PID and TID are those of a process that computes.
declare -A choices=(
	[pid]=PID [tid]=TID [all-cpus]='' [uid]=root [cpu]='0' [all-user]='' [all-kernel]=''
	[no-inherit]='' [freq]='99 999 4999 max' [count]='1000000 100000' [event]='cpu-clock auto cpu-clock:u USDT offcpu runq wall page-faults cs,cpu-clock {cpu-clock,cs,page-faults}:S sched:sched_switch FUNCTION syscalls lock blk-io' [filter]='prev_pid' [skip-missing]='' [off-cpu]='' [wakers]='' [wait-period]='1us 50ms' [heap]='4K 512K' [max-overhead]='1 100%'
	[list-usdt]='' [call-graph]='auto fp dwarf dwarf,2K both' [no-vm]='all python,perl' [no-python]=''
	[no-ruby]='' [no-php]='' [no-perl]='' [no-lua]='' [no-luajit]='' [no-java]='' [no-node]='' [no-erlang]='' [no-dotnet]='' [no-racket]='' [no-go]='' [usdt-stacks]=python
	[call-stacks]='' [unwind-memory]='1M 64M' [unwind-cache]='none cache' [delay]='0 50'
	[duration]='0.2' [mmap-size]='4K 64K 1M' [output]='r.data -' [archive]='' [open]='' [with-source]=OPEN [no-archive]='' [debug-archive-time]='0.1' [tree]='' [max-size]='64K 1M'
	[switch-output]='0.1 64K signal' [switch-max-files]='1 2' [container]=ebprof-box [cgroup]=/ebprof-one.service [unit]=ebprof-one [label-sources]='none go,goroutine,go-creator erlang-pid,erlang-process container,service' [env-label]=PATH [labels]=labels.json [targets-only]='' [with-args]='' [quiet]='' [verbose]=''
	[dry-run]='' [debug-stall]='0.1' [ring]='ring' [take-over]='' [keep]='4M 10M,1h' [switch]='0.1 64K' [push]='http://127.0.0.1:9' [protocol]='parca' [every]='5s' [metrics]='127.0.0.1:0 health.prom'
)

# A container in a unit.
box=/ebprof-one.service/machine-ebprof-box.scope

# $busy: a process in it that computes, as long as there are recordings of it. It would take a CPU
# from the tests that run beside.
begin_busy() {
	[[ -z $busy ]] || return 0
	(in_cgroup $box "$WORKLOADS/workload" 300) &
	busy=$!
	while kill -0 $busy && ! grep -q "$box" /proc/$busy/cgroup; do
		sleep 0.01
	done
}

end_busy() {
	[[ -n $busy ]] || return 0
	kill "$busy"
	wait "$busy" 2>/dev/null
	busy=
}

# Sets $words to the option with a value.
choose_words() { # OPTION
	local values word
	case $1 in pid | tid | container | cgroup | unit) begin_busy ;; esac
	read -r -a values <<<"${choices[$1]}"
	word=${values[$((RANDOM % (${#values[@]} + !${#values[@]})))]-}
	case $word in
	'') words=("--$1") ;;
	OPEN) words=(--open "--$1") ;;
	PID | TID) words=("--$1=$busy") ;;
	USDT) words=(-e "usdt:$WORKLOADS/usdt:ebtest:plain" -e cpu-clock) ;;
	FUNCTION) words=(-e "uprobe:$WORKLOADS/usdt:main,cpu-clock") ;;
	*) words=("--$1=$word") ;;
	esac
}

# Every file that was written is whole, but for its limit in size, and its sum holds.
want_all_exact() { # OPTION...
	local file
	[[ $* != *--output=-* ]] || mv standard ebprof.data
	for file in r.data* ebprof.data* ring/*; do
		[[ -s $file ]] || continue
		want_readable "$file"
		[[ -n $(field "$file" ended) ]] || fail "$*: $file has no end"
		(want_exact "$file") >/dev/null || fail "$* (SEED=$seed): $(sed 's/^not ok: //' result)"
		"$EBPROF" report --offline --percent-limit 0 "$file" >report || fail "$*: report fails on $file"
	done
}

# What the recorder refuses is a matter of other tests.
record_under() { # OPTION...
	rm -rf -- *.data* ring result
	"$EBPROF" record "$@" -- "$WORKLOADS/workload" 0.1 2 >standard 2>err
	status=$?
	[[ $status == 125 ]] && ! grep -q 'see ebprof record --help\|exclude\|goes with\|go with\|needs\|give \|compares\|chooses\|are the timer\|runs here' err &&
		fail "$* (SEED=$seed): $(cat err)"
	want_all_exact "$@"
	end_busy
}

begin_options() {
	seed=${SEED:-$RANDOM}
	RANDOM=$seed
	busy=
	export BROWSER=true XDG_RUNTIME_DIR=$PWD # of --open
	echo "[{\"labels\": {\"__process_pid__\": \"1\", \"team\": \"shop\"}}]" >labels.json
	mapfile -t options < <("$EBPROF" help --rows record | cut -f 2)
	((${#options[@]} > 30)) || fail "only ${#options[@]} options"
}

end_options() {
	remove_cgroups $box "${box%/*}"
}

test_each_option() {
	local option words values
	begin_options
	for option in "${options[@]}"; do
		[[ -v choices[$option] ]] || fail "--$option is new: what is it given here?"
		[[ $option != list-usdt ]] || continue # it records nothing
		# Each event has ways of its own; of other options' values one by chance is enough.
		values=once
		[[ $option != event && -z ${VALUES-} ]] || values=${choices[$option]:-once}
		for _ in $values; do
			choose_words "$option"
			record_under "${words[@]}" --duration 2
		done
	done
	end_options
}

test_options_by_chance() {
	local i j words all
	begin_options
	for ((i = 0; i < ${COMBINATIONS:-25}; i++)); do
		all=()
		for ((j = 0; j < 4; j++)); do
			choose_words "${options[$((RANDOM % ${#options[@]}))]}"
			[[ ${words[0]} == --list-usdt* ]] || all+=("${words[@]}")
		done
		record_under "${all[@]}" --duration 2
	done
	end_options
}

# The second sample of a tick is no other tick, in no sum and in no file of several.
test_second_samples() {
	run "$EBPROF" record -F 1999 --call-graph both --switch-output=0.2 -- "$WORKLOADS/workload" 0.8
	want_status 0 both
	local file samples more second=0
	for file in ebprof.data*; do
		want_exact "$file"
		more=$(field "$file" second_samples)
		second=$((second + ${more:-0})) # none where the recorder came too late to all
		samples=$("$EBPROF" report --offline --stats "$file" | grep -oE '[0-9]+ samples' | head -n 1)
		[[ ${samples% *} == "$(field "$file" samples)" ]] || fail "report: $samples of $file"
	done
	((second > 0)) || fail "there are no second samples"
	"$EBPROF" report --offline -e snapshot "$file" >report || fail "-e snapshot fails"
	[[ $(grep -c workload report) -gt 1 ]] || fail "no second sample is shown: $(cat report)"
}

run_tests
