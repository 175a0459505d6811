/* Writes the recording that a baseline is. */
#ifndef EBPROF_SLIM_FILE_H
#define EBPROF_SLIM_FILE_H

#include "format/file/writer.h"
#include "report/compare/baseline/slim.h"
#include "report/compare/baseline/slim_stack.h"
#include "report/compare/baseline/slim_task.h"

struct slim_file {
	const struct slim_tasks *tasks;
	const struct slim_stacks *stacks; /* arranged; their threads are indices of the tasks */
	const struct slim_result *result;
};

struct err *slim_file_write(const struct slim_file *file, struct writer_sink sink) ERR_MUST_CHECK;

#endif
