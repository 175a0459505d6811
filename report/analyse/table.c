#include "report/analyse/table.h"

#include <string.h>

#include "format/base/str.h"
#include "report/analyse/function_order.h"
#include "report/analyse/scope.h"
#include "report/model/label_sets.h"
#include "report/model/word_sort.h"
#include "report/name/namesakes.h"

/*
 * Three steps. Samples become groups (what their own columns say: thread, CPU).
 * Samples of one group and one stack are counted together. Each such count is
 * then spread over its stack's frames, whose columns complete the row's key.
 */
struct group { /* as one of its samples shows it */
	uint32_t thread, cpu, labels;
};

struct count {
	uint32_t group, stack;
	uint64_t value, samples;
};

struct builder {
	const struct profile *profile;
	struct table *table;
	bool has[COLUMN_COUNT];
	uint32_t *thread_groups;   /* thread -> group by comm, pid, tid, container, origin */
	uint32_t *label_groups;    /* set -> group by labels; NULL: none is a column */
	uint32_t *function_groups; /* function -> group by symbol, dso, file */
	uint64_t last_group_key;
	uint32_t last_group;
	struct map task_groups; /* thread group << 32 | label group -> a number */
	struct map groups;      /* that, or the thread group alone, << 32 | cpu -> group */
	VEC(struct group) group_samples;
	struct map counts; /* group << 32 | stack -> index of count */
	VEC(struct count) counted;
	struct map rows;         /* group << 32 | function group -> row */
	VEC(uint64_t) last_seen; /* by row: the count that was added last, plus 1 */
};

static void table_put_part(struct str *key, bool has, const char *text)
{
	if (has)
		str_puts(key, text);
	str_putc(key, '\0');
}

static void group_threads(struct builder *builder)
{
	const struct profile *profile = builder->profile;
	builder->thread_groups =
		mem_zalloc_array(profile->threads.len, sizeof(*builder->thread_groups));
	struct strtab keys = {0};
	CLEANUP(str_deinit) struct str key = {0};
	for (size_t i = 0; i < profile->threads.len; i++) {
		const struct profile_thread *thread = &profile->threads.data[i];
		str_truncate(&key, 0);
		table_put_part(&key, builder->has[COLUMN_COMM], thread->comm);
		if (builder->has[COLUMN_PID])
			str_printf(&key, "p%u", thread->pid);
		if (builder->has[COLUMN_TID])
			str_printf(&key, "t%u", thread->tid);
		const struct profile_process *process = &profile->processes.data[thread->process];
		table_put_part(&key, builder->has[COLUMN_CONTAINER], scope_container(process));
		table_put_part(&key, builder->has[COLUMN_CGROUP], process->cgroup);
		table_put_part(&key, builder->has[COLUMN_UNIT], process->unit);
		table_put_part(&key, builder->has[COLUMN_POD], scope_pod(process));
		if (builder->has[COLUMN_ORIGIN])
			str_printf(&key, "o%u", process->info.origin);
		if (builder->has[COLUMN_PID] || builder->has[COLUMN_TID]) /* whose numbers */
			str_printf(&key, "b%u", profile->origins.data[process->info.origin].boot);
		builder->thread_groups[i] = strtab_intern(&keys, str_text(&key), key.len);
	}
	strtab_deinit(&keys);
}

/*
 * For each set a number of what it has for the key, 0: nothing; to be freed. A text is looked at
 * once, however many sets a file has with it.
 */
static uint32_t *number_values(const struct profile *profile, const char *label_key)
{
	uint32_t *numbers = label_sets_find_all(profile, label_key);
	struct map known = {0}; /* of texts, by where they stand */
	struct strtab values = {0};
	for (uint32_t i = 1; i < profile->labels.len; i++) {
		const struct profile_label *label = &profile->labels.data[i];
		if (numbers[i] != i) { /* another set's label, which has its number already */
			numbers[i] = numbers[label->rest];
			continue;
		}
		bool is_new = true;
		uint64_t own = 0, *number = &own;
		if (label->kind == LAYOUT_LABEL_TEXT)
			number = map_put(&known, (uintptr_t)label->text, &is_new);
		if (is_new) {
			CLEANUP(str_deinit) struct str value = {0};
			label_put_value(profile, i, &value);
			*number = strtab_intern(&values, str_text(&value), value.len) + 1;
		}
		numbers[i] = (uint32_t)*number;
	}
	map_deinit(&known);
	strtab_deinit(&values);
	return numbers;
}

