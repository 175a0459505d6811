#include "format/import/perf_tasks.h"

#include <string.h>

enum {
	MISC_EXEC = 1 << 13,     /* of COMM: by an exec; of FORK: it shares no mappings */
	MISC_DATA = 1 << 13,     /* of MMAP: it is not executable */
	MISC_BUILD_ID = 1 << 14, /* of MMAP2: a build ID stands for device and inode */
	PROT_EXECUTABLE = 4,
	KSYMBOL_REMOVED = 1,
	DEVICE_MAJOR_SHIFT = 20,
	MAX_MAPPINGS = 8 << 20, /* in memory, and in the recording */
};

#define KERNEL_PID UINT32_MAX

static const char kernel_path[] = "[kernel.kallsyms]";

void perf_tasks_init(struct perf_tasks *tasks, struct import_output *output,
	const struct import_file *file, const struct perf_header *header)
{
	*tasks = (struct perf_tasks){
		.output = output, .file = file, .header = header, .kernel = perf_space_create()};
}

void perf_tasks_deinit(struct perf_tasks *tasks)
{
	vec_each(&tasks->processes, process)
		perf_space_release(process->space);
	vec_deinit(&tasks->processes);
	map_deinit(&tasks->by_pid);
	map_deinit(&tasks->name_by_tid);
	strtab_deinit(&tasks->names);
	perf_space_release(tasks->kernel);
}

/* ---- processes ---- */

static size_t add_perf_process(struct perf_tasks *tasks, const struct perf_process *process)
{
	vec_push(&tasks->processes, *process);
	*map_put(&tasks->by_pid, process->pid, NULL) = tasks->processes.len - 1;
	return tasks->processes.len - 1;
}

static size_t perf_process_of(struct perf_tasks *tasks, uint32_t pid, uint64_t time_ns)
{
	const uint64_t *known = map_get(&tasks->by_pid, pid);
	if (known)
		return *known;
	return add_perf_process(
		tasks, &(struct perf_process){
			       .pid = pid, .start_ns = time_ns, .space = perf_space_create()});
}

static void set_thread_name(struct perf_tasks *tasks, uint32_t tid, const char *name, size_t len)
{
	*map_put(&tasks->name_by_tid, tid, NULL) =
		(uint64_t)strtab_intern(&tasks->names, name, len) + 1;
}

const char *perf_tasks_name(const struct perf_tasks *tasks, uint32_t pid, uint32_t tid)
{
	const uint64_t *name = map_get(&tasks->name_by_tid, tid);
	if (!name)
		name = map_get(&tasks->name_by_tid, pid);
	if (!name)
		return pid ? "" : "swapper";
	return strtab_get(&tasks->names, (uint32_t)*name - 1);
}

static void begin_exec(struct perf_tasks *tasks, uint32_t pid, uint64_t time_ns)
{
	size_t before = perf_process_of(tasks, pid, time_ns);
	struct perf_process image = tasks->processes.data[before];
	image.id = 0;
	image.image_ns = time_ns;
	image.space = perf_space_create();
	add_perf_process(tasks, &image);
}

static bool take_comm(struct perf_tasks *tasks, struct perf_record *record)
{
	uint32_t pid = bytes_get_u32(&record->body), tid = bytes_get_u32(&record->body);
	size_t left = bytes_left(&record->body);
	const char *name = (const char *)bytes_get(&record->body, left);
	if (record->body.overrun)
		return false;
	if (record->misc & MISC_EXEC)
		begin_exec(tasks, pid, record->time_ns);
	set_thread_name(tasks, tid, name, name ? strnlen(name, left) : 0);
	return true;
}

