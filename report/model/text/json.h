/* JSON (RFC 8259) that is written as it comes: into a sink, tens of kilobytes at a time. */
#ifndef EBPROF_JSON_H
#define EBPROF_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "report/model/text/byte_sink.h"

/*
 * {.sink = ...} is ready to use. Commas come by themselves. After the sink has
 * failed nothing more is written: json_finish() tells, and long loops look at `err`.
 */
struct json {
	struct byte_sink sink;
	struct str out;
	struct err *err;
	bool needs_comma;
	bool begins_line; /* with the next value or key */
};

void json_object(struct json *json);
void json_object_end(struct json *json);
void json_array(struct json *json);
void json_array_end(struct json *json);
/* A member's name, which is our own and needs no escapes; its value is what is put next. */
void json_key(struct json *json, const char *key);
/* ... which is foreign. */
void json_foreign_key(struct json *json, const char *key);

void json_text(struct json *json, const char *text);
void json_number(struct json *json, uint64_t value);
/* As a string from 2^53 on, where readers that have but doubles (ECMA-262) would lose digits. */
void json_exact(struct json *json, uint64_t value);
/* value / 10^digits, without zeros at the end. */
void json_decimal(struct json *json, uint64_t value, unsigned digits);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
/* A value that is JSON already. */
void json_literal(struct json *json, const char *literal);

/* What comes next begins a line. */
void json_line(struct json *json);

/* Writes what waits. Returns the first error of the sink; the writer is gone then. */
struct err *json_finish(struct json *json) ERR_MUST_CHECK;

/* Members, each a key and its value. */
void json_put_array(struct json *json, const char *key);
void json_put_object(struct json *json, const char *key);
void json_put_text(struct json *json, const char *key, const char *text);
void json_put_number(struct json *json, const char *key, uint64_t value);
void json_put_exact(struct json *json, const char *key, uint64_t value);
void json_put_bool(struct json *json, const char *key, bool value);

/*
 * A string in quotes. Bytes that are no UTF-8 become U+FFFD, so that strict
 * readers go on; so there are no surrogates, paired or not.
 */
void json_quote(struct str *out, const char *text);

#endif
