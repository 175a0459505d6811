#include "record/label/process_contexts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/fd.h"
#include "record/host/target_file.h"
#include "record/label/thread_symbol.h"

enum {
	MAX_MAPPINGS = 64 << 10, /* lines of a process */
	MAX_KNOWN_FILES = 32 << 10,
	MAX_MODULE = 1 << 16,
	MAX_DISTANCE = 1 << 20, /* of a variable from the thread's pointer: no memory is so low */
	GLIBC_ENTRY_SHIFT = 4,  /* see bpf/runtime/thread.bpf.h */
	MUSL_ENTRY_SHIFT = 3,
	FIRST_PAUSE_NS = 20 * 1000 * 1000, /* of a process, after it is seen, or maps a file */
	OLD_NS = 1000 * 1000 * 1000,
	MAX_LOOKS_SHIFT = 4, /* each pause is four times the one before, ... */
};

static const uint64_t max_pause_ns = 10ULL * 1000 * 1000 * 1000; /* ... up to that */

/* What the worker answers; behind it stand the texts of a struct process_context. */
struct look {
	uint32_t has_context; /* and it is that of published_ns */
	uint32_t is_unknown;  /* threads publish something, but nothing leads to it */
	uint32_t has_place;
	uint32_t module, module_shift;
	uint32_t is_short;
	uint32_t attribute_bytes, key_bytes;
	uint64_t place;
	uint64_t published_ns;
};

/* ---- in the worker ---- */

/* Files by what tells them apart, with what was found in them. */
struct known_files {
	struct target_files *rules; /* which of them may be opened */
	struct strtab keys;
	VEC(struct thread_symbol) symbols;
};

/* A look at a process. */
struct maps_walk {
	struct known_files *known;
	uint32_t pid;
	int memory; /* its /proc/PID/mem */
	struct look look;
	struct process_context context;
};

struct maps_line {
	uint64_t start, end, offset;
	bool is_code;
	const char *path;
};

/* False: it is no such line. The path stays where it is. */
static bool parse_maps_line(const char *line, struct maps_line *ret)
{
	char flags[5];
	int at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*u %n", &ret->start,
		    &ret->end, flags, &ret->offset, &at) < 4 ||
		!at)
		return false;
	ret->is_code = flags[2] == 'x';
	ret->path = line + at;
	return true;
}

static struct thread_symbol find_symbol_in_file(int fd)
{
	struct thread_symbol symbol = {0};
	struct elf_file *elf = NULL;
	struct err *err = elf_file_open(fd, &elf);
	if (!err)
		err = thread_symbol_find(elf, &symbol);
	elf_file_destroy(elf);
	err_destroy(err); /* then it has none */
	return symbol;
}

/* Where the file's address 0 is in the process. */
static bool find_load_base(int fd, const struct maps_line *line, uint64_t *ret)
{
	struct elf_file *elf = NULL;
	size_t count;
	uint64_t vaddr;
	struct err *err = elf_file_open(fd, &elf);
	if (err) {
		err_destroy(err);
		return false;
	}
	const struct elf_segment *segments = elf_file_segments(elf, &count);
	bool is_found = elf_segments_offset_to_vaddr(segments, count, line->offset, &vaddr);
	*ret = line->start - vaddr;
	elf_file_destroy(elf);
	return is_found;
}

static struct thread_symbol symbol_of_file(
	struct known_files *known, int fd, const struct stat *file)
{
	uint32_t number;
	uint64_t key[] = {file->st_dev, file->st_ino, (uint64_t)file->st_size,
		(uint64_t)file->st_mtim.tv_sec, (uint64_t)file->st_mtim.tv_nsec};
	if (strtab_find(&known->keys, (const char *)key, sizeof(key), &number))
		return known->symbols.data[number];
	if (known->symbols.len >= MAX_KNOWN_FILES) {
		strtab_deinit(&known->keys);
		known->keys = (struct strtab){0};
		known->symbols.len = 0;
	}
	strtab_intern(&known->keys, (const char *)key, sizeof(key));
	vec_push(&known->symbols, find_symbol_in_file(fd));
	return known->symbols.data[known->symbols.len - 1];
}

