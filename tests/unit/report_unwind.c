/*
 * Snapshots of this very process, written as a recording and read again: the
 * stacks must be those that libgcc's unwinder saw, with the names that stand in
 * unwind_subject.h. And snapshots that lead nowhere must end, with a cause.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "format/dwarf/dwarf_operations.h"
#include "format/elf/elf_file.h"
#include "format/elf/elf_symbols.h"
#include "report/analyse/stack_counts.h"
#include "report/load/load.h"
#include "report/load/unwind/expression.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbolizer.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"
#include "tests/unit/unwind_subject.h"

enum {
	TIME_NS = 1000,
};

/* ---- a recording of this process ---- */

struct recording {
	struct bytes_buf file;
	struct writer *writer;
	const char *replaced_path; /* NULL: the objects' own */
	bool bends_build_ids;
	bool unwinds_here;
	struct layout_mapping mappings[64]; /* of process 1 */
	size_t nr_mappings;
};

static uint32_t put_file_object(struct recording *it, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	struct elf_file *elf;
	if (fd < 0 || fstat(fd, &st))
		return 0;
	CHECK_OK(elf_file_open(fd, &elf));
	const char *shown = it->replaced_path ? it->replaced_path : path;
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_FILE,
		.path = forged_string(it->writer, shown),
		.size_bytes = (uint64_t)st.st_size,
		.mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec,
	};
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	for (size_t i = 0; i < len; i++)
		object.build_id[i] = build_id[i];
	object.build_id_len = (uint32_t)len;
	if (it->bends_build_ids)
		object.build_id[0] ^= 1, object.build_id_len = object.build_id_len ?: 20;
	elf_file_destroy(elf);
	return writer_object(it->writer, &object); /* without segments: the file has them */
}

static void put_mappings(struct recording *it, uint32_t process)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[4096 + 200], path[4096] = "", last_path[4096] = "", modes[5];
	uint32_t object = 0;
	unsigned long long start, end, offset;
	while (maps && fgets(line, sizeof(line), maps)) {
		path[0] = '\0';
		int got = sscanf(line, "%llx-%llx %4s %llx %*s %*s %4095s", &start, &end, modes,
			&offset, path);
		if (got < 4 || modes[2] != 'x' || path[0] != '/')
			continue;
		if (strcmp(path, last_path) != 0)
			object = put_file_object(it, path);
		memcpy(last_path, path, sizeof(path));
		struct layout_mapping mapping = {
			process, object, start, end - start, offset, TIME_NS};
		writer_mapping(it->writer, &mapping);
		if (it->nr_mappings < 64)
			it->mappings[it->nr_mappings++] = mapping;
	}
	if (maps)
		fclose(maps);
}

/* Process 1 is this one. */
static void begin(struct recording *it)
{
	it->writer = forged_writer(&it->file);
	writer_process(it->writer, &(struct layout_process){.pid = 1, .start_ns = 1});
	writer_thread(it->writer, &(struct layout_thread){.process = 1, .tid = 1});
	writer_frame(it->writer, &(struct layout_frame){0, LAYOUT_TRUNCATED_NO_TABLE, 0});
	writer_node(it->writer, &(struct layout_node){0, 1});
	put_mappings(it, 1);
}

static void put_sample_of(
	struct recording *it, uint32_t process, const struct layout_snapshot *snapshot)
{
	struct layout_snapshot copy = *snapshot;
	copy.process = process;
	copy.time_ns = TIME_NS;
	struct layout_sample sample = {.thread = 1, .user_stack = 1, .weight = 1};
	sample.snapshot = writer_snapshot(it->writer, &copy);
	writer_sample(it->writer, &sample);
}

static void put_sample(struct recording *it, const struct layout_snapshot *snapshot)
{
	put_sample_of(it, 1, snapshot);
}

static struct profile *finish(struct recording *it)
{
	CHECK_OK(writer_finish(it->writer, &(struct layout_end){LAYOUT_END_COMMAND, TIME_NS}));
	writer_destroy(it->writer);
	CLEANUP_FD int fd = forged_fd(it->file.data, it->file.len);
	bytes_buf_deinit(&it->file);
	struct profile *profile = NULL;
	struct profile_options options = {.unwinds_here = it->unwinds_here};
	CHECK_OK(profile_load(fd, &options, &profile));
	CHECK_INT(profile->dangling, 0);
	CHECK_INT(profile->unwind_losses.crashed, 0);
	CHECK_INT(profile->unwind_losses.hung, 0);
	CHECK_INT(profile->unwind_losses.abandoned, 0);
	symbolize(profile, &(struct symbolize_options){.no_inline = true});
	return profile;
}

