#include "cmd/baseline_file.h"

#include "cmd/input.h"
#include "report/name/symbol/symbolizer.h"

static struct err *make(const struct baseline_file_options *options, const struct profile *profile,
	struct baseline_file *ret)
{
	struct slim_options slim = {.max_bytes = options->max_bytes};
	struct baseline_file file = {0};
	try(baseline_facts_find(profile, options->is_forced, &file.facts));
	struct err *err = slim_write(profile, &slim, &file.bytes, &file.result);
	if (err)
		baseline_file_deinit(&file);
	else
		*ret = file;
	return err;
}

struct err *baseline_file_make(
	const struct baseline_file_options *options, struct baseline_file *ret)
{
	struct input input;
	struct profile *profile = NULL;
	struct naming_options *naming = options->naming;
	struct err *err =
		input_open_all(NULL, (int)options->nr_paths, (char **)options->paths, 0, &input);
	if (!err)
		err = input_load(&input, &naming->symbolize.files, &profile);
	if (!err && !options->is_forced)
		err = input_check_whole(&input, profile);
	if (!err) {
		naming_begin(naming);
		symbolize(profile, &naming->symbolize);
		err = err_wrap(make(options, profile, ret), "%s", input.name);
		naming_end(naming);
	}
	profile_destroy(profile);
	input_deinit(&input);
	return err;
}

void baseline_file_deinit(struct baseline_file *file)
{
	bytes_buf_deinit(&file->bytes);
	baseline_facts_deinit(&file->facts);
}
