/* Lines and instructions of the hottest functions, with what each took of the whole recording. */

const CODE_ROWS = ["note", "file", "source", "label", "code", "inlined"]; // enum listing_row_kind

class SourceView {
	/* options: profile, value(value): as text, onFunction(func) */
	constructor(place, options) {
		Object.assign(this, options);
		this.select = document.createElement("select");
		this.select.setAttribute("aria-label", "Function");
		for (const [func, {total}] of this.profile.code)
			this.select.append(new Option(`${this.profile.functions[func].name} \u00b7 ${this.value(total)}`, func));
		this.select.addEventListener("change", () => this.onFunction(Number(this.select.value)));
		this.about = document.createElement("span");
		const head = document.createElement("div");
		head.className = "source-head";
		head.append(this.select, this.about);
		this.rows = document.createElement("div");
		this.rows.className = "source";
		this.rows.tabIndex = 0;
		place.append(head, this.rows);
	}

	/* The function itself, where it has code here, else the hottest one. */
	functionOf(func) {
		return this.profile.code.has(func) ? func : this.profile.code.keys().next().value;
	}

	/* onlyScripts: as the other views, where what native code took counts for the script that called it */
	show(func, isAssembly, onlyScripts) {
		const shown = this.functionOf(func), code = this.profile.code.get(shown), it = this.profile.functions[shown];
		const hasSource = code.rows.some(({kind, text}) => CODE_ROWS[kind] === "source" && text);
		this.select.value = shown;
		this.about.textContent = `self ${this.value(code.self)}, total ${this.value(code.total)} of the whole recording; percent are of this function; ` +
			(onlyScripts && this.profile.kinds[it.kind].isScript ? "native code that it calls is not in its self here; " : "") +
			(code.rows.some(({kind}) => CODE_ROWS[kind] === "inlined") ? "what was inlined into a line has rows of its own below it; " : "") +
			(this.profile.objects[it.object].name || "no file") + (code.left ? `; ${grouped(code.left)} more rows are not in this page` : "");
		this.file = this.profile.files[it.file];
		/* Inlined lines without samples are there for their instructions; what other code took is among the lines. */
		const isOfCode = ({kind, self, total}) => ["label", "code"].includes(CODE_ROWS[kind]) ||
			!total && (CODE_ROWS[kind] === "inlined" || CODE_ROWS[kind] === "note" && self);
		const rows = code.rows.filter((row) => isAssembly || !hasSource || !isOfCode(row));
		this.rows.replaceChildren(this.head(), ...rows.map((row) => this.row(row, code)));
		const hottest = rows.reduce((best, row, i) => row.self > rows[best].self ? i : best, 0);
		if (rows.length)
			this.rows.scrollTop = this.rows.children[hottest + 1].offsetTop - this.rows.clientHeight / 2;
	}

	head() {
		const row = document.createElement("div");
		row.className = "is-head";
		for (const [className, textContent] of [["number", "self %"], ["number wide", "self"], ["number wide", "total"], ["line", "line"]])
			row.append(Object.assign(document.createElement("span"), {className, textContent}));
		return row;
	}

	row({kind, line, text, self, total}, code) {
		const row = document.createElement("div"), kindName = CODE_ROWS[kind];
		const put = (className, content) => row.appendChild(Object.assign(document.createElement("span"), {className, textContent: content}));
		row.className = "is-" + kindName;
		if (kindName === "file")
			this.file = text;
		if (kindName === "file" || kindName === "label" || !total && kindName === "note" && !self) {
			put("text", text);
			return row;
		}
		const share = self / (code.self || code.total || 1);
		put("number", self ? percent(self / (code.total || 1)) : "");
		put("number wide", self ? this.value(self) : "");
		put("number wide", total > self ? this.value(total) : "");
		put("line", kindName === "code" ? line.toString(16) : kindName === "source" && line || "");
		put("text", text);
		row.title = (kindName === "source" && this.file ? `${this.file}:${line}\n` : "") + `self ${this.value(self)}, total ${this.value(total)}`;
		row.style.setProperty("--heat", `${Math.round(60 * Math.sqrt(Math.min(1, share)))}%`);
		return row;
	}
}
