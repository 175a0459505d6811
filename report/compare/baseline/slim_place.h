/*
 * The places in code that a baseline keeps. Addresses of which the same is known, the same
 * functions inlined into each other at the same lines, become one: a baseline is compared by
 * functions and lines, never by instructions, and they are the largest part of a recording.
 */
#ifndef EBPROF_SLIM_PLACE_H
#define EBPROF_SLIM_PLACE_H

#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/chain.h"
#include "report/model/profile.h"

struct slim_place {
	uint32_t object;   /* of the profile; 0: a mark where a stack is cut */
	uint32_t frame;    /* of the profile: one that it stands for; 0: a mark */
	uint32_t function; /* of the profile: the innermost there */
	uint64_t offset;   /* no other place has it in the object; of a mark the cause */
	bool is_bare;      /* its function is all that is kept of it */
	/* The samples that were taken right there, and of a bare one all of its function. */
	uint64_t self_samples;
};

struct slim_places {
	const struct profile *profile;
	VEC(struct slim_place) list; /* 0: none */
	/* private: */
	VEC(uint32_t) of_frames; /* of the profile -> place; 0: not asked for yet */
	struct strtab known;     /* what is known of places */
	VEC(uint32_t) of_known;  /* -> place */
	struct strtab taken;     /* object, offset */
	struct map of_functions; /* of the profile -> bare place */
	uint32_t mark;           /* 0: not asked for yet */
};

/* `profile` is symbolized, and outlives them. */
void slim_places_init(struct slim_places *places, const struct profile *profile);
void slim_places_deinit(struct slim_places *places);

/* The place of a recorded frame; 0: damage took it. */
uint32_t slim_places_of_frame(struct slim_places *places, uint32_t frame);
/* The place that tells no more than the innermost function of this one; a mark is its own. */
uint32_t slim_places_bare(struct slim_places *places, uint32_t place);
/* What says that frames were left out here. */
uint32_t slim_places_mark(struct slim_places *places);

/* What is known of it, which is nothing where a runtime described the code when recording: see its
 * code. */
struct chain slim_places_chain(
	const struct slim_places *places, const struct slim_place *place, struct chain_frame *bare);
/* NULL: no runtime described it. */
const struct profile_code *slim_places_code(
	const struct slim_places *places, const struct slim_place *place);

#endif