/* Sets are told apart by each column of labels: by one without a key, each from all others. */
static void group_labels(struct builder *builder, const struct table_options *options)
{
	size_t nr_sets = builder->profile->labels.len;
	if (!builder->has[COLUMN_LABEL])
		return;
	uint32_t *groups = mem_zalloc_array(nr_sets, sizeof(*groups));
	for (size_t c = 0; c < options->nr_columns; c++) {
		struct map both = {0}; /* group << 32 | number in this column -> group */
		CLEANUP_FREE uint32_t *numbers = NULL;
		if (options->columns[c] != COLUMN_LABEL)
			continue;
		if (options->label_keys[c])
			numbers = number_values(builder->profile, options->label_keys[c]);
		for (uint32_t i = 0; i < nr_sets; i++) {
			bool added;
			uint64_t key = (uint64_t)groups[i] << 32 | (numbers ? numbers[i] : i);
			uint64_t *group = map_put(&both, key, &added);
			if (added)
				*group = both.len - 1;
			groups[i] = (uint32_t)*group;
		}
		map_deinit(&both);
	}
	builder->label_groups = groups;
}

static void put_function_key(struct str *key, const struct profile *profile,
	const struct profile_function *function, enum column column)
{
	if (column == COLUMN_SYM)
		str_puts(key, function->name);
	if (column == COLUMN_FILE)
		str_puts(key, profile->objects.data[function->object].path);
	if (column == COLUMN_SOURCE && function->file)
		str_puts(key, function->file);
	str_putc(key, '\0');
}

/* Symbols with a file beside them say no more than they did. */
static bool has_places(const enum column *columns, size_t nr_columns)
{
	bool has[COLUMN_COUNT] = {0};
	for (size_t i = 0; i < nr_columns; i++)
		has[columns[i]] = true;
	return has[COLUMN_SYM] && !has[COLUMN_SOURCE];
}

uint32_t *table_group_functions(
	const struct profile *profile, const enum column *columns, size_t nr_columns)
{
	const struct profile_function *functions = profile->functions.data;
	CLEANUP_FREE uint8_t *nr_parts = NULL;
	CLEANUP_FREE uint32_t *namesakes = NULL;
	if (has_places(columns, nr_columns)) {
		nr_parts = namesakes_find(functions, profile->functions.len, &namesakes);
	}
	uint32_t *groups = mem_zalloc_array(profile->functions.len, sizeof(*groups));
	struct strtab keys = {0};
	CLEANUP(str_deinit) struct str key = {0};
	for (size_t i = 0; i < profile->functions.len; i++) {
		str_truncate(&key, 0);
		const struct profile_function *function = &profile->functions.data[i];
		for (size_t c = 0; c < nr_columns; c++)
			put_function_key(&key, profile, function, columns[c]);
		if (nr_parts && nr_parts[i])
			str_printf(&key, "%u", namesakes[i]);
		groups[i] = strtab_intern(&keys, str_text(&key), key.len);
	}
	strtab_deinit(&keys);
	return groups;
}

/* What the sample's thread and its labels make together. */
static uint32_t task_group_of(struct builder *builder, const struct profile_sample *sample)
{
	uint32_t group = builder->thread_groups[sample->thread];
	if (!builder->label_groups)
		return group;
	bool added;
	uint64_t key = (uint64_t)group << 32 | builder->label_groups[sample->labels];
	uint64_t *number = map_put(&builder->task_groups, key, &added);
	if (added)
		*number = builder->task_groups.len - 1;
	return (uint32_t)*number;
}

static uint32_t table_group_of(struct builder *builder, const struct profile_sample *sample)
{
	uint32_t cpu = builder->has[COLUMN_CPU] ? sample->cpu : 0;
	uint64_t key = (uint64_t)task_group_of(builder, sample) << 32 | cpu;
	if (builder->group_samples.len && key == builder->last_group_key)
		return builder->last_group; /* always, when no column is of the sample */
	bool added;
	uint64_t *group = map_put(&builder->groups, key, &added);
	if (added) {
		*group = builder->group_samples.len;
		vec_push(&builder->group_samples, (struct group){.thread = sample->thread,
							  .cpu = sample->cpu,
							  .labels = sample->labels});
	}
	builder->last_group_key = key;
	builder->last_group = (uint32_t)*group;
	return builder->last_group;
}

static void table_count_samples(struct builder *builder)
{
	const struct profile *profile = builder->profile;
	vec_each(&profile->samples, sample) {
		uint32_t group = table_group_of(builder, sample);
		bool added;
		uint64_t *index =
			map_put(&builder->counts, (uint64_t)group << 32 | sample->stack, &added);
		if (added) {
			*index = builder->counted.len;
			vec_push(&builder->counted,
				(struct count){.group = group, .stack = sample->stack});
		}
		uint64_t value = profile_sample_value(profile, sample);
		struct count *count = &builder->counted.data[*index];
		count->value += value;
		count->samples++;
		builder->table->total += value;
		builder->table->samples++;
	}
}

