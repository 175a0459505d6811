/*
 * Of which build IDs no debuginfod server knew a part: asked again only after some hours, or when
 * DEBUGINFOD_URLS has changed. An empty file for each in the usual folder of the kind
 * "debuginfod", see format/base/cache.h.
 */
#ifndef EBPROF_DEBUGINFOD_MEMO_H
#define EBPROF_DEBUGINFOD_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DEBUGINFOD_MEMO_SECONDS = 4 * 3600,
};

struct debuginfod_question {
	const char *urls, *part;
	const uint8_t *build_id;
	size_t build_id_len;
};

/* -1 when there is no folder to trust; the functions below take that, and know nothing then. */
int debuginfod_memo_open(void);

/* From several threads at once. */
bool debuginfod_memo_has(int memo, const struct debuginfod_question *question);
void debuginfod_memo_add(int memo, const struct debuginfod_question *question);

#endif
