/* Profiles for pprof, read back by a decoder of its own: what pprof's CheckValid() and more demand.
 */
#include <elf.h>
#include <string.h>
#include <zlib.h>

#include "format/base/str.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/report_protobuf_message.h"
#include "tests/unit/unit.h"

struct decoded {
	struct profile *profile;
	struct bytes_buf raw;
	struct message top;
};

static void decode(struct decoded *decoded, struct profile *profile, uint32_t labels)
{
	struct bytes_buf gzipped = {0};
	fixture_export(profile, EXPORT_PPROF, labels, &gzipped);
	*decoded = (struct decoded){.profile = profile};
	vec_resize(&decoded->raw, 1 << 20);
	z_stream stream = {
		.next_in = gzipped.data,
		.avail_in = (unsigned)gzipped.len,
		.next_out = decoded->raw.data,
		.avail_out = (unsigned)decoded->raw.len,
	};
	CHECK_INT(inflateInit2(&stream, 15 + 16), Z_OK);
	CHECK_INT(inflate(&stream, Z_FINISH), Z_STREAM_END);
	CHECK_INT(stream.avail_in, 0);
	decoded->raw.len = stream.total_out;
	inflateEnd(&stream);
	bytes_buf_deinit(&gzipped);
	message_parse(bytes_cursor(decoded->raw.data, decoded->raw.len), &decoded->top);
}

static void decoded_deinit(struct decoded *decoded)
{
	bytes_buf_deinit(&decoded->raw);
	profile_destroy(decoded->profile);
}

/* Borrowed until the next but seven. */
static const char *text_at(const struct decoded *decoded, uint64_t index)
{
	static char texts[8][256];
	static unsigned next;
	char *text = texts[next++ % 8];
	CHECK(index < decoded->top.blobs[6].len);
	struct bytes_cursor cursor = decoded->top.blobs[6].at[index];
	size_t len = bytes_left(&cursor);
	memcpy(text, cursor.pos, len < 255 ? len : 255);
	text[len < 255 ? len : 255] = '\0';
	return text;
}

static void element(const struct decoded *decoded, unsigned field, size_t i, struct message *ret)
{
	CHECK(i < decoded->top.blobs[field].len);
	message_parse(decoded->top.blobs[field].at[i], ret);
}

/* ---- what holds for every profile ---- */

static bool has_id(const struct decoded *decoded, unsigned field, uint64_t id)
{
	size_t found = 0;
	for (size_t i = 0; i < decoded->top.blobs[field].len; i++) {
		struct message message;
		element(decoded, field, i, &message);
		found += message.number[1] == id;
	}
	return found == 1;
}

static void check_labels(const struct decoded *decoded, const struct message *sample)
{
	uint64_t keys[MESSAGE_ELEMENTS] = {0};
	for (size_t i = 0; i < sample->blobs[3].len; i++) {
		struct message label;
		message_parse(sample->blobs[3].at[i], &label);
		keys[i] = label.number[1];
		for (size_t j = 0; j < i; j++)
			CHECK(keys[j] != keys[i]);
		CHECK(text_at(decoded, keys[i])[0]);
		CHECK(label.number[2] || label.number[3] || label.number[4]);
		CHECK(!label.number[2] || !label.number[3]);
	}
}

static void check_samples(const struct decoded *decoded)
{
	for (size_t i = 0; i < decoded->top.blobs[2].len; i++) {
		struct message sample;
		element(decoded, 2, i, &sample);
		CHECK_INT(sample.blobs[1].len, 1); /* packed */
		CHECK_INT(sample.blobs[2].len, 1);
		struct bytes_cursor ids = sample.blobs[1].at[0], values = sample.blobs[2].at[0];
		while (bytes_left(&ids))
			CHECK(has_id(decoded, 4, bytes_get_varint(&ids)));
		size_t nr_values = 0;
		for (; bytes_left(&values); nr_values++)
			bytes_get_varint(&values);
		CHECK_INT(nr_values, decoded->top.blobs[1].len);
		check_labels(decoded, &sample);
	}
}

