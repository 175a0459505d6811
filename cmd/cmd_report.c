#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/input.h"
#include "cmd/select.h"
#include "cmd/select_check.h"
#include "cmd/terminal_report.h"
#include "report/analyse/refine_stacks.h"
#include "report/analyse/roots.h"
#include "report/analyse/scope.h"
#include "report/analyse/wait_reasons.h"
#include "report/analyse/wakers.h"
#include "report/model/event_value.h"
#include "report/model/label_sets.h"
#include "report/model/main_event.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/longest_waits.h"
#include "report/write/overview.h"
#include "report/write/text/text.h"
#include "report/write/unsymbolized.h"

enum {
	/* 200 leaves of 0.5 %, each below 100 functions of its own, 300 bytes a line: 6 MB. */
	MAX_TREE_BYTES = 8 << 20,
};

struct report_options {
	struct input_option input;
	const char *baseline;
	bool is_text, is_tui, show_tree, show_inverted, shows_sums, shows_waits, shows_wakers;
	bool chooses_columns, limits_percent; /* by options */
	double percent_limit, tree_limit; /* tree_limit: behind --call-graph=, where it has one */
	bool has_tree_limit;
	uint32_t max_depth;
	size_t max_tree_bytes;
	bool shows_samples; /* they always are */
	struct table_options table;
	VEC(char *) label_keys; /* that its columns name: owned */
	enum text_field fields[TEXT_FIELDS];
	size_t nr_fields; /* 0: the usual ones */
	struct debug_dirs source_dirs;
	struct select_options select;
};

enum {
	FIRST_FIELD = COLUMN_COUNT + 1,           /* numbers of enum text_field from here on */
	NAMED_THREAD = FIRST_FIELD + TEXT_FIELDS, /* two columns: comm, and tid */
	BY_TOTAL,                                 /* no column: as --children */
};

/* Name, column, is_alias: of all columns, and of other words for some. */
#define COLUMN_WORDS(X) \
	COLUMNS(COLUMN_WORD) \
	X("symbol", COLUMN_SYM) \
	X("dso", COLUMN_FILE) \
	X("srcfile", COLUMN_SOURCE) \
	X("thread", NAMED_THREAD) X("process", COLUMN_PID) X("command", COLUMN_COMM)
#define COLUMN_WORD(column, name, title, is_of_frame, is_number) {name, column, false},
#define ALIAS(name, column)                                      {name, column, true},

static const struct opt_word columns[] = {
	COLUMN_WORDS(ALIAS)
	/* perf's words for what stands in each row */
	{"overhead", COLUMN_COUNT, true},
	{"overhead_children", COLUMN_COUNT, true},
	{"sample", COLUMN_COUNT, true},
	/* numbers, which stand in each row; rows are ordered by self */
	{"self", COLUMN_COUNT, true},
	{"samples", COLUMN_COUNT, true},
	{"value", COLUMN_COUNT, true},
	{"total", BY_TOTAL, true},
	{0},
};

static const struct opt_word fields[] = {
	{"self", FIRST_FIELD + TEXT_FIELD_SELF, false},
	{"total", FIRST_FIELD + TEXT_FIELD_TOTAL, false},
	{"samples", FIRST_FIELD + TEXT_FIELD_SAMPLES, false},
	{"value", FIRST_FIELD + TEXT_FIELD_VALUE, false},
	{"total-samples", FIRST_FIELD + TEXT_FIELD_TOTAL_SAMPLES, false},
	{"total-value", FIRST_FIELD + TEXT_FIELD_TOTAL_VALUE, false},
	COLUMN_WORDS(ALIAS)
	/* perf's */
	{"overhead", FIRST_FIELD + TEXT_FIELD_SELF, true},
	{"overhead_children", FIRST_FIELD + TEXT_FIELD_TOTAL, true},
	{"sample", FIRST_FIELD + TEXT_FIELD_SAMPLES, true},
	{"period", FIRST_FIELD + TEXT_FIELD_VALUE, true},
	{0},
};

static bool is_column(
	const struct table_options *table, size_t index, enum column column, const char *key)
{
	const char *other = table->label_keys[index];
	return table->columns[index] == column && !key == !other && (!key || !strcmp(key, other));
}

