#include "format/import/import_perf.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/import/perf_header.h"
#include "format/import/perf_records.h"
#include "format/import/perf_sample.h"
#include "format/import/perf_tasks.h"

enum {
	USUAL_MAX_STACK = 127, /* kernel.perf_event_max_stack */
	BRANCH_CALL_STACK = 1 << 11,
	ABI_64 = 2,
	BRANCH_BYTES = 24,
};

/* perf's numbers of registers, as those of DWARF. */
struct perf_machine {
	const char *name;
	uint8_t dwarf_of[LAYOUT_MAX_REGISTERS]; /* by perf's number */
	uint8_t count;
	uint8_t sp, ip; /* of DWARF */
};

enum {
	NO_REGISTER = UINT8_MAX,
};

/* arch/x86/include/uapi/asm/perf_regs.h, arch/arm64/include/uapi/asm/perf_regs.h of the kernel. */
static const struct perf_machine machines[] = {
	{"x86_64",
		{0, 3, 2, 1, 4, 5, 6, 7, 16, NO_REGISTER, NO_REGISTER, NO_REGISTER, NO_REGISTER,
			NO_REGISTER, NO_REGISTER, NO_REGISTER, 8, 9, 10, 11, 12, 13, 14, 15},
		24, 7, 16},
	{"aarch64",
		{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,
			23, 24, 25, 26, 27, 28, 29, 30, 31, 32},
		33, 31, 32},
};

struct code_address {
	size_t process;
	uint64_t address, first_ns;
};

struct import_perf {
	const struct import_file *file;
	struct import_output *output;
	struct import_result *result;
	struct perf_header header;
	struct perf_records records;
	struct perf_tasks tasks;
	const struct perf_machine *machine; /* NULL: its registers are not known */
	VEC(uint32_t) events;               /* of each of the header's, in the recording */
	uint32_t source;
	VEC(uint64_t) addresses; /* of the chain that is being read */
	struct map symbols;      /* of the kernel, that are in the recording */
	uint64_t nr_samples, nr_lost, nr_bad, nr_eventless, nr_unknown_registers;
	uint64_t nr_kernel_unnamed;
	VEC(struct code_address) code; /* places in code that processes made */
	uint64_t nr_code_named, nr_code_latest, nr_code_unread;
	uint64_t last_ns; /* of the samples */
};

bool import_perf_is(const uint8_t *head, size_t len)
{
	return len >= PERF_MAGIC_BYTES && (memcmp(head, PERF_MAGIC, PERF_MAGIC_BYTES) == 0 ||
						  memcmp(head, "2ELIFREP", PERF_MAGIC_BYTES) == 0);
}

/* ---- what was recorded ---- */

static void write_perf_meta(struct import_perf *perf)
{
	const struct perf_header *header = &perf->header;
	struct import_output *output = perf->output;
	CLEANUP(str_deinit) struct str cpus = {0}, recorder = {0};
	if (header->version)
		str_printf(&recorder, "perf %s", header->version);
	if (header->cpus)
		str_printf(&cpus, "%u", header->cpus);
	import_output_meta(output, LAYOUT_META_NOTE, str_text(&recorder));
	import_output_meta(output, LAYOUT_META_HOST, header->host);
	import_output_meta(output, LAYOUT_META_KERNEL, header->kernel);
	import_output_meta(output, LAYOUT_META_ARCH, header->arch);
	import_output_meta(output, LAYOUT_META_CPUS, str_text(&cpus));
	if (header->is_of_system)
		import_output_meta(output, LAYOUT_META_TARGET, LAYOUT_TARGET_SYSTEM);
	else
		import_output_meta(output, LAYOUT_META_COMMAND, header->command);
	import_output_meta(output, LAYOUT_META_ARGS, header->args);
	if (header->has_clock)
		writer_clock(output->writer, &header->clock);
	for (size_t i = 0; header->arch && i < sizeof(machines) / sizeof(*machines); i++)
		if (strcmp(header->arch, machines[i].name) == 0)
			perf->machine = &machines[i];
}

