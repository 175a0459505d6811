/* The registers of user code while the kernel's entry code of x86-64 saves or restores them. */
#include "tests/unit/emulate/flavours.bpf.h"

/* The emulated programs have these already. */
#define config entry_config
#define ring   entry_ring
#include "bpf/registers.bpf.h"

#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

#if defined(__TARGET_ARCH_x86)

enum {
	USER_IP = 0x401000,
	USER_SP = 0x7ffd0010,
	USER_BP = 0x7ffd0100,
	USER_BX = 0x1234,
	CLEARED = 0,
	TOP_BYTES = 4096,
};
static const uint64_t entry_area = 0xfffffe0000002000, kernel_ip = 0xffffffff81000000;

/* What the kernel was entered with before is there still. */
static struct pt_regs *boot(struct task_struct **task)
{
	emulate_boot(EMULATED_6_13);
	*task = bpf_get_current_task_btf();
	struct pt_regs *saved = (struct pt_regs *)bpf_task_pt_regs(*task);
	*saved =
		(struct pt_regs){.ip = 0xbad, .sp = 0xbad0, .bp = 0xbad0, .bx = 0xbad, .cx = 0xbad};
	return saved;
}

/* A system call has put the caller's ip into cx. */
static struct bpf_perf_event_data tick(uint64_t sp)
{
	return (struct bpf_perf_event_data){
		.regs = {.ip = kernel_ip, .sp = sp, .cx = USER_IP, .bp = USER_BP, .bx = USER_BX}};
}

static void check_user(struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct unwind_registers got;
	CHECK(read_user_registers(ctx, task, &got));
	CHECK_INT(got.ip, USER_IP);
	CHECK_INT(got.reg[7], USER_SP);
	CHECK_INT(got.reg[6], USER_BP);
	CHECK_INT(got.reg[3], USER_BX);
}

TEST(entry_of_a_system_call_has_the_callers_stack_still)
{
	struct task_struct *task;
	boot(&task);
	struct bpf_perf_event_data ctx = tick(USER_SP);
	check_user(&ctx, task);
}

TEST(entry_that_has_pushed_no_stack_pointer_knows_none)
{
	struct task_struct *task;
	struct pt_regs *saved = boot(&task);
	struct unwind_registers got;
	struct bpf_perf_event_data ctx = tick((uint64_t)(saved + 1));
	CHECK(!read_user_registers(&ctx, task, &got));
	ctx = tick((uint64_t)&saved->ss);
	CHECK(!read_user_registers(&ctx, task, &got));
}

/* Pushed one by one, and cleared when all are. */
TEST(entry_that_pushes_registers)
{
	struct task_struct *task;
	struct pt_regs *saved = boot(&task);
	saved->sp = USER_SP;
	struct bpf_perf_event_data ctx = tick((uint64_t)&saved->sp);
	check_user(&ctx, task);
	ctx = tick((uint64_t)&saved->cs);
	check_user(&ctx, task);
	saved->ip = saved->cx = USER_IP;
	ctx = tick((uint64_t)&saved->cx);
	check_user(&ctx, task);
	saved->bx = USER_BX;
	ctx = tick((uint64_t)&saved->bx);
	ctx.regs.bx = ctx.regs.cx = CLEARED;
	check_user(&ctx, task);
	saved->bp = USER_BP;
	ctx = tick((uint64_t)saved);
	ctx.regs.bx = ctx.regs.bp = ctx.regs.cx = CLEARED;
	check_user(&ctx, task);
	ctx.regs.sp = 0xffffc90000003e00; /* what the kernel does behind that */
	check_user(&ctx, task);
}

/* An interrupt of user code begins on a stack of the CPU's. */
TEST(entry_of_an_interrupt_is_on_a_stack_of_its_own)
{
	static uint8_t stack[TOP_BYTES];
	struct task_struct *task;
	struct pt_regs *saved = boot(&task), *on_entry = (struct pt_regs *)(stack + TOP_BYTES) - 1;
	uint64_t at = entry_area + TOP_BYTES - sizeof(*on_entry);
	emulate_entry_stack(entry_area, stack, sizeof(stack));
	on_entry->ip = USER_IP;
	on_entry->cs = USER_CODE_SEGMENT;
	on_entry->sp = USER_SP;
	struct bpf_perf_event_data ctx = tick(at + offsetof(struct pt_regs, ip));
	ctx.regs.cx = 1;
	check_user(&ctx, task);
	on_entry->bx = USER_BX;
	ctx.regs.sp = at + offsetof(struct pt_regs, bx);
	ctx.regs.bx = CLEARED;
	check_user(&ctx, task);
	/* On the way back the task's own are there while they are copied. */
	*saved = (struct pt_regs){.ip = USER_IP, .sp = USER_SP, .bp = USER_BP, .bx = USER_BX};
	ctx.regs.bp = CLEARED;
	ctx.regs.sp = at + offsetof(struct pt_regs, cs);
	check_user(&ctx, task);
	ctx.regs.sp = entry_area + TOP_BYTES;
	check_user(&ctx, task);
	/* An exception of the kernel's has a stack there, too. */
	on_entry->cs = 0x10;
	ctx.regs.sp = at;
	check_user(&ctx, task);
}

#endif
