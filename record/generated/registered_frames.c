#include "record/generated/registered_frames.h"

#include <elf.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/unwind/unwind_machine.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_DATA = 8 << 10, /* bytes of libgcc's data */
	MAX_OBJECTS = 4096,
	OBJECT_BYTES = 48,
	OBJECT_FRAMES = 24,
	OBJECT_FLAGS = 32,
	OBJECT_NEXT = 40,
	IS_SORTED = 1, /* the frames are behind a list of them then */
	IS_ARRAY = 2,
	SUMMED = 256,           /* bytes at the beginning of the frames */
	MAX_FRAMES = 256 << 10, /* bytes */
	MAX_DEPTH = 8,
	MAX_CHILDREN = 15,
	MAX_ENTRIES = 10,
	NODE_HEAD = 16,
	CHILD_BYTES = 16,
	ENTRY_BYTES = 24,
};

static bool registered_frames_is_address(uint64_t word)
{
	return word >= 4096 && !(word >> UNWIND_ADDRESS_BITS) && word % 8 == 0;
}

/* Writable data of what exports libgcc's functions. */
bool registered_frames_find(struct elf_file *elf, uint64_t bias, struct registered_descriptor *ret)
{
	static const char *const names[] = {
		"__register_frame_info_bases", "__deregister_frame_info_bases"};
	struct elf_dynsym found[2] = {0};
	size_t count;
	struct err *err = elf_dynsym_find(elf, names, 2, found);
	bool is_found = !err && found[0].address && found[1].address;
	err_destroy(err);
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = count; is_found && i-- > 0;) {
		if (!(segments[i].flags & PF_W))
			continue;
		uint64_t end = bias + segments[i].vaddr + segments[i].memsz;
		uint64_t size = segments[i].memsz < MAX_DATA ? segments[i].memsz : MAX_DATA;
		ret->address = (end - size + 7) & ~7ULL;
		ret->registry = REGISTRY_FRAMES;
		ret->more = (uint32_t)(end - ret->address);
		return true;
	}
	return false;
}

/* ---- what is registered ---- */

struct frames_reader {
	uint32_t pid;
	struct registered_list *list;
	struct map objects; /* that are in the list: the tree has each under two addresses */
};

/* How many bytes can be read of `max`, up to the end of memory that is there. */
static size_t read_what_is_there(uint32_t pid, uint64_t address, uint8_t *to, size_t max)
{
	size_t done = 0;
	while (done < max) {
		size_t len = 4096 - (address + done) % 4096;
		len = len < max - done ? len : max - done;
		if (!runtime_read_process(pid, address + done, to + done, len))
			break;
		done += len;
	}
	return done;
}

/* A common entry comes first: its length, 0, version 1. */
static bool is_frames(const uint8_t *bytes, size_t len)
{
	uint32_t words[2];
	if (len < 12)
		return false;
	memcpy(words, bytes, sizeof(words));
	return words[0] >= 8 && words[0] < 256 && !words[1] && (bytes[8] == 1 || bytes[8] == 3);
}

/* Where an object's frames begin; 0: it is no object. */
static uint64_t frames_of(uint32_t pid, uint64_t object, uint64_t *next)
{
	uint64_t words[OBJECT_BYTES / 8], frames;
	if (!registered_frames_is_address(object) ||
		!runtime_read_process(pid, object, words, sizeof(words)))
		return 0;
	frames = words[OBJECT_FRAMES / 8];
	*next = words[OBJECT_NEXT / 8];
	uint64_t flags = words[OBJECT_FLAGS / 8];
	if (flags & IS_ARRAY || !registered_frames_is_address(frames & ~7ULL))
		return 0;
	if (flags & IS_SORTED && !runtime_read_process(pid, frames, &frames, sizeof(frames)))
		return 0;
	return frames;
}

/* False: that is no object. */
static bool add_object(struct frames_reader *reader, uint64_t object, uint64_t *next)
{
	uint8_t bytes[SUMMED];
	uint64_t frames = frames_of(reader->pid, object, next);
	size_t len = frames ? read_what_is_there(reader->pid, frames, bytes, sizeof(bytes)) : 0;
	if (!is_frames(bytes, len))
		return false;
	struct registered_entry entry = {object, frames, len, map_hash_bytes(bytes, len, 1) | 1};
	bool is_new;
	map_put(&reader->objects, object, &is_new);
	reader->list->is_cut |= reader->list->entries.len >= MAX_OBJECTS;
	if (!reader->list->is_cut && is_new)
		vec_push(&reader->list->entries, entry);
	return true;
}

