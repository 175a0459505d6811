/*
 * Finds out what stands at the pending addresses of one object: from the recording, from what
 * earlier reports kept, from the object's files, from servers. A lookup is slow and reads only what
 * loading has made for good, so it may run on a thread of its own.
 */
#ifndef EBPROF_LOOKUP_H
#define EBPROF_LOOKUP_H

#include "format/file/chain_map.h"
#include "report/name/symbol/shown_names.h"
#include "report/name/symbol/symbol_file.h"

struct pending;

/* How far a lookup goes for names, step by step in this order. */
enum lookup_stage {
	LOOKUP_RECORDING, /* what was captured and archived; files are not looked at */
	LOOKUP_SYMBOLS,   /* symbol tables, and what earlier reports found out */
	LOOKUP_FILES,     /* debug information, too */
	LOOKUP_NETWORK,   /* debuginfod, too */
	LOOKUP_END,
};

/* What a lookup found. */
struct lookup_result {
	enum lookup_stage stage;
	bool is_last; /* there will be no more */
	struct chain_map chains;
	struct shown_names shown; /* as far as known */
	size_t nr_archived;       /* of the chains: those that the recording had */
	bool has_archived_names;  /* among them */
	struct symbol_file file;  /* closed; as symbol_file_none() where none was looked for */
	bool has_file;
	const char *symbols_from; /* static text; NULL: the file's path, or nothing */
	const char *problem;      /* static text */
	bool lacks_debug_parts, lacks_room;
};

/* Runs the stage pending->next, and sets it to the one that comes after it. May take very long. */
void lookup_run(struct pending *pending, struct lookup_result *ret);
void lookup_result_deinit(struct lookup_result *result);

#endif
