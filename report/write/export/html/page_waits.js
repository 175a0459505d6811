/* The longest waits of the whole recording, in a dialog: a row shows the thread and the function that waited. */

class WaitList {
	/* onChoose(row) */
	constructor(dialog, {heading, rows, rest}, onChoose) {
		this.dialog = dialog;
		this.rows = rows;
		const list = dialog.querySelector(".waits");
		const put = (name, textContent) => list.appendChild(Object.assign(document.createElement(name), {textContent}));
		if (heading)
			put("h3", heading);
		for (const row of rows) {
			const button = put("button", row.text);
			button.type = "button";
			button.title = row.text.replace(/ {2,}/g, "  ");
			button.addEventListener("click", () => {
				dialog.close();
				onChoose(row);
			});
		}
		if (rest)
			put("p", rest);
	}

	/* False: there are none. */
	open() {
		if (this.rows.length)
			this.dialog.showModal();
		return this.rows.length > 0;
	}
}
