function inner(until) {
	let total = 0;
	while (process.hrtime()[0] * 1e3 + process.hrtime()[1] / 1e6 < until)
		for (let i = 0; i < 20000; i++)
			total += (i * i) % 7;
	return total;
}

function middle(until) {
	return inner(until) + 1;
}

function outer(until) {
	return middle(until) + 1;
}

const now = process.hrtime();
outer(now[0] * 1e3 + now[1] / 1e6 + Number(process.argv[2]) * 1e3);
