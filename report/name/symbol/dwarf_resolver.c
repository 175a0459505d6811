#include "report/name/symbol/dwarf_resolver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "format/dwarf/dwarf_map.h"
#include "format/dwarf/dwarf_sections.h"
#include "report/name/symbol/dwarf_companion.h"
#include "report/name/symbol/line_sections.h"
#include "report/name/symbol/thread_count.h"

enum {
	FORGOTTEN_BYTES = 256 << 10,
	SPLIT_BYTES = 64 << 10,
	TEXT_BYTES_MAX = 4 << 20,
};

/* The addresses of one unit: a run of resolver->order. */
struct job {
	uint32_t unit;
	size_t first, count;
	uint64_t bytes;
};

struct worker {
	struct dwarf_resolver *resolver;
	pthread_t thread;
	struct dwarf_reader own_reader;   /* of the file */
	struct dwarf_reader split_reader; /* of a .dwo, while a job reads it */
	struct unit_resolver units;
	struct arena frames;
	VEC(uint64_t) addresses; /* of the job at hand */
	struct dwarf_survey survey;
};

struct dwarf_resolver {
	struct dwarf_sections sections;
	struct dwarf_companion alt, package;
	struct dwarf_places places;  /* path NULL: no companions */
	struct line_sections *lines; /* not NULL: all that there is */
	atomic_bool lacks_parts;
	uint64_t refusals; /* of the budget, before anything was unpacked */
	unsigned nr_threads;
	struct worker *workers;

	/* Of the run at hand. */
	const uint64_t *addresses;
	struct chain *chains;
	void (*visit)(struct worker *worker, struct dwarf_reader *reader, struct dwarf_unit *unit,
		const struct job *job);
	VEC(uint32_t) order; /* indices of addresses, those of a unit together, ascending */
	VEC(struct job) jobs;
	atomic_size_t next_job;

