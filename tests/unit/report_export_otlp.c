/* Profiles for OpenTelemetry: what the comments of profiles.proto demand
 * (opentelemetry-proto 1.11.0).
 */
#include <string.h>

#include "format/base/str.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/report_protobuf_message.h"
#include "tests/unit/unit.h"

enum table { /* fields of the dictionary */
	MAPPINGS = 1,
	LOCATIONS = 2,
	FUNCTIONS = 3,
	LINKS = 4,
	STRINGS = 5,
	ATTRIBUTES = 6,
	STACKS = 7,
};

struct decoded {
	struct bytes_buf raw;
	struct message request, dictionary;
};

static void decode(struct decoded *decoded, struct profile *profile, uint32_t labels)
{
	*decoded = (struct decoded){0};
	fixture_export(profile, EXPORT_OTLP, labels, &decoded->raw);
	profile_destroy(profile);
	message_parse(bytes_cursor(decoded->raw.data, decoded->raw.len), &decoded->request);
	CHECK_INT(decoded->request.blobs[2].len, 1);
	message_parse(decoded->request.blobs[2].at[0], &decoded->dictionary);
}

static void put_cursor(struct bytes_cursor text, struct str *out)
{
	str_write(out, text.pos, bytes_left(&text));
}

static void put_string(const struct decoded *decoded, uint64_t index, struct str *out)
{
	CHECK(index < decoded->dictionary.blobs[STRINGS].len);
	put_cursor(decoded->dictionary.blobs[STRINGS].at[index], out);
}

static void element(
	const struct decoded *decoded, enum table table, uint64_t index, struct message *ret)
{
	CHECK(index < decoded->dictionary.blobs[table].len);
	message_parse(decoded->dictionary.blobs[table].at[index], ret);
}

/* " key=value" of an AnyValue. */
static void put_value(struct bytes_cursor any, struct str *out)
{
	struct message value;
	message_parse(any, &value);
	if (value.blobs[1].len)
		put_cursor(value.blobs[1].at[0], out);
	else
		str_printf(out, "%llu", (unsigned long long)value.number[3]);
}

static void put_attributes(
	const struct decoded *decoded, const struct message *owner, unsigned field, struct str *out)
{
	CHECK(owner->blobs[field].len <= 1); /* packed */
	if (!owner->blobs[field].len)
		return;
	for (struct bytes_cursor indices = owner->blobs[field].at[0]; bytes_left(&indices);) {
		struct message attribute;
		uint64_t index = bytes_get_varint(&indices);
		CHECK(index);
		element(decoded, ATTRIBUTES, index, &attribute);
		str_putc(out, ' ');
		put_string(decoded, attribute.number[1], out);
		str_putc(out, '=');
		put_value(attribute.blobs[2].at[0], out);
	}
}

/* "leaf<caller<..." */
static void put_stack(const struct decoded *decoded, uint64_t index, struct str *out)
{
	struct message stack, location, line, function;
	CHECK(index);
	element(decoded, STACKS, index, &stack);
	CHECK_INT(stack.blobs[1].len, 1);
	const char *separator = "";
	for (struct bytes_cursor indices = stack.blobs[1].at[0]; bytes_left(&indices);) {
		element(decoded, LOCATIONS, bytes_get_varint(&indices), &location);
		CHECK(location.number[1] < decoded->dictionary.blobs[MAPPINGS].len);
		CHECK(location.blobs[3].len);
		message_parse(location.blobs[3].at[0], &line);
		CHECK(line.number[1]);
		element(decoded, FUNCTIONS, line.number[1], &function);
		str_puts(out, separator);
		put_string(decoded, function.number[1], out);
		separator = "<";
	}
}

static void put_type(const struct decoded *decoded, struct bytes_cursor type, struct str *out)
{
	struct message message;
	message_parse(type, &message);
	put_string(decoded, message.number[1], out);
	str_putc(out, '/');
	put_string(decoded, message.number[2], out);
}

