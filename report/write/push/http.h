/*
 * POST requests over HTTP/1.1, by libcurl. Certificates and names of servers are always verified.
 * Redirects are not followed: the user should know where a push goes, and a token goes nowhere
 * else.
 */
#ifndef EBPROF_HTTP_H
#define EBPROF_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/err.h"

struct http;

struct http_options {
	const char *ca_file; /* NULL: the system's authorities */
	bool is_direct;      /* no proxy, not even that of the environment */
};

struct http_request {
	const char *url;
	const char *const *headers; /* "Name: value", NULL ends them */
	const void *body;
	size_t len;
	uint64_t timeout_ms; /* from the connection to the end of the answer; not 0 */
};

struct http_response {
	long status;           /* 0: there was no answer */
	bool is_final;         /* ... and trying again would not give one */
	const char *problem;   /* why */
	int64_t retry_after_s; /* 0: it did not say */
	const char *location;  /* of a redirect, or NULL */
	const char *body;      /* NUL-terminated */
	size_t len;
};

/* Fails where there is no libcurl. */
struct err *http_open(const struct http_options *options, struct http **ret) ERR_MUST_CHECK;
void http_close(struct http *http);
/* All of the answer is borrowed until the next request. */
struct http_response http_post(struct http *http, const struct http_request *request);

#endif
