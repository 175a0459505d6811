/* From a file to a profile: whatever the file holds, every index of the profile leads somewhere. */
#include <stdio.h>

#include "format/base/err.h"
#include "report/analyse/stack_counts.h"
#include "report/load/load.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/health.h"
#include "report/write/info.h"
#include "report/write/text/text.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

static struct profile *load(const void *bytes, size_t len)
{
	CLEANUP_FD int fd = forged_fd(bytes, len);
	struct profile *profile = NULL;
	CHECK_OK(profile_load(fd, NULL, &profile));
	return profile;
}

/* Frees the file's bytes. */
static struct profile *load_forged(struct forged *forged)
{
	struct profile *profile = load(forged->file.data, forged->file.len);
	bytes_buf_deinit(&forged->file);
	return profile;
}

/* ---- the checker: walks everything ---- */

static void check_tables(const struct profile *profile)
{
	vec_each(&profile->strings, string)
		CHECK(string->bytes && strlen(string->bytes) <= string->len);
	vec_each(&profile->meta, meta)
		CHECK(meta->key && meta->value);
	vec_each(&profile->events, event)
		CHECK(event->name && event->unit);
	vec_each(&profile->objects, object) {
		CHECK(object->path && object->name);
		CHECK(object->info.build_id_len <= LAYOUT_BUILD_ID_MAX_BYTES);
		for (uint32_t i = 0; i < object->info.nr_segments; i++)
			CHECK(object->info.segments[i].flags <= UINT32_MAX);
	}
	vec_each(&profile->processes, process) {
		CHECK(process->cgroup && process->container);
		CHECK(process->info.exe < profile->objects.len);
	}
	vec_each(&profile->threads, thread) {
		CHECK(thread->comm && thread->process < profile->processes.len);
		CHECK(thread->pid == profile->processes.data[thread->process].info.pid);
	}
	vec_each(&profile->mappings, mapping)
		CHECK(mapping->process < profile->processes.len &&
			mapping->object < profile->objects.len);
	vec_each(&profile->codes, code)
		CHECK(code->object < profile->objects.len && code->name);
	vec_each(&profile->symbols, symbol)
		CHECK(symbol->object < profile->objects.len && symbol->name);
	vec_each(&profile->functions, function)
		CHECK(function->name && function->system_name &&
			function->object < profile->objects.len);
}

static void check_stacks(const struct profile *profile)
{
	vec_each(&profile->frames, frame) {
		CHECK(frame->object < profile->objects.len);
		if (!frame->object)
			CHECK(frame->offset > 0 && frame->offset < LAYOUT_TRUNCATED_END);
		CHECK(frame->function < profile->functions.len);
		CHECK(frame->code <= profile->codes.len);
	}
	for (size_t i = 0; i < profile->nodes.len; i++) {
		const struct layout_node *node = &profile->nodes.data[i];
		CHECK(i ? node->parent < i : !node->parent);
		CHECK(node->frame < profile->frames.len);
	}
	for (uint32_t stack = 0; stack < profile->stacks.len; stack++) {
		CHECK(profile->stacks.data[stack].user < profile->nodes.len);
		CHECK(profile->stacks.data[stack].kernel < profile->nodes.len);
		struct profile_walk walk = profile_walk(profile, stack);
		size_t depth = 0;
		for (uint32_t frame; (frame = profile_walk_next(&walk)); depth++)
			CHECK(frame < profile->frames.len);
		CHECK(depth <= 2 * LAYOUT_MAX_DEPTH);
		CHECK(profile_stack_truncation(profile, stack) < LAYOUT_TRUNCATED_END);
	}
}

static void check_samples(const struct profile *profile)
{
	uint64_t last_ns = profile->first_ns;
	CHECK(profile->first_ns <= profile->last_ns);
	vec_each(&profile->samples, sample) {
		CHECK(sample->time_ns >= last_ns && sample->time_ns <= profile->last_ns);
		last_ns = sample->time_ns;
		CHECK(sample->thread < profile->threads.len);
		CHECK(sample->event < profile->events.len);
		CHECK(sample->stack < profile->stacks.len);
		CHECK(sample->cpu < LAYOUT_MAX_CPUS);
	}
}

