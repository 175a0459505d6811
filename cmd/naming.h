/* The option rows that say where names come from: the same words for report, convert, archive. */
#ifndef EBPROF_NAMING_H
#define EBPROF_NAMING_H

#include "cmd/opt.h"
#include "report/name/debugfile/debuginfod.h"
#include "report/name/symbol/symbolize_options.h"

struct process_files;

struct naming_options {
	struct symbolize_options symbolize;
	enum debuginfod_mode debuginfod;
	bool is_offline;
	/* Of the recording's processes that still run; NULL: files are where options say. */
	struct process_files *process_files;
	bool is_silent; /* the screen is in use: nothing is said, and the end does not wait */
};

opt_parse_fn naming_parse_symfs;       /* const char *: a folder that is there */
opt_parse_fn naming_parse_dir;         /* struct debug_dirs: one an option, that is there */
opt_parse_fn naming_parse_cache;       /* const char *: a folder, made if need be; "": none */
opt_parse_fn naming_parse_no_demangle; /* enum demangle_mode: none */
extern const struct opt_word naming_debuginfod_words[], naming_demangle_words[];

/* Rows to be placed among a command's own; `member` is that of its options struct. */
#define NAMING_FILE_ROWS(type, member) \
	{"symfs", 0, "DIR", naming_parse_symfs, offsetof(type, member.symbolize.files.symfs), \
		.help = "look for binaries below DIR", .group = "Symbols"}, \
		{"debug-dir", 0, "DIR", naming_parse_dir, \
			offsetof(type, member.symbolize.files.debug_dirs), \
			.help = "look for debug files in DIR first; repeatable"}, \
		{"debuginfod", 0, "*", opt_word, offsetof(type, member.debuginfod), \
			.help = "what to fetch from the servers of DEBUGINFOD_URLS", \
			.words = naming_debuginfod_words}, \
		{"offline", 0, NULL, opt_flag, offsetof(type, member.is_offline), \
			.help = "do not use the network"}, \
	{ \
		"symbol-cache", 0, "DIR", naming_parse_cache, \
			offsetof(type, member.symbolize.cache_folder), \
			.help = "where names and lines are kept, or \"none\"" \
	}

/* How they are shown. */
#define NAMING_SHOW_ROWS(type, member) \
	{"demangle", 0, "[MODE]", opt_word, offsetof(type, member.symbolize.demangle), \
		.help = "how much of a name is shown: *", .standard = "usual", \
		.words = naming_demangle_words}, \
		{"no-demangle", 0, NULL, naming_parse_no_demangle, \
			offsetof(type, member.symbolize.demangle), \
			.help = "show names as the linker has them"}, \
	{ \
		"no-inline", 0, NULL, opt_flag, offsetof(type, member.symbolize.no_inline), \
			.help = "leave out functions that were inlined" \
	}

/*
 * Files that are not at their paths are those that processes have, if the recording is of this
 * boot; unless the options say where files are. Asks debuginfod from here on for what symbols lack,
 * if that is set up and wanted; before symbols are looked for. Says on stderr how it goes.
 */
void naming_begin(struct naming_options *options);
/* Says what came of it, and ends it. False: a library's threads go on, so leave by _exit(). */
bool naming_end(struct naming_options *options);

void naming_deinit(struct naming_options *options);

#endif
