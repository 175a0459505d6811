// What tests/e2e/html.sh has a browser do with the page of `convert --html`:
//   node html.js BROWSER FOLDER TID SAMPLES      of FOLDER/page.html, FOLDER/report
"use strict";
const path = require("path");
const {Browser} = require(path.join(__dirname, "browser.js"));
const {want, wantTrue, readReport, rowsOf, wantRows, resize, wantLowHead, run} = require(path.join(__dirname, "checks.js"));
const [program, folder, tid, samples] = process.argv.slice(2);
const url = "file://" + encodeURI(path.join(folder, "page.html"));

const view = "page.charts['view-chart']";

const report = () => readReport(path.join(folder, "report"));

/* Where a box of a function is on the screen. */
async function placeOf(browser, name) {
	return browser.value(`(() => {
		const chart = ${view}, frame = chart.canvas.getBoundingClientRect();
		const boxes = chart.rows.flat().filter((box) => box.node > 0 && chart.label(box.node).startsWith(${JSON.stringify(name)}));
		const box = boxes.sort((a, b) => b.width - a.width)[0];
		return {node: box.node, x: frame.left + box.x + box.width / 2,
			y: frame.top + chart.top(chart.tree.depth[box.node]) - chart.scroll.scrollTop + 9};
	})()`);
}

/* Nothing was clicked yet: the view has the focus, also of what was in another one. */
async function checkFocus(browser) {
	const outline = (element) => browser.value(`getComputedStyle(${element}).outlineStyle`);
	want("the graph has the focus at first", await browser.value(`document.activeElement === ${view}.scroll`), true);
	want("which nobody asked for yet", await outline(`${view}.scroll`), "none");
	await browser.key("1");
	want("keys show it", await outline("page.table.rows"), "solid");
	await browser.key("ArrowDown");
	want("arrows move in the table", await browser.value("page.table.chosen"), 1);
	await browser.key("Enter");
	want("Enter opens a row", await browser.value("[page.state.view, page.state.func === page.table.order[1]]"), ["sandwich", true]);
	want("callees have the focus then", await browser.value("document.activeElement === page.charts.callees.scroll"), true);
	await browser.value("document.querySelector('#tabs [data-view=icicle]').focus()");
	await browser.key("4");
	want("so has the graph, whatever had it before", await browser.value(`document.activeElement === ${view}.scroll`), true);
	await browser.key("7");
	wantTrue("7 says why there is no source", (await browser.value("document.getElementById('path').textContent")).includes("--with-source"));
	for (let i = 0; i < 3; i++) {
		await browser.key("Escape");
		await browser.until(`page.depth === ${2 - i}`);
	}
	console.log("ok focus");
}

async function checkZoom(browser) {
	const place = await placeOf(browser, "again");
	await browser.mouse("mouseMoved", place.x, place.y);
	wantTrue("the tip tells the name", (await browser.value("document.getElementById('tip').textContent")).startsWith("again"));
	await browser.click(place.x, place.y);
	want("a click zooms", await browser.value("page.state.zoom"), place.node);
	want("the zoomed frame is as wide as the chart", await browser.value(
		`${view}.rows.flat().find((box) => box.node === page.state.zoom).width === ${view}.scroll.clientWidth`), true);
	await browser.key("Escape");
	await browser.until("page.state.zoom === 0");
	await browser.value("history.forward()");
	await browser.until(`page.state.zoom === ${place.node}`);
	await browser.value("history.back()");
	await browser.until("page.state.zoom === 0");
	await browser.value(`${view}.scroll.focus()`);
	for (let i = 0; i < 2; i++)
		await browser.key("ArrowDown");
	await browser.key("ArrowUp");
	const chosen = await browser.value(`${view}.chosen`);
	want("arrows move", chosen, await browser.value(`${view}.tree.parent[${place.node}]`));
	await browser.key("Enter");
	want("Enter zooms", await browser.value("page.state.zoom"), chosen);
	await browser.key("Escape");
	await browser.until("page.state.zoom === 0");
	console.log("ok back and forth");
}