static void check_tables(const struct decoded *decoded)
{
	struct message message, line;
	for (size_t i = 0; i < decoded->top.blobs[3].len; i++) {
		element(decoded, 3, i, &message);
		CHECK(message.number[1] && has_id(decoded, 3, message.number[1]));
		CHECK(message.number[2] <= message.number[3]);
		CHECK(text_at(decoded, message.number[5])[0]);
	}
	for (size_t i = 0; i < decoded->top.blobs[4].len; i++) {
		element(decoded, 4, i, &message);
		CHECK(message.number[1] && has_id(decoded, 4, message.number[1]));
		CHECK(!message.number[2] || has_id(decoded, 3, message.number[2]));
		CHECK_INT(message.blobs[4].len, 1);
		message_parse(message.blobs[4].at[0], &line);
		CHECK(has_id(decoded, 5, line.number[1]));
	}
	for (size_t i = 0; i < decoded->top.blobs[5].len; i++) {
		element(decoded, 5, i, &message);
		CHECK(message.number[1] && has_id(decoded, 5, message.number[1]));
		CHECK(text_at(decoded, message.number[2])[0]);
		CHECK(text_at(decoded, message.number[3])[0]);
	}
}

static void check_valid(const struct decoded *decoded)
{
	CHECK_STR(text_at(decoded, 0), "");
	for (size_t i = 0; i < decoded->top.blobs[6].len; i++) {
		struct bytes_cursor text = decoded->top.blobs[6].at[i];
		while (bytes_left(&text)) {
			uint32_t code;
			size_t used =
				str_utf8_decode((const char *)text.pos, bytes_left(&text), &code);
			CHECK(used && code >= ' ');
			bytes_get(&text, used ? used : 1);
		}
		CHECK(text_at(decoded, i)[0] != '#');
	}
	CHECK(decoded->top.number[14]);
	CHECK_INT(decoded->top.blobs[11].len, 1);
	check_samples(decoded);
	check_tables(decoded);
}

/* "key=value" of the labels of a sample; numbers with their unit. */
static void put_labels(const struct decoded *decoded, size_t index, struct str *out)
{
	struct message sample, label;
	element(decoded, 2, index, &sample);
	for (size_t i = 0; i < sample.blobs[3].len; i++) {
		message_parse(sample.blobs[3].at[i], &label);
		str_printf(out, "%s%s=", i ? " " : "", text_at(decoded, label.number[1]));
		if (label.number[2])
			str_puts(out, text_at(decoded, label.number[2]));
		else
			str_printf(out, "%llu%s", (unsigned long long)label.number[3],
				text_at(decoded, label.number[4]));
	}
}

static void check_sample(
	const struct decoded *decoded, size_t index, const char *labels, const char *values)
{
	CLEANUP(str_deinit) struct str text = {0};
	put_labels(decoded, index, &text);
	CHECK_STR(str_text(&text), labels);
	str_truncate(&text, 0);
	struct message sample;
	element(decoded, 2, index, &sample);
	for (struct bytes_cursor cursor = sample.blobs[2].at[0]; bytes_left(&cursor);)
		str_printf(&text, "%s%llu", text.len ? " " : "",
			(unsigned long long)bytes_get_varint(&cursor));
	CHECK_STR(str_text(&text), values);
}

static void check_value_type(
	const struct decoded *decoded, unsigned field, size_t index, const char *want)
{
	struct message type;
	element(decoded, field, index, &type);
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(
		&text, "%s/%s", text_at(decoded, type.number[1]), text_at(decoded, type.number[2]));
	CHECK_STR(str_text(&text), want);
}

/* ---- the tests ---- */

TEST(pprof_head)
{
	struct fixture fixture;
	fixture_init(&fixture);
	writer_meta(fixture.writer, LAYOUT_META_NOTE, "#hidden?");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, 0, 0, 5);
	struct decoded decoded;
	decode(&decoded, fixture_profile(&fixture), FIXTURE_LABELS);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[1].len, 2);
	check_value_type(&decoded, 1, 0, "samples/count");
	check_value_type(&decoded, 1, 1, "cpu/nanoseconds");
	check_value_type(&decoded, 11, 0, "cpu/nanoseconds");
	CHECK_INT(decoded.top.number[12], 1000000);
	CHECK_STR(text_at(&decoded, decoded.top.number[14]), "cpu");
	CHECK_INT(decoded.top.number[9], 1700000000000000000);
	CHECK_INT(decoded.top.number[10], 5000000);
	check_sample(&decoded, 0, "comm=x pid=1 tid=1", "5 5000000");
	decoded_deinit(&decoded);
}

TEST(pprof_of_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct decoded decoded;
	decode(&decoded, fixture_profile(&fixture), FIXTURE_LABELS);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[2].len, 0);
	CHECK_INT(decoded.top.blobs[1].len, 2);
	CHECK_STR(text_at(&decoded, decoded.top.number[14]), "cpu");
	decoded_deinit(&decoded);
}

