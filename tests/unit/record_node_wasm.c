/* Functions of WebAssembly, of a V8 that this process has as far as the recorder can tell. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "record/runtime/node/node_wasm.h"
#include "tests/unit/unit.h"

enum {
	FIRST = 1024, /* where the functions' code begins, */
	SECOND = 2048,
	BETTER = 3072, /* ... and that of the second by a better compiler */
	LAST = 4096,
	OBJECT_WORDS = 64,
	INSTANCE_WORDS = 8,
	HOLDER = 4, /* words of a NativeModule: what has the bytes, */
	TABLE = 6,  /* ... and the jump table */
};

static unsigned long nr_reads; /* of processes, by the kernel */

/* In place of the C library's. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *lvec, unsigned long liovcnt,
	const struct iovec *rvec, unsigned long riovcnt, unsigned long flags)
{
	nr_reads++;
	return syscall(SYS_process_vm_readv, pid, lvec, liovcnt, rvec, riovcnt, flags);
}

/* One function is imported, two are the module's own. */
#define MODULE(first, second) \
	{ \
		0, 'a', 's', 'm', 1, 0, 0, 0, 2, 7, 1, 1, 'm', 1, 'f', 0, 0, 3, 3, 2, 0, 0, 0, 17, \
			4, 'n', 'a', 'm', 'e', 1, 10, 2, 1, 2, first, '1', 2, 3, second, '2', \
			'2', [96] = 0 \
	}

static const uint8_t bytes[] = MODULE('a', 'b'), other_bytes[] = MODULE('x', 'y');

static uint8_t code[LAST] __attribute__((aligned(64))),
	other_table[64] __attribute__((aligned(64)));
static struct {
	uint64_t map;
	uint8_t words, zero[7];
} instance_map = {.words = INSTANCE_WORDS};
static struct module_objects {
	uint64_t native[OBJECT_WORDS], wasm_code[OBJECT_WORDS], holder[OBJECT_WORDS];
} mine, other;
static uint64_t instance[INSTANCE_WORDS];

static uint64_t address_of(const void *object)
{
	return (uintptr_t)object;
}

static void put_jump(size_t slot, size_t to)
{
	int32_t distance = (int32_t)to - (int32_t)(slot + 5);
	code[slot] = 0xe9;
	memcpy(code + slot + 1, &distance, sizeof(distance));
}

static void put_module(struct module_objects *objects, const uint8_t *of, const void *table)
{
	memset(objects, 0, sizeof(*objects));
	objects->holder[0] = address_of(of);
	objects->native[HOLDER] = address_of(objects->holder);
	objects->native[TABLE] = address_of(objects->wasm_code);
	objects->wasm_code[0] = address_of(objects->native);
	objects->wasm_code[1] = address_of(table);
}

/* The other module, with as many functions, is met first. */
static void put_process(size_t slot_bytes)
{
	memset(code, 0, sizeof(code));
	put_jump(0, FIRST);
	put_jump(slot_bytes, SECOND);
	put_module(&mine, bytes, code);
	put_module(&other, other_bytes, other_table);
	instance_map.map = address_of(&instance_map) + 1;
	memset(instance, 0, sizeof(instance));
	instance[0] = address_of(&instance_map) + 1;
	instance[2] = address_of(other.native);
	instance[3] = address_of(mine.native);
	instance[5] = address_of(code);
}

static const char *name_of(struct node_wasm *wasm, size_t start, uint64_t head)
{
	static char text[32];
	struct node_code given = {.deopt_data = address_of(instance) + 1,
		.positions = head,
		.start = address_of(code) + start,
		.kind = NODE_CODE_WASM};
	struct str name = {0};
	bool is_read = node_wasm_read_name(wasm, (uint32_t)getpid(), &given, &name);
	snprintf(text, sizeof(text), "%s", is_read ? str_text(&name) : "-");
	str_deinit(&name);
	return text;
}

