#include "report/write/export/html_data.h"

#include <pthread.h>
#include <string.h>

#include "report/analyse/frame_kind.h"
#include "report/analyse/scope.h"
#include "report/compare/compare.h"
#include "report/name/namesakes.h"
#include "report/name/short_names.h"
#include "report/write/cause_words.h"
#include "report/write/cut_stacks.h"
#include "report/write/diff/diff_words.h"
#include "report/write/export/html_changes.h"
#include "report/write/export/html_code.h"
#include "report/write/export/html_parts.h"
#include "report/write/export/html_threads.h"
#include "report/write/export/html_tree.h"
#include "report/write/export/tally.h"
#include "report/write/health.h"
#include "report/write/longest_waits.h"
#include "report/write/ticks_share.h"

const struct html_data_limits html_data_limits = {
	.nodes = 2 << 20,
	.entries = 1 << 20,
	.threads = 1024,
	.slices = 256,
};

const struct html_data_limits html_data_limits_of_two = {
	.nodes = 2 << 20,
	.entries = 1 << 20,
	.threads = 1024,
	.slices = 64,
};

/* Two recordings, of which one is called new. */
struct judged_sides {
	struct diff_tree diff;
	struct compare compare;
	uint32_t *numbers;   /* of each function of the diff tree 1 + that of the page; 0: none */
	uint32_t *functions; /* of each function of the page that of the diff tree; 0: none */
};

enum sides_order {
	SIDES_AS_GIVEN, /* the first one is new */
	SIDES_SWAPPED,
	SIDES_ORDERS,
};

struct html_data {
	const struct html_data_side *sides; /* as many as columns */
	struct html_data_limits limits;
	const struct diff_options *judging;       /* where there are two */
	uint32_t *groups[HTML_COLUMNS_MAX];       /* of each side: of namesakes_group() */
	struct tree trees[HTML_COLUMNS_MAX];      /* likewise */
	struct judged_sides judged[SIDES_ORDERS]; /* where there are two */
	struct html_tree_source source;
	const struct profile_object *objects; /* of the source */
	struct html_tree tree;
	struct html_threads threads;
	struct html_parts parts;
	uint32_t nr_threads, nr_slices; /* that are told apart */
	uint64_t slice_ns;
	struct tally tallies[HTML_COLUMNS_MAX]; /* by slot and node */
	struct str text;
	struct bytes_buf *out;
};

static void html_data_put_piece(struct html_data *data, uint64_t value)
{
	bytes_put_varint(data->out, value);
}

static void html_data_put_text(struct html_data *data, const char *text)
{
	str_truncate(&data->text, 0);
	if (text)
		str_puts_escaped(&data->text, text);
	bytes_put_blob(data->out, data->text.data, data->text.len);
}

/* ---- the tree ---- */

static enum match_side match_side_of(enum sides_order order, size_t side)
{
	return side == (size_t)order ? MATCH_NEW : MATCH_BASE;
}

/* The source's node where a stack ends. */
static uint32_t html_data_end_of(const struct html_data *data, size_t side, uint32_t stack)
{
	uint32_t end = data->trees[side].ends[stack];
	return data->source.nr_columns == 1
		       ? end
		       : data->judged[SIDES_AS_GIVEN]
				 .diff.nodes[match_side_of(SIDES_AS_GIVEN, side)][end];
}

static void html_data_open_one(struct html_data *data)
{
	const struct profile *profile = data->sides[0].profile;
	data->objects = profile->objects.data;
	data->source.tree = &data->trees[0];
	data->source.functions = profile->functions.data;
	data->source.nr_functions = profile->functions.len;
	data->source.frames = profile->frames.data;
	data->source.nr_objects = profile->objects.len;
}

