#include "record/generated/registered_memory.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/elf/elf_dynsym.h"
#include "format/elf/elf_file.h"
#include "record/generated/registered_frames.h"
#include "record/generated/registered_mono.h"
#include "record/host/proc.h"
#include "record/runtime/runtime_memory.h"

enum {
	DESCRIPTOR_BYTES = 24,
	ENTRY_BYTES = 32,
	VERSION = 1,
	MAX_ACTION = 2,
	MAX_FILES = 256,            /* of a process, that are looked into */
	MAX_SYMTAB = 16 << 20,      /* bytes */
	MAX_CANDIDATES = 4096,      /* symbols of a descriptor's size */
	MAX_DATA = 8 << 20,         /* bytes of a program's data that are searched */
	WINDOW = 64 << 10,          /* ... at once */
	SUMMED_AT_START = 4 << 10,  /* bytes of an image */
	SUMMED_AT_END = 12 << 10,   /* ... where section headers mostly are */
	MAPS_NS = 50 * 1000 * 1000, /* for a process's list of mappings */
};

static const char descriptor_name[] = "__jit_debug_descriptor";

/* ---- entries and images ---- */

struct list_entry {
	uint64_t next, prev, image, size;
};

static bool registered_memory_read_entry(uint32_t pid, uint64_t address, struct list_entry *ret)
{
	uint8_t bytes[ENTRY_BYTES];
	if (!runtime_read_process(pid, address, bytes, sizeof(bytes)))
		return false;
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	ret->next = bytes_get_u64(&cursor);
	ret->prev = bytes_get_u64(&cursor);
	ret->image = bytes_get_u64(&cursor);
	ret->size = bytes_get_u64(&cursor);
	return true;
}

static bool has_sound_size(uint64_t size)
{
	return size >= sizeof(Elf64_Ehdr) && size <= REGISTERED_IMAGE_MAX_BYTES;
}

/*
 * Memory is used again, so another image may come to stand at an address. Its headers tell, with
 * the addresses of its code, and most of an image that is not large. 0: it cannot be read.
 */
static uint64_t sum_image(uint32_t pid, uint64_t address, uint64_t size)
{
	uint8_t bytes[SUMMED_AT_START + SUMMED_AT_END];
	if (!has_sound_size(size))
		return 0;
	size_t first = size < SUMMED_AT_START ? (size_t)size : SUMMED_AT_START;
	size_t left = (size_t)size - first;
	size_t last = left < SUMMED_AT_END ? left : SUMMED_AT_END;
	if (!runtime_read_process(pid, address, bytes, first) ||
		(last && !runtime_read_process(pid, address + size - last, bytes + first, last)))
		return 0;
	uint64_t sum = map_hash_bytes(bytes, first + last, 1);
	return sum ? sum : 1;
}

