#include "format/elf/elf_map.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_scratch.h"

enum {
	COPIED_BYTES = 256 << 10,
	KEPT_BYTES = 4 << 20,
	KEPT_BYTES_MAX = 256 << 20, /* where there is no room elsewhere */
	POPULATED_BYTES = 4 << 20,
	SLOTS = 512,
};

/* A signal handler finds what it needs in static memory only. */
static struct {
	_Atomic uintptr_t start, end; /* end 0: free; 1: being filled */
} slots[SLOTS];
static struct sigaction previous;
static size_t page_bytes;

static bool is_mapped(uintptr_t address)
{
	for (size_t i = 0; i < SLOTS; i++)
		if (address < atomic_load(&slots[i].end) && address >= atomic_load(&slots[i].start))
			return true;
	return false;
}

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
	(void)context;
	int saved = errno;
	uintptr_t address = (uintptr_t)info->si_addr;
	void *page = (void *)(address & ~(uintptr_t)(page_bytes - 1));
	if (info->si_code != BUS_ADRERR || !is_mapped(address) ||
		mmap(page, page_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		sigaction(signal, &previous, NULL); /* it comes again, to its owner */
	errno = saved;
}

static void install(void)
{
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &previous);
}

static int take_slot(uintptr_t start, size_t len)
{
	for (int i = 0; i < SLOTS; i++) {
		uintptr_t free_mark = 0;
		if (!atomic_compare_exchange_strong(&slots[i].end, &free_mark, 1))
			continue;
		atomic_store(&slots[i].start, start);
		atomic_store(&slots[i].end, start + len);
		return i;
	}
	return -1;
}

/* Whole pages of a file from `offset` on, which need not be a multiple of their size. */
static bool map_pages(int fd, uint64_t offset, int protection, int flags, struct elf_map *map)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
	size_t into = (size_t)(offset & (page_bytes - 1));
	size_t file_len = ((size_t)map->len + into + page_bytes - 1) & ~(page_bytes - 1);
	map->base_len = file_len + page_bytes;
	map->base = mmap(NULL, map->base_len, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map->base == MAP_FAILED)
		return false;
	map->slot = take_slot((uintptr_t)map->base, map->base_len);
	if (map->slot < 0 || mmap(map->base, file_len, protection, flags | MAP_FIXED, fd,
				     (off_t)(offset - into)) == MAP_FAILED) {
		if (map->slot >= 0)
			atomic_store(&slots[map->slot].end, 0);
		munmap(map->base, map->base_len);
		return false;
	}
	map->bytes = (const uint8_t *)map->base + into;
	return true;
}

struct err *elf_map_copy(
	const struct elf_file *file, uint64_t offset, uint64_t len, struct elf_map *ret)
{
	struct elf_map map = {.len = len, .slot = -1};
	try(elf_file_read(file, offset, len, &map.copy));
	map.bytes = map.copy;
	*ret = map;
	return NULL;
}

struct err *elf_map_range(
	const struct elf_file *file, uint64_t offset, uint64_t len, struct elf_map *ret)
{
	struct elf_map map = {.len = len, .slot = -1};
	uint64_t size = elf_file_size(file);
	if (offset > size || len > size - offset)
		return err_new(ERR_FORMAT, "%llu bytes at offset %#llx are not in a file of %llu",
			(unsigned long long)len, (unsigned long long)offset,
			(unsigned long long)size);
	if (len <= COPIED_BYTES || elf_file_fd(file) < 0 ||
		!map_pages(elf_file_fd(file), offset, PROT_READ, MAP_PRIVATE, &map))
		return elf_map_copy(file, offset, len, ret);
	*ret = map;
	return NULL;
}

struct err *elf_map_file(int fd, uint64_t len, struct elf_map *ret)
{
	struct elf_map map = {.len = len, .slot = -1};
	if (!len || !map_pages(fd, 0, PROT_READ, MAP_PRIVATE, &map))
		return err_new(ERR_IO, "%llu bytes cannot be mapped", (unsigned long long)len);
	*ret = map;
	return NULL;
}

static bool create_pages(struct elf_map *map)
{
	CLEANUP_FD int fd = elf_scratch_open(map->len);
	return fd >= 0 && map_pages(fd, 0, PROT_READ | PROT_WRITE, MAP_SHARED, map);
}

struct range {
	uint8_t *start;
	size_t len;
};

/* Runs ahead of who writes: a page that is there already costs the writer no fault. */
static void *populate(void *context)
{
#ifdef MADV_POPULATE_WRITE /* since Linux 5.14 */
	const struct range *range = context;
	int failed = 0;
	for (size_t done = 0; done < range->len && !failed; done += POPULATED_BYTES) {
		size_t left = range->len - done;
		failed = madvise(range->start + done,
			left < POPULATED_BYTES ? left : POPULATED_BYTES, MADV_POPULATE_WRITE);
	}
#endif
	mem_free(context);
	return NULL;
}

static void start_populating(struct elf_map *map)
{
	struct range *range = mem_alloc(sizeof(*range));
	*range = (struct range){map->base, (size_t)map->len};
	map->is_populating = !pthread_create(&map->populator, NULL, populate, range);
	if (!map->is_populating)
		mem_free(range);
}

uint8_t *elf_map_create(uint64_t len, struct elf_budget *budget, struct elf_map *ret)
{
	struct elf_map map = {.len = len, .slot = -1, .budget = budget};
	if (!elf_budget_take(budget, len))
		return NULL;
	if (len > KEPT_BYTES && create_pages(&map)) {
		start_populating(&map);
	} else if (len > KEPT_BYTES_MAX) {
		elf_budget_refuse(budget, len);
		return NULL;
	} else {
		map.base = NULL;
		map.copy = mem_alloc((size_t)len + 1);
		map.copy[len] = 0;
		map.bytes = map.copy;
	}
	*ret = map;
	return map.copy ? map.copy : map.base;
}

void elf_map_release(struct elf_map *map)
{
	if (map->is_populating)
		pthread_join(map->populator, NULL);
	if (map->base) {
		munmap(map->base, map->base_len);
		atomic_store(&slots[map->slot].end, 0);
	}
	mem_free(map->copy);
	elf_budget_give(map->budget, map->len);
	*map = (struct elf_map){0};
}

void elf_map_forget(const struct elf_map *map, uint64_t offset, uint64_t len)
{
	if (!map->base || offset > map->len || len > map->len - offset)
		return;
	uintptr_t start = (uintptr_t)map->bytes + offset, end = start + len;
	start = (start + page_bytes - 1) & ~(uintptr_t)(page_bytes - 1);
	end &= ~(uintptr_t)(page_bytes - 1);
	if (start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}
