#include "record/task/kernel_symbols.h"

#include <fcntl.h>
#include <unistd.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "record/host/kallsyms.h"

enum {
	MAX_SYMBOLS = 4 << 20,      /* twenty times what there are */
	MAX_NAME_BYTES = 256 << 20, /* of all of them */
};

/* ---- in the thread ---- */

static void kernel_symbols_add(struct kernel_symbols *symbols, const struct kallsyms_symbol *symbol)
{
	struct kernel_symbols_entry entry = {
		.address = symbol->address,
		.name = (uint32_t)symbols->names.len,
	};
	size_t len = symbols->entries.len;
	if (len && symbols->entries.data[len - 1].address > entry.address)
		symbols->is_unordered = true;
	vec_append(&symbols->names, symbol->name, symbol->name_len);
	vec_push(&symbols->names, '\0');
	vec_push(&symbols->entries, entry);
}

static bool kernel_symbols_take_symbol(void *context, const struct kallsyms_symbol *symbol)
{
	struct kernel_symbols *symbols = context;
	if (kallsyms_has_name(symbol, "_etext"))
		__atomic_store_n(&symbols->text_end, symbol->address, __ATOMIC_RELAXED);
	if (symbol->address && kallsyms_is_function(symbol))
		kernel_symbols_add(symbols, symbol);
	return !__atomic_load_n(&symbols->is_ending, __ATOMIC_RELAXED) &&
	       symbols->entries.len < MAX_SYMBOLS && symbols->names.len < MAX_NAME_BYTES;
}

/*
 * A radix sort, which leaves equal addresses in the order of kallsyms: a byte at a time from the
 * lowest on, and of the bytes only those that differ. 3 ms, of which qsort() would make 30.
 */
static void kernel_symbols_sort(struct kernel_symbols *symbols)
{
	size_t len = symbols->entries.len;
	struct kernel_symbols_entry *from = symbols->entries.data;
	struct kernel_symbols_entry *to =
		mem_realloc_array(NULL, symbols->entries.cap, sizeof(*to));
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
	symbols->entries.data = from;
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

/*
 * At the usual priority. It is 50 ms of one CPU, once, mostly before what is profiled runs; a nice
 * thread would take a second for it on a busy machine, and the recorder would wait for it.
 */
static void *kernel_symbols_run(void *context)
{
	kernel_symbols_read_all(context);
	return NULL;
}

/* ---- outside of it ---- */

void kernel_symbols_deinit(struct kernel_symbols *symbols)
{
	__atomic_store_n(&symbols->is_ending, true, __ATOMIC_RELAXED);
	if (symbols->has_thread)
		pthread_join(symbols->thread, NULL);
	vec_deinit(&symbols->entries);
	str_deinit(&symbols->names);
	*symbols = (struct kernel_symbols){0};
}

void kernel_symbols_start(struct kernel_symbols *symbols)
{
	uint64_t text_end = kernel_symbols_text_end(symbols);
	kernel_symbols_deinit(symbols);
	symbols->text_end = text_end; /* stays what it was */
	symbols->has_thread = !pthread_create(&symbols->thread, NULL, kernel_symbols_run, symbols);
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
static size_t upper_bound(const struct kernel_symbols *symbols, uint64_t address)
{
	const struct kernel_symbols_entry *entries = symbols->entries.data;
	return bisect(symbols->entries.len, i, entries[i].address <= address);
}

bool kernel_symbols_find(
	const struct kernel_symbols *symbols, uint64_t address, struct kernel_symbol *ret)
{
	const struct kernel_symbols_entry *entries = symbols->entries.data;
	size_t end = upper_bound(symbols, address);
	if (!end)
		return false;
	size_t first = end - 1;
	while (first && entries[first - 1].address == entries[first].address)
		first--;
	bool is_last = end == symbols->entries.len;
	*ret = (struct kernel_symbol){
		.address = entries[first].address,
		.size = is_last ? 0 : entries[end].address - entries[first].address,
		.name = symbols->names.data + entries[first].name,
	};
	return true;
}
