/*
 * What the binary format of WebAssembly says of a module's functions: how many are imported, how
 * many are its own, and what they are called. Source: WebAssembly Core Specification 2.0, sections
 * 5.5 and 7.4.1; imports with the kinds and types of 3.0.
 */
#ifndef EBPROF_WASM_MODULE_H
#define EBPROF_WASM_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"
#include "format/base/vec.h"

/* The sections that are looked at; others are left out. */
enum wasm_section {
	WASM_SECTION_IMPORTS,
	WASM_SECTION_FUNCTIONS, /* its first bytes are enough */
	WASM_SECTION_EXPORTS,
	WASM_SECTION_NAMES, /* behind its own name */
	WASM_SECTIONS,
	WASM_SECTION_OTHER = WASM_SECTIONS,
};

struct wasm_name {
	uint32_t function; /* its index, imported ones first */
	uint32_t len;
	const char *text; /* in the sections' bytes */
};

struct wasm_module {
	uint32_t nr_imported, nr_declared;
	VEC(struct wasm_name) names; /* by function, without any that has none */
};

/*
 * A section's head: what is at its beginning, up to WASM_HEAD_BYTES. *head_len: its own bytes,
 * *body_len: those behind it. False: no section begins there.
 */
enum {
	WASM_HEAD_BYTES = 16,
};
bool wasm_section_head(const uint8_t *bytes, size_t len, enum wasm_section *section,
	size_t *head_len, uint64_t *body_len);

/* Of the sections' bytes, empty where there are none. False: they make no sense. */
bool wasm_module_init(
	struct wasm_module *module, const struct bytes_buf sections[static WASM_SECTIONS]);
void wasm_module_deinit(struct wasm_module *module);
/* NULL: it has no name. */
const struct wasm_name *wasm_module_name(const struct wasm_module *module, uint32_t function);

#endif