/* Each side has the weights of its own tree. Where they cannot be compared, nothing changed. */
static void html_data_judge_sides(
	struct html_data *data, enum sides_order order, const struct diff_tree_side *sides)
{
	struct judged_sides *judged = &data->judged[order];
	struct tree_weight *weights[MATCH_SIDES];
	struct diff_source sources[MATCH_SIDES];
	size_t new = order, base = 1 - new;
	diff_tree_init(&judged->diff, &sides[base], &sides[new]);
	for (size_t i = 0; i < HTML_COLUMNS_MAX; i++) {
		enum match_side side = match_side_of(order, i);
		weights[side] = diff_tree_weigh(&judged->diff, side, sides[i].weights);
		sources[side] = (struct diff_source){
			sides[i].profile, sides[i].tree, NULL, data->sides[i].event};
	}
	compare_init(&judged->compare, &judged->diff, weights[MATCH_BASE], weights[MATCH_NEW]);
	compare_judge(&judged->compare, &judged->diff, sources, data->judging);
	mem_free(weights[MATCH_BASE]);
	mem_free(weights[MATCH_NEW]);
}

struct swapped_judging {
	struct html_data *data;
	const struct diff_tree_side *sides;
};

static void *judge_swapped(void *context)
{
	const struct swapped_judging *judging = context;
	html_data_judge_sides(judging->data, SIDES_SWAPPED, judging->sides);
	return NULL;
}

/* An order takes a quarter of the time of the page: both beside each other, where that can be had.
 */
static void judge_both_orders(struct html_data *data, const struct diff_tree_side *sides)
{
	struct swapped_judging swapped = {data, sides};
	pthread_t thread;
	bool is_beside = !pthread_create(&thread, NULL, judge_swapped, &swapped);
	html_data_judge_sides(data, SIDES_AS_GIVEN, sides);
	if (is_beside)
		pthread_join(thread, NULL);
	else
		judge_swapped(&swapped);
}

static void open_two(struct html_data *data)
{
	struct diff_tree_side sides[HTML_COLUMNS_MAX];
	struct tree_weight *weights[HTML_COLUMNS_MAX];
	for (int i = 0; i < HTML_COLUMNS_MAX; i++) {
		const struct html_data_side *from = &data->sides[i];
		struct slice slice;
		slice_init_event(&slice, from->profile, from->event);
		weights[i] = tree_weigh(&data->trees[i], &slice);
		slice_deinit(&slice);
		sides[i] = (struct diff_tree_side){from->profile, &data->trees[i], weights[i]};
	}
	judge_both_orders(data, sides);
	struct diff_tree *diff = &data->judged[SIDES_AS_GIVEN].diff;
	for (int i = 0; i < HTML_COLUMNS_MAX; i++)
		mem_free(weights[i]);
	data->objects = diff->objects.data;
	data->source.tree = &diff->tree;
	data->source.functions = diff->functions.data;
	data->source.nr_functions = diff->functions.len;
	data->source.frames = diff->frames.data;
	data->source.nr_objects = diff->objects.len;
}

static void number_function(struct judged_sides *judged, uint32_t function, uint32_t of_page)
{
	judged->numbers[function] = of_page + 1;
	judged->functions[of_page] = function;
}

/* The page has the functions of the sides as they are given: others are the same by both sides'. */
static void number_functions(struct html_data *data)
{
	struct judged_sides *given = &data->judged[SIDES_AS_GIVEN];
	struct judged_sides *swapped = &data->judged[SIDES_SWAPPED];
	for (int order = 0; order < SIDES_ORDERS; order++) {
		struct judged_sides *judged = &data->judged[order];
		judged->numbers =
			mem_zalloc_array(judged->diff.functions.len, sizeof(*judged->numbers));
		judged->functions =
			mem_zalloc_array(data->tree.functions.len, sizeof(*judged->functions));
	}
	for (uint32_t i = 1; i < data->tree.functions.len; i++)
		number_function(given, data->tree.functions.data[i], i);
	for (size_t side = 0; side < HTML_COLUMNS_MAX; side++) {
		const uint32_t *here = given->diff.function_of[match_side_of(SIDES_AS_GIVEN, side)];
		const uint32_t *there =
			swapped->diff.function_of[match_side_of(SIDES_SWAPPED, side)];
		for (size_t i = 1; i < data->sides[side].profile->functions.len; i++)
			if (there[i] && given->numbers[here[i]])
				number_function(swapped, there[i], given->numbers[here[i]] - 1);
	}
}

