/*
 * Demangled text is read by its brackets: what stands outside of all of them is
 * the function's own name, scope by scope, and that is what is kept. Which of
 * them are brackets at all is decided by brackets.h.
 *
 * Behind parameters nothing but qualifiers, a further scope or the end may
 * follow. Where the text turns out otherwise, the whole name is shown.
 */
#include "report/name/demangle/demangle_collapse.h"

#include <ctype.h>
#include <string.h>

#include "report/name/demangle/brackets.h"

struct scan {
	struct bracketed in;
	size_t pos; /* in its text */
	bool keep_arguments;
	struct str *out;
	size_t base; /* where the name begins in `out`, behind "vtable for " and what was there */
	unsigned declarators; /* parentheses that are open around the name: int (*NAME())() */
};

static bool starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* ---- output ---- */

static void demangle_collapse_put(struct scan *scan, size_t len)
{
	str_write(scan->out, scan->in.text + scan->pos, len);
	scan->pos += len;
}

/* The template arguments that begin here. */
static bool put_arguments(struct scan *scan)
{
	size_t end = brackets_group_end(&scan->in, scan->pos);
	if (!end)
		return false;
	if (scan->keep_arguments) {
		demangle_collapse_put(scan, end - scan->pos);
	} else {
		str_puts(scan->out, scan->in.text[scan->pos] == '<' ? "<...>" : "(...)");
		scan->pos = end;
	}
	return true;
}

/* All up to `end`, with no more than the arguments of templates left out. */
static bool put_types(struct scan *scan, size_t end)
{
	while (scan->pos < end) {
		size_t symbol = brackets_operator_length(&scan->in, scan->pos);
		if (symbol)
			demangle_collapse_put(scan, symbol);
		else if (scan->in.text[scan->pos] != '<' ||
			 brackets_less_than_length(&scan->in, scan->pos))
			demangle_collapse_put(scan, 1);
		else if (!put_arguments(scan))
			return false;
	}
	return true;
}

static bool demangle_collapse_put_group(struct scan *scan)
{
	size_t end = brackets_group_end(&scan->in, scan->pos);
	return end && put_types(scan, end);
}

static bool skip_group(struct scan *scan)
{
	scan->pos = brackets_group_end(&scan->in, scan->pos);
	return scan->pos != 0;
}

/* ---- C++ ---- */

static const char ANONYMOUS[] = "(anonymous namespace)";

static void skip_qualifiers(struct scan *scan)
{
	static const char *const words[] = {" const", " volatile", " __restrict", " restrict",
		" &&", " &", " noexcept", " transaction_safe"};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (starts_with(scan->in.text + scan->pos, words[i])) {
			scan->pos += strlen(words[i]);
			i = (size_t)-1; /* from the first again */
		}
}

/* What begins here must be the end, or something that the name may go on with. */
static bool is_behind_parameters(const struct scan *scan)
{
	const char *text = scan->in.text + scan->pos;
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
	while (brackets_is_word(scan->in.text[at]) || scan->in.text[at] == ':' ||
		scan->in.text[at] == '<') {
		at = scan->in.text[at] == '<' ? brackets_group_end(&scan->in, at) : at + 1;
		if (!at)
			return 0;
	}
	size_t stars = strspn(scan->in.text + at, "*&");
	if (!stars)
		return 0;
	at += stars;
	while (starts_with(scan->in.text + at, " const"))
		at += strlen(" const");
	return at - scan->pos + (scan->in.text[at] == ' ');
}

/* The type behind "operator ", up to the parameters. */
static bool put_conversion(struct scan *scan)
{
	while (scan->pos < scan->in.len) {
		const char *text = scan->in.text + scan->pos;
		if (*text == '<') {
			if (!put_arguments(scan))
				return false;
		} else if (starts_with(text, ANONYMOUS)) {
			demangle_collapse_put(scan, strlen(ANONYMOUS));
		} else if (*text == '(' && declarator_length(scan)) {
			/* A pointer to a function, and its parameters; to an array. */
			if (!demangle_collapse_put_group(scan))
				return false;
			if (scan->in.text[scan->pos] == '(' && !demangle_collapse_put_group(scan))
				return false;
		} else if (*text == '(') {
			return true;
		} else {
			demangle_collapse_put(scan, 1);
		}
	}
	return true;
}

