/*
 * Runs a program one instruction at a time, so that at each of them the callers are known: whatever
 * a call puts on the stack is noted, and forgotten once the stack pointer is above it. No unwind
 * rule, frame pointer or symbol is asked, so code of any kind can be judged.
 *
 *   stepped [-n STOPS] [-x STEPS] [-e EVERY] [-f FIRST] [-a ADDRESS [-m]] [-s SEED] [-b BYTES]
 *           -o FILE PROGRAM [ARG...]
 *
 * It steps from the entry of the program on; the dynamic linker before it runs freely. Behind
 * ADDRESS (as nm has it; else at once) about one of EVERY instructions, and each in its first FIRST
 * executions, becomes a stop. At a stop the thread is
 * made to run a system call of a millisecond (getrandom() of BYTES) while the kernel holds the very
 * registers of the stop as those of user space. So what a profiler samples meanwhile is the stack
 * of that instruction: a line of FILE has
 *   begin and end of the system call (ns of CLOCK_MONOTONIC), tid, then addresses, leaf first
 * where '!' marks those that were interrupted and are no return addresses. With -m the callers of
 * the function at ADDRESS are left out: "..." stands for them.
 *
 * After STOPS stops, or STEPS instructions behind ADDRESS, the program is killed. Stacks that a
 * program switches between have to lie in mappings of their own.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)

typedef struct user_regs_struct registers;

enum {
	MAX_STACKS = 64,
	MAX_ENTRIES = 1 << 16, /* of one stack */
	MAX_THREADS = 64,
	MAX_CHAIN = 2048,
	VISIT_SLOTS = 1 << 20,
	SIGNAL_FRAME_MIN = 256, /* bytes; a struct rt_sigframe is larger */
	SYSCALL_STOP = SIGTRAP | 0x80,
};

enum entry_kind {
	CALLED,
	SIGNALLED, /* the handler's return address; `ip` was interrupted */
	STARTED,   /* a function that was not called, on a stack of its own */
};

struct entry {
	uint64_t slot; /* where the return address stands */
	enum entry_kind kind;
	uint64_t ip; /* of CALLED: that address; of SIGNALLED: what was interrupted */
	int below_stack, below_count; /* of SIGNALLED: what was interrupted */
};

struct stack {
	uint64_t low, high;
	int count;
	struct entry *entries;
};

struct thread {
	pid_t tid;
	registers last;
	bool has_last, is_unsure; /* between two stacks, or amid a jump out of functions */
	int stack;
	int pending_signal;
	bool is_delivering;
	struct entry popped; /* what was left last without a return; its slot is 0: nothing */
};

/* What an instruction does to control. */
enum flow {
	FLOW_UNKNOWN,
	FLOW_OTHER,
	FLOW_CALL,
	FLOW_RETURN,
	FLOW_JUMP_INDIRECT,
	FLOW_SYSCALL,
	FLOW_POP, /* behind a call of it: only to learn where it is */
};

struct visit {
	uint64_t address;
	unsigned count;
	enum flow flow;
};

static struct stack stacks[MAX_STACKS];
static int nr_stacks;
static struct thread threads[MAX_THREADS];
static int nr_threads;
static struct visit visits[VISIT_SLOTS];
static pid_t process;
static uint64_t syscall_at, scratch_at, begin_at;
static long stops_left = 1000, steps_left = 5000000, every = 200, first, burn_bytes = 400000;
static uint64_t random_state = 1;
static bool leaves_out, has_begun;
static int main_stack, main_count; /* the entries that were there when it began */
static FILE *out;

static void die(const char *what)
{
	perror(what);
	if (process > 0)
		kill(process, SIGKILL);
	exit(1);
}

static uint64_t next_random(void)
{
	random_state ^= random_state << 13; /* xorshift64 */
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static size_t read_memory(uint64_t address, void *to, size_t len)
{
	struct iovec here = {to, len}, there = {(void *)(uintptr_t)address, len}; /* NOLINT */
	ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
	return got < 0 ? 0 : (size_t)got;
}

static uint64_t read_word(uint64_t address)
{
	uint64_t word = 0;
	return read_memory(address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

static void get_registers(pid_t tid, registers *regs)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, regs))
		memset(regs, 0, sizeof(*regs)); /* it was killed */
}

static void set_registers(pid_t tid, const registers *regs)
{
	ptrace(PTRACE_SETREGS, tid, NULL, regs);
}

/* ---- instructions ---- */

