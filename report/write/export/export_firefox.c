/*
 * The Firefox Profiler's processed format, version 66
 * (github.com/firefox-devtools/profiler: src/types/profile.ts, and the upgraders of
 * src/profile-logic/processed-profile-versioning.js, which bring it to the viewer's own):
 * tables of columns, shared by all threads, and each thread's samples with their times.
 *
 * A stack is its innermost frame and a distance back to the stack that called it. Times are
 * in milliseconds. Functions are the viewer's unit of adding up; frames are places in them.
 */
#include <string.h>

#include "format/base/hex.h"
#include "report/write/export/dense_ids.h"
#include "report/write/export/export.h"
#include "report/write/export/firefox_threads.h"
#include "report/write/export/function_table.h"
#include "report/write/export/stack_tree.h"
#include "report/write/info.h"

enum {
	FORMAT_VERSION = 66,
	GECKO_VERSION = 36,   /* of the format that Firefox itself would have delivered */
	RESOURCE_LIBRARY = 1, /* resourceTypes.library */
	NR_GUID_BYTES = 16,
};

enum category { /* the order of put_categories() */
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_IDLE,
};

struct firefox {
	const struct profile *profile;
	struct json json;
	struct strtab strings;
	struct function_table functions;
	struct stack_tree tree;
	struct dense_ids frames, libraries;
	struct strtab sources; /* files */
	struct lanes lanes;
};

static void firefox_put_string(struct firefox *firefox, const char *text)
{
	json_number(&firefox->json, strtab_intern(&firefox->strings, text, strlen(text)));
}

static void put_line_or_null(struct firefox *firefox, uint32_t line)
{
	if (line)
		json_number(&firefox->json, line);
	else
		json_null(&firefox->json);
}

/* ---- tables of columns ---- */

struct column {
	const char *name;
	void (*put)(struct firefox *firefox, uint32_t row);
};

static void firefox_put_table(struct firefox *firefox, const char *key,
	const struct column *columns, size_t nr_columns, size_t nr_rows)
{
	struct json *json = &firefox->json;
	json_line(json);
	json_put_object(json, key);
	json_put_number(json, "length", nr_rows);
	for (size_t i = 0; i < nr_columns; i++) {
		json_line(json);
		json_put_array(json, columns[i].name);
		for (size_t row = 0; row < nr_rows && !json->err; row++)
			columns[i].put(firefox, (uint32_t)row);
		json_array_end(json);
	}
	json_object_end(json);
}

#define PUT_TABLE(firefox, key, columns, nr_rows) \
	firefox_put_table( \
		(firefox), (key), (columns), sizeof(columns) / sizeof(*(columns)), (nr_rows))

static void put_null(struct firefox *firefox, uint32_t row)
{
	(void)row;
	json_null(&firefox->json);
}

static void put_zero(struct firefox *firefox, uint32_t row)
{
	(void)row;
	json_number(&firefox->json, 0);
}

static void firefox_put_one(struct firefox *firefox, uint32_t row)
{
	(void)row;
	json_number(&firefox->json, 1);
}

static void put_minus_one(struct firefox *firefox, uint32_t row)
{
	(void)row;
	json_literal(&firefox->json, "-1");
}

static void put_false(struct firefox *firefox, uint32_t row)
{
	(void)row;
	json_bool(&firefox->json, false);
}

/* ---- stacks ---- */

/* Rows are nodes of the tree but the placeholder. Nothing calls the outermost: distance 0. */
static void put_stack_prefix(struct firefox *firefox, uint32_t row)
{
	uint32_t parent = firefox->tree.nodes.data[row + 1].parent;
	json_number(&firefox->json, parent ? row + 1 - parent : 0);
}

static void put_stack_frame(struct firefox *firefox, uint32_t row)
{
	json_number(&firefox->json,
		dense_ids_use(&firefox->frames, firefox->tree.nodes.data[row + 1].name) - 1);
}

static void firefox_put_stacks(struct firefox *firefox)
{
	static const struct column columns[] = {
		{"prefixOffset", put_stack_prefix},
		{"frame", put_stack_frame},
	};
	PUT_TABLE(firefox, "stackTable", columns, firefox->tree.nodes.len - 1);
}

