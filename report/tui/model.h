/*
 * What the views draw: a recording, named as far as it could be until now, seen through the
 * filters. The worker makes a new one whenever any of that changes; once made it never changes, and
 * its holders may read it on any thread. Of the profile itself only what symbolizing leaves
 * alone may be read beside it: samples, stacks, threads, processes, events, meta.
 */
#ifndef EBPROF_MODEL_H
#define EBPROF_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "report/analyse/roots.h"
#include "report/analyse/scope.h"
#include "report/analyse/stack_counts.h"
#include "report/analyse/tasks.h"
#include "report/analyse/timeline.h"
#include "report/analyse/tree.h"
#include "report/compare/compare.h"
#include "report/model/main_event.h"
#include "report/model/pattern.h"
#include "report/model/slice.h"
#include "report/model/word_sort.h"
#include "report/name/demangle/demangle.h"
#include "report/name/listing/annotation.h"

/* How far the symbols are: objects. */
struct naming {
	unsigned named, to_name; /* 0: that is over */
	bool is_fetching;        /* those that are left wait for the network */
};

/* How names are written; what is one function or one object stays the same. */
struct model_look {
	enum demangle_mode demangle; /* USUAL: as they were loaded */
	bool has_paths;              /* of objects, instead of their last parts */
};

/* What samples are grouped by. */
enum grouping {
	GROUPING_USUAL, /* processes where all of a system was recorded, else nothing */
	GROUPING_NONE,
	GROUPING_PROCESS,
	GROUPING_THREAD,
	GROUPING_CONTAINER,
	GROUPING_FILE,
	GROUPING_EVENT,
	GROUPINGS,
};

/* What the person wants to see. */
struct model_wish {
	unsigned serial; /* grows with each */
	struct scope scope;
	uint32_t event; /* 0: the main one */
	char *search;   /* owned; NULL or "": nothing is searched for */
	bool hides_inlined;
	/* See report/analyse/hidden_frames.h: */
	bool hides_native;
	bool hides_kernel;
	enum grouping grouping;   /* of one recording: where there is a baseline, by nothing */
	uint32_t annotated;       /* a frame of the function whose lines are wanted; 0: none */
	char *baseline;           /* owned: the file to compare with; NULL: none */
	unsigned baseline_serial; /* grows each time it is to be read (again) */
	bool is_swapped;          /* what is open is "before", the baseline "new" */
	uint32_t retried;         /* the object whose symbols are to be looked for again */
	unsigned retry_serial;    /* grows with each; 0: none */
	struct model_look look;
};

void model_wish_copy(struct model_wish *to, const struct model_wish *from);
void model_wish_deinit(struct model_wish *wish);

/* Names and the tree of them: made again when symbols arrive. Copies of the profile's tables. */
struct model_names {
	atomic_uint references;
	unsigned serial; /* of symbols */
	bool hides_inlined;
	bool hides_native;
	bool hides_kernel;
	bool has_scripts, has_kernel; /* among the frames */
	bool has_languages;           /* scripts of several */
	uint8_t *kinds;               /* of each function, an enum frame_kind */
	struct profile *shortened;    /* of hidden_frames_beside(); NULL: there is no need */
	enum grouping grouping;       /* not GROUPING_USUAL */
	struct planted *groups_of;    /* the tree's stacks; NULL: by nothing */
	struct model_look look;
	struct strtab written; /* names that are other ones than the profile's */
	VEC(struct profile_function) functions;
	VEC(struct profile_frame) frames;
	VEC(struct profile_object)
	objects;          /* borrow from the profile; their chains are not here */
	uint32_t *groups; /* function -> the one that stands for all of its name and object */
	struct event_choices events; /* that the recording has samples of */
	struct tree tree;            /* without a node in names that are flat */
	struct diff_tree *diff; /* two recordings' names: owns the tables and the tree; or NULL */
};

/* With the baseline. */
struct comparison {
	unsigned serial; /* of the wish for it */
	char *path;
	char *problem;    /* why there is nothing to compare with; NULL: there is */
	struct str notes; /* foreign text: why they are hard to compare; each ends with "; " */
	enum match_side own_side; /* that the model's recording is; the baseline is the other */
	size_t nr_left_out; /* filters that mean nothing in another recording: threads, times */
	struct compare compare;
	struct model *both; /* of both: no more than names, weights, matches; held */
	struct tree_weight *sides[MATCH_SIDES]; /* of its tree */
};

