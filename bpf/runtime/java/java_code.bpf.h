/*
 * What methods of HotSpot and pieces of its generated code are called, and what is sent of them.
 *
 * Sources: src/java/share/oops/{method,constMethod,constantPool,symbol}.hpp of JDK 11, 17, 21,
 * 25.
 */
#ifndef EBPROF_JAVA_CODE_BPF_H
#define EBPROF_JAVA_CODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/java/java_blob.bpf.h"
#include "bpf/runtime/java/java_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	JAVA_MAX_CLASS_BYTES = 320,
	JAVA_MAX_METHOD_BYTES = 255,
	JAVA_MAX_SIGNATURE_BYTES = 448,
	JAVA_MAX_STUB_BYTES = 128,
	JAVA_HAS_LINES = 1,            /* of a method's flags */
	JAVA_LOWEST_POINTER = 1 << 16, /* below it nothing is mapped */

	JAVA_STOPS_UNKNOWN = 1,
	JAVA_STOPS_FIRST = 2, /* for a counter of 0 */
};

/* ---- methods ---- */

static __always_inline bool java_is_pointer(__u64 at)
{
	return !(at & 7) && at >= JAVA_LOWEST_POINTER && !(at >> UNWIND_ADDRESS_BITS);
}

static __always_inline __u16 java_method_u16(const struct java_walk *java, __u32 offset)
{
	return java->method_head[offset / 8 % JAVA_METHOD_WORDS] >> (offset & 6) * 8;
}

static __always_inline __u64 java_method_u64(const struct java_walk *java, __u32 offset)
{
	return java->method_head[offset / 8 % JAVA_METHOD_WORDS];
}

/* An entry of a class's constants that is a symbol. 0: there is none, or it cannot be read. */
static __always_inline __u64 java_constant(const struct java_row *row, __u64 constants, __u32 index)
{
	__u64 symbol = 0;
	read_word(constants + row->pool_bytes + 8ULL * index, &symbol);
	return symbol & ~1ULL; /* which says that it is not resolved */
}

/*
 * Tells a name from others by its symbol. Symbols are freed with the last class that uses them, and
 * others take their place: the upper half of the first word is a number by chance, of 16 bits, or
 * the length, which is there too, and the lower one counts references. Where hundreds of classes
 * come and go the same number comes again, so its last characters are looked at, too. 0: it cannot
 * be read.
 */
__noinline __u64 java_identify_name(__u64 symbol);
__noinline __u64 java_identify_name(__u64 symbol)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	__u64 word = 0, last = 0;
	if (!scratch || !read_word(symbol, &word))
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	__u64 length = word >> 8 * (row->symbol_length & 7);
	length = (row->flags & JAVA_LENGTH_IS_UPPER_HALF ? length >> 16 : length) & 0xffff;
	if (length >= sizeof(last))
		read_word(symbol + row->symbol_body + length - sizeof(last), &last);
	return mix(mix(symbol, word >> 16), last);
}

/*
 * What changes before a method that has a frame can be freed: how long the virtual machine has
 * waited, in all safepoints so far, for its threads to stop. It adds to that once they have stopped
 * and before it does what it stopped them for. Classes are unloaded that a marking did not find,
 * which begins in a safepoint; methods that were replaced are freed in one, after a look at all
 * stacks. What is on the stack in a walk is in use until the next one.
 *
 * JAVA_STOPS_UNKNOWN: it cannot be read; the virtual machine may have no counters
 * (-XX:-UsePerfData).
 *
 * Sources: SafepointSynchronize::begin() and RuntimeService::record_safepoint_synchronized() of JDK
 * 11, 17, 21, 25; src/java/share/runtime/perfMemory.hpp.
 */