static enum flow flow_of(const uint8_t *code, size_t len)
{
	static const char prefixes[] = "\x66\x67\xf2\xf3\x2e\x3e\x26\x36\x64\x65";
	size_t i = 0;
	while (i < len && memchr(prefixes, code[i], sizeof(prefixes) - 1))
		i++;
	if (i < len && code[i] >> 4 == 4)
		i++;
	if (i + 1 >= len)
		return FLOW_OTHER;
	unsigned kind = code[i + 1] >> 3 & 7;
	if (code[i] >> 3 == 0x58 >> 3)
		return FLOW_POP;
	if (code[i] == 0xe8 || (code[i] == 0xff && kind == 2))
		return FLOW_CALL;
	if (code[i] == 0xff && kind == 4)
		return FLOW_JUMP_INDIRECT;
	if (code[i] == 0xc3 || code[i] == 0xc2)
		return FLOW_RETURN;
	return code[i] == 0x0f && code[i + 1] == 0x05 ? FLOW_SYSCALL : FLOW_OTHER;
}

static struct visit *visit_of(uint64_t address)
{
	uint64_t at = (address * 0x9e3779b97f4a7c15u) >> 44;
	for (int i = 0; i < 64; i++) {
		struct visit *visit = &visits[(at + (uint64_t)i) % VISIT_SLOTS];
		if (visit->address == address)
			return visit;
		if (!visit->address) {
			uint8_t code[16];
			visit->address = address;
			visit->flow = flow_of(code, read_memory(address, code, sizeof(code)));
			return visit;
		}
	}
	die("too many instructions");
	return NULL;
}

/* ---- stacks ---- */

/* The number of the stack that a stack pointer is on, which may be its very top. */
static int stack_at(int current, uint64_t sp)
{
	sp--;
	if (current >= 0 && sp >= stacks[current].low && sp < stacks[current].high)
		return current;
	char path[64], line[512];
	uint64_t low = 0, high = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps)) {
		low = strtoull(line, NULL, 16);
		char *dash = strchr(line, '-');
		high = dash ? strtoull(dash + 1, NULL, 16) : 0;
		if (sp >= low && sp < high)
			break;
		low = high = 0;
	}
	if (maps)
		fclose(maps);
	for (int i = 0; i < nr_stacks; i++)
		if (stacks[i].high == high || (sp >= stacks[i].low && sp < stacks[i].high)) {
			stacks[i].low = low;
			return i;
		}
	if (nr_stacks == MAX_STACKS)
		die("too many stacks");
	stacks[nr_stacks] = (struct stack){
		.low = low, .high = high, .entries = calloc(MAX_ENTRIES, sizeof(struct entry))};
	return nr_stacks++;
}

static void put_entry(int number, struct entry entry)
{
	struct stack *stack = &stacks[number];
	if (stack->count == MAX_ENTRIES)
		die("too many calls");
	stack->entries[stack->count++] = entry;
}

/* Whether a stack pointer is above what an entry needs: a handler's is read by rt_sigreturn() yet.
 */
static bool is_left(const struct entry *entry, uint64_t sp)
{
	return entry->slot + (entry->kind == SIGNALLED ? SIGNAL_FRAME_MIN : 0) < sp;
}

/* Returns how many calls the stack pointer has left behind. */
static int drop_entries(int number, uint64_t sp)
{
	struct stack *stack = &stacks[number];
	int before = stack->count;
	while (stack->count && is_left(&stack->entries[stack->count - 1], sp))
		stack->count--;
	return before - stack->count;
}

/* ---- steps ---- */

static void enter_handler(struct thread *thread, const registers *regs)
{
	int below = thread->stack;
	thread->stack = stack_at(thread->stack, regs->rsp);
	if (thread->stack != below)
		stacks[thread->stack].count = 0; /* the kernel begins at its top */
	put_entry(thread->stack, (struct entry){.slot = regs->rsp,
					 .kind = SIGNALLED,
					 .ip = thread->last.rip,
					 .below_stack = below,
					 .below_count = stacks[below].count});
}

