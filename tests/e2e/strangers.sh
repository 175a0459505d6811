#!/bin/bash
# What other processes of the machine do is nothing to a recording of some; and what is lost of what
# processes do is said.
# Mostly waits: and what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

# Two processes that map and unmap executable memory as fast as they can, until the test ends.
begin_storm() { # [FILE]
	"$WORKLOADS/mmap_storm" 600 "$@" &
	"$WORKLOADS/mmap_storm" 600 "$@" &
}

want_lost_nothing() { # FILE
	want_whole "$1"
	[[ $(field "$1" sideband_lost) == 0 ]] || fail "$1: sideband_lost $(field "$1" sideband_lost)"
}

want_filtered_below_1_percent() { # FILE
	local filtered samples
	filtered=$(field "$1" filtered) samples=$(field "$1" samples)
	((filtered * 100 < samples)) || fail "$1: $filtered ticks filtered beside $samples samples"
}

# Programs that keep all CPUs busy do not keep the recorder waiting for one. What it records has the
# priority that it had, and a recorder that was given one keeps it.
test_the_recorder_comes_before_what_it_records() {
	[[ $(nice) == 0 && -z $(nice -n -10 true 2>&1) ]] || skip "no other priority is allowed here"
	"$EBPROF" record -o x.data -- sh -c 'cut -d" " -f19 /proc/self/stat >nice; exec sleep 30' 2>err &
	local recorder=$!
	wait_ready err
	wait_until "the command" test -s nice
	[[ $(cat nice) == 0 ]] || fail "the command runs at nice $(cat nice)"
	local of_recorder
	of_recorder=$(cut -d' ' -f19 /proc/$recorder/stat)
	[[ $of_recorder == -10 ]] || fail "the recorder runs at nice $of_recorder"
	reap $recorder INT
	nice -n 5 "$EBPROF" record -o y.data -- \
		sh -c 'cut -d" " -f19 /proc/self/stat >nice2; exec sleep 30' 2>err2 &
	recorder=$!
	wait_ready err2
	wait_until "the command" test -s nice2
	[[ $(cat nice2) == 5 ]] || fail "the command runs at nice $(cat nice2), not 5"
	of_recorder=$(cut -d' ' -f19 /proc/$recorder/stat)
	[[ $of_recorder == 5 ]] || fail "the recorder runs at nice $of_recorder, not 5"
	reap $recorder INT
}

test_a_command_beside_a_storm_of_mappings() {
	begin_storm
	begin_storm /bin/true
	cat >program.py <<-'END'
		def inner(n):
		    return sum(i * i for i in range(n))
		def outer():
		    for _ in range(40):
		        inner(100000)
		outer()
	END
	local unnamed
	for _ in 1 2 3; do
		run "$EBPROF" record -o x.data -- /usr/bin/python3 program.py
		want_status 0 record
		want_exact x.data
		want_lost_nothing x.data
		want_filtered_below_1_percent x.data
		"$EBPROF" info x.data >info
		grep -q '^file *intact$' info || fail "not whole: $(cat info)"
		! "$EBPROF" info --mappings x.data | grep mmap_storm || fail "a stranger's program is in it"
		"$EBPROF" report --stdio -s sym x.data >report
		unnamed=$(awk '$NF ~ /pending|no_mapping/ { sum += $2 } END { print sum + 0 }' report)
		awk -v unnamed="$unnamed" 'BEGIN { exit !(unnamed < 20) }' ||
			fail "$unnamed% without a name: $(head -n 9 report)"
	done
}

test_the_whole_system_beside_a_storm_of_mappings() {
	begin_storm
	begin_storm /bin/true
	run "$EBPROF" record -a -F 499 -o x.data -- "$WORKLOADS/workload" 1
	want_status 0 record
	want_exact x.data
	# A machine that is too busy for the recorder may lose some: then all say so.
	if [[ $(field x.data sideband_lost) != 0 ]]; then
		grep -q 'records of mappings and execs were lost' err || fail "record is silent: $(cat err)"
	else
		want_whole x.data
	fi
	"$EBPROF" report --stdio -s sym --comm workload x.data >report
	grep -q heavy report || fail "$(head report)"
}

