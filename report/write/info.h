/* What a recording is and how sound it is: for info, and for the heads of reports. */
#ifndef EBPROF_INFO_H
#define EBPROF_INFO_H

#include "format/base/str.h"
#include "report/model/profile.h"

/* Foreign bytes are escaped: text for a terminal. `with_mappings`: and the objects, thousands of
 * lines for a busy system. */
void info_put_text(const struct profile *profile, bool with_mappings, struct str *out);
/*
 * That what processes did went partly unheard, and for how many samples; false and nothing when it
 * did not.
 */
bool info_put_sideband_losses(const struct profile *profile, struct str *out);
/* What is damaged, cut or missing in the file, as one line; nothing when it is whole. */
void info_put_damage(const struct profile *profile, struct str *out);
/* Whether no bytes of the file are, nor were of those that it was merged of; what could not be
 * unwound is no damage. */
bool info_is_whole(const struct profile *profile);

/* Of a process: numbers come again, and merged recordings share them, so with its beginning. */
uint64_t info_process_key(const struct layout_process *process);
/*
 * Lines "lost" and, where the timers missed ticks, "skipped": what the recording lacks, as info and
 * report --stats say it.
 */
void info_put_losses(const struct profile *profile, struct str *out);
/* Equal for the entries of one thread, which has one for each name that it had. */
uint64_t info_thread_key(const struct profile *profile, uint32_t thread);

struct info_stacks {
	uint64_t complete, kernel_only, truncated;
	uint64_t truncated_by[LAYOUT_TRUNCATED_END];
	uint64_t guessed; /* with a frame that no unwind rule led to; they count above as well */
};

struct info_stacks info_count_stacks(const struct profile *profile);

struct info_distinct {
	uint64_t processes, threads, build_ids;
};

/* Processes by (pid, start) and origin, since an exec makes another record of the same one. */
struct info_distinct info_count_distinct(const struct profile *profile);
/* Answers may have been replaced by later ones; nobody archives often enough for that to show. */
uint64_t info_count_archived_places(const struct profile *profile);
/* Snapshots that could not be unwound, for whatever cause. */
uint64_t info_count_unwind_losses(const struct profile *profile);

/* The format's words, which info's text and JSON share; below LAYOUT_TRUNCATED_END. */
const char *info_truncation_word(enum layout_truncation cause);
/* Below LAYOUT_COUNTER_COUNT; NULL for 0. */
const char *info_counter_word(enum layout_counter counter);
/* Of any value that a file may hold: "other" where the number has no word. */
const char *info_object_kind_word(enum layout_object_kind kind);
/* Likewise, and "unknown". */
const char *info_end_word(enum layout_end_reason reason);

#endif