static struct err *add_field(struct report_options *options, enum text_field field)
{
	for (size_t i = 0; i < options->nr_fields; i++)
		if (options->fields[i] == field)
			return err_new(ERR_USAGE, "a field is given twice");
	options->fields[options->nr_fields++] = field;
	return NULL;
}

static bool has_column(const struct table_options *table, enum column column, const char *key)
{
	for (size_t i = 0; i < table->nr_columns; i++)
		if (is_column(table, i, column, key))
			return true;
	return false;
}

static struct err *append_column(struct report_options *options, enum column column, char *key)
{
	struct table_options *table = &options->table;
	if (table->nr_columns == TABLE_MAX_COLUMNS)
		return err_new(ERR_USAGE, "there is no room for so many columns");
	table->label_keys[table->nr_columns] = key;
	table->columns[table->nr_columns++] = column;
	return NULL;
}

/* Names labels in what is refused, too: see label_key_of_word(). */
static struct err *find_column(const struct opt *row, const char *name, size_t len, uint32_t *ret)
{
	struct err *unknown = opt_find_word(row, name, len, ret);
	if (!unknown)
		return NULL;
	struct err *err = err_new(
		ERR_USAGE, "%s:KEY, reason, waker, trace, span, namespace", err_message(unknown));
	err_destroy(unknown);
	return err;
}

/* A key of labels, or one of the words. */
static struct err *cmd_report_add_column(
	const struct opt *row, const char *name, size_t len, struct report_options *options)
{
	struct table_options *table = &options->table;
	uint32_t column = COLUMN_LABEL;
	size_t key_len = len;
	const char *of_word = label_key_of_word(name, &key_len);
	CLEANUP_FREE char *key = of_word ? mem_strndup(of_word, key_len) : NULL;
	if (!key)
		try(find_column(row, name, len, &column));
	if (column == BY_TOTAL)
		table->by_total = true;
	if (column == COLUMN_COUNT || column == BY_TOTAL)
		return NULL;
	if (column >= FIRST_FIELD && column != NAMED_THREAD)
		return add_field(options, (enum text_field)(column - FIRST_FIELD));
	if (column == NAMED_THREAD) {
		column = COLUMN_TID;
		if (!has_column(table, COLUMN_COMM, NULL))
			try(append_column(options, COLUMN_COMM, NULL));
	}
	/* The word `thread` is both of these, in front of one of them or behind it. */
	bool is_of_thread = column == COLUMN_COMM || column == COLUMN_TID;
	if (is_of_thread && has_column(table, COLUMN_COMM, NULL) &&
		has_column(table, COLUMN_TID, NULL))
		return NULL;
	if (has_column(table, (enum column)column, key))
		return err_new(ERR_USAGE, "%.*s is given twice", (int)len, name);
	if (key)
		vec_push(&options->label_keys, key);
	return append_column(options, (enum column)column, steal_ptr(key));
}

static struct err *cmd_report_add_columns(
	const struct opt *row, const char *text, struct report_options *options)
{
	options->table.nr_columns = 0;
	memset(options->table.label_keys, 0, sizeof(options->table.label_keys));
	for (size_t len = strcspn(text, ",");; text += len + 1, len = strcspn(text, ",")) {
		try(cmd_report_add_column(row, text, len, options));
		if (!text[len])
			return NULL;
	}
}

static struct err *parse_sort(const struct opt *row, const char *text, void *member)
{
	struct report_options *options = member;
	if (strstr(text, "srcline"))
		return err_new(ERR_USAGE, "lines of a function are in ebprof annotate -S FUNCTION; "
					  "source files, -s source");
	try(cmd_report_add_columns(row, text, options));
	options->chooses_columns = options->table.nr_columns && !opt_is_standard(row, text);
	return options->table.nr_columns ? NULL : parse_sort(row, row->standard, member);
}

/* Columns among them replace those of --sort. */
static struct err *parse_fields(const struct opt *row, const char *text, void *member)
{
	struct report_options *options = member;
	struct table_options before = options->table;
	options->nr_fields = 0;
	try(cmd_report_add_columns(row, text, options));
	if (options->table.nr_columns)
		options->chooses_columns = true;
	else
		options->table = before;
	return NULL;
}

