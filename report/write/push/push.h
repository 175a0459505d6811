/*
 * Delivers a profile to a server. What is too large goes in parts, one after the other in time;
 * what was delivered before is left out; what the server cannot take right now is tried again.
 *
 * A part that failed stops the push: what was delivered stays noted, and a push that is repeated
 * goes on from there.
 */
#ifndef EBPROF_PUSH_H
#define EBPROF_PUSH_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "report/write/export/export.h"

/* Says how it goes; `is_passing`: until there is something else to say. */
typedef void push_say_fn(void *context, bool is_passing, const char *text);

struct push_options {
	const char *url, *protocol; /* protocol: NULL: by the URL */
	const struct export_attribute *labels;
	size_t nr_labels;
	uint32_t sample_labels;       /* enum export_label */
	const char *token, *user;     /* NULL: none; with a user the token is the password */
	const char *tenant, *ca_file; /* NULL: none */
	const char *state_folder;     /* as push_ledger_open()'s */
	uint64_t max_bytes;           /* of a part, plain; 0: what such servers usually take */
	uint64_t timeout_ms;          /* of a request; not 0 */
	/* The push ends when requests and waiting took so long without a delivered part. */
	uint64_t give_up_ms;
	uint32_t retries;
	bool is_forced, allows_http, shifts_time;
	push_say_fn *say;
	void *context;
};

struct push_result {
	uint64_t samples, samples_before; /* delivered now; before */
	uint64_t parts, bytes;
};

/*
 * The result counts what was delivered, also on failure: ERR_UNAVAILABLE when it may work later,
 * ERR_USAGE when the request itself is wrong, else what the server says is final.
 */
struct err *push_profile(const struct profile *profile, const struct push_options *options,
	struct push_result *result) ERR_MUST_CHECK;

#endif
