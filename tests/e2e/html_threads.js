// What tests/e2e/html.sh has a browser do with a page of a script's threads that run and wait:
//   node html_threads.js BROWSER FOLDER      of FOLDER/threads.html, report.whole, report.scripts
"use strict";
const path = require("path");
const {Browser} = require(path.join(__dirname, "browser.js"));
const {want, wantTrue, readReport, rowsOf, wantTotals, run} = require(path.join(__dirname, "checks.js"));
const [program, folder] = process.argv.slice(2);
const url = "file://" + encodeURI(path.join(folder, "threads.html"));

const view = "page.charts['view-chart']";
const NAMES = ["first", "second", "spin", "Thread.run", "Thread.join"].map((name) => "[python] " + name);
const total = "page.profile.tree.total[0]";
const widest = (name) => `${view}.rows.flat().filter((box) => box.node > 0 && ${view}.label(box.node) === "${name}").reduce((a, b) => a.width > b.width ? a : b)`;

/* As --no-native has it, which is shown unasked, and as all is. */
async function checkScripts(browser) {
	want("only scripts, where there are some", await browser.value("page.state.scripts"), true);
	wantTotals(await browser.value(rowsOf(0, "[python]")), readReport(path.join(folder, "report.scripts"), "[python]"), NAMES);
	const all = await browser.value(total);
	await browser.key("S");
	wantTotals(await browser.value(rowsOf(0, "[python]")), readReport(path.join(folder, "report.whole"), "[python]"), NAMES);
	want("as much in all", await browser.value(total), all);
	want("the switch says it", await browser.value("document.querySelector('#switches [value=scripts]').getAttribute('aria-pressed')"), "false");
	await browser.key("S");
	wantTrue("waits have a colour of their own", await browser.value(
		"[...document.querySelectorAll('#legend button')].some((it) => it.textContent.startsWith('waiting'))"));
}

/* As --no-kernel has it. */
async function checkKernel(browser) {
	const kernelBelow = `(() => {
		const {tree, functions, kinds, objects} = page.profile, isOfUser = new Uint8Array(tree.count);
		const isKernel = (node) => kinds[functions[tree.func[node]].kind].isKernel;
		let count = 0;
		for (let i = 1; i < tree.count; i++) {
			const isMarker = MARKERS.includes(objects[functions[tree.func[i]].object].name);
			isOfUser[i] = isOfUser[tree.parent[i]] || !isKernel(i) && !isMarker;
			count += isKernel(i) && !isMarker && isOfUser[i];
		}
		return count;
	})()`;
	await browser.key("S");
	const all = await browser.value(total);
	wantTrue("the kernel is below programs", await browser.value(kernelBelow) > 0);
	await browser.key("H");
	want("the kernel's frames are gone", await browser.value(kernelBelow), 0);
	wantTotals(await browser.value(rowsOf(0, "[python]")), readReport(path.join(folder, "report.user"), "[python]"), NAMES);
	want("as much in all without the kernel", await browser.value(total), all);
	want("the address says it", await browser.value("location.hash.includes('nokernel=1')"), true);
	want("its switch says it", await browser.value("document.querySelector('#switches [value=nokernel]').getAttribute('aria-pressed')"), "true");
	await browser.key("H");
	await browser.key("S");
}

/* A key that changes what is at the mouse leaves no word of what was there. */
async function checkTip(browser) {
	await browser.value(`page.facts.showTip(["name", "line"], {clientX: 9, clientY: 9})`);
	want("a tip", await browser.value("document.getElementById('tip').hidden"), false);
	await browser.key("I");
	want("no tip any more", await browser.value("document.getElementById('tip').hidden"), true);
	await browser.key("4");
}

async function checkEvents(browser) {
	await browser.value("page.go({group: 'event'})");
	const groups = await browser.value(`(() => {
		const {tree, functions} = page.profile, list = [];
		for (let i = 1; i < tree.count; i = tree.end[i])
			list.push([functions[tree.func[i]].name, tree.total[i]]);
		return list;
	})()`);
	wantTrue("by event: " + groups, ["cpu-clock", "offcpu"].every((name) => groups.some((it) => it[0] === name)));
	want("events add up", groups.reduce((sum, it) => sum + it[1], 0), await browser.value(total));
	await browser.value("page.go({group: ''})");
}

