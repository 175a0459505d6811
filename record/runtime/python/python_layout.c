/*
 * Sources: offsetof() over the headers of CPython 3.6.15, 3.7.16, 3.8.18, 3.9.18, 3.10.13, 3.11.7,
 * 3.12.1 for x86-64; Include/internal/pycore_runtime.h of 3.13.0 and pycore_debug_offsets.h of
 * 3.14 and 3.15 (its numbers as Debian's 3.14.10 and 3.15.2 have them) for the offsets that the
 * interpreter tells; Include/cpython/unicodeobject.h of 3.13.5 and 3.14.10 for free-threaded
 * builds.
 */
#include "record/runtime/python/python_layout.h"

#include <string.h>

#include "format/base/bytes.h"

#define WORDS(first, last) ((2U << (last)) - (1U << (first)))

enum { /* of all versions, where objects have a count and a type first */
	OBJECT_TYPE = 8,
	TEXT_LENGTH = 16,
	TEXT_STATE = 32,
	TEXT_KIND_SHIFT = 2,
	BYTES_LENGTH = 16,
	BYTES_START = 32,
};

#define OBJECTS(ascii, compact) \
	.code_type_offset = OBJECT_TYPE, .text_length = TEXT_LENGTH, .text_state = TEXT_STATE, \
	.text_kind_shift = TEXT_KIND_SHIFT, .text_ascii = (ascii), .text_compact = (compact), \
	.bytes_length = BYTES_LENGTH, .bytes_start = BYTES_START

/* Frames are objects; struct _ts, PyFrameObject, PyCodeObject. */
#define OLD(first, running, thread, lasti, line, file, last_word) \
	{ \
		.flags = PYTHON_IS_RECURSIVE | PYTHON_HAS_LASTI | (first), \
		.frame_bytes = (lasti) + 8, .code_bytes = 8 * ((last_word) + 1), \
		.current = (running), .thread_frame = 24, .thread_id = (thread), .frame_code = 32, \
		.frame_previous = 24, .frame_place = (lasti), .code_first_line = (line), \
		.code_file = (file), .code_name = (file) + 8, .code_lines = (file) + 16, \
		.identity_words = WORDS(2, last_word), OBJECTS(48, 72), \
	}

static const struct python_row versions[] = {
	[6] = OLD(PYTHON_FRAME_IS_FIRST, 0, 152, 120, 36, 96, 14),
	[7] = OLD(PYTHON_FRAME_IS_FIRST, 1480, 176, 104, 36, 96, 14),
	[8] = OLD(PYTHON_FRAME_IS_FIRST, 1368, 176, 104, 40, 104, 15),
	[9] = OLD(0, 568, 176, 104, 40, 104, 15),
	[10] = OLD(0, 568, 176, 96, 40, 104, 15),
	[11] =
		{
			.flags = PYTHON_HAS_CFRAME,
			.frame_bytes = 72,
			.code_bytes = 144,
			.current = 576,
			.thread_frame = 56,
			.thread_id = 152,
			.cframe_frame = 8,
			.cframe_previous = 16,
			.frame_code = 32,
			.frame_previous = 48,
			.frame_place = 56,
			.frame_entry = 68,
			.entry_least = 1,
			.code_first_line = 72,
			.code_file = 112,
			.code_name = 128,
			.code_lines = 136,
			.code_start = 184,
			.identity_words = WORDS(3, 5) | WORDS(7, 17),
			OBJECTS(48, 72),
		},
	[12] =
		{
			.flags = PYTHON_HAS_CFRAME | PYTHON_HAS_SHIM,
			.frame_bytes = 72,
			.code_bytes = 144,
			.thread_frame = 56,
			.thread_id = 136,
			.cframe_frame = 0,
			.cframe_previous = 8,
			.frame_code = 0,
			.frame_previous = 8,
			.frame_place = 56,
			.frame_entry = 70,
			.entry_least = 3,
			.code_first_line = 68,
			.code_file = 112,
			.code_name = 128,
			.code_lines = 136,
			.code_start = 192,
			.identity_words = WORDS(3, 5) | WORDS(7, 17),
			OBJECTS(40, 56),
		},
};

