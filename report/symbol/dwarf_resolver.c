#include "report/symbol/dwarf_resolver.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/base/str.h"
#include "format/dwarf/dwarf_line_machine.h"
#include "format/dwarf/dwarf_map.h"
#include "format/dwarf/dwarf_names.h"
#include "format/dwarf/dwarf_sections.h"
#include "format/dwarf/dwarf_walk.h"
#include "report/symbol/dwarf_companion.h"
#include "report/symbol/line_sections.h"

enum {
	THREADS_MAX = 64,
	INLINE_DEPTH_MAX = 256,
	FILE_NUMBER_MAX = 1 << 20,
	FORGOTTEN_BYTES = 256 << 10,
	SPLIT_BYTES = 64 << 10,
};

/* The addresses of one unit: a run of resolver->order. */
struct job {
	uint32_t unit;
	size_t first, count;
	uint64_t bytes;
};

/* What is known of a function; indices of strings, plus 1, 0 for none. */
struct function {
	uint32_t name, decl_file, decl_line;
};

/* What a node of the walk turned out to be, once a chain needed it. */
struct place {
	uint32_t function; /* index plus 1; 0: not read yet */
	uint32_t call_file, call_line, call_column;
	bool is_inlined;
};

struct worker {
	struct dwarf_resolver *resolver;
	pthread_t thread;
	struct dwarf_reader own_reader;   /* of the file */
	struct dwarf_reader split_reader; /* of a .dwo, while a job reads it */
	struct dwarf_reader *reader;      /* the one of both that the job at hand uses */
	struct dwarf_walk walk;
	struct arena frames;
	struct strtab strings;
	VEC(struct function) functions;
	struct map by_die; /* where its DIE is in memory -> index of function plus 1 */

	/* Of the job at hand. */
	struct dwarf_unit *unit;
	struct map paths; /* line header and file number -> string plus 1 */
	VEC(struct place) places;
	VEC(uint64_t) addresses;
	VEC(uint32_t) nodes;
	VEC(struct dwarf_row) rows;
	VEC(struct chain_frame) chain;
};

struct dwarf_resolver {
	struct dwarf_sections sections;
	struct dwarf_companion alt, package;
	struct dwarf_places places;  /* path NULL: no companions */
	struct line_sections *lines; /* not NULL: all that there is */
	atomic_bool lacks_parts;
	unsigned nr_threads;
	struct worker *workers;

	/* Of the run at hand. */
	const uint64_t *addresses;
	struct chain *chains;
	VEC(uint32_t) order; /* indices of addresses, those of a unit together, ascending */
	VEC(struct job) jobs;
	atomic_size_t next_job;
};

/* ---- threads ---- */

/* Runs `work` on every worker, on threads of their own where they can be had. */
static void run_workers(struct dwarf_resolver *resolver, size_t nr_jobs, void *(*work)(void *))
{
	atomic_store(&resolver->next_job, 0);
	size_t wanted = nr_jobs < resolver->nr_threads ? nr_jobs : resolver->nr_threads,
	       running = 1;
	while (running < wanted && !pthread_create(&resolver->workers[running].thread, NULL, work,
					   &resolver->workers[running]))
		running++;
	work(&resolver->workers[0]);
	while (running-- > 1)
		pthread_join(resolver->workers[running].thread, NULL);
}

static void *unpack_sections(void *context)
{
	struct worker *worker = context;
	for (size_t id;
		(id = atomic_fetch_add(&worker->resolver->next_job, 1)) < DWARF_SECTION_COUNT;)
		dwarf_sections_unpack(&worker->resolver->sections, (enum dwarf_section_id)id);
	return NULL;
}

static unsigned count_cpus(void)
{
	cpu_set_t set;
	int count = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);
	return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : (unsigned)count;
}

static void open_companions(
	struct dwarf_resolver *resolver, const struct dwarf_resolver_options *options)
{
	resolver->places = (struct dwarf_places){
		.path = options->path,
		.root = options->root ? options->root : "",
		.alt_path = options->alt_path,
	};
	bool lacks_alt = !dwarf_companion_open_alt(
		&resolver->alt, resolver->sections.elf, &resolver->places);
	atomic_store(&resolver->lacks_parts, lacks_alt);
	if (resolver->alt.is_open)
		resolver->sections.file.alt = &resolver->alt.sections.file;
	dwarf_companion_open_package(&resolver->package, &resolver->places);
}

