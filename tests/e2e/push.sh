#!/bin/bash
# Pushing: what servers get, and what comes of servers that are busy, slow, full or not who they say.
# Mostly waits: and what else the machine does changes nothing here.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"
. "$here/collector.bash"

unset EBPROF_TOKEN EBPROF_USER http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY

# A recording "data", and a server that answers so; its requests in requests/, its URL in $url.
begin() { # ANSWER...
	export XDG_STATE_HOME=$PWD/state
	ldconfig -p | grep -qE 'libcurl(-gnutls)?\.so\.4' || skip "no libcurl.so.4 here"
	shared_recording -F 1999
	mv ebprof.data data
	samples=$(field data samples)
	serve requests "$@"
}

serve() { # FOLDER ANSWER...
	command -v python3 >/dev/null || skip "no python3 here"
	rm -f port
	"$here/push_server.py" "$@" >port 2>server.err &
	is_soon test -s port || fail "no server: $(tail -n 1 server.err)"
	url=http://127.0.0.1:$(cat port)
}

push() { # OPTION...
	run "$EBPROF" push --to "$url" --symbol-cache none "$@" data
	want_no_control_bytes out err
}

nr_requests() { find "${1:-requests}" -name '*.head' | wc -l; }

want_requests() { # COUNT
	[[ $(nr_requests) == "$1" ]] || fail "$(nr_requests) requests, not $1: $(tail -n 2 err)"
}

want_header() { # PATTERN [REQUEST]
	grep -qiE "$1" "requests/${2:-1}.head" || fail "no $1 in $(tr '\n' ' ' <"requests/${2:-1}.head")"
}

want_body() { # KIND WANTED [REQUEST]
	local got
	got=$("$here/read_push.py" "$1" "requests/${3:-1}.body" 2>&1) || fail "$1: $(tail -n 1 <<<"$got")"
	[[ $got == "$2" ]] || fail "$1: \"$got\", not \"$2\""
}

test_push_pyroscope() {
	begin 200
	push --protocol pyroscope -l env=test --tenant team
	want_status 0 push
	want_header '^POST /push.v1.PusherService/Push$'
	want_header '^content-type: application/proto$'
	want_header '^x-scope-orgid: team$'
	! grep -qi '^authorization' requests/1.head || fail "a token out of nowhere"
	want_body push "__name__=process_cpu env=test service_name=workload $samples"
}

test_push_pyroscope_ingest() {
	begin 200
	url+=/ingest/
	push -l env=test -l "service_name=my app"
	want_status 0 push
	want_header '^POST /ingest\?name=my%20app%7Benv%3Dtest%7D&from=[0-9]{10}&until=[0-9]{10}&format=pprof'
	want_body ingest "$samples"
	push -l 'env=a,b'
	want_status 2 "a label that /ingest cannot say"
}

test_push_parca() {
	begin 200
	push --protocol parca -l 'note="quoted" \back'
	want_status 0 push
	want_header '^POST /api/profiles/writeraw$'
	want_header '^content-type: application/json$'
	want_body parca "__name__=process_cpu note=\"quoted\" \\back service_name=workload $samples"
}

test_push_otlp() {
	begin 200
	url+=/prefix
	push --protocol otlp
	want_status 0 push
	want_header '^POST /prefix/v1development/profiles$'
	want_header '^content-encoding: gzip$'
	gzip -dc <requests/1.body >request 2>gzip.err || fail "no gzip"
	command -v protoc >/dev/null || skip "no protoc here (protobuf-compiler)"
	protoc -I "$here" --decode=otlp.ExportProfilesServiceRequest otlp.proto <request >decoded ||
		fail "protoc cannot read it"
	"$here/read_otlp.py" decoded >lines || fail "rules of OTLP"
	[[ $(awk '{ sum += $3 } END { print sum }' lines) == "$samples" ]] || fail "samples are missing"
	grep -q 'profile_id: ' decoded || fail "no profile_id"
}

test_push_otlp_partial_success() {
	begin partial
	push --protocol otlp
	want_status 1 push
	grep -q 'rejected 2 profiles: no room' err || fail "$(cat err)"
	want_requests 1
}

test_push_to_a_collector() {
	local collector port
	need_collector
	begin 200
	start_collector "$collector"
	url=http://localhost:$port
	"$EBPROF" convert --otlp -o whole.otlp data || fail "convert"
	# Not by half: a part has all the names of its samples, and one deep stack may have most.
	push --protocol otlp --max-size $(($(stat -c %s whole.otlp) * 9 / 10))
	want_status 0 push
	grep -q ' parts' err || fail "it went in one part: $(cat err)"
	want_collected data
}

