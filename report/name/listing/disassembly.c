#include "report/name/listing/disassembly.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/machine/machine.h"

enum {
	CHILD_FD = 3, /* of the file, over there */
	MAX_OUTPUT_BYTES = 32 << 20,
	MAX_LINE_BYTES = 4096, /* the rest of a longer one is left out */
	MAX_INSTRUCTIONS = 1 << 18,
	LIMIT_MS = 30000,
	LOOK_MS = 50, /* at is_cancelled */
};

/* ---- the child ---- */

/* Without what would make it speak another language, or ask a server. */
static char **plain_environment(void)
{
	static const char *const left_out[] = {"LC_", "LANG", "DEBUGINFOD_"};
	size_t count = 0, kept = 0;
	while (environ[count])
		count++;
	char **copy = mem_zalloc_array(count + 1, sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		bool is_wanted = true;
		for (size_t j = 0; j < sizeof(left_out) / sizeof(*left_out); j++)
			is_wanted &= strncmp(environ[i], left_out[j], strlen(left_out[j])) != 0;
		if (is_wanted)
			copy[kept++] = environ[i];
	}
	return copy;
}

/* Its errors are of no use: what it did not print says enough. */
static int spawn_with(
	const struct disassembly_request *request, char *const argv[], int out, pid_t *pid)
{
	/* Were it CHILD_FD already, it would be closed in the child. */
	CLEANUP_FD int file = fcntl(request->fd, F_DUPFD_CLOEXEC, CHILD_FD + 1);
	CLEANUP_FD int to = fcntl(out, F_DUPFD_CLOEXEC, CHILD_FD + 1);
	CLEANUP_FREE char **environment = plain_environment();
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t nothing, usual;
	sigemptyset(&nothing);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, file, CHILD_FD);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &nothing);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	/* A group of its own: keys that end the foreground group are not for it. */
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	int error = posix_spawnp(pid, argv[0], &actions, &attributes, argv, environment);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return error;
}

static int disassembly_start(
	const struct disassembly_request *request, const char *tool, int out, pid_t *pid)
{
	CLEANUP(str_deinit) struct str first = {0}, last = {0};
	str_printf(&first, "--start-address=0x%llx", (unsigned long long)request->start);
	str_printf(&last, "--stop-address=0x%llx", (unsigned long long)request->end);
	char *argv[] = {(char *)tool, "-d", "-w", "--no-show-raw-insn", first.data, last.data,
		"/proc/self/fd/3", NULL, NULL, NULL};
	if (request->is_intel) {
		argv[7] = "-M";
		argv[8] = "intel";
	}
	return spawn_with(request, argv, out, pid);
}

/* ---- what it says ---- */

struct parsing {
	const struct disassembly_request *request;
	struct disassembly *result;
	struct str line;
	size_t nr_bytes;
};

static void disassembly_put_name(struct parsing *parsing, const char *name)
{
	if (!demangle(name, parsing->request->demangle, &parsing->result->texts))
		str_puts(&parsing->result->texts, name);
}

/* What is known of an address: the name of a symbol, or NULL and where the function begins. */
struct target {
	const char *name;
	uint64_t start;
};

static bool find_target(
	const struct disassembly_request *request, uint64_t address, struct target *ret)
{
	struct symbol_hit hit;
	struct function_extent extent;
	if (request->index && symbol_index_lookup(request->index, address, &hit)) {
		*ret = (struct target){hit.name, hit.start};
		return true;
	}
	if (!request->bounds || !function_bounds_find(request->bounds, address, &extent))
		return false;
	*ret = (struct target){NULL, extent.start};
	return true;
}

/* The address that stands ahead of its name. */
static bool parse_target(const struct parsing *parsing, const char *text, const char *open,
	struct target *ret, uint64_t *offset)
{
	const char *digits = open - 1;
	while (digits > text && digits[-1] != ' ')
		digits--;
	char *end;
	uint64_t address = strtoull(digits, &end, 16);
	bool is_known =
		end == open - 1 && end > digits && find_target(parsing->request, address, ret);
	*offset = is_known ? address - ret->start : 0;
	return is_known;
}

/* "call 1139 <_ZN1a1bEv+0x4>": the name as people write it. */
static void put_operands(struct parsing *parsing, const char *text)
{
	struct str *out = &parsing->result->texts;
	const char *open = strstr(text, " <");
	size_t len = open ? strcspn(open + 2, "+>@") : 0;
	if (!len) {
		str_puts(out, text);
		return;
	}
	open++;
	struct target target;
	uint64_t offset;
	CLEANUP_FREE char *name = mem_strndup(open + 1, len);
	str_write(out, text, (size_t)(open - text) + 1);
	if (!parse_target(parsing, text, open, &target, &offset)) {
		disassembly_put_name(parsing, name);
		str_puts(out, open + 1 + len);
		return;
	}
	if (target.name)
		disassembly_put_name(parsing, target.name);
	else
		str_printf(out, "fn_%llx", (unsigned long long)target.start);
	if (offset)
		str_printf(out, "+0x%llx", (unsigned long long)offset);
	str_putc(out, '>');
}

