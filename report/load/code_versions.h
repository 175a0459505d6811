/*
 * Compiled code changes while a program runs: one place holds one function after
 * the other. Where that happened between samples, their stacks are told apart
 * here; everywhere else a frame simply gets its code.
 */
#ifndef EBPROF_CODE_VERSIONS_H
#define EBPROF_CODE_VERSIONS_H

#include "report/load/loading.h"

struct code_versions;

/*
 * Gives the frames their code; to be called when all is read. NULL when no place changed: then
 * there is nothing else to do. `loading` is borrowed.
 */
struct code_versions *code_versions_create(struct loading *loading);
void code_versions_destroy(struct code_versions *versions);

/*
 * The node of this user stack as it was at `time_ns`, perhaps a new one. `is_stale`: a function in
 * it may have been another one then.
 */
uint32_t code_versions_node(
	struct code_versions *versions, uint32_t user, uint64_t time_ns, bool *is_stale);

#endif
