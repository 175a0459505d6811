#include "report/write/unsymbolized.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/slice.h"
#include "report/name/debugfile/debuginfod.h"
#include "report/write/generated_code.h"

enum {
	ROWS_MAX = 10,
	/* Attempts shown of an object; those that found nothing are only counted. */
	ATTEMPTS_MAX = 4,
};

static const double least_percent = 1.0;

struct row {
	uint32_t object;
	uint64_t samples; /* of its code */
	uint64_t unnamed; /* of them, without a symbol */
	uint64_t bounded; /* of these, in functions of which the file tells the bounds */
};

static int unsymbolized_compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	if (x->unnamed != y->unnamed)
		return x->unnamed > y->unnamed ? -1 : 1;
	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->object < y->object ? -1 : x->object > y->object;
}

static void unsymbolized_count_samples(const struct profile *profile, struct row *rows)
{
	for (uint32_t i = 0; i < profile->objects.len; i++)
		rows[i].object = i;
	CLEANUP_FREE uint64_t *samples = slice_count_stacks(profile);
	for (uint32_t i = 0; i < profile->stacks.len; i++) {
		struct profile_walk walk = profile_walk(profile, i);
		const struct profile_frame *frame = &profile->frames.data[profile_walk_next(&walk)];
		const struct profile_function *function = &profile->functions.data[frame->function];
		rows[frame->object].samples += samples[i];
		rows[frame->object].unnamed += function->is_known ? 0 : samples[i];
		rows[frame->object].bounded += function->has_bounds ? samples[i] : 0;
	}
}

/* There was something, but it was not taken. */
static bool is_refused(const struct debug_attempt *attempt)
{
	return attempt->verdict != DEBUG_ABSENT && attempt->verdict != DEBUG_ACCEPTED;
}

/* A path or an answer that ought to be known also where all functions have names. */
static bool is_wrong(const struct debug_attempt *attempt)
{
	return is_refused(attempt) && attempt->verdict != DEBUG_UNKNOWN &&
	       attempt->verdict != DEBUG_UNKNOWN_BEFORE;
}

static bool unsymbolized_has(
	const struct profile_object *object, bool (*is)(const struct debug_attempt *))
{
	for (uint32_t i = 0; i < object->nr_attempts; i++)
		if (is(&object->attempts[i]))
			return true;
	return false;
}

static bool unsymbolized_is_shown(const struct profile *profile, const struct row *row)
{
	const struct profile_object *object = &profile->objects.data[row->object];
	uint64_t all = profile->samples.len;
	if (!row->object || !row->samples)
		return false;
	if (profile_percent(row->unnamed, all) >= least_percent)
		return true;
	bool is_refused_file =
		object->symbols_level < SYMBOL_LEVEL_DWARF && unsymbolized_has(object, is_wrong);
	return (is_refused_file || object->lacks_debug_parts) &&
	       profile_percent(row->samples, all) >= least_percent;
}

/* ---- a row ---- */

static const struct debug_attempt *last_of(
	const struct profile_object *object, enum debug_verdict verdict)
{
	const struct debug_attempt *found = NULL;
	for (uint32_t i = 0; i < object->nr_attempts; i++)
		if (object->attempts[i].verdict == verdict)
			found = &object->attempts[i];
	return found;
}

static bool is_own(const struct profile_object *object, enum debug_verdict verdict)
{
	return object->nr_attempts && object->attempts[0].place == DEBUG_PLACE_OWN &&
	       object->attempts[0].verdict == verdict;
}

/* Of code that is in no ELF file, but that was named when it was recorded: by whom. */
static const char *reason_of_recorder(enum layout_object_kind kind)
{
	switch (kind) {
	case LAYOUT_OBJECT_ANONYMOUS:
		return "generated code at addresses that its runtime's perf map or jitdump lacks";
	case LAYOUT_OBJECT_SCRIPT:
		return "the recorder could not read these names";
	case LAYOUT_OBJECT_BPF:
		return "the kernel did not name these programs";
	case LAYOUT_OBJECT_KERNEL:
	case LAYOUT_OBJECT_MODULE:
	case LAYOUT_OBJECT_VDSO:
		return "the recorder found no symbol at these addresses";
	default:
		return NULL;
	}
}