/* ---- frames ---- */

/* NULL: the one of samples without a stack. */
static const struct profile_frame *firefox_frame_of(const struct firefox *firefox, uint32_t row)
{
	uint32_t frame = firefox->frames.used.data[row];
	bool is_none = frame == firefox->profile->frames.len;
	return is_none ? NULL : &firefox->profile->frames.data[frame];
}

static uint32_t firefox_function_of(const struct firefox *firefox, uint32_t row)
{
	return firefox->functions.of_frame[firefox->frames.used.data[row]];
}

static void put_frame_depth(struct firefox *firefox, uint32_t row)
{
	const struct profile_frame *frame = firefox_frame_of(firefox, row);
	uint32_t depth = 0;
	for (; frame && frame->outer; depth++)
		frame = &firefox->profile->frames.data[frame->outer];
	json_number(&firefox->json, depth);
}

static void put_frame_category(struct firefox *firefox, uint32_t row)
{
	const struct function_table_entry *function =
		&firefox->functions.entries.data[firefox_function_of(firefox, row)];
	uint32_t waits = firefox->profile->wait_object;
	bool is_wait = waits && function->object == waits;
	json_number(&firefox->json, is_wait               ? CATEGORY_IDLE
				    : function->is_kernel ? CATEGORY_KERNEL
				    : function->object    ? CATEGORY_USER
							  : CATEGORY_OTHER);
}

static void put_frame_function(struct firefox *firefox, uint32_t row)
{
	json_number(&firefox->json, firefox_function_of(firefox, row));
}

static void put_frame_line(struct firefox *firefox, uint32_t row)
{
	const struct profile_frame *frame = firefox_frame_of(firefox, row);
	put_line_or_null(firefox, frame && frame->file ? frame->line : 0);
}

/* After the stacks, which number them. */
static void firefox_put_frames(struct firefox *firefox)
{
	static const struct column columns[] = {
		{"address", put_minus_one}, /* nothing remains to be named by it */
		{"inlineDepth", put_frame_depth},
		{"category", put_frame_category},
		{"subcategory", put_zero},
		{"func", put_frame_function},
		{"nativeSymbol", put_null},
		{"innerWindowID", put_zero},
		{"line", put_frame_line},
		{"column", put_null},
		{"originalLocation", put_null},
	};
	PUT_TABLE(firefox, "frameTable", columns, firefox->frames.used.len);
}

/* ---- functions ---- */

static void put_function_name(struct firefox *firefox, uint32_t row)
{
	firefox_put_string(firefox, firefox->functions.entries.data[row].name);
}

static void put_function_resource(struct firefox *firefox, uint32_t row)
{
	uint32_t object = firefox->functions.entries.data[row].object;
	if (object)
		json_number(&firefox->json, dense_ids_use(&firefox->libraries, object) - 1);
	else
		put_minus_one(firefox, row);
}

static void put_function_source(struct firefox *firefox, uint32_t row)
{
	const char *file = firefox->functions.entries.data[row].file;
	if (file)
		json_number(&firefox->json, strtab_intern(&firefox->sources, file, strlen(file)));
	else
		json_null(&firefox->json);
}

static void put_function_line(struct firefox *firefox, uint32_t row)
{
	put_line_or_null(firefox, firefox->functions.entries.data[row].line);
}

static void firefox_put_functions(struct firefox *firefox)
{
	static const struct column columns[] = {
		{"name", put_function_name},
		{"isJS", put_false},
		{"relevantForJS", put_false},
		{"resource", put_function_resource},
		{"source", put_function_source},
		{"lineNumber", put_function_line},
		{"columnNumber", put_null},
		{"originalLocation", put_null},
	};
	PUT_TABLE(firefox, "funcTable", columns, firefox->functions.entries.len);
}

static void put_source_file(struct firefox *firefox, uint32_t row)
{
	firefox_put_string(firefox, strtab_get(&firefox->sources, row));
}

