/* What is shown as the page's #hash, so that a link shows the same again. No DOM here. */

const VIEWS = ["changes", "flame", "icicle", "inverted", "order", "table", "sandwich", "source"];

/* `usual`: what need not be said; what the hash has of another type is left out. */
function stateOfHash(hash, usual) {
	const said = new URLSearchParams(hash.replace(/^#/, "")), state = {...usual};
	for (const [key, value] of Object.entries(usual)) {
		const text = said.get(key);
		if (text === null)
			continue;
		if (typeof value === "string")
			state[key] = text;
		else if (typeof value === "boolean")
			state[key] = text === "1";
		else if (/^-?\d{1,15}$/.test(text))
			state[key] = Number(text);
	}
	return state;
}

function hashOfState(state, usual) {
	const said = new URLSearchParams();
	for (const [key, value] of Object.entries(usual))
		if (state[key] !== value)
			said.set(key, typeof value === "boolean" ? Number(state[key]) : state[key]);
	return "#" + said;
}

/* What cannot be is as usual: a link may be of another page. Of what is shown by the group of the state. */
function possibleState(state, usual, profile) {
	const {threads, slices, functions, tree, kinds} = profile, isWithin = (value, from, end) => value >= from && value < end;
	const possible = {...state}, isPossible = {
		view: VIEWS.includes(state.view) && (state.view !== "order" || profile.sides.length === 1) &&
			(state.view !== "changes" || profile.sides.length > 1) && (state.view !== "source" || profile.code.size > 0),
		fold: ["", "all", "none"].includes(state.fold),
		zoom: isWithin(state.zoom, 0, tree.count),
		func: isWithin(state.func, -1, functions.length),
		thread: threads.some(({pid}, i) => state.thread === "p" + pid || state.thread === "t" + i),
		kind: isWithin(state.kind, -1, kinds.length),
	};
	for (const [key, is] of Object.entries(isPossible))
		if (!is)
			possible[key] = usual[key];
	if (!isWithin(state.first, 0, state.end) || state.end > slices)
		Object.assign(possible, {first: usual.first, end: usual.end});
	if (possible.view === "sandwich" && possible.func < 0)
		possible.view = usual.view;
	return possible;
}
