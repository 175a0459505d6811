/*
 * What processes publish by OpenTelemetry's contexts: of themselves, process_context.h, and where
 * their threads have what they work at, thread_symbol.h. Nothing tells when a process begins to, so
 * those that are sampled are looked at again and again, at growing distances, and soon after they
 * have mapped another file. The looks are a target_reader's, and its worker knows files that it has
 * seen.
 */
#ifndef EBPROF_PROCESS_CONTEXTS_H
#define EBPROF_PROCESS_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/host/target_reader.h"
#include "record/label/process_context.h"
#include "record/task/process.h"

/* The BPF side is to know of it; NULL: no more. False: it has no room. */
typedef bool thread_context_fn(
	void *context, uint32_t pid, const struct event_thread_context *place);

struct process_contexts {
	bool is_wanted;
	thread_context_fn *fn; /* set by the user, and its context */
	void *fn_context;
	struct target_reader reader;
	VEC(struct process_contexts_asked {
		uint32_t pid;
		uint32_t image;
	}) asked;             /* in the reader's order */
	size_t taken;         /* of these */
	struct map by_image;  /* -> struct process_context *, of those that publish some */
	struct map published; /* image -> which one that is */
	struct map places;    /* pid -> image whose place the BPF side knows */
	bool lacks_keys;      /* of threads: they were asked for, and not known */
};

void process_contexts_init(struct process_contexts *contexts);
/* To be called while the recorder is small. */
void process_contexts_begin(struct process_contexts *contexts);
void process_contexts_deinit(struct process_contexts *contexts);

/* It was sampled; its labels are made anew where it has published something since. */
void process_contexts_meet(
	struct process_contexts *contexts, struct process *process, uint64_t now_ns);
/* It has mapped a file, or may have published more otherwise: it is looked at soon. */
void process_contexts_expect(struct process *process, uint64_t now_ns);
/* Takes what has been read of processes. True: keys of threads have come, and what was left out for
 * want of them has to come again. */
bool process_contexts_collect(
	struct process_contexts *contexts, const struct process_table *processes);
/* Its image is over. */
void process_contexts_forget(struct process_contexts *contexts, const struct process *process);

/* What it publishes; NULL: nothing that is known. Borrowed until the next call of _collect(). */
const struct process_context *process_contexts_find(
	const struct process_contexts *contexts, const struct process *process);
/* The key of that number of a process's threads; NULL: it is not known so far. */
const char *process_contexts_key(struct process_contexts *contexts, struct process *process,
	uint8_t number, uint64_t now_ns);

#endif
