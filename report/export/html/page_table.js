/* All functions, sortable; of the rows only those that can be seen are in the document. */

const ROW_PX = 24;

class Table {
	/* options: profile, weight(number), color(func), onChoose(func) */
	constructor(place, options) {
		Object.assign(this, options);
		this.sort = "self";
		this.isRising = false;
		this.order = [];
		this.head = document.createElement("div");
		this.head.className = "row head";
		for (const [sort, title, about, extra] of Table.columns) {
			const button = document.createElement("button");
			button.type = "button";
			button.dataset.sort = sort;
			button.textContent = title;
			button.title = about;
			button.className = extra;
			button.addEventListener("click", () => this.sortBy(sort));
			this.head.append(button);
		}
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

	show(weights, all, found) {
		Object.assign(this, {weights, all, found});
		this.most = [weights.self, weights.total].map((column) => column.reduce((a, b) => Math.max(a, b), 0));
		this.arrange();
	}

	sortBy(sort) {
		this.isRising = this.sort === sort ? !this.isRising : sort === "name" || sort === "object";
		this.sort = sort;
		this.arrange();
	}

	arrange() {
		const {self, total} = this.weights, {functions, objects} = this.profile;
		const by = {
			self: (a, b) => self[a] - self[b] || total[a] - total[b],
			total: (a, b) => total[a] - total[b] || self[a] - self[b],
			name: (a, b) => functions[a].name < functions[b].name ? -1 : functions[a].name > functions[b].name ? 1 : 0,
			object: (a, b) => {
				const x = objects[functions[a].object].name, y = objects[functions[b].object].name;
				return x < y ? -1 : x > y ? 1 : self[b] - self[a];
			},
		}[this.sort];
		this.order = [];
		for (let i = 0; i < total.length; i++)
			if (total[i] > 0 && (!this.found || this.found[i]))
				this.order.push(i);
		this.order.sort((a, b) => (this.isRising ? by(a, b) : by(b, a)) || a - b);
		Table.columns.forEach(([sort, title], i) => {
			const button = this.head.children[i], isSorted = sort === this.sort;
			const isMarked = isSorted && button.className !== "wide" || sort === "object" && isSorted;
			button.textContent = title + (isMarked ? this.isRising ? " ↑" : " ↓" : "");
			button.setAttribute("aria-pressed", isSorted);
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
	}

	row(index) {
		const func = this.order[index], {functions, objects, files} = this.profile, it = functions[func];
		const row = document.createElement("div");
		row.className = "row" + (index === this.chosen ? " is-chosen" : "") + (this.found ? " is-match" : "");
		row.style.top = index * ROW_PX + "px";
		row.setAttribute("role", "option");
		row.setAttribute("aria-selected", index === this.chosen);
		const cell = (text, name) => {
			const span = document.createElement("span");
			span.textContent = text;
			span.className = name;
			row.append(span);
			return span;
		};
		[this.weights.self, this.weights.total].forEach((weights, column) => {
			const share = this.all ? weights[func] / this.all : 0, bar = document.createElement("i");
			bar.style.width = 100 * weights[func] / (this.most[column] || 1) + "%";
			cell(percent(share), "number").append(bar);
			cell(this.weight(weights[func]), "number wide");
		});
		const file = files[it.file];
		cell(it.name, "name").title = it.name + (file ? "\n" + file + (it.line ? ":" + it.line : "") : "");
		const object = cell(objects[it.object].name, "object wide"), swatch = document.createElement("i");
		swatch.style.setProperty("--swatch", this.color(func));
		object.prepend(swatch);
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

/* sort, title, explanation, class */
Table.columns = [
	["self", "self %", "In the function itself", ""],
	["self", "self", "In the function itself", "wide"],
	["total", "total %", "In it and what it called", ""],
	["total", "total", "In it and what it called", "wide"],
	["name", "function", "By name", ""],
	["object", "file", "By file", "wide"],
];

function percent(share) {
	return (100 * share).toFixed(2) + " %";
}