/* The text may hold no control byte but newline, be it C0 or C1, and no text direction. */
static bool is_safe_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t code = 0;
		size_t used = str_utf8_decode(text + i, len - i, &code);
		if (!used || (code < 0x20 && code != '\n') || (code >= 0x7f && code < 0xa0) ||
			(code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069))
			return false;
		i += used;
	}
	return true;
}

/* ---- a small validator of JSON (RFC 8259): the position behind the value, NULL if there is none
 */

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

static const char *skip_json_string(const char *at)
{
	if (*at++ != '"')
		return NULL;
	while (*at != '"') {
		uint32_t code = 0;
		size_t used = str_utf8_decode(at, strlen(at), &code);
		if (!used || code < 0x20 || (code >= 0x7f && code < 0xa0))
			return NULL;
		if (code == '\\' && at[1] == 'u') {
			if (strspn(at + 2, "0123456789abcdefABCDEF") < 4)
				return NULL;
			used = 6;
		} else if (code == '\\') {
			if (!at[1] || !strchr("\"\\/bfnrt", at[1]))
				return NULL;
			used = 2;
		}
		at += used;
	}
	return at + 1;
}

static const char *skip_json(const char *at);

static const char *skip_json_list(const char *at, char close, bool has_keys)
{
	at = skip_space(at + 1);
	if (*at == close)
		return at + 1;
	for (;;) {
		if (has_keys) {
			at = skip_json_string(skip_space(at));
			at = at ? skip_space(at) : NULL;
			if (!at || *at++ != ':')
				return NULL;
		}
		at = skip_json(at);
		if (!at)
			return NULL;
		at = skip_space(at);
		if (*at == close)
			return at + 1;
		if (*at++ != ',')
			return NULL;
	}
}

static const char *skip_json(const char *at)
{
	at = skip_space(at);
	if (*at == '{')
		return skip_json_list(at, '}', true);
	if (*at == '[')
		return skip_json_list(at, ']', false);
	if (*at == '"')
		return skip_json_string(at);
	size_t len = strspn(at, "0123456789.");
	return len ? at + len : NULL;
}

static bool is_json(const char *text)
{
	const char *end = skip_json(text);
	return end && *skip_space(end) == '\0';
}

static void check_profile(const struct profile *profile)
{
	if (!profile)
		return;
	check_tables(profile);
	check_stacks(profile);
	check_samples(profile);
	CLEANUP(str_deinit) struct str text = {0};
	info_put_text(profile, true, &text);
	CHECK(is_safe_text(text.data, text.len));
	str_truncate(&text, 0);
	info_put_json(profile, &text);
	CHECK(is_json(text.data));
}

/* ---- whole files ---- */

