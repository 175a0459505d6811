/* Room for the end of a recording: it is kept free while the rest of the disk fills up. */
#include "record/output.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/small_disk.h"
#include "tests/unit/unit.h"

enum {
	PIECE_BYTES = SMALL_DISK_PAGE_BYTES,
	FIRST_BYTES = 2 * PIECE_BYTES,
	END_BYTES = 1000,
};

static const uint8_t piece[PIECE_BYTES];

static struct output *begin(void)
{
	struct output *output = NULL;
	struct caller owner = {0};
	CHECK_OK(output_create("full.data", &owner, -1, &output));
	CHECK_OK(output_publish(output));
	CHECK_OK(output_reserve(output, FIRST_BYTES, END_BYTES));
	return output;
}

static struct err *write_bytes(struct output *output, size_t len)
{
	struct writer_sink sink = output_sink(output);
	return sink.write(sink.context, piece, len);
}

/* Pieces until the first that does not fit. */
static size_t fill(struct output *output)
{
	size_t count = 0;
	struct err *err;
	while (!(err = write_bytes(output, PIECE_BYTES)) && count < 1000)
		count++;
	CHECK(err);
	err_destroy(err);
	return count;
}

static void want_end(struct output *output, size_t pieces)
{
	struct stat st;
	output_begin_end(output);
	CHECK_OK(write_bytes(output, END_BYTES));
	CHECK_OK(output_close(output));
	output_destroy(output);
	CHECK_INT(stat("full.data", &st), 0);
	CHECK_INT(st.st_size, pieces * PIECE_BYTES + END_BYTES);
	/* What was reserved is given back. */
	CHECK(st.st_blocks * 512 <= (blkcnt_t)(pieces + 1) * PIECE_BYTES);
}

TEST(output_end_fits_a_full_disk)
{
	small_disk_enter();
	struct output *output = begin();
	size_t pieces = fill(output);
	CHECK_INT(pieces, SMALL_DISK_PAGES - 1);
	want_end(output, pieces);
}

TEST(output_end_fits_a_disk_that_others_fill)
{
	small_disk_enter();
	struct output *output = begin();
	CHECK_OK(write_bytes(output, PIECE_BYTES));
	small_disk_fill();
	CHECK_INT(fill(output), 1); /* of what was reserved for the first write */
	want_end(output, 2);
}

TEST(output_end_fits_a_limit_of_file_size)
{
	small_disk_enter();
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {4 * PIECE_BYTES + END_BYTES - 1, RLIM_INFINITY};
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	struct output *output = begin();
	CHECK_INT(fill(output), 3);
	want_end(output, 3);
}

TEST(output_refuses_to_begin_without_room_for_the_end)
{
	small_disk_enter();
	small_disk_fill();
	struct output *output = NULL;
	struct caller owner = {0};
	CHECK_OK(output_create("full.data", &owner, -1, &output));
	CHECK_ERR(output_reserve(output, 0, END_BYTES), ERR_IO, "No space left");
	output_destroy(output);
	CHECK(access("full.data", F_OK));
}

/* Nothing of the current file's name, or of what it would replace, stands in the way. */
TEST(output_next_takes_the_name_that_was_set_aside)
{
	small_disk_enter();
	struct output *output = begin(), *next = NULL;
	bool is_moved = false;
	CHECK_INT(mkdir("full.data.old", 0700), 0); /* another file could not become that */
	CHECK_OK(output_create_next(output, &next));
	CHECK_OK(output_set_aside(output, "full.data.1", &is_moved));
	CHECK(is_moved);
	CHECK_OK(output_publish(next));
	output_destroy(output);
	output_destroy(next);
	CHECK(!access("full.data", F_OK) && !access("full.data.1", F_OK));
}
