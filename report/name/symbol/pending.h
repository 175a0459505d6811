/*
 * The frames of one object on their way to their functions. A lookup is slow and reads only
 * what loading has made for good, so it may run on a thread of its own; its result is then
 * applied to the profile, which is fast. Both may be done more than once, each time better.
 */
#ifndef EBPROF_PENDING_H
#define EBPROF_PENDING_H

#include "format/base/cache.h"
#include "format/elf/elf_budget.h"
#include "report/model/profile.h"
#include "report/name/symbol/shown_names.h"
#include "report/name/symbol/symbol_file.h"
#include "report/name/symbol/symbolize_options.h"

/* How far a lookup goes for names, step by step in this order. */
enum lookup_stage {
	LOOKUP_RECORDING, /* what was captured and archived; files are not looked at */
	LOOKUP_SYMBOLS,   /* symbol tables, and what earlier reports found out */
	LOOKUP_FILES,     /* debug information, too */
	LOOKUP_NETWORK,   /* debuginfod, too */
	LOOKUP_END,
};

struct batch_place {
	uint32_t frame;
	uint64_t offset; /* of the frame */
};

struct batch {
	struct profile *profile;
	uint32_t object;
	const struct symbolize_options *options;
	const struct cache *cache, *index_cache;
	struct elf_budget *budget;
	VEC(struct batch_place) places;
	VEC(uint32_t) compiled;  /* frames that a runtime named when recording */
	enum lookup_stage next;  /* stage; LOOKUP_END: there is no more to be had */
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

/* What a lookup found. */
struct lookup_result {
	enum lookup_stage stage;
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

/* Runs the stage batch->next, and sets it to the one that comes after it. May take very long. */
void batch_look_up(struct batch *batch, struct lookup_result *ret);

/* Sorts frames into the batch; called for each of its object, once. */
void batch_add(struct batch *batch, uint32_t frame);

/* Takes the result over. On the thread that owns the profile. */
void batch_apply(struct batch *batch, struct lookup_result *result);

void lookup_result_deinit(struct lookup_result *result);

/* The functions' names of old models go with it, unless they are the profile's by now. */
void batch_deinit(struct batch *batch);

#endif
