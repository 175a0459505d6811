/*
 * A v0 name is a tree in prefix notation: a letter says what comes, its parts
 * follow. Reading and printing are one recursive descent, a function for each
 * rule of the grammar. Any part that stood before can be referred to by its
 * place ("B", a number in base 62), and is then read again from there.
 *
 * What a hostile name can do, and what stops it:
 * - nest without end: DEPTH_MAX levels;
 * - refer to parts that refer twice to parts that ...: NODES_MAX parts are
 *   read, references included, and the sink has its budget;
 * - refer forwards or to itself: a reference must point before itself.
 *
 * The first error ends everything: fail() makes next() return the end from then
 * on, and all loops stop there.
 *
 * Source: RFC 2603, and "v0 Symbol Format" in the rustc book (1.95), whose
 * rules are named in the comments.
 */
#include "report/name/demangle/rust_v0.h"

#include <stdio.h>
#include <string.h>

#include "report/name/demangle/punycode.h"
#include "report/name/demangle/rust_v0_reader.h"

/* path; in a value generic arguments are set off by ::, in a type they are not. */
static void read_path(struct rust_v0 *v0, bool in_value);
static void read_type(struct rust_v0 *v0);
static void read_constant(struct rust_v0 *v0, bool in_expression);

/* ---- paths ---- */

/* namespace, path, identifier: capital letters are the compiler's own, closures and shims. */
static void read_nested_path(struct rust_v0 *v0, bool in_value)
{
	char space = rust_v0_next(v0);
	if (!((space >= 'a' && space <= 'z') || (space >= 'A' && space <= 'Z'))) {
		rust_v0_fail(v0);
		return;
	}
	read_path(v0, in_value);
	uint64_t disambiguator = rust_v0_disambiguator(v0);
	struct rust_v0_identifier name = rust_v0_identifier(v0);
	if (space >= 'a') {
		if (name.len || name.punycode_len) {
			rust_v0_puts(v0, "::");
			rust_v0_put_identifier(v0, &name);
		}
		return;
	}
	rust_v0_puts(v0, "::{");
	if (space == 'C')
		rust_v0_puts(v0, "closure");
	else if (space == 'S')
		rust_v0_puts(v0, "shim");
	else
		rust_v0_put(v0, &space, 1);
	if (name.len || name.punycode_len) {
		rust_v0_puts(v0, ":");
		rust_v0_put_identifier(v0, &name);
	}
	rust_v0_puts(v0, "#");
	rust_v0_put_number(v0, disambiguator);
	rust_v0_puts(v0, "}");
}

/* impl-path: where the impl block stands, which is not shown. */
static void skip_impl_path(struct rust_v0 *v0)
{
	bool was_quiet = v0->is_quiet;
	v0->is_quiet = true;
	rust_v0_disambiguator(v0);
	read_path(v0, false);
	v0->is_quiet = was_quiet;
}

/* M: <T>, X and Y: <T as Trait>. */
static void read_impl(struct rust_v0 *v0, char tag)
{
	if (tag != 'Y')
		skip_impl_path(v0);
	rust_v0_puts(v0, "<");
	read_type(v0);
	if (tag != 'M') {
		rust_v0_puts(v0, " as ");
		read_path(v0, false);
	}
	rust_v0_puts(v0, ">");
}

static void read_generic_arg(struct rust_v0 *v0)
{
	if (rust_v0_eat(v0, 'L'))
		rust_v0_put_lifetime(v0, rust_v0_integer_62(v0));
	else if (rust_v0_eat(v0, 'K'))
		read_constant(v0, false);
	else
		read_type(v0);
}

static void read_crate(struct rust_v0 *v0)
{
	rust_v0_disambiguator(v0); /* the crate's hash */
	struct rust_v0_identifier name = rust_v0_identifier(v0);
	rust_v0_put_identifier(v0, &name);
}

