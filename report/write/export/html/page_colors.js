/*
 * A hue for each file, the busiest ones first; the kernel has its own. Scripts are brighter, of a
 * hue for each language: what runs in an interpreter stands out among its own frames.
 */

const SCRIPT_HUES = [308, 56, 112, 188];
const HUES = [28, 205, 130, 48, 172, 330, 90, 232], KERNEL_HUE = 268, OTHER_HUE = 15;

class Colors {
	constructor(profile, weights) {
		this.profile = profile;
		this.dark = false;
		const heavy = profile.objects.map(() => 0);
		profile.functions.forEach((it, func) => heavy[it.object] += weights.self[func]);
		this.ranked = heavy.map((weight, object) => object)
			.filter((object) => object && heavy[object] > 0)
			.sort((a, b) => heavy[b] - heavy[a] || a - b);
		this.hues = profile.objects.map(() => OTHER_HUE);
		let used = 0;
		for (const object of this.ranked) {
			if (profile.objects[object].isScript)
				continue;
			if (profile.objects[object].isKernel)
				this.hues[object] = KERNEL_HUE;
			else if (used < HUES.length)
				this.hues[object] = HUES[used++];
		}
		this.languages = this.findLanguages();
		this.shades = Float32Array.from(profile.functions, (it) => Colors.shade(it.name));
	}

	/* Objects of scripts. A language has the same hue in every page, unless two that are there want it. */
	findLanguages() {
		const {objects} = this.profile, taken = new Set();
		const languages = objects.map((it, object) => object).filter((object) => objects[object].isScript)
			.sort((a, b) => objects[a].name < objects[b].name ? -1 : 1);
		for (const object of languages) {
			let at = Math.floor(Colors.shade(objects[object].name) * SCRIPT_HUES.length);
			for (let tries = 1; taken.has(at) && tries < SCRIPT_HUES.length; tries++)
				at = (at + 1) % SCRIPT_HUES.length;
			taken.add(at);
			this.hues[object] = SCRIPT_HUES[at];
		}
		return languages;
	}

	/* The same for a name in every page. */
	static shade(name) {
		let hash = 2166136261;
		for (let i = 0; i < name.length; i++)
			hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
		return ((hash >>> 8) % 1000) / 1000;
	}

	color(func, isInlined) {
		const object = this.profile.functions[func].object;
		if (!object) // truncated, folded, unknown
			return this.dark ? "#6b7180" : "#c3c1bb";
		if (this.profile.objects[object].isScript)
			return this.script(this.hues[object], this.shades[func]);
		return this.of(this.hues[object], this.shades[func], isInlined);
	}

	script(hue, shade) {
		return `hsl(${hue + 8 * (shade - 0.5)} ${this.dark ? 78 : 100}% ${(this.dark ? 58 : 66) + 8 * shade}%)`;
	}

	/* Inlined functions are paler. */
	of(hue, shade, isInlined) {
		const vivid = (this.dark ? 48 : 74) - (isInlined ? 24 : 0) - 10 * shade;
		const light = (this.dark ? 58 : 68) + 11 * shade + (isInlined ? 5 : 0);
		return `hsl(${hue + 12 * (shade - 0.5)} ${vivid}% ${light}%)`;
	}

	/* Pairs of a text and a color: what the legend shows. */
	legend() {
		const {objects} = this.profile, files = this.ranked.filter((object) => !objects[object].isScript);
		const rows = this.languages.slice(0, SCRIPT_HUES.length).map((object) =>
			[objects[object].name + " scripts", this.script(this.hues[object], 0.4)]);
		for (const object of files.slice(0, 6))
			rows.push([objects[object].name, this.of(this.hues[object], 0.4, 0)]);
		if (this.profile.tree.inlined.includes(1))
			rows.push(["inlined: paler", this.of(HUES[0], 0.4, 1)]);
		return rows;
	}
}