TEST(functions_of_webassembly_are_found_by_the_jump_table)
{
	static const size_t slots[] = {5, 8};
	for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
		put_process(slots[i]);
		struct node_wasm *wasm = node_wasm_create();
		CHECK_STR(name_of(wasm, FIRST, 0), "a1");
		CHECK_STR(name_of(wasm, SECOND, 0), "b22");
		CHECK_STR(name_of(wasm, BETTER, 0), "-");
		/* Compiled again: frames of the old code are still known. */
		put_jump(slots[i], BETTER);
		CHECK_STR(name_of(wasm, BETTER, 0), "b22");
		CHECK_STR(name_of(wasm, SECOND, 0), "b22");
		node_wasm_destroy(wasm);
	}
}

/* The same of arm64: the table's slots are branches, and code begins by one of two ways. */
static void put_branch(size_t slot, size_t to)
{
	uint32_t branch = 0x14000000 | ((uint32_t)(to - slot) / 4 & 0x3ffffff);
	memcpy(code + slot, &branch, sizeof(branch));
}

enum {
	LIFTOFF,  /* mov x16, #8; stp x29, x30, [sp, #-16]! */
	TURBOFAN, /* stp x29, x30, [sp, #-16]!; mov x29, sp */
	NUMBERED, /* mov x16, #8; stp x7, x16, [sp, #-32]! */
};

static const uint64_t head_of_arm64[] = {
	0xa9bf7bfdd2800110, 0x910003fda9bf7bfd, 0xa9be43e7d2800110};

static void put_process_of_arm64(void)
{
	put_process(8);
	memset(code, 0xcc, LAST); /* V8 fills what it does not use */
	put_branch(0, FIRST);
	put_branch(4, SECOND);
}

TEST(functions_of_webassembly_are_found_by_the_jump_table_of_arm64)
{
	put_process_of_arm64();
	struct node_wasm *wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, FIRST, head_of_arm64[LIFTOFF]), "a1");
	CHECK_STR(name_of(wasm, SECOND, head_of_arm64[LIFTOFF]), "b22");
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[TURBOFAN]), "-");
	put_branch(4, BETTER);
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[TURBOFAN]), "b22");
	CHECK_STR(name_of(wasm, SECOND, head_of_arm64[LIFTOFF]), "b22");
	node_wasm_destroy(wasm);
}

/* Behind a frame that is made: mov w8, 1; bl. */
TEST(functions_of_webassembly_are_found_by_their_numbers_on_arm64)
{
	uint32_t numbered[] = {
		0xd2800110, 0xa9be43e7, 0xa9017bfd, 0x910043fd, 0x52800028, 0x94000000};
	put_process_of_arm64();
	memcpy(code + BETTER, numbered, sizeof(numbered));
	struct node_wasm *wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "b22");
	numbered[4] = 0x52800008; /* 0 */
	memcpy(code + BETTER, numbered, sizeof(numbered));
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "a1");
	numbered[5] = 0xd503201f; /* no call: another register's value */
	memcpy(code + BETTER, numbered, sizeof(numbered));
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "-");
	node_wasm_destroy(wasm);
}

/* Code of V8 13.6, without a number, to which the table does not lead any more. */
TEST(functions_of_webassembly_are_found_by_their_budgets_on_arm64)
{
	uint32_t counting[] = {0xd2800110, 0xa9be43e7, 0xa9017bfd, 0x910043fd, 0xd10083ff,
		0xd3407c00, 0xf8520350, 0xeb3063ff, 0x540001a9, 0xb81e03a0, 0x97fffdef, 0x11000400,
		0xf85f03b0, /* ldur x16, [x29, -16] */
		0xf8467210, /* ldur x16, [x16, 103] */
		0xb9400611, /* ldr w17, [x16, 4] */
		0x7101b231, /* subs w17, w17, 108 */
		0xb9000611, /* str w17, [x16, 4] */
		0x54000124, /* b.mi */
		0x910003bf, 0xa8c17bfd, 0xd65f03c0};
	static const uint32_t beginning[] = {0xd2800110, 0xa9be43e7};
	put_process_of_arm64();
	memcpy(code + BETTER, counting, sizeof(counting));
	struct node_wasm *wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "b22");
	counting[14] = 0xb9400211; /* of the first one, */
	counting[16] = 0xb9000211;
	memcpy(code + BETTER, counting, sizeof(counting));
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "a1");
	counting[16] = 0xb9000611; /* ... of no one: it is stored elsewhere */
	memcpy(code + BETTER, counting, sizeof(counting));
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "-");
	counting[16] = 0xb9000211;
	memcpy(code + BETTER, counting, sizeof(counting));
	memcpy(code + BETTER + 32, beginning, sizeof(beginning)); /* ... of the next code */
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "-");
	node_wasm_destroy(wasm);
}