/*
 * What the slot says. An offset that is not the variable's is none: the loader has not filled the
 * slot so far, or the process has put something else there.
 */
static bool read_slot(
	int memory, uint64_t base, const struct thread_symbol *symbol, struct look *look)
{
	uint64_t slot[2], address = base + symbol->place;
	if (symbol->kind == THREAD_SYMBOL_DISTANCE) {
		look->module = 0;
		return process_context_copy(memory, address, &look->place, sizeof(look->place));
	}
	if (!process_context_copy(memory, address, slot, sizeof(slot)))
		return false;
	if (symbol->kind == THREAD_SYMBOL_DESCRIPTOR && !slot[0])
		return false;
	if (symbol->kind == THREAD_SYMBOL_DESCRIPTOR && slot[1] &&
		(int64_t)slot[1] < (int64_t)MAX_DISTANCE) {
		look->module = 0; /* a distance: it is no address */
		look->place = slot[1];
		return true;
	}
	if (symbol->kind == THREAD_SYMBOL_DESCRIPTOR &&
		!process_context_copy(memory, slot[1], slot, sizeof(slot)))
		return false;
	if (!slot[0] || slot[0] >= MAX_MODULE || slot[1] != symbol->offset)
		return false;
	look->module = (uint32_t)slot[0];
	look->place = slot[1];
	return true;
}

static void look_at_file(struct maps_walk *walk, const struct maps_line *line)
{
	struct look *look = &walk->look;
	struct stat file;
	uint64_t base = 0;
	CLEANUP_FD int fd = target_file_open_mapped(
		walk->known->rules, walk->pid, line->start, line->end, &file);
	if (fd < 0)
		return;
	struct thread_symbol symbol = symbol_of_file(walk->known, fd, &file);
	if (symbol.kind == THREAD_SYMBOL_NONE)
		return;
	look->is_unknown = true;
	if (symbol.kind == THREAD_SYMBOL_OFFSET) {
		look->place = symbol.place;
		look->module = 0;
		look->has_place = true;
	} else if (symbol.kind != THREAD_SYMBOL_UNKNOWN && find_load_base(fd, line, &base)) {
		look->has_place = read_slot(walk->memory, base, &symbol, look);
	}
}

/*
 * A name of musl's: it is the C library, and the loader. Where it is installed beside glibc, as in
 * Debian, the loader's name is a link; glibc's "libc.so" is a text for linkers and never mapped.
 */
static bool is_musl(const char *path)
{
	const char *name = strrchr(path, '/');
	return name && (strncmp(name, "/ld-musl-", strlen("/ld-musl-")) == 0 ||
			       strcmp(name, "/libc.so") == 0);
}

static void take_maps_line(struct maps_walk *walk, const char *text)
{
	struct maps_line line;
	struct look *look = &walk->look;
	if (!parse_maps_line(text, &line))
		return;
	if (!look->has_context && process_context_is_name(line.path))
		look->has_context = process_context_read(
			walk->memory, line.start, &look->published_ns, &walk->context);
	if (!line.is_code || line.path[0] != '/')
		return;
	if (is_musl(line.path))
		look->module_shift = MUSL_ENTRY_SHIFT;
	if (!look->has_place)
		look_at_file(walk, &line);
}

static void walk_maps(struct maps_walk *walk, FILE *maps)
{
	char *text = NULL;
	size_t size = 0;
	ssize_t len;
	for (int i = 0; i < MAX_MAPPINGS && (len = getline(&text, &size, maps)) > 0; i++) {
		if (text[len - 1] == '\n')
			text[len - 1] = '\0';
		take_maps_line(walk, text);
	}
	free(text); /* NOLINT: it is getline()'s */
}

