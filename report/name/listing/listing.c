#include "report/name/listing/listing.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/path.h"

enum {
	MAX_SOURCES = 8,
};

/* ---- sources ---- */

struct candidate {
	const char *name;
	uint64_t self, total;
};

struct candidates {
	VEC(struct candidate) list;
};

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Lines of one file stand together. */
static void listing_find_candidates(const struct listing_request *request, struct candidates *ret)
{
	const struct profile_function *function =
		&request->functions[request->annotation->function];
	vec_each(&request->annotation->lines, line) {
		if (!line->file[0])
			continue;
		struct candidate *last = ret->list.len ? &ret->list.data[ret->list.len - 1] : NULL;
		if (!last || strcmp(last->name, line->file) != 0) {
			vec_push(&ret->list, (struct candidate){.name = line->file});
			last = &ret->list.data[ret->list.len - 1];
		}
		last->self += line->weight.self;
		last->total += line->weight.total;
	}
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare_candidates);
	else if (function->file)
		vec_push(&ret->list, (struct candidate){.name = function->file});
}

static const char newer_than_binary[] =
	"this file is newer than the binary: its lines may be others";
static const char newer_than_recording[] =
	"this file is newer than the recording: its lines may be others";

static void listing_read_sources(const struct listing_request *request, struct listing *listing)
{
	struct candidates candidates = {0};
	listing_find_candidates(request, &candidates);
	const struct layout_object *object = &request->objects[listing->identity.body_object].info;
	bool is_script = object->kind == LAYOUT_OBJECT_SCRIPT;
	uint64_t then_ns = is_script ? profile_wall_ns(request->profile, request->profile->first_ns)
				     : object->mtime_ns;
	for (size_t i = 0; i < candidates.list.len && i < MAX_SOURCES; i++) {
		struct listing_source source = {0};
		source_file_read(candidates.list.data[i].name, request->source_dirs,
			request->files->rules, &source.file);
		if (then_ns && source.file.path && source.file.mtime_ns > then_ns)
			source.newer = is_script ? newer_than_recording : newer_than_binary;
		vec_push(&listing->sources, source);
	}
	vec_deinit(&candidates.list);
}

static uint32_t find_source(const struct listing *listing, const char *name)
{
	for (uint32_t i = 0; name && i < listing->sources.len; i++)
		if (strcmp(listing->sources.data[i].file.name, name) == 0)
			return i + 1;
	return 0;
}

static void listing_extend(struct listing *listing, uint32_t source, uint32_t line)
{
	if (!source || !line)
		return;
	struct listing_source *it = &listing->sources.data[source - 1];
	if (!it->first || line < it->first)
		it->first = line;
	if (line > it->last)
		it->last = line;
}

static void find_extents(const struct listing_request *request, struct listing *listing)
{
	const struct profile_function *function =
		&request->functions[request->annotation->function];
	listing_extend(listing, find_source(listing, function->file), function->line);
	vec_each(&request->annotation->lines, line)
		listing_extend(listing, find_source(listing, line->file), line->line);
	for (size_t i = 0; i < listing->code.disassembly.list.len; i++)
		listing_extend(listing, listing->places[i].source, listing->places[i].line);
}

/* ---- code ---- */

static void listing_put_line(struct str *out, const char *file, uint32_t line)
{
	if (file)
		str_printf(out, "%s:%u", path_last_part(file), line);
}

/* Index plus 1. Without a file it is known by its text. `keys` has one for each, in their order. */
static uint32_t listing_inlined_of(struct listing *listing, struct strtab *keys,
	const struct function_code_place *place, size_t text)
{
	bool has_file = place->inlined_file && place->inlined_line;
	const char *file = has_file ? place->inlined_file : "";
	struct listing_inlined inlined = {file, has_file ? place->inlined_line : 0, text};
	CLEANUP(str_deinit) struct str key = {0};
	str_printf(&key, "%u %s", inlined.number,
		has_file ? file : listing->labels.data + inlined.text);
	uint32_t id = strtab_intern(keys, str_text(&key), key.len);
	if (id == listing->inlined.len)
		vec_push(&listing->inlined, inlined);
	return id + 1;
}

