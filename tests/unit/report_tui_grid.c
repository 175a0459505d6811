#include <locale.h>

#include "report/tui/grid.h"
#include "tests/unit/unit.h"

static struct grid begin(int width, int height, bool is_ascii)
{
	struct grid grid;
	setlocale(LC_CTYPE, "C.UTF-8");
	grid_init(&grid, width, height, is_ascii);
	return grid;
}

static void want(struct grid *grid, const char *text)
{
	struct str got = {0};
	grid_put_text(grid, &got);
	CHECK_STR(str_text(&got), text);
	str_deinit(&got);
	grid_clear(grid);
}

TEST(wide_characters_are_never_split)
{
	struct grid grid = begin(5, 1, false);
	CHECK_INT(grid_put(&grid, 0, 0, 5, 0, "日本語"), 4);
	want(&grid, "日本\n");
	grid_put(&grid, 0, 0, 5, 0, "日本");
	grid_put(&grid, 1, 0, 1, 0, "x"); /* over the right half */
	want(&grid, " x本\n");
	grid_put(&grid, 0, 0, 5, 0, "日本");
	grid_put(&grid, 2, 0, 1, 0, "x"); /* over the left half */
	want(&grid, "日x\n");
	grid_put(&grid, 0, 0, 5, 0, "日本");
	grid_put(&grid, 1, 0, 4, 0, "語"); /* over halves of both */
	want(&grid, " 語\n");
	grid_deinit(&grid);
}

TEST(combining_marks_take_no_cell)
{
	struct grid grid = begin(6, 1, false);
	CHECK_INT(grid_put(&grid, 0, 0, 6, 0, "e\xcc\x81x🔥"), 4);
	want(&grid, "ex🔥\n");
	grid_deinit(&grid);
}

TEST(control_bytes_are_escaped)
{
	struct grid grid = begin(40, 1, false);
	grid_put(&grid, 0, 0, 40, 0, "a\033[31m\xc2\x9b\x7f\xe2\x80\xae\xff");
	want(&grid, "a\\x1b[31m\\xc2\\x9b\\x7f\\xe2\\x80\\xae\\xff\n");
	grid_deinit(&grid);
}

TEST(the_middle_is_left_out)
{
	struct grid grid = begin(12, 1, false);
	CHECK_INT(grid_put_elided(&grid, 0, 0, 9, 0, "beginning-end"), 9);
	want(&grid, "begi…-end\n");
	CHECK_INT(grid_put_elided(&grid, 0, 0, 4, 0, "beginning-end"), 4);
	want(&grid, "begi\n");
	grid_put_elided(&grid, 0, 0, 8, 0, "日本語日本語");
	want(&grid, "日本…語\n");
	grid_deinit(&grid);
	grid = begin(12, 1, true);
	grid_put_elided(&grid, 0, 0, 9, 0, "beginning-end");
	want(&grid, "begi~-end\n");
	grid_put(&grid, 0, 0, 9, 0, "日x");
	want(&grid, "?x\n");
	grid_deinit(&grid);
}

TEST(a_name_of_a_megabyte_is_not_walked)
{
	enum {
		LEN = 1 << 20,
	};
	struct str name = {0};
	str_puts(&name, "head");
	str_pad(&name, 'x', LEN);
	str_puts(&name, "tail");
	struct grid grid = begin(12, 1, false);
	for (int i = 0; i < 2000; i++) /* seconds, if it were */
		grid_put_elided(&grid, 0, 0, 12, 0, str_text(&name));
	want(&grid, "headxx…xtail\n");
	grid_deinit(&grid);
	str_deinit(&name);
}

TEST(numbers_are_right_aligned_and_cut_off)
{
	struct grid grid = begin(8, 2, false);
	grid_put_right(&grid, 0, 0, 6, 0, "12.5%");
	grid_put(&grid, 6, 0, 10, 0, "beyond");
	grid_put(&grid, -1, 1, 3, 0, "abc");
	grid_put(&grid, 0, 7, 3, 0, "below");
	want(&grid, " 12.5%be\nbc\n");
	grid_deinit(&grid);
}

TEST(bars_are_as_long_as_shares)
{
	struct grid grid = begin(8, 1, false);
	grid_put_bar(&grid, 0, 0, 8, 0, 0.5);
	want(&grid, "████\n");
	grid_put_bar(&grid, 0, 0, 8, 0, 0.3);
	want(&grid, "██▍\n");
	grid_put_bar(&grid, 0, 0, 8, 0, 7);
	want(&grid, "████████\n");
	grid_deinit(&grid);
	grid = begin(8, 1, true);
	grid_put_bar(&grid, 0, 0, 8, 0, 0.3);
	want(&grid, "##\n");
	grid_deinit(&grid);
}

TEST(how_much_fits)
{
	struct grid grid = begin(8, 1, false);
	CHECK_INT(grid_text_fit(&grid, "abc", 3, 2), 2);
	CHECK_INT(grid_text_fit(&grid, "日本", 6, 3), 3);
	CHECK_INT(grid_text_fit(&grid, "", 0, 3), 0);
	CHECK_INT(grid_text_width(&grid, "日a\033"), 7);
	grid_deinit(&grid);
}
