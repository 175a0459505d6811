#include "report/export/html_data.h"

#include <stdlib.h>
#include <string.h>

#include "report/export/export.h"
#include "report/export/html_tree.h"
#include "report/export/tally.h"
#include "report/info.h"

const struct html_data_limits html_data_limits = {
	.nodes = 2 << 20,
	.entries = 1 << 20,
	.threads = 1024,
	.slices = 256,
};

struct ranked_thread {
	uint32_t thread;
	uint64_t weight;
};

struct html_data {
	const struct profile *profile;
	struct html_data_limits limits;
	uint32_t event;
	struct html_tree tree;
	VEC(struct ranked_thread) threads; /* the busiest first */
	uint32_t *ranks;                   /* of each thread of the profile */
	uint32_t nr_threads, nr_slices;    /* that are told apart */
	uint64_t slice_ns;
	struct tally tally; /* by slot and node */
	struct str text;
	struct bytes_buf *out;
};

static void put(struct html_data *data, uint64_t value)
{
	bytes_put_varint(data->out, value);
}

static void put_text(struct html_data *data, const char *text)
{
	str_truncate(&data->text, 0);
	if (text)
		str_put_escaped(&data->text, text, strlen(text));
	bytes_put_blob(data->out, data->text.data, data->text.len);
}

/* ---- threads ---- */

