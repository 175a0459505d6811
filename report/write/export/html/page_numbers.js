/* Numbers as text. No DOM here. */

function grouped(number) {
	return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

function seconds(ns) {
	return (ns / 1e9).toFixed(ns < 1e10 ? 3 : 2);
}

function percent(share) {
	return (100 * share).toFixed(2) + "%";
}

const signed = (number, text) => (number > 0 ? "+" : number < 0 ? "\u2212" : "\u00b1") + text;
const points = (by) => signed(Number((100 * by).toFixed(2)), Math.abs(100 * by).toFixed(2));

/* How much more: in percent, or times where that is much. */
function relative(now, old) {
	if (!old || !now)
		return "";
	const ratio = now / old;
	return ratio >= 3 ? "\u00d7" + ratio.toFixed(1) : signed(ratio - 1, Math.abs(100 * (ratio - 1)).toFixed(1) + "%");
}

function bytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	for (; value >= 1024 && unit + 1 < units.length; unit++)
		value /= 1024;
	return `${value.toFixed(unit && value < 100 ? 1 : 0)} ${units[unit]}`;
}
