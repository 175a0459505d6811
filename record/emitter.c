#include "record/emitter.h"

#include <string.h>

#include "format/base/cgroup_path.h"
#include "format/base/str.h"
#include "format/elf/elf_symbols.h"
#include "record/host/proc.h"

void emitter_init(struct emitter *emitter, struct kernel *kernel, struct jit_table *jit,
	struct stack_table *stacks)
{
	*emitter = (struct emitter){.kernel = kernel, .jit = jit, .stacks = stacks};
}

void emitter_deinit(struct emitter *emitter)
{
	object_ids_deinit(&emitter->objects);
	map_deinit(&emitter->threads);
	map_deinit(&emitter->thread_ids);
	vec_deinit(&emitter->names_of_threads);
	vec_deinit(&emitter->unnamed);
	map_deinit(&emitter->kernel_symbols);
}

void emitter_begin_file(struct emitter *emitter, struct writer *writer)
{
	emitter->writer = writer;
	emitter->objects.epoch = ++emitter->epoch;
	map_clear(&emitter->threads);
	emitter->names_of_threads.len = 0;
	map_clear(&emitter->thread_ids);
	emitter->unnamed.len = 0;
	emitter->mappings_beyond = 0;
	map_clear(&emitter->kernel_symbols);
	jit_table_forget_wanted(emitter->jit);
	if (emitter->labels)
		label_table_begin_file(emitter->labels);
}

static uint32_t emitter_put_string(struct emitter *emitter, const char *text)
{
	return writer_string(emitter->writer, text, strlen(text));
}

struct vdso_emission {
	struct emitter *emitter;
	uint32_t object;
};

static void emit_vdso_symbol(void *context, const struct elf_symbol *symbol, const char *name)
{
	const struct vdso_emission *emission = context;
	writer_symbol(emission->emitter->writer,
		&(struct layout_symbol){.object = emission->object,
			.offset = symbol->address,
			.size = symbol->size,
			.name = emitter_put_string(emission->emitter, name)});
}

/* Its image is part of the running kernel, so its few symbols are captured, all of them. */
static void emit_vdso_symbols(struct emitter *emitter, const struct object *vdso)
{
	struct vdso_emission emission = {emitter, object_ids_get(&emitter->objects, vdso)};
	process_vdso_symbols(emit_vdso_symbol, &emission);
}

static uint32_t emit_object(
	struct emitter *emitter, struct object *object, const struct object_location *where)
{
	uint32_t known = object_ids_get(&emitter->objects, object);
	if (known)
		return known;
	object_examine(object, where);
	struct layout_object info = object->info;
	info.path = emitter_put_string(emitter, object->path);
	uint32_t id = writer_object(emitter->writer, &info);
	object_ids_put(&emitter->objects, object, id);
	if (object->info.kind == LAYOUT_OBJECT_VDSO)
		emit_vdso_symbols(emitter, object);
	return id;
}

/*
 * A process chooses how much it maps and how often it does: few are always written, more of them
 * while the file has room for processes that have many.
 */
static bool may_write_mapping(struct emitter *emitter, struct process *process)
{
	enum {
		FREE_OF_PROCESS = 128,
		MAX_OF_PROCESS = 16 << 10,
		MAX_BEYOND_FREE = 256 << 10,
	};
	bool is_free = process->mappings_written < FREE_OF_PROCESS;
	bool may = is_free || (process->mappings_written < MAX_OF_PROCESS &&
				      emitter->mappings_beyond < MAX_BEYOND_FREE);
	process->mappings_written += may;
	emitter->mappings_beyond += may && !is_free;
	emitter->mappings_left_out += !may;
	return may;
}

void emitter_mapping(
	struct emitter *emitter, struct process *process, const struct mapping *mapping)
{
	if (!may_write_mapping(emitter, process))
		return;
	struct object_location where = {process->pid, mapping->start, mapping->end};
	struct object *object = jit_table_object_of(emitter->jit, process, mapping);
	if (emitter->kept_files) {
		object->where = where;
		kept_files_add(emitter->kept_files, object, emitter->jit->objects);
	}
	struct layout_mapping out = {
		.process = process->file_id,
		.object = emit_object(emitter, object, &where),
		.start = mapping->start,
		.length = mapping->end - mapping->start,
		.offset = mapping->offset,
		.time_ns = mapping->time_ns,
	};
	writer_mapping(emitter->writer, &out);
}

