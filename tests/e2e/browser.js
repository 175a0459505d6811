// Drives a headless Chromium by the DevTools protocol over its pipe (chromedevtools.github.io/devtools-protocol):
// messages are JSON, each with a NUL behind it, to file 3 and from file 4. Needs nothing but node.
//   const browser = await Browser.open("chromium", "file:///page.html", {width: 1400, height: 900});
"use strict";
const {spawn} = require("child_process");

class Browser {
	static async open(program, url, {width = 1400, height = 900, dark = false, folder} = {}) {
		const browser = new Browser();
		browser.start(program, folder);
		const {targetId} = await browser.call("Target.createTarget", {url: "about:blank"});
		const {sessionId} = await browser.call("Target.attachToTarget", {targetId, flatten: true});
		browser.session = sessionId;
		for (const domain of ["Page", "Runtime", "Log", "Network"])
			await browser.call(domain + ".enable");
		await browser.call("Emulation.setDeviceMetricsOverride", {width, height, deviceScaleFactor: 1, mobile: false});
		await browser.call("Emulation.setEmulatedMedia",
			{features: [{name: "prefers-color-scheme", value: dark ? "dark" : "light"}]});
		await browser.call("Page.navigate", {url});
		return browser;
	}

	start(program, folder) {
		this.next = 1;
		this.waiting = new Map();
		this.problems = []; // what the console got, and errors that it did not get
		this.requests = [];
		this.child = spawn(program, ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
			"--disable-dev-shm-usage", "--disable-extensions", "--disable-background-networking",
			"--user-data-dir=" + folder, "--remote-debugging-pipe"],
		{stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"]});
		let rest = "";
		this.child.stdio[4].setEncoding("utf8");
		this.child.stdio[4].on("data", (text) => {
			const messages = (rest + text).split("\0");
			rest = messages.pop();
			for (const message of messages)
				this.take(JSON.parse(message));
		});
	}

	take(message) {
		const {id, method, params} = message;
		if (id) {
			const {resolve, reject} = this.waiting.get(id);
			this.waiting.delete(id);
			return message.error ? reject(new Error(message.error.message)) : resolve(message.result);
		}
		if (method === "Runtime.consoleAPICalled")
			this.problems.push("console: " + JSON.stringify(params.args));
		else if (method === "Runtime.exceptionThrown")
			this.problems.push("exception: " + JSON.stringify(params.exceptionDetails));
		else if (method === "Log.entryAdded")
			this.problems.push("log: " + params.entry.text);
		else if (method === "Page.javascriptDialogOpening")
			this.problems.push("dialog: " + params.message);
		else if (method === "Network.requestWillBeSent")
			this.requests.push(params.request.url);
	}

	call(method, params = {}) {
		const id = this.next++;
		const message = {id, method, params};
		if (this.session)
			message.sessionId = this.session;
		this.child.stdio[3].write(JSON.stringify(message) + "\0");
		return new Promise((resolve, reject) => this.waiting.set(id, {resolve, reject}));
	}

	/* The value of an expression in the page; promises are waited for. */
	async value(expression) {
		const {result, exceptionDetails} = await this.call("Runtime.evaluate",
			{expression, awaitPromise: true, returnByValue: true});
		if (exceptionDetails)
			throw new Error(expression + ": " + JSON.stringify(exceptionDetails.exception || exceptionDetails));
		return result.value;
	}

	/* Until the expression is true. */
	async until(expression, seconds = 120) {
		for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
			if (await this.value(expression).catch(() => false))
				return;
			await new Promise((resolve) => setTimeout(resolve, 25));
		}
		throw new Error("not within " + seconds + " s: " + expression + "; " + this.problems.join("; "));
	}

	async key(key, modifiers = 0) {
		const code = {Escape: 27, Enter: 13, ArrowUp: 38, ArrowDown: 40, ArrowLeft: 37, ArrowRight: 39}[key];
		const text = key.length === 1 ? key : undefined;
		await this.call("Input.dispatchKeyEvent", {type: "keyDown", key, text, modifiers, windowsVirtualKeyCode: code});
		await this.call("Input.dispatchKeyEvent", {type: "keyUp", key, modifiers, windowsVirtualKeyCode: code});
	}

	async type(text) {
		await this.call("Input.insertText", {text});
	}

	async mouse(type, x, y, modifiers = 0) {
		const button = type === "mouseMoved" ? "none" : "left";
		await this.call("Input.dispatchMouseEvent", {type, x, y, button, clickCount: 1, modifiers});
	}

	async click(x, y, modifiers = 0) {
		await this.mouse("mouseMoved", x, y);
		await this.mouse("mousePressed", x, y, modifiers);
		await this.mouse("mouseReleased", x, y, modifiers);
	}

	async screenshot(path) {
		const {data} = await this.call("Page.captureScreenshot", {format: "png"});
		require("fs").writeFileSync(path, Buffer.from(data, "base64"));
	}

	async close() {
		const gone = new Promise((resolve) => this.child.on("exit", resolve));
		this.session = null;
		this.call("Browser.close").catch(() => {});
		const timer = setTimeout(() => this.child.kill("SIGKILL"), 5000);
		await gone;
		clearTimeout(timer);
	}
}

module.exports = {Browser};
