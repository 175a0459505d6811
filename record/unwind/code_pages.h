/*
 * Machine code of the processes that are recorded, page by page. That of a file is read from the
 * file, once, when target_file.h lets it be opened and the kernel has the page at hand. All other
 * is read from the process's memory by target_reader.h, since such a read may never return;
 * meanwhile a page is pending. It holds what stood there when it was read: of code of no file it is
 * read again for what happened later, and where that fails, since the process is gone, it stays
 * what it was.
 */
#ifndef EBPROF_CODE_PAGES_H
#define EBPROF_CODE_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/vec.h"
#include "record/host/target_reader.h"
#include "record/task/mapping_table.h"

enum {
	CODE_PAGE_BYTES = 4096,
};

struct code_page {
	uint8_t bytes[CODE_PAGE_BYTES];
	uint16_t len; /* 0: it cannot be read */
	bool is_of_file;
	bool is_pending;   /* it is being read */
	bool is_given_up;  /* the last read was: there was no time for it, or it hung */
	uint32_t pid;      /* whose memory was read */
	uint64_t read_ns;  /* what `bytes` are of; 0: nothing was read yet */
	uint64_t tried_ns; /* as read_ns, or when a later read failed */
};

/* Pages that follow on each other and are read at once. */
struct code_pages_run {
	bool is_of_file;
	uint32_t pid;
	uint64_t owner; /* the file's serial, or the process */
	uint64_t place; /* of the first: offset in the file, or address */
	uint32_t count;
};

/* A file whose code was asked for; fd -1: it cannot be opened. */
struct code_pages_file {
	uint32_t serial;
	int fd;
	uint64_t tried_ns;
};

enum {
	CODE_PAGES_FILES = 16,
};

struct code_pages {
	struct target_reader reader;
	struct code_pages_file files[CODE_PAGES_FILES];
	size_t nr_files;   /* that there were; places are taken in turn */
	struct map by_key; /* hash of whose page it is -> struct code_page * */
	uint64_t seed;
	struct code_pages_run last;         /* which page was asked for last, */
	struct code_page *last_page;        /* ... NULL: it is forgotten */
	VEC(struct code_pages_run) reading; /* in the reader's order, */
	size_t read;                        /* ... from here on */
};

void code_pages_init(struct code_pages *pages);
void code_pages_deinit(struct code_pages *pages);

/* How far a read got. */
enum code_read {
	CODE_READ,          /* some bytes at least */
	CODE_READ_NONE,     /* they cannot be had */
	CODE_READ_LATER,    /* they are being read: see code_pages_fd() */
	CODE_READ_GIVEN_UP, /* there was no time to read them, or the read hung */
};

/*
 * Copies up to `len` bytes at an address that a mapping of the process holds, to the end of a page
 * that can be had; *got is how many, 0 unless CODE_READ. Of memory it is what stood there at some
 * time since `since_ns`, CLOCK_MONOTONIC.
 */
enum code_read code_pages_get(struct code_pages *pages, uint32_t pid, const struct mapping *mapping,
	uint64_t address, uint64_t since_ns, uint8_t *bytes, size_t len, size_t *got);

/* The same of memory that is not code, of which no mapping need be known. */
enum code_read code_pages_get_memory(struct code_pages *pages, uint32_t pid, uint64_t address,
	uint64_t since_ns, uint8_t *bytes, size_t len, size_t *got);

/*
 * Begins to read the page at an address, and those around it, of memory that the process has mapped
 * at [start, end): code_pages_get() is going to be called for what stands there since `since_ns`.
 * False: that was read lately, or is being read, or there is too much of it.
 */
bool code_pages_expect(struct code_pages *pages, uint32_t pid, uint64_t start, uint64_t end,
	uint64_t address, uint64_t since_ns);

/* Takes what was read meanwhile, or given up. */
void code_pages_collect(struct code_pages *pages);
bool code_pages_are_pending(const struct code_pages *pages);
/* Becomes readable when there may be something to collect; -1: nothing is being read. */
int code_pages_fd(const struct code_pages *pages);

#endif
