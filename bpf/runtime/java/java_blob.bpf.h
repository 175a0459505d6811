/*
 * The pieces of generated code of HotSpot, blobs, in the heaps that its code cache has: of compiled
 * methods, of the interpreter, of stubs. A map of segments leads from an address to the blob that
 * it lies in, whose first bytes say what it is and how large its frames are.
 *
 * Sources: src/java/share/code/{codeBlob,codeCache,nmethod}.hpp, memory/heap.{hpp,cpp} of JDK
 * 11, 17, 21, 25.
 */
#ifndef EBPROF_JAVA_BLOB_BPF_H
#define EBPROF_JAVA_BLOB_BPF_H

#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_row.h"
#include "bpf/runtime/known_slot.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	JAVA_BLOB_WORDS = 64, /* a power of two: an index is masked */
	JAVA_BLOB_BYTES = 384,
	JAVA_SMALL_BLOB_BYTES = 128, /* that blobs of all kinds have */
	JAVA_CODE_BYTES = 64,
	JAVA_CODE_BEHIND = 16, /* of these, ahead of the address that is asked for */
	JAVA_MAX_HEAPS = 4,
	JAVA_MAX_HOPS = 32,
	JAVA_FREE_SEGMENT = 0xff,
	JAVA_METHOD_WORDS = 8, /* of a ConstMethod */
	JAVA_FRAME_WORDS = 11, /* around where the frame pointer of the interpreter points */
};

/* What a blob is, by the name that it has for debuggers. */
enum java_blob_kind {
	JAVA_OTHER = 0, /* its frames have the size that it says, or none */
	JAVA_COMPILED,  /* a method */
	JAVA_NATIVE,    /* a method that is written in C: what calls it */
	JAVA_INTERPRETER,
	JAVA_STUBS, /* StubRoutines */
	JAVA_TABLE, /* vtable and itable stubs: they have no frame */
	JAVA_ADAPTERS,
	JAVA_METHOD_HANDLES,
	JAVA_UPCALL,
};

/* How far a prologue has come. */
struct java_prologue {
	__u32 at;    /* of the instruction at hand */
	__u32 words; /* on the stack so far, with the return address */
	bool has_fp; /* the frame pointer is one of them */
};

struct java_walk {
	__u64 word; /* of the stack, that was read last */
	__u64 at;   /* of the blob at hand; 0: there is none */
	__u64 code, end;
	__u64 name_address;
	__u32 kind; /* enum java_blob_kind */
	__s32 frame_words;
	__u64 blob[JAVA_BLOB_WORDS];
	__u64 bytes_address;             /* what these are around; 0: something else */
	__u8 bytes[JAVA_CODE_BYTES + 4]; /* of code, JAVA_CODE_BEHIND of them ahead of it */
	struct java_prologue prologue;
	struct java_scopes scopes;
	__u64 method;                          /* whose frame it is; 0: no method's */
	__u64 place;                           /* in its bytecodes, or code */
	__u64 const_method, constants, symbol; /* of the method: the last is its name */
	__u64 names;                           /* what tells its name and its class's from others */
	/* The constants of a class whose name was read in this walk, and which one it was. */
	__u64 checked_constants, checked_name;
	__u64 stops; /* java_stops() in this walk; 0: it was not read yet */
	__u32 bytecode_bytes;
	__u64 frame[JAVA_FRAME_WORDS];
	__u64 next_ip, next_sp, next_fp, next_extra; /* of the caller; next_extra 0: unknown */
	__u64 method_head[JAVA_METHOD_WORDS];
};

