/*
 * Files of other profilers become recordings: perf's perf.data, pprof's profiles, folded stacks,
 * and rows of tables. Which one a file is, its first bytes tell, or the user. What is made of it is
 * written by the writer, so that everything that reads recordings reads these, too.
 */
#ifndef EBPROF_IMPORT_H
#define EBPROF_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "format/file/layout.h"
#include "format/file/writer.h"

struct import_symbol {
	uint64_t address, size; /* size 0: up to the next one */
	const char *name;       /* borrowed until the next call */
	bool is_latest;         /* of several that were there at different times the last one */
};

struct import_kernel {
	struct layout_object object; /* its base is where its _text was; perhaps a build ID */
	const char *release, *host;  /* NULL: not known */
};

typedef void import_symbol_fn(void *context, const struct import_symbol *symbol);

/* Addresses of code that a process made while it ran. */
struct import_code {
	const char *host; /* where that was; NULL: not known */
	uint32_t pid;
	uint64_t program_age_ns; /* when it was sampled last by anyone; 0: not known */
	const uint64_t *addresses,
		*first_ns; /* ascending, each once, and when each was seen first */
	size_t count;
};

/*
 * What the machine that imports may know and the file lacks. Each function may be NULL, and then
 * nothing is known; they are called during the import only.
 */
struct import_host {
	/*
	 * The function of the kernel at an address, if this machine runs the kernel that was
	 * recorded.
	 */
	bool (*kernel_symbol)(void *context, const struct import_kernel *kernel, uint64_t address,
		struct import_symbol *ret);
	/*
	 * Fills size_bytes and mtime_ns of a file without a build ID, if what stands at `path` is
	 * the file of the object's device and inode, and is older than the imported file.
	 */
	bool (*same_file)(void *context, const char *path, struct layout_object *object);
	/*
	 * Calls `use` for each function that had one of the addresses, as far as is known. Returns
	 * how many of them have no name because there was too much to read.
	 */
	size_t (*code_symbols)(void *context, const struct import_code *code, import_symbol_fn *use,
		void *use_context);
	/* Calls `use` for each function of the vDSO, by its offset, if it is that of the kernel
	 * that runs here. */
	void (*vdso_symbols)(void *context, const struct layout_object *vdso, import_symbol_fn *use,
		void *use_context);
	void *context;
};

struct import_result {
	const char *format; /* its name: "perf.data" */
	struct str notes;   /* what is lost or not as the user may think, a line each */
	bool is_whole;      /* else the file is cut, and so is the recording */
};

/*
 * Whether this is a file of another profiler, from its beginning: of IMPORT_HEAD_BYTES, or all of a
 * shorter file. NULL: it is not, as a recording.
 */
enum {
	IMPORT_HEAD_BYTES = 4096,
};
const char *import_format_of(const void *head, size_t len);
/* Whether it is a recording, from its beginning: the first bytes of one are no less. */
bool import_is_recording(const void *head, size_t len);

enum import_as {
	IMPORT_AS_IT_BEGINS,
	IMPORT_AS_ROWS, /* of a table, whatever it begins with */
};

/* `fd` is borrowed; it can be read at any offset. `host` may be NULL. */
struct err *import_write(int fd, enum import_as as, const struct import_host *host,
	struct writer_sink sink, struct import_result *ret) ERR_MUST_CHECK;
void import_result_deinit(struct import_result *result);

#endif