__noinline __u64 java_stops(void);
__noinline __u64 java_stops(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return JAVA_STOPS_UNKNOWN;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct java_row *row = java_row(runtime);
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct {
		__u64 name[3];
		__u32 end, value[2];
	} counter;
	__u64 counters = 0;
	if (java->stops)
		return java->stops;
	java->stops = JAVA_STOPS_UNKNOWN;
	if (row->stops_counter && read_word(row->counters - runtime->delta, &counters) &&
		!bpf_probe_read_user(&counter, JAVA_COUNTER_VALUE + 8,
			(const void *)(counters + row->stops_counter)) &&
		counter.name[0] == JAVA_NAME('s', 'u', 'n', '.', 'r', 't', '.', 's') &&
		counter.name[1] == JAVA_NAME('a', 'f', 'e', 'p', 'o', 'i', 'n', 't') &&
		counter.name[2] == JAVA_NAME('S', 'y', 'n', 'c', 'T', 'i', 'm', 'e'))
		java->stops = JAVA_STOPS_FIRST + (counter.value[0] | (__u64)counter.value[1] << 32);
	return java->stops;
}

/*
 * A method that was at hand in a frame of the interpreter. When its class is unloaded another one's
 * may be loaded into the same memory, or into a part of it, so that what was read before still
 * stands elsewhere, in memory that is free: all that leads from the bytecodes to the class's name
 * is read once more behind each safepoint. What has a frame is not unloaded before that.
 */
struct java_known_method {
	__u64 place;      /* mix(process, method) */
	__u64 checked_ns; /* the time of the walk in which it was read last */
	__u64 const_method, constants, holder;
	__u64 class_name; /* java_identify_name() */
	__u64 names;      /* the same of the method's and of that */
	__u64 stops;      /* java_stops() when a frame was last seen to be in its bytecodes */
	__u16 bytecode_bytes, name_index;
	__u32 zero;
};

enum {
	JAVA_KNOWN_METHODS_SHIFT = 10,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << JAVA_KNOWN_METHODS_SHIFT); /* of each lane: set by the recorder */
	__type(key, __u32);
	__type(value, struct java_known_method);
} java_known_methods SEC(".maps");

/* Makes the method at an address that at hand. 0: none is there. */
__noinline int java_take_method(__u64 at);
__noinline int java_take_method(__u64 at)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	java->method = 0;
	if (!java_is_pointer(at) || !read_word(at + row->const_method, &java->const_method) ||
		!java_is_pointer(java->const_method) ||
		bpf_probe_read_user(java->method_head, sizeof(java->method_head),
			(const void *)java->const_method))
		return 0;
	java->constants = java_method_u64(java, row->constants);
	if (!java_is_pointer(java->constants))
		return 0;
	__u16 name_index = java_method_u16(java, row->name_index);
	java->symbol = java_constant(row, java->constants, name_index);
	if (!java->symbol)
		return 0;
	__u64 holder = 0, class_symbol = 0;
	if (read_word(java->constants + row->pool_holder, &holder))
		read_word(holder + row->class_name, &class_symbol);
	__u64 class_name = java_identify_name(class_symbol);
	java->names = mix(java_identify_name(java->symbol), class_name);
	java->bytecode_bytes = java_method_u16(java, row->bytecode_bytes);
	java->method = at;
	__u64 place = mix(scratch->walk.runtime.process, at);
	struct java_known_method *known =
		known_slot_of_two(&java_known_methods, scratch, place, JAVA_KNOWN_METHODS_SHIFT);
	if (!known || !class_name)
		return 1;
	known->place = 0;
	known->checked_ns = scratch->sample.time_ns;
	known->const_method = java->const_method;
	known->constants = java->constants;
	known->holder = holder;
	known->class_name = class_name;
	known->names = java->names;
	known->stops = 0;
	known->bytecode_bytes = java->bytecode_bytes;
	known->name_index = name_index;
	known->place = place;
	return 1;
}

