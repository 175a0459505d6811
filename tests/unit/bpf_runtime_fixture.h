/*
 * A process that a runtime of scripts runs in, as far as the walk can tell: its mappings, its
 * memory in words, and what ticks in it send. What stands in the memory is the runtime's.
 */
#ifndef EBPROF_BPF_RUNTIME_FIXTURE_H
#define EBPROF_BPF_RUNTIME_FIXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/event.h"
#include "bpf/runtime/runtime_row.h"
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"

enum {
	CODE = 0x400000, /* the interpreter; file offsets are addresses less this */
	HELPER =
		0x800, /* file offsets of a function that its loop calls, of the loop, and of who */
	LOOP = 0x1000, /* calls that, the outermost */
	CALLER = 0x2000,
	END = 0x3000,
	DATA = 0x5000, /* file offset of its variables */
	DATA_WORDS = 16,
	JIT = 0x600000, /* memory of no file, executable */
	STACK = 0x7000000,
	STACK_WORDS = 512,
	HEAP = 0x8000000,
	HEAP_WORDS = 4096,
	/* Words of the thread's memory, from glibc's struct pthread on: where the thread's pointer
	 * leads (of arm64's glibc 2.36), and the values of keys, two for each, of which the second
	 * is. What modules' blocks are found by is a word from the pointer, of glibc and of musl.
	 */
#if defined(__aarch64__)
	THREAD_POINTER = 0x740 / 8,
	GLIBC_KEYS = 0x110 / 8,
	THREAD_MODULES = 0,
	THREAD_MUSL_MODULES = -1,
#else
	THREAD_POINTER = 0,
	GLIBC_KEYS = 0x310 / 8,
	THREAD_MODULES = 1,
	THREAD_MUSL_MODULES = 1,
#endif
	GLIBC_KEY_BLOCKS = GLIBC_KEYS + 0x200 / 8,
	THREAD_WORDS = THREAD_POINTER + 256,
	EMULATED_SELF = EMULATED_THREAD - THREAD_POINTER * 8, /* what pthread_self() is */
};

struct runtime_fixture {
	struct table_store *store;
	struct unwind_table table;
	struct unwind_registers regs; /* of the next tick */
	uint64_t thread[THREAD_WORDS];
	uint64_t data[DATA_WORDS], heap[HEAP_WORDS], stack[STACK_WORDS];
	const uint64_t *words; /* of the last stack */
	uint32_t count;
};

static inline uint64_t heap_address(uint64_t word)
{
	return HEAP + word * 8;
}

static inline uint64_t stack_address(uint64_t word)
{
	return STACK + word * 8;
}

/* A word of the thread's memory, so many from where its pointer leads. */
static inline uint64_t *thread_word(struct runtime_fixture *fixture, int64_t word)
{
	return &fixture->thread[THREAD_POINTER + word];
}

/* The value that the thread has of a key of pthread_key_create(). */
static inline uint64_t *thread_value(struct runtime_fixture *fixture, uint64_t key)
{
	return &fixture->thread[GLIBC_KEYS + 2 * key + 1];
}

/*
 * All memory is zero; the thread has a pointer to its own, which cannot be read yet. The leaf is
 * the loop, and its native frame, as that of the helper, has so many bytes.
 */
void runtime_fixture_init(struct runtime_fixture *fixture, uint32_t frame_bytes);
/* The thread's memory can be read from now on. */
void runtime_fixture_show_thread(struct runtime_fixture *fixture);
/* The table is the file's from now on, with its row of the runtime. */
void runtime_fixture_bind(struct runtime_fixture *fixture);
void runtime_fixture_deinit(struct runtime_fixture *fixture);

/* The words of the stack that is sent, which no sample had before. */
const uint64_t *runtime_fixture_tick(struct runtime_fixture *fixture);
/* The last stack, a letter a frame: (s)cript, (n)ative of the file, (a)nonymous. */
const char *runtime_fixture_shape(const struct runtime_fixture *fixture);

/* ---- of words ---- */

bool is_script(uint64_t word);
uint32_t number_of(uint64_t word);
uint32_t place_of(uint64_t word);
/* Of a frame without code: why, if it is of this runtime; else 0. */
enum layout_script_failure failure_of(uint64_t word, enum runtime_kind kind);

/* A text of the n-th code that was sent by the last tick; "": there is none, or it is long. */
const char *sent_text(size_t n, enum runtime_text what);
/*
 * "NAME+PLACE NAME+PLACE" of the last stack's script frames, where none of their functions was
 * known before: their codes were sent in this order.
 */
const char *sent_frames(const struct runtime_fixture *fixture);

#endif
