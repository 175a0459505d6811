#include "format/merge/merge.h"

#include <string.h>

#include "format/merge/merge_copy.h"

enum {
	MAX_META_BYTES = 8 << 20, /* of all together: they are one chunk */
	TIME_UNIT_NS = 1000,      /* of the writer's times: moved by whole ones, none is rounded */
};

struct merge {
	const struct merge_options *options;
	struct merge_source *sources;
	struct merge_result *result;
	struct merge_source *reference; /* whose clock is the common one; NULL: none has a clock */
	struct strtab names;            /* of origins that were given out */
	struct map name_counts;         /* name -> how many asked for it */
};

/* ---- what comes twice ---- */

static struct err *check_twice(struct merge *merge)
{
	struct strtab clocks = {0};
	VEC(struct merge_source *) owners = {0};
	struct err *err = NULL;
	for (size_t i = 0; i < merge->options->nr_inputs && !err; i++) {
		struct merge_source *source = &merge->sources[i];
		for (size_t k = 0; k < merge_source_nr_origins(source) && !err; k++) {
			const struct layout_clock *clock =
				&merge_source_origin(source, k)->info.clock;
			if (!clock->realtime_ns)
				continue;
			size_t count = clocks.entries.len;
			uint32_t id = strtab_intern(&clocks, (const char *)clock, sizeof(*clock));
			if (id == count)
				vec_push(&owners, source);
			else
				err = err_new(ERR_USAGE,
					"%s has what %s has: its samples would count twice",
					source->input->name, owners.data[id]->input->name);
		}
	}
	vec_deinit(&owners);
	strtab_deinit(&clocks);
	return err;
}

/* ---- the common clock ---- */

static bool is_same_boot(const struct merge_source *a, const struct merge_source *b)
{
	if (a == b)
		return true;
	return a->boot && b->boot && a->boot->len == b->boot->len &&
	       memcmp(a->boot->bytes, b->boot->bytes, a->boot->len) == 0;
}

/* Time of day when the monotonic clock was 0. */
static int64_t zero_of(const struct layout_clock *clock)
{
	return (int64_t)(clock->realtime_ns - clock->monotonic_ns);
}

/* The time of day is set now and then, so a boot has the one that it had first. */
static const struct layout_clock *clock_of_boot(
	const struct merge *merge, const struct merge_source *source)
{
	const struct layout_clock *first = NULL;
	for (size_t i = 0; i < merge->options->nr_inputs; i++) {
		const struct merge_source *other = &merge->sources[i];
		bool counts = other->clock.realtime_ns && is_same_boot(other, source);
		if (counts && (!first || other->clock.monotonic_ns < first->monotonic_ns))
			first = &other->clock;
	}
	return first;
}

/* The wall clock says when; a source without one has no times that could be compared. */
static void place_span(const struct merge *merge, struct merge_source *source)
{
	const struct merge_span *span = &merge->options->span;
	uint64_t zero_ns = (uint64_t)zero_of(&source->clock);
	bool has_clock = source->clock.realtime_ns;
	bool has_begun = !has_clock || span->from_ns < zero_ns;
	source->from_ns = has_begun ? 0 : span->from_ns - zero_ns + source->shift_ns;
	source->to_ns = UINT64_MAX;
	if (has_clock && span->to_ns)
		source->to_ns =
			span->to_ns < zero_ns ? 0 : span->to_ns - zero_ns + source->shift_ns;
}

static void merge_place(struct merge *merge)
{
	size_t count = merge->options->nr_inputs;
	const struct layout_clock **clocks = mem_zalloc_array(count, sizeof(const void *));
	const struct layout_clock *earliest = NULL;
	for (size_t i = 0; i < count; i++) {
		clocks[i] = clock_of_boot(merge, &merge->sources[i]);
		bool is_earlier =
			clocks[i] && (!earliest || zero_of(clocks[i]) < zero_of(earliest));
		if (is_earlier) {
			earliest = clocks[i];
			merge->reference = &merge->sources[i];
		}
	}
	for (size_t i = 0; i < count; i++) {
		struct merge_source *source = &merge->sources[i];
		source->result->is_unplaced = !clocks[i];
		if (clocks[i] && !is_same_boot(source, merge->reference)) {
			uint64_t later_ns =
				(uint64_t)zero_of(clocks[i]) - (uint64_t)zero_of(earliest);
			source->shift_ns = later_ns - later_ns % TIME_UNIT_NS;
			merge->result->by_wall_clock = true;
		}
		place_span(merge, source);
	}
	mem_free(clocks);
}