	/* Of a survey, where jobs are runs of its ranges. */
	const struct dwarf_survey_taker *taker;
	struct dwarf_survey_ranges ranges;
	atomic_bool is_damaged;
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

static void open_companions(
	struct dwarf_resolver *resolver, const struct dwarf_resolver_options *options)
{
	resolver->places = (struct dwarf_places){
		.path = options->path,
		.root = options->root ? options->root : "",
		.rules = options->rules,
		.alt_path = options->alt_path,
		.budget = options->budget,
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
	uint64_t refusals = elf_budget_refusals(options->budget);
	if (!elf && options->lines) {
		struct dwarf_resolver *by_lines = mem_zalloc(sizeof(*by_lines));
		by_lines->lines = options->lines;
		return by_lines;
	}
	if (!elf || !dwarf_sections_open(elf, false, options->budget, &sections))
		return NULL;
	struct dwarf_resolver *resolver = mem_zalloc(sizeof(*resolver));
	resolver->sections = sections;
	resolver->refusals = refusals;
	resolver->nr_threads = options->nr_threads ? options->nr_threads : thread_count();
	if (resolver->nr_threads > THREAD_COUNT_MAX)
		resolver->nr_threads = THREAD_COUNT_MAX;
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
	unit_resolver_deinit(&worker->units);
	arena_deinit(&worker->frames);
	vec_deinit(&worker->addresses);
	dwarf_survey_deinit(&worker->survey);
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
	vec_deinit(&resolver->ranges.list);
	dwarf_companion_close(&resolver->alt);
	dwarf_companion_close(&resolver->package);
	dwarf_sections_deinit(&resolver->sections);
	mem_free(resolver);
}

/* ---- units ---- */

/*
 * When there are no other jobs for the threads that are there, DIEs and lines are read side by
 * side: what was linked as a whole (LTO) may be a single unit.
 */
static bool has_idle_thread(struct dwarf_resolver *resolver, const struct job *job)
{
	return resolver->nr_threads > 1 && job->bytes >= SPLIT_BYTES &&
	       atomic_load(&resolver->next_job) >= resolver->jobs.len;
}

static void resolve_unit(struct worker *worker, struct dwarf_reader *reader,
	struct dwarf_unit *unit, const struct job *job)
{
	struct dwarf_resolver *resolver = worker->resolver;
	const uint32_t *order = resolver->order.data + job->first;
	worker->addresses.len = 0;
	for (size_t i = 0; i < job->count; i++)
		vec_push(&worker->addresses, resolver->addresses[order[i]]);
	unit_resolver_read(&worker->units, reader, unit, worker->addresses.data, job->count,
		has_idle_thread(resolver, job));
	for (size_t i = 0; i < job->count; i++) {
		struct chain chain = unit_resolver_chain(&worker->units, i);
		if (!chain.count)
			continue;
		size_t bytes = chain.count * sizeof(*chain.frames);
		struct chain_frame *frames = arena_alloc(&worker->frames, bytes);
		memcpy(frames, chain.frames, bytes);
		resolver->chains[order[i]] = (struct chain){frames, chain.count};
	}
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
		resolver->visit(worker, reader, unit, job);
		unit_resolver_forget_file(&worker->units);
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
			!resolve_split(worker, unit, job))
			resolver->visit(worker, &worker->own_reader, unit, job);
		/* Many small ones would cost more than they take. */
		if (job->bytes >= FORGOTTEN_BYTES)
			elf_map_forget(&resolver->sections.maps[DWARF_INFO], unit->header.offset,
				job->bytes);
		unit_resolver_forget_unit(&worker->units);
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

/* The unit of a job more, or of the last one. */
static void add_to_job(struct dwarf_resolver *resolver, uint32_t unit, size_t at)
{
	const struct dwarf_unit_header *header = &resolver->sections.file.units.data[unit];
	size_t count = resolver->jobs.len;
	if (!count || resolver->jobs.data[count - 1].unit != unit)
		vec_push(&resolver->jobs,
			(struct job){
				.unit = unit, .first = at, .bytes = header->end - header->offset});
	resolver->jobs.data[resolver->jobs.len - 1].count++;
}

static void run_all_jobs(struct dwarf_resolver *resolver)
{
	if (!resolver->jobs.len)
		return;
	for (unsigned i = 0; i < resolver->nr_threads; i++)
		dwarf_reader_renew_limits(&resolver->workers[i].own_reader);
	qsort(resolver->jobs.data, resolver->jobs.len, sizeof(*resolver->jobs.data),
		compare_by_size);
	run_workers(resolver, resolver->jobs.len, run_jobs);
}

static void make_jobs(struct dwarf_resolver *resolver, uint32_t *units, size_t count)
{
	resolver->order.len = resolver->jobs.len = 0;
	for (size_t i = 0; i < count; i++)
		if (units[i] != DWARF_NO_UNIT)
			vec_push(&resolver->order, (uint32_t)i);
	if (!resolver->order.len)
		return;
	qsort_r(resolver->order.data, resolver->order.len, sizeof(*resolver->order.data),
		compare_by_unit, units);
	for (size_t i = 0; i < resolver->order.len; i++)
		add_to_job(resolver, units[resolver->order.data[i]], i);
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
	resolver->visit = resolve_unit;
	run_all_jobs(resolver);
}

/* ---- surveys ---- */

static void survey_unit(struct worker *worker, struct dwarf_reader *reader, struct dwarf_unit *unit,
	const struct job *job)
{
	struct dwarf_resolver *resolver = worker->resolver;
	const struct dwarf_survey_taker *taker = resolver->taker;
	unsigned thread = (unsigned)(worker - resolver->workers);
	if (atomic_load(&resolver->is_damaged))
		return;
	if (!dwarf_survey_unit(&worker->survey, &worker->units, reader, unit,
		    resolver->ranges.list.data + job->first, job->count, taker, thread))
		atomic_store(&resolver->is_damaged, true);
	if (unit_resolver_text_bytes(&worker->units) < TEXT_BYTES_MAX)
		return;
	taker->forget(taker->context, thread);
	unit_resolver_deinit(&worker->units);
}

bool dwarf_resolver_survey(struct dwarf_resolver *resolver, const struct dwarf_survey_taker *taker)
{
	vec_deinit(&resolver->ranges.list);
	if (resolver->lines ||
		!dwarf_survey_find_ranges(&resolver->workers[0].own_reader, &resolver->ranges))
		return false;
	resolver->jobs.len = 0;
	for (size_t i = 0; i < resolver->ranges.list.len; i++)
		add_to_job(resolver, resolver->ranges.list.data[i].unit, i);
	resolver->taker = taker;
	resolver->visit = survey_unit;
	run_all_jobs(resolver);
	return !atomic_load(&resolver->is_damaged) && !dwarf_resolver_lacks_parts(resolver);
}

unsigned dwarf_resolver_threads(const struct dwarf_resolver *resolver)
{
	return resolver->lines ? 1 : resolver->nr_threads;
}

bool dwarf_resolver_lacks_parts(const struct dwarf_resolver *resolver)
{
	return atomic_load(&resolver->lacks_parts) ||
	       elf_budget_refusals(resolver->sections.budget) > resolver->refusals;
}