/* As perf's: "graph,0.5,caller". What trees cannot be is refused with what is like it. */
static struct err *parse_call_tree(const struct opt *row, const char *text, void *member)
{
	(void)row;
	struct report_options *options = member;
	bool is_inverted = false;
	for (const char *at = text; at && *at;) {
		size_t len = strcspn(at, ",");
		CLEANUP_FREE char *word = mem_strndup(at, len);
		char *end;
		double limit = strtod(word, &end);
		if (len && !*end && limit >= 0 && limit <= 100) {
			options->has_tree_limit = true;
			options->tree_limit = limit;
		} else if (strcmp(word, "caller") == 0 || strcmp(word, "callee") == 0) {
			is_inverted = strcmp(word, "callee") == 0;
		} else if (strcmp(word, "none") == 0) {
			return NULL;
		} else if (strcmp(word, "graph") != 0) {
			return err_new(ERR_USAGE,
				"\"%s\" is none of caller, callee (-G), graph and a limit in "
				"percent; ebprof convert --folded has a line for each stack",
				word);
		}
		at += len + (at[len] == ',');
	}
	if (is_inverted)
		options->show_inverted = true;
	else
		options->show_tree = true;
	return NULL;
}

static struct err *parse_percent_limit(const struct opt *row, const char *text, void *member)
{
	struct report_options *options = member;
	options->limits_percent = !opt_is_standard(row, text);
	return opt_percent(row, text, &options->percent_limit);
}

#define FIELD(name) offsetof(struct report_options, name)

static const struct opt rows[] = {
	INPUT_ROW(struct report_options, input, "FILE|-", "Input"),
	RING_ROWS(struct report_options, input.ring),
	{"baseline", 0, "FILE", opt_string, FIELD(baseline),
		.help = "compare with this recording, an earlier one"},
	{"sort", 's', "COLUMN[,..]", parse_sort, 0,
		.help = "*; reason, waker of waits; trace, span, namespace; label:KEY",
		.standard = "file,sym", .words = columns, .group = "What is shown"},
	{"fields", 'F', "FIELD[,..]", parse_fields, 0,
		.help = "numbers in front, and columns as of -s: *; as text", .words = fields},
	{"children", 0, NULL, opt_flag, FIELD(table.by_total),
		.help = "order by total instead of self"},
	{"no-children", 0, NULL, opt_clear, FIELD(table.by_total),
		.help = "order by self (the default)"},
	{"call-graph", 'g', "[caller|callee]", parse_call_tree, 0,
		.help = "show the call tree from the top down; callee: as -G"},
	{"inverted", 'G', NULL, opt_flag, FIELD(show_inverted),
		.help = "show the call tree from the leaves up to their callers"},
	{"max-stack", 0, "N", opt_u32, FIELD(max_depth),
		.help = "frames of each stack in the tree"},
	{"percent-limit", 0, "PERCENT", parse_percent_limit, 0,
		.help = "leave out what is below, in tables and trees", .standard = "0.5"},
	{"show-nr-samples", 'n', NULL, opt_flag, FIELD(shows_samples),
		.help = "numbers of samples are always shown"},
	{"stats", 0, NULL, opt_flag, FIELD(shows_sums),
		.help = "show sums instead: CPU time, kernel, names, stacks, and what was lost"},
	{"wakers", 0, NULL, opt_flag, FIELD(shows_wakers),
		.help = "stacks of waits go on with the stack of who ended them, as text"},
	{"hide-reason", 0, "REASON[,..]", select_parse_reasons, FIELD(select.hidden_reasons),
		.help = "without waits of these reasons, as text: poll,sleep"},
	{"waits", 0, NULL, opt_flag, FIELD(shows_waits),
		.help = "list the longest waits instead (record -e offcpu)"},
	{"leaks", 0, NULL, select_parse_leaks, FIELD(select),
		.help = "-e inuse_space; of what ran on, without the last tenth of the time "
			"(record --heap)"},
	{"peak", 0, NULL, select_parse_peak, FIELD(select),
		.help = "-e peak_space: in use when most was (record --heap)"},
	{"stdio", 0, NULL, opt_flag, FIELD(is_text),
		.help = "print text; so do -s, --percent-limit, --max-stack, and what is no "
			"terminal"},
	{"tui", 0, NULL, opt_flag, FIELD(is_tui),
		.help = "the terminal interface, also with those"},
	{"source-dir", 0, "DIR", naming_parse_dir, FIELD(source_dirs),
		.help = "look for source files below DIR first; repeatable"},
	{"quiet", 'q', NULL, opt_quiet, 0,
		.help = "as text, leave out lines that begin with #; say nothing but errors"},
	SELECT_ROWS(struct report_options, select),
	{0},
};