static void read_path(struct rust_v0 *v0, bool in_value)
{
	struct rust_v0_reference back;
	if (!rust_v0_enter(v0))
		return;
	char tag = rust_v0_next(v0);
	switch (tag) {
	case 'C':
		read_crate(v0);
		break;
	case 'N':
		read_nested_path(v0, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		read_impl(v0, tag);
		break;
	case 'I':
		read_path(v0, in_value);
		rust_v0_puts(v0, in_value ? "::<" : "<");
		rust_v0_list(v0, read_generic_arg, ", ");
		rust_v0_puts(v0, ">");
		break;
	case 'B':
		if (rust_v0_follow(v0, &back)) {
			read_path(v0, in_value);
			rust_v0_return(v0, &back);
		}
		break;
	default:
		rust_v0_fail(v0);
	}
	rust_v0_leave(v0);
}

/* ---- types ---- */

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		['a' - 'a'] = "i8",
		['b' - 'a'] = "bool",
		['c' - 'a'] = "char",
		['d' - 'a'] = "f64",
		['e' - 'a'] = "str",
		['f' - 'a'] = "f32",
		['h' - 'a'] = "u8",
		['i' - 'a'] = "isize",
		['j' - 'a'] = "usize",
		['l' - 'a'] = "i32",
		['m' - 'a'] = "u32",
		['n' - 'a'] = "i128",
		['o' - 'a'] = "u128",
		['p' - 'a'] = "_",
		['s' - 'a'] = "i16",
		['t' - 'a'] = "u16",
		['u' - 'a'] = "()",
		['v' - 'a'] = "...",
		['x' - 'a'] = "i64",
		['y' - 'a'] = "u64",
		['z' - 'a'] = "!",
	};
	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* abi: "C", or an identifier with _ for each - of the name. */
static void read_abi(struct rust_v0 *v0)
{
	struct rust_v0_identifier abi = {.ascii = "C", .len = 1};
	if (!rust_v0_eat(v0, 'C'))
		abi = rust_v0_identifier(v0);
	if (!abi.len || abi.punycode_len) {
		rust_v0_fail(v0);
		return;
	}
	rust_v0_puts(v0, "extern \"");
	for (size_t i = 0; i < abi.len; i++)
		rust_v0_put(v0, abi.ascii[i] == '_' ? "-" : &abi.ascii[i], 1);
	rust_v0_puts(v0, "\" ");
}

/* fn-sig */
static void rust_v0_read_function(struct rust_v0 *v0)
{
	uint64_t bound = rust_v0_open_binder(v0);
	if (rust_v0_eat(v0, 'U'))
		rust_v0_puts(v0, "unsafe ");
	if (rust_v0_eat(v0, 'K'))
		read_abi(v0);
	rust_v0_puts(v0, "fn(");
	rust_v0_list(v0, read_type, ", ");
	rust_v0_puts(v0, ")");
	if (!rust_v0_eat(v0, 'u')) {
		rust_v0_puts(v0, " -> ");
		read_type(v0);
	}
	v0->bound_lifetimes -= bound;
}

/*
 * The path of a trait, whose generic arguments stay open: what is bound to its
 * associated types is listed among them.
 */
static bool read_open_path(struct rust_v0 *v0)
{
	struct rust_v0_reference back;
	bool is_open = false;
	if (!rust_v0_enter(v0))
		return false;
	if (rust_v0_eat(v0, 'B')) {
		if (rust_v0_follow(v0, &back)) {
			is_open = read_open_path(v0);
			rust_v0_return(v0, &back);
		}
	} else if (rust_v0_eat(v0, 'I')) {
		read_path(v0, false);
		rust_v0_puts(v0, "<");
		rust_v0_list(v0, read_generic_arg, ", ");
		is_open = true;
	} else {
		read_path(v0, false);
	}
	rust_v0_leave(v0);
	return is_open;
}

