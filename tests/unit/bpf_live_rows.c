/* Rows that a process completes: this one, which has tables as a virtual machine of Java has. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/runtime/java/java_row.h"
#include "record/runtime/runtime.h"
#include "record/unwind/live_rows.h"
#include "tests/unit/bpf_runtime_fixture.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

struct entry {
	const char *type, *field, *type_string;
	uint64_t is_static, offset, address;
};

struct size {
	const char *name;
	uint64_t bytes;
};

static uint64_t heaps, call_stub_return = 0x1000;
static uint32_t version = 21;

enum {
	PLACE = 24, /* all fields lie there, but for the second of two words that are read at once
		     */
	BYTES = 40,
};

#define OFFSET_OF(name) (strcmp(name, "_high_boundary") == 0 ? PLACE + 8 : PLACE)

static struct entry entries[] = {
#define X(member, type, field) {type, field, NULL, 0, PLACE, 0},
	JAVA_OFFSETS(X)
#undef X
		{"CodeCache", "_heaps", NULL, 1, 0, 0},
	{"StubRoutines", "_call_stub_return_address", NULL, 1, 0, 0},
	{"Abstract_VM_Version", "_vm_major_version", NULL, 1, 0, 0},
	{NULL, NULL, NULL, 0, 0, 0},
};

static struct size sizes[] = {
#define X(member, name) {name, BYTES},
	JAVA_SIZES(X)
#undef X
		{NULL, 0},
};

/* The values of the file's symbols, in their order. */
static uint64_t values[JAVA_SYMBOLS];

static void make_tables(bool is_filled)
{
	size_t count = sizeof(entries) / sizeof(*entries);
	for (size_t i = 0; i < count - 1; i++)
		if (!entries[i].is_static)
			entries[i].offset = OFFSET_OF(entries[i].field);
	entries[count - 4].address = (uintptr_t)&heaps;
	entries[count - 3].address = (uintptr_t)&call_stub_return;
	entries[count - 2].address = (uintptr_t)&version;
	const uint64_t filled[JAVA_SYMBOLS] = {
		[JAVA_STRUCTS] = (uintptr_t)entries,
		[JAVA_STRUCTS_STRIDE] = is_filled ? sizeof(struct entry) : 0,
		[JAVA_STRUCTS_TYPE_NAME] = offsetof(struct entry, type),
		[JAVA_STRUCTS_FIELD_NAME] = offsetof(struct entry, field),
		[JAVA_STRUCTS_IS_STATIC] = offsetof(struct entry, is_static),
		[JAVA_STRUCTS_OFFSET] = offsetof(struct entry, offset),
		[JAVA_STRUCTS_ADDRESS] = offsetof(struct entry, address),
		[JAVA_TYPES] = (uintptr_t)sizes,
		[JAVA_TYPES_STRIDE] = sizeof(struct size),
		[JAVA_TYPES_NAME] = offsetof(struct size, name),
		[JAVA_TYPES_SIZE] = offsetof(struct size, bytes),
	};
	memcpy(values, filled, sizeof(values));
}

/* Places are addresses less that of the symbols' values: table 2 of the fixture's store. */
static uint64_t delta(void)
{
	return -(uint64_t)(uintptr_t)values;
}

static void setup(struct runtime_fixture *fixture)
{
	runtime_fixture_init(fixture, 80);
	struct java_row *row = (void *)fixture->table.runtime.words;
	fixture->table.runtime.kind = RUNTIME_JAVA;
	for (uint32_t i = 0; i < JAVA_SYMBOLS; i++)
		row->symbols[i] = i * (uint32_t)sizeof(*values);
	memcpy(row->build_id, "build id", sizeof(row->build_id));
	runtime_fixture_bind(fixture);
}

static const struct java_row *row_of(const struct runtime_fixture *fixture)
{
	return (const void *)table_store_runtime_row(fixture->store, 2)->words;
}

static void meet_process(struct live_rows *rows, uint32_t pid)
{
	live_rows_meet(rows, 2, pid, delta());
	for (int i = 0; i < 2000 && rows->read < rows->reading.len; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		live_rows_collect(rows);
	}
}

static void meet(struct live_rows *rows)
{
	meet_process(rows, (uint32_t)getpid());
}

