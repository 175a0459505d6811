/*
 * Labels that all samples of a process have: what its container is called, what variables of its
 * environment and a file of labels say, what it publishes of itself, and the name of its service. A
 * sample's own labels go ahead of those with the same key.
 *
 * A process's list is made with its first sample, and again when it executes a program, is moved to
 * another control group, publishes something, when the file of labels has changed, or a container's
 * name is there late.
 */
#ifndef EBPROF_PROCESS_LABELS_H
#define EBPROF_PROCESS_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "record/cgroup/container_names.h"
#include "record/host/target_reader.h"
#include "record/label/environments.h"
#include "record/label/label_file.h"
#include "record/label/label_table.h"
#include "record/label/process_contexts.h"
#include "record/task/process.h"

struct process_label_options {
	const char *const *variables; /* of the environment */
	size_t nr_variables;
	const char *file; /* of labels, or NULL */
	uint32_t sources; /* bits of enum event_label_source */
};

struct process_labels {
	struct process_label_options options; /* what they point at is borrowed */
	struct container_names containers;
	struct process_contexts contexts;
	struct label_file file;
	struct environments environments;
	struct target_reader reader; /* of those that did not come at an exec */
	bool has_reader;
	uint64_t nr_asked, nr_answers; /* of the reader */
	uint32_t generation;           /* lists of another one are made anew */
	struct strtab lists;           /* "KEY\0VALUE\0...", by number; 0: the empty one */
	struct map sets;               /* list << 32 | a sample's own set -> the set with both */
	uint32_t sets_epoch;           /* of the label table, in which they hold */
};

void process_labels_init(struct process_labels *labels);
/* To be called while the recorder is small. ERR_FORMAT, ERR_IO of the file of labels. */
struct err *process_labels_begin(
	struct process_labels *labels, const struct process_label_options *options) ERR_MUST_CHECK;
/*
 * What the BPF programs are to send of the environments of programs that are executed. 0: nothing,
 * since none is wanted, or so many are that /proc is asked.
 */
size_t process_labels_variables(
	const struct process_labels *labels, struct event_variable variables[EVENT_MAX_VARIABLES]);
/* The callback that learns where threads publish their context; set before the first sample. */
void process_labels_on_context(struct process_labels *labels, thread_context_fn *fn, void *context);
void process_labels_deinit(struct process_labels *labels);

/*
 * The set with those of the process. `*is_short`: some had no room. Those that could not be read
 * process->lacks_labels tells of.
 */
uint32_t process_labels_add(struct process_labels *labels, struct label_table *table,
	struct process *process, uint32_t set, uint64_t now_ns, bool *is_short);
/* Why the file of labels could not be read again; NULL: it was. Borrowed. */
const char *process_labels_file_error(const struct process_labels *labels);
/* Reads the file of labels and environments anew, though nothing tells that they have changed. */
void process_labels_read_again(struct process_labels *labels, uint64_t now_ns);
/* Looks at the file of labels, and for names that are not known yet; to be called now and then. */
void process_labels_renew(struct process_labels *labels, uint64_t now_ns);

#endif
