#include "record/unwind/table_inputs.h"

#include <elf.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"

enum {
	PIECE_BYTES = 64 << 10,
};

static void add_number(struct siphash *hash, uint64_t number)
{
	siphash_add(hash, &number, sizeof(number));
}

/* What opening the file has read already. */
static void add_opened(struct siphash *hash, const struct elf_file *elf)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	struct elf_segment frames = {0};
	elf_file_eh_frame_hdr(elf, &frames);
	add_number(hash, elf_file_size(elf));
	add_number(hash, count);
	for (size_t i = 0; i <= count; i++) {
		const struct elf_segment *segment = i < count ? &segments[i] : &frames;
		add_number(hash, segment->vaddr);
		add_number(hash, segment->offset);
		add_number(hash, segment->filesz);
		add_number(hash, segment->memsz);
		add_number(hash, segment->flags);
	}
}

static void on_read(void *context, uint64_t offset, const void *bytes, size_t len)
{
	struct table_inputs *inputs = context;
	size_t count = inputs->places.len;
	struct table_place *last = count ? &inputs->places.data[count - 1] : NULL;
	bool is_next = last && last->offset + last->len == offset;
	inputs->is_incomplete |= !bytes || (count == TABLE_INPUTS_MAX_PLACES && !is_next);
	if (inputs->is_incomplete)
		return;
	siphash_add(&inputs->hash, bytes, len);
	if (is_next)
		last->len += len;
	else
		vec_push(&inputs->places, (struct table_place){offset, len});
}

void table_inputs_begin(struct table_inputs *inputs, struct elf_file *elf)
{
	*inputs = (struct table_inputs){0};
	for (size_t i = 0; i < sizeof(inputs->key); i += sizeof(uint64_t)) {
		uint64_t random = map_random_seed();
		memcpy(inputs->key + i, &random, sizeof(random));
	}
	siphash_init(&inputs->hash, inputs->key);
	add_opened(&inputs->hash, elf);
	elf_file_watch(elf, on_read, inputs);
	Elf64_Ehdr header; /* what else it says was read as well */
	err_destroy(elf_file_read_into(elf, 0, &header, sizeof(header)));
}

bool table_inputs_end(struct table_inputs *inputs, struct elf_file *elf)
{
	elf_file_watch(elf, NULL, NULL);
	inputs->sum = siphash_finish(&inputs->hash);
	return !inputs->is_incomplete;
}

void table_inputs_deinit(struct table_inputs *inputs)
{
	vec_deinit(&inputs->places);
}

static bool table_inputs_add_place(
	struct siphash *hash, struct elf_file *elf, const struct table_place *place, uint8_t *piece)
{
	for (uint64_t done = 0; done < place->len;) {
		uint64_t left = place->len - done;
		size_t len = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
		struct err *err = elf_file_read_into(elf, place->offset + done, piece, len);
		err_destroy(err);
		if (err)
			return false;
		siphash_add(hash, piece, len);
		done += len;
	}
	return true;
}

bool table_inputs_match(const struct table_inputs *inputs, struct elf_file *elf)
{
	CLEANUP_FREE uint8_t *piece = mem_alloc(PIECE_BYTES);
	struct siphash hash;
	siphash_init(&hash, inputs->key);
	add_opened(&hash, elf);
	vec_each(&inputs->places, place)
		if (!table_inputs_add_place(&hash, elf, place, piece))
			return false;
	return siphash_finish(&hash) == inputs->sum;
}
