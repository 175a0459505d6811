/* What gives samples labels: a row each, by its number of bpf/event.h. */
#ifndef EBPROF_LABEL_SOURCE_H
#define EBPROF_LABEL_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/event.h"
#include "format/base/err.h"
#include "format/base/str.h"

struct label_source {
	const char *name; /* as options have it */
	const char *key;  /* of its labels; NULL: each comes with its own */
	bool is_standard; /* wanted, unless the user says otherwise */
	/* The text that a number stands for; NULL: the number itself. */
	void (*put_text)(uint64_t number, struct str *ret);
	const char *help;
};

/* NULL: there is none of this number. */
const struct label_source *label_source_of(uint32_t number);

/* Bits of the sources that are wanted where the user does not say. */
uint32_t label_sources_standard(void);
/* Bits of those that the BPF side reads. */
uint32_t label_sources_in_kernel(void);
/* "go,goroutine", or "none": bits. ERR_USAGE lists the names. */
struct err *label_sources_parse(const char *text, uint32_t *ret) ERR_MUST_CHECK;

#endif
