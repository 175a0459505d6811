/*
 * CRuby, 2.7 to 3.4. Each thread, and each fiber of it, has an execution context with a stack of
 * control frames, which grows downwards: the first frame is the one that runs. rb_vm_exec() runs
 * frame after frame, through vm_exec_core() or through what a JIT compiler made of them, until the
 * one returns that it was called for, which is marked. So each native frame of rb_vm_exec() has the
 * frames up to the next mark. vm_exec_core() is a part of the loop, but not there while code of the
 * compiler runs.
 *
 * Methods that are written in C have control frames, too, but no code; they are called what their
 * method entry says.
 *
 * Sources: vm_core.h, vm.c, vm_insnhelper.c, iseq.h, method.h, symbol.c of
 * Ruby 2.7.4, 3.1.2, 3.3.8.
 */
#ifndef EBPROF_RUBY_BPF_H
#define EBPROF_RUBY_BPF_H

#include "bpf/event.h"
#include "bpf/kernel_types.bpf.h"
#include "bpf/scratch.bpf.h"
#include "bpf/unwind_table.bpf.h"
#include "bpf/vm/thread.bpf.h"
#include "bpf/vm/vm_code.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum {
	/* Words of a control frame, of an iseq, and of its body (struct rb_iseq_constant_body). */
	RUBY_FRAME_PC = 0,
	RUBY_FRAME_ISEQ = 2,
	RUBY_FRAME_EP = 4,
	RUBY_ISEQ_BODY = 2,
	RUBY_ISEQ_WORDS = 3,
	RUBY_BODY_SIZES = 0, /* the type, and how many words of instructions there are */
	RUBY_BODY_INSTRUCTIONS = 1,
	RUBY_BODY_PATH = 8,
	RUBY_BODY_LABEL = 10,
	RUBY_BODY_FIRST_LINE = 11,

	/* What a frame is, the word that its environment begins with. */
	RUBY_FRAME_KIND_MASK = 0x7fff0001,
	RUBY_FRAME_CFUNC = 0x55550001,
	RUBY_FRAME_FINISH = 0x20,
	RUBY_FRAME_IS_C = 0x80,

	/* Flags of objects. */
	RUBY_TYPE_MASK = 0x1f,
	RUBY_STRING = 5,
	RUBY_ARRAY = 7,
	RUBY_ISEQ_MASK = 0xf01f, /* the type, and which internal one */
	RUBY_ISEQ = 0x701a,
	RUBY_IS_NOT_EMBEDDED = 0x2000, /* of strings */
	RUBY_ARRAY_IS_EMBEDDED = 0x2000,
	RUBY_LENGTH_SHIFT = 14, /* of an embedded string, before 3.2 */
	RUBY_LENGTH_MASK = 31,
};

/* ---- the thread ---- */

struct ruby_context { /* struct rb_execution_context_struct */
	__u64 stack, words, frame;
};

static __always_inline bool take_context(struct vm_walk *vm, __u64 at)
{
	struct ruby_context context;
	if (!at || bpf_probe_read_user(&context, sizeof(context), (const void *)at))
		return false;
	__u64 end = context.stack + context.words * 8;
	if (!context.words || context.words >> 32 || context.frame < context.stack ||
		context.frame > end || context.frame & 7)
		return false;
	vm->ruby.frame = context.frame;
	vm->ruby.end = end;
	vm->has_thread = true;
	return true;
}

/* Through the slot that the dynamic linker filled: of both C libraries, whichever it is. */
static __always_inline bool find_context_by_slot(struct vm_walk *vm, __u64 thread)
{
	const struct ruby_vm *row = &vm->row.ruby;
	__u64 slot[2], block = 0, context = 0;
	if (bpf_probe_read_user(slot, sizeof(slot), (const void *)(row->context - vm->delta)))
		return false;
	__u64 offset = slot[1] + row->slot_more;
	if (module_block(thread, slot[0], GLIBC_MODULE_SHIFT, &block) &&
		read_word(block + offset, &context) && take_context(vm, context))
		return true;
	return module_block(thread, slot[0], MUSL_MODULE_SHIFT, &block) &&
	       read_word(block + offset, &context) && take_context(vm, context);
}

/* A thread's own structure says which one it is. */
static __always_inline bool is_ruby_thread(const struct ruby_vm *row, __u64 structure, __u64 thread)
{
	__u64 id;
	return structure && read_word(structure + row->thread_id, &id) && id == thread;
}