static size_t table_row_of(struct builder *builder, uint32_t group, uint32_t function)
{
	uint64_t key = (uint64_t)group << 32 | builder->function_groups[function];
	bool added;
	uint64_t *row = map_put(&builder->rows, key, &added);
	if (added) {
		*row = builder->table->rows.len;
		struct table_row fresh = {
			.thread = builder->group_samples.data[group].thread,
			.cpu = builder->group_samples.data[group].cpu,
			.labels = builder->group_samples.data[group].labels,
			.function = function,
		};
		vec_push(&builder->table->rows, fresh);
		vec_push(&builder->last_seen, 0);
	}
	return *row;
}

/* A marker of truncation is no function, unless there is nothing else. */
static void spread_count(struct builder *builder, size_t index)
{
	const struct profile *profile = builder->profile;
	const struct count *count = &builder->counted.data[index];
	struct profile_walk walk = profile_walk(profile, count->stack);
	bool is_leaf = true;
	for (uint32_t frame; (frame = profile_walk_next(&walk)); is_leaf = false) {
		const struct profile_frame *it = &profile->frames.data[frame];
		if (!it->object && !is_leaf)
			continue;
		size_t at = table_row_of(builder, count->group, it->function);
		struct table_row *row = &builder->table->rows.data[at];
		if (is_leaf) {
			row->self += count->value;
			row->self_samples += count->samples;
		}
		if (builder->last_seen.data[at] == index + 1)
			continue;
		builder->last_seen.data[at] = index + 1;
		row->total += count->value;
		row->total_samples += count->samples;
	}
}

/* ---- order ---- */

struct rows_in_order {
	const struct profile *profile;
	const struct table_row *rows;
	const uint8_t *kinds; /* of functions */
	enum function_order order;
};

static bool table_word_of_row(const void *context, uint32_t element, size_t index, uint64_t *ret)
{
	const struct rows_in_order *by = context;
	const struct table_row *row = &by->rows[element];
	struct function_rank rank = {
		.self = row->self,
		.total = row->total,
		.kind = (enum frame_kind)by->kinds[row->function],
		.function = &by->profile->functions.data[row->function],
	};
	return function_order_word(&rank, by->order, index, ret);
}

static void table_sort_rows(
	struct table *table, const struct profile *profile, enum function_order order)
{
	size_t count = table->rows.len;
	CLEANUP_FREE struct table_row *rows = mem_zalloc_array(count, sizeof(*rows));
	CLEANUP_FREE struct word_entry *entries = mem_zalloc_array(count, sizeof(*entries));
	CLEANUP_FREE uint8_t *kinds = frame_kinds_of_functions(profile->functions.data,
		profile->functions.len, profile->objects.data, profile->objects.len);
	struct rows_in_order by = {profile, rows, kinds, order};
	struct word_order words = {.word = table_word_of_row, .context = &by};
	for (size_t i = 0; i < count; i++) {
		rows[i] = table->rows.data[i];
		entries[i].element = (uint32_t)i;
	}
	word_sort(entries, count, &words, 0, count);
	for (size_t i = 0; i < count; i++)
		table->rows.data[i] = rows[entries[i].element];
}

void table_init(
	struct table *table, const struct profile *profile, const struct table_options *options)
{
	*table = (struct table){0};
	struct builder builder = {.profile = profile, .table = table};
	for (size_t i = 0; i < options->nr_columns; i++)
		builder.has[options->columns[i]] = true;
	table->has_object = builder.has[COLUMN_FILE];
	if (has_places(options->columns, options->nr_columns))
		table->nr_parts =
			namesakes_find(profile->functions.data, profile->functions.len, NULL);
	group_threads(&builder);
	group_labels(&builder, options);
	builder.function_groups =
		table_group_functions(profile, options->columns, options->nr_columns);
	table_count_samples(&builder);
	for (size_t i = 0; i < builder.counted.len; i++)
		spread_count(&builder, i);
	table_sort_rows(
		table, profile, options->by_total ? FUNCTION_ORDER_TOTAL : FUNCTION_ORDER_SELF);
	mem_free(builder.thread_groups);
	mem_free(builder.label_groups);
	mem_free(builder.function_groups);
	map_deinit(&builder.task_groups);
	map_deinit(&builder.groups);
	vec_deinit(&builder.group_samples);
	map_deinit(&builder.counts);
	vec_deinit(&builder.counted);
	map_deinit(&builder.rows);
	vec_deinit(&builder.last_seen);
}

void table_deinit(struct table *table)
{
	vec_deinit(&table->rows);
	mem_free(table->nr_parts);
}
