#include "report/name/demangle/rust_v0_reader.h"

#include <string.h>

#include "report/name/demangle/punycode.h"

enum {
	DEPTH_MAX = 500,      /* as rustc's own demangler */
	NODES_MAX = 16 << 10, /* names of 16 KiB have a fourth of that */
};

void rust_v0_begin(struct rust_v0 *v0, const char *text, size_t len, struct demangle_sink *sink)
{
	*v0 = (struct rust_v0){.text = text, .sink = sink};
	while (v0->len < len) {
		char c = text[v0->len];
		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    c == '_'))
			break;
		v0->len++;
	}
}

/* ---- reading ---- */

void rust_v0_fail(struct rust_v0 *v0)
{
	v0->has_failed = true;
	v0->pos = v0->len;
}

bool rust_v0_at_end(const struct rust_v0 *v0)
{
	return v0->pos == v0->len;
}

char rust_v0_next(struct rust_v0 *v0)
{
	if (v0->pos < v0->len)
		return v0->text[v0->pos++];
	rust_v0_fail(v0);
	return '\0';
}

void rust_v0_unread(struct rust_v0 *v0)
{
	if (!v0->has_failed)
		v0->pos--;
}

bool rust_v0_eat(struct rust_v0 *v0, char c)
{
	if (v0->pos == v0->len || v0->text[v0->pos] != c)
		return false;
	v0->pos++;
	return true;
}

static int digit_62(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 36 : -1;
}

/* Fails where the result, or one more, does not fit 64 bits. */
uint64_t rust_v0_integer_62(struct rust_v0 *v0)
{
	if (rust_v0_eat(v0, '_'))
		return 0;
	uint64_t value = 0;
	do {
		int digit = digit_62(rust_v0_next(v0));
		if (digit < 0 || __builtin_mul_overflow(value, 62, &value) ||
			__builtin_add_overflow(value, (uint64_t)digit, &value)) {
			rust_v0_fail(v0);
			return 0;
		}
	} while (!rust_v0_eat(v0, '_'));
	if (value >= UINT64_MAX - 1) {
		rust_v0_fail(v0);
		return 0;
	}
	return value + 1;
}

uint64_t rust_v0_disambiguator(struct rust_v0 *v0)
{
	return rust_v0_eat(v0, 's') ? rust_v0_integer_62(v0) + 1 : 0;
}

/* decimal-number: no zeros in front. */
static size_t read_length(struct rust_v0 *v0)
{
	char c = rust_v0_next(v0);
	if (c < '0' || c > '9') {
		rust_v0_fail(v0);
		return 0;
	}
	size_t value = (size_t)(c - '0');
	while (value && v0->pos < v0->len && v0->text[v0->pos] >= '0' && v0->text[v0->pos] <= '9' &&
		value <= v0->len)
		value = value * 10 + (size_t)(v0->text[v0->pos++] - '0');
	return value;
}

struct rust_v0_identifier rust_v0_identifier(struct rust_v0 *v0)
{
	bool is_punycode = rust_v0_eat(v0, 'u');
	size_t len = read_length(v0);
	rust_v0_eat(v0, '_'); /* before one that begins with a digit or _ */
	if (len > v0->len - v0->pos)
		rust_v0_fail(v0);
	if (v0->has_failed)
		return (struct rust_v0_identifier){0};
	struct rust_v0_identifier identifier = {.ascii = v0->text + v0->pos, .len = len};
	v0->pos += len;
	if (!is_punycode)
		return identifier;
	/* The last _ stands for Punycode's - between the ASCII part and the insertions. */
	const char *split = memrchr(identifier.ascii, '_', len);
	size_t ascii_len = split ? (size_t)(split - identifier.ascii) : 0;
	size_t skipped = split ? ascii_len + 1 : 0;
	identifier.len = ascii_len;
	identifier.punycode = identifier.ascii + skipped;
	identifier.punycode_len = len - skipped;
	if (!identifier.punycode_len)
		rust_v0_fail(v0);
	return identifier;
}

bool rust_v0_enter(struct rust_v0 *v0)
{
	if (v0->depth >= DEPTH_MAX || v0->nodes >= NODES_MAX || v0->sink->is_over)
		rust_v0_fail(v0);
	if (v0->has_failed)
		return false;
	v0->depth++;
	v0->nodes++;
	return true;
}

void rust_v0_leave(struct rust_v0 *v0)
{
	v0->depth--;
}

