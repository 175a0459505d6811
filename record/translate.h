/*
 * The one place where wire events become records of the file: merges the ring's
 * samples with the sideband's events in the order of time, resolves addresses
 * to (object, offset) and hands samples to the writer.
 */
#ifndef EBPROF_TRANSLATE_H
#define EBPROF_TRANSLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/bytes.h"
#include "record/early_stacks.h"
#include "record/emitter.h"
#include "record/generated/registered_code.h"
#include "record/kept_stacks.h"
#include "record/label/block_device.h"
#include "record/label/label_table.h"
#include "record/label/process_labels.h"
#include "record/label/sample_labels.h"
#include "record/resolver.h"
#include "record/script/script_table.h"
#include "record/sleeper_counts.h"
#include "record/task/gap_log.h"
#include "record/task/library_watch.h"
#include "record/task/sideband.h"
#include "record/task/thread_times.h"
#include "record/unwind/blame_table.h"
#include "record/unwind/code_ahead.h"

enum {
	TRANSLATE_MAX_CAUSES = 16, /* of truncation; enum layout_truncation stays below */
};

struct translate_stats {
	struct translate_taken {
		struct event_tally received;   /* samples that came out of the ring */
		struct event_tally unresolved; /* whose stack never arrived */
	} taken[EVENT_MAX_SOURCES];
	uint64_t lost_execs; /* by samples of images that sideband had not announced */
	uint64_t complete, by_guesses, kernel_only, left; /* left to the report */
	uint64_t truncated[TRANSLATE_MAX_CAUSES];
	struct lacking_labels lacking_labels;
};

/* A file that a process that matters has mapped, there. */
typedef void translate_file_fn(
	void *context, const struct object *object, const struct object_location *where);

/* The process's program image is about to end, or has ended then. */
typedef void translate_image_end_fn(void *context, uint32_t pid, uint64_t time_ns);

struct translate {
	translate_image_end_fn *on_image_end; /* NULL, or called while it is known */
	void *on_image_end_context;
	translate_file_fn *on_file; /* NULL, or called for each that sideband tells of */
	void *on_file_context;
	bool is_system_wide; /* else only processes that were added, and their children, matter */
	struct object_table objects;
	struct process_table processes;
	struct kernel kernel;
	struct jit_table jit;
	struct registered_code registered;
	struct script_table scripts;
	struct compiled_frames compiled;
	struct thread_names thread_names;
	struct stack_table stacks;
	struct label_table labels;
	struct process_labels process_labels;
	struct blame_table blames;
	struct emitter emitter;
	struct resolver resolver;
	struct snapshot_table snapshots;
	struct early_stacks early;
	struct thread_times thread_times;
	struct block_devices devices;
	struct map stack_by_hash; /* node | truncation << 32 */
	struct kept_stacks kept_stacks;
	struct library_watch library; /* that is preloaded */
	struct sideband_batch sideband;
	size_t sideband_applied; /* of the batch's events */
	struct bytes_buf
		records; /* what the ring gave, each behind its u64 length and collected_ns */
	struct stack_pieces pieces; /* that `records` has instead of chunks of stacks */
	size_t looked_at;           /* of its bytes: for what is to be read ahead of their turn */
	struct code_ahead ahead;
	uint64_t collected_ns; /* the time at which what comes next was collected */
	bool is_late;          /* records are left since the turn took long: the next is due */
	bool has_late_names;   /* that stacks which were sent lack: they are to be sent anew, ... */
	uint64_t renamed_ns;   /* ... which is done once in a second; when it was last */
	struct translate_stats stats;
	struct gap_log gaps;            /* in sideband */
	struct sleeper_counts sleepers; /* of the file that is written */
	/* In the file: of each source's events, as samples number both; of EVENT_SAMPLE_AGAIN. */
	struct translate_events {
		uint32_t *data;
		size_t len, cap;
	} event_ids[EVENT_MAX_SOURCES];
	uint32_t again_event_id;
	uint64_t unwritten_ns; /* of the first sample since the user set this to 0; 0: none */
	uint64_t purged_ns;    /* when dead processes were forgotten last */
};

void translate_init(struct translate *translate, bool is_system_wide);
void translate_deinit(struct translate *translate);

/* Of targets' memory, while the recorder is small. */
void translate_start_readers(struct translate *translate);

/* Follows a process that runs already. */
void translate_add_process(struct translate *translate, uint32_t pid, uint64_t now_ns);

/* Samples that came, and their stacks. */
uint64_t translate_resolved(const struct translate *translate);

/* Stores one record of the ring until translate_run(). Fits sampler_record_fn. */
void translate_collect(void *context, const void *record, size_t len);
/*
 * Takes a sample that a source has kept: its stack is that of one that came. Where it did not
 * come, the sample is counted as not resolved.
 */
void translate_take_kept(struct translate *translate, const struct event_sample *sample);
/*
 * Works off the records collected and the sideband's events in translate->sideband,
 * which was filled after them. Events behind `until_ns`, the instant at which
 * collecting began, stay for the next time; with 0, which says that older records
 * are still to come, all behind the last record. Returns true when stacks must be
 * sent anew.
 *
 * Never blocks. A record may lack an unwind table that is being made, or code that
 * is being read: then it waits for the next call, and so do all behind it. That
 * ends for records that were collected before `give_up_ns`, and where too many
 * bytes wait: their stacks are cut at what is missing, or lack a name there.
 */
bool translate_run(struct translate *translate, uint64_t until_ns, uint64_t give_up_ns);

/* Whether names of threads are being read, or are to be by then. */
bool translate_awaits_names(const struct translate *translate, uint64_t until_ns);
/* Whether records wait for a process's code, which takes less than a millisecond. */
bool translate_is_reading_code(const struct translate *translate);
/* Whether records wait since the last translate_run(). */
bool translate_is_waiting(const struct translate *translate);
/* Returns when some of what records wait for may be there, after some 10 ms at most. */
void translate_wait(struct translate *translate);

#endif