bool python_layout_of_version(uint32_t minor, struct python_row *ret)
{
	if (minor >= sizeof(versions) / sizeof(*versions) || !versions[minor].code_bytes)
		return false;
	*ret = versions[minor];
	ret->version = (uint8_t)minor;
	return true;
}

/* Whether a string is interned has bits before that, or in later free-threaded builds a byte. */
static uint8_t kind_shift_of(uint8_t version)
{
	return version >= (PYTHON_FREE_THREADED | 14) ? 8 : TEXT_KIND_SHIFT;
}

void python_layout_of_texts(uint8_t version, struct python_row *ret)
{
	enum {
		MORE_OF_OBJECTS = 16
	}; /* owner, flags, two counts */
	bool is_free_threaded = version & PYTHON_FREE_THREADED;
	*ret = versions[version < 12 ? 11 : 12];
	if (!is_free_threaded)
		return;
	ret->text_kind_shift = kind_shift_of(version);
	uint8_t *offsets[] = {&ret->text_length, &ret->text_state, &ret->text_ascii,
		&ret->text_compact, &ret->bytes_length, &ret->bytes_start};
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		*offsets[i] += MORE_OF_OBJECTS;
}

/* ---- what the interpreter tells ---- */

enum {
	IS_FREE_THREADED = 2, /* a word's number, like those below */
};

/* Numbers of 64-bit words in struct _Py_DebugOffsets. */
struct words {
	uint8_t thread_frame, thread_id;
	uint8_t frame_previous, frame_code, frame_place, frame_owner;
	uint8_t code_file, code_name, code_lines, code_line, code_start;
	uint8_t object_type, bytes_length, bytes_start, text_state, text_length, text_bytes;
	uint8_t frame_copy, code_copies; /* 0: that version has none */
};

static const struct words *words_of(uint32_t minor)
{
	static const struct words words_13 = {
		.thread_frame = 23,
		.thread_id = 24,
		.frame_previous = 29,
		.frame_code = 30,
		.frame_place = 31,
		.frame_owner = 33,
		.code_file = 35,
		.code_name = 37,
		.code_lines = 38,
		.code_line = 39,
		.code_start = 43,
		.object_type = 45,
		.bytes_length = 65,
		.bytes_start = 66,
		.text_state = 68,
		.text_length = 69,
		.text_bytes = 70,
	};
	static const struct words words_14 = {
		.thread_frame = 26,
		.thread_id = 27,
		.frame_previous = 32,
		.frame_code = 33,
		.frame_place = 34,
		.frame_owner = 36,
		.code_file = 40,
		.code_name = 42,
		.code_lines = 43,
		.code_line = 44,
		.code_start = 48,
		.object_type = 51,
		.bytes_length = 75,
		.bytes_start = 76,
		.text_state = 78,
		.text_length = 79,
		.text_bytes = 80,
		.frame_copy = 38,
		.code_copies = 49,
	};
	static const struct words words_15 = {
		.thread_frame = 26,
		.thread_id = 30,
		.frame_previous = 40,
		.frame_code = 41,
		.frame_place = 42,
		.frame_owner = 44,
		.code_file = 48,
		.code_name = 50,
		.code_lines = 51,
		.code_line = 52,
		.code_start = 56,
		.object_type = 59,
		.bytes_length = 87,
		.bytes_start = 88,
		.text_state = 90,
		.text_length = 91,
		.text_bytes = 92,
		.frame_copy = 46,
		.code_copies = 57,
	};
	static const struct words *const all[] = {&words_13, &words_14, &words_15};
	uint32_t number = minor - PYTHON_DEBUG_OFFSETS_MINOR;
	return number < sizeof(all) / sizeof(*all) ? all[number] : NULL;
}

static uint64_t python_layout_word_at(const uint8_t *bytes, uint8_t number)
{
	struct bytes_cursor cursor = bytes_cursor(bytes + (size_t)number * 8, 8);
	return bytes_get_u64(&cursor);
}

