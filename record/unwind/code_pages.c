#include "record/unwind/code_pages.h"

#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/task/object.h"

enum {
	MAX_READING = 64,  /* runs at once; others have to do without */
	MAX_EXPECTED = 48, /* ... of which what is only expected leaves some */
	MAX_PAGES = 2048,  /* then those of files are forgotten, or all */
	PAGES_BEHIND = 1,  /* read along: the function begins there, which may be asked for, too */
	PAGES_AHEAD = 2,   /* ... code goes on there */
	RUN_PAGES = PAGES_BEHIND + 1 + PAGES_AHEAD,
	FILE_TRIED_NS = NS_PER_S,     /* before one that could not be opened is tried again */
	LATELY_NS = 20 * 1000 * 1000, /* when what is expected needs not be read again */
};

struct request {
	uint32_t pid, count;
	uint64_t address;
};

/* Each page, and whether it could be read; since when. */
struct answer {
	uint64_t begun_ns;
	bool is_read[RUN_PAGES];
	uint8_t bytes[RUN_PAGES][CODE_PAGE_BYTES];
};

/* In the reader's worker. */
static void read_run(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	struct request request;
	struct answer answer = {.begun_ns = clock_now_ns()};
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, sizeof(request));
	for (uint32_t i = 0; i < request.count && i < RUN_PAGES; i++) {
		uint64_t address = request.address + i * (uint64_t)CODE_PAGE_BYTES;
		struct iovec here = {answer.bytes[i], CODE_PAGE_BYTES};
		struct iovec there = {(void *)(uintptr_t)address, CODE_PAGE_BYTES};
		answer.is_read[i] = process_vm_readv((pid_t)request.pid, &here, 1, &there, 1, 0) ==
				    CODE_PAGE_BYTES;
	}
	bytes_put(ret, &answer, sizeof(answer));
}

void code_pages_init(struct code_pages *pages)
{
	*pages = (struct code_pages){.seed = map_random_seed()};
	target_reader_init(&pages->reader, read_run);
}

static void code_pages_close_files(struct code_pages *pages)
{
	for (size_t i = 0; i < pages->nr_files && i < CODE_PAGES_FILES; i++)
		mem_close_fd(&pages->files[i].fd);
	pages->nr_files = 0;
}

static void forget_pages(struct code_pages *pages)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&pages->by_key, &cursor));)
		mem_free((void *)(uintptr_t)slot->value);
	map_deinit(&pages->by_key);
	pages->last_page = NULL;
}

/* Those that can be had again; all, where that is not the half of them. */
static void forget_pages_of_files(struct code_pages *pages)
{
	struct map kept = {0};
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&pages->by_key, &cursor));) {
		struct code_page *page = (void *)(uintptr_t)slot->value;
		if (!page->is_of_file)
			*map_put(&kept, slot->key, NULL) = slot->value;
		else
			mem_free(page);
	}
	map_deinit(&pages->by_key);
	pages->by_key = kept;
	pages->last_page = NULL;
	if (kept.len > MAX_PAGES / 2)
		forget_pages(pages);
}

void code_pages_deinit(struct code_pages *pages)
{
	target_reader_deinit(&pages->reader);
	code_pages_close_files(pages);
	forget_pages(pages);
	vec_deinit(&pages->reading);
}

/* Files of memory alone are written to while they run. */
static bool is_of_file(const struct mapping *mapping)
{
	static const char memfd[] = "/memfd:";
	const struct object *object = mapping->object;
	return object->info.kind == LAYOUT_OBJECT_FILE &&
	       strncmp(object->path, memfd, sizeof(memfd) - 1) != 0;
}

static struct code_pages_file *file_of(struct code_pages *pages, const struct object *object)
{
	size_t known = pages->nr_files < CODE_PAGES_FILES ? pages->nr_files : CODE_PAGES_FILES;
	for (size_t i = 0; i < known; i++)
		if (pages->files[i].serial == object->serial)
			return &pages->files[i];
	struct code_pages_file *file = &pages->files[pages->nr_files++ % CODE_PAGES_FILES];
	if (known == CODE_PAGES_FILES)
		mem_close_fd(&file->fd);
	*file = (struct code_pages_file){object->serial, -1, 0};
	return file;
}

/* -1: it cannot be opened. */
static int open_code(struct code_pages *pages, uint32_t pid, const struct mapping *mapping)
{
	const struct object_location where = {pid, mapping->start, mapping->end};
	struct code_pages_file *file = file_of(pages, mapping->object);
	uint64_t now_ns = clock_now_ns();
	if (file->fd < 0 && now_ns - file->tried_ns >= FILE_TRIED_NS) {
		file->tried_ns = now_ns;
		file->fd = object_open_any(mapping->object, &where);
	}
	return file->fd;
}