static bool is_elf(uint32_t pid, uint64_t address)
{
	uint8_t magic[SELFMAG];
	return runtime_read_process(pid, address, magic, sizeof(magic)) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* ---- a list ---- */

static bool read_head(uint32_t pid, uint64_t address, struct registered_head *ret)
{
	uint8_t bytes[DESCRIPTOR_BYTES];
	if (!runtime_read_process(pid, address, bytes, sizeof(bytes)))
		return false;
	struct bytes_cursor cursor = bytes_cursor(bytes, sizeof(bytes));
	uint32_t version = bytes_get_u32(&cursor);
	*ret = (struct registered_head){.action = bytes_get_u32(&cursor)};
	ret->relevant = bytes_get_u64(&cursor);
	ret->first = bytes_get_u64(&cursor);
	return version == VERSION && ret->action <= MAX_ACTION;
}

static void add_sum(uint32_t pid, struct registered_head *head)
{
	struct list_entry entry;
	if (head->relevant && registered_memory_read_entry(pid, head->relevant, &entry))
		head->sum = sum_image(pid, entry.image, entry.size);
}

/* Each entry but the first points back to the one ahead of it: that makes circles of all of the
 * list impossible, and others run into the limit. */
static bool read_entries(uint32_t pid, struct registered_list *list)
{
	uint64_t before = 0;
	struct list_entry entry;
	for (uint64_t at = list->head.first; at; before = at, at = entry.next) {
		list->is_cut = list->entries.len >= REGISTERED_MAX_ENTRIES;
		if (list->is_cut)
			return true;
		if (!registered_memory_read_entry(pid, at, &entry))
			return false;
		list->is_cut = entry.prev != before;
		if (list->is_cut)
			return true;
		struct registered_entry out = {at, entry.image, entry.size, 0};
		vec_push(&list->entries, out);
	}
	return true;
}

/* False: it changes just now, or cannot be read. */
static bool list_for_debuggers(
	const struct registered_request *request, struct registered_list *list)
{
	uint32_t pid = request->pid;
	struct registered_head after;
	if (!read_head(pid, request->descriptor, &list->head))
		return false;
	add_sum(pid, &list->head);
	list->is_same = memcmp(&list->head, &request->known, sizeof(list->head)) == 0;
	if (!list->is_same && !read_entries(pid, list))
		return false;
	vec_each(&list->entries, entry)
		entry->sum = sum_image(pid, entry->image, entry->size);
	if (!read_head(pid, request->descriptor, &after))
		return false;
	add_sum(pid, &after);
	return memcmp(&after, &list->head, sizeof(after)) == 0;
}

bool registered_memory_list(const struct bytes_buf *answer, struct registered_list *ret)
{
	struct bytes_cursor cursor = bytes_cursor(answer->data, answer->len);
	*ret = (struct registered_list){0};
	ret->is_same = bytes_get_u8(&cursor);
	ret->is_cut = bytes_get_u8(&cursor);
	const uint8_t *head = bytes_get(&cursor, sizeof(ret->head));
	if (!head)
		return false;
	memcpy(&ret->head, head, sizeof(ret->head));
	size_t count = bytes_left(&cursor) / sizeof(*ret->entries.data);
	vec_resize(&ret->entries, count);
	if (count)
		memcpy(ret->entries.data, cursor.pos, count * sizeof(*ret->entries.data));
	return true;
}

/* ---- an image ---- */

static bool is_still_so(uint32_t pid, const struct registered_entry *entry)
{
	struct list_entry now;
	return registered_memory_read_entry(pid, entry->address, &now) &&
	       now.image == entry->image && now.size == entry->size &&
	       sum_image(pid, entry->image, entry->size) == entry->sum;
}

/* All of it or nothing. */
static void copy_code(uint32_t pid, struct registered_image *image)
{
	uint64_t size = 0;
	vec_each(&image->code, piece) {
		uint64_t more = piece->end - piece->start;
		if (more > REGISTERED_IMAGE_MAX_COPIED - size)
			return;
		size += more;
	}
	vec_resize(&image->copied, size);
	uint8_t *to = image->copied.data;
	vec_each(&image->code, piece) {
		size_t len = (size_t)(piece->end - piece->start);
		if (!runtime_read_process(pid, piece->start, to, len)) {
			bytes_buf_deinit(&image->copied);
			return;
		}
		to += len;
	}
}

static bool image_for_debuggers(
	void **kept, const struct registered_request *request, struct registered_image *image)
{
	(void)kept;
	const struct registered_entry *entry = &request->entry;
	if (!has_sound_size(entry->size) || !entry->sum)
		return false;
	CLEANUP_FREE uint8_t *bytes = mem_alloc(entry->size);
	if (!runtime_read_process(request->pid, entry->image, bytes, entry->size))
		return false;
	struct err *err = registered_image_read(bytes, entry->size, image);
	bool is_read = !err;
	err_destroy(err);
	if (is_read)
		copy_code(request->pid, image);
	return is_read && is_still_so(request->pid, entry);
}

bool registered_memory_image(const struct bytes_buf *answer, struct registered_image *ret)
{
	struct bytes_cursor cursor = bytes_cursor(answer->data, answer->len);
	return registered_image_get(&cursor, ret);
}

/* ---- where descriptors are ---- */

struct search {
	uint32_t pid;
	uint32_t nr_files;
	uint64_t inodes[MAX_FILES]; /* that were looked into */
	struct registered_descriptor found[REGISTERED_MAX_DESCRIPTORS];
	size_t count;
	bool is_done; /* all code of no file is in the list that was found */
};

static void add_registry(struct search *search, const struct registered_descriptor *found)
{
	bool is_known = search->count >= REGISTERED_MAX_DESCRIPTORS;
	for (size_t i = 0; i < search->count; i++)
		is_known |= search->found[i].address == found->address;
	if (!is_known)
		search->found[search->count++] = *found;
}

static void add_descriptor(struct search *search, uint64_t address)
{
	struct registered_head head;
	struct registered_descriptor found = {address, REGISTRY_DEBUGGER, 0};
	if (read_head(search->pid, address, &head))
		add_registry(search, &found);
}

/* What a mapped file is, and only if opening it does nothing else. -1: it cannot be had. */
static int open_mapped(uint32_t pid, const struct proc_mapping *mapping)
{
	char path[96];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", pid,
		(unsigned long long)mapping->start, (unsigned long long)mapping->end);
	CLEANUP_FD int place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0 || fstat(place, &st) || !S_ISREG(st.st_mode))
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool registered_memory_has_name(
	struct elf_file *elf, const struct elf_section *names, uint32_t name)
{
	char text[sizeof(descriptor_name)];
	if (name >= names->size || names->size - name < sizeof(text))
		return false;
	struct err *err = elf_file_read_into(elf, names->offset + name, text, sizeof(text));
	bool is_read = !err;
	err_destroy(err);
	return is_read && memcmp(text, descriptor_name, sizeof(text)) == 0;
}

