/* The page: what is selected, the views, the keys. */

const byId = (id) => document.getElementById(id);

const KEYS = [
	["/", "search; /regex/ for patterns", () => byId("search").focus()],
	["n", "next frame that was found", () => page.nextFound(1)],
	["N", "the one before", () => page.nextFound(-1)],
	["f", "flame graph: callers below", () => page.go({view: "flame"})],
	["i", "icicle graph: callers above", () => page.go({view: "icicle"})],
	["t", "table of functions", () => page.go({view: "table"})],
	["s", "callers and callees of the chosen function", () => page.openSandwich()],
	["l", "light or dark", () => page.toggleTheme()],
	["0", "everything: no zoom, thread, range or search", () => page.reset()],
	["?", "this list", () => byId("help").showModal()],
	["Escape", "back: search, then zoom, then the rest", () => page.back()],
];
const DIFF_KEYS = [
	["d", "colors by what changed, or by file", () => page.setDiff({isColored: !page.diff.isColored})],
	["w", "widths of the new recording, the old one, both", () => page.nextWidth()],
	["a", "absolute figures, or shares of all", () => page.setDiff({isAbsolute: !page.diff.isAbsolute})],
];
/* What has no action here is done by what has the focus. */
const MORE_KEYS = [
	["← ↑ → ↓", "from frame to frame, from row to row"],
	["Enter", "zoom into the chosen frame, open the chosen function"],
];

class Page {
	constructor(profile) {
		this.profile = profile;
		this.diff = profile.sides.length > 1 ? new Diff(profile) : null;
		this.diffText = this.diff && new DiffText(this.diff, (value) => this.value(value));
		this.keys = this.diff ? [...KEYS, ...DIFF_KEYS] : KEYS;
		this.found = null;
		this.state = {view: "flame", zoom: 0, func: -1, thread: "", first: 0, end: profile.slices};
		this.depth = 0; // how many states the browser can go back to
		this.weigh();
		this.colors = new Colors(profile, this.weights);
		this.makeViews();
		this.makeControls();
		this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
		this.showHead();
		history.replaceState({...this.state, depth: 0}, "");
		this.show();
	}

	/* ---- making ---- */

	makeViews() {
		const chart = (place, onZoom) => new Chart(byId(place), {
			profile: this.profile,
			color: (tree, node) => this.diff && this.diff.isColored ? this.diff.color(this.diff.changeOf(tree, node))
				: this.colors.color(tree.func[node], tree.inlined[node]),
			isDim: (tree, node) => this.diff && this.diff.isColored && this.diff.isDim(this.diff.changeOf(tree, node)),
			note: (tree, node) => this.diff ? this.diffText.note(this.diff.changeOf(tree, node)) : "",
			onHover: (node, event) => this.hover(this.charts[place], node, event),
			onChoose: (node) => this.describe(this.charts[place], node, true),
			onZoom,
			onSandwich: (func) => this.go({view: "sandwich", func}),
		});
		const inSandwich = (place) => (node) => {
			const func = this.charts[place].tree.func[node];
			if (func >= 0)
				this.go({func});
		};
		this.charts = {
			"view-chart": chart("view-chart", (node) => this.zoomTo(node)),
			callers: chart("callers", inSandwich("callers")),
			callees: chart("callees", inSandwich("callees")),
		};
		this.table = new Table(byId("view-table"), {
			profile: this.profile,
			columns: (table) => this.diff ? diffColumns(table, this.diff, this.diffText)
				: plainColumns(table, (weight) => this.weight(weight)),
			color: (func) => this.colors.color(func, 0),
			onChoose: (func) => this.go({view: "sandwich", func}),
		});
		this.time = new TimeLine(byId("time"), {onSelect: (first, end) => this.go({first, end, zoom: 0})});
	}

