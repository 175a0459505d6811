#include "record/session_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "record/proc.h"
#include "record/proc_access.h"
#include "record/runtime/runtime.h"
#include "record/runtime_forecast.h"

enum {

	DEFAULT_SNAPSHOT_BYTES = 64 << 10, /* most stacks are a tenth of that */
};

/* Of what turned up while we record. It is late then: the first functions have been entered. */
static void session_parts_add_script_probes(
	void *context, const struct object *object, const struct object_location *where)
{
	struct session_parts *parts = context;
	struct script_probes *probes = &parts->script_probes;
	size_t first = probes->places.len;
	script_probes_add_object(probes, object, where);
	struct err *err = sampler_add_script_probes(parts->sampler, probes, first);
	probes->misses_files |= err != NULL;
	err_destroy(err);
}

/*
 * Where what is profiled may have functions of scripts that are to be traced. Sideband is there
 * already: what is mapped after this look it tells of.
 */
static struct err *find_script_probes(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	struct script_probes *probes = &parts->script_probes;
	if (!options->usdt_stacks)
		return NULL;
	parts->translate.on_file = session_parts_add_script_probes;
	parts->translate.on_file_context = parts;
	try(script_probes_parse(options->usdt_stacks, probes));
	for (size_t i = 0; i < options->nr_pids; i++)
		try(script_probes_add_process(probes, options->pids[i]));
	bool is_system_wide = session_is_system_wide(options);
	if (is_system_wide)
		script_probes_add_all_processes(probes);
	if (is_system_wide || options->target == SESSION_COMMAND)
		try(script_probes_add_command(
			probes, options->target == SESSION_COMMAND ? options->argv[0] : NULL));
	return is_system_wide ? NULL : script_probes_check(probes);
}

/* Known by their ids; of the whole system, and of a user, there are none. */
static struct target_tasks target_tasks(const struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	bool are_threads = options->target == SESSION_THREADS;
	struct target_tasks tasks = {
		.ids = parts->command_pid ? &parts->command_pid : options->pids,
		.nr_ids = parts->command_pid ? 1 : options->nr_pids,
		.are_threads = are_threads,
		.with_descendants = options->with_descendants,
		/* The threads of a process are its own in any case. */
		.inherit = !options->no_inherit ? TARGET_INHERIT_ALL
			   : are_threads        ? TARGET_INHERIT_NOTHING
						: TARGET_INHERIT_THREADS,
	};
	return tasks;
}

/* What they fork from now on the BPF side adds. */
static struct err *add_targets(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	struct proc_pids *targets = &parts->targets;
	size_t added = 0;
	if (parts->command_pid)
		vec_push(targets, parts->command_pid);
	else
		vec_append(targets, options->pids, options->nr_pids);
	do {
		for (; added < targets->len; added++)
			try(sampler_add_target(parts->sampler, targets->data[added]));
	} while (options->with_descendants && proc_add_descendants(targets));
	if (options->target == SESSION_PROCESSES && !options->with_descendants)
		left_out_begin(&parts->left_out, options->pids, options->nr_pids);
	return NULL;
}

/*
 * Without frames of scripts what finds them is not loaded. The whole system has interpreters sooner
 * or later, and loading what finds their frames takes the builder of tables away from all other
 * files for as long.
 */
static uint32_t forecast_runtimes(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	uint32_t runtimes = 0;
	if (options->call_graph == SESSION_CALL_GRAPH_FP)
		return 0;
	if (session_is_system_wide(options) || options->nr_pids)
		runtimes = runtimes_all();
	if (options->target == SESSION_COMMAND)
		runtimes = runtime_forecast_command(options->argv[0]);
	return runtimes & ~options->unwanted_runtimes;
}

static struct err *create_sampler(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	static const enum event_filter filters[] = {
		[SESSION_COMMAND] = EVENT_FILTER_PROCESS,
		[SESSION_PROCESSES] = EVENT_FILTER_PROCESS,
		[SESSION_THREADS] = EVENT_FILTER_THREAD,
		[SESSION_SYSTEM] = EVENT_FILTER_NONE,
		[SESSION_USER] = EVENT_FILTER_USER,
	};
	static const enum event_call_graph call_graphs[] = {
		[SESSION_CALL_GRAPH_AUTO] = EVENT_CALL_GRAPH_AUTO,
		[SESSION_CALL_GRAPH_FP] = EVENT_CALL_GRAPH_FP,
		[SESSION_CALL_GRAPH_DWARF] = EVENT_CALL_GRAPH_DWARF,
		[SESSION_CALL_GRAPH_BOTH] = EVENT_CALL_GRAPH_BOTH,
	};
	struct sampler_options sampler = {
		.sources = &parts->sources,
		.script_probes = options->usdt_stacks ? &parts->script_probes : NULL,
		.cpus = options->cpus,
		.nr_cpus = options->nr_cpus,
		.filter = filters[options->target],
		.uid = options->uid,
		.command_pid = parts->command_pid,
		.tasks = target_tasks(parts),
		.follow_children = !options->no_inherit,
		.ring_bytes = options->ring_bytes,
		.call_graph = call_graphs[options->call_graph],
		.snapshot_bytes =
			options->snapshot_bytes ? options->snapshot_bytes : DEFAULT_SNAPSHOT_BYTES,
		.runtimes = forecast_runtimes(parts),
	};
	try(sampler_create(&sampler, &parts->sampler));
	return add_targets(parts);
}

