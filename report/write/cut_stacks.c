#include "report/write/cut_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/text/json.h"
#include "report/write/cause_words.h"
#include "report/write/generated_code.h"

enum {
	ROWS_MAX = 5,
	JSON_MAX_BYTES = 16 << 20, /* many objects can share one long path */
};

static const double least_percent = 0.1;

/* ---- the words ---- */

static bool is_generated(const struct profile_object *object)
{
	static const char memfd[] = "/memfd:"; /* as compilers use that map their code twice */
	return object->info.kind == LAYOUT_OBJECT_ANONYMOUS ||
	       strncmp(object->path, memfd, strlen(memfd)) == 0;
}

static const char *reason_of_no_table(const struct profile_object *object)
{
	if (object->info.flags & LAYOUT_OBJECT_REMOTE)
		return "the recorder does not open remote or FUSE files of other users";
	if (object->info.flags & LAYOUT_OBJECT_UNREADABLE)
		return "the recorder could not open the file";
	return "it has no call frame information (.eh_frame), or more than could be read in time, "
	       "and reading its code found no caller";
}

/* Why stacks are cut; the causes are explained in ebprof-record(1), too. */
static const char *reason_of(const struct profile_object *object, enum layout_truncation cause)
{
	if (cause == LAYOUT_TRUNCATED_NO_TABLE)
		return reason_of_no_table(object);
	return cause_of_truncation(cause);
}

/* What can be done about it, as far as that is known to help. */
enum remedy {
	REMEDY_COMPILE,
	REMEDY_PERF,
	REMEDY_RULES,
	REMEDY_LOCAL_COPY,
	REMEDY_READ,
	REMEDY_OF_RUNTIME, /* what its runtime can do */
	REMEDY_AGAIN,
	REMEDY_BUILD_ID,
	REMEDY_ARCHIVE,
	REMEDIES,
};

static const char *const remedies[REMEDIES] = {
	[REMEDY_COMPILE] = "compile it with -fasynchronous-unwind-tables, give assembly .cfi "
			   "directives",
	[REMEDY_PERF] = "perf record --call-graph dwarf, or ebprof record, which unwind without "
			"frame pointers",
	[REMEDY_RULES] = "record without --call-graph fp: by rules, which need no frame pointers",
	[REMEDY_LOCAL_COPY] = "run it from a local disk",
	[REMEDY_READ] = "record as a user who may read the file",
	[REMEDY_AGAIN] = "record again: the rules of files are kept between recordings "
			 "(--unwind-cache)",
	[REMEDY_BUILD_ID] = "link it with --build-id, by which its rules are kept between "
			    "recordings",
	[REMEDY_ARCHIVE] = "if the file is not here now: ebprof archive where it was recorded, "
			   "since stacks that the recorder left are unwound by the file",
};

/* Of code that no rule covers. */
static unsigned remedies_without_rules(const struct profile_object *object)
{
	if (is_generated(object))
		return 1U << REMEDY_OF_RUNTIME;
	return object->info.kind == LAYOUT_OBJECT_FILE ? 1U << REMEDY_COMPILE : 0;
}

/* Of chains perf was the one that followed frame pointers; copies of stacks, the report unwinds. */
bool cut_stacks_has_chains_of_perf(const struct profile *profile)
{
	const char *format = profile_meta(profile, LAYOUT_META_IMPORT);
	return format && strcmp(format, "perf.data") == 0 && !profile->nr_snapshots;
}

/* As the user asked for. */
static bool is_by_frame_pointers(const struct profile *profile)
{
	const char *how = profile_meta(profile, LAYOUT_META_CALL_GRAPH);
	return how && strcmp(how, LAYOUT_CALL_GRAPH_FP) == 0;
}

static unsigned remedies_of_frame_pointers(const struct profile *profile)
{
	return cut_stacks_has_chains_of_perf(profile) ? 1U << REMEDY_PERF
	       : is_by_frame_pointers(profile)        ? 1U << REMEDY_RULES
						      : 0;
}

static unsigned remedies_of_guesses(
	const struct profile *profile, const struct profile_object *object)
{
	unsigned others = remedies_of_frame_pointers(profile);
	return others ? others : remedies_without_rules(object);
}