struct dwarf_resolver *dwarf_resolver_create(
	struct elf_file *elf, const struct dwarf_resolver_options *options)
{
	struct dwarf_sections sections;
	if (!elf && options->lines) {
		struct dwarf_resolver *by_lines = mem_zalloc(sizeof(*by_lines));
		by_lines->lines = options->lines;
		return by_lines;
	}
	if (!elf || !dwarf_sections_open(elf, false, &sections))
		return NULL;
	struct dwarf_resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->sections = sections;
	resolver->nr_threads = options->nr_threads ? options->nr_threads : count_cpus();
	if (resolver->nr_threads > THREADS_MAX)
		resolver->nr_threads = THREADS_MAX;
	resolver->workers = mem_zalloc_array(resolver->nr_threads, sizeof(*resolver->workers));
	for (unsigned i = 0; i < resolver->nr_threads; i++) {
		resolver->workers[i].resolver = resolver;
		dwarf_reader_init(&resolver->workers[i].own_reader, &resolver->sections.file);
	}
	run_workers(resolver, DWARF_SECTION_COUNT, unpack_sections);
	dwarf_file_read_units(&resolver->sections.file);
	if (options->path)
		open_companions(resolver, options);
	return resolver;
}

static void worker_deinit(struct worker *worker)
{
	dwarf_reader_deinit(&worker->own_reader);
	dwarf_walk_deinit(&worker->walk);
	arena_deinit(&worker->frames);
	strtab_deinit(&worker->strings);
	vec_deinit(&worker->functions);
	map_deinit(&worker->by_die);
	map_deinit(&worker->paths);
	vec_deinit(&worker->places);
	vec_deinit(&worker->addresses);
	vec_deinit(&worker->nodes);
	vec_deinit(&worker->rows);
	vec_deinit(&worker->chain);
}

void dwarf_resolver_destroy(struct dwarf_resolver *resolver)
{
	if (!resolver)
		return;
	for (unsigned i = 0; i < resolver->nr_threads; i++)
		worker_deinit(&resolver->workers[i]);
	mem_free(resolver->workers);
	vec_deinit(&resolver->order);
	vec_deinit(&resolver->jobs);
	dwarf_companion_close(&resolver->alt);
	dwarf_companion_close(&resolver->package);
	dwarf_sections_deinit(&resolver->sections);
	mem_free(resolver);
}

/* ---- names and files ---- */

static uint32_t path_of(struct worker *worker, const struct dwarf_unit *unit, uint64_t number)
{
	/* The unit is the reader's own, so its line header may be filled in. */
	const struct dwarf_line_header *lines = dwarf_unit_lines((struct dwarf_unit *)unit);
	if (!lines || number >= FILE_NUMBER_MAX)
		return 0;
	/* A header is aligned to 16 bytes: its address leaves room for the number. */
	uint64_t key = (uint64_t)(uintptr_t)lines << 16 | number;
	bool added;
	uint64_t *slot = map_put(&worker->paths, key, &added);
	if (added) {
		CLEANUP(str_deinit) struct str path = {0};
		*slot = dwarf_line_put_path(lines, unit->comp_dir, number, &path)
				? strtab_intern(&worker->strings, str_text(&path), path.len) + 1
				: 0;
	}
	return (uint32_t)*slot;
}