/* dyn-trait */
static void read_dyn_trait(struct rust_v0 *v0)
{
	bool is_open = read_open_path(v0);
	while (rust_v0_eat(v0, 'p')) {
		rust_v0_puts(v0, is_open ? ", " : "<");
		is_open = true;
		struct rust_v0_identifier name = rust_v0_identifier(v0);
		rust_v0_put_identifier(v0, &name);
		rust_v0_puts(v0, " = ");
		read_type(v0);
	}
	if (is_open)
		rust_v0_puts(v0, ">");
}

/* dyn-bounds and the lifetime behind them */
static void read_dyn(struct rust_v0 *v0)
{
	rust_v0_puts(v0, "dyn ");
	uint64_t bound = rust_v0_open_binder(v0);
	rust_v0_list(v0, read_dyn_trait, " + ");
	v0->bound_lifetimes -= bound;
	if (!rust_v0_eat(v0, 'L')) {
		rust_v0_fail(v0);
		return;
	}
	uint64_t lifetime = rust_v0_integer_62(v0);
	if (lifetime) {
		rust_v0_puts(v0, " + ");
		rust_v0_put_lifetime(v0, lifetime);
	}
}

static void read_reference(struct rust_v0 *v0, char tag)
{
	rust_v0_puts(v0, "&");
	uint64_t lifetime = rust_v0_eat(v0, 'L') ? rust_v0_integer_62(v0) : 0;
	if (lifetime) {
		rust_v0_put_lifetime(v0, lifetime);
		rust_v0_puts(v0, " ");
	}
	if (tag == 'Q')
		rust_v0_puts(v0, "mut ");
	read_type(v0);
}

static void read_array(struct rust_v0 *v0, char tag)
{
	rust_v0_puts(v0, "[");
	read_type(v0);
	if (tag == 'A') {
		rust_v0_puts(v0, "; ");
		read_constant(v0, true);
	}
	rust_v0_puts(v0, "]");
}

/* What a pattern type leaves of its type: a range, or several patterns (rust-lang/rust#142401). */
static void read_pattern(struct rust_v0 *v0)
{
	if (!rust_v0_enter(v0))
		return;
	switch (rust_v0_next(v0)) {
	case 'R':
		read_constant(v0, true);
		rust_v0_puts(v0, "..=");
		read_constant(v0, true);
		break;
	case 'O':
		if (!rust_v0_list(v0, read_pattern, " | "))
			rust_v0_fail(v0);
		break;
	case 'N':
		rust_v0_puts(v0, "!null");
		break;
	default:
		rust_v0_fail(v0);
	}
	rust_v0_leave(v0);
}

/* Types that are made of others; false when `tag` begins none, but may begin a path. */
static bool read_composite_type(struct rust_v0 *v0, char tag)
{
	struct rust_v0_reference back;
	switch (tag) {
	case 'R':
	case 'Q':
		read_reference(v0, tag);
		return true;
	case 'P':
	case 'O':
		rust_v0_puts(v0, tag == 'P' ? "*const " : "*mut ");
		read_type(v0);
		return true;
	case 'A':
	case 'S':
		read_array(v0, tag);
		return true;
	case 'T':
		rust_v0_puts(v0, "(");
		if (rust_v0_list(v0, read_type, ", ") == 1)
			rust_v0_puts(v0, ",");
		rust_v0_puts(v0, ")");
		return true;
	case 'F':
		rust_v0_read_function(v0);
		return true;
	case 'W':
		read_type(v0);
		rust_v0_puts(v0, " is ");
		read_pattern(v0);
		return true;
	case 'D':
		read_dyn(v0);
		return true;
	case 'B':
		if (rust_v0_follow(v0, &back)) {
			read_type(v0);
			rust_v0_return(v0, &back);
		}
		return true;
	default:
		return false;
	}
}

static void read_type(struct rust_v0 *v0)
{
	if (!rust_v0_enter(v0))
		return;
	char tag = rust_v0_next(v0);
	const char *name = basic_type(tag);
	if (name) {
		rust_v0_puts(v0, name);
	} else if (!read_composite_type(v0, tag)) {
		rust_v0_unread(v0);
		read_path(v0, false);
	}
	rust_v0_leave(v0);
}

/* ---- the name ---- */

