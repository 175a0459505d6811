/*
 * PHP, 7.4 to 8.5. A variable leads to the frame that runs, whether of a function of the program or
 * of one that is written in C, and each frame to its caller; a frame points to its function and to
 * the instruction at hand, which says its line.
 *
 * Functions written in C have frames, too, and are pushed: behind the native frames that they are
 * made of, and by the names that PHP knows them by (usort, PDO::query), where the file of the
 * interpreter is stripped of all others.
 *
 * One run of the interpreter's loop has the frames up to the first one of the program that is
 * marked to be a top: what C code, a generator's resumption or the beginning of a script entered a
 * loop for. The loop keeps the frame that it runs and the instruction in registers, where the
 * compiler knows global register variables, as gcc does.
 *
 * Sources: Zend/{zend_compile,zend_types,zend_execute,zend_vm_execute}.h of PHP 7.4.33, 8.2.36,
 * 8.4.28.
 */
#ifndef EBPROF_PHP_BPF_H
#define EBPROF_PHP_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/runtime/php/php_row.h"
#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"
#include "bpf/scratch.bpf.h"

#include <bpf/bpf_helpers.h>

struct php_walk {
	__u64 frame;  /* the next; 0: no more */
	__u64 opline; /* of the innermost frame, if its instruction is known from a register */
	__u64 code_address;
	__u64 top;       /* the last frame of the loop before */
	__u64 generator; /* whose frame was the last, or 0 */
	__u8 unnamed;    /* enum php_unnamed */
	__u64 head[7];
	__u64 code[PHP_CODE_BYTES / 8];
};

_Static_assert(sizeof(struct php_walk) <= RUNTIME_WALK_WORDS * 8, "it has room in a walk");

static __always_inline struct php_walk *php_walk(const struct runtime_walk *runtime)
{
	return (struct php_walk *)runtime->words;
}

static __always_inline const struct php_row *php_row(const struct runtime_walk *runtime)
{
	return (const struct php_row *)runtime->row.words;
}

enum {
	/* Words of zend_execute_data. */
	PHP_FRAME_OPLINE = 0,
	PHP_FRAME_RETURN_VALUE = 2,
	PHP_FRAME_FUNCTION = 3,
	PHP_FRAME_INFO = 5, /* This.u1.type_info */
	PHP_FRAME_PREVIOUS = 6,
	PHP_CALL_TOP = 1 << 17,
	PHP_CALL_GENERATOR = 1 << 24,

	/* Words of zend_op_array and zend_internal_function; the type is byte 0. */
	PHP_CODE_NAME = 1,
	PHP_CODE_CLASS = 2,
	PHP_CODE_NR_ARGUMENTS = 4,
	PHP_CODE_ARGUMENTS = 5,
	PHP_INTERNAL_FUNCTION = 1,
	PHP_USER_FUNCTION = 2,
	PHP_EVAL_CODE = 4,
	PHP_INTERNAL_BYTES = 24, /* that we need of zend_internal_function */

	PHP_OPLINE_BYTES = 32, /* zend_op */
	PHP_OPLINE_LINE = 24,
	PHP_CLASS_NAME = 8,   /* zend_class_entry */
	PHP_TEXT_LENGTH = 16, /* zend_string */
	PHP_TEXT_BYTES = 24,

	/* ZEND_VM_FP_GLOBAL_REG, ZEND_VM_IP_GLOBAL_REG: r14 and r15, x27 and x28. */
#if defined(__TARGET_ARCH_x86)
	PHP_REGISTER_FRAME = 14,
	PHP_REGISTER_OPLINE = 15,
#elif defined(__TARGET_ARCH_arm64)
	PHP_REGISTER_FRAME = 27,
	PHP_REGISTER_OPLINE = 28,
#endif
	PHP_MAX_CLASS_BYTES = 256,
};

/* What is shown of code without a name, that of files. */
enum php_unnamed {
	PHP_HAS_NAME = 0,
	PHP_MAIN,
	PHP_INCLUDED,
	PHP_EVALUATED,
};

/* ---- loops ---- */

/* Whether the thread is right in the loop, so that its registers are the loop's. */
static __always_inline bool is_leaf(const struct scratch *scratch)
{
	return scratch->walk.is_exact && !scratch->user.head.nr_frames;
}