static struct profile *load(const struct layout_snapshot *snapshot)
{
	struct recording it = {0};
	begin(&it);
	put_sample(&it, snapshot);
	return finish(&it);
}

/* ---- what was found ---- */

/* Leaf first, without the marker; the cause of the truncation. */
struct stack {
	const struct profile_frame
		*frames[1100]; /* not many: the whole stack shall fit a snapshot */
	size_t count;
	enum layout_truncation cause;
};

static struct stack stack_at(const struct profile *profile, size_t sample)
{
	struct stack out = {0};
	uint32_t stack = profile->samples.data[sample].stack;
	struct profile_walk walk = profile_walk(profile, stack);
	for (uint32_t frame; (frame = profile_walk_next(&walk)) && out.count < 1100;)
		if (profile->frames.data[frame].object)
			out.frames[out.count++] = &profile->frames.data[frame];
	out.cause = profile_stack_truncation(profile, stack);
	return out;
}

static const char *name_of(const struct profile *profile, const struct profile_frame *frame)
{
	return profile->functions.data[frame->function].name;
}

/* The address in this process. */
static uint64_t address_of(const struct profile *profile, const struct profile_frame *frame)
{
	vec_each(&profile->mappings, mapping)
		if (mapping->object == frame->object &&
			frame->offset - mapping->offset < mapping->length)
			return frame->offset - mapping->offset + mapping->start;
	return 0;
}

static void check_names(
	const struct profile *profile, const struct stack *stack, const char *const *names)
{
	CHECK(stack->count > 0);
	for (size_t i = 0, at = 0; names[i]; i++, at++) {
		if (names[i][0] == '*') /* any number of others */
			for (i++; at < stack->count &&
				  strcmp(name_of(profile, stack->frames[at]), names[i]) != 0;)
				at++;
		CHECK_STR(at < stack->count ? name_of(profile, stack->frames[at]) : "the end",
			names[i]);
	}
}

