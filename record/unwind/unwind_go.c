/*
 * At each instruction the table says how far the stack pointer is below the
 * return address, so the CFA and the return address are known everywhere.
 * What it does not say is where rbp is.
 *
 * Every function with a frame saves rbp at CFA-16, as its first act: compilers
 * do since Go 1.7, and the assembler does it for functions in assembly, unless
 * these have no frame of the assembler's making and push what they like. So the
 * instruction where the stack pointer first moves is looked at, and nothing is
 * claimed of a function that does not save rbp there (for what was compiled, one
 * such look is enough):
 *   up to 1.20:  sub $n,%rsp; mov %rbp,n-8(%rsp); lea n-8(%rsp),%rbp
 *   from 1.21:   push %rbp; mov %rsp,%rbp; sub $n-8,%rsp
 *
 * On arm64 the return address is at the stack pointer, once that has moved, and x29 ahead of it:
 *   str x30,[sp,#-n]!; stur x29,[sp,#-8]; sub x29,sp,#8
 *   sub x20,sp,#n; stp x29,x30,[x20,#-8]; mov sp,x20; sub x29,sp,#8       of large frames
 * Until then it is in x30. systemstack and asmcgocall change to the frame pointer of the stack that
 * they call on, as well: there nothing of the machine leads back, and the stack ends.
 *
 * Some functions of the runtime write the stack pointer: to call into another
 * stack (systemstack, asmcgocall, the vDSO's clock). rbp still points into the
 * stack they came from, and to their own frame if they have one; if not, to
 * that of their caller, who is skipped then.
 */
#include "record/unwind/unwind_go.h"

#include <elf.h>
#include <string.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/elf/go_pclntab.h"
#include "format/machine/arm64_insn.h"
#include "format/machine/machine.h"

enum {
	RBP = 6,
	RSP = 7,
	GOROUTINE = 28, /* the register of arm64 that has the goroutine */
	WINDOW_BYTES = 64 << 10,
	ALIGNMENT = 32,      /* of functions */
	PROLOGUE_BYTES = 17, /* two instructions with 32-bit offsets, and the byte before them */

	/* From the stack pointer at rt_sigreturn, the kernel's struct ucontext: its sigcontext. */
	UCONTEXT_RBP = 120,
	UCONTEXT_RBX = 128,
	UCONTEXT_RSP = 160,
	UCONTEXT_RIP = 168,
};

enum role {
	ROLE_PLAIN,
	ROLE_OUTERMOST,   /* the stack ends here */
	ROLE_CROSSING,    /* called on another stack than it calls on */
	ROLE_INTERRUPTED, /* not called: a signal handler put it on the stack */
	ROLE_SIGRETURN,   /* what a signal handler returns to */
	ROLE_UNKNOWN,     /* nothing can be said */
};

/* How a frame begins, the same in all that one compiler made. */
enum prologue {
	PROLOGUE_UNKNOWN,
	PROLOGUE_SUB,  /* up to 1.20 */
	PROLOGUE_PUSH, /* from 1.21 on */
};

struct unwind_go {
	struct go_pclntab *table;
	bool has_flags;     /* assembly is marked, since 1.18 or so: the rest is the compiler's */
	uint32_t sigreturn; /* index of ROLE_SIGRETURN, UINT32_MAX for none */
	enum prologue prologue; /* of the compiler */
	const struct elf_file *elf;
	bool is_arm64;
	uint8_t *window; /* some bytes of code, since functions come in order */
	uint64_t window_vaddr;
	size_t window_len;

	/* The function that is run: */
	struct go_function function;
	enum role role;
	unwind_go_on_rule *on_rule;
	void *context;
	bool has_moved;       /* the stack pointer, for the first time */
	uint64_t saved;       /* the frame pointer is saved from here on; 0: it is not */
	uint64_t established; /* ... and points there from here on */
	bool leaves_fp;       /* of arm64: it goes on with another stack's frame pointer */
};

/* ---- roles ---- */

struct known {
	const char *name;
	enum role role;
};

/*
 * mcall and morestack end a stack, though a goroutine called them: it may have stopped, and run
 * elsewhere by now. Go's own profiles end there, too.
 */
