#include "cmd/record_options.h"

#include <ctype.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/input.h"
#include "format/base/mem.h"
#include "record/label/label_source.h"
#include "record/runtime/runtime_names.h"

/* ---- parsers ---- */

static struct err *parse_frequency(const struct opt *row, const char *text, void *member)
{
	struct record_options *options = member;
	options->frequency_given = !opt_is_standard(row, text);
	options->frequency_is_max = strcmp(text, row->words[0].word) == 0;
	if (!options->frequency_is_max)
		return opt_u32(row, text, &options->frequency_hz);
	try(opt_u32(row, row->most, &options->frequency_hz));
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned long allowed;
	if (file && fscanf(file, "%lu", &allowed) == 1 && allowed < options->frequency_hz)
		options->frequency_hz = (uint32_t)allowed;
	if (file)
		fclose(file);
	return NULL;
}

/* The timer's modifiers and terms are those of options that say the same. */
static void take_timer(const struct event_spec *spec, struct record_options *options)
{
	const struct event_modifiers *modifiers = &spec->modifiers;
	options->events.timer = spec->timer;
	options->events.is_timer_given = true;
	options->all_user |= modifiers->user && !modifiers->kernel;
	options->all_kernel |= modifiers->kernel && !modifiers->user;
	if (spec->period)
		options->period = spec->period;
	if (spec->frequency_hz) {
		options->frequency_hz = spec->frequency_hz;
		options->frequency_given = true;
	}
}

/* Of {a,b}:S: the others are counted whenever the first one is a sample. */
static struct err *check_member(const struct event_spec *spec, bool is_leader)
{
	if (spec->kind != EVENT_SPEC_COUNTER && spec->kind != EVENT_SPEC_PMU)
		return err_new(ERR_USAGE,
			"\"%s\": events in {a,b}:S are those that the kernel or the processor "
			"counts, as cpu-clock, cycles, page-faults: ebprof list has a list of them",
			spec->name);
	if (!is_leader && (spec->period || spec->frequency_hz))
		return err_new(ERR_USAGE,
			"\"%s\": only the first event of {a,b}:S is sampled, and has a period= or "
			"freq=",
			spec->name);
	return NULL;
}

static struct err *check_group(const struct event_spec *spec, bool is_leader)
{
	if (spec->modifiers.is_read_with_group)
		return check_member(spec, is_leader);
	if (spec->group && !event_spec_is_always_counted(spec))
		return err_new(ERR_USAGE,
			"\"%s\": events of the processor are counted together with the first of "
			"them, which is sampled, as {a,b}:S; record samples each by itself: leave "
			"the braces out",
			spec->name);
	return NULL;
}

static struct err *take_event_spec(struct record_options *options, size_t index)
{
	struct record_events *events = &options->events;
	const struct event_spec *specs = events->specs.data, *spec = &specs[index];
	try(check_group(spec, event_spec_leader(specs, index) == index));
	switch (spec->kind) {
	case EVENT_SPEC_TIMER:
		take_timer(spec, options);
		return NULL;
	case EVENT_SPEC_WAITS:
		events->waits |= spec->waits;
		events->is_timer_given |= spec->has_timer;
		return NULL;
	case EVENT_SPEC_USDT:
		vec_push(&events->usdt, spec->text);
		return NULL;
	case EVENT_SPEC_UPROBE:
	case EVENT_SPEC_URETPROBE:
	case EVENT_SPEC_CALL:
		events->has_functions = true;
		return NULL;
	case EVENT_SPEC_SYSCALLS:
	case EVENT_SPEC_LOCKS:
	case EVENT_SPEC_BLOCK_IO:
		events->has_syscalls = true;
		return NULL;
	case EVENT_SPEC_TRACEPOINT:
		events->has_tracepoints = true;
		return NULL;
	case EVENT_SPEC_COUNTER:
	case EVENT_SPEC_PMU:
		events->has_counters = true;
		return NULL;
	}
	return NULL;
}

static struct err *parse_event(const struct opt *row, const char *text, void *member)
{
	struct record_options *options = member;
	struct event_specs *specs = &options->events.specs;
	size_t before = specs->len;
	(void)row;
	try(event_specs_parse(specs, text));
	for (size_t i = before; i < specs->len; i++)
		try(take_event_spec(options, i));
	return NULL;
}

