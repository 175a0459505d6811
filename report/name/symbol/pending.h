/*
 * The frames of one object that wait for their functions. Lookups (lookup.h) find these out, on
 * any thread; their results are applied to the profile here, which is fast. Both may be done more
 * than once, each time better.
 */
#ifndef EBPROF_PENDING_H
#define EBPROF_PENDING_H

#include "format/base/cache.h"
#include "format/elf/elf_budget.h"
#include "report/model/profile.h"
#include "report/name/symbol/lookup.h"
#include "report/name/symbol/symbolize_options.h"

struct pending_place {
	uint32_t frame;
	uint64_t offset; /* of the frame */
};

struct pending {
	struct profile *profile;
	uint32_t object;
	const struct symbolize_options *options;
	const struct cache *cache, *index_cache;
	struct elf_budget *budget;
	VEC(struct pending_place) places;
	VEC(uint32_t) compiled;    /* frames that a runtime named when recording */
	enum lookup_stage next;    /* of lookups; LOOKUP_END: there is no more to be had */
	struct chain_map archived; /* what the recording has */

	/* Of applying: */
	bool is_shown; /* a view may show names meanwhile: their texts have to stay */
	const struct shown_names *shown; /* of what is being applied */
	VEC(uint32_t) functions;         /* the profile's, made for this object */
	size_t nr_functions;             /* those of them that are in use */
	VEC(uint64_t) by_number; /* of a kept text -> 1 + the newest of functions called so */
	struct map by_name;      /* the same of texts that are in no chain map */
	struct map by_address;   /* -> the function without a name that begins there */
	struct map by_unknown;   /* -> the function of an address of which nothing is known */
	VEC(uint32_t) older;     /* for each of functions: 1 + one of the same name, or 0 */
	VEC(struct chain_map) outdated; /* names that a view may still show */
};

/* Adds a frame of the object, each once. */
void pending_add(struct pending *pending, uint32_t frame);

/* Takes the result over. On the thread that owns the profile. */
void pending_apply(struct pending *pending, struct lookup_result *result);

/* The functions' names of old models go with it, unless they are the profile's by now. */
void pending_deinit(struct pending *pending);

#endif
