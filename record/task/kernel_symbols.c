#include "record/task/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "record/host/host.h"
#include "record/host/kallsyms.h"
#include "record/host/proc.h"
#include "record/task/kernel_symbols_cache.h"

enum {
	MAX_SYMBOLS = 4 << 20,      /* twenty times what there are */
	MAX_NAME_BYTES = 256 << 20, /* of all of them */
};

/* ---- in the thread ---- */

static void kernel_symbols_add(struct kernel_symbols *symbols, const struct kallsyms_symbol *symbol)
{
	struct kernel_symbols_entry entry = {
		.address = symbol->address,
		.name = (uint32_t)symbols->list.names.len,
	};
	size_t len = symbols->list.entries.len;
	if (len && symbols->list.entries.data[len - 1].address > entry.address)
		symbols->is_unordered = true;
	vec_append(&symbols->list.names, symbol->name, symbol->name_len);
	vec_push(&symbols->list.names, '\0');
	vec_push(&symbols->list.entries, entry);
}

static bool kernel_symbols_take_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	struct kernel_symbols *symbols = context;
	if (kallsyms_has_name(symbol, "_text"))
		symbols->list.text_start = symbol->address;
	if (kallsyms_has_name(symbol, "_etext")) {
		symbols->list.text_end = symbol->address;
		__atomic_store_n(&symbols->text_end, symbol->address, __ATOMIC_RELAXED);
	}
	if (symbol->address && kallsyms_is_function(symbol))
		kernel_symbols_add(symbols, symbol);
	return !__atomic_load_n(&symbols->is_ending, __ATOMIC_RELAXED) &&
	       symbols->list.entries.len < MAX_SYMBOLS && symbols->list.names.len < MAX_NAME_BYTES;
}

/*
 * A radix sort, which leaves equal addresses in the order of kallsyms: a byte at a time from the
 * lowest on, and of the bytes only those that differ. 3 ms, of which qsort() would make 30.
 */
static void kernel_symbols_sort(struct kernel_symbols *symbols)
{
	size_t len = symbols->list.entries.len;
	struct kernel_symbols_entry *from = symbols->list.entries.data;
	struct kernel_symbols_entry *to =
		mem_realloc_array(NULL, symbols->list.entries.cap, sizeof(*to));
	uint64_t differing = 0;
	for (size_t i = 0; i < len; i++)
		differing |= from[i].address ^ from[0].address;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if (!(differing >> shift & 0xff))
			continue;
		size_t starts[257] = {0}; /* of each byte's entries, once summed up */
		for (size_t i = 0; i < len; i++)
			starts[(from[i].address >> shift & 0xff) + 1]++;
		for (size_t byte = 1; byte < 256; byte++)
			starts[byte] += starts[byte - 1];
		for (size_t i = 0; i < len; i++)
			to[starts[from[i].address >> shift & 0xff]++] = from[i];
		struct kernel_symbols_entry *swap = from;
		from = to;
		to = swap;
	}
	mem_free(to);
	symbols->list.entries.data = from;
}

void kernel_symbols_read(struct kernel_symbols *symbols, int fd)
{
	kallsyms_read(fd, kernel_symbols_take_symbol, symbols);
	if (symbols->is_unordered)
		kernel_symbols_sort(symbols);
	symbols->is_unordered = false;
}

static void kernel_symbols_read_all(struct kernel_symbols *symbols)
{
	CLEANUP_FD int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		kernel_symbols_read(symbols, fd);
}

enum {
	BOOT_DIGITS = 32,
};

/* False: it cannot be read. */
static bool read_boot(char ret[BOOT_DIGITS + 1])
{
	CLEANUP(str_deinit) struct str text = {0};
	size_t len = 0;
	if (!host_put_boot(&text))
		return false;
	for (size_t i = 0; i < text.len && len < BOOT_DIGITS; i++)
		if (text.data[i] != '-')
			ret[len++] = text.data[i];
	ret[len] = 0;
	return len == BOOT_DIGITS;
}

