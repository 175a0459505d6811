#include "cmd/opt.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/console.h"
#include "format/base/mem.h"
#include "format/base/nearest.h"

static size_t count_rows(const struct opt *rows)
{
	size_t count = 0;
	while (rows && rows[count].long_name)
		count++;
	return count;
}

bool opt_has_optional_argument(const struct opt *row)
{
	return row->argument && row->argument[0] == '[';
}

bool opt_is_standard(const struct opt *row, const char *text)
{
	return text && text == row->standard;
}

/* ---- parsing ---- */

static bool is_word(const char *word, const char *name)
{
	size_t len = strlen(name);
	return strncmp(word, name, len) == 0 && (word[len] == '\0' || word[len] == '=');
}

enum {
	HELP_VALUE = 1000,      /* getopt's value of --help */
	FIRST_ROW_VALUE = 2000, /* ... of the rows' long names */
	FOREIGN_VALUE = 4000,   /* ... of what other profilers have */
};

/* getopt takes the beginning of a name for it: lists the names of which it may be one. */
static struct err *check_ambiguous(const struct command *command, const char *word)
{
	CLEANUP(str_deinit) struct str names = {0};
	size_t count = 0, len = strcspn(word, "=");
	for (const struct opt *row = command->options; row && row->long_name; row++)
		if (strncmp(row->long_name, word, len) == 0)
			str_printf(&names, "%s--%s", count++ ? ", " : "", row->long_name);
	if (count < 2)
		return NULL;
	return err_new(ERR_USAGE, "--%.*s is ambiguous: %s", (int)len, word, str_text(&names));
}

/* "-top": a long name of pprof's, whose letters getopt takes one by one. `words`: the word that it
 * is at, or behind. */
static struct err *meet_pprofs(const struct command *command, char *const *words, int letter)
{
	for (int back = 0; back < 2; back++) {
		const char *word = words[-back];
		if (!word || word[0] != '-' || !word[1] || !word[2] || !strchr(word, letter))
			continue;
		CLEANUP(str_deinit) struct str as_long = {0};
		str_printf(&as_long, "-%s", word);
		for (const struct opt_foreign *row = command->foreign; row && row->name; row++)
			if (row->hint && is_word(str_text(&as_long), row->name))
				return err_new(ERR_USAGE, "%s is no option here: %s", row->name,
					row->hint);
	}
	return NULL;
}

/* What getopt does not know: a letter, of a word that may have several, or a long name (0). */
static struct err *meet_unknown(
	const struct command *command, char *const *words, const char *word, int letter)
{
	bool is_long = !letter || letter >= FIRST_ROW_VALUE;
	char one[] = {'-', (char)letter, '\0'};
	if (!is_long) {
		try(meet_pprofs(command, words, letter));
		word = one;
	}
	for (const struct opt_foreign *row = command->foreign; row && row->name; row++)
		if (is_word(word, row->name))
			return row->hint ? err_new(ERR_USAGE, "%s is no option here: %s", row->name,
						   row->hint)
					 : NULL;
	if (is_word(word, "-q") || is_word(word, "--quiet"))
		return err_new(ERR_USAGE, "%s: ebprof %s prints nothing but what is asked for",
			word, command->name);
	if (is_long && word[2])
		try(check_ambiguous(command, word + 2));
	struct nearest nearest = nearest_to(word + strspn(word, "-"));
	for (size_t i = 0; is_long && i < count_rows(command->options); i++) {
		const char *name = command->options[i].long_name;
		if (is_word(word + 2, name))
			return err_new(ERR_USAGE, "--%s takes no value", name);
		nearest_offer(&nearest, name);
	}
	if (nearest.word)
		return err_new(
			ERR_USAGE, "unknown option %s: did you mean --%s?", word, nearest.word);
	return err_new(ERR_USAGE, "unknown option %s (see ebprof %s --help)", word, command->name);
}

struct getopt_tables {
	struct option *longs;
	char *shorts;
};

/*
 * The row of another profiler's long name that stands among the words as it is; NULL: there is
 * none. getopt would take one that is the beginning of ours (--source) for ours (--source-dir).
 */
