/* Names of C++ without parameters and arguments of templates, for boxes that have no room for them. */

const OPERATOR = /^operator *(?:->\*|->|\(\)|<=>|<<=|>>=|<<|>>|<=|>=|<|>)/;

/* Where the bracket that opens at `from` is closed, behind it; the end if it never is. */
function behindBracket(name, from) {
	const closing = {"<": ">", "(": ")", "{": "}"}, open = [];
	for (let at = from; at < name.length; at++) {
		const letter = name[at];
		if (name.startsWith("->", at)) {
			at++;
		} else if (letter in closing) {
			open.push(closing[letter]);
		} else if (letter === open[open.length - 1]) {
			open.pop();
			if (!open.length)
				return at + 1;
		}
	}
	return name.length;
}

/* A name in brackets, as Rust, Python and the kernel have some, stays as it is. */
function shortName(name) {
	if (!/[<(]/.test(name) || /^[<[]/.test(name))
		return name;
	let out = "";
	for (let at = 0; at < name.length;) {
		const operator = /\w$/.test(out) ? null : OPERATOR.exec(name.slice(at));
		const end = "<({".includes(name[at]) ? behindBracket(name, at) : at + 1;
		if (operator) {
			out += operator[0];
			at += operator[0].length;
			continue;
		}
		if (name[at] === "<")
			out += "<...>";
		else if (name[at] !== "(" || name.startsWith("(anonymous namespace)", at))
			out += name.slice(at, end);
		else if (!name.startsWith("::", end))
			break; // parameters, and behind them at most "const"
		at = end;
	}
	return out || name;
}
