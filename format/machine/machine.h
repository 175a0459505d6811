/*
 * What differs from machine to machine, a row each: nothing else asks which one it is. Rows stand
 * in files of their own; what reads a file of some machine gets its row by the file's e_machine.
 */
#ifndef EBPROF_MACHINE_H
#define EBPROF_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/unwind/unwind_rule.h"

/* The code of a stub of a procedure linkage table. */
struct machine_plt_stub {
	uint64_t slot;     /* the virtual address that it reads its target from */
	uint32_t max_size; /* bytes that such a stub has at most, with what fills it up */
};

/* Code that no table describes, between functions that one does. */
struct machine_gap {
	const uint8_t *bytes;
	size_t len;
	uint64_t offset; /* of the first of them, in the file */
	/* The rule at an offset in the file outside of the gap; false: there is none. Machines
	 * whose code is read function by function do not ask. */
	bool (*rule_at)(void *context, uint64_t offset, struct unwind_rule *ret);
	/* From `offset` on; those of a gap come with ascending offsets, none past its end. NULL:
	 * there is no rule. */
	void (*on_rule)(void *context, uint64_t offset, const struct unwind_rule *rule);
	void *context;
};

/* Relocation types of its psABI. */
struct machine_relocations {
	uint32_t relative, irelative;
	uint32_t jump_slot, glob_dat;    /* the address of a symbol */
	uint32_t word64, word32[2];      /* symbol + addend in 8, 4 bytes; 0 is none */
	uint32_t relative64, relative32; /* ... less the address of these bytes */
	/* Of a thread's variable: its distance from the thread's pointer; the number of the module
	 * that has it; a descriptor. */
	uint32_t thread_distance, thread_module, thread_descriptor;
};

/* Names of a register's low 8, 4, 2 and 1 bytes for an assembler, NULL for those it has not. */
struct machine_user_register {
	const char *names[4];
	uint16_t offset; /* in the kernel's struct pt_regs, bytes */
};

enum machine_operand_syntax {
	MACHINE_OPERANDS_X86_64, /* %rax, 8(%rsp), $1 */
	MACHINE_OPERANDS_ARM64,  /* x0, [sp, 8], 1 */
};

/* Offsets in code where functions begin; ascending. */
struct machine_functions {
	uint32_t *data;
	size_t len, cap;
};

/* Code that has no rules, to be read for how its functions return. Addresses are virtual ones. */
struct machine_code {
	/* Copies what is there of `len` bytes of code; fewer: what follows cannot be had. */
	size_t (*read)(void *context, uint64_t address, uint8_t *bytes, size_t len);
	/* Whether a frame may be left by this rule, found at a return, or at a jump to where is not
	 * known, which may be one within the function. */
	bool (*accepts)(void *context, const struct unwind_rule *rule, bool is_jump);
	/* The rule of an instruction on the way there; the one that was asked for comes last. */
	void (*on_rule)(void *context, uint64_t address, const struct unwind_rule *rule);
	void *context;
	/* NULL, or: once it is true nothing is found any more, and the reading ends. */
	const bool *is_over;
	/* What the frame pointer is above the stack pointer at first, if that is known: what is
	 * written by the one may be read by the other. */
	bool has_frame_bytes;
	int32_t frame_bytes;
};

enum {
	MACHINE_LIBRARY_FOLDERS = 2,
};

