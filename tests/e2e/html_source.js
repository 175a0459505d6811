// What tests/e2e/html.sh has a browser do with a page that has lines of functions:
//   node html_source.js BROWSER FOLDER      of FOLDER/lines.html
"use strict";
const path = require("path");
const {Browser} = require(path.join(__dirname, "browser.js"));
const {want, wantTrue, run} = require(path.join(__dirname, "checks.js"));
const [program, folder] = process.argv.slice(2);
const url = "file://" + encodeURI(path.join(folder, "lines.html"));
const sumOf = (kind) => `page.profile.code.get(page.state.func).rows.reduce((sum, row) => CODE_ROWS[row.kind] === "${kind}" ? sum + row.self : sum, 0)`;
const texts = (kind) => `[...document.querySelectorAll(".source .is-${kind} .text")].map((it) => it.textContent)`;

run(async () => {
	const browser = await Browser.open(program, url, {folder: path.join(folder, "browser")});
	try {
		await browser.until("page !== null");
		await browser.key("7");
		want("the hottest function", await browser.value("page.profile.functions[page.state.func].name"), "main");
		const self = await browser.value("page.weights.self[page.state.func] * page.profile.period");
		want("lines add up to it", await browser.value(sumOf("source")), self);
		want("instructions, too", await browser.value(sumOf("code")), self);
		const hot = await browser.value(`(() => {
			const rows = [...document.querySelectorAll(".source .is-source")];
			const row = rows.reduce((a, b) => parseFloat(b.firstChild.textContent || 0) > parseFloat(a.firstChild.textContent || 0) ? b : a);
			const frame = row.getBoundingClientRect(), place = document.querySelector(".source").getBoundingClientRect();
			return {text: row.textContent, title: row.title, isSeen: frame.top >= place.top && frame.bottom <= place.bottom};
		})()`);
		wantTrue("the loop is the hottest: " + hot.text, /sink \+=|i < 1000000/.test(hot.text));
		wantTrue("file and line are told: " + hot.title, /\/lines\.c:[78]\n/.test(hot.title));
		want("it is in sight", hot.isSeen, true);
		want("a hostile line is text", await browser.value(`${texts("source")}.some((text) => text.includes("</script>")) && typeof pwned`), "undefined");
		want("no instructions unasked", await browser.value(texts("code") + ".length"), 0);
		await browser.key("e");
		wantTrue("instructions", await browser.value(texts("code") + ".some((text) => text.includes('add'))"));
		want("the address says it", await browser.value("new URLSearchParams(location.hash.slice(1)).get('view') + location.hash.includes('assembly=1')"), "sourcetrue");
		await browser.key("4");
		want("nothing on the console", browser.problems, []);
		want("nothing was asked for but the page", browser.requests, [url]);
		console.log("all is well");
	} finally {
		await browser.close();
	}
});
