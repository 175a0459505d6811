/*
 * How profiles are packed for each kind of server: a row of PUSH_PROTOCOLS.
 *
 * Sources: Pyroscope, api/push/v1/push.proto, pkg/ingester/pyroscope/ingest_handler.go and
 * pkg/validation/limits.go (2026-08); opentelemetry-proto 1.11.0, docs/specification.md; Parca,
 * proto/parca/profilestore/v1alpha1/profilestore.proto and pkg/server/server.go (2026-07), whose
 * gRPC gateway takes JSON over HTTP/1.1.
 */
#ifndef EBPROF_PUSH_PROTOCOL_H
#define EBPROF_PUSH_PROTOCOL_H

#include "format/base/bytes.h"
#include "format/base/str.h"
#include "report/write/export/export.h"
#include "report/write/push/http.h"

/* What is pushed: a part of a profile, and what the whole of it is called. */
struct push_input {
	const struct profile *profile;
	const struct export_attribute *labels; /* with service_name */
	size_t nr_labels;
	const uint8_t *id;      /* EXPORT_ID_BYTES */
	uint32_t sample_labels; /* enum export_label */
};

struct push_body {
	struct bytes_buf bytes;
	struct str query;     /* with its '?', or empty */
	uint64_t plain_bytes; /* of the profile before compression */
	uint64_t nr_samples;  /* that differ */
};

typedef struct err *push_encode_fn(
	const struct push_input *input, struct push_body *ret) ERR_MUST_CHECK;
/* What a server that said 200 says besides: an error where it did not take everything. */
typedef struct err *push_check_fn(const struct http_response *response) ERR_MUST_CHECK;

struct push_protocol {
	const char *name;
	const char *endpoint; /* what the paths of its URLs end in */
	const char *content_type;
	bool is_gzip; /* the body as a whole */
	push_encode_fn *encode;
	push_check_fn *check; /* NULL: nothing */
	uint64_t max_bytes;   /* what servers take in their usual configuration, plain */
	uint64_t max_samples; /* 0: any number */
	uint64_t max_age_s;   /* what is older they refuse; 0: nothing */
};

/*
 * By the end of the path, or by name: then *is_endpoint says whether the path has that end already.
 * `name` may be NULL. An error says what the choice is.
 */
struct err *push_protocol_find(const char *name, const char *path, const struct push_protocol **ret,
	bool *is_endpoint) ERR_MUST_CHECK;

struct err *push_protocol_encode(const struct push_protocol *protocol,
	const struct push_input *input, struct push_body *ret) ERR_MUST_CHECK;
void push_body_deinit(struct push_body *body);

#endif
