/*
 * OpenTelemetry's profiles: the body of a request to a collector, ExportProfilesServiceRequest,
 * uncompressed.
 *
 * Source: opentelemetry-proto 1.11.0, profiles/v1development/profiles.proto and
 * collector/profiles/v1development/profiles_service.proto. Fields of v1development may change
 * their meaning with any version; this one is wire-compatible with 1.9.0 and 1.10.0.
 *
 * A request holds resources (here: what ran in one container, and the rest), these hold profiles,
 * a profile holds samples of one kind of value, and all of them refer to one dictionary. A message
 * stands behind its length, so both halves are put together in memory; they are as large as the
 * distinct stacks and attributes, not as the samples.
 *
 * Samples are added up, so they have no timestamps. Where each tick stands for the same time the
 * value is the number of ticks, and the period says how long one is: what OpenTelemetry's own
 * profiler writes, and Pyroscope expects. Where it varies (cycles), it is the sum.
 */
#include <stdlib.h>
#include <string.h>

#include "format/base/str.h"
#include "report/model/main_event.h"
#include "report/write/export/export.h"
#include "report/write/export/export_names.h"
#include "report/write/export/otlp_dictionary.h"
#include "report/write/export/pprof_labels.h"
#include "report/write/export/protobuf.h"
#include "report/write/export/tally.h"
#include "report/write/health.h"

enum request_field {
	REQUEST_RESOURCE_PROFILES = 1,
	REQUEST_DICTIONARY = 2,
};

enum resource_profiles_field {
	RESOURCE_PROFILES_RESOURCE = 1,
	RESOURCE_PROFILES_SCOPE_PROFILES = 2,
};

enum {
	RESOURCE_ATTRIBUTES = 1,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
};

enum scope_profiles_field {
	SCOPE_PROFILES_SCOPE = 1,
	SCOPE_PROFILES_PROFILES = 2,
};

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES = 2,
	PROFILE_TIME = 3,
	PROFILE_DURATION = 4,
	PROFILE_PERIOD_TYPE = 5,
	PROFILE_PERIOD = 6,
	PROFILE_ID = 7,
	PROFILE_ATTRIBUTES = 11,
};

enum value_type_field {
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
};

enum sample_field {
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES = 2,
	SAMPLE_LINK = 3,
	SAMPLE_VALUES = 4,
};

/* What becomes a Profile: the samples of an event in a container. */
struct part {
	uint32_t container, event;
	struct bytes_buf samples; /* fields of the Profile */
};

struct otlp {
	const struct profile *profile;
	const struct export_options *options;
	struct otlp_dictionary dictionary;
	struct tally tally; /* by group of attributes and stack: see add_up_by_dictionary() */
	VEC(struct part) parts;
	struct map part_of; /* container << 32 | event -> index of parts + 1 */
	struct bytes_buf message;
};

/* ---- samples ---- */

static struct part *part_at(struct otlp *otlp, uint32_t container, uint32_t event)
{
	bool added;
	uint64_t *index = map_put(&otlp->part_of, (uint64_t)container << 32 | event, &added);
	if (added) {
		vec_push(&otlp->parts, (struct part){.container = container, .event = event});
		*index = otlp->parts.len;
	}
	return &otlp->parts.data[*index - 1];
}

static void otlp_count_samples(struct otlp *otlp)
{
	vec_each(&otlp->profile->samples, sample)
		tally_add(&otlp->tally, otlp_attributes_group(&otlp->dictionary.attributes, sample),
			sample->stack, profile_sample_value(otlp->profile, sample));
}

static void otlp_put_sample(struct otlp *otlp, const struct tally_entry *entry)
{
	struct otlp_group group =
		otlp_attributes_group_at(&otlp->dictionary.attributes, entry->group);
	uint64_t period = otlp->profile->events.data[group.event].period;
	uint64_t value = period ? entry->value / period : entry->value;
	struct part *part = part_at(otlp, group.container, group.event);
	protobuf_put_varint(&otlp->message, SAMPLE_STACK, entry->stack);
	otlp_attributes_put(
		&otlp->dictionary.attributes, &group, SAMPLE_ATTRIBUTES, &otlp->message);
	protobuf_put_varint(&otlp->message, SAMPLE_LINK, group.link);
	protobuf_put_packed(&otlp->message, SAMPLE_VALUES, &value, 1);
	protobuf_put_message(&part->samples, PROFILE_SAMPLES, &otlp->message);
}