static const struct known known[] = {
	{"runtime.goexit", ROLE_OUTERMOST},
	{"runtime.mstart", ROLE_OUTERMOST},
	{"runtime.mcall", ROLE_OUTERMOST},
	{"runtime.morestack", ROLE_OUTERMOST},
	{"runtime.rt0_go", ROLE_OUTERMOST},
	{"_rt0_amd64", ROLE_OUTERMOST},
	{"_rt0_amd64_linux", ROLE_OUTERMOST},
	{"_rt0_arm64_linux", ROLE_OUTERMOST},
	{"runtime.systemstack", ROLE_CROSSING},
	{"runtime.asmcgocall", ROLE_CROSSING},
	{"time.now", ROLE_CROSSING},   /* calls the vDSO */
	{"runtime.clone", ROLE_PLAIN}, /* writes the stack pointer of the new thread only */
	{"runtime.asyncPreempt", ROLE_INTERRUPTED},
	{"runtime.sigpanic", ROLE_INTERRUPTED},
	{"runtime.debugCallV2", ROLE_INTERRUPTED},
	{"runtime.sigreturn", ROLE_SIGRETURN},
	{"runtime.sigreturn__sigaction", ROLE_SIGRETURN},
};

static enum role role_of(struct unwind_go *go, const struct go_function *function)
{
	if (go->has_flags && !function->flags && !function->is_special)
		return ROLE_PLAIN;
	const char *name = go_pclntab_name(go->table, function->name);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].role;
	if (!(function->flags & GO_FUNCTION_WRITES_SP))
		return ROLE_PLAIN;
	/* Elsewhere assembly may use rbp for something else. */
	bool is_runtime = strncmp(name, "runtime.", 8) == 0;
	return is_runtime ? ROLE_CROSSING : ROLE_UNKNOWN;
}

/* ---- code ---- */

/* `len` bytes of code, NULL where the file has none. */
static const uint8_t *unwind_go_code_at(struct unwind_go *go, uint64_t vaddr, size_t len)
{
	if (vaddr >= go->window_vaddr && vaddr - go->window_vaddr <= go->window_len &&
		len <= go->window_len - (size_t)(vaddr - go->window_vaddr))
		return go->window + (vaddr - go->window_vaddr);
	size_t count;
	uint64_t offset, left;
	const struct elf_segment *segments = elf_file_segments(go->elf, &count);
	if (!elf_segments_vaddr_to_offset(segments, count, vaddr, &offset, &left) || left < len)
		return NULL;
	size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	struct err *err = elf_file_read_into(go->elf, offset, go->window, want);
	go->window_vaddr = vaddr;
	go->window_len = err ? 0 : want;
	err_destroy(err);
	return go->window_len ? go->window : NULL;
}

/* The bytes of `op %rbp, offset(%rsp)`, as the assembler encodes them; 0 when it is another. */
static size_t match_rbp_and_rsp(const uint8_t *code, uint8_t opcode, int32_t offset)
{
	if (code[0] != 0x48 || code[1] != opcode || code[3] != 0x24)
		return 0;
	if (code[2] == 0x2c)
		return offset == 0 ? 4 : 0;
	if (code[2] == 0x6c)
		return (int8_t)code[4] == offset ? 5 : 0;
	struct bytes_cursor cursor = bytes_cursor(code + 4, 4);
	return code[2] == 0xac && (int32_t)bytes_get_u32(&cursor) == offset ? 8 : 0;
}

static void set_push(struct unwind_go *go, uint64_t address)
{
	go->saved = address;
	go->established = address + 3;
}

static void set_sub(struct unwind_go *go, uint64_t address, size_t mov)
{
	go->saved = address + mov;
	go->established = address + 2 * mov; /* lea is as long */
}

/* Whether code says so; nothing is claimed where it does not. */
static enum prologue match_prologue(
	struct unwind_go *go, uint64_t address, int32_t delta, size_t *mov)
{
	enum {
		MOV_TO_MEMORY = 0x89,
		LEA = 0x8d
	};
	if (address <= go->function.start || go->function.end - address < PROLOGUE_BYTES)
		return PROLOGUE_UNKNOWN;
	const uint8_t *code = unwind_go_code_at(go, address - 1, PROLOGUE_BYTES);
	if (!code)
		return PROLOGUE_UNKNOWN;
	if (delta == 8 && memcmp(code, "\x55\x48\x89\xe5", 4) == 0)
		return PROLOGUE_PUSH;
	*mov = match_rbp_and_rsp(code + 1, MOV_TO_MEMORY, delta - 8);
	size_t lea = *mov ? match_rbp_and_rsp(code + 1 + *mov, LEA, delta - 8) : 0;
	return lea ? PROLOGUE_SUB : PROLOGUE_UNKNOWN;
}