async function checkSearch(browser) {
	await browser.key("/");
	await browser.type("again");
	const text = await browser.value("document.getElementById('matched').textContent");
	const row = report()["<u>x again"];
	want("what matches, and how much that is", text, "1 found · " + row[1] + "%");
	await browser.value("document.activeElement.blur()");
	await browser.key("n");
	const first = await browser.value(`${view}.chosen`);
	await browser.key("n");
	want("n leads from one to the next", await browser.value(
		`[${view}.label(${view}.chosen), ${view}.chosen !== ${first}]`), ["again", true]);
	wantTrue("which of how many", /^2\/\d+ · \d+\.\d\d%$/.test(await browser.value("document.getElementById('matched').textContent")));
	await browser.key("N");
	want("N leads back", await browser.value(`${view}.chosen`), first);
	await browser.key("Escape");
	want("Escape ends the search", await browser.value("document.getElementById('search').value"), "");
	await browser.key("/");
	await browser.type("/^ag[a]in$/");
	want("patterns", await browser.value("document.getElementById('matched').textContent"), text);
	await browser.key("Enter");
	want("Enter goes to the hottest one", await browser.value(
		`[${view}.label(${view}.chosen), page.profile.tree.total[${view}.chosen] === page.weights.total[page.profile.tree.func[${view}.chosen]],
		document.activeElement === ${view}.scroll]`), ["again", true, true]);
	await browser.key("Escape");
	await browser.key("/");
	await browser.type("/(/");
	want("a broken pattern", await browser.value("document.getElementById('matched').textContent"), "no valid expression");
	await browser.key("Escape");
}

/* The legend's kinds are buttons: what is not of that kind is pale, and not listed. */
async function checkLegend(browser) {
	const labels = await browser.value("[...document.querySelectorAll('#legend button')].map((it) => it.firstChild.nextSibling.data)");
	wantTrue("the program and the kernel have colours", labels.includes("program") && labels.includes("kernel"));
	want("all of it", await browser.value(`Math.round(100 * page.colors.legend().reduce((sum, {share}) => sum + (share || 0), 0))`), 100);
	const press = `[...document.querySelectorAll('#legend button')].find((it) => it.textContent.startsWith('kernel')).click()`;
	await browser.value(press);
	want("one kind stands out", await browser.value(`(() => {
		const {functions, kinds} = page.profile, isKernel = (func) => kinds[functions[func].kind].text === "kernel";
		return functions.every((it, func) => ${view}.isOther(func) === !isKernel(func));
	})()`), true);
	await browser.value("page.go({view: 'table'})");
	want("nothing else is listed", await browser.value(
		"page.table.order.every((func) => page.profile.kinds[page.profile.functions[func].kind].text === 'kernel')"), true);
	await browser.value("page.go({view: 'flame'})");
	await browser.value(press);
	want("the same once more", await browser.value("page.colors.marked"), -1);
	console.log("ok legend");
}

const ROOT_IS_SEEN = `Math.abs(${view}.scroll.scrollTop + ${view}.scroll.clientHeight - ${view}.whole) < 2`;

