/*
 * Names that were shortened until they are the same, where they are seen at once: what tells them apart,
 * as report/name/distinct_names.c has it. For pictures and pages, where rooms change. No DOM here.
 */
const ALIKE_MAX = 64; // names that are shown alike: of more, differences do not help

/* Of names that are shown alike, one of each. */
function differencesOf(names) {
	const words = names.map((name) => name.split(/[<>(), ]+/).filter((word) => word));
	let found = names.map(() => "");
	for (let at = 0; words.some((list) => list.length > at); at++) {
		const differs = found.map((own, i) => found.some((other, j) => other === own && words[i][at] !== words[j][at]));
		found = found.map((own, i) => !differs[i] || words[i][at] === undefined ? own : own + (own ? "," : "") + words[i][at]);
	}
	return found;
}

/* pairs: of a name and what it is shown as; not of scripts. Returns by name what has to be added, where something has. */
function distinctNames(pairs) {
	const alike = new Map(), differences = new Map();
	for (const [name, shown] of pairs)
		if (!name.startsWith("["))
			alike.set(shown, (alike.get(shown) || new Set()).add(name));
	for (const names of alike.values()) {
		const list = [...names], found = list.length > 1 && list.length <= ALIKE_MAX ? differencesOf(list) : [];
		found.forEach((difference, i) => {
			if (difference.length > (differences.get(list[i]) || "").length)
				differences.set(list[i], difference);
		});
	}
	return differences;
}

/*
 * A name in its room, and in braces what tells it apart, which takes at most half of that if both do not fit, and
 * is left out where that would say nothing. widthOf(text), form(room): the name as it fits best, elided(text, room).
 */
function nameInRoom(difference, room, least, {widthOf, form, elided}) {
	const braced = difference ? ` {${difference}}` : "", most = Math.floor(room / 2);
	let wanted = widthOf(braced);
	if (wanted > most && widthOf(form(0)) + wanted > room)
		wanted = most < least ? 0 : most;
	const rest = room - wanted, name = elided(form(rest), rest);
	return !wanted || !name ? name : name + elided(braced, room - widthOf(name));
}
