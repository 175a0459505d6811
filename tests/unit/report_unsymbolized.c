/* Why code has no names, and what is to be done about it. */
#include <stdlib.h>
#include <string.h>

#include "report/write/unsymbolized.h"
#include "tests/unit/unit.h"

static bool is_archived;

/* The table for one object without names, whose own file met this verdict. */
static void put_table(enum layout_object_kind kind, enum debug_verdict verdict, size_t id_len,
	bool lacks_room, struct str *out)
{
	struct debug_attempt attempt = {
		.place = DEBUG_PLACE_OWN, .verdict = verdict, .path = "/bin/prog"};
	struct profile profile = {0};
	struct profile_object object = {.path = "/bin/prog",
		.info = {.kind = kind, .build_id_len = (uint8_t)id_len},
		.symbols_problem = kind == LAYOUT_OBJECT_KERNEL ? "unreadable" : NULL,
		.lacks_room = lacks_room,
		.nr_archived = is_archived,
		.lacks_debug_parts = lacks_room,
		.attempts = &attempt,
		.nr_attempts = 1};
	unsetenv("DEBUGINFOD_URLS");
	vec_push(&profile.objects, (struct profile_object){0});
	vec_push(&profile.objects, object);
	vec_push(&profile.functions, (struct profile_function){.object = 1});
	vec_push(&profile.frames, (struct profile_frame){0});
	vec_push(&profile.frames, (struct profile_frame){.object = 1});
	vec_push(&profile.nodes, (struct layout_node){0});
	vec_push(&profile.nodes, (struct layout_node){.frame = 1});
	vec_push(&profile.stacks, (struct profile_stack){.user = 1});
	vec_push(&profile.samples, (struct profile_sample){0});
	unsymbolized_put(&profile, &(struct symbol_file_options){0}, out);
	vec_deinit(&profile.objects);
	vec_deinit(&profile.functions);
	vec_deinit(&profile.frames);
	vec_deinit(&profile.nodes);
	vec_deinit(&profile.stacks);
	vec_deinit(&profile.samples);
}

/* What stands behind "fix:", "" for nothing. */
static void check_fix(
	enum layout_object_kind kind, enum debug_verdict verdict, size_t id_len, const char *want)
{
	CLEANUP(str_deinit) struct str table = {0};
	put_table(kind, verdict, id_len, false, &table);
	CHECK(strstr(str_text(&table), "100.00%  /bin/prog: "));
	char *fix = strstr(table.data, "fix:   ");
	if (fix)
		*strchr(fix, '\n') = 0;
	CHECK_STR(fix ? fix + strlen("fix:   ") : "", want);
}

TEST(a_fix_fits_what_is_wrong)
{
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_ABSENT, 20,
		"ebprof archive where it was recorded; --symfs DIR or --debug-dir DIR, where its "
		"files are; install its debug package (-dbgsym, -debuginfo), or set "
		"DEBUGINFOD_URLS");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_ACCEPTED, 20,
		"--debug-dir DIR, where a copy is that was not stripped; install its debug package "
		"(-dbgsym, -debuginfo), or set DEBUGINFOD_URLS");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_ACCEPTED, 0,
		"link it with --build-id, which identifies its debug file");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_UNREADABLE, 20,
		"run ebprof as a user who may read it; --symfs DIR or --debug-dir DIR, where its "
		"files are; "
		"install its debug package (-dbgsym, -debuginfo), or set DEBUGINFOD_URLS");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_OTHER_TIME, 0,
		"--symfs DIR, where it is with the time that it had (cp -p); link it with "
		"--build-id");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_NOT_ELF, 0, "");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_OTHER_ORDER, 0, "");
	check_fix(LAYOUT_OBJECT_FILE, DEBUG_OTHER_BITS, 20, "");
	check_fix(LAYOUT_OBJECT_KERNEL, DEBUG_ABSENT, 20,
		"record with CAP_SYSLOG and kernel.kptr_restrict below 2");
	check_fix(LAYOUT_OBJECT_ANONYMOUS, DEBUG_ABSENT, 0,
		"let its runtime write a perf map or a jitdump");
}

