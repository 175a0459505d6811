#include "record/unwind/unwind_ready.h"

#include <elf.h>
#include <string.h>

#include "format/base/bisect.h"
#include "format/base/mem.h"
#include "format/clr/clr_file.h"
#include "format/unwind/unwind_info.h"
#include "record/unwind/unwind_epilogue.h"
#include "record/unwind/unwind_ready_arm64.h"

enum {
	WINDOW_BYTES = 256 << 10,       /* of code, since functions come in order */
	MAX_FUNCTION_BYTES = 128 << 10, /* of a longer one, epilogues are found up to here */
};

/* An image of the file; functions of all of them are counted through. */
struct ready_image {
	struct clr_file_image *file;
	uint32_t first, count; /* its functions; behind them, what makes methods ready is one */
};

struct unwind_ready {
	struct elf_file *elf;
	VEC(struct ready_image) images;
	uint8_t *window;
	uint64_t window_address;
	size_t window_len;
};

/* Takes the image, if it has such code. */
static void unwind_ready_add_image(struct unwind_ready *ready, struct clr_file_image *file)
{
	uint32_t count = clr_image_count_functions(&file->image), first = unwind_ready_count(ready);
	if (!count || count >= UINT32_MAX - first) {
		clr_file_close(file);
		mem_free(file);
		return;
	}
	vec_push(&ready->images, (struct ready_image){file, first, count + 1});
}

struct unwind_ready *unwind_ready_open(struct elf_file *elf)
{
	size_t count = clr_file_count(elf);
	if (!count || (elf_file_machine(elf) != EM_X86_64 && elf_file_machine(elf) != EM_AARCH64))
		return NULL;
	struct unwind_ready *ready = mem_zalloc(sizeof(*ready));
	ready->elf = elf;
	for (size_t i = 0; i < count && !elf_file_is_stopped(elf); i++) {
		struct clr_file_image *file = mem_alloc(sizeof(*file));
		if (clr_file_open(elf, i, file))
			unwind_ready_add_image(ready, file);
		else
			mem_free(file);
	}
	if (!ready->images.len) {
		unwind_ready_destroy(ready);
		return NULL;
	}
	ready->window = mem_alloc(WINDOW_BYTES);
	return ready;
}

void unwind_ready_destroy(struct unwind_ready *ready)
{
	if (!ready)
		return;
	vec_each(&ready->images, image) {
		clr_file_close(image->file);
		mem_free(image->file);
	}
	vec_deinit(&ready->images);
	mem_free(ready->window);
	mem_free(ready);
}

uint32_t unwind_ready_count(const struct unwind_ready *ready)
{
	size_t count = ready->images.len;
	const struct ready_image *last = count ? &ready->images.data[count - 1] : NULL;
	return last ? last->first + last->count : 0;
}

/* The image of a function, whose number in it *index becomes. */
static const struct ready_image *ready_image_of(const struct unwind_ready *ready, uint32_t *index)
{
	const struct ready_image *images = ready->images.data;
	size_t at = bisect(ready->images.len, i, images[i].first <= *index) - 1;
	*index -= images[at].first;
	return &images[at];
}

static bool is_thunks(const struct ready_image *image, uint32_t index)
{
	return index + 1 == image->count;
}

static struct clr_function thunks_of(const struct clr_image *image)
{
	uint32_t begin = image->ready[CLR_READY_THUNKS].address;
	return (struct clr_function){begin, begin + image->ready[CLR_READY_THUNKS].len, 0};
}

bool unwind_ready_function(
	struct unwind_ready *ready, uint32_t index, uint64_t *start, uint64_t *end)
{
	const struct ready_image *image = ready_image_of(ready, &index);
	struct clr_function function = is_thunks(image, index)
					       ? thunks_of(&image->file->image)
					       : clr_image_function(&image->file->image, index);
	if (!function.end && !is_thunks(image, index) && !is_thunks(image, index + 1))
		function.end = clr_image_function(&image->file->image, index + 1).begin;
	if (function.end <= function.begin || !clr_file_address(image->file, function.begin, start))
		return false;
	*end = *start + (function.end - function.begin);
	return true;
}

static bool unwind_ready_begins_by(struct unwind_ready *ready, uint32_t index, uint64_t address)
{
	uint64_t start, end;
	return unwind_ready_function(ready, index, &start, &end) && start <= address;
}

static bool unwind_ready_holds(struct unwind_ready *ready, uint32_t index, uint64_t address)
{
	uint64_t start, end;
	return unwind_ready_function(ready, index, &start, &end) && start <= address &&
	       address < end;
}

bool unwind_ready_find(struct unwind_ready *ready, uint64_t address, uint32_t *index)
{
	vec_each(&ready->images, image) {
		uint32_t thunks = image->first + image->count - 1;
		size_t behind = bisect(image->count - 1, i,
			unwind_ready_begins_by(ready, image->first + (uint32_t)i, address));
		uint32_t last = image->first + (uint32_t)behind - 1;
		bool is_thunk = unwind_ready_holds(ready, thunks, address);
		*index = is_thunk ? thunks : last;
		if (is_thunk || (behind && unwind_ready_holds(ready, last, address)))
			return true;
	}
	return false;
}