test_push_is_not_repeated() {
	begin 200
	push --protocol pyroscope
	want_status 0 first
	push --protocol pyroscope --max-size 1500 --demangle=none
	want_status 0 second
	grep -q 'already pushed' err || fail "$(cat err)"
	want_requests 1
	push --protocol pyroscope -l env=other
	want_status 0 "other labels"
	want_requests 2
	push --protocol pyroscope --force
	want_status 0 forced
	want_requests 3
	push --protocol pyroscope --state-dir none
	want_requests 4
	push --protocol parca
	want_status 0 "another server"
	want_requests 5
}

test_push_goes_on_after_a_failure() {
	begin 413 200 400:body=bad 200 # the whole is too large, half of it is not
	push --protocol pyroscope
	want_status 1 "a part that is refused"
	grep -qE '[0-9]+ of [0-9]+ samples were pushed' err || fail "$(cat err)"
	push --protocol pyroscope
	want_status 0 again
	grep -q 'before: ' err || fail "$(cat err)"
	local i sum=0
	for ((i = 2; i <= $(nr_requests); i++)); do
		[[ $i == 3 ]] || sum=$((sum + $("$here/read_push.py" push requests/$i.body | awk '{ print $NF }')))
	done
	[[ $sum == "$samples" ]] || fail "$sum samples arrived, not $samples"
	push --protocol pyroscope
	grep -q 'already pushed' err || fail "$(cat err)"
}

test_push_waits_for_a_busy_server() {
	local began
	begin 429:Retry-After=2 503 200
	began=$(now_ms)
	push --protocol pyroscope
	want_status 0 push
	want_requests 3
	(($(now_ms) - began >= 2300)) || fail "did not wait as it was told to"
	grep -q 'status 429; again in 2.0 s' err || fail "$(cat err)"
}

test_push_gives_up() {
	begin 503
	push --protocol pyroscope --retries 1
	want_status 3 "a server that stays busy"
	want_requests 2
	push --protocol pyroscope --retries 0
	want_status 3 "no second attempt"
	want_requests 3
}

test_push_does_not_wait_for_ever() {
	begin 429:Retry-After=86400
	push --protocol pyroscope
	want_status 3 push
	want_requests 1
}

# 500 means that the same would happen again: OTLP's rules. The next push is another one.
test_push_of_what_a_server_fails_over() {
	begin "500:body=$(printf 'oops\033[31m')" 200
	push --protocol pyroscope
	want_status 1 push
	want_requests 1
	grep -q 'status 500: oops' err || fail "$(cat err)"
	push --protocol pyroscope
	want_status 0 "the next push"
}

test_push_is_unauthorized() {
	begin 401
	push --protocol pyroscope
	want_status 1 push
	want_requests 1
	grep -q 'EBPROF_TOKEN' err || fail "$(cat err)"
}

test_push_splits_what_is_too_large() {
	local i sum=0
	begin 413 413 200
	push --protocol pyroscope
	want_status 0 push
	want_requests 5 # the whole, its first half, the quarters of that, the second half
	for ((i = 3; i <= 5; i++)); do
		sum=$((sum + $("$here/read_push.py" push requests/$i.body | awk '{ print $NF }')))
	done
	[[ $sum == "$samples" ]] || fail "$sum samples arrived, not $samples"
}

test_push_of_what_is_always_too_large() {
	begin 413
	push --protocol pyroscope
	want_status 1 push
	grep -q 'a single sample' err || fail "$(cat err)"
}

test_push_over_a_connection_that_breaks() {
	begin drop half 200
	push --protocol pyroscope
	want_status 0 push
	want_requests 3
}

test_push_to_nobody() {
	begin 200
	url=http://127.0.0.1:1
	push --protocol pyroscope --retries 1
	want_status 3 push
}

test_push_to_a_slow_server() {
	local began
	begin slow
	began=$(now_ms)
	push --protocol pyroscope --timeout 1s --retries 0
	want_status 3 push
	(($(now_ms) - began < 50000)) || fail "waited for $(($(now_ms) - began)) ms"
}

# A server that says nothing, is always busy, always names another limit, or wants to be asked
# tomorrow: the push ends, says so, and leaves what it has not delivered to the next one.
test_push_gives_up_in_time() {
	local answer began
	begin 200
	for answer in slow drop 503 413 429:Retry-After=40; do
		serve "requests.${answer%%:*}" "$answer"
		began=$(now_ms)
		push --protocol pyroscope --retries 100000 --give-up 3s
		[[ $answer == 413 ]] || {
			want_status 3 "$answer"
			grep -q 'gave up: .*--give-up.* the recording is kept' err || fail "$answer: $(cat err)"
		}
		(($(now_ms) - began < 30000)) || fail "$answer: it took $(($(now_ms) - began)) ms"
	done
	serve later 200
	push --protocol pyroscope
	want_status 0 "a later push"
	[[ $("$here/read_push.py" push later/1.body | awk '{ print $NF }') == "$samples" ]] ||
		fail "the later push did not deliver everything"
}

