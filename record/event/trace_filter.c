#include "record/event/trace_filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/nearest.h"
#include "format/base/str.h"
#include "record/event/trace_glob.h"

/*
 * A recursive descent that makes no tree: each part gets the places where to go on if it is true
 * and if it is not. As those of a left part are behind the right one, which is not read yet, a part
 * leaves chains of exits, and the caller, which knows their place, fills it in.
 */
enum {
	MAX_DEPTH = 16,
	END_OF_CHAIN = 0xff,
};

struct filter_parser {
	const char *text, *at;
	const struct tracepoint_fields *fields;
	struct event_trace_point *out;
	struct trace_globs *globs;
	int depth;
};

/* Lists of terms whose exit is not known, each linked through that very exit. */
struct filter_exits {
	uint8_t yes, no; /* the first of a chain: term << 1 | whether it is the yes of that term */
};

static uint8_t *exit_at(struct filter_parser *parser, uint8_t link)
{
	struct event_trace_term *term = &parser->out->terms[link >> 1];
	return link & 1 ? &term->yes : &term->no;
}

static void fill_chain(struct filter_parser *parser, uint8_t chain, uint8_t place)
{
	while (chain != END_OF_CHAIN) {
		uint8_t *exit = exit_at(parser, chain);
		chain = *exit;
		*exit = place;
	}
}

static uint8_t join_chains(struct filter_parser *parser, uint8_t first, uint8_t second)
{
	if (first == END_OF_CHAIN)
		return second;
	uint8_t *exit = exit_at(parser, first);
	while (*exit != END_OF_CHAIN)
		exit = exit_at(parser, *exit);
	*exit = second;
	return first;
}

static void skip_blanks(struct filter_parser *parser)
{
	while (isspace((unsigned char)*parser->at))
		parser->at++;
}

static bool take_filter_token(struct filter_parser *parser, const char *token)
{
	skip_blanks(parser);
	if (strncmp(parser->at, token, strlen(token)) != 0)
		return false;
	parser->at += strlen(token);
	return true;
}

static struct err *filter_error(const struct filter_parser *parser, const char *what)
{
	return err_new(ERR_USAGE, "filter \"%s\": %s at \"%s\"", parser->text, what, parser->at);
}

/* ---- one comparison ---- */

static struct err *take_field_name(
	struct filter_parser *parser, const struct tracepoint_field **ret)
{
	skip_blanks(parser);
	size_t len = 0;
	while (isalnum((unsigned char)parser->at[len]) || parser->at[len] == '_')
		len++;
	CLEANUP(str_deinit) struct str name = {0}, known = {0};
	str_write(&name, parser->at, len);
	struct nearest nearest = nearest_to(str_text(&name));
	vec_each(parser->fields, field) {
		if (len && strcmp(field->name, str_text(&name)) == 0) {
			parser->at += len;
			*ret = field;
			return NULL;
		}
		nearest_offer(&nearest, field->name);
		if (strncmp(field->name, "common_", strlen("common_")) != 0)
			str_printf(&known, "%s%s", known.len ? ", " : "", field->name);
	}
	if (!len)
		return filter_error(parser, "no name of a field");
	if (nearest.word)
		return err_new(ERR_USAGE, "filter \"%s\": no field \"%s\", did you mean %s?",
			parser->text, str_text(&name), nearest.word);
	return err_new(ERR_USAGE, "filter \"%s\": no field \"%s\", there are: %s", parser->text,
		str_text(&name), str_text(&known));
}

static struct err *take_operator(struct filter_parser *parser, uint8_t *ret)
{
	/* The longer ones first. */
	static const struct {
		const char *text;
		enum event_trace_operator number;
	} operators[] = {{"==", EVENT_TRACE_EQUAL}, {"!=", EVENT_TRACE_NOT_EQUAL},
		{"<=", EVENT_TRACE_AT_MOST}, {">=", EVENT_TRACE_AT_LEAST}, {"<", EVENT_TRACE_LESS},
		{">", EVENT_TRACE_MORE}, {"&", EVENT_TRACE_HAS_BITS}, {"~", EVENT_TRACE_LIKE}};
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (!take_filter_token(parser, operators[i].text))
			continue;
		*ret = (uint8_t)operators[i].number;
		return NULL;
	}
	return filter_error(parser, "none of == != < <= > >= & ~");
}

/* Equal ones have one number. */
static struct err *take_glob(
	struct filter_parser *parser, const char *text, size_t len, struct event_trace_term *term)
{
	struct event_trace_glob glob;
	if (!trace_glob_compile(text, len, &glob))
		return filter_error(parser, "a pattern of more than 62 letters beside its *");
	struct trace_globs *globs = parser->globs;
	while (term->glob < globs->len &&
		memcmp(&globs->data[term->glob], &glob, sizeof(glob)) != 0)
		term->glob++;
	if (term->glob == globs->len)
		vec_push(globs, glob);
	return NULL;
}