static void check_whole(const struct unwind_subject *subject, const char *const *names)
{
	struct profile *profile = load(&subject->snapshot);
	struct stack stack = stack_at(profile, 0);
	CHECK_INT(stack.cause, LAYOUT_COMPLETE);
	CHECK_INT(stack.count, subject->nr_callers);
	check_names(profile, &stack, names);
	uint64_t ip = subject->snapshot.registers[UNWIND_NATIVE->pc];
	CHECK(address_of(profile, stack.frames[0]) == ip);
	bool was_interrupted = false;
	for (size_t i = 1; i < stack.count && i < subject->nr_callers; i++) {
		was_interrupted |= subject->callers[i] == subject->interrupted_ip;
		/* The return code of signals: ours is its name's, not the byte before. */
		bool is_trampoline = i + 1 < subject->nr_callers && subject->interrupted_ip &&
				     subject->callers[i + 1] == subject->interrupted_ip;
		CHECK_INT(
			address_of(profile, stack.frames[i]), subject->callers[i] + is_trampoline);
		CHECK(!stack.frames[i]->flags);
	}
	CHECK_INT(was_interrupted, subject->interrupted_ip != 0);
	struct stack_counts counts = stack_counts_of(profile);
	CHECK_INT(counts.complete, 1);
	CHECK_INT(counts.guessed, 0);
	CHECK_INT(profile->nr_snapshots, 1);
	CHECK_INT(profile->snapshot_bytes, subject->snapshot.stack_bytes);
	profile_destroy(profile);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct unwind_subject subject;

TEST(plain_calls)
{
	subject_calls(&subject);
	check_whole(&subject, NAMES("subject_leaf", "subject_middle", "subject_calls",
				      "plain_calls", "*", "main", "*", "_start"));
}

TEST(calls_through_the_c_library)
{
	subject_sorts(&subject);
	check_whole(&subject, NAMES("subject_compare", "*", "subject_sorts",
				      "calls_through_the_c_library", "*", "main", "*", "_start"));
}

TEST(realigned_frames)
{
	subject_realigns(&subject, 100);
	check_whole(&subject,
		NAMES("subject_leaf", "subject_realigns", "realigned_frames", "*", "_start"));
}

TEST(signal_handlers)
{
	subject_is_interrupted(&subject);
	CHECK(subject.interrupted_ip);
	check_whole(&subject, NAMES("subject_handler", "*", "subject_waits",
				      "subject_is_interrupted", "signal_handlers", "*", "_start"));
}

TEST(deep_recursion)
{
	subject_recurses(&subject, 200);
	check_whole(&subject, NAMES("subject_leaf", "subject_recurses", "subject_recurses"));
	CHECK(subject.nr_callers > 205);
}

/* ---- joining with what the recorder found ---- */

TEST(found_frames_stand_on_the_snapshots)
{
	struct recording it = {0};
	begin(&it);
	subject_calls(&subject);
	/* As if the recorder had found the leaf, and stopped at its caller. */
	struct layout_snapshot snapshot = subject.snapshot;
	uint32_t frame = writer_frame(it.writer, &(struct layout_frame){1, 0x77, 0});
	uint32_t marked = writer_node(it.writer, &(struct layout_node){1, frame});
	uint32_t whole = writer_node(it.writer, &(struct layout_node){0, frame});
	snapshot.process = 1;
	snapshot.time_ns = TIME_NS;
	uint32_t id = writer_snapshot(it.writer, &snapshot);
	for (int i = 0; i < 2; i++) {
		struct layout_sample sample = {.thread = 1, .weight = 1, .snapshot = id};
		sample.user_stack = marked;
		writer_sample(it.writer, &sample);
		sample.user_stack = whole;
		writer_sample(it.writer, &sample);
		sample.user_stack = 0;
		writer_sample(it.writer, &sample);
	}
	struct profile *profile = finish(&it);
	struct stack stack = stack_at(profile, 0);
	CHECK_INT(stack.cause, LAYOUT_COMPLETE);
	CHECK_INT(stack.count, subject.nr_callers + 1);
	CHECK_INT(stack.frames[0]->offset, 0x77);
	CHECK_STR(name_of(profile, stack.frames[1]), "subject_leaf");
	stack = stack_at(profile, 1); /* without a marker it is complete */
	CHECK_INT(stack.count, 1);
	stack = stack_at(profile, 2);
	CHECK_INT(stack.count, subject.nr_callers);
	for (int i = 0; i < 3; i++)
		CHECK_INT(profile->samples.data[i].stack, profile->samples.data[i + 3].stack);
	CHECK_INT(profile->nr_snapshots, 1);
	profile_destroy(profile);
}

TEST(later_mappings_do_not_hold_yet)
{
	struct recording it = {0};
	begin(&it);
	subject_calls(&subject);
	/* A mapping of other code over everything, later. */
	uint32_t object = writer_object(
		it.writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS, .path = 0});
	writer_mapping(it.writer, &(struct layout_mapping){1, object, 0, ~0ULL, 0, TIME_NS + 1});
	put_sample(&it, &subject.snapshot);
	struct profile *profile = finish(&it);
	CHECK_INT(stack_at(profile, 0).count, subject.nr_callers);
	profile_destroy(profile);
}

/* ---- by a child process ---- */

/* More snapshots than are kept at a time, which lead to little. */
static void put_many(struct recording *it)
{
	subject_calls(&subject);
	struct layout_snapshot snapshot = subject.snapshot;
	snapshot.stack_bytes = 64;
	for (int i = 0; i < 8500; i++)
		put_sample(it, &snapshot);
	CHECK_OK(writer_flush(it->writer));
}

static void put_process(struct recording *it, uint32_t process, uint32_t anonymous)
{
	writer_process(it->writer, &(struct layout_process){.pid = process, .start_ns = 1});
	for (size_t i = 0; i < it->nr_mappings; i++) {
		struct layout_mapping mapping = it->mappings[i];
		mapping.process = process;
		mapping.object = anonymous ?: mapping.object;
		writer_mapping(it->writer, &mapping);
	}
	put_sample_of(it, process, &subject.snapshot);
	CHECK_OK(writer_flush(it->writer));
}

/* What is read after the child began: a process of known objects, then an object. */
static struct profile *load_news(bool unwinds_here)
{
	struct recording it = {.unwinds_here = unwinds_here};
	begin(&it);
	put_many(&it);
	put_process(&it, 2, 0);
	put_many(&it);
	put_process(&it, 3, 0);
	put_many(&it);
	uint32_t object =
		writer_object(it.writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS,
						 .path = forged_string(it.writer, "[anon]")});
	put_process(&it, 4, object);
	put_many(&it);
	put_process(&it, 5, 0);
	return finish(&it);
}