static uint32_t narrow(uint64_t value)
{
	return value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* The index of the function whose DIE this is, plus 1. */
static uint32_t function_of(struct worker *worker, struct dwarf_die die)
{
	const uint8_t *where = die.unit->file->sections[DWARF_INFO].data + die.offset;
	bool added;
	uint64_t *slot = map_put(&worker->by_die, (uint64_t)(uintptr_t)where, &added);
	if (!added)
		return (uint32_t)*slot;
	struct dwarf_function told;
	dwarf_read_function(worker->reader, die, &told);
	struct function function = {.decl_line = narrow(told.decl_line)};
	if (told.name.len)
		function.name = strtab_intern(&worker->strings, (const char *)told.name.data,
					(size_t)told.name.len) +
				1;
	if (told.unit)
		function.decl_file = path_of(worker, told.unit, told.decl_file);
	vec_push(&worker->functions, function);
	*slot = worker->functions.len;
	return (uint32_t)*slot;
}

static const struct place *place_of(
	struct worker *worker, const struct dwarf_unit *unit, uint32_t index)
{
	struct place *place = &worker->places.data[index];
	if (place->function)
		return place;
	const struct dwarf_node *node = &worker->walk.nodes.data[index];
	struct dwarf_die die = {unit, node->die};
	if (node->parent) {
		struct dwarf_call call;
		dwarf_read_call(worker->reader, die, &call);
		place->is_inlined = true;
		place->call_line = narrow(call.line);
		place->call_column = narrow(call.column);
		place->call_file = call.has_file ? path_of(worker, unit, call.file) : 0;
		die = call.function;
	}
	place->function = function_of(worker, die);
	return place;
}

static const char *string_of(const struct worker *worker, uint32_t index)
{
	return index ? strtab_get(&worker->strings, index - 1) : NULL;
}

/* ---- chains ---- */

static void put_functions(
	struct worker *worker, const struct dwarf_unit *unit, uint32_t node, struct chain_frame at)
{
	for (; node && worker->chain.len < INLINE_DEPTH_MAX;
		node = worker->walk.nodes.data[node].parent) {
		const struct place *place = place_of(worker, unit, node);
		const struct function *function = &worker->functions.data[place->function - 1];
		at.function = string_of(worker, function->name);
		at.decl_file = string_of(worker, function->decl_file);
		at.decl_line = function->decl_line;
		at.is_inlined = place->is_inlined;
		vec_push(&worker->chain, at);
		at.file = string_of(worker, place->call_file);
		at.line = place->call_line;
		at.column = place->call_column;
	}
}

static struct chain build_chain(struct worker *worker, const struct dwarf_unit *unit, uint32_t node,
	const struct dwarf_row *row)
{
	struct chain_frame at = {0};
	if (row->is_known) {
		at.file = string_of(worker, path_of(worker, unit, row->file));
		at.line = row->line;
		at.column = row->column;
	}
	worker->chain.len = 0;
	put_functions(worker, unit, node, at);
	if (!node && row->is_known)
		vec_push(&worker->chain, at);
	if (!worker->chain.len)
		return (struct chain){0};
	size_t bytes = worker->chain.len * sizeof(*worker->chain.data);
	struct chain_frame *frames = arena_alloc(&worker->frames, bytes);
	memcpy(frames, worker->chain.data, bytes);
	return (struct chain){frames, (uint32_t)worker->chain.len};
}

static void *run_lines(void *context)
{
	struct worker *worker = context;
	const struct dwarf_unit *unit = worker->unit;
	dwarf_line_run(unit->lines, unit->line_file, worker->addresses.data, worker->addresses.len,
		worker->rows.data);
	return NULL;
}

static void run_walk(struct worker *worker)
{
	dwarf_walk_unit(&worker->walk, worker->unit, worker->addresses.data, worker->addresses.len,
		worker->nodes.data);
}

/*
 * DIEs and lines have nothing to do with each other before chains are built. When there are no
 * other jobs for the threads that are there they are read side by side: what was linked
 * as a whole (LTO) may be a single unit.
 */
static void read_unit(struct worker *worker, const struct job *job)
{
	struct dwarf_resolver *resolver = worker->resolver;
	pthread_t thread;
	bool is_split = resolver->nr_threads > 1 && job->bytes >= SPLIT_BYTES &&
			atomic_load(&resolver->next_job) >= resolver->jobs.len;
	if (!dwarf_unit_lines(worker->unit)) {
		run_walk(worker);
	} else if (is_split && !pthread_create(&thread, NULL, run_lines, worker)) {
		run_walk(worker);
		pthread_join(thread, NULL);
	} else {
		run_walk(worker);
		run_lines(worker);
	}
}

static void resolve_unit(struct worker *worker, struct dwarf_unit *unit, const struct job *job)
{
	struct dwarf_resolver *resolver = worker->resolver;
	const uint32_t *order = resolver->order.data + job->first;
	worker->unit = unit;
	worker->addresses.len = 0;
	for (size_t i = 0; i < job->count; i++)
		vec_push(&worker->addresses, resolver->addresses[order[i]]);
	vec_resize(&worker->nodes, job->count);
	worker->rows.len = 0;
	vec_resize(&worker->rows, job->count);
	worker->walk.nodes.len = 0;
	read_unit(worker, job);
	worker->places.len = 0;
	vec_resize(&worker->places, worker->walk.nodes.len);
	for (size_t i = 0; i < job->count; i++)
		resolver->chains[order[i]] =
			build_chain(worker, unit, worker->nodes.data[i], &worker->rows.data[i]);
}

/*
 * A skeleton's functions stand in a .dwo or in the package. It is open for this job
 * alone, so nothing may be remembered by where it was in memory.
 */
static bool resolve_split(struct worker *worker, struct dwarf_unit *skeleton, const struct job *job)
{
	struct dwarf_resolver *resolver = worker->resolver;
	struct dwarf_companion companion = {0};
	struct dwarf_file slice = {0};
	const struct dwarf_file *file = &slice;
	if (!resolver->package.is_open ||
		!dwarf_split_take(&resolver->package.sections.file, skeleton->dwo_id, &slice)) {
		dwarf_companion_open_dwo(&companion, skeleton, &resolver->places);
		file = &companion.sections.file;
	}
	struct dwarf_reader *reader = &worker->split_reader;
	dwarf_reader_init(reader, file);
	struct dwarf_unit *unit = dwarf_split_unit(reader, skeleton);
	if (unit) {
		worker->reader = reader;
		resolve_unit(worker, unit, job);
		map_clear(&worker->by_die);
		worker->reader = &worker->own_reader;
	} else {
		atomic_store(&resolver->lacks_parts, true);
	}
	dwarf_reader_deinit(reader);
	dwarf_file_deinit(&slice);
	dwarf_companion_close(&companion);
	return unit;
}

static void *run_jobs(void *context)
{
	struct worker *worker = context;
	struct dwarf_resolver *resolver = worker->resolver;
	for (size_t i; (i = atomic_fetch_add(&resolver->next_job, 1)) < resolver->jobs.len;) {
		const struct job *job = &resolver->jobs.data[i];
		struct dwarf_unit *unit =
			dwarf_reader_unit(&worker->own_reader, &resolver->sections.file, job->unit);
		if (!unit)
			continue;
		if (!unit->dwo_name.len || !resolver->places.path ||
			!resolve_split(worker, unit, job)) {
			worker->reader = &worker->own_reader;
			resolve_unit(worker, unit, job);
		}
		/* Many small ones would cost more than they take. */
		if (job->bytes >= FORGOTTEN_BYTES)
			elf_map_forget(&resolver->sections.maps[DWARF_INFO], unit->header.offset,
				job->bytes);
		map_clear(&worker->paths);
		dwarf_reader_trim(&worker->own_reader);
	}
	return NULL;
}

/* ---- jobs ---- */

static int compare_by_unit(const void *a, const void *b, void *context)
{
	const uint32_t *units = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	if (units[x] != units[y])
		return units[x] < units[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int compare_by_size(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void make_jobs(struct dwarf_resolver *resolver, uint32_t *units, size_t count)
{
	const struct dwarf_file *file = &resolver->sections.file;
	resolver->order.len = resolver->jobs.len = 0;
	for (size_t i = 0; i < count; i++)
		if (units[i] != DWARF_NO_UNIT)
			vec_push(&resolver->order, (uint32_t)i);
	if (!resolver->order.len)
		return;
	qsort_r(resolver->order.data, resolver->order.len, sizeof(*resolver->order.data),
		compare_by_unit, units);
	for (size_t i = 0; i < resolver->order.len; i++) {
		uint32_t unit = units[resolver->order.data[i]];
		if (!i || unit != units[resolver->order.data[i - 1]]) {
			const struct dwarf_unit_header *header = &file->units.data[unit];
			vec_push(&resolver->jobs, (struct job){.unit = unit,
							  .first = i,
							  .bytes = header->end - header->offset});
		}
		resolver->jobs.data[resolver->jobs.len - 1].count++;
	}
	qsort(resolver->jobs.data, resolver->jobs.len, sizeof(*resolver->jobs.data),
		compare_by_size);
}

void dwarf_resolver_run(struct dwarf_resolver *resolver, const uint64_t *addresses, size_t count,
	struct chain *chains)
{
	memset(chains, 0, count * sizeof(*chains));
	if (!count || count > UINT32_MAX)
		return;
	if (resolver->lines) {
		line_sections_run(resolver->lines, addresses, count, chains);
		return;
	}
	CLEANUP_FREE uint32_t *units = mem_zalloc_array(count, sizeof(*units));
	dwarf_map_addresses(&resolver->workers[0].own_reader, addresses, count, units);
	make_jobs(resolver, units, count);
	resolver->addresses = addresses;
	resolver->chains = chains;
	if (resolver->jobs.len)
		run_workers(resolver, resolver->jobs.len, run_jobs);
}

bool dwarf_resolver_lacks_parts(const struct dwarf_resolver *resolver)
{
	return atomic_load(&resolver->lacks_parts);
}