static const struct opt_foreign *next_typed(const struct opt_foreign *row, int argc, char **argv)
{
	for (; row && row->name; row++)
		for (int i = 1; row->name[1] == '-' && i < argc; i++)
			if (is_word(argv[i], row->name))
				return row;
	return NULL;
}

static struct getopt_tables make_tables(
	const struct command *command, size_t count, int argc, char **argv)
{
	const struct opt *rows = command->options;
	size_t others = 0;
	for (const struct opt_foreign *row = command->foreign; row && row->name; row++)
		others++;
	struct getopt_tables tables = {
		.longs = mem_zalloc_array(2 * count + others + 2, sizeof(*tables.longs)),
	};
	struct option *next = tables.longs;
	CLEANUP(str_deinit) struct str shorts = {0};
	/* "+": stop at the first operand; ":": tell a missing argument apart */
	str_puts(&shorts, command->stops_at_operand ? "+:h" : ":h");
	for (size_t i = 0; i < count; i++) {
		const struct opt *row = &rows[i];
		const char *const names[] = {row->long_name, row->alias};
		for (int k = 0; k < 2 && names[k]; k++)
			*next++ = (struct option){
				.name = names[k],
				.has_arg = opt_has_optional_argument(row) ? optional_argument
					   : row->argument                ? 1
									  : 0,
				.val = FIRST_ROW_VALUE + (int)i,
			};
		if (!row->short_name)
			continue;
		str_putc(&shorts, row->short_name);
		str_puts(&shorts, opt_has_optional_argument(row) ? "::" : row->argument ? ":" : "");
	}
	for (const struct opt_foreign *row = command->foreign; (row = next_typed(row, argc, argv));
		row++)
		*next++ = (struct option){
			.name = row->name + 2,
			.has_arg = optional_argument,
			.val = FOREIGN_VALUE,
		};
	*next = (struct option){.name = "help", .val = HELP_VALUE};
	tables.shorts = str_steal(&shorts);
	return tables;
}

static const struct opt *opt_row_of(const struct opt *rows, size_t count, int value)
{
	if (value >= FIRST_ROW_VALUE)
		return &rows[value - FIRST_ROW_VALUE];
	for (size_t i = 0; i < count; i++)
		if (rows[i].short_name == value)
			return &rows[i];
	return NULL;
}

static struct err *apply(const struct opt *row, const char *text, void *options)
{
	struct err *err = row->parse(row, text, (char *)options + row->offset);
	return err_wrap(err, "--%s", row->long_name);
}

/* An option's argument that is the next word. One that begins as an option does is hardly the name
 * of a file (--html -o FILE), and when it is refused, its argument was forgotten (--tid -o FILE).
 */
static struct err *apply_next_word(const struct opt *row, const char *text, void *options)
{
	bool is_option = text[0] == '-' && text[1];
	if (is_option && strncmp(row->argument, "FILE", 4) == 0)
		return err_new(ERR_USAGE,
			"--%s needs the name of a file, not %s; a file of that name is ./%s",
			row->long_name, text, text);
	struct err *err = apply(row, text, options);
	if (!err || !is_option)
		return err;
	err_destroy(err);
	return err_new(ERR_USAGE, "--%s needs an argument: %s, not %s", row->long_name,
		row->argument, text);
}

static struct err *opt_parse(
	const struct command *command, int argc, char **argv, void *options, bool *wants_help)
{
	size_t count = count_rows(command->options);
	struct err *err = NULL;
	for (size_t i = 0; i < count && !err; i++)
		if (command->options[i].standard)
			err = apply(&command->options[i], command->options[i].standard, options);
	struct getopt_tables tables = make_tables(command, count, argc, argv);
	*wants_help = false;
	opterr = 0;
	optind = 1;
	while (!err && !*wants_help) {
		int value = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
		if (value == -1)
			break;
		const char *word = argv[optind - 1]; /* getopt moves operands out of the way */
		if (value == 'h' || value == HELP_VALUE)
			*wants_help = true;
		else if (value == ':')
			err = err_new(ERR_USAGE, "%s needs an argument: %s", word,
				opt_row_of(command->options, count, optopt)->argument);
		else if (value == '?' || value == FOREIGN_VALUE)
			err = meet_unknown(command, argv + optind, word, value == '?' ? optopt : 0);
		else {
			const struct opt *row = opt_row_of(command->options, count, value);
			err = optarg == word ? apply_next_word(row, optarg, options)
					     : apply(row, optarg, options);
		}
	}
	mem_free(tables.longs);
	mem_free(tables.shorts);
	return err;
}

