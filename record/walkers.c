#include "record/walkers.h"

#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <string.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "record/source/source_kernel.h"

/* libbpf's callback tells of the program alone. */
static _Thread_local struct walkers *keeping;

/* ---- keeping ---- */

static int keep_walker(struct bpf_program *program, struct bpf_prog_load_opts *options, long cookie)
{
	(void)cookie;
	if (!keeping)
		return 0;
	struct walker walker = {.program = program};
	memcpy(&walker.options, options,
		options->sz < sizeof(walker.options) ? options->sz : sizeof(walker.options));
	walker.options.sz = sizeof(walker.options);
	walker.options.fd_array =
		NULL; /* of modules' types, which nothing here has; libbpf's own */
	vec_push(&keeping->list, walker);
	return 0;
}

/* The sections of walking programs, see SAMPLING_PROGRAMS in bpf/take_sample.bpf.h. Once: libbpf
 * moves its table when one is added, to which programs point. */
static void register_sections(void)
{
	struct libbpf_prog_handler_opts options = {
		.sz = sizeof(options), .prog_prepare_load_fn = keep_walker};
	libbpf_register_prog_handler(
		"walker/perf_event", BPF_PROG_TYPE_PERF_EVENT, (enum bpf_attach_type)0, &options);
	libbpf_register_prog_handler(
		"walker/raw_tp", BPF_PROG_TYPE_RAW_TRACEPOINT, (enum bpf_attach_type)0, &options);
	libbpf_register_prog_handler(
		"walker/tracepoint", BPF_PROG_TYPE_TRACEPOINT, (enum bpf_attach_type)0, &options);
	libbpf_register_prog_handler(
		"walker/uprobe+", BPF_PROG_TYPE_KPROBE, (enum bpf_attach_type)0, &options);
}

void walkers_keep_begin(struct walkers *walkers)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, register_sections);
	keeping = walkers;
}

struct walker_runtimes walkers_begin_with(
	struct walkers *walkers, const struct sample_bpf *bpf, uint32_t runtimes)
{
	walkers->are_whole = source_kernel_is_whole(bpf);
	walkers->loaded[RUNTIME_GROUP_LOOPS] =
		source_kernel_runtimes(RUNTIME_GROUP_LOOPS, runtimes, walkers->are_whole);
	return walkers->loaded[RUNTIME_GROUP_LOOPS];
}

void walkers_keep_end(void)
{
	keeping = NULL;
}

void walkers_deinit(struct walkers *walkers)
{
	vec_deinit(&walkers->list);
}

/* ---- loading once more ---- */

/* A map of constants like that of the programs, but for the runtimes. */
static struct err *copy_constants(
	const struct sample_bpf *bpf, struct walker_runtimes runtimes, int *ret)
{
	struct bpf_map_create_opts options = {
		.sz = sizeof(options), .map_flags = bpf_map__map_flags(bpf->maps.rodata)};
	uint32_t bytes = bpf_map__value_size(bpf->maps.rodata), zero = 0;
	CLEANUP_FREE uint8_t *constants = mem_zalloc(bytes);
	if (bpf_map_lookup_elem(bpf_map__fd(bpf->maps.rodata), &zero, constants))
		return err_sys(errno, "cannot read the BPF programs' constants");
	struct event_config *config =
		(void *)(constants + offsetof(__typeof__(*bpf->rodata), config));
	config->runtimes = runtimes.runtimes;
	config->other_runtimes = runtimes.other_runtimes;
	CLEANUP_FD int fd =
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "constants", sizeof(zero), bytes, 1, &options);
	if (fd < 0 || bpf_map_update_elem(fd, &zero, constants, BPF_ANY) || bpf_map_freeze(fd))
		return err_sys(errno, "cannot create a BPF map of constants");
	*ret = steal_fd(fd);
	return NULL;
}

/* Instructions that take the address of a map's value have its descriptor in them. */
static struct bpf_insn *copy_instructions(
	const struct bpf_program *program, int constants, int other_constants)
{
	size_t count = bpf_program__insn_cnt(program);
	struct bpf_insn *code = mem_zalloc_array(count, sizeof(*code));
	memcpy(code, bpf_program__insns(program), count * sizeof(*code));
	for (size_t i = 0; i < count; i++)
		if (code[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
			code[i].src_reg == BPF_PSEUDO_MAP_VALUE && code[i].imm == constants)
			code[i].imm = other_constants;
	return code;
}

static struct err *load_walker(
	const struct walker *walker, const struct sample_bpf *bpf, int constants, int *ret)
{
	const struct bpf_program *program = walker->program;
	CLEANUP_FREE struct bpf_insn *code =
		copy_instructions(program, bpf_map__fd(bpf->maps.rodata), constants);
	struct bpf_prog_load_opts options = walker->options;
	int fd = bpf_prog_load(bpf_program__type(program), bpf_program__name(program),
		"Dual BSD/GPL", code, bpf_program__insn_cnt(program), &options);
	if (fd < 0)
		return err_sys(errno, "cannot load the BPF program %s", bpf_program__name(program));
	*ret = fd;
	return NULL;
}

static struct err *load_group(const struct walkers *walkers, const struct sample_bpf *bpf,
	enum runtime_group group, struct walker_runtimes runtimes)
{
	CLEANUP_FD int constants = -1;
	try(copy_constants(bpf, runtimes, &constants));
	vec_each(&walkers->list, walker) {
		CLEANUP_FD int program = -1;
		try(load_walker(walker, bpf, constants, &program));
		try(source_kernel_put_walker(bpf, walker->program, group, program));
	}
	return NULL;
}

struct err *walkers_put_first(const struct walkers *walkers, const struct sample_bpf *bpf)
{
	vec_each(&walkers->list, walker)
		try(source_kernel_put_walker(bpf, walker->program, RUNTIME_GROUP_LOOPS,
			bpf_program__fd(walker->program)));
	return NULL;
}

/* The last group first, since the first one's programs, which begin, call the others. */
struct err *walkers_load_for(
	struct walkers *walkers, const struct sample_bpf *bpf, uint32_t runtimes)
{
	for (int group = RUNTIME_GROUPS - 1; group >= 0; group--) {
		struct walker_runtimes *loaded = &walkers->loaded[group],
				       wanted = source_kernel_runtimes(
					       group, runtimes, walkers->are_whole);
		if (wanted.runtimes == loaded->runtimes &&
			wanted.other_runtimes == loaded->other_runtimes)
			continue;
		try(load_group(walkers, bpf, group, wanted));
		*loaded = wanted;
	}
	return NULL;
}