/* Stops at the largest number, as html_tree does. */
static void html_data_weigh(struct html_data *data, size_t side)
{
	const struct html_data_side *from = &data->sides[side];
	uint64_t *weights = mem_zalloc_array(data->source.tree->nodes.len, sizeof(*weights));
	vec_each(&from->profile->samples, sample) {
		if (!profile_event_has(from->profile, from->event, sample->event))
			continue;
		uint64_t *weight = &weights[html_data_end_of(data, side, sample->stack)];
		uint64_t more = profile_weight_as(from->profile, from->event, sample);
		*weight = more > UINT64_MAX - *weight ? UINT64_MAX : *weight + more;
	}
	data->source.weights[side] = weights;
}

static void html_data_make_tree(struct html_data *data, uint32_t nodes_max)
{
	size_t nr_sides = data->source.nr_columns;
	for (size_t i = 0; i < nr_sides; i++) {
		const struct profile *profile = data->sides[i].profile;
		data->groups[i] = namesakes_group(profile->functions.data, profile->functions.len);
		tree_init(&data->trees[i], profile,
			&(struct tree_options){.groups = data->groups[i]});
	}
	if (nr_sides == 1)
		html_data_open_one(data);
	else
		open_two(data);
	for (size_t i = 0; i < nr_sides; i++)
		html_data_weigh(data, i);
	html_tree_init(&data->tree, &data->source, nodes_max);
	if (nr_sides > 1)
		number_functions(data);
}

/* ---- entries ---- */

static uint64_t span_ns(const struct html_data *data)
{
	uint64_t span = 0;
	for (size_t i = 0; i < data->source.nr_columns; i++) {
		const struct profile *profile = data->sides[i].profile;
		if (profile->last_ns - profile->first_ns > span)
			span = profile->last_ns - profile->first_ns;
	}
	return span;
}

static uint32_t html_data_slot_of(
	const struct html_data *data, size_t side, const struct profile_sample *sample)
{
	const struct profile *profile = data->sides[side].profile;
	uint64_t first_ns = profile->first_ns;
	uint32_t rank = data->threads.ranks[side][profile->threads.data[sample->thread].first];
	uint64_t slice =
		sample->time_ns < first_ns ? 0 : (sample->time_ns - first_ns) / data->slice_ns;
	if (rank >= data->nr_threads)
		rank = data->nr_threads - 1;
	if (slice >= data->nr_slices)
		slice = data->nr_slices - 1;
	return (uint32_t)slice * data->nr_threads + rank;
}

static uint32_t html_data_group_of(
	const struct html_data *data, size_t side, const struct profile_sample *sample)
{
	return html_data_slot_of(data, side, sample) * (uint32_t)data->parts.list.len +
	       data->parts.numbers[side][sample->event];
}

static void set_slices(struct html_data *data, uint32_t count)
{
	data->nr_slices = count;
	data->slice_ns = span_ns(data) / count + 1;
}

/* One a node is the least that there can be. */
static bool can_be_coarser(const struct html_data *data)
{
	return data->nr_slices > 1 || data->nr_threads > 1;
}

/* False when there are more entries than fit in this column. */
static bool html_data_tally_side(struct html_data *data, size_t side, size_t entries_max)
{
	const struct html_data_side *from = &data->sides[side];
	struct tally *tally = &data->tallies[side];
	tally_deinit(tally);
	vec_each(&from->profile->samples, sample) {
		if (!profile_event_has(from->profile, from->event, sample->event))
			continue;
		uint32_t node = data->tree.numbers[html_data_end_of(data, side, sample->stack)];
		tally_add(tally, html_data_group_of(data, side, sample), node,
			profile_weight_as(from->profile, from->event, sample));
		if (tally->nr_distinct > entries_max && can_be_coarser(data))
			return false;
	}
	tally_finish(tally);
	return tally->nr_distinct <= entries_max || !can_be_coarser(data);
}

static bool tally_samples(struct html_data *data)
{
	size_t nr_columns = data->source.nr_columns;
	for (size_t i = 0; i < nr_columns; i++)
		if (!html_data_tally_side(data, i, data->limits.entries / nr_columns))
			return false;
	return true;
}

static void count_threads(struct html_data *data)
{
	size_t count = data->threads.list.len;
	data->nr_threads = count < data->limits.threads ? (uint32_t)count : data->limits.threads;
	if (!data->nr_threads)
		data->nr_threads = 1;
}

