/* Recordings that were cut and bent, as the terminal interface shows them: every view, some keys.
 */
#include "tests/fuzz/walk_views.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

static const uint8_t keys[] = "1jE\n2jE\n3jE\n4jE\n5jE\n6jE\n7jE\n9jE\n\x1bRDx\n8jE8jE8j";

static void show(const struct bytes_buf *file, size_t len)
{
	walk_views(file->data, len, keys, sizeof(keys) - 1);
}

TEST(tui_shows_what_was_cut_anywhere)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	for (size_t len = 16; len <= file.len; len++)
		show(&file, len);
	bytes_buf_deinit(&file);
}

/* One of each byte: that the sum of a chunk tells of any bit is a matter of the reader's tests, and
 * what is left to be shown is the same for all bits of a chunk. */
TEST(tui_shows_what_has_a_flipped_bit)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	for (size_t at = 8; at < file.len; at++) {
		file.data[at] ^= (uint8_t)(1 << at % 8);
		show(&file, file.len);
		file.data[at] ^= (uint8_t)(1 << at % 8);
	}
	bytes_buf_deinit(&file);
}

/* Of three nodes one above the other no sample goes through the innermost. */
TEST(tui_shows_stacks_without_samples)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	forged_put_tables(writer);
	forged_put_stacks(writer);
	writer_sample(writer,
		&(struct layout_sample){
			.time_ns = 1, .event = 1, .thread = 1, .user_stack = 1, .weight = 1});
	CHECK_OK(writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 2}));
	writer_destroy(writer);
	show(&file, file.len);
	bytes_buf_deinit(&file);
}
