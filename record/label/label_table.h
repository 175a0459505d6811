/*
 * The sets of labels that a session's samples have, each once: a set is a label and the set that it
 * is added to, so sets share what they have in common, as stacks do. Set 0 is the empty one.
 *
 * What a program has of them is bounded: a label with one value too many of its key, one too long
 * for the memory that is left, and a set too many are left out, and samples that lack them counted.
 */
#ifndef EBPROF_LABEL_TABLE_H
#define EBPROF_LABEL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/base/str.h"
#include "format/base/vec.h"
#include "format/file/layout.h"
#include "record/label/process_contexts.h"
#include "record/task/process.h"

enum {
	LABEL_TABLE_MAX_SETS = 1 << 19,
	LABEL_TABLE_MAX_TEXT_BYTES = 32 << 20,
	LABEL_TABLE_MAX_VALUES = 1 << 18, /* of one key: each sample may be of another span */
	LABEL_TABLE_KEPT_PART = 8,        /* of each: what is more does not stay for another file */
};

struct label_place {     /* the value of a label of kind LAYOUT_LABEL_PLACE */
	uint64_t serial; /* of its object */
	uint64_t offset;
};

struct label_set {
	uint32_t rest;
	uint32_t key, value; /* of `texts`; the value is the text, or bytes of a number or place */
	enum layout_label_kind kind;
	uint32_t file_id, file_epoch; /* see emitter.h */
};

struct label_table {
	struct process_table *processes;   /* borrowed: whose code places are in */
	struct process_contexts *contexts; /* borrowed: which have the keys of threads */
	struct strtab texts;
	size_t text_bytes;
	VEC(struct label_set) sets; /* 0: the empty one, once there is another */
	struct map values;          /* key << 32 | value, that there are */
	struct map nr_values;       /* key -> of how many values */
	struct map labels;          /* kind << 62 | key << 31 | value -> a number of this label */
	struct map by_label;        /* rest << 32 | that number -> set */
	struct map by_hash;         /* what the BPF side calls sets -> set, is_short << 32 */
	uint32_t epoch;             /* numbers of sets hold in one */
	bool is_forgotten;          /* what is in by_hash has to come again */
};

void label_table_deinit(struct label_table *table);

/* Labels that the BPF side has sent. */
void label_table_take(struct label_table *table, const struct event_labels *event, size_t len);
/* The set that it calls so; 0: it never came. `*is_short`: some of its labels were left out. */
uint32_t label_table_find(const struct label_table *table, uint64_t hash, bool *is_short);

/*
 * The set with this label more. The same set again where there is no room for the label. `bytes`
 * are the text, a uint64_t, or a struct label_place.
 */
uint32_t label_table_add(struct label_table *table, uint32_t rest, const char *key, size_t key_len,
	enum layout_label_kind kind, const void *bytes, size_t len);

/* The set with all labels of another one more, which go ahead of its own. */
uint32_t label_table_join(struct label_table *table, uint32_t rest, uint32_t other, bool *is_short);

/* Another file begins, which has room again. Sets handed out before may be void. */
void label_table_begin_file(struct label_table *table);
/* Whether the BPF side has to send all labels anew; then, that the recorder asked it to. */
bool label_table_wants_all(const struct label_table *table);
void label_table_forget_hashes(struct label_table *table);

/* Marks the objects that places are in as used, see object_table_sweep(). */
void label_table_mark_objects(const struct label_table *table, const struct object_table *objects);

#endif
