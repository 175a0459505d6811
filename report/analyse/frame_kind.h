/*
 * What a frame is, and its colour: one table for the terminal, pictures and pages. The kernel, each
 * language and code without a name have a colour of their own; compiled code is the program's or a
 * library's. What was inlined is paler than what it was inlined into.
 *
 * Colours are numbers of xterm's 256, so that all three show the same ones; the eight of simple
 * terminals have no red here, which means that something is wrong. All carry a dark ink, and those
 * with red-green blindness can tell them apart (a test computes both).
 */
#ifndef EBPROF_FRAME_KIND_H
#define EBPROF_FRAME_KIND_H

#include "report/analyse/focus.h"

/*
 * X(constant, word, text, object, colour, paler, poor): `word` names the kind in style sheets,
 * `text` in legends; `object`: the name of the object that has such frames, NULL: that is not told
 * by its name; `poor`: of eight colours, the number that ECMA-48 gives it.
 */
#define FRAME_KINDS(X) \
	X(FRAME_PROGRAM, "program", "program", NULL, 215, 223, 3) \
	X(FRAME_LIBRARY, "library", "library", NULL, 117, 189, 6) \
	X(FRAME_KERNEL, "kernel", "kernel", NULL, 139, 182, 5) \
	X(FRAME_WAIT, "wait", "waiting", PROFILE_WAITS, 146, 189, 7) \
	X(FRAME_UNNAMED, "unnamed", "no name", NULL, 251, 254, 7) \
	X(FRAME_PYTHON, "python", "Python", "[python]", 227, 229, 2) \
	X(FRAME_JAVASCRIPT, "javascript", "JavaScript", "[javascript]", 148, 192, 2) \
	X(FRAME_JAVA, "java", "Java", "[java]", 49, 122, 2) \
	X(FRAME_DOTNET, "dotnet", ".NET", "[dotnet]", 104, 147, 2) \
	X(FRAME_RUBY, "ruby", "Ruby", "[ruby]", 204, 218, 2) \
	X(FRAME_PHP, "php", "PHP", "[php]", 141, 183, 2) \
	X(FRAME_PERL, "perl", "Perl", "[perl]", 123, 195, 2) \
	X(FRAME_LUA, "lua", "Lua", "[lua]", 34, 120, 2) \
	X(FRAME_ERLANG, "erlang", "Erlang", "[erlang]", 173, 216, 2) \
	X(FRAME_SCRIPT, "script", "other scripts", NULL, 78, 158, 2)

enum frame_kind {
#define X(constant, ...) constant,
	FRAME_KINDS(X)
#undef X
	FRAME_KINDS_END,
};

struct frame_kind_row {
	const char *word, *text, *object;
	int colour, paler;
};

extern const struct frame_kind_row frame_kinds[FRAME_KINDS_END];

/* Of all frames of a function. */
enum frame_kind frame_kind_of_function(
	const struct profile_function *function, const struct profile_object *object);
/* The same of many: of each function its kind, to be freed with mem_free(). */
uint8_t *frame_kinds_of_functions(const struct profile_function *functions, size_t nr_functions,
	const struct profile_object *objects, size_t nr_objects);
/* Of a node of a focus, whose functions the objects are of. */
enum frame_kind frame_kind_of_node(
	const struct focus *focus, const struct profile_object *objects, uint32_t node);
/* 0: the program's own code, scripts too; 1: libraries, and code without a name; 2: the kernel. */
unsigned frame_kind_distance(enum frame_kind kind);
/* An interpreter runs it, or a runtime has compiled it. */
bool frame_kind_is_script(enum frame_kind kind);
/* Whether a path is where distributions and package managers put libraries, with what those keep
 * beside them; a program's own lie beside it. */
bool frame_kind_is_shared_folder(const char *path);
/* 0xRRGGBB of one of xterm's 256 colours, from 16 on: those before are what the user set. */
uint32_t frame_kind_rgb(int colour);

#endif
