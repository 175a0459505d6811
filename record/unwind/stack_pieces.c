#include "record/unwind/stack_pieces.h"

#include <string.h>

#include "format/base/mem.h"

struct stack_content {
	uint64_t key; /* in `by_hash` */
	size_t nr_pieces, len;
	unsigned char bytes[];
};

static struct stack_content *slot_content(uint64_t value)
{
	return (struct stack_content *)(uintptr_t)value;
}

void stack_pieces_deinit(struct stack_pieces *pieces)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&pieces->by_hash, &cursor));)
		mem_free(slot_content(slot->value));
	map_deinit(&pieces->by_hash);
}

/* Two contents of one hash are kept at different keys. */
static struct stack_content *stack_content_of(
	struct stack_pieces *pieces, const unsigned char *bytes, size_t len)
{
	if (!pieces->seed)
		pieces->seed = map_random_seed() | 1;
	uint64_t key = map_hash_bytes(bytes, len, pieces->seed);
	for (uint64_t *slot; (slot = map_get(&pieces->by_hash, key)); key++) {
		struct stack_content *content = slot_content(*slot);
		if (content->len == len && !memcmp(content->bytes, bytes, len))
			return content;
	}
	struct stack_content *content = mem_alloc(sizeof(*content) + len);
	*content = (struct stack_content){.key = key, .len = len};
	memcpy(content->bytes, bytes, len);
	*map_put(&pieces->by_hash, key, NULL) = (uintptr_t)content;
	pieces->bytes += sizeof(*content) + len;
	return content;
}

bool stack_pieces_hold(struct stack_pieces *pieces, const struct event_snapshot_chunk *chunk,
	size_t len, struct stack_piece *ret)
{
	if (len < sizeof(*chunk) || chunk->nr_bytes > sizeof(chunk->bytes))
		return false;
	struct stack_content *content = stack_content_of(pieces, chunk->bytes, chunk->nr_bytes);
	content->nr_pieces++;
	*ret = (struct stack_piece){.type = EVENT_SNAPSHOT_CHUNK,
		.nr_bytes = chunk->nr_bytes,
		.hash = chunk->hash,
		.address = chunk->address,
		.bytes = content->bytes,
		.content = content};
	return true;
}

void stack_pieces_release(struct stack_pieces *pieces, const struct stack_piece *piece)
{
	struct stack_content *content = piece->content;
	if (--content->nr_pieces)
		return;
	pieces->bytes -= sizeof(*content) + content->len;
	map_remove(&pieces->by_hash, content->key);
	mem_free(content);
}
