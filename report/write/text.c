#include "report/write/text.h"

#include <stdlib.h>
#include <string.h>

#include "report/analyse/focus.h"
#include "report/analyse/scope.h"
#include "report/analyse/stack_counts.h"
#include "report/model/event_value.h"
#include "report/model/label_sets.h"
#include "report/name/namesakes.h"
#include "report/name/script_frames.h"
#include "report/write/health.h"

static const char *say_none(const struct text_options *options)
{
	return options->is_empty ? "# the recording has no samples\n" : "# nothing matches\n";
}

static void put_foreign(struct str *out, const char *text)
{
	str_put_escaped(out, text, strlen(text));
}

static void text_put_event(const struct profile_event *event, struct str *out)
{
	put_foreign(out, event->name);
	if (event->frequency_hz)
		str_printf(out, " %u Hz", event->frequency_hz);
	else if (event->period && strcmp(event->unit, LAYOUT_UNIT_HITS) != 0)
		str_printf(out, " every %llu %s", (unsigned long long)event->period, event->unit);
}

/* Of a sum its parts behind its name; of samples that do not say their event any that it can be. */
static void text_put_shown_event(const struct profile *profile, uint32_t shown, struct str *out)
{
	const struct profile_event *event = &profile->events.data[shown];
	if (shown)
		text_put_event(event, out);
	const char *joint = shown ? " = " : "";
	for (size_t i = 1; (!shown || event->is_sum) && i < profile->events.len; i++) {
		const struct profile_event *part = &profile->events.data[i];
		bool is_part = shown ? part->part_of == shown : !part->is_sum && !part->is_second;
		if (!is_part || part->first)
			continue;
		str_puts(out, joint);
		text_put_event(part, out);
		joint = " + ";
	}
}

static void text_put_other_events(
	const struct profile *profile, const struct text_head *head, struct str *out)
{
	size_t count = 0;
	vec_each(&head->choices->list, choice) {
		const struct profile_event *event = &profile->events.data[choice->event];
		if (choice->event == head->event)
			continue;
		str_puts(out, count++ ? ", " : "# also recorded: ");
		put_foreign(out, main_event_name_of(profile, choice->event));
		str_putc(out, ' ');
		event_value_put(event, choice->value, false, out);
	}
	if (count)
		str_puts(out, " (--event NAME shows another)\n");
}

void text_put_head(const struct profile *profile, const struct text_head *head, struct str *out)
{
	uint64_t samples = head->samples, samples_before_filter = head->samples_before_filter;
	str_puts(out, "# ");
	const char *command = profile_meta(profile, LAYOUT_META_COMMAND);
	const char *target = profile_meta(profile, LAYOUT_META_TARGET);
	put_foreign(out, command ? command : target ? target : "recording");
	if (profile->events.len > 1) {
		str_puts(out, ", ");
		text_put_shown_event(profile, head->event, out);
	}
	if (samples == samples_before_filter)
		str_printf(out, ", %llu %s", (unsigned long long)samples,
			str_plural(samples, "sample", "samples"));
	else
		str_printf(out, ", %llu of %llu %s", (unsigned long long)samples,
			(unsigned long long)samples_before_filter,
			str_plural(samples_before_filter, "sample", "samples"));
	str_printf(out, ", %.1f s", profile_duration_s(profile));
	struct stack_counts stacks = stack_counts_of(profile);
	if (stacks.by_guesses)
		str_printf(out, ", %.1f%% of stacks reached by guesses",
			profile_percent(stacks.by_guesses, profile->samples.len));
	if (stacks.guessed_inlined)
		str_printf(out, ", %.1f%% of leaves guessed among inlined functions",
			profile_percent(stacks.guessed_inlined, profile->samples.len));
	if (stacks.truncated)
		str_printf(out, ", %.1f%% of stacks truncated",
			profile_percent(stacks.truncated, profile->samples.len));
	uint64_t lost = profile_lost(profile);
	if (lost)
		str_printf(out, ", %llu lost (%.1f%%)", (unsigned long long)lost,
			profile_percent(lost, lost + head->samples_of_all_events));
	str_putc(out, '\n');
	text_put_other_events(profile, head, out);
	str_puts(out, "#\n");
}

