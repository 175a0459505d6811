#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "tests/unit/unwind_subject.h"

#define NEVER_INLINE __attribute__((noinline, noclone))

static struct unwind_subject *current;

/* Behind a call, so that it is no jump. */
#define STAY() __asm__ volatile("" ::: "memory")

static size_t bytes_above(uint64_t sp)
{
	/* The outermost frames stand below the environment. */
	uint64_t end = (uint64_t)(uintptr_t)environ[0];
	size_t bytes = end > sp ? end - sp : LAYOUT_MAX_SNAPSHOT_BYTES;
	return bytes < LAYOUT_MAX_SNAPSHOT_BYTES ? bytes : LAYOUT_MAX_SNAPSHOT_BYTES;
}

#if defined(__x86_64__)
static void take_registers(const ucontext_t *context, struct layout_snapshot *snapshot)
{
	/* From the kernel's order to DWARF's; what a call may change is not known. */
	static const struct {
		uint8_t number, index;
	} registers[] = {{3, REG_RBX}, {6, REG_RBP}, {7, REG_RSP}, {12, REG_R12}, {13, REG_R13},
		{14, REG_R14}, {15, REG_R15}, {16, REG_RIP}};
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++) {
		snapshot->known |= 1ULL << registers[i].number;
		snapshot->registers[registers[i].number] =
			(uint64_t)context->uc_mcontext.gregs[registers[i].index];
	}
	snapshot->stack_address = snapshot->registers[7];
}
static uintptr_t ip_of(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__aarch64__)
static void take_registers(const ucontext_t *context, struct layout_snapshot *snapshot)
{
	for (int i = 19; i < 31; i++) {
		snapshot->known |= 1ULL << i;
		snapshot->registers[i] = context->uc_mcontext.regs[i];
	}
	snapshot->known |= 3ULL << 31;
	snapshot->registers[31] = context->uc_mcontext.sp;
	snapshot->registers[32] = context->uc_mcontext.pc;
	snapshot->stack_address = snapshot->registers[31];
}
static uintptr_t ip_of(const ucontext_t *context)
{
	return (uintptr_t)context->uc_mcontext.pc;
}
#endif

static _Unwind_Reason_Code note_caller(struct _Unwind_Context *context, void *argument)
{
	struct unwind_subject *subject = argument;
	int is_exact;
	uintptr_t ip = _Unwind_GetIPInfo(context, &is_exact);
	if (subject->nr_callers < 256 && ip) /* it ends with a 0 */
		subject->callers[subject->nr_callers++] = ip - !is_exact;
	return _URC_NO_REASON;
}

/* Of the function that got the context, and calls this. */
static NEVER_INLINE void keep(struct unwind_subject *subject, const ucontext_t *context)
{
	struct layout_snapshot *snapshot = &subject->snapshot;
	*snapshot = (struct layout_snapshot){.is_exact = true, .stack = subject->stack};
	take_registers(context, snapshot);
	snapshot->stack_bytes = (uint32_t)bytes_above(snapshot->stack_address);
	const volatile uint8_t *from = (const uint8_t *)(uintptr_t)snapshot->stack_address;
	for (size_t i = 0; i < snapshot->stack_bytes; i++)
		subject->stack[i] = from[i];
	subject->nr_callers = 0;
	_Unwind_Backtrace(note_caller, subject);
	subject->nr_callers--; /* without ourselves */
	memmove(subject->callers, subject->callers + 1,
		subject->nr_callers * sizeof(*subject->callers));
}

/* getcontext() returns twice, so what calls it is never inlined. */
#define TAKE(subject) \
	do { \
		ucontext_t context_; \
		getcontext(&context_); \
		keep((subject), &context_); \
		STAY(); \
	} while (0)

static NEVER_INLINE void subject_leaf(struct unwind_subject *subject)
{
	TAKE(subject);
}

static NEVER_INLINE void subject_middle(struct unwind_subject *subject)
{
	char filler[300];
	__asm__ volatile("" : : "r"(filler) : "memory");
	subject_leaf(subject);
	STAY();
}

NEVER_INLINE void subject_calls(struct unwind_subject *subject)
{
	subject_middle(subject);
	STAY();
}

static NEVER_INLINE int subject_compare(const void *a, const void *b)
{
	const int *x = a, *y = b;
	if (!current->nr_callers)
		TAKE(current);
	return (*x > *y) - (*x < *y);
}

NEVER_INLINE void subject_sorts(struct unwind_subject *subject)
{
	int numbers[100];
	for (int i = 0; i < 100; i++)
		numbers[i] = (i * 37) % 100;
	current = subject;
	qsort(numbers, 100, sizeof(*numbers), subject_compare);
	STAY();
}

NEVER_INLINE void subject_realigns(struct unwind_subject *subject, size_t bytes)
{
	/* A large alignment and a size that varies: gcc needs a register besides the stack's. */
	char aligned[64] __attribute__((aligned(64)));
	char *varying = __builtin_alloca(bytes);
	__asm__ volatile("" : : "r"(aligned), "r"(varying) : "memory");
	subject_leaf(subject);
	STAY();
}

static NEVER_INLINE void subject_handler(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	current->interrupted_ip = ip_of(context);
	TAKE(current);
}

static NEVER_INLINE void subject_waits(void)
{
#if defined(__x86_64__)
	__asm__ volatile("ud2"); /* two bytes, over which the handler's end goes */
#else
	raise(SIGILL);
#endif
	STAY();
}

static void skip_instruction(int number, siginfo_t *info, void *context)
{
	subject_handler(number, info, context);
#if defined(__x86_64__)
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
#endif
	STAY();
}

NEVER_INLINE void subject_is_interrupted(struct unwind_subject *subject)
{
	struct sigaction action = {.sa_sigaction = skip_instruction, .sa_flags = SA_SIGINFO}, old;
	current = subject;
	sigaction(SIGILL, &action, &old);
	subject_waits();
	sigaction(SIGILL, &old, NULL);
}

NEVER_INLINE void subject_recurses(struct unwind_subject *subject, unsigned depth)
{
	if (depth > 1)
		subject_recurses(subject, depth - 1);
	else
		subject_leaf(subject);
	STAY();
}