_Static_assert(sizeof(struct java_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct java_walk *java_walk(const struct runtime_walk *runtime)
{
	return (struct java_walk *)runtime->words;
}

static __always_inline const struct java_row *java_row(const struct runtime_walk *runtime)
{
	return (const struct java_row *)runtime->row.words;
}

/* ---- words of the blob at hand ---- */

static __always_inline __u32 java_blob_u32(const struct java_walk *java, __u32 offset)
{
	__u64 word = java->blob[offset / 8 % JAVA_BLOB_WORDS];
	return offset & 4 ? word >> 32 : word;
}

static __always_inline __u64 java_blob_u64(const struct java_walk *java, __u32 offset)
{
	return java->blob[offset / 8 % JAVA_BLOB_WORDS];
}

static __always_inline __u16 java_blob_u16(const struct java_walk *java, __u32 offset)
{
	return java->blob[offset / 8 % JAVA_BLOB_WORDS] >> (offset & 6) * 8;
}

/* ---- the search ---- */

/* From the segment of an address to the one that its block begins with. Negative: it is free. */
static __always_inline __s64 java_first_segment(__u64 map, __u64 segment)
{
	for (int i = 0; i < JAVA_MAX_HOPS; i++) {
		__u8 hop = 0;
		if (bpf_probe_read_user(&hop, 1, (const void *)(map + segment)) ||
			hop == JAVA_FREE_SEGMENT || hop > segment)
			return -1;
		if (!hop)
			return segment;
		segment -= hop;
	}
	return -1;
}

/* The heap that has an address: where it begins is in *low. 0: none has. */
static __always_inline __u64 java_heap_of(
	const struct runtime_walk *runtime, __u64 address, __u64 *low)
{
	const struct java_row *row = java_row(runtime);
	__u64 list = 0, array = 0, space[2];
	__u32 length = 0;
	if (!read_word(row->heaps - runtime->delta, &list) ||
		bpf_probe_read_user(
			&length, sizeof(length), (const void *)(list + row->array_length)) ||
		!read_word(list + row->array_data, &array))
		return 0;
	for (__u32 i = 0; i < JAVA_MAX_HEAPS && i < length; i++) {
		__u64 heap = 0;
		if (!read_word(array + i * 8, &heap) ||
			bpf_probe_read_user(space, sizeof(space),
				(const void *)(heap + row->heap_memory + row->space_low_boundary)))
			return 0;
		*low = space[0];
		if (address >= space[0] && address < space[1])
			return heap;
	}
	return 0;
}

/* The blob that an address lies in; 0: none, it is not HotSpot's. */
__noinline __u64 java_find_blob(__u64 address);
__noinline __u64 java_find_blob(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct java_row *row = java_row(runtime);
	__u64 low = 0, map = 0;
	__u32 shift = 0;
	__u8 is_used = 0;
	__u64 heap = java_heap_of(runtime, address, &low);
	if (!heap || !read_word(heap + row->heap_segments + row->space_low, &map) ||
		bpf_probe_read_user(&shift, sizeof(shift), (const void *)(heap + row->heap_shift)))
		return 0;
	shift &= 31;
	__s64 segment = java_first_segment(map, (address - low) >> shift);
	__u64 block = low + ((__u64)segment << shift);
	if (segment < 0 ||
		bpf_probe_read_user(
			&is_used, 1, (const void *)(block + row->block_header + row->block_used)) ||
		!is_used)
		return 0;
	return block + row->block_bytes;
}

/* Eight characters of a name, as they stand in memory. */
#define JAVA_NAME(a, b, c, d, e, f, g, h) \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | \
		(__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

static __always_inline enum java_blob_kind java_kind_of(__u64 name)
{
	const __u64 five = (1ULL << 40) - 1, six = (1ULL << 48) - 1;
	if (name == JAVA_NAME('n', 'm', 'e', 't', 'h', 'o', 'd', 0))
		return JAVA_COMPILED;
	if (name == JAVA_NAME('n', 'a', 't', 'i', 'v', 'e', ' ', 'n'))
		return JAVA_NATIVE;
	if (name == JAVA_NAME('I', 'n', 't', 'e', 'r', 'p', 'r', 'e'))
		return JAVA_INTERPRETER;
	if (name == JAVA_NAME('S', 't', 'u', 'b', 'R', 'o', 'u', 't'))
		return JAVA_STUBS;
	if ((name & six) == JAVA_NAME('v', 't', 'a', 'b', 'l', 'e', 0, 0) ||
		(name & six) == JAVA_NAME('i', 't', 'a', 'b', 'l', 'e', 0, 0) ||
		name == JAVA_NAME('I', 'n', 'l', 'i', 'n', 'e', 'C', 'a'))
		return JAVA_TABLE;
	if (name == JAVA_NAME('I', '2', 'C', '/', 'C', '2', 'I', ' ') ||
		name == JAVA_NAME('a', 'd', 'a', 'p', 't', 'e', 'r', 's'))
		return JAVA_ADAPTERS;
	if (name == JAVA_NAME('M', 'e', 't', 'h', 'o', 'd', 'H', 'a'))
		return JAVA_METHOD_HANDLES;
	if ((name & five) == JAVA_NAME('u', 'p', 'c', 'a', 'l', 0, 0, 0) ||
		name == JAVA_NAME('o', 'p', 't', 'i', 'm', 'i', 'z', 'e'))
		return JAVA_UPCALL;
	return JAVA_OTHER;
}

/* The first characters of a blob's name; 0: they cannot be read. */
static __always_inline __u64 java_name_of(const struct java_row *row, __u64 blob)
{
	__u64 address = 0, name = 0;
	if (read_word(blob + row->blob_name, &address))
		read_word(address, &name);
	return name;
}

/*
 * Which blob an address was in when it was looked for last: the way there is long. What the blob
 * is, its first bytes say, which are read each time: by its name's address they are a blob's.
 */
struct java_known_blob {
	__u64 place; /* mix(process, address without its lowest bits) */
	__u64 at, name_address, name;
};

enum {
	JAVA_KNOWN_BLOBS_SHIFT = 10,
	JAVA_PLACE_SHIFT = 6, /* no two blobs share so many bytes */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << JAVA_KNOWN_BLOBS_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct java_known_blob);
} java_known_blobs SEC(".maps");

/* The first bytes of a blob, and the code that it says it has. */
static __always_inline bool java_read_blob(
	const struct java_row *row, struct java_walk *java, __u64 at)
{
	java->at = 0;
	if (!at ||
		(bpf_probe_read_user(java->blob, JAVA_BLOB_BYTES, (const void *)at) &&
			bpf_probe_read_user(java->blob, JAVA_SMALL_BLOB_BYTES, (const void *)at)))
		return false;
	java->at = at;
	java->name_address = java_blob_u64(java, row->blob_name);
	java->frame_words = java_blob_u32(java, row->blob_frame_size);
	if (row->flags & JAVA_CODE_IS_OFFSET) {
		java->code = at + java_blob_u32(java, row->blob_code);
		java->end = at + java_blob_u32(java, row->blob_end);
	} else {
		java->code = java_blob_u64(java, row->blob_code);
		java->end = java_blob_u64(java, row->blob_end);
	}
	return true;
}

/*
 * Makes the blob of an address that at hand. 0: there is none. Code that the thread will return to
 * is not freed, so the blob of the frame before, in the same walk, is what it was.
 */
__noinline int java_take_blob(__u64 address);
__noinline int java_take_blob(__u64 address)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct java_row *row = java_row(runtime);
	struct java_walk *java = java_walk(runtime);
	if (java->at && address >= java->code && address < java->end)
		return 1;
	__u64 place = mix(runtime->process, address >> JAVA_PLACE_SHIFT);
	struct java_known_blob *known =
		known_slot_of_two(&java_known_blobs, scratch, place, JAVA_KNOWN_BLOBS_SHIFT);
	bool is_known = known && known->place == place && java_read_blob(row, java, known->at) &&
			java->name_address == known->name_address && address >= java->code &&
			address < java->end;
	if (is_known) {
		java->kind = java_kind_of(known->name);
		return 1;
	}
	if (!java_read_blob(row, java, java_find_blob(address)))
		return 0;
	__u64 name = 0;
	if (!read_word(java->name_address, &name)) {
		java->at = 0;
		return 0;
	}
	java->kind = java_kind_of(name);
	if (known) {
		known->place = 0;
		known->at = java->at;
		known->name_address = java->name_address;
		known->name = name;
		known->place = place;
	}
	return 1;
}

static __always_inline bool java_is_method(const struct java_walk *java)
{
	return java->kind == JAVA_COMPILED || java->kind == JAVA_NATIVE;
}

/* Where the verified entry of the compiled method at hand is. */
static __always_inline __u64 java_entry(const struct java_row *row, const struct java_walk *java)
{
	return row->flags & JAVA_ENTRY_IS_OFFSET ? java->code + java_blob_u16(java, row->entry)
						 : java_blob_u64(java, row->entry);
}

/* ... and where it is left to the interpreter: frames return there instead. 0: not known. */
static __always_inline __u64 java_deopt_handler(
	const struct java_row *row, const struct java_walk *java)
{
	if (row->deopt_handler >= JAVA_BLOB_BYTES)
		return 0;
	return row->flags & JAVA_DEOPT_IS_POINTER
		       ? java_blob_u64(java, row->deopt_handler)
		       : java->at + java_blob_u32(java, row->deopt_handler);
}

/* Code around an address: JAVA_CODE_BEHIND bytes ahead of it. False: it cannot be read. */
static __always_inline bool java_read_code(struct java_walk *java, __u64 address)
{
	java->bytes_address = 0;
	if (bpf_probe_read_user(
		    java->bytes, JAVA_CODE_BYTES, (const void *)(address - JAVA_CODE_BEHIND)))
		return false;
	java->bytes_address = address;
	return true;
}

#endif
