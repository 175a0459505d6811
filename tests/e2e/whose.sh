#!/bin/bash
# Whose a sample is: the control group of its process, and what its path names.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
uid=2b801b7a-5266-4386-864e-45ed71136371

# Runs a command in a control group of that path, of either version, in its own subshell.
in_cgroup() { # PATH COMMAND...
	local root=/sys/fs/cgroup
	[[ -d $root/memory ]] && root=$root/memory
	mkdir -p "$root$1" 2>/dev/null && echo "$BASHPID" >"$root$1/cgroup.procs" 2>/dev/null ||
		skip "no control group can be made in $root"
	shift
	exec "$@"
}

# Those that the test has made, which are empty by then.
remove_cgroups() { # PATH...
	local path
	for path; do
		rmdir "/sys/fs/cgroup/memory$path" "/sys/fs/cgroup$path" 2>/dev/null
	done
	return 0
}

record_in() { # PATH
	(in_cgroup "$1" "$EBPROF" record -q -F 499 -- "$WORKLOADS/workload" 0.5) || exit $?
	remove_cgroups "$1"
}

test_units() {
	record_in /system.slice/ebprof-test.service
	"$EBPROF" report --stdio -s unit,comm ebprof.data >report || fail "report fails"
	grep -qE '^ *100\.00% .* ebprof-test\.service  workload' report || fail "$(cat report)"
	"$EBPROF" report --stdio -s cgroup ebprof.data | grep -q ' /system.slice/ebprof-test.service$' || fail "no cgroup"
	"$EBPROF" convert --folded --by unit -o - ebprof.data | grep -q '^ebprof-test.service;' || fail "no root"
	"$EBPROF" report --stdio --container ebprof-test.service ebprof.data >within || fail "it is not found"
	diff <(tail -n +4 within) <("$EBPROF" report --stdio ebprof.data | tail -n +4) >/dev/null || fail "samples are missing"
	run "$EBPROF" report --stdio --container other.service ebprof.data
	want_status 2 "a unit that is not there"
}

test_pods_and_their_containers() {
	record_in "/kubepods.slice/kubepods-pod${uid//-/_}.slice/cri-containerd-$id.scope"
	"$EBPROF" report --stdio -s pod,container,unit ebprof.data >report || fail "report fails"
	grep -qE "^ *100\.00% .* $uid  ${id:0:12}  -" report || fail "$(cat report)"
	"$EBPROF" convert --pprof -o profile.pb.gz ebprof.data && gzip -dc profile.pb.gz | grep -aq "$uid" || fail "pprof lacks the pod"
	"$EBPROF" convert --otlp -o - ebprof.data | grep -aq 'k8s.pod.uid' || fail "OTLP lacks the pod"
}

run_tests
