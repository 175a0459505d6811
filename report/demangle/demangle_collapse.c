/*
 * Demangled text is read by its brackets: what stands outside of all of them is
 * the function's own name, scope by scope, and that is what is kept. The
 * difficulty is that not every bracket is one:
 * - C++ operators hold them: operator<, operator(), operator->, operator<=>;
 * - so do expressions among template arguments: (a)<(b), x->y. libiberty puts
 *   operands in parentheses, and expressions with > as well;
 * - Rust and D quote characters and strings there.
 *
 * Behind parameters nothing but qualifiers, a further scope or the end may
 * follow. Where the text turns out otherwise, the whole name is shown.
 */
#include "report/demangle/demangle_collapse.h"

#include <ctype.h>
#include <string.h>

enum {
	NESTING_MAX = 256,
};

enum language {
	LANGUAGE_CPLUS,
	LANGUAGE_RUST,
	LANGUAGE_D,
};

struct scan {
	enum language language;
	const char *text; /* NUL-terminated */
	size_t len, pos;
	bool keep_arguments;
	struct str *out;
	size_t base; /* where the name begins in `out`, behind "vtable for " and what was there */
	unsigned declarators; /* parentheses that are open around the name: int (*NAME())() */
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/* ---- operators and brackets ---- */

/* "operator" and its symbol at `at`, but not the type of a conversion; 0 when it is none. */
static size_t operator_length(const struct scan *scan, size_t at)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<",
		">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
		"+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<", ">", "+", "-", "*", "/", "%",
		"^", "&", "|", "~", "!", "=", ",", "\"\" ", " new[]", " new", " delete[]",
		" delete", " co_await"};
	static const size_t word = sizeof("operator") - 1;
	if (scan->language != LANGUAGE_CPLUS || !starts_with(scan->text + at, "operator") ||
		(at && is_word(scan->text[at - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (starts_with(scan->text + at + word, symbols[i]))
			return word + strlen(symbols[i]);
	return 0;
}

/* Whether the < at `at` compares or shifts; how many bytes the operator has. */
static size_t less_than_length(const struct scan *scan, size_t at)
{
	char before = at ? scan->text[at - 1] : '\0';
	if (scan->language != LANGUAGE_CPLUS || !before || !strchr(")}.", before))
		return 0;
	return strspn(scan->text + at, "<=>");
}

/*
 * Whether the > at `at` belongs to an operator, which has how many bytes from there. libiberty puts
 * no blank between two that close where an empty pack stood: f<g<void ()>>(int). They do when there
 * are two to be closed.
 */
static size_t greater_than_length(const struct scan *scan, size_t at, bool closes_two)
{
	const char *text = scan->text + at;
	if (at && text[-1] == '-')
		return 1;
	if (scan->language != LANGUAGE_CPLUS)
		return 0;
	if (text[1] == '=')
		return 2;
	bool is_shift = text[1] == '>' && at && text[-1] == ')' &&
			(text[2] == '=' || (text[2] == '(' && !closes_two));
	return is_shift ? strspn(text, ">=") : 0;
}

/* 'x' or "..." at `at`; 0 when it is none: 'a is a lifetime. */
static size_t literal_length(const struct scan *scan, size_t at)
{
	const char *text = scan->text + at;
	if (scan->language == LANGUAGE_CPLUS || (*text != '"' && *text != '\''))
		return 0;
	if (*text == '\'' && text[1] != '\\' && (!text[1] || text[2] != '\''))
		return 0;
	for (size_t i = 1; text[i]; i++) {
		if (text[i] == '\\' && text[i + 1])
			i++;
		else if (text[i] == *text)
			return i + 1;
	}
	return 0;
}

/* Brackets that are open. */
struct nesting {
	char open[NESTING_MAX];
	size_t depth;
};

static bool open_bracket(struct nesting *nesting, char bracket)
{
	if (nesting->depth == NESTING_MAX)
		return false;
	nesting->open[nesting->depth++] = bracket;
	return true;
}

static bool has_two_angles(const struct nesting *nesting)
{
	return nesting->depth >= 2 && nesting->open[nesting->depth - 1] == '<' &&
	       nesting->open[nesting->depth - 2] == '<';
}

/* A < that was left open inside was none: only > closes one. */
static bool close_bracket(struct nesting *nesting, char bracket)
{
	char open = bracket == ')' ? '(' : bracket == ']' ? '[' : bracket == '}' ? '{' : '<';
	if (open == '<') {
		if (nesting->open[nesting->depth - 1] == '<')
			nesting->depth--;
		return true;
	}
	while (nesting->depth && nesting->open[nesting->depth - 1] == '<')
		nesting->depth--;
	return nesting->depth && nesting->open[--nesting->depth] == open;
}

/* Where the bracket that opens at `at` is closed, that byte included; 0 when it is not. */
static size_t group_end(const struct scan *scan, size_t at)
{
	struct nesting nesting = {.open = {scan->text[at++]}, .depth = 1};
	bool behind_operator = false;
	while (at < scan->len) {
		char c = scan->text[at];
		size_t skip = operator_length(scan, at);
		if (skip) {
			at += skip;
			behind_operator = true;
			continue;
		}
		skip = literal_length(scan, at);
		if (!skip && c == '<' && !behind_operator)
			skip = less_than_length(scan, at);
		if (!skip && c == '>')
			skip = greater_than_length(scan, at, has_two_angles(&nesting));
		behind_operator &= c == ' ';
		if (skip) {
			at += skip;
			continue;
		}
		if (c && strchr("(<[{", c) && !open_bracket(&nesting, c))
			return 0;
		if (c && strchr(")>]}", c) && !close_bracket(&nesting, c))
			return 0;
		at++;
		if (!nesting.depth)
			return at;
	}
	return 0;
}

/* ---- output ---- */

static void put(struct scan *scan, size_t len)
{
	str_write(scan->out, scan->text + scan->pos, len);
	scan->pos += len;
}

/* The template arguments that begin here. */
static bool put_arguments(struct scan *scan)
{
	size_t end = group_end(scan, scan->pos);
	if (!end)
		return false;
	if (scan->keep_arguments) {
		put(scan, end - scan->pos);
	} else {
		str_puts(scan->out, scan->text[scan->pos] == '<' ? "<...>" : "(...)");
		scan->pos = end;
	}
	return true;
}

/* All up to `end`, with no more than the arguments of templates left out. */
static bool put_types(struct scan *scan, size_t end)
{
	while (scan->pos < end) {
		size_t symbol = operator_length(scan, scan->pos);
		if (symbol)
			put(scan, symbol);
		else if (scan->text[scan->pos] != '<' || less_than_length(scan, scan->pos))
			put(scan, 1);
		else if (!put_arguments(scan))
			return false;
	}
	return true;
}

static bool put_group(struct scan *scan)
{
	size_t end = group_end(scan, scan->pos);
	return end && put_types(scan, end);
}

static bool skip_group(struct scan *scan)
{
	scan->pos = group_end(scan, scan->pos);
	return scan->pos != 0;
}

/* ---- C++ ---- */

static const char ANONYMOUS[] = "(anonymous namespace)";

static void skip_qualifiers(struct scan *scan)
{
	static const char *const words[] = {" const", " volatile", " __restrict", " restrict",
		" &&", " &", " noexcept", " transaction_safe"};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (starts_with(scan->text + scan->pos, words[i])) {
			scan->pos += strlen(words[i]);
			i = (size_t)-1; /* from the first again */
		}
}

/* What begins here must be the end, or something that the name may go on with. */
static bool is_behind_parameters(const struct scan *scan)
{
	const char *text = scan->text + scan->pos;
	return !*text || starts_with(text, "::") || starts_with(text, " [clone") ||
	       starts_with(text, "[abi:") || (*text == ')' && scan->declarators);
}

static bool skip_parameters(struct scan *scan)
{
	if (!skip_group(scan))
		return false;
	skip_qualifiers(scan);
	return is_behind_parameters(scan);
}

/*
 * How many bytes of "(*", "(&" or "(Class::*" stand here, in front of the name
 * of a function that returns a pointer to a function, member or array.
 */
static size_t declarator_length(const struct scan *scan)
{
	size_t at = scan->pos + 1;
	while (is_word(scan->text[at]) || scan->text[at] == ':' || scan->text[at] == '<') {
		at = scan->text[at] == '<' ? group_end(scan, at) : at + 1;
		if (!at)
			return 0;
	}
	size_t stars = strspn(scan->text + at, "*&");
	if (!stars)
		return 0;
	at += stars;
	while (starts_with(scan->text + at, " const"))
		at += strlen(" const");
	return at - scan->pos + (scan->text[at] == ' ');
}

/* The type behind "operator ", up to the parameters. */
static bool put_conversion(struct scan *scan)
{
	while (scan->pos < scan->len) {
		const char *text = scan->text + scan->pos;
		if (*text == '<') {
			if (!put_arguments(scan))
				return false;
		} else if (starts_with(text, ANONYMOUS)) {
			put(scan, strlen(ANONYMOUS));
		} else if (*text == '(' && declarator_length(scan)) {
			/* A pointer to a function, and its parameters; to an array. */
			if (!put_group(scan))
				return false;
			if (scan->text[scan->pos] == '(' && !put_group(scan))
				return false;
		} else if (*text == '(') {
			return true;
		} else {
			put(scan, 1);
		}
	}
	return true;
}

static bool put_operator(struct scan *scan)
{
	size_t symbol = operator_length(scan, scan->pos);
	bool is_literal = symbol && scan->text[scan->pos + symbol - 1] == ' ';
	put(scan, symbol ? symbol : strlen("operator"));
	if (!symbol)
		return put_conversion(scan);
	/* operator<< <int>: the space keeps the brackets apart. */
	if (!is_literal && scan->text[scan->pos] == ' ' && scan->text[scan->pos + 1] == '<')
		put(scan, 1);
	return scan->text[scan->pos] != '<' || put_arguments(scan);
}

static bool is_operator(const struct scan *scan)
{
	return starts_with(scan->text + scan->pos, "operator") &&
	       !is_word(scan->text[scan->pos + strlen("operator")]) &&
	       (!scan->pos || !is_word(scan->text[scan->pos - 1]));
}

static bool read_parenthesis(struct scan *scan)
{
	const char *name = scan->out->data + scan->base;
	size_t name_len = scan->out->len - scan->base;
	if (starts_with(scan->text + scan->pos, ANONYMOUS)) {
		put(scan, strlen(ANONYMOUS));
		return true;
	}
	if ((name_len == 8 && memcmp(name, "decltype", 8) == 0) ||
		(name_len == 9 && memcmp(name, "decltype ", 9) == 0)) { /* a return type */
		str_truncate(scan->out, scan->base);
		return skip_group(scan);
	}
	size_t declarator = name_len ? 0 : declarator_length(scan);
	if (!declarator)
		return skip_parameters(scan);
	scan->pos += declarator;
	scan->declarators++;
	return true;
}

/* Closes a declarator: parameters or bounds of what the function returns follow. */
static bool close_declarator(struct scan *scan)
{
	if (!scan->declarators)
		return false;
	scan->declarators--;
	scan->pos++;
	if (scan->text[scan->pos] == ' ' && scan->text[scan->pos + 1] == '[')
		scan->pos++;
	while (scan->text[scan->pos] == '[')
		if (!skip_group(scan))
			return false;
	return scan->text[scan->pos] == '(' ? skip_parameters(scan) : is_behind_parameters(scan);
}

/* A space ends the return type, or a word of it. */
static bool read_space(struct scan *scan)
{
	if (starts_with(scan->text + scan->pos, " [clone")) {
		put(scan, scan->len - scan->pos);
		return true;
	}
	const char *name = scan->out->data + scan->base;
	size_t name_len = scan->out->len - scan->base;
	if (name_len == 8 && memcmp(name, "decltype", 8) == 0) {
		put(scan, 1);
		return true;
	}
	str_truncate(scan->out, scan->base);
	scan->pos++;
	return true;
}

/* "vtable for ", "non-virtual thunk to ": words before the name. Returns their length. */
static size_t prefix_length(const char *text)
{
	for (size_t i = 0; isalnum((unsigned char)text[i]) || strchr(" -#", text[i]); i++) {
		if (!text[i])
			break;
		if (starts_with(text + i, " for "))
			return i + strlen(" for ");
		if (starts_with(text + i, " to "))
			return i + strlen(" to ");
	}
	return 0;
}

/* Whether a type follows such words, or something else without parameters. */
static bool is_of_type(const char *prefix)
{
	return starts_with(prefix, "vtable") || starts_with(prefix, "VTT") ||
	       starts_with(prefix, "construction") || starts_with(prefix, "typeinfo") ||
	       starts_with(prefix, "template parameter");
}

static bool read_cplus(struct scan *scan)
{
	char c = scan->text[scan->pos];
	if (is_operator(scan))
		return put_operator(scan);
	switch (c) {
	case '<':
		return put_arguments(scan);
	case '{':
	case '[':
		return put_group(scan);
	case '(':
		return read_parenthesis(scan);
	case ')':
		return close_declarator(scan);
	case ' ':
		return read_space(scan);
	default:
		put(scan, 1);
		return true;
	}
}

bool demangle_collapse_cplus(const char *text, size_t len, bool keep_arguments, struct str *out)
{
	struct scan scan = {.text = text, .len = len, .keep_arguments = keep_arguments, .out = out};
	size_t prefix = prefix_length(text);
	put(&scan, prefix);
	scan.base = out->len;
	if (prefix && is_of_type(text))
		return put_types(&scan, len);
	while (scan.pos < len)
		if (!read_cplus(&scan))
			return false;
	return !scan.declarators && out->len > scan.base;
}

/* ---- Rust ---- */

/*
 * A < behind a word or :: begins generic arguments, but for<'a> binds
 * lifetimes. Else it is <T as Trait> or <impl Trait for T>, whose inside is read on.
 */
static bool begins_rust_arguments(const struct scan *scan)
{
	const char *at = scan->text + scan->pos;
	size_t before = scan->pos;
	if (*at != '<' || !before || starts_with(at, "<impl "))
		return false;
	bool is_for =
		before >= 3 && starts_with(at - 3, "for<") && (before == 3 || !is_word(at[-4]));
	return !is_for && (is_word(at[-1]) || at[-1] == ':' || at[-1] == '}');
}

bool demangle_collapse_rust(const char *text, size_t len, bool keep_arguments, struct str *out)
{
	if (keep_arguments)
		return false;
	struct scan scan = {.language = LANGUAGE_RUST, .text = text, .len = len, .out = out};
	while (scan.pos < len) {
		size_t literal = literal_length(&scan, scan.pos);
		if (!begins_rust_arguments(&scan))
			put(&scan, literal ? literal : 1);
		else if (!put_arguments(&scan))
			return false;
	}
	return true;
}

/* ---- D ---- */

/* !(...) are arguments of a template, ( ) parameters, behind which attributes may stand. */
static bool read_d(struct scan *scan)
{
	const char *at = scan->text + scan->pos;
	if (at[0] == '!' && at[1] == '(') {
		put(scan, 1);
		return put_arguments(scan);
	}
	if (*at != '(') {
		put(scan, 1);
		return true;
	}
	if (!skip_group(scan))
		return false;
	if (scan->text[scan->pos] == ' ')
		scan->pos += strcspn(scan->text + scan->pos, ".(!");
	return !scan->text[scan->pos] || scan->text[scan->pos] == '.';
}

bool demangle_collapse_d(const char *text, size_t len, bool keep_arguments, struct str *out)
{
	struct scan scan = {.language = LANGUAGE_D,
		.text = text,
		.len = len,
		.keep_arguments = keep_arguments,
		.out = out};
	while (scan.pos < len)
		if (!read_d(&scan))
			return false;
	return true;
}
