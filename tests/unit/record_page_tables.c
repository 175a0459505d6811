/* Where nothing leads to memory of this process, as where no program can be run. */
#include "record/source/page_tables.h"

#include <string.h>

#include "format/base/str.h"
#include "tests/unit/unit.h"

TEST(no_direct_map_is_found_without_the_program)
{
	volatile unsigned long long own = 0xffff888001234000;
	volatile struct page_tables tables = {.direct_map = 1};
	const struct page_tables_trial trial = {
		.program = -1, .own_page_tables = &own, .page_tables = &tables};
	CHECK(!page_tables_find(&trial));
	CHECK_INT(tables.direct_map, 0);
}

static void check_memory(const char *text, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	struct machine_memory memory = {0};
	FILE *iomem = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	page_tables_read_memory(iomem, 29, &memory);
	fclose(iomem);
	vec_each(&memory.pieces, pieces)
		str_printf(&got, "%llu-%llu ", (unsigned long long)pieces->first,
			(unsigned long long)pieces->last);
	CHECK_STR(str_text(&got), want);
	vec_deinit(&memory.pieces);
}

TEST(memory_is_where_the_kernel_says)
{
	/* Of a machine with Ampere's Altra. */
	check_memory("10000000-100000ff : ARMH0011:00\n"
		     "88300000-883fffff : System RAM\n"
		     "90000000-ffffffff : System RAM\n"
		     "  92000000-93ffffff : Kernel code\n"
		     "80000000000-8007fffffff : System RAM\n"
		     "  80066000000-8007fffffff : reserved\n",
		"4-4 4-7 16384-16387 ");
	/* To those who may not know. */
	check_memory("00000000-00000000 : System RAM\n  00000000-00000000 : Kernel code\n", "");
	check_memory("garbage\n1-\n", "");
}
