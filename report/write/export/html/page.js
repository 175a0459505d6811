/* The page: what is selected, and the views of it. */

const byId = (id) => document.getElementById(id);
const NO_CHARTS = ["changes", "table", "source"]; // views that have none

class Page {
	constructor(profile, event) {
		this.profile = profile;
		this.event = event; // of profile.events
		this.diff = profile.sides.length > 1 ? new Diff(profile) : null;
		this.diffText = this.diff && new DiffText(this.diff, (value) => this.value(value));
		this.found = null;
		this.groups = new Groups(profile);
		this.hasScripts = profile.functions.some(({kind}) => profile.kinds[kind].isScript);
		this.hasKernel = profile.functions.some(({kind}) => profile.kinds[kind].isKernel);
		this.hasTracks = profile.threads.length > 1 || profile.parts.some(({isWait}) => isWait);
		this.opened = new WeakMap(); // by tree: chains that are not folded
		this.usual = {view: this.diff ? "changes" : "flame", zoom: 0, func: -1, thread: "", first: 0, end: profile.slices, kind: -1, narrow: "",
			scripts: this.hasScripts, nokernel: false, fold: "", tracks: true, assembly: false, group: profile.isSystem ? "process" : ""};
		this.open(location.hash);
		this.depth = 0; // how many states the browser can go back to
		this.weigh();
		this.colors = new Colors(profile, this.weights);
		this.makeViews();
		this.facts = new Facts(this);
		this.waits = new WaitList(byId("waits"), profile.waits, (row) => this.chooseWait(row));
		this.controls = new Controls(this);
		new Keys(Boolean(this.diff));
		addEventListener("popstate", ({state}) => this.restore(state));
		matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => this.setTheme(event.matches));
		this.setTheme(matchMedia("(prefers-color-scheme: dark)").matches);
		this.mark();
		if (profile.parts.some(({isWait}) => isWait))
			byId("time").title = "What ran and waited";
		new Summary(profile, this.diffText, (value) => this.value(value)).show(this.functions);
		history.replaceState({...this.state, depth: 0}, "");
		this.search();
		this.show();
		this.keepFocus();
	}

	/* Takes what the hash says. */
	open(hash) {
		const state = stateOfHash(hash, this.usual);
		if (!this.groups.has(state.group))
			state.group = this.usual.group;
		state.scripts = state.scripts && this.hasScripts;
		state.nokernel = state.nokernel && this.hasKernel;
		this.groups.use(state);
		this.state = possibleState(state, this.usual, this.profile);
		byId("search").value = stateOfHash(hash, {search: ""}).search;
		if (this.diff)
			Object.assign(this.diff, stateOfHash(hash, this.diff.usual));
	}

	/* ---- making ---- */

	makeViews() {
		const chart = (place, onZoom) => new Chart(byId(place), {
			profile: this.profile,
			color: (tree, node) => this.diff && this.diff.isColored ? this.diff.color(this.diff.changeOf(tree, node))
				: this.colors.color(tree.func[node], tree.inlined[node]),
			isOther: (func) => this.colors.isOther(func),
			note: (tree, node) => this.diff ? this.diffText.note(this.diff.changeOf(tree, node)) : "",
			onHover: (node, event) => this.facts.tip(this.charts[place], node, event),
			onHoverMany: (box, event) => this.facts.tipOfMany(this.charts[place], box, event),
			onChoose: (node) => this.facts.describe(this.charts[place], node, true),
			onZoom,
			onSandwich: (func) => this.go({view: "sandwich", func}),
		});
		const inSandwich = (place) => (node) => {
			const func = this.charts[place].tree.func[node];
			if (!this.unfold(this.charts[place], node) && func >= 0)
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
			isOther: (func) => this.colors.isOther(func),
			onChoose: (func) => this.go({view: "sandwich", func}),
		});
		if (this.profile.code.size)
			this.source = new SourceView(byId("view-source"), {
				profile: this.profile,
				value: (value) => this.value(value),
				onFunction: (func) => this.go({func}),
			});
		if (this.diff)
			this.changes = new ChangesView(byId("view-changes"), {
				profile: this.profile,
				found: () => this.found,
				onChoose: (func) => this.go({view: "sandwich", func}),
			});
		this.tracks = new Tracks(byId("tracks"), {
			profile: this.profile,
			onPlace: (left, right) => this.time.standOver(left, right, this.threadMask() ? "chosen threads" : "all threads"),
			onThread: (i) => this.go({thread: this.state.thread === "t" + i ? "" : "t" + i, zoom: 0}),
			onSelect: (first, end) => this.selectTime(first, end),
			onHover: (texts, event) => this.facts.showTip(texts, event),
		});
		this.time = new TimeLine(byId("time"), {span: ticksSpan(this.profile), onSelect: (first, end) => this.selectTime(first, end)});
	}

	/* ---- states ---- */

	go(change) {
		const next = {...this.state, ...change}, treeOf = ({view}) => ["inverted", "order"].includes(view) ? view : "calls";
		if (treeOf(next) !== treeOf(this.state))
			next.zoom = 0;
		if (Object.keys(next).every((key) => next[key] === this.state[key]))
			return;
		this.depth++;
		history.pushState({...next, depth: this.depth}, "", this.addressOf(next));
		this.change(next);
	}

	/* What went ahead of a search or of widths is shown with those of now. A hash that was typed has no state. */
	restore(state) {
		if (!state || chosenEvent() !== this.event || isSwapped() !== Boolean(this.diff && this.diff.isSwapped)) {
			location.reload();
			return;
		}
		const {depth, ...next} = state;
		this.depth = depth;
		this.change(next);
	}

	addressOf(state) {
		const all = {event: this.event, search: byId("search").value.trim(), ...state, ...this.diff || {}};
		const hash = hashOfState(all, {event: 0, search: "", ...this.usual, ...this.diff ? this.diff.usual : {}});
		return location.pathname + (hash === "#" ? "" : hash);
	}

	/* Of what is shown; nothing is added to what the browser can go back to. It bears few calls a second. */
	tell() {
		const address = this.addressOf(this.state);
		if (address !== location.pathname + location.hash)
			history.replaceState({...this.state, depth: this.depth}, "", address);
	}

	/* Where a page may not write to the clipboard by itself, what is selected can be copied. */
	copyLink() {
		const say = (text) => {
			byId("link").textContent = byId("live").textContent = text;
			setTimeout(() => { byId("link").textContent = "Copy link"; }, 2000);
		};
		this.tell();
		const copied = navigator.clipboard ? navigator.clipboard.writeText(location.href) : Promise.reject();
		copied.then(() => say("Copied"), () => say("Copy the address"));
	}

	change(next) {
		const {state} = this;
		this.state = next;
		if (["group", "scripts", "nokernel"].some((key) => next[key] !== state[key]))
			this.regroup();
		else if (["thread", "first", "end", "narrow"].some((key) => next[key] !== state[key]))
			this.weigh();
		if (next.kind !== state.kind)
			this.mark();
		this.show();
		this.keepFocus();
	}

	/* What the selection did. */
	weigh() {
		this.kept = narrowed(this.profile, this.narrowTexts());
		weigh(this.profile, this.threadMask(), this.state.first, this.state.end, this.kept);
		this.functions = this.profile.tree.columns.map((column) => weighFunctions(this.profile, column));
		this.weights = this.functions[0];
		this.sandwich = this.turned = this.ordered = this.lanes = null;
		if (this.diff)
			this.diff.refresh();
		if (this.colors) {
			this.colors.weigh(this.weights);
			this.controls.showLegend();
		}
	}

	narrowTexts() {
		return this.state.narrow.split("\n").filter((text) => text);
	}

	/* Only stacks that have what is searched for. */
	narrow() {
		const text = byId("search").value.trim();
		if (!this.found || !this.found.includes(1))
			return;
		byId("search").value = "";
		this.search();
		this.go({narrow: [...this.narrowTexts(), text].join("\n"), zoom: 0});
	}

	widen(index) {
		this.go({narrow: this.narrowTexts().filter((text, i) => i !== index).join("\n"), zoom: 0});
	}

	/* Branches are others then. */
	regroup() {
		this.groups.use(this.state);
		Object.assign(this.state, {zoom: 0, func: this.state.func < this.groups.functions.length ? this.state.func : -1});
		if (this.state.view === "sandwich" && this.state.func < 0)
			this.state.view = "flame";
		this.weigh();
		this.colors.take(this.weights);
		this.found = searchFunctions(this.profile, byId("search").value.trim());
	}

	nextEvent() {
		const count = this.profile.events.length;
		if (count > 1)
			this.controls.chooseEvent((this.event + 1) % count);
	}

	nextGroup() {
		const words = ["", ...Object.keys(this.groups.kinds).filter((word) => !this.diff || word !== "container")];
		this.go({group: words[(words.indexOf(this.state.group) + 1) % words.length]});
	}

	openWaits() {
		if (!this.waits.open())
			byId("path").textContent = byId("live").textContent = "No waits of this event: record -e offcpu or wall has them, m shows another event.";
	}

	chooseWait({thread, func}) {
		this.go({view: "icicle", thread: "t" + thread, narrow: func, zoom: 0});
	}

	threadMask() {
		const {thread} = this.state, {threads} = this.profile;
		if (!thread)
			return null;
		return Uint8Array.from(threads, (it, i) => thread === "t" + i || it.tid && thread === "p" + it.pid ? 1 : 0);
	}

	back() {
		const dialog = ["help", "waits"].map(byId).find(({open}) => open);
		if (dialog) {
			dialog.close();
		} else if (this.controls.openDiff(false)) {
			// it was in front of the rest
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
		this.go({zoom: 0, thread: "", first: 0, end: this.profile.slices, narrow: "", kind: -1});
	}

	/* A branch of the calls stays chosen; the other trees are made anew of a range. */
	selectTime(first, end) {
		const {view, zoom} = this.state;
		this.go({first, end, zoom: ["inverted", "order"].includes(view) ? 0 : zoom});
	}

	zoomTo(node) {
		const chart = this.charts["view-chart"];
		if (!this.unfold(chart, node))
			this.go({zoom: chart.tree.origin ? chart.tree.origin[node] : node});
	}

	/* Whether the node was a folded chain, which is open then. */
	unfold(chart, node) {
		const {tree} = chart;
		if (!chart.hiddenOf(node))
			return false;
		this.opened.get(tree.source).add(tree.origin[node]);
		this.show();
		return true;
	}

	/* Callers and callees are folded unasked, other views when that is wanted. */
	isFolding() {
		return this.state.view === "sandwich" ? this.state.fold !== "none" : this.state.fold === "all";
	}

	toggleFold() {
		const other = this.state.view === "sandwich" ? "none" : "all";
		this.opened = new WeakMap();
		this.go({fold: this.state.fold === other ? "" : other});
	}

	toggle(key) {
		if ((key !== "scripts" || this.hasScripts) && (key !== "nokernel" || this.hasKernel))
			this.go({[key]: !this.state[key]});
	}

	/* The chosen function; -1: none is. */
	chosenFunction() {
		const chart = this.activeChart(), chosen = chart && chart.chosen > 0 ? chart.tree.func[chart.chosen] : -1;
		const func = this.state.view === "table" ? this.table.order[this.table.chosen] : chosen;
		return func === undefined || func < 0 ? this.state.func : func;
	}

	openSource() {
		if (this.source)
			this.go({view: "source", func: this.source.functionOf(this.chosenFunction())});
		else
			byId("path").textContent = byId("live").textContent = this.diff ? "A page of two recordings has no source."
				: "This page has no source: ebprof convert --html --with-source writes one that has.";
	}

	openSandwich() {
		let func = this.chosenFunction();
		if (func < 0) // the hottest one
			func = this.weights.self.reduce((best, weight, i, all) => weight > all[best] ? i : best, 0);
		this.go({view: "sandwich", func});
	}

	activeChart() {
		const {view} = this.state;
		return view === "sandwich" ? [this.charts.callees, this.charts.callers].find((it) => it.chosen >= 0)
			: NO_CHARTS.includes(view) ? null : this.charts["view-chart"];
	}

	/* ---- showing ---- */

	show() {
		const {profile, state} = this, {view} = state, isChart = !NO_CHARTS.includes(view) && view !== "sandwich";
		byId("view-chart").hidden = !isChart;
		byId("view-table").hidden = view !== "table";
		byId("view-sandwich").hidden = view !== "sandwich";
		byId("view-source").hidden = view !== "source";
		byId("view-changes").hidden = view !== "changes";
		for (const tab of byId("tabs").children)
			tab.setAttribute("aria-selected", tab.dataset.view === view);
		byId("threads").value = state.thread;
		byId("groups").value = state.group;
		byId("from").value = seconds(state.first * profile.sliceNs);
		byId("to").value = seconds(Math.min(state.end * profile.sliceNs, profile.spanNs));
		this.controls.showNarrow();
		this.controls.showSwitches();
		this.showTime();
		if (isChart)
			this.showChart(this.charts["view-chart"], this.chartTree(), state.zoom, view === "flame");
		else if (view === "table")
			this.table.show(this.functions, profile.tree.total[0], this.found);
		else if (view === "changes")
			this.changes.show(this.isSelection());
		else if (view === "source")
			this.source.show(state.func, state.assembly, state.scripts);
		else
			this.showSandwich();
		this.showFound();
		if (view === "sandwich" || view === "source")
			this.facts.describeFunction(view === "source" ? this.source.functionOf(state.func) : state.func);
		else
			this.facts.describe(this.charts["view-chart"], isChart ? this.charts["view-chart"].zoomed : 0, false);
		this.tell();
	}

	/* Whether not all of the recordings is shown. */
	isSelection() {
		return ["thread", "first", "end", "narrow"].some((key) => this.state[key] !== this.usual[key]);
	}

	/* Of the view that is shown. */
	chartTree() {
		const {profile, state: {view, first, end}} = this;
		if (view === "order") {
			this.ordered ||= timeOrder(profile, this.threadMask(), first, end, this.kept);
			return this.ordered;
		}
		if (view !== "inverted")
			return profile.tree;
		this.turned ||= inverted(profile.tree, this.diff ? this.diff.shares() : [1]);
		if (this.diff)
			this.diff.setSizes(this.turned);
		return this.turned;
	}

	/* node: of the tree, which may be none of it where a link says so */
	showChart(chart, tree, node, isFlame) {
		const zoomed = node < tree.count ? node : 0;
		if (!this.isFolding()) {
			chart.show(tree, zoomed, isFlame);
			return;
		}
		if (!this.opened.has(tree))
			this.opened.set(tree, new Set());
		const {functions, kinds} = this.profile, of = (it) => functions[tree.func[it]];
		const folded = foldChains(tree, this.opened.get(tree), (it) => of(it).name, (it) => kinds[of(it).kind].isKernel);
		chart.show(folded, folded.image[zoomed], isFlame);
	}

	showTracks() {
		const {state} = this, place = byId("tracks");
		place.hidden = !this.hasTracks || !state.tracks;
		if (place.hidden)
			this.time.standOver(0, 0, "");
		else
			this.tracks.show(this.lanesShown(), this.diff && this.lanesShown(1), this.threadMask(), this.controls.threadShares(), state.first, state.end);
	}

	lanesShown(column = 0) {
		this.lanes ||= this.profile.entries.map((entries, i) => laneWeights(this.profile, this.kept, i));
		return this.lanes[column];
	}

	/* A wait was there before it ended, which is where it counts. */
	timeWithWaits(column) {
		const sum = new Float64Array(this.profile.slices), mask = this.threadMask();
		this.lanesShown(column).forEach(({ran, waited}, thread) => {
			if (!mask || mask[thread])
				ran.forEach((weight, slice) => { sum[slice] += weight + waited[slice]; });
		});
		return sum;
	}

	/* In units of the event where there are two: they may have had other frequencies. */
	showTime() {
		this.showTracks();
		if (this.profile.parts.some(({isWait}) => isWait)) {
			this.time.show(this.timeWithWaits(0), this.diff && this.timeWithWaits(1), this.state.first, this.state.end);
			return;
		}
		const [now, old] = this.profile.entries.map((entries, i) =>
			weighSlices(this.profile, this.threadMask(), this.kept, entries).map((weight) => weight * (this.diff ? this.profile.sides[i].period : 1)));
		this.time.show(now, old || null, this.state.first, this.state.end);
	}

	showSandwich() {
		const {profile, state} = this, scales = this.diff ? this.diff.shares() : [1];
		const merges = this.isFolding();
		if (!this.sandwich || this.sandwich.func !== state.func || this.sandwich.merges !== merges)
			this.sandwich = {func: state.func, merges, callers: callersOf(profile.tree, state.func, scales, merges),
				callees: calleesOf(profile.tree, state.func, scales, merges)};
		if (this.diff)
			for (const tree of [this.sandwich.callers, this.sandwich.callees])
				this.diff.setSizes(tree);
		byId("sandwich-name").textContent = this.functionText(state.func);
		this.showChart(this.charts.callers, this.sandwich.callers, 0, true);
		this.showChart(this.charts.callees, this.sandwich.callees, 0, false);
	}

	functionText(func) {
		return `${this.profile.functions[func].name} \u2014 ${this.functionFigures(func)}`;
	}

	functionFigures(func) {
		const all = this.profile.tree.total[0] || 1;
		if (this.diff) {
			const line = (kind) => `${kind} ${this.diffText.line(this.diff.changeOfFunction(kind, this.functions, func))}`;
			return `${line("self")} \u00b7 ${line("total")}`;
		}
		return `self ${percent(this.weights.self[func] / all)}, total ${percent(this.weights.total[func] / all)}`;
	}

	search() {
		this.found = searchFunctions(this.profile, byId("search").value.trim());
		byId("narrow").hidden = !this.found || !this.found.includes(1);
		if (this.state.view === "table")
			this.table.show(this.functions, this.profile.tree.total[0], this.found);
		if (this.diff)
			this.changes.show(this.isSelection());
		this.showFound();
		this.tell();
	}

	/* One kind of frames stands out, or none does. */
	mark() {
		this.colors.marked = this.state.kind;
		this.controls.showLegend();
	}

	/* which: of the frames, "3/14"; none: how many functions were found */
	showFound(which = "") {
		const {tree} = this.profile;
		const share = ({total}) => total[0] ? weighFound(tree, this.found, total) / total[0] : 0;
		const count = this.found ? this.found.reduce((sum, it) => sum + it, 0) : 0;
		byId("matched").textContent = !this.found ? "" : this.found.isInvalid ? "no valid expression" : `${which || count + " found"} \u00b7 ` +
			tree.columns.map((column) => percent(share(column))).reverse().join(" \u2192 ");
		for (const chart of Object.values(this.charts)) {
			chart.found = this.found;
			if (chart.tree)
				chart.paint();
		}
	}

	/* What is moved in by arrows: the page is not scrolled to it. */
	focusView() {
		const {view} = this.state;
		if (view === "changes")
			this.changes.focus();
		else
			(view === "table" ? this.table.rows : view === "source" ? this.source.rows
				: this.charts[view === "sandwich" ? "callees" : "view-chart"].scroll).focus({preventScroll: true});
	}

	/* What had the focus may be gone with its view. */
	keepFocus() {
		const now = document.activeElement;
		if (!now || now === document.body || !now.getClientRects().length)
			this.focusView();
	}

	/* The hottest one, which has the focus then. */
	goToFound() {
		const {view} = this.state;
		if (!this.found || view === "sandwich" || view === "source")
			return;
		this.focusView();
		if (!NO_CHARTS.includes(view))
			this.tellFound(this.charts["view-chart"].hottestFound());
	}

	nextFound(step) {
		if (this.found && !NO_CHARTS.includes(this.state.view) && this.state.view !== "sandwich")
			this.tellFound(this.charts["view-chart"].nextFound(step));
	}

	/* which: "3/14" */
	tellFound(which) {
		this.showFound(which);
	}

	setTheme(isDark) {
		document.documentElement.dataset.theme = isDark ? "dark" : "light";
		if (this.diff)
			this.diff.dark = isDark;
		this.controls.showLegend();
		this.time.paint();
		this.tracks.paint();
		if (this.state.view === "table" && this.table.weights)
			this.table.paint();
		for (const chart of Object.values(this.charts))
			if (chart.tree)
				chart.paint();
	}

	toggleTheme() {
		this.setTheme(document.documentElement.dataset.theme !== "dark");
	}

	/* ---- values ---- */

	/* In what a sample counts: seconds where it is time. */
	weight(weight) {
		return this.value(weight * this.profile.period);
	}

	value(value) {
		const is = (wanted) => this.profile.sides.some(({unit}) => unit === wanted);
		if (is("ns"))
			return value >= 1e9 ? (value / 1e9).toFixed(2) + " s" : (value / 1e6).toFixed(0) + " ms";
		return is("bytes") ? bytes(value) : grouped(value);
	}

	/* ---- two recordings ---- */

	setDiff(change) {
		Object.assign(this.diff, change);
		this.diff.refresh();
		this.controls.showDiff();
		this.controls.showLegend();
		this.show();
	}

	/* The page is read anew: what was made of the profile is of its sides. */
	swapSides() {
		this.diff.isSwapped = !this.diff.isSwapped;
		history.pushState({...this.state, depth: this.depth + 1}, "", this.addressOf(this.state));
		location.reload();
	}

	nextWidth() {
		const widths = ["both", "new", "old"];
		this.setDiff({width: widths[(widths.indexOf(this.diff.width) + 1) % widths.length]});
	}

}

/* Each event of the recording has data of its own: one is read, the others when they are chosen. */
const packed = byId("data").textContent.trim().split("\n");
function chosenEvent() {
	const {event} = stateOfHash(location.hash, {event: 0});
	return event in packed ? event : 0;
}

/* Whether the old recording is to be the new one. */
function isSwapped() {
	return stateOfHash(location.hash, {isSwapped: false}).isSwapped;
}

let page = null;
const firstEvent = chosenEvent();
unpack(packed[firstEvent])
	.then((bytes) => {
		const profile = readProfile(bytes);
		page = new Page(isSwapped() && profile.sides.length > 1 ? swapSides(profile) : profile, firstEvent);
	})
	.catch((error) => {
		byId("notes").hidden = false;
		byId("notes").textContent = "This page cannot be shown: " + error.message;
		throw error;
	});