/* What was kept of this boot's kernel; else all are read, and those of the kernel are kept. */
static void load_or_read(struct kernel_symbols *symbols)
{
	char boot[BOOT_DIGITS + 1];
	bool is_hidden = false, may_keep = read_boot(boot);
	CLEANUP_FD int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	uint64_t text_start = fd < 0 ? 0 : kallsyms_read_base(fd, &is_hidden);
	if (may_keep && text_start &&
		kernel_symbols_cache_load(symbols->folder, boot, text_start, &symbols->list)) {
		__atomic_store_n(&symbols->text_end, symbols->list.text_end, __ATOMIC_RELAXED);
		__atomic_store_n(&symbols->is_part, true, __ATOMIC_RELEASE);
		return;
	}
	if (is_hidden)
		return;
	kernel_symbols_read_all(symbols);
	if (may_keep && !__atomic_load_n(&symbols->is_ending, __ATOMIC_RELAXED))
		kernel_symbols_cache_store(symbols->folder, boot, &symbols->list);
}

/*
 * At the usual priority. It is 50 ms of one CPU, once, mostly before what is profiled runs; a nice
 * thread would take a second for it on a busy machine, and the recorder would wait for it.
 */
static void *kernel_symbols_run(void *context)
{
	struct kernel_symbols *symbols = context;
	bool has_cache = !symbols->folder || symbols->folder[0];
	if (has_cache)
		load_or_read(symbols);
	else
		kernel_symbols_read_all(symbols);
	return NULL;
}

/* ---- outside of it ---- */

void kernel_symbols_deinit(struct kernel_symbols *symbols)
{
	__atomic_store_n(&symbols->is_ending, true, __ATOMIC_RELAXED);
	if (symbols->has_thread)
		pthread_join(symbols->thread, NULL);
	vec_deinit(&symbols->list.entries);
	str_deinit(&symbols->list.names);
	*symbols = (struct kernel_symbols){0};
}

void kernel_symbols_start(struct kernel_symbols *symbols, const char *folder)
{
	uint64_t text_end = kernel_symbols_text_end(symbols);
	kernel_symbols_deinit(symbols);
	symbols->folder = folder;
	symbols->text_end = text_end; /* stays what it was */
	symbols->has_thread = !pthread_create(&symbols->thread, NULL, kernel_symbols_run, symbols);
}

void kernel_symbols_want_all(struct kernel_symbols *symbols)
{
	if (__atomic_load_n(&symbols->is_part, __ATOMIC_ACQUIRE))
		kernel_symbols_start(symbols, "");
}

void kernel_symbols_wait(struct kernel_symbols *symbols)
{
	if (symbols->is_ready)
		return;
	symbols->is_ready = true;
	if (!symbols->has_thread) {
		kernel_symbols_read_all(symbols);
		return;
	}
	pthread_join(symbols->thread, NULL);
	symbols->has_thread = false;
}

uint64_t kernel_symbols_text_end(const struct kernel_symbols *symbols)
{
	return __atomic_load_n(&symbols->text_end, __ATOMIC_RELAXED);
}

/* How many are at or before the address. */
static size_t upper_bound(const struct kernel_symbol_list *list, uint64_t address)
{
	return bisect(list->entries.len, i, list->entries.data[i].address <= address);
}

bool kernel_symbols_find(
	struct kernel_symbols *symbols, uint64_t address, struct kernel_symbol *ret)
{
	const struct kernel_symbol_list *list = &symbols->list;
	if (symbols->is_part && (address < list->text_start || address >= list->text_end)) {
		kernel_symbols_want_all(symbols);
		kernel_symbols_wait(symbols);
	}
	const struct kernel_symbols_entry *entries = list->entries.data;
	size_t end = upper_bound(list, address);
	if (!end)
		return false;
	size_t first = end - 1;
	while (first && entries[first - 1].address == entries[first].address)
		first--;
	bool is_last = end == list->entries.len;
	*ret = (struct kernel_symbol){
		.address = entries[first].address,
		.size = is_last ? 0 : entries[end].address - entries[first].address,
		.name = list->names.data + entries[first].name,
	};
	return true;
}