/* True: the thread is on a stack that has seen no call, so that a function starts there. */
static bool change_stack(struct thread *thread, const registers *regs, enum flow flow)
{
	int number = stack_at(thread->stack, regs->rsp);
	bool is_new = number != thread->stack;
	thread->stack = number;
	int dropped = drop_entries(number, regs->rsp);
	bool is_return = flow == FLOW_RETURN || flow == FLOW_SYSCALL;
	bool starts = false;
	if (is_new || (dropped > 1 && !is_return))
		thread->is_unsure = flow != FLOW_SYSCALL;
	else if (flow == FLOW_RETURN || flow == FLOW_JUMP_INDIRECT) {
		starts = thread->is_unsure && !stacks[number].count;
		thread->is_unsure = false;
	}
	return starts;
}

/* OCaml's caml_c_call() pops its return address to look at it, and then takes that back. */
static void put_back(struct thread *thread, const registers *regs, enum flow flow)
{
	const struct entry popped = thread->popped;
	if (flow == FLOW_RETURN || flow == FLOW_CALL)
		thread->popped.slot = 0;
	else if (popped.slot >= regs->rsp && popped.slot - regs->rsp < 256 &&
		 read_word(popped.slot) == popped.ip) {
		put_entry(thread->stack, popped);
		thread->popped.slot = 0;
	}
}

static void note_step(struct thread *thread, const registers *regs)
{
	const registers *last = &thread->last;
	enum flow flow = visit_of(last->rip)->flow;
	bool is_far = last->rsp - regs->rsp >= SIGNAL_FRAME_MIN && last->rip != regs->rip;
	if (thread->is_delivering && is_far) {
		thread->is_delivering = false;
		enter_handler(thread, regs);
		return;
	}
	thread->is_delivering = false;
	if (flow == FLOW_CALL && regs->rsp == last->rsp - 8) {
		uint64_t ra = read_word(regs->rsp);
		bool is_to_next = ra == regs->rip && visit_of(ra)->flow == FLOW_POP;
		drop_entries(thread->stack, last->rsp);
		if (!is_to_next && ra - last->rip <= 15)
			put_entry(thread->stack,
				(struct entry){.slot = regs->rsp, .kind = CALLED, .ip = ra});
		return;
	}
	const struct stack *stack = &stacks[thread->stack];
	struct entry top = {0};
	if (stack->count && stack->entries[stack->count - 1].kind == CALLED)
		top = stack->entries[stack->count - 1];
	if (top.slot && top.slot < regs->rsp && flow != FLOW_RETURN)
		thread->popped = top;
	put_back(thread, regs, flow);
	if (change_stack(thread, regs, flow))
		put_entry(thread->stack, (struct entry){.slot = regs->rsp, .kind = STARTED});
}

/* Whether the innermost return address is the call's: code may have put another one there. */
static bool has_plain_return(const struct thread *thread)
{
	const struct stack *stack = &stacks[thread->stack];
	const struct entry *entry = stack->count ? &stack->entries[stack->count - 1] : NULL;
	return !entry || entry->kind != CALLED || read_word(entry->slot) == entry->ip;
}

static void print_chain(const struct thread *thread, const registers *regs)
{
	int number = thread->stack, i = stacks[number].count, printed = 0;
	fprintf(out, " %llx!", regs->rip);
	while (i-- > 0 && printed++ < MAX_CHAIN) {
		const struct entry *entry = &stacks[number].entries[i];
		bool is_handler = entry->kind == SIGNALLED;
		unsigned long long ra = read_word(entry->slot);
		if (leaves_out && number == main_stack && i < main_count) {
			fprintf(out, " ...");
			break;
		}
		bool is_returning = is_handler && printed == 1 && entry->slot < regs->rsp;
		if (ra && !is_returning)
			fprintf(out, " %llx%s", ra, is_handler ? "!" : "");
		if (entry->kind == STARTED)
			break;
		if (is_handler) {
			fprintf(out, " %llx!", (unsigned long long)entry->ip);
			number = entry->below_stack;
			i = entry->below_count;
		}
	}
	fprintf(out, "\n");
}

/* ---- stops ---- */

/* Until the thread stops at a system call; its signals come later. False: it is gone. */
static bool run_to_syscall(struct thread *thread)
{
	for (;;) {
		int status;
		if (ptrace(PTRACE_SYSCALL, thread->tid, NULL, NULL) ||
			waitpid(thread->tid, &status, __WALL) < 0 || !WIFSTOPPED(status))
			return false;
		if (WSTOPSIG(status) == SYSCALL_STOP)
			return true;
		if (WSTOPSIG(status) != SIGTRAP)
			thread->pending_signal = WSTOPSIG(status);
	}
}

/* A system call amid what the thread does. While it runs, the kernel holds `regs`
 * as what user space had. Returns what it returns, and the time that it took. */
