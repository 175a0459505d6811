/*
 * A color for each kind of frame (report/analyse/frame_kind.h); neighbours of one kind differ a little,
 * by their names. All are light: letters on them are dark in both themes.
 */

const SHADE = 0.16; // of the way to white, at most
const FOLDED_COLOR = "rgb(200 198 192)"; // what is no function: folded, truncated

/* Luminance, as WCAG 2.1 defines it, of "rgb(R G B)". */
function luminance(color) {
	const [red, green, blue] = color.match(/\d+/g).map((part) => {
		const value = part / 255;
		return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/* Black or white, of which one has a contrast of 4.5 on any color. */
const inks = new Map();
function inkOn(color) {
	if (!inks.has(color))
		inks.set(color, luminance(color) > 0.179 ? "#000" : "#fff");
	return inks.get(color);
}

class Colors {
	constructor(profile, weights) {
		this.profile = profile;
		this.take(weights);
		this.marked = -1; // the kind that was chosen in the legend; all others are pale
	}

	/* The profile has other functions; weights: of them */
	take(weights) {
		this.shades = Float32Array.from(this.profile.functions, (it) => SHADE * Colors.shade(it.name));
		this.known = [new Map(), new Map()]; // of functions; where they are inlined
		this.weigh(weights);
	}

	/* weights: of functions */
	weigh(weights) {
		this.weights = this.profile.kinds.map(() => 0);
		this.profile.functions.forEach((it, func) => this.weights[it.kind] += weights.self[func]);
		this.all = this.weights.reduce((sum, weight) => sum + weight, 0) || 1;
	}

	/* The same for a name in every page. */
	static shade(name) {
		let hash = 2166136261;
		for (let i = 0; i < name.length; i++)
			hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
		return ((hash >>> 8) % 1000) / 1000;
	}

	static of(rgb, shade) {
		const part = (bits) => Math.round((rgb >> bits & 255) + (255 - (rgb >> bits & 255)) * shade);
		return `rgb(${part(16)} ${part(8)} ${part(0)})`;
	}

	color(func, isInlined) {
		const known = this.known[isInlined ? 1 : 0];
		let color = known.get(func);
		if (color === undefined) {
			const {kind, object} = this.profile.functions[func], {color: full, paler} = this.profile.kinds[kind];
			color = object ? Colors.of(isInlined ? paler : full, this.shades[func]) : FOLDED_COLOR;
			known.set(func, color);
		}
		return color;
	}

	isOther(func) {
		return this.marked >= 0 && (func < 0 || this.profile.functions[func].kind !== this.marked);
	}

	/* What the legend shows: the kinds that are there, those with the most samples first. */
	legend() {
		const {kinds, functions, tree} = this.profile, isThere = kinds.map(() => false);
		functions.forEach((it, func) => { isThere[it.kind] ||= func > 0 && !it.isGroup; });
		const rows = kinds.map(({text, color}, kind) => ({text, color: Colors.of(color, 0), kind, share: this.weights[kind] / this.all}))
			.filter(({kind}) => isThere[kind]).sort((a, b) => this.weights[b.kind] - this.weights[a.kind] || a.kind - b.kind);
		if (tree.inlined.includes(1))
			rows.push({text: "paler: inlined", color: Colors.of(kinds[0].paler, 0)});
		return rows;
	}
}