/* That of no ELF file may be another one in memory: Lisp systems map theirs, and move what is in
 * it. */
static bool is_as_in_file(const struct object *object)
{
	return object->info.build_id_len || object->info.nr_segments;
}

/* False: it cannot be had, or would have to be waited for though its process can be asked. */
static bool read_from_file(struct code_pages *pages, struct code_page *page, uint32_t pid,
	const struct mapping *mapping, uint64_t address)
{
	bool is_gone = kill((pid_t)pid, 0) != 0;
	if (!is_gone && !is_as_in_file(mapping->object))
		return false;
	int fd = open_code(pages, pid, mapping);
	struct iovec here = {page->bytes, sizeof(page->bytes)};
	off_t offset = (off_t)(address - mapping->start + mapping->offset);
	ssize_t got = fd < 0 ? -1 : preadv2(fd, &here, 1, offset, is_gone ? 0 : RWF_NOWAIT);
	if (got <= 0)
		return false;
	page->len = (uint16_t)got;
	page->is_given_up = false;
	page->read_ns = page->tried_ns = clock_now_ns();
	return true;
}

static struct code_pages_run pages_run(
	uint32_t pid, const struct mapping *mapping, uint64_t address, uint32_t count)
{
	bool is_of_file_ = is_of_file(mapping);
	return (struct code_pages_run){
		.is_of_file = is_of_file_,
		.pid = pid,
		.owner = is_of_file_ ? mapping->object->serial : pid,
		.place = is_of_file_ ? address - mapping->start + mapping->offset : address,
		.count = count,
	};
}

static uint64_t key_of_page(
	const struct code_pages *pages, const struct code_pages_run *run, uint32_t number)
{
	uint64_t words[] = {
		run->is_of_file, run->owner, run->place + number * (uint64_t)CODE_PAGE_BYTES};
	return map_hash_bytes(words, sizeof(words), pages->seed);
}

/* The page at an address that is a multiple of its size. */
static struct code_page *page_at(
	struct code_pages *pages, uint32_t pid, const struct mapping *mapping, uint64_t address)
{
	const struct code_pages_run run = pages_run(pid, mapping, address, 1);
	const struct code_pages_run *last = &pages->last;
	bool is_new;
	if (pages->last_page && last->place == run.place && last->owner == run.owner &&
		last->is_of_file == run.is_of_file)
		return pages->last_page;
	uint64_t *slot = map_put(&pages->by_key, key_of_page(pages, &run, 0), &is_new);
	if (is_new)
		*slot = (uintptr_t)mem_zalloc(sizeof(struct code_page));
	pages->last = run;
	pages->last_page = (void *)(uintptr_t)*slot;
	pages->last_page->is_of_file = run.is_of_file;
	return pages->last_page;
}

/* Whether there is no such page from `since_ns` on yet. Another process may have what one has not,
 * and there may be time for a later sample. */
static bool is_wanted(const struct code_page *page, uint32_t pid, uint64_t since_ns)
{
	if (page->is_pending)
		return false;
	if (page->is_of_file)
		return !page->len && (!page->tried_ns || page->pid != pid ||
					     (page->is_given_up && page->tried_ns < since_ns));
	return page->tried_ns < since_ns || !page->tried_ns;
}

/* Has the page at an address read, and those around it that are to be read as well. */
static void code_pages_submit(struct code_pages *pages, uint32_t pid, const struct mapping *mapping,
	uint64_t address, uint64_t since_ns)
{
	const uint64_t behind = PAGES_BEHIND * CODE_PAGE_BYTES;
	uint64_t start = address - mapping->start < behind ? address : address - behind, at = start;
	for (; at < mapping->end && at - address + behind < RUN_PAGES * CODE_PAGE_BYTES;
		at += CODE_PAGE_BYTES) {
		struct code_page *page = page_at(pages, pid, mapping, at);
		if (is_wanted(page, pid, since_ns))
			page->is_pending = true;
		else if (at > address)
			break;
		else
			start = at + CODE_PAGE_BYTES;
	}
	uint32_t count = (uint32_t)((at - start) / CODE_PAGE_BYTES);
	struct request request = {.pid = pid, .count = count, .address = start};
	vec_push(&pages->reading, pages_run(pid, mapping, start, count));
	target_reader_submit(&pages->reader, pid, &request, sizeof(request));
}