static const char *meaning_of_guesses(const struct profile *profile)
{
	if (is_by_frame_pointers(profile))
		return "by frame pointers, as --call-graph fp asked for, which not all code keeps: "
		       "callers may be missing";
	return cut_stacks_has_chains_of_perf(profile)
		       ? "by the frame pointers that perf followed, which not all code "
			 "keeps: callers may be missing"
		       : "no rule covers the code, and reading it found no caller for "
			 "certain: callers may be missing";
}

static unsigned remedies_of_no_table(
	const struct profile *profile, const struct profile_object *object)
{
	uint32_t flags = object->info.flags;
	if (flags & LAYOUT_OBJECT_REMOTE)
		return 1U << REMEDY_LOCAL_COPY;
	if (flags & LAYOUT_OBJECT_UNREADABLE)
		return flags & LAYOUT_OBJECT_DELETED ? 0 : 1U << REMEDY_READ;
	bool is_file = object->info.kind == LAYOUT_OBJECT_FILE && !is_generated(object);
	return remedies_without_rules(object) |
	       (is_file && profile->nr_snapshots ? 1U << REMEDY_ARCHIVE : 0);
}

static unsigned remedies_of(const struct profile *profile, const struct profile_object *object,
	enum layout_truncation cause)
{
	switch (cause) {
	case LAYOUT_TRUNCATED_NO_TABLE:
		return remedies_of_no_table(profile, object);
	case LAYOUT_TRUNCATED_NO_RULE:
		return remedies_without_rules(object);
	case LAYOUT_TRUNCATED_FRAME_POINTER:
		return remedies_of_frame_pointers(profile);
	case LAYOUT_TRUNCATED_JIT:
		return 1U << REMEDY_OF_RUNTIME;
	case LAYOUT_TRUNCATED_TABLE_PENDING:
		if (object->info.kind != LAYOUT_OBJECT_FILE)
			return 0;
		return 1U << (object->info.build_id_len ? REMEDY_AGAIN : REMEDY_BUILD_ID);
	default:
		return 0;
	}
}

static bool has_share(uint64_t samples, uint64_t all)
{
	return samples && profile_percent(samples, all) >= least_percent;
}

/* "a; b; c", of all causes that matter; nothing where nothing helps. */
static void put_remedies(const struct profile *profile, const struct profile_object *object,
	const struct object_stacks *stacks, uint64_t all, struct str *out)
{
	unsigned which = 0;
	for (uint32_t i = 1; i < LAYOUT_TRUNCATED_END; i++)
		if (has_share(stacks->truncated_by[i], all))
			which |= remedies_of(profile, object, (enum layout_truncation)i);
	if (has_share(stacks->guessed, all))
		which |= remedies_of_guesses(profile, object);
	size_t begin = out->len;
	for (unsigned i = 0; i < REMEDIES; i++) {
		if (!(which >> i & 1))
			continue;
		str_puts(out, out->len > begin ? "; " : "");
		if (i == REMEDY_OF_RUNTIME)
			generated_code_put_remedy(profile, GENERATED_CODE_LACKS_CALLERS, out);
		else
			str_puts(out, remedies[i]);
	}
}

static void put_cause(const struct profile_object *object, const struct object_stacks *stacks,
	enum layout_truncation cause, uint64_t all, struct str *out)
{
	str_printf(out, "%.1f%% %s: %s\n", profile_percent(stacks->truncated_by[cause], all),
		stack_truncation_word(cause), reason_of(object, cause));
}

/* ---- rows ---- */

struct row {
	const struct profile_object *object;
	struct object_stacks stacks;
};

static uint64_t badness(const struct row *row)
{
	return row->stacks.truncated + row->stacks.guessed;
}

static int cut_stacks_compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (badness(x) != badness(y))
		return badness(x) > badness(y) ? -1 : 1;
	return (x->object > y->object) - (x->object < y->object);
}

static void add_stacks(struct object_stacks *to, const struct object_stacks *from)
{
	for (unsigned i = 0; i < UNWIND_FOUND_KINDS; i++)
		to->callers[i] += from->callers[i];
	for (unsigned i = 0; i < LAYOUT_TRUNCATED_END; i++)
		to->truncated_by[i] += from->truncated_by[i];
	to->truncated += from->truncated;
	to->guessed += from->guessed;
}