static bool take_fork(struct perf_tasks *tasks, struct perf_record *record)
{
	uint32_t pid = bytes_get_u32(&record->body), parent_pid = bytes_get_u32(&record->body);
	uint32_t tid = bytes_get_u32(&record->body), parent_tid = bytes_get_u32(&record->body);
	if (record->body.overrun)
		return false;
	const uint64_t *name = map_get(&tasks->name_by_tid, parent_tid);
	uint64_t inherited = name ? *name : 0;
	if (inherited)
		*map_put(&tasks->name_by_tid, tid, NULL) = inherited;
	if (pid == parent_pid)
		return true;
	const uint64_t *parent = map_get(&tasks->by_pid, parent_pid);
	bool shares = parent && !(record->misc & MISC_EXEC);
	struct perf_process child = {.pid = pid,
		.parent_pid = parent_pid,
		.start_ns = record->time_ns,
		.image_ns = record->time_ns};
	child.space = shares ? perf_space_share(tasks->processes.data[*parent].space)
			     : perf_space_create();
	add_perf_process(tasks, &child);
	return true;
}

/* Mappings are shared with processes that were forked, what they made is each one's own. */
static uint32_t object_in_process(
	struct perf_tasks *tasks, size_t index, const struct perf_mapping *mapping)
{
	const struct layout_object object = {.kind = LAYOUT_OBJECT_ANONYMOUS};
	struct perf_process *process = &tasks->processes.data[index];
	if (mapping->object != PERF_CODE)
		return mapping->object;
	if (!process->code)
		process->code =
			import_output_own_object(tasks->output, &object, LAYOUT_ANONYMOUS_PATH);
	return process->code;
}

static void write_perf_mapping(struct perf_tasks *tasks, size_t index,
	const struct perf_mapping *mapping, uint64_t time_ns)
{
	if (tasks->nr_mappings >= MAX_MAPPINGS) {
		tasks->nr_left_out++;
		return;
	}
	tasks->nr_mappings++;
	writer_mapping(
		tasks->output->writer, &(struct layout_mapping){
					       .process = tasks->processes.data[index].id,
					       .object = object_in_process(tasks, index, mapping),
					       .start = mapping->start,
					       .length = mapping->end - mapping->start,
					       .offset = mapping->offset,
					       .time_ns = time_ns,
				       });
}

size_t perf_tasks_sampled(struct perf_tasks *tasks, uint32_t pid, uint64_t time_ns)
{
	size_t index = perf_process_of(tasks, pid, time_ns);
	struct perf_process *process = &tasks->processes.data[index];
	if (process->id)
		return index;
	process->id =
		writer_process(tasks->output->writer, &(struct layout_process){.pid = pid,
							      .parent_pid = process->parent_pid,
							      .start_ns = process->start_ns});
	vec_each(&process->space->mappings, mapping)
		write_perf_mapping(tasks, index, mapping, process->start_ns);
	return index;
}

/* ---- files ---- */

static bool cut_text_suffix(const char *path, size_t *len, const char *suffix)
{
	size_t bytes = strlen(suffix);
	bool has_it = *len > bytes && memcmp(path + *len - bytes, suffix, bytes) == 0;
	*len -= has_it ? bytes : 0;
	return has_it;
}

