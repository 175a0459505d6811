#include "format/clr/clr_names.h"

#include <stdlib.h>
#include <string.h>

enum {
	METHOD_NAME = 3,
	TYPE_NAME = 1,
	TYPE_NAMESPACE = 2,
	MAX_DEPTH = 16, /* of names in each other */
};

void clr_arguments_add(struct clr_arguments *arguments, const char *name)
{
	vec_push(&arguments->names, mem_strdup(name));
}

void clr_arguments_deinit(struct clr_arguments *arguments)
{
	vec_each(&arguments->names, name)
		mem_free(*name);
	vec_deinit(&arguments->names);
}

const char *clr_names_word(const char *name)
{
	static const struct {
		const char *name, *word;
	} words[] = {
		{"System.Boolean", "bool"},
		{"System.Byte", "byte"},
		{"System.Char", "char"},
		{"System.Decimal", "decimal"},
		{"System.Double", "double"},
		{"System.Int16", "short"},
		{"System.Int32", "int"},
		{"System.Int64", "long"},
		{"System.IntPtr", "nint"},
		{"System.Object", "object"},
		{"System.SByte", "sbyte"},
		{"System.Single", "float"},
		{"System.String", "string"},
		{"System.UInt16", "ushort"},
		{"System.UInt32", "uint"},
		{"System.UInt64", "ulong"},
		{"System.UIntPtr", "nuint"},
		{"System.Void", "void"},
		{"System.__Canon", "__Canon"},
	};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(name, words[i].name) == 0)
			return words[i].word;
	return name;
}

/* ---- what the compiler has made ---- */

/* The length of what stands between the first '<' and its '>'; 0: that is nothing. */
static size_t length_inside(const char *name, size_t len)
{
	int depth = 0;
	for (size_t i = 0; i < len; i++) {
		depth += name[i] == '<';
		depth -= name[i] == '>';
		if (!depth)
			return i ? i - 1 : 0;
	}
	return 0;
}

static bool begins_with(const char *text, size_t len, const char *what)
{
	return len >= strlen(what) && memcmp(text, what, strlen(what)) == 0;
}

/* "<M>b__1_0" is a lambda in M (to mcs "<M>m__1"), "<M>g__L|0" the local function L, "<M>d__2" M's
 * state machine. */
static void put_readable(const char *name, size_t len, int depth, struct str *out)
{
	size_t inside = depth < MAX_DEPTH ? length_inside(name, len) : 0;
	const char *rest = name + inside + 2;
	size_t rest_len = len - (inside + 2);
	if (!inside || !rest_len) {
		str_write(out, name, len);
		return;
	}
	bool is_local = begins_with(rest, rest_len, "g__");
	bool is_lambda = begins_with(rest, rest_len, "b__") || begins_with(rest, rest_len, "m__");
	if (!is_local && !is_lambda && rest[0] != 'd' && rest[0] != '$') {
		str_write(out, name, len);
		return;
	}
	put_readable(name + 1, inside, depth + 1, out);
	if (is_lambda)
		str_puts(out, " lambda");
	if (is_local) {
		const char *bar = memchr(rest, '|', rest_len);
		str_putc(out, '.');
		str_write(out, rest + 3, (bar ? (size_t)(bar - rest) : rest_len) - 3);
	}
}

void clr_names_put_readable(const char *name, size_t len, struct str *out)
{
	put_readable(name, len, 0, out);
}

/* The class that lambdas are kept in, with what they use of their method. */
static bool is_closure(const struct str *name)
{
	return strcmp(str_text(name), "<>c") == 0 ||
	       begins_with(str_text(name), name->len, "<>c__");
}

static bool is_state_machine(const struct str *name)
{
	size_t inside =
		name->len && name->data[0] == '<' ? length_inside(name->data, name->len) : 0;
	return inside && name->len > inside + 2 && name->data[inside + 2] == 'd';
}

/* ---- types ---- */

/* The types around one, the innermost first. */
struct nest {
	uint32_t types[CLR_MAX_NESTED];
	size_t count;
};

