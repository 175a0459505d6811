/*
 * Encoded: for each function, in the order of chain_map_each_function(), its name with a NUL. The
 * NUL alone says that it is shown as it is.
 */
#include "report/name/symbol/shown_names.h"

#include <string.h>

#include "format/base/mem.h"

/* ---- demangling ---- */

struct completion {
	struct shown_names *names;
	struct chain_map *chains;
	struct str name;
	size_t count;
};

static void complete_name(void *context, uint32_t number, const char *mangled)
{
	struct completion *completion = context;
	struct shown_names *names = completion->names;
	if (names->by_number.data[number - 1])
		return;
	completion->name.len = 0;
	bool is_mangled = demangle(mangled, names->mode, &completion->name);
	names->by_number.data[number - 1] =
		is_mangled ? chain_map_keep(completion->chains, str_text(&completion->name),
				     completion->name.len)
			   : mangled;
	completion->count++;
}

size_t shown_names_complete(struct shown_names *names, struct chain_map *chains)
{
	struct completion completion = {.names = names, .chains = chains};
	vec_resize(&names->by_number, chain_map_text_count(chains));
	chain_map_each_function(chains, complete_name, &completion);
	str_deinit(&completion.name);
	return completion.count;
}

/* ---- encoding ---- */

struct encoding {
	const struct shown_names *names;
	struct bytes_buf *out;
};

static void shown_names_put_name(void *context, uint32_t number, const char *mangled)
{
	const struct encoding *encoding = context;
	const char *name = shown_names_get(encoding->names, number);
	const char *shown = !name || name == mangled ? "" : name;
	bytes_put_blob(encoding->out, shown, strlen(shown) + 1);
}

void shown_names_encode(
	const struct shown_names *names, const struct chain_map *chains, struct bytes_buf *out)
{
	chain_map_each_function(chains, shown_names_put_name, &(struct encoding){names, out});
}

struct taking {
	struct shown_names *names;
	struct bytes_cursor cursor;
	bool is_bad;
};

static void take_name(void *context, uint32_t number, const char *mangled)
{
	struct taking *taking = context;
	size_t len;
	const char *name = (const char *)bytes_get_blob(&taking->cursor, &len);
	if (taking->cursor.overrun)
		return;
	if (!len || memchr(name, 0, len) != name + len - 1)
		taking->is_bad = true;
	else
		taking->names->by_number.data[number - 1] = len > 1 ? name : mangled;
}

bool shown_names_take(
	struct shown_names *names, struct chain_map *chains, uint8_t *bytes, size_t len)
{
	struct taking taking = {.names = names, .cursor = bytes_cursor(bytes, len)};
	chain_map_keep_block(chains, bytes);
	vec_resize(&names->by_number, chain_map_text_count(chains));
	chain_map_each_function(chains, take_name, &taking);
	return !taking.is_bad && !taking.cursor.overrun && !bytes_left(&taking.cursor);
}

void shown_names_deinit(struct shown_names *names)
{
	vec_deinit(&names->by_number);
}
