// A program of known shape: turn() calls step00(), that step01(), and so on to a depth that changes;
// each does work of a kind of its own first. So of every stack with a step it is known which others
// are in it.

function mix(x) {
	let sum = 0;
	for (let i = 0; i < 300; i++)
		sum = (sum * 31 + i * x) | 0; // hot
	return sum;
}

class Solid {
	volume(x) { return (x * 3) | 0; }
}
class Cube extends Solid {
	volume(x) { return super.volume(x) + 1; }
}
class Tile extends Solid {
	volume(x) { return x ^ 5; }
}
const solids = [new Solid(), new Cube(), new Tile()];

function* numbers(from) {
	for (let i = 0; i < 5; i++)
		yield from + i;
}

const work = [
	(x) => mix(x & 3),
	(x) => [3, 1, 2].sort((a, b) => a - b).length + x,
	(x) => JSON.stringify({ a: x, b: [1, 2, 3] }).length,
	(x) => ("abc" + x).replace(/b(c)/g, "$1x").length,
	(x) => {
		try {
			if ((x & 3) === 1)
				throw new Error("no " + (x & 7));
			return x;
		} catch (error) {
			return error.message.length;
		}
	},
	(x) => {
		const map = new Map();
		for (let i = 0; i < 6; i++)
			map.set("k" + ((x + i) & 7), i);
		return map.size;
	},
	(x) => {
		for (let i = 0; i < 30; i++)
			x = solids[i % 3].volume(x) | 0;
		return x;
	},
	(x) => [1, 2, 3, 4].map((v) => v * x).filter((v) => v & 1).reduce((a, b) => a + b, 0) | 0,
	(x) => {
		let sum = 0;
		for (const number of numbers(x))
			sum += number;
		return sum | 0;
	},
	(x) => Buffer.alloc(64, x & 255).readUInt8(3),
];

function step00(depth, x) { x += work[0](x); return depth > 0 ? step01(depth - 1, x) + 1 : x; }
function step01(depth, x) { x += work[1](x); return depth > 0 ? step02(depth - 1, x) + 1 : x; }
function step02(depth, x) { x += work[2](x); return depth > 0 ? step03(depth - 1, x) + 1 : x; }
function step03(depth, x) { x += work[3](x); return depth > 0 ? step04(depth - 1, x) + 1 : x; }
function step04(depth, x) { x += work[4](x); return depth > 0 ? step05(depth - 1, x) + 1 : x; }
function step05(depth, x) { x += work[5](x); return depth > 0 ? step06(depth - 1, x) + 1 : x; }
function step06(depth, x) { x += work[6](x); return depth > 0 ? step07(depth - 1, x) + 1 : x; }
function step07(depth, x) { x += work[7](x); return depth > 0 ? step08(depth - 1, x) + 1 : x; }
function step08(depth, x) { x += work[8](x); return depth > 0 ? step09(depth - 1, x) + 1 : x; }
function step09(depth, x) { x += work[9](x); return depth > 0 ? step10.apply(null, [depth - 1, x]) : x; }
function step10(depth, x) { return x + mix(depth); }

function turn(number) { return step00(number % 11, number | 0); }

// Seconds of CPU time: others may have the CPU for most of the clock's.
const end = Number(process.argv[2]) * 1e6;
let total = 0;
for (let number = 0; process.cpuUsage().user < end; number++)
	total += turn(number);
console.log(total | 0);