/* Clocks count ns, whatever perf calls its period; all others count events of their name. */
static void write_perf_event(struct import_perf *perf, const struct perf_event *event)
{
	CLEANUP(str_deinit) struct str name = {0};
	perf_header_put_name(event, &name);
	bool is_clock = strncmp(str_text(&name), "cpu-clock", 9) == 0 ||
			strncmp(str_text(&name), "task-clock", 10) == 0;
	bool is_varying = event->sample_type & PERF_HAS_PERIOD || event->frequency_hz;
	struct layout_event out = {
		.name = import_output_text(perf->output, str_text(&name)),
		.unit = import_output_text(
			perf->output, is_clock ? LAYOUT_UNIT_NS : str_text(&name)),
		.period = is_varying ? 0 : event->period,
		.frequency_hz = event->frequency_hz,
		.source = perf->source,
	};
	vec_push(&perf->events, writer_event(perf->output->writer, &out));
}

/* ---- stacks ---- */

static void name_kernel_frame(
	struct import_perf *perf, uint32_t object, uint64_t offset, uint64_t address)
{
	const struct import_host *host = perf->file->host;
	const struct import_kernel *kernel = &perf->tasks.kernel_info;
	struct import_symbol symbol;
	if (object != perf->tasks.kernel_object)
		return;
	if (!host->kernel_symbol || !host->kernel_symbol(host->context, kernel, address, &symbol) ||
		symbol.address < kernel->object.base || symbol.address > address) {
		perf->nr_kernel_unnamed++;
		return;
	}
	bool is_new;
	map_put(&perf->symbols, symbol.address, &is_new);
	if (is_new)
		writer_symbol(perf->output->writer,
			&(struct layout_symbol){.object = object,
				.offset = offset - (address - symbol.address),
				.size = symbol.size,
				.name = import_output_text(perf->output, symbol.name)});
}

/* `is_call`: the address is that behind a call, which is what frames are about. */
static uint32_t kernel_frame(struct import_perf *perf, uint64_t address, bool is_call)
{
	bool is_new;
	uint64_t offset, at = address - (is_call && address);
	uint32_t object = perf_tasks_kernel_object(&perf->tasks, at, &offset);
	uint32_t frame = import_output_frame(
		perf->output, &(struct layout_frame){.object = object, .offset = offset}, &is_new);
	if (is_new)
		name_kernel_frame(perf, object, offset, at);
	return frame;
}

/* What is behind a call the kernel found by frame pointers: it may have skipped callers. */
static uint32_t user_frame(
	struct import_perf *perf, size_t process, uint64_t address, bool is_call, uint64_t time_ns)
{
	bool is_new;
	uint64_t offset, at = address - (is_call && address);
	uint32_t object = perf_tasks_user_object(&perf->tasks, process, at, &offset);
	struct layout_frame out = {
		.object = object,
		.offset = offset,
		.flags = is_call ? LAYOUT_FRAME_GUESSED : 0,
	};
	uint32_t frame = import_output_frame(perf->output, &out, &is_new);
	if (is_new && object == perf->tasks.processes.data[process].code)
		vec_push(&perf->code, (struct code_address){process, at, time_ns});
	return frame;
}

/* What a sample's chain is made of: the addresses of one side, the innermost first. */
struct chain_part {
	size_t first, count; /* in perf->addresses */
};

struct chain_parts {
	struct chain_part kernel, user;
	bool are_calls; /* user: all of them, the first one too, stand in call instructions */
};

static void add_to_part(struct import_perf *perf, struct chain_part *part, uint64_t address)
{
	if (!part->count)
		part->first = perf->addresses.len;
	vec_push(&perf->addresses, address);
	part->count++;
}

/* Hypervisors and guests have no names here: their addresses are left out. */
static void split_chain(struct import_perf *perf, struct bytes_cursor chain, bool is_user,
	struct chain_parts *parts)
{
	struct chain_part *part = is_user ? &parts->user : &parts->kernel;
	struct chain_part others = {0};
	while (bytes_left(&chain)) {
		uint64_t address = bytes_get_u64(&chain);
		if (address < (uint64_t)PERF_SIDE_LAST) {
			if (part != &others)
				add_to_part(perf, part, address);
			continue;
		}
		part = (int64_t)address == PERF_SIDE_KERNEL ? &parts->kernel
		       : (int64_t)address == PERF_SIDE_USER ? &parts->user
							    : &others;
		if (part->count) /* a side comes once; what comes again is none of ours */
			part = &others;
	}
}

/*
 * --call-graph lbr: the CPU noted the calls that did not return yet, the last one first. The user's
 * addresses are where the last one went, or the sample's, and where each came from.
 */
