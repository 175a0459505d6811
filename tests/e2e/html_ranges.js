// What tests/e2e/html.sh wants of report/write/export/html/page_model.js: of a wait, a range of time has the part that
// lies in it; ticks are where they came.
//   node html_ranges.js ROOT
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const {want, run} = require(path.join(__dirname, "checks.js"));
const [root] = process.argv.slice(2), page = (name) => fs.readFileSync(path.join(root, "report/write/export/html", name), "utf8");

/* Ten slices of 100: node 1 took 80 in slice 4, node 2 waited for 450 up to the end of slice 7. */
run(async () => {
	const context = vm.createContext({});
	vm.runInContext(["page_tree.js", "page_model.js"].map(page).join("\n"), context);
	const selves = (first, end) => [...vm.runInContext(`(() => {
		const profile = {
			tree: treeFrom(Int32Array.of(-1, 0, 0), Int32Array.of(-1, 0, 1), new Uint8Array(3)), threads: [{}], slices: 10, sliceNs: 100,
			parts: [{isWait: false}, {isWait: true}], sides: [{period: 1}],
			entries: [{count: 2, node: Int32Array.of(1, 2), slot: Int32Array.of(4, 7), part: Uint8Array.of(0, 1), weight: Float64Array.of(80, 450)}],
		};
		weigh(profile, null, ${first}, ${end}, null);
		return profile.tree.columns[0].self;
	})()`, context)].slice(1);
	want("all is there", selves(0, 10), [80, 450]);
	want("two slices in the midst of it", selves(4, 6), [80, 200]);
	want("its begin", selves(0, 4), [0, 50]);
	want("its end", selves(7, 10), [0, 100]);
	want("behind it", selves(8, 10), [0, 0]);
	console.log("all is well");
});
