#include "report/write/text/text_names.h"

#include <string.h>

#include "report/name/namesakes.h"
#include "report/write/text/text.h"

static void text_put_name(
	const struct profile_function *function, uint8_t nr_parts, struct str *out)
{
	CLEANUP(str_deinit) struct str name = {0};
	namesakes_put_name(function, nr_parts, &name);
	str_puts_escaped(out, str_text(&name));
}

size_t text_columns_of(const char *text, size_t len)
{
	size_t columns = 0;
	for (size_t i = 0; i < len; i++)
		columns += (text[i] & 0xc0) != 0x80;
	return columns;
}

static size_t bytes_of_columns(const char *text, size_t columns)
{
	size_t at = 0;
	while (text[at] && (columns || (text[at] & 0xc0) == 0x80))
		columns -= (text[at++] & 0xc0) != 0x80;
	return at;
}

void text_cut_lines(struct str *text, size_t columns)
{
	struct str cut = {0};
	const char *line = str_text(text);
	for (const char *end; *line; line = end) {
		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		size_t len = (size_t)(end - line),
		       all = text_columns_of(line, len) - (end[-1] == '\n');
		if (line[0] == '#' || all <= columns) {
			str_write(&cut, line, len);
			continue;
		}
		str_write(&cut, line, bytes_of_columns(line, columns > 2 ? columns - 2 : 0));
		str_puts(&cut, "..\n");
	}
	str_deinit(text);
	*text = cut;
}

static size_t escaped_columns(const void *context, const char *text)
{
	(void)context;
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, text);
	return text_columns_of(safe.data, safe.len);
}

/* Its middle is left out where there is no room: both ends of a name tell something. */
static void text_put_elided(void *context, const char *text, size_t columns)
{
	struct str *out = context;
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, text);
	size_t all = text_columns_of(safe.data, safe.len);
	if (all <= columns) {
		str_puts(out, str_text(&safe));
		return;
	}
	size_t tail = (columns - 2) / 2;
	str_write(out, safe.data, bytes_of_columns(safe.data, columns - 2 - tail));
	str_puts(out, "..");
	str_puts(out, safe.data + bytes_of_columns(safe.data, all - tail));
}

void text_put_fitting(struct text_names *names, const struct profile_function *function,
	uint8_t nr_parts, bool has_object, size_t columns, struct str *out)
{
	enum {
		LEAST = 8, /* less says nothing */
	};
	if (columns) {
		CLEANUP(str_deinit) struct str place = {0};
		namesakes_put_place(function, nr_parts, &place);
		size_t taken = escaped_columns(NULL, str_text(&place));
		const struct name_room room = {columns < LEAST + taken ? LEAST : columns - taken,
			escaped_columns, text_put_elided, out};
		if (!names->is_found)
			distinct_names_add_fitting(&names->names, function, &room);
		distinct_names_put_fitting(names->is_found ? &names->names : NULL, function, &room);
		str_puts_escaped(out, str_text(&place));
	} else if (has_object && function->has_bounds) {
		str_puts(out, profile_function_own_name(function));
	} else {
		text_put_name(function, nr_parts, out);
	}
}
