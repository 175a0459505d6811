/* Stacks of scripts without what runs below them, as --no-native has them. No DOM here. */

/* Of no program: where a stack is cut, why a thread waits, which system call it is in. */
const MARKERS = ["", "[wait]", "[syscall]"];

/* The tree and the entries of a profile; stacks without a frame of a script are as they were. */
function scriptsOnly({tree, entries, functions, kinds, objects}) {
	const scales = entries.map(({weight}) => 1 / (weight.reduce((sum, it) => sum + it, 0) || 1));
	const builder = new TreeBuilder(-1, scales), at = new Int32Array(tree.count), hasScript = new Uint8Array(tree.count);
	const isScript = functions.map(({kind}) => kinds[kind].isScript), isMarker = functions.map(({object}) => MARKERS.includes(objects[object].name));
	for (let i = 1; i < tree.count; i++)
		hasScript[i] = isScript[tree.func[i]] || hasScript[tree.parent[i]];
	const used = new Uint8Array(tree.count); // where stacks end, and what called that
	for (const old of entries)
		for (let i = 0; i < old.count; i++)
			for (let node = old.node[i]; node > 0 && !used[node]; node = tree.parent[node])
				used[node] = 1;
	/* Of each node what it is among scripts, and what in a stack without any. */
	const plain = new Int32Array(tree.count);
	for (let i = 1; i < tree.count; i++) {
		if (!used[i])
			continue;
		const func = tree.func[i], parent = tree.parent[i];
		at[i] = isScript[func] || isMarker[func] ? builder.child(at[parent], func, tree.inlined[i]) : at[parent];
		if (!hasScript[i])
			plain[i] = builder.child(plain[parent], func, tree.inlined[i]);
	}
	const image = (node) => hasScript[node] ? at[node] : plain[node];
	entries.forEach(({node, weight}, column) => {
		for (let i = 0; i < node.length; i++)
			builder.nodes[image(node[i])].self[column] += weight[i];
	});
	const made = builder.finish();
	return {tree: made, entries: entries.map((old) => ({...old, node: old.node.map((from) => made.numbers[image(from)])}))};
}
