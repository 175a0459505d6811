#include "record/source/asleep.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <unistd.h>

#include "bpf/event.h"
/* Behind what both know of. */
#include "bpf/asleep.skel.h"
#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "record/source/page_tables.h"

struct asleep {
	const struct sample_bpf *bpf;
	struct asleep_bpf *own;
	int link;
};

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
	X(thread_times_lost)

/* Maps of the same name are the same; those of variables are not. */
static struct err *share_maps(struct asleep *asleep)
{
	struct bpf_map *map = NULL;
	while ((map = bpf_object__next_map(asleep->own->obj, map))) {
		const struct bpf_map *shared =
			bpf_object__find_map_by_name(asleep->bpf->obj, bpf_map__name(map));
		if (!shared || bpf_map__is_internal(map))
			continue;
		int result = bpf_map__reuse_fd(map, bpf_map__fd(shared));
		if (result)
			return err_sys(-result, "cannot share a BPF map");
	}
	return NULL;
}

static void choose_programs_of_sleepers(struct asleep_bpf *own)
{
	struct bpf_program *program = NULL;
	while ((program = bpf_object__next_program(own->obj, program)))
		bpf_program__set_autoload(program, program == own->progs.walk_sleeper ||
							   program == own->progs.try_page_tables);
}

static struct err *load_asleep(struct asleep *asleep, uint32_t runtimes)
{
	struct asleep_bpf *own = asleep->own;
	try(share_maps(asleep));
	choose_programs_of_sleepers(own);
	own->rodata->config = asleep->bpf->rodata->config;
	own->rodata->config.runtimes = runtimes;
	own->rodata->config.other_runtimes = 0;
	int result = asleep_bpf__load(own);
	if (result)
		return err_sys(-result, "cannot load the BPF program for tasks that sleep");
	const struct page_tables_trial trial = {
		.program = bpf_program__fd(own->progs.try_page_tables),
		.own_page_tables = &own->bss->own_page_tables,
		.page_tables = &own->bss->page_tables,
	};
	if (!page_tables_find(&trial))
		return err_new(ERR_UNSUPPORTED, "memory of tasks that sleep is not found");
	return NULL;
}

struct err *asleep_create(const struct sample_bpf *bpf, uint32_t runtimes, struct asleep **ret)
{
	struct asleep *asleep = mem_zalloc(sizeof(*asleep));
	asleep->bpf = bpf;
	asleep->link = -1;
	asleep->own = asleep_bpf__open();
	struct err *err = asleep->own ? load_asleep(asleep, runtimes)
				      : err_sys(errno, "cannot open the BPF programs");
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
	asleep_bpf__destroy(asleep->own);
	mem_free(asleep);
}

uint32_t asleep_runtimes(const struct asleep *asleep)
{
	return asleep->own->rodata->config.runtimes;
}

int asleep_begin(struct asleep *asleep, bool seeks)
{
	struct asleep_bpf__bss *own = asleep->own->bss;
	const struct sample_bpf__bss *others = asleep->bpf->bss;
#define X(name) own->name = others->name;
	VARIABLES_THAT_ARE_SET(X)
#undef X
	own->seeks_tables = seeks;
	own->walks_pending = 0;
	mem_close_fd(&asleep->link);
	asleep->link = bpf_link_create(
		bpf_program__fd(asleep->own->progs.walk_sleeper), 0, BPF_TRACE_ITER, NULL);
	return asleep->link < 0 ? -1 : bpf_iter_create(asleep->link);
}

uint64_t asleep_end(struct asleep *asleep)
{
	struct asleep_bpf__bss *own = asleep->own->bss;
	struct sample_bpf__bss *others = asleep->bpf->bss;
	mem_close_fd(&asleep->link);
#define X(name) \
	others->name += own->name; \
	own->name = 0;
	VARIABLES_THAT_COUNT(X)
#undef X
	return own->walks_pending;
}
