#include "report/write/export/otlp_table.h"

#include "report/write/export/protobuf.h"

void otlp_table_init(struct otlp_table *table)
{
	*table = (struct otlp_table){0};
	strtab_intern(&table->messages, "", 0);
}

void otlp_table_deinit(struct otlp_table *table)
{
	strtab_deinit(&table->messages);
}

uint32_t otlp_table_take(struct otlp_table *table, struct bytes_buf *message)
{
	size_t len = message->len;
	message->len = 0;
	return len ? strtab_intern(&table->messages, (const char *)message->data, len) : 0;
}

void otlp_table_put(const struct otlp_table *table, uint32_t field, struct bytes_buf *out)
{
	vec_each(&table->messages.entries, entry)
		protobuf_put_bytes(out, field, entry->bytes, entry->len);
}
