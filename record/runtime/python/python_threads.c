/*
 * _PyRuntime leads to the interpreters, each of which has the modules that were imported; of
 * threading there is a dictionary _active, of all threads that run, and each of these objects knows
 * its name and, from 3.8 on, its number (_name, _native_id).
 *
 * Sources: Lib/threading.py of CPython 3.8 to 3.14; offsetof() over the internal headers
 * of 3.8.18, 3.9.18, 3.10.13, 3.11.7, 3.12.1; struct _Py_DebugOffsets from 3.13 on.
 */
#include "record/runtime/python/python_threads.h"

#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/runtime/python/python_layout.h"
#include "record/runtime/python/python_objects.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_INTERPRETERS = 64,
	MAX_NAME_CHARACTERS = 256,
	MODULE_DICT = 16, /* an offset in a module */
};

/* Where the list of interpreters begins in _PyRuntime; the rest are offsets in an interpreter. */
struct interpreter_layout {
	uint64_t head, next, modules;
};

static bool read_interpreter_layout(
	const struct python_memory *memory, uint64_t runtime, struct interpreter_layout *ret)
{
	static const struct interpreter_layout of_minor[] = {[8] = {32, 0, 56},
		[9] = {32, 0, 856},
		[10] = {32, 0, 856},
		[11] = {40, 0, 888},
		[12] = {40, 0, 944}};
	enum {
		WORD_HEAD = 5,
		WORD_NEXT = 8,
		WORD_MODULES = 11, /* one more from 3.14 on */
		WORDS
	};
	uint64_t words[WORDS + 1];
	uint32_t minor = memory->version & ~(uint32_t)PYTHON_FREE_THREADED;
	if (minor < PYTHON_DEBUG_OFFSETS_MINOR) {
		if (minor >= sizeof(of_minor) / sizeof(*of_minor) || !of_minor[minor].head)
			return false;
		*ret = of_minor[minor];
		return true;
	}
	if (!runtime_read_process(memory->pid, runtime, words, sizeof(words)))
		return false;
	*ret = (struct interpreter_layout){
		words[WORD_HEAD], words[WORD_NEXT], words[WORD_MODULES + (minor > 13)]};
	return true;
}

/* False: there is no such name in the dictionary at an address. */
static bool find_in_dict(
	const struct python_memory *memory, uint64_t dict, const char *key, uint64_t *ret)
{
	struct python_items items = {0};
	*ret = python_read_dict(memory, dict, &items) ? python_items_find(memory, &items, key) : 0;
	python_items_deinit(&items);
	return *ret;
}

/* What is no character, or would end the text. */
static bool is_character(uint32_t c)
{
	return c && c <= 0x10ffff && c >> 11 != 0x1b;
}

static void put_python_thread(
	uint32_t number, const struct runtime_text_bytes *text, struct bytes_buf *ret)
{
	CLEANUP(str_deinit) struct str name = {0};
	for (size_t i = 0; text->unit && i + text->unit <= text->len; i += text->unit) {
		uint32_t c = 0;
		for (uint8_t k = 0; k < text->unit && k < sizeof(c); k++)
			c |= (uint32_t)text->data[i + k] << 8 * k;
		str_put_code_point(&name, is_character(c) ? c : 0xfffd);
	}
	bytes_put_u32(ret, number);
	bytes_put_u32(ret, (uint32_t)name.len);
	bytes_put(ret, str_text(&name), name.len);
}

static void put_thread_of(
	const struct python_memory *memory, uint64_t thread, struct bytes_buf *ret)
{
	struct python_items attributes = {0};
	struct runtime_text_bytes text;
	uint32_t number;
	if (python_read_attributes(memory, thread, &attributes) &&
		python_read_number(
			memory, python_items_find(memory, &attributes, "_native_id"), &number) &&
		python_read_string(memory, python_items_find(memory, &attributes, "_name"), false,
			MAX_NAME_CHARACTERS, &text)) {
		put_python_thread(number, &text, ret);
		mem_free(text.data);
	}
	python_items_deinit(&attributes);
}

static void put_threads_of_interpreter(
	const struct python_memory *memory, uint64_t modules, struct bytes_buf *ret)
{
	uint64_t module, dict, active;
	uint64_t dict_at = MODULE_DICT + (memory->version & PYTHON_FREE_THREADED ? 16 : 0);
	struct python_items threads = {0};
	if (find_in_dict(memory, modules, "threading", &module) &&
		python_read_u64(memory, module + dict_at, &dict) &&
		find_in_dict(memory, dict, "_active", &active) &&
		python_read_dict(memory, active, &threads))
		vec_each(&threads.of, thread)
			put_thread_of(memory, thread->value, ret);
	python_items_deinit(&threads);
}

bool python_threads_read(
	uint32_t pid, uint64_t delta, const struct runtime_row *row, struct bytes_buf *ret)
{
	const struct python_row *python = (const void *)row->words;
	struct python_memory memory = {pid, python->version};
	struct interpreter_layout layout;
	uint64_t runtime = python->runtime - delta, interpreter, modules;
	if (!python->runtime || !read_interpreter_layout(&memory, runtime, &layout) ||
		!python_read_u64(&memory, runtime + layout.head, &interpreter))
		return false;
	for (int i = 0; i < MAX_INTERPRETERS && interpreter; i++) {
		if (python_read_u64(&memory, interpreter + layout.modules, &modules))
			put_threads_of_interpreter(&memory, modules, ret);
		if (!python_read_u64(&memory, interpreter + layout.next, &interpreter))
			break;
	}
	return true;
}