/* The reader takes the first pair for all, so that of the common clock comes first. */
static void write_first_clock(const struct merge *merge, struct writer *writer)
{
	if (!merge->reference)
		return;
	struct layout_clock clock = *clock_of_boot(merge, merge->reference);
	uint64_t from_ns = merge->options->span.from_ns;
	if (from_ns > clock.realtime_ns) {
		clock.monotonic_ns += from_ns - clock.realtime_ns;
		clock.realtime_ns = from_ns;
	}
	writer_clock(writer, &clock);
}

/* ---- origins ---- */

static uint64_t *count_of(struct merge *merge, uint32_t name)
{
	return map_put(&merge->name_counts, name, NULL);
}

/* "a.data", and where another origin has that name "a.data#2": each has a name of its own. */
static const char *merge_choose_name(
	struct merge *merge, const struct layout_text *wanted, size_t *len)
{
	CLEANUP(str_deinit) struct str name = {0};
	size_t max = wanted->len < LAYOUT_MAX_TEXT_BYTES ? wanted->len : LAYOUT_MAX_TEXT_BYTES;
	str_write(&name, wanted->bytes, max);
	if (!name.len)
		str_puts(&name, "?");
	size_t base_len = name.len, count = merge->names.entries.len;
	uint32_t base = strtab_intern(&merge->names, name.data, name.len), id = base;
	while (id < count) {
		str_truncate(&name, base_len);
		str_printf(&name, "#%llu", (unsigned long long)++*count_of(merge, base) + 1);
		id = strtab_intern(&merge->names, name.data, name.len);
	}
	*len = name.len;
	return strtab_get(&merge->names, id);
}

/* The piece whose origin is this one's, too; NULL: it has one of its own. */
static const struct merge_source *piece_before(
	const struct merge *merge, const struct merge_source *source)
{
	for (uint32_t i = 0; merge->options->are_pieces && i < source->number; i++) {
		const struct merge_source *other = &merge->sources[i];
		if (!other->origins.len && !source->origins.len && is_same_boot(other, source))
			return other;
	}
	return NULL;
}

/*
 * What is wrong with one of them is wrong with all together, whose name is that of the first, "and
 * 3 more files".
 */
static void join_pieces(const struct merge *merge, const struct merge_source *first,
	struct layout_origin *ret, struct str *name)
{
	size_t others = 0;
	for (size_t i = first->number + 1; i < merge->options->nr_inputs; i++) {
		if (piece_before(merge, &merge->sources[i]) != first)
			continue;
		ret->flags |= merge->sources[i].self.info.flags;
		others++;
	}
	if (!others)
		return;
	str_write(name, ret->name.bytes, ret->name.len);
	str_printf(name, " and %zu more %s", others, str_plural(others, "file", "files"));
	ret->name = (struct layout_text){name->data, name->len};
}

static void write_origin(struct merge *merge, const struct merge_source *source,
	struct merge_origin *origin, struct writer *writer)
{
	const struct merge_source *before = piece_before(merge, source);
	if (before) {
		origin->out_id = before->self.out_id;
		return;
	}
	struct layout_origin out = origin->info;
	CLEANUP(str_deinit) struct str name = {0};
	if (merge->options->are_pieces)
		join_pieces(merge, source, &out, &name);
	out.name.bytes = merge_choose_name(merge, &out.name, &out.name.len);
	out.shift_ns += source->shift_ns;
	out.meta = origin->meta.data;
	out.nr_meta = (uint32_t)origin->meta.len;
	origin->out_id = writer_origin(writer, &out);
	merge->result->origins++;
}

/* ---- META: what all have in common, or the list of what they have ---- */

struct meta_lists {
	struct strtab keys;
	VEC(struct str) values;
	struct strtab known; /* key NUL value */
	size_t bytes;
};

