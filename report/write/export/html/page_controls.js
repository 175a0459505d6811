/* What is chosen with beside the views: threads, times, what is compared. */

class Controls {
	constructor(page) {
		this.page = page;
		for (const tab of byId("tabs").children)
			tab.addEventListener("click", ({detail}) => {
				const {view} = tab.dataset;
				if (view === "sandwich")
					page.openSandwich();
				else if (view === "source")
					page.openSource();
				else
					page.go({view});
				if (detail) // by the mouse: keys that move among the tabs keep the focus there
					page.focusView();
			});
		byId("search").addEventListener("input", () => page.search());
		byId("search").addEventListener("keydown", (event) => {
			if (event.key === "Enter")
				page.goToFound();
		});
		byId("threads").addEventListener("change", () => page.go({thread: byId("threads").value, zoom: 0}));
		byId("groups").addEventListener("change", () => page.go({group: byId("groups").value}));
		byId("groups").querySelector("[value=container]").hidden = Boolean(page.diff); // which of both are the same is not known
		byId("groups").querySelector("[value=event]").hidden = page.profile.parts.length < 2;
		for (const button of byId("switches").children)
			button.addEventListener("click", () => button.value === "fold" ? page.toggleFold() : button.value === "waits" ? page.openWaits()
				: page.toggle(button.value));
		byId("tabs").querySelector("[data-view=changes]").hidden = !page.diff;
		byId("tabs").querySelector("[data-view=order]").hidden = Boolean(page.diff);
		byId("tabs").querySelector("[data-view=source]").hidden = !page.profile.code.size;
		byId("narrow").addEventListener("click", () => page.narrow());
		byId("link").addEventListener("click", () => page.copyLink());
		for (const id of ["from", "to"])
			byId(id).addEventListener("change", () => this.typeRange());
		byId("reset").addEventListener("click", () => page.reset());
		byId("theme").addEventListener("click", () => page.toggleTheme());
		byId("help-open").addEventListener("click", () => byId("help").showModal());
		byId("to-sandwich").addEventListener("click", () => page.openSandwich());
		if (page.diff)
			this.makeDiff();
		this.makeEvents();
		this.makeThreads();
	}

	/* What they count does not add up, so the page is of one. */
	makeEvents() {
		const select = byId("events"), {profile, event} = this.page;
		profile.events.forEach(({name, unit}, i) => select.append(new Option(`${name} (${unit})`, i)));
		select.value = event;
		select.hidden = profile.events.length < 2;
		select.addEventListener("change", () => this.chooseEvent(select.value));
	}

	chooseEvent(index) {
		location.hash = `event=${index}`; // nodes and threads have other numbers there
		location.reload();
	}

	makeThreads() {
		const select = byId("threads"), {threads, threadsMerged, threadsAll} = this.page.profile, byProcess = new Map();
		const add = (place, value, text) => place.append(new Option(text, value));
		add(select, "", threadsAll > 1 ? `All ${threadsAll} threads` : "One thread");
		const isByName = threads.every((thread) => !thread.tid);
		const shares = this.threadShares();
		const text = (thread, i) => (threadsMerged && i === threads.length - 1 ? `${threadsMerged} other threads`
			: isByName ? threadName(thread) : (thread.comm || "[unknown]") + " " + thread.tid) + ` \u00b7 ${percent(shares[i])}`;
		if (isByName)
			threads.forEach((thread, i) => add(select, "t" + i, text(thread, i)));
		else threads.forEach((thread, i) => {
			if (!byProcess.has(thread.pid))
				byProcess.set(thread.pid, []);
			byProcess.get(thread.pid).push(i);
		});
		const all = (members, pid) => {
			const count = new Set(members.map((i) => threads[i].tid)).size;
			return count > 1 ? `all ${count} threads of ${pid}` : `all names of ${pid}`;
		};
		for (const [pid, members] of byProcess) {
			const group = document.createElement("optgroup");
			group.label = `${threads[members[0]].process || "[unknown]"}, process ${pid}`;
			if (members.length > 1)
				add(group, "p" + pid, all(members, pid));
			for (const i of members)
				add(group, "t" + i, text(threads[i], i));
			select.append(group);
		}
		select.disabled = threads.length < 2;
	}

	/* Of all that was recorded, where there are two of the new one. */
	threadShares() {
		const {threads, entries} = this.page.profile, {slot, weight} = entries[0];
		const shares = threads.map(() => 0), whole = weight.reduce((sum, it) => sum + it, 0) || 1;
		weight.forEach((it, i) => { shares[slot[i] % threads.length] += it / whole; });
		return shares;
	}

