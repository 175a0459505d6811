/* All functions, sortable; of the rows only those that can be seen are in the document. */

const ROW_PX = 24;

class Table {
	/* options: columns(table), profile, color(func), isOther(func): is not listed, onChoose(func) */
	constructor(place, options) {
		Object.assign(this, options);
		this.head = document.createElement("div");
		this.head.className = "row head";
		this.list = this.columns(this);
		this.names = new NameCells(this.profile);
		for (const {sort, about, extra} of this.list) {
			const button = document.createElement("button");
			button.type = "button";
			button.dataset.sort = sort;
			button.title = about;
			button.className = extra;
			button.addEventListener("click", () => this.sortBy(sort));
			this.head.append(button);
		}
		this.sort = this.list.find((column) => column.isFirst).sort;
		this.isRising = false;
		this.isBySize = true; // changes, up or down
		this.order = [];
		this.rows = document.createElement("div");
		this.rows.className = "rows";
		this.rows.tabIndex = 0;
		this.rows.setAttribute("role", "listbox");
		this.rows.setAttribute("aria-label", "Functions");
		this.rows.addEventListener("scroll", () => this.paint());
		this.rows.addEventListener("keydown", (event) => this.key(event));
		place.append(this.head, this.rows);
		this.chosen = 0;
		new ResizeObserver(() => this.paint()).observe(this.rows);
	}

	/* weights: of functions, for each recording; all: what shares are of */
	show(weights, all, found) {
		Object.assign(this, {weights, all, found});
		const most = (column) => column.reduce((a, b) => Math.max(a, b), 0);
		this.most = {self: most(weights[0].self), total: most(weights[0].total)};
		this.arrange();
	}

	/* Changes go from the largest, up or down, over the greatest rise to the greatest fall. */
	sortBy(sort) {
		const {isChange, isText} = this.list.find((column) => column.sort === sort);
		if (this.sort !== sort)
			Object.assign(this, {isBySize: true, isRising: Boolean(isText)});
		else if (isChange && this.isBySize)
			this.isBySize = false;
		else if (isChange && this.isRising)
			Object.assign(this, {isBySize: true, isRising: false});
		else
			this.isRising = !this.isRising;
		this.sort = sort;
		this.arrange();
	}

	arrange() {
		const {value, then, isChange, isText} = this.list.find((column) => column.sort === this.sort);
		const of = isChange && this.isBySize ? (func) => Math.abs(value(func)) : value;
		const by = (a, b) => {
			const x = of(a), y = of(b);
			return x < y ? -1 : x > y ? 1 : !then ? 0 : isText ? then(b) - then(a) : then(a) - then(b);
		};
		this.order = [];
		for (let i = 0; i < this.profile.functions.length; i++)
			if (!this.profile.functions[i].isGroup && this.weights.some(({total}) => total[i] > 0) && (!this.found || this.found[i]) && !this.isOther(i))
				this.order.push(i);
		this.order.sort((a, b) => (this.isRising ? by(a, b) : by(b, a)) || a - b);
		let isMarked = false; // several columns may be sorted by one thing
		this.list.forEach(({sort, title}, i) => {
			const button = this.head.children[i], isSorted = sort === this.sort;
			const mark = isChange && this.isBySize ? " \u2195" : this.isRising ? " \u2191" : " \u2193";
			button.textContent = title + (isSorted && !isMarked ? mark : "");
			button.setAttribute("aria-pressed", isSorted);
			isMarked = isMarked || isSorted;
		});
		this.chosen = Math.min(this.chosen, Math.max(this.order.length - 1, 0));
		this.paint();
	}

	paint() {
		const first = Math.max(0, Math.floor(this.rows.scrollTop / ROW_PX) - 2);
		const last = Math.min(this.order.length, first + Math.ceil(this.rows.clientHeight / ROW_PX) + 5);
		const spacer = document.createElement("div");
		spacer.style.height = this.order.length * ROW_PX + "px";
		const shown = [spacer];
		for (let i = first; i < last; i++)
			shown.push(this.row(i));
		if (!this.order.length) {
			const empty = document.createElement("p");
			empty.className = "empty";
			empty.textContent = this.found ? "No function is called that." : "There are no samples here.";
			shown.push(empty);
		}
		this.rows.replaceChildren(...shown);
		this.names.fit(shown.slice(1).filter((row) => row.dataset.func).map((row) => ({func: Number(row.dataset.func), cell: row.querySelector(".name")})));
	}

