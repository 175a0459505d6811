/* What a process publishes is found in it, some time after it was sampled first. */
#include "record/label/process_contexts.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "record/label/thread_symbol.h"
#include "tests/unit/unit.h"

static bool on_context(void *context, uint32_t pid, const struct event_thread_context *place)
{
	(void)context, (void)pid, (void)place;
	unit_fail(__FILE__, __LINE__, "threads of this program publish nothing");
	return false;
}

/* Publishes "team=shop", and the key "route" of threads. */
static void publish_and_wait(int ready)
{
	static const uint8_t message[] = "\x0a\x10\x0a\x0e\x0a\x04team\x12\x06\x0a\x04shop"
					 "\x12\x2c\x0a\x1dthreadlocal.attribute_key_map"
					 "\x12\x0b\x2a\x09\x0a\x07\x0a\x05route";
	struct {
		char signature[8];
		uint32_t version, bytes;
		uint64_t published_ns;
		const void *payload;
	} head = {"OTEL_CTX", 2, sizeof(message) - 1, 7, message};
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	bool is_there = write(fd, &head, sizeof(head)) == sizeof(head) &&
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED;
	if (write(ready, &is_there, sizeof(is_there)) == sizeof(is_there))
		pause();
	_exit(1);
}

static struct process *table_process(struct process_table *table, uint32_t pid)
{
	struct process *process = process_table_get(table, pid, 1);
	process->start_ns = clock_now_ns();
	return process;
}

TEST(a_process_is_looked_at_after_its_first_sample)
{
	struct object_table objects = {0};
	struct process_table table = {.objects = &objects};
	struct process_contexts contexts;
	const struct process_context *found = NULL;
	int ready[2];
	bool is_there = false;
	process_contexts_init(&contexts);
	process_contexts_begin(&contexts);
	contexts.fn = on_context;
	CHECK(pipe2(ready, O_CLOEXEC) == 0);
	pid_t child = fork();
	if (!child)
		publish_and_wait(ready[1]);
	CHECK(read(ready[0], &is_there, sizeof(is_there)) == sizeof(is_there) && is_there);
	struct process *process = table_process(&table, (uint32_t)child);
	process_contexts_meet(&contexts, process, clock_now_ns());
	CHECK(!process_contexts_collect(&contexts, &table)); /* not at once */
	CHECK(!process_contexts_key(&contexts, process, 0, 1));
	bool has_keys = false;
	for (int i = 0; i < 500 && !found; i++) {
		usleep(10000);
		process_contexts_meet(&contexts, process, clock_now_ns());
		has_keys |= process_contexts_collect(&contexts, &table);
		found = process_contexts_find(&contexts, process);
	}
	CHECK(found && has_keys); /* which were asked for */
	if (found)
		CHECK_STR(str_text(&found->attributes), "team");
	CHECK_STR(process_contexts_key(&contexts, process, 0, 1), "route");
	CHECK(!process_contexts_key(&contexts, process, 1, 1));
	process_contexts_forget(&contexts, process);
	CHECK(!process_contexts_find(&contexts, process));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	process_contexts_deinit(&contexts);
	process_table_deinit(&table);
	object_table_deinit(&objects);
	close(ready[0]);
	close(ready[1]);
}

TEST(a_program_without_the_variable_has_none)
{
	struct thread_symbol symbol = {.kind = THREAD_SYMBOL_UNKNOWN};
	struct elf_file *elf = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(fd, &elf));
	CHECK_OK(thread_symbol_find(elf, &symbol));
	CHECK_INT(symbol.kind, THREAD_SYMBOL_NONE);
	elf_file_destroy(elf);
	close(fd);
}
