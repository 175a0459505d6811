/* Stacks of scripts without what runs below them, as --no-native has them. No DOM here. */

/* Of no program: where a stack is cut, why a thread waits, which system call it is in. */
const MARKERS = ["", "[wait]", "[syscall]"];

/* The tree and the entries of a profile; stacks without a frame of a script are as they were. */
function scriptsOnly({tree, entries: [old], functions, kinds, objects}) {
	const builder = new TreeBuilder(-1, [1]), at = new Int32Array(tree.count), hasScript = new Uint8Array(tree.count);
	const isScript = functions.map(({kind}) => kinds[kind].isScript), isMarker = functions.map(({object}) => MARKERS.includes(objects[object].name));
	for (let i = 1; i < tree.count; i++)
		hasScript[i] = isScript[tree.func[i]] || hasScript[tree.parent[i]];
	const used = new Uint8Array(tree.count); // where stacks end, and what called that
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
	for (let i = 0; i < old.count; i++) {
		const node = old.node[i];
		builder.nodes[hasScript[node] ? at[node] : plain[node]].self[0] += old.weight[i];
	}
	const made = builder.finish();
	const node = old.node.map((from) => made.numbers[hasScript[from] ? at[from] : plain[from]]);
	return {tree: made, entries: [{...old, node}]};
}
