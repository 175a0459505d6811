/*
 * The BPF unwinder over this very process: its mappings, its registers, its
 * stack, and tables from the files that it maps. glibc's backtrace(), which
 * reads the same call frame information by itself, must see the same frames.
 */
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/elf_file.h"
#include "record/unwind/table_store.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

/* A function that has a frame of its own, and is the one that its name says. */
#ifdef __clang__
#define A_FRAME __attribute__((noinline))
#else
#define A_FRAME __attribute__((noinline, noclone))
#endif

enum {
	MAX_VMAS = 512,
	MAX_FRAMES = 256,
	MAX_STACK_BYTES = 1 << 20,
	STORE_BYTES = 64 * UNWIND_SHARD_WORDS,
	ALTERNATE_BYTES = 1 << 17,
};

/* ---- this process ---- */

static struct self {
	struct emulated_vma vmas[MAX_VMAS];
	struct emulated_file files[MAX_VMAS];
	char paths[MAX_VMAS][256];
	size_t nr_vmas;
	uint64_t vdso;
	struct table_store *store;
	int memory; /* /proc/self/mem: sanitizers do not mind what is read through it */

	struct event_file announced[EMULATED_MAX_FILES]; /* by number */
} self;

static void take_line(const char *line)
{
	struct emulated_vma *vma = &self.vmas[self.nr_vmas];
	struct emulated_file *file = &self.files[self.nr_vmas];
	char *path = self.paths[self.nr_vmas], permissions[5];
	unsigned long long start, end, offset, inode;
	unsigned major, minor;
	path[0] = '\0';
	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %255s", &start, &end, permissions, &offset,
		    &major, &minor, &inode, path) < 7 ||
		start >> 63 || self.nr_vmas == MAX_VMAS)
		return;
	*vma = (struct emulated_vma){start, end, offset, NULL, permissions[2] == 'x'};
	*file = (struct emulated_file){.inode = inode, .device = major << 20 | minor};
	if (inode)
		vma->file = file;
	if (strcmp(path, "[vdso]") == 0)
		self.vdso = start;
	self.nr_vmas++;
}

static void read_maps(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "r");
	self.nr_vmas = 0;
	while (maps && fgets(line, sizeof(line), maps))
		take_line(line);
	CHECK(maps && self.nr_vmas > 5);
	if (maps)
		fclose(maps);
	emulate_mappings(self.vmas, self.nr_vmas, self.vdso);
}

static const struct emulated_vma *vma_of(uint64_t address)
{
	for (size_t i = 0; i < self.nr_vmas; i++)
		if (address >= self.vmas[i].start && address < self.vmas[i].end)
			return &self.vmas[i];
	return NULL;
}

/* ---- its tables, as the recorder makes them ---- */

static void bind_table(uint32_t number, struct elf_file *elf)
{
	struct unwind_table table;
	CHECK_OK(unwind_table_build(elf, &table));
	table_store_bind(self.store, number, table_store_add(self.store, &table));
	unwind_table_deinit(&table);
	elf_file_destroy(elf);
}

static void provide_vdso(void)
{
	struct elf_file *elf;
	const struct emulated_vma *vma = vma_of(self.vdso);
	if (!vma)
		return;
	CHECK_OK(elf_file_open_memory(
		(const void *)getauxval(AT_SYSINFO_EHDR), vma->end - vma->start, &elf));
	bind_table(0, elf);
}

static void provide_file(const struct event_file *event)
{
	struct elf_file *elf;
	size_t index = (size_t)(vma_of(event->start) - self.vmas);
	int fd = open(self.paths[index], O_RDONLY | O_CLOEXEC);
	self.announced[event->file] = *event;
	CHECK(fd >= 0);
	CHECK_OK(elf_file_open(fd, &elf));
	bind_table(event->file, elf);
	close(fd);
}

/* A tick in each executable mapping makes the program ask for all tables. */
static void provide_all(void)
{
	for (size_t i = 0; i < self.nr_vmas; i++) {
		struct unwind_registers regs = {.ip = self.vmas[i].start};
		if (self.vmas[i].is_executable)
			emulate_tick(&regs);
	}
	for (size_t n = 0; emulated_record(EVENT_FILE, n); n++)
		provide_file(emulated_record(EVENT_FILE, n));
	emulate_drain();
}

static void setup(void)
{
	void *warm_up[4];
	backtrace(warm_up, 4); /* loads libgcc_s */
	emulate_boot(EMULATED_6_13);
	CHECK_OK(emulate_table_store(STORE_BYTES, &self.store));
	self.memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	read_maps();
	provide_vdso();
	provide_all();
}

