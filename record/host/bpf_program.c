#include "record/host/bpf_program.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <dirent.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/hex.h"
#include "format/base/mem.h"

enum {
	/* The kernel's own limits are far below: 256 functions, a line an instruction. */
	MAX_FUNCTIONS = 1 << 12,
	MAX_LINES = 1 << 20,
	MAX_RECORD_BYTES = 256,
};

/* What the kernel tells of one program; arrays have as many elements as `info` says. */
struct program {
	struct bpf_prog_info info;
	uint64_t *starts;   /* of functions */
	uint32_t *lengths;  /* of functions */
	uint8_t *functions; /* struct bpf_func_info, perhaps longer ones */
	uint8_t *tags;      /* of functions, BPF_TAG_SIZE bytes each */
	uint8_t *lines;     /* struct bpf_line_info, perhaps longer ones */
	uint64_t *places;   /* where the lines were compiled to */
	struct btf *types;  /* or NULL */
};

/* ---- requests to the kernel ---- */

static bool read_info(int fd, struct bpf_prog_info *info)
{
	uint32_t len = sizeof(*info);
	return !bpf_obj_get_info_by_fd(fd, info, &len);
}

/* As many elements as there are; *count becomes 0 where they are unheard of. */
static void *bpf_program_make_room(uint32_t *count, uint32_t record_bytes, uint32_t max)
{
	if (*count > max || record_bytes > MAX_RECORD_BYTES)
		*count = 0;
	return *count ? mem_zalloc_array(*count, record_bytes) : NULL;
}

/* With the numbers of the first answer, and room for so many. */
static bool ask_functions(int fd, struct program *program)
{
	const struct bpf_prog_info *first = &program->info;
	struct bpf_prog_info info = {
		.nr_jited_ksyms = first->nr_jited_ksyms,
		.nr_jited_func_lens = first->nr_jited_func_lens,
		.nr_prog_tags = first->nr_prog_tags,
		.nr_func_info = first->nr_func_info,
		.func_info_rec_size = first->func_info_rec_size,
	};
	program->starts =
		bpf_program_make_room(&info.nr_jited_ksyms, sizeof(uint64_t), MAX_FUNCTIONS);
	program->lengths =
		bpf_program_make_room(&info.nr_jited_func_lens, sizeof(uint32_t), MAX_FUNCTIONS);
	program->tags = bpf_program_make_room(&info.nr_prog_tags, BPF_TAG_SIZE, MAX_FUNCTIONS);
	program->functions =
		bpf_program_make_room(&info.nr_func_info, info.func_info_rec_size, MAX_FUNCTIONS);
	info.jited_ksyms = (uintptr_t)program->starts;
	info.jited_func_lens = (uintptr_t)program->lengths;
	info.prog_tags = (uintptr_t)program->tags;
	info.func_info = (uintptr_t)program->functions;
	program->info = info;
	return info.nr_jited_ksyms && read_info(fd, &program->info);
}

static bool ask_lines(int fd, struct program *program)
{
	struct bpf_prog_info info = {0};
	if (!read_info(fd, &info))
		return false;
	struct bpf_prog_info again = {
		.nr_line_info = info.nr_line_info,
		.line_info_rec_size = info.line_info_rec_size,
		.nr_jited_line_info = info.nr_jited_line_info,
		.jited_line_info_rec_size = info.jited_line_info_rec_size,
	};
	program->lines =
		bpf_program_make_room(&again.nr_line_info, again.line_info_rec_size, MAX_LINES);
	program->places = bpf_program_make_room(
		&again.nr_jited_line_info, again.jited_line_info_rec_size, MAX_LINES);
	again.line_info = (uintptr_t)program->lines;
	again.jited_line_info = (uintptr_t)program->places;
	program->info = again;
	return again.nr_line_info && again.line_info_rec_size >= sizeof(struct bpf_line_info) &&
	       again.nr_jited_line_info && again.jited_line_info_rec_size == sizeof(uint64_t) &&
	       read_info(fd, &program->info);
}

static void program_deinit(struct program *program)
{
	mem_free(program->starts);
	mem_free(program->lengths);
	mem_free(program->functions);
	mem_free(program->tags);
	mem_free(program->lines);
	mem_free(program->places);
	btf__free(program->types);
}

/* The program's functions; its descriptor, or -1. */
static int open_program(uint32_t id, struct program *ret)
{
	CLEANUP_FD int fd = bpf_prog_get_fd_by_id(id);
	*ret = (struct program){0};
	if (fd >= 0 && read_info(fd, &ret->info) && ask_functions(fd, ret))
		return steal_fd(fd);
	program_deinit(ret);
	return -1;
}

/* Not with the rest: there may be megabytes of them. */
static void load_types(struct program *program)
{
	if (program->info.btf_id)
		program->types = btf__load_from_kernel_by_id(program->info.btf_id);
}

/* ---- functions ---- */

/* NULL: without types. */
static const char *typed_name(const struct program *program, uint32_t index)
{
	const struct bpf_prog_info *info = &program->info;
	struct bpf_func_info function;
	if (!program->types || index >= info->nr_func_info ||
		info->func_info_rec_size < sizeof(function))
		return NULL;
	memcpy(&function, program->functions + (size_t)index * info->func_info_rec_size,
		sizeof(function));
	const struct btf_type *type = btf__type_by_id(program->types, function.type_id);
	return type ? btf__name_by_offset(program->types, type->name_off) : NULL;
}

