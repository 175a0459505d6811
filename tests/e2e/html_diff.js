// What tests/e2e/html.sh has a browser do with a page of differences:
//   node html_diff.js BROWSER FOLDER      of FOLDER/diff.html, same.html, cut.html, report.old, report.new
"use strict";
const fs = require("fs"), path = require("path");
const {Browser} = require(path.join(__dirname, "browser.js"));
const {want, wantTrue, readReport, rowsOf, wantRows, resize, wantLowHead, run} = require(path.join(__dirname, "checks.js"));
const [program, folder] = process.argv.slice(2);
const urlOf = (name) => "file://" + encodeURI(path.join(folder, name));

const view = "page.charts['view-chart']";
const of = (name) => `page.profile.functions.findIndex((it) => it.name === ${JSON.stringify(name)})`;
const GONE = "gone</script><b>", FRESH = "fresh\"><img src=x>";

/* What the page says of a function's node. */
const changeOf = (name) => `(() => {
	const {tree} = page.profile, node = tree.func.indexOf(${of(name)});
	const {by, isSure, isNew, isGone} = page.diff.changeOf(tree, node);
	return {by, isSure, isNew, isGone, color: page.diff.color(page.diff.changeOf(tree, node))};
})()`;

const shown = (name) => `${view}.rows.flat().some((box) => box.node > 0 && ${view}.label(box.node) === ${JSON.stringify(name)} && box.width > 1)`;

/* "rgb(1 2 3)" -> more red than blue: 1, less: -1, gray: 0. */
function tone(color) {
	const [red, , blue] = color.match(/\d+/g).map(Number);
	return Math.abs(red - blue) < 20 ? 0 : red > blue ? 1 : -1;
}

async function checkColors(browser) {
	for (const theme of ["light", "dark"]) {
		want(theme, await browser.value("document.documentElement.dataset.theme"), theme);
		const work = await browser.value(changeOf("work")), same = await browser.value(changeOf("same"));
		const gone = await browser.value(changeOf(GONE)), fresh = await browser.value(changeOf(FRESH));
		wantTrue("what took longer is red", work.isSure && work.by > 0.05 && tone(work.color) === 1);
		wantTrue("what only has a smaller share is gray, as diff says", !same.isSure && same.by < -0.03 && tone(same.color) === 0);
		wantTrue("what was removed is blue", gone.isGone && tone(gone.color) === -1);
		wantTrue("what is new is red", fresh.isNew && tone(fresh.color) === 1);
		want("the root is gray", tone(await browser.value("page.diff.color(page.diff.changeOf(page.profile.tree, 0))")), 0);
		want("the legend is a scale", await browser.value("document.querySelectorAll('#legend li').length"), 10);
		await browser.key("L");
	}
	await browser.value("page.setTheme(false)");
}

async function checkWidths(browser) {
	want("at first as both, so that nothing is hidden", [await browser.value(shown(FRESH)), await browser.value(shown(GONE))], [true, true]);
	want("the button is pressed", await browser.value("document.querySelector('#diff [value=both]').getAttribute('aria-pressed')"), "true");
	await browser.key("V");
	want("as the new one is", [await browser.value(shown(FRESH)), await browser.value(shown(GONE))], [true, false]);
	await browser.key("V");
	want("as the old one was", [await browser.value(shown(FRESH)), await browser.value(shown(GONE))], [false, true]);
	await browser.key("V");
	want("and again", await browser.value("page.diff.width"), "both");
	await browser.value("document.querySelector('#diff [value=old]').click()");
	want("a click", await browser.value("page.diff.width"), "old");
	await browser.key("V");
	await browser.key("V");
}

