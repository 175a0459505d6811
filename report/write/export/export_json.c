/*
 * All that is known of the samples, as JSON for scripts: man/ebprof-convert.1 has the
 * schema, and its version counts up when what reads the one before would be misled.
 *
 * Samples of equal labels and stacks are added up. Tables hold only what samples lead to;
 * references are indices from 0.
 */
#include <string.h>

#include "format/base/hex.h"
#include "report/analyse/stack_counts.h"
#include "report/model/text/json.h"
#include "report/write/export/dense_ids.h"
#include "report/write/export/export.h"
#include "report/write/export/export_names.h"
#include "report/write/export/function_table.h"
#include "report/write/export/json_labels.h"
#include "report/write/export/tally.h"
#include "report/write/health.h"

enum {
	JSON_VERSION = 1
};

struct group {
	uint32_t set, cpu, event; /* event: as in the file, from 0 */
	uint32_t proof;           /* enum stack_proof, if it is wanted */
};

struct document {
	const struct profile *profile;
	struct json_labels labels;
	struct json json;
	struct function_table functions;
	struct dense_ids events, objects, frames, stacks;
	struct strtab groups; /* struct group */
	struct tally tally;
	VEC(uint32_t) stack; /* frames, innermost first */
};

/* ---- samples ---- */

static void json_count_samples(struct document *document)
{
	bool has_proofs = document->labels.wanted & EXPORT_LABEL_UNWIND;
	CLEANUP_FREE uint8_t *proofs = has_proofs ? stack_proofs_of(document->profile) : NULL;
	vec_each(&document->profile->samples, sample) {
		struct group group = {
			.set = json_labels_of(&document->labels, sample),
			.cpu = document->labels.wanted & EXPORT_LABEL_CPU ? sample->cpu : 0,
			.event = dense_ids_use(&document->events, sample->event) - 1,
			.proof = proofs ? proofs[sample->stack] : 0,
		};
		uint32_t id = strtab_intern(&document->groups, (const char *)&group, sizeof(group));
		tally_add(&document->tally, id, dense_ids_use(&document->stacks, sample->stack) - 1,
			profile_sample_value(document->profile, sample));
	}
	tally_finish(&document->tally);
}

/* ---- tables ---- */

static void json_put_meta(struct document *document)
{
	const struct profile *profile = document->profile;
	struct json *json = &document->json;
	CLEANUP(str_deinit) struct str damage = {0};
	health_put_damage(profile, &damage);
	json_put_text(json, "format", "ebprof");
	json_put_number(json, "version", JSON_VERSION);
	json_line(json);
	json_put_object(json, "meta");
	vec_each(&profile->meta, meta) {
		json_foreign_key(json, meta->key);
		json_text(json, meta->value);
	}
	json_object_end(json);
	json_line(json);
	json_put_exact(json, "begin_ns", profile_wall_ns(profile, export_begin_ns(profile)));
	json_put_exact(json, "duration_ns", export_duration_ns(profile));
	json_put_exact(json, "lost", profile_lost(profile));
	json_put_text(json, "damage", str_text(&damage));
}

static void json_put_events(struct document *document)
{
	const struct profile *profile = document->profile;
	struct json *json = &document->json;
	json_line(json);
	json_put_array(json, "events");
	vec_each(&document->events.used, index) {
		const struct profile_event *event = &profile->events.data[*index];
		json_line(json);
		json_object(json);
		json_put_text(json, "name", event->name);
		json_put_text(json, "unit", event->unit);
		json_put_exact(json, "period", event->period);
		json_put_number(json, "frequency_hz", event->frequency_hz);
		json_object_end(json);
	}
	json_array_end(json);
}

/* Numbers the objects. */
static void json_put_functions(struct document *document)
{
	struct json *json = &document->json;
	json_line(json);
	json_put_array(json, "functions");
	vec_each(&document->functions.entries, function) {
		json_line(json);
		json_object(json);
		json_put_text(json, "name", function->name);
		if (function->system_name != function->name)
			json_put_text(json, "system_name", function->system_name);
		if (function->object)
			json_put_number(json, "object",
				dense_ids_use(&document->objects, function->object) - 1);
		if (function->file)
			json_put_text(json, "file", function->file);
		if (function->line)
			json_put_number(json, "line", function->line);
		if (function->is_kernel)
			json_put_bool(json, "kernel", true);
		json_object_end(json);
	}
	json_array_end(json);
}

static void json_put_objects(struct document *document)
{
	const struct profile *profile = document->profile;
	struct json *json = &document->json;
	json_line(json);
	json_put_array(json, "objects");
	vec_each(&document->objects.used, index) {
		const struct profile_object *object = &profile->objects.data[*index];
		CLEANUP(str_deinit) struct str build_id = {0};
		hex_put(&build_id, object->info.build_id, object->info.build_id_len);
		json_line(json);
		json_object(json);
		json_put_text(json, "path", object->path);
		json_put_text(json, "build_id", str_text(&build_id));
		json_object_end(json);
	}
	json_array_end(json);
}

