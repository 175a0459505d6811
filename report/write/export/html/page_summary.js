/* The head of the page: what was recorded, and what is not in this page, or not exact. */

class Summary {
	/* diffText: null where there is one recording; inUnit(value): what the event counts, as text */
	constructor(profile, diffText, inUnit) {
		this.profile = profile;
		this.diffText = diffText;
		this.diff = diffText && diffText.diff;
		this.inUnit = inUnit;
	}

	/* functions: their weights, of each recording */
	show(functions) {
		const {profile} = this, title = profile.title || profile.sides[this.diff ? 1 : 0].title;
		const name = this.diff ? `${title}: ${this.sideName(1)} \u2192 ${this.sideName(0)}` : title;
		document.title = name + " \u2013 ebprof";
		byId("title").textContent = byId("title").title = name;
		byId("summary").textContent = (this.diff ? "New: " : "") + this.line(profile.sides[0]);
		if (this.diff) {
			byId("verdict").hidden = !profile.verdictText;
			byId("verdict").textContent = profile.verdictText;
			byId("verdict").classList.toggle("is-worse", profile.verdict === REGRESSION);
			byId("summary-old").hidden = false;
			byId("summary-old").textContent = "Before: " + this.line(profile.sides[1]);
			byId("time").title = "Over time: bars are the new recording, the line is the one before";
		}
		const notes = this.notes(functions);
		byId("notes").hidden = !notes.length;
		byId("notes").textContent = notes.join(" ");
	}

	sideName(side) {
		return this.profile.sides[side].file || ["new", "before"][side];
	}

	line(side) {
		const parts = [side.event + (side.frequency ? ` ${side.frequency} Hz` : "")];
		parts.push(`${grouped(side.samples)} samples`, `${seconds(side.spanNs)} s`);
		if (this.diff) // of all threads and all the time, which is what is shown first
			parts[1] += " = " + this.inUnit(this.diff.values[this.profile.sides.indexOf(side)]) + (side.unit === "ns" && !this.profile.parts.some(({isWait}) => isWait) ? " on CPUs" : "");
		if (side.host)
			parts.push(side.host);
		if (side.beginMs)
			parts.push(new Date(side.beginMs).toISOString().replace("T", " ").slice(0, 19) + " UTC");
		if (this.diff)
			parts.unshift(side.file, side.title);
		return parts.filter((part) => part).join(" \u00b7 ");
	}

	/* The share of functions without a name. */
	unnamed(self) {
		const {functions, kinds} = this.profile, isUnnamed = kinds.map(({text}) => text === "no name");
		const all = self.reduce((sum, it) => sum + it, 0) || 1;
		return functions.reduce((sum, it, func) => func && isUnnamed[it.kind] ? sum + self[func] : sum, 0) / all;
	}

	/* What is not in this page, or not exact. */
	notes(functions) {
		const {profile} = this, notes = [];
		profile.sides.forEach((side, i) => {
			const of = this.diff ? ["new", "old"][i] + " recording" : "recording";
			if (this.diff && !side.samples)
				notes.push(`The ${of} has no samples: there is nothing to compare.`);
			if (side.lost)
				notes.push(`${grouped(side.lost)} samples (${percent(side.lost / (side.samples + side.lost))}) were lost while recording` +
					(this.diff ? ` the ${["new", "old"][i]} one.` : "."));
			if (side.damage)
				notes.push(`The ${of} is not whole: ${side.damage}.`);
			if (side.stacks)
				notes.push(this.diff ? `The ${of}: ${side.stacks}` : side.stacks);
			if (side.otherSamples && profile.events.length < 2)
				notes.push(`${grouped(side.otherSamples)} samples of other events are not shown` +
					(this.diff ? ` (${of}).` : "."));
		});
		if (this.diff && profile.samples && profile.sides[1].samples)
			notes.push(...this.diffText.doubts(functions));
		const unnamed = this.diff ? 0 : this.unnamed(functions[0].self);
		if (unnamed >= 0.05)
			notes.push(`${percent(unnamed)} of the samples are in functions without a name: view 9 of ebprof report says why, and what helps.`);
		if (profile.foldedNodes) {
			const shares = profile.sides.map((side, i) => percent(side.foldedWeight / (profile.tree.columns[i].total[0] || 1)));
			notes.push(`${grouped(profile.foldedNodes)} frames of the smallest branches, ` +
				`${shares.join(" and ")} of the weight, are shown as ` +
				"[small branches]: figures of the functions in them are too low.");
		}
		if (profile.threadsMerged)
			notes.push(`The ${grouped(profile.threadsMerged)} threads with the fewest samples are shown as one.`);
		if (profile.slices < (this.diff ? 16 : 64) && profile.slices * 1e8 < Math.max(...profile.sides.map((side) => side.spanNs)))
			notes.push(`There are so many samples that the time line has a resolution of ${seconds(profile.sliceNs)} s.`);
		return notes;
	}
}
