#include "report/analyse/own_code.h"

#include <string.h>

#include "format/base/mem.h"

/* Where packages put programs: interpreters among them, and runtimes. */
static bool is_of_package(const char *path)
{
	static const char *const folders[] = {
		"/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/libexec/", "/usr/share/"};
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0)
			return true;
	return frame_kind_is_shared_folder(path);
}

bool own_code_is_of_header(const struct profile_function *function)
{
	static const char *const folders[] = {"/usr/include/", "/usr/local/include/"};
	for (size_t i = 0; function->file && i < sizeof(folders) / sizeof(*folders); i++)
		if (strncmp(function->file, folders[i], strlen(folders[i])) == 0)
			return true;
	/* A compiler's own: /usr/lib/gcc/x86_64-linux-gnu/12/include/immintrin.h */
	return function->file && frame_kind_is_shared_folder(function->file);
}

bool own_code_has(const struct profile_function *function, const struct profile_object *object)
{
	enum frame_kind kind = frame_kind_of_function(function, object);
	if (!function->object)
		return false;
	return frame_kind_is_script(kind) ||
	       (kind == FRAME_PROGRAM && object->path && !is_of_package(object->path) &&
		       !own_code_is_of_header(function));
}

/* The function that the self of a node counts for; 0: none. */
struct node_owner {
	uint32_t function;
	bool is_script;
};

static struct node_owner owner_of_node(const struct own_code_request *request,
	const struct tree_node *node, struct node_owner caller, const bool *is_own)
{
	const struct profile_frame *frame = &request->frames[node->frame];
	uint32_t object = request->functions[node->function].object;
	if (node->is_kernel || !object || profile_object_is_kernel(&request->objects[object]))
		return (struct node_owner){0};
	if (profile_frame_is_script(frame, request->objects))
		return (struct node_owner){node->function, true};
	if (!is_own[node->function] || caller.is_script)
		return caller;
	return (struct node_owner){node->function, false};
}

uint64_t *own_code_weigh(const struct own_code_request *request)
{
	const struct tree *tree = request->tree;
	uint64_t *times = mem_zalloc_array(request->nr_functions, sizeof(*times));
	CLEANUP_FREE bool *is_own = mem_zalloc_array(request->nr_functions, sizeof(*is_own));
	CLEANUP_FREE struct node_owner *owners = mem_zalloc_array(tree->nodes.len, sizeof(*owners));
	for (size_t i = 1; i < request->nr_functions; i++) {
		const struct profile_function *function = &request->functions[i];
		is_own[i] = own_code_has(function, &request->objects[function->object]);
	}
	for (size_t i = 1; i < tree->nodes.len; i++) {
		const struct tree_node *node = &tree->nodes.data[i];
		owners[i] = owner_of_node(request, node, owners[node->parent], is_own);
		if (owners[i].function)
			times[owners[i].function] += request->weights[i].self;
	}
	return times;
}
