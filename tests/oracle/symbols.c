/*
 * Addresses of a file to functions, files and lines, as llvm-symbolizer prints
 * them, for comparison with other symbolizers:
 *
 *   symbols FILE [random COUNT [SEED]] <ADDRESSES
 *
 * Addresses are read from standard input, one a line, or with "random" drawn from the
 * file's executable sections and printed ("random" alone prints nothing else).
 * Each address gives its line, then for each level FUNCTION and FILE:LINE, then an empty
 * line. Time and memory go to standard error. It is DWARF that is read, or as READER in the
 * environment says: "go", Go's tables; "report", what a report finds for FILE, which may be in
 * other files, joined with symbol tables.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "format/base/mem.h"
#include "format/base/vec.h"
#include "report/name/symbol/dwarf_resolver.h"
#include "report/name/symbol/go_resolver.h"
#include "report/name/symbol/symbol_file.h"
#include "report/name/symbol/symbol_resolver.h"

struct list {
	VEC(uint64_t) addresses;
};

static int fail(struct err *err, const char *what)
{
	fprintf(stderr, "symbols: %s: %s\n", what, err ? err_message(err) : "failed");
	err_destroy(err);
	return 1;
}

static double now_s(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A number drawn below `limit`: splitmix64, the same everywhere. */
static uint64_t draw(uint64_t *state, uint64_t limit)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % limit;
}

static int print_random(struct elf_file *elf, size_t wanted, uint64_t seed)
{
	const struct elf_section *sections, *text = NULL;
	size_t count;
	struct err *err = elf_file_sections(elf, &sections, &count);
	if (err)
		return fail(err, "sections");
	for (size_t i = 1; i < count; i++)
		if (strcmp(sections[i].name, ".text") == 0)
			text = &sections[i];
	if (!text || !text->size)
		return fail(NULL, "no .text");
	for (size_t i = 0; i < wanted; i++)
		printf("0x%llx\n", (unsigned long long)(text->addr + draw(&seed, text->size)));
	return 0;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static void read_addresses(struct list *list)
{
	char line[64];
	while (fgets(line, sizeof(line), stdin))
		vec_push(&list->addresses, strtoull(line, NULL, 16));
	if (!list->addresses.len)
		return;
	qsort(list->addresses.data, list->addresses.len, sizeof(uint64_t), compare_addresses);
	size_t kept = 1;
	for (size_t i = 1; i < list->addresses.len; i++)
		if (list->addresses.data[i] != list->addresses.data[kept - 1])
			list->addresses.data[kept++] = list->addresses.data[i];
	list->addresses.len = kept;
}

static void print_chain(uint64_t address, const struct chain *chain)
{
	printf("0x%llx\n", (unsigned long long)address);
	for (uint32_t i = 0; i < chain->count; i++) {
		const struct chain_frame *frame = &chain->frames[i];
		printf("%s\n%s:%u\n", frame->function ? frame->function : "??",
			frame->file ? frame->file : "??", frame->line);
	}
	if (!chain->count)
		printf("??\n??:0\n");
	printf("\n");
}

/* Anonymous memory at its most, as the kernel counts it; rougher than a peak, but without files. */
static void print_memory(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	while (status && fgets(line, sizeof(line), status))
		if (strncmp(line, "RssAnon", 7) == 0 || strncmp(line, "VmHWM", 5) == 0)
			fprintf(stderr, "%s", line);
	if (status)
		fclose(status);
}

/* Keeps the resolver, to which the chains belong, for the few moments until the process ends. */
static bool run(
	struct elf_file *elf, const char *path, const struct list *list, struct chain *chains)
{
	const char *reader = getenv("READER"), *threads = getenv("THREADS");
	if (reader && strcmp(reader, "go") == 0) {
		struct go_resolver *go = go_resolver_create(elf);
		if (go)
			go_resolver_run(go, list->addresses.data, list->addresses.len, chains);
		return go;
	}
	struct dwarf_resolver_options options = {
		.nr_threads = threads ? (unsigned)strtoul(threads, NULL, 10) : 0, .path = path};
	struct dwarf_resolver *dwarf = dwarf_resolver_create(elf, &options);
	if (dwarf)
		dwarf_resolver_run(dwarf, list->addresses.data, list->addresses.len, chains);
	return dwarf;
}

/* The object that a recording of the file would have. */
static struct profile_object describe(struct elf_file *elf, int fd, const char *path)
{
	struct profile_object object = {.path = path, .name = path};
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	if (build_id && len <= sizeof(object.info.build_id)) {
		memcpy(object.info.build_id, build_id, len);
		object.info.build_id_len = (uint32_t)len;
	}
	struct stat stat = {0};
	if (fstat(fd, &stat) == 0) {
		object.info.size_bytes = (uint64_t)stat.st_size;
		object.info.mtime_ns =
			(uint64_t)stat.st_mtim.tv_sec * 1000000000 + (uint64_t)stat.st_mtim.tv_nsec;
	}
	return object;
}

static int resolve_as_report(struct elf_file *elf, int fd, const char *path)
{
	struct list list = {0};
	read_addresses(&list);
	CLEANUP_FREE char *absolute = realpath(path, NULL);
	struct profile_object object = describe(elf, fd, absolute);
	struct symbol_file file;
	symbol_file_find(&object, &(struct symbol_file_options){0}, &file);
	struct resolver_place *places = mem_zalloc_array(list.addresses.len + 1, sizeof(*places));
	vec_each(&list.addresses, address)
		places[address - list.addresses.data] =
			(struct resolver_place){*address, *address, *address};
	resolver_run(&(struct resolver_sources){.symbols = symbol_file_index(&file),
			     .debug = file.debug,
			     .go = file.go,
			     .debug_options = {.path = file.debug_path, .alt_path = file.alt_path}},
		places, list.addresses.len, &object.chains);
	fprintf(stderr, "symbols: from %s\n", file.path ? file.path : file.problem);
	vec_each(&list.addresses, address) {
		struct chain chain = {0};
		chain_map_find(&object.chains, *address, &chain);
		print_chain(*address, &chain);
	}
	mem_free(places);
	chain_map_deinit(&object.chains);
	symbol_file_deinit(&file);
	vec_deinit(&list.addresses);
	return 0;
}

static int resolve(struct elf_file *elf, const char *path)
{
	struct list list = {0};
	read_addresses(&list);
	struct chain *chains = mem_zalloc_array(list.addresses.len + 1, sizeof(*chains));
	double began = now_s(CLOCK_MONOTONIC), cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
	if (!run(elf, path, &list, chains))
		return fail(NULL, "no debug information");
	fprintf(stderr, "symbols: %zu addresses in %.6f s, %.6f s of CPU\n", list.addresses.len,
		now_s(CLOCK_MONOTONIC) - began, now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu);
	print_memory();
	for (size_t i = 0; i < list.addresses.len; i++)
		print_chain(list.addresses.data[i], &chains[i]);
	mem_free(chains);
	vec_deinit(&list.addresses);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	CLEANUP_FD int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	if (err)
		return fail(err, argv[1]);
	const char *reader = getenv("READER");
	int status;
	if (argc > 3 && strcmp(argv[2], "random") == 0)
		status = print_random(elf, strtoul(argv[3], NULL, 10),
			argc > 4 ? strtoull(argv[4], NULL, 10) : 1);
	else if (reader && strcmp(reader, "report") == 0)
		status = resolve_as_report(elf, fd, argv[1]);
	else
		status = resolve(elf, argv[1]);
	elf_file_destroy(elf);
	return status;
}
