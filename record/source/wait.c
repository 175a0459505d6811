#include "record/source/wait.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "bpf/sample.skel.h"
#include "format/base/mem.h"
#include "format/file/layout.h"
#include "record/feature.h"
#include "record/kallsyms.h"
#include "record/source/source_kernel.h"

enum {
	WAIT_TRACEPOINTS = 4,
};

struct wait_state {
	struct sample_bpf *bpf;
	uint32_t waits; /* bits */
	uint64_t period_ns;
	int tracepoints[WAIT_TRACEPOINTS]; /* descriptors that keep the programs attached */
	int nr_tracepoints;
	struct bpf_link *sleepers; /* the iterator over tasks that sleep at the end; NULL: none */
	int sleepers_fd;
};

static const struct wait_event {
	uint32_t bit;
	const char *name;
} wait_events[EVENT_WAITS] = {
	[EVENT_WAIT_OFF_CPU] = {SESSION_WAIT_OFF_CPU, "offcpu"},
	[EVENT_WAIT_RUN_QUEUE] = {SESSION_WAIT_RUN_QUEUE, "runq"},
};

/* Both have numbers, so that those of samples are the same whichever were asked for. */
static struct err *wait_probe(struct source *source, const struct session_options *options)
{
	if (!options->waits)
		return NULL;
	struct wait_state *state = source->state = mem_zalloc(sizeof(*state));
	state->waits = options->waits;
	state->period_ns = options->wait_period_ns;
	for (int i = 0; i < EVENT_WAITS; i++)
		vec_push(&source->events,
			(struct source_event){.name = wait_events[i].name, .unit = LAYOUT_UNIT_NS});
	return NULL;
}

/* ---- where functions of the kernel are ---- */

struct function_search {
	const char *name;
	struct event_function found;
};

static bool look_for_kernel_function(void *context, const struct kallsyms_symbol *symbol)
{
	struct function_search *search = context;
	if (search->found.start && symbol->address > search->found.start) {
		search->found.end = symbol->address;
		return false;
	}
	if (kallsyms_has_name(symbol, search->name))
		search->found.start = symbol->address;
	return true;
}

/* Zeros where addresses are hidden: then stacks begin with the frames of our own programs. */
static struct event_function find_kernel_function(const char *name)
{
	struct function_search search = {.name = name};
	CLEANUP_FD int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		kallsyms_read(fd, look_for_kernel_function, &search);
	return search.found;
}

static void wait_load(struct source *source, struct sample_bpf *bpf)
{
	struct wait_state *state = source->state;
	state->bpf = bpf;
	bpf->rodata->config.waits = state->waits;
	bpf->rodata->config.wait_period_ns = state->period_ns;
	bpf->rodata->config.switches = find_kernel_function("__schedule");
	bpf->rodata->config.schedules = find_kernel_function("schedule");
	bpf_map__set_max_entries(bpf->maps.waiting, EVENT_MAX_WAITING);
	bpf_program__set_autoload(bpf->progs.on_switch, true);
	bpf_program__set_autoload(bpf->progs.on_waking, true);
	bpf_program__set_autoload(bpf->progs.on_wakeup_new, true);
	bpf_program__set_autoload(bpf->progs.on_sleeper, true);
}

static struct err *open_tracepoint(struct wait_state *state, const char *name, int program)
{
	int fd = bpf_raw_tracepoint_open(name, program);
	if (fd == -ENOENT)
		return err_new(ERR_UNSUPPORTED,
			"waits cannot be recorded: this kernel has no tracepoint %s (%s)", name,
			"off-CPU time needs Linux 6.16 or later");
	if (fd < 0)
		return feature_explain(err_sys(-fd, "cannot attach to the tracepoint %s", name));
	state->tracepoints[state->nr_tracepoints++] = fd;
	return NULL;
}

static struct err *wait_attach(struct source *source, const struct source_place *place)
{
	struct wait_state *state = source->state;
	int program;
	try(source_kernel_program(place->bpf, source->row->program, &program));
	try(open_tracepoint(state, "sched_exit_tp", program));
	try(open_tracepoint(state, "sched_waking", bpf_program__fd(place->bpf->progs.on_waking)));
	try(open_tracepoint(
		state, "sched_wakeup_new", bpf_program__fd(place->bpf->progs.on_wakeup_new)));
	return open_tracepoint(state, "sched_switch", bpf_program__fd(place->bpf->progs.on_switch));
}

static struct err *wait_start(struct source *source, uint64_t now_ns)
{
	struct sample_bpf__bss *bss = ((struct wait_state *)source->state)->bpf->bss;
	bss->takes_waits_since_ns = now_ns;
	bss->takes_waits = true;
	return NULL;
}

static void close_tracepoints(struct wait_state *state)
{
	while (state->nr_tracepoints)
		close(state->tracepoints[--state->nr_tracepoints]);
}

/* The programs run with preemption off: when a grace period is over, none is under way. */
static void wait_stop(struct source *source, uint64_t now_ns)
{
	struct wait_state *state = source->state;
	struct sample_bpf__bss *bss = state->bpf->bss;
	bool has_taken = bss->takes_waits;
	bss->waits_end_ns = bss->until_ns && bss->until_ns < now_ns ? bss->until_ns : now_ns;
	bss->takes_waits = false;
	close_tracepoints(state);
	source_kernel_settle(source, state->bpf);
	if (has_taken)
		state->sleepers = bpf_program__attach_iter(state->bpf->progs.on_sleeper, NULL);
	if (state->sleepers)
		state->sleepers_fd = bpf_iter_create(bpf_link__fd(state->sleepers));
}

static void end_sleepers(struct wait_state *state)
{
	if (!state->sleepers)
		return;
	if (state->sleepers_fd >= 0)
		close(state->sleepers_fd);
	bpf_link__destroy(state->sleepers);
	state->sleepers = NULL;
}

/* A byte is a sleeper. The stacks of so many have room in the ring. */
static bool wait_finish_some(struct source *source)
{
	enum {
		SLEEPERS = 32,
	};
	struct wait_state *state = source->state;
	char sleepers[SLEEPERS];
	if (!state->sleepers)
		return false;
	if (state->sleepers_fd >= 0 && read(state->sleepers_fd, sleepers, sizeof(sleepers)) > 0)
		return true;
	end_sleepers(state);
	return false;
}

static struct err *wait_read_counters(
	struct source *source, bool with_skipped, struct source_cpus *ret)
{
	(void)with_skipped;
	return source_kernel_read(source, ((struct wait_state *)source->state)->bpf, ret);
}

static void wait_release(struct source *source)
{
	close_tracepoints(source->state);
	end_sleepers(source->state);
	mem_free(source->state);
}

const struct event_source wait_source = {
	.name = "wait",
	.tallied = "waits",
	.help = "offcpu, runq, wall",
	.program = "wait",
	.lane = EVENT_LANE_SWITCH,
	.probe = wait_probe,
	.load = wait_load,
	.attach = wait_attach,
	.start = wait_start,
	.stop = wait_stop,
	.finish_some = wait_finish_some,
	.read_counters = wait_read_counters,
	.release = wait_release,
};
