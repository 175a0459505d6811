/*
 * What a process publishes of itself: OpenTelemetry's process context. A mapping that is named so
 * has a head, which leads to a message of protocol buffers:
 *
 *   ProcessContext { Resource resource = 1; repeated KeyValue attributes = 2; }
 *
 * The resource says what the process is part of, and of the attributes "threadlocal.
 * attribute_key_map" lists what the keys stand for that threads put to their own contexts.
 *
 * Source: opentelemetry-specification, oteps/profiles/4719-process-ctx.md, 4947-thread-ctx.md;
 * opentelemetry-proto, common/v1/common.proto.
 */
#ifndef EBPROF_PROCESS_CONTEXT_H
#define EBPROF_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/str.h"

enum {
	PROCESS_CONTEXT_MAX_ATTRIBUTES = 24, /* of the resource: what samples have room for */
	PROCESS_CONTEXT_MAX_KEYS = 256,
	PROCESS_CONTEXT_MAX_TEXT_BYTES = 256, /* of a key, or a value */
	PROCESS_CONTEXT_MAX_BYTES = 64 << 10, /* of the message */
};

struct process_context {
	struct str attributes; /* of the resource: "KEY\0VALUE\0..." */
	struct str keys;       /* of threads, by their numbers: "KEY\0..." */
	bool is_short;         /* some had no room, or are of kinds that are no text */
};

/* False: it is no such message. */
bool process_context_decode(const uint8_t *message, size_t len, struct process_context *ret);
void process_context_deinit(struct process_context *context);

/* Whether a mapping of this name, as /proc/PID/maps has it, holds the head. */
bool process_context_is_name(const char *name);
/* Memory of a process, by its /proc/PID/mem. False: not all of it can be read. */
bool process_context_copy(int memory, uint64_t address, void *to, size_t len);
/*
 * Reads it from there, by the address of its mapping. False: there is none, or it was being
 * changed all the time. *published_ns tells one from the next.
 */
bool process_context_read(
	int memory, uint64_t address, uint64_t *published_ns, struct process_context *ret);

#endif