static void teardown(void)
{
	table_store_destroy(self.store);
	close(self.memory);
}

/* ---- a moment of it ---- */

struct moment {
	struct unwind_registers regs;
	void *wanted[MAX_FRAMES];
	int nr_wanted;
};

static struct unwind_registers registers_of(const ucontext_t *context)
{
	static const uint8_t order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
		REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
		REG_R15};
	struct unwind_registers ret = {.ip = (uint64_t)context->uc_mcontext.gregs[REG_RIP]};
	for (size_t i = 0; i < 16; i++)
		ret.reg[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
	return ret;
}

/* The stack that begins there, as it is now. */
static void save_stack(uint64_t sp)
{
	const struct emulated_vma *vma = vma_of(sp);
	CHECK(vma != NULL);
	size_t bytes = vma ? vma->end - sp : 0;
	if (bytes > MAX_STACK_BYTES)
		bytes = MAX_STACK_BYTES;
	void *copy = mem_alloc(bytes + 1);
	CHECK_INT(pread(self.memory, copy, bytes, (off_t)sp), bytes);
	emulate_memory(sp, copy, bytes);
}

/* Its caller's frame is not worth comparing: one is at the call, the other behind it. */
A_FRAME static void capture(struct moment *moment)
{
	ucontext_t context;
	moment->nr_wanted = backtrace(moment->wanted, MAX_FRAMES);
	getcontext(&context);
	moment->regs = registers_of(&context);
	read_maps(); /* the stack may have grown */
	save_stack(moment->regs.reg[UNWIND_SP]);
	__asm__ volatile(""); /* no tail call above */
}

/* ---- what became of it ---- */

static uint64_t address_of(uint64_t frame)
{
	uint64_t offset = frame & ((1ULL << EVENT_FRAME_FILE_SHIFT) - 1);
	uint64_t number = frame >> EVENT_FRAME_FILE_SHIFT & ((1ULL << EVENT_FRAME_FILE_BITS) - 1);
	switch (frame >> EVENT_FRAME_KIND_SHIFT) {
	case EVENT_FRAME_FILE:
		return self.announced[number].start + offset - self.announced[number].offset;
	case EVENT_FRAME_VDSO:
		return self.vdso + offset;
	default:
		return frame & ((1ULL << 56) - 1);
	}
}

/* mov $__NR_rt_sigreturn,%rax; syscall */
static bool is_signal_return(const void *code)
{
	static const uint8_t instructions[] = {0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05};
	return memcmp(code, instructions, sizeof(instructions)) == 0;
}

static const struct event_stack *unwind(const struct unwind_registers *regs)
{
	emulate_drain();
	++*emulated_variables().generation;
	emulate_tick(regs);
	return emulated_record(EVENT_STACK, 0);
}

static uint64_t frame_of(const struct event_stack *stack, uint32_t n)
{
	uint64_t frame;
	memcpy(&frame, (const uint8_t *)(stack + 1) + n * sizeof(frame), sizeof(frame));
	return frame;
}

static void print_difference(const struct event_stack *stack, void *const *wanted, size_t nr_wanted)
{
	for (uint32_t i = 0; i < stack->nr_frames || i < nr_wanted; i++)
		unit_fail(__FILE__, __LINE__, "%2u: %#llx %#llx", i,
			i < stack->nr_frames ? (unsigned long long)address_of(frame_of(stack, i))
					     : 0,
			i < nr_wanted ? (unsigned long long)wanted[i] : 0);
}

/* The frames behind the leaf; those of `wanted` are return addresses, but under signals. */
static bool are_same_callers(const struct event_stack *stack, void *const *wanted, size_t nr_wanted)
{
	if (stack->end != EVENT_END_COMPLETE || stack->nr_frames != nr_wanted)
		return false;
	for (uint32_t i = 1; i < nr_wanted; i++) {
		uint64_t frame = frame_of(stack, i);
		bool is_exact = is_signal_return(wanted[i - 1]) || is_signal_return(wanted[i]);
		uint64_t place = (uint64_t)wanted[i] - !is_exact;
		if (address_of(frame) != place || frame >> EVENT_FRAME_FOUND_SHIFT & 1)
			return false;
	}
	return true;
}

/* backtrace() may have a frame of its own, that of a sanitizer. */
static int first_in_capture(const struct moment *moment)
{
	for (int i = 0; i < moment->nr_wanted; i++)
		if ((uint64_t)moment->wanted[i] - (uint64_t)capture < 4096)
			return i;
	return 0;
}