static const struct opt_foreign foreign[] = {
	{"--gtk", "there is no window: the terminal interface is the default"},
	{"-p", "to choose a process: --pid"},
	{"-t", "to choose a thread: --tid"},
	{"-T", "-s thread shows threads one by one"},
	{"--threads", "-s thread shows threads one by one"},
	{"--thread", "by its name: --comm; by its number: --tid"},
	{"--tasks", "-s pid,comm lists processes; in a terminal key 6"},
	{"-k", "the kernel's symbols are in the recording"},
	{"--kallsyms", "the kernel's symbols are in the recording"},
	{"--vmlinux", "the kernel's symbols are in the recording; for lines see --debug-dir"},
	{"--symbol-filter", "-S SYMBOL; in a terminal /, or \\ to keep what holds it"},
	{"--header", "ebprof info shows it"},
	{"--header-only", "ebprof info shows it"},
	{"-I", "ebprof info shows it"},
	{"--mmaps", "ebprof info --mappings lists them"},
	{"-D", "ebprof convert --perf-script prints each sample"},
	{"--dump-raw-trace", "ebprof convert --perf-script prints each sample"},
	{"-x", "ebprof convert --csv is for programs"},
	{"--field-separator", "ebprof convert --csv is for programs"},
	{"--unit", "-F value,samples,sym shows times and counts; in a terminal key %"},
	{"--units", "-F value,samples,sym shows times and counts; in a terminal key %"},
	{"--wall", "-e wall shows it, where it was recorded"},
	{"--off-cpu", "-e offcpu shows it, where it was recorded"},
	{"--show-total-period", "-F value,self,samples has it"},
	{"-w", "names stand last, in full; in a terminal key w"},
	{"--hierarchy", "-s comm,file,sym has the same rows; -g is the tree of calls"},
	{"-U", "names that are missing, and why, stand below the rows"},
	{"--hide-unresolved", "names that are missing, and why, stand below the rows"},
	{"--percentage", "the first line says what percents are of: what the options leave"},
	{"--ignore-callees", "in a terminal ! leaves stacks out"},
	{"--ignore", "in a terminal ! leaves stacks out"},
	{"--focus", "-S FUNCTION; in a terminal \\"},
	{"--tagfocus", "--label KEY=VALUE"},
	{"--tags", "-s label has a row for each set of labels"},
	{"--sample_index", "-e EVENT"},
	{"--column-widths", "columns are as wide as they must be"},
	{"--parent", "-S FUNCTION chooses stacks with a function"},
	{"--branch-history", "branches are not recorded"},
	{"--branch-stack", "branches are not recorded"},
	{"--mem-mode", "addresses of data are not recorded"},
	{"--top", "--stdio prints the hottest functions"},
	{"--text", "--stdio prints the hottest functions"},
	{"--flat", "rows are ordered by self; --children by total"},
	{"--cum", "--children orders by total"},
	{"--nodecount", "--percent-limit PERCENT"},
	{"--lines", "ebprof annotate FUNCTION has lines; -s source source files"},
	{"--list", "ebprof annotate FUNCTION"},
	{"--peek", "in a terminal key 2 has callers and callees"},
	{"--diff_base", "ebprof diff OLD NEW; in a terminal --baseline OLD"},
	{"--http", "ebprof open shows it in the browser, by a file and no server"},
	{"--web", "ebprof open shows it in the browser"},
	{"--html", "ebprof convert --html writes the page, ebprof open shows it"},
	{"--svg", "ebprof convert --svg"},
	{"--json", "ebprof convert --json"},
	{"--csv", "ebprof convert --csv"},
	{"--dot", "graphs of calls are not drawn: ebprof convert --pprof, then pprof -dot"},
	{"--raw", "ebprof convert --json has all samples"},
	{"-o", "--stdio > FILE; ebprof convert -o FILE writes other formats"},
	{"--tree", "-g"},
	{"--reverse", "-G"},
	{"--limit", "--percent-limit PERCENT"},
	{"--filter", "-S FUNCTION, -S '/EXPRESSION/', and -c, -d for threads and files"},
	{"--regex", "-S '/EXPRESSION/', and -c, -d for threads and files"},
	{"--grep", "-S '/EXPRESSION/', and -c, -d for threads and files"},
	{"--show", "-S '/EXPRESSION/', and -c, -d for threads and files"},
	{"--hide", "in a terminal ! leaves stacks out"},
	{"--traces",
		"ebprof convert --folded has a line for each stack, --perf-script each sample"},
	{"--raw-trace", "ebprof convert --perf-script prints each sample"},
	{"--samples", "ebprof convert --perf-script prints each sample"},
	{"--folded", "ebprof convert --folded"},
	{"--collapsed", "ebprof convert --folded"},
	{"--flamegraph", "ebprof open shows it in the browser; in a terminal key 4"},
	{"--gui", "ebprof open shows it in the browser"},
	{"--functions", "-s sym has functions alone"},
	{"--percent-type", "percents are of all samples; those of a function has ebprof annotate"},
	{"--disassembler-style", "ebprof annotate --intel FUNCTION"},
	{"-M", "ebprof annotate --intel FUNCTION"},
	{"--source", "ebprof annotate FUNCTION has lines; -s source source files"},
	{"--itrace", "traces of the processor are not recorded"},
	{"--exclude-other", NULL}, /* rows are those that the options choose */
	{"-m", NULL},              /* names of the kernel's modules are recorded */
	{"--modules", NULL},
	{"--objdump", NULL}, /* not called to name functions */
	{"--addr2line", NULL},
	{"-v", NULL},
	{"--verbose", NULL},
	{"--hide-call-graph", NULL},
	{"--demangle-kernel", NULL},
	{"--no-call-graph", NULL},
	{"-f", NULL}, /* whose file it is does not matter */
	{"--force", NULL},
	{"--group", NULL},
	{"--inline", NULL},
	{0},
};

