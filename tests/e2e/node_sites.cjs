// Functions that are inlined in each other, of which each calls at lines of its own, and one that is too
// long for that, where the time is spent: of it is known how much by which of the calls.
function work(x, n) {
	for (let i = 0; i < n; i++)
		x = (x * 31 + (x >>> 7 ^ i)) | 0;
	if (n < 0) { // never
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
		x = (x * 31 + (x >>> 7 ^ n)) | 0; x = (x * 37 + (x >>> 9 ^ n)) | 0; x = (x * 41 + (x >>> 5 ^ n)) | 0; x = x * 7 | n;
	}
	return x;
}
function inner(x) {
	x = work(x, 300); // three times as long
	return work(x, 100); // as here
}
function middle(x) {
	const y = inner(x); // the first half
	return (y + inner(y ^ 5)) | 0; // the second
}
function outer(x) {
	return (middle(x) * 3) | 0; // always
}
function turn(x) {
	return (outer(x) + 1) | 0; // always
}
let x = 1;
while (process.cpuUsage().user < 1e6 * Number(process.argv[2]))
	x = turn(x);
console.log(x);
