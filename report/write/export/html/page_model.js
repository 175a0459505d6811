/* What is shown: weights of the selection, functions, callers and callees. No DOM here. */

/*
 * Sets tree.columns, for each recording self and total by node: what the selected threads did in the
 * slices from first up to end, which is not one of them. threads is null (all) or a Uint8Array.
 * kept is null (all) or of each node whether what ended there counts: narrowed() has it. tree.self and
 * tree.total are those of the first one; tree.size, how wide nodes are, its total; tree.whole, what
 * that would be if all were kept.
 */
function weigh(profile, threads, first, end, kept) {
	const {tree} = profile, count = profile.threads.length;
	tree.columns = profile.entries.map((entries) => {
		const self = new Float64Array(tree.count);
		let whole = 0;
		for (let i = 0; i < entries.count; i++) {
			const slot = entries.slot[i], slice = Math.floor(slot / count);
			if (slice < first || slice >= end || threads && !threads[slot % count])
				continue;
			whole += entries.weight[i];
			if (!kept || kept[entries.node[i]])
				self[entries.node[i]] += entries.weight[i];
		}
		return {self, whole};
	});
	sumUp(tree);
	tree.whole = tree.columns[0].whole;
}

/* Of each node whether what is searched for by each of the texts is in its stack; null: there is no text. */
function narrowed(profile, texts) {
	const {tree} = profile;
	let kept = null;
	for (const text of texts) {
		const found = searchFunctions(profile, text), has = new Uint8Array(tree.count);
		for (let i = 1; i < tree.count; i++)
			has[i] = found[tree.func[i]] || has[tree.parent[i]];
		kept = kept ? kept.map((is, i) => is & has[i]) : has;
	}
	return kept;
}

function sumUp(tree) {
	for (const column of tree.columns) {
		const total = column.total = column.self.slice();
		for (let i = tree.count - 1; i > 0; i--)
			total[tree.parent[i]] += total[i];
	}
	tree.self = tree.columns[0].self;
	tree.total = tree.size = tree.columns[0].total;
}

/* By slice, of the selected threads and of what is kept. */
function weighSlices(profile, threads, kept = null, entries = profile.entries[0]) {
	const weights = new Float64Array(profile.slices), count = profile.threads.length;
	for (let i = 0; i < entries.count; i++)
		if ((!threads || threads[entries.slot[i] % count]) && (!kept || kept[entries.node[i]]))
			weights[Math.floor(entries.slot[i] / count)] += entries.weight[i];
	return weights;
}

/* Calls visit(node) for the nodes that have no other one of the same function below them. */
function eachOutermost(tree, func, visit) {
	for (let i = 1; i < tree.count;) {
		if (tree.func[i] === func) {
			visit(i);
			i = tree.end[i];
		} else {
			i++;
		}
	}
}

/* self and total of each function; one that calls itself counts once. */
function weighFunctions(profile, column = profile.tree.columns[0]) {
	const {tree} = profile, count = profile.functions.length;
	const self = new Float64Array(count), total = new Float64Array(count);
	const open = new Int32Array(count); // end of the outermost node that is open
	for (let i = 1; i < tree.count; i++) {
		const func = tree.func[i];
		self[func] += column.self[i];
		if (open[func] <= i) {
			open[func] = tree.end[i];
			total[func] += column.total[i];
		}
	}
	return {self, total};
}

/* Whether each function is searched for; null: there is nothing to search. */
function searchFunctions(profile, text) {
	const found = new Uint8Array(profile.functions.length);
	const pattern = /^\/(.+)\/(i?)$/.exec(text);
	let test;
	if (!text)
		return null;
	if (pattern) {
		try {
			const regex = new RegExp(pattern[1], pattern[2]);
			test = (name) => regex.test(name);
		} catch {
			test = () => false;
		}
	} else {
		const lower = text.toLowerCase();
		test = (name) => name.toLowerCase().includes(lower);
	}
	for (let i = 0; i < found.length; i++)
		found[i] = test(profile.functions[i].name) ? 1 : 0;
	return found;
}