/* A pid means something within its boot only. */
static void add_origin(const struct profile *profile, struct table_options *table)
{
	bool has_number = false;
	for (size_t i = 0; i < table->nr_columns; i++) {
		if (table->columns[i] == COLUMN_ORIGIN)
			return;
		has_number |= table->columns[i] == COLUMN_PID || table->columns[i] == COLUMN_TID;
	}
	if (!has_number || !profile_has_several_boots(profile))
		return;
	if (table->nr_columns == TABLE_MAX_COLUMNS)
		return;
	for (size_t i = table->nr_columns++; i > 0; i--) {
		table->columns[i] = table->columns[i - 1];
		table->label_keys[i] = table->label_keys[i - 1];
	}
	table->columns[0] = COLUMN_ORIGIN;
	table->label_keys[0] = NULL;
}

/* Where the filter leaves no sample, the event that it names, or the one that is shown unasked. */
static uint32_t event_to_show(const struct profile *profile, const struct filter *filter,
	const struct event_choices *recorded, const struct event_choices *left)
{
	if (left->list.data[left->main].samples)
		return left->list.data[left->main].event;
	for (uint32_t i = 1; filter->events.len && i < profile->events.len; i++)
		if (scope_is_event(profile->events.data[i].name, filter->events.data[0]))
			return i;
	return recorded->list.data[recorded->main].event;
}

static bool shows_table(const struct report_options *options)
{
	return !options->shows_waits && !options->shows_sums && !options->show_tree &&
	       !options->show_inverted;
}

static bool has_rows_of_functions(const struct report_options *options)
{
	const struct table_options *table = &options->table;
	for (size_t i = 0; shows_table(options) && i < table->nr_columns; i++)
		if (column_info(table->columns[i])->is_of_frame)
			return true;
	return false;
}

/* Names are missing where names are shown. */
static bool shows_functions(const struct report_options *options)
{
	const struct table_options *table = &options->table;
	bool is_table = shows_table(options);
	for (size_t i = 0; is_table && i < table->nr_columns; i++)
		if (table->columns[i] == COLUMN_SYM)
			return true;
	return !is_table;
}

