/* What a flame graph does in a browser: zoom, search, keys. Names are text here, never markup. */
"use strict";
(function () {
	const svg = document.documentElement, area = document.getElementById("boxes");
	const LEFT = 10, CHARACTER = 7.3, PADDING = 3, ROW = 17, NARROW = 760, CUT_LEAST = 7;
	const drawn = svg.viewBox.baseVal, drawnHeight = drawn.height, drawnWidth = drawn.width - 2 * LEFT;
	let width = drawnWidth; // of what is zoomed to
	const columnsOf = (text) => [...text].reduce((n, c) => n + (c < "\u0300" ? 1 : 2), 0);

	/* Of names that have some: shorter forms (report/name/short_names.h), each shorter than the one before. */
	const formsOf = new Map(document.getElementById("names").textContent.split("\n").filter((line) => line)
		.map((line) => line.split("\t")).map(([name, ...forms]) => [name, forms]));

	const boxes = Array.from(area.children, (group) => {
		const rect = group.querySelector("rect"), title = group.querySelector("title").textContent;
		const label = group.querySelector("text");
		const parts = /^([^]*?)(?: \(([^()]*)\))?: [\d.]+%(?: \u2192 [\d.]+%, [^,]* pp)?, \d+(?: \u2192 \d+)? samples$/.exec(title);
		const name = parts ? parts[1] : title;
		return {
			group, rect, title, name, label,
			first: label ? label.textContent : null,
			isRest: rect.getAttribute("class") === "rest",
			x: Number(rect.getAttribute("x")) - LEFT,
			y: Number(rect.getAttribute("y")),
			width: Number(rect.getAttribute("width")),
		};
	});
	const boxOf = new Map(boxes.map((box) => [box.group, box]));
	const top = Math.min(...boxes.map((box) => box.y));
	const root = boxes.find((box) => box.y === top);
	let zoomed = root, current = null;

	/* ---- what stands above ---- */

	function put(name, attributes, text) {
		const element = document.createElementNS(svg.namespaceURI, name);
		for (const key in attributes)
			element.setAttribute(key, attributes[key]);
		element.textContent = text || "";
		return svg.appendChild(element);
	}
	const details = put("text", {x: LEFT, y: 38, class: "details"});
	const found = put("text", {"text-anchor": "end"});
	const back = put("text", {class: "button", "text-anchor": "end", visibility: "hidden"}, "Reset zoom");
	const frame = put("foreignObject", {height: 24});
	const field = document.createElementNS("http://www.w3.org/1999/xhtml", "input");
	field.setAttribute("type", "search");
	field.setAttribute("placeholder", "Search (/), a word or an expression");
	field.setAttribute("aria-label", "Search for functions");
	frame.appendChild(field);

	function tell(box) {
		const columns = Math.max(3, Math.floor(width * (width < NARROW ? 0.4 : 0.8) / CHARACTER));
		details.textContent = !box ? "" : elided(box.title, columns);
	}

	/* ---- zoom ---- */

	function elided(text, columns) {
		if (columnsOf(text) <= columns)
			return text;
		const characters = [...text], tail = Math.floor((columns - 2) / 2);
		let head = columns - 2 - tail;
		return characters.slice(0, head).join("") + ".." + characters.slice(characters.length - tail).join("");
	}

	/* Of a name; nothing where so little of it would be seen that it says nothing. */
	const cut = (text, columns) => columns >= CUT_LEAST || columnsOf(text) <= columns ? elided(text, columns) : "";

	const columnsIn = (wide) => Math.floor((wide - 2 * PADDING) / CHARACTER);

	function formOf(box, columns) {
		const forms = [box.name, ...formsOf.get(box.name) || []];
		return forms.find((name) => columnsOf(name) <= columns) || forms[forms.length - 1];
	}

	/* differences: of distinctNames() */
	function labelOf(box, wide, differences) {
		const LEAST = 7, columns = columnsIn(wide); // LEAST: of report/name/distinct_names.c
		if (columns < 3)
			return "";
		if (box.isRest)
			return cut(box.name.replace(/^(\d+) functions.*/, "+$1"), columns);
		return nameInRoom(differences.get(box.name), columns, LEAST, {widthOf: columnsOf, form: (room) => formOf(box, room), elided: cut});
	}

	function place(box, x, wide, differences) {
		box.group.style.display = "";
		box.rect.setAttribute("x", LEFT + x);
		box.rect.setAttribute("width", wide);
		const text = zoomed === root && width === drawnWidth && box.first !== null ? box.first : labelOf(box, wide, differences);
		if (text && !box.label) {
			box.label = document.createElementNS(svg.namespaceURI, "text");
			box.label.setAttribute("y", box.y + 12);
			box.group.appendChild(box.label);
		}
		if (box.label) {
			box.label.setAttribute("x", LEFT + x + PADDING);
			box.label.textContent = text;
		}
	}

	function zoom(to) {
		const scale = width / to.width, slack = 1e-6 * drawnWidth, end = to.x + to.width;
		zoomed = to;
		const isAbove = (box) => box.y < to.y && box.x <= to.x + slack && box.x + box.width >= end - slack;
		const below = boxes.filter((box) => box.y >= to.y && box.x >= to.x - slack && box.x + box.width <= end + slack);
		const isNamed = (box) => !box.isRest && columnsIn(box.width * scale) >= 3;
		const differences = distinctNames(below.filter(isNamed).map((box) => [box.name, formOf(box, columnsIn(box.width * scale))]));
		for (const box of boxes) {
			box.group.classList.toggle("above", isAbove(box));
			box.group.style.display = "none";
			if (isAbove(box))
				place(box, 0, width, differences);
		}
		for (const box of below)
			place(box, (box.x - to.x) * scale, box.width * scale, differences);
		back.setAttribute("visibility", to === root ? "hidden" : "visible");
	}

	const kinds = document.getElementById("kinds"), swatches = [...kinds.querySelectorAll("rect")].map((rect) => ({rect, text: rect.nextElementSibling,
		width: Number(rect.getAttribute("width")), y: Number(rect.getAttribute("y"))}));
	const notes = [...svg.querySelectorAll(":scope > text.details")].filter((it) => it.compareDocumentPosition(kinds) & Node.DOCUMENT_POSITION_PRECEDING)
		.map((text) => ({text, y: Number(text.getAttribute("y"))}));

	/* What colours mean, on as many lines as it takes; returns how much higher that is. */
	function wrapKinds(wide) {
		let x = LEFT, more = 0;
		for (const {rect, text, width: room, y} of swatches) {
			if (x > LEFT && x + room > wide - LEFT) {
				x = LEFT;
				more += ROW;
			}
			rect.setAttribute("x", x);
			rect.setAttribute("y", y + more);
			text.setAttribute("x", x + PADDING);
			text.setAttribute("y", y + more + 12);
			x += room + PADDING;
		}
		for (const {text, y} of notes)
			text.setAttribute("y", y + more);
		return more;
	}

	/* As wide as the window, with letters as large as in any other; in a page it is as it was drawn. */
	function fit() {
		const SCROLLBAR = 17, isHigh = drawnHeight > window.innerHeight;
		const wide = Math.max(320, window.innerWidth - (isHigh ? SCROLLBAR : 0)), high = Math.max(drawnHeight + wrapKinds(wide), window.innerHeight);
		const page = svg.querySelector("rect.page");
		for (const it of [svg, page]) {
			it.setAttribute("width", wide);
			it.setAttribute("height", high);
		}
		svg.setAttribute("viewBox", `0 0 ${wide} ${high}`);
		width = wide - 2 * LEFT;
		zoom(zoomed);
		arrange(wide);
	}

	const legend = document.querySelector("#legend .details"), legendText = legend && legend.textContent;

	/* Where there is no room beside the title, the search field stands below it. */
	function arrange(wide) {
		const isNarrow = wide < NARROW, room = isNarrow ? wide / 2 : 246, right = wide - LEFT;
		const set = (element, x, y) => {
			element.setAttribute("x", x);
			element.setAttribute("y", y);
		};
		frame.setAttribute("width", room - (isNarrow ? LEFT : 0));
		set(frame, isNarrow ? wide / 2 : wide - 255, isNarrow ? 23 : 4);
		if (legend)
			legend.textContent = elided(legendText, Math.max(2, Math.floor((right - legend.getAttribute("x")) / CHARACTER)));
		set(found, right, isNarrow ? 20 : 38);
		set(back, isNarrow ? wide / 2 - PADDING : wide - 265, isNarrow ? 38 : 20);
	}

	/* ---- search ---- */

	function matcher(text) {
		try {
			const expression = new RegExp(text, text === text.toLowerCase() ? "i" : "");
			return (name) => expression.test(name);
		} catch { /* "operator(" is none */
			return (name) => name.includes(text);
		}
	}

	/* Of the whole width, what stands in a box that matches or below one. */
	function shareOf(hits) {
		let sum = 0, end = 0;
		for (const box of hits.sort((a, b) => a.x - b.x)) {
			sum += Math.max(0, box.x + box.width - Math.max(end, box.x));
			end = Math.max(end, box.x + box.width);
		}
		return 100 * sum / root.width;
	}

	function search(text) {
		const matches = text ? matcher(text) : () => false;
		const hits = boxes.filter((box) => {
			const isHit = !box.isRest && box !== root && matches(box.name);
			box.group.classList.toggle("hit", isHit);
			return isHit;
		});
		found.textContent = text ? hits.length + " boxes, " + shareOf(hits).toFixed(2) + "%" : "";
	}

	/* ---- mouse and keys ---- */

	function select(box) {
		if (!box)
			return;
		if (current)
			current.group.classList.remove("current");
		current = box;
		box.group.classList.add("current");
		tell(box);
		const seen = box.rect.getBoundingClientRect();
		if (seen.top < ROW || seen.bottom > window.innerHeight - ROW)
			window.scrollBy(0, seen.top - window.innerHeight / 2);
	}

	function beside(from, row, step) {
		const isShown = (box) => box.group.style.display !== "none";
		const others = boxes.filter((box) => box.y === from.y + row * ROW && isShown(box));
		if (row < 0)
			return others.find((box) => box.x <= from.x + 1e-6 && box.x + box.width >= from.x + from.width - 1e-6);
		if (row > 0)
			return others.filter((box) => box.x >= from.x - 1e-6 && box.x + box.width <= from.x + from.width + 1e-6)
				.sort((a, b) => b.width - a.width)[0];
		others.sort((a, b) => a.x - b.x);
		return others[others.indexOf(from) + step];
	}

	const keys = {
		ArrowUp: () => select(beside(current || zoomed, -1, 0)),
		ArrowDown: () => select(current ? beside(current, 1, 0) : zoomed),
		ArrowLeft: () => current && select(beside(current, 0, -1)),
		ArrowRight: () => current && select(beside(current, 0, 1)),
		Enter: () => current && zoom(current),
		Escape: () => zoom(root),
		"/": () => field.focus(),
	};
	document.addEventListener("keydown", (event) => {
		if (event.target === field) {
			if (event.key === "Escape") {
				field.value = "";
				search("");
			}
			if (event.key === "Escape" || event.key === "Enter")
				field.blur();
		} else if (Object.hasOwn(keys, event.key) && !event.ctrlKey && !event.metaKey && !event.altKey) {
			event.preventDefault();
			keys[event.key]();
		}
	});
	field.addEventListener("input", () => search(field.value));
	back.addEventListener("click", () => zoom(root));
	const target = (event) => boxOf.get(event.target.closest("#boxes > g"));
	area.addEventListener("click", (event) => {
		const box = target(event);
		if (box && !box.isRest) {
			zoom(box);
			select(box);
		}
	});
	area.addEventListener("mouseover", (event) => tell(target(event)));
	area.addEventListener("mouseleave", () => tell(current));
	arrange(drawnWidth + 2 * LEFT);
	if (window.top === window) {
		fit();
		window.addEventListener("resize", fit);
	}
})();