static void html_data_count_samples(struct html_data *data)
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
}

/* ---- writing ---- */

static uint64_t html_data_samples_of(const struct profile *profile, uint32_t event)
{
	uint64_t count = 0;
	vec_each(&profile->samples, sample)
		count += profile_event_has(profile, event, sample->event);
	return count;
}

static void html_data_put_column(struct html_data *data, size_t side)
{
	const struct profile *profile = data->sides[side].profile;
	uint32_t number = data->sides[side].event;
	const struct profile_event *event = &profile->events.data[number];
	uint64_t samples = html_data_samples_of(profile, number);
	CLEANUP(str_deinit) struct str damage = {0}, stacks = {0}, share = {0};
	health_put_damage(profile, &damage);
	cut_stacks_put_sentence(profile, &stacks);
	if (profile->only)
		str_printf(&stacks, "%sOnly %s.", stacks.len ? " " : "", profile->only);
	str_puts(&share, stacks.len ? " " : "");
	if (ticks_share_put_of(profile, event, &share))
		str_printf(&stacks, "%s.", str_text(&share));
	html_data_put_text(data, data->sides[side].name);
	html_data_put_text(data, profile_title(profile));
	html_data_put_text(data, number ? event->name : "unknown");
	html_data_put_text(data, number ? event->unit : "");
	html_data_put_text(data, profile_meta(profile, LAYOUT_META_HOST));
	html_data_put_text(data, profile_meta(profile, LAYOUT_META_KERNEL));
	html_data_put_text(data, profile_meta(profile, LAYOUT_META_VERSION));
	html_data_put_text(data, str_text(&damage));
	html_data_put_text(data, str_text(&stacks));
	html_data_put_piece(data, event->period ? event->period : 1);
	html_data_put_piece(data, event->frequency_hz);
	html_data_put_piece(data, profile_wall_ns(profile, profile->first_ns) / 1000000);
	html_data_put_piece(data, profile->last_ns - profile->first_ns);
	html_data_put_piece(data, samples);
	html_data_put_piece(data, profile->samples.len - samples);
	html_data_put_piece(data, profile_lost(profile));
	html_data_put_piece(data, data->tree.folded_weights[side]);
}

static void html_data_put_events(struct html_data *data)
{
	const struct html_data_side *side = &data->sides[0];
	if (!side->events) {
		html_data_put_piece(data, 0);
		return;
	}
	html_data_put_piece(data, side->events->list.len);
	vec_each(&side->events->list, choice) {
		html_data_put_text(data, main_event_name_of(side->profile, choice->event));
		html_data_put_text(data, side->profile->events.data[choice->event].unit);
	}
}

/* NULL: there is one column. */
static void html_data_put_verdict(struct html_data *data, const struct judged_sides *sides)
{
	CLEANUP(str_deinit) struct str text = {0};
	const struct difference *judged = sides ? sides->compare.judged : NULL;
	if (judged)
		diff_put_verdict(&text, judged);
	else if (sides)
		str_printf(&text, "Not compared: %s", str_text(&sides->compare.refusal));
	html_data_put_piece(data, judged ? judged->verdict : DIFF_INCONCLUSIVE);
	html_data_put_text(data, str_text(&text));
	if (sides)
		html_changes_put(judged, sides->numbers, data->out);
}

static void html_data_put_head(struct html_data *data)
{
	html_data_put_piece(data, HTML_DATA_VERSION);
	html_data_put_piece(data, data->source.nr_columns);
	for (size_t i = 0; i < data->source.nr_columns; i++)
		html_data_put_column(data, i);
	html_data_put_events(data);
	const char *target = profile_meta(data->sides[0].profile, LAYOUT_META_TARGET);
	html_data_put_piece(data, target && strcmp(target, LAYOUT_TARGET_SYSTEM) == 0);
	html_data_put_piece(data, data->tree.nr_folded);
	if (data->source.nr_columns == 1)
		html_data_put_verdict(data, NULL);
	else
		for (int order = 0; order < SIDES_ORDERS; order++)
			html_data_put_verdict(data, &data->judged[order]);
}