/* ---- the table ---- */

static void text_put_name(
	const struct profile_function *function, uint8_t nr_parts, struct str *out)
{
	CLEANUP(str_deinit) struct str name = {0};
	namesakes_put_name(function, nr_parts, &name);
	str_put_escaped(out, str_text(&name), name.len);
}

static void text_put_symbol(const struct table *table, const struct table_row *row,
	const struct profile_function *function, struct str *out)
{
	if (table->has_object && function->has_bounds)
		str_puts(out, profile_function_own_name(function));
	else
		text_put_name(function, table->nr_parts ? table->nr_parts[row->function] : 0, out);
}

/* Of an ID as much as --container wants, and as other tools show. */
static void text_put_container(const struct profile_process *process, struct str *out)
{
	enum {
		SHORT_ID = 12
	};
	const char *text = scope_container(process);
	str_put_escaped(out, text, process->container[0] ? strnlen(text, SHORT_ID) : strlen(text));
}

/* Of all labels where the column has no key. */
static void text_put_labels(
	const struct profile *profile, uint32_t set, const char *key, struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	uint32_t label = key ? label_sets_find(profile, set, key) : 0;
	if (!key)
		label_sets_put(profile, set, &text);
	else if (label)
		label_put_value(profile, label, &text);
	if (key ? label : set)
		str_put_escaped(out, str_text(&text), text.len);
	else
		str_putc(out, '-');
}

static const char *title_of(const struct table_options *options, size_t column)
{
	const char *key = options->label_keys[column];
	return key ? key : column_info(options->columns[column])->title;
}

static void text_put_cell(const struct profile *profile, const struct table *table,
	const struct table_row *row, const struct table_options *options, size_t column,
	struct str *out)
{
	const struct profile_function *function = &profile->functions.data[row->function];
	const struct profile_object *object = &profile->objects.data[function->object];
	const struct profile_thread *thread = &profile->threads.data[row->thread];
	const struct profile_process *process = &profile->processes.data[thread->process];
	switch (options->columns[column]) {
	case COLUMN_SYM:
		str_puts(out, profile_is_kernel(profile, function->object) ? "[k] " : "[.] ");
		text_put_symbol(table, row, function, out);
		break;
	case COLUMN_DSO:
		put_foreign(out, object->name[0] ? object->name : "-");
		break;
	case COLUMN_FILE:
		put_foreign(out, function->file ? function->file : "-");
		break;
	case COLUMN_COMM:
		put_foreign(out, thread->comm);
		break;
	case COLUMN_PID:
		str_printf(out, "%u", thread->pid);
		break;
	case COLUMN_TID:
		str_printf(out, "%u", thread->tid);
		break;
	case COLUMN_CPU:
		str_printf(out, "%u", row->cpu);
		break;
	case COLUMN_CONTAINER:
		text_put_container(process, out);
		break;
	case COLUMN_CGROUP:
		put_foreign(out, process->cgroup[0] ? process->cgroup : "-");
		break;
	case COLUMN_UNIT:
		put_foreign(out, process->unit[0] ? process->unit : "-");
		break;
	case COLUMN_POD:
		put_foreign(out, process->pod[0] ? process->pod : "-");
		break;
	case COLUMN_ORIGIN:
		put_foreign(out, profile_thread_origin(profile, row->thread));
		break;
	case COLUMN_LABEL:
		text_put_labels(profile, row->labels, options->label_keys[column], out);
		break;
	case COLUMN_COUNT:
		break;
	}
}

