#include "record/code_pages.h"

#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/object.h"

enum {
	MAX_READING = 64, /* pages at once; others have to do without */
	MAX_PAGES = 1024, /* then all are forgotten */
	PAGES_AHEAD = 3,  /* read along with one of memory: code goes on there */
};

struct request {
	uint32_t pid, zero;
	uint64_t address;
};

/* In the reader's worker. */
static void read_page(void **kept, const void *bytes, size_t len, struct bytes_buf *ret)
{
	(void)kept;
	struct request request;
	uint8_t page[CODE_PAGE_BYTES];
	if (len != sizeof(request))
		return;
	memcpy(&request, bytes, sizeof(request));
	struct iovec here = {page, sizeof(page)};
	struct iovec there = {(void *)(uintptr_t)request.address, sizeof(page)};
	ssize_t got = process_vm_readv((pid_t)request.pid, &here, 1, &there, 1, 0);
	if (got > 0)
		bytes_put(ret, page, (size_t)got);
}

void code_pages_init(struct code_pages *pages)
{
	*pages = (struct code_pages){.seed = map_random_seed()};
	target_reader_init(&pages->reader, read_page);
}

static void forget_pages(struct code_pages *pages)
{
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&pages->by_key, &cursor));)
		mem_free((void *)(uintptr_t)slot->value);
	map_deinit(&pages->by_key);
}

void code_pages_deinit(struct code_pages *pages)
{
	target_reader_deinit(&pages->reader);
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

static void read_file_page(
	struct code_page *page, uint32_t pid, const struct mapping *mapping, uint64_t offset)
{
	struct object_location where = {pid, mapping->start, mapping->end};
	CLEANUP_FD int fd = object_open_any(mapping->object, &where);
	ssize_t got = fd >= 0 ? pread(fd, page->bytes, sizeof(page->bytes), (off_t)offset) : 0;
	page->len = got > 0 ? (uint16_t)got : 0;
}

static void code_pages_submit(struct code_pages *pages, struct code_page *page, uint64_t key,
	uint32_t pid, uint64_t address)
{
	struct request request = {.pid = pid, .address = address};
	page->is_pending = true;
	vec_push(&pages->reading, key);
	target_reader_submit(&pages->reader, pid, &request, sizeof(request));
}

/* The page at an address, or offset, that is a multiple of its size. */
static struct code_page *find_page(struct code_pages *pages, uint32_t pid,
	const struct mapping *mapping, uint64_t address, uint64_t since_ns)
{
	bool is_of_file_ = is_of_file(mapping), is_new;
	uint64_t place = is_of_file_ ? address - mapping->start + mapping->offset : address;
	uint64_t words[] = {is_of_file_, is_of_file_ ? mapping->object->serial : pid, place};
	uint64_t key = map_hash_bytes(words, sizeof(words), pages->seed);
	if (pages->by_key.len >= MAX_PAGES)
		forget_pages(pages);
	uint64_t *slot = map_put(&pages->by_key, key, &is_new);
	struct code_page *page = is_new ? mem_zalloc(sizeof(*page)) : (void *)(uintptr_t)*slot;
	*slot = (uintptr_t)page;
	bool is_old = !is_of_file_ && page->read_ns < since_ns;
	bool has_room = pages->reading.len - pages->read < MAX_READING;
	if (!page->is_pending && has_room && (!page->read_ns || is_old))
		code_pages_submit(pages, page, key, pid, address);
	bool has_failed = page->read_ns && !page->is_pending && !page->len && !page->is_final;
	if (has_failed && is_of_file_ && kill((pid_t)pid, 0)) {
		read_file_page(page, pid, mapping, place);
		page->is_final = true;
	}
	return page;
}

/* The same, and those ahead are read along. */
static const struct code_page *find_pages(struct code_pages *pages, uint32_t pid,
	const struct mapping *mapping, uint64_t address, uint64_t since_ns)
{
	const struct code_page *page = find_page(pages, pid, mapping, address, since_ns);
	if (!page->is_pending)
		return page;
	for (uint64_t i = 1; i <= PAGES_AHEAD; i++)
		if (address + i * CODE_PAGE_BYTES < mapping->end && pages->by_key.len < MAX_PAGES)
			find_page(pages, pid, mapping, address + i * CODE_PAGE_BYTES, since_ns);
	return page;
}

enum code_read code_pages_get(struct code_pages *pages, uint32_t pid, const struct mapping *mapping,
	uint64_t address, uint64_t since_ns, uint8_t *bytes, size_t len, size_t *got)
{
	*got = 0;
	while (*got < len && address < mapping->end) {
		uint64_t at = address % CODE_PAGE_BYTES;
		const struct code_page *page =
			find_pages(pages, pid, mapping, address - at, since_ns);
		if (page->is_pending)
			return *got ? CODE_READ : CODE_READ_LATER;
		bool is_fresh =
			page->is_final || page->read_ns >= (is_of_file(mapping) ? 1 : since_ns);
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

void code_pages_collect(struct code_pages *pages)
{
	const struct bytes_buf *answer;
	while (pages->read < pages->reading.len && target_reader_take(&pages->reader, &answer)) {
		uint64_t *slot = map_get(&pages->by_key, pages->reading.data[pages->read++]);
		struct code_page *page = slot ? (void *)(uintptr_t)*slot : NULL;
		if (!page) /* forgotten meanwhile */
			continue;
		page->is_pending = false;
		page->read_ns = clock_now_ns();
		page->len =
			answer && answer->len <= sizeof(page->bytes) ? (uint16_t)answer->len : 0;
		if (page->len)
			memcpy(page->bytes, answer->data, page->len);
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