static void put_sources(struct firefox *firefox)
{
	static const struct column columns[] = {
		{"id", put_null},
		{"filename", put_source_file},
		{"startLine", firefox_put_one},
		{"startColumn", firefox_put_one},
		{"sourceMapURL", put_null},
		{"content", put_null},
	};
	PUT_TABLE(firefox, "sources", columns, firefox->sources.entries.len);
}

/* ---- libraries ---- */

static const struct profile_object *library_at(const struct firefox *firefox, size_t row)
{
	return &firefox->profile->objects.data[firefox->libraries.used.data[row]];
}

static void put_resource_library(struct firefox *firefox, uint32_t row)
{
	json_number(&firefox->json, row);
}

static void put_resource_name(struct firefox *firefox, uint32_t row)
{
	firefox_put_string(firefox, library_at(firefox, row)->name);
}

static void put_resource_type(struct firefox *firefox, uint32_t row)
{
	(void)row;
	json_number(&firefox->json, RESOURCE_LIBRARY);
}

static void put_resources(struct firefox *firefox)
{
	static const struct column columns[] = {
		{"lib", put_resource_library},
		{"name", put_resource_name},
		{"host", put_null},
		{"type", put_resource_type},
	};
	PUT_TABLE(firefox, "resourceTable", columns, firefox->libraries.used.len);
}

/*
 * Breakpad's name of a build: the beginning of the build ID as a GUID, of which the first three
 * numbers are little-endian, and an age of 0 (breakpad: src/common/linux/file_id.cc).
 */
