/*
 * What runtimes call their threads, where the kernel keeps less of it or nothing: read from a
 * process when a thread that may have such a name is sampled, all of the process's at once.
 */
#ifndef EBPROF_THREAD_NAMES_H
#define EBPROF_THREAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/host/target_reader.h"
#include "record/task/process.h"
#include "record/unwind/rule_source.h"

struct thread_names {
	const struct rule_source *rules; /* borrowed; NULL: none are known */
	struct target_reader reader;
	VEC(struct thread_names_wish {
		uint32_t image;
		uint32_t pid;
		uint32_t nr_tries; /* at which its runtime was not known */
		bool is_cut;       /* there is a name that the kernel may not keep whole */
		uint64_t due_ns;   /* of the next try; 0: the first */
	}) wishes;                 /* of an image one */
	VEC(struct thread_names_read {
		uint32_t image;
		uint64_t asked_ns;
	}) reading;               /* in the reader's order, */
	size_t read;              /* ... from here on */
	struct map rest_until_ns; /* image -> when it may be read again */
	struct map names;         /* (image, tid) -> index in `list` */
	VEC(struct thread_names_known {
		char *name;
		char comm[16]; /* what the kernel has in place of it */
	}) list;
};

void thread_names_init(struct thread_names *names);
void thread_names_deinit(struct thread_names *names);

/* A thread was sampled whose name the kernel may not keep, or not whole, and none is known. */
void thread_names_want(struct thread_names *names, const struct process *process, uint32_t tid,
	const char comm[16]);
/* Whether some are being read, or are to be by then: what sleeps was first sampled at the end. */
bool thread_names_are_awaited(const struct thread_names *names, uint64_t until_ns);
/* Readable when some have been read. */
int thread_names_fd(const struct thread_names *names);
/* What stands for `comm`, the kernel's name of the thread; NULL: none is known. Good until the next
 * call of another function. */
const char *thread_names_find(const struct thread_names *names, const struct process *process,
	uint32_t tid, const char comm[16]);

/* `name` stands for `comm` of this thread. */
typedef void thread_name_fn(
	void *context, uint32_t image, uint32_t tid, const char comm[16], const char *name);
/* Asks what is due of processes; calls the function for each name that came meanwhile. */
void thread_names_collect(struct thread_names *names, const struct process_table *processes,
	thread_name_fn *fn, void *context);

#endif
