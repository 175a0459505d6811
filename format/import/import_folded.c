#include "format/import/import_folded.h"

#include <string.h>

#include "format/import/import_counts.h"

enum {
	MAX_BYTES = 1 << 30, /* of the file: it is read as a whole */
	PLACE_BYTES = 16,    /* from the offset of a place to the next one's */
};

/* A line, without its end. */
struct folded_line {
	const char *stack;
	size_t stack_len;
	uint64_t count;
};

enum folded_kind {
	FOLDED_USER,
	FOLDED_KERNEL,
	FOLDED_COMPILED,
	FOLDED_KINDS,
};

struct folded {
	struct import_output *output;
	struct import_counts counts;
	uint32_t objects[FOLDED_KINDS];
	struct strtab
		places[FOLDED_KINDS]; /* a function and those inlined into it; id: its number */
	uint32_t thread;
	uint64_t nr_deep;
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

bool import_folded_is(const uint8_t *head, size_t len)
{
	const char *text = (const char *)head, *line;
	size_t at = 0, line_len, stacks = 0;
	if (!len || memchr(head, '\0', len))
		return false;
	while (next_folded_line(text, len, &at, &line, &line_len)) {
		struct folded_line parsed;
		bool is_cut = at > len && len == IMPORT_HEAD_BYTES;
		if (is_cut || !is_folded_text(line, line_len))
			continue;
		if (!parse_folded_line(line, line_len, &parsed))
			return false;
		stacks++;
	}
	return stacks || (len == IMPORT_HEAD_BYTES && memchr(head, ';', len));
}

/* ---- frames ---- */

static bool cut_suffix(const char *name, size_t *len, char letter)
{
	const char suffix[] = {'_', '[', letter, ']'};
	bool has_it = *len > sizeof(suffix) &&
		      memcmp(name + *len - sizeof(suffix), suffix, sizeof(suffix)) == 0;
	*len -= has_it ? sizeof(suffix) : 0;
	return has_it;
}

static enum folded_kind kind_of_folded(const char *name, size_t *len)
{
	return cut_suffix(name, len, 'k')   ? FOLDED_KERNEL
	       : cut_suffix(name, len, 'j') ? FOLDED_COMPILED
					    : FOLDED_USER;
}

static uint32_t object_of_folded(struct folded *folded, enum folded_kind kind)
{
	static const struct {
		enum layout_object_kind kind;
		const char *path;
	} objects[FOLDED_KINDS] = {
		[FOLDED_USER] = {LAYOUT_OBJECT_UNKNOWN, "[folded]"},
		[FOLDED_KERNEL] = {LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]"},
		[FOLDED_COMPILED] = {LAYOUT_OBJECT_ANONYMOUS, LAYOUT_ANONYMOUS_PATH},
	};
	if (!folded->objects[kind])
		folded->objects[kind] = import_output_object(folded->output,
			&(struct layout_object){.kind = objects[kind].kind}, objects[kind].path);
	return folded->objects[kind];
}

/* A function, and behind it, in the line, those that are inlined into each other. */
struct folded_place {
	enum folded_kind kind;
	struct bytes_buf names; /* each ends in NUL; the outermost first */
	uint32_t count;
};

static void put_folded_chain(
	struct folded *folded, const struct folded_place *place, uint32_t object, uint64_t offset)
{
	struct chain_frame *frames = mem_zalloc_array(place->count, sizeof(*frames));
	const char *name = (const char *)place->names.data;
	for (uint32_t i = place->count; i-- > 0; name += strlen(name) + 1) {
		frames[i].function = name;
		frames[i].is_inlined = i + 1 < place->count;
	}
	import_output_chain(folded->output, object, offset, &(struct chain){frames, place->count});
	mem_free(frames);
}

static uint32_t node_of_folded_place(
	struct folded *folded, struct folded_place *place, uint32_t parent)
{
	if (!place->count)
		return parent;
	uint32_t object = object_of_folded(folded, place->kind);
	uint64_t number = strtab_intern(
		&folded->places[place->kind], (const char *)place->names.data, place->names.len);
	uint64_t offset = (number + 1) * PLACE_BYTES;
	bool is_new;
	uint32_t frame = import_output_frame(folded->output, object, offset, &is_new);
	if (is_new)
		put_folded_chain(folded, place, object, offset);
	place->names.len = place->count = 0;
	return import_output_node(folded->output, parent, frame);
}

static void add_folded_name(
	struct folded_place *place, enum folded_kind kind, const char *name, size_t len)
{
	place->kind = place->count ? place->kind : kind;
	bytes_put(&place->names, name, len);
	bytes_put_u8(&place->names, '\0');
	place->count++;
}

/* Its nodes, from the outermost frame on. What is the kernel's stands on what is the user's. */
static void read_folded_stack(
	struct folded *folded, const struct folded_line *line, struct layout_sample *sample)
{
	struct folded_place place = {0};
	uint32_t depth = 0, *top = &sample->user_stack;
	const char *end = line->stack + line->stack_len;
	for (const char *name = line->stack; name <= end && depth < IMPORT_MAX_DEPTH; depth++) {
		const char *next = memchr(name, ';', (size_t)(end - name));
		size_t len = (size_t)((next ? next : end) - name);
		bool is_inlined = cut_suffix(name, &len, 'i') && place.count;
		enum folded_kind kind = kind_of_folded(name, &len);
		if (!is_inlined)
			*top = node_of_folded_place(folded, &place, *top);
		if (kind == FOLDED_KERNEL)
			top = &sample->kernel_stack;
		if (len)
			add_folded_name(&place, kind, name, len);
		name += next ? (size_t)(next - name) + 1 : (size_t)(end - name) + 1;
	}
	folded->nr_deep += depth == IMPORT_MAX_DEPTH;
	*top = node_of_folded_place(folded, &place, *top);
	bytes_buf_deinit(&place.names);
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
	if (folded->nr_deep)
		str_printf(&result->notes,
			"%llu %s deeper than %d frames, the innermost are left out\n",
			(unsigned long long)folded->nr_deep,
			str_plural(folded->nr_deep, "stack is", "stacks are"), IMPORT_MAX_DEPTH);
	return NULL;
}

struct err *import_folded_read(
	const struct import_file *file, struct import_output *output, struct import_result *result)
{
	struct folded folded = {.output = output};
	struct bytes_buf text = {0};
	if (file->bytes > MAX_BYTES)
		return err_new(ERR_FORMAT, "folded stacks of more than 1 GiB are not read");
	struct err *err = import_file_read(file, 0, file->bytes, "the text", &text);
	if (!err)
		err = read_folded_text(&folded, (const char *)text.data, text.len, result);
	for (int i = 0; i < FOLDED_KINDS; i++)
		strtab_deinit(&folded.places[i]);
	bytes_buf_deinit(&text);
	return err;
}