static uint64_t inject(struct thread *thread, const registers *regs, const uint64_t call[7],
	uint64_t *begin_ns, uint64_t *end_ns)
{
	registers at = *regs;
	at.rip = syscall_at;
	at.orig_rax = (unsigned long long)-1;
	at.rax = call[0];
	at.rdi = call[1];
	at.rsi = call[2];
	at.rdx = call[3];
	at.r10 = call[4];
	at.r8 = call[5];
	at.r9 = call[6];
	set_registers(thread->tid, &at);
	if (!run_to_syscall(thread))
		return (uint64_t)-1;
	registers shown = *regs;
	bool keeps_arguments = !begin_ns;
	if (keeps_arguments)
		get_registers(thread->tid, &shown);
	/* The kernel has read the arguments of a system call only once it goes on. */
	shown.orig_rax = call[0];
	if (!keeps_arguments) {
		shown.rdi = at.rdi;
		shown.rsi = at.rsi;
		shown.rdx = at.rdx;
	}
	set_registers(thread->tid, &shown);
	if (begin_ns)
		*begin_ns = now_ns();
	bool is_there = run_to_syscall(thread);
	if (end_ns)
		*end_ns = now_ns();
	registers result;
	get_registers(thread->tid, &result);
	registers back = *regs;
	back.orig_rax = (unsigned long long)-1;
	set_registers(thread->tid, &back);
	return is_there ? result.rax : (uint64_t)-1;
}

static void stop_here(struct thread *thread, const registers *regs)
{
	uint64_t begin_ns = 0, end_ns = 0;
	if (!scratch_at) {
		const uint64_t map[7] = {SYS_mmap, 0, (uint64_t)burn_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0};
		scratch_at = inject(thread, regs, map, NULL, NULL);
		if ((int64_t)scratch_at < 0)
			die("mmap in the program");
	}
	const uint64_t burn[7] = {SYS_getrandom, scratch_at, (uint64_t)burn_bytes, 0, 0, 0, 0};
	inject(thread, regs, burn, &begin_ns, &end_ns);
	fprintf(out, "%llu %llu %d", (unsigned long long)begin_ns, (unsigned long long)end_ns,
		thread->tid);
	print_chain(thread, regs);
	stops_left--;
}

static bool is_stop(const struct visit *visit)
{
	if (visit->count <= (unsigned)first)
		return next_random() % 4 != 0;
	return every && next_random() % (uint64_t)every == 0;
}

static void on_step(struct thread *thread)
{
	registers regs;
	get_registers(thread->tid, &regs);
	if (!regs.rip)
		return;
	if (thread->has_last)
		note_step(thread, &regs);
	else
		thread->stack = stack_at(-1, regs.rsp);
	thread->has_last = true;
	struct visit *visit = visit_of(regs.rip);
	if (!has_begun && (!begin_at || regs.rip == begin_at)) {
		has_begun = true;
		main_stack = thread->stack;
		main_count = stacks[thread->stack].count;
	}
	visit->count += has_begun;
	steps_left -= has_begun;
	if (has_begun && !thread->is_unsure && has_plain_return(thread) && is_stop(visit))
		stop_here(thread, &regs);
	thread->last = regs;
}

/* ---- the program ---- */

static uint64_t entry_of_program(void)
{
	char path[64];
	Elf64_auxv_t pair;
	uint64_t entry = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", process);
	FILE *file = fopen(path, "r");
	while (file && fread(&pair, sizeof(pair), 1, file) == 1)
		if (pair.a_type == AT_ENTRY)
			entry = pair.a_un.a_val;
	if (file)
		fclose(file);
	return entry;
}

/* Some place that holds a system call: the vDSO has them. */
static uint64_t find_syscall(void)
{
	char path[64], line[512];
	uint64_t low = 0;
	static uint8_t image[8192];
	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	FILE *maps = fopen(path, "r");
	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]"))
			low = strtoull(line, NULL, 16);
	if (maps)
		fclose(maps);
	size_t len = read_memory(low, image, sizeof(image));
	len = len ? len : read_memory(low, image, sizeof(image) / 2);
	for (size_t i = 0; i + 1 < len; i++)
		if (image[i] == 0x0f && image[i + 1] == 0x05)
			return low + i;
	return 0;
}

