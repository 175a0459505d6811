#!/bin/bash
# Whose a sample is: the control group of its process, and what its path names.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"

id=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
uid=2b801b7a-5266-4386-864e-45ed71136371

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

# ---- recordings of control groups ----

# Works in the group until it is killed.
work_in() { # PATH
	(in_cgroup "$1" "$WORKLOADS/workload" 300) &
}

pids_of() { # FILE
	"$EBPROF" report --stdio -s pid "$1" | awk '$NF ~ /^[0-9]+$/ { print $NF }'
}

# All samples are of this process, and there are some.
want_only() { # PID FILE
	local samples
	want_exact "$2"
	samples=$(pids_of "$2")
	[[ $samples == "$1" ]] || fail "pids of samples: $samples, not $1: $(cat err)"
}

test_only_a_control_group() {
	work_in /ebprof-only.slice/ebprof-front.service
	local web=$!
	work_in "/ebprof-only.slice/docker-$id.scope"
	local container=$!
	sleep 0.2
	local -A choices=(
		[$web]='--unit=ebprof-front --cgroup=/ebprof-only.slice/ebprof-front.service'
		[$container]=--container=0123456789ab
	)
	local pid choice
	for pid in "${!choices[@]}"; do
		for choice in ${choices[$pid]}; do
			run "$EBPROF" record -F 499 "$choice" -o x.data --duration 0.3
			want_status 0 "$choice"
			want_only "$pid" x.data
		done
	done
	run "$EBPROF" record -F 499 -a --unit ebprof-front --container "${id:0:8}" -e wall -o x.data -- sleep 0.3
	want_status 0 "two names"
	want_exact x.data
	[[ $("$EBPROF" report --stdio -s pid x.data | grep -cE " ($web|$container)$") == 2 ]] || fail "$(cat err)"
	run "$EBPROF" record -F 499 --cgroup "ebprof-only.slice/ebprof-front.service,/ebprof-only.slice/docker-$id.scope" \
		-o x.data --duration 0.3
	want_status 0 "two paths in a list"
	want_exact x.data
	[[ $(pids_of x.data | sort -n | xargs) == "$(printf '%s\n' $web $container | sort -n | xargs)" ]] ||
		fail "pids of samples: $(pids_of x.data), not $web and $container"
	kill $web $container
	wait $web $container 2>/dev/null
	remove_cgroups /ebprof-only.slice/ebprof-front.service "/ebprof-only.slice/docker-$id.scope" /ebprof-only.slice
}

# Groups that are made while it records: below what was named, and one that has the name again.
test_control_groups_that_come_later() {
	work_in /ebprof-later.slice/ebprof-again.service
	local first=$!
	sleep 0.1
	"$EBPROF" record -F 499 --unit ebprof-again --unit ebprof-again -o x.data 2>err &
	local recorder=$!
	wait_ready err
	work_in /ebprof-later.slice/ebprof-again.service/below/there
	local below=$!
	sleep 0.3
	kill $first $below
	wait $first $below 2>/dev/null
	remove_cgroups /ebprof-later.slice/ebprof-again.service/below/{there,} /ebprof-later.slice/ebprof-again.service
	work_in /ebprof-later.slice/ebprof-again.service
	local again=$!
	sleep 0.8
	reap $recorder INT
	kill $again
	wait $again 2>/dev/null
	remove_cgroups /ebprof-later.slice{/ebprof-again.service,}
	want_exact x.data
	local pid
	"$EBPROF" report --stdio -s pid x.data >report
	for pid in $first $below $again; do
		grep -q " $pid$" report || fail "$pid is missing ($first $below $again): $(cat report)"
	done
}

