/*
 * The probes by which runtimes say that a function of a script is entered, or left: of which
 * language, in which files, and what their arguments say.
 */
#ifndef EBPROF_SCRIPT_PROBES_H
#define EBPROF_SCRIPT_PROBES_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime/runtime_row.h"
#include "bpf/runtime/shadow_place.h"
#include "format/base/err.h"
#include "format/base/vec.h"
#include "record/task/object.h"

struct script_probe_file {
	char *path;
	int fd; /* open as long as this lives: its process may go, and another take the path; or -1
		 */
	uint64_t device, inode, mtime_ns; /* numbers of inodes are used again */
	uint32_t runtimes;                /* of whom there are probes in it */
};

struct script_probe {     /* in one place */
	const char *path; /* borrowed from the list, as the descriptor is */
	int file_fd;
	uint64_t offset, semaphore_offset;
	struct shadow_place shadow;
	unsigned event; /* of its language; 0 and 1: a function of the script is entered, left */
};

struct script_probes {
	struct target_files *target_files; /* borrowed, may be NULL */
	uint32_t runtimes; /* bits: the languages that are wanted, by enum runtime_kind */
	VEC(struct script_probe) places;
	VEC(struct script_probe_file) files;
	VEC(bool) have_none; /* by serial: objects that were looked at, and have no probes */
	bool misses_files;   /* some have probes, and these are not used */
};

/* "php", "ruby,python:/usr/bin/python3.9": adds the languages, and the files that it names. */
struct err *script_probes_parse(const char *text, struct script_probes *probes) ERR_MUST_CHECK;
/* The probes of wanted languages of a file; of one without any, none. */
void script_probes_add_file(struct script_probes *probes, const char *path);
/*
 * Those of what the command maps, and those of what the process maps. ERR_USAGE: it maps such
 * probes, and they are silent in its environment. `name` may be NULL.
 */
struct err *script_probes_add_command(
	struct script_probes *probes, const char *name) ERR_MUST_CHECK;
struct err *script_probes_add_process(struct script_probes *probes, uint32_t pid) ERR_MUST_CHECK;
void script_probes_add_all_processes(struct script_probes *probes);
/* Those of what a process maps by and by. */
void script_probes_add_object(struct script_probes *probes, const struct object *object,
	const struct object_location *where);
/* ERR_USAGE: a language without any file. */
struct err *script_probes_check(const struct script_probes *probes) ERR_MUST_CHECK;

/* How often functions were entered, and left. */
void script_probes_sum(const struct script_probes *probes, const struct shadow_counters *counted,
	uint64_t *entries, uint64_t *returns);
/* Static text on each language that hardly tells of functions entered, and on what else is missed.
 */
void script_probes_advise(const struct script_probes *probes, const struct shadow_counters *counted,
	const char **ret, size_t max);
void script_probes_deinit(struct script_probes *probes);

#endif