# The recorder cannot run for a while: records are lost, and everything says so.
test_losses_are_told() {
	begin_storm /bin/true
	"$EBPROF" record -a -F 499 -o x.data 2>err &
	local recorder=$!
	wait_ready err
	"$WORKLOADS/workload" 0.2
	kill -STOP $recorder
	sleep 3
	kill -CONT $recorder
	"$WORKLOADS/workload" 0.2
	reap $recorder INT
	want_exact x.data
	(($(field x.data sideband_lost) > 0)) || fail "nothing was lost"
	(($(field x.data gap_samples) > 0)) || fail "no sample was taken meanwhile"
	grep -q 'hint: .*records of mappings and execs were lost' err || fail "record: $(cat err)"
	! "$EBPROF" info x.data | grep -q '^file *intact' || fail "info says whole"
	"$EBPROF" info x.data | grep -q '^health .*records of mappings and execs were lost' ||
		fail "info: $("$EBPROF" info x.data)"
	"$EBPROF" report --stdio x.data 2>report.err | grep -q '^# .*mappings and execs were lost' ||
		fail "report: $("$EBPROF" report --stdio x.data)"
	"$EBPROF" report --stdio -s sym --comm workload x.data 2>&1 | grep -q heavy ||
		fail "names are gone: $("$EBPROF" report --stdio x.data)"
}

# That there are no samples of that time is no sign of a program that is too short.
test_losses_without_samples() {
	begin_storm /bin/true
	"$EBPROF" record -a -e page-faults -c 1000000000 -o x.data 2>err &
	local recorder=$!
	wait_ready err
	kill -STOP $recorder
	sleep 3
	kill -CONT $recorder
	reap $recorder INT
	(($(field x.data sideband_lost) > 0)) || skip "the storm was too slow to lose anything"
	grep -qE 'hint: [0-9]+ records of mappings and execs were lost between [0-9.]+ and [0-9.]+ s, and no sample was taken while they were: the recorder did not come to read its buffers' err ||
		fail "record: $(cat err)"
	! grep -q 'too short' err || fail "record: $(cat err)"
	"$EBPROF" info x.data | grep -q '^health .*no sample was taken meanwhile: the recorder did not come to read its buffers' ||
		fail "info: $("$EBPROF" info x.data)"
}

# A process became another program meanwhile: its samples say so, and /proc is read again.
test_a_lost_exec_is_found_by_the_samples() {
	begin_storm /bin/true
	sh -c 'until [ -e go ]; do sleep 0.1; done; exec "$WORKLOADS/workload" 4' &
	local process=$!
	"$EBPROF" record -a -F 499 -o x.data 2>err &
	local recorder=$!
	wait_ready err
	sleep 0.3
	kill -STOP $recorder
	sleep 1.5 # the buffers are full by now
	touch go
	sleep 1
	kill -CONT $recorder
	wait $process
	reap $recorder INT
	(($(field x.data sideband_lost) > 0)) || skip "the storm was too slow to lose anything"
	"$EBPROF" report --stdio -s sym --pid $process x.data >report 2>&1
	awk '/heavy/ { found = $1 + 0 > 40 } END { exit !found }' report || fail "$(head -n 12 report)"
}

# ---- timers ----

test_a_calm_command_has_timers_of_its_own() {
	"$WORKLOADS/workload" 30 2 & # strangers on all CPUs
	run "$EBPROF" record -v -o x.data -- "$WORKLOADS/workload" 1 3 1
	want_status 0 record
	want_exact x.data
	want_rate x.data 999
	want_filtered_below_1_percent x.data
	grep -q "timers: the tasks' own\$" err || fail "$(cat err)"
}

test_a_running_process_has_timers_of_its_own() {
	"$WORKLOADS/workload" 30 3 &
	local process=$!
	"$WORKLOADS/workload" 30 2 &
	sleep 0.2
	run "$EBPROF" record -v --duration 2 -o x.data -p $process
	want_status 0 record
	want_exact x.data
	[[ $(field x.data filtered) == 0 ]] || fail "$(cat err)"
	(($(field x.data threads) == 3)) || fail "$(field x.data threads) of 3 threads"
	grep -q "timers: the tasks' own\$" err || fail "$(cat err)"
}

# Each of them runs for some periods only: the CPUs' timers lose nothing of them.
test_many_short_processes_are_sampled_as_often_as_one() {
	cat >many.sh <<-'END'
		for i in $(seq 150); do WORKLOAD_CPU=/dev/null "$WORKLOADS/workload" 0.01; done
	END
	run "$EBPROF" record -v -o x.data -- sh many.sh
	want_status 0 record
	want_exact x.data
	grep -q 'timers: .*short tasks are sampled better so' err || fail "$(cat err)"
	! grep -q 'of the samples that its CPU time should give' err || fail "$(cat err)"
}

test_what_switches_often_is_sampled_by_the_cpus() {
	cat >switches.py <<-'END'
		import os
		a, b = os.pipe(), os.pipe()
		os.sched_setaffinity(0, {0})
		n = 60000
		if os.fork() == 0:
		    for _ in range(n): os.read(a[0], 1); os.write(b[1], b"x")
		    os._exit(0)
		for _ in range(n): os.write(a[1], b"x"); os.read(b[0], 1)
		os.wait()
	END
	run "$EBPROF" record -v -o x.data -- /usr/bin/python3 switches.py
	want_status 0 record
	want_exact x.data
	grep -q 'timers: .*the tasks switch too often' err || fail "$(cat err)"
}