static uint8_t small_at(const uint8_t *bytes, uint8_t number)
{
	uint64_t offset = python_layout_word_at(bytes, number);
	return offset < UINT8_MAX ? (uint8_t)offset : UINT8_MAX; /* which is_sound() refuses */
}

bool python_layout_of_offsets(
	const uint8_t bytes[PYTHON_DEBUG_OFFSETS_BYTES], uint32_t minor, struct python_row *ret)
{
	const struct words *words = words_of(minor);
	if (!words || memcmp(bytes, "xdebugpy", 8) != 0 ||
		python_layout_word_at(bytes, 1) >> 16 != 0x300 + minor)
		return false;
	bool is_free_threaded = python_layout_word_at(bytes, IS_FREE_THREADED);
	uint8_t version = (uint8_t)(minor | (is_free_threaded ? PYTHON_FREE_THREADED : 0U));
	*ret = (struct python_row){
		.version = version,
		.flags = PYTHON_HAS_SHIM,
		.thread_frame = (uint16_t)python_layout_word_at(bytes, words->thread_frame),
		.thread_id = (uint16_t)python_layout_word_at(bytes, words->thread_id),
		.frame_code = small_at(bytes, words->frame_code),
		.frame_previous = small_at(bytes, words->frame_previous),
		.frame_place = small_at(bytes, words->frame_place),
		.frame_entry = small_at(bytes, words->frame_owner),
		.entry_least = 3,
		.code_type_offset = small_at(bytes, words->object_type),
		.code_first_line = small_at(bytes, words->code_line),
		.code_file = small_at(bytes, words->code_file),
		.code_name = small_at(bytes, words->code_name),
		.code_lines = small_at(bytes, words->code_lines),
		.code_start = (uint16_t)python_layout_word_at(bytes, words->code_start),
		.bytes_length = small_at(bytes, words->bytes_length),
		.bytes_start = small_at(bytes, words->bytes_start),
		.text_length = small_at(bytes, words->text_length),
		.text_state = small_at(bytes, words->text_state),
		.text_kind_shift = kind_shift_of(version),
		.text_ascii = small_at(bytes, words->text_bytes),
	};
	if (is_free_threaded && words->frame_copy) {
		ret->frame_copy = small_at(bytes, words->frame_copy);
		ret->code_copies = (uint16_t)python_layout_word_at(bytes, words->code_copies);
	}
	ret->text_compact = (uint8_t)(ret->text_ascii + 16); /* the length in UTF-8, and that */
	ret->frame_bytes = (uint8_t)(ret->frame_entry / 8 * 8 + 8);
	ret->code_bytes = (uint8_t)(ret->code_lines + 8);
	/* All but the count of references, the type, and what is counted or patched. */
	uint32_t first = ret->code_type_offset / 8 + 2U, last = ret->code_lines / 8;
	ret->identity_words = last < 31 && first < last ? WORDS(first, last) : 0;
	ret->identity_words &= ~(1U << (first + 3)); /* co_flags */
	return python_layout_is_sound(ret);
}

bool python_layout_is_sound(const struct python_row *row)
{
	const uint8_t in_frame[] = {row->frame_code, row->frame_previous, row->frame_place,
		row->frame_entry, row->frame_copy};
	uint32_t minor = row->version & ~(uint32_t)PYTHON_FREE_THREADED;
	const uint8_t in_code[] = {row->code_type_offset, row->code_first_line, row->code_name,
		row->code_file, row->code_lines};
	bool is_sound = minor >= PYTHON_FIRST_MINOR && minor <= PYTHON_LAST_MINOR &&
			row->frame_bytes <= PYTHON_FRAME_BYTES && row->frame_bytes &&
			row->code_bytes && row->text_kind_shift < 32 && row->identity_words;
	for (size_t i = 0; i < sizeof(in_frame); i++)
		is_sound &= in_frame[i] < row->frame_bytes;
	for (size_t i = 0; i < sizeof(in_code); i++)
		is_sound &= in_code[i] < row->code_bytes;
	return is_sound;
}