TEST(pprof_cycles_and_a_second_event)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, 0, 0, 2);
	fixture.event = fixture_event(&fixture, "cycles", "cycles", 10000);
	fixture_samples(&fixture, thread, 0, 0, 3);
	struct decoded decoded;
	decode(&decoded, fixture_profile(&fixture), 0);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[1].len, 4);
	check_value_type(&decoded, 1, 0, "cpu_samples/count");
	check_value_type(&decoded, 1, 2, "cycles_samples/count");
	check_value_type(&decoded, 1, 3, "cycles/count");
	check_value_type(&decoded, 11, 0, "cycles/count");
	CHECK_STR(text_at(&decoded, decoded.top.number[14]), "cycles");
	CHECK_INT(decoded.top.number[12], 10000);
	check_sample(&decoded, 0, "", "2 2000000 0 0");
	check_sample(&decoded, 1, "", "0 0 3 30000");
	decoded_deinit(&decoded);
}

/* Two programs: the busier one comes first although the other was seen first. */
static uint32_t put_program(struct fixture *fixture, const char *path)
{
	static const struct layout_segment segments[] = {
		{.vaddr = 0, .offset = 0, .filesz = 0x1000, .memsz = 0x1000, .flags = PF_R},
		{.vaddr = 0x403000,
			.offset = 0x3000,
			.filesz = 0x2000,
			.memsz = 0x2000,
			.flags = PF_R | PF_X},
	};
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_FILE,
		.path = fixture_string(fixture, path),
		.build_id = {0xAB, 0x0c, 0xff},
		.build_id_len = 3,
		.segments = segments,
		.nr_segments = 2,
	};
	return writer_object(fixture->writer, &object);
}

static void check_mapping(const struct decoded *decoded, size_t index, uint64_t start,
	uint64_t limit, uint64_t offset, const char *filename, const char *build_id)
{
	struct message mapping;
	element(decoded, 3, index, &mapping);
	CHECK_INT(mapping.number[2], start);
	CHECK_INT(mapping.number[3], limit);
	CHECK_INT(mapping.number[4], offset);
	CHECK_STR(text_at(decoded, mapping.number[5]), filename);
	CHECK_STR(text_at(decoded, mapping.number[6]), build_id);
}

TEST(pprof_mappings)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t idle = put_program(&fixture, "/nonexistent/idle");
	uint32_t busy = put_program(&fixture, "/nonexistent/busy");
	uint32_t one = fixture_thread(&fixture, fixture_process(&fixture, 1, idle), 1, "idle");
	uint32_t two = fixture_thread(&fixture, fixture_process(&fixture, 2, busy), 2, "busy");
	uint32_t in_idle = fixture_frame(&fixture, idle, 0x3010, NULL);
	uint32_t in_busy = fixture_frame(&fixture, busy, 0x4fff, NULL);
	uint32_t outside = fixture_frame(&fixture, busy, 0x5000, NULL); /* of any segment */
	uint32_t in_kernel = fixture_frame(&fixture, kernel, 0x123, "do_syscall_64");
	fixture_samples(&fixture, one, FIXTURE_STACK(&fixture, in_idle), 0, 1);
	fixture_samples(&fixture, two, FIXTURE_STACK(&fixture, outside, in_busy),
		FIXTURE_STACK(&fixture, in_kernel), 2);
	struct decoded decoded;
	decode(&decoded, fixture_profile(&fixture), FIXTURE_LABELS);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[3].len, 4);
	check_mapping(&decoded, 0, 0x403000, 0x405000, 0x3000, "/nonexistent/busy", "ab0cff");
	check_mapping(&decoded, 1, 0x403000, 0x405000, 0x3000, "/nonexistent/idle", "ab0cff");
	check_mapping(&decoded, 2, 0xffffffff81000000, 0xffffffff81000124, 0,
		"[kernel.kallsyms]_stext", "");
	check_mapping(&decoded, 3, 0, 0x5001, 0, "/nonexistent/busy", "ab0cff");
	struct message message;
	element(&decoded, 3, 0, &message);
	CHECK_INT(message.number[7], 0); /* no symbols here: pprof may have the file */
	element(&decoded, 3, 2, &message);
	for (unsigned field = 7; field <= 10; field++)
		CHECK_INT(message.number[field], 1);
	element(&decoded, 4, 2, &message); /* in order of use: in_busy */
	CHECK_INT(message.number[3], 0x404fff);
	decoded_deinit(&decoded);
}

