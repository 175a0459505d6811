/*
 * Code that Mono compiled, by its JIT info table, as read by the recorder's worker: where each
 * method's code is, what it is called, and Mono's own instructions to leave its frames.
 *
 * Mono exports mono_domain_get_by_id(), whose first loads are of the number of domains and of their
 * list. A domain has a table of chunks, a chunk up to 64 MonoJitInfo, ascending by their code. Call
 * frame instructions are kept once each, in a list that is not exported and found by what it
 * holds. Nothing else of Mono's layout but the offsets below is relied on, and what does not look
 * as it has to is left out.
 *
 * Source: processes of Debian 12's Mono 6.8.0.105; mono/metadata/{domain-internals,class-internals,
 * jit-info}, mono/mini/unwind.c of 6.8.
 */
#ifndef EBPROF_REGISTERED_MONO_H
#define EBPROF_REGISTERED_MONO_H

#include <stdbool.h>
#include <stdint.h>

#include "format/elf/elf_file.h"
#include "record/generated/registered_memory.h"

enum {
	REGISTERED_MONO_MAX_METHODS = 16 << 10,
	REGISTERED_MONO_MAX_FRAME_BYTES = 4096, /* of instructions of one method */
};

/* False: the file, which a process has mapped with this bias, is not of Mono. */
bool registered_mono_find(
	uint32_t pid, struct elf_file *elf, uint64_t bias, struct registered_descriptor *ret);
/* False: it changes just now, or cannot be read. *ret, which is empty, is to be freed by both. */
bool registered_mono_list(const struct registered_request *request, struct registered_list *ret);
/* False: it is another method's now, or makes no sense. *kept: see registered_mono_lines.h. */
bool registered_mono_image(
	void **kept, const struct registered_request *request, struct registered_image *ret);

/*
 * Appends the method's instructions as DWARF has them. Mono's own one stands where the epilogue
 * begins, which is given in bytes from the start. False: they make no sense.
 */
bool registered_mono_frames(
	const uint8_t *bytes, size_t len, uint64_t epilogue, struct bytes_buf *ret);

#endif
