/* Samples grouped by whose they are: below the root, the tree has a node for each group. No DOM here. */

const UNKNOWN_CHANGE = {verdict: 0, ratio: 1}; // `ebprof diff` judges functions, not groups
const GROUP_KIND = {text: "groups", isScript: false, isKernel: false, color: 0xc6c6c6, paler: 0xe4e4e4};

/* Of two recordings threads are told apart by their names and those of their processes. */
function threadName({comm, tid, process}) {
	const name = comm || "[unknown]";
	return tid ? `${name} ${tid}` : process && process !== comm ? `${process}/${name}` : name;
}

/* word: what is chosen; numberOf: of an entry's node, thread and part, equal within a group; textOf: its name */
class Groups {
	constructor(profile) {
		this.profile = profile;
		this.whole = {tree: profile.tree, entries: profile.entries};
		this.less = new Map(); // the same without some frames, by which
		Object.assign(this, this.whole); // what there is without groups
		this.functions = profile.functions;
		this.objects = profile.objects;
		profile.kinds = [...profile.kinds, GROUP_KIND];
		const {threads} = profile, leaders = new Map(threads.map(({pid, process}) => [pid, process]));
		const objectOf = (node) => node ? this.functions[this.tree.func[node]].object : 0;
		this.kinds = {
			process: [(node, thread) => threads[thread].pid, (pid) => pid ? `${leaders.get(pid)}:${pid}` : "other threads"],
			thread: [(node, thread) => thread,
				(i) => threads[i].tid ? `${threads[i].comm}:${threads[i].tid}` : "other threads"],
			container: [(node, thread) => threads[thread].container, (name) => name || "[no container]"],
			...profile.sides.length > 1 ? this.byNames() : {},
			file: [(node) => objectOf(node), (object) => this.objects[object].name || "[no file]"],
		};
		if (profile.parts.length > 1)
			this.kinds.event = [(node, thread, part) => part, (part) => profile.parts[part].name];
	}

	/* The last one may stand for several. */
	byNames() {
		const {threads, threadsMerged} = this.profile, isRest = (i) => threadsMerged > 0 && i === threads.length - 1;
		return {
			process: [(node, i) => isRest(i) ? "other threads" : threads[i].process || "[unknown]", (name) => name],
			thread: [(node, i) => i, (i) => isRest(i) ? "other threads" : threadName(threads[i])],
			container: [() => 0, () => "all"],
		};
	}

	has(word) {
		return !word || Object.hasOwn(this.kinds, word);
	}

	/* What there is, or without the kernel's frames, or of scripts only. */
	framesOf({scripts, nokernel}) {
		const {functions, objects} = this, {kinds} = this.profile, key = `${scripts} ${nokernel}`;
		if (!scripts && !nokernel)
			return this.whole;
		if (!this.less.has(key)) {
			const user = nokernel ? withoutKernel({...this.whole, functions, objects, kinds}) : this.whole;
			this.less.set(key, scripts ? scriptsOnly({...user, functions, objects, kinds}) : user);
		}
		return this.less.get(key);
	}

	/* Makes the profile's tree, entries and functions those that a state wants: of its group; "": of none. */
	use(state) {
		const {profile} = this, word = state.group;
		Object.assign(this, this.framesOf(state));
		Object.assign(profile, {tree: this.tree, entries: this.entries, functions: this.functions, objects: this.objects});
		if (!word)
			return;
		const [numberOf, textOf] = this.kinds[word], count = profile.threads.length;
		const members = new Map(); // by number: indices of entries, of each recording, and what share they have
		this.entries.forEach((entries, column) => {
			const whole = entries.weight.reduce((sum, it) => sum + it, 0) || 1;
			for (let i = 0; i < entries.count; i++) {
				const number = numberOf(entries.node[i], entries.slot[i] % count, entries.part[i]);
				if (!members.has(number))
					members.set(number, {number, lists: this.entries.map(() => []), weight: 0});
				const it = members.get(number);
				it.lists[column].push(i);
				it.weight += entries.weight[i] / whole;
			}
		});
		const groups = [...members.values()].sort((a, b) => b.weight - a.weight);
		profile.objects = [...this.objects, {name: `[${word}]`}];
		profile.functions = [...this.functions, ...groups.map(({number}) => ({name: textOf(number), forms: [],
			object: this.objects.length, file: 0, line: 0, kind: profile.kinds.length - 1, isGroup: true,
			self: UNKNOWN_CHANGE, total: UNKNOWN_CHANGE}))];
		this.plant(groups);
	}

	/* The nodes of a group are those of its entries and what called them, in their order. */
	plant(groups) {
		const {tree: from} = this, made = new GrowingTree(0);
		const entries = this.entries.map((old) => ({...old, node: new Int32Array(old.count)}));
		const at = new Int32Array(from.count), seen = new Int32Array(from.count); // of a group: where its node is
		groups.forEach(({lists}, i) => {
			const nodes = [];
			lists.forEach((list, column) => list.forEach((entry) => {
				for (let node = this.entries[column].node[entry]; node > 0 && seen[node] !== i + 1; node = from.parent[node]) {
					seen[node] = i + 1;
					nodes.push(node);
				}
			}));
			at[0] = made.add(0, this.functions.length + i, 0);
			for (const node of nodes.sort((a, b) => a - b))
				at[node] = made.add(at[from.parent[node]], from.func[node], from.inlined[node]);
			lists.forEach((list, column) => list.forEach((entry) => {
				entries[column].node[entry] = at[this.entries[column].node[entry]];
			}));
		});
		Object.assign(this.profile, {tree: made.finish(), entries});
	}
}
