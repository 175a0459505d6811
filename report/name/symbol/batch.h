/*
 * The frames of one object on their way to their functions. Asking is slow and reads only what
 * loading has made for good, so it may be done on a thread of its own; what it found is then
 * applied to the profile, which is fast. Both may be done more than once, each time better.
 */
#ifndef EBPROF_BATCH_H
#define EBPROF_BATCH_H

#include "format/base/cache.h"
#include "format/elf/elf_budget.h"
#include "report/model/profile.h"
#include "report/name/symbol/shown_names.h"
#include "report/name/symbol/symbol_file.h"
#include "report/name/symbol/symbolize.h"

/* How far to go for names, in the order in which it is done step by step. */
enum reach {
	REACH_RECORDING, /* what was captured and archived; files are not looked at */
	REACH_SYMBOLS,   /* symbol tables, and what earlier reports found out */
	REACH_FILES,     /* debug information, too */
	REACH_NETWORK,   /* debuginfod, too */
	REACH_END,
};

struct batch_place {
	uint32_t frame;
	uint64_t offset; /* of the frame */
};

struct batch {
	struct profile *profile;
	uint32_t object;
	const struct symbolize_options *options;
	const struct cache *cache, *index_cache, *name_cache;
	struct elf_budget *budget;
	VEC(struct batch_place) places;
	VEC(uint32_t) compiled;  /* frames that a runtime named when recording */
	enum reach next;         /* to be asked; REACH_END: there is no more to be had */
	struct answers archived; /* what the recording has */

	/* Of applying: */
	bool is_shown; /* somebody may look at names meanwhile: their texts have to stay */
	const struct shown_names *shown; /* of what is being applied */
	VEC(uint32_t) functions;         /* the profile's, made for this object */
	size_t nr_functions;             /* those of them that are in use */
	VEC(uint64_t) by_number; /* of an answer's text -> 1 + the newest of functions called so */
	struct map by_name;      /* the same of texts that are no answer's */
	struct map by_address;   /* -> the function of an address without a name */
	VEC(uint32_t) older;     /* for each of functions: 1 + one of the same name, or 0 */
	VEC(struct answers) outdated; /* names that somebody may still be looking at */
};

/* What asking brought. */
struct findings {
	enum reach reach;
	bool is_last; /* there will be no more */
	struct answers answers;
	struct shown_names shown; /* as far as known */
	size_t nr_archived;       /* of answers: those that the recording had */
	bool has_archived_names;  /* among them */
	struct symbol_file file;  /* closed; as symbol_file_none() where none was looked for */
	bool has_file;
	const char *symbols_from; /* static text; NULL: the file's path, or nothing */
	const char *problem;      /* static text */
	bool lacks_debug_parts, lacks_room;
};

/* Asks for batch->next, and sets it to what can be asked after that. May take very long. */
void symbolize_ask(struct batch *batch, struct findings *ret);

/* Sorts frames into the batch; called for each of its object, once. */
void batch_add(struct batch *batch, uint32_t frame);

/* Takes the findings over. On the thread that owns the profile. */
void batch_apply(struct batch *batch, struct findings *findings);

void findings_deinit(struct findings *findings);

/* The functions' names of old models go with it, unless they are the profile's by now. */
void batch_deinit(struct batch *batch);

#endif