TEST(the_child_hears_the_news)
{
	struct profile *both[2]; /* called from one place: that is in the stacks */
	for (int i = 0; i < 2; i++)
		both[i] = load_news(i);
	struct profile *apart = both[0], *here = both[1];
	CHECK_INT(apart->samples.len, 4 * 8501);
	CHECK_INT(apart->samples.len, here->samples.len);
	CHECK_INT(apart->stacks.len, here->stacks.len);
	for (size_t i = 0; i < apart->samples.len && i < here->samples.len; i++) {
		struct stack a = stack_at(apart, i), b = stack_at(here, i);
		CHECK(a.count == b.count && a.cause == b.cause);
		if (i % 8501 == 8500 && i / 8501 == 2)
			CHECK_INT(a.cause, LAYOUT_TRUNCATED_JIT);
		else if (i % 8501 == 8500)
			CHECK_INT(a.count, subject.nr_callers);
		for (size_t j = 0; j < a.count && j < b.count; j++)
			CHECK(a.frames[j]->object == b.frames[j]->object &&
				a.frames[j]->offset == b.frames[j]->offset);
	}
	profile_destroy(apart);
	profile_destroy(here);
}

/* ---- ends before the outermost frame ---- */

static void check_truncated(
	const struct layout_snapshot *snapshot, size_t count, enum layout_truncation cause)
{
	struct profile *profile = load(snapshot);
	struct stack stack = stack_at(profile, 0);
	CHECK_INT(stack.cause, cause);
	CHECK_INT(stack.count, count);
	profile_destroy(profile);
}

/* Frames that the last two words of a stack are enough for. */
enum {
#if defined(__x86_64__)
	WITH_TWO_WORDS = 1,
#elif defined(__aarch64__)
	WITH_TWO_WORDS = 2, /* they are a frame record */
#endif
};

TEST(stacks_that_were_cut)
{
	subject_calls(&subject);
	struct layout_snapshot snapshot = subject.snapshot;
	struct profile *profile = load(&snapshot);
	size_t whole = stack_at(profile, 0).count, last = whole;
	profile_destroy(profile);
	for (; snapshot.stack_bytes > 8; snapshot.stack_bytes /= 2) {
		profile = load(&snapshot);
		struct stack stack = stack_at(profile, 0);
		CHECK(stack.count && stack.count <= last);
		CHECK_INT(stack.cause,
			stack.count == whole ? LAYOUT_COMPLETE : LAYOUT_TRUNCATED_UNREADABLE);
		last = stack.count;
		profile_destroy(profile);
	}
	CHECK_INT(last, WITH_TWO_WORDS);
	snapshot.stack_bytes = 0;
	snapshot.stack = NULL;
	check_truncated(&snapshot, 1, LAYOUT_TRUNCATED_UNREADABLE);
}

TEST(missing_and_other_files)
{
	subject_calls(&subject);
	subject.snapshot.known &= ~(1ULL << UNWIND_FP); /* else it is tried by the frame pointer */
	struct recording missing = {.replaced_path = "/nonexistent/program"};
	struct recording other = {.bends_build_ids = true};
	struct recording *const recordings[] = {&missing, &other};
	for (int i = 0; i < 2; i++) {
		begin(recordings[i]);
		put_sample(recordings[i], &subject.snapshot);
		struct profile *profile = finish(recordings[i]);
		struct stack stack = stack_at(profile, 0);
		CHECK_INT(stack.cause, LAYOUT_TRUNCATED_NO_TABLE);
		CHECK_INT(stack.count, 1);
		profile_destroy(profile);
	}
}

