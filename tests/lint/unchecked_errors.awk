# Declarations of functions, of types of functions and of pointers to functions that return
# `struct err *` without ERR_MUST_CHECK, so that the compiler lets a caller ignore the error:
#   awk -f tests/lint/unchecked_errors.awk HEADER...
# One line for each, FILE:LINE: DECLARATION; exit status 1 when there was one.
#
# A declaration is what stands between two of ; { } outside of parentheses. What a macro is
# defined as is one of its own. Other preprocessor lines, comments and strings do not count.

# A line without comments and strings; `inside` says whether a comment is open.
function strip(line,    out, at) {
	out = ""
	gsub(/\\["\\]/, "", line)
	gsub(/"[^"]*"/, "\"\"", line)
	while (line != "") {
		at = index(line, inside ? "*/" : "/*")
		if (inside) {
			if (!at)
				return out
			line = substr(line, at + 2)
			inside = 0
		} else {
			if (!at) {
				out = out line
				break
			}
			out = out substr(line, 1, at - 1) " "
			line = substr(line, at + 2)
			inside = 1
		}
	}
	sub(/\/\/.*/, "", out)
	return out
}

function end_declaration() {
	gsub(/[ \t]+/, " ", text)
	sub(/^ /, "", text)
	if (text ~ /^((static|inline|extern|typedef|[A-Z_]+) )*struct err \*(\(\*)?[a-z_A-Z0-9]+\)?\(/ &&
		text !~ /(^|[^A-Z_])ERR_MUST_CHECK([^A-Z_]|$)/) {
		print name ":" first ": " text
		bad = 1
	}
	text = ""
	depth = 0
}

function add(line,    i, char) {
	for (i = 1; i <= length(line); i++) {
		char = substr(line, i, 1)
		if (char == "(")
			depth++
		else if (char == ")")
			depth--
		if (depth <= 0 && (char == ";" || char == "{" || char == "}")) {
			end_declaration()
			continue
		}
		if (text == "" && char ~ /[ \t]/)
			continue
		if (text == "")
			first = FNR
		text = text char
	}
	text = text " "
	if (text == " ")
		text = ""
}

FNR == 1 {
	text = ""
	depth = inside = in_macro = 0
	name = FILENAME
}

{
	line = strip($0)
	is_continued = sub(/\\[ \t]*$/, "", line)
	if (!in_macro && line ~ /^[ \t]*#/) {
		# A declaration that #if stands within goes on behind it.
		kept_text = text
		kept_depth = depth
		kept_first = first
		text = ""
		depth = 0
		is_define = sub(/^[ \t]*#[ \t]*define[ \t]+[A-Za-z0-9_]+(\([^)]*\))?/, "", line)
		in_macro = 1
	}
	if (!in_macro)
		add(line)
	else {
		if (is_define)
			add(line)
		if (!is_continued) {
			end_declaration()
			in_macro = 0
			text = kept_text
			depth = kept_depth
			first = kept_first
		}
	}
}

END { exit bad }