static bool path_begins_with(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

static enum layout_object_kind kind_of_path(const char *path)
{
	if (strcmp(path, "[vdso]") == 0)
		return LAYOUT_OBJECT_VDSO;
	bool is_file = path[0] == '/' && path[1] != '/' && !path_begins_with(path, "/memfd:") &&
		       !path_begins_with(path, "/dev/zero") && !path_begins_with(path, "/SYSV") &&
		       !path_begins_with(path, "/anon_hugepage");
	return is_file ? LAYOUT_OBJECT_FILE : LAYOUT_OBJECT_ANONYMOUS;
}

static void set_build_id(struct layout_object *object, const uint8_t *bytes, size_t len)
{
	memcpy(object->build_id, bytes, len);
	object->build_id_len = (uint32_t)len;
}

/* `object` has what the mapping's record has; the list of build IDs, and the host, may add to it.
 */
static void identify_file(struct perf_tasks *tasks, const char *path, struct layout_object *object)
{
	const struct import_host *host = tasks->file->host;
	const struct perf_build_id *id = perf_header_build_id(tasks->header, path, strlen(path));
	if (!object->build_id_len && id)
		set_build_id(object, id->bytes, id->len);
	if (object->build_id_len || object->kind != LAYOUT_OBJECT_FILE)
		return;
	tasks->nr_without_id++;
	if (host->same_file && host->same_file(host->context, path, object))
		tasks->nr_same++;
}

static void put_vdso_symbol(void *context, const struct import_symbol *symbol)
{
	const struct perf_tasks *tasks = context;
	writer_symbol(tasks->output->writer,
		&(struct layout_symbol){.object = tasks->vdso,
			.offset = symbol->address,
			.size = symbol->size,
			.name = import_output_text(tasks->output, symbol->name)});
}

static void name_vdso(struct perf_tasks *tasks, const struct layout_object *object, uint32_t id)
{
	const struct import_host *host = tasks->file->host;
	tasks->vdso = id;
	if (host->vdso_symbols)
		host->vdso_symbols(host->context, object, put_vdso_symbol, tasks);
}

static uint32_t object_of_path(
	struct perf_tasks *tasks, const char *text, size_t len, struct layout_object *object)
{
	if (cut_text_suffix(text, &len, " (deleted)"))
		object->flags |= LAYOUT_OBJECT_DELETED;
	CLEANUP_FREE char *path = mem_strndup(text, len);
	object->kind = kind_of_path(path);
	bool is_generated = object->kind == LAYOUT_OBJECT_ANONYMOUS && path[0] != '[';
	if (object->kind != LAYOUT_OBJECT_FILE)
		object->device = 0, object->inode = 0;
	identify_file(tasks, path, object);
	if (is_generated)
		return PERF_CODE;
	uint32_t id = import_output_object(tasks->output, object, path);
	if (object->kind == LAYOUT_OBJECT_VDSO && id > tasks->vdso)
		name_vdso(tasks, object, id);
	return id;
}

/* ---- the kernel ---- */

static void map_kernel(struct perf_tasks *tasks, const struct perf_mapping *mapping)
{
	if (mapping->end > mapping->start && tasks->nr_mappings < MAX_MAPPINGS)
		tasks->nr_mappings += perf_space_map(&tasks->kernel, mapping);
	else
		tasks->nr_left_out++;
}

/* "[kernel.kallsyms]_text": the offset is the address of that symbol. */
static void take_kernel_image(
	struct perf_tasks *tasks, const struct perf_mapping *mapping, struct layout_object *object)
{
	object->kind = LAYOUT_OBJECT_KERNEL;
	object->base = mapping->offset;
	if (!object->build_id_len) {
		const struct perf_build_id *id =
			perf_header_build_id(tasks->header, kernel_path, strlen(kernel_path));
		if (id)
			set_build_id(object, id->bytes, id->len);
	}
	tasks->kernel_info = (struct import_kernel){
		.object = *object,
		.release = tasks->header->kernel,
		.host = tasks->header->host,
	};
	tasks->kernel_object = import_output_object(tasks->output, object, kernel_path);
	struct perf_mapping image = *mapping;
	image.object = tasks->kernel_object;
	image.offset = mapping->start - object->base;
	map_kernel(tasks, &image);
}

/* "/lib/modules/.../nf_tables.ko.xz" and "[nf_tables]" are [nf_tables]. */
static void take_kernel_module(struct perf_tasks *tasks, const struct perf_mapping *mapping,
	const char *path, size_t len, struct layout_object *object)
{
	CLEANUP(str_deinit) struct str name = {0};
	const char *slash = memrchr(path, '/', len);
	const char *start = slash ? slash + 1 : path;
	size_t left = len - (size_t)(start - path);
	const char *dot = memchr(start, '.', left);
	left = dot ? (size_t)(dot - start) : left;
	if (left && start[0] == '[')
		str_write(&name, start, left);
	else
		str_printf(&name, "[%.*s]", (int)left, start);
	for (char *c = name.data; *c; c++)
		*c = *c == '-' ? '_' : *c;
	object->kind = LAYOUT_OBJECT_MODULE;
	object->base = mapping->start;
	if (!object->build_id_len) {
		const struct perf_build_id *id = perf_header_build_id(tasks->header, path, len);
		if (id)
			set_build_id(object, id->bytes, id->len);
	}
	struct perf_mapping module = *mapping;
	module.object = import_output_object(tasks->output, object, str_text(&name));
	module.offset = 0;
	map_kernel(tasks, &module);
}

static void take_kernel_mapping(struct perf_tasks *tasks, const struct perf_mapping *mapping,
	const char *path, size_t len, struct layout_object *object)
{
	size_t kernel_len = strlen(kernel_path);
	if (len >= kernel_len && memcmp(path, kernel_path, kernel_len) == 0)
		take_kernel_image(tasks, mapping, object);
	else if (len && memcmp(path, "[guest", len < 6 ? len : 6) != 0)
		take_kernel_module(tasks, mapping, path, len, object);
}

/* Code that the kernel made: BPF programs, trampolines. */
static bool take_kernel_symbol(struct perf_tasks *tasks, struct perf_record *record)
{
	struct perf_mapping mapping = {.start = bytes_get_u64(&record->body)};
	mapping.end = mapping.start + bytes_get_u32(&record->body);
	bytes_get_u16(&record->body);
	uint16_t flags = bytes_get_u16(&record->body);
	size_t left = bytes_left(&record->body);
	const char *name = (const char *)bytes_get(&record->body, left);
	if (record->body.overrun)
		return false;
	if (flags & KSYMBOL_REMOVED || mapping.end <= mapping.start || !left)
		return true;
	CLEANUP_FREE char *path = mem_strndup(name, strnlen(name, left));
	struct layout_object object = {.kind = LAYOUT_OBJECT_BPF, .base = mapping.start};
	mapping.object = import_output_object(tasks->output, &object, path);
	writer_symbol(
		tasks->output->writer, &(struct layout_symbol){.object = mapping.object,
					       .size = mapping.end - mapping.start,
					       .name = import_output_text(tasks->output, path)});
	map_kernel(tasks, &mapping);
	return true;
}

/* ---- mappings ---- */

static void take_user_mapping(struct perf_tasks *tasks, uint32_t pid, uint64_t time_ns,
	const struct perf_mapping *mapping)
{
	size_t index = perf_process_of(tasks, pid, time_ns);
	struct perf_process *process = &tasks->processes.data[index];
	if (tasks->nr_mappings >= MAX_MAPPINGS || mapping->end <= mapping->start) {
		tasks->nr_left_out++;
		return;
	}
	tasks->nr_mappings += perf_space_map(&process->space, mapping);
	if (process->id)
		write_perf_mapping(tasks, process->id, mapping, time_ns);
}

/*
 * The kernel leaves the flag of build IDs set from what it wrote before for others, who had asked
 * for them: perf_event_mmap_output() restores type and size alone (Linux 6.18). So it counts where
 * they were asked for.
 */
static bool may_have_build_ids(const struct perf_header *header)
{
	vec_each(&header->events, event)
		if (event->has_build_ids)
			return true;
	return false;
}

/* What MMAP2 has between the mapping and its path. False: it is not executable. */
static bool take_mmap2_fields(
	const struct perf_tasks *tasks, struct perf_record *record, struct layout_object *object)
{
	enum {
		BUILD_ID_ROOM = 20,
	};
	struct bytes_cursor id = record->body;
	uint32_t major = bytes_get_u32(&record->body), minor = bytes_get_u32(&record->body);
	object->inode = bytes_get_u64(&record->body);
	bytes_get_u64(&record->body); /* its generation */
	uint32_t protection = bytes_get_u32(&record->body);
	bytes_get_u32(&record->body); /* flags */
	object->device = major << DEVICE_MAJOR_SHIFT | (minor & ((1U << DEVICE_MAJOR_SHIFT) - 1));
	if (record->misc & MISC_BUILD_ID && may_have_build_ids(tasks->header)) {
		object->device = 0, object->inode = 0;
		uint8_t len = bytes_get_u8(&id);
		bytes_get(&id, 3);
		const uint8_t *bytes = bytes_get(&id, BUILD_ID_ROOM);
		if (bytes && len <= BUILD_ID_ROOM)
			set_build_id(object, bytes, len);
	}
	return protection & PROT_EXECUTABLE;
}

static bool take_mmap(struct perf_tasks *tasks, struct perf_record *record)
{
	struct bytes_cursor *body = &record->body;
	struct layout_object object = {0};
	uint32_t pid = bytes_get_u32(body);
	bytes_get_u32(body); /* tid */
	struct perf_mapping mapping = {.start = bytes_get_u64(body)};
	mapping.end = mapping.start + bytes_get_u64(body);
	mapping.offset = bytes_get_u64(body);
	bool is_executable = record->type == PERF_TYPE_MMAP2
				     ? take_mmap2_fields(tasks, record, &object)
				     : !(record->misc & MISC_DATA);
	size_t left = bytes_left(body);
	const char *path = (const char *)bytes_get(body, left);
	if (body->overrun || !left)
		return false;
	size_t len = strnlen(path, left);
	if (pid == KERNEL_PID) {
		take_kernel_mapping(tasks, &mapping, path, len, &object);
	} else if (is_executable) {
		mapping.object = object_of_path(tasks, path, len, &object);
		if (object.kind == LAYOUT_OBJECT_ANONYMOUS)
			mapping.offset = mapping.start; /* places in it are addresses */
		take_user_mapping(tasks, pid, record->time_ns, &mapping);
	}
	return true;
}

bool perf_tasks_take(struct perf_tasks *tasks, struct perf_record *record)
{
	switch (record->type) {
	case PERF_TYPE_MMAP:
	case PERF_TYPE_MMAP2:
		return take_mmap(tasks, record);
	case PERF_TYPE_COMM:
		return take_comm(tasks, record);
	case PERF_TYPE_FORK:
		return take_fork(tasks, record);
	case PERF_TYPE_KSYMBOL:
		return take_kernel_symbol(tasks, record);
	default:
		return true;
	}
}

/* ---- places in code ---- */

static uint32_t unknown_object(struct perf_tasks *tasks)
{
	return import_output_object(
		tasks->output, &(struct layout_object){.kind = LAYOUT_OBJECT_UNKNOWN}, "[unknown]");
}

uint32_t perf_tasks_user_object(
	struct perf_tasks *tasks, size_t process, uint64_t address, uint64_t *offset)
{
	const struct perf_mapping *mapping =
		perf_space_find(tasks->processes.data[process].space, address);
	*offset = mapping ? address - mapping->start + mapping->offset : address;
	return mapping ? object_in_process(tasks, process, mapping) : unknown_object(tasks);
}

/* What is outside of all that was mapped is the kernel's own, if it is known where that begins. */
uint32_t perf_tasks_kernel_object(struct perf_tasks *tasks, uint64_t address, uint64_t *offset)
{
	const struct perf_mapping *mapping = perf_space_find(tasks->kernel, address);
	if (mapping) {
		*offset = address - mapping->start + mapping->offset;
		return mapping->object;
	}
	if (!tasks->kernel_object)
		tasks->kernel_object = import_output_object(tasks->output,
			&(struct layout_object){.kind = LAYOUT_OBJECT_KERNEL}, kernel_path);
	*offset = address - tasks->kernel_info.object.base;
	return tasks->kernel_object;
}
