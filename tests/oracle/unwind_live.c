/*
 * Unwinds the threads of a running process by its files' unwind tables, in user
 * space and with ptrace: what the BPF unwinder does, written a second time.
 *   unwind_live PID SAMPLES [-v]
 * Prints how many stacks were complete, and how the others ended; -v: the
 * stacks, as file+offset.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/elf/elf_file.h"
#include "record/unwind/unwind_table.h"

enum {
	MAX_FILES = 256,
	MAX_FRAMES = 1024,
	NR_REGISTERS = 17, /* by DWARF number; 16 is the return address */
	RBX = 3,
	RBP = 6,
	RSP = 7,
	RIP = 16,
};

struct file {
	char path[512];
	struct unwind_table table;
};

struct mapping {
	uint64_t start, end, offset;
	const struct file *file;
};

struct process {
	pid_t pid;
	struct file files[MAX_FILES];
	unsigned nr_files;
	VEC(struct mapping) mappings;
	uint8_t *vdso;
	bool is_verbose;
	uint64_t complete, no_mapping, no_rule, unsupported, unreadable, too_deep, frames;
};

struct frame {
	uint64_t registers[NR_REGISTERS];
	uint32_t known; /* bits */
	bool is_exact;  /* the pc is no return address */
};

/* ---- the process's files ---- */

static void build_table(struct process *process, struct file *file, const struct mapping *mapping)
{
	struct elf_file *elf = NULL;
	struct err *err;
	int fd = -1;
	if (strcmp(file->path, "[vdso]") == 0) {
		size_t len = mapping->end - mapping->start;
		process->vdso = mem_alloc(len);
		struct iovec local = {process->vdso, len}, remote = {(void *)mapping->start, len};
		process_vm_readv(process->pid, &local, 1, &remote, 1, 0);
		err = elf_file_open_memory(process->vdso, len, &elf);
	} else {
		fd = open(file->path, O_RDONLY | O_CLOEXEC);
		err = fd < 0 ? err_new(ERR_IO, "cannot open") : elf_file_open(fd, &elf);
	}
	if (!err)
		err = unwind_table_build(elf, &file->table);
	if (err)
		printf("%s: %s\n", file->path, err_message(err));
	err_destroy(err);
	elf_file_destroy(elf);
	if (fd >= 0)
		close(fd);
}

static const struct file *file_of(
	struct process *process, const char *path, const struct mapping *mapping)
{
	for (unsigned i = 0; i < process->nr_files; i++)
		if (strcmp(process->files[i].path, path) == 0)
			return &process->files[i];
	if (process->nr_files == MAX_FILES)
		return NULL;
	struct file *file = &process->files[process->nr_files++];
	snprintf(file->path, sizeof(file->path), "%s", path);
	build_table(process, file, mapping);
	return file->table.rules.len ? file : NULL;
}

static void read_mappings(struct process *process)
{
	char path[64], line[1024], name[512], perms[8];
	snprintf(path, sizeof(path), "/proc/%d/maps", process->pid);
	FILE *maps = fopen(path, "re");
	process->mappings.len = 0;
	while (maps && fgets(line, sizeof(line), maps)) {
		struct mapping mapping = {0};
		name[0] = 0;
		int got = sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %511s",
			&mapping.start, &mapping.end, perms, &mapping.offset, name);
		if (got < 5 || perms[2] != 'x')
			continue;
		mapping.file = file_of(process, name, &mapping);
		vec_push(&process->mappings, mapping);
	}
	if (maps)
		fclose(maps);
}

/* ---- unwinding ---- */

static const struct mapping *mapping_of(const struct process *process, uint64_t address)
{
	vec_each(&process->mappings, mapping)
		if (address >= mapping->start && address < mapping->end)
			return mapping;
	return NULL;
}

static bool read_word(const struct process *process, uint64_t address, uint64_t *ret)
{
	struct iovec local = {ret, 8}, remote = {(void *)address, 8};
	return process_vm_readv(process->pid, &local, 1, &remote, 1, 0) == 8;
}

static bool find_cfa(const struct process *process, const struct frame *frame,
	const struct unwind_rule *rule, uint64_t *cfa, uint64_t *counter)
{
	uint64_t base = frame->registers[rule->cfa_register & 15];
	(*counter)++;
	switch (rule->cfa) {
	case UNWIND_CFA_REGISTER:
		*cfa = base + (uint64_t)(int64_t)rule->cfa_offset;
		break;
	case UNWIND_CFA_PLT:
		*cfa = frame->registers[RSP] + 8 +
		       ((int)(frame->registers[RIP] & 15) >= rule->cfa_offset ? 8 : 0);
		break;
	case UNWIND_CFA_DEREF:
		if (!read_word(process, base + (uint64_t)(int64_t)(int16_t)rule->cfa_offset, cfa))
			return false;
		*cfa += (uint64_t)(int64_t)(rule->cfa_offset >> 16);
		break;
	default:
		return false;
	}
	if (!(frame->known >> (rule->cfa_register & 31) & 1))
		return false;
	(*counter)--;
	return true;
}

