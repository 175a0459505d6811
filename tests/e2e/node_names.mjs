// node_names.mjs FILE STEPS: until there is that file, functions that each run for a millisecond or so,
// and are never inlined: a judge that looks at the program counter twice within much less, and finds the
// same function, knows what ran in between. Prints which share of its CPU time each had, by its own
// clock.
import { existsSync } from "node:fs";

const functions = [
	function m00(x, n) { for (let i = 0; i < n; i++) x = (x * 31 + i) | 0; return x; },
	function m01(x, n) { for (let i = 0; i < n; i++) x = (x * 33 ^ i) | 0; return x; },
	function m02(x, n) { for (let i = 0; i < n; i++) x = (x + (i ^ x >> 7)) | 0; return x; },
	function m03(x, n) { for (let i = 0; i < n; i++) x = (x * 37 - i) | 0; return x; },
	function m04(x, n) { for (let i = 0; i < n; i++) x ^= x << 3 ^ i; return x; },
	function m05(x, n) { for (let i = 0; i < n; i++) x = (x * 41 + (i & 9)) | 0; return x; },
	function m06(x, n) { for (let i = 0; i < n; i++) x = ((x ^ i) * 43) | 0; return x; },
	function m07(x, n) { for (let i = 0; i < n; i++) x = (x - (i * x >> 5)) | 0; return x; },
	function m08(x, n) { for (let i = 0; i < n; i++) x = (x * 47 + ~i) | 0; return x; },
	function m09(x, n) { for (let i = 0; i < n; i++) x = (x * 53 ^ i >> 1) | 0; return x; },
	function m10(x, n) { for (let i = 0; i < n; i++) x = (x + (x << 5 ^ i)) | 0; return x; },
	function m11(x, n) { for (let i = 0; i < n; i++) x = (x * 59 + i * 3) | 0; return x; },
	function m12(x, n) { for (let i = 0; i < n; i++) x = ((x + i) * 61) | 0; return x; },
	function m13(x, n) { for (let i = 0; i < n; i++) x ^= x >> 9 ^ i; return x; },
	function m14(x, n) { for (let i = 0; i < n; i++) x = (x * 67 - (i | 5)) | 0; return x; },
	function m15(x, n) { for (let i = 0; i < n; i++) x = ((x << 1) + i) | 0; return x; },
];

const steps = Number(process.argv[3]); // of the first function; the last does four times as many
const spent = functions.map(() => 0);
const clock = () => { const usage = process.cpuUsage(); return usage.user + usage.system; };
let x = 0;
for (let at = 0; at || !existsSync(process.argv[2]); at = (at + 1) % functions.length) {
	const from = clock();
	x = functions[at](x, steps + Math.trunc(steps * 3 * at / (functions.length - 1)));
	spent[at] += clock() - from;
}
const all = spent.reduce((a, b) => a + b, 0);
functions.forEach((f, at) => console.log(f.name, (100 * spent[at] / all).toFixed(2)));
console.log("sum", x);
