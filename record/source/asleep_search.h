/*
 * While recording goes on: a thread that loads what walks tasks that sleep, and has it seek what it
 * needs to know of their files, so that the end need not wait for the kernel's verifier nor for
 * tables; but that of a recording which ends while the verifier looks at them does.
 */
#ifndef EBPROF_ASLEEP_SEARCH_H
#define EBPROF_ASLEEP_SEARCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "format/base/str.h"
#include "record/source/asleep.h"

struct asleep_search {
	/* Set by the user, as what is pointed to may be by others. */
	const struct sample_bpf *bpf;
	const uint32_t *runtimes; /* that may be met */
	bool is_needed;           /* without any, too: no helper copies a stack */
	bool goes_on;             /* when it has found all that there is, for what comes */
	/* The search's own. */
	struct asleep *asleep; /* NULL: it cannot be had, or need not */
	uint32_t refused;      /* runtimes that the kernel did not take */
	bool has_failed;       /* it could not be loaded: it is not tried again, */
	struct str failure;    /* ... and why */
	pthread_t thread;
	bool has_begun, has_thread, is_ending, has_found;
};

/* Once; later calls do nothing. Its end is to be waited for. */
void asleep_search_begin(struct asleep_search *search);
/* Whether all that there is was found once, or there is nothing to be found. */
bool asleep_search_has_found(const struct asleep_search *search);
/* The thread is gone; what it loaded is in search->asleep. */
void asleep_search_end(struct asleep_search *search);

/*
 * With no thread under way: what walks is loaded for the runtimes that files were seen to have. As
 * those are found out while it seeks, it may be loaded more than once. What the kernel refuses of
 * them (Linux 5.10) is left out from then on, and native frames are found alone.
 */
void asleep_search_renew(struct asleep_search *search);
/* The same for all that may be met, to try it. An error: it cannot be had for none either; that
 * this kernel has no way to do it is none. */
struct err *asleep_search_try(struct asleep_search *search) ERR_MUST_CHECK;
/* With no thread under way: bits of the runtimes whose functions are missing in stacks of tasks
 * that sleep; all of them: what walks could not be loaded. */
uint32_t asleep_search_lacking(const struct asleep_search *search);
/* With no thread under way: a sentence that says which scripts' functions are missing in stacks of
 * tasks that sleep, and why; none where nothing is. */
void asleep_search_put_lacking(const struct asleep_search *search, struct str *out);
void asleep_search_deinit(struct asleep_search *search);

#endif
