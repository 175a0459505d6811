#include "record/source/page_tables.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/machine/machine.h"

enum {
	MAX_HOLES = 2048, /* in memory's addresses, in units of the direct map's alignment, where
			   * nothing says where memory is: AMD's is below 1 TiB */
	MAX_LEVELS = 5,
	ENTRY_SHIFT = 3,
};

struct own_word {
	uint64_t address, value;
};

/*
 * The kernel puts the stack at the end of the addresses that it gives programs which do not ask
 * for higher ones, some gigabytes of chance below it (fs/binfmt_elf.c,
 * randomize_stack_top(), 6.18).
 */
static unsigned count_address_bits(void)
{
	unsigned long on_stack = getauxval(AT_EXECFN);
	return on_stack ? (unsigned)(64 - __builtin_clzl(on_stack)) : 0;
}

static bool leads_to_own_word(const struct page_tables_trial *trial, const struct own_word *word)
{
	struct bpf_test_run_opts options = {
		.sz = sizeof(options), .ctx_in = word, .ctx_size_in = sizeof(*word)};
	return !bpf_prog_test_run_opts(trial->program, &options) && options.retval == 1;
}

/* How many of these units memory can reach over. */
static uint64_t count_units_of_memory(void)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	return (bytes >> machine_native()->direct_map_shift) + MAX_HOLES;
}

/* Each level has as many bits of an address as a page has entries: with pages of 64 KiB two levels
 * may do. */
static bool try_direct_map(const struct page_tables_trial *trial, const struct own_word *word)
{
	unsigned page_shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	for (unsigned levels = 1; levels <= MAX_LEVELS; levels++) {
		unsigned shift = page_shift + (levels - 1) * (page_shift - ENTRY_SHIFT);
		bool is_enough =
			shift + page_shift - ENTRY_SHIFT >= trial->page_tables->address_bits;
		trial->page_tables->first_shift = shift;
		if (is_enough && shift < 64 && leads_to_own_word(trial, word))
			return true;
	}
	return false;
}

void page_tables_read_memory(FILE *iomem, unsigned shift, struct machine_memory *ret)
{
	static const char ram[] = " : System RAM";
	char *line = NULL;
	size_t size = 0;
	while (getline(&line, &size, iomem) > 0) {
		uint64_t first, last;
		int len = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 "%n", &first, &last, &len) == 2 && last &&
			strncmp(line + len, ram, sizeof(ram) - 1) == 0)
			vec_push(&ret->pieces,
				(struct memory_pieces){first >> shift, last >> shift});
	}
	free(line); /* NOLINT: it is getline()'s */
}

/*
 * The pieces of memory that the kernel tells of, which on some machines of arm64 are mostly behind
 * the first 8 TiB; then, for where it tells of none, all places where memory may be.
 */
static void find_memory(struct machine_memory *ret)
{
	FILE *iomem = fopen("/proc/iomem", "re");
	if (iomem) {
		page_tables_read_memory(iomem, machine_native()->direct_map_shift, ret);
		fclose(iomem);
	}
	vec_push(&ret->pieces, (struct memory_pieces){0, count_units_of_memory() - 1});
}

/*
 * The tables of this process lie in the direct map, so that begins as far below them as they are
 * above the beginning of memory.
 */
bool page_tables_find(const struct page_tables_trial *trial)
{
	volatile uint64_t value = 0;
	struct own_word word = {.address = (uintptr_t)&value};
	if (getrandom(&word.value, sizeof(word.value), 0) != sizeof(word.value))
		return false;
	value = word.value;
	trial->page_tables->direct_map = 0;
	trial->page_tables->address_bits = count_address_bits();
	leads_to_own_word(trial, &word); /* tells where the tables are */
	uint64_t highest = *trial->own_page_tables >> machine_native()->direct_map_shift;
	struct machine_memory memory = {0};
	bool is_found = false;
	find_memory(&memory);
	for (size_t i = 0; i < memory.pieces.len && !is_found; i++) {
		const struct memory_pieces *pieces = &memory.pieces.data[i];
		for (uint64_t at = pieces->first; at <= pieces->last && at < highest && !is_found;
			at++) {
			trial->page_tables->direct_map = (highest - at)
							 << machine_native()->direct_map_shift;
			is_found = try_direct_map(trial, &word);
		}
	}
	if (!is_found)
		trial->page_tables->direct_map = 0;
	vec_deinit(&memory.pieces);
	return is_found;
}