async function checkFigures(browser) {
	const facts = (name) => browser.value(`page.facts.of(${view}, page.profile.tree.func.indexOf(${of(name)})).lines.join("\\n")`);
	const work = await facts("work");
	wantTrue("old and new shares, points, relative: " + work,
		/^total \d+\.\d\d% → \d+\.\d\d%, \+\d+\.\d\d pp \(\+\d+\.\d%\)$/m.test(work));
	wantTrue("new is said", (await facts(FRESH)).includes("(new)"));
	wantTrue("removed is said", (await facts(GONE)).includes("(removed)"));
	await browser.key("%");
	want("seconds", await browser.value("page.diff.isAbsolute"), true);
	const change = await browser.value(changeOf("work")), same = await browser.value(changeOf("same"));
	wantTrue("twice as long, whatever the frequency", change.isSure && change.by > 0.5e9 && change.by < 1.5e9);
	wantTrue("as long as before", Math.abs(same.by) < 0.4e9);
	wantTrue("in seconds: " + await facts("work"), /→ \d\.\d\d s, \+/.test(await facts("work")));
	await browser.key("%");
	const red = await browser.value(`${view}.color(page.profile.tree, page.profile.tree.func.indexOf(${of("work")}))`);
	await browser.key("c");
	wantTrue("by file", (await browser.value(`${view}.color(page.profile.tree, page.profile.tree.func.indexOf(${of("work")}))`)).startsWith("rgb"));
	await browser.key("c");
	want("by change", await browser.value(`${view}.color(page.profile.tree, page.profile.tree.func.indexOf(${of("work")}))`), red);
}

const firstRow = (browser) => browser.value("[...document.querySelector('.rows .row').children].map((cell) => cell.textContent)");
const sortBy = (browser, sort) => browser.value(`document.querySelector('.head [data-sort="${sort}"]').click()`);

async function checkTable(browser) {
	await browser.key("1");
	wantTrue("the greatest change comes first", /^[+−]\d+\.\d\d$/.test((await firstRow(browser))[2]));
	await sortBy(browser, "selfChange");
	const most = await firstRow(browser);
	wantTrue("then the greatest rise: " + most, [FRESH, "work"].includes(most[6]) && most[2].startsWith("+"));
	await sortBy(browser, "selfChange");
	const least = await firstRow(browser);
	wantTrue("then the greatest fall: " + least, [GONE, "same", "also"].includes(least[6]) && least[2].startsWith("−"));
	await sortBy(browser, "selfOld");
	wantTrue("by the old share", ["work", "same", "also"].includes((await firstRow(browser))[6]));
	await sortBy(browser, "name");
	want("by name", await browser.value("page.table.isRising"), true);
	await browser.key("/");
	await browser.type("gone");
	want("a search", await browser.value("page.table.order.map((func) => page.profile.functions[func].name)"), [GONE]);
	wantTrue("of both", /^1 found · \d+\.\d\d% → 0\.00%$/.test(await browser.value("document.getElementById('matched').textContent")));
	await browser.key("Escape");
	await browser.value(`page.go({view: "sandwich", func: ${of(GONE)}})`);
	want("callers and callees have both totals", await browser.value(
		"['callers', 'callees'].flatMap((kind) => page.sandwich[kind].columns.map(({total}, i) => total[0] - page.functions[i].total[page.state.func]))"),
	[0, 0, 0, 0]);
	wantTrue("what was removed is said", (await browser.value("document.getElementById('sandwich-name').textContent")).includes("removed"));
	await browser.key("4");
}

