/* A tree as boxes on a canvas, which is as large as what can be seen of it. */

const ROW = 19, FONT = '12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const LETTERS = 30; // pixels: narrower boxes have no name
const NARROWEST = 0.4, MANY = -2, NONE = -1; // pixels; the node of what is too narrow to be drawn alone

/* Shortens in the middle: both ends of a C++ name tell something. */
class Lettering {
	constructor(font = FONT) {
		this.context = document.createElement("canvas").getContext("2d");
		this.context.font = font;
		this.widths = new Map();
	}
	width(letter) {
		let width = this.widths.get(letter);
		if (width === undefined)
			this.widths.set(letter, width = this.context.measureText(letter).width);
		return width;
	}
	widthOf(text) {
		return [...text].reduce((sum, letter) => sum + this.width(letter), 0);
	}
	fits(text, room) {
		let used = 0;
		for (let at = 0; at < text.length && used <= room; at++)
			used += this.width(text[at]);
		return used <= room;
	}
	/* forms: of the text, each shorter than the one before; the last one may not fit */
	formOf(text, forms, room) {
		return [text, ...forms].find((it) => this.fits(it, room)) || forms[forms.length - 1] || text;
	}
	fit(text, forms, room) {
		return this.elided(this.formOf(text, forms, room), room);
	}
	/* difference: what tells it from others that are seen with it, or "" */
	fitDistinct(text, forms, room, difference) {
		const LEAST = 51; // pixels, as 7 columns are
		return nameInRoom(difference, room, LEAST, {widthOf: (it) => this.widthOf(it),
			form: (rest) => this.formOf(text, forms, rest), elided: (it, rest) => this.elided(it, rest)});
	}
	elided(text, room) {
		if (this.fits(text, room))
			return text;
		let left = 0, right = text.length, width = this.width("…");
		while (left < right) {
			const fromLeft = left * 2 <= (text.length - right) * 3; // 3 letters of 5 at the left
			width += this.width(fromLeft ? text[left] : text[right - 1]);
			if (width > room)
				break;
			if (fromLeft)
				left++;
			else
				right--;
		}
		return left < 3 ? "" : text.slice(0, left) + "…" + text.slice(right);
	}
}

/* Names in cells of a list, as wide as those are: items with a func and its cell. */
class NameCells {
	constructor(profile) {
		this.profile = profile;
		this.lettering = null;
	}

	fit(items) {
		if (!items.length || !items[0].cell.clientWidth)
			return;
		const {fontSize, fontFamily} = getComputedStyle(items[0].cell), room = items[0].cell.clientWidth;
		this.lettering ||= new Lettering(`${fontSize} ${fontFamily}`);
		const of = (func) => this.profile.functions[func];
		const differences = distinctNames(items.filter(({func}) => func >= 0)
			.map(({func}) => [of(func).name, this.lettering.formOf(of(func).name, of(func).forms, room)]));
		for (const {func, cell} of items)
			cell.textContent = this.lettering.fitDistinct(of(func).name, of(func).forms, room, differences.get(of(func).name));
	}
}