	makeControls() {
		for (const tab of byId("tabs").children)
			tab.addEventListener("click", () => tab.dataset.view === "sandwich"
				? this.openSandwich() : this.go({view: tab.dataset.view}));
		byId("search").addEventListener("input", () => this.search());
		byId("threads").addEventListener("change", () => this.go({thread: byId("threads").value, zoom: 0}));
		for (const id of ["from", "to"])
			byId(id).addEventListener("change", () => this.typeRange());
		byId("reset").addEventListener("click", () => this.reset());
		byId("theme").addEventListener("click", () => this.toggleTheme());
		byId("help-open").addEventListener("click", () => byId("help").showModal());
		byId("to-sandwich").addEventListener("click", () => this.openSandwich());
		if (this.diff)
			this.makeDiffControls();
		addEventListener("popstate", (event) => this.restore(event.state));
		addEventListener("keydown", (event) => this.key(event));
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => this.setTheme(event.matches));
		for (const [key, about] of [...this.keys, ...MORE_KEYS]) {
			const term = document.createElement("dt"), text = document.createElement("dd");
			const cap = document.createElement("kbd");
			cap.textContent = key;
			term.append(cap);
			text.textContent = about;
			byId("keys").append(term, text);
		}
		this.makeThreads();
	}

	makeThreads() {
		const select = byId("threads"), {threads, threadsMerged} = this.profile, byProcess = new Map();
		const add = (place, value, text) => place.append(new Option(text, value));
		add(select, "", threads.length > 1 ? `All ${threads.length + Math.max(threadsMerged - 1, 0)} threads` : "One thread");
		const isByName = threads.every((thread) => !thread.tid);
		const text = (thread, i) => threadsMerged && i === threads.length - 1 ? `${threadsMerged} other threads`
			: (thread.comm || "[unknown]") + (isByName ? "" : " " + thread.tid);
		if (isByName)
			threads.forEach((thread, i) => add(select, "t" + i, text(thread, i)));
		else threads.forEach((thread, i) => {
			if (!byProcess.has(thread.pid))
				byProcess.set(thread.pid, []);
			byProcess.get(thread.pid).push(i);
		});
		for (const [pid, members] of byProcess) {
			const group = document.createElement("optgroup");
			group.label = `${threads[members[0]].comm || "[unknown]"}, process ${pid}`;
			if (members.length > 1)
				add(group, "p" + pid, `all ${members.length} threads of ${pid}`);
			for (const i of members)
				add(group, "t" + i, text(threads[i], i));
			select.append(group);
		}
		select.disabled = threads.length < 2;
	}

	showHead() {
		const {profile} = this, title = profile.title || profile.sides[this.diff ? 1 : 0].title || "recording";
		const name = this.diff ? `${title}: ${this.sideName(1)} \u2192 ${this.sideName(0)}` : title;
		document.title = name + " \u2013 ebprof";
		byId("title").textContent = name;
		byId("summary").textContent = (this.diff ? "New: " : "") + this.summary(profile.sides[0]);
		if (this.diff) {
			byId("summary-old").hidden = false;
			byId("summary-old").textContent = "Old: " + this.summary(profile.sides[1]);
			byId("time").title = "Over time: bars are the new recording, the line is the old one";
		}
		const notes = this.notes();
		byId("notes").hidden = !notes.length;
		byId("notes").textContent = notes.join(" ");
	}

	sideName(side) {
		return this.profile.sides[side].file || ["new", "old"][side];
	}

	summary(side) {
		const parts = [side.event + (side.frequency ? ` ${side.frequency} Hz` : "")];
		parts.push(`${grouped(side.samples)} samples`, `${seconds(side.spanNs)} s`);
		if (this.diff) // of all threads and all the time, which is what is shown first
			parts[1] += " = " + this.value(this.diff.values[this.profile.sides.indexOf(side)]) + (side.unit === "ns" ? " on CPUs" : "");
		if (side.host)
			parts.push(side.host);
		if (side.beginMs)
			parts.push(new Date(side.beginMs).toISOString().replace("T", " ").slice(0, 19) + " UTC");
		if (this.diff)
			parts.unshift(side.file, side.title);
		return parts.filter((part) => part).join(" \u00b7 ");
	}

	/* What is not in this page, or not exact. */
	notes() {
		const {profile} = this, notes = [];
		profile.sides.forEach((side, i) => {
			const of = this.diff ? ["new", "old"][i] + " recording" : "recording";
			if (this.diff && !side.samples)
				notes.push(`The ${of} has no samples: there is nothing to compare.`);
			if (side.lost)
				notes.push(`${grouped(side.lost)} samples (${percent(side.lost / (side.samples + side.lost))}) were lost while recording` +
					(this.diff ? ` the ${["new", "old"][i]} one.` : "."));
			if (side.damage)
				notes.push(`The ${of} is damaged: ${side.damage}.`);
			if (side.otherSamples)
				notes.push(`${grouped(side.otherSamples)} samples of other events are not shown` +
					(this.diff ? ` (${of}).` : "."));
		});
		if (this.diff && profile.samples && profile.sides[1].samples)
			notes.push(...this.diffText.doubts(this.functions));
		if (profile.foldedNodes) {
			const shares = profile.sides.map((side, i) => percent(side.foldedWeight / (profile.tree.columns[i].total[0] || 1)));
			notes.push(`${grouped(profile.foldedNodes)} frames of the smallest branches, ` +
				`${shares.join(" and ")} of the weight, are shown as ` +
				"[small branches]: figures of the functions in them are too low.");
		}
		if (profile.threadsMerged)
			notes.push(`The ${grouped(profile.threadsMerged)} threads that did least are put together.`);
		if (profile.slices < (this.diff ? 16 : 64) && profile.slices * 1e8 < Math.max(...profile.sides.map((side) => side.spanNs)))
			notes.push(`There is so much that time is told apart by ${seconds(profile.sliceNs)} s only.`);
		return notes;
	}

	/* ---- states ---- */

	go(change) {
		const next = {...this.state, ...change};
		if (Object.keys(next).every((key) => next[key] === this.state[key]))
			return;
		this.depth++;
		history.pushState({...next, depth: this.depth}, "");
		this.change(next);
	}

	restore(state) {
		if (!state)
			return;
		this.depth = state.depth;
		const {depth, ...next} = state;
		this.change(next);
	}

	change(next) {
		const {state} = this;
		this.state = next;
		if (next.thread !== state.thread || next.first !== state.first || next.end !== state.end) {
			this.weigh();
		}
		this.show();
	}

	/* What the selection did. */
	weigh() {
		weigh(this.profile, this.threadMask(), this.state.first, this.state.end);
		this.functions = this.profile.tree.columns.map((column) => weighFunctions(this.profile, column));
		this.weights = this.functions[0];
		this.sandwich = null;
		if (this.diff)
			this.diff.refresh();
	}

	threadMask() {
		const {thread} = this.state, {threads} = this.profile;
		if (!thread)
			return null;
		return Uint8Array.from(threads, (it, i) => thread === "t" + i || it.tid && thread === "p" + it.pid ? 1 : 0);
	}

	back() {
		const dialog = byId("help");
		if (dialog.open) {
			dialog.close();
		} else if (byId("search").value) {
			byId("search").value = "";
			this.search();
		} else if (this.depth > 0) {
			history.back();
		}
	}

	reset() {
		byId("search").value = "";
		this.search();
		this.go({zoom: 0, thread: "", first: 0, end: this.profile.slices});
	}

	zoomTo(node) {
		this.go({zoom: node});
	}

	openSandwich() {
		const chart = this.activeChart(), chosen = chart && chart.chosen > 0 ? chart.tree.func[chart.chosen] : -1;
		let func = this.state.view === "table" ? this.table.order[this.table.chosen] : chosen;
		if (func === undefined || func < 0)
			func = this.state.func;
		if (func < 0) // the hottest one
			func = this.weights.self.reduce((best, weight, i, all) => weight > all[best] ? i : best, 0);
		this.go({view: "sandwich", func});
	}

	activeChart() {
		const {view} = this.state;
		return view === "sandwich" ? [this.charts.callees, this.charts.callers].find((it) => it.chosen >= 0)
			: view === "table" ? null : this.charts["view-chart"];
	}

	/* ---- showing ---- */

	show() {
		const {profile, state} = this, {view} = state, isChart = view === "flame" || view === "icicle";
		byId("view-chart").hidden = !isChart;
		byId("view-table").hidden = view !== "table";
		byId("view-sandwich").hidden = view !== "sandwich";
		for (const tab of byId("tabs").children)
			tab.setAttribute("aria-selected", tab.dataset.view === view);
		byId("threads").value = state.thread;
		byId("from").value = seconds(state.first * profile.sliceNs);
		byId("to").value = seconds(Math.min(state.end * profile.sliceNs, profile.spanNs));
		this.showTime();
		if (isChart)
			this.charts["view-chart"].show(profile.tree, state.zoom, view === "flame");
		else if (view === "table")
			this.table.show(this.functions, profile.tree.total[0], this.found);
		else
			this.showSandwich();
		this.showFound();
		this.describe(this.charts["view-chart"], isChart ? state.zoom : 0, false);
	}

	/* In units of the event where there are two: they may have had other frequencies. */
	showTime() {
		const [now, old] = this.profile.entries.map((entries, i) =>
			weighSlices(this.profile, this.threadMask(), entries).map((weight) => weight * (this.diff ? this.profile.sides[i].period : 1)));
		this.time.show(now, old || null, this.state.first, this.state.end);
	}

	showSandwich() {
		const {profile, state} = this, scales = this.diff ? this.diff.shares() : [1];
		if (!this.sandwich || this.sandwich.func !== state.func)
			this.sandwich = {func: state.func, callers: callersOf(profile.tree, state.func, scales),
				callees: calleesOf(profile.tree, state.func, scales)};
		if (this.diff)
			for (const tree of [this.sandwich.callers, this.sandwich.callees])
				this.diff.setSizes(tree);
		byId("sandwich-name").textContent = this.functionText(state.func);
		this.charts.callers.show(this.sandwich.callers, 0, true);
		this.charts.callees.show(this.sandwich.callees, 0, false);
	}

	functionText(func) {
		const it = this.profile.functions[func], all = this.profile.tree.total[0] || 1;
		if (this.diff) {
			const line = (kind) => `${kind} ${this.diffText.line(this.diff.change(...this.functions.map((column) => column[kind][func])))}`;
			return `${it.name} \u2014 ${line("self")} \u00b7 ${line("total")}`;
		}
		return `${it.name} — self ${percent(this.weights.self[func] / all)}, ` +
			`total ${percent(this.weights.total[func] / all)}`;
	}

	search() {
		this.found = searchFunctions(this.profile, byId("search").value.trim());
		if (this.state.view === "table")
			this.table.show(this.functions, this.profile.tree.total[0], this.found);
		this.showFound();
	}

	showFound() {
		const {tree} = this.profile;
		const share = ({total}) => total[0] ? weighFound(tree, this.found, total) / total[0] : 0;
		byId("matched").textContent = !this.found ? ""
			: tree.columns.map((column) => percent(share(column))).reverse().join(" \u2192 ");
		for (const chart of Object.values(this.charts)) {
			chart.found = this.found;
			if (chart.tree)
				chart.paint();
		}
	}

	nextFound(step) {
		if (this.found && (this.state.view === "flame" || this.state.view === "icicle"))
			this.charts["view-chart"].nextFound(step);
	}

	typeRange() {
		const {profile} = this, of = (id) => Number(byId(id).value.replace(",", ".")) * 1e9 / profile.sliceNs;
		const first = Math.max(0, Math.min(profile.slices - 1, Math.floor(of("from") + 1e-6)));
		const end = Math.max(first + 1, Math.min(profile.slices, Math.ceil(of("to") - 1e-6)));
		if (Number.isNaN(first) || Number.isNaN(end))
			this.show();
		else
			this.go({first, end, zoom: 0});
	}

	setTheme(isDark) {
		document.documentElement.dataset.theme = isDark ? "dark" : "light";
		this.colors.dark = isDark;
		if (this.diff)
			this.diff.dark = isDark;
		this.showLegend();
		this.time.paint();
		if (this.state.view === "table" && this.table.weights)
			this.table.paint();
		for (const chart of Object.values(this.charts))
			if (chart.tree)
				chart.paint();
	}

	showLegend() {
		const rows = this.diff && this.diff.isColored ? this.diff.legend((by) => this.diff.isAbsolute ? this.diffText.by(by)
				: signed(by, Math.abs(100 * by).toFixed(0) + " points")) : this.colors.legend();
		byId("legend").classList.toggle("is-scale", Boolean(this.diff && this.diff.isColored));
		byId("legend").replaceChildren(...rows.map(([text, color]) => {
			const item = document.createElement("li"), swatch = document.createElement("i");
			if (color) {
				swatch.style.setProperty("--swatch", color);
				item.append(swatch);
			}
			item.append(text.length > 24 ? text.slice(0, 23) + "\u2026" : text);
			return item;
		}));
	}

	toggleTheme() {
		this.setTheme(document.documentElement.dataset.theme !== "dark");
	}

	/* ---- what a frame is ---- */

	/* In what a sample counts: seconds where it is time. */
	weight(weight) {
		return this.value(weight * this.profile.period);
	}

	value(value) {
		if (this.profile.sides.some(({unit}) => unit === "ns"))
			return value >= 1e9 ? (value / 1e9).toFixed(2) + " s" : (value / 1e6).toFixed(0) + " ms";
		return grouped(value);
	}

	/* ---- two recordings ---- */

	makeDiffControls() {
		byId("view-table").classList.add("is-diff");
		byId("diff").hidden = false;
		document.body.classList.add("is-diff");
		for (const button of byId("diff").querySelectorAll("button"))
			button.addEventListener("click", () => this.setDiff({
				width: {width: button.value},
				measure: {isAbsolute: button.value === "absolute"},
				colors: {isColored: button.value === "change"},
			}[button.parentNode.dataset.sets]));
		this.showDiffControls();
	}

	showDiffControls() {
		const {width, isAbsolute, isColored} = this.diff;
		const chosen = {width, measure: isAbsolute ? "absolute" : "share", colors: isColored ? "change" : "file"};
		for (const button of byId("diff").querySelectorAll("button"))
			button.setAttribute("aria-pressed", button.value === chosen[button.parentNode.dataset.sets]);
	}

	setDiff(change) {
		Object.assign(this.diff, change);
		this.diff.refresh();
		this.showDiffControls();
		this.showLegend();
		this.show();
	}

	nextWidth() {
		const widths = ["new", "old", "both"];
		this.setDiff({width: widths[(widths.indexOf(this.diff.width) + 1) % widths.length]});
	}

	/* What a tip shows: a name and lines. */
	facts(chart, node) {
		const {tree} = chart, {profile} = this, func = tree.func[node], all = profile.tree.total[0] || 1;
		const figures = (name, weight) => `${name} ${percent(weight / all)} · ${this.weight(weight)}` +
			(profile.unit === "ns" ? ` · ${grouped(weight)} samples` : "");
		const lines = [];
		if (func >= 0) {
			const it = profile.functions[func], object = profile.objects[it.object], file = profile.files[it.file];
			lines.push(object.name + (object.isKernel ? " (kernel)" : "") +
				(tree.inlined[node] ? " (inlined)" : ""));
			if (file)
				lines.push(file + (it.line ? ":" + it.line : ""));
		}
		if (this.diff)
			return {name: chart.label(node), lines: [...lines, ...this.diffText.facts(chart.tree, node, chart === this.charts.callers)].filter((line) => line)};
		lines.push(figures("total", tree.total[node]));
		if (chart !== this.charts.callers)
			lines.push(figures("self", tree.self[node]));
		return {name: chart.label(node), lines: lines.filter((line) => line)};
	}

	hover(chart, node, event) {
		const tip = byId("tip");
		tip.hidden = node === null;
		if (node === null)
			return;
		const {name, lines} = this.facts(chart, node), title = document.createElement("b");
		title.textContent = name;
		tip.replaceChildren(title, ...lines.map((line) => {
			const text = document.createElement("p");
			text.textContent = line;
			return text;
		}));
		const frame = tip.getBoundingClientRect(), x = event.clientX + 14, y = event.clientY + 18;
		tip.style.left = Math.max(4, Math.min(x, innerWidth - frame.width - 8)) + "px";
		tip.style.top = (y + frame.height > innerHeight - 8 ? Math.max(4, event.clientY - frame.height - 12) : y) + "px";
	}

	describe(chart, node, isAloud) {
		const text = byId("path");
		if (!chart.tree) {
			text.textContent = "";
			return;
		}
		const {name, lines} = this.facts(chart, node), strong = document.createElement("b");
		strong.textContent = name;
		text.replaceChildren(strong, "  " + lines.join("  ·  "));
		byId("to-sandwich").hidden = chart.tree.func[node] < 0 || this.state.view === "sandwich";
		if (isAloud)
			byId("live").textContent = name + ", " + lines.join(", ");
	}

	key(event) {
		const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
			return;
		if (isTyping && event.key !== "Escape")
			return;
		if (byId("help").open && event.key !== "?")
			return; // the dialog closes itself
		const row = this.keys.find(([key]) => key === event.key);
		if (!row)
			return;
		event.preventDefault();
		if (isTyping)
			event.target.blur();
		row[2]();
	}
}

function grouped(number) {
	return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function seconds(ns) {
	return (ns / 1e9).toFixed(ns < 1e10 ? 3 : 2);
}

let page = null;
unpack(byId("data").textContent)
	.then((bytes) => { page = new Page(readProfile(bytes)); })
	.catch((error) => {
		byId("notes").hidden = false;
		byId("notes").textContent = "This page cannot be shown: " + error.message;
		throw error;
	});