/* What stands behind the instruction that moved the stack pointer, of which there are two. */
static void look_at_prologue_of_arm64(struct unwind_go *go, uint64_t address)
{
	static const uint8_t save[] = {0xfd, 0x83, 0x1f, 0xf8};  /* stur x29,[sp,#-8] */
	static const uint8_t point[] = {0xfd, 0x23, 0x00, 0xd1}; /* sub x29,sp,#8 */
	const uint8_t *code = unwind_go_code_at(go, address, sizeof(save) + sizeof(point));
	if (!code)
		return;
	size_t saves = memcmp(code, save, sizeof(save)) == 0 ? sizeof(save) : 0;
	if (memcmp(code + saves, point, sizeof(point)) != 0)
		return;
	go->saved = address + saves;
	go->established = go->saved + sizeof(point);
}

/*
 * At `address` the stack pointer has moved for the first time, by `delta`. What the compiler
 * does it always does, so its code is read once: a large program has 400 MiB of it.
 */
static void look_at_prologue(struct unwind_go *go, uint64_t address, int32_t delta)
{
	bool is_compiled = go->has_flags && !(go->function.flags & GO_FUNCTION_ASSEMBLY);
	enum prologue prologue = is_compiled ? go->prologue : PROLOGUE_UNKNOWN;
	int32_t offset = delta - 8;
	size_t mov = offset == 0 ? 4 : offset <= INT8_MAX ? 5 : 8;
	if (!prologue)
		prologue = match_prologue(go, address, delta, &mov);
	if (is_compiled)
		go->prologue = prologue;
	if (prologue == PROLOGUE_PUSH)
		set_push(go, address);
	if (prologue == PROLOGUE_SUB)
		set_sub(go, address, mov);
}

/* ---- rules ---- */

static struct unwind_rule rule_of_frame(const struct unwind_go *go, uint64_t address, int32_t delta)
{
	struct unwind_rule rule = {
		.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_AT_CFA, .ra_offset = -8};
	bool is_saved = delta > 0 && go->saved && address >= go->saved;
	if (go->role == ROLE_INTERRUPTED)
		rule.flags = UNWIND_SIGNAL_FRAME;
	if (go->role == ROLE_CROSSING)
		rule.flags = UNWIND_SWITCHES_STACKS;
	if (is_saved) {
		rule.fp = UNWIND_AT_CFA;
		rule.fp_offset = -16;
	}
	bool is_by_rbp = go->role == ROLE_CROSSING && is_saved && address >= go->established;
	rule.cfa_register = is_by_rbp ? RBP : RSP;
	rule.cfa_offset = is_by_rbp ? 16 : delta + 8;
	return rule;
}

static struct unwind_rule rule_of_frame_of_arm64(
	const struct unwind_go *go, uint64_t address, int32_t delta)
{
	enum {
		FP_TO_SP = 8,
	};
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = UNWIND_ARM64_SP,
		.cfa_offset = delta,
		.extra = UNWIND_UNDEFINED};
	bool is_saved = delta > 0 && go->saved && address >= go->saved;
	if (go->role == ROLE_INTERRUPTED)
		rule.flags = UNWIND_SIGNAL_FRAME;
	if (go->role == ROLE_CROSSING)
		rule.flags = UNWIND_SWITCHES_STACKS;
	if (delta > 0)
		rule.ra = UNWIND_AT_SP;
	if (is_saved) {
		rule.fp = UNWIND_AT_SP;
		rule.fp_offset = -FP_TO_SP;
	}
	if (go->role == ROLE_CROSSING && is_saved && address >= go->established && go->leaves_fp)
		return (struct unwind_rule){
			.cfa = UNWIND_CFA_UNSUPPORTED, .ra = UNWIND_UNSUPPORTED};
	if (go->role == ROLE_CROSSING && is_saved && address >= go->established) {
		rule.cfa_register = UNWIND_ARM64_FP;
		rule.cfa_offset = delta + FP_TO_SP;
		rule.fp = UNWIND_AT_FP;
		rule.fp_offset = 0;
		rule.ra = UNWIND_AT_FP;
		rule.ra_offset = FP_TO_SP;
	}
	return rule;
}