/* Memory that a program made executable itself, as compilers do that map it twice. */
static bool is_memfd(const struct profile_object *object)
{
	return strncmp(object->path, "/memfd:", strlen("/memfd:")) == 0;
}

static const char *reason(const struct profile_object *object)
{
	static const char *const levels[] = {
		[SYMBOL_LEVEL_NONE] = "the file has no symbol table",
		[SYMBOL_LEVEL_DYNSYM] = "stripped: only exported functions have names",
		[SYMBOL_LEVEL_MINI] = "its small symbol table (.gnu_debugdata) lacks them",
		[SYMBOL_LEVEL_SYMTAB] = "its symbol table lacks them",
		[SYMBOL_LEVEL_DWARF] = "its symbol table lacks them",
	};
	if (object->lacks_room)
		return "unpacked, its debug information is larger than there is room for";
	if (object->lacks_debug_parts)
		return "parts of its debug information stand in other files, which are missing";
	if (object->is_symtab_cut)
		return "its symbol table is mostly zeros, and was not read behind the first of "
		       "them";
	if (object->symbols_problem && object->symbols_level == SYMBOL_LEVEL_NONE)
		return object->symbols_problem;
	const char *recorded = reason_of_recorder(object->info.kind);
	if (recorded && object->symbols_level == SYMBOL_LEVEL_NONE)
		return recorded;
	if (object->nr_archived && object->symbols_level == SYMBOL_LEVEL_NONE)
		return "no name was known where it was archived, and the file is not here";
	return levels[object->symbols_level];
}

/* Servers answered, but what they sent could not be kept. */
static bool lacks_cache(const struct profile_object *object)
{
	const struct debug_attempt *failed = last_of(object, DEBUG_FAILED);
	int errnum = failed ? failed->errnum : 0;
	return errnum == ENOSPC || errnum == EDQUOT || errnum == EROFS || errnum == EACCES ||
	       errnum == EIO; /* it could not write */
}

static void put_where_to_find(const struct profile_object *object,
	const struct symbol_file_options *options, struct str *out)
{
	if (is_own(object, DEBUG_ABSENT) && !object->nr_archived)
		str_puts(
			out, object->info.flags & LAYOUT_OBJECT_DELETED
				     ? "ebprof record --archive, which reads it before it is gone; "
				     : "ebprof archive where it was recorded; ");
	if (is_own(object, DEBUG_UNREADABLE))
		str_puts(out, "run ebprof as a user who may read it; ");
	if (!object->info.build_id_len) {
		str_puts(out, "--symfs DIR, where it is with the time that it had (cp -p); "
			      "link it with --build-id");
		return;
	}
	if (!is_own(object, DEBUG_ACCEPTED))
		str_puts(out, "--symfs DIR or --debug-dir DIR, where its files are; ");
	else
		str_puts(out, "--debug-dir DIR, where a copy is that was not stripped; ");
	str_puts(out, "install its debug package (-dbgsym, -debuginfo)");
	if (!options->debuginfod && object->info.build_id_len)
		str_puts(out, debuginfod_has_servers() ? ", or let debuginfod be used"
						       : ", or set DEBUGINFOD_URLS");
}

/* The kernel tells its addresses only to some users, and they cannot be had later. */
static bool was_hidden(const struct profile_object *object)
{
	enum layout_object_kind kind = object->info.kind;
	return object->symbols_problem &&
	       (kind == LAYOUT_OBJECT_KERNEL || kind == LAYOUT_OBJECT_MODULE);
}