/* What each thread ran and waited, where it did. */
async function checkLanes(browser) {
	const lanes = await browser.value(`page.lanesShown().map(({ran, waited}) => {
		const most = page.profile.sliceNs, sum = (list) => list.reduce((a, b) => a + b, 0);
		return {ran: sum(ran), waited: sum(waited), over: waited.some((it, i) => it && it + ran[i] > 1.0001 * most),
			early: sum(ran.slice(0, ran.length / 2)), late: sum(ran.slice(ran.length / 2))};
	})`);
	want("no thread did more than there is time", lanes.some(({over}) => over), false);
	const all = await browser.value("page.profile.tree.whole * page.profile.period");
	const sum = lanes.reduce((a, {ran, waited}) => a + ran + waited, 0);
	wantTrue(`lanes are all of the time: ${sum} of ${all}`, sum <= all && sum > 0.93 * all);
	const spinners = lanes.filter(({ran}) => ran > 0.15e9 && ran < 0.9e9);
	wantTrue("waits are spans: " + JSON.stringify(spinners), spinners.some(({waited}) => waited > 0.35e9));
	const names = await browser.value("page.tracks.left");
	wantTrue(`names stand beside the lanes: ${names}`, names > 50);
	want("the time line stands over them", await browser.value("[page.time.left, page.time.right]"), [names, await browser.value("(({offsetWidth, clientWidth}) => offsetWidth - 2 - clientWidth)(document.getElementById('tracks'))")]);
	const frame = await browser.value(`(({left, top, width}) => ({left: left + ${names}, top, width: width - ${names}}))(document.querySelector('#tracks canvas').getBoundingClientRect())`);
	await browser.click(frame.left + frame.width / 2, frame.top + 30);
	want("a click chooses the thread", await browser.value("page.state.thread"), "t1");
	want("its samples alone", await browser.value(total), await browser.value(
		"page.profile.entries[0].weight.reduce((sum, it, i) => page.profile.entries[0].slot[i] % page.profile.threads.length === 1 ? sum + it : sum, 0)"));
	await browser.click(frame.left + frame.width / 2, frame.top + 30);
	want("and once more all", await browser.value("page.state.thread"), "");
	await browser.mouse("mousePressed", frame.left + frame.width / 4, frame.top + 30);
	await browser.mouse("mouseMoved", frame.left + frame.width / 3, frame.top + 30);
	await browser.mouse("mouseReleased", frame.left + frame.width / 2, frame.top + 30);
	want("a drag chooses the time", await browser.value("[page.state.thread, Math.round(page.state.first / page.profile.slices * 10), Math.round(page.state.end / page.profile.slices * 10)]"), ["", 3, 5]);
	await browser.key("R");
	await browser.key("5");
	want("lanes can go", await browser.value("document.getElementById('tracks').hidden"), true);
	want("the time line takes their room", await browser.value("page.time.left"), 0);
	await browser.key("5");
}

/* A callee stands where it was called: a function took 30 itself, then it called for 10, then it took 60 itself. */
async function checkPlaces(browser) {
	const [place, rest] = await browser.value(`(() => {
		const from = treeFrom(Int32Array.of(-1, 0, 1), Int32Array.of(-1, 1, 2), Uint8Array.of(0, 0, 0));
		from.columns = [{self: Float64Array.of(0, 90, 10)}];
		sumUp(from);
		const entries = {count: 3, slot: [0, 1, 2], node: [1, 2, 1], weight: [30, 10, 60]};
		const tree = timeOrder({tree: from, entries: [entries], threads: [0], slices: 3}, null, 0, 3, null);
		${view}.show(tree, 0, false);
		const [[{width}], , [box]] = ${view}.rows;
		${view}.show(foldChains(tree, new Set(), () => "", () => false), 0, false);
		return [[box.x, box.width].map((it) => Math.round(it / width * 100)), Math.round(${view}.rows[2][0].x / width * 100)];
	})()`);
	want("where it was called, and for how long", place, [30, 10]);
	want("folded as well", rest, 30);
}

async function checkOrder(browser) {
	const all = await browser.value(total);
	await browser.key("T");
	want("all of it in time order", await browser.value(`${view}.tree.total[0]`), all);
	await browser.value("page.go({narrow: 'spin'})");
	const [first, second] = await browser.value(`[${widest("first")}.x, ${widest("second")}.x]`);
	wantTrue(`who came first stands at the left, though it ran less: ${first}, ${second}`, first < second);
	await browser.value("page.go({narrow: ''})");
	await browser.value(`page.zoomTo(${widest("second")}.node)`);
	wantTrue("a zoom", await browser.value(`page.state.zoom > 0 && ${view}.zoomed === page.state.zoom`));
	await checkPlaces(browser);
	await browser.key("4");
	want("which is none in another view", await browser.value("page.state.zoom"), 0);
}

