#include "format/import/import_output.h"

#include <string.h>

enum {
	FLUSH_BYTES = 4 << 20,
};

struct import_output *import_output_create(struct writer_sink sink)
{
	struct import_output *output = mem_zalloc(sizeof(*output));
	output->writer = writer_create(sink);
	return output;
}

void import_output_destroy(struct import_output *output)
{
	if (!output)
		return;
	vec_each(&output->chains, chains)
		chain_map_deinit(chains);
	vec_deinit(&output->chains);
	strtab_deinit(&output->objects);
	strtab_deinit(&output->frames);
	strtab_deinit(&output->threads);
	strtab_deinit(&output->labels);
	map_deinit(&output->nodes);
	writer_destroy(output->writer);
	err_destroy(output->err);
	mem_free(output);
}

void import_output_meta(struct import_output *output, const char *key, const char *value)
{
	if (value && value[0])
		writer_meta(output->writer, key, value);
}

uint32_t import_output_text(struct import_output *output, const char *text)
{
	return writer_string(output->writer, text, strlen(text));
}

/* Whether the bytes are new to the table; *id is the writer's. */
static bool import_output_intern(struct strtab *table, const struct bytes_buf *key, uint32_t *id)
{
	size_t count = table->entries.len;
	*id = strtab_intern(table, (const char *)key->data, key->len) + 1;
	return table->entries.len > count;
}

static void put_object_key(
	const struct layout_object *object, const char *path, struct bytes_buf *key)
{
	bytes_put_varint(key, object->kind);
	bytes_put_varint(key, object->flags);
	bytes_put_varint(key, object->base);
	bytes_put_varint(key, object->inode);
	bytes_put_varint(key, object->device);
	bytes_put_varint(key, object->mtime_ns);
	bytes_put_blob(key, object->build_id, object->build_id_len);
	bytes_put_blob(key, path, strlen(path));
}

/* `owner`: the objects of another one are others. */
static uint32_t object_of_owner(struct import_output *output, const struct layout_object *object,
	const char *path, uint64_t owner)
{
	struct bytes_buf key = {0};
	uint32_t id;
	put_object_key(object, path, &key);
	bytes_put_varint(&key, owner);
	if (import_output_intern(&output->objects, &key, &id)) {
		struct layout_object out = *object;
		out.path = import_output_text(output, path);
		writer_object(output->writer, &out);
	}
	bytes_buf_deinit(&key);
	return id;
}

uint32_t import_output_object(
	struct import_output *output, const struct layout_object *object, const char *path)
{
	return object_of_owner(output, object, path, 0);
}

uint32_t import_output_own_object(
	struct import_output *output, const struct layout_object *object, const char *path)
{
	return object_of_owner(output, object, path, output->objects.entries.len + 1);
}

uint32_t import_output_thread(
	struct import_output *output, uint32_t process, uint32_t tid, const char *comm)
{
	struct bytes_buf key = {0};
	uint32_t id;
	bytes_put_varint(&key, process);
	bytes_put_varint(&key, tid);
	bytes_put_blob(&key, comm, strlen(comm));
	if (import_output_intern(&output->threads, &key, &id))
		writer_thread(output->writer,
			&(struct layout_thread){process, tid, import_output_text(output, comm), 0});
	bytes_buf_deinit(&key);
	return id;
}

uint32_t import_output_frame(
	struct import_output *output, const struct layout_frame *frame, bool *is_new)
{
	uint64_t key[] = {frame->object, frame->offset, frame->flags};
	size_t count = output->frames.entries.len;
	uint32_t id = strtab_intern(&output->frames, (const char *)key, sizeof(key)) + 1;
	bool is_added = output->frames.entries.len > count;
	if (is_added)
		writer_frame(output->writer, frame);
	if (is_new)
		*is_new = is_added;
	return id;
}

uint32_t import_output_cut(struct import_output *output, enum layout_truncation cause)
{
	return import_output_frame(output, &(struct layout_frame){.offset = cause}, NULL);
}

uint32_t import_output_node(struct import_output *output, uint32_t parent, uint32_t frame)
{
	bool is_new;
	uint64_t *node = map_put(&output->nodes, (uint64_t)parent << 32 | frame, &is_new);
	if (is_new)
		*node = writer_node(output->writer, &(struct layout_node){parent, frame});
	return (uint32_t)*node;
}

void import_output_chain(
	struct import_output *output, uint32_t object, uint64_t offset, const struct chain *chain)
{
	if (object >= output->chains.len)
		vec_resize(&output->chains, (size_t)object + 1);
	struct chain_map *chains = &output->chains.data[object];
	chains->detail = CHAIN_MAP_INLINED;
	chain_map_add(chains, offset, chain);
}

uint32_t import_output_label(struct import_output *output, const struct layout_label *label)
{
	const uint64_t key[] = {
		(uint64_t)label->rest << 32 | label->key, label->kind, label->value};
	size_t count = output->labels.entries.len;
	uint32_t id = strtab_intern(&output->labels, (const char *)key, sizeof(key)) + 1;
	if (output->labels.entries.len > count)
		writer_label(output->writer, label);
	return id;
}

void import_output_sample(struct import_output *output, const struct layout_sample *sample)
{
	writer_sample(output->writer, sample);
	output->nr_samples++;
	if (sample->time_ns > output->last_ns)
		output->last_ns = sample->time_ns;
	import_output_flush_some(output);
}

void import_output_flush_some(struct import_output *output)
{
	if (!output->err && writer_bytes_pending(output->writer) > FLUSH_BYTES)
		output->err = writer_flush(output->writer);
}

/* Names stand behind the objects that they belong to. */
static struct err *write_chains_of_all(struct import_output *output)
{
	try(writer_flush(output->writer));
	for (size_t i = 1; i < output->chains.len; i++)
		writer_chains(output->writer, (uint32_t)i, &output->chains.data[i]);
	return writer_flush(output->writer);
}

struct err *import_output_finish(struct import_output *output, bool is_whole)
{
	if (output->err)
		return steal_ptr(output->err);
	try(write_chains_of_all(output));
	if (!is_whole)
		return NULL;
	return writer_finish(output->writer,
		&(struct layout_end){.reason = LAYOUT_END_COMMAND, .time_ns = output->last_ns});
}