static const struct code_page *find_page(struct code_pages *pages, uint32_t pid,
	const struct mapping *mapping, uint64_t address, uint64_t since_ns)
{
	if (pages->by_key.len >= MAX_PAGES)
		forget_pages_of_files(pages);
	struct code_page *page = page_at(pages, pid, mapping, address);
	if (!is_wanted(page, pid, since_ns))
		return page;
	bool is_read = page->is_of_file && read_from_file(pages, page, pid, mapping, address);
	bool has_room = pages->reading.len - pages->read < MAX_READING;
	if (!is_read && has_room)
		code_pages_submit(pages, pid, mapping, address, since_ns);
	page->is_given_up |= !is_read && !has_room;
	return page;
}

enum code_read code_pages_get(struct code_pages *pages, uint32_t pid, const struct mapping *mapping,
	uint64_t address, uint64_t since_ns, uint8_t *bytes, size_t len, size_t *got)
{
	*got = 0;
	while (*got < len && address < mapping->end) {
		uint64_t at = address % CODE_PAGE_BYTES;
		const struct code_page *page =
			find_page(pages, pid, mapping, address - at, since_ns);
		if (page->is_pending)
			return *got ? CODE_READ : CODE_READ_LATER;
		bool is_fresh = page->is_of_file || page->read_ns >= since_ns;
		if (page->is_given_up && (!page->len || !is_fresh))
			return *got ? CODE_READ : CODE_READ_GIVEN_UP;
		if (page->len <= at || !is_fresh)
			break;
		size_t here = page->len - at;
		if (here > len - *got)
			here = len - *got;
		memcpy(bytes + *got, page->bytes + at, here);
		*got += here;
		address += here;
	}
	return *got ? CODE_READ : CODE_READ_NONE;
}

enum code_read code_pages_get_memory(struct code_pages *pages, uint32_t pid, uint64_t address,
	uint64_t since_ns, uint8_t *bytes, size_t len, size_t *got)
{
	struct object memory = {.info.kind = LAYOUT_OBJECT_UNKNOWN};
	uint64_t start = address - address % CODE_PAGE_BYTES;
	struct mapping mapping = {
		.start = start, .end = start + CODE_PAGE_BYTES, .object = &memory};
	return code_pages_get(pages, pid, &mapping, address, since_ns, bytes, len, got);
}

bool code_pages_expect(struct code_pages *pages, uint32_t pid, uint64_t start, uint64_t end,
	uint64_t address, uint64_t since_ns)
{
	struct object memory = {.info.kind = LAYOUT_OBJECT_ANONYMOUS};
	struct mapping mapping = {.start = start, .end = end, .object = &memory};
	uint64_t at = address - address % CODE_PAGE_BYTES;
	if (pages->by_key.len >= MAX_PAGES || pages->reading.len - pages->read >= MAX_EXPECTED ||
		!is_wanted(page_at(pages, pid, &mapping, at), pid, since_ns - LATELY_NS))
		return false;
	code_pages_submit(pages, pid, &mapping, at, since_ns);
	target_reader_send(&pages->reader);
	return true;
}

/* `answer` NULL: nothing was read. */
static void take_run(
	struct code_pages *pages, const struct code_pages_run *run, const struct answer *answer)
{
	for (uint32_t i = 0; i < run->count; i++) {
		uint64_t *slot = map_get(&pages->by_key, key_of_page(pages, run, i));
		struct code_page *page = slot ? (void *)(uintptr_t)*slot : NULL;
		if (!page) /* forgotten meanwhile */
			continue;
		page->is_pending = false;
		page->is_given_up = !answer;
		page->tried_ns = clock_now_ns();
		page->pid = run->pid;
		if (!answer || !answer->is_read[i])
			continue;
		page->read_ns = page->tried_ns = answer->begun_ns;
		page->len = CODE_PAGE_BYTES;
		memcpy(page->bytes, answer->bytes[i], CODE_PAGE_BYTES);
	}
}

void code_pages_collect(struct code_pages *pages)
{
	const struct bytes_buf *answer;
	while (pages->read < pages->reading.len && target_reader_take(&pages->reader, &answer)) {
		const struct code_pages_run run = pages->reading.data[pages->read++];
		bool is_whole = answer && answer->len == sizeof(struct answer);
		take_run(pages, &run, is_whole ? (const void *)answer->data : NULL);
	}
	if (pages->read == pages->reading.len)
		pages->read = pages->reading.len = 0;
}

bool code_pages_are_pending(const struct code_pages *pages)
{
	return pages->read < pages->reading.len;
}

int code_pages_fd(const struct code_pages *pages)
{
	return target_reader_fd(&pages->reader);
}
