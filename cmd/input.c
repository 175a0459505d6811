#include "cmd/input.h"

#include <string.h>

#include "cmd/console.h"
#include "cmd/import_input.h"
#include "cmd/input_file.h"
#include "cmd/merge_files.h"
#include "format/base/mem.h"
#include "format/base/path.h"
#include "format/base/str.h"
#include "report/write/health.h"

struct err *input_parse(const struct opt *row, const char *text, void *member)
{
	struct input_option *option = member;
	if (option->is_given)
		return err_new(ERR_USAGE,
			"names one recording: \"%s\" is the second; several are "
			"operands, without -i",
			text);
	option->path = text;
	option->is_given = !opt_is_standard(row, text);
	return NULL;
}

struct err *input_choose(
	const struct input_option *option, int argc, char **argv, int rest, const char **ret)
{
	if (rest + !option->is_given < argc)
		return err_new(
			ERR_USAGE, "one recording at a time: \"%s\" is too many", argv[argc - 1]);
	*ret = !option->is_given && rest < argc ? argv[rest] : option->path;
	return NULL;
}

static struct err *input_load_file(
	const char *path, int fd, const struct profile_options *options, struct profile **ret)
{
	mem_keep_freed();
	try(err_wrap(profile_load(fd, options, ret), "%s", path));
	CLEANUP(str_deinit) struct str health = {0};
	health_put_damage(*ret, &health);
	if (health.len)
		console_say("%s: %s", path, str_text(&health));
	return NULL;
}

struct err *input_load_open(
	const char *path, int fd, const struct symbol_file_options *files, struct profile **ret)
{
	return input_load_file(path, fd, &(struct profile_options){.files = files}, ret);
}

static struct err *find_paths(
	const struct input_option *option, int argc, char **argv, int rest, struct input *input)
{
	bool is_given = option && option->is_given, has_operands = !is_given && rest < argc;
	if (is_given && rest < argc)
		return err_new(ERR_USAGE,
			"\"%s\" is too many beside -i; several recordings are named without it",
			argv[rest]);
	input->path = is_given ? option->path : INPUT_USUAL;
	input->paths = has_operands ? (const char *const *)argv + rest : &input->path;
	input->nr_paths = has_operands ? (size_t)(argc - rest) : 1;
	return NULL;
}

/* Of many, the first. */
static void name_all(struct input *input)
{
	enum {
		NAMED = 3,
	};
	struct str name = {0};
	size_t count = input->nr_paths > NAMED ? 1 : input->nr_paths;
	for (size_t i = 0; i < count; i++)
		str_printf(&name, "%s%s", i ? " + " : "", input->paths[i]);
	if (count < input->nr_paths)
		str_printf(&name, " and %zu more", input->nr_paths - count);
	input->name = str_steal(&name);
}

static struct err *open_paths(struct input *input)
{
	if (input->nr_paths == 1) {
		try(input_file_open_or_stdin(input->paths[0], &input->fd));
		try(import_input_take(input->paths[0], input->as, &input->fd));
	} else {
		struct merge_files files = {.paths = input->paths,
			.count = input->nr_paths,
			.as = input->as,
			.is_damaged = &input->is_damaged};
		try(merge_files_open(&files, &input->fd));
	}
	name_all(input);
	return NULL;
}

struct err *input_open_all(
	const struct input_option *option, int argc, char **argv, int rest, struct input *ret)
{
	const struct ring_option *ring = option ? &option->ring : NULL;
	if (ring && ring->folder && (option->is_given || rest < argc))
		return err_new(ERR_USAGE, "--ring names the recordings: no other beside it");
	if (ring && ring->folder && option->from_rows)
		return err_new(ERR_USAGE, "--from-rows excludes --ring, which has recordings");
	if (ring && ring->folder)
		return input_open_ring(ring, ret);
	if (ring && (ring->span.from_ns || ring->span.to_ns))
		return err_new(ERR_USAGE, "--since and --until go with --ring DIR");
	*ret = (struct input){
		.fd = -1, .as = option && option->from_rows ? IMPORT_AS_ROWS : IMPORT_AS_IT_BEGINS};
	try(find_paths(option, argc, argv, rest, ret));
	return open_paths(ret);
}

struct err *input_open_paths(const char *const *paths, size_t count, struct input *ret)
{
	*ret = (struct input){.fd = -1, .paths = paths, .nr_paths = count, .path = paths[0]};
	return open_paths(ret);
}

