/* The keys: what each does stands in the list that explains it. */

const KEYS = [
	["/", "search; /regex/ for patterns", () => byId("search").focus()],
	["n", "next frame that was found", () => page.nextFound(1)],
	["N", "the one before", () => page.nextFound(-1)],
	["&", "only stacks that have what is searched for", () => page.narrow()],
	["f", "flame graph: callers below", () => page.go({view: "flame"})],
	["i", "icicle graph: callers above", () => page.go({view: "icicle"})],
	["v", "inverted: where time was spent above, its callers below", () => page.go({view: "inverted"})],
	["o", "time order: stacks from left to right as they came", () => page.diff || page.go({view: "order"})],
	["t", "table of functions", () => page.go({view: "table"})],
	["s", "callers and callees of the chosen function", () => page.openSandwich()],
	["e", "lines of the chosen function, where the page has them", () => page.openSource()],
	["m", "instructions below the lines", () => page.toggle("assembly")],
	["b", "group by process, thread, container, file, event", () => page.nextGroup()],
	["p", "scripts only, or also what runs them", () => page.toggle("scripts")],
	["z", "chains of frames without a branch as one row", () => page.toggleFold()],
	["y", "a lane for each thread", () => page.toggle("tracks")],
	["c", "copy a link to what is shown", () => page.copyLink()],
	["l", "light or dark", () => page.toggleTheme()],
	["0", "everything: no zoom, thread, range or search", () => page.reset()],
	["?", "this list", () => byId("help").showModal()],
	["Escape", "back: search, then zoom, then the rest", () => page.back()],
];
const DIFF_KEYS = [
	["g", "regressions, improvements, what cannot be told", () => page.go({view: "changes"})],
	["d", "colors by what changed, or by what frames are", () => page.setDiff({isColored: !page.diff.isColored})],
	["w", "widths of both recordings, the new one, the old one", () => page.nextWidth()],
	["a", "absolute figures, or shares of all", () => page.setDiff({isAbsolute: !page.diff.isAbsolute})],
];
/* What has no action here is done by what has the focus. */
const MORE_KEYS = [
	["← ↑ → ↓", "from frame to frame, from row to row"],
	["Enter", "zoom into the chosen frame, open the chosen function"],
];

class Keys {
	constructor(isDiff) {
		this.rows = isDiff ? [...KEYS, ...DIFF_KEYS] : KEYS;
		for (const [key, about] of [...this.rows, ...MORE_KEYS])
			this.explain(key, about);
		addEventListener("keydown", (event) => this.press(event));
	}

	explain(key, about) {
		const term = document.createElement("dt"), text = document.createElement("dd");
		const cap = document.createElement("kbd");
		cap.textContent = key;
		term.append(cap);
		text.textContent = about;
		byId("keys").append(term, text);
	}

	press(event) {
		const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
		if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented)
			return;
		if (isTyping && event.key !== "Escape")
			return;
		if (byId("help").open && event.key !== "?")
			return; // the dialog closes itself
		const row = this.rows.find(([key]) => key === event.key);
		if (!row)
			return;
		event.preventDefault();
		if (isTyping)
			event.target.blur();
		row[2]();
	}
}
