#!/bin/bash
# convert --rows: what engines of tables load, and that nothing is lost on the way.
# Beside others: reads files only.
# shellcheck disable=SC2034
. "$(dirname "$0")/prelude.bash"
. "$here/npm.bash"

begin_rows() {
	command -v python3 >/dev/null || skip "no python3 here"
	shared_recording -F 999
	"$EBPROF" convert --rows ebprof.data >rows.ndjson 2>err || fail "rows: $(cat err)"
	"$EBPROF" convert --rows-tsv ebprof.data >rows.tsv 2>err || fail "tsv: $(cat err)"
}

test_rows_add_up() {
	begin_rows
	local samples
	samples=$(field ebprof.data samples)
	cat >check.py <<-'END'
		import json, sys
		rows = [json.loads(line) for line in open("rows.ndjson")]
		keys = ["time", "host", "event", "unit", "labels", "stack", "samples", "value"]
		assert all(list(row) == keys for row in rows), "keys"
		assert all(row["time"].endswith(":00") for row in rows), "minutes"
		assert sum(row["samples"] for row in rows) == int(sys.argv[1]), "samples"
		assert all(isinstance(value, str) for row in rows for value in row["labels"].values()), "labels"
		lines = open("rows.tsv").read().split("\n")
		assert lines[0].split("\t") == keys and lines[-1] == "", "header"
		table = [line.split("\t") for line in lines[1:-1]]
		assert len(table) == len(rows), "as many"
		for cells, row in zip(table, rows):
		    assert cells[:4] == [row[key] for key in keys[:4]], cells
		    assert json.loads(cells[4]) == row["labels"] and json.loads(cells[5]) == row["stack"], cells
		    assert cells[6:] == [str(row["samples"]), str(row["value"])], cells
		assert any("heavy" in row["stack"] for row in rows), "heavy"
	END
	python3 check.py "$samples" 2>check.err || fail "$(tail -n 1 check.err)"
}

# The recipes of the man page.
test_rows_in_duckdb() {
	command -v node >/dev/null || skip "no node here"
	need_npm @duckdb/node-api@1.5.6-r.1
	begin_rows
	cat >query.js <<-'END'
		const { DuckDBInstance } = require("@duckdb/node-api");
		(async () => {
		  const connection = await (await DuckDBInstance.create(":memory:")).connect();
		  const ask = async sql => (await connection.runAndReadAll(sql)).getRowsJson();
		  await connection.run("CREATE TABLE rows AS SELECT * FROM read_ndjson('rows.ndjson', columns = " +
		    "{time: 'TIMESTAMP', host: 'VARCHAR', event: 'VARCHAR', unit: 'VARCHAR', " +
		    "labels: 'MAP(VARCHAR, VARCHAR)', stack: 'VARCHAR[]', samples: 'UBIGINT', value: 'UBIGINT'})");
		  console.log((await ask("SELECT sum(samples) FROM rows"))[0][0]);
		  console.log((await ask("SELECT stack[-1] FROM rows WHERE labels['comm'] = 'workload' " +
		    "GROUP BY ALL ORDER BY sum(value) DESC LIMIT 1"))[0][0]);
		  await connection.run("COPY (SELECT array_to_string(stack, ';') || ' ' || sum(samples) " +
		    "FROM rows GROUP BY stack) TO 'found.folded' (HEADER false, QUOTE '', DELIMITER '\t')");
		})();
	END
	NODE_PATH=$npm_folder/node_modules node query.js >answers 2>node.err || fail "$(tail -n 3 node.err)"
	[[ $(sed -n 1p answers) == "$(field ebprof.data samples)" ]] || fail "$(head -n 1 answers) samples"
	[[ $(sed -n 2p answers) == heavy ]] || fail "the hottest is $(sed -n 2p answers)"
	[[ $(awk '{ sum += $NF } END { print sum }' found.folded) == "$(sed -n 1p answers)" ]] || fail "$(head -n 2 found.folded)"
}

run_tests