TEST(snapshots_of_nowhere)
{
	subject_calls(&subject);
	struct layout_snapshot snapshot = subject.snapshot;
	static const uint64_t nowhere[] = {0, 1, 0x1000, UINT64_MAX, 1ULL << 47, 1ULL << 63};
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		snapshot.registers[UNWIND_NATIVE->pc] = nowhere[i];
		for (int is_exact = 0; is_exact < 2; is_exact++) {
			snapshot.is_exact = is_exact;
			check_truncated(&snapshot, 0, LAYOUT_TRUNCATED_NO_MAPPING);
		}
	}
	snapshot = subject.snapshot;
	snapshot.known &= ~(1ULL << UNWIND_NATIVE->pc);
	check_truncated(&snapshot, 0, LAYOUT_TRUNCATED_REGISTER);
	snapshot = subject.snapshot;
	snapshot.known &= ~(1ULL << UNWIND_SP);
	check_truncated(&snapshot, 1, LAYOUT_TRUNCATED_REGISTER);
	snapshot = subject.snapshot;
	snapshot.registers[UNWIND_SP] += 3; /* what is read then is no address */
	check_truncated(&snapshot, 1, LAYOUT_TRUNCATED_NO_MAPPING);
	snapshot.registers[UNWIND_SP] = UINT64_MAX - 4;
	check_truncated(&snapshot, 1, LAYOUT_TRUNCATED_UNREADABLE);
}

/* This file is built with frame pointers: the caller's stands where ours points. */
static __attribute__((noinline)) uint64_t here(void)
{
	return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

TEST(circles_end)
{
#if defined(__aarch64__)
	unit_skip("rules of this file's functions go by the stack pointer");
#endif
	uint64_t ip = here();
	const uint64_t sp = 0x7ffc00001000;
	uint64_t stack[64] = {0};
	struct layout_snapshot snapshot = {
		.known = 1ULL << UNWIND_NATIVE->pc | 1ULL << UNWIND_SP | 1ULL << UNWIND_FP,
		.registers = {[UNWIND_SP] = sp, [UNWIND_FP] = sp + 64},
		.stack_address = sp,
		.stack = (const uint8_t *)stack,
		.stack_bytes = sizeof(stack),
	};
	snapshot.registers[UNWIND_NATIVE->pc] = ip;
	stack[8] = sp + 64; /* the saved frame pointer is itself */
	stack[9] = ip;
	check_truncated(&snapshot, 2, LAYOUT_TRUNCATED_FRAME_POINTER);
	stack[8] = sp; /* ... or stands below */
	stack[1] = ip;
	check_truncated(&snapshot, 2, LAYOUT_TRUNCATED_FRAME_POINTER);
}

/* At a function's first instruction the return address is all that its stack holds. */
TEST(the_vdso_is_our_own)
{
	const uint8_t *image = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	struct elf_file *elf;
	if (!image)
		unit_skip("no vDSO here");
	CHECK_OK(elf_file_open_memory(image, 8192, &elf));
	struct elf_symbols symbols = {0};
	CHECK_OK(elf_symbols_read(elf, &symbols));
	uint64_t function = 0;
	vec_each(&symbols.symbols, symbol)
		if (strcmp(elf_symbols_name(&symbols, symbol), "__vdso_clock_gettime") == 0)
			function = symbol->address;
	CHECK(function);
	for (uint8_t bent = 0; bent < 2; bent++) {
		struct recording it = {0};
		begin(&it);
		struct layout_object vdso = {
			.kind = LAYOUT_OBJECT_VDSO, .path = forged_string(it.writer, "[vdso]")};
		size_t len;
		const uint8_t *build_id = elf_file_build_id(elf, &len);
		memcpy(vdso.build_id, build_id, len);
		vdso.build_id_len = (uint32_t)len;
		vdso.build_id[0] ^= bent;
		uint32_t object = writer_object(it.writer, &vdso);
		writer_mapping(it.writer,
			&(struct layout_mapping){1, object, 0x7fff0000, 0x2000, 0, TIME_NS});
		uint64_t stack[2] = {here()};
		struct layout_snapshot snapshot = {
			.known = 1ULL << 16 | 1 << 7 | 1 << 6,
			.registers = {[16] = 0x7fff0000 + function, [7] = 0x1000, [6] = 0},
			.is_exact = true,
			.stack_address = 0x1000,
			.stack = (const uint8_t *)stack,
			.stack_bytes = sizeof(stack),
		};
		put_sample(&it, &snapshot);
		struct profile *profile = finish(&it);
		struct stack found = stack_at(profile, 0);
		CHECK_INT(found.count, bent ? 1 : 2);
		CHECK_INT(found.cause,
			bent ? LAYOUT_TRUNCATED_NO_TABLE : LAYOUT_TRUNCATED_UNREADABLE);
		profile_destroy(profile);
	}
	elf_symbols_deinit(&symbols);
	elf_file_destroy(elf);
}

TEST(frames_are_limited)
{
	enum {
		FRAMES = 4000
	};
	uint64_t ip = here();
	const uint64_t sp = 0x7ffc00001000;
	static uint64_t stack[FRAMES * 2];
	for (size_t i = 0; i < FRAMES; i++) {
		stack[2 * i] = sp + (i + 1) * 16;
		stack[2 * i + 1] = ip;
	}
	struct layout_snapshot snapshot = {
		.known = 1ULL << 16 | 1 << 7 | 1 << 6,
		.registers = {[16] = ip, [7] = sp, [6] = sp},
		.stack_address = sp,
		.stack = (const uint8_t *)stack,
		.stack_bytes = sizeof(stack),
	};
	check_truncated(&snapshot, 1024, LAYOUT_TRUNCATED_DEPTH);
}

/* ---- code without rules ---- */

TEST(code_of_no_file_is_left_by_frame_pointer)
{
	struct recording it = {0};
	begin(&it);
	const uint64_t jit = 0x10000000;
	uint32_t object =
		writer_object(it.writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS,
						 .path = forged_string(it.writer, "[anon]")});
	writer_mapping(it.writer, &(struct layout_mapping){1, object, jit, 0x1000, jit, TIME_NS});
	const uint64_t sp = 0x7ffc00001000;
	uint64_t stack[] = {1, 2, sp + 32, jit + 0x200, sp + 48, jit + 0x300, sp + 64, 0x1234, 0};
	struct layout_snapshot snapshot = {
		.known = 1ULL << 16 | 1 << 7 | 1 << 6,
		.registers = {[16] = jit + 0x100, [7] = sp, [6] = sp + 16},
		.is_exact = true,
		.stack_address = sp,
		.stack = (const uint8_t *)stack,
		.stack_bytes = sizeof(stack),
	};
	put_sample(&it, &snapshot);
	snapshot.known &= ~(1ULL << 6);
	put_sample(&it, &snapshot);
	struct profile *profile = finish(&it);
	struct stack found = stack_at(profile, 0);
	CHECK_INT(found.cause, LAYOUT_TRUNCATED_JIT);
	CHECK_INT(found.count, 3);
	CHECK_INT(found.frames[0]->offset, jit + 0x100);
	CHECK_INT(found.frames[0]->flags, 0);
	CHECK_INT(found.frames[1]->offset, jit + 0x1ff);
	CHECK_INT(found.frames[1]->flags, LAYOUT_FRAME_GUESSED);
	CHECK_INT(found.frames[2]->flags, LAYOUT_FRAME_GUESSED);
	found = stack_at(profile, 1);
	CHECK_INT(found.cause, LAYOUT_TRUNCATED_JIT);
	CHECK_INT(found.count, 1);
	CHECK_INT(stack_counts_of(profile).guessed, 1);
	profile_destroy(profile);
}

