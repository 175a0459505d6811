/*
 * Makes unwind tables, from the disk cache or from the files themselves, in threads of its own:
 * a large library takes a tenth of a second, in which the ring would fill up. The smallest is made
 * first, and one of the threads makes none of large files, for which all others would wait. They
 * run ahead of other programs, since their stacks wait for them. A file can be made to take much
 * longer: then it goes without, so that those behind it get theirs.
 *
 * Of a large file a first result mostly says which runtime it has, or that it has none, and the
 * next one has the table; what that takes is done in a third thread.
 */
#ifndef EBPROF_TABLE_BUILDER_H
#define EBPROF_TABLE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"
#include "record/unwind/table_cache.h"
#include "record/unwind/unwind_table.h"

enum {
	TABLE_BUILDER_MAX_S = 5, /* of CPU time; a browser's takes a third of a second */
};

struct table_builder;

enum table_origin {
	TABLE_FROM_CACHE,
	TABLE_BUILT,
	TABLE_FAILED,  /* the file makes no sense, or asks for too much or too long: the table is
			  empty */
	TABLE_PENDING, /* it comes later: so far it has the runtime alone, if there is one */
};

struct table_result {
	uint64_t id; /* the caller's */
	enum table_origin origin;
	struct unwind_table table; /* the caller's from now on */
};

/* The cache may be NULL, and is the builder's from now on. */
struct err *table_builder_create(struct cache *cache, struct table_builder **ret) ERR_MUST_CHECK;
/* Does not wait for the table at hand: it is given up. */
void table_builder_destroy(struct table_builder *builder);

/*
 * What is to be done before a table of a file with a runtime is a result: `runtimes` has the bit of
 * its kind. Called in one of the builder's threads, but not in two at once. After an error the
 * table is one without a runtime.
 */
typedef struct err *table_runtime_fn(void *context, uint32_t runtimes) ERR_MUST_CHECK;
/* Before the first table is submitted; the context is borrowed as long as the builder lives. */
void table_builder_on_runtime(struct table_builder *builder, table_runtime_fn *fn, void *context);
/* Has it called for these, too, without a table; soon. */
void table_builder_want(struct table_builder *builder, uint32_t runtimes);
/* The runtimes for which it failed (bits), and the first error, borrowed; 0: there are none. */
uint32_t table_builder_refused(struct table_builder *builder, const struct err **why);

/* Takes `fd` and `elf` over. `id` comes back with the result. */
void table_builder_submit(struct table_builder *builder, uint64_t id, int fd, struct elf_file *elf);
/*
 * The next result. False: none is ready. To be called now and then: it is what gives up a table
 * that takes a thread more than TABLE_BUILDER_MAX_S.
 */
bool table_builder_take(struct table_builder *builder, struct table_result *ret);
/* Becomes readable with each result. */
int table_builder_fd(const struct table_builder *builder);

#endif
