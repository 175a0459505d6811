/* Two recordings: what changed from the old one to the new one. Column 0 is the new one. No DOM here. */

const NICE = [0.02, 0.05, 0.1, 0.2, 0.5, 1]; // shares at which a color is at its fullest
const LEFT_OUT = "[left out of the baseline]"; // DIFF_TREE_LEFT_OUT of report/compare/diff_tree.h
const INKS = {
	light: {same: [228, 226, 220], more: [231, 101, 78], less: [86, 146, 226]},
	dark: {same: [62, 67, 78], more: [247, 114, 92], less: [98, 160, 250]},
};

class Diff {
	constructor(profile) {
		this.profile = profile;
		/*
		 * width: or "old", "new", which hide what the other one alone has; isAbsolute: time is
		 * compared, not shares of all; isColored: by the change, else by what frames are;
		 * isSwapped: swapSides() has made the profile what it is
		 */
		this.usual = {width: "both", isAbsolute: false, isColored: true, isSwapped: false};
		Object.assign(this, this.usual);
		this.dark = false;
		this.leftOut = profile.functions.findIndex((it) => it.name === LEFT_OUT); // -1: nothing was
	}

	/* After weigh(): of what shares are. */
	refresh() {
		const {tree, sides} = this.profile;
		this.wholes = tree.columns.map(({total}) => total[0]);
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
	 * Of two weights, of the self or the total of a function or a part of those: as shares or
	 * values, and whether it is a regression (direction 1), an improvement (-1) or not known to be
	 * either. What may have been left out of a baseline is not known to differ.
	 */
	change(now, old, func, kind, isKnown = true, isWhole = isKnown) {
		const [a, b] = this.scales(), direction = isKnown ? this.direction(now, old, func, kind) : 0;
		return {now: now * a, old: old * b, by: now * a - old * b, isKnown, direction, isSure: direction !== 0,
			cannotTell: !direction && this.verdict(func, kind) !== SAME,
			isNew: isWhole && now > 0 && !old, isGone: isWhole && old > 0 && !now};
	}

	verdict(func, kind) {
		return func < 0 ? SAME : this.profile.functions[func][kind].verdict;
	}

	/*
	 * That of the function, of the whole recordings, as `ebprof diff` has it: a part of it, or what
	 * it is in a selection, has none of its own, but may have changed the other way.
	 */
	direction(now, old, func, kind) {
		const verdict = this.verdict(func, kind), [all, allOld] = this.wholes;
		if (verdict < REGRESSION || !all || !allOld)
			return 0;
		const by = now / all * this.profile.functions[func][kind].ratio - old / allOld;
		return verdict === REGRESSION && by > 0 ? 1 : verdict === IMPROVEMENT && by < 0 ? -1 : 0;
	}

	/* Of a function's weights in both. */
	changeOfFunction(kind, weights, func) {
		const [now, old] = weights.map((column) => column[kind][func]), isWhole = this.leftOut < 0;
		return this.change(now, old, func, kind, isWhole || kind !== "total", isWhole);
	}

	/* What stands below a mark is not known, nor, where trees begin at a function, what it has. */
	knows(tree, node) {
		if (this.leftOut < 0)
			return true;
		if (tree.source)
			return this.knows(tree.source, tree.origin[node]);
		if (tree !== this.profile.tree)
			return false;
		for (let up = tree.parent[node]; up > 0; up = tree.parent[up])
			if (tree.func[up] === this.leftOut)
				return false;
		return true;
	}

	changeOf(tree, node, kind = "total") {
		const [now, old] = tree.columns;
		return this.change(now[kind][node], old[kind][node], tree.callee ?? tree.func[node], kind, this.knows(tree, node));
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
		const {direction} = change; // a small share may fall although the function takes longer
		return this.mix(direction ? direction * Math.max(1e-9, direction * change.by / this.full) : 0);
	}

	/* From -1, all that can be less, to 1. Small changes are more than nothing. */
	mix(part) {
		const {same, more, less} = INKS[this.dark ? "dark" : "light"], end = part > 0 ? more : less;
		const much = part ? 0.15 + 0.85 * Math.sqrt(Math.min(1, Math.abs(part))) : 0;
		return `rgb(${same.map((from, i) => Math.round(from + (end[i] - from) * much)).join(" ")})`;
	}

	/* Pairs of a text and a color. */
	legend(format) {
		const steps = [-1, -0.5, -0.1, 0, 0.1, 0.5, 1].map((part) => ["", this.mix(part)]);
		return [[format(-this.full), null], ...steps, [format(this.full), null], [this.leftOut < 0 ? "same, or may be chance" : "same, or not known", this.mix(0)]];
	}
}