static void look_at_process(void **kept, const void *request, size_t len, struct bytes_buf *ret)
{
	struct maps_walk walk = {.look.module_shift = GLIBC_ENTRY_SHIFT};
	char path[64];
	if (len != sizeof(walk.pid))
		return;
	memcpy(&walk.pid, request, len);
	if (!*kept)
		*kept = mem_zalloc(sizeof(struct known_files));
	walk.known = *kept;
	if (!walk.known->rules)
		walk.known->rules = target_files_create(false);
	snprintf(path, sizeof(path), "/proc/%u/maps", walk.pid);
	FILE *maps = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%u/mem", walk.pid);
	walk.memory = open(path, O_RDONLY | O_CLOEXEC);
	if (maps && walk.memory >= 0)
		walk_maps(&walk, maps);
	if (maps)
		fclose(maps);
	mem_close_fd(&walk.memory);
	walk.look.is_short = walk.context.is_short;
	walk.look.attribute_bytes = (uint32_t)walk.context.attributes.len;
	walk.look.key_bytes = (uint32_t)walk.context.keys.len;
	bytes_put(ret, &walk.look, sizeof(walk.look));
	bytes_put(ret, walk.context.attributes.data, walk.context.attributes.len);
	bytes_put(ret, walk.context.keys.data, walk.context.keys.len);
	process_context_deinit(&walk.context);
}

/* ---- in the recorder ---- */

void process_contexts_init(struct process_contexts *contexts)
{
	*contexts = (struct process_contexts){0};
}

void process_contexts_begin(struct process_contexts *contexts)
{
	contexts->is_wanted = true;
	target_reader_init(&contexts->reader, look_at_process);
	target_reader_start(&contexts->reader);
}

void process_contexts_deinit(struct process_contexts *contexts)
{
	size_t cursor = 0;
	if (contexts->is_wanted)
		target_reader_deinit(&contexts->reader);
	for (struct map_slot *slot; (slot = map_next(&contexts->by_image, &cursor));) {
		struct process_context *context = (void *)(uintptr_t)slot->value;
		process_context_deinit(context);
		mem_free(context);
	}
	map_deinit(&contexts->by_image);
	map_deinit(&contexts->published);
	map_deinit(&contexts->places);
	vec_deinit(&contexts->asked);
}

/* ---- asking ---- */

static void ask_for_contexts(struct process_contexts *contexts, const struct process *process)
{
	struct process_contexts_asked asked = {process->pid, process->image};
	vec_push(&contexts->asked, asked);
	target_reader_submit(&contexts->reader, process->pid, &process->pid, sizeof(process->pid));
	target_reader_send(&contexts->reader);
}

/* What it publishes is there already. The clock of its start runs while the machine sleeps, too. */
static bool is_old(const struct process *process, uint64_t now_ns)
{
	return now_ns - process->start_ns > OLD_NS;
}

void process_contexts_meet(
	struct process_contexts *contexts, struct process *process, uint64_t now_ns)
{
	if (!contexts->is_wanted)
		return;
	if (!process->context_due_ns)
		process->context_due_ns = now_ns + (is_old(process, now_ns) ? 0 : FIRST_PAUSE_NS);
	if (now_ns < process->context_due_ns)
		return;
	unsigned shift = process->context_looks < MAX_LOOKS_SHIFT ? process->context_looks++
								  : MAX_LOOKS_SHIFT;
	uint64_t pause_ns = (uint64_t)FIRST_PAUSE_NS << 2 * (shift + 1);
	process->context_due_ns = now_ns + (pause_ns < max_pause_ns ? pause_ns : max_pause_ns);
	ask_for_contexts(contexts, process);
}

void process_contexts_expect(struct process *process, uint64_t now_ns)
{
	uint64_t due_ns = now_ns + FIRST_PAUSE_NS;
	if (process->context_due_ns > due_ns)
		process->context_due_ns = due_ns;
}

/* ---- taking ---- */

/* True: with other keys of threads. */
static bool keep_context(struct process_contexts *contexts, struct process *process,
	const struct look *look, const char *texts)
{
	bool is_new;
	uint64_t *published = map_put(&contexts->published, process->image, &is_new);
	if (!is_new && *published == look->published_ns)
		return false;
	*published = look->published_ns;
	uint64_t *slot = map_put(&contexts->by_image, process->image, &is_new);
	if (is_new)
		*slot = (uintptr_t)mem_zalloc(sizeof(struct process_context));
	struct process_context *context = (void *)(uintptr_t)*slot;
	process_context_deinit(context);
	*context = (struct process_context){.is_short = look->is_short};
	str_write(&context->attributes, texts, look->attribute_bytes);
	str_write(&context->keys, texts + look->attribute_bytes, look->key_bytes);
	process->label_generation = 0;
	return look->key_bytes;
}

