#include "report/compare/baseline/slim.h"

#include "report/compare/baseline/slim_file.h"

enum {
	/* Places that are sampled so much more seldom than stacks are kept have no lines. */
	SELF_RATIO = 32,
};

struct slim {
	const struct slim_options *options;
	struct slim_tasks tasks;
	struct slim_places places;
	struct slim_stacks stacks;
	struct slim_result result;
	struct bytes_buf bytes; /* of the last attempt */
	bool is_over;           /* it was too large, and given up */
};

static struct err *take_bytes(void *context, const void *bytes, size_t len)
{
	struct slim *slim = context;
	uint64_t max_bytes = slim->options->max_bytes;
	if (max_bytes && slim->bytes.len + len > max_bytes) {
		slim->is_over = true;
		return err_new(ERR_USAGE, "more than %llu bytes", (unsigned long long)max_bytes);
	}
	bytes_put(&slim->bytes, bytes, len);
	return NULL;
}

/* What is rarer than `below` is cut. *fits: it is small enough. */
static struct err *slim_attempt(struct slim *slim, uint64_t below, bool *fits)
{
	struct slim_stacks kept;
	struct slim_cut cut = {.below = below, .self = below / SELF_RATIO};
	slim->bytes.len = 0;
	slim->is_over = false;
	slim_stacks_init(&kept, &slim->places);
	slim->result.cut_below = below > 1 ? below : 0;
	slim->result.cut_samples = slim_stacks_cut(&slim->stacks, &cut, &kept);
	slim_stacks_arrange(&kept);
	struct slim_file file = {&slim->tasks, &kept, &slim->result};
	struct writer_sink sink = {.write = take_bytes, .context = slim};
	struct err *err = slim_file_write(&file, sink);
	slim_stacks_deinit(&kept);
	*fits = !slim->is_over;
	if (!slim->is_over)
		return err;
	err_destroy(err);
	return NULL;
}

/* The least that has to be cut, by doubling it and then by halving what lies between. */
static struct err *slim_find_cut(struct slim *slim)
{
	uint64_t good = 1, bad = 0;
	bool fits;
	try(slim_attempt(slim, good, &fits));
	while (!fits) {
		if (good > slim->result.samples * SELF_RATIO)
			return err_new(ERR_USAGE,
				"what was recorded does not fit into %llu bytes even without "
				"stacks",
				(unsigned long long)slim->options->max_bytes);
		bad = good;
		good *= 2;
		try(slim_attempt(slim, good, &fits));
	}
	bool is_written = true;
	while (bad && good - bad > 1 + bad / 8) {
		uint64_t middle = bad + (good - bad) / 2;
		try(slim_attempt(slim, middle, &is_written));
		if (is_written)
			good = middle;
		else
			bad = middle;
	}
	return is_written ? NULL : slim_attempt(slim, good, &fits);
}

struct err *slim_write(const struct profile *profile, const struct slim_options *options,
	struct bytes_buf *out, struct slim_result *ret)
{
	struct slim slim = {.options = options};
	if (!profile->samples.len)
		return err_new(ERR_USAGE, "no samples: nothing can be compared with it");
	slim_tasks_init(&slim.tasks, profile);
	slim_places_init(&slim.places, profile);
	slim_stacks_init(&slim.stacks, &slim.places);
	slim_stacks_take(&slim.stacks, slim.tasks.of_threads);
	slim.result.runs = slim.tasks.runs.len;
	slim.result.samples = profile->samples.len;
	struct err *err = slim_find_cut(&slim);
	if (!err) {
		bytes_put(out, slim.bytes.data, slim.bytes.len);
		*ret = slim.result;
	}
	bytes_buf_deinit(&slim.bytes);
	slim_stacks_deinit(&slim.stacks);
	slim_places_deinit(&slim.places);
	slim_tasks_deinit(&slim.tasks);
	return err;
}