class Chart {
	/*
	 * options: profile, color(tree, node), isOther(func): something else stands out,
	 * note(tree, node): what stands at the right of wide boxes,
	 * onHover(node, event), onHoverMany(box, event), onZoom(node), onSandwich(func)
	 */
	constructor(place, options) {
		Object.assign(this, options);
		this.scroll = document.createElement("div");
		this.scroll.className = "chart";
		this.scroll.tabIndex = 0;
		this.scroll.setAttribute("role", "application");
		this.scroll.setAttribute("aria-label", place.getAttribute("aria-label") +
			": arrows move, Enter zooms, question mark explains");
		this.canvas = document.createElement("canvas");
		this.spacer = document.createElement("div");
		this.scroll.append(this.canvas, this.spacer);
		place.append(this.scroll);
		this.lettering = new Lettering();
		this.tree = null;
		this.zoomed = 0;
		this.hovered = this.chosen = NONE;
		this.isFlame = true;
		this.rows = [];
		this.away = 0; // of what is seen, from the row of the root
		this.scroll.addEventListener("scroll", () => this.scrolled());
		this.canvas.addEventListener("mousemove", (event) => this.hover(event));
		this.canvas.addEventListener("mouseleave", () => this.leave());
		this.canvas.addEventListener("click", (event) => this.click(event));
		this.scroll.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.tree && this.layout()).observe(this.scroll);
	}

	show(tree, zoomed, isFlame) {
		const base = (it) => it && (it.source || it);
		const isOther = base(tree) !== base(this.tree) || isFlame !== this.isFlame;
		Object.assign(this, {tree, zoomed, isFlame});
		if (isOther) {
			this.hovered = this.chosen = NONE;
			this.away = 0;
		}
		this.layout();
	}

	scrolled() {
		const {scrollTop, clientHeight} = this.scroll;
		if (clientHeight !== this.height)
			return; // its size has changed since: resize() comes, and knows what was seen
		this.away = Math.max(0, this.isFlame ? this.whole - clientHeight - scrollTop : scrollTop);
		this.paint();
	}

	/* As wide as all of it, but for a scrollbar, if it is higher than what can be seen. */
	layout() {
		const {scroll} = this;
		scroll.style.overflowY = "hidden";
		if (!scroll.clientWidth)
			return; // another view is shown
		this.layoutRows(scroll.clientWidth);
		if (this.rows.length * ROW > scroll.clientHeight) {
			scroll.style.overflowY = "scroll";
			this.layoutRows(scroll.clientWidth);
		}
		this.findNames();
		this.resize(scroll.clientWidth);
		this.paint();
	}

	/* Boxes by row: node, x, width. Callers of the zoomed node are as wide as the chart. */
	layoutRows(width) {
		const {tree, zoomed} = this;
		this.rows = [];
		const put = (depth, node, x, wide, more) => {
			while (this.rows.length <= depth)
				this.rows.push([]);
			this.rows[depth].push({node, x, width: wide, ...more});
		};
		if (tree.size[zoomed] > 0) {
			for (let up = tree.parent[zoomed]; up >= 0; up = tree.parent[up])
				put(tree.depth[up], up, 0, width);
			put(tree.depth[zoomed], zoomed, 0, width);
			this.layoutBelow(width / tree.size[zoomed], put);
		}
	}

	/* What tells names apart that are shown alike. */
	findNames() {
		const pairs = [];
		for (const row of this.rows)
			for (const {node, width} of row)
				if (node > 0 && width > LETTERS && !this.hiddenOf(node) && this.tree.func[node] >= 0) {
					const {name, forms} = this.profile.functions[this.tree.func[node]];
					pairs.push([name, this.lettering.formOf(name, forms, this.roomIn(width))]);
				}
		this.differences = distinctNames(pairs);
	}

	roomIn(width) {
		return width - (width > 3 ? 1 : 0) - 10;
	}

	/*
	 * Of what is too narrow, one after the other, there is one box: how many, what called them, their total. Of a tree
	 * that has room ahead of its nodes, a pixel of it begins another one.
	 */
	layoutBelow(scale, put) {
		const {tree} = this, open = [{node: this.zoomed, x: 0}];
		while (open.length) {
			const {node, x} = open.pop(), depth = tree.depth[node] + 1;
			let at = x, many = x, count = 0, total = 0;
			const putMany = () => at - many >= 1 && put(depth, MANY, many, at - many, {count, total, caller: node});
			for (let child = node + 1; child < tree.end[node]; child = tree.end[child]) {
				const width = tree.size[child] * scale, ahead = tree.ahead ? tree.ahead[child] * scale : 0;
				if (ahead >= 1 || !count && ahead) {
					putMany();
					many = at + ahead;
					count = total = 0;
				}
				at += ahead;
				if (width >= NARROWEST) {
					putMany();
					put(depth, child, at, width);
					if (tree.end[child] > child + 1)
						open.push({node: child, x: at});
					many = at + width;
					count = total = 0;
				} else if (width > 0) {
					count++;
					total += tree.total[child];
				}
				at += width;
			}
			putMany();
		}
	}

	resize(width) {
		const height = this.scroll.clientHeight, ratio = window.devicePixelRatio || 1;
		const whole = Math.max(this.rows.length * ROW, height);
		for (const row of this.rows)
			row.sort((a, b) => a.x - b.x);
		this.whole = whole;
		this.height = height;
		this.canvas.width = Math.round(width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.width = width + "px";
		this.canvas.style.height = height + "px";
		this.spacer.style.height = whole - height + "px";
		this.scroll.scrollTop = this.isFlame ? whole - height - this.away : this.away;
	}

	top(depth) {
		return this.isFlame ? this.whole - (depth + 1) * ROW : depth * ROW;
	}

	paint() {
		const context = this.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;
		const style = getComputedStyle(document.documentElement);
		const color = (name) => style.getPropertyValue(name).trim();
		this.pale = document.documentElement.dataset.theme === "dark" ? 0.25 : 0.42; // so that letters can be read
		this.ink = {plain: color("--ink"), stub: color("--stub"),
			match: color("--match"), accent: color("--accent"), paper: color("--paper")};
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
		context.clearRect(0, 0, this.canvas.width, this.canvas.height);
		context.font = FONT;
		context.textBaseline = "middle";
		if (!this.rows.length) {
			context.fillStyle = this.ink.plain;
			context.fillText("There are no samples here.", 20, 30);
		}
		const scrolled = this.scroll.scrollTop, height = this.scroll.clientHeight;
		this.rows.forEach((row, depth) => {
			const y = this.top(depth) - scrolled;
			if (y > -ROW && y < height)
				for (const box of row)
					this.paintBox(context, box, depth, y);
		});
	}

	paintBox(context, box, depth, y) {
		const {tree} = this, gap = box.width > 3 ? 1 : 0, wide = box.width - gap;
		const func = box.node === MANY ? -1 : tree.func[box.node];
		const isFound = box.node !== MANY && this.isFound(box.node);
		const isPale = depth < tree.depth[this.zoomed] || this.found && !isFound || !isFound && this.isOther(func);
		context.globalAlpha = isPale ? this.pale : 1;
		const color = func < 0 ? this.ink.stub : isFound ? this.ink.match : this.color(tree, box.node);
		context.fillStyle = color;
		context.fillRect(box.x, y, wide, ROW - 1);
		if (box.node === this.chosen || box.node === this.hovered) {
			context.globalAlpha = 1;
			context.strokeStyle = box.node === this.chosen ? this.ink.accent : this.ink.plain;
			context.lineWidth = 2;
			context.strokeRect(box.x + 1, y + 1, Math.max(wide - 2, 1), ROW - 3);
		}
		if (wide > LETTERS) {
			context.globalAlpha = 1;
			context.fillStyle = func < 0 || isPale ? this.ink.plain : isFound ? this.ink.paper : inkOn(color);
			if (box.node === MANY)
				this.letterMany(context, box, y, this.roomIn(box.width));
			else
				this.letter(context, box, y, this.roomIn(box.width));
		}
		context.globalAlpha = 1;
	}

	letter(context, box, y, room) {
		const label = this.label(box.node), note = room > 110 ? this.note(this.tree, box.node) : "";
		const taken = note ? this.lettering.widthOf(note) + 12 : 0, middle = y + ROW / 2 - 0.5;
		const func = this.tree.func[box.node], forms = func < 0 || this.hiddenOf(box.node) ? [] : this.profile.functions[func].forms;
		context.fillText(this.lettering.fitDistinct(label, forms, room - taken, this.differences.get(label)), box.x + 5, middle);
		if (note)
			context.fillText(note, box.x + 5 + room - taken + 12, middle);
	}

	letterMany(context, {count, x}, y, room) {
		const text = ["+" + grouped(count) + " narrow frames", "+" + grouped(count)].find((it) => this.lettering.fits(it, room));
		context.fillText(text || "", x + 5, y + ROW / 2 - 0.5);
	}

	label(node) {
		const func = this.tree.func[node], hidden = this.hiddenOf(node);
		return hidden ? hidden.text : func < 0 ? "all" : this.profile.functions[func].name + this.recursion(node);
	}

	/* Calls of a function by itself that are one frame. */
	recursion(node) {
		const {source, origin, levels} = this.tree, all = source ? source.levels : levels;
		const count = all && all.get(source ? origin[node] : node);
		return count > 1 ? ` (recursive \u00d7${count})` : "";
	}

	/* What a row stands for besides its own frame: of foldChains(). */
	hiddenOf(node) {
		return this.tree.hidden && this.tree.hidden.get(node);
	}

	isFound(node) {
		const hidden = this.hiddenOf(node), {found} = this;
		return Boolean(found) && (hidden ? hidden.funcs.some((func) => found[func]) : found[this.tree.func[node]] > 0);
	}

	/* ---- what the user does ---- */

	boxAt(event) {
		const frame = this.canvas.getBoundingClientRect();
		const x = event.clientX - frame.left, y = event.clientY - frame.top + this.scroll.scrollTop;
		const depth = Math.floor((this.isFlame ? this.whole - y : y) / ROW);
		return (this.rows[depth] || []).find((box) => x >= box.x && x < box.x + box.width);
	}

	hover(event) {
		const box = this.boxAt(event), node = box && box.node !== MANY ? box.node : NONE;
		this.canvas.style.cursor = box ? "pointer" : "default";
		if (node !== this.hovered) {
			this.hovered = node;
			this.paint();
		}
		if (box && box.node === MANY)
			this.onHoverMany(box, event);
		else
			this.onHover(node >= 0 ? node : null, event);
	}

	leave() {
		this.hovered = NONE;
		this.paint();
		this.onHover(null);
	}

	click(event) {
		const box = this.boxAt(event);
		if (!box)
			return;
		if (box.node === MANY) {
			this.onZoom(box.caller);
			return;
		}
		this.chosen = box.node;
		if (event.shiftKey && this.tree.func[box.node] >= 0)
			this.onSandwich(this.tree.func[box.node]);
		else
			this.onZoom(box.node);
	}

	choose(box) {
		if (!box || box.node === MANY)
			return;
		this.chosen = box.node;
		const depth = this.tree.depth[box.node], y = this.top(depth);
		if (y < this.scroll.scrollTop)
			this.scroll.scrollTop = y - ROW;
		else if (y + ROW > this.scroll.scrollTop + this.scroll.clientHeight)
			this.scroll.scrollTop = y + 2 * ROW - this.scroll.clientHeight;
		this.paint();
		this.onChoose(box.node);
	}

	key(event) {
		const {tree} = this, chosen = this.chosen < 0 ? this.zoomed : this.chosen;
		if (event.ctrlKey || event.metaKey || event.altKey)
			return;
		const row = this.rows[tree.depth[chosen]] || [], at = row.findIndex((box) => box.node === chosen);
		const find = (node) => (this.rows[tree.depth[node]] || []).find((box) => box.node === node);
		const toCaller = this.isFlame ? "ArrowDown" : "ArrowUp";
		const toCallee = this.isFlame ? "ArrowUp" : "ArrowDown";
		if (event.key === toCaller)
			this.choose(chosen ? find(tree.parent[chosen]) : undefined);
		else if (event.key === toCallee)
			this.choose((this.rows[tree.depth[chosen] + 1] || [])
				.find((box) => box.node !== MANY && tree.parent[box.node] === chosen));
		else if (event.key === "ArrowLeft")
			this.choose(row.slice(0, Math.max(at, 0)).reverse().find((box) => box.node !== MANY));
		else if (event.key === "ArrowRight")
			this.choose(row.slice(at + 1).find((box) => box.node !== MANY));
		else if (event.key === "Enter")
			this.onZoom(chosen);
		else
			return;
		event.preventDefault();
	}

	foundBoxes() {
		return this.rows.flat().filter((box) => box.node > 0 && this.isFound(box.node));
	}

	/* Which one it is, from 1 on, and how many there are: "3/14"; "" where there is none. */
	chooseFound(boxes, index) {
		if (!boxes.length)
			return "";
		this.choose(boxes[index]);
		return `${index + 1}/${boxes.length}`;
	}

	hottestFound() {
		const boxes = this.foundBoxes();
		return this.chooseFound(boxes, boxes.reduce((best, box, i) => box.width > boxes[best].width ? i : best, 0));
	}

	/* The next box of a function that is searched for, or the one before. */
	nextFound(step) {
		const boxes = this.foundBoxes(), at = boxes.findIndex((box) => box.node === this.chosen);
		return this.chooseFound(boxes, (Math.max(at, step < 0 ? 0 : at) + step + boxes.length) % boxes.length);
	}
}