test_push_refuses_to_give_up_at_once() {
	begin 200
	push --protocol pyroscope --give-up 0
	want_status 2 '--give-up 0'
	want_requests 0
}

test_push_reads_no_endless_answer() {
	begin flood
	push --protocol pyroscope
	want_status 1 push
	grep -q '4 MiB' err || fail "$(cat err)"
}

test_push_follows_no_redirect() {
	local other
	begin 200
	other=$url
	serve redirecting "307:Location=$other/push.v1.PusherService/Push"
	EBPROF_TOKEN=secret push --protocol pyroscope
	want_status 1 push
	[[ $(nr_requests redirecting) == 1 ]] || fail "not asked once"
	want_requests 0
	grep -q "points to $other" err || fail "$(cat err)"
}

test_push_token() {
	begin 200
	EBPROF_TOKEN=from-environment push --protocol pyroscope
	want_status 0 "a token of the environment"
	want_header '^authorization: Bearer from-environment.?$' 1
	echo from-file >token
	EBPROF_TOKEN=from-environment push --protocol pyroscope --force --token-file token
	want_status 0 "a token of a file"
	want_header '^authorization: Bearer from-file.?$' 2
	EBPROF_USER=me push --protocol pyroscope --force --token-file token
	want_status 0 "a user"
	want_header "^authorization: Basic $(printf 'me:from-file' | base64).?$" 3
	printf 'two\nlines' >token
	push --protocol pyroscope --force --token-file token
	want_status 2 "a token of two lines"
	push --protocol pyroscope --force --token-file missing
	want_status 1 "a token that is not there"
	want_requests 3
	! grep -rq 'from-file\|from-environment' state err || fail "the token was written down"
}

test_push_keeps_tokens_off_the_network() {
	begin 200
	url=http://192.0.2.1
	EBPROF_TOKEN=secret push --protocol pyroscope --allow-http
	want_status 2 "a token over http"
	push --protocol pyroscope
	want_status 2 "http without --allow-http"
	url=http://127.0.0.1.example
	EBPROF_TOKEN=secret push --protocol pyroscope --allow-http
	want_status 2 "a name that looks like loopback"
	url=https://user:hunter2@192.0.2.1
	push --protocol pyroscope
	want_status 2 "a password in argv"
	! grep -q hunter2 err || fail "the password is printed"
}

make_certificate() { # NAME SUBJECT_ALTERNATIVE
	command -v openssl >/dev/null || skip "no openssl here"
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$1.key" -out "$1.pem" -days 2 -subj "/CN=$1" \
		-addext "subjectAltName=$2" 2>openssl.err || fail "openssl: $(tail -n 1 openssl.err)"
}

test_push_verifies_the_server() {
	begin 200
	make_certificate right IP:127.0.0.1
	make_certificate wrong DNS:other.example
	serve secure --tls right.pem right.key 200
	url=https://127.0.0.1:$(cat port)
	EBPROF_TOKEN=secret push --protocol pyroscope
	want_status 1 "a certificate of no authority"
	[[ $(nr_requests secure) == 0 ]] || fail "it was sent to an unknown server"
	EBPROF_TOKEN=secret push --protocol pyroscope --ca-file right.pem
	want_status 0 "a certificate that is trusted"
	[[ $(nr_requests secure) == 1 ]] || fail "nothing came"
	serve disguised --tls wrong.pem wrong.key 200
	url=https://127.0.0.1:$(cat port)
	EBPROF_TOKEN=secret push --protocol pyroscope --ca-file wrong.pem
	want_status 1 "a certificate of another name"
	push --protocol pyroscope --ca-file missing.pem
	want_status 1 "no authorities"
	[[ $(nr_requests disguised) == 0 ]] || fail "it was sent to another server"
}

test_push_shifts_time() {
	begin 200
	url+=/ingest
	local until began
	began=$(date +%s)
	push --shift-time
	want_status 0 push
	until=$(grep -oE 'until=[0-9]+' requests/1.head)
	until=${until#until=}
	((until >= began - 2 && until <= $(date +%s) + 2)) || fail "until $until, not from $began to now"
}

test_push_wrong_usage() {
	begin 200
	push
	want_status 2 "no protocol"
	push --protocol smoke
	want_status 2 "an unknown protocol"
	push --protocol otlp -l noequals
	want_status 2 "a label without a value"
	push --protocol otlp -l a=1 -l a=2
	want_status 2 "a label twice"
	push --protocol otlp -l __name__=x
	want_status 2 "a label of the server's"
	local bad
	for bad in ftp://x http:// 'http://x y' "http://x:99999" "http://x/?q=1" 'http://[::1' "http://x\\@y"; do
		url=$bad
		push --protocol otlp
		want_status 2 "the URL $bad"
	done
	run "$EBPROF" push data
	want_status 2 "no URL"
	want_requests 0
}

run_tests 3
