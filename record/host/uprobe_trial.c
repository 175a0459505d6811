#include "record/host/uprobe_trial.h"

#include <unistd.h>

#include "format/base/clock.h"
#include "record/host/proc.h"
#include "record/host/uprobe.h"

enum {
	TRIAL_CALLS = 500,
	TRIALS = 5,
};

/* As a probe's place is: a no-op. */
void uprobe_trial(void);
__asm__(".text\n.globl uprobe_trial\n.type uprobe_trial, %function\n"
	"uprobe_trial: nop\n ret\n.size uprobe_trial, . - uprobe_trial\n");

/* The quickest of some trials: what disturbs makes them slower only. */
static uint64_t time_calls(void)
{
	uint64_t least = UINT64_MAX;
	for (int trial = 0; trial < TRIALS; trial++) {
		uint64_t start = clock_now_ns();
		for (int i = 0; i < TRIAL_CALLS; i++)
			uprobe_trial();
		uint64_t took = clock_now_ns() - start;
		least = took < least ? took : least;
	}
	return least / TRIAL_CALLS;
}

static bool find_trial(void *context, const struct proc_mapping *mapping)
{
	uint64_t *offset = context, at = (uintptr_t)uprobe_trial;
	if (at < mapping->start || at >= mapping->end)
		return true;
	*offset = at - mapping->start + mapping->offset;
	return false;
}

uint64_t uprobe_trial_ns(int program_fd)
{
	uint64_t offset = 0;
	proc_each_mapping((uint32_t)getpid(), NULL, find_trial, &offset);
	struct uprobe_place place = {.path = "/proc/self/exe", .file_fd = -1, .offset = offset};
	struct uprobe uprobe;
	uint64_t without = time_calls();
	struct err *err = offset ? uprobe_attach(&place, program_fd, 0, &uprobe)
				 : err_new(ERR_UNSUPPORTED, "no place to try");
	if (err) {
		err_destroy(err);
		return 0;
	}
	uint64_t with = time_calls();
	uprobe_detach(&uprobe);
	return with > without ? with - without : 0;
}
