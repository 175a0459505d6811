#include "format/import/import_folded.h"

#include <string.h>

#include "format/import/import_counts.h"
#include "format/import/import_names.h"

enum {
	MAX_BYTES = 1 << 30, /* of the file: it is read as a whole */
};

/* A line, without its end. */
struct folded_line {
	const char *stack;
	size_t stack_len;
	uint64_t count;
};

struct folded {
	struct import_output *output;
	struct import_counts counts;
	struct import_names names;
	uint32_t thread;
};

/* ---- lines ---- */

/* False: this is no stack with a number behind it. */
static bool parse_folded_line(const char *line, size_t len, struct folded_line *ret)
{
	size_t digits = len;
	uint64_t count = 0;
	while (digits && line[digits - 1] >= '0' && line[digits - 1] <= '9')
		digits--;
	if (digits == len || digits < 2 || line[digits - 1] != ' ')
		return false;
	for (size_t i = digits; i < len; i++)
		if (__builtin_mul_overflow(count, 10, &count) ||
			__builtin_add_overflow(count, (uint64_t)(line[i] - '0'), &count))
			return false;
	*ret = (struct folded_line){line, digits - 1, count};
	return true;
}

/* The next line from *at on, without "\n" or "\r\n"; false: there is none. */
static bool next_folded_line(
	const char *text, size_t len, size_t *at, const char **line, size_t *line_len)
{
	if (*at >= len)
		return false;
	const char *end = memchr(text + *at, '\n', len - *at);
	*line = text + *at;
	*line_len = end ? (size_t)(end - *line) : len - *at;
	*at += *line_len + 1;
	if (*line_len && (*line)[*line_len - 1] == '\r')
		--*line_len;
	return true;
}

/* What is neither blank nor a comment. */
static bool is_folded_text(const char *line, size_t len)
{
	size_t blank = 0;
	while (blank < len && (line[blank] == ' ' || line[blank] == '\t'))
		blank++;
	return blank < len && line[0] != '#';
}

/* Where most lines are stacks another is said to be wrong. */
bool import_folded_is(const uint8_t *head, size_t len)
{
	const char *text = (const char *)head, *line;
	size_t at = 0, line_len, stacks = 0, others = 0;
	if (!len || memchr(head, '\0', len))
		return false;
	while (next_folded_line(text, len, &at, &line, &line_len)) {
		struct folded_line parsed;
		bool is_cut = at > len && len == IMPORT_HEAD_BYTES;
		if (is_cut || !is_folded_text(line, line_len))
			continue;
		if (parse_folded_line(line, line_len, &parsed))
			stacks++;
		else
			others++;
	}
	if (others && others >= stacks)
		return false;
	return stacks || (len == IMPORT_HEAD_BYTES && memchr(head, ';', len));
}

/* Its nodes, from the outermost frame on. */
static void read_folded_stack(
	struct folded *folded, const struct folded_line *line, struct layout_sample *sample)
{
	const char *end = line->stack + line->stack_len;
	import_names_begin(&folded->names, sample);
	for (const char *name = line->stack; name <= end;) {
		const char *next = memchr(name, ';', (size_t)(end - name));
		import_names_add(&folded->names, name, (size_t)((next ? next : end) - name));
		name = next ? next + 1 : end + 1;
	}
	import_names_end(&folded->names);
}

/* ---- the file ---- */

static struct err *sum_folded(struct folded *folded, const char *text, size_t len)
{
	const char *line;
	size_t at = 0, line_len, number = 1;
	for (; next_folded_line(text, len, &at, &line, &line_len); number++) {
		struct folded_line parsed;
		if (!is_folded_text(line, line_len))
			continue;
		if (!parse_folded_line(line, line_len, &parsed))
			return err_new(ERR_FORMAT,
				"line %zu, at offset %zu, is no stack with a count behind it",
				number, (size_t)(line - text));
		if (!import_counts_expect(&folded->counts, parsed.count))
			return err_new(ERR_FORMAT, "line %zu: the counts are too large to be added",
				number);
	}
	return NULL;
}

static void write_folded(struct folded *folded, const char *text, size_t len)
{
	const char *line;
	size_t at = 0, line_len;
	while (next_folded_line(text, len, &at, &line, &line_len)) {
		struct folded_line parsed;
		if (!is_folded_text(line, line_len) || !parse_folded_line(line, line_len, &parsed))
			continue;
		struct layout_sample sample = {.thread = folded->thread};
		read_folded_stack(folded, &parsed, &sample);
		import_counts_put(
			&folded->counts, folded->output, &sample, parsed.count, parsed.count);
	}
}

static struct err *read_folded_text(
	struct folded *folded, const char *text, size_t len, struct import_result *result)
{
	struct import_output *output = folded->output;
	try(sum_folded(folded, text, len));
	uint32_t process = writer_process(output->writer, &(struct layout_process){0});
	folded->thread = import_output_thread(output, process, 0, "");
	import_counts_event(&folded->counts, output, "samples", "samples");
	write_folded(folded, text, len);
	import_counts_finish(&folded->counts, output, &result->notes);
	import_names_put_notes(&folded->names, &result->notes);
	return NULL;
}

struct err *import_folded_read(
	const struct import_file *file, struct import_output *output, struct import_result *result)
{
	struct folded folded = {.output = output};
	struct bytes_buf text = {0};
	import_names_init(&folded.names, output, "[folded]");
	if (file->bytes > MAX_BYTES)
		return err_new(ERR_FORMAT, "folded stacks of more than 1 GiB are not read");
	struct err *err = import_file_read(file, 0, file->bytes, "the text", &text);
	if (!err)
		err = read_folded_text(&folded, (const char *)text.data, text.len, result);
	import_names_deinit(&folded.names);
	bytes_buf_deinit(&text);
	return err;
}