static void html_data_put_kinds(struct html_data *data)
{
	html_data_put_piece(data, FRAME_KINDS_END);
	for (int i = 0; i < FRAME_KINDS_END; i++) {
		const struct frame_kind_row *row = &frame_kinds[i];
		html_data_put_text(data, row->text);
		html_data_put_piece(data, frame_kind_is_script((enum frame_kind)i));
		html_data_put_piece(data, i == FRAME_KERNEL);
		html_data_put_piece(data, frame_kind_rgb(row->colour));
		html_data_put_piece(data, frame_kind_rgb(row->paler));
	}
}

static void html_data_put_objects(struct html_data *data)
{
	html_data_put_piece(data, data->tree.objects.len);
	vec_each(&data->tree.objects, object)
		html_data_put_text(data, data->objects[*object].name);
}

/* So that an exact comparison of shares in the page comes out as here. */
static uint64_t millionths(const struct compare_change *change, const struct compare *compare)
{
	const struct slice_sum *sides[] = {&compare->wholes.base, &compare->wholes.new};
	bool is_weighted = compare->judged && compare->judged->is_weighted;
	double all[MATCH_SIDES];
	for (int side = 0; side < MATCH_SIDES; side++)
		all[side] = (double)(is_weighted ? sides[side]->value : sides[side]->samples);
	double new = all[MATCH_NEW] / change->wholes[MATCH_NEW];
	double base = all[MATCH_BASE] / change->wholes[MATCH_BASE];
	return (uint64_t)(1e6 * new / base + 0.5);
}

/* Of a function of the page. */
static void put_changes(struct html_data *data, const struct judged_sides *judged, size_t function)
{
	const struct compare_row *row =
		compare_row_of(&judged->compare, judged->functions[function]);
	for (int metric = 0; metric < COMPARE_METRICS; metric++) {
		bool is_known = row && compare_is_known(row, (enum compare_metric)metric);
		html_data_put_piece(
			data, is_known ? row->changes[metric].verdict : DIFF_INCONCLUSIVE);
		if (is_known && compare_direction(row, (enum compare_metric)metric))
			html_data_put_piece(
				data, millionths(&row->changes[metric], &judged->compare));
	}
}

struct html_forms {
	struct html_data *data;
	const char *name; /* the longest, which is the function's name */
	size_t count;
	bool is_counted;
};

static bool html_data_put_form(void *context, const char *name)
{
	struct html_forms *forms = context;
	if (strcmp(name, forms->name) == 0)
		return false;
	forms->count++;
	if (forms->is_counted)
		html_data_put_text(forms->data, name);
	return false;
}

static void html_data_put_forms(struct html_data *data, const struct profile_function *function)
{
	CLEANUP(str_deinit) struct str storage = {0};
	struct html_forms forms = {.data = data, .name = function->name};
	short_names_each(function, html_data_put_form, &forms, &storage);
	html_data_put_piece(data, forms.count);
	forms.is_counted = true;
	short_names_each(function, html_data_put_form, &forms, &storage);
}

static void html_data_put_functions(struct html_data *data)
{
	static const struct profile_function folded = {.name = "[small branches]"};
	CLEANUP(strtab_deinit) struct strtab files = {0};
	VEC(uint32_t) file_of = {0};
	strtab_intern(&files, "", 0);
	vec_each(&data->tree.functions, function) {
		const char *file = data->source.functions[*function].file;
		vec_push(&file_of, file ? strtab_intern(&files, file, strlen(file)) : 0);
	}
	html_data_put_piece(data, files.entries.len);
	vec_each(&files.entries, file)
		html_data_put_text(data, file->bytes);
	html_data_put_piece(data, data->tree.functions.len);
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP_FREE uint8_t *nr_parts =
		namesakes_find(data->source.functions, data->source.nr_functions, NULL);
	for (size_t i = 0; i < data->tree.functions.len; i++) {
		bool is_folded = i == HTML_TREE_FOLDED;
		uint32_t number = data->tree.functions.data[i];
		const struct profile_function *function =
			is_folded ? &folded : &data->source.functions[number];
		str_truncate(&name, 0);
		namesakes_put_name(function, is_folded ? 0 : nr_parts[number], &name);
		html_data_put_text(data, str_text(&name));
		html_data_put_forms(data, function);
		html_data_put_piece(data, data->tree.object_numbers[function->object]);
		html_data_put_piece(data, file_of.data[i]);
		html_data_put_piece(data, function->line);
		html_data_put_piece(
			data, frame_kind_of_function(function, &data->objects[function->object]));
		for (int order = 0; data->source.nr_columns > 1 && order < SIDES_ORDERS; order++)
			put_changes(data, &data->judged[order], i);
	}
	vec_deinit(&file_of);
}

