/*
 * One function as text: its source lines and its instructions, which are the same for all
 * samples; and rows of them with the weights of an annotation.
 */
#ifndef EBPROF_LISTING_H
#define EBPROF_LISTING_H

#include "report/name/listing/annotation.h"
#include "report/name/listing/function_code.h"
#include "report/name/listing/source_file.h"

struct listing_source {
	struct source_file file;
	uint32_t first, last; /* lines of the function; 0: none is known */
	const char *newer;    /* a note, where it is newer than what was recorded; or NULL */
};

struct listing_code {
	uint32_t source; /* index of sources plus 1; 0: no line of the function */
	uint32_t line;
	uint32_t inlined;  /* index of inlined plus 1; 0: the function's own */
	bool is_elsewhere; /* than the instruction before */
	size_t label;      /* in `labels`: where this is */
};

/* A line of inlined code, each once. */
struct listing_inlined {
	const char *file; /* borrowed of code; "": unknown, and number is 0 */
	uint32_t number;
	size_t text; /* in `labels`: "inlined: vector.h:90 push_back" */
};

/* What a listing depends on. */
struct listing_identity {
	const char *function, *body; /* system names; `body` is compiled code that holds it */
	uint32_t function_object, body_object;
	uint64_t files; /* a hash of their names */
	bool is_intel;
};

struct listing {
	atomic_uint references;
	struct listing_identity identity;   /* its texts are owned */
	VEC(struct listing_source) sources; /* of most time first */
	struct function_code code;
	struct listing_code *places; /* for each instruction */
	VEC(struct listing_inlined) inlined;
	uint32_t *by_line; /* instructions by source, line, inlined and address */
	struct str labels; /* begins with a NUL */
	struct str note;   /* a sentence on the code; "" */
};

/* Frames, functions and objects as they are called now. */
struct listing_request {
	const struct profile *profile; /* its meta and clock are read */
	const struct profile_function *functions;
	const struct profile_object *objects;
	const struct annotation *annotation;
	const struct symbol_file_options *files;
	const struct debug_dirs *source_dirs; /* may be NULL */
	enum demangle_mode demangle;
	bool is_intel;
	const atomic_bool *is_cancelled; /* may be NULL */
};

/* Reads files and runs objdump: may take seconds. NULL when it was cancelled. */
struct listing *listing_create(const struct listing_request *request);
/* Of what the request would make; borrows from it. */
struct listing_identity listing_identity_of(const struct listing_request *request);
bool listing_identity_is_equal(const struct listing_identity *a, const struct listing_identity *b);
struct listing *listing_hold(struct listing *listing);
/* NULL is safe. */
void listing_release(struct listing *listing);

/* ---- rows ---- */

enum listing_layout {
	LISTING_LAYOUT_SOURCE, /* lines; instructions below those that are opened */
	LISTING_LAYOUT_CODE,   /* instructions, with a row wherever the line changes */
	LISTING_LAYOUT_BOTH,   /* all lines opened */
	LISTING_LAYOUTS,
};

enum listing_row_kind {
	LISTING_ROW_NOTE,
	LISTING_ROW_FILE,
	LISTING_ROW_SOURCE,
	LISTING_ROW_LABEL, /* of the instructions below */
	LISTING_ROW_CODE,
	LISTING_ROW_INLINED, /* below a line: a line of what was inlined there */
};

struct listing_row {
	enum listing_row_kind kind;
	uint32_t source, line; /* index of sources */
	size_t instruction;
	uint64_t address;     /* of what was inlined, the number of its own line */
	bool has_code;        /* of a line, and of what was inlined there */
	bool is_from_inlined; /* of an instruction */
	const char *text;     /* borrowed; holds anything but NULs */
	struct annotation_weight weight;
};

struct listing_line {
	uint32_t source, line;
};

struct listing_view {
	enum listing_layout layout;
	bool is_whole; /* all of the first file, else the function */
	const struct listing_line *opened;
	size_t nr_opened;
};

struct listing_rows {
	struct listing_row *data;
	size_t len, cap;
};

/* What the rows hold is borrowed of both. `ret` is emptied first. */
void listing_put_rows(const struct listing *listing, const struct annotation *annotation,
	const struct listing_view *view, struct listing_rows *ret);

/* Some layouts have nothing to show. */
bool listing_has(const struct listing *listing, enum listing_layout layout);
/* Source where there is its text, else instructions. */
enum listing_layout listing_usual_layout(const struct listing *listing);

/* A large part of what ran in the function's code; where nothing did, of its total. */
bool listing_row_is_hot(const struct listing_row *row, const struct annotation *annotation);
/* The row of most time; 0 when there is none. */
size_t listing_hottest(const struct listing_rows *rows);

/* Rows as text, weights as percent of the function's total. Foreign bytes are escaped. */
void listing_put_text(
	const struct listing_rows *rows, const struct annotation *annotation, struct str *out);

#endif
