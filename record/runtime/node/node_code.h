/* Functions of JavaScript and their code: names, files, lines, and which are inlined in which. */
#ifndef EBPROF_NODE_CODE_H
#define EBPROF_NODE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/base/bytes.h"

/*
 * Reads one of a process, by what the BPF side sends: a struct node_code. `ret` gets a struct
 * runtime_inlined; its places are bytecodes, or, of compiled code, bytes of that. In a reader's
 * worker. False: it cannot be read, or is another one by now.
 */
bool node_code_read(
	void **kept, uint32_t pid, const void *given, size_t len, struct bytes_buf *ret);
/* Whether only reading says what the code is called. */
bool node_code_lacks_name(const void *given, size_t len);
/* What is kept from one call to the next; *kept is NULL at first. */
void node_code_destroy_kept(void *kept);

#endif