struct model {
	atomic_uint references;
	unsigned wish_serial; /* of the wish that this fulfils */
	bool is_flat;         /* there is the slice, the functions and their names: no more yet */
	const struct profile *profile;
	uint32_t event; /* whose samples these are */
	struct model_names *names;
	/* The model that owns what follows, up to `tasks`, and is nothing else: models share it as
	 * long as names, event and samples stay the same. NULL: the model itself does. */
	struct model *sums;
	struct scope scope; /* of sums: which samples these are of */
	struct slice slice;
	struct tree_weight *weights; /* of the tree's nodes */
	struct function_weights functions;
	struct function_weights of_groups; /* of each by itself; empty where there are none */
	uint64_t unnamed;                  /* self of functions without a name */
	bool names_follow;                 /* more are looked for: a later model has them */
	bool *matches;                     /* by function; NULL: nothing is searched for */
	size_t nr_matches;                 /* functions and groups */
	struct slice_sum matched;          /* samples with a match in their stack */
	struct timeline timeline;          /* over what the filters leave of the time */
	struct tasks tasks;
	struct stack_counts stacks;
	struct annotation *annotation; /* of the function that was wished for, or NULL */
	struct comparison *comparison; /* NULL: there is no baseline, or it is being read */
};

/* The event that the wish is for. */
uint32_t model_names_event(const struct model_names *names, const struct model_wish *wish);

/* Copies the names as they are. Call on the thread that symbolizes. */
struct model_names *model_names_create(
	const struct profile *profile, unsigned serial, bool hides_inlined);
/*
 * ... with what is wished to be hidden, and grouped by what is wished: that adds to the profile's
 * frames and functions. Of a profile that model_reserve_groups() was called for.
 */
struct model_names *model_names_create_for(struct profile *profile, unsigned serial,
	const struct model_wish *wish, struct root_frames *roots);
/* Before there is a model of the profile, whose objects stay where they are from then on. */
void model_reserve_groups(struct profile *profile, struct root_frames *roots);
/* Whether they hide what is wished, and no more, and are grouped by what is wished. */
bool model_names_are_for(const struct profile *profile, const struct model_names *names,
	const struct model_wish *wish);
/* What samples are grouped by in a model of that wish: never GROUPING_USUAL. */
enum grouping model_grouping(const struct profile *profile, const struct model_wish *wish);
/* "process"; NULL: of none, or the usual one. */
const char *model_grouping_word(enum grouping grouping);
/* The same without a tree, for model_create_flat(). */
struct model_names *model_names_create_flat(const struct profile *profile, unsigned serial);
/* The stacks that are seen under these names, of the profile that they were made of. */
struct scope_stacks model_names_stacks(
	const struct model_names *names, const struct profile *profile);
/* Writes them as the look wants it, once, before a view shows them. */
void model_names_write(struct model_names *names, const struct model_look *look);
struct model_names *model_names_hold(struct model_names *names);
void model_names_release(struct model_names *names);

/* Which functions are searched for; nothing when that is no expression. */
void model_find_matches(struct model *model, const char *search);

/* NULL when it was cancelled. The names are held. */
struct model *model_create(const struct profile *profile, struct model_names *names,
	const struct model_wish *wish, const atomic_bool *is_cancelled);
/* The same by the sums of a former model, which are shared where they are those of this one, too;
 * NULL: there are none. */
struct model *model_renew(struct model *former, const struct profile *profile,
	struct model_names *names, const struct model_wish *wish, const atomic_bool *is_cancelled);
/*
 * What can be seen at once of all samples: functions, without the call tree and all that depends on
 * it. NULL: the wish is for more than that, or this profile needs the tree. `slice`, of all
 * samples of the main event, becomes the model's.
 */
struct model *model_create_flat(const struct profile *profile, struct model_names *names,
	const struct model_wish *wish, struct slice *slice);
struct model *model_hold(struct model *model);
/* NULL is safe. */
void model_release(struct model *model);

/* The function, one of those that stand for others, that a frame belongs to; 0: to none. */
uint32_t model_function_of(const struct model *model, uint32_t frame);
const struct profile_function *model_function(const struct model *model, uint32_t function);
const struct profile_object *model_object(const struct model *model, uint32_t object);
/* Of the elements of `functions`, the hottest first; as long as there is the model. */
struct word_order model_hottest_first(const struct model *model);
/* The profile by the model's names: its own may be changing. Borrows both. */
struct profile model_profile_with_names(const struct model *model);

#endif
