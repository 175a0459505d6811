/*
 * Which functions of two recordings are the same. Builds move code and clone functions, so a
 * function is known by the name of its file, without the version, and by its own name, without
 * what tells clones apart, and where one side has several of that name by the file it is in; where
 * it has no symbol, by its address in one build, and else by what it
 * takes of the program, or together with all others of its file. The programs that were recorded
 * are one, also when their files have other names.
 */
#ifndef EBPROF_FUNCTION_MATCH_H
#define EBPROF_FUNCTION_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "format/base/vec.h"
#include "report/model/profile.h"

enum match_side {
	MATCH_BASE,
	MATCH_NEW,
	MATCH_SIDES,
};

static inline enum match_side match_other_side(enum match_side side)
{
	return side == MATCH_NEW ? MATCH_BASE : MATCH_NEW;
}

struct match_object {    /* a name of objects */
	unsigned sides;  /* bits: which have it */
	uint64_t build;  /* hash of the build ID of all objects that are called so, 0: none yet */
	bool has_builds; /* they are not all of one */
	uint32_t other;  /* in place of this name; itself where there is none */
};

struct match_name {       /* of functions */
	bool lacks_file;  /* of one of them it is not known */
	uint8_t nr_parts; /* of their files' paths that tell those of one side apart; 0: none do */
};

struct function_match {
	const struct profile *profiles[MATCH_SIDES];
	struct strtab functions; /* "object\0name\0file"; the last of namesakes alone */
	struct strtab names;     /* "object\0name" */
	VEC(struct match_name) of_name;
	uint64_t seed;
	struct strtab objects; /* names */
	VEC(struct match_object) list;
	uint32_t *of[MATCH_SIDES]; /* for each object its name */
	/* Of functions without a symbol in other builds, as unnamed_match() has them; or NULL. */
	uint32_t *unnamed[MATCH_SIDES];
	struct str key;
};

/* Needs symbolized profiles, which stay the caller's and must stay. */
void function_match_init(
	struct function_match *match, const struct profile *base, const struct profile *new);
void function_match_deinit(struct function_match *match);

/*
 * What all functions have in common that are the same: ids count up from 0 as functions are asked
 * for. Each call looks at its name, so keep the answer.
 */
uint32_t function_match_id(struct function_match *match, enum match_side side, uint32_t function);
/* Its name and that of its object, as the new side has them where it does; borrowed. */
const char *function_match_name(
	const struct function_match *match, uint32_t id, const char **object);
/* Whether objects that are the same are not all of one build, as far as is known. */
bool function_match_has_builds(
	const struct function_match *match, enum match_side side, uint32_t object);
/* What objects that are the same have in common. */
uint32_t function_match_object(
	const struct function_match *match, enum match_side side, uint32_t object);

#endif
