/*
 * GDB's JIT interface: this program registers images itself, as compilers do, and reads its own
 * memory by the recorder's worker.
 */
#include "record/generated/registered_code.h"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "tests/e2e/debug_image.h"
#include "tests/unit/unit.h"

/* As the interface calls and lays them out. */
struct jit_entry {
	struct jit_entry *next, *prev;
	const void *image;
	uint64_t size;
};

struct jit_descriptor {
	uint32_t version, action;
	struct jit_entry *relevant, *first;
};

struct jit_descriptor __jit_debug_descriptor = {1, 0, NULL, NULL};

enum {
	CODE = 0x7f0000001000,
	OTHER = 0x7f0000002000,
};

static const uint8_t small_rules[] = {0x44, 0x0e, 0x40}, large_rules[] = {0x47, 0x0e, 0xc0, 2};

struct registered {
	uint8_t bytes[DEBUG_IMAGE_MAX];
	struct jit_entry entry;
};

static void build(struct registered *out, uint64_t code, const char *name, bool is_large)
{
	struct debug_image image = {
		.frames = DEBUG_IMAGE_FROM_PLACE,
		.code = code,
		.code_bytes = 0x200,
		.frames_at = code + 0x800,
		.symbols = {{name, 0, 0x100}}, /* the rest has rules alone, as what libgcc has */
		.rules = is_large ? large_rules : small_rules,
		.rules_bytes = is_large ? sizeof(large_rules) : sizeof(small_rules),
	};
	out->entry = (struct jit_entry){.image = out->bytes};
	out->entry.size = debug_image_build(&image, out->bytes);
}

static void add(struct registered *image)
{
	struct jit_descriptor *list = &__jit_debug_descriptor;
	image->entry.next = list->first;
	if (list->first)
		list->first->prev = &image->entry;
	list->first = list->relevant = &image->entry;
	list->action = 1;
}

static void take_out(struct registered *image)
{
	struct jit_descriptor *list = &__jit_debug_descriptor;
	struct jit_entry *entry = &image->entry;
	if (entry->prev)
		entry->prev->next = entry->next;
	else
		list->first = entry->next;
	if (entry->next)
		entry->next->prev = entry->prev;
	list->relevant = entry;
	list->action = 2;
}

static struct object object = {.serial = 7};

static void setup(struct registered_code *code)
{
	registered_code_init(code);
	target_reader_start(&code->reader);
}

/* Waits for all that is being read, and for the pause between two looks. */
static int cfa_at(struct registered_code *code, uint64_t address)
{
	const struct unwind_rule *rule = NULL;
	struct registered_frame frame = {.object = &object,
		.pid = (uint32_t)getpid(),
		.time_ns = clock_now_ns(),
		.place = address,
		.ip = address};
	for (;;) {
		enum registered_found found = registered_code_rule(code, &frame, true, &rule);
		bool is_known = code->processes.data[0].known_ns >= frame.time_ns;
		if (found != REGISTERED_LATER && is_known)
			return found == REGISTERED_RULE ? rule->cfa_offset : 0;
		struct pollfd fd = {.fd = registered_code_fd(code), .events = POLLIN};
		poll(&fd, 1, 2);
		registered_code_collect(code);
	}
}

static void log_place(void *context, const struct code_place *place)
{
	str_printf(context, "%s%s%s ", place->name, place->time_ns ? " later" : "",
		place->sure_ns >= place->time_ns ? "" : "!");
}

static void check_names(struct registered_code *code, uint64_t address, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	registered_code_names(code, &object, &address, 1, log_place, &got);
	CHECK_STR(str_text(&got), want);
}

TEST(registered_code_is_found)
{
	struct registered_code code;
	static struct registered image;
	setup(&code);
	build(&image, CODE, "alpha", false);
	add(&image);
	CHECK_INT(cfa_at(&code, CODE + 3), 8);
	CHECK_INT(cfa_at(&code, CODE + 4), 0x40);
	CHECK_INT(cfa_at(&code, OTHER), 0);
	check_names(&code, CODE + 4, "alpha ");
	CHECK_INT(code.statistics.processes, 1);
	CHECK_INT(code.statistics.read, 1);
	CHECK_INT(code.statistics.given_up, 0);
	registered_code_deinit(&code);
}

/* Where a program's process was found to be a compiler, the next one is looked at before it has
 * any such code. */