/* By any of a function's frames: those of one cause are one function. */
static void html_data_put_causes(struct html_data *data)
{
	CLEANUP_FREE const char **causes =
		mem_zalloc_array(data->source.nr_functions, sizeof(*causes));
	uint64_t count = 0;
	vec_each(&data->source.tree->nodes, node)
		if (node->frame)
			causes[node->function] =
				cause_of_frame(&data->source.frames[node->frame], data->objects);
	for (size_t i = 1; i < data->tree.functions.len; i++)
		count += causes[data->tree.functions.data[i]] != NULL;
	html_data_put_piece(data, count);
	for (size_t i = 1; i < data->tree.functions.len; i++) {
		const char *cause = causes[data->tree.functions.data[i]];
		if (!cause)
			continue;
		html_data_put_piece(data, i);
		html_data_put_text(data, cause);
	}
}

static void put_threads(struct html_data *data)
{
	static const struct html_thread none = {.comm = "", .container = "", .process = ""};
	size_t count = data->threads.list.len;
	html_data_put_piece(data, data->nr_threads);
	for (uint32_t i = 0; i < data->nr_threads; i++) {
		const struct html_thread *thread = i < count ? &data->threads.list.data[i] : &none;
		html_data_put_piece(data, thread->pid);
		html_data_put_piece(data, thread->tid);
		html_data_put_text(data, thread->comm);
		html_data_put_text(data, thread->container);
		html_data_put_text(data, thread->process);
	}
	html_data_put_piece(data, count > data->nr_threads
					  ? html_threads_count(&data->threads, data->nr_threads - 1)
					  : 0);
	html_data_put_piece(data, html_threads_count(&data->threads, 0));
	html_data_put_piece(data, data->nr_slices);
	html_data_put_piece(data, data->slice_ns);
}

static void html_data_put_parts(struct html_data *data)
{
	html_data_put_piece(data, data->parts.list.len);
	vec_each(&data->parts.list, part) {
		html_data_put_text(data, part->name);
		html_data_put_piece(data, part->is_wait);
	}
}

static void put_entries(struct html_data *data, const struct tally *tally)
{
	size_t at = 0;
	for (uint32_t node = 0; node < data->tree.nr_nodes; node++) {
		size_t first = at;
		while (at < tally->entries.len && tally->entries.data[at].stack == node)
			at++;
		html_data_put_piece(data, at - first);
	}
	uint32_t last = 0;
	vec_each(&tally->entries, entry) {
		bytes_put_zigzag(data->out, (int64_t)entry->group - last);
		last = entry->group;
	}
	vec_each(&tally->entries, entry)
		html_data_put_piece(data, entry->value);
}

static void html_data_put_code(struct html_data *data)
{
	const struct tree_node *nodes = data->source.tree->nodes.data;
	const struct html_data_side *side = &data->sides[0];
	size_t count = data->tree.functions.len;
	CLEANUP_FREE uint64_t *all = mem_zalloc_array(data->source.nr_functions, sizeof(*all));
	CLEANUP_FREE uint64_t *selves = mem_zalloc_array(count, sizeof(*selves));
	for (size_t i = 1; i < data->source.tree->nodes.len; i++)
		all[nodes[i].function] += data->source.weights[0][i];
	for (size_t i = 1; i < count; i++)
		selves[i] = all[data->tree.functions.data[i]];
	const struct html_code_request request = {
		.profile = side->profile,
		.event = side->event,
		.code = data->source.nr_columns == 1 ? side->code : NULL,
		.functions = data->tree.functions.data,
		.groups = data->groups[0],
		.selves = selves,
		.nr_functions = count,
	};
	html_code_put(&request, data->out);
}

