/* What is shown: weights of the selection, functions, callers and callees. No DOM here. */

/* What of an entry lies in the slices from first up to end. A wait began before the slice that it ended in. */
function weightWithin({slot, weight}, i, {count, sliceWeight}, isWait, first, end) {
	const slice = Math.floor(slot[i] / count);
	if (!isWait || weight[i] <= sliceWeight)
		return slice >= first && slice < end ? weight[i] : 0;
	const from = Math.max(first, slice + 1 - weight[i] / sliceWeight), to = Math.min(end, slice + 1);
	return Math.max(0, to - from) * sliceWeight;
}

/*
 * Sets tree.columns, for each recording self and total by node: what the selected threads did in the
 * slices from first up to end, which is not one of them. threads is null (all) or a Uint8Array.
 * kept is null (all) or of each node whether what ended there counts: narrowed() has it. tree.self and
 * tree.total are those of the first one; tree.size, how wide nodes are, its total; tree.whole, what
 * that would be if all were kept.
 */
function weigh(profile, threads, first, end, kept) {
	const {tree} = profile, count = profile.threads.length;
	const isWhole = first <= 0 && end >= profile.slices;
	const waits = profile.parts.map(({isWait}) => isWait && !isWhole);
	tree.columns = profile.entries.map((entries, column) => {
		const scale = {count, sliceWeight: profile.sliceNs / (profile.sides[column].period || 1)};
		const self = new Float64Array(tree.count);
		let whole = 0;
		for (let i = 0; i < entries.count; i++) {
			const weight = weightWithin(entries, i, scale, waits[entries.part[i]], first, end);
			if (!weight || threads && !threads[entries.slot[i] % count])
				continue;
			whole += weight;
			if (!kept || kept[entries.node[i]])
				self[entries.node[i]] += weight;
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
			found.isInvalid = true;
			return found;
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

const hasWeight = (tree, node) => tree.columns.some(({total}) => total[node] > 0);

/*
 * The function at the root, what called it as its callees: each node has a part of its weight. mergesRecursion: calls of
 * a function by itself are one node.
 */
function callersOf(tree, func, scales, mergesRecursion) {
	const builder = new TreeBuilder(func, scales), totals = tree.columns.map(({total}) => total);
	eachOutermost(tree, func, (node) => {
		if (!hasWeight(tree, node))
			return;
		let into = 0, levels = 1;
		for (let up = tree.parent[node], of = func; up > 0; up = tree.parent[up]) {
			levels = mergesRecursion && tree.func[up] === of ? levels + 1 : 1;
			into = levels > 1 ? into : builder.child(into, tree.func[up], tree.inlined[up]);
			builder.deepen(into, levels);
			of = tree.func[up];
		}
		builder.put(into, totals, node);
		builder.nodes[0].inlined &= tree.inlined[node];
	});
	return {...builder.finish(), callee: func};
}

/* What the function called, likewise. */
function calleesOf(tree, func, scales, mergesRecursion) {
	const builder = new TreeBuilder(func, scales), selves = tree.columns.map(({self}) => self);
	eachOutermost(tree, func, (node) => {
		const path = [0], levels = [1], depth = tree.depth[node];
		builder.put(0, selves, node);
		builder.nodes[0].inlined &= tree.inlined[node];
		for (let i = node + 1; i < tree.end[node]; i++) {
			if (!hasWeight(tree, i)) {
				i = tree.end[i] - 1;
				continue;
			}
			const at = tree.depth[i] - depth, isAgain = mergesRecursion && tree.func[i] === tree.func[tree.parent[i]];
			const into = isAgain ? path[at - 1] : builder.child(path[at - 1], tree.func[i], tree.inlined[i]);
			path[at] = into;
			levels[at] = isAgain ? levels[at - 1] + 1 : 1;
			builder.deepen(into, levels[at]);
			builder.put(into, selves, i);
		}
	});
	return builder.finish();
}