static void take_branches(
	struct import_perf *perf, struct perf_sample *sample, struct chain_parts *parts)
{
	parts->user = (struct chain_part){0};
	for (bool is_first = true; bytes_left(&sample->branches) >= BRANCH_BYTES;
		is_first = false) {
		uint64_t from = bytes_get_u64(&sample->branches);
		uint64_t to = bytes_get_u64(&sample->branches);
		bytes_get_u64(&sample->branches);
		if (is_first)
			add_to_part(perf, &parts->user, parts->kernel.count ? to : sample->ip);
		add_to_part(perf, &parts->user, from);
	}
	parts->are_calls = true;
}

/*
 * Without the outermost addresses that are none of code, where frame pointers led astray. What is
 * further in may be of a compiler that changed its memory's protection, which perf does not see.
 */
static size_t count_to_code(
	const struct import_perf *perf, size_t process, const struct chain_part *part)
{
	const struct perf_space *space = perf->tasks.processes.data[process].space;
	size_t count = part->count;
	while (count && !perf_space_find(
				space, perf->addresses.data[part->first + count - 1] - (count > 1)))
		count--;
	return count ? count : part->count; /* of this process mappings are not known */
}

static uint32_t put_user_part(struct import_perf *perf, const struct chain_parts *parts,
	size_t process, uint64_t time_ns, enum layout_truncation cut)
{
	uint32_t node = 0;
	size_t count = parts->user.count;
	size_t to_code = count_to_code(perf, process, &parts->user);
	if (to_code < count) {
		count = to_code;
		cut = LAYOUT_TRUNCATED_NO_MAPPING;
	}
	if (count > IMPORT_MAX_DEPTH) {
		count = IMPORT_MAX_DEPTH;
		cut = LAYOUT_TRUNCATED_DEPTH;
	}
	if (cut)
		node = import_output_node(perf->output, 0, import_output_cut(perf->output, cut));
	for (size_t i = count; i-- > 0;) {
		uint64_t address = perf->addresses.data[parts->user.first + i];
		bool is_behind_call = i && !parts->are_calls;
		node = import_output_node(perf->output, node,
			user_frame(perf, process, address, is_behind_call, time_ns));
	}
	return node;
}

static uint32_t put_kernel_part(struct import_perf *perf, const struct chain_parts *parts)
{
	uint32_t node = 0;
	size_t count = parts->kernel.count;
	for (size_t i = count > IMPORT_MAX_DEPTH ? IMPORT_MAX_DEPTH : count; i-- > 0;)
		node = import_output_node(perf->output, node,
			kernel_frame(perf, perf->addresses.data[parts->kernel.first + i], i > 0));
	return node;
}

/*
 * perf says not that a chain is cut, but the kernel takes no more than so many addresses; and where
 * it was asked for a chain and found no caller, there was no frame pointer to begin with.
 */
static enum layout_truncation cut_of_chain(const struct perf_event *event,
	const struct perf_sample *sample, const struct chain_parts *parts)
{
	size_t max = event->max_stack ? event->max_stack : USUAL_MAX_STACK;
	if (parts->user.count && parts->user.count + parts->kernel.count >= max)
		return LAYOUT_TRUNCATED_DEPTH;
	return sample->has_chain && parts->user.count == 1 ? LAYOUT_TRUNCATED_FRAME_POINTER
							   : LAYOUT_COMPLETE;
}

/* ---- copies of stacks ---- */

/* Registers by DWARF's numbers; false: those of this machine are not known. */
static bool take_perf_registers(struct import_perf *perf, const struct perf_event *event,
	struct perf_sample *sample, struct layout_snapshot *snapshot)
{
	const struct perf_machine *machine = perf->machine;
	if (!machine || sample->abi != ABI_64)
		return false;
	for (unsigned i = 0; i < 64; i++) {
		if (!(event->registers >> i & 1))
			continue;
		uint64_t value = bytes_get_u64(&sample->registers);
		if (i >= machine->count || machine->dwarf_of[i] == NO_REGISTER)
			continue;
		snapshot->known |= 1ULL << machine->dwarf_of[i];
		snapshot->registers[machine->dwarf_of[i]] = value;
	}
	uint64_t needed = 1ULL << machine->sp | 1ULL << machine->ip;
	return (snapshot->known & needed) == needed;
}

