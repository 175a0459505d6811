// A module of WebAssembly: outer() calls middle(), which calls inner(), which computes. The module
// itself says what they are called.
const section = (id, ...body) => [id, body.length, ...body];
const text = (s) => [s.length, ...Buffer.from(s)];
const body = (...code) => [code.length, ...code];
const names = ["inner", "middle", "outer"];
const calls = (callee) => body(0, 0x20, 0, 0x10, callee, 0x41, 1, 0x6a, 0x0b);
const computes = body(1, 1, 0x7f, 0x03, 0x40, // of one variable more, in a loop:
	0x20, 1, 0x41, 31, 0x6c, 0x20, 0, 0x6a, 0x21, 1, // it becomes itself times 31, plus the argument
	0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0, // of which there is one less; again, until that is 0
	0x0b, 0x20, 1, 0x0b);
const compiled = new WebAssembly.Module(Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
	...section(1, 1, 0x60, 1, 0x7f, 1, 0x7f), ...section(3, 3, 0, 0, 0), ...section(7, 1, ...text("run"), 0, 2),
	...section(10, 3, ...computes, ...calls(0), ...calls(1)),
	...section(0, ...text("name"), ...section(1, 3, ...names.flatMap((name, i) => [i, ...text(name)])))]));
const { run } = new WebAssembly.Instance(compiled).exports;
const seconds = () => process.hrtime()[0] + process.hrtime()[1] / 1e9;
for (const end = seconds() + Number(process.argv[2]); seconds() < end;)
	run(300000);