TEST(small_recording_is_loaded)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	struct profile *profile = load(file.data, file.len);
	check_profile(profile);
	CHECK_INT(profile->samples.len, 6);
	CHECK_INT(profile->dangling, 0);
	CHECK_STR(profile_meta(profile, "host.name"), "example");
	CHECK(!profile_meta(profile, "nothing"));
	CHECK_STR(profile->objects.data[1].name, "program");
	CHECK_STR(profile->objects.data[2].name, "[kernel]");
	CHECK_STR(profile->threads.data[2].comm, "worker");
	CHECK_INT(profile->threads.data[2].pid, 100);
	/* Newest value of each (counter, cpu), summed. */
	CHECK_INT(profile->counters[LAYOUT_COUNTER_TICKS], 11);
	CHECK_INT(profile->counters[LAYOUT_COUNTER_IDLE], 4);
	CHECK_INT(profile->counters[LAYOUT_COUNTER_SAMPLES], 6);
	CHECK_INT(profile_lost(profile), 1);
	struct stack_counts stacks = stack_counts_of(profile);
	CHECK_INT(stacks.complete, 3);
	CHECK_INT(stacks.kernel_only, 1);
	CHECK_INT(stacks.truncated, 2);
	CHECK_INT(stacks.truncated_by[LAYOUT_TRUNCATED_DEPTH], 1);
	CHECK_INT(stacks.truncated_by[LAYOUT_TRUNCATED_NO_TABLE], 1); /* the snapshot's */
	CHECK_INT(profile->nr_snapshots, 1);
	CHECK_INT(profile->snapshot_bytes, 32);
	CHECK_INT(profile_wall_ns(profile, 1000000005), 1795000000000000005);
	CLEANUP(str_deinit) struct str damage = {0};
	health_put_damage(profile, &damage);
	CHECK_STR(str_text(&damage), "");
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(info_counts_one_in_the_singular)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	struct profile *profile = load(file.data, file.len);
	CLEANUP(str_deinit) struct str text = {0};
	info_put_text(profile, false, &text);
	CHECK(strstr(str_text(&text), " 1 process, 2 threads, 1 mapping, 1 build ID\n"));
	CHECK(strstr(str_text(&text), " 1 snapshot of stacks unwound here, 32 bytes\n"));
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(walks_give_the_kernel_first)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	struct profile *profile = load(file.data, file.len);
	struct profile_walk walk = profile_walk(profile, profile->samples.data[1].stack);
	CHECK_INT(profile_walk_next(&walk), 4);
	CHECK_INT(profile_walk_next(&walk), 2);
	CHECK_INT(profile_walk_next(&walk), 1);
	CHECK_INT(profile_walk_next(&walk), 0);
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(recording_without_anything)
{
	struct forged forged = forged_begin();
	struct profile *profile = load_forged(&forged);
	check_profile(profile);
	CHECK_INT(profile->samples.len, 0);
	CHECK_INT(profile->first_ns, 0);
	CLEANUP(str_deinit) struct str damage = {0};
	health_put_damage(profile, &damage);
	CHECK(strstr(str_text(&damage), "recording cut at 0.000 s"));
	profile_destroy(profile);
}

TEST(truncated_anywhere_is_sound)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	for (size_t len = 16; len <= file.len; len++) {
		struct profile *profile = load(file.data, len);
		check_profile(profile);
		CHECK_INT(profile->dangling, 0); /* defined before used */
		profile_destroy(profile);
	}
	bytes_buf_deinit(&file);
}

TEST(damaged_anywhere_is_sound)
{
	struct bytes_buf file = {0};
	forged_small(&file);
	for (size_t byte = 8; byte < file.len; byte++) {
		file.data[byte] ^= 0x5a;
		struct profile *profile = load(file.data, file.len);
		file.data[byte] ^= 0x5a;
		check_profile(profile);
		CLEANUP(str_deinit) struct str damage = {0};
		health_put_damage(profile, &damage);
		CHECK(damage.len > 0);
		profile_destroy(profile);
	}
	bytes_buf_deinit(&file);
}

/* ---- references that lead nowhere ---- */

static void put_varint_chunk(
	struct forged *forged, uint16_t type, const uint64_t *values, size_t count)
{
	struct bytes_buf payload = {0};
	for (size_t i = 0; i < count; i++)
		bytes_put_varint(&payload, values[i]);
	forged_chunk(forged, type, &payload);
}

#define put_varints(forged, type, ...) \
	put_varint_chunk((forged), (type), (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* The number of dangling references of a recording of one chunk. */
#define dangling_of(type, ...) \
	__extension__({ \
		struct forged forged_ = forged_begin(); \
		put_varints(&forged_, (type), __VA_ARGS__); \
		struct profile *profile_ = load_forged(&forged_); \
		check_profile(profile_); \
		CHECK_INT(profile_->file.bad_chunks, 0); \
		uint64_t dangling_ = profile_->dangling; \
		profile_destroy(profile_); \
		dangling_; \
	})

TEST(dangling_references_are_counted)
{
	CHECK_INT(dangling_of(LAYOUT_CHUNK_EVENTS, 1, 1, 4, 9, 1, 1, 9), 2);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_OBJECTS, 1, 1, 10, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0), 1);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_PROCESSES, 1, 1, 7, 1, 1, 1, 1, 9, 9, 9), 3);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_THREADS, 1, 1, 3, 9, 1, 9), 2);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_MAPPINGS, 6, 9, 9, 1, 1, 1, 1), 2);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_SYMBOLS, 9, 1, 1, 9), 2);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_FRAMES, 1, 1, 9, 0), 1);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_STACKS, 1, 1, 0, 8), 1);
	CHECK_INT(dangling_of(LAYOUT_CHUNK_SAMPLES, 9, 1, 0, 1, LAYOUT_COLUMN_TIME, 1, 0,
			  LAYOUT_COLUMN_THREAD, 1, 9, LAYOUT_COLUMN_USER_STACK, 1, 8,
			  LAYOUT_COLUMN_KERNEL_STACK, 1, 9),
		4);
}

