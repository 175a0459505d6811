/*
 * Command-line options as rows. A row binds an option to a member of the
 * command's options struct; parsing, --help, the completion script and the
 * check of the man pages all come from the same rows.
 */
#ifndef EBPROF_OPT_H
#define EBPROF_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/base/vec.h"

struct opt;

/*
 * Stores what the text says into the member; `text` is NULL where an optional argument is left out.
 * Words and limits are those of the row.
 */
typedef struct err *opt_parse_fn(
	const struct opt *row, const char *text, void *member) ERR_MUST_CHECK;

/* A word that an option takes, and what it stands for. */
struct opt_word {
	const char *word; /* NULL ends the words */
	uint32_t value;
	bool is_unlisted; /* taken, but not in help, completion and error messages */
};

struct opt {
	const char *long_name; /* NULL ends the rows */
	char short_name;       /* 0: none */
	const char *argument;  /* as help shows it; NULL: a flag, "[...]": optional */
	opt_parse_fn *parse;
	size_t offset;                /* of the member */
	const char *help;             /* a "*" here and in `argument` stands for the words */
	const char *group;            /* heading; NULL: that of the row above */
	const char *alias;            /* another long name, which only man pages tell; or NULL */
	const char *standard;         /* parsed where the option is not given; NULL: nothing */
	const char *least, *most;     /* of a number, as the user types them; NULL: no limit */
	const struct opt_word *words; /* NULL: none */
};

/* An option of another profiler, of perf mostly, that is none here. */
struct opt_foreign {
	const char *name; /* as typed: "--foo" or "-x"; NULL ends the rows */
	const char *hint; /* it is refused with this; NULL: what it asks for is so anyway */
};

struct command {
	const char *name, *summary;
	const char *usage;       /* behind the name */
	const char *description; /* a paragraph */
	const char *examples;    /* lines */
	const char *exit_status; /* lines */
	const struct opt *options;
	const struct opt_foreign *foreign;
	bool stops_at_operand;  /* what follows the first operand is not ours (a command's options)
				 */
	bool explains_commands; /* its operand is the name of a command, for completion */
	int (*run)(const struct command *command, int argc, char **argv); /* exit code */
};

/*
 * Parses argv[1..] into `options`, which holds what options that have no standard begin with; *rest
 * is the index of the first operand (operands are moved behind the options unless the command stops
 * at them). False: the command ends here with *code; help was asked for, or something is wrong,
 * which was said on stderr.
 */
bool opt_begin(
	const struct command *command, int argc, char **argv, void *options, int *rest, int *code);
void opt_print_help(const struct command *command, FILE *out);
/* The options of one command as lines "short TAB long TAB argument TAB help". */
void opt_print_rows(const struct command *command, FILE *out);
/* Appends the argument as help shows it, without the brackets of an optional one. */
void opt_put_argument(const struct opt *row, struct str *out);
/* Appends the help, with what holds where the option is not given, and its limits. */
void opt_put_help(const struct opt *row, struct str *out);
bool opt_has_optional_argument(const struct opt *row);

/* ---- parsers ---- */

opt_parse_fn opt_flag;         /* bool: true */
opt_parse_fn opt_clear;        /* bool: false */
opt_parse_fn opt_quiet;        /* no member: console_be_quiet() */
opt_parse_fn opt_string;       /* const char * (borrowed) */
opt_parse_fn opt_cache_folder; /* const char *: a folder, or "none", which becomes "" */
opt_parse_fn opt_u32;          /* uint32_t */
opt_parse_fn opt_u64;          /* uint64_t */
opt_parse_fn opt_number;       /* double */
opt_parse_fn opt_size;         /* uint64_t bytes: 64K, 10M, 2G (binary) */
opt_parse_fn opt_milliseconds; /* uint64_t ns */
opt_parse_fn opt_duration;     /* uint64_t ns: 5, 2.5s, 300ms, 1m, 1h; bare numbers are seconds */
opt_parse_fn opt_percent;      /* double */
opt_parse_fn opt_word;         /* an enum: one of the words; without an argument the standard */

/* The value of the first `len` bytes of the text, which ERR_USAGE says are none of the words. */
struct err *opt_find_word(
	const struct opt *row, const char *text, size_t len, uint32_t *ret) ERR_MUST_CHECK;
/* Whether a parser gets the row's standard, because the user did not give the option. */
bool opt_is_standard(const struct opt *row, const char *text);

struct opt_u32_list {
	uint32_t *data;
	size_t len, cap;
};
opt_parse_fn opt_u32_list; /* struct opt_u32_list: 1,3-5; repeatable */
/* The same, of tasks that run; a name is refused with what finds their numbers. */
opt_parse_fn opt_running_list;

struct opt_string_list {
	const char **data;
	size_t len, cap;
};

#endif