test_control_groups_that_are_not_there() {
	work_in /ebprof-absent.slice/ebprof-front.service
	local web=$!
	sleep 0.1
	run "$EBPROF" record --unit ebprof-frond -o x.data --duration 1
	want_status 125 "a unit that does not run"
	grep -q 'no unit "ebprof-frond" runs here: is "ebprof-front" meant?' err || fail "$(cat err)"
	run "$EBPROF" record --cgroup /ebprof-absent.slice/ebprof-front -o x.data --duration 1
	want_status 125 "a group that is not there"
	run "$EBPROF" record --container 0123456789abcdf -o x.data --duration 1
	want_status 125 "a container that does not run"
	run "$EBPROF" record --unit ebprof-front,ebprof-frond --container nowhere,neither -o x.data --duration 1
	want_status 125 "names that are missing from lists"
	grep -q 'no unit "ebprof-frond" runs here, nor container "nowhere", nor container "neither": is "ebprof-front" meant?' err ||
		fail "$(cat err)"
	run "$EBPROF" record --unit ebprof-front, -o x.data --duration 1
	want_status 125 "a list with an empty name"
	grep -q -- '--unit: an empty name' err || fail "$(cat err)"
	run "$EBPROF" record --unit ebprof-front -p $$ -o x.data --duration 1
	want_status 125 "two kinds of targets"
	[[ ! -e x.data ]] || fail "a file was written"
	kill $web
	wait $web 2>/dev/null
	remove_cgroups /ebprof-absent.slice{/ebprof-front.service,}
}

# ---- names and labels ----

# Of a command in a mount namespace whose /var/lib/docker has a container that is called web.
beside_docker() { # COMMAND...
	unshare -m bash -c '
		mount -t tmpfs tmpfs /var/lib && mkdir -p "/var/lib/docker/containers/$0" &&
		echo "{\"Name\": \"/web\", \"Config\": {\"Image\": \"nginx:1\"}}" >"/var/lib/docker/containers/$0/config.v2.json" &&
		exec "$@"' $id "$@"
}

move_to() { # PID PATH
	local root=/sys/fs/cgroup
	[[ -d $root/memory ]] && root=$root/memory
	echo "$1" >"$root$2/cgroup.procs"
}

test_names_of_containers() {
	beside_docker true || skip "no mount namespaces here"
	(in_cgroup "/ebprof-names.slice/docker-$id.scope" true)
	(in_cgroup "/ebprof-names.slice/docker-$id.scope" "$WORKLOADS/workload" 300) &
	local busy=$!
	run beside_docker "$EBPROF" record -F 499 --container web -o x.data --duration 0.3
	want_status 0 "a container by its name"
	want_only $busy x.data
	"$EBPROF" report --stdio -s container,label:container.name,label:container.image.name x.data >report
	grep -qE "^ *100\.00% .* web  +web +nginx:1$" report || fail "$(cat report)"
	"$EBPROF" report --stdio --container web x.data | grep -q ' heavy' || fail "the name selects nothing"
	run beside_docker "$EBPROF" record --container wep -o x.data --duration 0.3
	grep -q 'no container "wep" runs here: is "web" meant?' err || fail "$(cat err)"
	kill $busy
	wait $busy 2>/dev/null
	remove_cgroups "/ebprof-names.slice/docker-$id.scope" /ebprof-names.slice
}

# They end before /proc could be read: what they are executed with is seen at the exec.
test_labels_of_short_processes() {
	"$EBPROF" record -q -F 4999 --env-label TEAM -o x.data -- sh -c \
		'for i in $(seq 300); do TEAM=short awk "BEGIN { for (i = 0; i < 5000; i++) x += i }"; done' || fail "record fails"
	"$EBPROF" report --stdio --percent-limit 0 -s comm,label:TEAM x.data |
		awk '$(NF - 1) ~ /awk$/ { all += $3; if ($NF == "short") right += $3 } END { print right + 0, all + 0 }' >of
	awk '{ exit !($2 >= 100 && $1 >= 0.99 * $2) }' of || fail "labels of $(cat of) samples are right: $("$EBPROF" info x.data | grep -i label)"
}

