/*
 * Which language a name is of, what stands behind the name proper, and how much
 * of it is shown.
 */
#include "report/name/demangle/demangle.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "format/base/mem.h"
#include "report/name/demangle/demangle_collapse.h"
#include "report/name/demangle/demangle_java.h"
#include "report/name/demangle/demangle_libiberty.h"
#include "report/name/demangle/rust_legacy.h"
#include "report/name/demangle/rust_v0.h"

/* ---- suffixes ---- */

/* How long the name is before a version or PLT mark: `foo@@GLIBC_2.2.5`, `foo@plt`. */
static size_t length_before_version(const char *name, size_t len)
{
	const char *at = memchr(name, '@', len);
	return at && at != name ? (size_t)(at - name) : len;
}

/*
 * How long the name is before its clone suffixes. They are dotted words of the
 * compiler's: .cold, .part.3, .constprop.0.isra.0, .llvm.8127361. Dots inside of
 * a legacy Rust name (`..` for `::`) come before its closing E, and no mangled
 * name but Rust's holds any, so the suffix starts at the first dot for which
 * only whole known words follow.
 */
static size_t length_before_clone(const char *name, size_t len)
{
	static const char *const words[] = {".cold", ".part", ".isra", ".constprop", ".lto_priv",
		".llvm", ".clone", ".localalias", ".resolver", ".specialized", ".warm", ".hot",
		".__uniq", ".destroy", ".resume", ".cleanup", ".actor", "._omp_fn"};
	size_t start = len;
	for (;;) {
		/* The last dotted word of what is left, and the number before it. */
		const char *dot = start ? memrchr(name, '.', start) : NULL;
		if (!dot || dot == name)
			return start;
		size_t word_start = (size_t)(dot - name);
		size_t digits = strspn(dot + 1, "0123456789ABCDEF"); /* .llvm.N is in either base */
		if (digits) {
			const char *before = memrchr(name, '.', word_start);
			if (word_start + 1 + digits != start || !before || before == name)
				return start;
			start = word_start;
			word_start = (size_t)(before - name);
		}
		bool known = false;
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			known |= strlen(words[i]) == start - word_start &&
				 strncmp(name + word_start, words[i], start - word_start) == 0;
		if (!known)
			return start;
		start = word_start;
	}
}

/*
 * The same where no mangled name holds a dot, as in C++ and D: all behind the first one is a suffix
 * then, made by any pass or attribute: .avx2, .sse4_1.2, ._omp_cpyfn.6. `len` where
 * these are no dotted words.
 */
static size_t length_before_dots(const char *name, size_t len)
{
	const char *dot = memchr(name, '.', len);
	if (!dot || dot[1] == '\0')
		return len;
	for (const char *at = dot; at < name + len; at++)
		if (*at == '.' ? at[1] == '.' || at + 1 == name + len
			       : !isalnum((unsigned char)*at) && *at != '_')
			return len;
	return (size_t)(dot - name);
}

/* ---- languages ---- */

/* Rust's own demanglers say where the name ends; what follows is a suffix. */
static bool try_rust(const char *name, struct demangle_sink *sink,
	size_t (*run)(const char *mangled, size_t len, struct demangle_sink *sink))
{
	size_t len = strlen(name), used = run(name, len, sink);
	if (!used || sink->is_over || (used < len && name[used] != '.' && name[used] != '$'))
		return false;
	return demangle_sink_write(sink, name + used, len - used);
}

static bool try_rust_v0(const char *name, struct demangle_sink *sink)
{
	return try_rust(name, sink, rust_v0_demangle);
}

static bool try_rust_legacy(const char *name, struct demangle_sink *sink)
{
	return try_rust(name, sink, rust_legacy_demangle);
}

/* In this order: a legacy Rust name is a valid C++ one too, with its hash as the last scope. */
static const struct {
	bool (*demangle)(const char *name, struct demangle_sink *sink);
	demangle_collapse_fn *collapse;
	bool has_dots; /* in names proper, or says itself what is a suffix */
} languages[] = {
	{try_rust_v0, demangle_collapse_rust, true},
	{try_rust_legacy, demangle_collapse_rust, true},
	{demangle_cplus, demangle_collapse_cplus, false},
	{demangle_d, demangle_collapse_d, false},
};

/* Shortens what stands in `out` behind `start`; what is not understood stays whole. */
static void demangle_shorten(
	struct str *out, size_t start, demangle_collapse_fn *collapse, enum demangle_mode mode)
{
	if (mode <= DEMANGLE_FULL)
		return;
	size_t len = out->len - start;
	CLEANUP_FREE char *full = mem_strndup(out->data + start, len);
	str_truncate(out, start);
	if (collapse(full, len, mode == DEMANGLE_TEMPLATES, out) && out->len > start)
		return;
	str_truncate(out, start);
	str_write(out, full, len);
}

/* Languages that mangle nothing have functions like main.cleanup: there, only .cold and numbers. */
static bool is_suffix_of_plain(const char *suffix, size_t len)
{
	return isdigit((unsigned char)suffix[len - 1]) ||
	       (len == strlen(".cold") && memcmp(suffix, ".cold", len) == 0);
}

size_t demangle_suffix_length(const char *system_name)
{
	size_t len = strlen(system_name), before = length_before_version(system_name, len);
	if (strcmp(system_name + before, "@plt") == 0)
		return 0;
	size_t own = length_before_clone(system_name, before);
	if (own < before && system_name[0] != '_' &&
		!is_suffix_of_plain(system_name + own, before - own))
		own = before;
	return len - own;
}

/* Go's linker marks functions of the stack-based calling convention in the symbol table; the
 * runtime's own table of functions, all that a stripped program has, does not (Go 1.17, cmd/link).
 */
static bool demangle_go(const char *mangled, struct str *out)
{
	static const char mark[] = ".abi0";
	size_t len = strlen(mangled), proper = len - (sizeof(mark) - 1);
	if (len < sizeof(mark) || memcmp(mangled + proper, mark, sizeof(mark)) != 0)
		return false;
	str_write(out, mangled, proper);
	return true;
}

bool demangle(const char *mangled, enum demangle_mode mode, struct str *out)
{
	if (mode == DEMANGLE_NONE)
		return false;
	if (mode != DEMANGLE_FULL && demangle_go(mangled, out))
		return true;
	/* Nearly all names of C end here. */
	if (mangled[0] != '_')
		return demangle_java(mangled, mode == DEMANGLE_FULL, out);
	size_t len = strnlen(mangled, DEMANGLE_INPUT_MAX + 1), start = out->len;
	if (len > DEMANGLE_INPUT_MAX)
		return false;
	size_t proper = length_before_clone(mangled, length_before_version(mangled, len));
	size_t dotless = length_before_dots(mangled, proper);
	if (len - dotless >= DEMANGLE_OUTPUT_MAX)
		return false;
	CLEANUP_FREE char *name = mem_strndup(mangled, proper);
	struct demangle_sink sink = {
		.out = out, .limit = start + DEMANGLE_OUTPUT_MAX - (len - dotless)};
	for (size_t i = 0; i < sizeof(languages) / sizeof(*languages) && !sink.is_over; i++) {
		size_t end = languages[i].has_dots ? proper : dotless;
		name[end] = '\0'; /* those with dots come first */
		if (languages[i].demangle(name, &sink) && out->len > start) {
			demangle_shorten(out, start, languages[i].collapse, mode);
			str_write(out, mangled + end, len - end);
			return true;
		}
		str_truncate(out, start);
	}
	return false;
}
