/*
 * A baseline of a recording of any chunks (see frame_chunks.h), cut to a part of its size: that
 * many of 256 parts says the first byte. It is as small as that, it is sound, and no path of it
 * that has no mark lacks a sample.
 */
#include "report/compare/baseline/slim.h"

#include "report/load/load.h"
#include "tests/fuzz/frame_chunks.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/walk_profile.h"
#include "tests/unit/diff_pair.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* NULL: it is none. No file of this machine is looked at. */
static struct profile *load(const struct bytes_buf *file)
{
	char path[MEMORY_FILE_PATH_BYTES];
	int fd = memory_file_make(file->data, file->len, path);
	struct profile_options load_options = {.unwinds_here = true};
	struct symbolize_options options = {.files.symfs = "/nonexistent", .cache_folder = ""};
	struct profile *profile = NULL;
	lseek(fd, 0, SEEK_SET);
	struct err *err = profile_load(fd, &load_options, &profile);
	close(fd);
	err_destroy(err);
	if (!err)
		symbolize(profile, &options);
	return profile;
}

static void check_paths(const struct profile *slim, const struct profile *whole)
{
	struct diff_pair pair;
	diff_pair_init(&pair, slim, whole);
	const struct diff_tree *diff = &pair.diff;
	CLEANUP_FREE bool *is_below = mem_zalloc_array(diff->tree.nodes.len, sizeof(*is_below));
	for (size_t i = 0; i < diff->tree.nodes.len; i++) {
		const struct tree_node *node = &diff->tree.nodes.data[i];
		is_below[i] |= is_below[node->parent];
		WALK_ASSERT(is_below[i] || pair.weights[MATCH_BASE][i].samples ==
						   pair.weights[MATCH_NEW][i].samples);
		is_below[i] |= diff->left_out && node->function == diff->left_out;
	}
	diff_pair_deinit(&pair);
}

static void cut(const struct profile *profile, uint8_t part)
{
	struct bytes_buf whole = {0}, small = {0};
	struct slim_result result;
	struct err *err = slim_write(profile, &(struct slim_options){0}, &whole, &result);
	if (err) { /* no samples */
		err_destroy(err);
		return;
	}
	WALK_ASSERT(result.samples == profile->samples.len && !result.cut_samples);
	struct slim_options options = {.max_bytes = whole.len * part / 256 + 1};
	err = slim_write(profile, &options, &small, &result);
	if (!err) {
		WALK_ASSERT(small.len <= options.max_bytes);
		struct profile *slim = load(&small);
		WALK_ASSERT(slim && slim->samples.len == profile->samples.len);
		walk_stacks(slim);
		check_paths(slim, profile);
		profile_destroy(slim);
	}
	err_destroy(err);
	bytes_buf_deinit(&whole);
	bytes_buf_deinit(&small);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct bytes_buf file = {0};
	if (!len)
		return 0;
	frame_chunks(bytes + 1, len - 1, &file);
	struct profile *profile = load(&file);
	if (profile)
		cut(profile, bytes[0]);
	profile_destroy(profile);
	bytes_buf_deinit(&file);
	return 0;
}