static bool put_operator(struct scan *scan)
{
	size_t symbol = brackets_operator_length(&scan->in, scan->pos);
	bool is_literal = symbol && scan->in.text[scan->pos + symbol - 1] == ' ';
	demangle_collapse_put(scan, symbol ? symbol : strlen("operator"));
	if (!symbol)
		return put_conversion(scan);
	/* operator<< <int>: the space keeps the brackets apart. */
	if (!is_literal && scan->in.text[scan->pos] == ' ' && scan->in.text[scan->pos + 1] == '<')
		demangle_collapse_put(scan, 1);
	return scan->in.text[scan->pos] != '<' || put_arguments(scan);
}

static bool is_operator(const struct scan *scan)
{
	return starts_with(scan->in.text + scan->pos, "operator") &&
	       !brackets_is_word(scan->in.text[scan->pos + strlen("operator")]) &&
	       (!scan->pos || !brackets_is_word(scan->in.text[scan->pos - 1]));
}

static bool read_parenthesis(struct scan *scan)
{
	const char *name = scan->out->data + scan->base;
	size_t name_len = scan->out->len - scan->base;
	if (starts_with(scan->in.text + scan->pos, ANONYMOUS)) {
		demangle_collapse_put(scan, strlen(ANONYMOUS));
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
	if (scan->in.text[scan->pos] == ' ' && scan->in.text[scan->pos + 1] == '[')
		scan->pos++;
	while (scan->in.text[scan->pos] == '[')
		if (!skip_group(scan))
			return false;
	return scan->in.text[scan->pos] == '(' ? skip_parameters(scan) : is_behind_parameters(scan);
}

/* A space ends the return type, or a word of it. */
static bool read_space(struct scan *scan)
{
	if (starts_with(scan->in.text + scan->pos, " [clone")) {
		demangle_collapse_put(scan, scan->in.len - scan->pos);
		return true;
	}
	const char *name = scan->out->data + scan->base;
	size_t name_len = scan->out->len - scan->base;
	if (name_len == 8 && memcmp(name, "decltype", 8) == 0) {
		demangle_collapse_put(scan, 1);
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
	char c = scan->in.text[scan->pos];
	if (is_operator(scan))
		return put_operator(scan);
	switch (c) {
	case '<':
		return put_arguments(scan);
	case '{':
	case '[':
		return demangle_collapse_put_group(scan);
	case '(':
		return read_parenthesis(scan);
	case ')':
		return close_declarator(scan);
	case ' ':
		return read_space(scan);
	default:
		demangle_collapse_put(scan, 1);
		return true;
	}
}

bool demangle_collapse_cplus(const char *text, size_t len, bool keep_arguments, struct str *out)
{
	struct scan scan = {
		.in = {BRACKETS_CPLUS, text, len}, .keep_arguments = keep_arguments, .out = out};
	size_t prefix = prefix_length(text);
	demangle_collapse_put(&scan, prefix);
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
	const char *at = scan->in.text + scan->pos;
	size_t before = scan->pos;
	if (*at != '<' || !before || starts_with(at, "<impl "))
		return false;
	bool is_for = before >= 3 && starts_with(at - 3, "for<") &&
		      (before == 3 || !brackets_is_word(at[-4]));
	return !is_for && (brackets_is_word(at[-1]) || at[-1] == ':' || at[-1] == '}');
}

bool demangle_collapse_rust(const char *text, size_t len, bool keep_arguments, struct str *out)
{
	if (keep_arguments)
		return false;
	struct scan scan = {.in = {BRACKETS_RUST, text, len}, .out = out};
	while (scan.pos < len) {
		size_t literal = brackets_literal_length(&scan.in, scan.pos);
		if (!begins_rust_arguments(&scan))
			demangle_collapse_put(&scan, literal ? literal : 1);
		else if (!put_arguments(&scan))
			return false;
	}
	return true;
}

/* ---- D ---- */

/* !(...) are arguments of a template, ( ) parameters, behind which attributes may stand. */
static bool read_d(struct scan *scan)
{
	const char *at = scan->in.text + scan->pos;
	if (at[0] == '!' && at[1] == '(') {
		demangle_collapse_put(scan, 1);
		return put_arguments(scan);
	}
	if (*at != '(') {
		demangle_collapse_put(scan, 1);
		return true;
	}
	if (!skip_group(scan))
		return false;
	if (scan->in.text[scan->pos] == ' ')
		scan->pos += strcspn(scan->in.text + scan->pos, ".(!");
	return !scan->in.text[scan->pos] || scan->in.text[scan->pos] == '.';
}

bool demangle_collapse_d(const char *text, size_t len, bool keep_arguments, struct str *out)
{
	struct scan scan = {
		.in = {BRACKETS_D, text, len}, .keep_arguments = keep_arguments, .out = out};
	while (scan.pos < len)
		if (!read_d(&scan))
			return false;
	return true;
}