/* Objects that cost a stack its callers, the worst first; each process has an object of its own for
 * generated code, but they are called the same, and are one row. Yours. */
static struct row *make_rows(const struct profile *profile, size_t *nr_rows)
{
	struct slice slice;
	slice_init_all(&slice, profile);
	CLEANUP_FREE struct object_stacks *stacks = object_stacks_of(profile, &slice);
	slice_deinit(&slice);
	struct row *rows = mem_zalloc_array(profile->objects.len, sizeof(*rows));
	struct row *generated = NULL;
	*nr_rows = 0;
	for (size_t i = 0; i < profile->objects.len; i++) {
		const struct profile_object *object = &profile->objects.data[i];
		bool joins = generated && object->info.kind == LAYOUT_OBJECT_ANONYMOUS &&
			     strcmp(object->path, generated->object->path) == 0;
		if (!stacks[i].truncated && !stacks[i].guessed)
			continue;
		struct row *row = joins ? generated : &rows[(*nr_rows)++];
		row->object = joins ? row->object : object;
		add_stacks(&row->stacks, &stacks[i]);
		if (object->info.kind == LAYOUT_OBJECT_ANONYMOUS)
			generated = row;
	}
	qsort(rows, *nr_rows, sizeof(*rows), cut_stacks_compare_rows);
	return rows;
}

static const char *cut_stacks_path_of(const struct profile_object *object)
{
	return object->path && object->path[0] ? object->path : "code of no known file";
}

static void cut_stacks_put_row(
	const struct profile *profile, const struct row *row, const char *field, struct str *out)
{
	const struct object_stacks *stacks = &row->stacks;
	uint64_t all = profile->samples.len;
	str_printf(out, "%-14s ", field);
	if (has_share(stacks->truncated, all))
		str_printf(out, "%.1f%% cut", profile_percent(stacks->truncated, all));
	if (has_share(stacks->guessed, all))
		str_printf(out, "%s%.1f%% guessed", has_share(stacks->truncated, all) ? ", " : "",
			profile_percent(stacks->guessed, all));
	str_puts(out, " in ");
	str_puts_escaped(out, cut_stacks_path_of(row->object));
	str_putc(out, '\n');
	for (uint32_t i = 1; i < LAYOUT_TRUNCATED_END; i++) {
		if (!has_share(stacks->truncated_by[i], all))
			continue;
		str_printf(out, "%-14s ", "");
		put_cause(row->object, stacks, (enum layout_truncation)i, all, out);
	}
	if (has_share(stacks->guessed, all))
		str_printf(out, "%-14s %.1f%% guessed: %s\n", "",
			profile_percent(stacks->guessed, all), meaning_of_guesses(profile));
	CLEANUP(str_deinit) struct str fix = {0};
	put_remedies(profile, row->object, stacks, all, &fix);
	if (fix.len)
		str_printf(out, "%-14s fix: %s\n", "", str_text(&fix));
}

void cut_stacks_put(const struct profile *profile, struct str *out)
{
	size_t nr_rows, nr_shown = 0, nr_left = 0;
	CLEANUP_FREE struct row *rows = make_rows(profile, &nr_rows);
	for (size_t i = 0; i < nr_rows; i++) {
		if (!has_share(rows[i].stacks.truncated, profile->samples.len) &&
			!has_share(rows[i].stacks.guessed, profile->samples.len))
			continue;
		if (nr_shown == ROWS_MAX)
			nr_left++;
		else
			cut_stacks_put_row(
				profile, &rows[i], nr_shown++ ? "" : "cut or guessed", out);
	}
	if (nr_left)
		str_printf(out, "%-14s and in %zu more %s\n", "", nr_left,
			str_plural(nr_left, "file", "files"));
}