/* As perf's: of the tracepoints that the -e before it named. */
static struct err *parse_filter(const struct opt *row, const char *text, void *member)
{
	struct event_specs *specs = &((struct record_options *)member)->events.specs;
	(void)row;
	if (!specs->len || specs->data[specs->len - 1].kind != EVENT_SPEC_TRACEPOINT)
		return err_new(ERR_USAGE, "--filter goes with the tracepoint of the -e before it");
	for (size_t i = specs->len;
		i-- > 0 && specs->data[i].kind == EVENT_SPEC_TRACEPOINT && !specs->data[i].filter;)
		specs->data[i].filter = text;
	return NULL;
}

static struct err *parse_off_cpu(const struct opt *row, const char *text, void *member)
{
	struct record_events *events = member;
	(void)row;
	(void)text;
	events->waits |= SESSION_WAIT_OFF_CPU;
	events->is_timer_given = true;
	return NULL;
}

static struct err *parse_call_graph(const struct opt *row, const char *text, void *member)
{
	struct record_call_graph *call_graph = member;
	uint32_t how;
	uint64_t bytes = 0;
	size_t len = strcspn(text, ",");
	try(opt_find_word(row, text, len, &how));
	if (text[len])
		try(opt_size(row, text + len + 1, &bytes));
	call_graph->how = (enum session_call_graph)how;
	call_graph->snapshot_bytes = (uint32_t)bytes;
	return NULL;
}

static struct err *parse_switch(const struct opt *row, const char *text, void *member)
{
	struct session_switch *switching = member;
	if (!text || strcmp(text, row->words[0].word) == 0) {
		switching->on_signal = true;
		return NULL;
	}
	/* "10M" is a size, "10m", "10s" and "10" are times: the unit decides. */
	if (strpbrk(text, "BKMG"))
		return opt_size(row, text, &switching->bytes);
	static const struct opt any_time = {.long_name = "switch-output"};
	switching->bytes = 0;
	return opt_duration(&any_time, text, &switching->interval_ns);
}

/* "2G,24h", in either order: a size ends with its unit, everything else is a time. */
static struct err *parse_keep(const struct opt *row, const char *text, void *member)
{
	struct session_ring *ring = member;
	static const struct opt any_time = {.long_name = "keep", .least = "1s"};
	for (const char *at = text; *at;) {
		size_t len = strcspn(at, ",");
		CLEANUP_FREE char *word = mem_strndup(at, len);
		try(strpbrk(word, "BKMGT") ? opt_size(row, word, &ring->keep_bytes)
					   : opt_duration(&any_time, word, &ring->keep_ns));
		at += len + (at[len] == ',');
	}
	return NULL;
}

#define HEAP_DISTANCE "512K"

static struct err *parse_heap(const struct opt *row, const char *text, void *member)
{
	return opt_size(row, text ? text : HEAP_DISTANCE, member);
}

/* "5%" or "5" */
static struct err *parse_percent(const struct opt *row, const char *text, void *member)
{
	size_t len = strlen(text);
	CLEANUP_FREE char *number = mem_strndup(text, len && text[len - 1] == '%' ? len - 1 : len);
	return opt_u32(row, number, member);
}

static struct err *parse_ring(const struct opt *row, const char *text, void *member)
{
	CLEANUP(str_deinit) struct str size = {0};
	uint64_t *bytes = member, page = (uint64_t)sysconf(_SC_PAGESIZE), pages;
	bool is_pages = !text[strspn(text, "0123456789")]; /* as perf has it */
	if (is_pages) {
		try(opt_u64(&(struct opt){.long_name = row->long_name}, text, &pages));
		str_printf(&size, "%.0fB", (double)pages * (double)page);
	}
	try(opt_size(row, is_pages ? str_text(&size) : text, bytes));
	if (*bytes < page || *bytes & (*bytes - 1))
		return err_new(ERR_USAGE, "\"%s\" is not a power of two between a page and %s",
			text, row->most);
	return NULL;
}

static struct err *parse_unwanted_runtimes(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return runtime_names_parse(text, member);
}

static struct err *parse_label_sources(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return label_sources_parse(text, member);
}

