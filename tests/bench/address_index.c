/*
 * The index of all addresses of a debug file: what it costs to make, how large it is, what a
 * look-up takes, and whether it says what the debug information says.
 *   address_index FILE [COUNT]
 * Prints time and memory of a pass for addresses all over the file, then those of making the index
 * and of COUNT new addresses, and how many answers differ.
 */
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/address_index_writer.h"

static const char entry[] = "00";

static double now_s(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct watch {
	double wall, cpu;
};

static struct watch start_watch(void)
{
	return (struct watch){now_s(CLOCK_MONOTONIC), now_s(CLOCK_PROCESS_CPUTIME_ID)};
}

static void print_watch(const struct watch *watch, const char *what)
{
	printf("%-28s %9s %9.3f %9.3f\n", what, "", now_s(CLOCK_MONOTONIC) - watch->wall,
		now_s(CLOCK_PROCESS_CPUTIME_ID) - watch->cpu);
}

static void die(struct err *err, const char *what)
{
	fprintf(stderr, "address_index: %s: %s\n", what, err ? err_message(err) : "failed");
	exit(1);
}

static long anonymous_kb(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	char line[128];
	long kb = 0;
	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	if (status)
		fclose(status);
	return kb;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Ascending, each once. */
static size_t draw_addresses(struct elf_file *elf, uint64_t *addresses, size_t count, unsigned seed)
{
	const struct elf_section *sections, *text = NULL;
	size_t nr_sections;
	struct err *err = elf_file_sections(elf, &sections, &nr_sections);
	if (err)
		die(err, "sections");
	for (size_t i = 1; i < nr_sections; i++)
		if (strcmp(sections[i].name, ".text") == 0)
			text = &sections[i];
	if (!text || !text->size)
		die(NULL, "no .text");
	srand(seed);
	for (size_t i = 0; i < count; i++)
		addresses[i] =
			text->addr + ((uint64_t)rand() << 20 ^ (uint64_t)rand()) % text->size;
	qsort(addresses, count, sizeof(*addresses), compare_addresses);
	size_t kept = 1;
	for (size_t i = 1; i < count; i++)
		if (addresses[i] != addresses[kept - 1])
			addresses[kept++] = addresses[i];
	return kept;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same(const struct chain *a, const struct chain *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct chain_frame *x = &a->frames[i], *y = &b->frames[i];
		if (!is_same_text(x->function, y->function) || !is_same_text(x->file, y->file) ||
			!is_same_text(x->decl_file, y->decl_file) || x->line != y->line ||
			x->column != y->column || x->decl_line != y->decl_line ||
			x->start != y->start || x->is_inlined != y->is_inlined)
			return false;
	}
	return true;
}

static struct dwarf_resolver *open_resolver(struct elf_file *elf, const char *path)
{
	struct dwarf_resolver *resolver =
		dwarf_resolver_create(elf, &(struct dwarf_resolver_options){.path = path});
	if (!resolver)
		die(NULL, "no debug information");
	return resolver;
}

/* What reading nearly all of the file takes: an address in most of its functions. */
static void measure_pass(struct elf_file *elf, const char *path)
{
	enum {
		COUNT = 1000000,
	};
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(COUNT, sizeof(*addresses));
	CLEANUP_FREE struct chain *chains = mem_zalloc_array(COUNT, sizeof(*chains));
	size_t kept = draw_addresses(elf, addresses, COUNT, 2);
	struct watch watch = start_watch();
	struct dwarf_resolver *resolver = open_resolver(elf, path);
	dwarf_resolver_run(resolver, addresses, kept, chains);
	print_watch(&watch, "1,000,000 addresses, a walk");
	dwarf_resolver_destroy(resolver);
}

static void *watch_memory(void *context)
{
	volatile long *state = context; /* the most so far; then whether to go on */
	while (state[1]) {
		long kb = anonymous_kb();
		if (kb > state[0])
			state[0] = kb;
		usleep(2000);
	}
	return NULL;
}

static void print_size(const char *folder)
{
	char path[4096];
	struct stat st;
	snprintf(path, sizeof(path), "%s/%s.index", folder, entry);
	if (stat(path, &st) == 0)
		printf("%-28s %9.1f MB\n", "index", (double)st.st_size / 1e6);
	unlink(path);
}

static void measure(struct elf_file *elf, const char *path, size_t count, const struct cache *cache)
{
	CLEANUP_FREE uint64_t *addresses = mem_zalloc_array(count, sizeof(*addresses));
	CLEANUP_FREE struct chain *direct = mem_zalloc_array(count, sizeof(*direct));
	CLEANUP_FREE struct chain *indexed = mem_zalloc_array(count, sizeof(*indexed));
	size_t kept = draw_addresses(elf, addresses, count, 1), different = 0;
	volatile long memory[2] = {0, 1};
	pthread_t watcher;
	pthread_create(&watcher, NULL, watch_memory, (void *)memory);
	struct watch watch = start_watch();
	struct dwarf_resolver *resolver = open_resolver(elf, path);
	if (!address_index_write(cache, entry, resolver))
		die(NULL, "not written");
	dwarf_resolver_destroy(resolver);
	print_watch(&watch, "making the index");
	memory[1] = 0;
	pthread_join(watcher, NULL);
	printf("%-28s %9ld kB\n", "anonymous memory, at most", memory[0]);
	watch = start_watch();
	struct address_index *index = address_index_open(cache, entry);
	if (!index || !address_index_run(index, addresses, kept, indexed))
		die(NULL, "the index is damaged");
	print_watch(&watch, "new addresses, the index");
	watch = start_watch();
	resolver = open_resolver(elf, path);
	dwarf_resolver_run(resolver, addresses, kept, direct);
	print_watch(&watch, "new addresses, a walk");
	for (size_t i = 0; i < kept; i++)
		if (!is_same(&direct[i], &indexed[i]) && different++ < 5)
			printf("0x%llx: %u and %u frames\n", (unsigned long long)addresses[i],
				direct[i].count, indexed[i].count);
	printf("%-28s %9zu of %zu\n", "different answers", different, kept);
	dwarf_resolver_destroy(resolver);
	address_index_close(index);
	measure_pass(elf, path);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) : 10000;
	CLEANUP_FD int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	if (err)
		die(err, argv[1]);
	char folder[] = "/tmp/address_index.XXXXXX";
	struct cache *cache;
	if (!mkdtemp(folder))
		die(NULL, folder);
	err = address_index_cache_open(folder, &cache);
	if (err)
		die(err, folder);
	measure(elf, argv[1], count, cache);
	print_size(folder);
	rmdir(folder);
	cache_close(cache);
	elf_file_destroy(elf);
	return 0;
}
