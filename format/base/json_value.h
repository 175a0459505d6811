/*
 * JSON (RFC 8259) that is read whole: the files of container runtimes, and lists of labels. Such
 * files may hold anything: their depth is bounded, and their size is what the caller has read.
 */
#ifndef EBPROF_JSON_VALUE_H
#define EBPROF_JSON_VALUE_H

#include <stddef.h>

#include "format/base/err.h"
#include "format/base/mem.h"

enum json_kind {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json_value {
	enum json_kind kind;
	const char *key;  /* of a member of an object, else NULL */
	const char *text; /* of a number as it stands there, of a string as UTF-8; without NULs */
	const struct json_value *first; /* of an array, or an object's members */
	const struct json_value *next;  /* behind this one */
};

/* ERR_FORMAT says at which byte it is no JSON. What is returned belongs to the arena. */
struct err *json_value_parse(const char *text, size_t len, struct arena *arena,
	const struct json_value **ret) ERR_MUST_CHECK;

/* A member of an object; NULL: there is none, or it is no object. NULL may be asked, too. */
const struct json_value *json_value_member(const struct json_value *object, const char *key);
/* The text of a string; NULL: it is none. NULL may be asked, too. */
const char *json_value_text(const struct json_value *value);

#endif