static bool restore(const struct process *process, const struct frame *frame, unsigned kind,
	int16_t offset, uint64_t cfa, uint64_t *ret)
{
	switch (kind) {
	case UNWIND_SAME:
		return true;
	case UNWIND_AT_CFA:
		return read_word(process, cfa + (uint64_t)(int64_t)offset, ret);
	case UNWIND_AT_SP:
		return read_word(process, frame->registers[RSP] + (uint64_t)(int64_t)offset, ret);
	case UNWIND_AT_FP:
		return frame->known >> RBP & 1 &&
		       read_word(process, frame->registers[RBP] + (uint64_t)(int64_t)offset, ret);
	case UNWIND_IN_REGISTER:
		*ret = frame->registers[offset & 15];
		return frame->known >> (offset & 15) & 1;
	default:
		return false;
	}
}

/* False when the walk is over; a counter says how. */
static bool step(struct process *process, struct frame *frame)
{
	uint64_t pc = frame->registers[RIP] - !frame->is_exact;
	const struct mapping *mapping = mapping_of(process, pc);
	if (!mapping || !mapping->file) {
		process->no_mapping++;
		return false;
	}
	uint64_t offset = pc - mapping->start + mapping->offset;
	if (process->is_verbose)
		printf("  %#" PRIx64 " %s+%#" PRIx64 "\n", pc, mapping->file->path, offset);
	if (strcmp(mapping->file->path, "[vdso]") == 0)
		offset = pc - mapping->start;
	const struct unwind_rule *rule = unwind_table_find(&mapping->file->table, offset);
	if (rule->cfa == UNWIND_CFA_NONE) {
		process->no_rule++;
		return false;
	}
	if (rule->ra == UNWIND_UNDEFINED) {
		process->complete++;
		return false;
	}
	uint64_t cfa;
	if (!find_cfa(process, frame, rule, &cfa, &process->unsupported))
		return false;
	struct frame caller = *frame;
	caller.registers[RSP] = cfa;
	caller.known = frame->known & (1U << RBX | 1U << RBP);
	if (!restore(process, frame, rule->ra, rule->ra_offset, cfa, &caller.registers[RIP])) {
		process->unreadable++;
		return false;
	}
	if (!restore(process, frame, rule->fp, rule->fp_offset, cfa, &caller.registers[RBP]))
		caller.known &= ~(1U << RBP);
	if (!restore(process, frame, rule->extra, rule->extra_offset, cfa, &caller.registers[RBX]))
		caller.known &= ~(1U << RBX);
	caller.known |= 1U << RSP | 1U << RIP;
	caller.is_exact = rule->flags & UNWIND_SIGNAL_FRAME;
	*frame = caller;
	return true;
}

static void unwind(struct process *process, pid_t thread)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, thread, NULL, &regs))
		return;
	struct frame frame = {.registers = {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi,
				      regs.rdi, regs.rbp, regs.rsp, regs.r8, regs.r9, regs.r10,
				      regs.r11, regs.r12, regs.r13, regs.r14, regs.r15, regs.rip},
		.known = (1U << NR_REGISTERS) - 1,
		.is_exact = true};
	if (process->is_verbose)
		printf("thread %d\n", thread);
	for (unsigned depth = 0; step(process, &frame); depth++) {
		process->frames++;
		if (depth == MAX_FRAMES) {
			process->too_deep++;
			return;
		}
	}
}

/* ---- sampling ---- */

static void sample_thread(struct process *process, pid_t thread)
{
	int status;
	if (ptrace(PTRACE_SEIZE, thread, NULL, NULL))
		return;
	ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
	if (waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status)) {
		unwind(process, thread);
		/* A signal that came first must not be lost. */
		int signal = status >> 16 ? 0 : WSTOPSIG(status);
		ptrace(PTRACE_DETACH, thread, NULL, (void *)(intptr_t)signal);
	}
}

static bool sample(struct process *process)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", process->pid);
	DIR *tasks = opendir(path);
	if (!tasks)
		return false;
	read_mappings(process);
	for (struct dirent *entry; (entry = readdir(tasks));)
		if (entry->d_name[0] != '.')
			sample_thread(process, (pid_t)strtol(entry->d_name, NULL, 10));
	closedir(tasks);
	return true;
}

int main(int argc, char **argv)
{
	static struct process process;
	if (argc < 3)
		return 2;
	process.pid = (pid_t)strtol(argv[1], NULL, 10);
	process.is_verbose = argc > 3;
	long samples = strtol(argv[2], NULL, 10);
	for (long i = 0; i < samples && sample(&process); i++)
		nanosleep(&(struct timespec){.tv_nsec = 3000000 + i * 7919 % 4000000}, NULL);
	printf("complete %" PRIu64 ", no mapping %" PRIu64 ", no rule %" PRIu64
	       ", unsupported %" PRIu64 ", unreadable %" PRIu64 ", too deep %" PRIu64
	       ", frames %" PRIu64 "\n",
		process.complete, process.no_mapping, process.no_rule, process.unsupported,
		process.unreadable, process.too_deep, process.frames);
	for (unsigned i = 0; i < process.nr_files; i++)
		unwind_table_deinit(&process.files[i].table);
	vec_deinit(&process.mappings);
	mem_free(process.vdso);
	return 0;
}
