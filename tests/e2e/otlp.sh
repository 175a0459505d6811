#!/bin/bash
# OpenTelemetry profiles: as protoc reads them by the definition, and as a collector does.
# Beside others: what else the machine does changes nothing here.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"
. "$here/collector.bash"

export XDG_CACHE_HOME=/dev/null/none

decode() { # FILE: its samples in the file samples
	command -v protoc >/dev/null || skip "no protoc here (protobuf-compiler)"
	command -v python3 >/dev/null || skip "no python3 here"
	protoc -I "$here" --decode=otlp.ExportProfilesServiceRequest otlp.proto <"$1" >decoded 2>err ||
		fail "protoc: $(cat err)"
	"$here/read_otlp.py" decoded >samples 2>err || fail "rules of OTLP: $(tail -n 1 err)"
}

sum() { awk -v name="$1" '$4 ~ name { sum += $3 } END { print sum + 0 }' samples; }

test_otlp_holds_what_was_recorded() {
	local samples heavy total
	run "$EBPROF" record -o data -- "$WORKLOADS/workload" 1
	want_status 0 record
	run "$EBPROF" convert --otlp -o data.otlp data
	want_status 0 convert
	decode data.otlp
	samples=$(field data samples)
	[[ $(sum .) == "$samples" ]] || fail "$(sum .) samples, not $samples"
	! grep -v '^workload samples/count ' samples || fail "another service or type"
	heavy=$(sum '(^|;)heavy;call_heavy;')
	awk -v got="$heavy" -v all="$samples" 'BEGIN { share = got / all; exit !(share > .5 && share < .7) }' ||
		fail "heavy has $heavy of $samples, not 60 %"
	grep -q ';main;.*_start$' samples || fail "stacks are not leaf first: $(head -n 1 samples)"
	grep -q 'process.executable.build_id.gnu' decoded || fail "no build ID"
}

# The same counts as all that is folded, from a recording that holds more kinds of things.
test_otlp_of_the_whole_system() {
	local folded
	run "$EBPROF" record -a -o data --duration 1
	want_status 0 record
	run "$EBPROF" convert --otlp -o data.otlp data
	want_status 0 convert
	decode data.otlp
	folded=$("$EBPROF" convert --folded data | awk '{ sum += $NF } END { print sum + 0 }')
	[[ $(sum .) == "$folded" ]] || fail "$(sum .) samples, folded $folded"
}

test_otlp_for_a_collector() {
	local i port collector code
	need_collector
	command -v curl >/dev/null || skip "no curl here"
	run "$EBPROF" record -o data -- "$WORKLOADS/workload" 0.5
	want_status 0 record
	run "$EBPROF" convert --otlp -o data.otlp.gz data
	want_status 0 convert
	start_collector "$collector"
	code=$(curl -sS -o answer -w '%{http_code}' -H 'Content-Type: application/x-protobuf' \
		-H 'Content-Encoding: gzip' --data-binary @data.otlp.gz \
		"http://127.0.0.1:$port/v1development/profiles")
	[[ $code == 200 ]] || fail "status $code: $(cat answer)"
	want_collected data
}

run_tests