/*
 * The global variable is of the thread that has the lock. One that has not got it is found through
 * its structure, which is the value of one of the first keys.
 */
static __always_inline bool find_context_by_key(struct vm_walk *vm, __u64 thread)
{
	const struct ruby_vm *row = &vm->row.ruby;
	__u64 structure, context;
	for (__u32 key = 0; key < 1 << GLIBC_BLOCK_KEYS_SHIFT; key++)
		if (glibc_value(thread, key, &structure) && is_ruby_thread(row, structure, thread))
			return read_word(structure + row->thread_context, &context) &&
			       take_context(vm, context);
	return false;
}

static __always_inline bool find_context(struct vm_walk *vm)
{
	const struct ruby_vm *row = &vm->row.ruby;
	__u64 thread = thread_pointer(), context = 0, structure = 0;
	if (row->flags & RUBY_CONTEXT_IS_IN_SLOT)
		return find_context_by_slot(vm, thread);
	if (row->flags & RUBY_CONTEXT_IS_AT)
		return read_word(thread + row->context, &context) && take_context(vm, context);
	if (read_word(row->context - vm->delta, &context) &&
		read_word(context + row->context_thread, &structure) &&
		is_ruby_thread(row, structure, thread))
		return take_context(vm, context);
	return find_context_by_key(vm, thread);
}

static __always_inline bool is_in_core(const struct ruby_vm *row, __u64 offset)
{
	bool ret = false;
	for (int i = 0; i < RUBY_RANGES; i++)
		ret |= offset >= row->core_start[i] && offset < row->core_end[i];
	return ret;
}

/* ---- compiled code ---- */

/*
 * Of a process whose interpreter was seen at work: where that is. Code of a JIT compiler lies in
 * no file, so nothing there says whose it is. A set without locks, as `seen` is.
 */
struct ruby_process {
	__u64 identity, delta;
	__u32 file;
};

enum {
	RUBY_PROCESSES_SHIFT = 10,
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1 << RUBY_PROCESSES_SHIFT);
	__type(key, __u32);
	__type(value, struct ruby_process);
} ruby_processes SEC(".maps");

static __always_inline struct ruby_process *process_slot(__u64 identity)
{
	__u32 slot = identity >> (64 - RUBY_PROCESSES_SHIFT);
	return bpf_map_lookup_elem(&ruby_processes, &slot);
}

static __always_inline void remember_process(const struct scratch *scratch)
{
	__u64 identity = identify_process(scratch);
	struct ruby_process *process = process_slot(identity);
	if (!process || process->identity == identity)
		return;
	process->identity = 0;
	process->file = scratch->walk.vm.file;
	process->delta = scratch->walk.vm.delta;
	process->identity = identity;
}

static __always_inline const struct ruby_vm *ruby_row_of_file(__u32 number)
{
	const struct unwind_file *file = bpf_map_lookup_elem(&files, &number);
	if (!file || !file->vm)
		return 0;
	number = file->vm - 1;
	const struct vm_row *row = bpf_map_lookup_elem(&vm_rows, &number);
	return row && row->kind == VM_RUBY ? &row->ruby : 0;
}

/*
 * Out of compiled code, whose frame is small and without rules, to the interpreter that called it:
 * the first word above the stack pointer that is an address in the interpreter's loop is where the
 * code returns to. It leaves the frame pointer alone, or has saved it first of all. False: this is
 * no code of Ruby's. A global function, since it is needed rarely.
 */
__noinline int ruby_leave_jit(void);
__noinline int ruby_leave_jit(void)
{
	struct scratch *scratch = get_scratch();
	if (!scratch)
		return 0;
	struct walk *walk = &scratch->walk;
	struct unwind_registers *regs = &walk->regs;
	__u64 identity = identify_process(scratch), sp = regs->reg[UNWIND_SP];
	const struct ruby_process *process = process_slot(identity);
	if (!process || process->identity != identity)
		return 0;
	const struct ruby_vm *row = ruby_row_of_file(process->file);
	__u64 *words = (__u64 *)walk->window.bytes, delta = process->delta, before = 0;
	if (!row || bpf_probe_read_user(words, WINDOW_BYTES, (const void *)sp))
		return 0;
	walk->window.address = sp;
	for (__u32 i = 0; i < WINDOW_BYTES / 8; i++) {
		asm volatile("" : "+r"(i)); /* or clang unrolls, with all words on the stack */
		if (i >= WINDOW_BYTES / 8)
			break;
		__u64 offset = words[i] + delta, at = sp + i * 8;
		bool is_return = is_in_core(row, offset) ||
				 (offset > row->loop_start && offset < row->loop_end);
		if (is_return) {
			regs->ip = words[i];
			regs->reg[UNWIND_SP] = at + 8;
			if (regs->reg[UNWIND_FP] == at - 8)
				regs->reg[UNWIND_FP] = before;
			regs->known &= ~(1ULL << UNWIND_RBX);
			walk->is_exact = false;
			return 1;
		}
		before = words[i];
	}
	return 0;
}

