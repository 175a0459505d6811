#include "record/source/asleep.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/event.h"
/* Behind what both know of. */
#include "bpf/asleep.skel.h"
#include "bpf/sample.skel.h"
#include "format/base/clock.h"
#include "format/base/mem.h"
#include "record/source/page_tables.h"
#include "record/source/source_kernel.h"

struct asleep {
	const struct sample_bpf *bpf;
	uint32_t runtimes;
	int program, walkers; /* begins each walk; the map of what goes on with it */
	struct asleep_bpf__bss *own;
	size_t own_bytes;
	uint64_t begun_ns; /* the turn at hand, if it seeks, else 0; and the last that found all */
	uint64_t sought_ns;
	int link;
};

/* While they are loaded: libbpf's objects have 3 MB each, of which little is of use later. NULL:
 * there are no runtimes of the group. The first one's program begins each walk. */
struct asleep_groups {
	struct asleep_bpf *of[RUNTIME_GROUPS];
};

static void destroy_groups(struct asleep_groups *groups)
{
	for (int group = 0; group < RUNTIME_GROUPS; group++)
		asleep_bpf__destroy(groups->of[group]);
}

/*
 * The two objects have the same variables, but each has its own: what the recorder and the other
 * programs set is copied ahead of each round, what is counted is added behind it.
 */
#define VARIABLES_THAT_ARE_SET(X) \
	X(generation) \
	X(code_generation) \
	X(table_epoch) \
	X(compilers_met) \
	X(pid_namespace_level) \
	X(pid_namespace_inode) \
	X(wait_period_ns) \
	X(takes_waits_since_ns) \
	X(waits_end_ns) \
	X(divides_waits)
#define VARIABLES_THAT_COUNT(X) \
	X(files_full) \
	X(code_unasked) \
	X(thread_times_lost)

/* Maps of the same name are the same; those of variables are where both objects are of sleepers. */
static struct err *share_maps(struct asleep_bpf *own, const struct bpf_object *other)
{
	bool is_of_sleepers = bpf_object__find_program_by_name(other, "walk_sleeper");
	struct bpf_map *map = NULL;
	while ((map = bpf_object__next_map(own->obj, map))) {
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(other, bpf_map__name(map));
		bool has_variables = bpf_map__is_internal(map);
		if (!shared || map == own->maps.rodata || (has_variables && !is_of_sleepers))
			continue;
		int result = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (result)
			return err_sys(-result, "cannot share a BPF map");
	}
	return NULL;
}

/* What is run for each task. */
static struct bpf_program *visitor(const struct asleep_bpf *own, bool is_whole)
{
	return is_whole ? bpf_object__find_program_by_name(own->obj, "whole_sleeper")
			: own->progs.walk_sleeper;
}

static void choose_programs_of_sleepers(
	struct asleep_bpf *own, enum runtime_group group, bool is_whole)
{
	bool begins = group == RUNTIME_GROUP_LOOPS;
	struct bpf_program *program = NULL;
	while ((program = bpf_object__next_program(own->obj, program)))
		bpf_program__set_autoload(program,
			(!is_whole && program == own->progs.continue_sleeper) ||
				(begins && (program == visitor(own, is_whole) ||
						   program == own->progs.try_page_tables)));
}

/* Its program can be called by those of the first group, and calls them. */
static struct err *load_asleep_group(
	const struct asleep *asleep, enum runtime_group group, struct asleep_groups *groups)
{
	struct asleep_bpf *own = groups->of[group] = asleep_bpf__open();
	if (!own)
		return err_sys(errno, "cannot open the BPF programs for tasks that sleep");
	struct asleep_bpf *first = groups->of[RUNTIME_GROUP_LOOPS];
	bool is_whole = source_kernel_is_whole(asleep->bpf);
	struct walker_runtimes runtimes = source_kernel_runtimes(group, asleep->runtimes, is_whole);
	try(share_maps(own, own == first ? asleep->bpf->obj : first->obj));
	choose_programs_of_sleepers(own, group, is_whole);
	own->rodata->config = asleep->bpf->rodata->config;
	own->rodata->config.runtimes = runtimes.runtimes;
	own->rodata->config.other_runtimes = runtimes.other_runtimes;
	int result = asleep_bpf__load(own);
	if (result)
		return err_sys(-result, "cannot load the BPF program for tasks that sleep");
	if (is_whole)
		return NULL;
	int program = bpf_program__fd(own->progs.continue_sleeper);
	if (bpf_map_update_elem(
		    bpf_map__fd(first->maps.sleeper_walkers), &group, &program, BPF_ANY))
		return err_sys(errno, "cannot chain the BPF programs for tasks that sleep");
	return NULL;
}

