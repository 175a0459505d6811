#include "tests/unit/report_read_page.h"

#include <string.h>

#include "format/base/str.h"
#include "report/analyse/frame_kind.h"
#include "report/write/export/html_data.h"
#include "tests/unit/unit.h"

static void get_text(struct bytes_cursor *cursor, char *text, size_t size)
{
	size_t len;
	const uint8_t *bytes = bytes_get_blob(cursor, &len);
	CHECK(len < size);
	if (len)
		memcpy(text, bytes, len);
	text[len] = 0;
}

static uint64_t get_count(struct bytes_cursor *cursor)
{
	uint64_t count = bytes_get_varint(cursor);
	CHECK(count <= READ_PAGE_MAX);
	return count;
}

static void read_head(struct bytes_cursor *cursor, struct page *page)
{
	for (size_t i = 0; i < 9; i++)
		get_text(cursor, page->texts[i], sizeof(page->texts[i]));
	page->period = bytes_get_varint(cursor);
	bytes_get_varint(cursor); /* frequency */
	page->begin_ms = bytes_get_varint(cursor);
	page->span_ns = bytes_get_varint(cursor);
	page->samples = bytes_get_varint(cursor);
	page->other_samples = bytes_get_varint(cursor);
	page->lost = bytes_get_varint(cursor);
	page->folded_weight = bytes_get_varint(cursor);
}

/* How many rows each list has, and the last one's texts. */
static void read_changes(struct bytes_cursor *cursor, size_t nr_columns, struct page *page)
{
	page->verdict = bytes_get_varint(cursor);
	get_text(cursor, page->verdict_text, sizeof(page->verdict_text));
	if (nr_columns == 1)
		return;
	page->nr_lists = get_count(cursor);
	for (size_t list = 0; list < page->nr_lists; list++) {
		page->nr_rows[list] = get_count(cursor);
		for (size_t i = 0, count = get_count(cursor); i < count; i++) {
			page->row_function[list] = bytes_get_varint(cursor);
			for (int text = 0; text < 5; text++)
				get_text(cursor, page->row[list][text],
					sizeof(page->row[list][text]));
		}
	}
	char text[512];
	for (size_t i = page->nr_lists ? get_count(cursor) : 0; i; i--)
		get_text(cursor, text, sizeof(text));
}

/* Of a function, with each column in turn as the new side. */
static void read_verdicts(
	struct bytes_cursor *cursor, size_t nr_orders, size_t order, enum diff_verdict verdicts[2])
{
	for (size_t i = 0; i < 2 * nr_orders; i++) {
		enum diff_verdict verdict = (enum diff_verdict)bytes_get_varint(cursor);
		if (i / 2 == order)
			verdicts[i % 2] = verdict;
		if (verdict == DIFF_REGRESSION || verdict == DIFF_IMPROVEMENT)
			CHECK(bytes_get_varint(cursor) > 0);
	}
}

static void read_tables(
	struct bytes_cursor *cursor, size_t nr_columns, size_t column, struct page *page)
{
	CHECK_INT(get_count(cursor), FRAME_KINDS_END);
	for (size_t i = 0; i < FRAME_KINDS_END; i++) {
		char text[32];
		get_text(cursor, text, sizeof(text));
		CHECK_STR(text, frame_kinds[i].text);
		CHECK_INT(bytes_get_varint(cursor), i >= FRAME_PYTHON);
		CHECK_INT(bytes_get_varint(cursor), i == FRAME_KERNEL);
		CHECK(bytes_get_varint(cursor) < 1 << 24);
		CHECK(bytes_get_varint(cursor) < 1 << 24);
	}
	page->nr_objects = get_count(cursor);
	for (size_t i = 0; i < page->nr_objects; i++)
		get_text(cursor, page->objects[i], sizeof(page->objects[i]));
	for (size_t i = 0, count = get_count(cursor); i < count; i++)
		get_text(cursor, page->files[i], sizeof(page->files[i]));
	page->nr_functions = get_count(cursor);
	for (size_t i = 0; i < page->nr_functions; i++) {
		get_text(cursor, page->functions[i], sizeof(page->functions[i]));
		page->nr_forms[i] = get_count(cursor);
		for (size_t form = 0; form < page->nr_forms[i]; form++)
			get_text(cursor, page->shortest[i], sizeof(page->shortest[i]));
		page->function_objects[i] = (uint32_t)bytes_get_varint(cursor);
		CHECK(page->function_objects[i] < page->nr_objects);
		bytes_get_varint(cursor);
		bytes_get_varint(cursor);
		page->function_kinds[i] = bytes_get_varint(cursor);
		if (nr_columns > 1)
			read_verdicts(cursor, nr_columns, column, page->verdicts[i]);
	}
	page->nr_causes = get_count(cursor);
	for (size_t i = 0; i < page->nr_causes; i++) {
		page->of_cause = get_count(cursor);
		get_text(cursor, page->cause, sizeof(page->cause));
	}
	char container[64];
	page->nr_threads = get_count(cursor);
	for (size_t i = 0; i < page->nr_threads; i++) {
		bytes_get_varint(cursor);
		page->tids[i] = (uint32_t)bytes_get_varint(cursor);
		get_text(cursor, page->comms[i], sizeof(page->comms[i]));
		get_text(cursor, container, sizeof(container));
		get_text(cursor, page->processes[i], sizeof(page->processes[i]));
	}
	page->merged_threads = bytes_get_varint(cursor);
	page->all_threads = bytes_get_varint(cursor);
	page->nr_slices = bytes_get_varint(cursor);
	page->slice_ns = bytes_get_varint(cursor);
	page->nr_parts = get_count(cursor);
	for (size_t i = 0; i < page->nr_parts; i++) {
		get_text(cursor, page->parts[i], sizeof(page->parts[i]));
		page->is_wait[i] = bytes_get_varint(cursor);
	}
}