async function checkSelections(browser) {
	const all = await browser.value("page.profile.tree.total[0]");
	await browser.value(`(() => {
		const select = document.getElementById("threads");
		select.value = [...select.options].find((option) => option.text.startsWith("<img") && option.text.includes(" ${tid} \u00b7 ")).value;
		select.dispatchEvent(new Event("change"));
	})()`);
	want("a thread", await browser.value("page.profile.tree.total[0]"), Number(samples));
	await browser.key("Escape");
	await browser.until(`page.profile.tree.total[0] === ${all}`);
	const time = await browser.value("(({left, top, width}) => ({left, top, width}))(document.getElementById('time').getBoundingClientRect())");
	await browser.mouse("mousePressed", time.left + time.width / 4, time.top + 9);
	await browser.mouse("mouseMoved", time.left + time.width / 3, time.top + 9);
	await browser.mouse("mouseMoved", time.left + time.width / 2, time.top + 9);
	await browser.mouse("mouseReleased", time.left + time.width / 2, time.top + 9);
	const part = await browser.value("page.profile.tree.total[0]");
	wantTrue(`a range: ${part} of ${all}`, part > 0.1 * all && part < 0.45 * all);
	want("the root stays in sight", await browser.value(ROOT_IS_SEEN), true);
	/* A place that was set before may be told of after the chart has become lower. */
	await browser.value(`(() => {
		const {scroll} = ${view};
		scroll.style.maxHeight = scroll.clientHeight - 40 + "px";
		scroll.dispatchEvent(new Event("scroll"));
	})()`);
	await browser.until(`${view}.height === ${view}.scroll.clientHeight`);
	want("also when there is less room", await browser.value(ROOT_IS_SEEN), true);
	await browser.value(`${view}.scroll.style.maxHeight = ""`);
	await browser.until(`${view}.height === ${view}.scroll.clientHeight`);
	want("the range adds up", await browser.value(`weighSlices(page.profile, null).slice(page.state.first, page.state.end)
		.reduce((a, b) => a + b)`), part);
	await browser.click(time.left + 3, time.top + 9);
	want("a click ends it", await browser.value("page.profile.tree.total[0]"), all);
	await browser.value("page.go({zoom: 1})");
	await browser.mouse("mousePressed", time.left + time.width / 4, time.top + 9);
	await browser.mouse("mouseMoved", time.left + time.width / 3, time.top + 9);
	await browser.mouse("mouseReleased", time.left + time.width / 2, time.top + 9);
	want("a range leaves the branch that is looked at", await browser.value("[page.state.zoom, page.state.first > 0]"), [1, true]);
	await browser.key("R");
}

async function checkGroups(browser) {
	const all = await browser.value("page.profile.tree.total[0]"), functions = await browser.value("page.weights.self.length");
	const groups = `(() => {
		const {tree, functions} = page.profile, list = [];
		for (let i = 1; i < tree.count; i = tree.end[i])
			list.push([functions[tree.func[i]].name, tree.total[i]]);
		return list;
	})()`;
	for (const [word, name] of [["process", ":"], ["thread", ":" + tid], ["container", ""], ["file", ""]]) {
		await browser.key("b");
		want("grouped", await browser.value("document.getElementById('groups').value"), word);
		const list = await browser.value(groups);
		want(`groups by ${word} add up`, list.reduce((sum, [, total]) => sum + total, 0), all);
		wantTrue(`${word}: ${JSON.stringify(list)}`, list.some(([text]) => text.includes(name)));
		if (word === "thread")
			want("the thread has its samples", list.find(([text]) => text.endsWith(name))[1], Number(samples));
	}
	await browser.key("1");
	want("groups are no functions", await browser.value("page.table.order.some((func) => page.profile.functions[func].isGroup)"), false);
	await browser.key("4");
	await browser.key("b");
	want("and none again", await browser.value("page.weights.self.length"), functions);
	console.log("ok groups");
}

/* Only stacks with "again", and of these only those with "main": as the report has them. */
async function checkNarrow(browser) {
	const all = await browser.value("page.profile.tree.total[0]"), ofAgain = await browser.value(
		"page.weights.total[page.profile.functions.findIndex((it) => it.name === 'again')]");
	const texts = "[...document.querySelectorAll('#narrowed button')].map((it) => it.textContent)";
	await browser.key("/");
	await browser.type("/^again$/");
	await browser.key("Enter");
	await browser.key("&");
	want("only stacks that have it", await browser.value("page.profile.tree.total[0]"), ofAgain);
	want("the root, too, is of them", await browser.value("page.weights.total.reduce((most, it) => Math.max(most, it), 0)"), ofAgain);
	want("the time line, too", await browser.value("page.time.weights.reduce((sum, it) => sum + it, 0)"), ofAgain);
	want("nothing is searched for any more", await browser.value("document.getElementById('search').value"), "");
	await browser.value("document.getElementById('search').value = 'main'; page.search(); document.getElementById('narrow').click()");
	want("what narrows is said", await browser.value(texts), ["Only with /^again$/ \u2715", "Only with main \u2715"]);
	wantTrue("of how much", (await browser.value("document.getElementById('narrowed').textContent"))
		.endsWith(`${(100 * ofAgain / all).toFixed(2)}% of what is selected`));
	await browser.value("document.querySelector('#narrowed button').click()");
	want("a click takes one away", await browser.value(texts), ["Only with main \u2715"]);
	await browser.key("R");
	want("and all again", await browser.value("page.profile.tree.total[0]"), all);
	console.log("ok narrow");
}

