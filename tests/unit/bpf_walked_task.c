/* How memory of a task that sleeps is found by its page tables. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/emulate/flavours.bpf.h"

/* The emulated programs have these already. */
#define config walked_config
#define ring   walked_ring
#define WALKS_SLEEPERS
#include "bpf/walked_task.bpf.h"

#include "tests/unit/emulate/kernel.h"
#include "tests/unit/emulate/memory.h"
#include "tests/unit/unit.h"

enum {
	PAGE = 4096,
	PAGES = 16,
	ENTRIES = PAGE / sizeof(uint64_t),
	FIRST_ADDRESS = 0x100000, /* of the machine's memory, where the pages are */
	LEVELS = 4,
};
#if defined(__x86_64__)
#define TABLE_ENTRY (1ULL << 63 | 1 << 5 | 1) /* what else is there does not count */
#define PAGE_ENTRY  (1ULL << 63 | 1 << 7 | 1) /* PAT, in a table of pages */
#define LARGE_ENTRY (1 << 7 | 1)
#else
#define TABLE_ENTRY 3
#define PAGE_ENTRY  3
#define LARGE_ENTRY 1
#endif

static uint8_t *pages;
static unsigned nr_pages;

static uint64_t new_page(void)
{
	return FIRST_ADDRESS + PAGE * (uint64_t)nr_pages++;
}

static void *at_address(uint64_t address)
{
	return pages + (address - FIRST_ADDRESS);
}

/* The entry for an address in the table of that level, 1 being that of pages. */
static uint64_t *entry_of(uint64_t top, uint64_t address, int level)
{
	uint64_t table = top;
	for (int at = LEVELS;; at--) {
		uint64_t *entry = (uint64_t *)at_address(table) +
				  (address >> (12 + 9 * (at - 1)) & (ENTRIES - 1));
		if (at == level)
			return entry;
		if (!*entry)
			*entry = new_page() | TABLE_ENTRY;
		table = *entry & 0x7ffffffff000;
	}
}

/* As emulate_config() makes the programs' own writable. */
static void put_page_shift(unsigned shift)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)&walked_config;
	start &= ~(page - 1);
	if (mprotect((void *)start, 2 * page, PROT_READ | PROT_WRITE))
		__builtin_trap();
	volatile unsigned *place = (volatile unsigned *)(uintptr_t)&walked_config.page_shift;
	*place = shift;
}

static uint64_t boot_tables(void)
{
	emulate_boot(EMULATED_6_13);
	nr_pages = 0;
	pages = emulate_kernel_memory((PAGES + 1) * PAGE);
	pages += -(uintptr_t)pages & (PAGE - 1);
	struct mm_struct *mm = emulate_kernel_memory(sizeof(*mm));
	uint64_t top = new_page();
	mm->pgd = at_address(top);
	put_page_shift(12);
	page_tables.direct_map = (uintptr_t)pages - FIRST_ADDRESS;
	page_tables.first_shift = 39;
	page_tables.address_bits = 47;
	begin_walked(0, (uintptr_t)mm);
	return top;
}

static bool can_find(uint64_t address, uint64_t bytes, bool is_text)
{
	find_walked(address, bytes, is_text);
	return walked.from;
}

TEST(bytes_of_one_page_and_of_two)
{
	uint64_t top = boot_tables(), first = new_page(), second = new_page();
	uint64_t address = 0x7f1234567000;
	*entry_of(top, address, 1) = second | PAGE_ENTRY;
	*entry_of(top, address + PAGE, 1) = first | PAGE_ENTRY;
	memcpy((char *)at_address(second) + PAGE - 5, "hello", 5);
	memcpy(at_address(first), " world", 7);
	CHECK(can_find(address + PAGE - 5, 5, false));
	CHECK(!memcmp(walked.bytes, "hello", 5));
	CHECK(can_find(address + PAGE - 5, 12, false));
	CHECK_STR((char *)walked.bytes, "hello world");
	CHECK(!can_find(address + 2 * PAGE - 4, 8, false));
	CHECK(!can_find(address - 4, 8, false));
	CHECK(!can_find(0x1000, 8, false));
}

TEST(a_text_may_end_before_its_page)
{
	uint64_t top = boot_tables(), page = new_page(), address = 0x555555554000;
	*entry_of(top, address, 1) = page | PAGE_ENTRY;
	memcpy((char *)at_address(page) + PAGE - 4, "end", 4);
	CHECK(can_find(address + PAGE - 4, 64, true));
	CHECK_STR((char *)walked.bytes, "end");
	CHECK(!can_find(address + PAGE, 64, true));
}

TEST(a_text_whose_next_page_is_not_there_is_not_read)
{
	uint64_t top = boot_tables(), page = new_page(), address = 0x555555554000;
	char text[64] = "";
	emulate_program_variable(walked.bytes, sizeof(walked.bytes));
	*entry_of(top, address, 1) = page | PAGE_ENTRY;
	memcpy((char *)at_address(page) + PAGE - 8, "end\0name", 8);
	CHECK_INT(read_walked_text(text, sizeof(text), (void *)(uintptr_t)(address + PAGE - 8)), 4);
	CHECK_STR(text, "end");
	CHECK(read_walked_text(text, sizeof(text), (void *)(uintptr_t)(address + PAGE - 4)) < 0);
}

/* A program may put any address into a register: the kernel's, or one that no program can have. */
TEST(addresses_that_no_program_has)
{
	uint64_t top = boot_tables(), page = new_page(), address = 0x7f1234567000;
	uint64_t kernel = 0xffffffff81000000;
	*entry_of(top, address, 1) = page | PAGE_ENTRY;
	*entry_of(top, kernel, 1) = page | PAGE_ENTRY;
	CHECK(can_find(address, 8, false));
	CHECK(!can_find(address | 1ULL << 50, 8, false));
	CHECK(!can_find(kernel, 8, false));
}

TEST(a_large_page)
{
	enum {
		LARGE = 2 << 20,
	};
	uint64_t top = boot_tables(), address = 0x7f0000200000;
	/* It begins below what there is of the machine's memory. */
	memcpy(at_address(FIRST_ADDRESS + (PAGES - 1) * PAGE), "large", 6);
	*entry_of(top, address, 2) = 0 | LARGE_ENTRY;
	CHECK(can_find(address + FIRST_ADDRESS + (PAGES - 1) * PAGE, 6, false));
	CHECK_STR((char *)walked.bytes, "large");
	CHECK(!can_find(address + LARGE - 8, 8, false));
}

#if defined(__x86_64__)
TEST(a_page_that_numa_balancing_looks_at)
{
	uint64_t top = boot_tables(), page = new_page(), address = 0x7f0000000000;
	*entry_of(top, address, 1) = (~page & 0x7ffffffff000) | 1 << 8;
	memcpy(at_address(page), "there", 6);
	CHECK(can_find(address, 6, false));
	CHECK_STR((char *)walked.bytes, "there");
	*entry_of(top, address, 1) = 0x123000; /* in swap */
	walked.page = 0;
	CHECK(!can_find(address, 6, false));
}
#endif
