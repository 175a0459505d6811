/*
 * Two recordings of any chunks (two bytes of length, so many bytes as frame_chunks.h has them, then
 * the other one) become one, which is merged once more: what comes out of it is sound, and holds
 * what went in.
 */
#include "format/merge/merge.h"
#include "report/load/load.h"

#include "tests/fuzz/frame_chunks.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/walk_profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static int make_recording(const uint8_t *bytes, size_t len)
{
	char path[MEMORY_FILE_PATH_BYTES];
	struct bytes_buf file = {0};
	frame_chunks(bytes, len, &file);
	int fd = memory_file_make(file.data, file.len, path);
	bytes_buf_deinit(&file);
	return fd;
}

static struct err *collect(void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

static uint64_t merge(int a, int b, struct bytes_buf *out)
{
	struct merge_input inputs[] = {{.name = "a", .fd = a}, {.name = "b", .fd = b}};
	struct merge_options options = {.inputs = inputs, .nr_inputs = 2, .takes_twice = true};
	struct merge_result result;
	struct writer_sink sink = {.write = collect, .context = out};
	struct err *err = merge_write(&options, sink, &result);
	WALK_ASSERT(!err); /* both have their headers */
	WALK_ASSERT(result.samples == result.inputs[0].samples + result.inputs[1].samples);
	merge_result_deinit(&result);
	return result.samples;
}

/* Unless it is larger than a recording of its size may be, all of it can be read. */
static void check(const struct bytes_buf *file, uint64_t samples)
{
	char path[MEMORY_FILE_PATH_BYTES];
	int fd = memory_file_make(file->data, file->len, path);
	lseek(fd, 0, SEEK_SET);
	struct reader_result result;
	struct reader_visitor nobody = {0};
	WALK_ASSERT(!reader_read(fd, &nobody, NULL, &result));
	struct profile *profile;
	struct profile_options options = {.unwinds_here = true};
	lseek(fd, 0, SEEK_SET);
	WALK_ASSERT(!profile_load(fd, &options, &profile));
	close(fd);
	if (!result.bad_chunks && !result.damage.regions) {
		WALK_ASSERT(result.ended && !result.missing_chunks);
		WALK_ASSERT(profile->samples.len == samples);
	}
	walk_stacks(profile);
	profile_destroy(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const uint8_t *first = bytes;
	size_t first_len = memory_file_cut(&bytes, &len, &first);
	struct bytes_buf once = {0}, twice = {0};
	int a = make_recording(first, first_len), b = make_recording(bytes, len);
	uint64_t samples = merge(a, b, &once);
	check(&once, samples);
	char path[MEMORY_FILE_PATH_BYTES];
	int both = memory_file_make(once.data, once.len, path);
	samples = merge(both, a, &twice);
	check(&twice, samples);
	close(a);
	close(b);
	close(both);
	bytes_buf_deinit(&once);
	bytes_buf_deinit(&twice);
	return 0;
}