static void put_profile(const struct decoded *decoded, struct bytes_cursor at, struct str *out)
{
	struct message profile, sample;
	message_parse(at, &profile);
	str_puts(out, "profile ");
	put_type(decoded, profile.blobs[1].at[0], out);
	str_puts(out, " each ");
	str_printf(out, "%llu ", (unsigned long long)profile.number[6]);
	put_type(decoded, profile.blobs[5].at[0], out);
	put_attributes(decoded, &profile, 11, out);
	str_putc(out, '\n');
	CHECK_INT(profile.number[3], 1700000000000000000);
	for (size_t i = 0; i < profile.blobs[2].len; i++) {
		message_parse(profile.blobs[2].at[i], &sample);
		struct bytes_cursor values = sample.blobs[4].at[0];
		str_printf(out, "%llu ", (unsigned long long)bytes_get_varint(&values));
		CHECK_INT(bytes_left(&values), 0);
		put_stack(decoded, sample.number[1], out);
		put_attributes(decoded, &sample, 2, out);
		str_putc(out, '\n');
	}
}

static void put_resource(const struct decoded *decoded, struct bytes_cursor at, struct str *out)
{
	struct message resource_profiles, resource, pair, scope_profiles;
	message_parse(at, &resource_profiles);
	message_parse(resource_profiles.blobs[1].at[0], &resource);
	str_puts(out, "resource");
	for (size_t i = 0; i < resource.blobs[1].len; i++) {
		message_parse(resource.blobs[1].at[i], &pair);
		str_putc(out, ' ');
		put_cursor(pair.blobs[1].at[0], out);
		str_putc(out, '=');
		put_value(pair.blobs[2].at[0], out);
	}
	str_putc(out, '\n');
	message_parse(resource_profiles.blobs[2].at[0], &scope_profiles);
	for (size_t i = 0; i < scope_profiles.blobs[2].len; i++)
		put_profile(decoded, scope_profiles.blobs[2].at[i], out);
}

/* Index 0 of each table is there and says nothing; a link's ids are of the length they have. */
static void check_tables(const struct decoded *decoded)
{
	for (enum table table = MAPPINGS; table <= STACKS; table++) {
		CHECK(decoded->dictionary.blobs[table].len);
		struct bytes_cursor zero = decoded->dictionary.blobs[table].at[0];
		CHECK_INT(bytes_left(&zero), table == LINKS ? 28 : 0);
	}
	for (size_t i = 0; i < decoded->dictionary.blobs[STRINGS].len; i++)
		for (struct bytes_cursor text = decoded->dictionary.blobs[STRINGS].at[i];
			bytes_left(&text);) {
			uint32_t code;
			size_t used =
				str_utf8_decode((const char *)text.pos, bytes_left(&text), &code);
			CHECK(used && code >= ' ');
			bytes_get(&text, used ? used : 1);
		}
}

static void check_export(struct fixture *fixture, uint32_t labels, const char *want)
{
	struct decoded decoded;
	CLEANUP(str_deinit) struct str text = {0};
	decode(&decoded, fixture_profile(fixture), labels);
	check_tables(&decoded);
	for (size_t i = 0; i < decoded.request.blobs[1].len; i++)
		put_resource(&decoded, decoded.request.blobs[1].at[i], &text);
	CHECK_STR(str_text(&text), want);
	bytes_buf_deinit(&decoded.raw);
}

TEST(otlp_of_nothing)
{
	struct fixture fixture;
	fixture_init(&fixture);
	check_export(&fixture, FIXTURE_LABELS,
		"resource service.name=ebprof os.type=linux\n"
		"profile samples/count each 1000000 cpu/nanoseconds\n");
}

TEST(otlp_stacks_are_leaf_first_and_added_up)
{
	struct fixture fixture;
	fixture_init(&fixture);
	writer_meta(fixture.writer, LAYOUT_META_COMMAND, "./bin/server");
	writer_meta(fixture.writer, LAYOUT_META_ARCH, "x86_64");
	uint32_t object = fixture_object(&fixture, LAYOUT_OBJECT_VDSO, "[vdso]");
	uint32_t kernel = fixture_object(&fixture, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 7, 0), 8, "x");
	uint32_t inner = fixture_frame(&fixture, object, 0x10, "_Z4worki");
	uint32_t outer = fixture_frame(&fixture, object, 0x20, "a\xff\n");
	uint32_t call = fixture_frame(&fixture, kernel, 0x30, "do_syscall_64");
	uint32_t stack = FIXTURE_STACK(&fixture, outer, inner);
	fixture_samples(&fixture, thread, stack, 0, 2);
	fixture_samples(&fixture, thread, stack, FIXTURE_STACK(&fixture, call), 1);
	fixture_samples(&fixture, thread, stack, 0, 3);
	fixture_samples(&fixture, thread, 0, 0, 1);
	check_export(&fixture, EXPORT_LABEL_TID | EXPORT_LABEL_THREAD | EXPORT_LABEL_CPU,
		"resource service.name=server host.arch=amd64 os.type=linux\n"
		"profile samples/count each 1000000 cpu/nanoseconds\n"
		"5 work(int)<a\\xff\\x0a thread.name=x thread.id=8 cpu.logical_number=0\n"
		"1 do_syscall_64<work(int)<a\\xff\\x0a thread.name=x thread.id=8 "
		"cpu.logical_number=0\n"
		"1 [no stack] thread.name=x thread.id=8 cpu.logical_number=0\n");
}

