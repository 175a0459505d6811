/*
 * The same saved stacks, walked by the kernel's side, compiled for user space, and by the report:
 * frames, guesses and causes of ends must be the same. Registers and stacks are random, by the
 * rules of the C library, and lead through its functions, code of no file, and a file whose rules
 * cannot be had.
 */
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/dwarf/cfi_file.h"
#include "format/elf/elf_file.h"
#include "format/file/truncation.h"
#include "record/unwind/table_store.h"
#include "report/load/load.h"
#include "report/load/unwind/unwinder.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

enum {
	CODE = 0x10000000,
	WITHOUT_TABLE = 0x50000000, /* code of a file */
	ANONYMOUS = 0x60000000,     /* code of none */
	MAP_BYTES = 0x1000,
	STACK = 0x70000000,
	STACK_WORDS = 512,
	SP_WORD = 64,
	STORE_BYTES = 8 * UNWIND_SHARD_WORDS * 4,
	WALKS = 20000,
};

/* Objects of the recording. */
enum {
	OBJECT_LIBRARY = 1,
	OBJECT_WITHOUT_TABLE,
	OBJECT_ANONYMOUS,
};

static struct fixture {
	struct elf_file *elf;
	int fd;
	char path[4096];
	uint64_t offset, bytes;             /* of its code, in the file */
	VEC(struct cfi_function) functions; /* offsets in the file */
	struct table_store *store;
	uint32_t library; /* its number on the kernel's side */
	struct profile *profile;
	uint64_t random;
	uint64_t stack[STACK_WORDS];
	uint64_t ends[16]; /* how many walks ended so */
} it;

/* ---- the library ---- */

static int find_library(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	strncpy(path, info->dlpi_name, sizeof(it.path) - 1);
	return 1;
}

/* Those that call frame information covers: between them the recorder reads instructions. */
static void list_functions(const struct elf_segment *segment)
{
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct cfi_section section;
	struct cfi_function function;
	CHECK_OK(cfi_file_read(it.elf, CFI_EH_FRAME, &bytes, &section));
	struct cfi_reader *reader = cfi_reader_create(&section);
	while (cfi_reader_next(reader, &function)) {
		function.start -= segment->vaddr - segment->offset;
		function.end -= segment->vaddr - segment->offset;
		if (function.start >= it.offset && function.end <= it.offset + it.bytes)
			vec_push(&it.functions, function);
	}
	cfi_reader_destroy(reader);
	CHECK(it.functions.len > 1000);
}

static void open_library(void)
{
	size_t count;
	if (!dl_iterate_phdr(find_library, it.path))
		unit_skip("a static program has no library");
	it.fd = open(it.path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(elf_file_open(it.fd, &it.elf));
	const struct elf_segment *segment = elf_file_segments(it.elf, &count);
	while (count && !(segment->flags & PF_X))
		segment++, count--;
	CHECK(count);
	it.offset = segment->offset;
	it.bytes = segment->filesz;
	list_functions(segment);
}

/* ---- the kernel's side ---- */

static void emulate(void)
{
	static const struct emulated_file library = {.inode = 1}, other = {.inode = 2};
	const struct emulated_vma vmas[] = {
		{CODE, CODE + it.bytes, it.offset, &library, true},
		{WITHOUT_TABLE, WITHOUT_TABLE + MAP_BYTES, 0, &other, true},
		{ANONYMOUS, ANONYMOUS + MAP_BYTES, 0, NULL, true},
		{STACK, STACK + sizeof(it.stack), 0, NULL, false},
	};
	struct unwind_table table;
	emulate_boot(EMULATED_6_13);
	emulate_mappings(vmas, sizeof(vmas) / sizeof(*vmas), 0);
	emulate_memory(STACK, it.stack, sizeof(it.stack));
	CHECK_OK(emulate_table_store(STORE_BYTES, &it.store));
	CHECK_OK(unwind_table_build(it.elf, &table));
	uint32_t number = table_store_add(it.store, &table);
	unwind_table_deinit(&table);
	emulate_tick(&(struct unwind_registers){.ip = CODE});
	emulate_tick(&(struct unwind_registers){.ip = WITHOUT_TABLE});
	for (size_t n = 0; emulated_record(EVENT_FILE, n); n++) {
		const struct event_file *event = emulated_record(EVENT_FILE, n);
		bool is_library = event->start == CODE;
		it.library = is_library ? event->file : it.library;
		table_store_bind(it.store, event->file, is_library ? number : TABLE_ABSENT);
	}
}

/* ---- the report's ---- */

static void load_profile(void)
{
	struct bytes_buf file = {0};
	struct writer *writer = forged_writer(&file);
	struct layout_object library = {
		.kind = LAYOUT_OBJECT_FILE, .path = forged_string(writer, it.path)};
	size_t len;
	const uint8_t *build_id = elf_file_build_id(it.elf, &len);
	memcpy(library.build_id, build_id, len);
	library.build_id_len = (uint32_t)len;
	writer_process(writer, &(struct layout_process){.pid = 1});
	writer_object(writer, &library);
	writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_FILE,
				      .path = forged_string(writer, "/nonexistent")});
	writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS,
				      .path = forged_string(writer, "[anon]")});
	const struct layout_mapping mappings[] = {
		{1, OBJECT_LIBRARY, CODE, it.bytes, it.offset, 0},
		{1, OBJECT_WITHOUT_TABLE, WITHOUT_TABLE, MAP_BYTES, 0, 0},
		{1, OBJECT_ANONYMOUS, ANONYMOUS, MAP_BYTES, ANONYMOUS, 0},
	};
	for (size_t i = 0; i < sizeof(mappings) / sizeof(*mappings); i++)
		writer_mapping(writer, &mappings[i]);
	CHECK_OK(writer_flush(writer));
	writer_destroy(writer);
	CLEANUP_FD int fd = forged_fd(file.data, file.len);
	bytes_buf_deinit(&file);
	CHECK_OK(profile_load(fd, NULL, &it.profile));
}

