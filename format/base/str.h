/* Growable text, interned strings, and the one place that makes foreign bytes safe to show. */
#ifndef EBPROF_STR_H
#define EBPROF_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"

/* Text under construction. `data` is NUL-terminated once anything was put; {0} is empty. */
struct str {
	char *data;
	size_t len, cap;
};

void str_putc(struct str *s, char c);
void str_puts(struct str *s, const char *text);
void str_write(struct str *s, const void *bytes, size_t len);
void str_printf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vprintf(struct str *s, const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
/* `count` copies of `c`. */
void str_pad(struct str *s, char c, size_t count);
/* Shortens to `len` bytes. */
/* `one` where the count is 1, else `many`: for "%llu %s". Borrowed from the caller. */
const char *str_plural(uint64_t count, const char *one, const char *many);

void str_truncate(struct str *s, size_t len);
/* Borrowed; "" when nothing was put. */
const char *str_text(const struct str *s);
/* The text itself, to be freed with mem_free(); `s` is empty afterwards. */
char *str_steal(struct str *s);
void str_deinit(struct str *s);

/*
 * Appends bytes of foreign origin (names, paths, comms) so that a terminal
 * and the log of a CI job can show them: C0 and C1 controls, DEL, line separators,
 * bidirectional overrides, invalid UTF-8, and a # that would begin a command to
 * the CI service become \xNN (of each byte). Everything else stays as it is.
 */
void str_put_escaped(struct str *s, const char *bytes, size_t len);
/* The same of a text that ends with a NUL. */
void str_puts_escaped(struct str *s, const char *text);

/*
 * Whether a CI service that reads a job's output takes what begins here for a command to itself,
 * wherever in a line it stands: ##[error] of GitHub and Azure, ##vso[, ##teamcity[.
 * Source: actions/runner, ActionCommand.TryParse. (Its ::error:: counts at the beginning of a line
 * only, where no foreign bytes may stand.)
 */
bool str_is_log_command(const char *bytes, size_t len);

/* How many bytes the UTF-8 sequence at `bytes` takes (1-4), 0 when it is not valid. Stores the code
 * point. */
size_t str_utf8_decode(const char *bytes, size_t len, uint32_t *code_point);

/* Appends a code point as UTF-8. */
void str_put_code_point(struct str *s, uint32_t code_point);

/* Interned strings: equal bytes get equal, dense ids, in order of their first coming. */
struct strtab {
	struct arena arena;
	VEC(struct strtab_entry {
		const char *bytes; /* NUL-terminated, may hold NULs before */
		uint32_t len;
		uint32_t next; /* id + 1 of the next one with this hash */
	})
	entries;
	struct map by_hash;
	uint64_t seed;
	size_t hashed; /* entries that are in by_hash */
};

uint32_t strtab_intern(struct strtab *table, const char *bytes, size_t len);
/* The id of a string that is there. False: it is not, and stays out. */
bool strtab_find(struct strtab *table, const char *bytes, size_t len, uint32_t *ret);
/*
 * The next id for a string that is not there, with a NUL behind, which stays where it is. It is not
 * hashed before another one is interned, and perhaps none is.
 */
uint32_t strtab_add(struct strtab *table, const char *bytes, size_t len);
/* Borrowed until strtab_deinit(). */
const char *strtab_get(const struct strtab *table, uint32_t id);
void strtab_deinit(struct strtab *table);

#endif
