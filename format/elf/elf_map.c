#include "format/elf/elf_map.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/mem.h"

enum {
	COPIED_BYTES = 256 << 10,
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
		mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
			MAP_FAILED)
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

static bool map_pages(const struct elf_file *file, uint64_t offset, struct elf_map *map)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, install);
	size_t into = (size_t)(offset & (page_bytes - 1));
	map->base_len = (size_t)map->len + into;
	map->base = mmap(NULL, map->base_len, PROT_READ, MAP_PRIVATE, elf_file_fd(file),
		(off_t)(offset - into));
	if (map->base == MAP_FAILED)
		return false;
	map->slot = take_slot((uintptr_t)map->base, map->base_len);
	if (map->slot < 0) {
		munmap(map->base, map->base_len);
		return false;
	}
	map->bytes = (const uint8_t *)map->base + into;
	return true;
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
	if (len <= COPIED_BYTES || elf_file_fd(file) < 0 || !map_pages(file, offset, &map)) {
		map.base = NULL;
		try(elf_file_read(file, offset, len, &map.copy));
		map.bytes = map.copy;
	}
	*ret = map;
	return NULL;
}

void elf_map_release(struct elf_map *map)
{
	if (map->base) {
		munmap(map->base, map->base_len);
		atomic_store(&slots[map->slot].end, 0);
	}
	mem_free(map->copy);
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
