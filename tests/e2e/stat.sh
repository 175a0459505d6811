#!/bin/bash
# ebprof stat: numbers of events, of a program that knows them.
# Beside others: what is counted is the program's own.
. "$(dirname "$0")/prelude.bash"

count() { # OPTION... -- COMMAND...
	run "$EBPROF" stat --json -o counts.json "$@"
}

# The mean of an event.
mean() {
	python3 -c 'import json, sys
print(*[round(it["mean"]) for it in json.load(open("counts.json"))["events"] if it["name"] == sys.argv[1]])' "$1"
}

test_counts_are_exact() {
	count -e page-faults,cs,syscalls:sys_enter_getppid,syscalls:sys_\*_getppid -- "$WORKLOADS/counted" faults 5000 calls 321
	want_status 0 stat
	[[ $(mean syscalls:sys_enter_getppid) == 321 ]] || fail "$(mean syscalls:sys_enter_getppid) calls of 321"
	[[ $(mean 'syscalls:sys_*_getppid') == 642 ]] || fail "$(mean 'syscalls:sys_*_getppid') entries and returns of 321 calls"
	(($(mean page-faults) >= 5000 && $(mean page-faults) <= $(awk '/faults/ { print $2 }' out))) ||
		fail "$(mean page-faults) faults, the program's own count: $(cat out)"
}

test_children() {
	count -e page-faults -- "$WORKLOADS/counted" children 20
	(($(mean page-faults) >= 2000)) || fail "$(mean page-faults) faults, 2000 of them of children"
	count -i -e page-faults -- "$WORKLOADS/counted" children 20
	(($(mean page-faults) < 2000)) || fail "-i counts children: $(mean page-faults)"
}

test_groups_and_modifiers() {
	count -e '{page-faults:u,page-faults:k}:u,page-faults' -- "$WORKLOADS/counted" faults 700
	want_status 0 stat
	(($(mean page-faults:u) >= 700)) || fail "$(mean page-faults:u) faults in its own code"
}

test_repeated() {
	count -r 4 -e syscalls:sys_enter_getppid -- "$WORKLOADS/counted" calls 50
	want_status 0 stat
	python3 -c 'import json
it = json.load(open("counts.json"))
event = it["events"][0]
assert it["runs"] == 4 and event["values"] == [50] * 4 and event["half_width_95"] == 0, it' || fail "$(cat counts.json)"
	run "$EBPROF" stat -r 3 -e page-faults -- true
	grep -q '3 runs, means and their 95% intervals' err || fail "$(cat err)"
	grep -qE '^ +[0-9.]+  page-faults +.*\( \+- [0-9.]+% \)$' err || fail "no interval: $(cat err)"
}

# By hand: 1, 2, 3, 4, 5 have the mean 3 and the half width 2.776 * sqrt(2.5 / 5) = 1.963.
test_interval() {
	echo 0 >n
	cat >step <<'END'
n=$(($(cat n) + 1))
echo $n >n
exec "$WORKLOADS/counted" calls $n
END
	count -r 5 -e syscalls:sys_enter_getppid -- bash step
	python3 -c 'import json
event = json.load(open("counts.json"))["events"][0]
own = event["values"][0] - 1  # those of the shell
assert abs(event["mean"] - 3 - own) < 1e-6 and abs(event["half_width_95"] - 1.9629) < 1e-3, event' || fail "$(cat counts.json)"
}

test_of_the_system_and_of_processes() {
	count -a -e page-faults -- "$WORKLOADS/counted" faults 3000
	(($(mean page-faults) >= 3000)) || fail "$(mean page-faults) faults of the system"
	"$WORKLOADS/counted" switches 30000 >said &
	count -e cs --duration 0.5 -p $!
	want_status 0 "stat -p"
	(($(mean cs) >= 100)) || fail "$(mean cs) switches"
}

# Where the kernel counts by control group.
counting_root() {
	local root
	for root in /sys/fs/cgroup/{perf_event,unified,.}; do
		[[ -e $root/cgroup.procs ]] && echo "$root" && return
	done
}

# What runs in groups, with what is below them, each once; not what others do.
test_of_control_groups() {
	local slice
	slice=$(counting_root)/ebprof-stat-$$.slice
	local groups=("$slice/ebprof-one-$$.service/below" "$slice/ebprof-two-$$.service" "$slice/ebprof-other-$$.service")
	mkdir -p "${groups[@]}" 2>/dev/null || skip "no control group can be made in ${slice%/*}"
	cat >step <<'END'
for pages in 3000 2000 40000; do
	(echo $BASHPID >"$1/cgroup.procs"; exec "$WORKLOADS/counted" faults $pages)
	shift
done
END
	local choice
	for choice in "--unit=ebprof-one-$$,ebprof-two-$$" \
		"--unit=ebprof-one-$$ --cgroup=${slice##*/}/ebprof-two-$$.service,/${slice##*/}//ebprof-one-$$.service/below/"; do
		# shellcheck disable=SC2086 # they are words
		count -e page-faults $choice -- bash step "${groups[@]}"
		want_status 0 "$choice"
		(($(mean page-faults) >= 5000 && $(mean page-faults) < 7000)) ||
			fail "$choice: $(mean page-faults) faults, 5000 and some of two processes' starts"
	done
	run "$EBPROF" stat --unit "ebprof-one-$$" -e page-faults --duration 0.1
	want_status 0 "a time without a command"
	grep -q "Counts for unit ebprof-one-$$:" err || fail "$(cat err)"
	run "$EBPROF" stat --unit "ebprof-one-$$,ebprof-thr-$$" -- touch ran
	want_status 125 "a unit that is not there"
	grep -q "no unit \"ebprof-thr-$$\" runs here" err || fail "$(cat err)"
	[[ ! -e ran ]] || fail "the command was run all the same"
	rmdir "${groups[@]}" "${groups[0]%/*}" "$slice"
}