static void put_breakpad_id(const struct layout_object *info, struct str *out)
{
	static const uint8_t order[NR_GUID_BYTES] = {
		3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	if (!info->build_id_len)
		return;
	for (size_t i = 0; i < NR_GUID_BYTES; i++)
		str_printf(
			out, "%02X", order[i] < info->build_id_len ? info->build_id[order[i]] : 0);
	str_putc(out, '0');
}

static void put_library(struct firefox *firefox, const struct profile_object *object)
{
	struct json *json = &firefox->json;
	const char *arch = profile_meta(firefox->profile, LAYOUT_META_ARCH);
	CLEANUP(str_deinit) struct str build_id = {0}, breakpad_id = {0};
	hex_put(&build_id, object->info.build_id, object->info.build_id_len);
	put_breakpad_id(&object->info, &breakpad_id);
	json_line(json);
	json_object(json);
	json_put_text(json, "arch", arch ? arch : "");
	json_put_text(json, "name", object->name);
	json_put_text(json, "path", object->path);
	json_put_text(json, "debugName", object->name);
	json_put_text(json, "debugPath", object->path);
	json_put_text(json, "breakpadId", str_text(&breakpad_id));
	json_put_text(json, "codeId", str_text(&build_id));
	json_object_end(json);
}

/* ---- what is shared ---- */

static void firefox_put_strings(struct firefox *firefox)
{
	json_line(&firefox->json);
	json_put_array(&firefox->json, "stringArray");
	vec_each(&firefox->strings.entries, string) {
		json_line(&firefox->json);
		json_text(&firefox->json, string->bytes);
	}
	json_array_end(&firefox->json);
}

/* Each table numbers what the later ones hold; the strings of all come last. */
static void put_shared(struct firefox *firefox)
{
	static const struct column symbols[] = {
		{"libIndex", put_null},
		{"address", put_null},
		{"name", put_null},
		{"functionSize", put_null},
	};
	static const struct column locations[] = {
		{"source", put_null},
		{"line", put_null},
		{"column", put_null},
	};
	json_put_object(&firefox->json, "shared");
	firefox_put_stacks(firefox);
	firefox_put_frames(firefox);
	firefox_put_functions(firefox);
	put_resources(firefox);
	put_sources(firefox);
	PUT_TABLE(firefox, "nativeSymbols", symbols, 0);
	PUT_TABLE(firefox, "sourceLocationTable", locations, 0);
	firefox_put_strings(firefox);
	json_object_end(&firefox->json);
}

/* ---- the profile ---- */

static void put_category(struct json *json, const char *name, const char *color)
{
	json_object(json);
	json_put_text(json, "name", name);
	json_put_text(json, "color", color);
	json_put_array(json, "subcategories");
	json_text(json, "Other");
	json_array_end(json);
	json_object_end(json);
}

static void firefox_put_units(struct json *json)
{
	json_put_object(json, "sampleUnits");
	json_put_text(json, "time", "ms");
	json_put_text(json, "eventDelay", "ms");
	json_put_text(json, "threadCPUDelta", "ns");
	json_object_end(json);
}

static void put_optional(struct firefox *firefox, const char *key, const char *meta)
{
	const char *value = profile_meta(firefox->profile, meta);
	if (value && value[0])
		json_put_text(&firefox->json, key, value);
}

static void firefox_put_meta(struct firefox *firefox)
{
	const struct profile *profile = firefox->profile;
	struct json *json = &firefox->json;
	json_put_object(json, "meta");
	json_put_number(json, "version", GECKO_VERSION);
	json_put_number(json, "preprocessedProfileVersion", FORMAT_VERSION);
	json_put_text(json, "importedFrom", "ebprof");
	json_put_text(json, "product", profile_title(profile));
	json_put_number(json, "processType", 0);
	json_put_number(json, "stackwalk", 1);
	json_put_number(json, "debug", 0);
	json_put_text(json, "toolkit", "");
	json_put_text(json, "platform", "Linux");
	put_optional(firefox, "oscpu", LAYOUT_META_KERNEL);
	put_optional(firefox, "abi", LAYOUT_META_ARCH);
	put_optional(firefox, "CPUName", LAYOUT_META_CPU_MODEL);
	json_put_bool(json, "symbolicated", true);
	json_put_bool(json, "usesOnlyOneStackType", true);
	json_put_bool(json, "doesNotUseFrameImplementation", true);
	json_put_bool(json, "sourceCodeIsNotOnSearchfox", true);
	json_key(json, "startTime");
	json_decimal(json, profile_wall_ns(profile, profile->first_ns), FIREFOX_NS_DIGITS);
	json_key(json, "interval");
	json_decimal(json, firefox_interval_ns(profile), FIREFOX_NS_DIGITS);
	firefox_put_units(json);
	json_put_array(json, "categories");
	put_category(json, "Other", "grey");
	put_category(json, "User", "yellow");
	put_category(json, "Kernel", "orange");
	put_category(json, "Idle", "transparent");
	json_array_end(json);
	firefox_put_marker_schema(json);
	json_object_end(json);
}

static void firefox_put_profile(struct firefox *firefox)
{
	struct json *json = &firefox->json;
	struct firefox_markers markers = {
		strtab_intern(&firefox->strings, "thread", strlen("thread")),
		strtab_intern(&firefox->strings, "wait", strlen("wait")), CATEGORY_IDLE};
	json_object(json);
	firefox_put_meta(firefox);
	json_line(json);
	put_shared(firefox);
	json_line(json);
	json_put_array(json, "libs");
	for (size_t i = 0; i < firefox->libraries.used.len; i++)
		put_library(firefox, library_at(firefox, i));
	json_array_end(json);
	json_line(json);
	firefox_put_threads(json, firefox->profile, &firefox->lanes, firefox->tree.stacks, markers);
	json_put_array(json, "pages");
	json_array_end(json);
	json_object_end(json);
}

struct err *export_firefox(
	const struct profile *profile, const struct export_options *options, struct byte_sink sink)
{
	(void)options;
	struct firefox firefox = {.profile = profile, .json.sink = sink};
	function_table_init(&firefox.functions, profile);
	stack_tree_init(&firefox.tree, profile, NULL);
	lanes_init(&firefox.lanes, profile);
	dense_ids_init(&firefox.frames, profile->frames.len + 1);
	dense_ids_init(&firefox.libraries, profile->objects.len);
	firefox_put_profile(&firefox);
	strtab_deinit(&firefox.strings);
	strtab_deinit(&firefox.sources);
	function_table_deinit(&firefox.functions);
	stack_tree_deinit(&firefox.tree);
	lanes_deinit(&firefox.lanes);
	dense_ids_deinit(&firefox.frames);
	dense_ids_deinit(&firefox.libraries);
	return json_finish(&firefox.json);
}