async function checkInverted(browser) {
	await browser.key("I");
	const wrong = await browser.value(`(() => {
		const {tree} = ${view}, wrong = [];
		for (let i = 1; i < tree.count; i = tree.end[i])
			if (Math.abs(tree.total[i] - page.weights.self[tree.func[i]]) > 1e-6 * tree.total[0])
				wrong.push(page.profile.functions[tree.func[i]].name);
		return wrong;
	})()`);
	want("at the root is what each function took itself", wrong, []);
	want("all of it, inverted", await browser.value(`${view}.tree.total[0]`), await browser.value(total));
	wantTrue("callers are below", await browser.value(`(() => {
		const {tree} = ${view}, spin = page.profile.functions.findIndex((it) => it.name === "spin");
		return [...tree.func.keys()].some((i) => page.profile.functions[tree.func[i] < 0 ? 0 : tree.func[i]].name === "second" && tree.func[tree.parent[i]] === spin);
	})()`));
	await browser.key("4");
}

/* One row for a chain, which a click opens; figures are the same. */
async function checkFolding(browser) {
	await browser.key("S");
	const rows = await browser.value(`${view}.rows.length`), all = await browser.value(total);
	await browser.key("F");
	const folded = await browser.value(`${view}.rows.length`);
	wantTrue(`fewer rows: ${folded} of ${rows}`, folded < rows - 3);
	want("as much in all", await browser.value(`${view}.tree.total[0]`), all);
	want("each stands for a chain with nearly no branch", await browser.value(`(() => {
		const {tree} = ${view}, {source, origin, hidden} = tree;
		return [...hidden].every(([node, {funcs}]) => funcs.every((func, i) =>
			source.func[origin[node] + i] === func && (i ? source.total[origin[node] + i] * 1000 >= source.total[origin[node] + i - 1] * 995
				: source.total[origin[node]] === tree.total[node])));
	})()`), true);
	const place = await browser.value(`(() => {
		const chart = ${view}, frame = chart.canvas.getBoundingClientRect();
		const box = chart.rows.flat().filter((it) => it.node > 0 && chart.hiddenOf(it.node)).reduce((a, b) => a.width > b.width ? a : b);
		return {text: chart.label(box.node), count: chart.hiddenOf(box.node).funcs.length, x: frame.left + box.x + box.width / 2,
			y: frame.top + chart.top(chart.tree.depth[box.node]) - chart.scroll.scrollTop + 9};
	})()`);
	wantTrue(place.text, new RegExp(`^\u25b8 ${place.count} (inlined )?frames: .* \u2026 .*$`).test(place.text));
	const nodes = await browser.value(`${view}.tree.count`);
	await browser.click(place.x, place.y);
	want("a click opens it", await browser.value(`[page.state.zoom, ${view}.tree.count - ${nodes}]`), [0, place.count - 1]);
	await browser.key("F");
	want("and none is folded", await browser.value(`${view}.rows.length`), rows);
	await browser.value("page.go({view: 'sandwich', func: page.profile.functions.findIndex((it) => it.name === 'spin')})");
	wantTrue("callers and callees are folded unasked", await browser.value("page.charts.callers.tree.hidden.size > 0"));
	await browser.key("F");
	want("till one wants them all", await browser.value("page.charts.callers.tree.hidden"), undefined);
	await browser.key("F");
}

/* The longest waits, as W has them in the terminal. */
async function checkWaits(browser) {
	const isOpen = "document.getElementById('waits').open";
	await browser.key("W");
	want("the waits", await browser.value(isOpen), true);
	await browser.key("Escape");
	want("no waits any more", await browser.value(isOpen), false);
	await browser.key("W");
	const row = await browser.value("(({thread, func, text}) => ({thread, func, text}))(page.profile.waits.rows[0])");
	wantTrue("a wait: " + row.text, /^ *[0-9.]+ m?s +[0-9]+ /.test(row.text));
	await browser.value("document.querySelector('#waits .waits button').click()");
	want("a row closes them", await browser.value(isOpen), false);
	want("its thread", await browser.value("page.state.thread"), "t" + row.thread);
	want("its function", await browser.value("page.state.narrow"), row.func);
	wantTrue("there are samples", await browser.value(total) > 0);
	await browser.key("R");
	await browser.key("4");
}

run(async () => {
	const browser = await Browser.open(program, url, {folder: path.join(folder, "browser")});
	try {
		await browser.until("page !== null");
		await checkScripts(browser);
		await checkKernel(browser);
		await checkTip(browser);
		await checkEvents(browser);
		await checkLanes(browser);
		await checkOrder(browser);
		await checkInverted(browser);
		await checkWaits(browser);
		await checkFolding(browser);
		want("nothing on the console", browser.problems, []);
		want("nothing was asked for but the page", browser.requests, [url]);
		console.log("all is well");
	} finally {
		await browser.close();
	}
});