bool opt_begin(
	const struct command *command, int argc, char **argv, void *options, int *rest, int *code)
{
	bool wants_help;
	struct err *err = opt_parse(command, argc, argv, options, &wants_help);
	*rest = optind;
	*code = err ? console_fail(err) : CONSOLE_OK;
	if (!err && wants_help)
		opt_print_help(command, stdout);
	return !err && !wants_help;
}

/* ---- showing ---- */

static void opt_put_words(const struct opt *row, const char *between, struct str *out)
{
	const char *ahead = "";
	for (const struct opt_word *word = row->words; word && word->word; word++) {
		if (word->is_unlisted)
			continue;
		str_printf(out, "%s%s", ahead, word->word);
		ahead = between;
	}
}

static void opt_expand_words(
	const struct opt *row, const char *text, size_t len, const char *between, struct str *out)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '*')
			opt_put_words(row, between, out);
		else
			str_putc(out, text[i]);
	}
}

void opt_put_argument(const struct opt *row, struct str *out)
{
	bool is_optional = opt_has_optional_argument(row);
	if (!row->argument)
		return;
	size_t len = strlen(row->argument) - 2 * is_optional;
	opt_expand_words(row, row->argument + is_optional, len, "|", out);
}

void opt_put_help(const struct opt *row, struct str *out)
{
	const char *least = row->least, *most = row->most;
	opt_expand_words(row, row->help, strlen(row->help), ", ", out);
	if (!row->standard && !least && !most)
		return;
	str_printf(out, " (%s%s", row->standard ? row->standard : "",
		row->standard && (least || most) ? "; " : "");
	if (least && most)
		str_printf(out, "%s to %s", least, most);
	else if (least || most)
		str_printf(out, least ? "at least %s" : "at most %s", least ? least : most);
	str_putc(out, ')');
}

enum {
	HELP_COLUMN = 30,
	HELP_END = 100,
};

/* Behind what stands in front of column HELP_COLUMN. */
static void print_wrapped(const char *text, FILE *out)
{
	size_t column = HELP_COLUMN;
	while (*text) {
		size_t len = strcspn(text, " ");
		bool is_first = column == HELP_COLUMN;
		if (!is_first && column + 1 + len > HELP_END) {
			fprintf(out, "\n%*s", HELP_COLUMN, "");
			column = HELP_COLUMN;
		} else if (!is_first) {
			fputc(' ', out);
			column++;
		}
		fwrite(text, 1, len, out);
		column += len;
		text += len + (text[len] == ' ');
	}
}

static void opt_print_row(const struct opt *row, FILE *out)
{
	CLEANUP(str_deinit) struct str left = {0}, help = {0};
	if (row->short_name)
		str_printf(&left, "  -%c, ", row->short_name);
	else
		str_puts(&left, "      ");
	str_printf(&left, "--%s", row->long_name);
	bool is_optional = opt_has_optional_argument(row);
	str_puts(&left, is_optional ? "[=" : row->argument ? " " : "");
	opt_put_argument(row, &left);
	str_puts(&left, is_optional ? "]" : "");
	opt_put_help(row, &help);
	fprintf(out, "%-*s", HELP_COLUMN - 1, str_text(&left));
	if (left.len >= HELP_COLUMN - 1)
		fprintf(out, "\n%*s", HELP_COLUMN - 1, "");
	fputc(' ', out);
	print_wrapped(str_text(&help), out);
	fputc('\n', out);
}

void opt_print_help(const struct command *command, FILE *out)
{
	fprintf(out, "Usage: ebprof %s %s\n\n%s\n", command->name, command->usage,
		command->description);
	if (command->examples)
		fprintf(out, "\nExamples:\n%s", command->examples);
	for (const struct opt *row = command->options; row && row->long_name; row++) {
		if (row->group)
			fprintf(out, "\n%s:\n", row->group);
		opt_print_row(row, out);
	}
	if (command->exit_status)
		fprintf(out, "\nExit status:\n%s", command->exit_status);
}

