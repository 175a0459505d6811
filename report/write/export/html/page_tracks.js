/*
 * A lane for each thread: how much of each span of time it ran, and above that how much it waited. Its
 * name stands at the left. A click chooses the thread, a drag a range of time.
 */

const LANE_PX = 20;

/*
 * Of each thread what it ran and waited in each slice, of what is kept, in what the event counts. A
 * wait counts where it ends; it took the time before that in which its thread did not run.
 */
function laneWeights(profile, kept, column = 0) {
	const {slices, threads, parts, unit, threadsMerged} = profile, count = threads.length;
	const entries = profile.entries[column], {period} = profile.sides[column];
	const lanes = threads.map(() => ({ran: new Float64Array(slices), waited: new Float64Array(slices)}));
	for (let i = 0; i < entries.count; i++) {
		if (kept && !kept[entries.node[i]])
			continue;
		const slot = entries.slot[i], lane = lanes[slot % count];
		(parts[entries.part[i]].isWait ? lane.waited : lane.ran)[Math.floor(slot / count)] += entries.weight[i] * period;
	}
	const span = ticksSpan(profile);
	for (const lane of lanes)
		lane.ran = smoothed(lane.ran, span);
	if (unit === "ns" && parts.some(({isWait}) => isWait))
		lanes.forEach((lane, i) => spreadWaits(lane, profile.sliceNs * (threadsMerged && i === count - 1 ? threadsMerged : 1)));
	return lanes;
}

/* room: what a slice can have */
function spreadWaits({ran, waited}, room) {
	for (let i = waited.length - 1, more = 0; i >= 0; i--) {
		more += waited[i];
		waited[i] = Math.min(more, Math.max(0, room - ran[i]));
		more -= waited[i];
	}
}

class Tracks {
	/* options: profile, onPlace(left, right): pixels beside the lanes, onThread(index), onSelect(first, end), onHover(text lines or null, event) */
	constructor(place, options) {
		Object.assign(this, options);
		this.place = place;
		this.canvas = document.createElement("canvas");
		this.spacer = document.createElement("div");
		place.append(this.canvas, this.spacer);
		this.lettering = new Lettering();
		this.drag = new RangeDrag(this.canvas, {
			count: () => this.profile.slices,
			left: () => this.left,
			right: () => 0,
			onDrag: (first, end) => this.select(first, end),
			onSelect: (first, end) => this.onSelect(first, end),
			onClick: (event) => this.onThread(this.laneAt(event)),
		});
		place.addEventListener("scroll", () => this.paint());
		this.canvas.addEventListener("mousemove", (event) => this.hover(event));
		this.canvas.addEventListener("mouseleave", () => this.onHover(null));
		new ResizeObserver(() => this.paint()).observe(place);
	}

	/* lanes: of laneWeights(); others: of the old recording, which are drawn as lines, or null; mask: which threads are chosen, null: all; shares: of each thread */
	show(lanes, others, mask, shares, first, end) {
		const {unit, sliceNs} = this.profile;
		Object.assign(this, {lanes, others, mask, shares});
		this.names = this.widthOfNames();
		this.place.style.height = lanes.length * LANE_PX + 2 + "px"; // and its border
		this.isTime = unit === "ns";
		this.most = this.isTime ? sliceNs : [...lanes, ...others || []].reduce((most, {ran}) => ran.reduce((a, b) => Math.max(a, b), most), 0);
		this.select(first, end);
	}

	select(first, end) {
		Object.assign(this, {first, end});
		this.paint();
	}

	laneAt(event) {
		const y = event.clientY - this.canvas.getBoundingClientRect().top + this.place.scrollTop;
		return Math.max(0, Math.min(this.lanes.length - 1, Math.floor(y / LANE_PX)));
	}

	widthOfNames() {
		const SPACE = 14, MOST = 220; // around them; what is longer is elided
		return this.lanes.reduce((wide, _, i) => wide < MOST ? Math.max(wide, this.lettering.widthOf(this.nameAndShare(i)) + SPACE) : MOST, 0);
	}