/* `len` bytes of code, NULL where the file has none. */
static const uint8_t *unwind_ready_code_at(struct unwind_ready *ready, uint64_t address, size_t len)
{
	if (address >= ready->window_address &&
		address - ready->window_address <= ready->window_len &&
		len <= ready->window_len - (size_t)(address - ready->window_address))
		return ready->window + (address - ready->window_address);
	size_t count;
	uint64_t offset, left;
	const struct elf_segment *segments = elf_file_segments(ready->elf, &count);
	if (!elf_segments_vaddr_to_offset(segments, count, address, &offset, &left) || left < len)
		return NULL;
	size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	struct err *err = elf_file_read_into(ready->elf, offset, ready->window, want);
	ready->window_address = address;
	ready->window_len = err ? 0 : want;
	err_destroy(err);
	return ready->window_len ? ready->window : NULL;
}

/* ---- prologues ---- */

static bool read_unwind_info(
	struct clr_image *image, uint32_t index, uint8_t ret[UNWIND_INFO_BYTES])
{
	struct clr_function function = clr_image_function(image, index);
	uint64_t at;
	memset(ret, 0, UNWIND_INFO_BYTES);
	if (!clr_image_offset(image, function.unwind_info, &at) ||
		!clr_bytes_copy(image->bytes, at, ret, UNWIND_INFO_HEAD_BYTES))
		return false;
	size_t count = ret[2] < UNWIND_INFO_MAX_CODES ? ret[2] : UNWIND_INFO_MAX_CODES;
	return clr_bytes_copy(
		image->bytes, at + UNWIND_INFO_HEAD_BYTES, ret + UNWIND_INFO_HEAD_BYTES, 2 * count);
}

/* A row wherever another instruction of the prologue is done. */
static bool put_prologue(const uint8_t info[UNWIND_INFO_BYTES], struct unwind_epilogue_rows *rows)
{
	struct unwind_rule before = {0};
	for (unsigned offset = 0; offset <= info[1]; offset++) {
		if (!unwind_info_rule(info, offset, &rows->body))
			return false;
		if (memcmp(&rows->body, &before, sizeof(before)) != 0)
			rows->on_rule(rows->context, rows->start + offset, &rows->body);
		before = rows->body;
	}
	return true;
}

/* ---- the code that makes methods ready ---- */

static void put_thunk_row(const struct unwind_epilogue_rows *rows, uint64_t into,
	const struct unwind_info_state *state)
{
	struct unwind_rule rule = {0};
	unwind_info_put_rule(state, &rule);
	rows->on_rule(rows->context, rows->start + into, &rule);
}

/* lea x(rip), rax; push $x; push x(rip); jmp *x(rip): docs, "Delay load helper thunks". */
static void put_thunks(const struct unwind_epilogue_rows *rows, const uint8_t *code, size_t len)
{
	struct unwind_info_state state = UNWIND_INFO_STATE;
	put_thunk_row(rows, 0, &state);
	for (size_t at = 0; at + 2 <= len;) {
		bool is_push = code[at] == 0x6a || (code[at] == 0xff && code[at + 1] == 0x35);
		bool is_end = code[at] == 0xff && code[at + 1] == 0x25;
		at += code[at] == 0x6a ? 2 : code[at] == 0xff ? 6 : code[at] == 0x48 ? 7 : 1;
		if (is_push)
			state.size += 8;
		else if (is_end && state.size)
			state.size = 0;
		else
			continue;
		put_thunk_row(rows, at, &state);
	}
}

/* ---- a function ---- */

static void ready_run_x86_64(struct unwind_ready *ready, const struct ready_image *image,
	uint32_t index, uint64_t end, struct unwind_epilogue_rows *rows)
{
	uint8_t info[UNWIND_INFO_BYTES];
	struct unwind_epilogue epilogue;
	uint64_t bytes = end - rows->start;
	size_t len = bytes < MAX_FUNCTION_BYTES ? (size_t)bytes : MAX_FUNCTION_BYTES;
	const uint8_t *code = unwind_ready_code_at(ready, rows->start, len);
	if (is_thunks(image, index)) {
		if (code)
			put_thunks(rows, code, len);
	} else if (read_unwind_info(&image->file->image, index, info) && put_prologue(info, rows) &&
		   code && len > info[1] && unwind_epilogue_of_info(info, &epilogue)) {
		unwind_epilogue_put_all(&epilogue, rows, code, info[1], len);
	}
}

static void ready_run_arm64(
	const struct ready_image *image, uint32_t index, struct unwind_epilogue_rows *rows)
{
	const struct clr_image *clr = &image->file->image;
	if (is_thunks(image, index)) {
		unwind_ready_put_arm64_thunks(rows);
		return;
	}
	struct clr_function function = clr_image_function(clr, index);
	unwind_ready_put_arm64(clr, &function, rows);
}

uint64_t unwind_ready_run(
	struct unwind_ready *ready, uint32_t index, unwind_ready_on_rule *on_rule, void *context)
{
	uint64_t start, end;
	if (!unwind_ready_function(ready, index, &start, &end))
		return 0;
	struct unwind_epilogue_rows rows = {.start = start, .on_rule = on_rule, .context = context};
	const struct ready_image *image = ready_image_of(ready, &index);
	if (image->file->image.headers.machine == EM_AARCH64)
		ready_run_arm64(image, index, &rows);
	else
		ready_run_x86_64(ready, image, index, end, &rows);
	return end;
}