/*
 * ---- constants among generic arguments ----
 *
 * Source: "v0 Symbol Format" in the rustc book, const and const-data; for strings and structured
 * values, which stable Rust does not have there (1.95), the proposal that rustc follows
 * (rust-lang/rust#87194).
 */

/* const-data: hexadecimal digits up to a _. */
struct hex {
	const char *digits;
	size_t len;
};

static unsigned hex_digit(char c)
{
	return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static struct hex read_hex(struct rust_v0 *v0)
{
	struct hex hex = {.digits = v0->text + v0->pos};
	for (;;) {
		char c = rust_v0_next(v0);
		if (c == '_')
			return hex;
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
			rust_v0_fail(v0);
			return (struct hex){0};
		}
		hex.len++;
	}
}

/* False when it has more than 64 bits. */
static bool rust_v0_hex_value(const struct hex *hex, uint64_t *value)
{
	size_t i = 0;
	while (i < hex->len && hex->digits[i] == '0')
		i++;
	if (hex->len - i > 16)
		return false;
	*value = 0;
	for (; i < hex->len; i++)
		*value = *value << 4 | hex_digit(hex->digits[i]);
	return true;
}

static void read_integer(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	uint64_t value;
	if (rust_v0_hex_value(&hex, &value)) {
		rust_v0_put_number(v0, value);
	} else {
		rust_v0_puts(v0, "0x");
		rust_v0_put(v0, hex.digits, hex.len);
	}
}

static void read_bool(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	uint64_t value;
	if (!rust_v0_hex_value(&hex, &value) || value > 1)
		rust_v0_fail(v0);
	else
		rust_v0_puts(v0, value ? "true" : "false");
}

/* As in a literal that is quoted by `quote`. */
static void rust_v0_put_escaped(struct rust_v0 *v0, uint32_t code, char quote)
{
	static const char plain[] = "\t\r\n\\", letters[] = "trn\\";
	const char *known = code && code < 0x80 ? strchr(plain, (int)code) : NULL;
	char text[16];
	if (!code) {
		rust_v0_puts(v0, "\\0");
	} else if (known) {
		rust_v0_puts(v0, "\\");
		rust_v0_put(v0, &letters[known - plain], 1);
	} else if (code == (unsigned char)quote) {
		rust_v0_puts(v0, "\\");
		rust_v0_put(v0, &quote, 1);
	} else if (code < 0x20 || (code >= 0x7f && code < 0xa0)) {
		snprintf(text, sizeof(text), "\\u{%x}", (unsigned)code);
		rust_v0_puts(v0, text);
	} else {
		rust_v0_put_code_point(v0, code);
	}
}

static bool is_code_point(uint64_t code)
{
	return code <= 0x10ffff && (code < 0xd800 || code >= 0xe000);
}

static void read_char(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	uint64_t code;
	if (!rust_v0_hex_value(&hex, &code) || !is_code_point(code)) {
		rust_v0_fail(v0);
		return;
	}
	rust_v0_puts(v0, "'");
	rust_v0_put_escaped(v0, (uint32_t)code, '\'');
	rust_v0_puts(v0, "'");
}

/* The bytes of a string in UTF-8, two digits each. */
static void rust_v0_read_string(struct rust_v0 *v0)
{
	struct hex hex = read_hex(v0);
	if (hex.len % 2)
		rust_v0_fail(v0);
	rust_v0_puts(v0, "\"");
	for (size_t i = 0; i < hex.len && !v0->has_failed && !v0->sink->is_over;) {
		char bytes[4];
		size_t have = 0;
		for (size_t at = i; have < sizeof(bytes) && at < hex.len; at += 2)
			bytes[have++] = (char)(hex_digit(hex.digits[at]) << 4 |
					       hex_digit(hex.digits[at + 1]));
		uint32_t code;
		size_t used = str_utf8_decode(bytes, have, &code);
		if (used)
			rust_v0_put_escaped(v0, code, '"');
		else
			rust_v0_fail(v0);
		i += used * 2;
	}
	rust_v0_puts(v0, "\"");
}

