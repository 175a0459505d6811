/*
 * Where to push. What is no plain URL of ASCII is refused, so that this reading of it and libcurl's
 * cannot differ: whether a token may go there depends on the host.
 */
#ifndef EBPROF_PUSH_URL_H
#define EBPROF_PUSH_URL_H

#include <stdbool.h>

#include "format/base/err.h"

struct push_url {
	char *origin; /* "https://host:port" */
	char *path;   /* from '/' on, without slashes at its end, "" for none */
	bool is_https;
	bool is_loopback; /* by its name alone: localhost, 127.*, ::1 */
};

/* A user in front of the host is refused: argv is for all to read. So are queries. */
struct err *push_url_parse(const char *text, struct push_url *ret) ERR_MUST_CHECK;
void push_url_deinit(struct push_url *url);

#endif
