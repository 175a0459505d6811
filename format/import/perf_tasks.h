/* The processes of perf.data as its records tell of them, one after the other. */
#ifndef EBPROF_PERF_TASKS_H
#define EBPROF_PERF_TASKS_H

#include "format/import/import_output.h"
#include "format/import/perf_records.h"
#include "format/import/perf_space.h"

struct perf_process { /* a program image: an exec begins another */
	uint32_t pid, parent_pid;
	uint64_t
		start_ns; /* of the process; equal for what stood for it before and after an exec */
	uint64_t image_ns; /* when it began to be this program; 0: before the recording */
	uint32_t id;       /* in the recording; 0: it was not sampled yet */
	struct perf_space *space;
	uint32_t code; /* the object of what it made while it ran; 0: nothing of that was met yet */
};

enum {
	PERF_CODE = UINT32_MAX, /* object of mappings: that of their process */
};

struct perf_tasks {
	struct import_output *output;
	const struct perf_header *header;
	const struct import_file *file;
	VEC(struct perf_process) processes;
	struct map by_pid;      /* -> index */
	struct strtab names;    /* of threads */
	struct map name_by_tid; /* -> number of the name plus 1 */
	struct perf_space *kernel;
	struct import_kernel kernel_info; /* kind 0: where it begins is not known */
	uint32_t kernel_object;
	uint32_t vdso;        /* the last object that was one, 0: none; its functions are written */
	uint64_t nr_mappings; /* in memory */
	uint64_t nr_left_out; /* mappings beyond the bounds */
	uint64_t nr_without_id; /* files of no build ID, */
	uint64_t nr_same;       /* ... but known by their inodes */
};

void perf_tasks_init(struct perf_tasks *tasks, struct import_output *output,
	const struct import_file *file, const struct perf_header *header);
void perf_tasks_deinit(struct perf_tasks *tasks);

/* A record that is no sample; false: it is too short. Others than those of tasks are passed over.
 */
bool perf_tasks_take(struct perf_tasks *tasks, struct perf_record *record);

/* Index of the process that has this pid now; borrow it from `processes`. Its id is not 0. */
size_t perf_tasks_sampled(struct perf_tasks *tasks, uint32_t pid, uint64_t time_ns);
const char *perf_tasks_name(const struct perf_tasks *tasks, uint32_t pid, uint32_t tid);
/* Of what stands at the address: its object and its offset there. */
uint32_t perf_tasks_user_object(
	struct perf_tasks *tasks, size_t process, uint64_t address, uint64_t *offset);
uint32_t perf_tasks_kernel_object(struct perf_tasks *tasks, uint64_t address, uint64_t *offset);

#endif
