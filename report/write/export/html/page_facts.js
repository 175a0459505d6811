/* What is said of a frame: in a tip, in the line below, and aloud. */

class Facts {
	constructor(page) {
		this.page = page;
	}

	/* What a tip shows: a name and lines. */
	of(chart, node) {
		const {page} = this, {tree} = chart, {profile} = page, func = tree.func[node], all = profile.tree.total[0] || 1;
		const figures = (name, weight) => `${name} ${percent(weight / all)} · ${page.weight(weight)}` +
			(profile.unit === "ns" && profile.period > 1 ? ` · ${grouped(weight)} samples` : "");
		const lines = [];
		if (func >= 0) {
			const it = profile.functions[func], object = profile.objects[it.object], file = profile.files[it.file];
			lines.push(it.cause || object.name + (it.kind ? ` (${profile.kinds[it.kind].text})` : "") +
				(tree.inlined[node] ? " (inlined)" : ""));
			if (file)
				lines.push(file + (it.line ? ":" + it.line : ""));
		}
		const isOfCallers = chart === page.charts.callers;
		if (page.diff)
			lines.push(...page.diffText.facts(tree, node, isOfCallers));
		else
			lines.push(figures("total", tree.total[node]), isOfCallers ? "" : figures("self", tree.self[node]));
		if (tree.spanNs && !node)
			lines.push(profile.threads.length > 1 && !page.state.thread ? "as time went, threads by turns: choose one above"
				: `from left to right as time went, by ${seconds(tree.spanNs)} s`);
		return {name: chart.label(node), lines: lines.filter((line) => line)};
	}

	tip(chart, node, event) {
		const facts = node === null ? null : this.of(chart, node);
		this.showTip(facts && [facts.name, ...facts.lines], event);
	}

	/* Of frames that are too narrow to be drawn alone. */
	tipOfMany(chart, {count, total, caller}, event) {
		const {page} = this, all = page.profile.tree.total[0] || 1;
		const shares = page.diff ? [] : [`total ${percent(total / all)} \u00b7 ${page.weight(total)}`];
		this.showTip([`${grouped(count)} frames that are too narrow to be drawn`, ...shares,
			caller === chart.zoomed ? `next to ${chart.label(caller)}: the table of functions has them` : `a click leads to ${chart.label(caller)}`], event);
	}

	/* texts: the first is the title; null: nothing is shown */
	showTip(texts, event) {
		const tip = byId("tip");
		tip.hidden = texts === null;
		if (texts === null)
			return;
		const [name, ...lines] = texts, title = document.createElement("b");
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

	/* Of the view of its callers and callees, whose charts are about it alone. */
	describeFunction(func) {
		const {page} = this, {profile} = page, it = profile.functions[func], file = profile.files[it.file];
		const strong = document.createElement("b");
		strong.textContent = it.name;
		const lines = [it.cause || profile.objects[it.object].name, file ? file + (it.line ? ":" + it.line : "") : "",
			page.functionFigures(func)];
		byId("path").replaceChildren(strong, "  " + lines.filter((line) => line).join("  ·  "));
		byId("to-sandwich").hidden = true;
	}

	describe(chart, node, isAloud) {
		const text = byId("path");
		if (!chart.tree) {
			text.textContent = "";
			return;
		}
		const {name, lines} = this.of(chart, node), strong = document.createElement("b");
		strong.textContent = name;
		text.replaceChildren(strong, "  " + lines.join("  ·  "));
		byId("to-sandwich").hidden = chart.tree.func[node] < 0 || this.page.state.view === "sandwich";
		if (isAloud)
			byId("live").textContent = name + ", " + lines.join(", ");
	}
}
