/* Where nothing leads to memory of this process, as where no program can be run. */
#include "record/source/page_tables.h"
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
