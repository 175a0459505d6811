#!/bin/bash
# Without a privilege the one that is missing is named; nothing else happens.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

as_nobody() {
	command -v setpriv >/dev/null || skip "no setpriv"
	# A copy that nobody can reach, since checkouts are often below a closed home.
	mkdir -p /tmp/ebprof-nobody.$$
	trap 'rm -rf /tmp/ebprof-nobody.$$' EXIT
	chmod 755 /tmp/ebprof-nobody.$$
	install -m 755 "$EBPROF" /tmp/ebprof-nobody.$$/ebprof
	chmod 777 .
	run setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all \
		/tmp/ebprof-nobody.$$/ebprof "$@"
}

test_nobody() {
	as_nobody record -o /tmp/ebprof-nobody.$$/x.data -- touch "$PWD/ran"
	want_status 125 'nobody records'
	grep -qE 'CAP_BPF|CAP_SYS_ADMIN|CAP_PERFMON|root' err || fail "the missing privilege is not named: $(cat err)"
	[[ $(wc -l <err) -le 3 ]] || fail "more than three lines: $(cat err)"
	[[ ! -e ran ]] || fail "the command ran unprofiled"
}

test_check_as_nobody() {
	as_nobody check
	want_status 1 'check as nobody'
	grep -q '^MISSING.*CAP_BPF' out || fail "CAP_BPF is not named: $(cat out)"
}

test_check_as_root() {
	run "$EBPROF" check
	want_status 0 check
}

# One capability less than root.
without() { # CAPABILITY NAME
	command -v setpriv >/dev/null || skip "no setpriv"
	run setpriv --bounding-set="$1" "$EBPROF" record -- true
	[[ $status == 125 ]] || fail "without $1: status $status: $(cat err)"
	grep -q "$2" err || fail "without $1, $2 is not named: $(cat err)"
}

test_without_bpf_and_admin() { without -bpf,-sys_admin 'CAP_BPF'; }
test_without_perfmon_and_admin() {
	without -perfmon,-sys_admin 'CAP_PERFMON'
}

# One of several events is not permitted: it is named, and left out only where that is asked for.
test_no_permission_for_one_of_several() {
	[[ $(cat /proc/sys/kernel/perf_event_paranoid) -le 2 ]] || skip "CAP_PERFMON does not suffice here"
	as_nobody check
	as_recorder() {
		run setpriv --bounding-set=-all,+bpf,+perfmon --reuid 65534 --regid 65534 --clear-groups \
			--inh-caps=+bpf,+perfmon --ambient-caps=+bpf,+perfmon /tmp/ebprof-nobody.$$/ebprof "$@"
	}
	chmod 777 /tmp/ebprof-nobody.$$
	local file=/tmp/ebprof-nobody.$$/some.data
	as_recorder record -o "$file" -e page-faults -- true
	want_status 0 "page faults alone: $(cat err)"
	as_recorder record -o "$file" -e page-faults -e sched:sched_switch -- touch /tmp/ebprof-nobody.$$/ran
	want_status 125 'a tracepoint that may not be seen'
	# Where no tracefs is mounted, that is what it lacks.
	grep -qE '^ebprof: sched:sched_switch: .*(may not read|tracefs is not mounted)' err || fail "the event is not named: $(cat err)"
	[[ ! -e /tmp/ebprof-nobody.$$/ran ]] || fail "the command ran unprofiled"
	as_recorder record --skip-missing -c 1 -o "$file" -e page-faults -e sched:sched_switch -- true
	want_status 0 "without it: $(cat err)"
	grep -q 'left out: sched:sched_switch: ' err || fail "what is left out is not named: $(cat err)"
	"$EBPROF" info "$file" | grep -q '^page-faults ' || fail "nothing is left: $("$EBPROF" info "$file")"
	as_recorder stat --skip-missing -e page-faults,sched:sched_switch -- true
	grep -q 'not counted: sched:sched_switch: ' err || fail "stat: $(cat err)"
}

run_tests