/* At least so many frames, all of them as backtrace() has them. */
static void check_moment(const struct moment *moment, uint32_t at_least)
{
	const struct event_stack *stack = unwind(&moment->regs);
	int first = first_in_capture(moment);
	size_t nr_wanted = (size_t)(moment->nr_wanted - first);
	CHECK(stack != NULL);
	if (!stack)
		return;
	CHECK_INT(stack->end, EVENT_END_COMPLETE);
	CHECK_INT(stack->has_snapshot, false);
	CHECK(stack->nr_frames >= at_least);
	if (!are_same_callers(stack, moment->wanted + first, nr_wanted))
		print_difference(stack, moment->wanted + first, nr_wanted);
}

/* ---- nested functions; each has a frame of another shape ---- */

static struct moment moment;
static volatile int zero;

A_FRAME static int small(int n)
{
	capture(&moment);
	return n + zero;
}

A_FRAME static int large(int n)
{
	volatile char space[3000];
	space[zero] = (char)n;
	return small(n) + space[zero];
}

/* A frame pointer, though the compiler was not told to keep one. */
A_FRAME static int variable(int n)
{
	volatile char *space = __builtin_alloca((size_t)n + (size_t)zero);
	space[n / 2] = 1;
	return large(n) + space[n / 2];
}

/* The stack pointer is rounded down, the CFA is behind a pointer. */
A_FRAME static int aligned(int n)
{
	volatile char space[64] __attribute__((aligned(64)));
	volatile char *more = __builtin_alloca((size_t)n + (size_t)zero);
	space[zero] = more[zero] = 1;
	return variable(n) + space[zero] + more[zero];
}

A_FRAME static int many_registers(int a, int b, int c, int d, int e)
{
	int sum = zero, product = a * b;
	for (int i = 0; i < 2 + zero; i++)
		sum += (i ? aligned(a + b) : 0) + product * c - d + e * i;
	return sum + a * c + b * d + e;
}

A_FRAME static int recursive(int n)
{
	return n ? recursive(n - 1) * 2 + zero : many_registers(100, 2, 3, 4, 5);
}

TEST(nested_functions)
{
	setup();
	recursive(20);
	check_moment(&moment, 28);
	teardown();
}

/* ---- through other people's code ---- */

static int compare(const void *a, const void *b)
{
	if (!moment.nr_wanted)
		small(0);
	return *(const int *)a - *(const int *)b;
}

A_FRAME static void sort(size_t count)
{
	int *numbers = mem_zalloc_array(count, sizeof(*numbers));
	for (size_t i = 0; i < count; i++)
		numbers[i] = (int)(i * 7919 % 101);
	qsort(numbers, count, sizeof(*numbers), compare);
	mem_free(numbers);
}

TEST(callback_of_qsort)
{
	setup();
	sort(50);
	check_moment(&moment, 8);
	teardown();
}

static void *run_thread(void *argument)
{
	recursive(*(int *)argument);
	return NULL;
}

/* Its outermost frame is that of clone3, not _start. */
TEST(thread)
{
	int depth = 3;
	pthread_t thread;
	setup();
	CHECK_INT(pthread_create(&thread, NULL, run_thread, &depth), 0);
	pthread_join(thread, NULL);
	check_moment(&moment, 10);
	teardown();
}

/* ---- through signals ---- */

static void on_signal(int number, siginfo_t *info, void *context)
{
	(void)info;
	recursive(2);
	ucontext_t *interrupted = context;
	save_stack((uint64_t)interrupted->uc_mcontext.gregs[REG_RSP]);
	if (number == SIGILL)
		interrupted->uc_mcontext.gregs[REG_RIP] += 2; /* ud2 */
}

static void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
	CHECK_INT(sigaction(number, &action, NULL), 0);
}

TEST(signal_handler)
{
	setup();
	handle(SIGUSR1, on_signal, 0);
	raise(SIGUSR1);
	check_moment(&moment, 14);
	teardown();
}

/* Interrupted at its very first instruction: the byte before is another function's. */
void fault_at_once(void);
__asm__(".text\n"
	".type fault_at_once, @function\n"
	"fault_at_once:\n"
	".cfi_startproc\n"
	"	ud2\n"
	"	ret\n"
	".cfi_endproc\n"
	".size fault_at_once, . - fault_at_once\n");

TEST(signal_at_the_first_instruction_of_a_function)
{
	setup();
	handle(SIGILL, on_signal, 0);
	fault_at_once();
	check_moment(&moment, 13);
	bool is_found = false;
	const struct event_stack *stack = emulated_record(EVENT_STACK, 0);
	for (uint32_t i = 0; stack && i < stack->nr_frames; i++)
		is_found |= address_of(frame_of(stack, i)) == (uint64_t)fault_at_once;
	CHECK(is_found);
	teardown();
}