	row(index) {
		const func = this.order[index], row = document.createElement("div");
		row.className = "row" + (index === this.chosen ? " is-chosen" : "") + (this.found ? " is-match" : "");
		row.style.top = index * ROW_PX + "px";
		row.dataset.func = func;
		row.setAttribute("role", "option");
		row.setAttribute("aria-selected", index === this.chosen);
		for (const {cell, text, extra, fill} of this.list) {
			const span = document.createElement("span");
			span.textContent = text(func);
			span.className = cell + (extra ? " " + extra : "");
			if (fill)
				fill(span, func);
			row.append(span);
		}
		row.addEventListener("click", () => this.onChoose(func));
		return row;
	}

	key(event) {
		const page = Math.max(1, Math.floor(this.rows.clientHeight / ROW_PX) - 1);
		const step = {ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -1e9, End: 1e9}[event.key];
		if (event.key === "Enter" && this.order.length)
			this.onChoose(this.order[this.chosen]);
		else if (step === undefined)
			return;
		else
			this.choose(Math.max(0, Math.min(this.order.length - 1, this.chosen + step)));
		event.preventDefault();
	}

	choose(index) {
		this.chosen = index;
		const top = index * ROW_PX;
		if (top < this.rows.scrollTop)
			this.rows.scrollTop = top;
		else if (top + ROW_PX > this.rows.scrollTop + this.rows.clientHeight)
			this.rows.scrollTop = top + ROW_PX - this.rows.clientHeight;
		this.paint();
	}
}

/* ---- columns ---- */

const ABOUT = {self: "In the function itself", total: "In it and what it called"};

/*
 * sort: what it is sorted by; value(func), then(func) where that is equal; text(func), fill(cell, func);
 * extra: "wide" vanishes on small screens
 */
function nameColumns(table) {
	const {functions, objects, files} = table.profile;
	return [
		{sort: "name", title: "function", about: "By name", cell: "name", extra: "", isText: true,
			value: (func) => functions[func].name, text: (func) => functions[func].name,
			fill: (cell, func) => {
				const it = functions[func], file = files[it.file];
				cell.title = it.name + (it.cause ? "\n" + it.cause : file ? "\n" + file + (it.line ? ":" + it.line : "") : "");
			}},
		{sort: "object", title: "file", about: "By file", cell: "object", extra: "wide", isText: true,
			value: (func) => objects[functions[func].object].name, then: (func) => table.weights[0].self[func],
			text: (func) => objects[functions[func].object].name || "-",
			fill: (cell, func) => {
				const swatch = document.createElement("i");
				swatch.style.setProperty("--swatch", table.color(func));
				cell.prepend(swatch);
			}},
	];
}

function plainColumns(table, weightText) {
	const pair = (sort, other, isFirst) => {
		const value = (func) => table.weights[0][sort][func], then = (func) => table.weights[0][other][func];
		return [
			{sort, title: sort + " %", about: ABOUT[sort], cell: "number", extra: "", value, then, isFirst,
				text: (func) => percent(table.all ? value(func) / table.all : 0),
				fill: (cell, func) => {
					const bar = document.createElement("i");
					bar.style.width = 100 * value(func) / (table.most[sort] || 1) + "%";
					cell.append(bar);
				}},
			{sort, title: sort, about: ABOUT[sort], cell: "number", extra: "wide", value, then,
				text: (func) => weightText(value(func))},
		];
	};
	return [...pair("self", "total", true), ...pair("total", "self", false), ...nameColumns(table)];
}

function diffColumns(table, diff, show) {
	const triple = (kind, isFirst) => {
		const change = (func) => diff.changeOfFunction(kind, table.weights, func);
		const about = ABOUT[kind];
		return [
			{sort: kind + "Old", title: kind + " before", about, cell: "number", extra: "wide",
				value: (func) => change(func).old, text: (func) => show.value(change(func).old)},
			{sort: kind, title: kind + " new", about, cell: "number", extra: "",
				value: (func) => change(func).now, text: (func) => show.value(change(func).now)},
			{sort: kind + "Change", title: "change", about: about + ": new less before", cell: "change", extra: "",
				isChange: true, isFirst, value: (func) => change(func).by,
				then: (func) => table.weights[0].total[func],
				text: (func) => change(func).isKnown ? show.by(change(func).by) : "?",
				fill: (cell, func) => {
					const it = change(func);
					cell.style.setProperty("--swatch", diff.color(it));
					cell.style.color = inkOn(diff.color(it));
					cell.title = show.line(it);
				}},
		];
	};
	return [...triple("self", true), ...triple("total", false), ...nameColumns(table)];
}