bool rust_v0_follow(struct rust_v0 *v0, struct rust_v0_reference *back)
{
	size_t here = v0->pos - 1;
	uint64_t target = rust_v0_integer_62(v0);
	if (v0->has_failed || target >= here) {
		rust_v0_fail(v0);
		return false;
	}
	if (v0->is_quiet) /* it was read when it came */
		return false;
	back->pos = v0->pos;
	v0->pos = (size_t)target;
	return true;
}

void rust_v0_return(struct rust_v0 *v0, const struct rust_v0_reference *back)
{
	if (!v0->has_failed)
		v0->pos = back->pos;
}

size_t rust_v0_list(
	struct rust_v0 *v0, void (*read_item)(struct rust_v0 *v0), const char *separator)
{
	size_t count = 0;
	for (; !v0->has_failed && !rust_v0_eat(v0, 'E'); count++) {
		if (count)
			rust_v0_puts(v0, separator);
		read_item(v0);
	}
	return count;
}

uint64_t rust_v0_open_binder(struct rust_v0 *v0)
{
	uint64_t bound = rust_v0_eat(v0, 'G') ? rust_v0_integer_62(v0) + 1 : 0;
	if (bound > UINT64_MAX / 2 - v0->bound_lifetimes) {
		rust_v0_fail(v0);
		return 0;
	}
	if (!bound || v0->is_quiet || v0->has_failed) {
		v0->bound_lifetimes += bound;
		return bound;
	}
	rust_v0_puts(v0, "for<");
	for (uint64_t i = 0; i < bound && !v0->sink->is_over; i++) {
		if (i)
			rust_v0_puts(v0, ", ");
		v0->bound_lifetimes++;
		rust_v0_put_lifetime(v0, 1);
	}
	rust_v0_puts(v0, "> ");
	if (v0->sink->is_over) {
		rust_v0_fail(v0);
		return 0;
	}
	return bound;
}

/* ---- printing ---- */

void rust_v0_put(struct rust_v0 *v0, const char *text, size_t len)
{
	if (!v0->is_quiet && !v0->has_failed)
		demangle_sink_write(v0->sink, text, len);
}

void rust_v0_puts(struct rust_v0 *v0, const char *text)
{
	rust_v0_put(v0, text, strlen(text));
}

void rust_v0_put_number(struct rust_v0 *v0, uint64_t number)
{
	if (!v0->is_quiet && !v0->has_failed)
		demangle_sink_number(v0->sink, number);
}

void rust_v0_put_code_point(struct rust_v0 *v0, uint32_t code)
{
	if (!v0->is_quiet && !v0->has_failed)
		demangle_sink_code_point(v0->sink, code);
}

/* What is too long to be decoded is shown as it stands, like rustc's own demangler does. */
void rust_v0_put_identifier(struct rust_v0 *v0, const struct rust_v0_identifier *identifier)
{
	if (!identifier->punycode_len || v0->is_quiet) {
		rust_v0_put(v0, identifier->ascii, identifier->len);
		return;
	}
	uint32_t code_points[PUNYCODE_MAX];
	size_t count;
	if (punycode_decode(identifier->ascii, identifier->len, identifier->punycode,
		    identifier->punycode_len, code_points, &count)) {
		for (size_t i = 0; i < count; i++)
			rust_v0_put_code_point(v0, code_points[i]);
		return;
	}
	rust_v0_puts(v0, "punycode{");
	if (identifier->len) {
		rust_v0_put(v0, identifier->ascii, identifier->len);
		rust_v0_puts(v0, "-");
	}
	rust_v0_put(v0, identifier->punycode, identifier->punycode_len);
	rust_v0_puts(v0, "}");
}

void rust_v0_put_lifetime(struct rust_v0 *v0, uint64_t number)
{
	if (v0->is_quiet) /* back references are not followed: binders may be missing */
		return;
	if (number > v0->bound_lifetimes) {
		rust_v0_fail(v0);
		return;
	}
	rust_v0_puts(v0, "'");
	uint64_t depth = v0->bound_lifetimes - number;
	char letter = (char)('a' + depth);
	if (!number) {
		rust_v0_puts(v0, "_");
	} else if (depth < 26) {
		rust_v0_put(v0, &letter, 1);
	} else {
		rust_v0_puts(v0, "_");
		rust_v0_put_number(v0, depth);
	}
}