/* "  401126:\tpush   %rbp" */
static void disassembly_take_line(struct parsing *parsing)
{
	char *line = parsing->line.data, *end;
	if (!parsing->line.len)
		return;
	uint64_t address = strtoull(line, &end, 16);
	/* LLVM's leaves room for the bytes that are not shown. */
	char *text = end + (end[0] == ':');
	text += strspn(text, " ");
	bool is_one = line[0] == ' ' && end[0] == ':' && text[0] == '\t' &&
		      address >= parsing->request->start && address < parsing->request->end;
	str_truncate(&parsing->line, 0);
	if (!is_one)
		return;
	text++;
	for (char *at = text; *at; at++)
		if (*at == '\t')
			*at = ' ';
	size_t len = strlen(text);
	while (len && text[len - 1] == ' ')
		text[--len] = '\0';
	struct instruction instruction = {address, parsing->result->texts.len};
	vec_push(&parsing->result->list, instruction);
	put_operands(parsing, text);
	str_putc(&parsing->result->texts, '\0');
}

/* False: it is enough. */
static bool disassembly_take_output(struct parsing *parsing, const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n')
			disassembly_take_line(parsing);
		else if (parsing->line.len < MAX_LINE_BYTES && bytes[i])
			str_putc(&parsing->line, bytes[i]);
	}
	parsing->nr_bytes += len;
	return parsing->nr_bytes < MAX_OUTPUT_BYTES && parsing->result->list.len < MAX_INSTRUCTIONS;
}

static uint64_t disassembly_now_ms(void)
{
	return clock_now_ns() / NS_PER_MS;
}

/* NULL when it came to its end, else why it was stopped. */
static const char *read_output(struct parsing *parsing, int fd)
{
	const atomic_bool *is_cancelled = parsing->request->is_cancelled;
	uint64_t deadline = disassembly_now_ms() + LIMIT_MS;
	char block[1 << 14];
	for (;;) {
		struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
		if (is_cancelled && atomic_load(is_cancelled))
			return "objdump was stopped";
		if (disassembly_now_ms() >= deadline)
			return "objdump took longer than 30 s and was stopped";
		if (poll(&poll_fd, 1, LOOK_MS) <= 0)
			continue;
		ssize_t len = read(fd, block, sizeof(block));
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return NULL;
		if (!disassembly_take_output(parsing, block, (size_t)len))
			return "there are more instructions, which are left out";
	}
}

static int compare_instructions(const void *a, const void *b)
{
	const struct instruction *x = a, *y = b;
	return x->address < y->address ? -1 : x->address > y->address;
}

/* ---- */

/* False: this tool has nothing to say of the file, and *ret has why. */
static bool disassemble_by(
	const struct disassembly_request *request, const char *tool, struct disassembly *ret)
{
	int ends[2];
	pid_t pid;
	if (pipe2(ends, O_CLOEXEC)) {
		str_printf(&ret->problem, "objdump cannot be run: %s", strerror(errno));
		return true;
	}
	CLEANUP_FD int in = ends[0];
	int error = disassembly_start(request, tool, ends[1], &pid);
	close(ends[1]);
	if (error) {
		str_printf(&ret->problem, "objdump cannot be run: %s",
			error == ENOENT ? "it is not here; it belongs to binutils"
					: strerror(error));
		return false;
	}
	struct parsing parsing = {.request = request, .result = ret};
	const char *stopped = read_output(&parsing, in);
	if (stopped)
		kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	str_deinit(&parsing.line);
	if (ret->list.len)
		qsort(ret->list.data, ret->list.len, sizeof(*ret->list.data), compare_instructions);
	if (stopped)
		str_puts(&ret->problem, stopped);
	else if (!ret->list.len)
		str_puts(&ret->problem, "objdump found no instructions of this machine there");
	return stopped || ret->list.len;
}

/* What Debian and Fedora call the objdump of a file's machine; false: that is this one. */
static bool find_cross_tool(const struct disassembly_request *request, struct str *ret)
{
	uint8_t machine[2]; /* e_machine */
	if (pread(request->fd, machine, sizeof(machine), 18) != sizeof(machine))
		return false;
	const struct machine *row = machine_find((uint16_t)(machine[0] | machine[1] << 8));
	if (!row || row == machine_native())
		return false;
	str_printf(ret, "%s-objdump", strrchr(row->library_folders[0], '/') + 1);
	return true;
}

/*
 * binutils' own knows this machine alone on many systems; for a file of another there may be that
 * machine's, or LLVM's.
 */
void disassembly_run(const struct disassembly_request *request, struct disassembly *ret)
{
	*ret = (struct disassembly){0};
	CLEANUP(str_deinit) struct str cross = {0};
	if (disassemble_by(request, "objdump", ret) || !find_cross_tool(request, &cross))
		return;
	const char *const tools[] = {str_text(&cross), "llvm-objdump"};
	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		struct disassembly other = {0};
		if (!disassemble_by(request, tools[i], &other)) {
			disassembly_deinit(&other);
			continue;
		}
		disassembly_deinit(ret);
		*ret = other;
		return;
	}
	str_deinit(&ret->problem);
	str_printf(&ret->problem,
		"objdump found no instructions of this machine there; %s of binutils or "
		"llvm-objdump would",
		str_text(&cross));
}

void disassembly_deinit(struct disassembly *disassembly)
{
	vec_deinit(&disassembly->list);
	str_deinit(&disassembly->texts);
	str_deinit(&disassembly->problem);
}

const char *disassembly_text(const struct disassembly *disassembly, size_t index)
{
	return disassembly->texts.data + disassembly->list.data[index].text;
}