	hover(event) {
		const index = this.laneAt(event);
		if (this.drag.isBeside(event)) {
			this.onHover([this.nameAndShare(index)], event);
			return;
		}
		const slice = this.drag.sliceAt(event), {sliceNs} = this.profile, lane = this.lanes[index];
		const share = (weight) => percent(Math.min(1, this.most ? weight / this.most : 0));
		const lines = [`${seconds(slice * sliceNs)} to ${seconds((slice + 1) * sliceNs)} s`,
			this.isTime ? `ran ${share(lane.ran[slice])} of it` : `${share(lane.ran[slice])} of the most`];
		if (lane.waited[slice])
			lines.push(`waited ${share(lane.waited[slice])}`);
		if (this.others)
			lines.push(`before: ran ${share(this.others[index].ran[slice])}` + (this.others[index].waited[slice] ? `, waited ${share(this.others[index].waited[slice])}` : ""));
		this.onHover([this.name(index), ...lines], event);
	}

	name(index) {
		const {threads, threadsMerged} = this.profile;
		return threadsMerged && index === threads.length - 1 ? `${threadsMerged} other threads` : threadName(threads[index]);
	}

	paint() {
		const {canvas, place, lanes} = this, ratio = window.devicePixelRatio || 1;
		if (!lanes || !place.clientWidth)
			return;
		const width = place.clientWidth, height = place.clientHeight, context = canvas.getContext("2d");
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.width = width + "px";
		canvas.style.height = height + "px";
		this.left = Math.min(this.names, width * 0.3);
		this.onPlace(this.left, place.offsetWidth - 2 - width); // and its border
		this.spacer.style.height = Math.max(0, lanes.length * LANE_PX - height) + "px";
		context.scale(ratio, ratio);
		context.font = FONT;
		context.textBaseline = "middle";
		const style = getComputedStyle(document.documentElement);
		this.ink = Object.fromEntries(["accent", "stub", "ink", "wait", "line"].map((name) => [name, style.getPropertyValue("--" + name)]));
		const from = Math.floor(place.scrollTop / LANE_PX);
		for (let i = from; i < lanes.length && i * LANE_PX < place.scrollTop + height; i++)
			this.paintLane(context, i, i * LANE_PX - place.scrollTop, width);
	}

	paintLane(context, index, y, width) {
		const {ran, waited} = this.lanes[index], {ink, left} = this, step = (width - left) / ran.length, room = LANE_PX - 3;
		const isChosen = !this.mask || this.mask[index];
		context.globalAlpha = isChosen ? 1 : 0.3;
		for (let i = 0; i < ran.length; i++) {
			const isIn = i >= this.first && i < this.end, part = (weight) => Math.min(1, this.most ? weight / this.most : 0);
			const tall = part(ran[i]) * room, idle = Math.min(room - tall, part(waited[i]) * room);
			context.fillStyle = isIn ? ink.wait : ink.stub;
			context.fillRect(left + i * step, y + 2 + room - tall - idle, step + 0.5, idle);
			context.fillStyle = isIn ? ink.accent : ink.stub;
			context.fillRect(left + i * step, y + 2 + room - tall, step + 0.5, tall);
		}
		if (this.others)
			this.paintLine(context, this.others[index].ran, y + 2 + room, room, step);
		context.fillStyle = ink.ink;
		context.fillText(this.lettering.elided(this.nameAndShare(index), left - 14), 7, y + LANE_PX / 2);
		context.globalAlpha = 1;
		context.fillStyle = ink.line;
		context.fillRect(0, y + LANE_PX - 1, width, 1);
	}

	paintLine(context, weights, bottom, room, step) {
		context.beginPath();
		weights.forEach((weight, i) => {
			const y = bottom - Math.min(1, this.most ? weight / this.most : 0) * room;
			context.lineTo(this.left + i * step, y);
			context.lineTo(this.left + (i + 1) * step, y);
		});
		context.lineWidth = 1;
		context.strokeStyle = this.ink.ink;
		context.stroke();
	}

	nameAndShare(index) {
		const isOld = this.others && !this.shares[index] && this.others[index].ran.some((weight) => weight > 0);
		return `${this.name(index)} \u00b7 ${isOld ? "only before" : percent(this.shares[index])}`;
	}
}
