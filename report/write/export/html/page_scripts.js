/* Stacks without some of their frames, as --no-native and --no-kernel have them. No DOM here. */

/* Of no program: where a stack is cut, why a thread waits, which system call it is in. */
const MARKERS = ["", "[wait]", "[syscall]"];

/* Of stacks with scripts only their functions. */
function scriptsOnly(profile) {
	const {functions, kinds} = profile, isScript = functions.map(({kind}) => kinds[kind].isScript);
	return withoutFrames(profile, (func) => isScript[func], (func) => isScript[func]);
}

/* Of programs' stacks not the kernel's functions. */
function withoutKernel(profile) {
	const {functions, kinds} = profile, isKernel = functions.map(({kind}) => kinds[kind].isKernel);
	return withoutFrames(profile, (func, isMarker) => !isKernel[func] && !isMarker, (func) => !isKernel[func]);
}

/*
 * The tree and the entries of a profile: stacks with a frame that is meant have only those that are kept, and markers;
 * what the others took counts for what called them. Other stacks are as they were.
 */
function withoutFrames({tree, entries, functions, objects}, isMeant, isKept) {
	const scales = entries.map(({weight}) => 1 / (weight.reduce((sum, it) => sum + it, 0) || 1));
	const builder = new TreeBuilder(-1, scales), at = new Int32Array(tree.count), isOfMeant = new Uint8Array(tree.count);
	const isMarker = functions.map(({object}) => MARKERS.includes(objects[object].name));
	for (let i = 1; i < tree.count; i++)
		isOfMeant[i] = isMeant(tree.func[i], isMarker[tree.func[i]]) || isOfMeant[tree.parent[i]];
	const used = new Uint8Array(tree.count); // where stacks end, and what called that
	for (const old of entries)
		for (let i = 0; i < old.count; i++)
			for (let node = old.node[i]; node > 0 && !used[node]; node = tree.parent[node])
				used[node] = 1;
	/* Of each node what it is among those that are kept, and what in a stack that stays as it was. */
	const plain = new Int32Array(tree.count);
	for (let i = 1; i < tree.count; i++) {
		if (!used[i])
			continue;
		const func = tree.func[i], parent = tree.parent[i];
		at[i] = isKept(func) || isMarker[func] ? builder.child(at[parent], func, tree.inlined[i]) : at[parent];
		if (!isOfMeant[i])
			plain[i] = builder.child(plain[parent], func, tree.inlined[i]);
	}
	const image = (node) => isOfMeant[node] ? at[node] : plain[node];
	entries.forEach(({node, weight}, column) => {
		for (let i = 0; i < node.length; i++)
			builder.nodes[image(node[i])].self[column] += weight[i];
	});
	const made = builder.finish();
	return {tree: made, entries: entries.map((old) => ({...old, node: old.node.map((from) => made.numbers[image(from)])}))};
}