static void tell_place(
	struct process_contexts *contexts, struct process *process, const struct look *look)
{
	struct event_thread_context place = {.start_ns = process->start_ns,
		.exec_id = process->exec_id,
		.module = look->module,
		.module_shift = look->module_shift,
		.place = look->place};
	process->lacks_thread_context = !contexts->fn(contexts->fn_context, process->pid, &place);
	if (process->lacks_thread_context)
		return; /* there is no room */
	process->thread_context_ns = clock_now_ns();
	*map_put(&contexts->places, process->pid, NULL) = process->image;
}

static bool take_look(
	struct process_contexts *contexts, struct process *process, const struct bytes_buf *answer)
{
	struct look look;
	const uint64_t *sent_image = map_get(&contexts->places, process->pid);
	bool has_keys = false;
	if (answer->len < sizeof(look))
		return false;
	memcpy(&look, answer->data, sizeof(look));
	if (answer->len - sizeof(look) != (size_t)look.attribute_bytes + look.key_bytes)
		return false;
	if (look.has_context)
		has_keys = keep_context(
			contexts, process, &look, (const char *)answer->data + sizeof(look));
	bool is_sent = sent_image && *sent_image == process->image;
	if (!is_sent)
		process->lacks_thread_context = look.is_unknown && !look.has_place;
	if (!is_sent && look.has_place && process->has_exec_id)
		tell_place(contexts, process, &look);
	return has_keys;
}

bool process_contexts_collect(
	struct process_contexts *contexts, const struct process_table *processes)
{
	const struct bytes_buf *answer;
	bool have_keys = false;
	while (contexts->taken < contexts->asked.len &&
		target_reader_take(&contexts->reader, &answer)) {
		struct process_contexts_asked *asked = &contexts->asked.data[contexts->taken++];
		struct process *process = process_table_find(processes, asked->pid);
		if (answer && process && process->image == asked->image && !process->exited_ns)
			have_keys |= take_look(contexts, process, answer);
	}
	if (contexts->taken == contexts->asked.len)
		contexts->taken = contexts->asked.len = 0;
	bool is_due = have_keys && contexts->lacks_keys;
	contexts->lacks_keys &= !is_due;
	return is_due;
}

void process_contexts_forget(struct process_contexts *contexts, const struct process *process)
{
	const uint64_t *slot = map_get(&contexts->by_image, process->image);
	const uint64_t *sent_image = map_get(&contexts->places, process->pid);
	if (slot) {
		struct process_context *context = (void *)(uintptr_t)*slot;
		process_context_deinit(context);
		mem_free(context);
		map_remove(&contexts->by_image, process->image);
		map_remove(&contexts->published, process->image);
	}
	if (sent_image) {
		contexts->fn(contexts->fn_context, process->pid, NULL);
		map_remove(&contexts->places, process->pid);
	}
}

/* ---- asked for ---- */

const struct process_context *process_contexts_find(
	const struct process_contexts *contexts, const struct process *process)
{
	const uint64_t *slot = map_get(&contexts->by_image, process->image);
	return slot ? (const void *)(uintptr_t)*slot : NULL;
}

const char *process_contexts_key(
	struct process_contexts *contexts, struct process *process, uint8_t number, uint64_t now_ns)
{
	const struct process_context *context = process_contexts_find(contexts, process);
	const char *at = context ? str_text(&context->keys) : "";
	const char *end = at + (context ? context->keys.len : 0);
	for (uint8_t i = 0; at < end && i < number; i++)
		at += strlen(at) + 1;
	if (at < end)
		return at;
	contexts->lacks_keys = true;
	process_contexts_expect(process, now_ns); /* the list grows as keys are used */
	return NULL;
}