/* Damage took ids 1 and 2 of each table; what comes behind refers to them. */
TEST(holes_are_filled_and_counted)
{
	struct forged forged = forged_begin();
	put_varints(&forged, LAYOUT_CHUNK_STRINGS, 3, 1, 1, 'x');
	put_varints(&forged, LAYOUT_CHUNK_EVENTS, 3, 1, 4, 1, 0, 0, 3);
	put_varints(&forged, LAYOUT_CHUNK_OBJECTS, 3, 1, 10, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0);
	put_varints(&forged, LAYOUT_CHUNK_PROCESSES, 3, 1, 7, 1, 0, 0, 0, 2, 0, 0);
	put_varints(&forged, LAYOUT_CHUNK_THREADS, 3, 1, 3, 2, 5, 3);
	put_varints(&forged, LAYOUT_CHUNK_MAPPINGS, 6, 1, 1, 0, 0, 0, 0);
	put_varints(&forged, LAYOUT_CHUNK_SYMBOLS, 2, 0, 0, 2);
	put_varints(&forged, LAYOUT_CHUNK_FRAMES, 3, 2, 1, 3, 0, 0);
	put_varints(&forged, LAYOUT_CHUNK_STACKS, 3, 2, 2, 1, 4, 4);
	put_varints(&forged, LAYOUT_CHUNK_SAMPLES, 2, 2, 0, 1, LAYOUT_COLUMN_TIME, 2, 0, 0,
		LAYOUT_COLUMN_THREAD, 2, 2, 3, LAYOUT_COLUMN_USER_STACK, 2, 8, 3);
	struct profile *profile = load_forged(&forged);
	check_profile(profile);
	CHECK_INT(profile->file.bad_chunks, 0);
	/* event name; path; exe; process; mapping 2; symbol 2; frame 1's object; node 3's parent
	 * and frame; of the samples: event twice, thread, stack */
	CHECK_INT(profile->dangling, 1 + 1 + 1 + 1 + 2 + 2 + 1 + 2 + 2 + 1 + 1);
	CHECK_STR(profile->objects.data[1].path, "[damaged]");
	CHECK_STR(profile->threads.data[3].comm, "x");
	CHECK_STR(profile->threads.data[1].comm, "[damaged]");
	CHECK_STR(profile->strings.data[2].bytes, "[damaged]");
	profile_destroy(profile);
}

/* ---- compiled code ---- */

/* Object 3 is of no file; its places 0x10 and 0x20 are frames 5 and 6, nodes 5, and 6 that 5 calls.
 */
static void put_compiled(struct writer *writer)
{
	forged_put_tables(writer);
	forged_put_stacks(writer);
	writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS,
				      .path = forged_string(writer, "[anon]")});
	writer_frame(writer, &(struct layout_frame){3, 0x10, 0});
	writer_frame(writer, &(struct layout_frame){3, 0x20, 0});
	writer_node(writer, &(struct layout_node){1, 5});
	writer_node(writer, &(struct layout_node){5, 6});
}

static void put_code(
	struct writer *writer, uint64_t offset, uint64_t time_ns, const char *name, uint32_t line)
{
	writer_code(writer, &(struct layout_code){3, offset, offset & ~15ULL, time_ns,
				    forged_string(writer, name),
				    line ? forged_string(writer, "made.src") : 0, line, 0});
}