TEST(a_process_completes_the_row_when_its_tables_are_filled)
{
	struct runtime_fixture fixture;
	struct live_rows rows;
	make_tables(false);
	setup(&fixture);
	live_rows_prepare(&rows);
	live_rows_init(&rows, fixture.store, "");
	meet(&rows);
	CHECK(!row_of(&fixture)->is_complete);
	live_rows_deinit(&rows);
	make_tables(true); /* the reader's processes have been forked before */
	live_rows_prepare(&rows);
	live_rows_init(&rows, fixture.store, "");
	meet(&rows);
	const struct java_row *row = row_of(&fixture);
	CHECK(row->is_complete);
	CHECK_INT(row->version, 21);
	CHECK_INT(row->const_method, PLACE);
	CHECK_INT(row->pool_bytes, BYTES);
	CHECK_INT(row->heaps, (uint32_t)((uintptr_t)&heaps + delta()));
	live_rows_deinit(&rows);
	runtime_fixture_deinit(&fixture);
}

/* The runtime is known before the file's table is: a process completes it, and the table has it. */
TEST(a_row_is_completed_before_the_table_is_there)
{
	struct runtime_fixture fixture;
	struct live_rows rows;
	make_tables(true);
	setup(&fixture);
	struct runtime_row row = fixture.table.runtime;
	memcpy((char *)row.words + offsetof(struct java_row, build_id), "another", 8);
	fixture.table.runtime = row;
	live_rows_prepare(&rows);
	live_rows_init(&rows, fixture.store, "");
	uint32_t pending = table_store_add_pending(fixture.store, &row);
	live_rows_meet(&rows, pending, (uint32_t)getpid(), delta());
	for (int i = 0; i < 2000 && rows.read < rows.reading.len; i++) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		live_rows_collect(&rows);
	}
	const struct runtime_row *completed = table_store_runtime_row(fixture.store, pending);
	CHECK(runtime_of(RUNTIME_JAVA)->is_complete(completed));
	uint32_t table = table_store_add(fixture.store, &fixture.table);
	CHECK(table_store_runtime_row(fixture.store, table) == completed);
	live_rows_deinit(&rows);
	runtime_fixture_deinit(&fixture);
}

/* What was read is there for the next recording, also when no process can be read. */
TEST(a_row_is_kept_for_the_next_recording)
{
	struct runtime_fixture fixture;
	struct live_rows rows;
	make_tables(true);
	setup(&fixture);
	struct runtime_row incomplete = fixture.table.runtime;
	live_rows_prepare(&rows);
	live_rows_init(&rows, fixture.store, "kept");
	meet(&rows);
	CHECK(row_of(&fixture)->is_complete);
	table_store_complete_row(fixture.store, 2, &incomplete);
	CHECK(!row_of(&fixture)->is_complete);
	live_rows_meet(&rows, 2, 0, 0); /* no process */
	CHECK(row_of(&fixture)->is_complete);
	CHECK_INT(rows.reading.len, 0);
	live_rows_deinit(&rows);
	runtime_fixture_deinit(&fixture);
}

enum {
	NOBODY = 65534,
	SOMEBODY = 65533,
};

/* A process with the same tables that is another user's; 0: that takes root. */
static pid_t fork_user(uid_t uid)
{
	int ready[2];
	char byte;
	if (pipe(ready))
		return 0;
	pid_t pid = fork();
	if (!pid) {
		if (setresuid(uid, uid, uid) || write(ready[1], "r", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	bool is_ready = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	if (is_ready)
		return pid;
	waitpid(pid, NULL, 0);
	return 0;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* By which row the BPF side goes for a process, and whose that is. */
static struct known_runtime known_of(pid_t pid)
{
	const struct known_runtime *known = emulated_known_runtime((uint32_t)pid, RUNTIME_JAVA);
	return known ? *known : (struct known_runtime){0};
}

/* What processes of another user say holds for these alone, and is not kept. */
TEST(a_row_of_another_user_holds_for_that_users_processes)
{
	struct runtime_fixture fixture;
	struct live_rows rows;
	make_tables(true);
	setup(&fixture);
	pid_t first = fork_user(NOBODY), second = fork_user(NOBODY), third = fork_user(SOMEBODY);
	if (!first || !second || !third)
		return; /* without root there is no other user's process */
	live_rows_prepare(&rows);
	live_rows_init(&rows, fixture.store, "users");
	meet_process(&rows, (uint32_t)first);
	CHECK(!row_of(&fixture)->is_complete);
	struct known_runtime known = known_of(first);
	CHECK_INT(known.user, NOBODY + 1);
	CHECK(known.row);
	meet_process(&rows, (uint32_t)second); /* is not read any more */
	CHECK_INT(known_of(second).row, known.row);
	CHECK_INT(known_of(second).user, NOBODY + 1);
	meet_process(&rows, (uint32_t)third);
	CHECK_INT(known_of(third).user, SOMEBODY + 1);
	CHECK(!row_of(&fixture)->is_complete);
	meet(&rows);
	CHECK(row_of(&fixture)->is_complete);
	live_rows_deinit(&rows);
	end_process(first);
	end_process(second);
	end_process(third);
	runtime_fixture_deinit(&fixture);
}
