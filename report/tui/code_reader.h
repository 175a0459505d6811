/*
 * Reads source files and runs objdump on a thread of its own: for the function that a model
 * annotates, and only when the view of it is looked at.
 */
#ifndef EBPROF_CODE_READER_H
#define EBPROF_CODE_READER_H

#include <time.h>

#include "format/base/err.h"
#include "report/name/listing/listing.h"
#include "report/tui/model.h"

struct code_reader;

struct code_options {
	struct symbol_file_options files; /* its debuginfod is not asked */
	struct debug_dirs source_dirs;
	enum demangle_mode demangle;
};

/* The listing of what the model annotates; both are borrowed. */
struct listing_request code_request(
	const struct code_options *options, const struct model *model, bool is_intel);

/* Copies the options, not what they lead to. */
struct err *code_reader_create(
	const struct code_options *options, struct code_reader **ret) ERR_MUST_CHECK;
/*
 * Stops what it does; models that it holds are released. False: it could not be stopped until then
 * (of quiet_thread.h), nothing was freed, and the model's profile is still in use.
 */
bool code_reader_destroy(struct code_reader *reader, const struct timespec *deadline);

/* Becomes readable when there is something to take. */
int code_reader_fd(const struct code_reader *reader);
/* The newest wish counts; the same as that under way changes nothing. Holds the model. */
void code_reader_wish(struct code_reader *reader, struct model *model, bool is_intel);
/* What it has read, yours; NULL: nothing that is new. */
struct listing *code_reader_take(struct code_reader *reader);
/* Whether it holds no model: nothing is being read. */
bool code_reader_is_idle(struct code_reader *reader);
/* Gives up what is being read. */
void code_reader_cancel(struct code_reader *reader);

#endif
