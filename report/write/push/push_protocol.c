#include "report/write/push/push_protocol.h"

#include <string.h>

#include "format/base/clock.h"
#include "format/base/hex.h"
#include "report/model/text/base64.h"
#include "report/model/text/byte_sink.h"
#include "report/model/text/json.h"
#include "report/write/export/gzip.h"
#include "report/write/export/protobuf.h"

enum {
	PPROF_SAMPLE = 2, /* the field of profile.proto's Profile */
	WIRE_LEN = 2,
	LABEL_PAIR_NAME = 1,
	LABEL_PAIR_VALUE = 2,
	UUID_TEXT_BYTES = 37,
};

/* What Pyroscope and Parca call profiles of a processor's time, by any profiler. */
static const char profile_name[] = "process_cpu";

static struct err *compress(const struct bytes_buf *plain, struct bytes_buf *out)
{
	struct gzip *gzip = gzip_create(byte_sink_to_bytes(out));
	struct err *err = gzip_write(gzip, plain->data, plain->len);
	if (!err)
		err = gzip_finish(gzip);
	gzip_destroy(gzip);
	return err;
}

/* The elements of a repeated field of the outermost message, which is our own. */
static uint64_t count_field(const struct bytes_buf *message, uint64_t field)
{
	uint64_t count = 0;
	struct bytes_cursor cursor = bytes_cursor(message->data, message->len);
	while (bytes_left(&cursor)) {
		uint64_t key = bytes_get_varint(&cursor);
		uint64_t value = bytes_get_varint(&cursor);
		count += key >> 3 == field;
		if ((key & 7) == WIRE_LEN)
			bytes_get(&cursor, value);
	}
	return count;
}

/* The profile as pprof, gzipped, with what limits count of it. */
static struct err *encode_pprof(
	const struct push_input *input, struct push_body *body, struct bytes_buf *ret)
{
	struct export_options options = {.labels = input->sample_labels, .is_plain = true};
	struct bytes_buf plain = {0};
	struct err *err = export_pprof(input->profile, &options, byte_sink_to_bytes(&plain));
	if (!err)
		err = compress(&plain, ret);
	body->plain_bytes = plain.len;
	body->nr_samples = count_field(&plain, PPROF_SAMPLE);
	bytes_buf_deinit(&plain);
	return err;
}

/* ---- Pyroscope: POST /push.v1.PusherService/Push, Connect's unary protocol ---- */

static void push_protocol_put_label(struct bytes_buf *series, const char *name, const char *value)
{
	struct bytes_buf pair = {0};
	protobuf_put_bytes(&pair, LABEL_PAIR_NAME, name, strlen(name));
	protobuf_put_bytes(&pair, LABEL_PAIR_VALUE, value, strlen(value));
	protobuf_put_message(series, 1, &pair);
	bytes_buf_deinit(&pair);
}

static void put_uuid(const uint8_t *id, char ret[UUID_TEXT_BYTES])
{
	static const char hex_digits[] = "0123456789abcdef";
	size_t at = 0;
	for (size_t i = 0; i < EXPORT_ID_BYTES; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			ret[at++] = '-';
		ret[at++] = hex_digits[id[i] >> 4];
		ret[at++] = hex_digits[id[i] & 15];
	}
	ret[at] = '\0';
}

/* PushRequest{series=1}, RawProfileSeries{labels=1, samples=2}, RawSample{raw_profile=1, ID=2} */
static struct err *encode_push(const struct push_input *input, struct push_body *body)
{
	struct bytes_buf pprof = {0}, series = {0}, sample = {0};
	char id[UUID_TEXT_BYTES];
	struct err *err = encode_pprof(input, body, &pprof);
	put_uuid(input->id, id);
	push_protocol_put_label(&series, "__name__", profile_name);
	for (size_t i = 0; i < input->nr_labels; i++)
		push_protocol_put_label(&series, input->labels[i].key, input->labels[i].value);
	protobuf_put_bytes(&sample, 1, pprof.data, pprof.len);
	protobuf_put_bytes(&sample, 2, id, strlen(id));
	protobuf_put_message(&series, 2, &sample);
	protobuf_put_message(&body->bytes, 1, &series);
	bytes_buf_deinit(&pprof);
	bytes_buf_deinit(&series);
	bytes_buf_deinit(&sample);
	return err;
}