/* Reads a frame. False: it cannot be. */
static __always_inline bool read_frame(struct php_walk *php, __u64 at)
{
	return !bpf_probe_read_user(php->head, sizeof(php->head), (const void *)at);
}

/*
 * Whether a frame is one that a loop was entered for, from the thread's frame at hand, and that no
 * loop has been given yet.
 */
static __always_inline bool is_left_top(struct php_walk *php, __u64 frame)
{
	bool is_left = frame != php->frame && frame != php->top && read_frame(php, frame) &&
		       php->head[PHP_FRAME_PREVIOUS] == php->frame &&
		       php->head[PHP_FRAME_INFO] & PHP_CALL_TOP;
	if (is_left)
		php->top = frame;
	return is_left;
}

/*
 * Whether the loop at hand has left its last frame, for the one that this was called from, and is
 * about to end: what it then still does is to destroy the frame's variables, which may take its
 * time. What was called from C code is on the stack of frames, right behind its caller, until C
 * code goes on; until 8.2, what was called from elsewhere had a frame without a function as its
 * caller, in the native frame of what called it.
 */
static __always_inline bool has_left(struct runtime_walk *runtime)
{
	enum {
		NOBODY_AT_MOST = 1 << 16, /* above the loop */
		SLOT_BYTES = 16,
		FRAME_SLOTS = 5, /* ZEND_CALL_FRAME_SLOT */
	};
	struct php_walk *php = php_walk(runtime);
	__u64 function, stack_top = 0;
	__u8 type = 0;
	if (!read_frame(php, php->frame))
		return false;
	function = php->head[PHP_FRAME_FUNCTION];
	if (!function)
		return php->frame >= runtime->high && php->frame - runtime->high < NOBODY_AT_MOST;
	if (bpf_probe_read_user(&type, sizeof(type), (const void *)function) ||
		type != PHP_INTERNAL_FUNCTION)
		return false;
	__u64 nr_arguments = php->head[PHP_FRAME_INFO] >> 32;
	__u64 next = php->frame + (FRAME_SLOTS + nr_arguments) * SLOT_BYTES;
	__u64 from = php_row(runtime)->frame - runtime->delta - php_row(runtime)->stack_top;
	return read_word(from, &stack_top) && next < stack_top && is_left_top(php, next);
}

/*
 * The frame in memory may not say yet where it is: then the loop's registers do, which are those of
 * the functions, too, that the loop calls for an instruction, and of others as long as they have
 * not needed them. Both of them are checked.
 */
static __always_inline bool find_frame(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct unwind_registers *leaf = &scratch->leaf;
	php_walk(runtime)->opline = php_walk(runtime)->top = php_walk(runtime)->generator = 0;
	runtime->has_thread =
		read_word(php_row(runtime)->frame - runtime->delta, &php_walk(runtime)->frame);
	if (php_walk(runtime)->frame == leaf->reg[PHP_REGISTER_FRAME])
		php_walk(runtime)->opline = leaf->reg[PHP_REGISTER_OPLINE];
	return runtime->has_thread;
}

static __always_inline bool php_enter(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	struct runtime_walk *runtime = &walk->runtime;
	if (!runtime->has_thread && !find_frame(scratch)) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_STATE);
		return false;
	}
	if (!php_walk(runtime)->frame)
		return false;
	if (is_leaf(scratch))
		return !is_left_top(php_walk(runtime), walk->regs.reg[PHP_REGISTER_FRAME]);
	return !has_left(runtime);
}

/* What opcache compiles lies in memory that processes share. */
static __always_inline bool php_claims_anonymous(struct scratch *scratch)
{
	return scratch->walk.mapping.file;
}

/*
 * What opcache compiles is jumped to by the loop, has the loop's registers r14 and r15, and leaves
 * sp where it is: ZEND_VM_HYBRID_JIT_RED_ZONE_SIZE, ext/opcache/jit of 8.0 to 8.5.
 */