/* ---- loops ---- */

static __always_inline bool ruby_enter(struct scratch *scratch)
{
	struct vm_walk *vm = &scratch->walk.vm;
	struct ruby_walk *ruby = &vm->ruby;
	__u64 place = scratch->walk.regs.ip - !scratch->walk.is_exact;
	if (!vm->has_thread) {
		ruby->is_core_done = false;
		if (!find_context(vm)) {
			push_vm_failure(scratch, VM_FAILED_STATE);
			return false;
		}
		remember_process(scratch);
	}
	bool is_core = is_in_core(&vm->row.ruby, place + vm->delta);
	if (ruby->is_core_done && !is_core) {
		ruby->is_core_done = false;
		return false;
	}
	ruby->is_core_done = is_core;
	return true;
}

/* ---- code ---- */

static __always_inline __u64 word_of_body(const struct ruby_walk *ruby, __u32 offset)
{
	return ruby->body_head[offset / 8 & (RUBY_BODY_BYTES / 8 - 1)];
}

/* In words of instructions. The counter is ahead of the one that runs, or that called. */
static __always_inline __u32 place_in_iseq(const struct ruby_walk *ruby)
{
	__u64 place = ruby->frame_head[RUBY_FRAME_PC] - ruby->body_head[RUBY_BODY_INSTRUCTIONS];
	__u32 words = ruby->body_head[RUBY_BODY_SIZES] >> 32;
	place /= 8;
	return place && place <= words ? place - 1 : 0;
}

/* Of the code at an address: memory is used again for other code. */
static __always_inline __u64 identify_iseq(
	const struct scratch *scratch, const struct ruby_walk *ruby, __u32 info)
{
	__u64 identity = mix(identify_process(scratch), ruby->body_address);
	identity = mix(identity, ruby->body_head[RUBY_BODY_INSTRUCTIONS]);
	identity = mix(identity, ruby->body_head[RUBY_BODY_PATH]);
	identity = mix(identity, ruby->body_head[RUBY_BODY_LABEL]);
	identity = mix(identity, ruby->body_head[RUBY_BODY_FIRST_LINE]);
	return mix(identity, word_of_body(ruby, info));
}

/* ---- texts ---- */

struct ruby_object {
	__u64 flags, class, word[2]; /* of a string: the length, where it is */
};

