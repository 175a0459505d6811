#include "record/unwind/unwind_ready_arm64.h"

#include <string.h>

#include "format/unwind/unwind_xdata.h"

enum {
	END = 0xe4, /* of codes */
	MAX_EPILOGUES = 1 << 12,
};

/* The record at hand. */
struct xdata_record {
	const struct clr_image *image;
	uint64_t at; /* in its bytes */
	struct unwind_xdata_head head;
};

/* The codes that begin so many bytes behind the first; how many there are. Negative: they cannot be
 * read, or are not understood. */
static int read_xdata_codes(
	const struct xdata_record *record, uint32_t from, uint8_t ret[UNWIND_XDATA_CODE_BYTES])
{
	memset(ret, END, UNWIND_XDATA_CODE_BYTES);
	if (from >= record->head.code_bytes)
		return -1;
	uint32_t len = record->head.code_bytes - from;
	if (len > UNWIND_XDATA_CODE_BYTES)
		len = UNWIND_XDATA_CODE_BYTES;
	if (!clr_bytes_copy(record->image->bytes, record->at + record->head.codes + from, ret, len))
		return -1;
	return unwind_xdata_count(ret);
}

/* A row wherever another instruction of the prologue has run, or of an epilogue. False: one is
 * beyond a rule. */
static bool put_xdata_rows(const struct unwind_epilogue_rows *rows, uint64_t into,
	const uint8_t codes[UNWIND_XDATA_CODE_BYTES], int count, bool is_prologue,
	struct unwind_rule *last)
{
	struct unwind_rule before = {0};
	for (int done = 0; done <= count; done++) {
		uint32_t skip = (uint32_t)(is_prologue ? count - done : done);
		uint64_t at = rows->start + into + (uint64_t)done * UNWIND_XDATA_INSN_BYTES;
		memset(last, 0, sizeof(*last));
		if (!unwind_xdata_rule(codes, skip, last))
			return false;
		if (memcmp(last, &before, sizeof(before)) != 0)
			rows->on_rule(rows->context, at, last);
		before = *last;
	}
	return true;
}

/* Of an epilogue; returns where it ends, what leaves the function included. 0: it is not
 * understood. */
static uint32_t put_xdata_epilogue(const struct xdata_record *record,
	const struct unwind_epilogue_rows *rows, uint32_t begin, uint32_t from)
{
	uint8_t codes[UNWIND_XDATA_CODE_BYTES];
	struct unwind_rule last;
	int count = read_xdata_codes(record, from, codes);
	if (count < 0)
		return 0;
	uint32_t bytes = ((uint32_t)count + 1) * UNWIND_XDATA_INSN_BYTES;
	if (begin == UNWIND_XDATA_NO_EPILOGUE) /* the function ends with it */
		begin = bytes < record->head.bytes ? record->head.bytes - bytes : 0;
	return put_xdata_rows(rows, begin, codes, count, false, &last) ? begin + bytes : 0;
}

static void put_xdata_epilogues(
	const struct xdata_record *record, const struct unwind_epilogue_rows *rows, uint32_t from)
{
	const struct unwind_xdata_head *head = &record->head;
	if (head->last != UNWIND_XDATA_NO_EPILOGUE) {
		put_xdata_epilogue(record, rows, UNWIND_XDATA_NO_EPILOGUE, head->last);
		return;
	}
	for (uint32_t i = 0; i < head->nr_epilogues && i < MAX_EPILOGUES; i++) {
		uint32_t word = clr_bytes_u32(
			record->image->bytes, record->at + head->epilogues + 4ULL * i);
		uint32_t begin = unwind_xdata_epilogue_begin(word);
		if (begin < from || begin >= head->bytes)
			return;
		if (i && begin > from)
			rows->on_rule(rows->context, rows->start + from, &rows->body);
		from = put_xdata_epilogue(record, rows, begin, unwind_xdata_epilogue_codes(word));
		if (!from)
			return;
	}
	if (head->nr_epilogues && from < head->bytes)
		rows->on_rule(rows->context, rows->start + from, &rows->body);
}

void unwind_ready_put_arm64(const struct clr_image *image, const struct clr_function *function,
	struct unwind_epilogue_rows *rows)
{
	struct xdata_record record = {.image = image};
	uint8_t codes[UNWIND_XDATA_CODE_BYTES];
	if (!clr_image_xdata(image, function, &record.at, &record.head))
		return;
	int count = read_xdata_codes(&record, 0, codes);
	if (count >= 0 && put_xdata_rows(rows, 0, codes, count, true, &rows->body))
		put_xdata_epilogues(&record, rows, (uint32_t)count * UNWIND_XDATA_INSN_BYTES);
}

void unwind_ready_put_arm64_thunks(const struct unwind_epilogue_rows *rows)
{
	struct unwind_rule rule = {0};
	struct unwind_xdata_state state = UNWIND_XDATA_STATE;
	if (unwind_xdata_put_rule(&state, &rule))
		rows->on_rule(rows->context, rows->start, &rule);
}