static __always_inline bool php_resume(struct scratch *scratch)
{
	struct walk *walk = &scratch->walk;
	const struct runtime_walk *runtime = &walk->runtime;
	if (!take_program() || runtime->row.kind != RUNTIME_PHP || !php_row(runtime)->resume)
		return false;
	walk->regs.ip = php_row(runtime)->resume - runtime->delta;
	walk->is_exact = true;
	return true;
}

static __always_inline bool php_has_rest(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	return (runtime->has_thread || find_frame(scratch)) && php_walk(runtime)->frame;
}

/* ---- frames ---- */

static __always_inline __u64 php_code_word(const struct php_walk *php, __u32 offset)
{
	return php->code[offset / 8 & (PHP_CODE_BYTES / 8 - 1)];
}

/* 0: the instruction is none of this code. */
static __always_inline __u32 line_of_opline(
	const struct php_row *row, const struct php_walk *php, __u64 opline)
{
	__u64 lines = php_code_word(php, row->code_file + 8), line = 0;
	__u64 at = opline - php_code_word(php, row->code_start);
	__u32 first = lines, last = lines >> 32;
	if (at % PHP_OPLINE_BYTES || at >> RUNTIME_FRAME_CODE_SHIFT ||
		!read_word(opline + PHP_OPLINE_LINE, &line))
		return 0;
	line = (__u32)line;
	return line >= first && (line <= last || last < first) ? line : 0;
}

/*
 * A frame's instruction is kept in memory only as far as it takes to come back to it: there may be
 * none yet. Then it is the function's first line.
 */
static __always_inline __u32 php_line(struct runtime_walk *runtime)
{
	const struct php_row *row = php_row(runtime);
	struct php_walk *php = php_walk(runtime);
	__u32 line = 0;
	if (php->opline)
		line = line_of_opline(row, php, php->opline);
	php->opline = 0; /* of the innermost frame only */
	if (!line)
		line = line_of_opline(row, php, php->head[PHP_FRAME_OPLINE]);
	if (!line)
		line = php_code_word(php, row->code_file + 8);
	return line >> RUNTIME_FRAME_CODE_SHIFT ? 0 : line;
}

static __always_inline enum php_unnamed unnamed_kind(const struct php_walk *php)
{
	if (php->code[PHP_CODE_NAME])
		return PHP_HAS_NAME;
	if (!php->head[PHP_FRAME_PREVIOUS])
		return PHP_MAIN;
	return (__u8)php->code[0] == PHP_EVAL_CODE ? PHP_EVALUATED : PHP_INCLUDED;
}

/*
 * Of code, by what it consists of: closures are copies of it, and memory is used again for other
 * code. What comes before the file is how many branches, loops and variables it has, and where.
 */
static __always_inline __u64 identify_php(const struct runtime_walk *runtime)
{
	const struct php_walk *php = php_walk(runtime);
	__u32 file = php_row(runtime)->code_file;
	__u64 hash = mix(runtime->process, php->unnamed);
	hash = mix(hash, php->code[PHP_CODE_NAME]);
	hash = mix(hash, php->code[PHP_CODE_CLASS]);
	if ((__u8)php->code[0] == PHP_INTERNAL_FUNCTION)
		return mix(hash, php->code_address);
	hash = mix(hash, php->code[PHP_CODE_NR_ARGUMENTS]);
	hash = mix(hash, php->code[PHP_CODE_ARGUMENTS]);
	hash = mix(hash, php_code_word(php, file - 40));
	hash = mix(hash, php_code_word(php, file - 24));
	hash = mix(hash, php_code_word(php, file - 16));
	hash = mix(hash, php_code_word(php, file - 8));
	hash = mix(hash, php_code_word(php, file));
	return mix(hash, php_code_word(php, file + 8));
}

/* ---- texts ---- */

/* The bytes of "Class::" in front of the method's name; 0: it has none, or it cannot be read. */
static __always_inline __u32 put_class(struct runtime_record *record, __u64 class)
{
	__u64 name = 0;
	if (!class || !read_word(class + PHP_CLASS_NAME, &name))
		return 0;
	/* Classes without a name have one: "class@anonymous", a zero, and where they were made. */
	long len = bpf_probe_read_user_str(
		record->text, PHP_MAX_CLASS_BYTES, (const void *)(name + PHP_TEXT_BYTES));
	if (len < 2 || len > PHP_MAX_CLASS_BYTES)
		return 0;
	record->text[len - 1] = ':';
	record->text[len] = ':';
	return len + 1;
}

