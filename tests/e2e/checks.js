// What the scripts that html.sh runs have in common: wanting something, reading reports.
"use strict";
const fs = require("fs");

function want(what, got, wanted) {
	if (JSON.stringify(got) !== JSON.stringify(wanted))
		throw new Error(`${what}: ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
	console.log("ok " + what);
}

const wantTrue = (what, got) => want(what, Boolean(got), true);

/* Rows of the report: dso and name -> samples and total percent; of one dso, or of all. */
function readReport(path, dso) {
	const rows = {};
	for (const line of fs.readFileSync(path, "utf8").split("\n")) {
		const row = /^ *([\d.]+)% +([\d.]+)% +(\d+)  (.*?) +\[[.k]\] (.*)$/.exec(line);
		if (row && (!dso || row[4] === dso))
			rows[(row[4] === "-" ? "" : row[4]) + " " + row[5]] = [Number(row[3]), row[2]];
	}
	return rows;
}

/* Likewise of the page, of one of its recordings: an expression. */
const rowsOf = (column, dso) => `Object.fromEntries(page.profile.functions.map((it, i) => [
	page.profile.objects[it.object].name + " " + it.name,
	[page.functions[${column}].self[i], (100 * page.functions[${column}].total[i] / page.profile.tree.columns[${column}].total[0]).toFixed(2)],
]).filter((row) => (Number(row[1][1]) > 0 || row[1][0] > 0) && row[0].startsWith(${JSON.stringify(dso ? dso + " " : "")})))`;

function wantRows(got, wanted) {
	const near = (a, b) => Math.abs(a - b) < 0.011; // the last digit may be rounded otherwise
	wantTrue("the report has rows", Object.keys(wanted).length > 4);
	for (const [name, [self, total]] of Object.entries(wanted))
		if (!(name in got) || got[name][0] !== self || !near(got[name][1], total))
			throw new Error(`${name}: ${got[name]} in the page, ${self},${total} in the report`);
	want("functions", Object.keys(got).length, Object.keys(wanted).length);
}

/* Total percent of these alone: of waits the report counts samples, the page what they weigh. */
function wantTotals(got, wanted, names) {
	const totals = (rows) => Object.fromEntries(names.map((name) => [name, [0, (rows[name] || [0, "none"])[1]]]));
	wantRows(totals(got), totals(wanted));
}

async function resize(browser, width, height) {
	await browser.call("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
	await browser.until(`innerWidth === ${width}`);
}

/* What stands above the views is a row of the head and two of what is chosen. */
async function wantLowHead(browser) {
	want("the head is one row", await browser.value(`(() => {
		const middle = (element) => (element.getBoundingClientRect().top + element.getBoundingClientRect().bottom) / 2;
		const all = [...document.querySelectorAll("header > :not(.what)")].map(middle);
		return Math.max(...all) - Math.min(...all) < 4;
	})()`), true);
	wantTrue("what is chosen beside views is two rows", (await browser.value("document.querySelector('nav').clientHeight")) < 90);
	wantTrue("nothing sticks out", await browser.value("document.documentElement.scrollWidth <= innerWidth"));
}

/* Ends the process by what came of it. */
function run(main) {
	main().catch((error) => {
		console.log(String(error.message || error));
		process.exit(1);
	});
}

module.exports = {want, wantTrue, readReport, rowsOf, wantRows, wantTotals, resize, wantLowHead, run};
