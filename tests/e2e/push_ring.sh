#!/bin/bash
# Pushing the files of an endless recording: each once, the oldest first, whatever the server does.
# Mostly waits: and what else the machine does changes nothing here.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"

unset EBPROF_TOKEN EBPROF_USER http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY
export XDG_STATE_HOME=$PWD/state

begin() {
	ldconfig -p | grep -qE 'libcurl(-gnutls)?\.so\.4' || skip "no libcurl.so.4 here"
	command -v python3 >/dev/null || skip "no python3 here"
	export XDG_STATE_HOME=$PWD/state
}

serve() { # FOLDER [--port PORT] ANSWER...
	rm -f port
	"$here/push_server.py" "$@" >port 2>server.err &
	server=$!
	is_soon test -s port || fail "no server: $(tail -n 1 server.err)"
	port=$(cat port)
	url=http://127.0.0.1:$port
}

nr_requests() { find "$1" -name '*.body' | wc -l; } # FOLDER
has_requests() { (($(nr_requests "$1") >= $2)); }   # FOLDER COUNT

# Samples of all requests of folders.
pushed_samples() { # KIND FOLDER...
	local body sum=0
	while read -r body; do
		sum=$((sum + $("$here/read_push.py" "$1" "$body" | grep -oE '[0-9]+$')))
	done < <(find "${@:2}" -name '*.body')
	echo $sum
}

ring_samples() { # those of the ended files of the folder "ring"
	local file sum=0
	for file in ring/ebprof-*+*.data; do
		sum=$((sum + $(field "$file" samples)))
	done
	echo $sum
}

