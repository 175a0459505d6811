/* A range of slices that is selected by dragging over a canvas. */

class RangeDrag {
	/* options: count(): of slices, left(), right(): pixels beside them, onDrag(first, end), onSelect(first, end), onClick(event) */
	constructor(canvas, options) {
		Object.assign(this, options);
		this.canvas = canvas;
		this.from = -1;
		canvas.addEventListener("pointerdown", (event) => {
			canvas.setPointerCapture(event.pointerId);
			this.isOfName = this.isBeside(event);
			Object.assign(this, {from: this.sliceAt(event), x: event.clientX});
		});
		canvas.addEventListener("pointermove", (event) => {
			if (this.from >= 0 && this.isDragged(event))
				this.onDrag(...this.range(event));
		});
		canvas.addEventListener("pointerup", (event) => {
			const range = this.range(event), isDrag = this.isDragged(event);
			this.from = -1;
			if (isDrag)
				this.onSelect(...range);
			else
				this.onClick(event);
		});
		canvas.addEventListener("pointercancel", () => { this.from = -1; });
	}

	/* Not what begins on a name: that is a click. */
	isDragged(event) {
		return !this.isOfName && Math.abs(event.clientX - this.x) > 3;
	}

	isBeside(event) {
		return event.clientX - this.canvas.getBoundingClientRect().left < this.left();
	}

	sliceAt(event) {
		const frame = this.canvas.getBoundingClientRect(), count = this.count(), left = this.left();
		const width = frame.width - left - this.right();
		return Math.max(0, Math.min(count - 1, Math.floor((event.clientX - frame.left - left) / width * count)));
	}

	range(event) {
		const slice = this.sliceAt(event);
		return [Math.min(slice, this.from), Math.max(slice, this.from) + 1];
	}
}

/* The time line: how much ran in each slice; a range of it can be selected. */

/* Ticks come at a pace that is none of slices: bars of few are a comb. So each is the mean of so many around it. */
function smoothed(weights, span) {
	const half = Math.floor(span / 2), sums = new Float64Array(weights.length + 1);
	if (half < 1)
		return weights;
	weights.forEach((weight, i) => { sums[i + 1] = sums[i] + weight; });
	return weights.map((weight, i) => {
		const first = Math.max(0, i - half), end = Math.min(weights.length, i + half + 1);
		return (sums[end] - sums[first]) / (end - first);
	});
}

/* Slices in which there are ticks enough of each thread or CPU; of what does not tick, one. */
function ticksSpan({unit, period, sliceNs, slices}) {
	const TICKS = 8, span = unit === "ns" && period > 1 ? Math.ceil(TICKS * period / sliceNs) : 1;
	return Math.min(span, Math.ceil(slices / 16));
}

class TimeLine {
	/* options: span, of ticksSpan(); onSelect(first, end): slices, end is not one of them */
	constructor(canvas, options) {
		Object.assign(this, options);
		this.canvas = canvas;
		this.weights = new Float64Array(1);
		this.others = null;
		this.left = this.right = 0;
		this.lettering = new Lettering();
		this.name = "";
		this.first = 0;
		this.end = 1;
		this.drag = new RangeDrag(canvas, {
			count: () => this.weights.length,
			left: () => this.left,
			right: () => this.right,
			onDrag: (from, to) => {
				Object.assign(this, {first: from, end: to});
				this.paint();
			},
			onSelect: (from, to) => this.onSelect(from, to),
			onClick: () => this.onSelect(0, this.weights.length),
		});
		new ResizeObserver(() => this.paint()).observe(canvas);
	}

	/* others: what is drawn as a line for comparison, or null */
	show(weights, others, first, end) {
		Object.assign(this, {weights, others, first, end});
		this.paint();
	}

	/* Where the lanes below are, which leave so many pixels at either side: what it is of stands at the left. */
	standOver(left, right, name) {
		if (this.left === left && this.right === right && this.name === name)
			return;
		Object.assign(this, {left, right, name});
		this.paint();
	}

	paint() {
		const {canvas, left} = this, weights = smoothed(this.weights, this.span), others = this.others && smoothed(this.others, this.span), ratio = window.devicePixelRatio || 1;
		const width = canvas.clientWidth, height = canvas.clientHeight;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
		const most = [...weights, ...others || []].reduce((a, b) => Math.max(a, b), 0), step = (width - left - this.right) / weights.length;
		context.scale(ratio, ratio);
		const isAll = this.first === 0 && this.end === weights.length;
		if (!isAll) {
			context.fillStyle = style.getPropertyValue("--accent-soft");
			context.fillRect(left + this.first * step, 0, (this.end - this.first) * step, height);
		}
		const edge = (i) => Math.round((left + i * step) * ratio) / ratio; // between pixels there would be seams
		weights.forEach((weight, i) => {
			const isIn = i >= this.first && i < this.end, tall = most ? weight / most * (height - 5) : 0;
			context.fillStyle = style.getPropertyValue(isIn ? "--accent" : "--stub");
			context.globalAlpha = isIn && isAll ? 0.75 : 1;
			const from = edge(i);
			context.fillRect(from, height - tall, Math.max(edge(i + 1) - from, 1 / ratio), tall);
		});
		context.globalAlpha = 1;
		if (others && most)
			this.paintLine(context, others, style.getPropertyValue("--ink"), (weight) => height - weight / most * (height - 5));
		context.font = FONT;
		context.textBaseline = "middle";
		context.fillStyle = style.getPropertyValue("--ink");
		context.fillText(left ? this.lettering.elided(this.name, left - 14) : "", 7, height / 2);
	}

	paintLine(context, others, color, top) {
		const {left} = this, step = (this.canvas.clientWidth - left - this.right) / others.length;
		context.beginPath();
		others.forEach((weight, i) => {
			context.lineTo(left + i * step, top(weight));
			context.lineTo(left + (i + 1) * step, top(weight));
		});
		context.lineWidth = 1;
		context.globalAlpha = 0.7;
		context.strokeStyle = color;
		context.stroke();
		context.globalAlpha = 1;
	}
}
