/* A hue for each file, the busiest ones first; the kernel has its own. */

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
			if (profile.objects[object].isKernel)
				this.hues[object] = KERNEL_HUE;
			else if (used < HUES.length)
				this.hues[object] = HUES[used++];
		}
		this.shades = Float32Array.from(profile.functions, (it) => Colors.shade(it.name));
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
		return this.of(this.hues[object], this.shades[func], isInlined);
	}

	/* Inlined functions are paler. */
	of(hue, shade, isInlined) {
		const vivid = (this.dark ? 48 : 74) - (isInlined ? 24 : 0) - 10 * shade;
		const light = (this.dark ? 58 : 68) + 11 * shade + (isInlined ? 5 : 0);
		return `hsl(${hue + 12 * (shade - 0.5)} ${vivid}% ${light}%)`;
	}

	/* Pairs of a text and a color: what the legend shows. */
	legend() {
		const rows = this.ranked.slice(0, 6).map((object) =>
			[this.profile.objects[object].name, this.of(this.hues[object], 0.4, 0)]);
		if (this.profile.tree.inlined.includes(1))
			rows.push(["inlined: paler", this.of(HUES[0], 0.4, 1)]);
		return rows;
	}
}
