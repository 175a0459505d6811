/* Pages of this process, as a search reads them. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/runtime/runtime_pages.h"
#include "tests/unit/unit.h"

enum {
	PAGE = 64 << 10, /* of any machine; what is read at once is less */
	READ = 4096,
};

TEST(pages_stay_as_a_search_came_to_them)
{
	char *memory =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[8] = "";
	CHECK(memory != MAP_FAILED);
	uint64_t address = (uintptr_t)memory;
	struct runtime_pages *pages = runtime_pages_create();
	memcpy(memory + READ - 2, "before", sizeof("before")); /* in two pages */
	runtime_pages_begin(pages, (uint32_t)getpid(), 8);
	CHECK_INT(runtime_pages_read(pages, address + READ - 2, text, 6), 6);
	CHECK_STR(text, "before");
	memcpy(memory + READ - 2, "behind", sizeof("behind"));
	CHECK_INT(runtime_pages_read(pages, address + READ - 2, text, 6), 6);
	CHECK_STR(text, "before");
	runtime_pages_begin(pages, (uint32_t)getpid(), 8);
	CHECK_INT(runtime_pages_read(pages, address + READ - 2, text, 6), 6);
	CHECK_STR(text, "behind");
	runtime_pages_destroy(pages);
	munmap(memory, 2 * PAGE);
}

TEST(pages_are_read_up_to_what_is_not_there)
{
	char *memory =
		mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[16] = "";
	CHECK(memory != MAP_FAILED);
	munmap(memory + PAGE, PAGE);
	memset(memory + PAGE - 3, 'x', 3);
	uint64_t end = (uintptr_t)memory + PAGE;
	struct runtime_pages *pages = runtime_pages_create();
	runtime_pages_begin(pages, (uint32_t)getpid(), 8);
	CHECK_INT(runtime_pages_read(pages, end - 3, text, sizeof(text)), 3);
	CHECK_STR(text, "xxx");
	CHECK_INT(runtime_pages_read(pages, end, text, 1), 0);
	CHECK_INT(runtime_pages_read(pages, UINT64_MAX - 2, text, 8), 0);
	runtime_pages_destroy(pages);
	munmap(memory, PAGE);
}

TEST(a_search_reads_no_more_pages_than_it_may)
{
	static char memory[5 * READ];
	char byte;
	uint64_t address = (uintptr_t)memory;
	struct runtime_pages *pages = runtime_pages_create();
	runtime_pages_begin(pages, (uint32_t)getpid(), 2);
	CHECK_INT(runtime_pages_read(pages, address, &byte, 1), 1);
	CHECK_INT(runtime_pages_read(pages, address + READ, &byte, 1), 1);
	CHECK_INT(runtime_pages_read(pages, address + 2L * READ, &byte, 1), 0);
	CHECK_INT(runtime_pages_read(pages, address + 8, &byte, 1), 1); /* it is there */
	runtime_pages_destroy(pages);
}
