#include "record/source/page_tables.h"

#include <bpf/bpf.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/machine/machine.h"

enum {
	MAX_HOLES = 2048, /* in memory's addresses, in units of the direct map's alignment: AMD's is
			   * below 1 TiB */
	MIN_LEVELS = 3,
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

static bool try_direct_map(const struct page_tables_trial *trial, const struct own_word *word)
{
	unsigned page_shift = (unsigned)__builtin_ctzl((unsigned long)sysconf(_SC_PAGESIZE));
	for (unsigned levels = MIN_LEVELS; levels <= MAX_LEVELS; levels++) {
		trial->page_tables->first_shift =
			page_shift + (levels - 1) * (page_shift - ENTRY_SHIFT);
		if (leads_to_own_word(trial, word))
			return true;
	}
	return false;
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
	uint64_t highest = *trial->own_page_tables >> machine_native()->direct_map_shift,
		 count = count_units_of_memory();
	for (uint64_t unit = 0; unit < count && unit < highest; unit++) {
		trial->page_tables->direct_map = (highest - unit)
						 << machine_native()->direct_map_shift;
		if (try_direct_map(trial, &word))
			return true;
	}
	trial->page_tables->direct_map = 0;
	return false;
}