/* ---- expressions ---- */

static const uint64_t eight_bytes = 0x1122334455667788;

static enum event_stack_end evaluate(
	const uint64_t *cfa, const uint8_t *code, size_t len, uint64_t *value)
{
	struct thread_state state = {
		.machine = &unwind_x86_64,
		.registers = {.ip = 0x40100b, .known = 1 << 7, .reg = {[7] = 0x1000}},
		.stack_address = 0x1000,
		.stack = (const uint8_t *)&eight_bytes,
		.stack_bytes = 8,
	};
	return expression_evaluate(&state, cfa, bytes_cursor(code, len), value);
}

#define CHECK_VALUE_BEHIND(cfa, want, ...) \
	do { \
		const uint8_t code_[] = {__VA_ARGS__}; \
		uint64_t value_ = 0; \
		CHECK_INT(evaluate(cfa, code_, sizeof(code_), &value_), EVENT_END_COMPLETE); \
		CHECK_INT(value_, (want)); \
	} while (0)
#define CHECK_VALUE(want, ...) CHECK_VALUE_BEHIND(NULL, want, __VA_ARGS__)
#define CHECK_NO_VALUE(cause, ...) \
	do { \
		const uint8_t code_[] = {__VA_ARGS__}; \
		uint64_t value_ = 0; \
		CHECK_INT(evaluate(NULL, code_, sizeof(code_), &value_), (cause)); \
		CHECK_INT(value_, 0); \
	} while (0)
