/*
 * USDT probes as a user names them, PATH:PROVIDER:NAME, and where they stand in the file.
 */
#ifndef EBPROF_USDT_H
#define EBPROF_USDT_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/vec.h"

struct usdt_place {
	uint64_t offset;           /* in the file */
	uint64_t semaphore_offset; /* likewise; 0: it has none */
};

struct usdt {
	char *path; /* absolute */
	char *provider, *name;
	char *event; /* what its hits are called: usdt:FILE:PROVIDER:NAME, without folders */
	VEC(struct usdt_place) places; /* one at the least, no two with the same offset */
};

/*
 * Finds the probe that "PATH:PROVIDER:NAME" names. ERR_USAGE: there is none of this name, and the
 * message tells of others; else what is wrong with the file.
 */
struct err *usdt_find(const char *text, struct usdt *ret) ERR_MUST_CHECK;
void usdt_deinit(struct usdt *usdt);

struct usdt_listed {
	const char *provider, *name, *arguments; /* as the file has them: of foreign origin */
	uint32_t nr_places;
	bool has_semaphore;
};

/* Calls fn for each probe of a file, in its order. ERR_USAGE when it has none. */
typedef void usdt_list_fn(void *context, const struct usdt_listed *probe);
struct err *usdt_list(const char *path, usdt_list_fn *fn, void *context) ERR_MUST_CHECK;

#endif