/* "main.c:12", "main.c:12 inlined: vector.h:90 push_back", "outside: main.c:3 main" */
static void listing_put_label(struct listing *listing, struct strtab *keys,
	struct listing_code *code, const struct function_code_place *place, enum demangle_mode mode)
{
	struct str *out = &listing->labels;
	size_t inlined = 0;
	code->is_elsewhere = true;
	code->label = out->len;
	listing_put_line(out, place->file, place->line);
	if (place->inlined || place->inlined_file) {
		str_puts(out, place->file ? " " : "");
		inlined = out->len;
		/* Where the function itself was inlined, its caller's code is around it. */
		str_puts(out, place->file || !listing->note.len ? "inlined: " : "outside: ");
		listing_put_line(out, place->inlined_file, place->inlined_line);
		str_puts(out, place->inlined && place->inlined_file ? " " : "");
		enum demangle_mode simple = mode == DEMANGLE_NONE ? mode : DEMANGLE_SIMPLIFIED;
		if (!place->inlined || !demangle(place->inlined, simple, out))
			str_puts(out, place->inlined ? place->inlined : "");
	}
	str_putc(out, '\0');
	if (inlined)
		code->inlined = listing_inlined_of(listing, keys, place, inlined);
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_place(const struct function_code_place *a, const struct function_code_place *b)
{
	return a->line == b->line && a->inlined_line == b->inlined_line &&
	       is_same_text(a->file, b->file) && is_same_text(a->inlined, b->inlined) &&
	       is_same_text(a->inlined_file, b->inlined_file);
}

static void place_code(const struct listing_request *request, struct listing *listing)
{
	const struct function_code_place *places = listing->code.places;
	size_t count = listing->code.disassembly.list.len;
	CLEANUP(strtab_deinit) struct strtab keys = {0};
	listing->places = mem_zalloc_array(count + 1, sizeof(*listing->places));
	str_putc(&listing->labels, '\0');
	for (size_t i = 0; i < count; i++) {
		struct listing_code *code = &listing->places[i];
		code->source = find_source(listing, places[i].file);
		code->line = places[i].line;
		if (i && is_same_place(&places[i - 1], &places[i])) {
			code->label = code[-1].label;
			code->inlined = code[-1].inlined;
		} else {
			listing_put_label(listing, &keys, code, &places[i], request->demangle);
		}
	}
}

static int compare_by_line(const void *a, const void *b, void *context)
{
	const struct listing_code *places = context;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	if (places[i].source != places[j].source)
		return places[i].source < places[j].source ? -1 : 1;
	if (places[i].line != places[j].line)
		return places[i].line < places[j].line ? -1 : 1;
	if (places[i].inlined != places[j].inlined)
		return places[i].inlined < places[j].inlined ? -1 : 1;
	return i < j ? -1 : i > j;
}

static void sort_code(struct listing *listing)
{
	size_t count = listing->code.disassembly.list.len;
	listing->by_line = mem_zalloc_array(count + 1, sizeof(*listing->by_line));
	for (uint32_t i = 0; i < count; i++)
		listing->by_line[i] = i;
	qsort_r(listing->by_line, count, sizeof(*listing->by_line), compare_by_line,
		listing->places);
}

static void listing_read_code(const struct listing_request *request,
	const struct annotation_place *hottest, struct listing *listing)
{
	bool is_inlined = hottest->body != request->annotation->function;
	struct function_code_request code = {
		.profile = request->profile,
		.object = &request->objects[hottest->object],
		.object_index = hottest->object,
		.offset = hottest->offset,
		.function = request->functions[request->annotation->function].system_name,
		.is_inlined = is_inlined,
		.files = request->files,
		.is_intel = request->is_intel,
		.demangle = request->demangle,
		.is_cancelled = request->is_cancelled,
	};
	function_code_read(&code, &listing->code);
	if (is_inlined && listing->code.disassembly.list.len)
		str_printf(&listing->note, "inlined: the assembly is that of %s",
			request->functions[hottest->body].name);
}

/* ---- a listing ---- */

/* Of all files that it has lines of, not only those of the samples in view: they come in one order.
 */
static uint64_t hash_files(const struct listing_request *request)
{
	const struct profile_function *function =
		&request->functions[request->annotation->function];
	const char *last = "";
	uint64_t hash =
		function->file ? map_hash_bytes(function->file, strlen(function->file), 0) : 0;
	vec_each(&request->annotation->lines, line) {
		if (strcmp(line->file, last) != 0)
			hash = map_hash_bytes(line->file, strlen(line->file), hash);
		last = line->file;
	}
	return hash;
}

struct listing_identity listing_identity_of(const struct listing_request *request)
{
	const struct annotation_place *hottest = annotation_hottest(request->annotation);
	const struct profile_function *function =
		&request->functions[request->annotation->function];
	const struct profile_function *body =
		hottest ? &request->functions[hottest->body] : function;
	return (struct listing_identity){
		.function = function->system_name,
		.body = body->system_name,
		.function_object = function->object,
		.body_object = body->object,
		.files = hash_files(request),
		.is_intel = request->is_intel,
	};
}

bool listing_identity_is_equal(const struct listing_identity *a, const struct listing_identity *b)
{
	return a->function_object == b->function_object && a->body_object == b->body_object &&
	       a->files == b->files && a->is_intel == b->is_intel &&
	       strcmp(a->function, b->function) == 0 && strcmp(a->body, b->body) == 0;
}

struct listing *listing_create(const struct listing_request *request)
{
	const struct annotation_place *hottest = annotation_hottest(request->annotation);
	struct listing *listing = mem_zalloc(sizeof(*listing));
	listing->references = 1;
	listing->identity = listing_identity_of(request);
	listing->identity.function = mem_strdup(listing->identity.function);
	listing->identity.body = mem_strdup(listing->identity.body);
	if (hottest)
		listing_read_code(request, hottest, listing);
	listing_read_sources(request, listing);
	place_code(request, listing);
	sort_code(listing);
	find_extents(request, listing);
	if (!request->is_cancelled || !atomic_load(request->is_cancelled))
		return listing;
	listing_release(listing);
	return NULL;
}

struct listing *listing_hold(struct listing *listing)
{
	atomic_fetch_add(&listing->references, 1);
	return listing;
}

void listing_release(struct listing *listing)
{
	if (!listing || atomic_fetch_sub(&listing->references, 1) > 1)
		return;
	mem_free((void *)listing->identity.function);
	mem_free((void *)listing->identity.body);
	vec_each(&listing->sources, source)
		source_file_deinit(&source->file);
	vec_deinit(&listing->sources);
	function_code_deinit(&listing->code);
	mem_free(listing->places);
	mem_free(listing->by_line);
	vec_deinit(&listing->inlined);
	str_deinit(&listing->labels);
	str_deinit(&listing->note);
	mem_free(listing);
}
