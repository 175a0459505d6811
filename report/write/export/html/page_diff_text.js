/* What the page says of changes. No DOM here. */

class DiffText {
	/* inUnit(value): what the event counts, as text */
	constructor(diff, inUnit) {
		this.diff = diff;
		this.inUnit = inUnit;
	}

	value(value) {
		return this.diff.isAbsolute ? this.inUnit(value) : percent(value);
	}

	/* As points of a share, or in what is counted. */
	by(by) {
		return this.diff.isAbsolute ? signed(by, this.inUnit(Math.abs(by))) : points(by);
	}

	/* "30.00% \u2192 45.00%, +15.00 pp (+50.0%)" */
	line(change) {
		if (!change.isKnown)
			return `${this.value(change.now)} now, not compared: the baseline was cut`;
		const how = [change.isNew ? "new" : change.isGone ? "removed" : relative(change.now, change.old)];
		if (!change.by)
			return `${this.value(change.now)}, as before`;
		if (change.cannotTell)
			how.push("cannot tell");
		const text = how.filter((part) => part).join(", ");
		return `${this.value(change.old)} \u2192 ${this.value(change.now)}, ${this.by(change.by)}` +
			(this.diff.isAbsolute ? "" : " pp") + (text ? ` (${text})` : "");
	}

	/* What stands in wide boxes: what the color says, for those who do not see it. */
	note(change) {
		return !change.isSure ? "" : (change.isNew ? "new " : change.isGone ? "removed " : "") + this.by(change.by);
	}

	/* Lines of a tip. */
	facts(tree, node, isOfCallers) {
		const [now, old] = tree.columns, {sides} = this.diff.profile, isKnown = this.diff.knows(tree, node);
		const lines = ["total", "self"].slice(0, isOfCallers ? 1 : 2)
			.map((kind) => `${kind} ${this.line(this.diff.changeOf(tree, node, kind))}`);
		const values = [old, now].map((column, i) => this.inUnit(column.total[node] * sides[1 - i].period));
		const samples = [old, now].map((column) => grouped(column.total[node]));
		if (!this.diff.isAbsolute && isKnown)
			lines.push(values.join(" \u2192 ") + (sides[0].unit === "ns" && sides[0].period > 1 ? `, ${samples.join(" \u2192 ")} samples` : ""));
		return lines;
	}

	/* What speaks against comparing; functions: their weights in both. */
	doubts(functions) {
		const {profile, wholes} = this.diff, [now, old] = profile.sides, notes = [];
		const unnamed = (column) => profile.functions.reduce((sum, it, func) =>
			sum + (it.name.endsWith(" [no symbol]") ? functions[column].self[func] : 0), 0) / (wholes[column] || 1);
		if (unnamed(1) > unnamed(0) + 0.05)
			notes.push(`${percent(unnamed(1))} of the old recording has no names: archive before rebuilding.`);
		if (this.diff.leftOut >= 0)
			notes.push("Rare stacks were left out of the baseline: total times, and what stands below " +
				`${LEFT_OUT}, are not compared.`);
		if (Math.min(now.samples, old.samples) < 500)
			notes.push(`There are only ${grouped(Math.min(now.samples, old.samples))} samples on one side: small differences may be chance.`);
		return notes;
	}
}