TEST(pprof_labels_of_threads)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t java = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/opt/java-with-a-long-name");
	struct layout_process waiting = {
		.pid = 7,
		.exe = java,
		.cgroup = fixture_string(&fixture, "/system.slice"),
		.container = fixture_string(&fixture, "0123456789ab"),
	};
	uint32_t quiet = writer_process(fixture.writer, &waiting);
	uint32_t server = fixture_process(&fixture, 8, 0);
	uint32_t gc = fixture_thread(&fixture, quiet, 17, "GC");
	uint32_t worker = fixture_thread(&fixture, server, 18, "wor\nker");
	uint32_t leader = fixture_thread(&fixture, server, 8, "server");
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t frame = fixture_frame(&fixture, object, 1, "f");
	fixture_samples(&fixture, gc, 0, 0, 1);
	fixture_samples(&fixture, worker, 0, 0, 1);
	fixture_samples(&fixture, leader, 0, 0, 1);
	fixture_samples(&fixture, worker, FIXTURE_STACK(&fixture, frame), 0, 1);
	fixture_samples(&fixture, worker, 0, 0, 1);
	struct decoded decoded;
	struct profile *profile = fixture_profile(&fixture);
	decode(&decoded, profile, FIXTURE_LABELS);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[2].len, 4);
	check_sample(&decoded, 0,
		"comm=java-with-a-lon thread=GC pid=7 tid=17 container=0123456789ab "
		"cgroup=/system.slice",
		"1 1000000");
	check_sample(&decoded, 1, "comm=server thread=wor\\x0aker pid=8 tid=18", "2 2000000");
	check_sample(&decoded, 2, "comm=server pid=8 tid=8", "1 1000000");
	check_sample(&decoded, 3, "comm=server thread=wor\\x0aker pid=8 tid=18", "1 1000000");
	bytes_buf_deinit(&decoded.raw);
	decode(&decoded, profile, EXPORT_LABEL_PID | EXPORT_LABEL_CPU);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[2].len, 3);
	check_sample(&decoded, 1, "pid=8 cpu=0cpu", "3 3000000");
	decoded_deinit(&decoded);
}

TEST(pprof_names)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "#x");
	uint32_t mangled = fixture_frame(&fixture, object, 0x10, "_Z4worki");
	uint32_t hostile = fixture_frame(&fixture, object, 0x20, "a\xff\n");
	uint32_t truncated = fixture_frame(&fixture, 0, LAYOUT_TRUNCATED_DEPTH, NULL);
	fixture_samples(
		&fixture, thread, FIXTURE_STACK(&fixture, truncated, hostile, mangled), 0, 1);
	fixture_samples(&fixture, thread, 0, 0, 1);
	struct decoded decoded;
	decode(&decoded, fixture_profile(&fixture), EXPORT_LABEL_PID);
	check_valid(&decoded);
	static const char *const want[][2] = {
		{"work(int)", "_Z4worki"},
		{"a\\xff\\x0a", "a\\xff\\x0a"},
		{"[truncated: depth_limit]", "[truncated: depth_limit]"},
		{"[no stack]", "[no stack]"},
	};
	CHECK_INT(decoded.top.blobs[5].len, 4);
	for (size_t i = 0; i < 4; i++) {
		struct message function;
		element(&decoded, 5, i, &function);
		CHECK_STR(text_at(&decoded, function.number[2]), want[i][0]);
		CHECK_STR(text_at(&decoded, function.number[3]), want[i][1]);
	}
	struct message sample;
	element(&decoded, 2, 0, &sample); /* leaf first */
	struct bytes_cursor ids = sample.blobs[1].at[0];
	CHECK_INT(bytes_get_varint(&ids), 1);
	CHECK_INT(bytes_get_varint(&ids), 2);
	CHECK_INT(bytes_get_varint(&ids), 3);
	decoded_deinit(&decoded);
}

/* Parca refuses a profile whose ids are not 1, 2, 3... in the order of the tables. */
TEST(pprof_ids_have_no_holes)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_FILE, "/bin/x");
	uint32_t frames[8];
	for (size_t i = 0; i < 8; i++)
		frames[i] = fixture_frame(&fixture, object, 0x100 * i, i % 2 ? "odd" : NULL);
	uint32_t stack = FIXTURE_STACK(&fixture, frames[6], frames[1], frames[3]);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, stack, 0, 1);
	struct decoded decoded;
	decode(&decoded, fixture_profile(&fixture), FIXTURE_LABELS);
	check_valid(&decoded);
	CHECK_INT(decoded.top.blobs[4].len, 3);
	for (unsigned field = 3; field <= 5; field++)
		for (size_t i = 0; i < decoded.top.blobs[field].len; i++) {
			struct message message;
			element(&decoded, field, i, &message);
			CHECK_INT(message.number[1], i + 1);
		}
	decoded_deinit(&decoded);
}
