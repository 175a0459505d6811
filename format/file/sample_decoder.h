/*
 * The samples of a chunk. What they are decoded from is the chunk alone, so it can be done ahead,
 * on another thread than that which takes them.
 */
#ifndef EBPROF_SAMPLE_DECODER_H
#define EBPROF_SAMPLE_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/file/layout.h"

#define FAULT_OVERRUN "a record that is longer than its chunk"
#define FAULT_CPU     "a CPU number that cannot be"

/* One cursor a column; a column that the chunk lacks (start NULL) yields its default. */
struct sample_columns {
	struct bytes_cursor time, thread, cpu, user_stack, kernel_stack, weight, measured, syscall,
		waker, waker_user_stack, waker_kernel_stack, snapshot, labels;
};

struct sample_decoder {
	uint64_t left; /* so many are to be taken */
	/* private: */
	uint32_t event;
	uint64_t unit_ns, time; /* the sums of the differences up to a sample: */
	uint64_t user_stack, snapshot, labels;
	struct sample_columns columns;
};

/* NULL, or what is wrong with the payload, static text: then it has no samples. */
const char *sample_decoder_init(struct sample_decoder *decoder, struct bytes_cursor *cursor);
/* The next ones, up to `max`; where there is a fault, those ahead of it. */
const char *sample_decoder_take(
	struct sample_decoder *decoder, struct layout_sample *out, size_t max, size_t *count);

struct decoded_samples {
	struct layout_sample *data;
	size_t len, cap;
	const char *fault; /* behind these samples; NULL: none */
	bool is_decoded;   /* false: they are left to be taken */
};

/* All of a chunk, unless there are very many. `samples` may be those of another chunk. */
void decoded_samples_fill(
	struct decoded_samples *samples, const void *payload, size_t payload_bytes);

#endif
