/*
 * The variable of each thread by which a program publishes what the thread works at:
 * OpenTelemetry's "otel_thread_ctx_v1", which a file shows among its dynamic symbols. In a program
 * its distance from the thread's pointer follows from the file. The loader tells a library
 * where its variables are, in slots that relocations name; how the slot is read depends on the
 * relocation.
 *
 * Source: ELF Handling For Thread-Local Storage, 3 and 4.4; System V psABI of x86-64, table 4.9;
 * "ELF for the Arm 64-bit Architecture", 5.7.11; sysdeps/{x86_64,aarch64}/dl-tlsdesc.h of glibc
 * 2.36; ldso/dynlink.c of musl 1.2.4.
 */
#ifndef EBPROF_THREAD_SYMBOL_H
#define EBPROF_THREAD_SYMBOL_H

#include <stdbool.h>
#include <stdint.h>

#include "format/base/err.h"
#include "format/elf/elf_file.h"

enum thread_symbol_kind {
	THREAD_SYMBOL_NONE = 0,
	THREAD_SYMBOL_OFFSET,     /* `place`, from the thread's pointer on */
	THREAD_SYMBOL_DISTANCE,   /* that stands in the slot */
	THREAD_SYMBOL_MODULE,     /* the slot has the module's number, and an offset */
	THREAD_SYMBOL_DESCRIPTOR, /* a function, and a distance or where the other two are */
	THREAD_SYMBOL_UNKNOWN,    /* it is there, but nothing leads to it */
};

struct thread_symbol {
	enum thread_symbol_kind kind;
	uint64_t place;  /* the slot's virtual address */
	uint64_t offset; /* of the variable, among the file's */
};

/* Of a machine that is known. ERR_FORMAT when the tables contradict themselves. */
struct err *thread_symbol_find(struct elf_file *elf, struct thread_symbol *ret) ERR_MUST_CHECK;

#endif
