/*
 * What this kernel and these privileges allow. Every answer comes from trying
 * the thing itself, never from a version number.
 */
#ifndef EBPROF_FEATURE_H
#define EBPROF_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/err.h"
#include "format/base/str.h"

enum feature_state {
	FEATURE_OK,
	FEATURE_LIMITED, /* recording works, something is poorer for it */
	FEATURE_MISSING, /* recording does not work */
};

struct feature_result {
	const char *name; /* static text */
	enum feature_state state;
	struct str detail; /* what was found, and the fix where one is needed */
};

/* One line of the matrix at a time; false behind the last. *ret is to be str_deinit()ed. */
bool feature_probe(size_t index, struct feature_result *ret);

/* Whether a command can be recorded here; else what is missing goes to `why`. */
bool feature_records_commands(struct str *why);

/*
 * Whether a BPF program that has functions may call other programs. False only where the kernel
 * refuses that: those without a compiler of BPF, and arm64's before Linux 6.0.
 */
bool feature_has_tail_calls(void);

/* Virtual machines often offer a cycle counter that opens and then never counts: this tries it. */
bool feature_cycles_count(void);

/*
 * Lifts the limit of locked memory (RLIMIT_MEMLOCK) as far as is allowed, which libbpf does only
 * where it may be lifted altogether. To be called before anything of BPF is created, and after
 * the command has been forked, which is to keep its limits.
 */
void feature_raise_locked_memory(void);

/*
 * From what libbpf prints of a program that did not load, "prog 'NAME': -- BEGIN PROG LOAD LOG --"
 * and the verifier's log: appends NAME, "REASON", the last thing that the verifier said. Nothing
 * where that is not there.
 */
void feature_put_refusal(struct str *ret, const char *log);

/* Adds to an error of BPF or perf what is missing, and how to get it, where that is known. */
struct err *feature_explain(struct err *err) ERR_MUST_CHECK;

#endif