static void take_nest(const struct clr_metadata *metadata, uint32_t type, struct nest *ret)
{
	ret->count = 0;
	while (type && ret->count < CLR_MAX_NESTED) {
		ret->types[ret->count++] = type;
		type = clr_metadata_outer_type(metadata, type);
	}
}

static void clr_names_put_arguments(
	const struct clr_arguments *arguments, size_t first, size_t end, struct str *out)
{
	for (size_t i = first; i < end && i < arguments->names.len; i++) {
		str_putc(out, i == first ? '<' : ',');
		str_puts(out, arguments->names.data[i]);
	}
	if (first < end && first < arguments->names.len)
		str_putc(out, '>');
}

/* "Name`2" becomes "Name<its,arguments>". */
void clr_names_put_with(const char *name, const struct clr_arguments *arguments, struct str *out)
{
	size_t used = 0;
	while (*name) {
		char *end = NULL;
		size_t count = *name == '`' ? strtoul(name + 1, &end, 10) : 0;
		if (!count || !arguments || used >= arguments->names.len) {
			str_putc(out, *name++);
			continue;
		}
		clr_names_put_arguments(arguments, used, used + count, out);
		used += count;
		name = end;
	}
}

/* Without the innermost `left_out`. */
static void put_nest(const struct clr_metadata *metadata, const struct nest *nest, size_t left_out,
	struct str *out)
{
	for (size_t i = nest->count; i-- > left_out;) {
		uint32_t type = nest->types[i];
		uint32_t space = clr_metadata_get(metadata, CLR_TYPE_DEF, type, TYPE_NAMESPACE);
		bool is_outermost = i + 1 == nest->count;
		if (is_outermost && space)
			clr_metadata_put_string(metadata, space, out);
		if (out->len)
			str_putc(out, '.');
		clr_metadata_put_string(
			metadata, clr_metadata_get(metadata, CLR_TYPE_DEF, type, TYPE_NAME), out);
	}
}

void clr_names_put_type(const struct clr_metadata *metadata, uint32_t type,
	const struct clr_arguments *arguments, struct str *out)
{
	struct nest nest;
	take_nest(metadata, type, &nest);
	CLEANUP(str_deinit) struct str name = {0};
	put_nest(metadata, &nest, 0, &name);
	clr_names_put_with(clr_names_word(str_text(&name)), arguments, out);
}

/* ---- methods ---- */

static void put_type_name(const struct clr_metadata *metadata, uint32_t type, struct str *out)
{
	clr_metadata_put_string(
		metadata, clr_metadata_get(metadata, CLR_TYPE_DEF, type, TYPE_NAME), out);
}

void clr_names_put_method(const struct clr_metadata *metadata, uint32_t method,
	const struct clr_arguments *of_type, const struct clr_arguments *of_method, struct str *out)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct nest nest;
	size_t left_out = 0;
	clr_metadata_put_string(
		metadata, clr_metadata_get(metadata, CLR_METHOD_DEF, method, METHOD_NAME), &name);
	take_nest(metadata, clr_metadata_type_of_method(metadata, method), &nest);
	for (; left_out + 1 < nest.count; left_out++) {
		CLEANUP(str_deinit) struct str made = {0};
		put_type_name(metadata, nest.types[left_out], &made);
		bool is_move = is_state_machine(&made) && strcmp(str_text(&name), "MoveNext") == 0;
		bool is_of_closure = is_closure(&made) && name.len && name.data[0] == '<';
		if (!is_move && !is_of_closure)
			break;
		if (is_move) {
			str_truncate(&name, 0);
			str_write(&name, made.data, made.len);
		}
	}
	CLEANUP(str_deinit) struct str type = {0};
	put_nest(metadata, &nest, left_out, &type);
	if (nest.count)
		str_putc(&type, '.');
	clr_names_put_with(str_text(&type), of_type, out);
	clr_names_put_readable(str_text(&name), name.len, out);
	if (of_method)
		clr_names_put_arguments(of_method, 0, of_method->names.len, out);
}