/* What `ebprof diff` lists, in its words; a click opens the function. */
async function checkChanges(browser) {
	want("what changed is shown first", await browser.value("[...document.querySelectorAll('#tabs [aria-selected=true]')].map((tab) => tab.dataset.view)"), ["changes"]);
	const lists = await browser.value("page.profile.changes.lists.map(({count, rows}) => [count, rows.map(({name}) => name)])");
	const csv = fs.readFileSync(path.join(folder, "diff.csv"), "utf8").split("\n").slice(1).filter((line) => line);
	const ofVerdict = (verdict) => csv.map((line) => /^(\w+),(?:"((?:[^"]|"")*)"|([^,]*)),/.exec(line)).filter((row) => row && row[1] === verdict)
		.map((row) => row[2] === undefined ? row[3] : row[2].replaceAll('""', '"'));
	for (const [i, verdict] of ["regression", "improvement"].entries())
		want(verdict + "s are those of diff", [...lists[i][1]].sort(), ofVerdict(verdict).sort());
	wantTrue("what cannot be told is listed, too", lists[3][1].includes("same") || lists[3][1].includes("also"));
	const titles = await browser.value("[...document.querySelectorAll('#view-changes h2')].map((it) => it.textContent)");
	/* A busy machine's kernel may be slower as well. */
	const counts = ["regression", "improvement"].map((verdict) => ofVerdict(verdict).length);
	wantTrue("two are slower, one is faster: " + counts, counts[0] >= 2 && counts[1] >= 1);
	want("in this order", titles.filter((title) => !title.startsWith("Changed by")).map((title) => title.replace(/^(Cannot be told).*/, "$1")),
		[`Regressions (${counts[0]})`, `Improvements (${counts[1]})`, "Cannot be told"]);
	const rowOf = (name) => `[...document.querySelectorAll("#view-changes [data-func]")].find((row) => row.querySelector(".name").textContent === ${JSON.stringify(name)})`;
	wantTrue("what was removed is in sight", (await browser.value(`${rowOf(GONE)}.textContent`)).includes("removed"));
	wantTrue("with figures and their interval", /\d%.*\d%\+\d+\.\d%\+\d+\.\d% \.\. \+\d/.test(await browser.value(`${rowOf("work")}.textContent`)));
	wantTrue("what else diff says", (await browser.value("document.querySelector('#view-changes .about').textContent")).includes("The whole program"));
	await browser.key("/");
	await browser.type("work");
	want("a search marks", await browser.value("[...document.querySelectorAll('#view-changes .is-match .name')].map((it) => it.textContent)"), ["work"]);
	await browser.key("Enter");
	await browser.key("Enter");
	want("Enter opens", await browser.value(`[page.state.view, page.state.func === ${of("work")}]`), ["sandwich", true]);
	await browser.key("Escape");
	await browser.key("Escape");
	await browser.until("page.state.view === 'changes'");
	await browser.value(`${rowOf(GONE)}.click()`);
	want("so does a click", await browser.value(`[page.state.view, page.state.func === ${of(GONE)}]`), ["sandwich", true]);
	await browser.key("8");
	want("and back by a key", await browser.value("page.state.view"), "changes");
	want("nothing is selected", await browser.value("page.changes.note.hidden"), true);
	await browser.value("page.go({first: 0, end: page.profile.slices / 2})");
	want("a selection does not count, which is said", await browser.value("page.changes.note.hidden"), false);
	await browser.key("Escape");
	await browser.until("page.changes.note.hidden");
}

/* Groups hold what both recordings have, and their totals stay. */
async function checkGroups(browser) {
	const totals = "page.profile.tree.columns.map(({total}) => total[0])", before = await browser.value(totals);
	const names = "[...page.profile.tree.parent.keys()].filter((node) => page.profile.tree.parent[node] === 0).map((node) => page.profile.functions[page.profile.tree.func[node]].name)";
	for (const [group, name] of [["process", "program"], ["thread", "program"], ["file", "program"]]) {
		await browser.value(`page.go({group: "${group}"})`);
		wantTrue(`by ${group}`, (await browser.value(names)).includes(name));
		want(`all of both by ${group}`, await browser.value(totals), before);
		wantTrue(`changes stay by ${group}`, await browser.value(`(() => {
			const {tree} = page.profile, node = tree.func.indexOf(${of("work")});
			return page.diff.changeOf(tree, node).isSure && !page.diff.changeOf(tree, 1).isSure;
		})()`));
	}
	await browser.value("page.go({group: ''})");
	want("a container says nothing about another run", await browser.value("document.querySelector('#groups [value=container]').hidden"), true);
}

