/*
 * What the BPF programs have to know of a file with HotSpot in it. Where it keeps what is said by
 * tables that the virtual machine fills when it starts, so it is read from the first process that
 * runs it: until then the row has the places of these tables, and is not complete.
 */
#ifndef EBPROF_JAVA_ROW_H
#define EBPROF_JAVA_ROW_H

#include "bpf/runtime/runtime_row.h"

/*
 * Offsets in structures of the virtual machine. X(member, type, field), and, where versions differ,
 * other names behind it.
 */
#define JAVA_OFFSETS(X) \
	X(array_length, "GrowableArrayBase", "_len") \
	X(array_data, "GrowableArray<int>", "_data") \
	X(heap_memory, "CodeHeap", "_memory") \
	X(heap_segments, "CodeHeap", "_segmap") \
	X(heap_shift, "CodeHeap", "_log2_segment_size") \
	X(space_low_boundary, "VirtualSpace", "_low_boundary") \
	X(space_high_boundary, "VirtualSpace", "_high_boundary") \
	X(space_low, "VirtualSpace", "_low") \
	X(block_header, "HeapBlock", "_header") \
	X(block_used, "HeapBlock::Header", "_used") \
	X(blob_name, "CodeBlob", "_name") \
	X(blob_frame_size, "CodeBlob", "_frame_size") \
	X(blob_code, "CodeBlob", "_code_begin") \
	X(blob_end, "CodeBlob", "_code_end") \
	X(compiled_method, "nmethod", "_method") \
	X(compile_id, "nmethod", "_compile_id") \
	X(entry, "nmethod", "_verified_entry_point") \
	X(deopt_handler, "nmethod", "_deopt_handler_offset") \
	X(original_pc, "nmethod", "_orig_pc_offset") \
	X(scopes_data, "nmethod", "_scopes_data_offset") \
	X(scopes_pcs, "nmethod", "_scopes_pcs_offset") \
	X(scopes_pcs_end, "nmethod", "_dependencies_offset") \
	X(metadata, "nmethod", "_metadata_offset") \
	X(immutable_data, "nmethod", "_immutable_data") \
	X(immutable_bytes, "nmethod", "_immutable_data_size") \
	X(mutable_data, "CodeBlob", "_mutable_data") \
	X(relocation_bytes, "CodeBlob", "_relocation_size") \
	X(const_method, "Method", "_constMethod") \
	X(constants, "ConstMethod", "_constants") \
	X(name_index, "ConstMethod", "_name_index") \
	X(signature_index, "ConstMethod", "_signature_index") \
	X(bytecode_bytes, "ConstMethod", "_code_size") \
	X(method_flags, "ConstMethod", "_flags") \
	X(pool_holder, "ConstantPool", "_pool_holder") \
	X(class_name, "Klass", "_name") \
	X(source_file_index, "ConstantPool", "_source_file_name_index") \
	X(symbol_length, "Symbol", "_length") \
	X(symbol_body, "Symbol", "_body")

/* Sizes of structures. */
#define JAVA_SIZES(X) \
	X(block_bytes, "HeapBlock") \
	X(const_method_bytes, "ConstMethod") \
	X(pool_bytes, "ConstantPool")

enum java_flag {
	JAVA_CODE_IS_OFFSET = 1,        /* blob_code, blob_end: u32 in place of pointers */
	JAVA_ENTRY_IS_OFFSET = 2,       /* entry: u16 from where the code begins */
	JAVA_DEOPT_IS_POINTER = 4,      /* deopt_handler */
	JAVA_SCOPES_IS_POINTER = 8,     /* scopes_data */
	JAVA_HAS_IMMUTABLE_DATA = 16,   /* scopes lie there, apart from the code */
	JAVA_LENGTH_IS_UPPER_HALF = 32, /* symbol_length: of a u32 */
	JAVA_FILE_IS_OF_CLASS = 64,     /* source_file_index: else of its constants */
	JAVA_HAS_SCOPES = 128,          /* all that it takes to find inlined methods */
};

/* The symbols of libjvm.so whose values lead to its tables. */
enum java_symbol {
	JAVA_STRUCTS, /* the first: without it nothing else is looked for */
	JAVA_STRUCTS_STRIDE,
	JAVA_STRUCTS_TYPE_NAME,
	JAVA_STRUCTS_FIELD_NAME,
	JAVA_STRUCTS_IS_STATIC,
	JAVA_STRUCTS_OFFSET,
	JAVA_STRUCTS_ADDRESS,
	JAVA_TYPES,
	JAVA_TYPES_STRIDE,
	JAVA_TYPES_NAME,
	JAVA_TYPES_SIZE,
	JAVA_SYMBOLS,
};

enum {
	JAVA_NOT_FOUND = 0xffff, /* in place of an offset */
	JAVA_COUNTER_VALUE = 28, /* bytes, from the beginning of its name */
};

/* It grows in each safepoint, once all threads have stopped. */
#define JAVA_STOPS_NAME "sun.rt.safepointSyncTime"

struct java_row {
	unsigned char is_complete, flags; /* enum java_flag */
	unsigned char version;            /* Java's; 0 until it is complete */
	unsigned char zero;
	/* Addresses of these variables, by what the mapping's delta is taken from; 0: unknown. */
	unsigned int heaps, call_stub_return;
	unsigned int stubs;          /* the first of the stubs that have a name of their own */
	unsigned int non_safepoints; /* whether inlined methods are known at all places */
	/* What points to the counters for jstat, and how far behind the first byte there the name
	 * of the one is that java_stops() reads; its value stands JAVA_COUNTER_VALUE behind that.
	 * 0: unknown. */
	unsigned int counters, stops_counter;
	union {
		struct {
			unsigned int symbols[JAVA_SYMBOLS]; /* addresses, as above */
			unsigned char build_id[8];          /* as much as there is of it */
		};
		struct {
#define X(member, ...) unsigned short member;
			JAVA_OFFSETS(X)
			JAVA_SIZES(X)
#undef X
		};
	};
};

/* Where the recorder finds the methods inlined in a compiled one: sent in place of its lines. */
struct java_scopes {
	unsigned long long places, places_end, data, data_end, metadata; /* addresses */
	/* Where the compiled method is, and what stands there while it is: after it, its classes
	 * may be unloaded, and what they were read from be another's. */
	unsigned long long at, method;
	unsigned int number;
	/* As in the row. */
	unsigned short compiled_method, compile_id;
	unsigned short const_method, constants, name_index, signature_index, bytecode_bytes,
		method_flags, pool_holder, class_name, source_file_index, symbol_length,
		symbol_body, const_method_bytes, pool_bytes;
	unsigned char version, flags;
	unsigned char knows_leaves;
	unsigned char zero[3];
};

/* Where the recorder finds the names of the stubs in a piece of code: sent in place of its lines.
 */
struct java_stubs {
	unsigned long long list;      /* address of what points to the first of them */
	unsigned long long code, end; /* of the piece */
};

_Static_assert(sizeof(struct java_scopes) <= RUNTIME_MAX_GIVEN_BYTES, "it is sent whole");
_Static_assert(sizeof(struct java_row) <= RUNTIME_ROW_WORDS * 8, "it has room in a row");

#endif