static void put_sample_at(struct writer *writer, uint64_t time_ns, uint32_t user, uint32_t kernel)
{
	writer_sample(writer, &(struct layout_sample){.time_ns = time_ns,
				      .event = 1,
				      .thread = 1,
				      .user_stack = user,
				      .kernel_stack = kernel,
				      .weight = 1});
}

static struct profile *load_written(struct writer *writer, struct bytes_buf *file)
{
	CHECK_OK(writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1}));
	writer_destroy(writer);
	struct profile *profile = load(file->data, file->len);
	bytes_buf_deinit(file);
	symbolize(profile, &(struct symbolize_options){0});
	return profile;
}

/* The functions of a sample's stack, leaf first. */
static void check_functions(const struct profile *profile, size_t sample, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	struct profile_walk walk = profile_walk(profile, profile->samples.data[sample].stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk));) {
		const struct profile_frame *it = &profile->frames.data[frame];
		str_printf(&got, "%s%s", got.len ? " " : "",
			profile->functions.data[it->function].name);
		if (it->line)
			str_printf(&got, "@%s:%u", it->file, it->line);
	}
	CHECK_STR(str_text(&got), want);
}

TEST(compiled_code_is_named_by_time)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	put_compiled(writer);
	put_code(writer, 0x20, 3000, "late", 0); /* in no order of times */
	put_code(writer, 0x20, 1000, "early", 7);
	put_code(writer, 0x20, 3000, "later yet", 0);
	put_code(writer, 0x10, 2000, "caller", 3);
	put_sample_at(writer, 10000, 6, 0);
	put_sample_at(writer, 2000, 6, 0);
	put_sample_at(writer, 500, 6, 4);
	put_sample_at(writer, 3000, 6, 4);
	put_sample_at(writer, 9000, 5, 0);
	struct profile *profile = load_written(writer, &file);
	check_functions(
		profile, 0, "do_syscall_64 early@made.src:7 caller@made.src:3 program+0x1100");
	check_functions(profile, 1, "early@made.src:7 caller@made.src:3 program+0x1100");
	check_functions(profile, 2, "do_syscall_64 later yet caller@made.src:3 program+0x1100");
	check_functions(profile, 3, "caller@made.src:3 program+0x1100");
	check_functions(profile, 4, "later yet caller@made.src:3 program+0x1100");
	check_profile(profile);
	profile_destroy(profile);
}

/* A name that the recording has of one place does not name others, and symbols name what is left.
 */
TEST(compiled_code_without_times)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	put_compiled(writer);
	put_code(writer, 0x10, 0, "first", 0);
	put_code(writer, 0x10, 0, "second", 0);
	put_code(writer, 0x21, 0, "elsewhere", 0);
	writer_symbol(writer, &(struct layout_symbol){3, 0, 0x30, forged_string(writer, "map")});
	writer_code(writer, &(struct layout_code){99, 0x20, 0x20, 0, 1, 0, 0, 0});
	put_sample_at(writer, 1000, 6, 0);
	struct profile *profile = load_written(writer, &file);
	check_functions(profile, 0, "map second program+0x1100");
	CHECK_INT(profile->dangling, 1);
	profile_destroy(profile);
}

/* Samples from before a name is sure are counted under any name. */
TEST(compiled_code_that_may_have_been_another)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	put_compiled(writer);
	uint32_t early = forged_string(writer, "early"), late = forged_string(writer, "late");
	writer_code(writer, &(struct layout_code){3, 0x20, 0x20, 1000, early, 0, 0, 1000});
	writer_code(writer, &(struct layout_code){3, 0x20, 0x20, 2000, late, 0, 0, 3000});
	put_sample_at(writer, 900, 6, 0); /* the first name is known from 1000 on: stale */
	put_sample_at(writer, 1000, 6, 0);
	put_sample_at(writer, 2000, 6, 0); /* until 3000 both functions may be there: stale */
	put_sample_at(writer, 2999, 6, 0);
	put_sample_at(writer, 3000, 6, 0);
	put_sample_at(writer, 500, 5, 0); /* nothing changed there */
	struct profile *profile = load_written(writer, &file);
	CHECK_INT(profile->nr_stale, 3);
	check_functions(profile, 2, "early [JIT]+0x10 program+0x1100");
	check_functions(profile, 3, "late [JIT]+0x10 program+0x1100");
	CLEANUP(str_deinit) struct str text = {0};
	info_put_text(profile, false, &text);
	CHECK(strstr(str_text(&text), "50.0% with stale names"));
	profile_destroy(profile);
}

