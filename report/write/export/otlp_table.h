/*
 * A table of OTLP's ProfilesDictionary: messages, each once, that others refer to by index.
 * Index 0 is the message of zeros, for "none".
 */
#ifndef EBPROF_OTLP_TABLE_H
#define EBPROF_OTLP_TABLE_H

#include "format/base/bytes.h"
#include "format/base/str.h"

struct otlp_table {
	struct strtab messages;
};

void otlp_table_init(struct otlp_table *table);
void otlp_table_deinit(struct otlp_table *table);
/* The index of this message, which is emptied; its memory is kept for the next one. */
uint32_t otlp_table_take(struct otlp_table *table, struct bytes_buf *message);
/* All of it, as a repeated field. */
void otlp_table_put(const struct otlp_table *table, uint32_t field, struct bytes_buf *out);

#endif