TEST(signal_handler_on_a_stack_of_its_own)
{
	setup();
	stack_t stack = {.ss_sp = mem_alloc(ALTERNATE_BYTES), .ss_size = ALTERNATE_BYTES};
	CHECK_INT(sigaltstack(&stack, NULL), 0);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	raise(SIGUSR1);
	check_moment(&moment, 14);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	mem_free(stack.ss_sp);
	teardown();
}

/* ---- at every single instruction ---- */

enum {
	TRAP_FLAG = 0x100,
};

static struct {
	uint64_t steps, wrong, unknown;
	uint8_t bytes[MAX_STACK_BYTES];
	uint64_t address; /* of bytes[0] */
	uint64_t end;     /* of the stack */
} stepping;

/* The PLT of a static program has no call frame information: the walk goes on by a guess alone. */
static bool is_without_rule(const struct event_stack *stack, size_t nr_wanted)
{
	if (stack->nr_frames == 1)
		return nr_wanted == 1 && stack->end == EVENT_END_NO_RULE;
	return nr_wanted == 1 && frame_of(stack, 1) >> EVENT_FRAME_FOUND_SHIFT & 1;
}

/* backtrace() from here sees this function, the kernel's frame, what was interrupted. */
static size_t first_interrupted(void *const *wanted, size_t count)
{
	for (size_t i = 0; i + 1 < count; i++)
		if (is_signal_return(wanted[i]))
			return i + 1;
	return count;
}

static void on_step(const ucontext_t *context)
{
	void *wanted[MAX_FRAMES];
	size_t count = (size_t)backtrace(wanted, MAX_FRAMES);
	size_t first = first_interrupted(wanted, count);
	struct unwind_registers regs = registers_of(context);
	uint64_t sp = regs.reg[UNWIND_SP] - 1024; /* functions may save below, in the red zone */
	if (sp < stepping.address || pread(self.memory, stepping.bytes + (sp - stepping.address),
					     stepping.end - sp, (off_t)sp) < 0)
		return;
	const struct event_stack *stack = unwind(&regs);
	bool is_right = stack && are_same_callers(stack, wanted + first, count - first) &&
			address_of(frame_of(stack, 0)) == regs.ip;
	bool is_unknown = stack && is_without_rule(stack, count - first);
	stepping.steps++;
	stepping.unknown += is_unknown;
	is_right |= is_unknown;
	if (!is_right && stepping.wrong++ < 2 && stack) {
		unit_fail(__FILE__, __LINE__, "step %llu, end %d",
			(unsigned long long)stepping.steps, stack->end);
		print_difference(stack, wanted + first, count - first);
	}
}

/* A breakpoint turns single steps on and off: the handler changes the flag that it returns to. */
static void on_trap(int number, siginfo_t *info, void *context)
{
	(void)number;
	ucontext_t *interrupted = context;
	if (info->si_code == TRAP_TRACE)
		on_step(interrupted);
	else
		interrupted->uc_mcontext.gregs[REG_EFL] ^= TRAP_FLAG;
}

static inline void toggle_steps(void)
{
	__asm__ volatile("int3" : : : "memory");
}

/* Nothing here may allocate memory: so does what runs at each step. */
A_FRAME static double work(void)
{
	char text[128];
	int numbers[12];
	for (int i = 0; i < 12; i++)
		numbers[i] = i * 7 % 12;
	moment.nr_wanted = 1;
	qsort(numbers, 12, sizeof(*numbers), compare);
	snprintf(text, sizeof(text), "%d %s %.3f %x", numbers[3], "text", 2.5, numbers[4]);
	/* Not called before: bound on the way, by ld.so. */
	char *end = strpbrk(text, " \t");
	return strtod(end ? end : text, NULL) + (double)labs(strtol(text, &end, 10));
}

TEST(every_instruction)
{
#if defined(__SANITIZE_ADDRESS__)
	unit_skip("the sanitizer's own functions are not to be interrupted by tests");
#endif
	setup();
	char here;
	stepping.end = vma_of((uint64_t)&here)->end;
	stepping.address = stepping.end - MAX_STACK_BYTES;
	emulate_memory(stepping.address, stepping.bytes, MAX_STACK_BYTES);
	handle(SIGTRAP, on_trap, 0);
	toggle_steps();
	double result = work();
	toggle_steps();
	CHECK(result >= 0);
	CHECK(stepping.steps > 3000);
	CHECK_INT(stepping.wrong, 0);
	CHECK(stepping.unknown < stepping.steps / 50);
	teardown();
}

#endif
