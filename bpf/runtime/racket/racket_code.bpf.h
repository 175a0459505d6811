/*
 * Code objects of Chez Scheme, by an address in their instructions: a word that says that it is
 * one, its length, and so on, and the instructions behind eight words. They begin at multiples of
 * 16. A return address is in the code that the words ahead of it lead to; of any other address
 * memory is searched.
 *
 * While memory is collected, objects that were moved say where to, in their first two words; the
 * instructions stay where they were, and threads' stacks lead there for a while.
 *
 * Sources: racket/src/ChezScheme/s/cmacros.ss (code, string), c/gc.c of Racket 8.7.
 */
#ifndef EBPROF_RACKET_CODE_BPF_H
#define EBPROF_RACKET_CODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/known_code.bpf.h"
#include "bpf/runtime/racket/racket_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	RACKET_CODE_ALIGNMENT = 16,
	RACKET_CODE_TYPE = 0xbe, /* the lowest byte of the first word; flags are above */
	RACKET_CODE_FLAGS = 0x1ffff,
	RACKET_CODE_TEMPLATE = 0x400, /* a flag: that of code that C calls */
	RACKET_CODE_MAX_BYTES = 1 << 24,
	RACKET_OBJECT_TAG = 7, /* of a pointer to an object that says its type: one below it */

	RACKET_CODE_HEAD = 0, /* words of code */
	RACKET_CODE_LENGTH = 1,
	RACKET_CODE_NAME = 3, /* a string, or no pointer to an object */
	RACKET_CODE_INFO = 6,
	RACKET_CODE_WORDS = 8,
	RACKET_CODE_START = RACKET_CODE_WORDS * 8,

	RACKET_STRING_LENGTH_SHIFT = 4, /* of its first word; the characters are behind it */
	RACKET_CHARACTER_BYTES = 4,

	RACKET_KNOWN_ALIGNMENT = 64, /* addresses that near are in the same code, mostly */
	RACKET_PAGE_SHIFT = 12,
	RACKET_PIECES = 256, /* of WINDOW_BYTES that are searched */
	RACKET_STARTS = WINDOW_BYTES / RACKET_CODE_ALIGNMENT, /* in each */

	/* Bytes of code around the leaf's instruction. */
#if defined(__TARGET_ARCH_arm64)
	RACKET_AROUND_BEFORE = 32,
	RACKET_AROUND_BYTES = 128,
#else
	RACKET_AROUND_BEFORE = 24,
	RACKET_AROUND_BYTES = 96,
#endif
	RACKET_STACK_WORDS = 32, /* of C's stack that are searched */
	RACKET_RETURN_WORDS = 4, /* ahead of a return address */
	RACKET_CONTEXT_WORDS = 3,
	RACKET_CONTINUATION_WORDS = 6,
};

struct racket_walk {
	__u64 code;                    /* the code at hand, */
	__u64 head[RACKET_CODE_WORDS]; /* ... and what it begins with */
	__u64 size;     /* bytes of the frame that the return address at hand is in */
	__u64 top;      /* where the return address of the function at hand stands */
	__u64 base;     /* of the part of Scheme's stack at hand: where the outermost one stands */
	__u64 link;     /* the continuation behind that, a pointer */
	__u64 native;   /* where the address stands that returns to C; 0: not found */
	__u8 is_inside; /* ip is a return address of Scheme's stack, whose place is `top` */
	__u8 zero[7];
	__u64 words[RACKET_STACK_WORDS]; /* that are looked at */
	__u8 around[RACKET_AROUND_BYTES + 8];
};