async function checkDiff(browser) {
	await checkChanges(browser);
	await browser.key("4");
	await checkGroups(browser);
	want("both names", await browser.value("document.getElementById('title').textContent.endsWith(': <i>old.data → new.data')"), true);
	wantTrue("what is compared", (await browser.value("document.getElementById('summary-old').textContent")).startsWith("Before: <i>old.data · "));
	// Of other files clones of a function (.isra.0) are one here.
	wantRows(await browser.value(rowsOf(0, "program")), readReport(path.join(folder, "report.new"), "program"));
	wantRows(await browser.value(rowsOf(1, "program")), readReport(path.join(folder, "report.old"), "program"));
	await checkColors(browser);
	await checkWidths(browser);
	await checkFigures(browser);
	await checkTable(browser);
	await browser.key("?");
	want("all keys are explained", await browser.value("document.querySelectorAll('#keys dt').length === KEYS.length + DIFF_KEYS.length + MORE_KEYS.length"), true);
	await browser.key("Escape");
	await browser.until("!document.getElementById('help').open");
	want("no name became an element", await browser.value("[document.scripts.length, document.querySelectorAll('img, b:not(#path b), main i:not(:empty)').length]"), [2, 0]);
	await browser.value("page.go({first: 0, end: page.profile.slices / 2})");
	wantTrue("a range of both", await browser.value("page.profile.tree.columns.every(({total}, i) => total[0] > 0 && total[0] <= page.profile.sides[i].samples)"));
	await browser.key("Escape");
}

/* In a window of 800 x 600 what is chosen for both comes when it is wanted. */
async function checkSmallWindow(browser) {
	const isSeen = (id) => browser.value(`document.getElementById("${id}").getClientRects().length > 0`);
	want("all is there in a large one", [await isSeen("diff"), await isSeen("diff-open")], [true, false]);
	await resize(browser, 800, 600);
	await browser.key("4");
	await wantLowHead(browser);
	wantTrue("the title is in the head's row", await browser.value(
		"document.getElementById('title').getBoundingClientRect().top < document.getElementById('search').getBoundingClientRect().bottom"));
	wantTrue("the graph has a third", (await browser.value(`${view}.scroll.clientHeight`)) > 200);
	want("a button has the rest", [await isSeen("diff"), await isSeen("diff-open")], [false, true]);
	await browser.value("document.getElementById('diff-open').click()");
	want("which comes", await isSeen("diff"), true);
	await browser.value("document.querySelector('#diff [value=old]').click()");
	want("a click in it counts", [await browser.value("page.diff.width"), await isSeen("diff")], ["old", true]);
	wantTrue("it is within the window", await browser.value(`(({left, right, bottom}) => left >= 0 && right <= innerWidth && bottom <= innerHeight)(
		document.getElementById("diff").getBoundingClientRect())`));
	await browser.key("Escape");
	want("Escape closes it, and does nothing else", [await isSeen("diff"), await browser.value("page.state.view")], [false, "flame"]);
	await browser.value("document.getElementById('diff-open').click()");
	await browser.value("document.getElementById('title').click()");
	want("so does a click elsewhere", await isSeen("diff"), false);
	await resize(browser, 1400, 800);
}

async function checkSame(browser) {
	want("nothing is listed", await browser.value("document.querySelectorAll('#view-changes [data-func] .change-0, #view-changes [data-func] .change-1').length"), 0);
	await browser.key("4");
	want("nothing changed", await browser.value(
		"[...Array(page.profile.tree.count).keys()].filter((node) => page.diff.changeOf(page.profile.tree, node).by !== 0).length"), 0);
	want("all is gray", tone(await browser.value(`${view}.color(page.profile.tree, 1)`)), 0);
}