static struct err *take_text(struct filter_parser *parser, struct event_trace_term *term)
{
	skip_blanks(parser);
	char quote = *parser->at == '"' || *parser->at == '\'' ? *parser->at++ : 0;
	const char *text = parser->at;
	size_t len = 0;
	while (text[len] && (quote ? text[len] != quote : !strchr(" \t()&|", text[len])))
		len++;
	if (quote && !text[len])
		return filter_error(parser, "no closing quote");
	if (term->operation == EVENT_TRACE_LIKE) {
		try(take_glob(parser, text, len, term));
	} else if (term->operation != EVENT_TRACE_EQUAL &&
		   term->operation != EVENT_TRACE_NOT_EQUAL) {
		return filter_error(parser, "texts are compared with ==, != and ~");
	} else if (len >= sizeof(term->text)) {
		return filter_error(parser, "more than 15 letters");
	} else {
		memcpy(term->text, text, len);
	}
	parser->at = text + len + (quote != 0);
	return NULL;
}

static struct err *take_value(struct filter_parser *parser, struct event_trace_term *term)
{
	char *end;
	skip_blanks(parser);
	if (term->operation == EVENT_TRACE_LIKE)
		return filter_error(parser, "a number, which ~ cannot compare,");
	errno = 0;
	bool is_negative = *parser->at == '-';
	unsigned long long value = is_negative ? (unsigned long long)strtoll(parser->at, &end, 0)
					       : strtoull(parser->at, &end, 0);
	if (end == parser->at || errno || isalnum((unsigned char)*end))
		return filter_error(parser, "no number");
	term->value = value;
	parser->at = end;
	return NULL;
}

static struct err *take_comparison(struct filter_parser *parser, struct filter_exits *ret)
{
	struct event_trace_point *out = parser->out;
	const struct tracepoint_field *field = NULL;
	struct event_trace_term term = {.yes = END_OF_CHAIN, .no = END_OF_CHAIN};
	try(take_field_name(parser, &field));
	if (out->nr_terms == EVENT_TRACE_MAX_TERMS)
		return filter_error(parser, "more than 16 comparisons");
	if (field->is_located && !field->is_text)
		return filter_error(parser, "a field that is neither number nor text");
	if (!field->is_text && field->bytes != 1 && field->bytes != 2 && field->bytes != 4 &&
		field->bytes != 8)
		return filter_error(parser, "a field that is neither number nor text");
	if (field->offset < 8 && strcmp(field->name, "common_pid") != 0)
		return filter_error(parser, "a field that is overwritten before the filter runs,");
	term.offset = (uint16_t)field->offset;
	term.bytes = field->is_text ? 0 : (uint8_t)field->bytes;
	term.is_signed = field->is_signed;
	term.is_located = field->is_located;
	term.bytes_in_place = field->is_located ? 0 : field->bytes;
	try(take_operator(parser, &term.operation));
	try(field->is_text ? take_text(parser, &term) : take_value(parser, &term));
	uint8_t number = (uint8_t)out->nr_terms++;
	out->terms[number] = term;
	*ret = (struct filter_exits){
		.yes = (uint8_t)(number << 1 | 1), .no = (uint8_t)(number << 1)};
	return NULL;
}

/* ---- what they are joined by ---- */

static struct err *take_either(struct filter_parser *parser, struct filter_exits *ret);

static struct err *take_unary(struct filter_parser *parser, struct filter_exits *ret)
{
	struct filter_exits inner;
	if (parser->depth >= MAX_DEPTH)
		return filter_error(parser, "too many brackets");
	parser->depth++;
	if (take_filter_token(parser, "!")) {
		try(take_unary(parser, &inner));
		*ret = (struct filter_exits){.yes = inner.no, .no = inner.yes};
	} else if (take_filter_token(parser, "(")) {
		try(take_either(parser, ret));
		if (!take_filter_token(parser, ")"))
			return filter_error(parser, "no )");
	} else {
		try(take_comparison(parser, ret));
	}
	parser->depth--;
	return NULL;
}

static struct err *take_both(struct filter_parser *parser, struct filter_exits *ret)
{
	struct filter_exits right;
	try(take_unary(parser, ret));
	while (take_filter_token(parser, "&&")) {
		fill_chain(parser, ret->yes, (uint8_t)parser->out->nr_terms);
		try(take_unary(parser, &right));
		ret->yes = right.yes;
		ret->no = join_chains(parser, ret->no, right.no);
	}
	return NULL;
}

static struct err *take_either(struct filter_parser *parser, struct filter_exits *ret)
{
	struct filter_exits right;
	try(take_both(parser, ret));
	while (take_filter_token(parser, "||")) {
		fill_chain(parser, ret->no, (uint8_t)parser->out->nr_terms);
		try(take_both(parser, &right));
		ret->no = right.no;
		ret->yes = join_chains(parser, ret->yes, right.yes);
	}
	return NULL;
}

struct err *trace_filter_parse(const char *text, const struct tracepoint_fields *fields,
	struct trace_globs *globs, struct event_trace_point *ret)
{
	struct event_trace_point out = *ret;
	struct filter_parser parser = {
		.text = text, .at = text, .fields = fields, .out = &out, .globs = globs};
	struct filter_exits exits;
	out.nr_terms = 0;
	try(take_either(&parser, &exits));
	skip_blanks(&parser);
	if (*parser.at)
		return filter_error(&parser, "what is this");
	fill_chain(&parser, exits.yes, EVENT_TRACE_PASSES);
	fill_chain(&parser, exits.no, EVENT_TRACE_FAILS);
	*ret = out;
	return NULL;
}