TEST(registered_code_is_expected_of_the_same_program)
{
	struct registered_code code;
	struct object mono = {.serial = 1}, other = {.serial = 2}, next = {.serial = 8};
	setup(&code);
	registered_code_meet(&code, &object, (uint32_t)getpid(), 1);
	registered_code_follow(&code, &object, &mono, 2);
	CHECK(!registered_code_expects(&code, &mono)); /* not known yet */
	code.processes.data[0].is_compiler = true;
	registered_code_follow(&code, &object, &mono, 3);
	registered_code_follow(&code, &object, NULL, 4);
	CHECK(registered_code_expects(&code, &mono));
	CHECK(!registered_code_expects(&code, &other));
	registered_code_expect(&code, &next, (uint32_t)getpid(), 5);
	CHECK_INT(code.processes.len, 2);
	CHECK(code.processes.data[1].is_expected);
	CHECK_INT(code.processes.data[1].nr_pending, 1);
	registered_code_deinit(&code);
}

/* A program that exports nothing and has no symbols, as qemu-user-static. */
TEST(registered_code_is_found_by_its_looks)
{
	static struct jit_descriptor hidden = {1, 1, NULL, NULL};
	static struct registered image;
	build(&image, CODE, "alpha", false);
	hidden.first = hidden.relevant = &image.entry;
	struct registered_descriptor found[REGISTERED_MAX_DESCRIPTORS];
	struct bytes_buf answer = {0};
	registered_memory_search((uint32_t)getpid(), (uintptr_t)&hidden - 4096 + 4, 8192, &answer);
	CHECK_INT(registered_memory_descriptors(&answer, found), 1);
	CHECK_INT(found[0].address, (uintptr_t)&hidden);
	bytes_buf_deinit(&answer);
}

TEST(registered_code_of_no_descriptor_yet)
{
	struct registered_code code;
	static struct registered image;
	setup(&code);
	CHECK_INT(cfa_at(&code, CODE + 4), 0);
	build(&image, CODE, "alpha", false);
	add(&image);
	CHECK_INT(cfa_at(&code, CODE + 4), 0x40);
	check_names(&code, CODE + 4, "alpha later ");
	registered_code_deinit(&code);
}

/* What was looked at just before is looked at again, and frames wait for that: a guess at the code
 * of a library that came since would hold for some time. */
TEST(registered_code_of_a_library_that_comes_later)
{
	struct registered_code code;
	static struct registered image;
	const struct unwind_rule *rule = NULL;
	enum registered_found found;
	setup(&code);
	CHECK_INT(cfa_at(&code, CODE + 4), 0);
	build(&image, CODE, "alpha", false);
	add(&image);
	code.processes.data[0].cost_ns = NS_PER_MS;
	code.processes.data[0].nr_finds = 10; /* so the next look would be later */
	registered_code_note_file(&code, &object);
	struct registered_frame frame = {.object = &object,
		.pid = (uint32_t)getpid(),
		.time_ns = clock_now_ns(),
		.place = CODE + 4,
		.ip = CODE + 4};
	while ((found = registered_code_rule(&code, &frame, true, &rule)) == REGISTERED_LATER) {
		struct pollfd fd = {.fd = registered_code_fd(&code), .events = POLLIN};
		poll(&fd, 1, 2);
		registered_code_collect(&code);
	}
	CHECK_INT(found, REGISTERED_RULE);
	registered_code_deinit(&code);
}

/* The same address, and even the same entry: the image tells. */
TEST(registered_code_that_changes)
{
	struct registered_code code;
	static struct registered image, other;
	setup(&code);
	build(&image, CODE, "small", false);
	build(&other, OTHER, "other", false);
	add(&other);
	add(&image);
	CHECK_INT(cfa_at(&code, CODE + 0x20), 0x40);
	take_out(&image);
	build(&image, CODE, "large", true);
	add(&image);
	CHECK_INT(cfa_at(&code, CODE + 0x20), 0); /* which one it was at the time is not known */
	CHECK_INT(cfa_at(&code, CODE + 0x20), 0x140);
	CHECK_INT(cfa_at(&code, OTHER + 0x20), 0x40);
	take_out(&image);
	CHECK_INT(cfa_at(&code, CODE + 0x20), 0);
	CHECK_INT(cfa_at(&code, OTHER + 0x20), 0x40);
	check_names(&code, CODE + 0x20, "small large later [unregistered] later ");
	check_names(&code, OTHER + 0x20, "other ");
	check_names(&code, CODE + 0x180, ""); /* it had no name that is gone */
	CHECK_INT(code.statistics.read, 3);
	registered_code_forget(&code, &object);
	CHECK_INT(code.bytes, 0);
	check_names(&code, OTHER + 0x20, "");
	registered_code_deinit(&code);
}