/* The marker below says that the recorder stopped, and the snapshot goes on from there. */
static void put_snapshot(struct import_perf *perf, const struct perf_event *event,
	struct perf_sample *sample, uint32_t process, struct layout_sample *out)
{
	struct layout_snapshot snapshot = {
		.process = process,
		.time_ns = sample->time_ns,
		.is_exact = true,
		.stack = sample->stack,
		.stack_bytes = sample->stack_bytes > LAYOUT_MAX_SNAPSHOT_BYTES
				       ? LAYOUT_MAX_SNAPSHOT_BYTES
				       : (uint32_t)sample->stack_bytes,
	};
	enum layout_truncation cut = LAYOUT_TRUNCATED_NO_TABLE;
	if (take_perf_registers(perf, event, sample, &snapshot)) {
		snapshot.stack_address = snapshot.registers[perf->machine->sp];
		out->snapshot = writer_snapshot(perf->output->writer, &snapshot);
	} else {
		perf->nr_unknown_registers++;
		cut = LAYOUT_TRUNCATED_NO_REGISTERS;
	}
	out->user_stack = import_output_node(perf->output, 0, import_output_cut(perf->output, cut));
}

/* ---- samples ---- */

static void put_stacks_of(struct import_perf *perf, const struct perf_event *event,
	struct perf_sample *sample, bool is_user, size_t process, struct layout_sample *out)
{
	struct chain_parts parts = {0};
	perf->addresses.len = 0;
	if (sample->has_chain)
		split_chain(perf, sample->chain, is_user, &parts);
	else if (event->sample_type & PERF_HAS_IP)
		add_to_part(perf, is_user ? &parts.user : &parts.kernel, sample->ip);
	enum layout_truncation cut = cut_of_chain(event, sample, &parts);
	if (event->branch_type & BRANCH_CALL_STACK && bytes_left(&sample->branches)) {
		take_branches(perf, sample, &parts);
		cut = LAYOUT_COMPLETE; /* it was the chain's, in whose place these are */
	}
	out->kernel_stack = put_kernel_part(perf, &parts);
	if (sample->abi && sample->stack)
		put_snapshot(perf, event, sample, perf->tasks.processes.data[process].id, out);
	else
		out->user_stack = put_user_part(perf, &parts, process, sample->time_ns, cut);
}

static void take_perf_sample(struct import_perf *perf, struct perf_record *record)
{
	const struct perf_event *event = perf_records_event(
		&perf->header, PERF_TYPE_SAMPLE, record->body.pos, bytes_left(&record->body));
	struct perf_sample sample;
	if (!event) {
		perf->nr_eventless++;
		return;
	}
	if (!perf_sample_read(event, &record->body, &sample)) {
		perf->nr_bad++;
		return;
	}
	size_t process = perf_tasks_sampled(&perf->tasks, sample.pid, sample.time_ns);
	perf->last_ns = sample.time_ns > perf->last_ns ? sample.time_ns : perf->last_ns;
	unsigned mode = record->misc & PERF_MODE_MASK;
	struct layout_sample out = {
		.time_ns = sample.time_ns,
		.event = perf->events.data[event - perf->header.events.data],
		.cpu = sample.cpu < LAYOUT_MAX_CPUS ? sample.cpu : 0,
		.weight = sample.period,
		.thread = import_output_thread(perf->output, perf->tasks.processes.data[process].id,
			sample.tid, perf_tasks_name(&perf->tasks, sample.pid, sample.tid)),
	};
	if (!(event->sample_type & PERF_HAS_PERIOD) && !event->frequency_hz)
		out.weight = 1; /* the event tells its period */
	put_stacks_of(perf, event, &sample, mode != PERF_MODE_KERNEL, process, &out);
	import_output_sample(perf->output, &out);
	perf->nr_samples++;
}

static void take_lost(struct import_perf *perf, struct perf_record *record)
{
	if (record->type == PERF_TYPE_LOST)
		bytes_get_u64(&record->body); /* the id of the event */
	perf->nr_lost += bytes_get_u64(&record->body);
}