static void bpf_program_put_name(struct str *name, const struct program *program, uint32_t index)
{
	const struct bpf_prog_info *info = &program->info;
	const uint8_t *tag =
		index < info->nr_prog_tags ? program->tags + index * BPF_TAG_SIZE : info->tag;
	const char *own = typed_name(program, index);
	if (!own)
		own = index ? "F" : info->name;
	str_puts(name, "bpf_prog_");
	hex_put(name, tag, BPF_TAG_SIZE);
	if (own[0])
		str_printf(name, "_%s", own);
}

static void each_function(
	const struct program *program, uint32_t id, bpf_program_fn *fn, void *context)
{
	const struct bpf_prog_info *info = &program->info;
	for (uint32_t i = 0; i < info->nr_jited_ksyms && i < info->nr_jited_func_lens; i++) {
		struct bpf_program_function function = {
			id, program->starts[i], program->lengths[i]};
		if (function.start) /* 0: addresses are hidden from us */
			fn(context, &function);
	}
}

void bpf_program_each(bpf_program_fn *fn, void *context)
{
	for (uint32_t id = 0; !bpf_prog_get_next_id(id, &id);) {
		struct program program;
		CLEANUP_FD int fd = open_program(id, &program);
		if (fd < 0)
			continue;
		each_function(&program, id, fn, context);
		program_deinit(&program);
	}
}

static bool bpf_program_find_function(
	const struct program *program, uint64_t start, uint32_t *index)
{
	for (*index = 0; *index < program->info.nr_jited_ksyms; ++*index)
		if (program->starts[*index] == start)
			return true;
	return false;
}

bool bpf_program_name(const struct bpf_program_function *function, struct str *ret)
{
	struct program program;
	CLEANUP_FD int fd = open_program(function->id, &program);
	uint32_t index;
	if (fd < 0)
		return false;
	bool is_found = bpf_program_find_function(&program, function->start, &index);
	if (is_found) {
		load_types(&program);
		bpf_program_put_name(ret, &program, index);
	}
	program_deinit(&program);
	return is_found;
}

/* A descriptor's name is that of fs/anon_inodes.c and kernel/bpf/syscall.c. */
static bool is_program_open_as(int folder, const char *name)
{
	static const char kind[] = "anon_inode:bpf-prog";
	char link[sizeof(kind) + 1];
	ssize_t len = readlinkat(folder, name, link, sizeof(link));
	return len == sizeof(kind) - 1 && memcmp(link, kind, sizeof(kind) - 1) == 0;
}

static bool has_function_at(int fd, uint64_t start)
{
	struct program program = {0};
	uint32_t index;
	bool is_there = read_info(fd, &program.info) && ask_functions(fd, &program) &&
			bpf_program_find_function(&program, start, &index);
	program_deinit(&program);
	return is_there;
}

bool bpf_program_is_own(uint64_t start)
{
	DIR *folder = opendir("/proc/self/fd");
	bool is_own = false;
	for (struct dirent *entry; folder && !is_own && (entry = readdir(folder));)
		is_own = is_program_open_as(dirfd(folder), entry->d_name) &&
			 has_function_at(atoi(entry->d_name), start);
	if (folder)
		closedir(folder);
	return is_own;
}

/* ---- lines ---- */

static void add_line(struct bpf_lines *lines, const struct btf *types, uint64_t address,
	const struct bpf_line_info *info)
{
	const char *file = btf__name_by_offset(types, info->file_name_off);
	if (!address || !file)
		return;
	struct bpf_line line = {
		.address = address,
		.file = strtab_intern(&lines->files, file, strlen(file)),
		.line = BPF_LINE_INFO_LINE_NUM(info->line_col),
	};
	vec_push(&lines->list, line);
}

static void add_lines(struct bpf_lines *lines, const struct program *program)
{
	const struct bpf_prog_info *info = &program->info;
	for (uint32_t i = 0; i < info->nr_line_info && i < info->nr_jited_line_info; i++) {
		struct bpf_line_info line;
		memcpy(&line, program->lines + (size_t)i * info->line_info_rec_size, sizeof(line));
		add_line(lines, program->types, program->places[i], &line);
	}
}

/* True: it is the right one. */
static bool bpf_program_read_lines(uint32_t id, uint64_t start, struct bpf_lines *ret)
{
	struct program program;
	CLEANUP_FD int fd = open_program(id, &program);
	uint32_t index;
	if (fd < 0)
		return false;
	bool is_right = bpf_program_find_function(&program, start, &index);
	if (is_right)
		load_types(&program);
	if (program.types && ask_lines(fd, &program))
		add_lines(ret, &program);
	program_deinit(&program);
	return is_right;
}

void bpf_lines_read(const struct bpf_program_function *function, struct bpf_lines *ret)
{
	*ret = (struct bpf_lines){0};
	bool is_found = function->id && bpf_program_read_lines(function->id, function->start, ret);
	for (uint32_t id = 0; !function->id && !is_found && !bpf_prog_get_next_id(id, &id);)
		is_found = bpf_program_read_lines(id, function->start, ret);
	bpf_lines_sort(ret);
}

void bpf_lines_deinit(struct bpf_lines *lines)
{
	vec_deinit(&lines->list);
	strtab_deinit(&lines->files);
}

static int bpf_program_compare_lines(const void *a, const void *b)
{
	const struct bpf_line *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

void bpf_lines_sort(struct bpf_lines *lines)
{
	if (lines->list.len)
		qsort(lines->list.data, lines->list.len, sizeof(*lines->list.data),
			bpf_program_compare_lines);
}

const struct bpf_line *bpf_lines_find(const struct bpf_lines *lines, uint64_t address)
{
	size_t low = bisect(lines->list.len, i, lines->list.data[i].address <= address);
	return low ? &lines->list.data[low - 1] : NULL;
}