static __always_inline __u32 put_name(struct runtime_record *record, const struct php_walk *php)
{
	struct event_code *head = &record->head;
	__u32 at = put_class(record, php->code[PHP_CODE_CLASS]);
	__u64 name = php->code[PHP_CODE_NAME], length = 0;
	read_word(name + PHP_TEXT_LENGTH, &length);
	head->bytes[RUNTIME_TEXT_NAME] = 0;
	/* As a whole it is composed again where a part is missing: by the function's address. */
	head->address[RUNTIME_TEXT_NAME] = php->code_address;
	head->whole_bytes[RUNTIME_TEXT_NAME] = 0;
	if (length > RUNTIME_MAX_NAME_BYTES - PHP_MAX_CLASS_BYTES - 2)
		length = RUNTIME_MAX_NAME_BYTES - PHP_MAX_CLASS_BYTES - 2;
	asm volatile("" : "+r"(length), "+r"(at));
	if (!length || length > RUNTIME_MAX_NAME_BYTES - PHP_MAX_CLASS_BYTES - 2 ||
		at > PHP_MAX_CLASS_BYTES + 2 || (php->code[PHP_CODE_CLASS] && !at) ||
		bpf_probe_read_user(
			record->text + at, length, (const void *)(name + PHP_TEXT_BYTES)))
		return 0;
	head->bytes[RUNTIME_TEXT_NAME] = at + length;
	return at + length;
}

static __always_inline __u32 put_unnamed(struct runtime_record *record, enum php_unnamed kind)
{
	static const char names[][16] = {"", "{main}", "{include}", "{eval}"};
	__u32 length = kind == PHP_MAIN ? 6 : kind == PHP_INCLUDED ? 9 : 6;
	__builtin_memcpy(record->text, names[kind & 3], 16);
	record->head.bytes[RUNTIME_TEXT_NAME] = length;
	record->head.whole_bytes[RUNTIME_TEXT_NAME] = length;
	record->head.address[RUNTIME_TEXT_NAME] = 0;
	return length;
}

static __always_inline __u32 put_file(struct runtime_record *record, __u32 at, __u64 file)
{
	__u64 length = 0;
	if (!file || !read_word(file + PHP_TEXT_LENGTH, &length))
		return append_text(at, RUNTIME_TEXT_FILE, file, 0, RUNTIME_MAX_FILE_BYTES);
	return append_text(
		at, RUNTIME_TEXT_FILE, file + PHP_TEXT_BYTES, length, RUNTIME_MAX_FILE_BYTES);
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int php_send_code(__u64 identity);
__noinline int php_send_code(__u64 identity)
{
	struct scratch *scratch = scratch_of_runtime(RUNTIME_PHP);
	struct runtime_record *record = get_runtime_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct php_row *row = php_row(&scratch->walk.runtime);
	const struct php_walk *php = php_walk(&scratch->walk.runtime);
	bool is_internal = (__u8)php->code[0] == PHP_INTERNAL_FUNCTION;
	record->head.unit[0] = record->head.unit[1] = RUNTIME_UNIT_UTF8;
	record->head.version = row->version;
	record->head.first_line = is_internal ? 0 : php_code_word(php, row->code_file + 8);
	__u32 at = php->unnamed ? put_unnamed(record, php->unnamed) : put_name(record, php);
	at = put_file(record, at, is_internal ? 0 : php_code_word(php, row->code_file));
	at = append_text(at, RUNTIME_TEXT_LINES, 0, 0, RUNTIME_MAX_LINE_BYTES);
	bool is_whole = record->head.bytes[RUNTIME_TEXT_NAME] &&
			(is_internal || record->head.bytes[RUNTIME_TEXT_FILE]);
	return send_code(scratch, record, at, is_whole, identity);
}

/* ---- the step ---- */

/* False: it cannot be read. */
static __always_inline bool read_function(struct runtime_walk *runtime, __u64 function)
{
	struct php_walk *php = php_walk(runtime);
	__u64 bytes = php_row(runtime)->code_file + 16;
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (PHP_CODE_BYTES - 1)) + 1;
	php->code_address = function;
	if (!bpf_probe_read_user(php->code, bytes, (const void *)function))
		return true;
	/* Those that are written in C are shorter. */
	return !bpf_probe_read_user(php->code, PHP_INTERNAL_BYTES, (const void *)function) &&
	       (__u8)php->code[0] == PHP_INTERNAL_FUNCTION;
}

