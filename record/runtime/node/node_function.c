/*
 * Sources: src/objects/{shared-function-info,scope-info}.tq of V8 10.2, 11.3, 12.4, 13.6, 14.6.
 */
#include "record/runtime/node/node_function.h"

#include <string.h>

#include "format/file/layout.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_NAME_CHARACTERS = 512,

	SCOPE_WORDS = 6, /* that are looked at behind its locals */
	SCOPE_FIRST_WITH_POSITIONS = 5,
	SCOPE_INLINED_LOCALS = 75, /* more have their names in a table */
};

/*
 * What stands behind the locals: the name, if it has one of its own, with a number; what it was
 * assigned to, if that is known. Where it begins and ends in the script are two numbers behind
 * these, or, in later versions, ahead of the locals.
 */
static bool read_scope(
	const struct node_reader *reading, uint64_t scope, struct str *name, uint32_t *start)
{
	const struct node_row *row = reading->row;
	uint64_t locals, position, words[SCOPE_WORDS];
	if (!node_object_read(reading, scope, 8 + 8ULL * row->scope_locals, &locals))
		return false;
	locals >>= NODE_SMI_SHIFT;
	uint64_t at = row->scope_first + (locals < SCOPE_INLINED_LOCALS ? 2 * locals : locals + 1);
	/* A module has the number of its variables ahead of the locals. */
	if (locals && node_object_read(reading, scope, 8 + 8ULL * row->scope_first, &words[0]) &&
		!(uint32_t)words[0])
		at++;
	if (!runtime_read_process(reading->pid, scope - 1 + 8 + 8 * at, words, sizeof(words)))
		return false;
	if (row->scope_first == SCOPE_FIRST_WITH_POSITIONS &&
		node_object_read(
			reading, scope, 8 + 8 * (SCOPE_FIRST_WITH_POSITIONS - 2), &position))
		*start = (uint32_t)(position >> NODE_SMI_SHIFT);
	for (int i = 0; i + 1 < SCOPE_WORDS; i++) {
		bool is_number = !(uint32_t)words[i], is_next_number = !(uint32_t)words[i + 1];
		if (is_number && is_next_number) { /* behind a name's own number, or at once */
			bool is_names = i + 2 < SCOPE_WORDS && !(uint32_t)words[i + 2];
			if (*start == node_no_position)
				*start = (uint32_t)(words[i + is_names] >> NODE_SMI_SHIFT);
			return true;
		}
		if (is_number)
			continue;
		if (!node_object_is_string(node_object_type(reading, words[i]))) {
			if (*start != node_no_position)
				return true; /* another scope, or what a module imports */
			continue;            /* "undefined": it was assigned to nothing */
		}
		if (!name->len &&
			!node_object_put_string(reading, words[i], MAX_NAME_CHARACTERS, name))
			return false;
	}
	return true;
}

bool node_function_read_name(
	const struct node_reader *reading, uint64_t shared, struct str *name, uint32_t *start)
{
	uint64_t word;
	*start = node_no_position;
	if (!node_object_read(reading, shared, reading->row->shared_name, &word))
		return false;
	if (!(uint32_t)word)
		return true; /* a number: it has none */
	int type = node_object_type(reading, word);
	if (node_object_is_string(type))
		return node_object_put_string(reading, word, MAX_NAME_CHARACTERS, name);
	return type == reading->row->scope_info_type && read_scope(reading, word, name, start);
}

bool node_function_is_there(const struct node_reader *reading, const struct node_function *function)
{
	uint64_t flags, script, id;
	if (node_object_type(reading, function->shared) != reading->row->shared_type ||
		!node_object_read(reading, function->shared, reading->row->shared_flags, &flags) ||
		flags >> 32 != function->literal_id)
		return false;
	if (!function->script_id)
		return true;
	return node_object_read(reading, function->shared, reading->row->shared_script, &script) &&
	       node_object_type(reading, script) == reading->row->script_type &&
	       node_object_read(reading, script, NODE_SCRIPT_ID, &id) &&
	       id >> NODE_SMI_SHIFT == function->script_id;
}

void node_function_put_texts(struct str *name, struct str *file)
{
	static const char file_url[] = "file://";
	if (!name->len)
		str_puts(name, LAYOUT_NAMELESS);
	if (file->len < sizeof(file_url) ||
		memcmp(str_text(file), file_url, sizeof(file_url) - 1) != 0)
		return;
	CLEANUP(str_deinit) struct str path = {0};
	str_write(&path, str_text(file) + sizeof(file_url) - 1, file->len - (sizeof(file_url) - 1));
	str_truncate(file, 0);
	str_write(file, str_text(&path), path.len);
}

bool node_function_next_line(const struct runtime_lines *lines, struct runtime_line_entry *entry)
{
	(void)lines, (void)entry;
	return false;
}