static void read_nodes(struct bytes_cursor *cursor, struct page *page)
{
	page->nr_nodes = get_count(cursor);
	for (uint32_t i = 0; i < page->nr_nodes; i++) {
		uint32_t parent = i - 1;
		uint64_t up = bytes_get_varint(cursor);
		if (!i)
			continue;
		for (; up; up--)
			parent = page->nodes[parent].parent;
		page->nodes[i].parent = parent;
		page->nodes[i].depth = page->nodes[parent].depth + 1;
	}
	uint64_t met = 1;
	for (size_t i = 0; i < page->nr_nodes; i++) {
		uint64_t reference = bytes_get_varint(cursor), back = reference >> 1;
		if (!i)
			continue;
		page->nodes[i].function = (uint32_t)(back ? met - back : met++);
		page->nodes[i].is_inlined = reference & 1;
	}
	CHECK_INT(met, page->nr_functions);
}

static void read_entries(struct bytes_cursor *cursor, struct page *page)
{
	uint64_t counts[READ_PAGE_MAX];
	for (size_t i = 0; i < page->nr_nodes; i++)
		page->nr_entries += counts[i] = bytes_get_varint(cursor);
	CHECK(page->nr_entries <= READ_PAGE_MAX);
	int64_t group = 0;
	uint64_t parts[READ_PAGE_MAX];
	for (size_t i = 0; i < page->nr_entries; i++) {
		group += bytes_get_zigzag(cursor);
		CHECK(group >= 0);
		page->slots[i] = (uint64_t)group / page->nr_parts;
		CHECK(page->slots[i] < page->nr_threads * page->nr_slices);
		parts[i] = (uint64_t)group % page->nr_parts;
	}
	for (size_t i = 0, entry = 0; i < page->nr_nodes; i++) {
		for (uint64_t left = counts[i]; left; left--) {
			uint64_t weight = bytes_get_varint(cursor);
			page->nodes[i].weight += weight;
			page->of_part[parts[entry++]] += weight;
		}
		page->weight += page->nodes[i].weight;
	}
}

void read_page(const struct bytes_buf *data, size_t nr_columns, size_t column, struct page *page)
{
	struct bytes_cursor cursor = bytes_cursor(data->data, data->len);
	struct page other = {0};
	CHECK_INT(bytes_get_varint(&cursor), HTML_DATA_VERSION);
	CHECK_INT(bytes_get_varint(&cursor), nr_columns);
	for (size_t i = 0; i < nr_columns; i++)
		read_head(&cursor, i == column ? page : &other);
	CHECK_INT(bytes_get_varint(&cursor), 0); /* events to choose among */
	CHECK_INT(bytes_get_varint(&cursor), 0); /* of all of a system */
	page->folded = bytes_get_varint(&cursor);
	for (size_t i = 0; i < nr_columns; i++)
		read_changes(&cursor, nr_columns, i == column ? page : &other);
	read_tables(&cursor, nr_columns, column, page);
	read_nodes(&cursor, page);
	other = *page;
	for (size_t i = 0; i < nr_columns; i++)
		read_entries(&cursor, i == column ? page : &other);
	CHECK_INT(bytes_get_varint(&cursor), 0); /* functions with lines */
	char text[512];
	get_text(&cursor, text, sizeof(text)); /* above the longest waits */
	page->nr_waits = bytes_get_varint(&cursor);
	for (uint64_t i = 0; i < page->nr_waits && !cursor.overrun; i++) {
		CHECK(bytes_get_varint(&cursor) < page->nr_threads);
		get_text(&cursor, page->waiting, sizeof(page->waiting));
		get_text(&cursor, page->wait, sizeof(page->wait));
	}
	get_text(&cursor, text, sizeof(text)); /* about the rest */
	CHECK(!cursor.overrun);
	CHECK_INT(bytes_left(&cursor), 0);
}

void read_page_check_node(const struct page *page, uint32_t node, const char *want)
{
	uint32_t path[READ_PAGE_MAX], depth = 0;
	CLEANUP(str_deinit) struct str text = {0};
	for (uint32_t at = node; at; at = page->nodes[at].parent)
		path[depth++] = at;
	while (depth--)
		str_printf(&text, "%s%s", text.len ? ">" : "",
			page->functions[page->nodes[path[depth]].function]);
	str_printf(&text, " %llu", (unsigned long long)page->nodes[node].weight);
	CHECK_STR(str_text(&text), want);
}