/* Two images that had the same addresses in turn: what code stood there tells. */
TEST(registered_code_is_told_apart_by_its_bytes)
{
	struct registered_code code;
	static struct registered image;
	const struct unwind_rule *rule = NULL;
	setup(&code);
	uint8_t *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uintptr_t)memory + 0x20;
	uint8_t first[16], second[16], third[16];
	memset(first, 1, sizeof(first));
	memset(second, 2, sizeof(second));
	memset(third, 3, sizeof(third));
	struct registered_frame frame = {.object = &object,
		.pid = (uint32_t)getpid(),
		.place = address,
		.ip = address,
		.code = first,
		.code_bytes = sizeof(first)};
	memset(memory, 1, 0x100);
	build(&image, (uintptr_t)memory, "small", false);
	add(&image);
	CHECK_INT(cfa_at(&code, address), 0x40);
	take_out(&image);
	memset(memory, 2, 0x100);
	build(&image, (uintptr_t)memory, "large", true);
	add(&image);
	cfa_at(&code, address);
	for (int i = 0; i < 2; i++) {
		frame.code = i ? second : first;
		CHECK_INT(registered_code_rule(&code, &frame, true, &rule), REGISTERED_RULE);
		CHECK_INT(rule->cfa_offset, i ? 0x140 : 0x40);
	}
	frame.code = third;
	CHECK_INT(registered_code_rule(&code, &frame, true, &rule), REGISTERED_NOTHING);
	frame.code = NULL; /* then by the time, or not at all */
	frame.time_ns = code.processes.data[0].known_ns;
	CHECK_INT(registered_code_rule(&code, &frame, true, &rule), REGISTERED_RULE);
	CHECK_INT(rule->cfa_offset, 0x140);
	frame.time_ns = code.processes.data[0].known.data[0].seen_ns;
	CHECK_INT(registered_code_rule(&code, &frame, true, &rule), REGISTERED_RULE);
	CHECK_INT(rule->cfa_offset, 0x40);
	frame.time_ns = code.processes.data[0].known.data[0].gone_ns - 1;
	CHECK_INT(registered_code_rule(&code, &frame, true, &rule), REGISTERED_NOTHING);
	registered_code_deinit(&code);
}

/* ---- lists that lie ---- */

static void check_given_up(uint64_t want_read, uint64_t want_given_up)
{
	struct registered_code code;
	setup(&code);
	for (int i = 0; i < 2; i++) /* an image may have changed just when it was read */
		CHECK_INT(cfa_at(&code, CODE + 0x20), want_read ? 0x40 : 0);
	CHECK_INT(code.statistics.read, want_read);
	CHECK_INT(code.statistics.given_up, want_given_up);
	registered_code_deinit(&code);
}

TEST(registered_list_in_a_circle)
{
	static struct registered image, other;
	build(&image, CODE, "small", false);
	build(&other, OTHER, "other", false);
	add(&other);
	add(&image);
	other.entry.next = &image.entry; /* which points back to none */
	check_given_up(2, 1);
	other.entry.next = &other.entry;
	other.entry.prev = &other.entry;
	check_given_up(1, 1);
}

TEST(registered_list_without_end)
{
	enum {
		ENTRIES = 10000
	};
	static struct registered image;
	CLEANUP_FREE struct jit_entry *entries = mem_zalloc_array(ENTRIES, sizeof(*entries));
	build(&image, CODE, "small", false);
	for (int i = 0; i < ENTRIES; i++) {
		entries[i] = image.entry;
		entries[i].prev = i ? &entries[i - 1] : NULL;
		entries[i].next = i + 1 < ENTRIES ? &entries[i + 1] : NULL;
	}
	__jit_debug_descriptor.first = __jit_debug_descriptor.relevant = entries;
	struct registered_request request = {.kind = REGISTERED_LIST,
		.pid = (uint32_t)getpid(),
		.descriptor = (uintptr_t)&__jit_debug_descriptor};
	struct bytes_buf answer = {0};
	struct registered_list list;
	registered_memory_read(NULL, &request, sizeof(request), &answer);
	CHECK(registered_memory_list(&answer, &list));
	CHECK(list.is_cut);
	CHECK_INT(list.entries.len, REGISTERED_MAX_ENTRIES);
	vec_deinit(&list.entries);
	bytes_buf_deinit(&answer);
}

TEST(registered_image_of_a_size_that_lies)
{
	static struct registered image;
	build(&image, CODE, "small", false);
	add(&image);
	uint64_t right = image.entry.size;
	image.entry.size = UINT64_MAX;
	check_given_up(0, 1);
	image.entry.size = 3;
	check_given_up(0, 1);
	image.entry.size = REGISTERED_IMAGE_MAX_BYTES; /* it ends in no memory */
	check_given_up(0, 1);
	image.entry.size = right;
	check_given_up(1, 0);
}

TEST(registered_image_in_no_memory)
{
	static struct registered image, other;
	uint8_t *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	build(&image, CODE, "small", false);
	build(&other, OTHER, "other", false);
	add(&image);
	add(&other);
	other.entry.image = gone;
	check_given_up(1, 1);
	other.entry.image = other.bytes;
	image.entry.prev = NULL;
	__jit_debug_descriptor.first = (void *)gone;
	check_given_up(0, 0); /* the list itself: it may be about to change */
}
