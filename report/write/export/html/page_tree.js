/* Trees: columns by node, each node before its callees, node 0 the root. No DOM here. */

/* parent: of the root -1; the nodes below i are those from i + 1 up to end[i], which is not one of them. */
function treeFrom(parent, func, inlined) {
	const count = parent.length, depth = new Int32Array(count), end = new Int32Array(count);
	for (let i = 1; i < count; i++)
		depth[i] = depth[parent[i]] + 1;
	for (let i = count - 1; i >= 0; i--) {
		if (end[i] < i + 1)
			end[i] = i + 1;
		if (i && end[parent[i]] < end[i])
			end[parent[i]] = end[i];
	}
	return {count, parent, depth, end, func, inlined};
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

/* A tree by one node after the other, and for each recording what is said of each itself. */
class GrowingTree {
	constructor(nrColumns, func = -1, inlined = 0) {
		this.parent = [-1];
		this.func = [func];
		this.inlined = [inlined];
		this.selves = Array.from({length: nrColumns}, () => [0]);
	}

	add(parent, func, inlined) {
		this.func.push(func);
		this.inlined.push(inlined);
		for (const self of this.selves)
			self.push(0);
		return this.parent.push(parent) - 1;
	}

	finish() {
		const tree = treeFrom(Int32Array.from(this.parent), Int32Array.from(this.func), Uint8Array.from(this.inlined));
		tree.columns = this.selves.map((self) => ({self: Float64Array.from(self)}));
		if (tree.columns.length)
			sumUp(tree);
		return tree;
	}
}

/* A tree by stacks: the callees of a node that are one function are one node. */
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
		this.nodes.push({func, parent, self, weight: 0, inlined, levels: 1, children: []});
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
	/* The node stands for so many calls of its function by itself. */
	deepen(node, levels) {
		this.nodes[node].levels = Math.max(this.nodes[node].levels, levels);
	}
	/* by: weights of each column, by node */
	put(into, by, node) {
		this.scales.forEach((scale, column) => this.nodes[into].self[column] += by[column][node]);
	}
	/* numbers: of each node here, what it is there, where the heaviest children come first; levels: of nodes there. */
	finish() {
		const [{func, inlined}] = this.nodes, made = new GrowingTree(this.scales.length, func, inlined), numbers = new Int32Array(this.nodes.length);
		for (let i = this.nodes.length - 1; i >= 0; i--) {
			const node = this.nodes[i];
			this.scales.forEach((scale, column) => node.weight += node.self[column] * scale);
			if (i)
				this.nodes[node.parent].weight += node.weight;
		}
		for (const open = [0]; open.length;) {
			const index = open.pop(), node = this.nodes[index];
			numbers[index] = index && made.add(numbers[node.parent], node.func, node.inlined);
			made.selves.forEach((self, column) => self[numbers[index]] = node.self[column]);
			node.children.sort((a, b) => this.nodes[a].weight - this.nodes[b].weight);
			open.push(...node.children);
		}
		const levels = new Map(this.nodes.map((node, index) => [numbers[index], node.levels]));
		return {...made.finish(), numbers, levels};
	}
}
