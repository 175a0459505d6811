#include "report/name/symbol/address_index.h"

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/elf/elf_map.h"
#include "report/name/symbol/address_index_layout.h"

enum {
	PAGE = ADDRESS_INDEX_PAGE_BYTES,
	FUNCTION_BYTES_MAX = 3 * 10,
	FRAMES_MAX = 256, /* of a chain, which a resolver tells no more of either */
};

struct index_row {
	uint64_t start, code_bytes;
	uint32_t offset, bytes;
};

struct index_node {
	uint32_t parent, function, call_file, call_line, call_column;
	bool is_inlined;
};

/* Where texts or functions stand, by number minus 1. */
struct offsets {
	VEC(uint32_t) list;
};

/* A block as far as it was read. */
struct index_block {
	uint64_t end; /* of its code; 0: none */
	struct bytes_cursor cursor;
	struct offsets texts, functions;
	VEC(struct index_node) nodes; /* by number minus 1 */
	/* The stretch at hand. */
	uint64_t start;
	uint32_t node, file, line, column;
};

struct address_index {
	struct elf_map map;
	uint64_t len; /* of the pages that have sums */
	const uint8_t *sums;
	uint8_t *checked; /* by page */
	uint64_t table_offset;
	uint32_t nr_blocks;
	bool is_damaged;
	struct index_block block;
	struct arena frames;
};

/* ---- checked bytes ---- */

static bool check_page(struct address_index *index, uint64_t page)
{
	if (index->checked[page])
		return true;
	uint64_t start = page * PAGE, left = index->len - start;
	struct bytes_cursor sum = bytes_cursor(index->sums + 8 * page, 8);
	if (cache_checksum(0, index->map.bytes + start, left < PAGE ? left : PAGE) !=
		bytes_get_u64(&sum)) {
		index->is_damaged = true;
		return false;
	}
	index->checked[page] = true;
	return true;
}

/* At most `len` bytes: up to the end, or to the first damaged page. */
static struct bytes_cursor sound_bytes(struct address_index *index, uint64_t offset, uint64_t len)
{
	if (offset >= index->len)
		return bytes_cursor(NULL, 0);
	if (len > index->len - offset)
		len = index->len - offset;
	for (uint64_t page = offset / PAGE; page * PAGE < offset + len; page++)
		if (!check_page(index, page)) {
			len = page * PAGE > offset ? page * PAGE - offset : 0;
			break;
		}
	return bytes_cursor(index->map.bytes + offset, (size_t)len);
}

/* NULL for offset 0. */
static const char *text_at(struct address_index *index, uint32_t offset)
{
	if (!offset || offset >= index->len) {
		index->is_damaged |= offset != 0;
		return NULL;
	}
	const char *text = (const char *)index->map.bytes + offset;
	for (uint64_t at = offset; at < index->len;) {
		uint64_t page = at / PAGE, end = (page + 1) * PAGE;
		if (end > index->len)
			end = index->len;
		if (!check_page(index, page))
			return NULL;
		if (memchr(index->map.bytes + at, 0, (size_t)(end - at)))
			return text;
		at = end;
	}
	index->is_damaged = true;
	return NULL;
}