/* A line, as the terminal interface has it. */
static void html_data_put_wait(struct html_data *data, const struct longest_wait *wait)
{
	const struct profile *profile = data->sides[0].profile;
	uint32_t frame = longest_waits_frame(profile, wait->longest->stack);
	uint32_t rank = data->threads.ranks[0][profile->threads.data[wait->longest->thread].first];
	CLEANUP(str_deinit) struct str line = {0};
	longest_waits_put_row(profile, wait, &line);
	str_truncate(&line, line.len - 1);
	html_data_put_piece(data, rank < data->nr_threads ? rank : data->nr_threads - 1);
	html_data_put_text(data,
		frame ? profile->functions.data[profile->frames.data[frame].function].name : "");
	html_data_put_text(data, str_text(&line));
}

static void html_data_put_waits(struct html_data *data)
{
	const struct html_data_side *side = &data->sides[0];
	CLEANUP(longest_waits_deinit) struct longest_waits waits = {0};
	CLEANUP(scope_deinit) struct scope scope = {0};
	CLEANUP(str_deinit) struct str rest = {0};
	if (data->source.nr_columns == 1) {
		const char *event = side->profile->events.data[side->event].name;
		scope_add(&scope, &(struct scope_term){.kind = SCOPE_EVENT, .text = (char *)event});
		longest_waits_find(side->profile, &scope, NULL, LONGEST_WAITS_OF_PAGE, &waits);
	}
	size_t count = waits.rows.len < LONGEST_WAITS_MAX ? waits.rows.len : LONGEST_WAITS_MAX;
	html_data_put_text(data, count ? longest_waits_heading : "");
	html_data_put_piece(data, count);
	for (size_t i = 0; i < count; i++)
		html_data_put_wait(data, &waits.rows.data[i]);
	longest_waits_put_rest(&waits, count, "; ", &rest);
	for (size_t i = 0; i < rest.len; i++)
		if (rest.data[i] == '\n')
			rest.data[i] = ' ';
	html_data_put_text(data, rest.len ? str_text(&rest) + 2 : ""); /* behind "; " */
}

static void html_data_put_all(struct html_data *data)
{
	html_data_put_head(data);
	html_data_put_kinds(data);
	html_data_put_objects(data);
	html_data_put_functions(data);
	html_data_put_causes(data);
	put_threads(data);
	html_data_put_parts(data);
	html_data_put_piece(data, data->tree.nr_nodes);
	bytes_put(data->out, data->tree.callers.data, data->tree.callers.len);
	bytes_put(data->out, data->tree.references.data, data->tree.references.len);
	for (size_t i = 0; i < data->source.nr_columns; i++)
		put_entries(data, &data->tallies[i]);
	html_data_put_code(data);
	html_data_put_waits(data);
}

void html_data_put(const struct html_data_side *sides, size_t nr_sides,
	const struct html_data_limits *limits, const struct diff_options *judging,
	struct bytes_buf *out)
{
	struct html_data data = {.sides = sides, .limits = *limits, .judging = judging, .out = out};
	data.source.nr_columns = nr_sides;
	html_data_make_tree(&data, limits->nodes);
	html_threads_init(&data.threads, sides, nr_sides);
	html_parts_init(&data.parts, sides, nr_sides);
	count_threads(&data);
	html_data_count_samples(&data);
	html_data_put_all(&data);
	html_tree_deinit(&data.tree);
	html_threads_deinit(&data.threads);
	html_parts_deinit(&data.parts);
	for (size_t i = 0; i < nr_sides; i++) {
		tree_deinit(&data.trees[i]);
		mem_free(data.groups[i]);
		mem_free(data.source.weights[i]);
		tally_deinit(&data.tallies[i]);
	}
	for (int order = 0; nr_sides > 1 && order < SIDES_ORDERS; order++) {
		struct judged_sides *judged = &data.judged[order];
		compare_deinit(&judged->compare);
		diff_tree_deinit(&judged->diff);
		mem_free(judged->numbers);
		mem_free(judged->functions);
	}
	str_deinit(&data.text);
}