# A process that is moved has the labels of where it is from then on; so has one whose file of labels changes.
test_labels_follow_processes() {
	(in_cgroup /ebprof-moves.slice/ebprof-to.service true)
	(TEAM=shop in_cgroup /ebprof-moves.slice/ebprof-from.service "$WORKLOADS/workload" 300) &
	local busy=$!
	echo '[]' >labels.json
	"$EBPROF" record -F 499 -p $busy --env-label TEAM --labels labels.json --label-sources service -o x.data 2>err &
	local recorder=$!
	wait_ready err
	sleep 0.3
	move_to $busy /ebprof-moves.slice/ebprof-to.service
	sleep 0.3
	echo "[{\"labels\": {\"__process_pid__\": \"$busy\", \"phase\": \"last\"}}]" >labels.new
	mv labels.new labels.json
	sleep 1.2
	echo '[{' >labels.json # what was read before holds
	sleep 0.8
	reap $recorder INT
	kill $busy
	wait $busy 2>/dev/null
	remove_cgroups /ebprof-moves.slice/ebprof-{from,to}.service /ebprof-moves.slice
	want_exact x.data
	"$EBPROF" report --stdio -s unit,label:service_name,label:TEAM,label:phase x.data | awk '/%/ { $1 = $2 = $3 = ""; print }' | sort >rows
	printf '   %s\n' 'ebprof-from.service ebprof-from.service shop -' 'ebprof-to.service ebprof-to.service shop -' \
		'ebprof-to.service ebprof-to.service shop last' >want
	diff want rows >difference || fail "$(cat difference)"
	grep -q 'labels.json: no JSON at byte' err || fail "the broken file is not told of: $(cat err)"
	run "$EBPROF" record --labels labels.json -o x.data -- true
	want_status 125 "a broken file of labels"
}

has_ended_files() { (($(find ring -name '*+*' | wc -l) >= $1)); } # COUNT

has_ended_file_of() { # PID
	local file
	for file in ring/ebprof-*+*; do
		pids_of "$file" | grep -qx "$1" && return
	done
	return 1
}

# Of three that run, one is a target by its number and one by its container; then a third takes their place.
test_only_the_targets_of_a_file() {
	"$WORKLOADS/workload" 300 &
	local by_number=$!
	"$WORKLOADS/workload" 300 &
	local other=$!
	work_in "/ebprof-targets.slice/docker-$id.scope"
	local contained=$!
	sleep 0.2
	cat >labels.json <<-END
		[{"targets": ["a"], "labels": {"__process_pid__": "$by_number", "team": "shop"}},
		 {"targets": ["b"], "labels": {"__container_id__": "docker://$id", "team": "cart"}},
		 {"targets": ["c"], "labels": {"__container_id__": "${id//0/f}", "team": "later"}}]
	END
	"$EBPROF" record -F 499 --targets-only --labels labels.json -o x.data --duration 0.4 2>err || fail "$(cat err)"
	want_exact x.data
	"$EBPROF" report --stdio -s label:team,pid x.data | awk '$NF ~ /^[0-9]+$/ { print $(NF - 1), $NF }' | sort >targets
	printf '%s\n' "cart $contained" "shop $by_number" | sort | diff - targets >difference || fail "$(cat difference err)"
	grep -q 'the targets of labels.json' err || fail "$(cat err)"
	"$EBPROF" record -F 499 --targets-only --labels labels.json --ring ring --switch 0.3s 2>err &
	local recorder=$! count file
	wait_ready err
	echo "[{\"labels\": {\"__process_pid__\": \"$other\", \"team\": \"new\"}}]" >labels.new
	mv labels.new labels.json
	wait_until "samples of what the file has now" has_ended_file_of "$other"
	count=$(find ring -name '*+*' | wc -l)
	wait_until "a file that began later" has_ended_files $((count + 2))
	reap $recorder INT
	local files=(ring/ebprof-*)
	for file in "${files[@]}"; do
		want_exact "$file"
	done
	pids_of "${files[count + 1]}" >targets
	[[ $(cat targets) == "$other" ]] || fail "after the change: $(cat targets), not $other"
	kill $by_number $other $contained
	wait $by_number $other $contained 2>/dev/null
	remove_cgroups "/ebprof-targets.slice/docker-$id.scope" /ebprof-targets.slice
	run "$EBPROF" record --targets-only -o x.data --duration 0.1
	want_status 125 "targets of no file"
	run "$EBPROF" record --targets-only --labels labels.json -p $$ -o x.data --duration 0.1
	want_status 125 "two kinds of targets"
}

run_tests