# A ring of four files and what a second server gets of it.
test_push_ring_once() {
	begin
	"$WORKLOADS/workload" 1000 &
	run "$EBPROF" record -a -F 199 --ring ring --switch 0.5s --duration 2
	want_status 0 record
	serve requests 200
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none
	want_status 0 push
	local files=(ring/ebprof-*)
	[[ $(nr_requests requests) == "${#files[@]}" ]] || fail "$(nr_requests requests) requests of ${#files[@]} files"
	[[ $(pushed_samples push requests) == "$(ring_samples)" ]] || fail "$(pushed_samples push requests) of $(ring_samples) samples"
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none
	want_status 0 "push again"
	grep -q '^ebprof: 0 files' err || fail "$(cat err)"
	# The list of what was taken is lost: what was delivered is noted by its content, too.
	rm ring/push-*.taken
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none
	want_status 0 "push without the list"
	[[ $(nr_requests requests) == "${#files[@]}" ]] || fail "something was pushed twice"
	run "$EBPROF" push --ring ring --to "$url" --protocol parca --symbol-cache none
	want_status 0 "another protocol"
	[[ $(nr_requests requests) == $((2 * ${#files[@]})) ]] || fail "parca has $(nr_requests requests)"
}

# The server is away for a while, then refuses for a while: nothing is lost, nothing comes twice.
# AWAY=600 (make check-outage): for ten minutes.
push_beside_a_recorder() { # PROTOCOL KIND
	begin
	"$WORKLOADS/workload" 1000 &
	serve before 200
	"$EBPROF" record -a -F 199 --ring ring --switch 0.7s --push "$url" --protocol "$1" --every 1s 2>err &
	recorder=$!
	wait_ready err
	wait_until "a request" has_requests before 1
	kill "$server"
	wait "$server" 2>/dev/null
	wait_until "that it says so" grep -q 'not taken: kept in ring' err
	sleep "${AWAY:-1.5}"
	serve after --port "$port" 503 200
	wait_until "that it is taken again" grep -q 'taken again' err
	kill -INT "$recorder"
	wait "$recorder"
	status=$?
	want_status 0 record
	rm after/1.body # 503
	# What the last seconds were not enough for is still there.
	run "$EBPROF" push --ring ring --to "$url" --protocol "$1"
	want_status 0 "the rest"
	local pushed all
	pushed=$(pushed_samples "$2" before after) all=$(ring_samples)
	[[ $pushed == "$all" && $pushed -gt 0 ]] || fail "$pushed samples were pushed, the ring has $all: $(cat err)"
	grep -q '^ebprof_push_waiting_files 0$' ring/push-*.metrics || fail "$(cat ring/push-*.metrics)"
}

test_server_is_away_pyroscope() { push_beside_a_recorder pyroscope push; }
test_server_is_away_parca() { push_beside_a_recorder parca parca; }

# Where the ring has no room, what goes is counted, and said.
test_what_is_removed_is_counted() {
	begin
	"$EBPROF" record -a -F 199 --ring ring --switch 0.3s --keep 10M,2s --push http://127.0.0.1:9 \
		--protocol pyroscope --every 1s 2>err &
	recorder=$!
	wait_ready err
	wait_until "that files are removed" grep -q 'removed before http://127.0.0.1:9 took' err
	[[ $(grep -c 'not taken: kept' err) == 1 ]] || fail "it is said again and again: $(cat err)"
	wait_until "a counter" grep -q '^ebprof_push_removed_files_total [1-9]' ring/push-*.metrics
	kill -INT "$recorder"
	wait "$recorder"
}

# A pusher that is killed is started again, and goes on where it was.
test_pusher_is_killed() {
	begin
	"$WORKLOADS/workload" 1000 &
	serve requests 200
	"$EBPROF" record -a -F 199 --ring ring --switch 0.7s --push "$url" --protocol pyroscope --every 1s 2>err &
	recorder=$!
	wait_ready err
	wait_until "a request" has_requests requests 1
	kill -KILL "$(pgrep -P "$recorder")"
	wait_until "more requests" has_requests requests 3
	kill -INT "$recorder"
	wait "$recorder"
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope
	[[ $(pushed_samples push requests) == "$(ring_samples)" ]] || fail "$(pushed_samples push requests) of $(ring_samples)"
}

has_open() { # PID PATH
	find "/proc/$1/fd" -lname "$(realpath "$2")" 2>/dev/null | grep -q .
}

# A pusher that still waits for another one's last round when it is to end has its own behind that.
test_pusher_ends_while_it_waits_for_another() {
	begin
	local lock
	mkdir ring
	serve requests 200
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none
	want_status 0 "push of nothing"
	run "$EBPROF" record -a -F 199 --ring ring --duration 0.3
	want_status 0 record
	lock=(ring/push-*.lock)
	exec {other}<>"${lock[0]}"
	flock "$other"
	"$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none --every 60s {other}>&- 2>err &
	local pusher=$!
	wait_until "that it has come to the lock" has_open $pusher "${lock[0]}"
	kill -TERM $pusher
	flock -u "$other"
	wait $pusher
	status=$?
	want_status 0 "the pusher"
	[[ $(nr_requests requests) == 1 ]] || fail "$(nr_requests requests) requests: $(cat err)"
}

# Wrong once is no reason to throw a file away.
test_refused_files_are_kept() {
	begin
	run "$EBPROF" record -a -F 199 --ring ring --switch 0.4s --duration 1
	serve requests 400:body=bad 200
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none
	want_status 1 "a refused file"
	local files=(ring/ebprof-*)
	[[ $(nr_requests requests) == "${#files[@]}" ]] || fail "it did not go on with the next"
	run "$EBPROF" push --ring ring --to "$url" --protocol pyroscope --symbol-cache none
	want_status 0 "again"
	[[ $(nr_requests requests) == $((${#files[@]} + 1)) ]] || fail "$(nr_requests requests) requests"
}

test_push_ring_refusals() {
	mkdir ring
	local words
	while read -r words; do
		# shellcheck disable=SC2086
		run "$EBPROF" push $words
		[[ $status == [12] ]] || fail "$words: status $status"
	done <<-'END'
		--ring ring
		--ring ring --to http://127.0.0.1:9 x.data
		--ring ring --to http://127.0.0.1:9 --force
		--ring nowhere --to http://127.0.0.1:9
		--every 5s --to http://127.0.0.1:9
	END
	run "$EBPROF" record -a --duration 0.1 --push http://127.0.0.1:9
	want_status 125 "--push without --ring"
}

run_tests 2