/* Numbers the frames, outermost first. The frame of no stack has the number of one more. */
static void json_put_stack(struct document *document, uint32_t stack)
{
	struct json *json = &document->json;
	struct profile_walk walk = profile_walk(document->profile, stack);
	document->stack.len = 0;
	for (uint32_t frame; (frame = profile_walk_next(&walk));)
		vec_push(&document->stack, frame);
	if (!document->stack.len)
		vec_push(&document->stack, (uint32_t)document->profile->frames.len);
	json_line(json);
	json_array(json);
	for (size_t i = document->stack.len; i-- > 0;)
		json_number(json, dense_ids_use(&document->frames, document->stack.data[i]) - 1);
	json_array_end(json);
}

static void json_put_stacks(struct document *document)
{
	json_line(&document->json);
	json_put_array(&document->json, "stacks");
	vec_each(&document->stacks.used, stack)
		if (!document->json.err)
			json_put_stack(document, *stack);
	json_array_end(&document->json);
}

static void json_put_frame(struct document *document, uint32_t index)
{
	const struct profile *profile = document->profile;
	struct json *json = &document->json;
	struct profile_frame none = {0};
	const struct profile_frame *frame =
		index < profile->frames.len ? &profile->frames.data[index] : &none;
	json_line(json);
	json_object(json);
	json_put_number(json, "function", document->functions.of_frame[index]);
	if (frame->object)
		json_put_exact(json, "offset", frame->offset);
	if (frame->file)
		json_put_text(json, "file", frame->file);
	if (frame->file && frame->line)
		json_put_number(json, "line", frame->line);
	if (frame->outer)
		json_put_bool(json, "inlined", true);
	if (frame->flags & (LAYOUT_FRAME_GUESSED | LAYOUT_FRAME_GUESSED_INLINED))
		json_put_bool(json, "guessed", true);
	json_object_end(json);
}

static void json_put_frames(struct document *document)
{
	json_line(&document->json);
	json_put_array(&document->json, "frames");
	vec_each(&document->frames.used, frame)
		json_put_frame(document, *frame);
	json_array_end(&document->json);
}

static void put_labels(struct document *document)
{
	json_line(&document->json);
	json_put_array(&document->json, "labels");
	vec_each(&document->labels.sets.entries, set) {
		json_line(&document->json);
		json_literal(&document->json, set->bytes);
	}
	json_array_end(&document->json);
}

static void json_put_samples(struct document *document)
{
	struct json *json = &document->json;
	json_line(json);
	json_put_array(json, "samples");
	vec_each(&document->tally.entries, entry) {
		struct group group;
		memcpy(&group, strtab_get(&document->groups, entry->group), sizeof(group));
		json_line(json);
		json_object(json);
		json_put_number(json, "stack", entry->stack);
		json_put_number(json, "labels", group.set);
		json_put_number(json, "event", group.event);
		if (document->labels.wanted & EXPORT_LABEL_CPU)
			json_put_number(json, "cpu", group.cpu);
		if (document->labels.wanted & EXPORT_LABEL_UNWIND)
			json_put_text(json, "unwind", stack_proof_word(group.proof));
		json_put_exact(json, "samples", entry->samples);
		json_put_exact(json, "value", entry->value);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_document(struct document *document)
{
	json_count_samples(document);
	json_object(&document->json);
	json_put_meta(document);
	json_put_events(document);
	put_labels(document);
	json_put_functions(document);
	json_put_objects(document);
	json_put_stacks(document);
	json_put_frames(document);
	json_put_samples(document);
	json_object_end(&document->json);
}

struct err *export_json(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	struct document document = {
		.profile = profile,
		.json.sink = sink,
	};
	dense_ids_init(&document.events, profile->events.len);
	dense_ids_init(&document.objects, profile->objects.len);
	dense_ids_init(&document.frames, profile->frames.len + 1);
	dense_ids_init(&document.stacks, profile->stacks.len);
	function_table_init(&document.functions, profile);
	json_labels_init(&document.labels, profile, options->labels, false);
	put_document(&document);
	function_table_deinit(&document.functions);
	dense_ids_deinit(&document.events);
	dense_ids_deinit(&document.objects);
	dense_ids_deinit(&document.frames);
	dense_ids_deinit(&document.stacks);
	json_labels_deinit(&document.labels);
	strtab_deinit(&document.groups);
	tally_deinit(&document.tally);
	vec_deinit(&document.stack);
	return json_finish(&document.json);
}
