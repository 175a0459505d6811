/*
 * What was tried to find an object's symbols, as data: a place, a path or a server, a verdict.
 * The search writes it down, the table at the end of a report tells it.
 */
#ifndef EBPROF_DEBUG_ATTEMPT_H
#define EBPROF_DEBUG_ATTEMPT_H

#include <stddef.h>

#include "format/base/vec.h"

/* In the order of the search. */
enum debug_place {
	DEBUG_PLACE_OWN,        /* the object itself */
	DEBUG_PLACE_DIR,        /* a folder of --debug-dir */
	DEBUG_PLACE_SYSTEM,     /* /usr/lib/debug/.build-id */
	DEBUG_PLACE_LINK,       /* what its .gnu_debuglink names */
	DEBUG_PLACE_DWZ,        /* /usr/lib/debug/.dwz */
	DEBUG_PLACE_PERF,       /* ~/.debug, the cache of perf */
	DEBUG_PLACE_DEBUGINFOD, /* a server, or the cache of what came from one */
};

#define DEBUG_VERDICTS(X) \
	X(DEBUG_ABSENT, "is not there") \
	X(DEBUG_UNREADABLE, "may not be read") \
	X(DEBUG_NOT_REGULAR, "is not a regular file") \
	X(DEBUG_REMOTE, "is on a FUSE or network file system of another user, which may hang") \
	X(DEBUG_NOT_ELF, "is not an ELF file") \
	X(DEBUG_OTHER_BITS, "is an ELF file of 32 bits") \
	X(DEBUG_OTHER_ORDER, "is an ELF file of big-endian machines") \
	X(DEBUG_DAMAGED, "is cut off or damaged") \
	X(DEBUG_OTHER_TIME, "has no build ID, and another size or time than when recorded") \
	X(DEBUG_OTHER_BUILD, "is another build") \
	X(DEBUG_OTHER_CRC, "has another checksum than .gnu_debuglink says") \
	X(DEBUG_UNVERIFIABLE, "has no build ID to be checked by") \
	X(DEBUG_BAD_LINK, "is no plain file name in .gnu_debuglink") \
	X(DEBUG_UNKNOWN, "knows no such build ID") \
	X(DEBUG_UNKNOWN_BEFORE, "knew no such build ID, some hours ago or less") \
	X(DEBUG_CUT_OFF, "was too slow") \
	X(DEBUG_TOO_LARGE, "has no part of it to give, and the whole is large") \
	X(DEBUG_ENDLESS, "sends more than any such file has") \
	X(DEBUG_BOMB, "unpacks to far more than was sent") \
	X(DEBUG_FAILED, "failed") \
	X(DEBUG_NO_LIBRARY, "is not asked, as libdebuginfod.so.1 cannot be loaded") \
	X(DEBUG_ACCEPTED, "is the right file")

enum debug_verdict {
#define X(verdict, text) verdict,
	DEBUG_VERDICTS(X)
#undef X
};

struct debug_attempt {
	enum debug_place place;
	enum debug_verdict verdict;
	int errnum;       /* of DEBUG_FAILED, else 0 */
	const char *path; /* or the servers' addresses */
};

/* How much can be said by what was found; each step is better than those before it. */
enum symbol_level {
	SYMBOL_LEVEL_NONE,
	SYMBOL_LEVEL_DYNSYM, /* the functions that others may call */
	SYMBOL_LEVEL_MINI,   /* .gnu_debugdata */
	SYMBOL_LEVEL_SYMTAB,
	SYMBOL_LEVEL_DWARF, /* lines and inlined functions too */
};

#endif
