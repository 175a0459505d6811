#!/bin/bash
# What an endless recorder tells of itself: metrics, and the service manager's protocol.
# Mostly waits: and what else the machine does changes nothing here.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"

need() { # PROGRAM...
	local program
	for program in "$@"; do
		command -v "$program" >/dev/null || skip "no $program here"
	done
}

begin_health() { # RECORD_OPTION...
	"$EBPROF" record -a -F 199 "$@" 2>err &
	recorder=$!
	wait_ready err
}

end_health() {
	kill -INT "$recorder"
	wait "$recorder"
	status=$?
	want_status 0 record
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# The text format: a TYPE ahead of each family, which comes once; a value in each line.
want_metrics() { # FILE
	awk '/^# TYPE / { if (seen[$3]++) bad = $0; type = $3 }
		!/^#/ { name = $1; sub(/\{.*/, "", name); if (name != type || $NF !~ /^[0-9.e+]+$/) bad = $0 }
		END { if (bad != "") { print bad; exit 1 } }' "$1" >bad || fail "metrics: $(cat bad)"
	grep -q '^ebprof_events_total{event="timer",outcome="sample"} [1-9]' "$1" || fail "no samples: $(cat "$1")"
}

has_metric() { curl -sf "$url" | grep -qE "$1"; }

test_metrics_by_http() {
	need curl python3
	"$WORKLOADS/workload" 1000 &
	local port
	port=$(free_port)
	url=http://127.0.0.1:$port/metrics
	begin_health --ring ring --switch 0.5s --metrics "127.0.0.1:$port" --push http://127.0.0.1:9 --protocol parca --every 1s
	wait_until "three files" has_metric '^ebprof_ring_files [3-9]'
	wait_until "the pusher's" has_metric '^ebprof_push_failures_total [1-9]'
	curl -s "$url" >metrics || fail "curl"
	want_metrics metrics
	[[ $(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/") == 404 ]] || fail "/ is there"
	[[ $(curl -s -o /dev/null -w '%{http_code}' -X POST "$url") == 405 ]] || fail "POST is taken"
	# A client that says nothing keeps others waiting for two seconds, and the recorder not at all.
	exec 9<>"/dev/tcp/127.0.0.1/$port"
	timeout 10 curl -sf "$url" >again || fail "a silent client blocks all others"
	exec 9>&-
	head -c 100000 /dev/zero | tr '\0' x | timeout 10 curl -s --data-binary @- "$url" >/dev/null
	want_metrics again
	run "$EBPROF" record -a --duration 0.1 --metrics "127.0.0.1:$port" -o x.data
	want_status 125 "an address that is taken"
	end_health
}

test_metrics_in_a_file() {
	begin_health --metrics health.prom -o x.data
	wait_until "samples" grep -q 'outcome="sample"} [1-9]' health.prom
	want_metrics health.prom
	[[ $(stat -c %a health.prom) == 644 ]] || fail "mode $(stat -c %a health.prom)"
	end_health
	run "$EBPROF" record -a --duration 0.1 --metrics nowhere/health.prom -o x.data
	want_status 125 "a folder that is not there"
	run "$EBPROF" record -a --duration 0.1 --metrics localhost:9188 -o x.data
	want_status 125 "a name"
	grep -q 'is neither ADDRESS:PORT' err || fail "$(cat err)"
}

# The next recorder has the same address: it is served by the first until its last file is written, and
# by the second from then on. A client that says nothing keeps nobody waiting.
test_metrics_are_taken_over() {
	need curl python3
	"$WORKLOADS/workload" 1000 &
	local port first
	port=$(free_port)
	url=http://127.0.0.1:$port/metrics
	begin_health --ring ring --switch 1h --metrics "127.0.0.1:$port"
	first=$recorder
	wait_until "the first one's" has_metric 'outcome="sample"} [1-9]'
	exec 9<>"/dev/tcp/127.0.0.1/$port"
	begin_health --ring ring --switch 1h --metrics "127.0.0.1:$port" --take-over
	wait "$first"
	wait_until "the second one's" has_metric 'outcome="sample"} [1-9]'
	exec 9>&-
	curl -s "$url" >metrics || fail "curl"
	want_metrics metrics
	"$EBPROF" record -a --ring other --take-over --duration 0.1 --metrics "127.0.0.1:$port" 2>refused &&
		fail "an address that is taken, and nobody to take over from"
	grep -q 'already in use' refused || fail "$(cat refused)"
	end_health
	! grep -q -- --metrics err || fail "$(cat err)"
}

# Another program than the recorder has it: that is said, and it is served when it is free.
test_metrics_address_of_another_program() {
	need curl python3
	local port first holder
	port=$(free_port)
	url=http://127.0.0.1:$port/metrics
	"$WORKLOADS/workload" 1000 &
	python3 -c 'import socket, time; s = socket.socket(); s.bind(("127.0.0.1", '"$port"')); s.listen(); time.sleep(1000)' &
	holder=$!
	begin_health --ring ring --switch 1h
	first=$recorder
	begin_health --ring ring --switch 1h --metrics "127.0.0.1:$port" --take-over
	wait "$first"
	wait_until "a message" grep -q -- '--metrics: another program has the address' err
	kill $holder
	wait_until "metrics" has_metric 'outcome="sample"} [1-9]'
	end_health
}

# The file is the first one's until it has ended.
test_metrics_file_is_taken_over() {
	"$WORKLOADS/workload" 1000 &
	local first
	begin_health --ring ring --switch 1h --metrics health.prom
	first=$recorder
	wait_until "samples" grep -q 'outcome="sample"} [1-9]' health.prom
	begin_health --ring ring --switch 1h --metrics health.prom --take-over
	[[ -s health.prom ]] || fail "it is empty"
	wait "$first"
	wait_until "samples of the second" grep -q 'outcome="sample"} [1-9]' health.prom
	want_metrics health.prom
	end_health
	"$EBPROF" record -a --ring ring --take-over --duration 0.1 --metrics nowhere/health.prom 2>err && fail "a folder that is not there"
	return 0
}

# A manager's socket; each datagram is a line with its newlines as spaces.
listen_for_notes() {
	python3 -c '
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("notify")
open("listening", "w").close()
while True:
    print(s.recv(4096).decode().replace("\n", " "), flush=True)' >notes 2>/dev/null &
	wait_until "the socket" test -e listening
}

test_service_manager_is_told() {
	need python3
	listen_for_notes
	NOTIFY_SOCKET=$PWD/notify WATCHDOG_USEC=400000 begin_health --ring ring --switch 10s
	wait_until "READY" grep -q '^READY=1 STATUS=recording' notes
	wait_until "WATCHDOG" grep -q '^WATCHDOG=1' notes
	kill -HUP "$recorder"
	wait_until "RELOADING" grep -qE '^RELOADING=1 MONOTONIC_USEC=[0-9]+$' notes
	wait_until "READY again" grep -q '^READY=1$' notes
	# The watchdog is the main loop's: one that stands still is not alive.
	kill -STOP "$recorder"
	local before
	sleep 0.3
	before=$(grep -c WATCHDOG notes)
	sleep 0.6
	[[ $(grep -c WATCHDOG notes) == "$before" ]] || fail "it is alive while it is stopped"
	kill -CONT "$recorder"
	end_health
	wait_until "STOPPING" grep -q '^STOPPING=1' notes
	! NOTIFY_SOCKET=$PWD/notify "$EBPROF" record -o x.data -- env 2>/dev/null | grep -q ^NOTIFY_SOCKET= ||
		fail "the command has the socket"
}

# By the unit's capabilities alone, and no new ones.
test_unit_file() {
	need setpriv
	local unit=$here/../../record/ebprof.service capabilities
	capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
	((2 >= $(cat /proc/sys/kernel/perf_event_paranoid))) || capabilities+=,+sys_admin
	run setpriv --no-new-privs --bounding-set "-all,$capabilities" "$EBPROF" record -a --ring ring --duration 0.5
	want_status 0 "with $capabilities"
	# What it starts is a command of this program, with options that there are.
	local words
	words=$(sed -n 's/^ExecStart=@BINDIR@\/ebprof record //p' "$unit" | sed 's/ \$EBPROF_OPTIONS//; s|/var/lib/ebprof/ring|ring2|; s/:9188/:0/')
	# shellcheck disable=SC2086
	run "$EBPROF" record $words --duration 0.2
	want_status 0 "$words"
	! command -v systemd-analyze >/dev/null || {
		mkdir unit
		sed "s|@BINDIR@/ebprof|$EBPROF|" "$unit" >unit/ebprof.service
		systemd-analyze --man=no verify unit/ebprof.service 2>verify || fail "$(cat verify)"
	}
}

run_tests
