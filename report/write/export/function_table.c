#include "report/write/export/function_table.h"

#include <stdlib.h>

#include "report/analyse/table.h"
#include "report/model/slice.h"

static const char no_stack[] = "[no stack]";

struct group {
	uint32_t function; /* one of the profile's that stands for all */
	uint32_t entry;
	uint64_t frames; /* of samples, that are in it */
};

struct builder {
	const struct profile *profile;
	uint32_t *group_of; /* of each function */
	struct group *groups;
	bool *is_used; /* frame */
	uint64_t without_stack;
};

static void count_frames(struct builder *builder)
{
	const struct profile *profile = builder->profile;
	CLEANUP_FREE uint64_t *counts = slice_count_stacks(profile);
	for (size_t i = 0; i < profile->stacks.len; i++) {
		if (!counts[i])
			continue;
		struct profile_walk walk = profile_walk(profile, (uint32_t)i);
		bool is_empty = true;
		for (uint32_t frame; (frame = profile_walk_next(&walk)); is_empty = false) {
			uint32_t function = profile->frames.data[frame].function;
			builder->is_used[frame] = true;
			builder->groups[builder->group_of[function]].frames += counts[i];
		}
		if (is_empty)
			builder->without_stack += counts[i];
	}
}

/* The first one of each group that is known to stand in a file, or else the first. */
static void choose_functions(struct builder *builder)
{
	const struct profile_function *functions = builder->profile->functions.data;
	for (size_t i = builder->profile->functions.len; i-- > 0;) {
		struct group *group = &builder->groups[builder->group_of[i]];
		/* Function 0, which groups begin with, is a placeholder without a file. */
		if (functions[i].file || !functions[group->function].file)
			group->function = (uint32_t)i;
	}
}

static int function_table_compare_groups(const void *a, const void *b, void *context)
{
	const struct group *groups = context;
	const struct group *x = &groups[*(const uint32_t *)a], *y = &groups[*(const uint32_t *)b];
	if (x->frames != y->frames)
		return x->frames > y->frames ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

static void function_table_add_entry(
	struct function_table *table, struct builder *builder, struct group *group)
{
	const struct profile *profile = builder->profile;
	const struct profile_function *function = &profile->functions.data[group->function];
	group->entry = (uint32_t)table->entries.len;
	vec_push(&table->entries,
		(struct function_table_entry){
			.name = function->name,
			.system_name =
				function->system_name ? function->system_name : function->name,
			.object = function->object,
			.file = function->file,
			.line = function->file ? function->line : 0,
			.is_kernel = profile_is_kernel(profile, function->object),
		});
}

/* Frequent ones get small indices, which are short where they are written as text. */
static void add_entries(struct function_table *table, struct builder *builder)
{
	VEC(uint32_t) sorted = {0};
	for (size_t i = 0; i < builder->profile->functions.len; i++)
		if (builder->groups[i].frames)
			vec_push(&sorted, (uint32_t)i);
	if (sorted.len)
		qsort_r(sorted.data, sorted.len, sizeof(*sorted.data),
			function_table_compare_groups, builder->groups);
	vec_each(&sorted, group)
		function_table_add_entry(table, builder, &builder->groups[*group]);
	vec_deinit(&sorted);
}

/* Where nothing tells the declaration, code of the function at least stands in a file. */
static void place_frames(struct function_table *table, const struct builder *builder)
{
	const struct profile *profile = builder->profile;
	for (size_t i = 0; i < profile->frames.len; i++) {
		const struct profile_frame *frame = &profile->frames.data[i];
		if (!builder->is_used[i])
			continue;
		table->of_frame[i] = builder->groups[builder->group_of[frame->function]].entry;
		struct function_table_entry *entry = &table->entries.data[table->of_frame[i]];
		if (!entry->file)
			entry->file = frame->file;
	}
}

void function_table_init(struct function_table *table, const struct profile *profile)
{
	static const enum column columns[] = {COLUMN_SYM, COLUMN_FILE};
	size_t nr_frames = profile->frames.len;
	*table = (struct function_table){
		.of_frame = mem_zalloc_array(nr_frames + 1, sizeof(*table->of_frame))};
	struct builder builder = {
		.profile = profile,
		.group_of = table_group_functions(profile, columns, 2),
		.groups = mem_zalloc_array(profile->functions.len, sizeof(struct group)),
		.is_used = mem_zalloc_array(nr_frames, sizeof(bool)),
	};
	count_frames(&builder);
	choose_functions(&builder);
	add_entries(table, &builder);
	place_frames(table, &builder);
	table->of_frame[nr_frames] = (uint32_t)table->entries.len;
	if (builder.without_stack)
		vec_push(&table->entries,
			(struct function_table_entry){.name = no_stack, .system_name = no_stack});
	mem_free(builder.group_of);
	mem_free(builder.groups);
	mem_free(builder.is_used);
}

void function_table_deinit(struct function_table *table)
{
	vec_deinit(&table->entries);
	mem_free(table->of_frame);
}

void function_table_put_name(const struct function_table_entry *entry, struct str *out)
{
	str_puts(out, entry->name);
	if (entry->is_kernel)
		str_puts(out, "_[k]");
}
