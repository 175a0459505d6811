/*
 * What code of Ruby and methods written in C are called, and what is sent of them;
 * bpf/runtime/ruby/ruby.bpf.h finds them.
 *
 * Sources: iseq.h, method.h, symbol.h, symbol.c, internal/class.h, internal/imemo.h of Ruby 2.7.4,
 * 3.1.2, 3.3.8; of 3.4.11 rb_mod_name(), rb_set_class_path_string(), rb_class_attached_object() and
 * rb_id2str() of Debian's library.
 */
#ifndef EBPROF_RUBY_CODE_BPF_H
#define EBPROF_RUBY_CODE_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/ruby/ruby_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

struct ruby_walk {
	__u64 frame, end; /* the next control frame; where the last one ends */
	__u64 body_address;
	__u64 frame_head[RUBY_FRAME_BYTES / 8];
	__u64 body_head[RUBY_BODY_BYTES / 8];
	__u64 environment[3];
	__u64 method[5], definition[5]; /* of the frame at hand, if it is of a method */
	__u64 owner, path;              /* the method's class, as in the name; 0: none */
	__u8 is_core_done; /* rb_vm_exec() comes next, whose frames were those of vm_exec_core() */
	__u8 is_entered;   /* there was a loop */
	__u8 is_first;     /* no frame was yet, and the innermost loop has called others */
};