/* Whether it is the method that it was, of which the bytecodes are where they were. */
static __always_inline bool java_is_known_still(
	const struct java_row *row, struct java_walk *java, const struct java_known_method *known)
{
	__u64 holder = 0, class_symbol = 0;
	if (java_stops() != JAVA_STOPS_UNKNOWN && known->stops == java->stops)
		return true;
	if (bpf_probe_read_user(java->method_head, sizeof(java->method_head),
		    (const void *)known->const_method) ||
		java_method_u64(java, row->constants) != known->constants ||
		java_method_u16(java, row->name_index) != known->name_index ||
		java_method_u16(java, row->bytecode_bytes) != known->bytecode_bytes)
		return false;
	if (java->checked_constants == known->constants && java->checked_name == known->class_name)
		return true;
	if (!read_word(known->constants + row->pool_holder, &holder) || holder != known->holder ||
		!read_word(holder + row->class_name, &class_symbol) ||
		java_identify_name(class_symbol) != known->class_name)
		return false;
	java->checked_constants = known->constants;
	java->checked_name = known->class_name;
	return true;
}

/* Makes the method of a frame that is at a bytecode that at hand, if it is known. 0: it is not, or
 * no longer. */
__noinline int java_take_known_method(__u64 at, __u64 bytecode);
__noinline int java_take_known_method(__u64 at, __u64 bytecode)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	__u64 place = mix(scratch->walk.runtime.process, at), now_ns = scratch->sample.time_ns;
	struct java_known_method *known =
		known_slot_of_two(&java_known_methods, scratch, place, JAVA_KNOWN_METHODS_SHIFT);
	if (!known || known->place != place ||
		bytecode - known->const_method - row->const_method_bytes >= known->bytecode_bytes ||
		(known->checked_ns != now_ns && !java_is_known_still(row, java, known)))
		return 0;
	known->checked_ns = now_ns;
	known->stops = java->stops;
	java->const_method = known->const_method;
	java->names = known->names;
	java->bytecode_bytes = known->bytecode_bytes;
	java->method = at;
	return 1;
}

/* Where the bytecodes of the method at hand begin. */
static __always_inline __u64 java_bytecodes(
	const struct java_row *row, const struct java_walk *java)
{
	return java->const_method + row->const_method_bytes;
}

/* ---- texts ---- */

/* Puts up to `max` characters of a symbol behind the `at` that there are already. */
static __always_inline __u32 java_append_symbol(
	const struct java_row *row, __u32 at, enum runtime_text what, __u64 symbol, __u32 max)
{
	__u32 length = 0;
	if (bpf_probe_read_user(
		    &length, sizeof(length), (const void *)(symbol + row->symbol_length)))
		return at;
	length = row->flags & JAVA_LENGTH_IS_UPPER_HALF ? length >> 16 : length & 0xffff;
	return append_text(at, what, symbol + row->symbol_body, length, max);
}

_Static_assert(JAVA_MAX_CLASS_BYTES + 1 + JAVA_MAX_METHOD_BYTES + JAVA_MAX_SIGNATURE_BYTES <=
		       RUNTIME_MAX_NAME_BYTES,
	"a name has room");

/* "java/util/HashMap.put(Ljava/lang/Object;)V", and the file that its class names. Returns how many
 * bytes there are. */
__noinline int java_append_names(void);
__noinline int java_append_names(void)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	__u64 holder = 0, symbol = 0;
	__u16 source_file = 0;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = row->version;
	head->first_line = 0;
	if (read_word(java->constants + row->pool_holder, &holder))
		read_word(holder + row->class_name, &symbol);
	__u32 at = java_append_symbol(row, 0, RUNTIME_TEXT_NAME, symbol, JAVA_MAX_CLASS_BYTES);
	__u64 dot = at;
	asm volatile("" : "+r"(dot));
	if (dot <= JAVA_MAX_CLASS_BYTES)
		record->text[dot] = '.';
	at = java_append_symbol(
		row, at + 1, RUNTIME_TEXT_NAME, java->symbol, JAVA_MAX_METHOD_BYTES);
	if (row->signature_index != JAVA_NOT_FOUND)
		at = java_append_symbol(row, at, RUNTIME_TEXT_NAME,
			java_constant(
				row, java->constants, java_method_u16(java, row->signature_index)),
			JAVA_MAX_SIGNATURE_BYTES);
	head->bytes[RUNTIME_TEXT_NAME] = head->whole_bytes[RUNTIME_TEXT_NAME] = at;
	head->address[RUNTIME_TEXT_FILE] = head->bytes[RUNTIME_TEXT_FILE] =
		head->whole_bytes[RUNTIME_TEXT_FILE] = 0;
	__u64 file_holder = row->flags & JAVA_FILE_IS_OF_CLASS ? holder : java->constants;
	if (row->source_file_index != JAVA_NOT_FOUND &&
		!bpf_probe_read_user(&source_file, sizeof(source_file),
			(const void *)(file_holder + row->source_file_index)) &&
		source_file)
		at = java_append_symbol(row, at, RUNTIME_TEXT_FILE,
			java_constant(row, java->constants, source_file), RUNTIME_MAX_FILE_BYTES);
	return at;
}

