#!/bin/bash
# Rows of a fleet in an engine of tables, and what queries of it find, as flame graphs again: 1,000 files, five of
# each of 200 hosts. The recordings are real; hosts and times are not.
# Beside others: reads files only, but for the recordings at its beginning, of which any will do.
# shellcheck disable=SC2034,SC2154
. "$(dirname "$0")/prelude.bash"
. "$here/npm.bash"

hosts=${HOSTS:-200}

# Two services before and after a rollout by which medium() takes twice as long in one of them.
record_services() {
	local rounds
	rounds=$("$WORKLOADS/slower" calibrate 0.4)
	record_service shop old "$WORKLOADS/slower" 100 "$rounds"
	record_service shop new "$WORKLOADS/slower" 200 "$rounds"
	record_service batch old "$WORKLOADS/workload" 0.3
}

record_service() { # SERVICE VERSION COMMAND...
	local service=$1 version=$2
	shift 2
	OTEL_SERVICE_NAME=$service "$EBPROF" record -q -F 1999 --label-sources service -o "$service-$version.data" -- "$@" ||
		fail "record: $service"
	"$EBPROF" convert --rows --labels comm,label "$service-$version.data" >"$service-$version.rows" || fail "convert --rows"
}

# Five minutes of each host, a file a minute. The first half of the hosts gets the new version in minute 3.
relabel() {
	cat >relabel.py <<-'END'
		import json, sys
		hosts = int(sys.argv[1])
		rows = {name: [json.loads(line) for line in open(name + ".rows")]
		        for name in ("shop-old", "shop-new", "batch-old")}
		samples = 0
		for host in range(hosts):
		    for minute in range(5):
		        version = "shop-new" if host < hosts // 2 and minute >= 3 else "shop-old"
		        with open(f"fleet/h{host:03}-{minute}.ndjson", "w") as out:
		            for row in rows[version] + rows["batch-old"]:
		                row = dict(row, host=f"h{host:03}", time=f"2026-11-26 14:0{minute}:00")
		                samples += row["samples"]
		                out.write(json.dumps(row) + "\n")
		# What the query is to find: functions above 1.2 times of before, by the recordings themselves.
		def spent(*names):
		    found = {}
		    for row in (row for name in names for row in rows[name]):
		        for function in set(row["stack"]):
		            found[function] = found.get(function, 0) + row["value"]
		    return found
		old, new = spent("shop-old", "batch-old"), spent("shop-new", "batch-old")
		slower = sorted(f for f in new if f in old and new[f] > 1.2 * old[f])
		open("expected", "w").writelines(f"h{host:03} {f}\n" for host in range(hosts // 2) for f in slower)
		print(samples)
	END
	mkdir fleet
	python3 relabel.py "$hosts" >samples || fail "relabel.py"
}

ask_engine() {
	cat >query.js <<-'END'
		const { DuckDBInstance } = require("@duckdb/node-api");
		const fs = require("fs");
		(async () => {
		  const connection = await (await DuckDBInstance.create(":memory:")).connect();
		  const ask = async sql => (await connection.runAndReadAll(sql)).getRowsJson();
		  await connection.run("CREATE TABLE rows AS SELECT * FROM read_ndjson('fleet/*.ndjson', columns = " +
		    "{time: 'TIMESTAMP', host: 'VARCHAR', event: 'VARCHAR', unit: 'VARCHAR', " +
		    "labels: 'MAP(VARCHAR, VARCHAR)', stack: 'VARCHAR[]', samples: 'UBIGINT', value: 'UBIGINT'})");
		  fs.writeFileSync("loaded", String((await ask("SELECT sum(samples) FROM rows"))[0][0]));
		  const tops = await ask("SELECT service, f FROM (SELECT labels['service_name'] AS service, stack[-1] AS f, " +
		    "sum(value) AS ns FROM rows WHERE time >= '2026-11-26 14:00' GROUP BY ALL) " +
		    "QUALIFY row_number() OVER (PARTITION BY service ORDER BY ns DESC) = 1 ORDER BY service");
		  fs.writeFileSync("tops", tops.map(row => row.join(" ") + "\n").join(""));
		  const slower = await ask(fs.readFileSync("slower.sql", "utf8"));
		  fs.writeFileSync("slower", slower.map(row => row.join(" ") + "\n").join(""));
		  for (const [name, form] of [["found.ndjson", ""], ["list.json", "(FORMAT json, ARRAY true)"]])
		    await connection.run("COPY (SELECT stack, labels['service_name'] AS service, sum(samples) AS samples, " +
		      "sum(value) AS value, 'cpu' AS event, 'ns' AS unit FROM rows WHERE host = 'h000' GROUP BY ALL) TO '" +
		      name + "' " + form);
		  await connection.run("COPY (SELECT to_json(stack) AS stack, host, sum(samples)::UBIGINT AS samples, " +
		    "sum(value) AS value FROM rows WHERE host IN ('h000', 'h001') GROUP BY ALL) TO 'found.tsv' (DELIMITER '\t')");
		  fs.writeFileSync("of_h000", String((await ask("SELECT sum(samples) FROM rows WHERE host = 'h000'"))[0][0]));
		})().catch(error => { console.error(error.message); process.exit(1); });
	END
	# The query of the manual page, with its minute.
	awk '/^WITH spent/ { on = 1 } on { print } /ORDER BY ratio DESC;/ { exit }' "$here/../../man/ebprof-convert.1" |
		sed 's/14:00/14:03/; s/;$//' >slower.sql
	NODE_PATH=$npm_folder/node_modules node query.js 2>node.err || fail "$(tail -n 3 node.err)"
}

# Exactly those that had the new version, and medium() is among what is slower there.
want_slower_hosts() {
	sed 's/ [0-9.e+-]*$//' slower | LC_ALL=C sort >found
	LC_ALL=C sort expected | diff - found >difference || fail "others are slower: $(head -n 5 difference)"
	[[ $(grep -c ' medium$' found) == $((hosts / 2)) ]] || fail "medium() is slower on: $(grep ' medium$' found | head -n 5)"
}

want_graphs() {
	local file
	for file in found.ndjson list.json found.tsv; do
		"$EBPROF" convert --folded --from-rows "$file" >"$file.folded" 2>err || fail "$file: $(cat err)"
		"$EBPROF" report --stdio "$file" | grep -q ' heavy$' || fail "no heavy() in the report of $file"
	done
	[[ $(field found.ndjson samples) == "$(cat of_h000)" ]] || fail "$(field found.ndjson samples) samples of $(cat of_h000)"
	diff <(sort found.ndjson.folded) <(sort list.json.folded) >/dev/null || fail "the list is another"
	"$EBPROF" report --stdio -s origin found.tsv | grep -q ' h001$' || fail "no host"
	"$EBPROF" report --stdio -s label:service found.ndjson | grep -q ' shop$' || fail "no service"
	"$EBPROF" convert --svg --from-rows -o found.svg found.ndjson 2>err || fail "$(cat err)"
	grep -q '>medium' found.svg || fail "no medium() in the flame graph"
	"$EBPROF" convert --html --from-rows -o found.html found.ndjson 2>err || fail "$(cat err)"
	"$EBPROF" convert --pprof --from-rows -o found.pb.gz found.ndjson 2>err || fail "$(cat err)"
}

test_questions_of_a_fleet() {
	command -v node >/dev/null || skip "no node here"
	command -v python3 >/dev/null || skip "no python3 here"
	need_npm @duckdb/node-api@1.5.6-r.1
	record_services
	relabel
	ask_engine
	[[ $(cat loaded) == "$(cat samples)" ]] || fail "loaded $(cat loaded) samples of $(cat samples)"
	printf '%s\n' 'batch heavy' 'shop heavy' | diff - tops >difference || fail "top functions: $(cat difference)"
	want_slower_hosts
	want_graphs
}

# Rows of a recording are that recording again, as far as rows tell.
test_rows_come_back() {
	command -v python3 >/dev/null || skip "no python3 here"
	"$EBPROF" record -q -a -F 499 -o x.data -- "$WORKLOADS/workload" 0.5 || fail "record"
	cat >sums.py <<-'END'
		import collections, json, sys
		def sums(path):
		    found = collections.Counter()
		    for line in open(path):
		        row = json.loads(line)
		        key = json.dumps([row[key] for key in ("time", "host", "event", "unit", "labels", "stack")])
		        found[key] += row["value"] * 1000003 + row["samples"]
		    return found
		sys.exit(sums(sys.argv[1]) != sums(sys.argv[2]))
	END
	local form
	"$EBPROF" convert --rows x.data >x.rows
	for form in rows rows-tsv; do
		"$EBPROF" convert --$form x.data >"x.$form"
		"$EBPROF" convert --rows --from-rows "x.$form" >back.rows 2>err || fail "$(cat err)"
		python3 sums.py x.rows back.rows || fail "--$form: other sums"
	done
	run "$EBPROF" convert --folded --from-rows x.data
	want_status 2 "a recording as rows"
	grep -q -- '--from-rows: .*x.data: it is a recording' err || fail "$(cat err)"
	echo 'stack value' >y.rows
	run "$EBPROF" convert --folded --from-rows y.rows
	grep -q -- '--from-rows: lines of JSON' err || fail "$(cat err)"
	# What comes first does not show that it is rows; of several, none is something else.
	printf '{"x":"%5000s","stack":["main"],"value":0.25,"unit":"s"}\n' '' >late.rows
	echo '{"stack":["main"],"value":1,"unit":"s"}' >soon.rows
	run "$EBPROF" convert --folded --from-rows late.rows soon.rows
	want_status 0 "rows whose stack comes late"
	grep -qx 'main 1250000000' out || fail "$(head -n 3 out; cat err)"
	run "$EBPROF" convert --folded --from-rows x.rows x.data
	want_status 2 "rows and a recording"
	run "$EBPROF" convert --folded --from-rows --ring .
	want_status 2 "a ring as rows"
}

run_tests
