/*
 * The same way that the BPF side goes, from outside; offsets are those of
 * bpf/runtime/perl/perl.bpf.h.
 *
 * Sources: sv.h, cv.h, gv.h, hv.h of Perl 5.32.1 and 5.36.0.
 */
#include "record/runtime/perl/perl_names.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/runtime/perl/perl_layout.h"
#include "record/runtime/runtime_memory.h"

enum {
	IS_CV = 13, /* SVt_ */
	IS_FORMAT = 14,
	IS_GV = 9,
	HAS_NAME = 0x8000, /* CVf_ */
	IS_LEXICAL = 0x10000,
	MAX_PART_BYTES = 240, /* of a name */
	MAX_C_BYTES = RUNTIME_MAX_FILE_BYTES,
	PAGE_BYTES = 4096,
};

static bool perl_names_read_word(uint32_t pid, uint64_t address, uint64_t *ret)
{
	return address && runtime_read_process(pid, address, ret, sizeof(*ret));
}

static uint32_t type_of(uint32_t pid, uint64_t sv)
{
	uint64_t flags;
	return perl_names_read_word(pid, sv + 8, &flags) ? flags >> 32 & 0xff : 0;
}

/* ---- strings ---- */

static bool put_hek(uint32_t pid, uint64_t hek, struct str *out, uint8_t *unit)
{
	uint32_t head[2];
	char bytes[MAX_PART_BYTES + 2];
	if (!hek || !runtime_read_process(pid, hek, head, sizeof(head)) || !head[1] ||
		head[1] > MAX_PART_BYTES || !runtime_read_process(pid, hek + 8, bytes, head[1] + 2))
		return false;
	str_write(out, bytes, head[1]);
	if (bytes[head[1] + 1] & 1) /* HVhek_UTF8 */
		*unit = RUNTIME_UNIT_UTF8;
	return true;
}

/* Page by page, since nothing says where it ends. */
static bool put_c_text(uint32_t pid, uint64_t address, struct str *out)
{
	char bytes[MAX_C_BYTES];
	for (size_t len = 0; address && len < sizeof(bytes);) {
		size_t part = PAGE_BYTES - (address + len) % PAGE_BYTES;
		part = part < sizeof(bytes) - len ? part : sizeof(bytes) - len;
		if (!runtime_read_process(pid, address + len, bytes + len, part))
			return false;
		const char *end = memchr(bytes + len, '\0', part);
		len = end ? (size_t)(end - bytes) : len + part;
		if (end || len == sizeof(bytes)) {
			str_write(out, bytes, len);
			return len;
		}
	}
	return false;
}

/* ---- names ---- */

static uint64_t name_of_stash(uint32_t pid, const struct perl_row *row, uint64_t stash)
{
	uint64_t body, max, array, name, count;
	if (!perl_names_read_word(pid, stash, &body))
		return 0;
	uint64_t at = body + 32;
	if (!row->stash_name_is_inside) {
		if (!perl_names_read_word(pid, body + 24, &max) ||
			!perl_names_read_word(pid, stash + 16, &array))
			return 0;
		at = array + (max + 1) * 8;
	}
	if (!perl_names_read_word(pid, at, &name) || !perl_names_read_word(pid, at + 24, &count))
		return 0;
	return count >> 32 && !perl_names_read_word(pid, name, &name) ? 0 : name;
}

static uint64_t original_of(uint32_t pid, uint64_t gv)
{
	uint64_t group, original;
	bool is_other = perl_names_read_word(pid, gv + 16, &group) &&
			perl_names_read_word(pid, group + 56, &original) &&
			type_of(pid, original) == IS_GV;
	return is_other ? original : gv;
}

static uint64_t name_of_cv(uint32_t pid, uint64_t cv, uint64_t *stash)
{
	uint64_t body, gv, flags, name;
	if (!perl_names_read_word(pid, cv, &body) || !perl_names_read_word(pid, body + 32, stash) ||
		!perl_names_read_word(pid, body + 56, &gv) ||
		!perl_names_read_word(pid, body + 88, &flags))
		return 0;
	if (flags >> 32 & IS_LEXICAL)
		*stash = 0;
	if (flags >> 32 & HAS_NAME)
		return gv;
	if (type_of(pid, gv) != IS_GV)
		return 0;
	gv = original_of(pid, gv);
	if (!perl_names_read_word(pid, gv, &body) || !perl_names_read_word(pid, body + 32, &name) ||
		!perl_names_read_word(pid, body + 40, stash))
		return 0;
	return name;
}

static bool put_cv_name(const struct event_code *event, struct str *out, uint8_t *unit)
{
	struct perl_row row;
	uint64_t stash = 0,
		 name = name_of_cv(event->pid, event->address[RUNTIME_TEXT_NAME], &stash);
	if (!name || !perl_layout_of_version(event->version, &row))
		return false;
	if (stash) {
		if (!put_hek(event->pid, name_of_stash(event->pid, &row, stash), out, unit))
			return false;
		str_puts(out, "::");
	}
	return put_hek(event->pid, name, out, unit);
}

static bool put_module(const struct event_code *event, struct str *out)
{
	uint64_t text;
	str_puts(out, "require ");
	return perl_names_read_word(event->pid, event->address[RUNTIME_TEXT_NAME] + 16, &text) &&
	       put_c_text(event->pid, text, out);
}

static bool perl_names_put_text(
	const struct event_code *event, enum runtime_text what, struct str *out, uint8_t *unit)
{
	uint32_t type = type_of(event->pid, event->address[RUNTIME_TEXT_NAME]);
	*unit = RUNTIME_UNIT_UTF8;
	if (what == RUNTIME_TEXT_FILE)
		return put_c_text(event->pid, event->address[what], out);
	if (type != IS_CV && type != IS_FORMAT)
		return put_module(event, out);
	*unit = 1;
	return put_cv_name(event, out, unit);
}

bool perl_read_text(
	const struct event_code *event, enum runtime_text what, struct runtime_text_bytes *ret)
{
	CLEANUP(str_deinit) struct str out = {0};
	if (what == RUNTIME_TEXT_LINES || !perl_names_put_text(event, what, &out, &ret->unit))
		return false;
	ret->len = out.len;
	ret->data = mem_alloc(out.len);
	memcpy(ret->data, str_text(&out), out.len);
	return true;
}