/* The method at hand, as it is interpreted: where its lines are. */
__noinline int java_send_method(__u64 identity);
__noinline int java_send_method(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	__u64 lines = 0;
	__u32 at = java_append_names();
	if (java_method_u16(java, row->method_flags) & JAVA_HAS_LINES)
		lines = java_bytecodes(row, java) + java_method_u16(java, row->bytecode_bytes);
	head->address[RUNTIME_TEXT_LINES] = lines;
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	return send_code(scratch, record, at, !lines, identity);
}

/* Where the compiled method at hand keeps what was inlined in it. */
static __always_inline void java_find_scopes(
	const struct java_row *row, const struct java_walk *java, struct java_scopes *ret)
{
	__u64 base = java->at;
	if (row->flags & JAVA_HAS_IMMUTABLE_DATA) {
		base = java_blob_u64(java, row->immutable_data);
		ret->data_end = base + java_blob_u32(java, row->immutable_bytes);
	}
	ret->places = base + java_blob_u32(java, row->scopes_pcs);
	ret->data = row->flags & JAVA_SCOPES_IS_POINTER
			    ? java_blob_u64(java, row->scopes_data)
			    : base + java_blob_u32(java, row->scopes_data);
	if (row->flags & JAVA_HAS_IMMUTABLE_DATA) {
		ret->places_end = ret->data;
		ret->metadata = java_blob_u64(java, row->mutable_data) +
				java_blob_u32(java, row->relocation_bytes);
	} else {
		ret->data_end = ret->places;
		ret->places_end = base + java_blob_u32(java, row->scopes_pcs_end);
		ret->metadata = base + java_blob_u32(java, row->metadata);
	}
}

/* The compiled method at hand: what leads to the methods that are inlined in it. */
__noinline int java_send_compiled(__u64 identity);
__noinline int java_send_compiled(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	struct java_scopes *scopes = &java->scopes;
	__u64 at = (__u32)java_append_names();
	scopes->knows_leaves = 0;
	/* Not in a branch, behind which all would be verified twice. */
	bpf_probe_read_user(&scopes->knows_leaves, row->non_safepoints ? 1 : 0,
		(const void *)(row->non_safepoints - scratch->walk.runtime.delta));
	java_find_scopes(row, java, scopes);
	scopes->at = java->at;
	scopes->method = java_blob_u64(java, row->compiled_method);
	scopes->number = java_blob_u32(java, row->compile_id);
	scopes->compiled_method = row->compiled_method;
	scopes->compile_id = row->compile_id;
	scopes->const_method = row->const_method;
	scopes->constants = row->constants;
	scopes->name_index = row->name_index;
	scopes->signature_index = row->signature_index;
	scopes->bytecode_bytes = row->bytecode_bytes;
	scopes->method_flags = row->method_flags;
	scopes->pool_holder = row->pool_holder;
	scopes->class_name = row->class_name;
	scopes->source_file_index = row->source_file_index;
	scopes->symbol_length = row->symbol_length;
	scopes->symbol_body = row->symbol_body;
	scopes->const_method_bytes = row->const_method_bytes;
	scopes->pool_bytes = row->pool_bytes;
	scopes->version = row->version;
	scopes->flags = row->flags;
	head->address[RUNTIME_TEXT_LINES] = scopes->places;
	head->bytes[RUNTIME_TEXT_LINES] = sizeof(*scopes);
	head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	asm volatile("" : "+r"(at));
	if (at > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES)
		return 0;
	__builtin_memcpy(record->text + at, scopes, sizeof(*scopes));
	return send_marked_code(
		scratch, record, at + sizeof(*scopes), false, identity, CODE_IS_INLINED);
}

