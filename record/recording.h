/*
 * The file that is being written: output, writer and what was counted for it.
 * With switching, one after the other; each is a complete recording.
 */
#ifndef EBPROF_RECORDING_H
#define EBPROF_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"
#include "format/file/writer.h"
#include "record/file_ring.h"
#include "record/output.h"
#include "record/session_options.h"
#include "record/source/sources.h"
#include "record/translate.h"

/* Everything that is counted, since the session began. */
struct recording_counts {
	struct recording_source_counts {
		struct source_cpus cpus;
		struct event_tally samples; /* that a writer has taken over */
		struct event_tally unresolved;
		uint64_t lost_write;  /* of those samples */
	} sources[EVENT_MAX_SOURCES]; /* by their numbers */
	uint64_t targets_left_out;    /* at a time, at most: it is each file's */
	uint64_t sideband_lost, gap_samples, targets_full, files_full, mappings_full, cpus_back;
	uint64_t images_read, images_given_up;
	uint64_t waits_without_scripts, programs_skipped, code_unread, heap_unseen_ms;
	uint64_t heap_programs_missed;
	uint64_t ticks_due; /* by the CPU time of the command, once that has ended; 0: not known */
	struct lacking_labels lacking_labels;
};

struct recording {
	const struct session_options *options;
	struct translate *translate;
	int stop_fd;
	const struct sources *sources; /* what is sampled */
	struct file_ring *ring;        /* where files are written, or NULL */

	struct output *output;
	struct writer *writer;
	uint64_t begun_ns;
	uint64_t until_ns; /* nothing is sampled from then on, CLOCK_MONOTONIC; 0: not known */
	struct recording_counts base; /* as it stood when the last file ended */
	/*
	 * Each source's events on all CPUs that earlier files have accounted for. Those whose
	 * samples were in the ring when a file ended are the next one's.
	 */
	struct event_tally reported[EVENT_MAX_SOURCES];
	uint64_t counted_given_up; /* of code, in the files before this one */
	uint64_t earlier_bytes, earlier_samples[EVENT_MAX_SOURCES];
	VEC(char *) finished_names; /* oldest first */
	int64_t aside_ms;           /* when the last of these got its name */
	uint32_t nr_files;
};

/* Creates the first file, unnamed yet. `sources` are there. */
struct err *recording_begin(struct recording *recording) ERR_MUST_CHECK;
/* Recording is about to run: the file gets its name, and its time begins. */
struct err *recording_publish(struct recording *recording) ERR_MUST_CHECK;
/* Sends what has been collected, and the counters as they stand. */
struct err *recording_flush(
	struct recording *recording, const struct recording_counts *counts) ERR_MUST_CHECK;
/* Finishes this file, sets it aside under a name with its time, and begins the next. */
struct err *recording_switch(
	struct recording *recording, const struct recording_counts *counts) ERR_MUST_CHECK;
/* Ends the recording; every event is accounted for, so the real number of them is written. */
struct err *recording_finish(struct recording *recording, const struct recording_counts *counts,
	enum layout_end_reason reason) ERR_MUST_CHECK;
void recording_deinit(struct recording *recording);
void recording_counts_deinit(struct recording_counts *counts);

uint32_t recording_files_kept(const struct recording *recording);
/* Of the source of that number, written over all files. */
uint64_t recording_samples(const struct recording *recording, uint32_t source);
uint64_t recording_bytes(const struct recording *recording);
/* Notes the time, on both clocks: the recording begins with the first such note. */
void recording_mark_time(struct recording *recording);
/* True when this file has reached the limit (0: none). */
bool recording_is_over(const struct recording *recording, uint64_t max_bytes);
/* True when what waits to be written could take half of what is left: time to write it. */
bool recording_is_filling(const struct recording *recording, uint64_t max_bytes);

#endif
