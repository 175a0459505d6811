/* Other trees of what is selected: stacks in the order of time, and turned over. No DOM here. */

const LEAST_PART = 20000; // of all: what is less than one of so many parts is put into [small branches], function 0

/* The selected entries by slice, each slice's in the order of the tree. */
function entriesBySlice(profile, threads, first, end, kept) {
	const {entries: [entries], threads: {length: count}, slices} = profile, bySlice = Array.from({length: slices}, () => []);
	for (let i = 0; i < entries.count; i++) {
		const slot = entries.slot[i], slice = Math.floor(slot / count);
		if (slice >= first && slice < end && (!threads || threads[slot % count]) && (!kept || kept[entries.node[i]]))
			bySlice[slice].push(i);
	}
	for (const list of bySlice)
		list.sort((a, b) => entries.node[a] - entries.node[b]);
	return bySlice;
}

/* Grows to the right: what is open is gone on with, as long as the stack is the same. */
class OrderedTree extends GrowingTree {
	constructor(from, least) {
		super(1);
		this.from = from;
		this.least = least;
		this.sums = new Float64Array(from.count); // of one span
		this.nodes = [0]; // of `from`, that are open, the root first; -1: what is small
		this.open = [0]; // what they are here
		this.ahead = [0]; // what the caller took itself before a node began, behind the callee before it
		this.passed = [0]; // ... of what it took itself, for all that it has called until now
	}

	/* Of a node of `from`; isCut: with what is small there as its leaf. */
	pathTo(node, isCut) {
		const path = isCut ? [-1] : [];
		for (; node > 0; node = this.from.parent[node])
			path.push(node);
		path.push(0);
		return path.reverse();
	}

	shared(path) {
		let same = 1;
		while (same < path.length && path[same] === this.nodes[same])
			same++;
		return same;
	}

	add(parent, func, inlined) {
		const taken = this.selves[0][parent];
		this.ahead.push(taken - this.passed[parent]);
		this.passed.push(0);
		this.passed[parent] = taken;
		return super.add(parent, func, inlined);
	}

	finish() {
		return {...super.finish(), ahead: Float64Array.from(this.ahead)};
	}

	put(path, weight) {
		const same = this.shared(path), {from} = this;
		this.open.length = same;
		for (let i = same; i < path.length; i++)
			this.open.push(this.add(this.open[i - 1], path[i] < 0 ? 0 : from.func[path[i]], path[i] < 0 ? 0 : from.inlined[path[i]]));
		this.nodes = path;
		this.selves[0][this.open[path.length - 1]] += weight;
	}

	/* Of one span of time; the stack that shares most with what is open comes first. */
	putSpan(entries, indices) {
		const {sums, least, from: {parent}} = this, weights = new Map(); // by kept node * 2 + is cut there
		for (const i of indices)
			for (let node = entries.node[i]; node > 0; node = parent[node])
				sums[node] += entries.weight[i];
		for (const i of indices) {
			let node = entries.node[i];
			while (node > 0 && sums[node] < least)
				node = parent[node];
			const key = node * 2 + (node !== entries.node[i] ? 1 : 0);
			weights.set(key, (weights.get(key) || 0) + entries.weight[i]);
		}
		for (const i of indices)
			for (let node = entries.node[i]; node > 0 && sums[node]; node = parent[node])
				sums[node] = 0;
		const paths = [...weights].map(([key, weight]) => ({path: this.pathTo(key >> 1, key & 1), weight}));
		let best = 0, most = 0;
		paths.forEach(({path}, i) => {
			const same = this.shared(path);
			if (same > most)
				[best, most] = [i, same];
		});
		for (const {path, weight} of [...paths.slice(best), ...paths.slice(0, best)])
			this.put(path, weight);
	}
}

/*
 * Stacks from left to right as they came, as wide as what they count, with room between them for what their caller
 * took itself meanwhile: within one span of time, which tree.spanNs says, nothing is known of the order.
 */
function timeOrder(profile, threads, first, end, kept) {
	const {entries: [entries], tree: from} = profile, tree = new OrderedTree(from, from.total[0] / LEAST_PART);
	for (const indices of entriesBySlice(profile, threads, first, end, kept))
		if (indices.length)
			tree.putSpan(entries, indices);
	return {...tree.finish(), spanNs: profile.sliceNs};
}

/* The functions where time was spent at the root, what called them below, the heaviest first. */
function inverted(tree, scales) {
	const made = new GrowingTree(scales.length), selves = tree.columns.map(({self}) => self);
	const weightOf = (node) => selves.reduce((sum, self, column) => sum + self[node] * scales[column], 0);
	const put = (into, node) => selves.forEach((self, column) => { made.selves[column][into] += self[node]; });
	/* leaves: nodes where time was spent; ats: for each what is looked at, which called it */
	const group = (leaves, ats) => {
		const groups = new Map();
		leaves.forEach((leaf, i) => {
			const func = tree.func[ats[i]];
			if (!groups.has(func))
				groups.set(func, {func, leaves: [], ats: [], weight: 0, inlined: 1});
			const it = groups.get(func);
			it.leaves.push(leaf);
			it.ats.push(ats[i]);
			it.weight += weightOf(leaf);
			it.inlined &= tree.inlined[ats[i]];
		});
		return [...groups.values()];
	};
	const ends = [...tree.func.keys()].filter((node) => node > 0 && selves.some((self) => self[node]));
	const least = ends.reduce((sum, node) => sum + weightOf(node), 0) / LEAST_PART, open = [];
	const openAll = (groups, parent) => {
		const small = groups.filter(({weight}) => weight < least).flatMap(({leaves}) => leaves);
		if (small.length)
			open.push({func: 0, leaves: small, ats: null, inlined: 0, parent});
		for (const it of groups.filter(({weight}) => weight >= least).sort((a, b) => a.weight - b.weight))
			open.push({...it, parent});
	};
	put(0, 0); // what has no stack
	openAll(group(ends, ends), 0);
	while (open.length) {
		const {func, leaves, ats, inlined, parent} = open.pop(), node = made.add(parent, func, inlined), more = [], callers = [];
		leaves.forEach((leaf, i) => {
			const caller = ats ? tree.parent[ats[i]] : 0;
			if (caller > 0) {
				more.push(leaf);
				callers.push(caller);
			} else {
				put(node, leaf);
			}
		});
		openAll(group(more, callers), node);
	}
	return made.finish();
}