/* A baseline that was cut, and its own recording. */
async function checkCut(browser) {
	const nodes = "[...Array(page.profile.tree.count).keys()]", change = "page.diff.changeOf(page.profile.tree, node)";
	wantTrue("something was left out", await browser.value("page.diff.leftOut > 0"));
	wantTrue("and is not compared", await browser.value(`${nodes}.some((node) => !${change}.isKnown)`));
	want("all else is the same", await browser.value(`${nodes}.filter((node) => ${change}.isKnown && ${change}.by !== 0).length`), 0);
	want("nothing is new", await browser.value(`${nodes}.filter((node) => ${change}.isNew || ${change}.isGone).length`), 0);
	wantTrue("which is said", (await browser.value("document.getElementById('notes').textContent")).includes("left out of the baseline"));
	await browser.key("1");
	want("total times are not compared", (await firstRow(browser))[5], "?");
}

/* A baseline whose program is gone and has no names. */
async function checkRefused(browser) {
	wantTrue("it says why", /^Not compared: .+/.test(await browser.value("document.getElementById('verdict').textContent")));
	wantTrue("so does the list", (await browser.value("document.getElementById('view-changes').textContent")).includes("are not compared"));
	want("and has nothing else", await browser.value("document.querySelectorAll('#view-changes .about, #view-changes .row').length"), 0);
}

/* The sides of a diff, which the address says. */
async function checkSwap(browser) {
	const listed = async () => (await browser.value("page.profile.changes.lists.map(({rows}) => rows.map(({name}) => name))")).map((names) => names.sort());
	const title = () => browser.value("document.getElementById('title').textContent");
	const swapTo = async (isSwapped, act) => {
		await browser.value("window.isLeft = true");
		await act();
		await browser.until(`!window.isLeft && page !== null && page.diff.isSwapped === ${isSwapped}`);
	};
	const given = await listed();
	await browser.key("4");
	const change = await browser.value(changeOf("work")), view = await browser.value("page.state.view");
	await swapTo(true, () => browser.key("X"));
	want("the view stays", await browser.value("page.state.view"), view);
	wantTrue("names change places: " + await title(), (await title()).endsWith(": new.data → <i>old.data"));
	wantTrue("the verdict is another one", (await browser.value("document.getElementById('verdict').textContent")).startsWith("REGRESSION") ===
		(await browser.value("page.profile.verdict === REGRESSION")));
	want("what was worse is better", (await listed())[1], given[0]);
	want("what was better is worse", (await listed())[0], given[1]);
	const other = await browser.value(changeOf("work"));
	wantTrue("and blue", other.isSure && other.by === -change.by && tone(other.color) === -1);
	wantTrue("what vanished is new", (await browser.value(changeOf(GONE))).isNew);
	wantRows(await browser.value(rowsOf(0, "program")), readReport(path.join(folder, "report.old"), "program"));
	wantTrue("a link says it", (await browser.value("location.hash")).includes("isSwapped=1"));
	want("so does the button", await browser.value("document.getElementById('swap').getAttribute('aria-pressed')"), "true");
	await swapTo(false, () => browser.value("history.back()"));
	want("back again", await listed(), given);
	await swapTo(true, () => browser.value("document.getElementById('swap').click()"));
	await swapTo(false, () => browser.key("X"));
	want("and again", await browser.value(changeOf("work")), change);
}

async function inBrowser(name, check) {
	const url = urlOf(name), browser = await Browser.open(program, url, {folder: path.join(folder, "browser")});
	try {
		await browser.until("page !== null");
		await check(browser);
		want("nothing on the console", browser.problems, []);
		want("nothing was asked for but the page", [...new Set(browser.requests)], [url]);
	} finally {
		await browser.close();
	}
}

run(async () => {
	await inBrowser("diff.html", checkDiff);
	await inBrowser("diff.html", checkSwap);
	await inBrowser("diff.html", checkSmallWindow);
	await inBrowser("same.html", checkSame);
	await inBrowser("cut.html", checkCut);
	await inBrowser("lost.html", checkRefused);
	console.log("all is well");
});
