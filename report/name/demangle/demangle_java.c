#include "report/name/demangle/demangle_java.h"

#include <string.h>

enum {
	MAX_DIMENSIONS = 255, /* of an array */
	MAX_NAME_BYTES = 64 << 10,
};

static const char *primitive_of(char code)
{
	static const char *const names[] = {['B'] = "byte",
		['C'] = "char",
		['D'] = "double",
		['F'] = "float",
		['I'] = "int",
		['J'] = "long",
		['S'] = "short",
		['V'] = "void",
		['Z'] = "boolean"};
	unsigned char at = (unsigned char)code;
	return at < sizeof(names) / sizeof(*names) ? names[at] : NULL;
}

/* Appends the type that begins at `text`, and returns what is behind it. NULL: it is none. */
static const char *put_java_type(const char *text, struct str *out)
{
	size_t dimensions = strspn(text, "[");
	if (dimensions > MAX_DIMENSIONS)
		return NULL;
	text += dimensions;
	const char *primitive = primitive_of(*text), *behind = text + 1;
	if (primitive) {
		str_puts(out, primitive);
	} else {
		size_t len = strcspn(text, ";([)");
		if (*text != 'L' || text[len] != ';' || len == 1)
			return NULL;
		for (size_t i = 1; i < len; i++)
			str_putc(out, text[i] == '/' ? '.' : text[i]);
		behind = text + len + 1;
	}
	for (; dimensions; dimensions--)
		str_puts(out, "[]");
	return behind;
}

/* Appends "(int, long)" of what begins at "(IJ)V"; false: that is no descriptor. */
static bool put_parameters(const char *descriptor, struct str *out)
{
	CLEANUP(str_deinit) struct str result = {0};
	const char *at = descriptor + 1;
	str_putc(out, '(');
	while (*at != ')') {
		if (at != descriptor + 1)
			str_puts(out, ", ");
		at = put_java_type(at, out);
		if (!at)
			return false;
	}
	str_putc(out, ')');
	at = put_java_type(at + 1, &result);
	return at && !*at;
}

bool demangle_java(const char *name, bool has_parameters, struct str *out)
{
	const char *descriptor = strrchr(name, '(');
	size_t start = out->len, len = descriptor ? (size_t)(descriptor - name) : 0;
	if (!len || !memchr(name, '.', len) || strlen(name) > MAX_NAME_BYTES)
		return false;
	str_write(out, name, len);
	if (!put_parameters(descriptor, out)) {
		str_truncate(out, start);
		return false;
	}
	if (!has_parameters)
		str_truncate(out, start + len);
	return true;
}
