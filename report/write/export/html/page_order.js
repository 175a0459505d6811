/* Other trees of what is selected: stacks in the order of time, and turned over. No DOM here. */

const ORDER_NODES_MAX = 1 << 20, INVERTED_STEPS_MAX = 4 << 20;

/* The selected entries by slice, each slice's in the order of the tree. */
function entriesBySlice(profile, threads, first, end, kept) {
	const {entries: [entries], threads: {length: count}, slices} = profile, bySlice = Array.from({length: slices}, () => []);
	for (let i = 0; i < entries.count; i++) { // these stand by node
		const slot = entries.slot[i], slice = Math.floor(slot / count);
		if (slice >= first && slice < end && (!threads || threads[slot % count]) && (!kept || kept[entries.node[i]]))
			bySlice[slice].push(i);
	}
	return bySlice;
}

/* Grows to the right: what is open is gone on with, as long as the stack is the same. */
class OrderedTree {
	constructor(from) {
		this.from = from;
		this.parent = [-1];
		this.depth = [0];
		this.func = [-1];
		this.inlined = [0];
		this.self = [0];
		this.nodes = [0]; // of `from`, that are open, the root first
		this.open = [0]; // what they are here
	}

	pathTo(node) {
		const path = [];
		for (; node >= 0; node = this.from.parent[node])
			path.push(node);
		return path.reverse();
	}

	shared(path) {
		let same = 1;
		while (same < path.length && path[same] === this.nodes[same])
			same++;
		return same;
	}

	put(path, weight) {
		const same = this.shared(path), {from} = this;
		this.open.length = same;
		for (let i = same; i < path.length; i++) {
			this.open.push(this.parent.length);
			this.parent.push(this.open[i - 1]);
			this.depth.push(i);
			this.func.push(from.func[path[i]]);
			this.inlined.push(from.inlined[path[i]]);
			this.self.push(0);
		}
		this.nodes = path;
		this.self[this.open[path.length - 1]] += weight;
	}

	/* nodes: those of one span of time; that which shares most with what is open comes first */
	putSpan(weights) {
		const paths = [...weights.keys()].sort((a, b) => a - b).map((node) => this.pathTo(node));
		let best = 0;
		paths.forEach((path, i) => {
			if (this.shared(path) > this.shared(paths[best]))
				best = i;
		});
		for (let i = 0; i < paths.length; i++) {
			const path = paths[(best + i) % paths.length];
			this.put(path, weights.get(path[path.length - 1]));
		}
	}

	finish() {
		const tree = {count: this.parent.length, parent: Int32Array.from(this.parent), depth: Int32Array.from(this.depth),
			end: new Int32Array(this.parent.length), func: Int32Array.from(this.func), inlined: Uint8Array.from(this.inlined),
			columns: [{self: Float64Array.from(this.self)}]};
		setEnds(tree);
		sumUp(tree);
		return tree;
	}
}

/*
 * Stacks from left to right as they came, as wide as what they count: within one span of time nothing
 * is known of the order. Spans are slices, or several where that would be too much; tree.spanNs says it.
 */
function timeOrder(profile, threads, first, end, kept) {
	const {entries: [entries]} = profile, bySlice = entriesBySlice(profile, threads, first, end, kept);
	for (let slices = 1;; slices *= 2) {
		const tree = new OrderedTree(profile.tree);
		for (let at = 0; at < bySlice.length && tree.parent.length <= ORDER_NODES_MAX; at += slices) {
			const weights = new Map();
			for (const i of bySlice.slice(at, at + slices).flat())
				weights.set(entries.node[i], (weights.get(entries.node[i]) || 0) + entries.weight[i]);
			if (weights.size)
				tree.putSpan(weights);
		}
		if (tree.parent.length <= ORDER_NODES_MAX || slices >= bySlice.length)
			return {...tree.finish(), spanNs: slices * profile.sliceNs};
	}
}

/*
 * The functions where time was spent at the root, what called them below. Beyond a number of steps,
 * which the heaviest ones take first, callers are [small branches].
 */
function inverted(tree, scales) {
	const builder = new TreeBuilder(-1, scales), selves = tree.columns.map(({self}) => self), ends = [];
	for (let i = 1; i < tree.count; i++)
		if (selves.some((self) => self[i]))
			ends.push(i);
	const weight = (node) => selves.reduce((sum, self, column) => sum + self[node] * scales[column], 0);
	ends.sort((a, b) => weight(b) - weight(a) || a - b);
	let left = INVERTED_STEPS_MAX;
	for (const node of ends) {
		let into = builder.child(0, tree.func[node], tree.inlined[node]);
		left -= tree.depth[node];
		if (left < 0)
			into = builder.child(into, 0, 0);
		else for (let up = tree.parent[node]; up > 0; up = tree.parent[up])
			into = builder.child(into, tree.func[up], tree.inlined[up]);
		builder.put(into, selves, node);
	}
	builder.put(0, selves, 0); // what has no stack
	return builder.finish();
}
