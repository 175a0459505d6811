#include "record/runtime/runtime_pages.h"

#include <stdbool.h>
#include <string.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "record/runtime/runtime_memory.h"

enum {
	PAGE_BYTES = 4096, /* of no machine are they less */
	MAX_PAGES = 1024,  /* that are kept */
};

struct runtime_pages {
	uint32_t pid;
	uint32_t left; /* pages that may be read */
	uint64_t search;
	struct read_page {
		uint64_t address;
		uint64_t search; /* that came to it; 0: none has */
		bool is_there;
		uint8_t bytes[PAGE_BYTES];
	} pages[MAX_PAGES]; /* by a hash of the address; one drives out the other */
};

struct runtime_pages *runtime_pages_create(void)
{
	return mem_zalloc(sizeof(struct runtime_pages));
}

void runtime_pages_destroy(struct runtime_pages *pages)
{
	mem_free(pages);
}

void runtime_pages_begin(struct runtime_pages *pages, uint32_t pid, uint32_t max)
{
	pages->pid = pid;
	pages->left = max;
	pages->search++;
}

/* NULL: it cannot be read. */
static const uint8_t *find_read_page(struct runtime_pages *pages, uint64_t address)
{
	struct read_page *page = &pages->pages[map_mix(address) % MAX_PAGES];
	if (page->search != pages->search || page->address != address) {
		if (!pages->left)
			return NULL;
		pages->left--;
		page->address = address;
		page->search = pages->search;
		page->is_there = runtime_read_process(pages->pid, address, page->bytes, PAGE_BYTES);
	}
	return page->is_there ? page->bytes : NULL;
}

size_t runtime_pages_read(struct runtime_pages *pages, uint64_t address, void *to, size_t len)
{
	size_t done = 0;
	while (done < len) {
		size_t at = (address + done) % PAGE_BYTES, part = PAGE_BYTES - at;
		const uint8_t *bytes = find_read_page(pages, address + done - at);
		if (!bytes)
			break;
		part = part < len - done ? part : len - done;
		memcpy((uint8_t *)to + done, bytes + at, part);
		done += part;
	}
	return done;
}