/* As nm has it -> in the process, which may lie anywhere. */
static uint64_t moved_address(uint64_t address, uint64_t entry)
{
	char path[64];
	Elf64_Ehdr head = {0};
	snprintf(path, sizeof(path), "/proc/%d/exe", process);
	FILE *file = fopen(path, "r");
	if (!file || fread(&head, sizeof(head), 1, file) != 1)
		die(path);
	fclose(file);
	return address + entry - head.e_entry;
}

static void run_to_entry(void)
{
	int status;
	uint64_t entry = entry_of_program();
	if (begin_at)
		begin_at = moved_address(begin_at, entry);
	errno = 0;
	long word = ptrace(PTRACE_PEEKTEXT, process, (void *)entry, NULL); /* NOLINT */
	if (errno)
		die("entry");
	ptrace(PTRACE_POKETEXT, process, (void *)entry, (word & ~0xffL) | 0xcc); /* NOLINT */
	ptrace(PTRACE_CONT, process, NULL, NULL);
	if (waitpid(process, &status, __WALL) < 0 || !WIFSTOPPED(status))
		die("the program does not come to its entry");
	ptrace(PTRACE_POKETEXT, process, (void *)entry, word); /* NOLINT */
	registers regs;
	get_registers(process, &regs);
	regs.rip = entry;
	set_registers(process, &regs);
}

static struct thread *thread_of(pid_t tid)
{
	for (int i = 0; i < nr_threads; i++)
		if (threads[i].tid == tid)
			return &threads[i];
	if (nr_threads == MAX_THREADS)
		die("too many threads");
	threads[nr_threads] = (struct thread){.tid = tid, .stack = -1};
	return &threads[nr_threads++];
}

static void forget_thread(pid_t tid)
{
	struct thread *thread = thread_of(tid);
	if (thread->stack >= 0 && tid != process) /* its mapping may become another one's stack */
		stacks[thread->stack].count = 0;
	*thread = threads[--nr_threads];
}

static void on_stopped(pid_t tid, int status)
{
	struct thread *thread = thread_of(tid);
	int signal_number = 0;
	if (status >> 16 || WSTOPSIG(status) == SIGSTOP)
		; /* it made a thread, or is a new one */
	else if (WSTOPSIG(status) == SIGTRAP)
		on_step(thread);
	else
		signal_number = WSTOPSIG(status);
	if (!signal_number && thread->pending_signal) {
		signal_number = thread->pending_signal;
		thread->pending_signal = 0;
	}
	thread->is_delivering = signal_number != 0;
	ptrace(PTRACE_SINGLESTEP, tid, NULL, signal_number);
}

static int step_all(void)
{
	int code = 0;
	while (stops_left > 0 && steps_left > 0) {
		int status;
		pid_t tid = waitpid(-1, &status, __WALL);
		if (tid < 0)
			break;
		if (WIFSTOPPED(status)) {
			on_stopped(tid, status);
			continue;
		}
		if (tid == process)
			code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		forget_thread(tid);
	}
	return code;
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	int option, status;
	while ((option = getopt(argc, argv, "+n:x:e:f:a:ms:b:o:")) != -1) {
		long value = optarg ? atol(optarg) : 0;
		if (option == 'n')
			stops_left = value;
		else if (option == 'x')
			steps_left = value;
		else if (option == 'e')
			every = value;
		else if (option == 'f')
			first = value;
		else if (option == 'a')
			begin_at = strtoull(optarg, NULL, 16);
		else if (option == 'm')
			leaves_out = true;
		else if (option == 's')
			random_state = (uint64_t)value | 1;
		else if (option == 'b')
			burn_bytes = value;
		else if (option == 'o')
			path = optarg;
		else
			return 2;
	}
	out = path ? fopen(path, "w") : NULL;
	if (!out || optind == argc)
		return 2;
	process = fork();
	if (process == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[optind], argv + optind);
		_exit(127);
	}
	if (waitpid(process, &status, 0) < 0 || !WIFSTOPPED(status))
		die(argv[optind]);
	ptrace(PTRACE_SETOPTIONS, process, NULL,
		PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE);
	syscall_at = find_syscall();
	if (!syscall_at)
		die("no system call in the vDSO");
	run_to_entry();
	thread_of(process);
	on_stopped(process, SIGTRAP << 8 | 0x7f);
	int code = step_all();
	fclose(out);
	if (stops_left <= 0 || steps_left <= 0)
		kill(process, SIGKILL);
	return code;
}

#else

int main(void)
{
	return 77;
}

#endif