/* What lasts of the first one. The map of programs is empty when its last descriptor is closed. */
static struct err *keep_first(struct asleep *asleep, const struct asleep_bpf *first)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t bytes = (bpf_map__value_size(first->maps.bss) + page - 1) & ~(page - 1);
	void *own = mmap(
		NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(first->maps.bss), 0);
	if (own == MAP_FAILED)
		return err_sys(errno, "cannot map the BPF programs' variables");
	asleep->own = own;
	asleep->own_bytes = bytes;
	bool is_whole = source_kernel_is_whole(asleep->bpf);
	asleep->program = fcntl(bpf_program__fd(visitor(first, is_whole)), F_DUPFD_CLOEXEC, 0);
	asleep->walkers = fcntl(bpf_map__fd(first->maps.sleeper_walkers), F_DUPFD_CLOEXEC, 0);
	if (asleep->program < 0 || asleep->walkers < 0)
		return err_sys(errno, "cannot keep the BPF programs for tasks that sleep");
	return NULL;
}

static struct err *load_asleep(struct asleep *asleep)
{
	CLEANUP(destroy_groups) struct asleep_groups groups = {0};
	for (enum runtime_group group = 0; group < RUNTIME_GROUPS; group++)
		if (group == RUNTIME_GROUP_LOOPS || source_kernel_runtimes(group, asleep->runtimes,
							    source_kernel_is_whole(asleep->bpf))
							    .runtimes)
			try(load_asleep_group(asleep, group, &groups));
	struct asleep_bpf *own = groups.of[RUNTIME_GROUP_LOOPS];
	const struct page_tables_trial trial = {
		.program = bpf_program__fd(own->progs.try_page_tables),
		.own_page_tables = &own->bss->own_page_tables,
		.page_tables = &own->bss->page_tables,
	};
	if (!page_tables_find(&trial))
		return err_new(ERR_UNSUPPORTED, "memory of tasks that sleep is not found");
	return keep_first(asleep, own);
}

struct err *asleep_create(const struct sample_bpf *bpf, uint32_t runtimes, struct asleep **ret)
{
	struct asleep *asleep = mem_zalloc(sizeof(*asleep));
	asleep->bpf = bpf;
	asleep->runtimes = runtimes;
	asleep->link = asleep->program = asleep->walkers = -1;
	struct err *err = load_asleep(asleep);
	if (err)
		asleep_destroy(asleep);
	else
		*ret = asleep;
	return err;
}

void asleep_destroy(struct asleep *asleep)
{
	if (!asleep)
		return;
	mem_close_fd(&asleep->link);
	mem_close_fd(&asleep->walkers);
	mem_close_fd(&asleep->program);
	if (asleep->own)
		munmap(asleep->own, asleep->own_bytes);
	mem_free(asleep);
}

uint32_t asleep_runtimes(const struct asleep *asleep)
{
	return asleep->runtimes;
}

void asleep_mark_waits(const struct sample_bpf *bpf)
{
	char byte; /* none is written */
	struct bpf_link *marks = bpf_program__attach_iter(bpf->progs.on_division, NULL);
	CLEANUP_FD int fd = marks ? bpf_iter_create(bpf_link__fd(marks)) : -1;
	while (fd >= 0 && read(fd, &byte, sizeof(byte)) > 0)
		;
	bpf_link__destroy(marks);
}

int asleep_begin(struct asleep *asleep, bool seeks)
{
	struct asleep_bpf__bss *own = asleep->own;
	const struct sample_bpf__bss *others = asleep->bpf->bss;
#define X(name) own->name = others->name;
	VARIABLES_THAT_ARE_SET(X)
#undef X
	own->seeks_tables = seeks;
	own->sought_ns = asleep->sought_ns;
	own->walks_pending = 0;
	asleep->begun_ns = seeks ? clock_now_ns() : 0;
	mem_close_fd(&asleep->link);
	asleep->link = bpf_link_create(asleep->program, 0, BPF_TRACE_ITER, NULL);
	return asleep->link < 0 ? -1 : bpf_iter_create(asleep->link);
}

uint64_t asleep_end(struct asleep *asleep, bool is_through)
{
	struct asleep_bpf__bss *own = asleep->own;
	struct sample_bpf__bss *others = asleep->bpf->bss;
	mem_close_fd(&asleep->link);
#define X(name) \
	__atomic_fetch_add(&others->name, own->name, __ATOMIC_RELAXED); \
	own->name = 0;
	VARIABLES_THAT_COUNT(X)
#undef X
	if (is_through && asleep->begun_ns && !own->walks_pending)
		asleep->sought_ns = asleep->begun_ns;
	return own->walks_pending;
}