/*
 * profiles.proto, Sample: "The [stack, attributes, link] identity must be unique within a Profile."
 * Stacks of one recording may differ in what OTLP does not hold: how the unwinder came to a frame.
 */
TEST(otlp_stacks_that_differ_in_nothing_of_otlp_are_one)
{
	struct fixture fixture;
	uint32_t thread;
	uint32_t object = fixture_begin(&fixture, "libx.so", &thread);
	uint32_t inner = fixture_frame(&fixture, object, 0x10, "inner");
	uint32_t outer = fixture_frame(&fixture, object, 0x20, "outer");
	struct layout_frame guess = {
		.object = object, .offset = 0x20, .flags = LAYOUT_FRAME_GUESSED};
	uint32_t guessed = writer_frame(fixture.writer, &guess);
	CHECK(guessed != outer);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, guessed, inner), 0, 2);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, inner), 0, 1);
	fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, outer, inner), 0, 3);
	check_export(&fixture, 0,
		"resource service.name=ebprof os.type=linux\n"
		"profile samples/count each 1000000 cpu/nanoseconds\n"
		"5 inner<outer\n"
		"1 inner\n");
}

/* A file that was replaced while it was sampled is two objects, without a build ID of one mapping.
 */
TEST(otlp_mappings_that_are_equal_are_one)
{
	struct fixture fixture;
	struct decoded decoded;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 7, 0), 7, "x");
	struct layout_object object = {.kind = LAYOUT_OBJECT_FILE,
		.path = fixture_string(&fixture, "/nowhere/libx.so"),
		.size_bytes = 0x1000,
		.device = 1};
	for (object.inode = 1; object.inode <= 2; object.inode++) {
		uint32_t frame =
			fixture_frame(&fixture, writer_object(fixture.writer, &object), 0x10, "f");
		fixture_samples(&fixture, thread, FIXTURE_STACK(&fixture, frame), 0, 1);
	}
	decode(&decoded, fixture_profile(&fixture), 0);
	CHECK_INT(decoded.dictionary.blobs[MAPPINGS].len, 2); /* of which one is none */
	CHECK_INT(decoded.dictionary.blobs[LOCATIONS].len, 2);
	CHECK_INT(decoded.dictionary.blobs[STACKS].len, 2);
	bytes_buf_deinit(&decoded.raw);
}

TEST(otlp_events_and_containers_are_profiles_of_their_own)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct layout_process contained = {
		.pid = 7, .container = fixture_string(&fixture, "0123456789ab")};
	uint32_t outside = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "init");
	uint32_t inside =
		fixture_thread(&fixture, writer_process(fixture.writer, &contained), 7, "nginx");
	fixture_samples(&fixture, inside, 0, 0, 2);
	fixture_samples(&fixture, outside, 0, 0, 1);
	fixture.event = fixture_event(&fixture, "cycles", "cycles", 0);
	fixture_samples(&fixture, inside, 0, 0, 4);
	check_export(&fixture, EXPORT_LABEL_CONTAINER,
		"resource service.name=ebprof os.type=linux\n"
		"profile samples/count each 1000000 cpu/nanoseconds\n"
		"1 [no stack]\n"
		"resource service.name=ebprof os.type=linux container.id=0123456789ab\n"
		"profile samples/count each 1000000 cpu/nanoseconds\n"
		"2 [no stack]\n"
		"profile cycles/count each 1 cycles/count\n"
		"4 [no stack]\n");
}

TEST(otlp_tells_losses)
{
	struct fixture fixture;
	fixture_init(&fixture);
	struct layout_counter_value lost = {.counter = LAYOUT_COUNTER_LOST_RING, .value = 5};
	writer_counter(fixture.writer, &lost);
	check_export(&fixture, 0,
		"resource service.name=ebprof os.type=linux\n"
		"profile samples/count each 1000000 cpu/nanoseconds ebprof.lost_samples=5\n");
}
