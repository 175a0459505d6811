/* Which versions of Perl are known, and what is let through to the BPF side. */
#include "record/runtime/perl/perl_layout.h"
#include "record/runtime/runtime.h"
#include "tests/unit/unit.h"

TEST(releases_are_known_and_others_are_refused)
{
	struct perl_row row;
	CHECK(perl_layout_of_version(32, &row));
	CHECK_INT(row.cop, 224);
	CHECK_INT(row.environment, 776);
	CHECK_INT(row.stash_name_is_inside, 0);
	CHECK(perl_layout_of_version(36, &row));
	CHECK_INT(row.cop, 208);
	CHECK_INT(row.environment, 760);
	CHECK(perl_layout_of_version(42, &row));
	CHECK_INT(row.environment, 776);
	CHECK_INT(row.saved_op, 19);
	CHECK(!perl_layout_of_version(26, &row));
	CHECK(!perl_layout_of_version(37, &row));
	CHECK(!perl_layout_of_version(44, &row));
}

TEST(rows_that_no_version_has_are_not_sound)
{
	struct perl_row row;
	CHECK(perl_layout_of_version(40, &row));
	CHECK(!perl_layout_is_sound(&row)); /* no key yet */
	row.key = 0x1000;
	CHECK(perl_layout_is_sound(&row));
	row.context_bytes = 255;
	CHECK(!perl_layout_is_sound(&row));
}

TEST(a_place_is_its_line)
{
	struct runtime_lines lines = {.version = 36};
	CHECK_INT(perl_runtime.line_of(&lines, 1234), 1234);
}
