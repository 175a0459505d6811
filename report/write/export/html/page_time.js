/* The time line: how much ran in each slice; a range of it can be selected. */

class TimeLine {
	/* options: onSelect(first, end): slices, end is not one of them */
	constructor(canvas, options) {
		Object.assign(this, options);
		this.canvas = canvas;
		this.weights = new Float64Array(1);
		this.others = null;
		this.first = 0;
		this.end = 1;
		this.dragged = -1;
		canvas.addEventListener("pointerdown", (event) => {
			canvas.setPointerCapture(event.pointerId);
			this.dragged = this.sliceAt(event);
			this.moved = event.clientX;
		});
		canvas.addEventListener("pointermove", (event) => {
			if (this.dragged >= 0 && Math.abs(event.clientX - this.moved) > 3)
				this.drag(this.sliceAt(event));
		});
		canvas.addEventListener("pointerup", (event) => {
			if (Math.abs(event.clientX - this.moved) <= 3)
				Object.assign(this, {first: 0, end: this.weights.length});
			this.dragged = -1;
			this.onSelect(this.first, this.end);
		});
		new ResizeObserver(() => this.paint()).observe(canvas);
	}

	/* others: what is drawn as a line for comparison, or null */
	show(weights, others, first, end) {
		Object.assign(this, {weights, others, first, end});
		this.paint();
	}

	sliceAt(event) {
		const frame = this.canvas.getBoundingClientRect(), count = this.weights.length;
		return Math.max(0, Math.min(count - 1, Math.floor((event.clientX - frame.left) / frame.width * count)));
	}

	drag(slice) {
		this.first = Math.min(slice, this.dragged);
		this.end = Math.max(slice, this.dragged) + 1;
		this.paint();
	}

	paint() {
		const {canvas, weights} = this, ratio = window.devicePixelRatio || 1;
		const width = canvas.clientWidth, height = canvas.clientHeight;
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		const context = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
		const most = [...weights, ...this.others || []].reduce((a, b) => Math.max(a, b), 0), step = width / weights.length;
		context.scale(ratio, ratio);
		const isAll = this.first === 0 && this.end === weights.length;
		if (!isAll) {
			context.fillStyle = style.getPropertyValue("--accent-soft");
			context.fillRect(this.first * step, 0, (this.end - this.first) * step, height);
		}
		const edge = (i) => Math.round(i * step * ratio) / ratio; // between pixels there would be seams
		weights.forEach((weight, i) => {
			const isIn = i >= this.first && i < this.end, tall = most ? weight / most * (height - 5) : 0;
			context.fillStyle = style.getPropertyValue(isIn ? "--accent" : "--stub");
			context.globalAlpha = isIn && isAll ? 0.75 : 1;
			const from = edge(i);
			context.fillRect(from, height - tall, Math.max(edge(i + 1) - from, 1 / ratio), tall);
		});
		context.globalAlpha = 1;
		if (this.others && most)
			this.paintLine(context, style.getPropertyValue("--ink"), (weight) => height - weight / most * (height - 5));
	}

	paintLine(context, color, top) {
		const step = this.canvas.clientWidth / this.others.length;
		context.beginPath();
		this.others.forEach((weight, i) => {
			context.lineTo(i * step, top(weight));
			context.lineTo((i + 1) * step, top(weight));
		});
		context.lineWidth = 1;
		context.globalAlpha = 0.7;
		context.strokeStyle = color;
		context.stroke();
		context.globalAlpha = 1;
	}
}