/* What the user can do about it; nothing where there is nothing. */
static void put_fix(const struct profile *profile, const struct profile_object *object,
	const struct symbol_file_options *options, struct str *out)
{
	if (was_hidden(object)) {
		str_puts(out, "record with CAP_SYSLOG and kernel.kptr_restrict below 2");
		return;
	}
	bool is_generated = object->info.kind == LAYOUT_OBJECT_ANONYMOUS || is_memfd(object);
	if (is_generated) {
		generated_code_put_remedy(profile, GENERATED_CODE_LACKS_NAMES, out);
		if (is_memfd(object))
			str_puts(
				out, "; an ELF file in memory is named by ebprof record --archive");
		return;
	}
	if (object->info.kind != LAYOUT_OBJECT_FILE || is_own(object, DEBUG_OTHER_BITS) ||
		is_own(object, DEBUG_OTHER_ORDER))
		return;
	if (object->lacks_room) {
		str_puts(out, "objcopy --decompress-debug-sections, or room in TMPDIR");
	} else if (object->lacks_debug_parts) {
		str_puts(out,
			"its .dwo files where they were built, or its .dwp beside it, or what dwz "
			"moved out of it in /usr/lib/debug/.dwz");
	} else if (!object->info.build_id_len && is_own(object, DEBUG_NOT_ELF)) {
		return;
	} else if (!object->info.build_id_len && is_own(object, DEBUG_ACCEPTED)) {
		str_puts(out, "link it with --build-id, which identifies its debug file");
	} else if (last_of(object, DEBUG_NO_LIBRARY)) {
		str_printf(out, "%s, or install the debug package",
			debuginfod_is_possible() ? "install libdebuginfod1"
						 : "use an ebprof that is not a static one");
	} else if (lacks_cache(object)) {
		str_puts(out, "set DEBUGINFOD_CACHE_PATH to a folder that has room and may be "
			      "written, or install the debug package");
	} else if (last_of(object, DEBUG_CUT_OFF)) {
		str_puts(out, "run it again with --debuginfod=full, which waits while data comes");
	} else {
		put_where_to_find(object, options, out);
	}
}

static void put_attempt(const struct debug_attempt *attempt, struct str *out)
{
	static const char *const texts[] = {
#define X(verdict, text) [verdict] = text,
		DEBUG_VERDICTS(X)
#undef X
	};
	str_puts(out, attempt->place == DEBUG_PLACE_DEBUGINFOD ? "debuginfod: " : "");
	str_puts_escaped(out, attempt->path);
	str_printf(out, " %s", texts[attempt->verdict]);
	if (attempt->errnum)
		str_printf(out, " (%s)", strerror(attempt->errnum));
}

static void unsymbolized_put_line(struct str *out, const char *what)
{
	str_printf(out, "#          %-7s", what);
}

static void put_tried(const struct profile_object *object, struct str *out)
{
	uint32_t nr_absent = 0, nr_shown = 0;
	for (uint32_t i = 0; i < object->nr_attempts; i++) {
		const struct debug_attempt *attempt = &object->attempts[i];
		nr_absent += attempt->verdict == DEBUG_ABSENT;
		if (!is_refused(attempt) || nr_shown == ATTEMPTS_MAX)
			continue;
		nr_shown++;
		unsymbolized_put_line(out, "not:");
		put_attempt(attempt, out);
		str_putc(out, '\n');
	}
	if (object->info.flags & LAYOUT_OBJECT_UNSEARCHED) {
		unsymbolized_put_line(out, "not:");
		str_puts(out, "its build ID: there are too many notes to look for it in all\n");
	}
	if (object->info.flags & LAYOUT_OBJECT_REMOTE) {
		unsymbolized_put_line(out, "not:");
		str_puts(out, "while recording: it was on a remote or FUSE file system of another "
			      "user, which may hang\n");
	}
	if (!nr_absent)
		return;
	unsymbolized_put_line(out, "tried:");
	str_printf(
		out, "%u %s without a file\n", nr_absent, str_plural(nr_absent, "place", "places"));
}

struct unsymbolized_functions *unsymbolized_count_functions(
	const struct profile_function *functions, size_t nr_functions, size_t nr_objects)
{
	struct unsymbolized_functions *counts = mem_zalloc_array(nr_objects, sizeof(*counts));
	for (size_t i = 0; i < nr_functions; i++) {
		struct unsymbolized_functions *count = &counts[functions[i].object];
		if (!functions[i].has_bounds)
			continue;
		count->count++;
		count->by_fde += functions[i].bounds == CHAIN_BOUNDS_BY_FDE;
		count->guessed += functions[i].bounds == CHAIN_BOUNDS_BY_CODE;
	}
	return counts;
}

void unsymbolized_put_functions(const struct unsymbolized_functions *functions, struct str *out)
{
	const struct {
		size_t count;
		const char *how;
	} parts[] = {
		{functions->by_fde, "by call frame information"},
		{functions->guessed, "guessed from the code"},
		{functions->count - functions->by_fde - functions->guessed, "in an unknown way"},
	};
	const char *separator = "";
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i].count)
			continue;
		str_printf(out, "%sof %zu %s", separator, parts[i].count, parts[i].how);
		separator = ", ";
	}
}