void cut_stacks_put_sentence(const struct profile *profile, struct str *out)
{
	const struct stack_counts stacks = stack_counts_of(profile);
	uint64_t all = profile->samples.len;
	if (all && stacks.are_leaves) {
		str_puts(out, "No callers were recorded.");
		return;
	}
	bool is_guessed = has_share(stacks.by_guesses, all);
	bool is_cut = has_share(stacks.truncated, all);
	if (is_guessed)
		str_printf(out, "%.1f%% of the stacks were reached by guesses",
			profile_percent(stacks.by_guesses, all));
	if (is_cut)
		str_printf(out, "%s%.1f%% %s", is_guessed ? ", " : "",
			profile_percent(stacks.truncated, all),
			is_guessed ? "are cut" : "of the stacks are cut");
	if (is_guessed || is_cut)
		str_puts(out, ": callers may be missing. ebprof info says in whose code, why, and "
			      "what helps.");
}

/* ---- JSON ---- */

void cut_stacks_put_json_causes(const uint64_t *truncated_by, struct str *out)
{
	const char *separator = "{";
	for (uint32_t i = 1; i < LAYOUT_TRUNCATED_END; i++) {
		if (!truncated_by[i])
			continue;
		str_printf(out, "%s\"%s\": %llu", separator,
			stack_truncation_word((enum layout_truncation)i),
			(unsigned long long)truncated_by[i]);
		separator = ", ";
	}
	str_puts(out, *separator == '{' ? "{}" : "}");
}

void cut_stacks_put_json_found(const uint64_t *frames, struct str *out)
{
	str_printf(out, "{\"rule\": %llu, \"code\": %llu, \"frame_pointer\": %llu, \"scan\": %llu}",
		(unsigned long long)frames[UNWIND_FOUND_BY_RULE],
		(unsigned long long)frames[UNWIND_FOUND_BY_CODE],
		(unsigned long long)frames[UNWIND_FOUND_BY_FRAME_POINTER],
		(unsigned long long)frames[UNWIND_FOUND_BY_SCAN]);
}

static void put_json_row(const struct profile *profile, const struct row *row, struct str *out)
{
	const struct object_stacks *stacks = &row->stacks;
	str_puts(out, "{\"path\": ");
	json_quote(out, row->object->path ? row->object->path : "");
	str_printf(out, ", \"guessed\": %llu, \"truncated\": %llu, \"truncated_by\": ",
		(unsigned long long)stacks->guessed, (unsigned long long)stacks->truncated);
	cut_stacks_put_json_causes(stacks->truncated_by, out);
	str_puts(out, ", \"callers\": ");
	cut_stacks_put_json_found(stacks->callers, out);
	str_puts(out, ", \"fix\": ");
	CLEANUP(str_deinit) struct str fix = {0};
	put_remedies(profile, row->object, stacks, profile->samples.len, &fix);
	json_quote(out, str_text(&fix));
	str_putc(out, '}');
}

void cut_stacks_put_json(const struct profile *profile, struct str *out)
{
	size_t nr_rows, i;
	CLEANUP_FREE struct row *rows = make_rows(profile, &nr_rows);
	str_puts(out, "  \"cut_or_guessed\": [");
	size_t limit = out->len + JSON_MAX_BYTES;
	for (i = 0; i < nr_rows && out->len <= limit; i++) {
		str_puts(out, i ? ",\n    " : "\n    ");
		put_json_row(profile, &rows[i], out);
	}
	str_printf(out, "],\n  \"cut_or_guessed_omitted\": %zu,\n", nr_rows - i);
}

/* ---- one object ---- */

void cut_stacks_put_object(const struct profile *profile, const struct profile_object *object,
	const struct object_stacks *stacks, uint64_t all, struct str *out)
{
	CLEANUP(str_deinit) struct str callers = {0}, fix = {0};
	stack_counts_put_found(stacks->callers, &callers);
	if (callers.len)
		str_printf(out, "its callers: found %s\n", str_text(&callers));
	for (uint32_t i = 1; i < LAYOUT_TRUNCATED_END; i++) {
		if (!stacks->truncated_by[i])
			continue;
		str_puts(out, "cut here: ");
		put_cause(object, stacks, (enum layout_truncation)i, all, out);
	}
	if (stacks->guessed)
		str_printf(out, "guessed from here: %.1f%%: %s\n",
			profile_percent(stacks->guessed, all), meaning_of_guesses(profile));
	put_remedies(profile, object, stacks, all, &fix);
	if (fix.len)
		str_printf(out, "for whole stacks: %s\n", str_text(&fix));
}