void opt_print_rows(const struct command *command, FILE *out)
{
	for (const struct opt *row = command->options; row && row->long_name; row++) {
		CLEANUP(str_deinit) struct str argument = {0}, help = {0};
		char short_name[2] = {row->short_name ? row->short_name : '-', '\0'};
		opt_put_argument(row, &argument);
		opt_put_help(row, &help);
		fprintf(out, opt_has_optional_argument(row) ? "%s\t%s\t[%s]\t" : "%s\t%s\t%s\t",
			short_name, row->long_name, row->argument ? str_text(&argument) : "-");
		fprintf(out, "%s\n", str_text(&help));
	}
}

/* ---- parsers: flags and texts ---- */

struct err *opt_flag(const struct opt *row, const char *text, void *member)
{
	(void)row;
	(void)text;
	*(bool *)member = true;
	return NULL;
}

struct err *opt_quiet(const struct opt *row, const char *text, void *member)
{
	(void)row;
	(void)text;
	(void)member;
	console_be_quiet();
	return NULL;
}

struct err *opt_clear(const struct opt *row, const char *text, void *member)
{
	(void)row;
	(void)text;
	*(bool *)member = false;
	return NULL;
}

struct err *opt_string(const struct opt *row, const char *text, void *member)
{
	(void)row;
	*(const char **)member = text;
	return NULL;
}

struct err *opt_cache_folder(const struct opt *row, const char *text, void *member)
{
	return opt_string(row, strcmp(text, "none") == 0 ? "" : text, member);
}

/* ---- parsers: words ---- */

struct err *opt_find_word(const struct opt *row, const char *text, size_t len, uint32_t *ret)
{
	for (const struct opt_word *word = row->words; word->word; word++) {
		if (strlen(word->word) != len || memcmp(word->word, text, len) != 0)
			continue;
		*ret = word->value;
		return NULL;
	}
	CLEANUP(str_deinit) struct str words = {0};
	opt_put_words(row, ", ", &words);
	return err_new(ERR_USAGE, "\"%.*s\" is none of %s", (int)len, text, str_text(&words));
}

struct err *opt_word(const struct opt *row, const char *text, void *member)
{
	uint32_t *value = member; /* what enums are stored as */
	if (!text)
		text = row->standard;
	return opt_find_word(row, text, strlen(text), value);
}

/* ---- parsers: numbers ---- */

struct unit {
	const char *suffix;
	double factor;
};

/* How a kind of numbers is written: with one of the suffixes, each of which is a factor. */
struct scale {
	const char *what;
	const struct unit *units;
};

static const struct scale
	whole_scale = {"a whole number", (const struct unit[]){{"", 1}, {NULL, 0}}},
	number_scale = {"a number", (const struct unit[]){{"", 1}, {NULL, 0}}},
	size_scale = {"a size such as 64K, 10M or 2G",
		(const struct unit[]){{"", 1}, {"B", 1}, {"K", 1024}, {"KB", 1024}, {"KiB", 1024},
			{"M", 1 << 20}, {"MB", 1 << 20}, {"MiB", 1 << 20}, {"G", 1 << 30},
			{"GB", 1 << 30}, {"GiB", 1 << 30}, {NULL, 0}}},
	duration_scale = {"a time such as 5, 2.5s, 300ms or 1m",
		(const struct unit[]){{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"m", 60e9},
			{"h", 3600e9}, {"d", 86400e9}, {NULL, 0}}},
	milliseconds_scale = {"a number of milliseconds",
		(const struct unit[]){{"", 1e6}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}}},
	percent_scale = {"a percentage", (const struct unit[]){{"", 1}, {"%", 1}, {NULL, 0}}};

/* *ret is the number times its factor. */
static struct err *parse_scaled(const char *text, const struct scale *scale, double *ret)
{
	char *end;
	double value = strtod(text, &end);
	bool is_number = end != text && (isdigit((unsigned char)*text) || *text == '.');
	for (const struct unit *unit = scale->units; is_number && unit->suffix; unit++) {
		if (strcasecmp(end, unit->suffix) == 0 && value * unit->factor < 1.8e19) {
			*ret = value * unit->factor;
			return NULL;
		}
	}
	return err_new(ERR_USAGE, "\"%s\" is not %s", text, scale->what);
}