/* What stands in place of names: functions, or addresses, each of which is a row of its own. */
static void put_bounds(const struct profile *profile, const struct row *row,
	const struct unsymbolized_functions *functions, struct str *out)
{
	uint64_t all = profile->samples.len, addresses = row->unnamed - row->bounded;
	if (row->bounded) {
		unsymbolized_put_line(out, "shown:");
		str_puts(out, "as fn_START: bounds ");
		unsymbolized_put_functions(functions, out);
		str_putc(out, '\n');
	}
	bool is_file = profile->objects.data[row->object].info.kind == LAYOUT_OBJECT_FILE;
	if (!is_file || profile_percent(addresses, all) < least_percent)
		return;
	unsymbolized_put_line(out, "shown:");
	str_printf(out, "%.2f%% as addresses, since nothing tells the bounds of their functions\n",
		profile_percent(addresses, all));
}

static void unsymbolized_put_row(const struct profile *profile, const struct row *row,
	const struct unsymbolized_functions *functions, const struct symbol_file_options *options,
	struct str *out)
{
	const struct profile_object *object = &profile->objects.data[row->object];
	uint64_t all = profile->samples.len;
	str_printf(out, "# %6.2f%%  ", profile_percent(row->unnamed, all));
	str_puts_escaped(out, object->path);
	bool is_named =
		!object->lacks_debug_parts && profile_percent(row->unnamed, all) < least_percent;
	str_printf(out, ": %s\n", is_named ? "a debug file was refused" : reason(object));
	put_bounds(profile, row, functions, out);
	put_tried(object, out);
	CLEANUP(str_deinit) struct str fix = {0};
	put_fix(profile, object, options, &fix);
	if (!fix.len)
		return;
	unsymbolized_put_line(out, "fix:");
	str_printf(out, "%s\n", str_text(&fix));
}

/* Names that there are, but that may be of other code. */
static void put_stale(const struct profile *profile, struct str *out)
{
	if (profile->nr_stale)
		str_printf(out,
			"#\n# stale names: in %llu sample%s of the recording a compiled function "
			"may "
			"be another one,\n# which had the same address about then: a perf map has "
			"no "
			"times, a jitdump has\n",
			(unsigned long long)profile->nr_stale, profile->nr_stale == 1 ? "" : "s");
}

void unsymbolized_put(
	const struct profile *profile, const struct symbol_file_options *options, struct str *out)
{
	size_t count = profile->objects.len, nr_shown = 0, nr_left = 0;
	CLEANUP_FREE struct row *rows = mem_zalloc_array(count, sizeof(*rows));
	CLEANUP_FREE struct unsymbolized_functions *functions = unsymbolized_count_functions(
		profile->functions.data, profile->functions.len, count);
	unsymbolized_count_samples(profile, rows);
	qsort(rows, count, sizeof(*rows), unsymbolized_compare_rows);
	for (size_t i = 0; i < count; i++) {
		if (!unsymbolized_is_shown(profile, &rows[i]))
			continue;
		if (nr_shown == ROWS_MAX) {
			nr_left++;
			continue;
		}
		if (!nr_shown++)
			str_puts(out, "#\n# unsymbolized, as a share of all samples, because:\n");
		unsymbolized_put_row(profile, &rows[i], &functions[rows[i].object], options, out);
	}
	if (nr_left)
		str_printf(
			out, "# and %zu more %s\n", nr_left, str_plural(nr_left, "file", "files"));
	put_stale(profile, out);
}

void unsymbolized_put_object(const struct profile *profile, const struct profile_object *object,
	const struct symbol_file_options *options, bool lacks_names, struct str *out)
{
	if (lacks_names || object->lacks_debug_parts)
		str_printf(out, "why: %s\n", reason(object));
	CLEANUP(str_deinit) struct str fix = {0};
	if (lacks_names || object->lacks_debug_parts || object->symbols_level < SYMBOL_LEVEL_DWARF)
		put_fix(profile, object, options, &fix);
	if (fix.len)
		str_printf(out, "%s: %s\n", lacks_names ? "fix" : "for more", str_text(&fix));
	if (object->nr_attempts)
		str_puts(out, "\ntried, in this order:\n");
	for (uint32_t i = 0; i < object->nr_attempts; i++) {
		str_puts(out, "  ");
		put_attempt(&object->attempts[i], out);
		str_putc(out, '\n');
	}
}