#define OP(name)   DW_OP_##name
#define LIT(n)     DW_OP_lit0 + (n)
#define BREG(n)    DW_OP_breg0 + (n)
#define SLEB(n)    ((n)&0x7f) /* -64 to 63 */
#define MINUS_7    OP(const1s), 0xf9
#define EIGHT(...) OP(const8s), __VA_ARGS__

TEST(expressions_have_values)
{
	const uint64_t cfa = 0xff0;
	CHECK_VALUE(31, LIT(31));
	CHECK_VALUE(0x1010, BREG(7), SLEB(16));
	CHECK_VALUE(0xff8, BREG(7), SLEB(-8));
	CHECK_VALUE(eight_bytes, BREG(7), SLEB(0), OP(deref));
	CHECK_VALUE(0x5566, BREG(7), SLEB(2), OP(deref_size), 2);
	CHECK_VALUE_BEHIND(&cfa, 0x1000, OP(plus_uconst), 16);
	CHECK_VALUE(0x1000, OP(bregx), 7, SLEB(0));
	/* A PLT's stub, behind its push. */
	CHECK_VALUE(0x1010, BREG(7), SLEB(8), BREG(16), SLEB(0), LIT(15), OP(and), LIT(11), OP(ge),
		LIT(3), OP(shl), OP(plus));
	CHECK_VALUE(-3, MINUS_7, LIT(2), OP(div));
	CHECK_VALUE(1, LIT(7), LIT(2), OP(mod));
	CHECK_VALUE(-7 >> 1, MINUS_7, LIT(1), OP(shra));
	CHECK_VALUE(-1, MINUS_7, OP(constu), 64, OP(shra));
	CHECK_VALUE(0, LIT(1), OP(constu), 64, OP(shl));
	CHECK_VALUE(7, MINUS_7, OP(abs));
	CHECK_VALUE(-7, LIT(7), OP(neg));
	CHECK_VALUE(~7LL, LIT(7), OP(not ));
	CHECK_VALUE(1, OP(const1s), 0xff, LIT(1), OP(lt));
	CHECK_VALUE(3 * 100 + 1 * 10 + 2, LIT(1), LIT(2), LIT(3), OP(rot), /* 3 1 2 */
		OP(swap), OP(constu), 10, OP(mul), OP(plus), OP(swap), OP(constu), 100, OP(mul),
		OP(plus));
	CHECK_VALUE(1, LIT(1), LIT(2), OP(over), OP(swap), OP(drop), OP(swap), OP(drop));
	CHECK_VALUE(5, LIT(5), LIT(6), OP(pick), 1);
	CHECK_VALUE(-2, OP(const2s), 0xfe, 0xff);
	CHECK_VALUE(0xfffe, OP(const2u), 0xfe, 0xff);
	CHECK_VALUE(-2, OP(const4s), 0xfe, 0xff, 0xff, 0xff);
	/* 0: lit1; 1: bra +1; 4: lit5; 5: lit6 */
	CHECK_VALUE(6, LIT(1), OP(bra), 1, 0, LIT(5), LIT(6));
	CHECK_VALUE(6, OP(skip), 1, 0, LIT(5), LIT(6));
}

TEST(expressions_without_a_value)
{
	CHECK_NO_VALUE(EVENT_END_REGISTER, BREG(3), SLEB(0));
	CHECK_NO_VALUE(EVENT_END_REGISTER, OP(bregx), 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, SLEB(0));
	CHECK_NO_VALUE(EVENT_END_UNREADABLE, BREG(7), SLEB(1), OP(deref));
	CHECK_NO_VALUE(EVENT_END_UNREADABLE, BREG(7), SLEB(-1), OP(deref_size), 1);
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, BREG(7), SLEB(0), OP(deref_size), 9);
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, OP(plus));
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, LIT(1), LIT(0), OP(div));
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, EIGHT(0, 0, 0, 0, 0, 0, 0, 0x80), OP(const1s), 0xff,
		OP(div)); /* INT64_MIN */
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, LIT(1), LIT(0), OP(mod));
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, LIT(1), OP(pick), 1);
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, 0x03, 0, 0x10, 0, 0, 0, 0, 0, 0); /* DW_OP_addr */
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, OP(nop));
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, OP(skip), 0xfd, 0xff); /* for ever */
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, OP(skip), 7, 0, LIT(1));
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, LIT(1), OP(skip), 0xfc, 0xff); /* overflow */
	CHECK_NO_VALUE(EVENT_END_UNSUPPORTED, LIT(1), OP(const4u), 1, 2);    /* cut */
}