static bool add_objects(struct frames_reader *reader, uint64_t first)
{
	uint64_t next = 0;
	size_t count;
	if (!add_object(reader, first, &next))
		return false;
	do { /* until it goes in a circle, at the latest */
		count = reader->list->entries.len;
	} while (next && add_object(reader, next, &next) && reader->list->entries.len > count);
	return true;
}

/*
 * A node: a lock, how many entries it has, whether it is a leaf. An inner one has
 * { greatest address, node }, a leaf { address, size, object }.
 */
static bool add_node(struct frames_reader *reader, uint64_t node, int depth)
{
	uint64_t words[(NODE_HEAD + MAX_CHILDREN * CHILD_BYTES) / 8], none;
	if (depth > MAX_DEPTH || !registered_frames_is_address(node) ||
		!runtime_read_process(reader->pid, node, words, sizeof(words)))
		return false;
	uint32_t count = (uint32_t)words[1], kind = (uint32_t)(words[1] >> 32);
	if (!count || kind > 1 || count > (kind ? MAX_ENTRIES : MAX_CHILDREN))
		return false;
	for (uint32_t i = 0; i < count && !reader->list->is_cut; i++) {
		const uint64_t *entry =
			words + (NODE_HEAD + i * (size_t)(kind ? ENTRY_BYTES : CHILD_BYTES)) / 8;
		bool is_good = kind ? add_object(reader, entry[2], &none)
				    : add_node(reader, entry[1], depth + 1);
		if (!is_good && !i)
			return false;
	}
	return true;
}

bool registered_frames_list(const struct registered_request *request, struct registered_list *ret)
{
	uint64_t words[MAX_DATA / 8];
	struct frames_reader reader = {.pid = request->pid, .list = ret};
	size_t len = request->more < MAX_DATA ? request->more : MAX_DATA;
	if (!runtime_read_process(request->pid, request->descriptor, words, len))
		return false;
	for (size_t i = 0; i < len / 8 && !ret->is_cut; i++)
		if (registered_frames_is_address(words[i]) && !add_objects(&reader, words[i]))
			add_node(&reader, words[i], 0);
	map_deinit(&reader.objects);
	ret->head.first = ret->entries.len;
	ret->head.sum = ret->entries.len ? map_hash_bytes(ret->entries.data,
						   ret->entries.len * sizeof(*ret->entries.data), 1)
					 : 1;
	ret->is_same = ret->head.sum == request->known.sum && !ret->is_cut;
	if (ret->is_same)
		ret->entries.len = 0;
	return true;
}

/* Steps over entries from `at` on. True: the one of length 0 that ends them is there. */
static bool find_end_of_frames(const uint8_t *bytes, size_t len, size_t *at)
{
	uint32_t entry_bytes;
	while (*at < len && len - *at >= sizeof(entry_bytes)) {
		memcpy(&entry_bytes, bytes + *at, sizeof(entry_bytes));
		if (!entry_bytes)
			return true;
		*at += sizeof(entry_bytes) + entry_bytes;
	}
	return false;
}

/* How many bytes can be read of frames, `least` and what it takes to their end. */
static size_t read_frames_to_end(uint32_t pid, uint64_t address, uint8_t *to, size_t least)
{
	size_t done = 0, at = 0, step;
	do {
		step = read_what_is_there(pid, address + done, to + done, 4096);
		done += step;
	} while (step == 4096 && done < MAX_FRAMES &&
		 (done < least || !find_end_of_frames(to, done, &at)));
	return done;
}

bool registered_frames_image(
	void **kept, const struct registered_request *request, struct registered_image *ret)
{
	(void)kept;
	const struct registered_entry *entry = &request->entry;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(MAX_FRAMES);
	uint64_t next;
	size_t len = read_frames_to_end(request->pid, entry->image, bytes, entry->size);
	if (len < entry->size || frames_of(request->pid, entry->address, &next) != entry->image ||
		(map_hash_bytes(bytes, entry->size, 1) | 1) != entry->sum)
		return false;
	registered_image_of_frames(bytes, len, entry->image, ret);
	return ret->rules.len;
}