/* Of a String. */
static __always_inline __u32 append_ruby_string(struct vm_record *record, __u32 at,
	enum vm_text what, const struct ruby_vm *row, __u64 string, __u64 max)
{
	struct ruby_object object = {};
	__u64 length = 0, start = string;
	record->head.unit[what & 1] = 0;
	if (!bpf_probe_read_user(&object, sizeof(object), (const void *)string) &&
		(object.flags & RUBY_TYPE_MASK) == RUBY_STRING) {
		bool has_length = row->flags & RUBY_HAS_STRING_LENGTH;
		bool is_embedded = !(object.flags & RUBY_IS_NOT_EMBEDDED);
		length = object.word[0];
		start = object.word[1];
		if (is_embedded)
			start = string + row->string_embedded;
		if (is_embedded && !has_length)
			length = object.flags >> RUBY_LENGTH_SHIFT & RUBY_LENGTH_MASK;
	}
	return append_text(record, at, what, start, length, max);
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
static __always_inline __u32 append_ruby_lines(
	struct vm_record *record, __u32 at, const struct ruby_vm *row, const struct ruby_walk *ruby)
{
	struct event_vm_code *head = &record->head;
	__u32 words = ruby->body_head[RUBY_BODY_SIZES] >> 32;
	__u32 entries = word_of_body(ruby, row->body_info_size);
	__u64 index = entries > 1 ? ruby_index_bytes(words) : 0;
	__u64 info = (__u64)entries * row->info_bytes, start = at;
	head->address[VM_TEXT_LINES] = ruby->body_address;
	head->whole_bytes[VM_TEXT_LINES] = 0;
	head->bytes[VM_TEXT_LINES] = 0;
	asm volatile("" : "+r"(start), "+r"(index), "+r"(info));
	if (start > VM_MAX_NAME_BYTES + VM_MAX_FILE_BYTES || index > VM_MAX_LINE_BYTES / 2 ||
		info > VM_MAX_LINE_BYTES / 2 - RUBY_LINES_HEAD_BYTES || !info)
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
	head->bytes[VM_TEXT_LINES] = head->whole_bytes[VM_TEXT_LINES] = bytes;
	return at + bytes;
}

static __always_inline bool has_all_texts(const struct event_vm_code *head)
{
	return head->bytes[VM_TEXT_NAME] && head->bytes[VM_TEXT_FILE] && head->bytes[VM_TEXT_LINES];
}

/* The code's number from now on; 0: none. A global function, since it is needed rarely. */
__noinline int ruby_send_iseq(__u64 identity);
__noinline int ruby_send_iseq(__u64 identity)
{
	struct scratch *scratch = get_scratch();
	struct vm_record *record = get_vm_record(scratch);
	if (!scratch || !record)
		return 0;
	const struct ruby_vm *row = &scratch->walk.vm.row.ruby;
	const struct ruby_walk *ruby = &scratch->walk.vm.ruby;
	__u32 line = ruby->body_head[RUBY_BODY_FIRST_LINE];
	record->head.version = row->version;
	record->head.first_line = row->flags & RUBY_HAS_TAGGED_LINE ? line >> 1 : line;
	__u32 at = append_ruby_string(
		record, 0, VM_TEXT_NAME, row, ruby->body_head[RUBY_BODY_LABEL], VM_MAX_NAME_BYTES);
	at = append_ruby_string(record, at, VM_TEXT_FILE, row,
		find_path(ruby->body_head[RUBY_BODY_PATH]), VM_MAX_FILE_BYTES);
	at = append_ruby_lines(record, at, row, ruby);
	return send_code(scratch, record, at, has_all_texts(&record->head), identity);
}

/* ---- the step ---- */

static __always_inline void push_iseq(struct scratch *scratch)
{
	struct vm_walk *vm = &scratch->walk.vm;
	struct ruby_walk *ruby = &vm->ruby;
	__u64 iseq[RUBY_ISEQ_WORDS], bytes = vm->row.ruby.body_bytes;
	const void *at = (const void *)ruby->frame_head[RUBY_FRAME_ISEQ];
	if (bpf_probe_read_user(iseq, sizeof(iseq), at)) {
		push_vm_failure(scratch, VM_FAILED_UNREADABLE);
		return;
	}
	if ((iseq[0] & RUBY_ISEQ_MASK) != RUBY_ISEQ) {
		push_vm_failure(scratch, VM_FAILED_TORN);
		return;
	}
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (RUBY_BODY_BYTES - 1)) + 1;
	ruby->body_address = iseq[RUBY_ISEQ_BODY];
	if (bpf_probe_read_user(ruby->body_head, bytes, (const void *)ruby->body_address)) {
		push_vm_failure(scratch, VM_FAILED_UNREADABLE);
		return;
	}
	__u64 identity = identify_iseq(scratch, ruby, vm->row.ruby.body_info);
	__u32 number = find_code(identity);
	if (!number)
		number = ruby_send_iseq(identity);
	if (number)
		push_vm_word(scratch, number, place_in_iseq(ruby));
	else
		push_vm_failure(scratch, VM_FAILED_NUMBER);
}

/* The next frame of the loop at hand. False: there is none. */
static __always_inline bool ruby_step(struct scratch *scratch)
{
	struct vm_walk *vm = &scratch->walk.vm;
	struct ruby_walk *ruby = &vm->ruby;
	__u64 at = ruby->frame, bytes = vm->row.ruby.frame_bytes, flags;
	asm volatile("" : "+r"(bytes));
	bytes = ((bytes - 1) & (RUBY_FRAME_BYTES - 1)) + 1;
	if (at + bytes > ruby->end)
		return false;
	ruby->frame = at + bytes;
	if (bpf_probe_read_user(ruby->frame_head, bytes, (const void *)at) ||
		!read_word(ruby->frame_head[RUBY_FRAME_EP], &flags)) {
		ruby->frame = ruby->end;
		push_vm_failure(scratch, VM_FAILED_UNREADABLE);
		return false;
	}
	if (!(flags & RUBY_FRAME_IS_C) && ruby->frame_head[RUBY_FRAME_ISEQ])
		push_iseq(scratch);
	return !(flags & RUBY_FRAME_FINISH);
}

#endif
