/*
 * The sets of labels that samples have. A set is an index of profile->labels: its own label and
 * those of the set that it is added to. Of two labels with one key the first that is met counts.
 */
#ifndef EBPROF_LABEL_SETS_H
#define EBPROF_LABEL_SETS_H

#include "format/base/str.h"
#include "report/model/profile.h"

/*
 * The labels of a set, the last added first, each key once. The indices are those of
 * profile->labels.
 *
 *   struct label_walk walk = label_walk(profile, sample->labels);
 *   for (uint32_t label; (label = label_walk_next(&walk));)
 */
struct label_walk {
	const struct profile *profile;
	uint32_t set, next;
};

struct label_walk label_walk(const struct profile *profile, uint32_t set);
uint32_t label_walk_next(struct label_walk *walk);

/* The key that a word of the command line stands for, "label:KEY" or "span"; NULL: none. It begins
 * in the word, or is constant: `*len` is that of the key. */
const char *label_key_of_word(const char *word, size_t *len);

/* The label of a set that has the key; 0: there is none. */
uint32_t label_sets_find(const struct profile *profile, uint32_t set, const char *key);
/* The same for each set of the profile; to be freed with mem_free(). */
uint32_t *label_sets_find_all(const struct profile *profile, const char *key);
/* Appends the value as text, not escaped. That of a place is its function's name, once symbolized.
 */
void label_put_value(const struct profile *profile, uint32_t label, struct str *out);
/* Whether that text is `value`. */
bool label_has_value(const struct profile *profile, uint32_t label, const char *value);
/* Appends all of the set, the first added first: "user=alice, path=/". Nothing for the empty one.
 */
void label_sets_put(const struct profile *profile, uint32_t set, struct str *out);

#endif
