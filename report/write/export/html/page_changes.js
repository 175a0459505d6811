/* What `ebprof diff` lists of the whole recordings: regressions, improvements, what cannot be told. */

const CHANGE_LISTS = ["Regressions", "Improvements", "Changed with what they call (total time)", "Cannot be told"]; // enum diff_list

class ChangesView {
	/* options: profile, found(): what is searched for by function, or null, onChoose(func) */
	constructor(place, options) {
		Object.assign(this, options);
		this.place = place;
		this.names = new NameCells(this.profile);
		const {lists, sentences} = this.profile.changes;
		this.note = place.appendChild(this.element("p", "left", "Of the whole recordings: what is selected above does not count here."));
		place.append(...lists.flatMap((list, i) => list.count ? this.list(CHANGE_LISTS[i], list, i) : []));
		if (!lists.some(({count}) => count))
			place.append(this.element("p", "empty", lists.length ? "Nothing is known to have changed." : "These recordings are not compared: the reason stands at the top."));
		const about = sentences.filter((text) => text).map((text) => this.element("p", "", text));
		if (about.length)
			place.appendChild(this.element("div", "about", "")).append(...about);
		place.addEventListener("keydown", (event) => this.key(event));
		new ResizeObserver(() => this.fitNames()).observe(place);
	}

	element(tag, className, textContent) {
		return Object.assign(document.createElement(tag), {className, textContent});
	}

	list(title, {count, rows}, index) {
		const head = this.element("div", "row head", "");
		for (const [className, text] of [["number", "before"], ["number", "new"], ["number", "change"], ["number wide", "interval"], ["name", "function"], ["object wide", "file"]])
			head.append(this.element("span", className, text));
		const left = count > rows.length ? [this.element("p", "left", `${grouped(count - rows.length)} more are not in this page`)] : [];
		const heading = this.element("h2", ["is-worse", "is-better", "", ""][index], `${title} (${grouped(count)})`);
		return [heading, head, ...rows.map((row) => this.row(row, index)), ...left];
	}

	/* What is none of this page's functions cannot be opened: it was put into small branches. */
	row({func, name, before, now, change, interval}, index) {
		const row = this.element("div", "row", ""), {functions, objects, files} = this.profile, it = functions[func];
		for (const [className, text] of [["number", before], ["number", now], ["number change-" + index, change], ["number wide", interval],
			["name", name], ["object wide", it ? objects[it.object].name : ""]])
			row.append(this.element("span", className, text));
		row.title = [name, it && files[it.file] ? files[it.file] + (it.line ? ":" + it.line : "") : "", `${before} \u2192 ${now}, ${change} (${interval})`]
			.filter((text) => text).join("\n");
		if (!it)
			return row;
		row.dataset.func = func;
		row.tabIndex = 0;
		row.setAttribute("role", "button");
		row.addEventListener("click", () => this.onChoose(func));
		return row;
	}

	rows() {
		return [...this.place.querySelectorAll("[data-func]")];
	}

	key(event) {
		const rows = this.rows(), at = rows.indexOf(document.activeElement);
		if (event.key === "Enter" && at >= 0)
			this.onChoose(Number(rows[at].dataset.func));
		else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && rows.length)
			rows[Math.max(0, Math.min(rows.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
		else
			return;
		event.preventDefault();
	}

	focus() {
		const rows = this.rows();
		(rows.find((row) => row.classList.contains("is-match")) || rows[0])?.focus();
	}

	fitNames() {
		this.names.fit(this.rows().map((row) => ({func: Number(row.dataset.func), cell: row.querySelector(".name")})));
	}

	show(isSelection) {
		const found = this.found();
		this.note.hidden = !isSelection;
		for (const row of this.rows()) {
			row.classList.toggle("is-match", Boolean(found && found[row.dataset.func]));
			row.classList.toggle("is-pale", Boolean(found && !found[row.dataset.func]));
		}
	}
}