/*
 * A profile holds each pair of a stack and attributes once, or a reader may reject it
 * (profiles.proto, Sample). Recorded stacks can be equal in the dictionary: they also differ by how
 * the unwinder came to a frame, and by what object of the same name it is of. So samples are added
 * up by the dictionary's stacks, too.
 */
static void add_up_by_dictionary(struct otlp *otlp)
{
	tally_finish(&otlp->tally);
	uint32_t recorded = 0, stack = 0;
	vec_each(&otlp->tally.entries, entry) {
		if (!stack || recorded != entry->stack)
			stack = otlp_dictionary_stack(&otlp->dictionary, entry->stack);
		recorded = entry->stack;
		entry->stack = stack;
	}
	tally_finish(&otlp->tally);
}

static void otlp_put_samples(struct otlp *otlp)
{
	add_up_by_dictionary(otlp);
	vec_each(&otlp->tally.entries, entry)
		otlp_put_sample(otlp, entry);
	if (!otlp->parts.len) /* nothing was sampled, which is worth saying */
		part_at(otlp, 0, main_event_of(otlp->profile));
}

/* ---- profiles ---- */

static void otlp_put_value_type(struct otlp *otlp, struct bytes_buf *out, enum profile_field field,
	const char *type, const char *unit)
{
	struct strtab *strings = &otlp->dictionary.strings;
	protobuf_put_varint(&otlp->message, VALUE_TYPE_TYPE, pprof_string(strings, type));
	protobuf_put_varint(&otlp->message, VALUE_TYPE_UNIT, pprof_string(strings, unit));
	protobuf_put_message(out, field, &otlp->message);
}

/* What a reader must know to judge it: losses and damage. */
static void otlp_put_soundness(struct otlp *otlp, struct bytes_buf *out)
{
	uint64_t indices[2];
	size_t count = 0;
	uint64_t lost = profile_lost(otlp->profile);
	if (lost)
		indices[count++] = otlp_attributes_number(
			&otlp->dictionary.attributes, "ebprof.lost_samples", lost);
	CLEANUP(str_deinit) struct str damage = {0};
	health_put_damage(otlp->profile, &damage);
	if (damage.len)
		indices[count++] = otlp_attributes_text(
			&otlp->dictionary.attributes, "ebprof.damage", str_text(&damage));
	protobuf_put_packed(out, PROFILE_ATTRIBUTES, indices, count);
}

/* Profiles of one request are told apart by the last bytes. */
static void otlp_put_id(const struct otlp *otlp, const struct part *part, struct bytes_buf *out)
{
	uint8_t id[EXPORT_ID_BYTES];
	if (!otlp->options->id)
		return;
	memcpy(id, otlp->options->id, sizeof(id));
	uint32_t number = (uint32_t)(part - otlp->parts.data);
	for (size_t i = 0; i < sizeof(number); i++)
		id[EXPORT_ID_BYTES - 1 - i] ^= (uint8_t)(number >> 8 * i);
	protobuf_put_bytes(out, PROFILE_ID, id, sizeof(id));
}

static void otlp_put_profile(struct otlp *otlp, const struct part *part, struct bytes_buf *out)
{
	const struct profile *profile = otlp->profile;
	bool is_counted = profile->events.data[part->event].period;
	const char *type = export_event_type(profile, part->event);
	const char *unit = export_event_unit(profile, part->event);
	otlp_put_value_type(otlp, out, PROFILE_SAMPLE_TYPE, is_counted ? "samples" : type,
		is_counted ? "count" : unit);
	bytes_put(out, part->samples.data, part->samples.len);
	protobuf_put_fixed64(out, PROFILE_TIME, profile_wall_ns(profile, export_begin_ns(profile)));
	protobuf_put_varint(out, PROFILE_DURATION, export_duration_ns(profile));
	otlp_put_value_type(otlp, out, PROFILE_PERIOD_TYPE, type, unit);
	protobuf_put_varint(out, PROFILE_PERIOD, export_event_period(profile, part->event));
	otlp_put_id(otlp, part, out);
	otlp_put_soundness(otlp, out);
}

static bool has_attribute(const struct export_options *options, const char *key)
{
	for (size_t i = 0; i < options->nr_attributes; i++)
		if (strcmp(options->attributes[i].key, key) == 0)
			return true;
	return false;
}

static void put_own_attribute(
	const struct otlp *otlp, struct bytes_buf *out, const char *key, const char *value)
{
	if (value && value[0] && !has_attribute(otlp->options, key))
		otlp_attributes_put_pair(out, RESOURCE_ATTRIBUTES, key, value);
}