static struct err *merge_ring(const struct ring_option *option, struct input *input)
{
	struct merge_files files = {
		.paths = input->paths,
		.fds = input->ring.fds.data,
		.count = input->nr_paths,
		.is_damaged = &input->is_damaged,
		.are_pieces = true,
		.span = option->span,
	};
	return merge_files_open(&files, &input->fd);
}

struct err *input_open_ring(const struct ring_option *option, struct input *ret)
{
	struct input input = {.fd = -1, .path = option->folder};
	struct str name = {0};
	try(ring_input_open(option, &input.ring));
	input.paths = (const char *const *)input.ring.paths.data;
	input.nr_paths = input.ring.paths.len;
	struct err *err = merge_ring(option, &input);
	if (err) {
		ring_input_files_deinit(&input.ring);
		return err;
	}
	ring_input_put_name(option, &name);
	input.name = str_steal(&name);
	*ret = input;
	return NULL;
}

/* A side of several runs, whose files stay open with them. */
static struct err *merge_spans(const struct input *runs, size_t count, int *ret)
{
	VEC(const char *) paths = {0};
	VEC(int) fds = {0};
	for (size_t i = 0; i < count; i++) {
		vec_push(&paths, runs[i].name);
		vec_push(&fds, runs[i].fd);
	}
	struct merge_files files = {
		.paths = paths.data, .fds = fds.data, .count = count, .takes_twice = true};
	struct err *err = merge_files_open(&files, ret);
	vec_deinit(&paths);
	vec_deinit(&fds);
	return err;
}

/* Takes over what the runs have open. */
static void join_spans(struct input *runs, size_t count, struct input *ret)
{
	struct str name = {0};
	for (size_t i = 0; i < count; i++) {
		struct ring_input_files *from = &runs[i].ring, *to = &ret->ring;
		str_printf(&name, "%s%s", i ? " + " : "", runs[i].name);
		vec_append(&to->paths, from->paths.data, from->paths.len);
		vec_append(&to->fds, from->fds.data, from->fds.len);
		from->paths.len = from->fds.len = 0;
		ret->is_damaged |= runs[i].is_damaged;
	}
	ret->path = runs[0].path;
	ret->paths = (const char *const *)ret->ring.paths.data;
	ret->nr_paths = ret->ring.paths.len;
	ret->name = str_steal(&name);
}

static struct err *open_each_span(
	const char *ring, const char *const *spans, size_t count, struct input *runs)
{
	for (size_t i = 0; i < count; i++) {
		struct ring_option option = {.folder = ring};
		try(ring_input_parse_span(spans[i], &option.span));
		try(input_open_ring(&option, &runs[i]));
	}
	return NULL;
}

struct err *input_open_spans(
	const char *ring, const char *const *spans, size_t count, struct input *ret)
{
	struct input *runs = mem_zalloc_array(count, sizeof(*runs));
	struct input joined = {.fd = -1};
	struct err *err = open_each_span(ring, spans, count, runs);
	if (!err && count == 1)
		joined.fd = steal_fd(runs[0].fd);
	else if (!err)
		err = merge_spans(runs, count, &joined.fd);
	if (!err) {
		join_spans(runs, count, &joined);
		*ret = joined;
	}
	for (size_t i = 0; i < count; i++)
		input_deinit(&runs[i]);
	mem_free(runs);
	return err;
}

void input_deinit(struct input *input)
{
	if (!input->name) /* it was never opened */
		return;
	mem_close_fd(&input->fd);
	ring_input_files_deinit(&input->ring);
	mem_free(steal_ptr(input->name));
}

const char *input_short_name(const struct input *input)
{
	return input->nr_paths == 1 ? path_last_part(input->name) : input->name;
}

struct err *input_load(
	const struct input *input, const struct symbol_file_options *files, struct profile **ret)
{
	return input_load_open(input->name, input->fd, files, ret);
}

struct err *input_load_with(
	const struct input *input, const struct profile_options *options, struct profile **ret)
{
	return input_load_file(input->name, input->fd, options, ret);
}

struct err *input_check_whole(const struct input *input, const struct profile *profile)
{
	if (!input->is_damaged && health_is_whole(profile))
		return NULL;
	return err_new(ERR_USAGE,
		"%s is damaged, and may have lost samples of some functions and not of others "
		"(--force takes it)",
		input->name);
}