static void unwind_go_put(struct unwind_go *go, uint64_t address, int32_t delta)
{
	struct unwind_rule rule = go->is_arm64 ? rule_of_frame_of_arm64(go, address, delta)
					       : rule_of_frame(go, address, delta);
	go->on_rule(go->context, address, &rule);
}

static void on_sp(void *context, uint64_t address, int32_t delta)
{
	struct unwind_go *go = context;
	bool is_first = delta > 0 && !go->has_moved;
	if (is_first) {
		go->has_moved = true;
		if (go->is_arm64)
			look_at_prologue_of_arm64(go, address);
		else
			look_at_prologue(go, address, delta);
	}
	unwind_go_put(go, address, delta);
	if (is_first && go->saved > address)
		unwind_go_put(go, go->saved, delta);
	if (is_first && go->role == ROLE_CROSSING && go->established)
		unwind_go_put(go, go->established, delta);
}

/* Whether it has a frame of its own is known once all of it was walked. */
static void ignore_rule(void *context, uint64_t address, const struct unwind_rule *rule)
{
	(void)context, (void)address, (void)rule;
}

static uint64_t put_whole(struct unwind_go *go, const struct unwind_rule *rule)
{
	go->on_rule(go->context, go->function.start, rule);
	return go->function.end;
}

static uint64_t put_outermost(struct unwind_go *go)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER, .ra = UNWIND_UNDEFINED};
	return put_whole(go, &rule);
}

/* rbp is the caller's, whose return address is above what it points to. */
static uint64_t put_crossing(struct unwind_go *go)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_REGISTER,
		.cfa_register = RBP,
		.cfa_offset = 16,
		.ra = UNWIND_AT_CFA,
		.ra_offset = -8,
		.fp = UNWIND_AT_CFA,
		.fp_offset = -16,
		.flags = UNWIND_SWITCHES_STACKS};
	return put_whole(go, &rule);
}

static uint64_t put_unknown(struct unwind_go *go)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_UNSUPPORTED, .ra = UNWIND_UNSUPPORTED};
	return put_whole(go, &rule);
}

/* What calls the kernel to return from a handler is the same in all programs. */
static void unwind_go_put_sigreturn(void *context, uint64_t at, const struct unwind_rule *rule)
{
	struct unwind_go *go = context;
	if (!at && rule)
		put_whole(go, rule);
}

static uint64_t put_sigreturn_of_arm64(struct unwind_go *go)
{
	enum {
		BYTES = 8,
	};
	/* The function begins a byte ahead of its code, see get_function(). */
	const uint8_t *code = unwind_go_code_at(go, go->function.start + 1, BYTES);
	if (!code)
		return put_unknown(go);
	machine_arm64.find_gap_rules(&(struct machine_gap){
		.bytes = code, .len = BYTES, .on_rule = unwind_go_put_sigreturn, .context = go});
	return go->function.end;
}

/* As glibc says of its __restore_rt. */
static uint64_t put_sigreturn(struct unwind_go *go)
{
	struct unwind_rule rule = {.cfa = UNWIND_CFA_DEREF,
		.cfa_register = RSP,
		.cfa_offset = UCONTEXT_RSP,
		.ra = UNWIND_AT_SP,
		.ra_offset = UCONTEXT_RIP,
		.fp = UNWIND_AT_SP,
		.fp_offset = UCONTEXT_RBP,
		.extra = UNWIND_AT_SP,
		.extra_offset = UCONTEXT_RBX,
		.flags = UNWIND_SIGNAL_FRAME};
	return put_whole(go, &rule);
}

/* ldr x29,[x28,#n]: from the goroutine that the other stack is of. */
static bool loads_frame_pointer(struct unwind_go *go)
{
	enum {
		LOOK_AT_BYTES = 256,
	};
	uint64_t len = go->function.end - go->function.start;
	if (len > LOOK_AT_BYTES)
		len = LOOK_AT_BYTES;
	const uint8_t *code = unwind_go_code_at(go, go->function.start, len);
	for (size_t at = 0; code && at < len; at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(code + at, len - at, 0);
		if (insn.kind == ARM64_LOAD && insn.reg == ARM64_FP && insn.base == GOROUTINE)
			return true;
	}
	return false;
}

