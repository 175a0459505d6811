/* What a process publishes of itself, as messages of protocol buffers have it. */
#include "record/label/process_context.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "tests/unit/unit.h"

static void put_field(struct bytes_buf *out, uint8_t tag, const void *bytes, size_t len)
{
	bytes_put_u8(out, tag);
	bytes_put_blob(out, bytes, len);
}

/* A KeyValue with an AnyValue of this tag and content. */
static void put_context_pair(
	struct bytes_buf *out, uint8_t tag, const char *key, const struct bytes_buf *value)
{
	struct bytes_buf pair = {0};
	put_field(&pair, 0x0a, key, strlen(key));
	put_field(&pair, 0x12, value->data, value->len);
	put_field(out, tag, pair.data, pair.len);
	bytes_buf_deinit(&pair);
}

static void put_text_pair(struct bytes_buf *out, uint8_t tag, const char *key, const char *text)
{
	struct bytes_buf value = {0};
	put_field(&value, 0x0a, text, strlen(text));
	put_context_pair(out, tag, key, &value);
	bytes_buf_deinit(&value);
}

/* "KEY=VALUE KEY=VALUE | KEY KEY" */
static const char *shown(const struct process_context *context)
{
	static char text[8192];
	size_t len = 0;
	text[0] = '\0';
	const char *at = str_text(&context->attributes);
	for (int i = 0; at < str_text(&context->attributes) + context->attributes.len; i++) {
		len += (size_t)snprintf(
			text + len, sizeof(text) - len, "%s%c", at, i % 2 ? ' ' : '=');
		at += strlen(at) + 1;
	}
	len += (size_t)snprintf(text + len, sizeof(text) - len, "|");
	for (at = str_text(&context->keys); at < str_text(&context->keys) + context->keys.len;
		at += strlen(at) + 1)
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s", at);
	return text;
}

static void make_message(struct bytes_buf *ret)
{
	struct bytes_buf resource = {0}, value = {0}, array = {0}, text = {0};
	put_text_pair(&resource, 0x0a, "service.name", "shop");
	bytes_put_u8(&value, 0x18); /* an int */
	bytes_put_varint(&value, 42);
	put_context_pair(&resource, 0x0a, "replicas", &value);
	value.len = 0;
	bytes_put_u8(&value, 0x10); /* a bool */
	bytes_put_varint(&value, 1);
	put_context_pair(&resource, 0x0a, "is_new", &value);
	put_field(ret, 0x0a, resource.data, resource.len);
	for (int i = 0; i < 2; i++) {
		text.len = 0;
		put_field(&text, 0x0a, i ? "route" : "user", i ? 5 : 4);
		put_field(&array, 0x0a, text.data, text.len);
	}
	value.len = 0;
	put_field(&value, 0x2a, array.data, array.len);
	put_context_pair(ret, 0x12, "threadlocal.attribute_key_map", &value);
	put_text_pair(ret, 0x12, "threadlocal.schema_version", "tlsdesc_v1_dev");
	bytes_buf_deinit(&resource);
	bytes_buf_deinit(&value);
	bytes_buf_deinit(&array);
	bytes_buf_deinit(&text);
}

TEST(a_resource_and_keys_of_threads_are_read)
{
	struct bytes_buf message = {0};
	struct process_context context;
	make_message(&message);
	CHECK(process_context_decode(message.data, message.len, &context));
	CHECK_STR(shown(&context), "service.name=shop replicas=42 is_new=true | user route");
	CHECK(!context.is_short);
	process_context_deinit(&context);
	for (size_t len = 0; len < message.len; len++) /* wherever it ends, it ends */
		if (process_context_decode(message.data, len, &context))
			process_context_deinit(&context);
	bytes_buf_deinit(&message);
}

TEST(what_has_no_room_is_left_out_and_said)
{
	struct bytes_buf resource = {0}, message = {0};
	struct process_context context;
	char key[600];
	memset(key, 'k', sizeof(key) - 1);
	key[sizeof(key) - 1] = '\0';
	put_text_pair(&resource, 0x0a, key, "long");
	for (int i = 0; i < PROCESS_CONTEXT_MAX_ATTRIBUTES; i++) {
		snprintf(key, sizeof(key), "k%d", i);
		put_text_pair(&resource, 0x0a, key, "v");
	}
	put_field(&message, 0x0a, resource.data, resource.len);
	CHECK(process_context_decode(message.data, message.len, &context));
	CHECK(context.is_short);
	CHECK_INT(strlen(str_text(&context.attributes)), PROCESS_CONTEXT_MAX_TEXT_BYTES);
	process_context_deinit(&context);
	message.len = 0;
	put_field(&message, 0x0a, "\x0b", 1); /* a group, which no such message has */
	CHECK(!process_context_decode(message.data, message.len, &context));
	bytes_buf_deinit(&message);
	bytes_buf_deinit(&resource);
}

TEST(mappings_with_a_context_are_known_by_their_names)
{
	CHECK(process_context_is_name("[anon:OTEL_CTX]"));
	CHECK(process_context_is_name("[anon_shmem:OTEL_CTX]"));
	CHECK(process_context_is_name("/memfd:OTEL_CTX (deleted)"));
	CHECK(!process_context_is_name("[anon:OTEL]"));
	CHECK(!process_context_is_name("/usr/lib/memfd:OTEL_CTX"));
}

/* Of this process itself. */
TEST(a_context_is_read_with_its_head)
{
	struct bytes_buf message = {0};
	struct process_context context;
	uint64_t published_ns = 0;
	make_message(&message);
	struct {
		char signature[8];
		uint32_t version, bytes;
		uint64_t published_ns;
		const void *payload;
	} head = {"OTEL_CTX", 2, (uint32_t)message.len, 7, message.data};
	int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	uint64_t address = (uintptr_t)&head;
	CHECK(process_context_read(memory, address, &published_ns, &context));
	CHECK_INT(published_ns, 7);
	CHECK_STR(shown(&context), "service.name=shop replicas=42 is_new=true | user route");
	process_context_deinit(&context);
	head.published_ns = 0; /* it is being changed */
	CHECK(!process_context_read(memory, address, &published_ns, &context));
	head.published_ns = 8;
	head.version = 3;
	CHECK(!process_context_read(memory, address, &published_ns, &context));
	head.version = 2;
	head.payload = (const void *)8;
	CHECK(!process_context_read(memory, address, &published_ns, &context));
	head.bytes = UINT32_MAX;
	CHECK(!process_context_read(memory, address, &published_ns, &context));
	head.signature[0] = 'o';
	CHECK(!process_context_read(memory, address, &published_ns, &context));
	close(memory);
	bytes_buf_deinit(&message);
}
