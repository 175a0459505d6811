/* The files of a store: whole or not there, read as far as they are regular. */
#ifndef EBPROF_STORE_FILE_H
#define EBPROF_STORE_FILE_H

#include <stdbool.h>
#include <time.h>

#include "format/base/bytes.h"
#include "format/base/err.h"
#include "format/base/vec.h"

struct store_folder {
	int fd;
	char *path; /* for messages */
	bool has_owner;
	uint32_t uid, gid;
};

/* `name` is a path below the folder; the folders in between are made. */
struct err *store_file_write(const struct store_folder *folder, const char *name, const void *bytes,
	size_t len) ERR_MUST_CHECK;
/* *found is false where there is none. Refuses what is longer than `max_bytes`. */
struct err *store_file_read(const struct store_folder *folder, const char *name, size_t max_bytes,
	bool *found, struct bytes_buf *ret) ERR_MUST_CHECK;
/* Removes a file or an empty folder; that there is none is no error. */
struct err *store_file_remove(const struct store_folder *folder, const char *name) ERR_MUST_CHECK;

struct store_names {
	char **data;
	size_t len, cap;
};

/* What is in a folder below, but what begins with a dot, by name; nothing where there is none. */
struct err *store_file_list(const struct store_folder *folder, const char *name,
	struct store_names *ret) ERR_MUST_CHECK;
void store_names_deinit(struct store_names *names);

struct store_file_facts {
	uint64_t bytes;
	time_t changed;
};

/* False: there is no regular file of that name. */
bool store_file_look(
	const struct store_folder *folder, const char *name, struct store_file_facts *ret);

/* Waits until no other process has it, for a minute at most. *ret is to be closed. */
struct err *store_file_lock(const struct store_folder *folder, int *ret) ERR_MUST_CHECK;

/* What files are called until they are whole. */
bool store_file_is_unfinished(const char *name);

#endif