/* ---- Pyroscope: POST /ingest ---- */

static void push_protocol_put_percent(struct str *out, const char *text)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
	for (; *text; text++)
		if (strchr(plain, *text))
			str_putc(out, *text);
		else
			hex_put_percent(out, *text);
}

/* ?name=service{key=value,...}&from=&until=, in seconds. */
static struct err *encode_ingest(const struct push_input *input, struct push_body *body)
{
	const struct profile *profile = input->profile;
	CLEANUP(str_deinit) struct str name = {0};
	const char *separator = "{";
	for (size_t i = 0; i < input->nr_labels; i++)
		if (strpbrk(input->labels[i].value, "{},="))
			return err_new(ERR_USAGE, "/ingest has no way to say the label %s=%s",
				input->labels[i].key, input->labels[i].value);
	for (size_t i = 0; i < input->nr_labels; i++)
		if (strcmp(input->labels[i].key, "service_name") == 0)
			str_puts(&name, input->labels[i].value);
	for (size_t i = 0; i < input->nr_labels; i++) {
		if (strcmp(input->labels[i].key, "service_name") == 0)
			continue;
		str_printf(
			&name, "%s%s=%s", separator, input->labels[i].key, input->labels[i].value);
		separator = ",";
	}
	if (separator[0] == ',')
		str_putc(&name, '}');
	str_puts(&body->query, "?name=");
	push_protocol_put_percent(&body->query, str_text(&name));
	str_printf(&body->query, "&from=%llu&until=%llu&format=pprof&spyName=ebprof",
		(unsigned long long)(profile_wall_ns(profile, profile->first_ns) / NS_PER_S),
		(unsigned long long)(profile_wall_ns(profile, profile->last_ns) / NS_PER_S + 1));
	return encode_pprof(input, body, &body->bytes);
}

/* ---- Parca ---- */

static void put_json_label(struct str *out, const char *name, const char *value)
{
	str_puts(out, "{\"name\":");
	json_quote(out, name);
	str_puts(out, ",\"value\":");
	json_quote(out, value);
	str_putc(out, '}');
}

/* WriteRawRequest; normalized: addresses are those of the file, not of a process. */
static struct err *encode_parca(const struct push_input *input, struct push_body *body)
{
	struct bytes_buf pprof = {0};
	CLEANUP(str_deinit) struct str json = {0};
	struct err *err = encode_pprof(input, body, &pprof);
	str_puts(&json, "{\"series\":[{\"labels\":{\"labels\":[");
	put_json_label(&json, "__name__", profile_name);
	for (size_t i = 0; i < input->nr_labels; i++) {
		str_putc(&json, ',');
		put_json_label(&json, input->labels[i].key, input->labels[i].value);
	}
	str_puts(&json, "]},\"samples\":[{\"raw_profile\":\"");
	base64_put(&json, pprof.data, pprof.len);
	str_puts(&json, "\"}]}],\"normalized\":true}");
	bytes_put(&body->bytes, str_text(&json), json.len);
	bytes_buf_deinit(&pprof);
	return err;
}

/* ---- OTLP ---- */

static struct err *encode_otlp(const struct push_input *input, struct push_body *body)
{
	CLEANUP_FREE struct export_attribute *attributes =
		mem_zalloc_array(input->nr_labels, sizeof(*attributes));
	for (size_t i = 0; i < input->nr_labels; i++) {
		attributes[i] = input->labels[i];
		if (strcmp(attributes[i].key, "service_name") == 0)
			attributes[i].key = "service.name";
	}
	struct export_options options = {
		.labels = input->sample_labels,
		.attributes = attributes,
		.nr_attributes = input->nr_labels,
		.id = input->id,
	};
	struct bytes_buf plain = {0};
	struct err *err = export_otlp(input->profile, &options, byte_sink_to_bytes(&plain));
	if (!err)
		err = compress(&plain, &body->bytes);
	body->plain_bytes = plain.len;
	bytes_buf_deinit(&plain);
	return err;
}