/* Programs are mapped below their libraries and their loader, on every layout of Linux. */
static uint32_t emit_program(struct emitter *emitter, const struct process *process)
{
	const struct mapping *program = process->program.object ? &process->program : NULL;
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));) {
		program = mapping;
		if (mapping->object->info.kind == LAYOUT_OBJECT_FILE)
			break;
	}
	if (!program || program->object->info.kind != LAYOUT_OBJECT_FILE)
		return 0;
	struct object_location where = {process->pid, program->start, program->end};
	return emit_object(emitter, program->object, &where);
}

static uint32_t emitter_put_process(struct emitter *emitter, struct process *process)
{
	if (process->file_epoch == emitter->epoch)
		return process->file_id;
	process_refresh(process);
	CLEANUP(str_deinit) struct str container = {0};
	cgroup_put_container(process->cgroup, &container);
	struct layout_process out = {
		.pid = process->pid,
		.ns_pid = process->ns_pid == process->pid ? 0 : process->ns_pid,
		.parent_pid = process->parent_pid,
		.start_ns = process->start_ns,
		.cgroup = emitter_put_string(emitter, process->cgroup),
		.container = emitter_put_string(emitter, str_text(&container)),
	};
	out.exe = emit_program(emitter, process);
	process->file_id = writer_process(emitter->writer, &out);
	process->file_epoch = emitter->epoch;
	process->mappings_written = 0;
	struct mapping_cursor cursor = {0};
	for (const struct mapping *mapping;
		(mapping = mapping_table_next(&process->mappings, &cursor));)
		emitter_mapping(emitter, process, mapping);
	return process->file_id;
}

uint32_t emitter_thread(
	struct emitter *emitter, struct process *process, uint32_t tid, const char *comm)
{
	uint32_t process_id = emitter_put_process(emitter, process);
	uint64_t *newest = map_put(&emitter->threads, (uint64_t)process->image << 32 | tid, NULL);
	for (uint32_t i = (uint32_t)*newest; i; i = emitter->names_of_threads.data[i - 1].older) {
		struct emitter_thread *thread = &emitter->names_of_threads.data[i - 1];
		if (thread->process == process_id &&
			memcmp(thread->comm, comm, sizeof(thread->comm)) == 0)
			return thread->file_id;
	}
	map_put(&emitter->thread_ids, (uint64_t)process->pid << 32 | tid, NULL);
	struct emitter_thread thread = {.older = (uint32_t)*newest, .process = process_id};
	memcpy(thread.comm, comm, sizeof(thread.comm));
	const char *name = emitter->thread_names
				   ? thread_names_find(emitter->thread_names, process, tid, comm)
				   : NULL;
	struct layout_thread out = {
		.process = process_id,
		.tid = tid,
		.comm = name ? emitter_put_string(emitter, name)
			     : writer_string(
				       emitter->writer, comm, strnlen(comm, sizeof(thread.comm))),
	};
	if (!name && emitter->thread_names)
		thread_names_want(emitter->thread_names, process, tid, comm);
	thread.file_id = writer_thread(emitter->writer, &out);
	vec_push(&emitter->names_of_threads, thread);
	*newest = emitter->names_of_threads.len;
	return thread.file_id;
}

void emitter_thread_name(struct emitter *emitter, uint32_t image, uint32_t tid, const char comm[16],
	const char *name)
{
	const uint64_t *newest = map_get(&emitter->threads, (uint64_t)image << 32 | tid);
	for (uint32_t i = newest ? (uint32_t)*newest : 0; i;) {
		const struct emitter_thread *thread = &emitter->names_of_threads.data[i - 1];
		i = thread->older;
		if (strncmp(thread->comm, comm, sizeof(thread->comm)) != 0)
			continue;
		struct layout_thread out = {.process = thread->process,
			.tid = tid,
			.comm = emitter_put_string(emitter, name),
			.kernel_name = writer_string(
				emitter->writer, comm, strnlen(comm, sizeof(thread->comm)))};
		writer_thread(emitter->writer, &out);
		return;
	}
}

/* ---- stacks ---- */

uint32_t emitter_snapshot(
	struct emitter *emitter, struct process *process, const struct snapshot *snapshot)
{
	const struct unwind_registers *regs = &snapshot->registers;
	struct layout_snapshot out = {
		.process = emitter_put_process(emitter, process),
		.time_ns = snapshot->head.time_ns,
		.known = regs->known | 1ULL << UNWIND_NATIVE->pc,
		.is_exact = snapshot->is_exact,
		.stack_address = snapshot->stack_address,
		.stack = snapshot->stack.data,
		.stack_bytes = (uint32_t)snapshot_whole_bytes(snapshot),
	};
	memcpy(out.registers, regs->reg, sizeof(regs->reg));
	out.registers[UNWIND_NATIVE->pc] = regs->ip;
	return writer_snapshot(emitter->writer, &out);
}