struct machine {
	uint16_t elf;      /* EM_* */
	const char *uname; /* as uname -m calls it */
	const struct unwind_machine *unwind;
	/*
	 * How many bits the addresses of a program have, above which its return addresses may be
	 * signed, as this program finds them on the machine that it runs on (0: none are); and the
	 * registers where they are that many. NULL: this machine signs none.
	 */
	unsigned (*address_bits)(void);
	const struct unwind_machine *(*unwind_within)(unsigned address_bits);
	/* The kernel maps all memory at an address that is random by multiples of 1 << this. */
	unsigned direct_map_shift;
	struct machine_relocations relocations;
	size_t plt_align;    /* bytes: where stubs may begin */
	size_t plt_stub_min; /* bytes: behind the beginning of a stub the next one begins no earlier
			      */
	/*
	 * Whether a stub begins at the first of `len` bytes, which are at the virtual address
	 * `address`; *ret is untouched when none does.
	 */
	bool (*decode_plt_stub)(
		const uint8_t *bytes, size_t len, uint64_t address, struct machine_plt_stub *ret);
	/*
	 * Where functions begin in code of at most 4 GiB that no table describes and that is loaded
	 * at `address`: by what fills up between them, by calls and branches. Replaces *ret, a VEC.
	 * NULL: nothing can be said of this machine's.
	 */
	void (*find_functions)(
		const uint8_t *bytes, size_t len, uint64_t address, struct machine_functions *ret);
	/*
	 * How many of the bytes are the function that they begin with: up to where it never goes
	 * on, past which no branch of it leads; `len`: it has no such end. NULL as above.
	 */
	size_t (*function_length)(const uint8_t *bytes, size_t len);
	/*
	 * The rules of code between functions that have call frame information, from its
	 * instructions alone: start-up code, what follows the system call in clone(), stubs of the
	 * PLT, what signal handlers return to. Nothing is found in more than so many bytes. NULL:
	 * nothing can be said of this machine's.
	 */
	void (*find_gap_rules)(const struct machine_gap *gap);
	size_t gap_max_bytes;
	/*
	 * Reads on from an instruction to a return that is accepted, and tells the rules of what is
	 * on the way. False: there is none within some thousand instructions. NULL: this machine's
	 * code is not read.
	 */
	bool (*find_return)(const struct machine_code *code, uint64_t address);
	/*
	 * Whether the call that ends at `ra` may have led to `address`, as far as its target's code
	 * tells, of which only `read` is asked. True as well: it does not tell. NULL as above.
	 */
	bool (*may_have_called)(const struct machine_code *code, uint64_t ra, uint64_t address);
	/*
	 * Of an instruction of a function that may never return: its rule, read from where the call
	 * that ends at `ra` led on, as the return address stood on top of the stack there. False:
	 * that way does not lead to it, or is not told. `read` alone is asked. NULL as above.
	 */
	bool (*find_from_call)(const struct machine_code *code, uint64_t ra, uint64_t address,
		struct unwind_rule *ret);
	/* The same from where the function begins, as far as that is seen by how it makes its
	 * frame; `accepts` is asked. NULL as above. */
	bool (*find_from_begin)(
		const struct machine_code *code, uint64_t address, struct unwind_rule *ret);
	/*
	 * Whether code around an address, of which only `read` is asked, calls by a stack of its
	 * own, so that frames of it are not on the one that the stack pointer points to. NULL as
	 * above.
	 */
	bool (*keeps_own_stack)(const struct machine_code *code, uint64_t address);
	/*
	 * Whether code at an address, of which only `read` is asked, is what makecontext() of the
	 * C library has its functions return to: they have no caller. NULL as above.
	 */
	bool (*begins_context)(const struct machine_code *code, uint64_t address);
	/*
	 * How many bytes behind a function's entry the first instruction is that the kernel's
	 * uprobes emulate, while arguments and stack are as at the entry; stepping over another one
	 * costs ten times as much. 0: the entry is as good. NULL: nothing is known of this
	 * machine's.
	 */
	size_t (*cheap_probe)(const uint8_t *code, size_t len);
	/*
	 * How many bytes behind the entry of a function of Go the check ends whether there is
	 * stack, behind which the function begins anew when it was given some, or was asked to stop
	 * and may not. Arguments and stack are as at the entry. 0: it has none.
	 */
	size_t (*go_stack_check)(const uint8_t *code, size_t len);
	/* Names of system calls by their numbers, NULL for one that there is not. */
	const char *const *syscalls;
	size_t nr_syscalls;
	/* Bytes that the thread's pointer has ahead of a program's variables of threads; 0: it
	 * points to their end. */
	size_t thread_head_bytes;
	const char *go_start; /* the function where a Go program begins */
	/* What the operands of USDT probes can name, and how. */
	enum machine_operand_syntax operand_syntax;
	const struct machine_user_register *user_registers;
	size_t nr_user_registers;
	/* Where ld.so looks ahead of the folders that all machines have; NULL behind the last. */
	const char *library_folders[MACHINE_LIBRARY_FOLDERS];
};

extern const struct machine machine_x86_64, machine_arm64;

/* The row of an e_machine, NULL for a machine that has none. */
const struct machine *machine_find(uint16_t elf);
/* ... of what uname -m calls it. */
const struct machine *machine_named(const char *uname);
/* The name of a system call; NULL: none of that number is known. */
const char *machine_syscall_name(const struct machine *machine, uint32_t number);
/* Its registers, NULL likewise. */
const struct unwind_machine *machine_registers(uint16_t elf);
/* ... of one where addresses have that many bits; 0, or any number that none has: the usual. */
const struct unwind_machine *machine_registers_within(
	const struct machine *machine, unsigned address_bits);
/* ... of the one that this program runs on. */
const struct unwind_machine *machine_native_registers(void);
/* That of a snapshot, by the registers it knows; NULL: it has no instruction pointer. */
const struct machine *machine_of_snapshot(uint64_t known);
/* The one that this program runs on. */
const struct machine *machine_native(void);

#endif
