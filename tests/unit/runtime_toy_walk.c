/* What a toy runtime does in the kernel: all programs, with its hooks in them. */
#include "tests/unit/runtime_toy.h"

#include "tests/unit/emulate/flavours.bpf.h"

#include "bpf/runtime/runtime_code.bpf.h"
#include "bpf/runtime/runtime_process.bpf.h"
#include "bpf/runtime/thread.bpf.h"

static bool toy_enter(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	const struct toy_row *row = (const void *)runtime->row.words;
	return read_word(row->frame - runtime->delta, runtime->words) && runtime->words[0];
}

static bool toy_step(struct scratch *scratch)
{
	struct runtime_walk *runtime = &scratch->walk.runtime;
	struct runtime_record *record = get_runtime_record(scratch);
	__u64 frame[2];
	if (bpf_probe_read_user(frame, sizeof(frame), (const void *)runtime->words[0])) {
		push_runtime_failure(scratch, LAYOUT_SCRIPT_UNREADABLE);
		return false;
	}
	__u64 identity = mix(runtime->process, frame[1]);
	__u32 number = find_code(identity);
	if (!number) {
		append_text(0, RUNTIME_TEXT_FILE, 0, 0, 0);
		append_text(0, RUNTIME_TEXT_LINES, 0, 0, 0);
		record->head.version = RUNTIME_VERSION_LINES;
		number = send_code(scratch, record,
			append_c_text(record, 0, RUNTIME_TEXT_NAME, frame[1], 64), true, identity);
	}
	push_runtime_word(scratch, number, 0);
	runtime->words[0] = frame[0];
	return frame[0];
}

static const struct runtime_hooks toy_hooks = {.enter = toy_enter, .step = toy_step};

/* What the other one compiles has a frame of one word and the return address, and no name. */
static bool toy_compiler_claims_anonymous(struct scratch *scratch)
{
	return find_known_runtime(scratch, RUNTIME_TOY_COMPILER);
}

static enum runtime_leave toy_compiler_leave_jit(struct scratch *scratch)
{
	struct unwind_registers *regs = &scratch->walk.regs;
	if (!take_known_runtime(scratch, RUNTIME_TOY_COMPILER) ||
		!read_word(regs->reg[UNWIND_SP] + 8, &regs->ip))
		return RUNTIME_STAYS;
	regs->reg[UNWIND_SP] += 16;
	scratch->walk.is_exact = false;
	push_runtime_word(scratch, 1, 0);
	return RUNTIME_LEFT_UNSEEN;
}

static const struct runtime_hooks toy_compiler_hooks = {
	.has_compiler = true,
	.claims_anonymous = toy_compiler_claims_anonymous,
	.leave_jit = toy_compiler_leave_jit,
};

#include "tests/unit/emulate/program.c"