/* As the conventions spell what uname(2) says. */
static const char *arch_of(const struct profile *profile)
{
	const char *arch = profile_meta(profile, LAYOUT_META_ARCH);
	if (arch && strcmp(arch, "x86_64") == 0)
		return "amd64";
	return arch && strcmp(arch, "aarch64") == 0 ? "arm64" : arch;
}

static void put_resource(const struct otlp *otlp, uint32_t container, struct bytes_buf *out)
{
	const struct profile *profile = otlp->profile;
	struct bytes_buf resource = {0};
	for (size_t i = 0; i < otlp->options->nr_attributes; i++)
		otlp_attributes_put_pair(&resource, RESOURCE_ATTRIBUTES,
			otlp->options->attributes[i].key, otlp->options->attributes[i].value);
	put_own_attribute(otlp, &resource, "service.name", export_service_name(profile));
	put_own_attribute(otlp, &resource, "host.name", profile_meta(profile, LAYOUT_META_HOST));
	put_own_attribute(otlp, &resource, "host.arch", arch_of(profile));
	put_own_attribute(otlp, &resource, "os.type", "linux");
	put_own_attribute(otlp, &resource, "container.id",
		strtab_get(&otlp->dictionary.attributes.containers, container));
	protobuf_put_message(out, RESOURCE_PROFILES_RESOURCE, &resource);
	bytes_buf_deinit(&resource);
}

static void put_scope(struct bytes_buf *out)
{
	struct bytes_buf scope = {0};
	protobuf_put_bytes(&scope, SCOPE_NAME, "ebprof", strlen("ebprof"));
	protobuf_put_bytes(&scope, SCOPE_VERSION, EBPROF_VERSION, strlen(EBPROF_VERSION));
	protobuf_put_message(out, SCOPE_PROFILES_SCOPE, &scope);
	bytes_buf_deinit(&scope);
}

static int by_container(const void *left, const void *right)
{
	const struct part *a = left, *b = right;
	if (a->container != b->container)
		return a->container < b->container ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

/* The parts of one container, which stand side by side; the index behind them. */
static size_t otlp_put_container(struct otlp *otlp, size_t first, struct bytes_buf *out)
{
	struct bytes_buf resource = {0}, scope = {0}, profile = {0};
	uint32_t container = otlp->parts.data[first].container;
	size_t i = first;
	put_resource(otlp, container, &resource);
	put_scope(&scope);
	for (; i < otlp->parts.len && otlp->parts.data[i].container == container; i++) {
		otlp_put_profile(otlp, &otlp->parts.data[i], &profile);
		protobuf_put_message(&scope, SCOPE_PROFILES_PROFILES, &profile);
	}
	protobuf_put_message(&resource, RESOURCE_PROFILES_SCOPE_PROFILES, &scope);
	protobuf_put_message(out, REQUEST_RESOURCE_PROFILES, &resource);
	bytes_buf_deinit(&resource);
	bytes_buf_deinit(&scope);
	bytes_buf_deinit(&profile);
	return i;
}

static struct err *write_request(struct otlp *otlp, struct byte_sink sink)
{
	struct bytes_buf request = {0}, dictionary = {0};
	qsort(otlp->parts.data, otlp->parts.len, sizeof(struct part), by_container);
	for (size_t i = 0; i < otlp->parts.len;)
		i = otlp_put_container(otlp, i, &request);
	otlp_dictionary_put(&otlp->dictionary, &dictionary);
	protobuf_put_head(&request, REQUEST_DICTIONARY, dictionary.len);
	struct err *err = sink.write(sink.context, request.data, request.len);
	if (!err)
		err = sink.write(sink.context, dictionary.data, dictionary.len);
	bytes_buf_deinit(&request);
	bytes_buf_deinit(&dictionary);
	return err;
}

static void otlp_deinit(struct otlp *otlp)
{
	otlp_dictionary_deinit(&otlp->dictionary);
	tally_deinit(&otlp->tally);
	map_deinit(&otlp->part_of);
	vec_each(&otlp->parts, part)
		bytes_buf_deinit(&part->samples);
	vec_deinit(&otlp->parts);
	bytes_buf_deinit(&otlp->message);
}

struct err *export_otlp(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	struct otlp otlp = {.profile = profile, .options = options};
	otlp_dictionary_init(&otlp.dictionary, profile, options->labels);
	otlp_count_samples(&otlp);
	otlp_put_samples(&otlp);
	struct err *err = write_request(&otlp, sink);
	otlp_deinit(&otlp);
	return err;
}