/* To be unwound by the report. */
static bool leaves_stacks(const struct session_options *options)
{
	return options->call_graph == SESSION_CALL_GRAPH_DWARF ||
	       options->call_graph == SESSION_CALL_GRAPH_BOTH;
}

/* A file with a runtime is about to be unwound by its table. */
static struct err *add_runtimes(void *context, uint32_t runtimes)
{
	struct session_parts *parts = context;
	runtimes &= ~parts->options.unwanted_runtimes;
	return sampler_add_runtimes(parts->sampler, runtimes);
}

static struct err *create_rule_source(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	struct resolver *resolver = &parts->translate.resolver;
	resolver->keeps_snapshots = leaves_stacks(options);
	if (options->call_graph == SESSION_CALL_GRAPH_FP)
		return NULL;
	struct table_store_maps maps = sampler_table_maps(parts->sampler);
	maps.unwanted_runtimes = options->unwanted_runtimes;

	try(rule_source_init(&parts->rules, &maps, options->table_bytes, options->cache_folder,
		&parts->translate.objects));
	table_builder_on_runtime(parts->rules.builder, add_runtimes, parts);
	resolver->rules = &parts->rules;
	code_rules_begin(&parts->code, &parts->rules, maps.code_rules);
	resolver->code = &parts->code;
	return NULL;
}

/* Edge-triggered: buffers are emptied at every wake-up, and must wake us only when they fill. */
static struct err *watch(struct session_parts *parts, int fd)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
	if (epoll_ctl(parts->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return err_sys(errno, "epoll_ctl");
	return NULL;
}

static struct err *watch_all(struct session_parts *parts)
{
	parts->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (parts->epoll_fd < 0)
		return err_sys(errno, "epoll_create1");
	try(watch(parts, parts->signals.fd));
	try(watch(parts, sampler_fd(parts->sampler)));
	if (parts->translate.resolver.rules)
		try(watch(parts, rule_source_fd(&parts->rules)));
	return parts->has_target ? watch(parts, parts->target.exit_fd) : NULL;
}

static void name_events(struct session_parts *parts)
{
	struct str *names = &parts->event_names;
	vec_each(&parts->sources, source)
		vec_each(&source->events, event)
			str_printf(names, "%s%s", names->len ? ", " : "", event->name);
}

static struct err *start_target(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	if (!options->argv)
		return NULL;
	bool lends_stdout = strcmp(options->output, "-") == 0;
	try(target_start(options->argv, &parts->signals.old, lends_stdout, &parts->target));
	parts->has_target = true;
	if (options->target == SESSION_COMMAND)
		parts->command_pid = (uint32_t)parts->target.pid;
	return NULL;
}

static struct err *create_all(struct session_parts *parts)
{
	const struct session_options *options = &parts->options;
	try(proc_check_namespace());
	try(sources_probe(&parts->sources, event_sources, EVENT_SOURCES, options));
	try(session_signals_take(&parts->signals));
	try(watched_tasks_open(options->pids, options->nr_pids, &parts->watched));
	/* Forked first: the child inherits little and shows up in no sample of ours. */
	try(start_target(parts));
	if (!options->exclude_kernel) /* early: it has time until the first flush */
		kernel_symbols_start(&parts->translate.kernel.symbols);
	struct target_tasks tasks = target_tasks(parts);
	try(sideband_create(&tasks, &parts->sideband));
	try(find_script_probes(parts));
	try(create_sampler(parts));
	try(create_rule_source(parts));
	try(watch_all(parts));
	parts->recording.stop_fd = parts->signals.fd;
	name_events(parts);
	return recording_begin(&parts->recording);
}

struct err *session_parts_init(struct session_parts *parts, const struct session_options *options)
{
	*parts = (struct session_parts){.options = *options, .signals.fd = -1, .epoll_fd = -1};
	translate_init(&parts->translate, session_is_system_wide(options));
	parts->translate.objects.files = target_files_create(options->target == SESSION_COMMAND);
	parts->script_probes.target_files = parts->translate.objects.files;
	target_reader_start(&parts->translate.scripts.reader);
	target_reader_start(&parts->translate.registered.reader);
	proc_access_start();
	code_rules_init(&parts->code, &parts->translate.processes);
	parts->recording.options = &parts->options;
	parts->recording.translate = &parts->translate;
	parts->recording.sources = &parts->sources;
	if (options->keeps_files)
		parts->kept_files = kept_files_create();
	parts->translate.resolver.kept_files = parts->kept_files;
	if (leaves_stacks(options)) /* which files these are in is not known before */
		parts->translate.emitter.kept_files = parts->kept_files;
	return create_all(parts);
}

void session_parts_deinit(struct session_parts *parts)
{
	if (parts->has_target)
		target_deinit(&parts->target);
	recording_deinit(&parts->recording);
	code_rules_deinit(&parts->code);
	rule_source_deinit(&parts->rules);
	sampler_destroy(parts->sampler);
	sources_deinit(&parts->sources);
	script_probes_deinit(&parts->script_probes);
	str_deinit(&parts->event_names);
	sideband_destroy(parts->sideband);
	translate_deinit(&parts->translate);
	kept_files_destroy(parts->kept_files);
	watched_tasks_deinit(&parts->watched);
	proc_pids_deinit(&parts->targets);
	left_out_deinit(&parts->left_out);
	proc_access_stop();
	session_signals_restore(&parts->signals);
	mem_close_fd(&parts->epoll_fd);
}

void session_parts_end_probing(struct session_parts *parts)
{
	parts->translate.on_file = NULL;
}
