#include "report/analyse/frame_kind.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/path.h"

const struct frame_kind_row frame_kinds[FRAME_KINDS_END] = {
#define X(constant, word, text, object, colour, paler, poor) \
	[constant] = {word, text, object, colour, paler},
	FRAME_KINDS(X)
#undef X
};

bool frame_kind_is_shared_folder(const char *path)
{
	static const char *const folders[] = {"/lib/", "/lib32/", "/lib64/", "/libx32/",
		"/usr/lib/", "/usr/lib32/", "/usr/lib64/", "/usr/local/lib/", "/usr/local/lib64/",
		"/nix/store/", "/gnu/store/", "/snap/"};
	static const char *const parts[] = {"/site-packages/", "/dist-packages/", "/node_modules/"};
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(path, parts[i]))
			return true;
	return false;
}

/* "libc.so.6", "_ssl.cpython-311-x86_64-linux-gnu.so" */
static bool has_library_name(const char *name)
{
	const char *suffix = strstr(name, ".so");
	return suffix && (!suffix[3] || suffix[3] == '.');
}

static bool is_library(const struct profile_object *object)
{
	return object->info.kind == LAYOUT_OBJECT_VDSO ||
	       (object->path && has_library_name(path_last_part(object->name)) &&
		       frame_kind_is_shared_folder(object->path));
}

static enum frame_kind frame_kind_of_named(const struct profile_object *object)
{
	for (int kind = 0; object->name[0] == '[' && kind < FRAME_KINDS_END; kind++)
		if (frame_kinds[kind].object && strcmp(frame_kinds[kind].object, object->name) == 0)
			return (enum frame_kind)kind;
	if (object->info.kind == LAYOUT_OBJECT_SCRIPT)
		return FRAME_SCRIPT;
	return is_library(object) ? FRAME_LIBRARY : FRAME_PROGRAM;
}

/* Why a thread waited stands below the kernel's frames, and is no time that the kernel took. */
static enum frame_kind frame_kind_in_kernel(const struct profile_object *object)
{
	return strcmp(object->name, PROFILE_WAITS) == 0 ? FRAME_WAIT : FRAME_KERNEL;
}

enum frame_kind frame_kind_of_function(
	const struct profile_function *function, const struct profile_object *object)
{
	if (profile_object_is_kernel(object))
		return frame_kind_in_kernel(object);
	return function->is_known ? frame_kind_of_named(object) : FRAME_UNNAMED;
}

uint8_t *frame_kinds_of_functions(const struct profile_function *functions, size_t nr_functions,
	const struct profile_object *objects, size_t nr_objects)
{
	static const struct profile_function named = {.is_known = true}, unnamed = {0};
	uint8_t *kinds = mem_zalloc_array(nr_functions, sizeof(*kinds));
	struct {
		uint8_t named, unnamed;
	} *of_object = mem_zalloc_array(nr_objects, sizeof(*of_object));
	/* Names of objects and paths are looked at once, not for each function. */
	for (size_t i = 0; i < nr_objects; i++) {
		of_object[i].named = (uint8_t)frame_kind_of_function(&named, &objects[i]);
		of_object[i].unnamed = (uint8_t)frame_kind_of_function(&unnamed, &objects[i]);
	}
	for (size_t i = 1; i < nr_functions; i++) {
		uint32_t object = functions[i].object;
		kinds[i] =
			functions[i].is_known ? of_object[object].named : of_object[object].unnamed;
	}
	mem_free(of_object);
	return kinds;
}

enum frame_kind frame_kind_of_node(
	const struct focus *focus, const struct profile_object *objects, uint32_t node)
{
	const struct focus_node *it = &focus->nodes.data[node];
	const struct profile_function *function = &focus->functions[it->function];
	if (it->is_kernel)
		return frame_kind_in_kernel(&objects[function->object]);
	return it->function ? frame_kind_of_function(function, &objects[function->object])
			    : FRAME_UNNAMED;
}

unsigned frame_kind_distance(enum frame_kind kind)
{
	if (kind == FRAME_KERNEL || kind == FRAME_WAIT)
		return 2;
	return kind == FRAME_LIBRARY || kind == FRAME_UNNAMED;
}

bool frame_kind_is_script(enum frame_kind kind)
{
	return kind >= FRAME_PYTHON && kind <= FRAME_SCRIPT;
}

uint32_t frame_kind_rgb(int colour)
{
	enum {
		CUBE = 16, /* of 6 steps for each of three */
		GREYS = 232,
		STEPS = 6,
	};
	static const uint32_t steps[STEPS] = {0, 95, 135, 175, 215, 255};
	if (colour >= GREYS)
		return 0x010101u * (uint32_t)(8 + 10 * (colour - GREYS));
	int at = colour - CUBE;
	return steps[at / (STEPS * STEPS) % STEPS] << 16 | steps[at / STEPS % STEPS] << 8 |
	       steps[at % STEPS];
}