/* What ran in functions that were found, or was called by them. */
function weighFound(tree, found, total = tree.total) {
	let weight = 0;
	for (let i = 1; i < tree.count;) {
		if (found[tree.func[i]]) {
			weight += total[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return weight;
}

/* ---- trees of one function ---- */

class TreeBuilder {
	/* scales: for each column what makes them count the same */
	constructor(func, scales) {
		this.scales = scales;
		this.nodes = [];
		this.known = new Map();
		this.add(func, -1, 1);
	}
	add(func, parent, inlined) {
		const self = this.scales.map(() => 0);
		this.nodes.push({func, parent, self, weight: 0, inlined, children: []});
		return this.nodes.length - 1;
	}
	child(parent, func, inlined) {
		const key = parent * 4194304 + func; // both stay exact below 2^53
		let node = this.known.get(key);
		if (node === undefined) {
			node = this.add(func, parent, inlined);
			this.nodes[parent].children.push(node);
			this.known.set(key, node);
		}
		this.nodes[node].inlined &= inlined;
		return node;
	}
	/* by: weights of each column, by node */
	put(into, by, node) {
		this.scales.forEach((scale, column) => this.nodes[into].self[column] += by[column][node]);
	}
	/* As readTree() makes them, and numbers: of each node here; the heaviest children come first. */
	finish() {
		const count = this.nodes.length;
		const tree = {count, parent: new Int32Array(count), depth: new Int32Array(count),
			end: new Int32Array(count), func: new Int32Array(count), inlined: new Uint8Array(count),
			columns: this.scales.map(() => ({self: new Float64Array(count)})), numbers: new Int32Array(count)};
		for (let i = count - 1; i >= 0; i--) {
			const node = this.nodes[i];
			this.scales.forEach((scale, column) => node.weight += node.self[column] * scale);
			if (i)
				this.nodes[node.parent].weight += node.weight;
		}
		const open = [{node: 0, parent: -1, depth: 0}];
		for (let at = 0; open.length; at++) {
			const {node: index, parent, depth} = open.pop(), node = this.nodes[index];
			tree.numbers[index] = at;
			tree.parent[at] = parent;
			tree.depth[at] = depth;
			tree.func[at] = node.func;
			tree.inlined[at] = node.inlined;
			tree.columns.forEach(({self}, column) => self[at] = node.self[column]);
			node.children.sort((a, b) => this.nodes[a].weight - this.nodes[b].weight);
			for (const child of node.children)
				open.push({node: child, parent: at, depth: depth + 1});
		}
		setEnds(tree);
		sumUp(tree);
		return tree;
	}
}

const hasWeight = (tree, node) => tree.columns.some(({total}) => total[node] > 0);

/* The function at the root, what called it as its callees: each node has a part of its weight. */
function callersOf(tree, func, scales) {
	const builder = new TreeBuilder(func, scales), totals = tree.columns.map(({total}) => total);
	eachOutermost(tree, func, (node) => {
		if (!hasWeight(tree, node))
			return;
		let into = 0;
		for (let up = tree.parent[node]; up > 0; up = tree.parent[up])
			into = builder.child(into, tree.func[up], tree.inlined[up]);
		builder.put(into, totals, node);
		builder.nodes[0].inlined &= tree.inlined[node];
	});
	return {...builder.finish(), callee: func};
}

function calleesOf(tree, func, scales) {
	const builder = new TreeBuilder(func, scales), selves = tree.columns.map(({self}) => self);
	eachOutermost(tree, func, (node) => {
		const path = [0], depth = tree.depth[node];
		builder.put(0, selves, node);
		builder.nodes[0].inlined &= tree.inlined[node];
		for (let i = node + 1; i < tree.end[node]; i++) {
			if (!hasWeight(tree, i)) {
				i = tree.end[i] - 1;
				continue;
			}
			const into = builder.child(path[tree.depth[i] - depth - 1], tree.func[i], tree.inlined[i]);
			path[tree.depth[i] - depth] = into;
			builder.put(into, selves, i);
		}
	});
	return builder.finish();
}