static void read_item(struct rust_v0 *v0)
{
	read_constant(v0, true);
}

static void read_field(struct rust_v0 *v0)
{
	rust_v0_disambiguator(v0);
	struct rust_v0_identifier name = rust_v0_identifier(v0);
	rust_v0_put_identifier(v0, &name);
	rust_v0_puts(v0, ": ");
	read_constant(v0, true);
}

/* A struct's or variant's path; then nothing, a tuple or fields. */
static void read_structure(struct rust_v0 *v0)
{
	read_path(v0, true);
	switch (rust_v0_next(v0)) {
	case 'U':
		break;
	case 'T':
		rust_v0_puts(v0, "(");
		rust_v0_list(v0, read_item, ", ");
		rust_v0_puts(v0, ")");
		break;
	case 'S':
		rust_v0_puts(v0, " { ");
		rust_v0_list(v0, read_field, ", ");
		rust_v0_puts(v0, " }");
		break;
	default:
		rust_v0_fail(v0);
	}
}

static void read_expression(struct rust_v0 *v0, char tag)
{
	switch (tag) {
	case 'e': /* a str, of which literals are references */
		rust_v0_puts(v0, "*");
		rust_v0_read_string(v0);
		break;
	case 'R':
	case 'Q':
		rust_v0_puts(v0, tag == 'R' ? "&" : "&mut ");
		read_constant(v0, true);
		break;
	case 'A':
		rust_v0_puts(v0, "[");
		rust_v0_list(v0, read_item, ", ");
		rust_v0_puts(v0, "]");
		break;
	case 'T':
		rust_v0_puts(v0, "(");
		if (rust_v0_list(v0, read_item, ", ") == 1)
			rust_v0_puts(v0, ",");
		rust_v0_puts(v0, ")");
		break;
	case 'V':
		read_structure(v0);
		break;
	default:
		rust_v0_fail(v0);
	}
}

static void read_const(struct rust_v0 *v0, char tag, bool in_expression)
{
	struct rust_v0_reference back;
	if (tag == 'p') {
		rust_v0_puts(v0, "_");
	} else if (tag == 'b') {
		read_bool(v0);
	} else if (tag == 'c') {
		read_char(v0);
	} else if (tag && strchr("htmyoj", tag)) {
		read_integer(v0);
	} else if (tag && strchr("aslxni", tag)) {
		if (rust_v0_eat(v0, 'n'))
			rust_v0_puts(v0, "-");
		read_integer(v0);
	} else if (tag == 'R' && rust_v0_eat(v0, 'e')) {
		rust_v0_read_string(v0);
	} else if (tag == 'B') {
		if (rust_v0_follow(v0, &back)) {
			read_constant(v0, in_expression);
			rust_v0_return(v0, &back);
		}
	} else {
		if (!in_expression)
			rust_v0_puts(v0, "{");
		read_expression(v0, tag);
		if (!in_expression)
			rust_v0_puts(v0, "}");
	}
}

static void read_constant(struct rust_v0 *v0, bool in_expression)
{
	if (!rust_v0_enter(v0))
		return;
	read_const(v0, rust_v0_next(v0), in_expression);
	rust_v0_leave(v0);
}

/* ---- whole names ---- */

size_t rust_v0_demangle(const char *mangled, size_t len, struct demangle_sink *sink)
{
	/* A digit would be the number of a later version, of which nothing is known. */
	if (len < 3 || memcmp(mangled, "_R", 2) != 0 || mangled[2] < 'A' || mangled[2] > 'Z')
		return 0;
	struct rust_v0 v0;
	rust_v0_begin(&v0, mangled + 2, len - 2, sink);
	read_path(&v0, true);
	if (!rust_v0_at_end(&v0)) { /* the crate that has this copy */
		v0.is_quiet = true;
		read_path(&v0, false);
	}
	return v0.has_failed || !rust_v0_at_end(&v0) ? 0 : 2 + v0.pos;
}
