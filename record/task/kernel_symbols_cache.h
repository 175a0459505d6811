/*
 * The symbols of the kernel itself, without modules, as they are kept on disk from one recording to
 * the next while the kernel runs. An entry is found by the boot's ID, and is good where the
 * kernel's text begins at the address that it has.
 */
#ifndef EBPROF_KERNEL_SYMBOLS_CACHE_H
#define EBPROF_KERNEL_SYMBOLS_CACHE_H

#include "record/task/kernel_symbols.h"

/*
 * `folder` as in cache.h; `boot` are the hexadecimal digits of the boot's ID. False: there is no
 * such entry, or it is refused. Else *ret, which was empty, is yours.
 */
bool kernel_symbols_cache_load(
	const char *folder, const char *boot, uint64_t text_start, struct kernel_symbol_list *ret);
/* Stores what the list has between text_start and text_end. Nothing, where that cannot be done. */
void kernel_symbols_cache_store(
	const char *folder, const char *boot, const struct kernel_symbol_list *list);

#endif