static void add_meta(struct meta_lists *lists, const struct layout_origin_meta *meta)
{
	CLEANUP(str_deinit) struct str both = {0};
	str_write(&both, meta->key.bytes, meta->key.len);
	str_putc(&both, '\0');
	str_write(&both, meta->value.bytes, meta->value.len);
	size_t nr_known = lists->known.entries.len;
	if (strtab_intern(&lists->known, both.data, both.len) < nr_known)
		return;
	lists->bytes += both.len + sizeof(", ");
	if (lists->bytes > MAX_META_BYTES)
		return;
	uint32_t key = strtab_intern(&lists->keys, meta->key.bytes, meta->key.len);
	if (key >= LAYOUT_MAX_META)
		return;
	if (key >= lists->values.len)
		vec_resize(&lists->values, (size_t)key + 1);
	struct str *value = &lists->values.data[key];
	str_puts(value, value->len ? ", " : "");
	str_write(value, meta->value.bytes, meta->value.len);
}

static void write_meta(struct merge *merge, struct writer *writer)
{
	struct meta_lists lists = {0};
	for (size_t i = 0; i < merge->options->nr_inputs; i++) {
		struct merge_source *source = &merge->sources[i];
		for (size_t k = 0; k < merge_source_nr_origins(source); k++)
			vec_each(&merge_source_origin(source, k)->meta, meta)
				add_meta(&lists, meta);
	}
	for (size_t i = 0; i < lists.values.len; i++) {
		writer_meta(writer, strtab_get(&lists.keys, (uint32_t)i),
			str_text(&lists.values.data[i]));
		str_deinit(&lists.values.data[i]);
	}
	vec_deinit(&lists.values);
	strtab_deinit(&lists.keys);
	strtab_deinit(&lists.known);
}

/* ---- all of it ---- */

static struct err *merge_scan(struct merge *merge)
{
	for (size_t i = 0; i < merge->options->nr_inputs; i++) {
		struct merge_source *source = &merge->sources[i];
		source->input = &merge->options->inputs[i];
		source->number = (uint32_t)i;
		source->result = &merge->result->inputs[i];
		try(merge_source_scan(source));
	}
	return merge->options->takes_twice ? NULL : check_twice(merge);
}

static struct err *merge_write_all(struct merge *merge, struct writer *writer)
{
	struct merge_copy copy = {.writer = writer, .are_pieces = merge->options->are_pieces};
	write_meta(merge, writer);
	write_first_clock(merge, writer);
	for (size_t i = 0; i < merge->options->nr_inputs; i++) {
		struct merge_source *source = &merge->sources[i];
		for (size_t k = 0; k < merge_source_nr_origins(source); k++)
			write_origin(merge, source, merge_source_origin(source, k), writer);
	}
	for (size_t i = 0; i < merge->options->nr_inputs; i++) {
		merge_copy_source(&copy, &merge->sources[i]);
		merge->result->samples += merge->result->inputs[i].samples;
	}
	struct err *err = merge_copy_finish(&copy);
	merge_copy_deinit(&copy);
	return err;
}

struct err *merge_write(
	const struct merge_options *options, struct writer_sink sink, struct merge_result *ret)
{
	struct merge_result result = {
		.inputs = mem_zalloc_array(options->nr_inputs, sizeof(*result.inputs)),
	};
	struct merge merge = {
		.options = options,
		.sources = mem_zalloc_array(options->nr_inputs, sizeof(*merge.sources)),
		.result = &result,
	};
	struct err *err = merge_scan(&merge);
	if (!err) {
		struct writer *writer = writer_create(sink);
		merge_place(&merge);
		err = merge_write_all(&merge, writer);
		writer_destroy(writer);
	}
	for (size_t i = 0; i < options->nr_inputs; i++)
		merge_source_deinit(&merge.sources[i]);
	mem_free(merge.sources);
	strtab_deinit(&merge.names);
	map_deinit(&merge.name_counts);
	if (err)
		merge_result_deinit(&result);
	else
		*ret = result;
	return err;
}

void merge_result_deinit(struct merge_result *result)
{
	mem_free(result->inputs);
	result->inputs = NULL;
}
