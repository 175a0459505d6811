// What tests/e2e/html.sh has a browser do with pictures of `convert --svg`:
//   node html_picture.js BROWSER FOLDER      of FOLDER/picture.svg, changes.svg
"use strict";
const path = require("path");
const {Browser} = require(path.join(__dirname, "browser.js"));
const {want, wantTrue, run} = require(path.join(__dirname, "checks.js"));
const [program, folder] = process.argv.slice(2);

const MEASURE = `(() => {
	const frameOf = (element) => element.getBoundingClientRect(), wide = window.innerWidth;
	const isIn = (element) => frameOf(element).left >= 0 && frameOf(element).right <= wide + 1;
	const boxes = [...document.querySelectorAll("#boxes > g")].filter((it) => it.style.display !== "none");
	const root = boxes.reduce((a, b) => frameOf(a).width > frameOf(b).width ? a : b), label = document.querySelector("#boxes text");
	return {
		overhang: document.documentElement.clientWidth - wide,
		isBoxOut: boxes.some((it) => !isIn(it)), isWide: frameOf(root).width > wide - 60,
		field: isIn(document.querySelector("input")) && frameOf(document.querySelector("input")).width,
		letters: frameOf(label).height, page: frameOf(document.querySelector("rect.page")).height - window.innerHeight,
		ground: getComputedStyle(document.querySelector("rect.page")).fill, title: getComputedStyle(document.querySelector("svg > text")).fill,
		isKindOut: [...document.querySelectorAll("#kinds rect, #kinds text")].some((it) => !isIn(it)),
		swatches: [...document.querySelectorAll("#kinds text, #legend text:not(.details)")].every((it) => getComputedStyle(it).fill === "rgb(27, 27, 27)"),
	};
})()`;

async function checkPicture(name, width, dark) {
	const url = "file://" + encodeURI(path.join(folder, name));
	const browser = await Browser.open(program, url, {width, height: 800, dark, folder: path.join(folder, "browser")});
	try {
		await browser.until("document.querySelector('foreignObject input') !== null");
		const it = await browser.value(MEASURE), what = `${name}, ${width} pixels, ${dark ? "dark" : "light"}: `;
		wantTrue(what + "nothing sticks out", it.overhang <= 0 && !it.isBoxOut);
		wantTrue(what + "all of the legend is in sight", !it.isKindOut);
		wantTrue(what + "as wide as the window", it.isWide);
		wantTrue(what + "the field for searching is in sight", it.field > 120);
		wantTrue(what + `letters are as large as ever: ${it.letters}`, it.letters > 11 && it.letters < 20);
		wantTrue(what + "nothing is left white below", it.page >= 0);
		want(what + "the ground", it.ground, dark ? "rgb(23, 25, 29)" : "rgb(255, 255, 255)");
		want(what + "the title", it.title, dark ? "rgb(230, 230, 230)" : "rgb(27, 27, 27)");
		want(what + "dark letters on light swatches", it.swatches, true);
		want("nothing on the console", browser.problems, []);
	} finally {
		await browser.close();
	}
}

run(async () => {
	await checkPicture("picture.svg", 400, false);
	await checkPicture("picture.svg", 320, false);
	await checkPicture("picture.svg", 1400, true);
	await checkPicture("changes.svg", 400, true);
	console.log("all is well");
});