static struct err *opt_check_limits(
	const struct opt *row, const char *text, const struct scale *scale, double value)
{
	double least = value, most = value;
	if (row->least)
		try(parse_scaled(row->least, scale, &least));
	if (row->most)
		try(parse_scaled(row->most, scale, &most));
	if (value >= least && value <= most)
		return NULL;
	if (row->least && row->most)
		return err_new(
			ERR_USAGE, "\"%s\" is not between %s and %s", text, row->least, row->most);
	if (row->least)
		return err_new(ERR_USAGE, "\"%s\" is less than %s", text, row->least);
	return err_new(ERR_USAGE, "\"%s\" is more than %s", text, row->most);
}

static struct err *parse_limited(
	const struct opt *row, const char *text, const struct scale *scale, double *ret)
{
	double value;
	try(parse_scaled(text, scale, &value));
	try(opt_check_limits(row, text, scale, value));
	*ret = value;
	return NULL;
}

/* All bits of a large number count, more than a double has. */
struct err *opt_u64(const struct opt *row, const char *text, void *member)
{
	char *end;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return err_new(ERR_USAGE, "\"%s\" is not %s", text, whole_scale.what);
	try(opt_check_limits(row, text, &whole_scale, (double)value));
	*(uint64_t *)member = value;
	return NULL;
}

struct err *opt_u32(const struct opt *row, const char *text, void *member)
{
	uint64_t value = 0;
	try(opt_u64(row, text, &value));
	if (value > UINT32_MAX)
		return err_new(ERR_USAGE, "%s is too large", text);
	*(uint32_t *)member = (uint32_t)value;
	return NULL;
}

struct err *opt_number(const struct opt *row, const char *text, void *member)
{
	return parse_limited(row, text, &number_scale, member);
}

static struct err *parse_scaled_u64(
	const struct opt *row, const char *text, const struct scale *scale, uint64_t *ret)
{
	double value;
	try(parse_limited(row, text, scale, &value));
	*ret = (uint64_t)value;
	return NULL;
}

struct err *opt_size(const struct opt *row, const char *text, void *member)
{
	return parse_scaled_u64(row, text, &size_scale, member);
}

struct err *opt_duration(const struct opt *row, const char *text, void *member)
{
	return parse_scaled_u64(row, text, &duration_scale, member);
}

struct err *opt_milliseconds(const struct opt *row, const char *text, void *member)
{
	return parse_scaled_u64(row, text, &milliseconds_scale, member);
}

struct err *opt_percent(const struct opt *row, const char *text, void *member)
{
	double value;
	try(parse_limited(row, text, &percent_scale, &value));
	if (value > 100)
		return err_new(ERR_USAGE, "%s is more than 100%%", text);
	*(double *)member = value;
	return NULL;
}

/* "7" or "3-5" */
static struct err *parse_range(
	const struct opt *row, const char *text, uint32_t *first, uint32_t *last)
{
	enum {
		MAX_SPAN = 65536
	};
	const char *dash = strchr(text, '-');
	CLEANUP_FREE char *copy = mem_strndup(text, dash ? (size_t)(dash - text) : strlen(text));
	try(opt_u32(row, copy, first));
	*last = *first;
	if (dash)
		try(opt_u32(row, dash + 1, last));
	if (*last < *first || *last - *first >= MAX_SPAN)
		return err_new(ERR_USAGE, "\"%s\" is not a range", text);
	return NULL;
}

struct err *opt_u32_list(const struct opt *row, const char *text, void *member)
{
	struct opt_u32_list *list = member;
	CLEANUP_FREE char *copy = mem_strdup(text);
	char *rest = copy;
	for (char *word; (word = strsep(&rest, ","));) {
		uint32_t first = 0, last = 0;
		try(parse_range(row, word, &first, &last));
		for (uint64_t value = first; value <= last; value++)
			vec_push(list, (uint32_t)value);
	}
	return NULL;
}

struct err *opt_running_list(const struct opt *row, const char *text, void *member)
{
	if (isalpha((unsigned char)text[0]))
		return err_new(ERR_USAGE,
			"\"%s\" is no number: pgrep -x %s prints those of what is called so", text,
			text);
	if (!text[0])
		return err_new(
			ERR_USAGE, "there is no number: did pgrep find nothing that is called so?");
	return opt_u32_list(row, text, member);
}
