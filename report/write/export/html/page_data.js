"use strict";
/* What stands in the page, as report/write/export/html_data.h has it. */

class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
		this.decoder = new TextDecoder();
	}
	number() { // exact up to 2^53
		let value = 0, scale = 1, byte;
		do {
			if (this.at >= this.bytes.length)
				throw new Error("the data of this page is cut");
			byte = this.bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte > 127);
		return value;
	}
	signed() {
		const value = this.number();
		return value % 2 ? -(value + 1) / 2 : value / 2;
	}
	text() {
		const length = this.number();
		this.at += length;
		return this.decoder.decode(this.bytes.subarray(this.at - length, this.at));
	}
	list(read) {
		const list = new Array(this.number());
		for (let i = 0; i < list.length; i++)
			list[i] = read();
		return list;
	}
}

async function unpack(base64) {
	if (typeof DecompressionStream === "undefined")
		throw new Error("this browser is too old: it has no DecompressionStream");
	const text = atob(base64), packed = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* What is said of each recording is an item of sides; of the first one it is the profile's, too. */
function readHead(reader) {
	if (reader.number() !== 15)
		throw new Error("the data of this page is of another version");
	const sides = reader.list(() => {
		const side = {};
		for (const key of ["file", "title", "event", "unit", "host", "kernel", "recorder", "damage", "stacks"])
			side[key] = reader.text();
		for (const key of ["period", "frequency", "beginMs", "spanNs", "samples", "otherSamples", "lost",
			"foldedWeight"])
			side[key] = reader.number();
		return side;
	});
	const events = reader.list(() => ({name: reader.text(), unit: reader.text()}));
	const head = {...sides[0], sides, events, isSystem: Boolean(reader.number()), foldedNodes: reader.number()};
	const judged = sides.map(() => ({verdict: reader.number(), verdictText: reader.text(), changes: sides.length > 1 ? readChanges(reader) : null}));
	return {...head, ...judged[0], swapped: judged[1]};
}

/* func -1: the page has no such function. */
function readChanges(reader) {
	const lists = reader.list(() => ({count: reader.number(), rows: reader.list(() => ({func: reader.number() - 1,
		name: reader.text(), before: reader.text(), now: reader.text(), change: reader.text(), interval: reader.text()}))}));
	return {lists, sentences: lists.length ? reader.list(() => reader.text()) : []};
}

function readTree(reader) {
	const count = reader.number(), parent = new Int32Array(count), func = new Int32Array(count), inlined = new Uint8Array(count);
	parent[0] = func[0] = -1;
	reader.number();
	for (let i = 1; i < count; i++) {
		parent[i] = i - 1;
		for (let up = reader.number(); up > 0; up--)
			parent[i] = parent[parent[i]];
	}
	reader.number();
	for (let i = 1, met = 1; i < count; i++) {
		const reference = reader.number(), back = Math.floor(reference / 2);
		func[i] = back ? met - back : met++;
		inlined[i] = reference % 2;
	}
	return treeFrom(parent, func, inlined);
}

/* parts: how many the slots are of */
function readEntries(reader, tree, parts) {
	const counts = new Int32Array(tree.count);
	let count = 0;
	for (let i = 0; i < tree.count; i++)
		count += counts[i] = reader.number();
	const entries = {count, node: new Int32Array(count), slot: new Int32Array(count), part: new Uint8Array(count), weight: new Float64Array(count)};
	for (let i = 0, at = 0; i < tree.count; i++)
		for (let left = counts[i]; left > 0; left--)
			entries.node[at++] = i;
	for (let i = 0, group = 0; i < count; i++) {
		group += reader.signed();
		entries.slot[i] = Math.floor(group / parts);
		entries.part[i] = group % parts;
	}
	for (let i = 0; i < count; i++)
		entries.weight[i] = reader.number();
	return entries;
}

/* What is known of a function's change: an enum diff_verdict; ratio, of a known one: see html_data.h. */
const SAME = 1, REGRESSION = 2, IMPROVEMENT = 3;
function readChange(reader) {
	const verdict = reader.number();
	return {verdict, ratio: verdict >= REGRESSION ? reader.number() / 1e6 : 1};
}

/* The new recording becomes the old one; nodes, functions and threads keep their numbers. */
function swapSides(profile) {
	profile.sides.reverse();
	profile.entries.reverse();
	Object.assign(profile, profile.sides[0], profile.swapped);
	for (const it of profile.functions)
		Object.assign(it, it.swapped);
	return profile;
}

function readProfile(bytes) {
	const reader = new Reader(bytes), profile = readHead(reader);
	profile.kinds = reader.list(() => ({text: reader.text(), isScript: Boolean(reader.number()), isKernel: Boolean(reader.number()),
		color: reader.number(), paler: reader.number()}));
	profile.objects = reader.list(() => ({name: reader.text()}));
	profile.files = reader.list(() => reader.text());
	profile.functions = reader.list(() => {
		const it = {name: reader.text(), forms: reader.list(() => reader.text()), object: reader.number(), file: reader.number(), line: reader.number(),
			kind: reader.number()};
		const readBoth = () => ({self: readChange(reader), total: readChange(reader)});
		return profile.sides.length > 1 ? {...it, ...readBoth(), swapped: readBoth()} : it;
	});
	for (let left = reader.number(); left > 0; left--)
		profile.functions[reader.number()].cause = reader.text();
	profile.threads = reader.list(() => ({pid: reader.number(), tid: reader.number(), comm: reader.text(),
		container: reader.text(), process: reader.text()}));
	profile.threadsMerged = reader.number();
	profile.threadsAll = reader.number(); // a thread that was renamed stands in the list twice
	profile.slices = reader.number();
	profile.sliceNs = reader.number();
	profile.parts = reader.list(() => ({name: reader.text(), isWait: Boolean(reader.number())}));
	profile.tree = readTree(reader);
	profile.entries = profile.sides.map(() => readEntries(reader, profile.tree, profile.parts.length));
	profile.code = new Map(reader.list(() => [reader.number(), {self: reader.number(), total: reader.number(), left: reader.number(),
		rows: reader.list(() => ({kind: reader.number(), line: reader.number(), text: reader.text(),
			self: reader.number(), total: reader.number()}))}]));
	profile.waits = {heading: reader.text(), rows: reader.list(() => ({thread: reader.number(), func: reader.text(), text: reader.text()})),
		rest: reader.text()};
	return profile;
}
