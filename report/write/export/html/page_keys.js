/*
 * The keys: what each does stands in the list that explains it. What the terminal interface does, too, has its key
 * there (report/tui/keys.c); no key means something else here than there. The view has the focus behind keys that
 * show one, which are marked so.
 */

const KEYS = [
	["/", "search; /regex/ for patterns", () => byId("search").focus()],
	["n", "next frame that was found", () => page.nextFound(1)],
	["N", "the one before", () => page.nextFound(-1)],
	["&", "only stacks that have what is searched for", () => page.narrow()],
	["1", "functions: a table of the hottest", () => page.go({view: "table"}), true],
	["2", "callers and callees of the chosen function", () => page.openSandwich(), true],
	["3", "icicle graph: the tree, callers above", () => page.go({view: "icicle"}), true],
	["4", "flame graph: callers below", () => page.go({view: "flame"}), true],
	["5", "time: a lane for each thread", () => page.toggle("tracks"), true],
	["7", "source: lines of the chosen function, where the page has them", () => page.openSource(), true],
	["I", "inverted: where time was spent above, its callers below", () => page.go({view: "inverted"}), true],
	["T", "time order: stacks from left to right as they came", () => page.diff || page.go({view: "order"}), true],
	["e", "assembly below the lines", () => page.toggle("assembly")],
	["m", "the next event", () => page.nextEvent()],
	["t", "choose a thread", () => byId("threads").focus()],
	["b", "group by process, thread, container, file, event", () => page.nextGroup()],
	["S", "scripts only, or also the native frames that run them", () => page.toggle("scripts")],
	["H", "hide the kernel's frames, which count for their callers", () => page.toggle("nokernel")],
	["W", "the longest waits; Enter shows their thread and function", () => page.openWaits()],
	["F", "chains of calls without a branch as one row", () => page.toggleFold()],
	["y", "copy a link to what is shown", () => page.copyLink()],
	["L", "light or dark", () => page.toggleTheme()],
	["R", "undo all: zoom, thread, range and search", () => page.reset()],
	["?", "this list", () => byId("help").showModal()],
	["Escape", "back: search, then zoom, then the rest", () => page.back()],
];
const DIFF_KEYS = [
	["8", "diff: regressions, improvements, what cannot be told", () => page.go({view: "changes"}), true],
	["c", "colours by what changed, or by what frames are", () => page.setDiff({isColored: !page.diff.isColored})],
	["V", "widths of both recordings, the new one, the old one", () => page.nextWidth()],
	["X", "swap the sides: what is before, and what is new", () => page.swapSides()],
	["%", "shares of all in percent, or absolute figures", () => page.setDiff({isAbsolute: !page.diff.isAbsolute})],
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
		addEventListener("keydown", () => {
			byId("tip").hidden = true; // the mouse may be at something else then
			document.body.classList.add("has-keys"); // where the focus is matters from now on
		}, true);
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
		if (byId("waits").open || byId("help").open && event.key !== "?")
			return; // the dialog closes itself
		const row = this.rows.find(([key]) => key === event.key);
		if (!row)
			return;
		event.preventDefault();
		if (isTyping)
			event.target.blur();
		const [, , act, showsView] = row;
		act();
		if (showsView)
			page.focusView();
		else
			page.keepFocus();
	}
}