test_usual_events() {
	run "$EBPROF" stat -- "$WORKLOADS/counted" faults 100
	want_status 0 stat
	grep -qE '^ +[0-9.]+ ms  task-clock .*CPUs utilized' err || fail "$(cat err)"
	grep -q 'seconds elapsed' err || fail "$(cat err)"
}

# As perf does: what a program's own code does, where that is allowed.
test_as_an_ordinary_user() {
	(($(cat /proc/sys/kernel/perf_event_paranoid) <= 2)) || skip "this kernel lets users count nothing"
	command -v setpriv >/dev/null || skip "no setpriv here"
	local user=(setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all)
	chmod 755 . && cp "$EBPROF" ebprof && cp "$WORKLOADS/counted" counted
	run "${user[@]}" ./ebprof stat -- ./counted faults 3000
	want_status 0 stat
	grep -qE '^ +[0-9.]+ ms  task-clock ' err || fail "$(cat err)"
	if (($(cat /proc/sys/kernel/perf_event_paranoid) == 2)); then
		grep -qE '^ +3 ?[0-9]{3}  page-faults:u' err || fail "$(cat err)"
		grep -q 'not counted: context-switches: this needs root' err || fail "$(cat err)"
	fi
	run "${user[@]}" ./ebprof stat -a -- true
	want_status 0 'stat -a'
	(($(grep -c 'this needs root' err) == 1)) || fail "said more than once: $(cat err)"
}

test_exit_status() {
	run "$EBPROF" stat -- sh -c 'exit 3'
	want_status 3 'exit 3'
	run "$EBPROF" stat -- ./nowhere
	want_status 127 nowhere
	run "$EBPROF" stat -e offcpu -- true
	want_status 125 offcpu
	grep -q 'ebprof record samples it' err || fail "$(cat err)"
	run "$EBPROF" stat
	want_status 125 'no command'
}

test_missing_events() {
	"$EBPROF" check | grep -q 'hardware cycles.*do not count' || skip "hardware events are here"
	run "$EBPROF" stat -e page-faults,instructions -- true
	want_status 125 'an event that is not here'
	grep -q -- '--skip-missing counts the others' err || fail "$(cat err)"
	count --skip-missing -e page-faults,instructions -- true
	want_status 0 --skip-missing
	(($(mean page-faults) > 10)) || fail "$(cat counts.json)"
	grep -q '"instructions".*"is_counted":false,"why":"instructions: the processor' counts.json || fail "$(cat counts.json)"
	run "$EBPROF" record --skip-missing -e page-faults,instructions,sched:nothing -c 1 -- true
	want_status 0 'record --skip-missing'
	grep -q 'left out: instructions: the processor' err || fail "$(cat err)"
	grep -q 'left out: this kernel has no tracepoint "sched:nothing"' err || fail "$(cat err)"
	run "$EBPROF" record --skip-missing -e instructions -- true
	want_status 125 'none is left'
}

# ---- PMUs that do not count on all CPUs ----

pmus=/sys/bus/event_source/devices

# Runs stat where the folder of PMUs is what ./pmus holds.
stat_with_pmus() { # OPTION...
	run unshare -m bash -c 'mount --bind pmus "$1" && shift && exec "$@"' with_pmus $pmus \
		"$EBPROF" stat --json -o counts.json -e msr/tsc/ "$@"
}
count_tsc() { # OPTION...
	stat_with_pmus "$@"
	want_status 0 "stat $*"
	mean msr/tsc/
}

# The kernel counts on each CPU that it is told; what a PMU counts that is read on one would be
# summed as often as there are CPUs.
test_pmus_of_some_cpus() {
	local all one
	[[ -d $pmus/msr && $(nproc) -gt 1 ]] || skip "no PMU msr here, or one CPU"
	mkdir -p pmus/msr
	cp -r $pmus/msr/{type,format,events} pmus/msr/
	all=$(count_tsc -a sleep 0.5)
	cut -d , -f 1 /sys/devices/system/cpu/online | cut -d - -f 1 >pmus/msr/cpumask
	one=$(count_tsc -a sleep 0.5)
	want_between "ticks of one CPU" $((one * $(nproc))) $((all * 8 / 10)) $((all * 12 / 10))
	stat_with_pmus true
	want_status 125 "of a process"
	grep -q 'for the whole machine, not for a process: use -a' err || fail "$(cat err)"
}

run_tests