/* ---- random stacks ---- */

static uint64_t random_below(uint64_t limit) /* xorshift64 */
{
	it.random ^= it.random << 13;
	it.random ^= it.random >> 7;
	it.random ^= it.random << 17;
	return it.random % limit;
}

static uint64_t random_code(void)
{
	const struct cfi_function *function = &it.functions.data[random_below(it.functions.len)];
	uint64_t offset = function->start + random_below(function->end - function->start);
	return CODE + offset - it.offset;
}

static uint64_t random_word(void)
{
	switch (random_below(32)) {
	case 0 ... 21:
		return random_code() + 1; /* as a return address it is looked up one byte ahead */
	case 22 ... 26:
		return STACK + random_below(STACK_WORDS) * 8;
	case 27:
	case 28:
		return ANONYMOUS + 1 + random_below(MAP_BYTES - 1);
	case 29:
		return WITHOUT_TABLE + 1 + random_below(MAP_BYTES - 1);
	case 30:
		return random_below(64);
	default: /* a frame pointer that is none: odd, or too far */
		return STACK + random_below(2) * 4 + random_below(4) * (1 << 20);
	}
}

/* A bit for each that the kernel's side has of a leaf. */
#if defined(__x86_64__)
#define LEAF_REGISTERS 0xffffU
enum {
	FEWEST_FRAMES = 2 * WALKS,
	FEWEST_GUESSES = WALKS / 10,
};
#elif defined(__aarch64__)
#define LEAF_REGISTERS 0xfff83003U
enum {
	FEWEST_FRAMES = WALKS, /* in many places of code the return address is in x30 alone */
	FEWEST_GUESSES = WALKS / 20,
};
#endif

static struct unwind_registers random_registers(void)
{
	struct unwind_registers regs = {.known = LEAF_REGISTERS};
	for (size_t i = 0; i < STACK_WORDS; i++)
		it.stack[i] = random_word();
	for (size_t i = 0; i < UNWIND_NATIVE->pc; i++)
		regs.reg[i] = random_word();
	if (random_below(2)) /* as in code that has one */
		regs.reg[UNWIND_FP] = STACK + (SP_WORD + random_below(STACK_WORDS / 4)) * 8;
	uint64_t kind = random_below(8);
	regs.reg[UNWIND_SP] = STACK + SP_WORD * 8;
	regs.ip = kind == 0   ? ANONYMOUS + random_below(MAP_BYTES)
		  : kind == 1 ? WITHOUT_TABLE + random_below(MAP_BYTES)
			      : random_code();
	return regs;
}

/* ---- both walks ---- */

static struct layout_frame frame_of(const struct event_stack *stack, size_t n)
{
	uint64_t word;
	memcpy(&word, (const uint8_t *)(stack + 1) + n * sizeof(word), sizeof(word));
	uint64_t number = word >> EVENT_FRAME_FILE_SHIFT & ((1ULL << EVENT_FRAME_FILE_BITS) - 1);
	bool is_file = word >> EVENT_FRAME_KIND_SHIFT == EVENT_FRAME_FILE;
	return (struct layout_frame){
		.object = !is_file               ? OBJECT_ANONYMOUS
			  : number == it.library ? OBJECT_LIBRARY
						 : OBJECT_WITHOUT_TABLE,
		.offset = word & ((1ULL << EVENT_FRAME_FILE_SHIFT) - 1),
		.flags = word >> EVENT_FRAME_FOUND_SHIFT & LAYOUT_FRAME_FOUND,
	};
}