/* The name of a BPF program came with it. */
static void emit_program_symbol(struct emitter *emitter, const struct object *program)
{
	bool is_new;
	map_put(&emitter->kernel_symbols, program->info.base, &is_new);
	if (!is_new)
		return;
	struct layout_symbol out = {
		.object = object_ids_get(&emitter->objects, program),
		.size = program->info.size_bytes,
		.name = writer_string(
			emitter->writer, program->path + 1, strlen(program->path) - 2),
	};
	writer_symbol(emitter->writer, &out);
}

static void emit_program_line(
	struct emitter *emitter, const struct object *program, uint64_t offset)
{
	const char *file;
	uint32_t line;
	if (!kernel_program_line(emitter->kernel, program, offset, &file, &line))
		return;
	struct layout_code out = {
		.object = object_ids_get(&emitter->objects, program),
		.offset = offset,
		.name = writer_string(
			emitter->writer, program->path + 1, strlen(program->path) - 2),
		.file = emitter_put_string(emitter, file),
		.line = line,
	};
	writer_code(emitter->writer, &out);
}

static void emit_script_line(struct emitter *emitter, const struct object *script, uint64_t offset)
{
	struct script_place place;
	script_table_describe(emitter->scripts, offset, &place);
	struct layout_code out = {
		.object = object_ids_get(&emitter->objects, script),
		.offset = offset,
		.start = place.start,
		.name = emitter_put_string(emitter, place.name),
		.file = place.file ? emitter_put_string(emitter, place.file) : 0,
		.line = place.line,
	};
	writer_code(emitter->writer, &out);
}

static uint32_t emit_frame(struct emitter *emitter, uint32_t index)
{
	struct stack_frame *frame = &emitter->stacks->frames.data[index];
	if (frame->file_epoch == emitter->epoch)
		return frame->file_id;
	struct layout_frame out = {.offset = frame->offset, .flags = frame->flags};
	if (frame->object) {
		struct object_location nowhere = {0};
		out.object = emit_object(emitter, frame->object, &nowhere);
		enum layout_object_kind kind = frame->object->info.kind;
		if (kind == LAYOUT_OBJECT_BPF) {
			emit_program_symbol(emitter, frame->object);
			emit_program_line(emitter, frame->object, frame->offset);
		}
		if (kind == LAYOUT_OBJECT_KERNEL || kind == LAYOUT_OBJECT_MODULE)
			vec_push(&emitter->unnamed,
				(struct emitter_wish){frame->object, frame->offset});
		if (kind == LAYOUT_OBJECT_SCRIPT)
			emit_script_line(emitter, frame->object, frame->offset);
		if (kind == LAYOUT_OBJECT_ANONYMOUS)
			jit_table_want(
				emitter->jit, frame->object, frame->offset, emitter->sampled_ns);
	}
	frame->file_id = writer_frame(emitter->writer, &out);
	frame->file_epoch = emitter->epoch;
	return frame->file_id;
}

uint32_t emitter_node(struct emitter *emitter, uint32_t node)
{
	/* The callers that the file lacks, outermost last. */
	VEC(uint32_t) missing = {0};
	struct stack_node *nodes = emitter->stacks->nodes.data;
	for (uint32_t i = node; i && nodes[i].file_epoch != emitter->epoch; i = nodes[i].parent)
		vec_push(&missing, i);
	while (missing.len) {
		struct stack_node *it = &nodes[missing.data[--missing.len]];
		struct layout_node out = {
			.parent = it->parent ? nodes[it->parent].file_id : 0,
			.frame = emit_frame(emitter, it->frame),
		};
		it->file_id = writer_node(emitter->writer, &out);
		it->file_epoch = emitter->epoch;
	}
	vec_deinit(&missing);
	return node ? nodes[node].file_id : 0;
}

/* ---- labels ---- */

/* The function whose call ended there; 0: its object is gone. */
static uint32_t emit_label_place(struct emitter *emitter, const void *bytes)
{
	struct label_place place;
	memcpy(&place, bytes, sizeof(place));
	struct object *object = object_table_get(emitter->jit->objects, (uint32_t)place.serial);
	if (!object)
		return 0;
	struct object_location nowhere = {0};
	struct layout_frame out = {
		.object = emit_object(emitter, object, &nowhere), .offset = place.offset - 1};
	return writer_frame(emitter->writer, &out);
}