static int compare_threads(const void *a, const void *b)
{
	const struct ranked_thread *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight > y->weight ? -1 : 1;
	return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static void rank_threads(struct html_data *data)
{
	const struct profile *profile = data->profile;
	size_t count = profile->threads.len;
	CLEANUP_FREE uint64_t *weights = mem_zalloc_array(count, sizeof(*weights));
	data->ranks = mem_zalloc_array(count, sizeof(*data->ranks));
	vec_each(&profile->samples, sample)
		if (sample->event == data->event)
			weights[sample->thread] += sample->weight;
	for (size_t i = 0; i < count; i++)
		if (weights[i])
			vec_push(&data->threads, (struct ranked_thread){(uint32_t)i, weights[i]});
	if (data->threads.len)
		qsort(data->threads.data, data->threads.len, sizeof(*data->threads.data),
			compare_threads);
	for (size_t i = 0; i < data->threads.len; i++)
		data->ranks[data->threads.data[i].thread] = (uint32_t)i;
	data->nr_threads = data->threads.len < data->limits.threads ? (uint32_t)data->threads.len
								    : data->limits.threads;
	if (!data->nr_threads)
		data->nr_threads = 1;
}

/* ---- entries ---- */

static uint32_t slot_of(const struct html_data *data, const struct profile_sample *sample)
{
	uint32_t rank = data->ranks[sample->thread];
	uint64_t since = sample->time_ns - data->profile->first_ns;
	uint64_t slice = sample->time_ns < data->profile->first_ns ? 0 : since / data->slice_ns;
	if (rank >= data->nr_threads)
		rank = data->nr_threads - 1;
	if (slice >= data->nr_slices)
		slice = data->nr_slices - 1;
	return (uint32_t)slice * data->nr_threads + rank;
}

static void set_slices(struct html_data *data, uint32_t count)
{
	uint64_t span_ns = data->profile->last_ns - data->profile->first_ns;
	data->nr_slices = count;
	data->slice_ns = span_ns / count + 1;
}

/* False when there are more entries than fit. */
static bool tally_samples(struct html_data *data)
{
	tally_deinit(&data->tally);
	vec_each(&data->profile->samples, sample) {
		if (sample->event != data->event)
			continue;
		tally_add(&data->tally, slot_of(data, sample),
			html_tree_number(&data->tree, sample->stack), sample->weight);
		/* One a node is the least that there can be. */
		if (data->tally.entries.len > data->limits.entries &&
			(data->nr_slices > 1 || data->nr_threads > 1))
			return false;
	}
	return true;
}

static void count_samples(struct html_data *data)
{
	enum {
		COARSER = 2
	};
	set_slices(data, data->limits.slices);
	while (!tally_samples(data)) {
		if (data->nr_slices > 1)
			set_slices(data, (data->nr_slices + COARSER - 1) / COARSER);
		else
			data->nr_threads = (data->nr_threads + COARSER - 1) / COARSER;
	}
	tally_sort_by_stack(&data->tally, data->tree.nr_nodes);
}

/* ---- writing ---- */

static uint64_t samples_of(const struct profile *profile, uint32_t event)
{
	uint64_t count = 0;
	vec_each(&profile->samples, sample)
		count += sample->event == event;
	return count;
}

static void put_head(struct html_data *data)
{
	const struct profile *profile = data->profile;
	const struct profile_event *event = &profile->events.data[data->event];
	const char *command = profile_meta(profile, LAYOUT_META_COMMAND);
	uint64_t samples = samples_of(profile, data->event);
	CLEANUP(str_deinit) struct str damage = {0};
	info_put_damage(profile, &damage);
	put(data, HTML_DATA_VERSION);
	put_text(data, command ? command : profile_meta(profile, LAYOUT_META_TARGET));
	put_text(data, data->event ? event->name : "unknown");
	put_text(data, data->event ? event->unit : "");
	put_text(data, profile_meta(profile, LAYOUT_META_HOST));
	put_text(data, profile_meta(profile, LAYOUT_META_KERNEL));
	put_text(data, profile_meta(profile, LAYOUT_META_VERSION));
	put_text(data, str_text(&damage));
	put(data, event->period ? event->period : 1);
	put(data, event->frequency_hz);
	put(data, profile_wall_ns(profile, profile->first_ns) / 1000000);
	put(data, profile->last_ns - profile->first_ns);
	put(data, samples);
	put(data, profile->samples.len - samples);
	put(data, profile_lost(profile));
	put(data, data->tree.nr_folded);
	put(data, data->tree.folded_weight);
	put(data, 1);
}

static void put_objects(struct html_data *data)
{
	put(data, data->tree.objects.len);
	vec_each(&data->tree.objects, object) {
		put_text(data, data->profile->objects.data[*object].name);
		put(data, profile_is_kernel(data->profile, *object));
	}
}

static void put_functions(struct html_data *data)
{
	static const struct profile_function folded = {.name = "[small branches]"};
	CLEANUP(strtab_deinit) struct strtab files = {0};
	VEC(uint32_t) file_of = {0};
	strtab_intern(&files, "", 0);
	vec_each(&data->tree.functions, function) {
		const char *file = data->profile->functions.data[*function].file;
		vec_push(&file_of, file ? strtab_intern(&files, file, strlen(file)) : 0);
	}
	put(data, files.entries.len);
	vec_each(&files.entries, file)
		put_text(data, file->bytes);
	put(data, data->tree.functions.len);
	for (size_t i = 0; i < data->tree.functions.len; i++) {
		const struct profile_function *function = &folded;
		if (i != HTML_TREE_FOLDED)
			function = &data->profile->functions.data[data->tree.functions.data[i]];
		put_text(data, function->name);
		put(data, data->tree.object_numbers[function->object]);
		put(data, file_of.data[i]);
		put(data, function->line);
	}
	vec_deinit(&file_of);
}

static void put_threads(struct html_data *data)
{
	put(data, data->nr_threads);
	for (uint32_t i = 0; i < data->nr_threads; i++) {
		struct profile_thread thread = {.comm = ""};
		if (i < data->threads.len)
			thread = data->profile->threads.data[data->threads.data[i].thread];
		put(data, thread.pid);
		put(data, thread.tid);
		put_text(data, thread.comm);
	}
	put(data, data->threads.len > data->nr_threads ? data->threads.len - data->nr_threads + 1
						       : 0);
	put(data, data->nr_slices);
	put(data, data->slice_ns);
}

static void put_entries(struct html_data *data)
{
	size_t at = 0;
	for (uint32_t node = 0; node < data->tree.nr_nodes; node++) {
		size_t first = at;
		while (at < data->tally.entries.len && data->tally.entries.data[at].stack == node)
			at++;
		put(data, at - first);
	}
	uint32_t last = 0;
	vec_each(&data->tally.entries, entry) {
		bytes_put_zigzag(data->out, (int64_t)entry->group - last);
		last = entry->group;
	}
	vec_each(&data->tally.entries, entry)
		put(data, entry->value);
}

void html_data_put(
	const struct profile *profile, const struct html_data_limits *limits, struct bytes_buf *out)
{
	struct html_data data = {
		.profile = profile,
		.limits = *limits,
		.event = export_main_event(profile),
		.out = out,
	};
	html_tree_init(&data.tree, profile, data.event, limits->nodes);
	rank_threads(&data);
	count_samples(&data);
	put_head(&data);
	put_objects(&data);
	put_functions(&data);
	put_threads(&data);
	put(&data, data.tree.nr_nodes);
	bytes_put(out, data.tree.callers.data, data.tree.callers.len);
	bytes_put(out, data.tree.references.data, data.tree.references.len);
	put_entries(&data);
	html_tree_deinit(&data.tree);
	vec_deinit(&data.threads);
	mem_free(data.ranks);
	tally_deinit(&data.tally);
	str_deinit(&data.text);
}
