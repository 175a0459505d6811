/* Lines and instructions of the hottest functions, for a page of --html that is to have them. */
#ifndef EBPROF_HTML_CODE_H
#define EBPROF_HTML_CODE_H

#include "format/base/bytes.h"
#include "report/model/profile.h"
#include "report/write/export/export.h"

struct html_code_request {
	const struct profile *profile;
	uint32_t event;
	const struct export_code *code; /* where to look; NULL: there is to be none */
	const uint32_t *functions;      /* of the page, as it numbers them; the first is none */
	const uint32_t *groups;         /* of namesakes_group() */
	const uint64_t *selves;         /* of each of the page's functions */
	size_t nr_functions;
};

/*
 * Appends as html_data.h has it: functions of which neither a line nor an instruction is found are
 * left out. Reads files and runs objdump.
 */
void html_code_put(const struct html_code_request *request, struct bytes_buf *out);

#endif