_Static_assert(sizeof(struct ruby_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct ruby_walk *ruby_walk(const struct runtime_walk *runtime)
{
	return (struct ruby_walk *)runtime->words;
}

static __always_inline const struct ruby_row *ruby_row(const struct runtime_walk *runtime)
{
	return (const struct ruby_row *)runtime->row.words;
}

enum {
	/* Words of the body of an iseq (struct rb_iseq_constant_body). */
	RUBY_BODY_SIZES = 0, /* the type, and how many words of instructions there are */
	RUBY_BODY_INSTRUCTIONS = 1,
	RUBY_BODY_PATH = 8,
	RUBY_BODY_BASE_LABEL = 9, /* of the method, without "block in " */
	RUBY_BODY_LABEL = 10,
	RUBY_BODY_FIRST_LINE = 11,

	/* Words of a method entry, and of its definition, whose lowest bits are its type. */
	RUBY_METHOD_DEFINITION = 2,
	RUBY_METHOD_OWNER = 4,
	RUBY_DEFINITION_C_FUNCTION = 1,
	RUBY_DEFINITION_ID = 4, /* original_id */
	RUBY_DEFINITION_TYPE_MASK = 15,
	RUBY_IS_C_METHOD = 1, /* VM_METHOD_TYPE_CFUNC */

	/* Of a class: bytes, then words behind these. */
	RUBY_CLASS_ATTACHED = 128,
	RUBY_CLASS_BITS = 2,
	RUBY_CLASS_PATH = 3,
	RUBY_PATH_IS_PERMANENT_SHIFT = 40,

	/* Flags of objects. */
	RUBY_TYPE_MASK = 0x1f,
	RUBY_CLASS = 2,
	RUBY_MODULE = 3,
	RUBY_STRING = 5,
	RUBY_ARRAY = 7,
	RUBY_INTERNAL_MASK = 0xf01f, /* the type, and which internal one */
	RUBY_SPECIAL_VARIABLES = 0x201a,
	RUBY_METHOD = 0x601a,
	RUBY_ISEQ = 0x701a,
	RUBY_IS_NOT_EMBEDDED = 0x2000, /* of strings */
	RUBY_ARRAY_IS_EMBEDDED = 0x2000,
	RUBY_LENGTH_SHIFT = 14, /* of an embedded string, before 3.2 */
	RUBY_LENGTH_MASK = 31,

	/* Words of an array, and of an object that stands for a symbol. */
	RUBY_ARRAY_LENGTH = 2,
	RUBY_ARRAY_START = 4,
	RUBY_SYMBOL_ID = 4,
	RUBY_ID_SHIFT = 4, /* below it, what scope an ID is for */

	RUBY_MAX_CLASS_BYTES = 192,
	RUBY_MAX_METHOD_BYTES = 128,
};

static __always_inline __u64 word_of_body(const struct ruby_walk *ruby, __u32 offset)
{
	return ruby->body_head[offset / 8 & (RUBY_BODY_BYTES / 8 - 1)];
}

/* ---- texts ---- */

struct ruby_object {
	__u64 flags, class, word[2]; /* of a string: the length, where it is */
};

/* Where a String has its bytes. False: it is none. */
static __always_inline bool find_ruby_string(
	const struct ruby_row *row, __u64 string, __u64 *start, __u64 *length)
{
	struct ruby_object object = {};
	if (bpf_probe_read_user(&object, sizeof(object), (const void *)string) ||
		(object.flags & RUBY_TYPE_MASK) != RUBY_STRING)
		return false;
	bool has_length = row->flags & RUBY_HAS_STRING_LENGTH;
	bool is_embedded = !(object.flags & RUBY_IS_NOT_EMBEDDED);
	*length = object.word[0];
	*start = object.word[1];
	if (is_embedded)
		*start = string + row->string_embedded;
	if (is_embedded && !has_length)
		*length = object.flags >> RUBY_LENGTH_SHIFT & RUBY_LENGTH_MASK;
	return true;
}

static __always_inline __u32 append_ruby_string(struct runtime_record *record, __u32 at,
	enum runtime_text what, const struct ruby_row *row, __u64 string, __u64 max)
{
	__u64 length = 0, start = string;
	record->head.unit[what & 1] = 0;
	find_ruby_string(row, string, &start, &length);
	return append_text(at, what, start, length, max);
}

/* A path is a String, or an Array of two: as it was given, and the real one, if there is. */
static __always_inline __u64 find_path(__u64 path)
{
	__u64 object[5], real, flags;
	enum {
		PLACES = 2, /* words of the array, where it is embedded, or a pointer to them */
		POINTER = 4,
	};
	if (bpf_probe_read_user(object, sizeof(object), (const void *)path) ||
		(object[0] & RUBY_TYPE_MASK) != RUBY_ARRAY)
		return path;
	if (!(object[0] & RUBY_ARRAY_IS_EMBEDDED) &&
		bpf_probe_read_user(&object[PLACES], 16, (const void *)object[POINTER]))
		return path;
	real = object[PLACES + 1];
	bool has_real = !(real & 7) && real > 8 && read_word(real, &flags) &&
			(flags & RUBY_TYPE_MASK) == RUBY_STRING;
	return has_real ? real : object[PLACES];
}

/*
 * How many words of instructions and how many entries, the index that tells the entry of a place,
 * and the entries, which have the lines. What is too long the recorder reads, all of it.
 */
static __always_inline __u32 append_ruby_lines(struct runtime_record *record, __u32 at,
	const struct ruby_row *row, const struct ruby_walk *ruby)
{
	struct event_code *head = &record->head;
	__u32 words = ruby->body_head[RUBY_BODY_SIZES] >> 32;
	__u32 entries = word_of_body(ruby, row->body_info_size);
	__u64 index = entries > 1 ? ruby_index_bytes(words) : 0;
	__u64 info = (__u64)entries * row->info_bytes, start = at;
	head->address[RUNTIME_TEXT_LINES] = ruby->body_address;
	head->whole_bytes[RUNTIME_TEXT_LINES] = 0;
	head->bytes[RUNTIME_TEXT_LINES] = 0;
	asm volatile("" : "+r"(start), "+r"(index), "+r"(info));
	if (start > RUNTIME_MAX_NAME_BYTES + RUNTIME_MAX_FILE_BYTES ||
		index > RUNTIME_MAX_LINE_BYTES / 2 ||
		info > RUNTIME_MAX_LINE_BYTES / 2 - RUBY_LINES_HEAD_BYTES || !info)
		return at;
	__u8 *to = record->text + start;
	__builtin_memcpy(to, &words, sizeof(words));
	__builtin_memcpy(to + sizeof(words), &entries, sizeof(entries));
	to += RUBY_LINES_HEAD_BYTES;
	const void *from = (const void *)word_of_body(ruby, row->body_index);
	if (index && bpf_probe_read_user(to, index, from))
		return at;
	from = (const void *)word_of_body(ruby, row->body_info);
	if (bpf_probe_read_user(to + index, info, from))
		return at;
	__u32 bytes = RUBY_LINES_HEAD_BYTES + index + info;
	head->bytes[RUNTIME_TEXT_LINES] = head->whole_bytes[RUNTIME_TEXT_LINES] = bytes;
	return at + bytes;
}

/* ---- names of methods ---- */

/* An entry of an Array of many. False: there is none. */
static __always_inline bool read_entry(__u64 array, __u64 index, __u64 *ret)
{
	__u64 object[RUBY_ARRAY_START + 1];
	return !bpf_probe_read_user(object, sizeof(object), (const void *)array) &&
	       (object[0] & (RUBY_TYPE_MASK | RUBY_ARRAY_IS_EMBEDDED)) == RUBY_ARRAY &&
	       index < object[RUBY_ARRAY_LENGTH] &&
	       read_word(object[RUBY_ARRAY_START] + index * 8, ret);
}

/* Whether a symbol, a tagged number or an object, is that of an ID. */
static __always_inline bool is_symbol_of(__u64 symbol, __u64 id)
{
	enum {
		TAG = 0xc,
		TAG_SHIFT = 8,
	};
	__u64 object_id;
	if ((__u8)symbol == TAG)
		return symbol >> TAG_SHIFT == id;
	return read_word(symbol + RUBY_SYMBOL_ID * 8, &object_id) && object_id == id;
}

/*
 * The String of an ID: an Array has Arrays of these and of the symbols, in turn, by the number of
 * the ID. That of an operator is the ID itself. 0: not known.
 */
static __always_inline __u64 string_of_id(const struct runtime_walk *runtime, __u64 id)
{
	enum {
		SYMBOLS_LAST = 0, /* words of rb_symbols_t */
		SYMBOLS_IDS = 2,
		UNIT = 512, /* ID_ENTRY_UNIT */
	};
	const struct ruby_row *row = ruby_row(runtime);
	__u64 symbols[SYMBOLS_IDS + 1], part, string, symbol;
	__u64 number = id > row->last_operator ? id >> RUBY_ID_SHIFT : id;
	if (bpf_probe_read_user(
		    symbols, sizeof(symbols), (const void *)(row->symbols - runtime->delta)))
		return 0;
	if (!number || number > (__u32)symbols[SYMBOLS_LAST] ||
		!read_entry(symbols[SYMBOLS_IDS], number / UNIT, &part) ||
		!read_entry(part, number % UNIT * 2, &string) ||
		!read_entry(part, number % UNIT * 2 + 1, &symbol) || !is_symbol_of(symbol, id))
		return 0;
	return string;
}

/* False: it is no class or module. */
static __always_inline bool read_class(const struct ruby_row *row, __u64 class, __u64 *words,
	__u64 words_bytes, bool *is_singleton)
{
	__u64 flags, type;
	if (!class || class & 7 || !read_word(class, &flags) ||
		bpf_probe_read_user(
			words, words_bytes, (const void *)(class + RUBY_CLASS_ATTACHED)))
		return false;
	type = flags & RUBY_TYPE_MASK;
	*is_singleton = type == RUBY_CLASS && flags & row->is_singleton;
	return type == RUBY_CLASS || type == RUBY_MODULE;
}

/*
 * Puts what a method's name begins with in front, as rb_gen_method_name() of 3.4 has it: "Class#",
 * or "Class." of what belongs to the class itself. Returns the bytes; 0: the owner is not known, or
 * has no name for good.
 */
static __always_inline __u32 append_owner(
	struct runtime_record *record, __u32 at, const struct ruby_row *row, __u64 owner)
{
	__u64 class[RUBY_CLASS_PATH + 1], from = 0, length = 0, start = at;
	bool is_singleton = false, ignored;
	if (!row->is_singleton || !read_class(row, owner, class, sizeof(class), &is_singleton))
		return 0;
	if (is_singleton && !read_class(row, class[0], class, sizeof(class), &ignored))
		return 0;
	if (!(class[RUBY_CLASS_BITS] >> RUBY_PATH_IS_PERMANENT_SHIFT & 1) ||
		!find_ruby_string(row, class[RUBY_CLASS_PATH], &from, &length))
		return 0;
	asm volatile("" : "+r"(length), "+r"(start));
	if (!length || length > RUBY_MAX_CLASS_BYTES || start > RUBY_MAX_METHOD_BYTES ||
		bpf_probe_read_user(record->text + start, length, (const void *)from))
		return 0;
	start += length;
	asm volatile("" : "+r"(start)); /* 5.10 has lost the bounds of what was on the stack */
	if (start > RUBY_MAX_CLASS_BYTES + RUBY_MAX_METHOD_BYTES)
		return 0;
	record->text[start] = is_singleton ? '.' : '#';
	return length + 1;
}

/* Behind the `at` bytes that there are. 0: it could not be read, or is too long. */
static __always_inline __u32 append_method(
	struct runtime_record *record, __u32 at, const struct ruby_row *row, __u64 string)
{
	__u64 from = 0, length = 0, start = at;
	if (!find_ruby_string(row, string, &from, &length))
		return 0;
	asm volatile("" : "+r"(length), "+r"(start));
	if (!length || length > RUBY_MAX_METHOD_BYTES ||
		start > RUBY_MAX_CLASS_BYTES + RUBY_MAX_METHOD_BYTES + 1 ||
		bpf_probe_read_user(record->text + start, length, (const void *)from))
		return 0;
	return at + length;
}

static __always_inline void set_name(struct runtime_record *record, __u32 bytes)
{
	struct event_code *head = &record->head;
	head->unit[RUNTIME_TEXT_NAME] = RUNTIME_UNIT_UTF8;
	head->address[RUNTIME_TEXT_NAME] = 0;
	head->bytes[RUNTIME_TEXT_NAME] = head->whole_bytes[RUNTIME_TEXT_NAME] = bytes;
}

static __always_inline bool has_all_texts(const struct event_code *head)
{
	return head->bytes[RUNTIME_TEXT_NAME] && head->bytes[RUNTIME_TEXT_FILE] &&
	       head->bytes[RUNTIME_TEXT_LINES];
}

/* Whether two texts of the same length, which is not 0, are the same. Clobbers the record's. */
static __always_inline bool is_same_text(
	struct runtime_record *record, __u64 one, __u64 other, __u64 length)
{
	enum {
		WORDS = RUBY_MAX_METHOD_BYTES / 8,
	};
	__u64 *words = (__u64 *)record->text, *others = words + WORDS, different = 0;
	__builtin_memset(record->text, 0, 2 * RUBY_MAX_METHOD_BYTES);
	asm volatile("" : "+r"(length));
	if (!length || length > RUBY_MAX_METHOD_BYTES ||
		bpf_probe_read_user(words, length, (const void *)one) ||
		bpf_probe_read_user(others, length, (const void *)other))
		return false;
	for (int i = 0; i < WORDS; i++)
		different |= words[i] ^ others[i];
	return !different;
}

/*
 * The label with the class: behind what it begins with, such as "block in ", and before the
 * method's own name, which it ends with, but for what eval() runs. 0: it has none.
 */
static __always_inline __u32 append_qualified(
	struct runtime_record *record, const struct ruby_row *row, const struct ruby_walk *ruby)
{
	__u64 label, base, label_length = 0, base_length = 0;
	__u64 string = ruby->body_head[RUBY_BODY_BASE_LABEL];
	if (!ruby->owner ||
		!find_ruby_string(row, ruby->body_head[RUBY_BODY_LABEL], &label, &label_length) ||
		!find_ruby_string(row, string, &base, &base_length))
		return 0;
	__u64 before = label_length - base_length;
	if (label_length < base_length || !is_same_text(record, label + before, base, base_length))
		return 0;
	asm volatile("" : "+r"(before));
	if (before > RUBY_MAX_METHOD_BYTES ||
		bpf_probe_read_user(record->text, before, (const void *)label))
		return 0;
	__u32 class = append_owner(record, before, row, ruby->owner);
	__u32 bytes = class ? append_method(record, before + class, row, string) : 0;
	if (bytes)
		set_name(record, bytes);
	return bytes;
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int ruby_send_iseq(__u64 identity);
__noinline int ruby_send_iseq(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RUBY);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct ruby_row *row = ruby_row(&scratch->walk.runtime);
	const struct ruby_walk *ruby = ruby_walk(&scratch->walk.runtime);
	__u32 line = ruby->body_head[RUBY_BODY_FIRST_LINE];
	record->head.version = row->version;
	record->head.first_line = row->flags & RUBY_HAS_TAGGED_LINE ? line >> 1 : line;
	__u32 at = append_qualified(record, row, ruby);
	if (!at)
		at = append_ruby_string(record, 0, RUNTIME_TEXT_NAME, row,
			ruby->body_head[RUBY_BODY_LABEL], RUNTIME_MAX_NAME_BYTES);
	at = append_ruby_string(record, at, RUNTIME_TEXT_FILE, row,
		find_path(ruby->body_head[RUBY_BODY_PATH]), RUNTIME_MAX_FILE_BYTES);
	at = append_ruby_lines(record, at, row, ruby);
	return send_code(scratch, record, at, has_all_texts(&record->head), identity);
}

/* The same of a method written in C: it has no file. */
__noinline int ruby_send_method(__u64 identity);
__noinline int ruby_send_method(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_RUBY);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct ruby_row *row = ruby_row(runtime);
	__u64 string = string_of_id(runtime, ruby_walk(runtime)->definition[RUBY_DEFINITION_ID]);
	__u32 class = append_owner(record, 0, row, ruby_walk(runtime)->method[RUBY_METHOD_OWNER]);
	__u32 at = string ? append_method(record, class, row, string) : 0;
	if (!at)
		return 0;
	record->head.version = row->version;
	record->head.first_line = 0;
	record->head.unit[RUNTIME_TEXT_FILE] = RUNTIME_UNIT_UTF8;
	set_name(record, at);
	at = append_text(at, RUNTIME_TEXT_FILE, 0, 0, RUNTIME_MAX_FILE_BYTES);
	at = append_text(at, RUNTIME_TEXT_LINES, 0, 0, RUNTIME_MAX_LINE_BYTES);
	return send_code(scratch, record, at, true, identity);
}

#endif