/* A single function of a place may be stale, too. */
TEST(compiled_code_that_was_told_late)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	put_compiled(writer);
	uint32_t name = forged_string(writer, "late");
	writer_code(writer, &(struct layout_code){3, 0x20, 0x20, 1000, name, 0, 0, 1000});
	put_sample_at(writer, 900, 6, 0);
	put_sample_at(writer, 1000, 6, 0);
	struct profile *profile = load_written(writer, &file);
	CHECK_INT(profile->nr_stale, 1);
	check_functions(profile, 0, "late [JIT]+0x10 program+0x1100");
	profile_destroy(profile);
}

/* ---- programs ---- */

static void put_mapping(struct writer *writer, uint32_t process, uint32_t object, uint64_t start)
{
	writer_mapping(writer,
		&(struct layout_mapping){
			.process = process, .object = object, .start = start, .length = 0x1000});
}

/* Written amid an exec, before anything was mapped. */
TEST(a_process_without_a_program_is_what_it_maps_lowest)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	forged_put_tables(writer);
	writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_FILE,
				      .path = forged_string(writer, "/lib/loader")});
	writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS,
				      .path = forged_string(writer, "[anon]")});
	uint32_t lost = writer_process(writer, &(struct layout_process){.pid = 9});
	uint32_t empty = writer_process(writer, &(struct layout_process){.pid = 10});
	put_mapping(writer, lost, 3, 0x70000);
	put_mapping(writer, lost, 4, 0x1000);
	put_mapping(writer, lost, 1, 0x40000);
	put_mapping(writer, lost, 3, 0x60000);
	put_mapping(writer, 1, 3, 0x10); /* whose program is known */
	struct profile *profile = load_written(writer, &file);
	check_profile(profile);
	CHECK_INT(profile->processes.data[1].info.exe, 1);
	CHECK_INT(profile->processes.data[lost].info.exe, 1);
	CHECK_STR(profile->objects.data[4].name, "[JIT]");
	CHECK_STR(profile->objects.data[4].path, "[JIT]");
	CHECK_INT(profile->processes.data[empty].info.exe, 0);
	profile_destroy(profile);
}