/* How wide each column must be; the last one is never padded, so symbols may be long. */
static void text_measure(const struct profile *profile, const struct table *table, size_t nr_rows,
	const struct table_options *options, size_t *widths)
{
	enum {
		WIDEST = 64
	};
	CLEANUP(str_deinit) struct str cell = {0};
	for (size_t c = 0; c < options->nr_columns; c++) {
		widths[c] = strlen(title_of(options, c));
		for (size_t i = 0; i < nr_rows; i++) {
			str_truncate(&cell, 0);
			text_put_cell(profile, table, &table->rows.data[i], options, c, &cell);
			if (cell.len > widths[c])
				widths[c] = cell.len > WIDEST ? WIDEST : cell.len;
		}
	}
}

static void put_padded(struct str *out, const char *text, size_t len, size_t width, bool is_number)
{
	size_t pad = len < width ? width - len : 0;
	str_puts(out, "  ");
	if (is_number)
		str_pad(out, ' ', pad);
	str_write(out, text, len);
	if (!is_number)
		str_pad(out, ' ', pad);
}

static void text_put_row(const struct profile *profile, const struct table *table,
	const struct table_row *row, const struct table_options *options, const size_t *widths,
	struct str *out)
{
	CLEANUP(str_deinit) struct str cell = {0};
	str_printf(out, "%7.2f%% %7.2f%% %9llu", profile_percent(row->self, table->total),
		profile_percent(row->total, table->total), (unsigned long long)row->self_samples);
	for (size_t c = 0; c < options->nr_columns; c++) {
		str_truncate(&cell, 0);
		text_put_cell(profile, table, row, options, c, &cell);
		size_t width = c + 1 < options->nr_columns ? widths[c] : 0;
		put_padded(out, str_text(&cell), cell.len, width,
			column_info(options->columns[c])->is_number);
	}
	str_putc(out, '\n');
}

/* Many small ones can be most of it. Only self can be added up. */
static void put_hidden(const struct table *table, size_t shown,
	const struct table_options *table_options, const struct text_options *options,
	struct str *out)
{
	size_t hidden = table->rows.len - shown;
	str_printf(out, "# %zu more %s below %.2g%%", hidden, str_plural(hidden, "row", "rows"),
		options->percent_limit);
	uint64_t self = 0;
	for (size_t i = shown; i < table->rows.len; i++)
		self += table->rows.data[i].self;
	if (!table_options->by_total)
		str_printf(out, ", %.2f%% in all", profile_percent(self, table->total));
	str_putc(out, '\n');
}

void text_put_table(const struct profile *profile, const struct table *table,
	const struct table_options *table_options, const struct text_options *options,
	struct str *out)
{
	size_t shown = table->rows.len;
	while (shown) {
		const struct table_row *row = &table->rows.data[shown - 1];
		uint64_t value = table_options->by_total ? row->total : row->self;
		bool is_below =
			value == 0 ? !table_options->by_total && options->percent_limit > 0
				   : profile_percent(value, table->total) < options->percent_limit;
		if (!is_below)
			break;
		shown--;
	}
	size_t widths[TABLE_MAX_COLUMNS] = {0};
	text_measure(profile, table, shown, table_options, widths);
	str_printf(out, "#%7s %8s %9s", "self", "total", "samples");
	for (size_t c = 0; c < table_options->nr_columns; c++) {
		const struct column_info *info = column_info(table_options->columns[c]);
		size_t width = c + 1 < table_options->nr_columns ? widths[c] : 0;
		const char *title = title_of(table_options, c);
		put_padded(out, title, strlen(title), width, info->is_number);
	}
	str_putc(out, '\n');
	size_t wanted = 0;
	CLEANUP_FREE bool *is_wanted = filter_functions(profile, options->filter);
	for (size_t i = 0; i < table->rows.len; i++) {
		const struct table_row *row = &table->rows.data[i];
		if (!is_wanted[row->function])
			continue;
		wanted++;
		if (i < shown)
			text_put_row(profile, table, row, table_options, widths, out);
	}
	if (!wanted)
		str_puts(out, say_none(options));
	else if (shown < table->rows.len && wanted == table->rows.len)
		put_hidden(table, shown, table_options, options, out);
}

/* ---- the call tree ---- */