static __always_inline void push_function(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	__u8 type = php_walk(runtime)->code[0];
	if (type != PHP_INTERNAL_FUNCTION && type != PHP_USER_FUNCTION && type != PHP_EVAL_CODE) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_TORN);
		return;
	}
	php_walk(runtime)->unnamed = unnamed_kind(php_walk(runtime));
	if (type == PHP_INTERNAL_FUNCTION && php_walk(runtime)->unnamed)
		return; /* of the interpreter itself, such as what a fiber begins with */
	__u32 line = type == PHP_INTERNAL_FUNCTION ? 0 : php_line(runtime);
	__u64 identity = identify_php(runtime);
	__u32 number = find_code(identity);
	if (!number)
		number = php_send_code(identity);
	if (number)
		push_runtime_word(scratch, number, line);
	else
		push_runtime_failure(scratch, LAYOUT_SCRIPT_NO_NUMBER);
}

/*
 * Behind the frame of a generator that others delegate to stands one without a function, for the
 * one that was resumed; from one to the next of them is a matter of the generators themselves.
 * False: there is none any more.
 */
static __always_inline bool read_delegating(struct runtime_walk *runtime)
{
	const struct php_row *row = php_row(runtime);
	struct php_walk *php = php_walk(runtime);
	__u64 generator = php->generator, children = 0, frame = 0;
	php->generator = 0;
	if (!generator || !row->generator_child ||
		!read_word(generator + row->generator_children, &children) ||
		(__u32)children != 1 || !read_word(generator + row->generator_child, &generator) ||
		!read_word(generator + row->generator_frame, &frame) || !read_frame(php, frame))
		return false;
	php->generator = generator;
	return true;
}

/* Whether the frame at hand, a top, is of a generator that others delegate to. */
static __always_inline bool is_delegated_to(struct php_walk *php)
{
	__u64 function = 1;
	php->generator = 0;
	if (!(php->head[PHP_FRAME_INFO] & PHP_CALL_GENERATOR) || !php->frame ||
		!read_word(php->frame + PHP_FRAME_FUNCTION * 8, &function) || function)
		return false;
	php->generator = php->head[PHP_FRAME_RETURN_VALUE]; /* of generators, themselves */
	return true;
}

static __always_inline bool push_frame_at_hand(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	if (!read_function(runtime, php_walk(runtime)->head[PHP_FRAME_FUNCTION])) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return false;
	}
	push_function(scratch);
	return true;
}

/* The next frame of the loop at hand. False: there is none. */
static __always_inline bool php_step(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct php_walk *php = php_walk(runtime);
	__u64 at = php->frame;
	if (!at)
		return false;
	php->frame = 0;
	if (!read_frame(php, at)) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return false;
	}
	php->frame = php->head[PHP_FRAME_PREVIOUS];
	bool is_delegating = false;
	if (!php->head[PHP_FRAME_FUNCTION]) { /* none: what called into the interpreter */
		bool has_ended = php->generator;
		is_delegating = read_delegating(runtime);
		if (!is_delegating)
			return !has_ended;
		php->frame = at;
	}
	if (!push_frame_at_hand(scratch) || is_delegating)
		return true;
	bool is_internal = (__u8)php->code[0] == PHP_INTERNAL_FUNCTION;
	if (is_internal || !(php->head[PHP_FRAME_INFO] & PHP_CALL_TOP))
		return true;
	php->top = at;
	return is_delegated_to(php);
}

/* ---- the row ---- */

static const struct runtime_hooks php_hooks = {
	.enter = php_enter,
	.step = php_step,
	.claims_anonymous = php_claims_anonymous,
	.resume = php_resume,
	.has_rest = php_has_rest,
};

#endif
