/*
 * The recorder's health for Prometheus: over HTTP, or as a file for node_exporter's textfile
 * collector. A thread serves it; the recorder hands texts over and never waits for anybody.
 */
#ifndef EBPROF_METRICS_H
#define EBPROF_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "record/session.h"

struct metrics;

/* "127.0.0.1:9188", "[::1]:9188", or the path of a file that ends with ".prom". ERR_USAGE: neither;
 * ERR_IO: the address is taken, unless `may_wait`. */
struct err *metrics_open(const char *where, bool may_wait, struct metrics **ret) ERR_MUST_CHECK;
/*
 * From now on it is served. `ring`: the folder, which the pusher's counters are in, or NULL.
 * `takes_over`: another recorder has the address or the file until it ends: it is served from then
 * on, the file once there is something to be written.
 */
struct err *metrics_start(
	struct metrics *metrics, const char *ring, bool takes_over) ERR_MUST_CHECK;
/* What is served from now on, as of a session that still runs. */
void metrics_update(struct metrics *metrics, const struct session_summary *health);
/* True once: the address has been waited for too long. */
bool metrics_lacks_address(struct metrics *metrics);
/* NULL is safe. The file keeps what it has. */
void metrics_close(struct metrics *metrics);

/* In the text format of Prometheus, version 0.0.4. */
void metrics_put_text(const struct session_summary *health, struct str *out);

#endif