static uint64_t emit_label_value(struct emitter *emitter, const struct label_set *set)
{
	const struct strtab_entry *value = &emitter->labels->texts.entries.data[set->value];
	uint64_t number;
	switch (set->kind) {
	case LAYOUT_LABEL_TEXT:
		return writer_string(emitter->writer, value->bytes, value->len);
	case LAYOUT_LABEL_NUMBER:
		memcpy(&number, value->bytes, sizeof(number));
		return number;
	case LAYOUT_LABEL_PLACE:
		return emit_label_place(emitter, value->bytes);
	}
	return 0;
}

uint32_t emitter_labels(struct emitter *emitter, uint32_t set)
{
	/* Those that the file lacks, the smallest last. */
	VEC(uint32_t) missing = {0};
	struct label_set *sets = set ? emitter->labels->sets.data : NULL;
	for (uint32_t i = set; i && sets[i].file_epoch != emitter->epoch; i = sets[i].rest)
		vec_push(&missing, i);
	while (missing.len) {
		struct label_set *it = &sets[missing.data[--missing.len]];
		const struct strtab_entry *key = &emitter->labels->texts.entries.data[it->key];
		struct layout_label out = {
			.rest = it->rest ? sets[it->rest].file_id : 0,
			.key = writer_string(emitter->writer, key->bytes, key->len),
			.kind = it->kind,
			.value = emit_label_value(emitter, it),
		};
		it->file_id = writer_label(emitter->writer, &out);
		it->file_epoch = emitter->epoch;
	}
	vec_deinit(&missing);
	return set ? sets[set].file_id : 0;
}

/* ---- names of the kernel's functions ---- */

static void emit_kernel_symbol(struct emitter *emitter, const struct emitter_wish *wish)
{
	uint64_t base = wish->object->info.base;
	struct kernel_symbol symbol;
	bool is_new;
	if (!kernel_symbols_find(&emitter->kernel->symbols, base + wish->offset, &symbol))
		return;
	/* The module came when symbols had been read: this one belongs to what lies ahead of it. */
	if (wish->object->info.kind == LAYOUT_OBJECT_MODULE && symbol.address < base)
		return;
	map_put(&emitter->kernel_symbols, symbol.address, &is_new);
	if (!is_new)
		return;
	struct layout_symbol out = {
		.object = object_ids_get(&emitter->objects, wish->object),
		.offset = symbol.address - base,
		.size = symbol.size,
		.name = emitter_put_string(emitter, symbol.name),
	};
	writer_symbol(emitter->writer, &out);
}

void emitter_kernel_symbols(struct emitter *emitter)
{
	if (!emitter->unnamed.len)
		return;
	kernel_symbols_wait(&emitter->kernel->symbols);
	vec_each(&emitter->unnamed, wish)
		emit_kernel_symbol(emitter, wish);
	emitter->unnamed.len = 0;
}

/* ---- names of compiled code ---- */

static void emit_compiled_symbol(
	void *context, const struct object *object, const struct perf_map_entry *entry)
{
	const struct emitter *emitter = context;
	struct writer *writer = emitter->writer;
	struct layout_symbol out = {
		.object =
			object_ids_get(&emitter->objects, object), /* its frames are in the file */
		.offset = entry->start,
		.size = entry->size,
		.name = writer_string(writer, entry->name, entry->name_len),
	};
	writer_symbol(writer, &out);
}

static void emit_place(void *context, const struct object *object, const struct code_place *place)
{
	struct emitter *emitter = context;
	struct layout_code out = {
		.object = object_ids_get(&emitter->objects, object),
		.offset = place->address,
		.start = place->start,
		.time_ns = place->time_ns,
		.sure_ns = place->sure_ns,
		.name = emitter_put_string(emitter, place->name),
		.file = place->file ? emitter_put_string(emitter, place->file) : 0,
		.line = place->line,
	};
	writer_code(emitter->writer, &out);
}

void emitter_compiled_symbols(struct emitter *emitter, const struct process *process)
{
	struct jit_names names = {emit_place, emit_compiled_symbol, emitter};
	if (process->compiled)
		jit_table_name(emitter->jit, process->compiled, &names);
}

void emitter_all_compiled_symbols(struct emitter *emitter)
{
	struct jit_names names = {emit_place, emit_compiled_symbol, emitter};
	jit_table_name_all(emitter->jit, &names);
}

uint64_t emitter_bytes_pending(const struct emitter *emitter)
{
	enum {
		TYPICAL_SYMBOL_BYTES = 32 /* most of it the name; few frames share a function */
	};
	return emitter->unnamed.len * TYPICAL_SYMBOL_BYTES;
}