static const struct event_stack *walk_in_kernel(const struct unwind_registers *regs)
{
	emulate_drain();
	++*emulated_variables().generation;
	emulated.time_ns += 1000000;
	emulate_tick(regs);
	return emulated_record(EVENT_STACK, 0);
}

static struct unwound_stack walk_in_report(struct unwinder *unwinder, const struct unwound *unwound,
	const struct unwind_registers *regs)
{
	struct layout_snapshot snapshot = {
		.process = 1,
		.known = regs->known | 1ULL << UNWIND_NATIVE->pc,
		.is_exact = true,
		.stack_address = STACK,
		.stack = (const uint8_t *)it.stack,
		.stack_bytes = sizeof(it.stack),
	};
	memcpy(snapshot.registers, regs->reg, sizeof(regs->reg));
	snapshot.registers[UNWIND_NATIVE->pc] = regs->ip;
	return unwound_at(unwound, unwinder_take(unwinder, &snapshot));
}

/* Where a rule is beyond 16 bytes the report knows more: it agrees as far as the other came. */
static bool are_alike(const struct event_stack *kernel, const struct unwound *unwound,
	const struct unwound_stack *report)
{
	bool is_left = kernel->end == EVENT_END_UNSUPPORTED || kernel->end == EVENT_END_REGISTER;
#if defined(__aarch64__)
	/* Nearly all rules say where x20 is: the kernel's side reads it in each frame, the report
	 * only where it is needed. */
	is_left |= kernel->end == EVENT_END_UNREADABLE;
#endif
	if (!is_left && (truncation_of_end(kernel->end) != report->cause ||
				kernel->nr_frames != report->count))
		return false;
	if (kernel->nr_frames > report->count)
		return false;
	for (size_t i = 0; i < kernel->nr_frames; i++) {
		struct layout_frame a = frame_of(kernel, i);
		struct layout_frame b = unwound_frame(unwound, report->frames[i]);
		if (a.object != b.object || a.offset != b.offset || a.flags != b.flags)
			return false;
	}
	return true;
}

static void show(const struct event_stack *kernel, const struct unwound *unwound,
	const struct unwound_stack *report, int walk)
{
	unit_fail(__FILE__, __LINE__, "walk %d: ends %d, %d", walk, truncation_of_end(kernel->end),
		report->cause);
	for (size_t i = 0; i < kernel->nr_frames || i < report->count; i++) {
		struct layout_frame a = {0}, b = {0};
		if (i < kernel->nr_frames)
			a = frame_of(kernel, i);
		if (i < report->count)
			b = unwound_frame(unwound, report->frames[i]);
		unit_fail(__FILE__, __LINE__, "%2zu: %u+%#llx %u; %u+%#llx %u", i, a.object,
			(unsigned long long)a.offset, a.flags, b.object,
			(unsigned long long)b.offset, b.flags);
	}
}

TEST(both_walk_alike)
{
	it.random = 0x9e3779b97f4a7c15;
	open_library();
	emulate();
	load_profile();
	struct unwound unwound = {0};
	struct unwinder *unwinder = unwinder_create(it.profile, NULL, &unwound);
	int different = 0;
	uint64_t frames = 0, guesses = 0;
	for (int i = 0; i < WALKS; i++) {
		struct unwind_registers regs = random_registers();
		const struct event_stack *kernel = walk_in_kernel(&regs);
		struct unwound_stack report = walk_in_report(unwinder, &unwound, &regs);
		CHECK(kernel != NULL);
		if (!kernel)
			break;
		if (!are_alike(kernel, &unwound, &report) && different++ < 3)
			show(kernel, &unwound, &report, i);
		it.ends[kernel->end]++;
		frames += kernel->nr_frames;
		for (size_t k = 0; k < kernel->nr_frames; k++)
			guesses += frame_of(kernel, k).flags;
	}
	CHECK_INT(different, 0);
	CHECK(frames > FEWEST_FRAMES && guesses > FEWEST_GUESSES);
	static const enum event_stack_end usual[] = {EVENT_END_COMPLETE, EVENT_END_UNREADABLE,
		EVENT_END_BROKEN_FRAME_POINTER, EVENT_END_NO_TABLE, EVENT_END_JIT,
		EVENT_END_NO_MAPPING};
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		CHECK(it.ends[usual[i]] > 0);
	unwinder_destroy(unwinder);
	unwound_deinit(&unwound);
	profile_destroy(it.profile);
	table_store_destroy(it.store);
	vec_deinit(&it.functions);
	elf_file_destroy(it.elf);
	close(it.fd);
}
