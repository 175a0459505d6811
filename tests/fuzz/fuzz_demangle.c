/*
 * Any text as a mangled name: either nothing is appended, or at most the budget,
 * in every mode. Short names of Rust must become what libiberty makes of them, where both
 * understand them.
 */
#include <libiberty/demangle.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/name/demangle/demangle.h"
#include "report/name/demangle/rust_legacy.h"
#include "report/name/demangle/rust_v0.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Whole, they are as the linker has them: only to shorten is there anything. */
static bool is_name_of_go(const char *name)
{
	size_t len = strlen(name);
	return len > 5 && strcmp(name + len - 5, ".abi0") == 0;
}

static void check_mode(const char *name, enum demangle_mode mode, bool *was_ok)
{
	struct str out = {0};
	str_puts(&out, "before ");
	size_t start = out.len;
	bool ok = demangle(name, mode, &out);
	if (ok ? out.len <= start || out.len - start > DEMANGLE_OUTPUT_MAX : out.len != start)
		abort();
	if (memcmp(out.data, "before ", start) != 0)
		abort();
	if (mode == DEMANGLE_FULL)
		*was_ok = ok;
	else if (ok != *was_ok && !is_name_of_go(name))
		abort();
	str_deinit(&out);
}

enum {
	COMPARED_MAX = 300, /* libiberty has no budget */
	REFERENCES_MAX = 4,
};

static void take_output(const char *text, size_t len, void *out)
{
	str_write(out, text, len);
}

/*
 * What is left out: constants (libiberty 2.40 prints those of 128 bits one digit off, and knows
 * numbers, bool and char only), Punycode (which it accepts beyond Unicode), suffixes (which it
 * drops) and characters that a legacy name escapes (of which it knows fewer).
 */
static bool is_comparable(const char *name, size_t len)
{
	size_t references = 0;
	for (size_t i = 0; i < len; i++)
		references += name[i] == 'B';
	return len <= COMPARED_MAX && references <= REFERENCES_MAX && !strpbrk(name, "Ku$.");
}

static void compare_rust(const char *name)
{
	size_t len = strlen(name);
	if (!is_comparable(name, len))
		return;
	struct str ours = {0}, theirs = {0};
	struct demangle_sink sink = {.out = &ours, .limit = DEMANGLE_OUTPUT_MAX};
	size_t used = rust_v0_demangle(name, len, &sink);
	if (!used) {
		str_truncate(&ours, 0);
		used = rust_legacy_demangle(name, len, &sink);
	}
	if (used == len && !sink.is_over && rust_demangle_callback(name, 0, take_output, &theirs) &&
		strcmp(str_text(&ours), str_text(&theirs)) != 0)
		abort();
	str_deinit(&ours);
	str_deinit(&theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	CLEANUP_FREE char *name = mem_strndup(bytes, len);
	bool ok = false;
	check_mode(name, DEMANGLE_FULL, &ok);
	check_mode(name, DEMANGLE_TEMPLATES, &ok);
	check_mode(name, DEMANGLE_SIMPLIFIED, &ok);
	compare_rust(name);
	return 0;
}