# ---- processes that ran already ----

begin_server() { # a master that sleeps, its worker, and the worker's: the pids go to the file pids
	sh -c '
		sh -c "\"$WORKLOADS/workload\" 60 & echo \$! >worker2; \"$WORKLOADS/workload\" 60" &
		echo $! >worker1
		wait' &
	server=$!
	wait_until "two workers" test -s worker2
}

test_a_master_that_sleeps_names_its_workers() {
	begin_server
	run "$EBPROF" record --duration 2 -o x.data -p $server
	want_status 0 record
	grep -q "hint: .*children that ran already were not recorded.*$(cat worker2) .*--tree" err ||
		fail "$(cat err)"
}

test_a_tree_of_processes() {
	begin_server
	run "$EBPROF" record -v --tree --duration 1 -o x.data -p $server
	want_status 0 record
	want_exact x.data
	! grep -q -- --tree err || fail "$(cat err)"
	"$EBPROF" report --stdio -s pid x.data >report
	grep -q "\b$(cat worker2)\b" report || fail "$(cat report)"
	(($(grep -c workload report) == 0 && $(grep -cE '^ +[0-9.]+%' report) == 2)) ||
		fail "not two processes: $(cat report)"
}

test_tree_is_of_pids() {
	run "$EBPROF" record --tree -o x.data -- true
	want_status 125 "--tree without -p"
	grep -q -- '--tree goes with -p PID' err || fail "$(cat err)"
}

# ---- PID namespaces ----

in_namespace() { # COMMAND...
	unshare --pid --mount --fork --mount-proc "$@"
}

test_a_command_in_a_pid_namespace() {
	in_namespace true || skip "no PID namespaces here"
	run in_namespace "$EBPROF" record -o x.data -- "$WORKLOADS/workload" 0.5 1 1
	want_status 0 record
	want_exact x.data
	want_rate x.data 999
	"$EBPROF" report --stdio -s sym x.data >report
	awk '/heavy/ { found = $1 + 0 > 40 } END { exit !found }' report || fail "$(cat report)"
}

test_a_process_in_a_pid_namespace() {
	in_namespace true || skip "no PID namespaces here"
	run in_namespace sh -c '"$WORKLOADS/workload" 30 & sleep 0.1
		exec "$EBPROF" record --duration 1 -o x.data -p $!'
	want_status 0 record
	want_exact x.data
	"$EBPROF" report --stdio -s sym x.data >report
	awk '/heavy/ { found = $1 + 0 > 40 } END { exit !found }' report || fail "$(cat report err)"
}

test_all_of_a_pid_namespace() {
	in_namespace true || skip "no PID namespaces here"
	"$WORKLOADS/workload" 30 & # outside
	run in_namespace "$EBPROF" record -F 499 -a -o x.data -- "$WORKLOADS/workload" 1
	want_status 0 record
	want_exact x.data
	want_whole x.data
	grep -q 'hint: .*outside of this PID namespace' err || fail "$(cat err)"
	"$EBPROF" report --stdio -s sym --comm workload x.data >report
	awk '/heavy/ { found = $1 + 0 > 40 } END { exit !found }' report || fail "$(cat report)"
	(($(field x.data truncated) * 20 < $(field x.data samples))) || fail "$(cat err)"
}

test_short_processes_in_a_pid_namespace() {
	in_namespace true || skip "no PID namespaces here"
	run in_namespace "$EBPROF" record -o x.data -- sh -c \
		'for i in $(seq 60); do WORKLOAD_CPU=/dev/null "$WORKLOADS/workload" 0.01; done'
	want_status 0 record
	want_exact x.data
	(($(field x.data samples) > 300)) || fail "$(field x.data samples) samples"
}

# /proc calls them otherwise than the kernel's records do.
test_another_namespaces_proc_is_refused() {
	unshare --pid --fork true || skip "no PID namespaces here"
	run unshare --pid --fork "$EBPROF" record -o x.data -- true
	want_status 125 "another namespace's /proc"
	grep -q '/proc shows another PID namespace.*mount -t proc' err || fail "$(cat err)"
	[[ ! -e x.data ]] || fail "there is a recording"
}

# What a command leaves behind goes on unseen: neither -F nor -e wall would help.
test_what_a_command_leaves_behind() {
	run "$EBPROF" record -o left.data -- sh -c 'sleep 5 & echo $! >left; sleep 0.05'
	want_status 0 record
	kill "$(cat left)"
	grep -q "hint: the command has ended, and 1 process that it started goes on, .* -p $(cat left) has it" err ||
		fail "$(cat err)"
	! grep -q 'too short' err || fail "$(cat err)"
}

run_tests
