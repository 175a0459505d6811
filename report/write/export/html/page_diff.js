/* Two recordings: what changed from the old one to the new one. Column 0 is the new one. No DOM here. */

/* Of chi squared, one degree of freedom, 95 %: what differs less may be chance, as in the terminal. */
const CHANCE = 3.841;
const NICE = [0.02, 0.05, 0.1, 0.2, 0.5, 1]; // shares at which a color is at its fullest
const LEFT_OUT = "[left out of the baseline]"; // DIFF_TREE_LEFT_OUT of report/compare/diff_tree.h
const INKS = {
	light: {same: [228, 226, 220], more: [231, 101, 78], less: [86, 146, 226]},
	dark: {same: [62, 67, 78], more: [247, 114, 92], less: [98, 160, 250]},
};

class Diff {
	constructor(profile) {
		this.profile = profile;
		this.width = "new"; // or "old", "both"
		this.isAbsolute = false; // what is compared: shares of all, or time
		this.isColored = true; // by the change, else by file
		this.dark = false;
		this.leftOut = profile.functions.findIndex((it) => it.name === LEFT_OUT); // -1: nothing was
	}

	/* After weigh(): of what shares are, and how many samples that was. */
	refresh() {
		const {tree, sides} = this.profile;
		this.wholes = tree.columns.map(({total}) => total[0]);
		this.samples = sides.map((side, i) => {
			const all = this.profile.entries[i].weight.reduce((a, b) => a + b, 0);
			return all ? side.samples * this.wholes[i] / all : 0;
		});
		this.values = sides.map((side, i) => this.wholes[i] * side.period);
		this.full = this.fullest();
		this.setSizes(tree);
	}

	/* What makes a weight a share, or a value. */
	scales() {
		return this.profile.sides.map((side, i) => this.isAbsolute ? side.period : this.wholes[i] ? 1 / this.wholes[i] : 0);
	}

	shares() {
		return this.wholes.map((whole) => whole ? 1 / whole : 0);
	}

	setSizes(tree) {
		const scales = this.scales(), wants = [this.width !== "old", this.width !== "new"];
		tree.size = new Float64Array(tree.count);
		tree.columns.forEach(({total}, column) => {
			if (wants[column])
				for (let i = 0; i < tree.count; i++)
					tree.size[i] += total[i] * scales[column];
		});
	}

	/*
	 * Of two weights: as shares or values, and whether they differ by more than chance would have
	 * it. What may have been left out of a baseline is not known to differ.
	 */
	change(now, old, isKnown = true, isWhole = isKnown) {
		const [a, b] = this.scales();
		return {now: now * a, old: old * b, by: now * a - old * b, isKnown, isSure: isKnown && this.isSure(now, old),
			isNew: isWhole && now > 0 && !old, isGone: isWhole && old > 0 && !now};
	}

	/* Of a function's weights in both. */
	changeOfFunction(kind, weights, func) {
		const [now, old] = weights.map((column) => column[kind][func]), isWhole = this.leftOut < 0;
		return this.change(now, old, isWhole || kind !== "total", isWhole);
	}

	/* What stands below a mark is not known, nor, where trees begin at a function, what it has. */
	knows(tree, node) {
		if (this.leftOut < 0)
			return true;
		if (tree !== this.profile.tree)
			return false;
		for (let up = tree.parent[node]; up > 0; up = tree.parent[up])
			if (tree.func[up] === this.leftOut)
				return false;
		return true;
	}

	/* As if all samples were of one weight; shares as report/compare/compare.c has it, values as
	 * counts. */
	isSure(now, old) {
		const [all, allOld] = this.wholes, [samples, samplesOld] = this.samples;
		if (!all || !allOld)
			return false;
		if (this.isAbsolute) {
			const [unit, unitOld] = [this.values[0] / samples, this.values[1] / samplesOld];
			const [a, b] = [now * this.profile.sides[0].period, old * this.profile.sides[1].period];
			return (a - b) ** 2 > CHANCE * (a * unit + b * unitOld);
		}
		const pooled = (now / all * samples + old / allOld * samplesOld) / (samples + samplesOld);
		const variance = pooled * (1 - pooled) * (1 / samples + 1 / samplesOld);
		return (now / all - old / allOld) ** 2 > CHANCE * variance * (1 + 1e-9);
	}

	changeOf(tree, node) {
		const [now, old] = tree.columns;
		return this.change(now.total[node], old.total[node], this.knows(tree, node));
	}

	/* At what change a color is at its fullest: at the greatest, but small changes stay pale. */
	fullest() {
		const {tree} = this.profile, whole = this.isAbsolute ? Math.max(...this.values) : 1;
		let most = 0;
		for (let i = 0; i < tree.count; i++) {
			const change = this.changeOf(tree, i);
			if (change.isSure)
				most = Math.max(most, Math.abs(change.by));
		}
		return whole * (NICE.find((share) => share * whole >= most) || 1);
	}

	color(change) {
		return this.mix(change.isSure ? change.by / this.full : 0);
	}

	/* From -1, all that can be less, to 1. Small changes are more than nothing. */
	mix(part) {
		const {same, more, less} = INKS[this.dark ? "dark" : "light"], end = part > 0 ? more : less;
		const much = part ? 0.15 + 0.85 * Math.sqrt(Math.min(1, Math.abs(part))) : 0;
		return `rgb(${same.map((from, i) => Math.round(from + (end[i] - from) * much)).join(" ")})`;
	}

	/* Whether letters on that color are those of the page rather than dark ones. */
	isDim(change) {
		return this.dark && (!change.isSure || Math.abs(change.by) < 0.3 * this.full);
	}

	/* Pairs of a text and a color. */
	legend(format) {
		const steps = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((part) => ["", this.mix(part)]);
		return [[format(-this.full), null], ...steps, [format(this.full), null], [this.leftOut < 0 ? "same, or may be chance" : "same, or not known", this.mix(0)]];
	}
}
