// What tests/e2e/html.sh has a browser do with two instances of a template, which have little room:
//   node html_alike.js BROWSER FOLDER      of FOLDER/alike.svg, alike.html
"use strict";
const path = require("path");
const {Browser} = require(path.join(__dirname, "browser.js"));
const {want, wantTrue, run} = require(path.join(__dirname, "checks.js"));
const [program, folder] = process.argv.slice(2);

async function inBrowser(name, width, ready, check) {
	const browser = await Browser.open(program, "file://" + encodeURI(path.join(folder, name)), {width, height: 800, folder: path.join(folder, "browser")});
	try {
		await browser.until(ready);
		await check(browser);
		want("nothing on the console", browser.problems, []);
	} finally {
		await browser.close();
	}
}

const bothOf = (texts) => ["int", "long"].every((name) => texts.some((text) => text.includes(`rebalance {${name}}`)));

run(async () => {
	const wanted = (width) => async (browser) => {
		const texts = await browser.value("[...document.querySelectorAll('#boxes text')].map((it) => it.textContent)");
		wantTrue(`a picture of ${width} pixels: ${texts}`, bothOf(texts));
		const box = await browser.value(`(() => {
			const group = [...document.querySelectorAll("#boxes > g")].find((it) => it.textContent.includes("{long}"));
			group.dispatchEvent(new MouseEvent("click", {bubbles: true}));
			return group.querySelector("text").textContent;
		})()`);
		wantTrue(`alone it is as it was: ${box}`, !box.includes("{"));
	};
	await inBrowser("alike.svg", 520, "document.querySelector('foreignObject input') !== null", wanted(520));
	await inBrowser("alike.html", 560, "page !== null", async (browser) => {
		const chart = "page.charts['view-chart']";
		await browser.until(`${chart}.rows.length > 0`); // the window has its size
		const differences = await browser.value(`[...${chart}.differences.values()]`);
		want("in a flame graph", differences.sort(), ["int", "long"]);
	});
	await inBrowser("alike.html", 360, "page !== null", async (browser) => {
		await browser.value("page.go({view: 'table'})");
		const texts = await browser.value("[...document.querySelectorAll('#view-table .rows .name')].map((it) => it.textContent)");
		wantTrue(`in a table: ${texts}`, bothOf(texts));
	});
	console.log("all is well");
});