static void text_put_branch(const struct profile *profile, const uint8_t *nr_parts,
	const struct focus_node *node, uint64_t whole, struct str *out)
{
	str_printf(out, "%7.2f%% %7.2f%%  ", profile_percent(node->total, whole),
		profile_percent(node->self, whole));
	for (uint32_t i = 1; i < node->depth; i++)
		str_puts(out, "| ");
	str_puts(out, node->is_kernel ? "[k] " : "");
	const struct profile_function *function = &profile->functions.data[node->function];
	text_put_name(function, nr_parts[node->function], out);
	str_putc(out, '\n');
}

/* The next one in the order of printing: down, aside, or aside of what is above. 0: none. */
static uint32_t next_branch(struct focus *focus, uint32_t at, bool goes_down)
{
	if (goes_down) {
		focus_expand(focus, at);
		if (focus->nodes.data[at].first_child)
			return focus->nodes.data[at].first_child;
	}
	while (at && !focus->nodes.data[at].next_sibling)
		at = focus->nodes.data[at].parent;
	return focus->nodes.data[at].next_sibling;
}

static void put_branches(const struct profile *profile, struct focus *focus,
	const struct text_options *options, struct str *out)
{
	str_printf(out, "#%7s %8s  calls\n", "total", "self");
	uint64_t whole = focus->nodes.data[0].total;
	if (!whole)
		str_puts(out, say_none(options));
	CLEANUP_FREE uint8_t *nr_parts = namesakes_find(
		profile->objects.data, profile->functions.data, profile->functions.len);
	size_t hidden = 0, left_out = 0, begin = out->len;
	bool is_shown = true;
	for (uint32_t at = 0; (at = next_branch(focus, at, is_shown));) {
		const struct focus_node *node = &focus->nodes.data[at];
		is_shown = profile_percent(node->total, whole) >= options->percent_limit;
		hidden += !is_shown;
		if (!is_shown)
			continue;
		if (options->max_bytes && out->len - begin >= options->max_bytes)
			left_out++;
		else
			text_put_branch(profile, nr_parts, node, whole, out);
		is_shown = !options->max_depth || node->depth < options->max_depth;
	}
	if (left_out)
		str_printf(out,
			"# %zu more %s: the tree is longer than %zu MiB; --max-stack or a greater "
			"--percent-limit make it shorter, --percent-limit 0.5 shows all of it\n",
			left_out, str_plural(left_out, "branch", "branches"),
			options->max_bytes >> 20);
	if (hidden)
		str_printf(out, "# %zu %s below %.2g%%\n", hidden,
			str_plural(hidden, "branch", "branches"), options->percent_limit);
}

void text_put_tree(const struct profile *profile, bool is_inverted,
	const struct text_options *options, struct str *out)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	struct tree tree;
	tree_init(&tree, profile, &(struct tree_options){0});
	CLEANUP_FREE struct tree_weight *weights = tree_weigh(&tree, &slice);
	struct focus focus;
	focus_init(&focus, &tree, weights, profile->functions.data,
		is_inverted ? FOCUS_CALLERS : FOCUS_CALLEES);
	put_branches(profile, &focus, options, out);
	focus_deinit(&focus);
	tree_deinit(&tree);
	slice_deinit(&slice);
}

void text_put_script_hint(
	const struct profile *profile, const struct filter *filter, struct str *out)
{
	if (filter->no_native)
		return;
	struct script_frames frames;
	script_frames_count(profile, &frames);
	const struct script_language *most = NULL;
	vec_each(&frames.languages, language)
		if (language->samples > (most ? most->samples : 0))
			most = language;
	if (most) {
		str_printf(out, "# %.0f%% of samples are in functions of ",
			profile_percent(most->samples, profile->samples.len));
		put_foreign(out, most->name);
		str_puts(out, ": --no-native shows only these of their stacks\n");
	}
	script_frames_deinit(&frames);
}

void text_put_losses(const struct profile *profile, struct str *out)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (health_put_sideband_losses(profile, &text))
		str_printf(out, "# %s\n", str_text(&text));
}