/* A variable of its size that is no weak one, as what C++ says of types is. */
static bool may_be_descriptor(const struct elf_section *sections, size_t count, uint8_t info,
	uint16_t section, uint64_t size)
{
	return ELF64_ST_TYPE(info) == STT_OBJECT && ELF64_ST_BIND(info) != STB_WEAK &&
	       size == DESCRIPTOR_BYTES && section < count && sections[section].flags & SHF_WRITE;
}

/* Which is not exported. */
static uint64_t find_in_symtab(
	struct elf_file *elf, const struct elf_section *sections, size_t count, size_t table)
{
	const struct elf_section *symbols = &sections[table], *names = &sections[symbols->link];
	CLEANUP_FREE uint8_t *bytes = NULL;
	if (symbols->size > MAX_SYMTAB)
		return 0;
	struct err *err = elf_file_read(elf, symbols->offset, symbols->size, &bytes);
	if (err) {
		err_destroy(err);
		return 0;
	}
	struct bytes_cursor cursor = bytes_cursor(bytes, symbols->size);
	for (int candidates = 0;
		bytes_left(&cursor) >= sizeof(Elf64_Sym) && candidates < MAX_CANDIDATES;) {
		uint32_t name = bytes_get_u32(&cursor);
		uint8_t info = bytes_get_u8(&cursor);
		bytes_get_u8(&cursor);
		uint16_t section = bytes_get_u16(&cursor);
		uint64_t value = bytes_get_u64(&cursor), size = bytes_get_u64(&cursor);
		bool is_candidate = may_be_descriptor(sections, count, info, section, size);
		candidates += is_candidate;
		if (is_candidate && registered_memory_has_name(elf, names, name))
			return value;
	}
	return 0;
}

static uint64_t find_symbol(struct elf_file *elf)
{
	static const char *const names[] = {descriptor_name};
	struct elf_dynsym exported;
	const struct elf_section *sections;
	size_t count = 0;
	struct err *err = elf_dynsym_find(elf, names, 1, &exported);
	if (!err && exported.address)
		return exported.address;
	err_destroy(err);
	err = elf_file_sections(elf, &sections, &count);
	if (err)
		count = 0;
	err_destroy(err);
	for (size_t i = 1; i < count; i++)
		if (sections[i].type == SHT_SYMTAB && sections[i].link < count)
			return find_in_symtab(elf, sections, count, i);
	return 0;
}

/* A descriptor in use, by what it looks like: its first entry has none ahead of it, and an image.
 */
static void look_at_word(struct search *search, uint64_t address, const uint8_t *bytes)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, DESCRIPTOR_BYTES);
	struct list_entry entry;
	uint32_t version = bytes_get_u32(&cursor), action = bytes_get_u32(&cursor);
	bytes_get_u64(&cursor);
	uint64_t first = bytes_get_u64(&cursor);
	if (version != VERSION || action > MAX_ACTION || !first || first % 8)
		return;
	if (registered_memory_read_entry(search->pid, first, &entry) && !entry.prev &&
		has_sound_size(entry.size) && is_elf(search->pid, entry.image))
		add_descriptor(search, address);
}

static void search_data(struct search *search, uint64_t start, uint64_t size)
{
	uint8_t bytes[WINDOW];
	for (uint64_t at = 0; at + DESCRIPTOR_BYTES <= size && at < MAX_DATA;) {
		size_t len = size - at < WINDOW ? (size_t)(size - at) : WINDOW;
		if (!runtime_read_process(search->pid, start + at, bytes, len))
			return;
		for (size_t i = start % 8 ? 8 - start % 8 : 0; i + DESCRIPTOR_BYTES <= len; i += 8)
			look_at_word(search, start + at + i, bytes + i);
		at += WINDOW - DESCRIPTOR_BYTES;
	}
}

/* A static program without symbols, as qemu-user-static, has its data searched. */
static void search_program(struct search *search, const struct elf_file *elf, uint64_t bias)
{
	size_t count;
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	for (size_t i = 0; i < count && !search->count; i++)
		if (segments[i].flags & PF_W)
			search_data(search, bias + segments[i].vaddr, segments[i].filesz);
}