static bool has_frame(struct unwind_go *go)
{
	unwind_go_on_rule *on_rule = go->on_rule;
	go->on_rule = ignore_rule;
	go_pclntab_walk_sp(go->table, &go->function, on_sp, go);
	go->on_rule = on_rule;
	bool is_saved = go->saved != 0;
	go->has_moved = false;
	go->saved = go->established = 0;
	return is_saved;
}

/* ---- functions ---- */

/*
 * A signal handler returns to the first byte of what calls rt_sigreturn, and callers are looked
 * up by the byte before the return address: that one belongs to it, too.
 */
static bool get_function(const struct unwind_go *go, uint32_t index, struct go_function *ret)
{
	if (!go_pclntab_function(go->table, index, ret))
		return false;
	ret->start -= index == go->sigreturn;
	ret->end -= index + 1 == go->sigreturn;
	return ret->start < ret->end;
}

uint64_t unwind_go_run(
	struct unwind_go *go, uint32_t index, unwind_go_on_rule *on_rule, void *context)
{
	if (!get_function(go, index, &go->function))
		return 0;
	go->on_rule = on_rule;
	go->context = context;
	go->role = role_of(go, &go->function);
	go->has_moved = false;
	go->saved = go->established = 0;
	go->leaves_fp = go->is_arm64 && go->role == ROLE_CROSSING && loads_frame_pointer(go);
	if (go->role == ROLE_OUTERMOST)
		return put_outermost(go);
	if (go->role == ROLE_SIGRETURN)
		return go->is_arm64 ? put_sigreturn_of_arm64(go) : put_sigreturn(go);
	if (go->role == ROLE_UNKNOWN)
		return put_unknown(go);
	if (go->role == ROLE_CROSSING &&
		!has_frame(go)) /* on arm64 its caller's size is not known */
		return go->is_arm64 ? put_unknown(go) : put_crossing(go);
	/* The table ends with the code; the padding behind it is the function's, too. */
	uint64_t ended = go_pclntab_walk_sp(go->table, &go->function, on_sp, go);
	return go->function.end - ended < ALIGNMENT ? go->function.end : ended;
}

bool unwind_go_function(const struct unwind_go *go, uint32_t index, uint64_t *start, uint64_t *end)
{
	struct go_function function;
	if (!get_function(go, index, &function))
		return false;
	*start = function.start;
	*end = function.end;
	return true;
}

uint32_t unwind_go_count(const struct unwind_go *go)
{
	return go_pclntab_count(go->table);
}

static void look_around(struct unwind_go *go)
{
	struct go_function function;
	uint32_t count = go_pclntab_count(go->table);
	for (uint32_t i = 0; i < count && !go->has_flags && !elf_file_is_stopped(go->elf); i++)
		go->has_flags = go_pclntab_function(go->table, i, &function) &&
				function.flags & GO_FUNCTION_ASSEMBLY;
	go->sigreturn = UINT32_MAX;
	for (uint32_t i = 0; i < count && !elf_file_is_stopped(go->elf); i++)
		if (go_pclntab_function(go->table, i, &function) &&
			role_of(go, &function) == ROLE_SIGRETURN)
			go->sigreturn = i;
}

struct err *unwind_go_open(struct elf_file *elf, struct unwind_go **ret)
{
	struct go_pclntab *table = NULL;
	uint16_t machine = elf_file_machine(elf);
	if (machine == EM_X86_64 || machine == EM_AARCH64)
		try(go_pclntab_open(elf, &table));
	if (!table) {
		*ret = NULL;
		return NULL;
	}
	struct unwind_go *go = mem_zalloc(sizeof(*go));
	go->table = table;
	go->elf = elf;
	go->is_arm64 = machine == EM_AARCH64;
	go->window = mem_alloc(WINDOW_BYTES);
	look_around(go);
	*ret = go;
	return NULL;
}

void unwind_go_destroy(struct unwind_go *go)
{
	if (!go)
		return;
	go_pclntab_destroy(go->table);
	mem_free(go->window);
	mem_free(go);
}