/* The same of V8 11.3, of which the branch comes before the counter is stored. */
TEST(functions_of_webassembly_are_found_by_their_budgets_on_arm64_in_earlier_versions)
{
	uint32_t counting[] = {0xd2800110, 0xa9be43e7, 0xa9017bfd, 0x910043fd, 0xd10083ff,
		0xf85f03a1, /* ldur x1, [x29, -16] */
		0xf84af021, /* ldur x1, [x1, 175] */
		0x91001021, /* add x1, x1, 4 */
		0xb9400022, /* ldr w2, [x1] */
		0x7100c042, /* subs w2, w2, 48 */
		0x54000144, /* b.mi */
		0xb9000022, /* str w2, [x1] */
		0x910003bf, 0xa8c17bfd, 0xd65f03c0};
	static const uint32_t of_first[] = {0xf84af0e3, /* ldur x3, [x7, 175] */
		0xb9400064, 0x7100b484, 0x54000244, 0xb9000064, 0xd65f03c0, 0xd65f03c0};
	put_process_of_arm64();
	memcpy(code + BETTER, counting, sizeof(counting));
	struct node_wasm *wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "b22");
	counting[11] = 0xb9000023; /* another register is stored */
	memcpy(code + BETTER, counting, sizeof(counting));
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "-");
	memcpy(counting + 6, of_first, sizeof(of_first));
	memcpy(code + BETTER, counting, sizeof(counting));
	CHECK_STR(name_of(wasm, BETTER, head_of_arm64[NUMBERED]), "a1");
	node_wasm_destroy(wasm);
}

/* By code that has its number: mov r12d, 1; call, and xor r12d, r12d; call. */
TEST(functions_of_webassembly_are_found_by_their_numbers)
{
	put_process(8);
	struct node_wasm *wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, BETTER, 0x00e800000001bc41), "b22");
	CHECK_STR(name_of(wasm, BETTER, 0xe8e43145), "a1");
	CHECK_STR(name_of(wasm, BETTER, 0x00e800000002bc41), "-"); /* there are two */
	node_wasm_destroy(wasm);
}

/* Bytes that are not the NativeModule's of this table are no one's. */
TEST(a_module_of_another_table_is_not_taken)
{
	put_process(8);
	mine.wasm_code[0] = address_of(other.native);
	struct node_wasm *wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, FIRST, 0), "-");
	node_wasm_destroy(wasm);
	put_process(8);
	mine.holder[0] = address_of(code); /* no module begins there */
	wasm = node_wasm_create();
	CHECK_STR(name_of(wasm, FIRST, 0), "-");
	node_wasm_destroy(wasm);
}

/*
 * On a machine where a call of the kernel takes long, a search that has one for each place is not
 * through when the process is gone. Here as many objects lead to each other as in Node.js.
 */
TEST(a_module_is_found_by_few_reads)
{
	enum {
		OBJECTS = 700,
		POINTERS = 6, /* of each */
	};
	static uint64_t objects[OBJECTS][INSTANCE_WORDS];
	put_process(5);
	instance[2] = address_of(objects[0]) + 1;
	instance[3] = 0;
	for (size_t i = 0; i < OBJECTS; i++) {
		objects[i][0] = address_of(&instance_map) + 1;
		for (size_t to = POINTERS * i + 1; to <= POINTERS * (i + 1) && to < OBJECTS; to++)
			objects[i][to - POINTERS * i] = address_of(objects[to]) + 1;
	}
	objects[OBJECTS - 1][1] = address_of(mine.native);
	struct node_wasm *wasm = node_wasm_create();
	nr_reads = 0;
	CHECK_STR(name_of(wasm, SECOND, 0), "b22");
	CHECK(nr_reads < OBJECTS / 2);
	node_wasm_destroy(wasm);
}
