// What `tmux capture-pane -e` says of a screen, as an SVG picture of it.
"use strict";
const COLUMN = 8.43, LINE = 18, MARGIN = 10, INK = "#d8dae0", GROUND = "#15171c";
const BASE = ["#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5"];

/* Of xterm's 256. */
function color(index) {
	if (index < 16)
		return BASE[index % 8];
	const steps = [0, 95, 135, 175, 215, 255], cube = index - 16, grey = 8 + 10 * (index - 232);
	const parts = index >= 232 ? [grey, grey, grey] : [steps[Math.floor(cube / 36)], steps[Math.floor(cube / 6) % 6], steps[cube % 6]];
	return "#" + parts.map((part) => part.toString(16).padStart(2, "0")).join("");
}

/* What a list of numbers between ESC [ and m does to a style. */
function apply(style, numbers) {
	for (let at = 0; at < numbers.length; at++) {
		const number = numbers[at];
		if (number === 0)
			Object.assign(style, {ink: null, ground: null, isBold: false, isReversed: false});
		else if (number === 1)
			style.isBold = true;
		else if (number === 7)
			style.isReversed = true;
		else if (number >= 30 && number < 38)
			style.ink = color(number - 30);
		else if (number >= 40 && number < 48)
			style.ground = color(number - 40);
		else if (number === 38 || number === 48) {
			style[number === 38 ? "ink" : "ground"] = color(numbers[at + 2]);
			at += 2;
		} else if (number === 39)
			style.ink = null;
		else if (number === 49)
			style.ground = null;
	}
}

const escaped = (text) => text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

function draw(screen) {
	const lines = screen.replace(/\n$/, "").split("\n"), style = {}, out = [];
	let columns = 0;
	lines.forEach((line, row) => {
		let column = 0;
		for (const part of line.split(/(\x1b\[[0-9;]*m|\x1b\(.|[\x0e\x0f])/)) {
			const codes = /^\x1b\[([0-9;]*)m$/.exec(part);
			if (codes)
				apply(style, codes[1].split(";").map(Number));
			if (!part || "\x1b\x0e\x0f".includes(part[0]))
				continue;
			const width = [...part].length, x = (MARGIN + column * COLUMN).toFixed(2), y = MARGIN + row * LINE;
			const [ink, ground] = style.isReversed ? [style.ground || GROUND, style.ink || INK] : [style.ink || INK, style.ground];
			if (ground)
				out.push(`<rect x="${x}" y="${y}" width="${(width * COLUMN + 0.3).toFixed(2)}" height="${LINE}" fill="${ground}"/>`);
			if (part.trim())
				out.push(`<text x="${x}" y="${y + 13}" fill="${ink}"${style.isBold ? ' font-weight="bold"' : ""}` +
					` textLength="${(width * COLUMN).toFixed(2)}" xml:space="preserve">${escaped(part)}</text>`);
			column += width;
		}
		columns = Math.max(columns, column);
	});
	const width = Math.ceil(2 * MARGIN + columns * COLUMN), height = 2 * MARGIN + lines.length * LINE;
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n` +
		`<style>text{font:14px "DejaVu Sans Mono",Menlo,Consolas,monospace;white-space:pre}</style>\n` +
		`<rect width="${width}" height="${height}" rx="8" fill="${GROUND}"/>\n${out.join("\n")}\n</svg>\n`;
}

process.stdout.write(draw(require("fs").readFileSync(0, "utf8")));
