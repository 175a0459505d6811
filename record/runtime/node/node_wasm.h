/* Functions of WebAssembly in a process with V8, by where their code begins. */
#ifndef EBPROF_NODE_WASM_H
#define EBPROF_NODE_WASM_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/node/node_row.h"
#include "format/base/str.h"

/* The modules whose functions were asked for. */
struct node_wasm;

struct node_wasm *node_wasm_create(void);
void node_wasm_destroy(struct node_wasm *wasm);

/*
 * Appends what the code's function is called: its name in the module, or its index,
 * "wasm-function[7]". False: it is not known.
 */
bool node_wasm_read_name(
	struct node_wasm *wasm, uint32_t pid, const struct node_code *code, struct str *name);

#endif
