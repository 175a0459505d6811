/*
 * Any registers and any stack, unwound by the real rules of the C library. The
 * input is: flags, known registers (u64), then words: first the values of the
 * known registers, then the stack. So that more than noise comes of it, the top
 * byte of a word may ask for an address: 1 in the library's code, 2 in the
 * stack, 3 in code of no file.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/elf/elf_file.h"
#include "report/load/load.h"
#include "report/load/unwind/unwinder.h"
#include "tests/unit/forged.h"

enum {
	CODE = 0x10000000,
	ANONYMOUS = 0x60000000,
	ANONYMOUS_BYTES = 0x1000,
	STACK = 0x70000000,
	STACK_BYTES_MAX = 4096,
	EXACT = 1,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static struct profile *profile; /* of a process that maps the library's code, made once */
static uint64_t code_bytes;

static int find_library(struct dl_phdr_info *info, size_t size, void *path)
{
	(void)size;
	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	strncpy(path, info->dlpi_name, 4095);
	return 1;
}

static void put_library(struct writer *writer, const char *path)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_file *elf;
	struct err *err = elf_file_open(fd, &elf);
	if (err)
		abort();
	size_t count, build_id_len;
	const uint8_t *build_id = elf_file_build_id(elf, &build_id_len);
	struct layout_object object = {
		.kind = LAYOUT_OBJECT_FILE,
		.path = forged_string(writer, path),
		.build_id_len = (uint32_t)build_id_len,
	};
	memcpy(object.build_id, build_id, build_id_len);
	writer_object(writer, &object);
	const struct elf_segment *segment = elf_file_segments(elf, &count);
	while (count && !(segment->flags & PF_X))
		segment++, count--;
	if (!count)
		abort();
	code_bytes = segment->filesz;
	writer_mapping(
		writer, &(struct layout_mapping){1, 1, CODE, code_bytes, segment->offset, 0});
	elf_file_destroy(elf);
}

static bool make_profile(void)
{
	char path[4096] = "";
	struct bytes_buf file = {0};
	if (!dl_iterate_phdr(find_library, path))
		return false;
	struct writer *writer = forged_writer(&file);
	writer_process(writer, &(struct layout_process){.pid = 1});
	put_library(writer, path);
	uint32_t object =
		writer_object(writer, &(struct layout_object){.kind = LAYOUT_OBJECT_ANONYMOUS,
					      .path = forged_string(writer, "[anon]")});
	writer_mapping(writer,
		&(struct layout_mapping){1, object, ANONYMOUS, ANONYMOUS_BYTES, ANONYMOUS, 0});
	struct err *err = writer_flush(writer);
	writer_destroy(writer);
	CLEANUP_FD int fd = forged_fd(file.data, file.len);
	bytes_buf_deinit(&file);
	if (!err)
		err = profile_load(fd, NULL, &profile);
	if (err)
		abort();
	return true;
}

static uint64_t get_word(struct bytes_cursor *input)
{
	uint64_t word = bytes_get_u64(input), low = word & 0xffffffff;
	switch (word >> 56) {
	case 1:
		return CODE + low % code_bytes;
	case 2:
		return STACK + low % STACK_BYTES_MAX;
	case 3:
		return ANONYMOUS + low % ANONYMOUS_BYTES;
	default:
		return word;
	}
}

static void check(const struct unwound *unwound, uint32_t number)
{
	struct unwound_stack stack = unwound_at(unwound, number);
	if (stack.cause >= LAYOUT_TRUNCATED_END || stack.count > UNWINDER_MAX_FRAMES)
		abort();
	for (size_t i = 0; i < stack.count; i++) {
		struct layout_frame frame = unwound_frame(unwound, stack.frames[i]);
		if (!frame.object || frame.object >= profile->objects.len)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (!profile && !make_profile())
		return 0; /* a static program has no library */
	struct bytes_cursor input = bytes_cursor(bytes, len);
	uint64_t stack[STACK_BYTES_MAX / 8];
	uint32_t words = 0;
	struct layout_snapshot snapshot = {
		.process = 1,
		.is_exact = bytes_get_u8(&input) & EXACT,
		.known = bytes_get_u64(&input) & LAYOUT_REGISTERS_MASK,
		.stack_address = STACK,
		.stack = (const uint8_t *)stack,
	};
	for (int i = 0; i < LAYOUT_MAX_REGISTERS; i++)
		if (snapshot.known >> i & 1)
			snapshot.registers[i] = get_word(&input);
	while (bytes_left(&input) && words < STACK_BYTES_MAX / 8)
		stack[words++] = get_word(&input);
	snapshot.stack_bytes = words * 8;
	struct unwound unwound = {0};
	struct unwinder *unwinder = unwinder_create(profile, NULL, &unwound);
	uint32_t number = unwinder_take(unwinder, &snapshot);
	check(&unwound, number);
	if (unwinder_take(unwinder, &snapshot) != number)
		abort();
	unwinder_destroy(unwinder);
	unwound_deinit(&unwound);
	return 0;
}
