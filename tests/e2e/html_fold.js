// What tests/e2e/html.sh wants of report/write/export/html/page_fold.js: a chain is one row as it is in the
// terminal, also where a few samples of a thousand are elsewhere, and what they ran stands below it.
//   node html_fold.js ROOT
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const {want, run} = require(path.join(__dirname, "checks.js"));
const [root] = process.argv.slice(2), page = (name) => fs.readFileSync(path.join(root, "report/write/export/html", name), "utf8");

/* _start, main, run, work, [aside]; work has what aside does not. */
const treeOf = (aside) => `(() => {
	const tree = treeFrom(Int32Array.of(-1, 0, 1, 2, 3, 1), Int32Array.of(-1, 0, 1, 2, 3, 4), new Uint8Array(6));
	tree.columns = [{self: Float64Array.of(0, 0, 0, 0, ${1000 - aside}, ${aside})}];
	sumUp(tree);
	return tree;
})()`;

run(async () => {
	const context = vm.createContext({});
	vm.runInContext(["page_tree.js", "page_model.js", "page_fold.js"].map(page).join("\n"), context);
	const rows = (aside, firstOfKernel = 99) => vm.runInContext(`(() => {
		const folded = foldChains(${treeOf(aside)}, new Set(), (node) => "f" + node, (node) => node >= ${firstOfKernel});
		return [...folded.origin.keys()].map((i) => [folded.origin[i], folded.parent[i], folded.hidden.has(i), folded.total[i]]);
	})()`, context);
	want("a few aside stand below the chain", [...rows(4)].map((row) => [...row]),
		[[0, -1, false, 1000], [1, 0, true, 1000], [4, 1, false, 996], [5, 1, false, 4]]);
	want("of more it is a branch", [...rows(6)].map(([origin]) => origin), [0, 1, 2, 3, 4, 5]);
	want("the kernel's frames have a row of their own", [...rows(0, 4)].map(([origin]) => origin), [0, 1, 2, 3, 4]);
	want("four of the user's above it are one", [...rows(0, 3)].map(([origin]) => origin), [0, 1, 2, 3, 4]);
	/* main, walk (1) to three levels, which call mark (2) and visit (3): functions, totals and levels of each node */
	const folded = (make, func, merges) => [...vm.runInContext(`(() => {
		const tree = treeFrom(Int32Array.of(-1, 0, 1, 2, 2, 4, 4, 4, 7), Int32Array.of(-1, 0, 1, 2, 1, 2, 3, 1, 3), new Uint8Array(9));
		tree.columns = [{self: Float64Array.of(0, 0, 5, 5, 0, 10, 10, 10, 60)}];
		sumUp(tree);
		const made = ${make}(tree, ${func}, [1], ${merges});
		return [...made.func.keys()].map((i) => [made.func[i], made.total[i], made.levels.get(i)]);
	})()`, context)].map((row) => [...row]);
	want("what all levels call stands beside each other", folded("calleesOf", 1, true), [[1, 100, 3], [3, 70, 1], [2, 15, 1]]);
	want("a caller that calls itself is one", folded("callersOf", 3, true), [[3, 70, 1], [1, 70, 3], [0, 70, 1]]);
	want("unfolded, each level has its own", folded("calleesOf", 1, false).length, 7);
	console.log("all is well");
});
