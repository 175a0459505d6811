/* Folded stacks as recordings: import_folded, import_names, import_counts, import_file,
 * import_output. */
#include <stdio.h>
#include <string.h>

#include "format/import/import_counts.h"
#include "format/import/import_folded.h"
#include "tests/unit/import_fixture.h"

static bool is_folded(const char *text)
{
	return import_folded_is((const uint8_t *)text, strlen(text));
}

TEST(folded_stacks_are_known_by_their_lines)
{
	CHECK(is_folded("main;run 10\n# a comment\n\nmain 2"));
	CHECK(is_folded("with spaces in it;and <lambda> 3\r\n"));
	CHECK(!is_folded("main;run\n"));
	CHECK(!is_folded("main;run 10\nno number\n"));
	CHECK(!is_folded(" 10\n"));
	CHECK(!is_folded("10\n"));
	CHECK(!is_folded(""));
	CHECK(!import_folded_is((const uint8_t *)"a\0b 1\n", 6));
}

static struct import_seen see_folded(const char *text)
{
	struct import_seen seen = {0};
	CHECK_OK(import_see(text, strlen(text), NULL, &seen));
	CHECK_STR(seen.result.format, "folded stacks");
	return seen;
}

TEST(folded_counts_are_samples)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_folded("main;run;inner_[i] 2\nmain;run;read_[k] 1\nmain 0\n");
	CHECK_INT(seen.samples.len, 3);
	CHECK_STR(import_seen_names(&seen, seen.samples.data[0].user_stack), "inner*;run;main");
	CHECK_INT(seen.samples.data[0].user_stack, seen.samples.data[1].user_stack);
	CHECK_STR(import_seen_names(&seen, seen.samples.data[2].user_stack), "run;main");
	CHECK_STR(import_seen_names(&seen, seen.samples.data[2].kernel_stack), "read");
	const struct layout_event *event = &seen.events.data[seen.samples.data[0].event];
	CHECK_STR(seen.strings.data[event->name], "samples");
}

TEST(folded_counts_that_are_too_many_are_weights)
{
	CLEANUP(import_seen_deinit)
	struct import_seen seen = see_folded("main;run 5000000\nmain 1\n");
	CHECK_INT(seen.samples.len, 2);
	CHECK_INT(seen.samples.data[0].weight, 5000000);
	CHECK(strstr(str_text(&seen.result.notes), "each of 2 stacks is one"));
}

TEST(folded_lines_that_are_none_are_refused_with_their_place)
{
	struct bytes_buf text = {0};
	for (int i = 0; i < 1000; i++)
		bytes_put(&text, "main;run 1\n", 11);
	bytes_put(&text, "main;run\n", 9);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_ERR(import_see(text.data, text.len, NULL, &seen), ERR_FORMAT,
		"line 1001, at offset 11000");
	CHECK_ERR(import_see("a 18446744073709551615\nb 1\n", 27, NULL, &seen), ERR_FORMAT,
		"line 2: the counts are too large");
	CHECK_ERR(import_see("a 18446744073709551616\n", 23, NULL, &seen), ERR_FORMAT, "no format");
	bytes_buf_deinit(&text);
}

TEST(folded_stacks_beyond_the_depth_are_said)
{
	struct bytes_buf text = {0};
	for (int i = 0; i < 5000; i++)
		bytes_put(&text, i ? ";f" : "f", i ? 2 : 1);
	bytes_put(&text, " 1\n", 3);
	CLEANUP(import_seen_deinit) struct import_seen seen = {0};
	CHECK_OK(import_see(text.data, text.len, NULL, &seen));
	CHECK(strstr(str_text(&seen.result.notes), "1 stacks are deeper") ||
		strstr(str_text(&seen.result.notes), "1 stack is deeper"));
	bytes_buf_deinit(&text);
}

TEST(import_counts_values_are_divided_without_rest)
{
	struct bytes_buf made = {0};
	struct import_output *output =
		import_output_create((struct writer_sink){import_seen_write, &made});
	struct import_counts counts = {0};
	CHECK(import_counts_expect(&counts, 3));
	import_counts_event(&counts, output, "cpu", "ns");
	import_counts_put(&counts, output, &(struct layout_sample){0}, 3, 10);
	CHECK_INT(output->nr_samples, 3);
	CHECK_INT(counts.nr_samples, 3);
	CHECK(!import_counts_expect(&counts, UINT64_MAX));
	import_output_destroy(output);
	bytes_buf_deinit(&made);
}

TEST(import_file_reads_no_byte_beyond_its_end)
{
	struct import_file file;
	struct bytes_buf bytes = {0};
	int fd = forged_fd("0123456789", 10);
	CHECK_OK(import_file_init(&file, fd, NULL));
	CHECK_OK(import_file_read(&file, 7, 3, "digits", &bytes));
	CHECK(bytes.len == 3 && memcmp(bytes.data, "789", 3) == 0);
	CHECK_ERR(import_file_read(&file, 8, 3, "digits", &bytes), ERR_FORMAT,
		"digits at offset 8 would take 3 bytes, but the file ends at 10");
	CHECK_ERR(import_file_read(&file, 1, UINT64_MAX, "digits", &bytes), ERR_FORMAT, "digits");
	close(fd);
	bytes_buf_deinit(&bytes);
}