/* What a column of the table is in a tree: its outermost branches. */
static const struct {
	enum column column;
	enum root_kind kind;
} roots_of_columns[] = {
	{COLUMN_COMM, ROOT_COMM},
	{COLUMN_PID, ROOT_PROCESS},
	{COLUMN_TID, ROOT_THREAD},
	{COLUMN_CPU, ROOT_CPU},
	{COLUMN_CONTAINER, ROOT_CONTAINER},
	{COLUMN_CGROUP, ROOT_CGROUP},
	{COLUMN_UNIT, ROOT_UNIT},
	{COLUMN_POD, ROOT_POD},
	{COLUMN_ORIGIN, ROOT_ORIGIN},
	{COLUMN_FILE, ROOT_FILE},
	{COLUMN_LABEL, ROOT_LABEL},
};

/* False: it is no such branch. */
static bool add_root_of_column(const struct table_options *table, size_t index, struct roots *roots)
{
	const char *key = table->label_keys[index];
	for (size_t i = 0; i < sizeof(roots_of_columns) / sizeof(*roots_of_columns); i++) {
		if (roots_of_columns[i].column != table->columns[index])
			continue;
		if (roots->count == ROOTS_MAX)
			return false;
		roots->keys[roots->count] = key ? mem_strdup(key) : NULL;
		roots->kinds[roots->count++] = roots_of_columns[i].kind;
		return true;
	}
	return table->columns[index] == COLUMN_SYM;
}

static struct err *check_columns_of_tree(const struct report_options *options)
{
	bool shows_tree = options->show_tree || options->show_inverted;
	CLEANUP(roots_deinit) struct roots roots = {0};
	for (size_t i = 0; shows_tree && i < options->nr_fields; i++)
		if (options->fields[i] == TEXT_FIELD_SAMPLES)
			return err_new(ERR_USAGE, "-F: a tree has self, total, value, total-value, "
						  "total-samples and calls");
	if (!options->chooses_columns && !options->nr_fields)
		return NULL;
	if (options->shows_waits)
		return err_new(ERR_USAGE, "--waits has rows of its own: -s and -F are of tables");
	if (options->show_inverted && options->chooses_columns)
		return err_new(ERR_USAGE, "-G begins at functions: -s with -g has its columns as "
					  "outermost branches");
	for (size_t i = 0; shows_tree && options->chooses_columns && i < options->table.nr_columns;
		i++)
		if (!add_root_of_column(&options->table, i, &roots))
			return err_new(ERR_USAGE,
				"-g: branches begin by comm, pid, tid, cpu, container, cgroup, "
				"unit, pod, origin, file and label:KEY; what else -s and -F have "
				"is of tables");
	return NULL;
}

/* Whose the branches are: as asked for; of the whole system by process, for main is not main. */
static void add_roots_of_tree(struct profile *profile, const struct report_options *options)
{
	const char *target = profile_meta(profile, LAYOUT_META_TARGET);
	CLEANUP(roots_deinit) struct roots roots = {0};
	bool is_of_system = target && strcmp(target, LAYOUT_TARGET_SYSTEM) == 0;
	for (size_t i = 0; options->chooses_columns && i < options->table.nr_columns; i++)
		add_root_of_column(&options->table, i, &roots);
	if (!options->chooses_columns && is_of_system && options->show_tree)
		roots.kinds[roots.count++] = ROOT_PROCESS;
	if (roots.count)
		roots_add(profile, &roots);
}

static void report_name_functions(
	struct profile *profile, const struct report_options *options, struct str *out)
{
	symbolize(profile, &options->select.naming.symbolize);
	refine_stacks(profile);
	wait_reasons_hide(
		profile, options->select.hidden_reasons.data, options->select.hidden_reasons.len);
	if (options->shows_wakers && !options->shows_waits && !wakers_add(profile))
		str_puts(out, "# no wakers: record -e offcpu --wakers has them\n");
}

static uint64_t value_of_choice(const struct event_choices *choices, uint32_t event)
{
	vec_each(&choices->list, choice)
		if (choice->event == event)
			return choice->value;
	return 0;
}