static uint32_t address_index_narrow(uint64_t value)
{
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

static uint32_t address_index_get_u32(struct bytes_cursor *cursor)
{
	return address_index_narrow(bytes_get_varint(cursor));
}

/* ---- opening ---- */

struct err *address_index_cache_open(const char *folder, struct cache **ret)
{
	struct cache_options options = {
		.kind = "index",
		.folder = folder,
		.max_bytes = (uint64_t)ADDRESS_INDEX_CACHE_MAX_MB << 20,
	};
	return cache_open(&options, ret);
}

/* The map holds the file, but for the checksum of the whole. */
static bool read_trailer(struct address_index *index)
{
	if (index->map.len < ADDRESS_INDEX_TRAILER_BYTES)
		return false;
	uint64_t trailer_offset = index->map.len - ADDRESS_INDEX_TRAILER_BYTES;
	struct bytes_cursor cursor =
		bytes_cursor(index->map.bytes + trailer_offset, ADDRESS_INDEX_TRAILER_BYTES);
	uint32_t version = bytes_get_u32(&cursor);
	index->nr_blocks = bytes_get_u32(&cursor);
	index->table_offset = bytes_get_u64(&cursor);
	index->len = bytes_get_u64(&cursor);
	uint64_t sums_checksum = bytes_get_u64(&cursor);
	if (version != ADDRESS_INDEX_VERSION || index->len > trailer_offset ||
		bytes_get_u64(&cursor) != cache_checksum(0, index->map.bytes + trailer_offset,
						  ADDRESS_INDEX_TRAILER_BYTES - 8))
		return false;
	uint64_t nr_pages = (index->len + PAGE - 1) / PAGE;
	index->sums = index->map.bytes + index->len;
	index->checked = mem_zalloc(nr_pages + 1);
	return index->table_offset <= index->len &&
	       index->nr_blocks <= (index->len - index->table_offset) / ADDRESS_INDEX_ROW_BYTES &&
	       8 * nr_pages == trailer_offset - index->len &&
	       cache_checksum(0, index->sums, 8 * nr_pages) == sums_checksum;
}

struct address_index *address_index_open(const struct cache *cache, const char *name)
{
	struct cache_entry entry;
	struct address_index *index = NULL;
	struct err *err = cache_entry_open(cache, name, &entry);
	if (!err && entry.fd >= 0) {
		index = mem_zalloc(sizeof(*index));
		err = elf_map_file(entry.fd, entry.bytes_left, &index->map);
	}
	cache_entry_close(&entry);
	if (index && (err || !read_trailer(index))) {
		address_index_close(index);
		index = NULL;
	}
	err_destroy(err); /* it is made again */
	return index;
}

void address_index_close(struct address_index *index)
{
	if (!index)
		return;
	elf_map_release(&index->map);
	mem_free(index->checked);
	vec_deinit(&index->block.texts.list);
	vec_deinit(&index->block.functions.list);
	vec_deinit(&index->block.nodes);
	arena_deinit(&index->frames);
	mem_free(index);
}

/* ---- blocks ---- */

static struct index_row address_index_row_at(struct address_index *index, uint32_t number)
{
	struct bytes_cursor cursor =
		sound_bytes(index, index->table_offset + (uint64_t)number * ADDRESS_INDEX_ROW_BYTES,
			ADDRESS_INDEX_ROW_BYTES);
	struct index_row row = {.start = bytes_get_u64(&cursor)};
	row.code_bytes = bytes_get_u32(&cursor);
	row.offset = bytes_get_u32(&cursor);
	row.bytes = bytes_get_u32(&cursor);
	return row;
}

/* Goes to the block that holds the address, if there is one. */
static bool open_block(struct address_index *index, uint64_t address)
{
	struct index_block *block = &index->block;
	uint32_t low = 0, high = index->nr_blocks;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (address_index_row_at(index, middle).start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	block->end = 0;
	if (!low)
		return false;
	struct index_row row = address_index_row_at(index, low - 1);
	if (address - row.start >= row.code_bytes)
		return false;
	block->cursor = sound_bytes(index, row.offset, row.bytes);
	block->start = row.start;
	block->end = row.start + row.code_bytes;
	block->texts.list.len = block->functions.list.len = block->nodes.len = 0;
	block->node = block->file = block->line = block->column = 0;
	return true;
}

/* The offset that a reference stands for. */
static uint32_t get_reference(struct bytes_cursor *cursor, struct offsets *offsets)
{
	uint64_t number = bytes_get_varint(cursor), count = offsets->list.len;
	if (!number)
		return 0;
	if (number <= count)
		return offsets->list.data[number - 1];
	if (number > count + 1)
		cursor->overrun = true;
	uint32_t offset = address_index_get_u32(cursor);
	vec_push(&offsets->list, offset);
	return offset;
}

static uint32_t get_node(struct index_block *block)
{
	uint64_t number = bytes_get_varint(&block->cursor);
	if (number <= block->nodes.len)
		return (uint32_t)number;
	block->cursor.overrun = true;
	return 0;
}

/* Returns the number of the last one. Each is in one that stands before it: no way is endless. */
static uint32_t get_new_nodes(struct index_block *block)
{
	struct bytes_cursor *cursor = &block->cursor;
	uint64_t count = bytes_get_varint(cursor);
	uint32_t number = 0;
	for (uint64_t i = 0; i < count && !cursor->overrun; i++) {
		uint64_t flagged = bytes_get_varint(cursor), parent = i ? number : flagged >> 1;
		if (parent > block->nodes.len) {
			cursor->overrun = true;
			break;
		}
		struct index_node node = {.parent = (uint32_t)parent, .is_inlined = flagged & 1};
		node.function = get_reference(cursor, &block->functions);
		if (parent) {
			node.call_file = get_reference(cursor, &block->texts);
			node.call_line = address_index_get_u32(cursor);
			node.call_column = address_index_get_u32(cursor);
		}
		vec_push(&block->nodes, node);
		number = (uint32_t)block->nodes.len;
	}
	return number;
}

static void read_stretch(struct index_block *block, unsigned flags)
{
	struct bytes_cursor *cursor = &block->cursor;
	if (flags & ADDRESS_INDEX_NODE_KNOWN)
		block->node = get_node(block);
	if (flags & ADDRESS_INDEX_NODES_NEW)
		block->node = get_new_nodes(block);
	if (flags & ADDRESS_INDEX_FILE)
		block->file = get_reference(cursor, &block->texts);
	if (flags & ADDRESS_INDEX_LINE)
		block->line += (uint32_t)bytes_get_zigzag(cursor);
	if (flags & ADDRESS_INDEX_COLUMN)
		block->column = address_index_get_u32(cursor);
}

/* Goes on to the stretch that holds the address. */
static void read_up_to(struct index_block *block, uint64_t address)
{
	struct bytes_cursor *cursor = &block->cursor;
	while (bytes_left(cursor) && !cursor->overrun) {
		struct bytes_cursor before = *cursor;
		uint64_t head = bytes_get_varint(cursor);
		uint64_t step = head >> ADDRESS_INDEX_FLAGS_BITS;
		if (step > address - block->start) {
			*cursor = before;
			return;
		}
		block->start += step;
		read_stretch(block, head & ((1 << ADDRESS_INDEX_FLAGS_BITS) - 1));
	}
}

/* ---- chains ---- */

static void address_index_put_function(
	struct address_index *index, uint32_t offset, struct chain_frame *frame)
{
	struct bytes_cursor cursor = sound_bytes(index, offset, FUNCTION_BYTES_MAX);
	uint32_t name = address_index_get_u32(&cursor), decl_file = address_index_get_u32(&cursor);
	frame->decl_line = address_index_get_u32(&cursor);
	frame->function = text_at(index, name);
	frame->decl_file = text_at(index, decl_file);
	index->is_damaged |= cursor.overrun;
}

static struct chain address_index_build_chain(struct address_index *index)
{
	const struct index_block *block = &index->block;
	const struct index_node *nodes = block->nodes.data;
	uint32_t count = 0;
	for (uint32_t node = block->node; node && count < FRAMES_MAX; node = nodes[node - 1].parent)
		count++;
	if (!count)
		return (struct chain){0};
	struct chain_frame *frames = arena_alloc(&index->frames, count * sizeof(*frames));
	struct chain_frame at = {.line = block->line, .column = block->column};
	at.file = text_at(index, block->file);
	for (uint32_t i = 0, number = block->node; i < count; i++) {
		const struct index_node *node = &nodes[number - 1];
		address_index_put_function(index, node->function, &at);
		at.is_inlined = node->is_inlined;
		frames[i] = at;
		at.file = text_at(index, node->call_file);
		at.line = node->call_line;
		at.column = node->call_column;
		number = node->parent;
	}
	return (struct chain){frames, count};
}

bool address_index_run(
	struct address_index *index, const uint64_t *addresses, size_t count, struct chain *chains)
{
	struct index_block *block = &index->block;
	block->end = 0;
	for (size_t i = 0; i < count && !index->is_damaged; i++) {
		chains[i] = (struct chain){0};
		if (addresses[i] >= block->end && !open_block(index, addresses[i]))
			continue;
		if (addresses[i] < block->start)
			continue;
		read_up_to(block, addresses[i]);
		index->is_damaged |= block->cursor.overrun;
		if (!index->is_damaged)
			chains[i] = address_index_build_chain(index);
	}
	return !index->is_damaged;
}