/* The name of the blob at hand, which is no method, and what leads to those of its parts. */
__noinline int java_send_stub(__u64 identity);
__noinline int java_send_stub(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct java_row *row = java_row(&scratch->walk.runtime);
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	struct event_code *head = &record->head;
	bool has_list = java->kind == JAVA_STUBS && row->stubs;
	head->unit[0] = head->unit[1] = RUNTIME_UNIT_UTF8;
	head->version = RUNTIME_VERSION_LINES; /* it has none */
	head->first_line = 0;
	for (int i = 0; i < RUNTIME_TEXTS; i++)
		head->address[i] = head->bytes[i] = head->whole_bytes[i] = 0;
	__u64 at = append_c_text(
		record, 0, RUNTIME_TEXT_NAME, java->name_address, JAVA_MAX_STUB_BYTES);
	asm volatile("" : "+r"(at));
	if (at > JAVA_MAX_STUB_BYTES)
		return 0;
	if (has_list) {
		struct java_stubs stubs = {.list = row->stubs - scratch->walk.runtime.delta,
			.code = java->code,
			.end = java->end};
		__builtin_memcpy(record->text + at, &stubs, sizeof(stubs));
		head->address[RUNTIME_TEXT_LINES] = stubs.list;
		head->bytes[RUNTIME_TEXT_LINES] = sizeof(stubs);
		at += sizeof(stubs);
	}
	return send_marked_code(scratch, record, at, !has_list, identity,
		CODE_IS_OF_RUNTIME | (has_list ? CODE_IS_INLINED : 0));
}

/* ---- frames ---- */

static __always_inline void java_push(struct scratch *scratch, __u32 number, __u32 place)
{
	if (number)
		push_runtime_word(scratch, number, place);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
}

/* Pushes the method at hand, `place` in its bytecodes. */
__noinline int java_push_method(__u32 place);
__noinline int java_push_method(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	__u64 identity = mix(scratch->walk.runtime.process, java->method);
	identity = mix(mix(identity, java->const_method), java->names);
	__u32 number = find_code(identity);
	/* One that is at hand by what was known of it lacks what is sent. */
	if (!number && java_take_method(java->method))
		number = java_send_method(identity);
	java_push(scratch, number, place);
	return 0;
}

/* Pushes the compiled method at hand, `place` in its code. */
__noinline int java_push_compiled(__u32 place);
__noinline int java_push_compiled(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	const struct java_row *row = java_row(&scratch->walk.runtime);
	__u64 method = java_blob_u64(java, row->compiled_method);
	__u64 identity = mix(scratch->walk.runtime.process, java->at);
	identity = mix(mix(identity, java_blob_u32(java, row->compile_id)), method);
	__u32 number = find_code(identity);
	if (!number && java_take_method(method))
		number = java_send_compiled(identity);
	java_push(scratch, number, place);
	return 0;
}

/* Pushes the blob at hand, which is no method, `place` in its code. */
__noinline int java_push_stub(__u32 place);
__noinline int java_push_stub(__u32 place)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_JAVA);
	if (!scratch)
		return 0;
	const struct java_walk *java = java_walk(&scratch->walk.runtime);
	__u64 identity = mix(scratch->walk.runtime.process, java->at);
	identity = mix(identity, java->name_address);
	__u32 number = find_code(identity);
	if (!number)
		number = java_send_stub(identity);
	java_push(scratch, number, java->kind == JAVA_STUBS ? place : 0);
	return 0;
}

#endif