TEST(truncation_causes)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	for (uint32_t cause = 0; cause < LAYOUT_TRUNCATED_END + 2; cause++) {
		writer_frame(writer, &(struct layout_frame){0, cause ? cause : UINT64_MAX, 0});
		writer_node(writer, &(struct layout_node){0, cause + 1});
		writer_sample(
			writer, &(struct layout_sample){.user_stack = cause + 1, .weight = 1});
	}
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 1}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	check_profile(profile);
	for (uint32_t i = 0; i < LAYOUT_TRUNCATED_END + 2; i++) {
		bool is_known = i > 0 && i < LAYOUT_TRUNCATED_END;
		CHECK_INT(profile_stack_truncation(profile, profile->samples.data[i].stack),
			is_known ? i : LAYOUT_TRUNCATED_UNKNOWN);
	}
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(values_that_cannot_be_added_up)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	for (int i = 0; i < 3; i++)
		writer_sample(writer, &(struct layout_sample){.weight = 1ULL << 63});
	CHECK_OK(writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	CLEANUP(str_deinit) struct str damage = {0};
	health_put_damage(profile, &damage);
	CHECK_INT(profile->samples.len, 3);
	CHECK_INT(profile->too_large, 2);
	CHECK_STR(str_text(&damage),
		"2 samples with values that are too large to be added up, counted as 0");
	CHECK(!health_is_whole(profile));
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

/* In each report, with what can be done about it. */
TEST(losses_are_in_words)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	writer_sample(writer, &(struct layout_sample){.weight = 1});
	const struct layout_counter_value values[] = {
		{LAYOUT_COUNTER_SIDEBAND_LOST, 0, 7},
		{LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS, 0, 3},
		{LAYOUT_COUNTER_PROGRAMS_SKIPPED, 0, 2},
	};
	for (size_t i = 0; i < 3; i++)
		writer_counter(writer, &values[i]);
	CHECK_OK(writer_finish(writer, &(struct layout_end){LAYOUT_END_COMMAND, 1}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	CLEANUP(str_deinit) struct str text = {0};
	text_put_losses(profile, 0, &text);
	CHECK(strstr(str_text(&text),
		"# 7 records of mappings and execs were lost, and no sample was taken meanwhile"));
	CHECK(strstr(str_text(&text),
		"# 3 waits that went on at the end and are without functions of scripts"));
	CHECK(strstr(str_text(&text), "# 2 times that the kernel skipped one of the recorder's"));
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(samples_are_sorted_by_time)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	for (uint64_t i = 0; i < 1000; i++)
		writer_sample(
			writer, &(struct layout_sample){.time_ns = map_mix(i) >> 4, .weight = 1});
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 0}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	check_profile(profile);
	CHECK_INT(profile->samples.len, 1000);
	CHECK_INT(profile->first_ns, 0); /* the end's: a time of 0 counts */
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

/* ---- hostile shapes ---- */

/* A chain of a million nodes in a few KB, every node of it a stack. */
TEST(deep_chains_are_cut)
{
	enum {
		NODES = 1000000
	};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	forged_put_tables(writer);
	writer_frame(writer, &(struct layout_frame){1, 0x1100, 0});
	for (uint32_t i = 0; i < NODES; i++) {
		writer_node(writer, &(struct layout_node){i, 1});
		if (i % 2)
			writer_sample(
				writer, &(struct layout_sample){.user_stack = i + 1, .weight = 1});
	}
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 0}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	CHECK(profile->dangling > 0);
	uint64_t steps = 0;
	for (uint32_t stack = 0; stack < profile->stacks.len; stack++) {
		struct profile_walk walk = profile_walk(profile, stack);
		while (profile_walk_next(&walk))
			steps++;
	}
	CHECK(steps > 1000000 && steps <= (8ULL << 20) + file.len * 256);
	struct stack_counts stacks = stack_counts_of(profile);
	CHECK(stacks.truncated > 0); /* the cut ones are not whole */
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(lists_end_when_they_become_long)
{
	enum {
		LONG = 1 << 20
	};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	CLEANUP_FREE char *path = mem_zalloc(LONG);
	memset(path, 'p', LONG);
	uint32_t id = writer_string(writer, path, LONG);
	for (int i = 0; i < 100; i++) {
		writer_object(writer, &(struct layout_object){.kind = 1, .path = id});
		writer_mapping(writer, &(struct layout_mapping){.object = 1});
	}
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 0}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	CLEANUP(str_deinit) struct str text = {0};
	info_put_text(profile, true, &text);
	CHECK(text.len < 40 << 20);
	CHECK(strstr(text.data + text.len - 100, "... and 84 more\n") ||
		strstr(text.data + text.len - 100, "... and 83 more\n"));
	str_truncate(&text, 0);
	info_put_json(profile, &text);
	CHECK(text.len < 20 << 20);
	CHECK(strstr(text.data + text.len - 200, "\"objects_omitted\": 8"));
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

static const char hostile[] =
	"\033]0;PWN\007 \n\r\t \x9b"
	"31m \xc2\x9b \xe2\x80\xae rtl \xe2\x81\xa6 \xe2\x80\xa8 \xff\xfe \"\\ "
	"</script> \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\x80 \x7f end";

TEST(hostile_strings_are_shown_safely)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	static const char *const keys[] = {LAYOUT_META_HOST, LAYOUT_META_KERNEL, LAYOUT_META_TARGET,
		LAYOUT_META_COMMAND, LAYOUT_META_ARGS, LAYOUT_META_VERSION, hostile};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		writer_meta(writer, keys[i], hostile);
	uint32_t id = forged_string(writer, hostile);
	writer_event(writer, &(struct layout_event){id, 1, 1, id, 0});
	writer_object(writer, &(struct layout_object){.kind = 1, .path = id});
	writer_process(writer,
		&(struct layout_process){.pid = 1, .exe = 1, .cgroup = id, .container = id});
	writer_thread(writer, &(struct layout_thread){1, 1, id, 0});
	writer_mapping(writer, &(struct layout_mapping){.process = 1, .object = 1});
	writer_symbol(writer, &(struct layout_symbol){1, 1, 1, id});
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 0}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	check_profile(profile);
	CLEANUP(str_deinit) struct str text = {0};
	info_put_text(profile, true, &text);
	CHECK(strstr(text.data, "\\x1b]0;PWN\\x07 \\x0a\\x0d\\x09 \\x9b31m \\xc2\\x9b "));
	CHECK(strstr(text.data, "PWN"));
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

static void put_forged_thread(struct writer *writer, uint32_t tid, const char *name)
{
	writer_thread(writer, &(struct layout_thread){1, tid, forged_string(writer, name), 0});
}

/* What a runtime calls a thread stands for what the kernel keeps of that, of the same thread. */
TEST(threads_have_their_whole_names)
{
	static const char *const wants[] = {"program", "connection-acceptor-a", "connection-acce",
		"other", "connection-acceptor-a", "connection-acceptor-b", "connection-acceptor-b",
		"ForkJoinPool-1-worker-1", "ForkJoi..rker-2", "ForkJoinPool-1-worker-1"};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	forged_put_tables(writer);
	put_forged_thread(writer, 101, "connection-acce");
	put_forged_thread(writer, 102, "connection-acce");
	put_forged_thread(writer, 101, "other");
	put_forged_thread(writer, 101, "connection-acceptor-a");
	put_forged_thread(writer, 103, "connection-acceptor-b"); /* known at once */
	put_forged_thread(writer, 103, "connection-acce");
	put_forged_thread(writer, 104, "ForkJoi..rker-1");
	put_forged_thread(writer, 104, "ForkJoi..rker-2");
	put_forged_thread(writer, 104, "ForkJoinPool-1-worker-1");
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 0}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	CHECK_INT(profile->threads.len, 1 + 10);
	for (size_t i = 0; i < 10; i++)
		CHECK_STR(profile->threads.data[1 + i].comm, wants[i]);
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

/* From 1.9 on a name says which one it stands for, however long it is. */
TEST(names_of_runtimes_say_what_they_stand_for)
{
	static const char *const wants[] = {
		"program", "loader", "python3", "other", "loader", "loader", "pool_1", "pool_1"};
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	forged_put_tables(writer);
	put_forged_thread(writer, 101, "python3");
	put_forged_thread(writer, 102, "python3");
	put_forged_thread(writer, 101, "other");
	for (int i = 0; i < 2; i++) /* once would do */
		writer_thread(
			writer, &(struct layout_thread){1, 101, forged_string(writer, "loader"),
					forged_string(writer, "python3")});
	put_forged_thread(writer, 103, "python3");
	writer_thread(writer, &(struct layout_thread){1, 103, forged_string(writer, "pool_1"),
				      forged_string(writer, "python3")});
	CHECK_OK(writer_finish(writer, &(struct layout_end){1, 0}));
	writer_destroy(writer);
	struct profile *profile = load(file.data, file.len);
	CHECK_INT(profile->threads.len, 1 + 8);
	for (size_t i = 0; i < 8; i++)
		CHECK_STR(profile->threads.data[1 + i].comm, wants[i]);
	profile_destroy(profile);
	bytes_buf_deinit(&file);
}

TEST(the_json_validator_can_say_no)
{
	CHECK(is_json("{\"a\": [1, 2.5, {}, [], \"x\\n\\u00ff\"]}\n"));
	const char *const bad[] = {"", "{", "{\"a\"}", "[1,]", "{\"a\":1,}", "\"\n\"", "\"\\x\"",
		"\"\\u12\"", "[1] 2", "\"\xff\"", "\"\x1b\""};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(!is_json(bad[i]));
}