/* What is shown stands in the address: another page that is opened there shows the same. */
async function checkLink(browser) {
	await browser.call("Browser.grantPermissions", {permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"]});
	await browser.value(`(() => {
		document.getElementById("search").value = "again & #x";
		page.search();
		page.go({view: "icicle", group: "thread", narrow: "main", first: 3, end: page.profile.slices - 5, kind: 0, thread: "t0"});
		page.zoomTo(2);
	})()`);
	const shown = "JSON.stringify([page.state, document.getElementById('search').value, page.profile.tree.total[0], page.colors.marked])";
	const before = await browser.value(shown), link = await browser.value("location.href");
	await browser.value("document.getElementById('link').click()");
	await browser.until("document.getElementById('link').textContent === 'Copied'");
	want("the link is copied", await browser.value("navigator.clipboard.readText()"), link);
	await browser.call("Page.navigate", {url: "about:blank"});
	await browser.call("Page.navigate", {url: link});
	await browser.until("page !== null && page.state.zoom === 2");
	want("a link shows the same", await browser.value(shown), before);
	await browser.value("location.hash = '#view=nothing&zoom=99999999&thread=t77777&first=900&end=-1&group=constructor&func=x'");
	await browser.until("page !== null && page.state.group === ''");
	want("what cannot be is as usual", await browser.value("JSON.stringify(page.state) === JSON.stringify(page.usual)"), true);
	want("and the address says nothing", await browser.value("location.hash"), "");
	await browser.value("location.hash = '#narrow=%0Amain%0A%0Aagain'");
	await browser.until("page.state.narrow !== ''");
	want("an empty text narrows nothing", await browser.value("[...document.querySelectorAll('#narrowed button')].map((it) => it.textContent)"),
		["Only with main \u2715", "Only with again \u2715"]);
}

async function checkViews(browser) {
	await browser.key("1");
	want("rows fill the table", await browser.value("document.querySelectorAll('.rows .row').length > 3"), true);
	wantTrue("the hottest one is first", (await browser.value("document.querySelector('.rows .row').textContent"))
		.includes("</script><script>window.pwned=1;alert(1)</script>"));
	await browser.value("document.querySelector('.head button:nth-child(3)').click()");
	want("sorted by total", await browser.value("page.table.sort"), "total");
	await browser.value("document.querySelector('.head button:nth-child(1)').click(); document.querySelector('.rows .row').click()");
	want("a row opens callers and callees", await browser.value("page.state.view"), "sandwich");
	want("callers and callees have the total of their function", await browser.value(
		`[page.sandwich.callers.total[0], page.sandwich.callees.total[0]].map((total) => total - page.weights.total[page.state.func])`), [0, 0]);
	wantTrue("three callers", await browser.value("page.charts.callers.rows[1].length === 3"));
	await browser.value("page.go({func: page.profile.functions.findIndex((it) => it.name === 'again')})");
	wantTrue("the line below is about the function", /^again  .*  self \d+\.\d\d%, total \d+\.\d\d%$/.test(
		await browser.value("document.getElementById('path').textContent")));
	want("recursion counts once", await browser.value("page.sandwich.callees.total[0] === page.weights.total[page.state.func]"), true);
	await browser.key("3");
	want("icicle", await browser.value(`${view}.isFlame`), false);
	await browser.key("4");
	want("and from view to view", await browser.value(ROOT_IS_SEEN), true);
	await browser.key("L");
	want("dark", await browser.value("document.documentElement.dataset.theme"), "dark");
	await browser.key("?");
	want("help", await browser.value("document.getElementById('help').open"), true);
	want("all keys are explained", await browser.value("document.querySelectorAll('#keys dt').length === KEYS.length + MORE_KEYS.length"), true);
	await browser.key("Escape");
	await browser.until("!document.getElementById('help').open");
}

/* Each text against what it stands on: 4.5 to 1, as WCAG 2.1 wants it; so do letters of the charts. */
const CONTRASTS = `(() => {
	const ratio = (a, b) => (Math.max(luminance(a), luminance(b)) + 0.05) / (Math.min(luminance(a), luminance(b)) + 0.05);
	const parts = (color) => color.match(/[\\d.]+/g).map(Number);
	const over = (color, below) => {
		const [red, green, blue, alpha = 1] = parts(color), under = parts(below);
		return "rgb(" + [red, green, blue].map((part, i) => Math.round(part * alpha + under[i] * (1 - alpha))).join(" ") + ")";
	};
	const ground = (element) => {
		const own = element ? getComputedStyle(element).backgroundColor : "rgb(255 255 255)";
		return !element || parts(own)[3] === undefined ? own : over(own, ground(element.parentElement));
	};
	const poor = [];
	for (const element of document.querySelectorAll("body *")) {
		const text = [...element.childNodes].filter((it) => it.nodeType === 3).map((it) => it.data.trim()).join("");
		const by = text && element.getClientRects().length ? ratio(getComputedStyle(element).color, ground(element)) : 21;
		if (by < 4.5 && !element.closest(":disabled, .unseen"))
			poor.push(text + " " + by.toFixed(2));
	}
	const paper = getComputedStyle(document.querySelector("main section")).backgroundColor, ink = getComputedStyle(document.body).color;
	for (const {text, color, paler} of page.profile.kinds)
		for (const shade of [0, SHADE])
			for (const full of [Colors.of(color, shade), Colors.of(paler, shade)]) {
				const [r, g, b] = parts(full), pale = over("rgba(" + [r, g, b, ${view}.pale].join(", ") + ")", paper);
				const letters = inkOn(full) === "#000" ? "rgb(0 0 0)" : "rgb(255 255 255)";
				for (const by of [ratio(letters, full), ratio(ink, pale)])
					if (by < 4.5)
						poor.push(text + " in the chart " + by.toFixed(2));
			}
	return [...new Set(poor)];
})()`;

/* What is too narrow to be drawn alone says how much there is of it, and leads to it. */
async function checkMany(browser) {
	await browser.value(`(() => {
		const tree = new GrowingTree(1), caller = tree.add(0, 1, 0);
		for (let i = 0; i < 20000; i++)
			tree.selves[0][tree.add(caller, 2, 0)] = 1;
		tree.selves[0][tree.add(0, 3, 0)] = 20000;
		const zoomed = [], letters = [];
		${view}.onZoom = (node) => zoomed.push(node);
		${view}.show(tree.finish(), 0, true);
		const fillText = CanvasRenderingContext2D.prototype.fillText;
		CanvasRenderingContext2D.prototype.fillText = function (text) { letters.push(text); };
		${view}.paint();
		CanvasRenderingContext2D.prototype.fillText = fillText;
		const box = ${view}.rows[2].find((it) => it.node < 0), frame = ${view}.canvas.getBoundingClientRect();
		const at = {clientX: frame.left + box.x + box.width / 2, clientY: frame.top + ${view}.top(2) - ${view}.scroll.scrollTop + 5, bubbles: true};
		${view}.canvas.dispatchEvent(new MouseEvent("mousemove", at));
		const tip = document.getElementById("tip").textContent;
		${view}.canvas.dispatchEvent(new MouseEvent("click", at));
		${view}.onZoom = (node) => page.zoomTo(node);
		window.many = {letters, tip, zoomed, count: box.count, total: box.total};
		document.getElementById("tip").hidden = true;
	})()`);
	const {letters, tip, zoomed, count, total} = await browser.value("window.many");
	want("all of them are counted", [count, total], [20000, 20000]);
	wantTrue("the box says so", letters.includes("+20\u202f000 narrow frames"));
	wantTrue("so does its tip: " + tip, tip.startsWith("20\u202f000 frames that are too narrow"));
	want("a click zooms to what called them", zoomed, [1]);
	await browser.value("page.show()");
}

/* In a window of 800 x 600 what stands above leaves room for the graph. */
async function checkSmallWindow(browser) {
	await resize(browser, 800, 600);
	await wantLowHead(browser);
	wantTrue("the graph has a third", (await browser.value(`${view}.scroll.clientHeight`)) > 200);
	await resize(browser, 1400, 900);
	await browser.until(`${view}.scroll.clientWidth > 1300`);
}

async function checkContrast(browser) {
	for (const theme of ["light", "dark"]) {
		await browser.value(`page.setTheme(${theme === "dark"})`);
		for (const name of ["flame", "table", "sandwich"]) {
			await browser.value(`page.go({view: "${name}", func: 1})`);
			want(`${theme} ${name}: what has a contrast below 4.5`, await browser.value(CONTRASTS), []);
		}
	}
	await browser.value("page.setTheme(false); page.go({view: 'flame'})");
}

async function checkHostile(browser) {
	want("no name became an element", await browser.value(
		"[document.scripts.length, document.querySelectorAll('img, iframe, svg, object, embed, u, link').length, typeof pwned]"),
	[2, 0, "undefined"]);
	want("bidi and separators are escaped", await browser.value(
		"page.profile.functions.find((it) => it.name.startsWith('bidi')).name"),
	"bidi\\xe2\\x80\\xae_line\\xe2\\x80\\xa8_c1\\xc2\\x85_end");
	want("a hostile thread is text", await browser.value(
		"[...document.getElementById('threads').options].some((option) => option.text.startsWith('<img src=x>'))"), true);
	want("inlined functions", await browser.value(
		"[...new Set([...page.profile.tree.func].filter((func, i) => page.profile.tree.inlined[i]).map((func) => page.profile.functions[func].name))].includes('within')"), true);
	want("their declaration", await browser.value(
		"(({file, line}) => page.profile.files[file].endsWith('inlined.c') && line > 0)(page.profile.functions.find((it) => it.name === 'within'))"), true);
	want("the title is text", await browser.value("document.title.includes('<u>x')"), true);
}

/* Boxes that have no room for them. */
async function checkShortNames(browser) {
	const fitted = await browser.value(`(() => {
		const lettering = ${view}.lettering, name = "std::map<int, std::less<int> >::find(int const&) const";
		const forms = ["std::map<...>::find", "map<...>::find", "find"];
		const fit = (form) => lettering.fit(name, forms, lettering.widthOf(form) + 1);
		return [fit(name) === name, fit(forms[0]), fit(forms[1]), fit(forms[2])];
	})()`);
	want("namespaces go after arguments", fitted[2], "map<...>::find");
	want("then all but the last part", fitted[3], "find");
	want("where there is no room", fitted[1], "std::map<...>::find");
	want("where there is room", fitted[0], true);
	console.log("ok short names");
}

async function main() {
	const browser = await Browser.open(program, url, {folder: path.join(folder, "browser")});
	try {
		await browser.until("page !== null");
		wantRows(await browser.value(rowsOf(0)), report());
		await checkFocus(browser);
		await checkZoom(browser);
		await checkSearch(browser);
		await checkSelections(browser);
		await checkGroups(browser);
		await checkNarrow(browser);
		await checkViews(browser);
		await checkMany(browser);
		await checkSmallWindow(browser);
		await checkLegend(browser);
		await checkContrast(browser);
		await checkHostile(browser);
		await checkShortNames(browser);
		want("nothing on the console", browser.problems, []);
		want("nothing was asked for but the page", browser.requests, [url]);
		await checkLink(browser);
		want("the network is forbidden", await browser.value("fetch('https://example.com/').then(() => 'reached', () => 'refused')"), "refused");
		await browser.value("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.pwned = 1'}))");
		want("other scripts are forbidden", await browser.value("typeof pwned"), "undefined");
		console.log("all is well");
	} finally {
		await browser.close();
	}
}

run(main);
