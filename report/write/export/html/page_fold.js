/* Chains of frames without a branch as one row, which a click opens. No DOM here. */

const CHAIN_MIN = 3, INLINED_MIN = 2; // frames that are worth a row of their own

/*
 * A tree as `tree` whose `hidden` has of each row that stands for several frames its text and their
 * functions; origin, of each node which one of `source` it is; image, the other way round. opened:
 * nodes of `tree` where a chain begins that is not to be folded. isKernel(node): no chain leads from the user's frames
 * into the kernel's.
 */
function foldChains(tree, opened, nameOf, isKernel) {
	const only = onlyCallees(tree, isKernel), image = new Int32Array(tree.count), origin = [0], hidden = new Map();
	for (let i = 1; i < tree.count; i++) {
		if (!hasWeight(tree, i)) {
			image[i] = image[tree.parent[i]];
			continue;
		}
		const chain = chainFrom(only, i), last = chain[chain.length - 1], isInlined = chain.every((node) => tree.inlined[node]);
		if (!opened.has(i) && chain.length >= (isInlined ? INLINED_MIN : CHAIN_MIN)) {
			hidden.set(origin.length, {funcs: chain.map((node) => tree.func[node]),
				text: `\u25b8 ${chain.length} ${isInlined ? "inlined " : ""}frames: ${nameOf(i)} \u2026 ${nameOf(last)}`});
			for (const node of chain)
				image[node] = origin.length;
			origin.push(i);
		} else {
			for (const node of chain.length ? chain : [i])
				image[node] = origin.push(node) - 1;
		}
		i = chain.length ? last : i;
	}
	return {...tree, ...pick(tree, origin, image), source: tree, origin, image, hidden};
}

const PER_MILLE = 995; // as focus_only_child() of report/analyse/focus.c has it: less elsewhere is below any limit

/* Of each node its callee, where that stands behind it and has nearly all; else 0. Where a caller of all began is a leaf. */
function onlyCallees(tree, isKernel) {
	const only = new Int32Array(tree.count);
	const isLeaf = (node) => tree.callee !== undefined && tree.columns.some(({self}) => self[node] > 0);
	for (let i = 1; i < tree.count; i++)
		if (tree.parent[i] === i - 1 && hasWeight(tree, i) && !isLeaf(i - 1) && i > 1 && isKernel(i) === isKernel(i - 1) &&
			tree.columns.every(({total}) => total[i] * 1000 >= total[i - 1] * PER_MILLE))
			only[i - 1] = i;
	return only;
}

/* The frames that one row can stand for: the last one, where it branches or ends, stays. */
function chainFrom(only, node) {
	const chain = [];
	for (; only[node]; node = only[node])
		chain.push(node);
	return chain;
}

/* Of a tree these nodes, each before its callees. */
function pick(tree, origin, image) {
	const take = (column) => column.constructor.from(origin, (node) => column[node]);
	const columns = tree.columns.map(({self, total}) => ({self: take(self), total: take(total)}));
	return {...treeFrom(Int32Array.from(origin, (node) => node ? image[tree.parent[node]] : -1), take(tree.func), take(tree.inlined)),
		...tree.ahead && {ahead: take(tree.ahead)}, size: take(tree.size), columns, self: columns[0].self, total: columns[0].total};
}