/* The number and the text of ExportProfilesPartialSuccess{rejected_profiles=1, error_message=2}. */
static void read_partial(struct bytes_cursor cursor, uint64_t *rejected, struct str *message)
{
	while (bytes_left(&cursor)) {
		uint64_t key = bytes_get_varint(&cursor);
		uint64_t value = bytes_get_varint(&cursor);
		if (key >> 3 == 1)
			*rejected = value;
		if ((key & 7) != WIRE_LEN)
			continue;
		const uint8_t *text = bytes_get(&cursor, value);
		if (text && key >> 3 == 2)
			str_write(message, text, value);
	}
}

/* ExportProfilesServiceResponse{partial_success=1}; what is no such message says nothing. */
static struct err *check_otlp(const struct http_response *response)
{
	struct bytes_cursor cursor = bytes_cursor(response->body, response->len);
	CLEANUP(str_deinit) struct str message = {0};
	uint64_t rejected = 0;
	if (bytes_get_varint(&cursor) == (1 << 3 | WIRE_LEN)) {
		uint64_t len = bytes_get_varint(&cursor);
		read_partial(bytes_get_cursor(&cursor, len), &rejected, &message);
	}
	if (!rejected)
		return NULL;
	return err_new(ERR_IO, "the server rejected %llu %s: %s", (unsigned long long)rejected,
		str_plural(rejected, "profile", "profiles"),
		message.len ? str_text(&message) : "the server gave no reason");
}

/* ---- the table ---- */

static const struct push_protocol protocols[] = {
	{
		.name = "pyroscope",
		.endpoint = "/push.v1.PusherService/Push",
		.content_type = "application/proto",
		.encode = encode_push,
		.max_bytes = 4 << 20,
		.max_samples = 16000,
		.max_age_s = 3600,
	},
	{
		.name = "pyroscope",
		.endpoint = "/ingest",
		.content_type = "application/octet-stream",
		.encode = encode_ingest,
		.max_bytes = 4 << 20,
		.max_samples = 16000,
		.max_age_s = 3600,
	},
	{
		.name = "otlp",
		.endpoint = "/v1development/profiles",
		.content_type = "application/x-protobuf",
		.is_gzip = true,
		.encode = encode_otlp,
		.check = check_otlp,
		.max_bytes = 16 << 20, /* a collector takes 20 MiB */
	},
	{
		.name = "parca",
		.endpoint = "/api/profiles/writeraw",
		.content_type = "application/json",
		.encode = encode_parca,
		.max_bytes = 16 << 20,
	},
};

static bool push_protocol_ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);
	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

struct err *push_protocol_find(
	const char *name, const char *path, const struct push_protocol **ret, bool *is_endpoint)
{
	const struct push_protocol *named = NULL;
	for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++) {
		const struct push_protocol *row = &protocols[i];
		bool is_wanted = !name || strcmp(row->name, name) == 0;
		if (is_wanted && push_protocol_ends_with(path, row->endpoint)) {
			*ret = row;
			*is_endpoint = true;
			return NULL;
		}
		if (name && is_wanted && !named)
			named = row;
	}
	if (name && !named)
		return err_new(ERR_USAGE, "\"%s\" is none of pyroscope, otlp, parca", name);
	if (!named)
		return err_new(ERR_USAGE,
			"the path \"%s\" does not tell what kind of server it is: "
			"say --protocol pyroscope, otlp or parca",
			path);
	*ret = named;
	*is_endpoint = false;
	return NULL;
}

struct err *push_protocol_encode(
	const struct push_protocol *protocol, const struct push_input *input, struct push_body *ret)
{
	return protocol->encode(input, ret);
}

void push_body_deinit(struct push_body *body)
{
	bytes_buf_deinit(&body->bytes);
	str_deinit(&body->query);
}