/* What is in no ELF file has no symbol table to miss. */
TEST(generated_code_without_names_lacks_a_perf_map_entry)
{
	CLEANUP(str_deinit) struct str table = {0};
	put_table(LAYOUT_OBJECT_ANONYMOUS, DEBUG_ABSENT, 0, false, &table);
	CHECK(strstr(str_text(&table),
		"/bin/prog: generated code at addresses that its runtime's perf map or jitdump "
		"lacks\n"));
	CHECK(!strstr(str_text(&table), "symbol table"));
}

TEST(what_is_gone_is_not_archived_later)
{
	CLEANUP(str_deinit) struct str memory = {0}, deleted = {0};
	const struct symbol_file_options options = {0};
	const struct profile profile = {0};
	struct debug_attempt attempt = {
		.place = DEBUG_PLACE_OWN, .verdict = DEBUG_ABSENT, .path = "/bin/prog"};
	struct profile_object object = {.path = "/memfd:vmem",
		.info = {.kind = LAYOUT_OBJECT_FILE, .flags = LAYOUT_OBJECT_DELETED},
		.attempts = &attempt,
		.nr_attempts = 1};
	unsymbolized_put_object(&profile, &object, &options, true, &memory);
	CHECK(strstr(str_text(&memory), "fix: let its runtime write a perf map"));
	CHECK(!strstr(str_text(&memory), "ebprof archive"));
	object.path = "/bin/prog";
	unsymbolized_put_object(&profile, &object, &options, true, &deleted);
	CHECK(strstr(str_text(&deleted), "fix: ebprof record --archive, which reads it"));
}

TEST(what_is_too_large_unpacked_is_said_to_be)
{
	CLEANUP(str_deinit) struct str table = {0};
	put_table(LAYOUT_OBJECT_FILE, DEBUG_ACCEPTED, 20, true, &table);
	CHECK(strstr(str_text(&table), "is larger than there is room for\n"));
	CHECK(strstr(str_text(&table), "objcopy --decompress-debug-sections"));
}

TEST(what_an_archive_does_not_know_is_told_of_it)
{
	CLEANUP(str_deinit) struct str table = {0};
	is_archived = true;
	put_table(LAYOUT_OBJECT_FILE, DEBUG_ABSENT, 20, false, &table);
	CHECK(strstr(str_text(&table), "no name was known where it was archived"));
	CHECK(!strstr(str_text(&table), "ebprof archive"));
}

TEST(functions_are_counted_by_how_their_bounds_are_known)
{
	const struct profile_function functions[] = {
		{.object = 1, .is_known = true},
		{.object = 1, .has_bounds = true, .bounds = CHAIN_BOUNDS_BY_FDE},
		{.object = 1, .has_bounds = true, .bounds = CHAIN_BOUNDS_BY_FDE},
		{.object = 1, .has_bounds = true, .bounds = CHAIN_BOUNDS_BY_CODE},
		{.object = 2, .has_bounds = true},
		{.object = 2},
	};
	CLEANUP_FREE struct unsymbolized_functions *counts =
		unsymbolized_count_functions(functions, sizeof(functions) / sizeof(*functions), 3);
	CHECK_INT(counts[0].count, 0);
	CHECK_INT(counts[1].count, 3);
	CHECK_INT(counts[1].by_fde, 2);
	CHECK_INT(counts[1].guessed, 1);
	CHECK_INT(counts[2].count, 1);
	CLEANUP(str_deinit) struct str both = {0}, old = {0};
	unsymbolized_put_functions(&counts[1], &both);
	CHECK_STR(str_text(&both), "of 2 by call frame information, of 1 guessed from the code");
	unsymbolized_put_functions(&counts[2], &old);
	CHECK_STR(str_text(&old), "of 1 in an unknown way");
}