	typeRange() {
		const {page} = this, {profile} = page, of = (id) => Number(byId(id).value.replace(",", ".")) * 1e9 / profile.sliceNs;
		const first = Math.max(0, Math.min(profile.slices - 1, Math.floor(of("from") + 1e-6)));
		const end = Math.max(first + 1, Math.min(profile.slices, Math.ceil(of("to") - 1e-6)));
		if (Number.isNaN(first) || Number.isNaN(end))
			page.show();
		else
			page.go({first, end, zoom: 0});
	}

	showSwitches() {
		const {page} = this, [scripts, nokernel, fold, assembly, waits, tracks] = byId("switches").children;
		scripts.hidden = !page.hasScripts;
		scripts.setAttribute("aria-pressed", page.state.scripts);
		nokernel.hidden = !page.hasKernel;
		nokernel.setAttribute("aria-pressed", page.state.nokernel);
		fold.hidden = ["table", "source", "changes"].includes(page.state.view);
		assembly.hidden = page.state.view !== "source";
		assembly.setAttribute("aria-pressed", page.state.assembly);
		fold.setAttribute("aria-pressed", page.isFolding());
		waits.hidden = !page.profile.waits.rows.length;
		tracks.hidden = !page.hasTracks;
		tracks.setAttribute("aria-pressed", page.state.tracks);
		byId("switches").hidden = [...byId("switches").children].every(({hidden}) => hidden);
	}

	/* Each a button that takes it away. */
	showNarrow() {
		const {page} = this, {tree} = page.profile, texts = page.narrowTexts();
		byId("narrowed").hidden = !texts.length;
		byId("narrowed").replaceChildren(...texts.map((text, i) => {
			const button = document.createElement("button");
			button.type = "button";
			button.title = "All stacks again";
			button.textContent = `Only with ${text} \u2715`;
			button.addEventListener("click", () => page.widen(i));
			return button;
		}), `${percent(tree.total[0] / (tree.whole || 1))} of what is selected`);
	}

	showLegend() {
		const {diff, diffText, colors} = this.page, isScale = Boolean(diff && diff.isColored), list = byId("legend");
		list.classList.toggle("is-scale", isScale);
		list.replaceChildren(...(isScale ? diff.legend((by) => diff.isAbsolute ? diffText.by(by)
			: signed(by, Math.abs(100 * by).toFixed(0) + " pp")).map(([text, color]) => this.legendItem({text, color}))
			: colors.legend().map((row) => this.legendItem(row))));
	}

	/* What has a kind is a button that has it stand out. */
	legendItem({text, color, kind, share}) {
		const item = document.createElement("li"), swatch = document.createElement("i");
		const place = kind === undefined ? item : item.appendChild(document.createElement("button"));
		if (color) {
			swatch.style.setProperty("--swatch", color);
			place.append(swatch);
		}
		place.append(text);
		if (kind === undefined)
			return item;
		place.type = "button";
		place.title = "Only these stand out";
		place.setAttribute("aria-pressed", this.page.colors.marked === kind);
		const value = place.appendChild(document.createElement("b"));
		value.textContent = percent(share);
		place.addEventListener("click", () => this.page.go({kind: this.page.state.kind === kind ? -1 : kind}));
		return item;
	}

	/* ---- two recordings ---- */

	makeDiff() {
		byId("view-table").classList.add("is-diff");
		byId("diff").hidden = byId("diff-open").hidden = false;
		byId("diff-open").addEventListener("click", ({currentTarget}) => this.openDiff(currentTarget.getAttribute("aria-expanded") !== "true"));
		addEventListener("click", ({target}) => target.closest("#diff, #diff-open") || this.openDiff(false));
		document.body.classList.add("is-diff");
		byId("swap").addEventListener("click", () => this.page.swapSides());
		for (const button of byId("diff").querySelectorAll("[data-sets] button"))
			button.addEventListener("click", () => this.page.setDiff({
				width: {width: button.value},
				measure: {isAbsolute: button.value === "absolute"},
				colors: {isColored: button.value === "change"},
			}[button.parentNode.dataset.sets]));
		this.showDiff();
	}

	/* In small windows the choices for both recordings are a list that a button opens. Returns whether it was open. */
	openDiff(isOpen) {
		const {classList} = document.body, wasOpen = classList.contains("has-diff-open");
		classList.toggle("has-diff-open", isOpen);
		byId("diff-open").setAttribute("aria-expanded", isOpen);
		return wasOpen;
	}

	showDiff() {
		const {width, isAbsolute, isColored, isSwapped} = this.page.diff;
		const chosen = {width, measure: isAbsolute ? "absolute" : "share", colors: isColored ? "change" : "kind"};
		byId("swap").setAttribute("aria-pressed", isSwapped);
		for (const button of byId("diff").querySelectorAll("[data-sets] button"))
			button.setAttribute("aria-pressed", button.value === chosen[button.parentNode.dataset.sets]);
	}
}