static void look_into_file(
	struct search *search, const struct proc_mapping *mapping, bool is_program)
{
	CLEANUP_FD int fd = open_mapped(search->pid, mapping);
	struct elf_file *elf;
	size_t count;
	uint64_t vaddr;
	struct err *err = fd < 0 ? err_new(ERR_IO, "not open") : elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return;
	}
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	if (elf_segments_offset_to_vaddr(segments, count, mapping->offset, &vaddr)) {
		uint64_t bias = mapping->start - vaddr, symbol;
		struct registered_descriptor found;
		search->is_done = registered_mono_find(search->pid, elf, bias, &found);
		if (search->is_done || registered_frames_find(elf, bias, &found))
			add_registry(search, &found);
		else if ((symbol = find_symbol(elf)))
			add_descriptor(search, bias + symbol);
		else if (is_program)
			search_program(search, elf, bias);
	}
	elf_file_destroy(elf);
}

/* Programs are mapped below their libraries. */
static bool registered_memory_on_mapping(void *context, const struct proc_mapping *mapping)
{
	struct search *search = context;
	uint64_t inode = mapping->inode ^ (uint64_t)mapping->device << 40;
	if (mapping->path[0] != '/' || !mapping->inode)
		return true;
	for (uint32_t i = 0; i < search->nr_files; i++)
		if (search->inodes[i] == inode)
			return true;
	look_into_file(search, mapping, search->nr_files == 0);
	search->inodes[search->nr_files++] = inode;
	return search->nr_files < MAX_FILES && !search->is_done;
}

static void put_found(const struct search *search, struct bytes_buf *ret)
{
	bytes_put(ret, search->found, search->count * sizeof(*search->found));
}

static void find_descriptors(uint32_t pid, struct bytes_buf *ret)
{
	struct search search = {.pid = pid};
	struct proc_limit limit = {.max_ns = MAPS_NS};
	proc_each_mapping(pid, &limit, registered_memory_on_mapping, &search);
	put_found(&search, ret);
}

void registered_memory_search(uint32_t pid, uint64_t start, uint64_t size, struct bytes_buf *ret)
{
	struct search search = {.pid = pid};
	search_data(&search, start, size);
	put_found(&search, ret);
}

size_t registered_memory_descriptors(const struct bytes_buf *answer,
	struct registered_descriptor ret[REGISTERED_MAX_DESCRIPTORS])
{
	size_t count = answer->len / sizeof(*ret);
	if (count > REGISTERED_MAX_DESCRIPTORS)
		count = REGISTERED_MAX_DESCRIPTORS;
	if (count)
		memcpy(ret, answer->data, count * sizeof(*ret));
	return count;
}

/* ---- requests ---- */

/* How a registry is read, by enum registry. */
static const struct {
	bool (*list)(const struct registered_request *request, struct registered_list *ret);
	bool (*image)(void **kept, const struct registered_request *request,
		struct registered_image *ret);
} registries[] = {
	[REGISTRY_DEBUGGER] = {list_for_debuggers, image_for_debuggers},
	[REGISTRY_MONO] = {registered_mono_list, registered_mono_image},
	[REGISTRY_FRAMES] = {registered_frames_list, registered_frames_image},
};

static void registered_memory_read_list(
	const struct registered_request *request, struct bytes_buf *ret)
{
	struct registered_list list = {0};
	if (registries[request->registry].list(request, &list)) {
		bytes_put_u8(ret, list.is_same);
		bytes_put_u8(ret, list.is_cut);
		bytes_put(ret, &list.head, sizeof(list.head));
		bytes_put(ret, list.entries.data, list.entries.len * sizeof(*list.entries.data));
	}
	vec_deinit(&list.entries);
}

static void registered_memory_read_image(
	void **kept, const struct registered_request *request, struct bytes_buf *ret)
{
	struct registered_image image = {0};
	if (registries[request->registry].image(kept, request, &image))
		registered_image_put(&image, ret);
	registered_image_deinit(&image);
}

void registered_memory_read(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	struct registered_request request;
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, sizeof(request));
	if (request.registry >= sizeof(registries) / sizeof(*registries))
		return;
	switch ((enum registered_request_kind)request.kind) {
	case REGISTERED_FIND:
		find_descriptors(request.pid, ret);
		return;
	case REGISTERED_LIST:
		registered_memory_read_list(&request, ret);
		return;
	case REGISTERED_IMAGE:
		registered_memory_read_image(kept, &request, ret);
		return;
	}
}