/* Of a short recording that may be most. */
static void put_newest_left_out(
	const struct profile *profile, uint32_t event, uint64_t value, struct str *out)
{
	str_puts(out, "# without ");
	event_value_put(&profile->events.data[event], value, false, out);
	str_printf(out, " of the last %.2f s, which may be freed yet: -e %s has them\n",
		profile_duration_s(profile) / 10, profile->events.data[event].name);
}

static void put_report(struct profile *profile, struct report_options *options, struct str *out)
{
	struct filter filter = select_filter(&options->select);
	size_t all_samples = profile->samples.len;
	struct event_choices recorded, choices;
	event_choices_init(&recorded, profile);
	filter_samples(profile, &filter);
	event_choices_init(&choices, profile);
	uint32_t event = event_to_show(profile, &filter, &recorded, &choices);
	main_event_keep(profile, event);
	bool shows_tree = options->show_tree || options->show_inverted;
	if (!has_rows_of_functions(options)) /* a table of functions filters its rows instead */
		filter_stacks(profile, &filter);
	struct text_head head = {
		.event = event,
		.choices = &recorded,
		.samples = filter_count_stacks(profile, &filter),
		.samples_before_filter = event_choices_samples(&recorded, event),
		.samples_of_all_events = all_samples,
		.is_filtered = !filter_wants_all_of_event(&filter),
		.has_percent = !options->shows_waits,
	};
	text_put_head(profile, &head, out);
	struct filter others = filter;
	others.without_newest = false;
	bool lacks_newest = options->select.leaks && filter_wants_all_of_event(&others);
	uint64_t newest = value_of_choice(&recorded, event) - value_of_choice(&choices, event);
	event_choices_deinit(&recorded);
	event_choices_deinit(&choices);
	struct text_options text = {
		.percent_limit = shows_tree && options->has_tree_limit ? options->tree_limit
								       : options->percent_limit,
		.max_depth = options->max_depth,
		.max_bytes = options->max_tree_bytes,
		.columns = console_columns(),
		.shows_most = !options->limits_percent,
		.nr_fields = options->nr_fields,
		.event = event,
		.filter = &filter,
		.is_empty = !all_samples,
		.is_event_empty = !head.samples_before_filter,
	};
	memcpy(text.fields, options->fields, sizeof(text.fields));
	if (options->shows_waits) {
		bool shows_all = options->limits_percent && options->percent_limit <= 0;
		if (!longest_waits_put(profile, shows_all ? SIZE_MAX : LONGEST_WAITS_MAX, out))
			str_puts(out, "# no waits: record -e offcpu, runq or wall has them\n");
		if (options->shows_wakers)
			str_puts(out, "# who ended them: --wakers with -g, or -s comm,waker\n");
	} else if (options->shows_sums) {
		overview_put(profile, &filter, out);
	} else if (shows_tree) {
		add_roots_of_tree(profile, options);
		text_put_tree(profile, options->show_inverted, &text, out);
	} else {
		struct table table;
		add_origin(profile, &options->table);
		table_init(&table, profile, &options->table);
		text_put_table(profile, &table, &options->table, &text, out);
		table_deinit(&table);
	}
	if (shows_functions(options))
		text_put_script_hint(profile, &filter, out);
	if (lacks_newest && newest)
		put_newest_left_out(profile, event, newest, out);
	text_put_losses(profile, event, out);
	if (shows_functions(options))
		unsymbolized_put(profile, &options->select.naming.symbolize.files, out);
}

/* Leaves the figures: of an empty table nothing. */
static void leave_out_comments(struct str *text)
{
	size_t kept = 0, len = text->len;
	for (size_t at = 0, next; at < len; at = next) {
		const char *end = memchr(text->data + at, '\n', len - at);
		next = end ? (size_t)(end - text->data) + 1 : len;
		if (text->data[at] == '#')
			continue;
		memmove(text->data + kept, text->data + at, next - at);
		kept += next - at;
	}
	str_truncate(text, kept);
}

static int report_text(struct report_options *options, const struct input *input)
{
	struct profile *profile = NULL;
	struct err *err = select_load(&options->select, input, false, &profile);
	if (err)
		return console_fail(err);
	CLEANUP(str_deinit) struct str text = {0};
	naming_begin(&options->select.naming);
	report_name_functions(profile, options, &text);
	err = select_check_functions(&options->select, input, profile);
	if (!err)
		put_report(profile, options, &text);
	if (console_is_quiet())
		leave_out_comments(&text);
	if (console_columns())
		text_cut_lines(&text, console_columns());
	console_show_end();
	/* Before the network is waited for once more. */
	int code = err ? console_fail(err) : console_print(&text);
	naming_end(&options->select.naming);
	profile_destroy(profile);
	return code;
}

