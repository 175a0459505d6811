/*
 * Names that were shortened until they are the same, where they are seen at once: what tells them apart,
 * as report/name/distinct_names.c has it. For pictures and pages, where rooms change. No DOM here.
 */
const ALIKE_MAX = 64; // names that are shown alike: of more, differences do not help

/* Without the end that is shown already: of app::deep::work, shown as work, "app::deep". */
function withoutShownEnd(word, shown) {
	return word.endsWith(shown) ? word.slice(0, word.length - shown.length).replace(/[:./\\]+$/, "") : word;
}

/* How many letters of scopes all of them begin with. */
function commonScopes([first, ...others]) {
	let common = 0;
	for (let at = 0; first && at < first.length && others.every((word) => word[at] === first[at]); at++)
		if (":./\\".includes(first[at]))
			common = at + 1;
	return common;
}

/* Of names that are shown alike, one of each. */
function differencesOf(names, shown) {
	const words = names.map((name) => name.split(/[<>(){}, ]+/).filter((word) => word));
	let found = names.map(() => "");
	for (let at = 0; words.some((list) => list.length > at); at++) {
		const differs = found.map((own, i) => found.some((other, j) => other === own && words[i][at] !== words[j][at]));
		const ends = words.map((list, i) => differs[i] && list[at] !== undefined ? withoutShownEnd(list[at], shown) : null);
		const common = commonScopes(ends.filter((word) => word !== null));
		found = found.map((own, i) => ends[i] ? own + (own ? "," : "") + ends[i].slice(common) : own);
	}
	return found;
}

/* pairs: of a name and what it is shown as. Returns by name what has to be added, where something has. */
function distinctNames(pairs) {
	const alike = new Map(), differences = new Map();
	for (const [name, shown] of pairs)
		if (!name.startsWith("["))
			alike.set(shown, (alike.get(shown) || new Set()).add(name));
	for (const [shown, names] of alike) {
		const list = [...names], found = list.length > 1 && list.length <= ALIKE_MAX ? differencesOf(list, shown) : [];
		found.forEach((difference, i) => {
			if (difference.length > (differences.get(list[i]) || "").length)
				differences.set(list[i], difference);
		});
	}
	return differences;
}

/*
 * A name in its room, and in braces what tells it apart, which takes at most half of that if both do not fit, and
 * is left out where one of both would say nothing. widthOf(text), form(room): the name as it fits best, elided(text, room).
 */
function nameInRoom(difference, room, least, {widthOf, form, elided}) {
	const braced = difference ? ` {${difference}}` : "", most = Math.floor(room / 2);
	const shortest = braced ? widthOf(form(0)) : 0;
	let wanted = widthOf(braced);
	if (wanted > most && shortest + wanted > room)
		wanted = most < least ? 0 : most;
	if (shortest + wanted > room && room - wanted < least)
		wanted = 0;
	const rest = room - wanted, name = elided(form(rest), rest);
	return !wanted || !name ? name : name + elided(braced, room - widthOf(name));
}
