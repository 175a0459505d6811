/*
 * Where Go keeps what a thread runs, read from the machine code of its runtime's functions: offsets
 * in its structures g and m, and the place of a thread's g. So versions that change them are known
 * before they are released.
 */
#ifndef EBPROF_GO_OFFSETS_H
#define EBPROF_GO_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct go_code { /* of a function; no bytes: there is none */
	const uint8_t *bytes;
	size_t len;
	uint64_t address; /* a virtual one */
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
};

/*
 * runtime.systemstack: the thread's g, g.m and m.curg. False: it does not say all of them. Of arm64
 * *tls is left as it is.
 */
bool go_offsets_of_thread(const struct go_code *code, int32_t *tls, uint16_t *m, uint16_t *curg);
/* g.goid, by runtime.casgstatus, which changes g.atomicstatus; 0: it does not say it. */
uint16_t go_offset_of_goid(const struct go_code *code);
/* g.gopc, by runtime.newproc1, which fills a new g in; 0: it does not say it. */
uint16_t go_offset_of_creator(const struct go_code *code);
/* g.labels, by runtime/pprof.runtime_setProfLabel; 0: it does not say it. */
uint16_t go_offset_of_labels(const struct go_code *code);
/* runtime.load_g of arm64: the virtual address of the byte that says whether the program has C
 * code; 0: it does not say it. */
uint64_t go_address_of_cgo(const struct go_code *code);

#endif