static int report_in_terminal(struct report_options *options, const struct input *input)
{
	struct tui_options tui = {
		.file_name = input->name,
		.baseline = options->baseline,
		.fd = input->fd,
		.source_dirs = options->source_dirs,
		.opens_tree = options->show_tree || options->show_inverted,
		.is_inverted = options->show_inverted,
	};
	return terminal_report(&tui, &options->select);
}

/* What only a text can show asks for one, and so does what is no terminal. */
static bool wants_terminal(const struct report_options *options)
{
	bool asks_for_text = options->is_text || options->shows_sums || options->shows_waits ||
			     options->shows_wakers || options->select.hidden_reasons.len ||
			     options->chooses_columns || options->nr_fields ||
			     options->limits_percent || options->max_depth;
	bool is_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	if (!options->is_tui && (asks_for_text || !is_terminal))
		return false;
	struct err *err = tui_check();
	if (err)
		console_note("%s: text instead", err_message(err));
	err_destroy(err);
	return !err;
}

/* perf's -g takes how graphs are printed: "caller", "graph,0.5,callee". */
static struct err *check_graph_word(const struct report_options *options, const char *operand)
{
	static const char *const words[] = {
		"caller", "callee", "graph", "fractal", "flat", "folded", "none"};
	size_t len = operand && options->show_tree ? strcspn(operand, ",") : 0;
	for (size_t i = 0; len && i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i]) == len && memcmp(words[i], operand, len) == 0 &&
			access(operand, F_OK) != 0)
			return err_new(ERR_USAGE,
				"-g and its value are one word: -gcaller (callers first, as -g "
				"alone), -gcallee (as -G), --call-graph=graph,0.5,caller; "
				"without trees: no -g");
	return NULL;
}

static int report(struct report_options *options, int argc, char **argv, int rest)
{
	CLEANUP(input_deinit) struct input input = {0};
	struct err *err = check_graph_word(options, rest < argc ? argv[rest] : NULL);
	if (!err)
		err = check_columns_of_tree(options);
	if (!err)
		err = input_open_all(&options->input, argc, argv, rest, &input);
	if (err)
		return console_fail(err);
	if (wants_terminal(options))
		return report_in_terminal(options, &input);
	if (options->baseline)
		return console_fail(err_new(ERR_USAGE,
			"--baseline is shown in a terminal only, without --stdio and its kin"));
	if (!options->limits_percent && !options->max_depth)
		options->max_tree_bytes = MAX_TREE_BYTES;
	return report_text(options, &input);
}

static void report_options_deinit(struct report_options *options)
{
	vec_each(&options->label_keys, key)
		mem_free(*key);
	vec_deinit(&options->label_keys);
	vec_deinit(&options->source_dirs);
	select_deinit(&options->select);
}

static int cmd_report_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(report_options_deinit) struct report_options options = {0};
	int rest, code;
	bool begins = opt_begin(command, argc, argv, &options, &rest, &code);
	return begins ? report(&options, argc, argv, rest) : code;
}

const struct command command_report = {
	.name = "report",
	.summary = "show where the time of a recording went",
	.usage = "[OPTIONS] [FILE...]",
	.description =
		"Reads ebprof.data and shows the functions in which the time was spent, in a "
		"terminal\n"
		"with keys and mouse (? explains them), else as text. Works on any machine; "
		"functions\n"
		"are named from the binaries that are there.",
	.examples = "  ebprof report\n"
		    "  ebprof report -g --percent-limit 2 server.data\n"
		    "  ebprof report -s comm,pid\n"
		    "  ebprof report --stats\n"
		    "  ebprof report -s origin,file,sym web1.data web2.data\n"
		    "  ebprof report -c nginx -d libssl.so.3 --time 10,20\n",
	.exit_status = "  0  the recording could be read, whole or in part\n"
		       "  1  it could not; 2: wrong usage\n",
	.options = rows,
	.foreign = foreign,
	.run = cmd_report_run,
};