static struct err *take_perf_records(struct import_perf *perf)
{
	for (size_t i = 0; i < perf->records.places.len; i++) {
		struct perf_record record;
		try(perf_records_get(&perf->records, i, &record));
		if (record.type == PERF_TYPE_SAMPLE)
			take_perf_sample(perf, &record);
		else if (record.type == PERF_TYPE_LOST || record.type == PERF_TYPE_LOST_SAMPLES)
			take_lost(perf, &record);
		else
			perf->nr_bad += !perf_tasks_take(&perf->tasks, &record);
	}
	return NULL;
}

/* ---- functions of code that processes made ---- */

struct code_naming {
	struct import_perf *perf;
	uint32_t object;
	const struct import_code *code;
	size_t *unnamed; /* of each address and the end: itself, or one that is nearer to the next
			    without a name */
};

/* The index of the first address from `from` on that has no name yet. */
static size_t next_unnamed(size_t *unnamed, size_t from)
{
	for (; unnamed[from] != from; from = unnamed[from])
		unnamed[from] = unnamed[unnamed[from]];
	return from;
}

static size_t first_address_from(const struct import_code *code, uint64_t address)
{
	size_t low = 0, high = code->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (code->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many have a name by this symbol that had none. Symbols may overlap: their writer's are
 * anything. */
static size_t name_addresses_in(struct code_naming *naming, const struct import_symbol *symbol)
{
	const struct import_code *code = naming->code;
	size_t count = 0;
	size_t at = next_unnamed(naming->unnamed, first_address_from(code, symbol->address));
	for (; at < code->count && code->addresses[at] - symbol->address < symbol->size; count++) {
		naming->unnamed[at] = at + 1;
		at = next_unnamed(naming->unnamed, at);
	}
	return count;
}

static void put_code_symbol(void *context, const struct import_symbol *symbol)
{
	struct code_naming *naming = context;
	struct import_output *output = naming->perf->output;
	size_t count = name_addresses_in(naming, symbol);
	naming->perf->nr_code_named += count;
	naming->perf->nr_code_latest += symbol->is_latest ? count : 0;
	writer_symbol(output->writer, &(struct layout_symbol){.object = naming->object,
					      .offset = symbol->address,
					      .size = symbol->size,
					      .name = import_output_text(output, symbol->name)});
}

static int compare_code_addresses(const void *a, const void *b)
{
	const struct code_address *x = a, *y = b;
	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* Of one process, by address. */
static void name_code_of(struct import_perf *perf, const struct code_address *list, size_t count)
{
	const struct import_host *host = perf->file->host;
	const struct perf_process *process = &perf->tasks.processes.data[list->process];
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE uint64_t *first_ns = mem_zalloc_array(count, sizeof(*first_ns));
	CLEANUP_FREE size_t *unnamed = mem_zalloc_array(count + 1, sizeof(*unnamed));
	for (size_t i = 0; i < count; i++) {
		addresses[i] = list[i].address;
		first_ns[i] = list[i].first_ns;
		unnamed[i] = i;
	}
	unnamed[count] = count;
	const struct import_code code = {.host = perf->header.host,
		.pid = process->pid,
		.program_age_ns = process->image_ns ? perf->last_ns - process->image_ns : 0,
		.addresses = addresses,
		.first_ns = first_ns,
		.count = count};
	struct code_naming naming = {perf, process->code, &code, unnamed};
	perf->nr_code_unread += host->code_symbols(host->context, &code, put_code_symbol, &naming);
}

static void name_code(struct import_perf *perf)
{
	struct code_address *all = perf->code.data;
	size_t count = perf->code.len;
	if (!count || !perf->file->host->code_symbols)
		return;
	qsort(all, count, sizeof(*all), compare_code_addresses);
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && all[end].process == all[first].process; end++)
			;
		name_code_of(perf, all + first, end - first);
	}
}

/* ---- what became of it ---- */

static void put_perf_counters(struct import_perf *perf)
{
	const struct {
		enum layout_event_counter counter;
		uint64_t count;
	} counts[] = {
		{LAYOUT_EVENTS, perf->nr_samples + perf->nr_lost},
		{LAYOUT_EVENTS_SAMPLES, perf->nr_samples},
		{LAYOUT_EVENTS_LOST_RING, perf->nr_lost},
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		writer_event_tally(
			perf->output->writer, &(struct layout_event_tally){.source = perf->source,
						      .counter = counts[i].counter,
						      .count = counts[i].count,
						      .sum = counts[i].count});
}

static void note_count(struct str *notes, uint64_t count, const char *one, const char *many)
{
	if (count)
		str_printf(notes, "%llu %s\n", (unsigned long long)count,
			str_plural(count, one, many));
}

static void put_perf_notes(const struct import_perf *perf)
{
	const struct perf_tasks *tasks = &perf->tasks;
	struct str *notes = &perf->result->notes;
	if (perf->records.is_cut)
		str_printf(notes, "it is cut at offset %llu; what stands before is read\n",
			(unsigned long long)perf->records.cut_offset);
	else if (perf->header.is_unfinished)
		str_puts(
			notes, "perf was stopped before it wrote which files and host these are\n");
	note_count(notes, perf->nr_eventless, "sample of no event that it names is left out",
		"samples of no event that it names are left out");
	note_count(notes, perf->nr_bad, "record is shorter than its event has it, and left out",
		"records are shorter than their events have them, and left out");
	note_count(notes, tasks->nr_left_out,
		"mapping is left out, it is empty or one too many: its code has no names",
		"mappings are left out, they are empty or too many: their code has no names");
	note_count(notes, perf->nr_unknown_registers,
		"user stack cannot be unwound: its registers are of an unknown machine",
		"user stacks cannot be unwound: their registers are of an unknown machine");
	note_count(notes, tasks->nr_without_id - tasks->nr_same,
		"mapped file has no build ID in it, and is not known to be the one that is here: "
		"its "
		"code has no names; perf record --buildid-mmap keeps them",
		"mapped files have no build IDs in it, and are not known to be those that are "
		"here: "
		"their code has no names; perf record --buildid-mmap keeps them");
	note_count(notes, perf->nr_kernel_unnamed,
		"place in the kernel has no name: it has no symbols, and they are not those of the "
		"kernel that runs here",
		"places in the kernel have no names: it has no symbols, and they are not those of "
		"the "
		"kernel that runs here, or /proc/kallsyms hides them");
	uint64_t nr_code_unnamed = perf->code.len - perf->nr_code_named;
	uint64_t unread =
		perf->nr_code_unread < nr_code_unnamed ? perf->nr_code_unread : nr_code_unnamed;
	note_count(notes, nr_code_unnamed - unread,
		"place in code that a process made has no name: its /tmp/perf-PID.map is not here, "
		"changed since, or is older than the process",
		"places in code that processes made have no names: their /tmp/perf-PID.map are not "
		"here, changed since, or are older than the processes");
	note_count(notes, unread,
		"place in code that a process made has no name: its /tmp/perf-PID.map is too large",
		"places in code that processes made have no names: their /tmp/perf-PID.map are too "
		"large");
	note_count(notes, perf->nr_code_latest,
		"place in code that a process made had several functions: the last one is named",
		"places in code that processes made had several functions: the last ones are "
		"named");
}

static struct err *read_perf(struct import_perf *perf)
{
	struct import_output *output = perf->output;
	try(perf_header_read(&perf->header, perf->file));
	try(perf_records_list(&perf->records, perf->file, &perf->header));
	if (!perf->header.events.len)
		return err_new(ERR_FORMAT, "it has no events");
	write_perf_meta(perf);
	perf->source = import_output_text(output, "perf");
	vec_each(&perf->header.events, event)
		write_perf_event(perf, event);
	try(take_perf_records(perf));
	name_code(perf);
	put_perf_counters(perf);
	perf->result->is_whole = !perf->records.is_cut && !perf->header.is_unfinished;
	put_perf_notes(perf);
	return NULL;
}

struct err *import_perf_read(
	const struct import_file *file, struct import_output *output, struct import_result *result)
{
	struct import_perf perf = {.file = file, .output = output, .result = result};
	uint8_t first;
	if (pread(file->fd, &first, 1, 0) == 1 && first == '2')
		return err_new(ERR_UNSUPPORTED,
			"it was recorded on a big-endian machine, whose byte order is not read");
	perf_tasks_init(&perf.tasks, output, file, &perf.header);
	struct err *err = read_perf(&perf);
	perf_records_deinit(&perf.records);
	perf_tasks_deinit(&perf.tasks);
	perf_header_deinit(&perf.header);
	vec_deinit(&perf.events);
	vec_deinit(&perf.addresses);
	vec_deinit(&perf.code);
	map_deinit(&perf.symbols);
	return err;
}
