/*
 * Not every bracket of a demangled name is one:
 * - C++ operators hold them: operator<, operator(), operator->, operator<=>;
 * - so do expressions among template arguments: (a)<(b), x->y. libiberty puts
 *   operands in parentheses, and expressions with > as well;
 * - Rust and D quote characters and strings there.
 */
#include "report/name/demangle/brackets.h"

#include <ctype.h>
#include <string.h>

enum {
	NESTING_MAX = 256,
};

bool brackets_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

size_t brackets_operator_length(const struct bracketed *in, size_t at)
{
	static const char *const symbols[] = {"()", "[]", "<=>", "<<=", ">>=", "->*", "->", "<<",
		">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
		"+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<", ">", "+", "-", "*", "/", "%",
		"^", "&", "|", "~", "!", "=", ",", "\"\" ", " new[]", " new", " delete[]",
		" delete", " co_await"};
	static const size_t word = sizeof("operator") - 1;
	if (in->language != BRACKETS_CPLUS || strncmp(in->text + at, "operator", word) != 0 ||
		(at && brackets_is_word(in->text[at - 1])))
		return 0;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++)
		if (strncmp(in->text + at + word, symbols[i], strlen(symbols[i])) == 0)
			return word + strlen(symbols[i]);
	return 0;
}

size_t brackets_less_than_length(const struct bracketed *in, size_t at)
{
	char before = at ? in->text[at - 1] : '\0';
	if (in->language != BRACKETS_CPLUS || !before || !strchr(")}.", before))
		return 0;
	return strspn(in->text + at, "<=>");
}

/*
 * Whether the > at `at` belongs to an operator, which has how many bytes from there. libiberty puts
 * no blank between two that close where an empty pack stood: f<g<void ()>>(int). They do when there
 * are two to be closed.
 */
static size_t greater_than_length(const struct bracketed *in, size_t at, bool closes_two)
{
	const char *text = in->text + at;
	if (at && text[-1] == '-')
		return 1;
	if (in->language != BRACKETS_CPLUS)
		return 0;
	if (text[1] == '=')
		return 2;
	bool is_shift = text[1] == '>' && at && text[-1] == ')' &&
			(text[2] == '=' || (text[2] == '(' && !closes_two));
	return is_shift ? strspn(text, ">=") : 0;
}

size_t brackets_literal_length(const struct bracketed *in, size_t at)
{
	const char *text = in->text + at;
	if (in->language == BRACKETS_CPLUS || (*text != '"' && *text != '\''))
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

size_t brackets_group_end(const struct bracketed *in, size_t at)
{
	struct nesting nesting = {.open = {in->text[at++]}, .depth = 1};
	bool behind_operator = false;
	while (at < in->len) {
		char c = in->text[at];
		size_t skip = brackets_operator_length(in, at);
		if (skip) {
			at += skip;
			behind_operator = true;
			continue;
		}
		skip = brackets_literal_length(in, at);
		if (!skip && c == '<' && !behind_operator)
			skip = brackets_less_than_length(in, at);
		if (!skip && c == '>')
			skip = greater_than_length(in, at, has_two_angles(&nesting));
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