/* --no-NAME: what --no-vm NAME is. */
#define DEFINE_PARSE_NO(kind, number, runtime) \
	static struct err *parse_no_##runtime( \
		const struct opt *row, const char *text, void *member) \
	{ \
		(void)row; \
		(void)text; \
		return runtime_names_parse(#runtime, member); \
	}
RUNTIMES(DEFINE_PARSE_NO)

/* getpwnam() would ask shared libraries, which a static program does not have. */
static bool find_user(const char *name, uint32_t *uid)
{
	FILE *file = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;
	while (file && (user = fgetpwent(file)) && strcmp(user->pw_name, name) != 0)
		;
	if (user)
		*uid = user->pw_uid;
	if (file)
		fclose(file);
	return user;
}

static struct err *parse_user(const struct opt *row, const char *text, void *member)
{
	struct record_options *options = member;
	options->of_user = true;
	if (find_user(text, &options->uid))
		return NULL;
	if (!isdigit((unsigned char)*text))
		return err_new(ERR_USAGE,
			"/etc/passwd has no user \"%s\": give the number of the user", text);
	return opt_u32(row, text, &options->uid);
}

static struct err *parse_env_label(const struct opt *row, const char *text, void *member)
{
	struct record_options *options = member;
	(void)row;
	if (!*text || strchr(text, '='))
		return err_new(ERR_USAGE, "\"%s\" is no name of a variable", text);
	vec_push(&options->label_variables, text);
	return NULL;
}

static struct err *parse_cpus(const struct opt *row, const char *text, void *member)
{
	(void)row;
	return cpu_list_parse(text, member);
}

/* ---- rows ---- */

const struct opt_word record_options_rates[] = {{"max", 0, false}, {0}};
static const struct opt_word switch_words[] = {{"signal", 0, false}, {0}};

const struct opt_word record_options_events[] = {
	{"cycles", SESSION_EVENT_CYCLES, false},
	{"cpu-cycles", SESSION_EVENT_CYCLES, true},
	{"cpu-clock", SESSION_EVENT_CPU_CLOCK, false},
	{"auto", SESSION_EVENT_AUTO, false},
	{0},
};

/* For completion: record/event/event_spec.h knows them all. */
static const struct opt_word event_words[] = {
	{"auto", 0, false},
	{"cycles", 0, false},
	{"cpu-clock", 0, false},
	{"offcpu", 0, false},
	{"runq", 0, false},
	{"wall", 0, false},
	{"syscalls", 0, false},
	{"lock", 0, false},
	{"blk-io", 0, false},
	{"page-faults", 0, false},
	{"minor-faults", 0, false},
	{"major-faults", 0, false},
	{"context-switches", 0, false},
	{"cpu-migrations", 0, false},
	{"instructions", 0, false},
	{"cache-misses", 0, false},
	{"branch-misses", 0, false},
	{0},
};

static const struct opt_word call_graph_words[] = {
	{"auto", SESSION_CALL_GRAPH_AUTO, false},
	{"fp", SESSION_CALL_GRAPH_FP, false},
	{"dwarf", SESSION_CALL_GRAPH_DWARF, false},
	{"both", SESSION_CALL_GRAPH_BOTH, true},
	{0},
};

static const struct opt_word runtime_words[] = {
#define WORD_OF(kind, number, runtime) {#runtime, 0, false},
	RUNTIMES(WORD_OF) // a line of its own
	{"all", 0, false},
	{0},
};

#define FIELD(name) offsetof(struct record_options, name)
#define RING_KEEP   "2G,24h"
#define RING_SWITCH "1m"
#define PUSH_EVERY  "15s"
#define SYSTEM_HZ   "99"

const struct opt record_options_rows[] = {
	{"pid", 'p', "PID[,PID]", opt_running_list, FIELD(pids),
		.help = "profile running processes", .group = "What"},
	{"tid", 't', "TID[,TID]", opt_running_list, FIELD(tids), .help = "profile single threads"},
	{"all-cpus", 'a', NULL, opt_flag, FIELD(all), .help = "profile the whole system"},
	{"uid", 'u', "USER", parse_user, 0,
		.help = "profile all processes of a user: name or number"},
	CGROUP_OPTION_ROWS(struct record_options, cgroups, "profile"),
	{"cpu", 'C', "LIST", parse_cpus, FIELD(cpus), .help = "only these CPUs: 0-3,8"},
	{"all-user", 0, NULL, opt_flag, FIELD(all_user), .help = "only ticks in user code"},
	{"all-kernel", 0, NULL, opt_flag, FIELD(all_kernel), .help = "only ticks in the kernel"},
	{"no-inherit", 'i', NULL, opt_flag, FIELD(no_inherit),
		.help = "do not follow new children"},
	{"tree", 0, NULL, opt_flag, FIELD(tree),
		.help = "with -p: the children that run already, and theirs, too"},
	{"freq", 'F', "N|*", parse_frequency, 0,
		.help = "samples a second and CPU, " SYSTEM_HZ
			" of the system, of cgroups; *: for 25% of the CPU time",
		.standard = RECORD_OPTIONS_HZ, .least = "1", .most = "100000",
		.words = record_options_rates, .group = "How"},
	{"count", 'c', "N", opt_u64, FIELD(period), .help = "a sample every N events instead",
		.least = "1"},
	{"event", 'e', "EVENT", parse_event, 0,
		.help = "cycles where they count, cpu-clock; offcpu, runq, wall: waits; "
			"page-faults "
			"and others of ebprof list; usdt:PATH:PROVIDER:NAME",
		.words = event_words},
	{"skip-missing", 0, NULL, opt_flag, FIELD(skips_missing),
		.help = "go on without events that cannot be had here, and say why"},
	{"filter", 0, "EXPRESSION", parse_filter, 0,
		.help = "of the tracepoint before it, only hits with such fields: 'prev_pid > 1'"},
	{"off-cpu", 0, NULL, parse_off_cpu, FIELD(events), .help = "-e offcpu, and the timer, too"},
	{"wakers", 0, NULL, opt_flag, FIELD(with_wakers),
		.help = "with -e offcpu or wall: who ended each wait, with the stack that did"},
	{"wait-period", 0, "TIME", opt_duration, FIELD(wait_period_ns),
		.help = "waits of this time are samples, shorter ones stand for so much each",
		.standard = "10ms", .least = "1us", .most = "10s"},
	{"heap", 0, "[SIZE]", parse_heap, FIELD(heap_bytes),
		.help = "where memory is allocated, and where from what stays: one sample in so "
			"many "
			"bytes, or in " HEAP_DISTANCE,
		.least = "1K", .most = "1G"},
	{"max-overhead", 0, "PERCENT", parse_percent, FIELD(max_overhead_percent),
		.help = "of its CPU time that probes of --heap may take a program; above it, and "
			"2% of "
			"a CPU, they are taken off",
		.standard = "5%", .least = "1", .most = "100"},
	{"list-usdt", 0, "PATH", opt_string, FIELD(listed_path),
		.help = "print the USDT probes of a program or library, and end"},
	{"call-graph", 0, "HOW", parse_call_graph, FIELD(call_graph),
		.help = "how to unwind: *[,BYTES]; fp: by frame pointers, dwarf: by the report",
		.standard = "auto", .least = "1K", .most = "64K", .words = call_graph_words},
	{"no-vm", 0, "NAME[,NAME]|all", parse_unwanted_runtimes, FIELD(unwanted_runtimes),
		.help = "without the frames of what these interpreters run: *",
		.words = runtime_words},
#define ROW_NO(kind, number, runtime) \
	{"no-" #runtime, 0, NULL, parse_no_##runtime, FIELD(unwanted_runtimes), \
		.help = "--no-vm " #runtime},
	RUNTIMES(ROW_NO) // a line of its own
	{"label-sources", 0, "NAME[,NAME]|none", parse_label_sources, FIELD(label_sources),
		.help = "where labels of samples come from: go, goroutine, go-creator, erlang-pid, "
			"erlang-process, container, service, trace, span, thread, resource",
		.standard = "go,goroutine,erlang-pid,erlang-process,container,trace,span,thread,"
			    "resource"},
	{"env-label", 0, "NAME", parse_env_label, 0,
		.help = "a variable of a process's environment is a label of its samples; once for "
			"each"},
	{"labels", 0, "FILE", opt_string, FIELD(label_file),
		.help = "labels of processes and containers: Prometheus' file_sd JSON, read again "
			"when it changes"},
	{"targets-only", 0, NULL, opt_flag, FIELD(targets_only),
		.help = "of the system only the processes and containers that --labels has"},
	{"usdt-stacks", 0, "LANG[:PATH],...", opt_string, FIELD(usdt_stacks),
		.help = "script frames by USDT probes of functions: php, python, ruby"},
	{"call-stacks", 'g', NULL, opt_flag, FIELD(call_stacks),
		.help = "stacks are always recorded"},
	{"unwind-memory", 0, "SIZE", opt_size, FIELD(table_bytes),
		.help = "for unwind tables in the kernel", .standard = "32M"},
	{"unwind-cache", 0, "DIR", opt_cache_folder, FIELD(cache_folder),
		.help = "where unwind tables are kept between recordings; none: nowhere"},
	{"delay", 'D', "MS", opt_milliseconds, FIELD(delay_ns), .help = "begin after so many ms"},
	{"duration", 0, "TIME", opt_duration, FIELD(duration_ns),
		.help = "stop after this time: 5, 2.5s, 1m", .least = "1ms"},
	{"mmap-size", 'm', "PAGES|SIZE", parse_ring, FIELD(ring_bytes),
		.help = "size of the ring buffer", .standard = "4M", .most = "1G"},
	{"output", 'o', "FILE|-", opt_string, FIELD(output), .help = "where to", .group = "Output",
		.standard = INPUT_USUAL},
	{"ring", 0, "DIR", opt_string, FIELD(ring.folder),
		.help = "record without an end, into files that are removed when newer ones need "
			"their place"},
	{"keep", 0, "SIZE,TIME", parse_keep, FIELD(ring),
		.help = "how much of the ring: in all, and of which age (" RING_KEEP ")",
		.least = "4M"},
	{"switch", 0, "*|SIZE|TIME", parse_switch, FIELD(switching),
		.help = "as --switch-output; with --ring after " RING_SWITCH " if it is not given",
		.least = "64K", .words = switch_words},
	{"take-over", 0, NULL, opt_flag, FIELD(ring.takes_over),
		.help = "of --ring: end the recorder that writes there once this one is ready"},
	{"push", 0, "URL", opt_string, FIELD(push.url),
		.help = "send the files of the ring to this server, and keep them until it took "
			"them"},
	{"protocol", 0, "NAME", opt_string, FIELD(push.protocol),
		.help = "of --push: pyroscope, otlp or parca (by the URL's path, if that tells)"},
	{"every", 0, "TIME", opt_duration, FIELD(push.every_ns),
		.help = "of --push: so often (" PUSH_EVERY "), and so long is a file without "
			"--switch",
		.least = "1s"},
	{"metrics", 0, "ADDRESS|FILE", opt_string, FIELD(metrics),
		.help = "the recorder's health for Prometheus: at 127.0.0.1:9188, or in a "
			"file.prom"},
	{"archive", 0, NULL, opt_flag, FIELD(archives),
		.help = "put names and lines into the file at the end, to read it anywhere"},
	{"no-archive", 0, NULL, opt_flag, FIELD(archives_nothing),
		.help = "not even those of files that will be gone"},
	{"open", 0, NULL, opt_flag, FIELD(opens),
		.help = "show it in the browser at the end, as ebprof open does"},
	{"with-source", 0, NULL, opt_flag, FIELD(opens_with_source),
		.help = "with --open: with lines and instructions of the hottest functions"},
	{"max-size", 0, "SIZE", opt_size, FIELD(max_bytes),
		.help = "stop when the file has this size", .least = "64K"},
	{"switch-output", 0, "[*|SIZE|TIME]", parse_switch, FIELD(switching),
		.help = "begin another file at SIGUSR2, after a time (30s) or at a size",
		.least = "64K", .words = switch_words},
	{"switch-max-files", 0, "N", opt_u32, FIELD(switching.max_files),
		.help = "keep only the last N of them"},
	{"with-args", 0, NULL, opt_flag, FIELD(with_args),
		.help = "store the command's arguments (they may hold secrets)"},
	{"quiet", 'q', NULL, opt_flag, FIELD(quiet), .help = "say nothing but errors"},
	{"verbose", 'v', NULL, opt_flag, FIELD(verbose), .help = "say where every tick went"},
	{"dry-run", 0, NULL, opt_flag, FIELD(dry_run), .help = "set everything up, then end"},
	{"debug-stall", 0, "TIME", opt_duration, FIELD(stall_ns),
		.help = "read nothing from the ring for so long (for tests)"},
	{"debug-archive-time", 0, "TIME", opt_duration, FIELD(gone_names_ns),
		.help = "how long names of files that will be gone may take (for tests)"},
	{0},
};

const struct opt_foreign record_options_foreign[] = {
	{"--rate", "samply's name; here it is -F HZ"},
	{"--wall", "it is -e wall"},
	{"--save-only", NULL}, /* samply's: nothing is opened but by --open */
	{"--no-open", NULL},
	{"--native", NULL}, /* py-spy's: what it asks for is always there */
	{"--subprocesses", NULL},
	{"--include-children", NULL}, /* children are followed, --no-inherit leaves them out */
	{"--nonblocking", NULL},
	{"--main-thread-only", "-t TID records one thread; ebprof report --tid chooses one"},
	{"--iteration-count", "each recording is a run: ebprof ci run, or diff OLD... -- NEW..."},
	{"--reuse-threads", "ebprof report -s comm has a row for each name"},
	{"--frequency", "it is --freq, or -F"},
	{"--presymbolicate", "ebprof archive puts names into the recording"},
	{"--unstable-presymbolicate", "ebprof archive puts names into the recording"},
	{"--profile-name", "it is called as the file is: -o FILE"},
	{"--function", "ebprof report -s sym, the standard, has functions"},
	{"--full-filenames", NULL}, /* files of functions are kept in full */
	{"--hideprogress", "it is -q"},
	{"-n", "native frames are recorded anyway"},
	{"--alloc", "it is --heap"},
	{"--live", "--heap, then ebprof report --leaks"},
	{"--sched", "kernel threads and policies are no rows; ebprof report -s thread"},
	{"--cstack", "it is --call-graph"},
	{"--lock", "-e offcpu records what waits, for locks, too"},
	{"--cswitch-markers", "-e wall records what threads wait for, too"},
	{"--switch-events", "-e wall records what threads wait for, too"},
	{"--interval", "-F HZ: 10 ms are -F 100"},
	{"--raw", "ebprof convert --folded has a line for each stack"},
	{"--jfr", "ebprof convert --list has the formats that are written"},
	{"--include", "ebprof report -S '/EXPRESSION/' chooses stacks with a function"},
	{"--exclude", "in ebprof report ! leaves stacks out"},
	{"--begin", "-D MS begins later; ebprof report --time FROM,TO is a part of it"},
	{"--end", "--duration TIME; ebprof report --time FROM,TO is a part of it"},
	{"--group", "-e '{cycles,instructions}:S' reads events together"},
	{"--pidfile", "-p \"$(cat FILE)\""},
	{"--time", "--duration TIME"},
	{"--per-cpu-threads", "ebprof report -s cpu"},
	{"-B", NULL}, /* build IDs cost nothing */
	{"--no-buildid", NULL},
	{"--coreclr", NULL}, /* its functions have names */
	{"--aio", NULL},
	{"--realtime", NULL}, /* the recorder comes before what it records */
	{"--reverse", "ebprof report -G"},
	{"--title", "ebprof convert --svg makes a picture of the recording"},
	{"--minwidth", "ebprof convert --svg makes a picture of the recording"},
	{"--kcore", NULL}, /* names of the kernel are recorded */
	{"--user-regs", "registers are not recorded"},
	{"--intr-regs", "registers are not recorded"},
	{"-I", "registers are not recorded"},
	{"--idle", "-e wall records what threads wait for, too"},
	{"--gil", "-e cpu-clock, the default, records what runs; who waits for a lock: -e offcpu"},
	{"--threads", "ebprof report -s thread shows them one by one"},
	{"--format", "a recording is written; ebprof convert makes --svg, --speedscope and others "
		     "of it"},
	{"-f", "a recording is written, an old one is kept as .old; ebprof convert makes --svg, "
	       "--speedscope and others of it"},
	{"--force", NULL},
	{"--proc-map-timeout", NULL}, /* who keeps /proc waiting is left out */
	{"-r", "perf's realtime priority or samply's rate? For the rate use -F HZ"},
	{"-b", "branch stacks are not recorded"},
	{"-j", "branch stacks are not recorded"},
	{"-d", "addresses of data are not recorded; for so many seconds: --duration 10"},
	{"-W", "only one event is sampled, with the weight of its period"},
	{"-R", "ebprof convert --json and --perf-script write all that is recorded of a sample"},
	{"-G", "it is --cgroup PATH"},
	{"-k", "times are CLOCK_MONOTONIC's"},
	{"--clockid", "times are CLOCK_MONOTONIC's"},
	{"--per-thread", "-t TID records one, ebprof report -s thread shows them one by one"},
	{"--overwrite", "--switch-output and --switch-max-files keep the newest files"},
	{"-s", NULL}, /* counts of each thread: report -s tid */
	{"-T", NULL},
	{"--timestamp", NULL},
	{"-P", NULL},
	{"--period", NULL},
	{"--sample-cpu", NULL},
	{"-z", NULL},
	{"--compression-level", NULL},
	{"-N", NULL},
	{"--no-buildid-cache", NULL},
	{"--buildid-all", NULL},
	{"--namespaces", NULL},
	{"--all-cgroups", NULL},
	{"--strict-freq", NULL},
	{"--timeout", "it is --duration TIME"},
	{0},
};

/* ---- checks ---- */

struct err *record_options_choose_target(
	const struct record_options *options, int operands, enum session_target *ret)
{
	/* -a is what -u and --cgroup are anyway, but for the others. */
	bool has_cgroups = options->cgroups.len > 0;
	int chosen = (options->pids.len > 0) + (options->tids.len > 0) +
		     (options->all || options->of_user || has_cgroups);
	if (!chosen && !operands && !options->targets_only)
		return err_new(ERR_USAGE,
			"no target: give -- COMMAND, -p PID, -u USER or -a%s (see ebprof record "
			"--help)",
			options->cpus.len ? "; -C is of each of these, -a -C has all of a CPU"
					  : "");
	if (options->targets_only &&
		(!options->label_file || has_cgroups || options->of_user || chosen > options->all))
		return err_new(ERR_USAGE, "--targets-only goes with --labels FILE, and with none "
					  "of -p, -t, -u, --container, --cgroup and --unit");
	if (has_cgroups && (chosen > 1 || options->of_user))
		return err_new(ERR_USAGE, "--container, --cgroup and --unit exclude -p, -t and -u");
	if (chosen > 1)
		return err_new(ERR_USAGE, "give one of -p, -t, -u and -a");
	/* With one of them, a command is not what is profiled: recording lasts while it runs. */
	*ret = options->pids.len       ? SESSION_PROCESSES
	       : options->tids.len     ? SESSION_THREADS
	       : options->of_user      ? SESSION_USER
	       : has_cgroups           ? SESSION_CGROUPS
	       : options->targets_only ? SESSION_LABELLED
	       : options->all          ? SESSION_SYSTEM
				       : SESSION_COMMAND;
	return NULL;
}

static struct err *check_events(struct record_options *options)
{
	struct record_events *events = &options->events;
	if (options->with_wakers && !(events->waits & SESSION_WAIT_OFF_CPU))
		return err_new(ERR_USAGE, "--wakers goes with waits: give -e offcpu or -e wall");
	bool has_probes = events->usdt.len || events->has_functions || events->has_tracepoints ||
			  events->has_syscalls;
	if (!has_probes && !events->waits && !events->has_counters && !options->heap_bytes)
		return NULL;
	if (!events->is_timer_given)
		events->timer = SESSION_EVENT_NONE;
	if (options->cpus.len && (has_probes || events->waits || options->heap_bytes))
		return err_new(ERR_USAGE, "-C chooses CPUs of the timer and of counted events; "
					  "waits and probes are on any");
	if (options->call_graph.how == SESSION_CALL_GRAPH_BOTH)
		return err_new(ERR_USAGE, "--call-graph both compares ticks, not other events");
	if (events->timer == SESSION_EVENT_NONE && !events->has_counters &&
		(options->frequency_given || (options->period > 1 && !events->has_tracepoints)))
		return err_new(ERR_USAGE, "-F and -c are the timer's: give -e cpu-clock, too; of "
					  "probes every hit is a sample");
	return NULL;
}

/* Those that have no period and no frequency of their own, and are not just counted with another
 * one. */
static void rate_events(struct record_options *options)
{
	struct event_specs *specs = &options->events.specs;
	for (size_t i = 0; i < specs->len; i++) {
		struct event_spec *spec = &specs->data[i];
		if (spec->period || spec->frequency_hz || event_spec_leader(specs->data, i) != i)
			continue;
		spec->period = options->period;
		spec->frequency_hz = options->frequency_hz;
	}
}

/* Only walks by tables know where an interpreter's loop is. */
static struct err *check_usdt_stacks(const struct record_options *options)
{
	if (!options->usdt_stacks)
		return NULL;
	if (options->call_graph.how != SESSION_CALL_GRAPH_AUTO)
		return err_new(ERR_USAGE, "--usdt-stacks goes with --call-graph auto only");
	if (options->unwanted_runtimes)
		return err_new(ERR_USAGE, "--usdt-stacks and --no-vm exclude each other");
	return NULL;
}

static bool has_switch(const struct record_options *options)
{
	const struct session_switch *switching = &options->switching;
	return switching->on_signal || switching->bytes || switching->interval_ns;
}

bool record_options_keep_files(const struct record_options *options)
{
	return options->archives || (!options->archives_nothing && !has_switch(options) &&
					    strcmp(options->output, "-") != 0);
}

static struct err *check_ring_push(struct record_options *options)
{
	static const struct opt no_limits = {.long_name = "push"};
	struct push_child_options *push = &options->push;
	if (!push->url)
		return push->protocol || push->every_ns
			       ? err_new(ERR_USAGE, "--protocol and --every go with --push URL")
			       : NULL;
	if (!options->ring.folder)
		return err_new(ERR_USAGE, "--push goes with --ring DIR, where files are kept until "
					  "the server took them");
	if (!push->every_ns)
		try(opt_duration(&no_limits, PUSH_EVERY, &push->every_ns));
	if (!options->switching.interval_ns && !options->switching.bytes)
		options->switching.interval_ns = push->every_ns;
	push->folder = options->ring.folder;
	return NULL;
}

/* Fills in what a ring has unasked. */
static struct err *check_file_ring(struct record_options *options)
{
	struct session_ring *ring = &options->ring;
	if (!ring->folder)
		return ring->keep_bytes || ring->keep_ns || ring->takes_over
			       ? err_new(ERR_USAGE, "--keep and --take-over go with --ring DIR")
			       : NULL;
	if (!ring->folder[0])
		return err_new(ERR_USAGE, "--ring needs the name of a folder");
	if (strcmp(options->output, INPUT_USUAL) != 0)
		return err_new(ERR_USAGE, "--ring and --output exclude each other");
	if (options->max_bytes || options->switching.max_files)
		return err_new(ERR_USAGE, "--ring goes with --keep, which excludes --max-size and "
					  "--switch-max-files");
	static const struct opt no_limits = {.long_name = "ring"};
	if (!ring->keep_bytes && !ring->keep_ns)
		try(parse_keep(&no_limits, RING_KEEP, ring));
	if (!options->switching.interval_ns && !options->switching.bytes)
		try(opt_duration(&no_limits, RING_SWITCH, &options->switching.interval_ns));
	/* What is being written cannot be removed: it must not be all there is. */
	uint64_t most = ring->keep_bytes / 8;
	if (most && (!options->switching.bytes || options->switching.bytes > most))
		options->switching.bytes = most;
	options->output = ring->folder;
	return NULL;
}

struct err *record_options_check(struct record_options *options, enum session_target target)
{
	try(check_ring_push(options));
	try(check_file_ring(options));
	if (options->frequency_given && options->period)
		return err_new(ERR_USAGE, "-F and -c exclude each other");
	if (options->tree && target != SESSION_PROCESSES)
		return err_new(ERR_USAGE, "--tree goes with -p PID");
	try(check_events(options));
	try(check_usdt_stacks(options));
	bool is_system = session_target_is_system_wide(target);
	if (options->period)
		options->frequency_hz = 0;
	else if (!options->frequency_given && is_system)
		options->frequency_hz = (uint32_t)atoi(SYSTEM_HZ);
	rate_events(options);
	if (options->events.timer == SESSION_EVENT_NONE)
		options->frequency_hz = 0;
	if (options->all_user && options->all_kernel)
		return err_new(ERR_USAGE, "--all-user and --all-kernel exclude each other");
	bool switches = has_switch(options);
	if (switches && strcmp(options->output, "-") == 0)
		return err_new(ERR_USAGE, "--switch-output needs a file, not standard output");
	if (options->opens_with_source && !options->opens)
		return err_new(ERR_USAGE, "--with-source goes with --open");
	if (options->opens && strcmp(options->output, "-") == 0)
		return err_new(ERR_USAGE, "--open needs a file, not standard output");
	if (options->opens && switches)
		return err_new(ERR_USAGE, "--open and --switch-output or --ring exclude each "
					  "other: use ebprof open on the files");
	if (options->archives && options->archives_nothing)
		return err_new(ERR_USAGE, "--archive and --no-archive exclude each other");
	if (options->archives && strcmp(options->output, "-") == 0)
		return err_new(ERR_USAGE, "--archive needs a file, not standard output");
	if (options->archives && switches)
		return err_new(ERR_USAGE, "--archive and --switch-output or --ring exclude each "
					  "other: use ebprof archive on the files");
	return NULL;
}

void record_options_deinit(struct record_options *options)
{
	vec_deinit(&options->pids);
	vec_deinit(&options->tids);
	cgroup_option_deinit(&options->cgroups);
	vec_deinit(&options->label_variables);
	vec_deinit(&options->cpus);
	vec_deinit(&options->events.usdt);
	event_specs_deinit(&options->events.specs);
}