_Static_assert(sizeof(struct racket_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct racket_walk *racket_walk(const struct runtime_walk *runtime)
{
	return (struct racket_walk *)runtime->words;
}

static __always_inline const struct racket_row *racket_row(const struct runtime_walk *runtime)
{
	return (const struct racket_row *)runtime->row.words;
}

/* ---- code objects ---- */

static __always_inline bool racket_is_head(__u64 head)
{
	return (head & 0xff) == RACKET_CODE_TYPE && head <= RACKET_CODE_FLAGS;
}

/* Makes the code object at hand that begins there, or that this one was moved to. */
static __always_inline bool racket_take_code(struct racket_walk *racket, __u64 code)
{
	__u64 *head = racket->head;
	if (bpf_probe_read_user(head, sizeof(racket->head), (const void *)code))
		return false;
	if (!racket_is_head(head[RACKET_CODE_HEAD])) {
		code = head[RACKET_CODE_LENGTH] + 1;
		if ((code & 7) || code < RACKET_CODE_ALIGNMENT ||
			bpf_probe_read_user(head, sizeof(racket->head), (const void *)code) ||
			!racket_is_head(head[RACKET_CODE_HEAD]))
			return false;
	}
	racket->code = code;
	return head[RACKET_CODE_LENGTH] <= RACKET_CODE_MAX_BYTES;
}

/* Makes the code object at hand that begins there and has the address. 0: none does; negative: one
 * does, without the address. */
static __always_inline int racket_try_code(struct scratch *scratch, __u64 code, __u64 address)
{
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	if (!runtime_may_try(&scratch->walk.runtime))
		return -1;
	if (!racket_take_code(racket, code))
		return 0;
	__u64 at = address - code - RACKET_CODE_START;
	return at < racket->head[RACKET_CODE_LENGTH] ? 1 : -1;
}

/* The same of the code that begins `at` in the walk's window, if any does. */
__noinline int racket_try_place(__u32 at, __u64 address);
__noinline int racket_try_place(__u32 at, __u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return -1;
	const struct window *window = &scratch->walk.window;
	at &= WINDOW_BYTES - 8;
	__u64 code = window->address + at;
	if (code >= address || !racket_is_head(*(__u64 *)(window->bytes + at)))
		return 0;
	return racket_try_code(scratch, code, address);
}

/*
 * Tries what looks like code's beginning in a piece of memory, the last first. Negative: nothing
 * ahead of it has the address. The walk's window is used for it: there is no other room.
 */
__noinline int racket_search_piece(__u64 piece, __u64 address);
__noinline int racket_search_piece(__u64 piece, __u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch || !runtime_may_try(&scratch->walk.runtime))
		return -1;
	struct window *window = &scratch->walk.window;
	int found = -1;
	window->address = piece;
	if (!bpf_probe_read_user(window->bytes, WINDOW_BYTES, (const void *)piece))
		found = 0;
	for (int i = RACKET_STARTS - 1; i >= 0 && !found; i--)
		found = racket_try_place(i * RACKET_CODE_ALIGNMENT, address);
	window->address = 0; /* it is no stack */
	return found;
}

/* Makes the code object at hand that an address lies in. 0: there is none. */
__noinline int racket_find_code(__u64 address);
__noinline int racket_find_code(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	const struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u64 process = scratch->walk.runtime.process;
	__u64 place = mix(process, address / RACKET_KNOWN_ALIGNMENT);
	__u64 page = mix(~process, address >> RACKET_PAGE_SHIFT);
	struct known_code *known = known_code(scratch, place), *near = known_code(scratch, page);
	if (!known || !near || known->place == without_known_code(scratch, place))
		return 0;
	if (known->place == place && racket_try_code(scratch, known->start, address) > 0)
		return 1;
	int found = near->place == page ? racket_try_code(scratch, near->start, address) : 0;
	__u64 piece = address & ~(__u64)(WINDOW_BYTES - 1);
	if (found < 0)
		found = 0;
	for (int i = 0; i < RACKET_PIECES && !found; i++)
		found = racket_search_piece(piece - i * WINDOW_BYTES, address);
	keep_known_code(known,
		found > 0                     ? place
		: scratch->walk.runtime.tries ? without_known_code(scratch, place)
					      : 0,
		racket->code);
	if (found > 0)
		keep_known_code(near, page, racket->code);
	return found > 0;
}

/* ---- return addresses ---- */

/*
 * What stands ahead of a return address: the size of the frame, and how far into the code object
 * that word itself is. Makes the code object at hand. 0: it is no return address.
 */
__noinline int racket_take_return(__u64 address);
__noinline int racket_take_return(__u64 address)
{
	enum {
		OFFSET_OF_LARGE = 0, /* words: how far it is, */
		OFFSET_OF_SMALL =
			2, /* ... where the frame's size and what lives in it are one word */
		SIZE = 3,
		IS_SMALL = 1,
		SMALL_SHIFT = 2,
		SMALL_MASK = 31,
		MAX_SIZE = 1 << 22,
	};
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u64 from = address - RACKET_RETURN_WORDS * 8, word[RACKET_RETURN_WORDS];
	if (bpf_probe_read_user(word, sizeof(word), (const void *)from))
		return 0;
	bool is_small = word[SIZE] & IS_SMALL;
	__u64 offset = is_small ? word[OFFSET_OF_SMALL] : word[OFFSET_OF_LARGE];
	racket->size = is_small ? (word[SIZE] >> SMALL_SHIFT & SMALL_MASK) * 8 : word[SIZE];
	__u64 code = from + (is_small ? OFFSET_OF_SMALL * 8 : 0) - offset + 1;
	return racket->size <= MAX_SIZE && !(racket->size & 7) && offset <= RACKET_CODE_MAX_BYTES &&
	       racket_take_code(racket, code);
}

/* ---- names ---- */

/* Sends the code object at hand, which gets a number; 0: none. */
__noinline int racket_send_code(__u64 identity);
__noinline int racket_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	struct event_code *head = &record->head;
	__u64 name = racket_walk(&scratch->walk.runtime)->head[RACKET_CODE_NAME], word = 0;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		head->address[i] = head->bytes[i] = head->whole_bytes[i] = 0;
	head->unit[0] = RUNTIME_UNIT_TAGGED;
	head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = RUNTIME_VERSION_LINES;
	head->first_line = 0;
	bool has_name = (name & 7) == RACKET_OBJECT_TAG;
	if (has_name && !read_word(name + 1, &word))
		return 0;
	__u32 at = append_text(0, RUNTIME_TEXT_NAME, name + 9,
		(word >> RACKET_STRING_LENGTH_SHIFT) * RACKET_CHARACTER_BYTES,
		RUNTIME_MAX_NAME_BYTES);
	/* A moment later, something else may be there: it is not left to the recorder. */
	if (has_name && word >> RACKET_STRING_LENGTH_SHIFT && !at)
		return 0;
	return send_code(scratch, record, at, true, identity);
}

/* Pushes the code object at hand. Places in it mean nothing, since there are no lines. */
__noinline int racket_push(void);
__noinline int racket_push(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RACKET);
	if (!scratch)
		return 0;
	const struct racket_walk *racket = racket_walk(&scratch->walk.runtime);
	__u64 identity = mix(scratch->walk.runtime.process, racket->code);
	identity = mix(identity, racket->head[RACKET_CODE_LENGTH]);
	identity = mix(identity, racket->head[RACKET_CODE_NAME]);
	identity = mix(identity, racket->head[RACKET_CODE_INFO]);
	__u32 number = find_code(identity);
	if (!number)
		number = racket_send_code(identity);
	if (number)
		push_runtime_word(scratch, number, 0);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NAME);
	return 0;
}

#endif
