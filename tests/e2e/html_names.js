// What tests/e2e/html.sh wants of report/write/export/distinct_names.js: what distinct_names.c says of
// the names in tests/unit/distinct_names_cases.h, and their rooms in tests/unit/report_distinct_names.c.
//   node html_names.js ROOT
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const {want, wantTrue, run} = require(path.join(__dirname, "checks.js"));
const [root] = process.argv.slice(2), read = (name) => fs.readFileSync(path.join(root, name), "utf8");

run(async () => {
	const context = vm.createContext({});
	vm.runInContext(read("report/write/export/distinct_names.js"), context);
	const text = '"((?:[^"\\\\]|\\\\.)*)"', cases = [...read("tests/unit/distinct_names_cases.h").replace(/\\\n\s*/g, "")
		.matchAll(new RegExp(`X\\(${text},\\s*${text},\\s*${text}\\)`, "g"))]
		.map(([, ...texts]) => texts.map((it) => it.replace(/\\\\/g, "\\")))
		.map(([name, shown, difference]) => ({name, shown, difference}));
	wantTrue("there are cases", cases.length > 14);
	const differences = context.distinctNames(cases.map(({name, shown}) => [name, shown]));
	for (const {name, difference} of cases)
		want(name, differences.get(name) || "", difference);
	const forms = [cases[0].name, "std::vector<int, std::allocator<int> >::push_back", "std::vector<...>::push_back", "vector<...>::push_back", "push_back"], elided = (it, room) => it.slice(0, Math.max(0, room));
	const tools = {widthOf: (it) => it.length, elided, form: (room) => forms.find((it) => it.length <= room) || forms[forms.length - 1]};
	const rows = [...read("tests/unit/report_distinct_names.c").matchAll(new RegExp(`\\{(\\d+), ${text}\\}`, "g"))];
	wantTrue("there are rooms", rows.length > 4);
	for (const [, columns, wanted] of rows)
		want(`${columns} columns`, context.nameInRoom("int", Number(columns), 7, tools), wanted);
	console.log("all is well");
});
