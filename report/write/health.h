/* What a recording lacks, in words: damage of the file, losses, what could not be unwound. */
#ifndef EBPROF_HEALTH_H
#define EBPROF_HEALTH_H

#include "format/base/str.h"
#include "format/file/reader.h"
#include "report/model/profile.h"

/*
 * Of the bytes of a file alone; nothing when they are whole. `cut_s`: when it was cut, if it was;
 * negative: unknown.
 */
void health_put_file(const struct reader_result *file, double cut_s, struct str *out);
/*
 * What is damaged, cut or missing, all of it, as one line, also what was not recorded for a while;
 * nothing when the recording is whole.
 */
void health_put_damage(const struct profile *profile, struct str *out);
/*
 * Appends that the recorder lost the kernel's records of mappings and execs, and for how many
 * samples. False, and nothing is appended, when it lost none.
 */
bool health_put_sideband_losses(const struct profile *profile, struct str *out);
/* Lines "# not among these: objects of Java, ...", of what a recording of allocations cannot have.
 */
void health_put_own_heaps(const struct profile *profile, struct str *out);
/*
 * Lines "# not among these: waits of goroutines, ...", of what a recording of waits cannot have:
 * what a runtime runs by turns on threads of the kernel waits without one.
 */
void health_put_own_threads(const struct profile *profile, struct str *out);
/*
 * Lines "lost" and, where the timers missed ticks, "skipped", as info and report --stats print
 * them.
 */
void health_put_losses(const struct profile *profile, struct str *out);
/*
 * Whether no bytes of the file are damaged or missing, nor were of those that it was merged of.
 * What could not be unwound is no damage.
 */
bool health_is_whole(const struct profile *profile);
/* Snapshots that could not be unwound, for any cause. */
uint64_t health_count_unwind_losses(const struct profile *profile);

#endif
