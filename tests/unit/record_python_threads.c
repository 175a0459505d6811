/* Names of Python's threads, from objects that are forged in this process, as versions have them.
 */
#include "record/runtime/python/python_threads.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/runtime/python/python_row.h"
#include "tests/unit/unit.h"

enum {
	WORDS = 1024,
	THREADS = 2
};

static uint64_t forged_memory[64][WORDS];
static size_t nr_forged;

struct forged_python {
	uint8_t minor;
	uint64_t more; /* of each object's head: of free-threaded builds */
	uint64_t *runtime;
	uint64_t *active_keys;    /* of threading._active */
	uint64_t *attribute_keys; /* of threads: "_target" is the first one */
};

static uint64_t *forge(void)
{
	return memset(forged_memory[nr_forged++], 0, sizeof(*forged_memory));
}

static void put_u64(void *object, uint64_t at, uint64_t value)
{
	memcpy((char *)object + at, &value, sizeof(value));
}

static uint64_t address_of(const void *object)
{
	return (uint64_t)(uintptr_t)object;
}

static uint64_t forge_text(const struct forged_python *of, const char *text)
{
	char *object = (char *)forge();
	bool is_later = of->more && of->minor >= 14;
	put_u64(object, 16 + of->more, strlen(text));
	put_u64(object, 32 + of->more, is_later ? (1 | 8 | 16) << 8 : (1 | 8 | 16) << 2);
	strcpy(object + (of->minor < 12 ? 48 : 40) + of->more, text);
	return address_of(object);
}

static uint64_t forge_number(const struct forged_python *of, uint32_t number)
{
	uint64_t *object = forge();
	put_u64(object, 16 + of->more, of->minor < 12 ? 1 : 1 << 3);
	put_u64(object, 24 + of->more, number);
	return address_of(object);
}

/* Keys and, unless they stand apart, values. */
static uint64_t *forge_keys(const struct forged_python *of, bool are_strings, const uint64_t *keys,
	const uint64_t *values, uint64_t count)
{
	uint64_t *table = forge();
	bool is_old = of->minor < 11, has_hash = is_old || !are_strings;
	put_u64(table, 8, is_old ? 8 : 3 | 3 << 8 | (uint64_t)are_strings << 16);
	put_u64(table, is_old ? 32 : 24, count);
	uint64_t at = is_old ? 48 : 40;
	for (uint64_t i = 0; i < count; i++, at += has_hash ? 24 : 16) {
		put_u64(table, at + (has_hash ? 8 : 0), keys[i]);
		put_u64(table, at + (has_hash ? 16 : 8), values ? values[i] : 0);
	}
	return table;
}

static uint64_t forge_dict(const struct forged_python *of, uint64_t keys)
{
	uint64_t *object = forge();
	put_u64(object, 32 + of->more, keys);
	return address_of(object);
}

static uint64_t forge_dict_of(const struct forged_python *of, const char *key, uint64_t value)
{
	uint64_t text = forge_text(of, key);
	return forge_dict(of, address_of(forge_keys(of, true, &text, &value, 1)));
}

/* A thread's attributes are where most instances of the version have them. */
static uint64_t forge_thread(struct forged_python *of, const char *name, uint32_t number)
{
	uint64_t *type = forge(), *values = forge();
	char *object = (char *)(forge() + 8);
	uint64_t keys[] = {
		forge_text(of, "_target"), forge_text(of, "_name"), forge_text(of, "_native_id")};
	of->attribute_keys = forge_keys(of, true, keys, NULL, 3);
	uint64_t at_keys = address_of(of->attribute_keys);
	uint64_t text = forge_text(of, name), id = forge_number(of, number);
	put_u64(object, 8 + of->more, address_of(type));
	put_u64(type, 32 + of->more, 48);
	put_u64(type, 168 + of->more,
		of->minor < 11   ? 0
		: of->minor < 13 ? 1 << 4
				 : 1 << 4 | 1 << 2);
	put_u64(type, 288 + of->more, of->minor < 11 ? 16 : UINT64_MAX);
	put_u64(type, (of->minor == 11 ? 872 : 880) + of->more, at_keys);
	void *in = of->minor < 13 ? (char *)values : object + 48;
	uint64_t first = of->minor < 13 ? 0 : 8;
	if (of->minor >= 13)
		put_u64(in, 0, 3 | 3 << 8 | 1 << 16 | 1 << 24);
	put_u64(in, first + 8, text);
	put_u64(in, first + 16, id);
	if (of->minor < 11) {
		uint64_t dict = forge_dict(of, at_keys);
		put_u64((void *)(uintptr_t)dict, 40, address_of(values));
		put_u64(object, 16, dict);
	} else if (of->minor < 13) {
		put_u64(object - (of->minor == 11 ? 32 : 24), 0,
			of->minor == 11 ? address_of(values) : address_of(values) - 1);
	}
	return address_of(object);
}

static void forge_python(struct forged_python *of, uint8_t minor, bool is_free_threaded)
{
	static const struct {
		uint64_t head, modules;
	} layout[] = {[8] = {32, 56},
		[9] = {32, 856},
		[10] = {32, 856},
		[11] = {40, 888},
		[12] = {40, 944},
		[13] = {632, 7656},
		[14] = {640, 7664}};
	nr_forged = 0;
	*of = (struct forged_python){.minor = minor, .more = is_free_threaded ? 16 : 0};
	of->runtime = forge();
	uint64_t *interpreter = forge(), *module = forge();
	uint64_t keys[THREADS] = {forge_number(of, 7000001), forge_number(of, 7000002)};
	uint64_t threads[THREADS] = {
		forge_thread(of, "MainThread", 41), forge_thread(of, "loader", 42)};
	of->active_keys = forge_keys(of, false, keys, threads, THREADS);
	put_u64(module, 16 + of->more,
		forge_dict_of(of, "_active", forge_dict(of, address_of(of->active_keys))));
	put_u64(of->runtime, layout[minor].head, address_of(interpreter));
	put_u64(interpreter, layout[minor].modules,
		forge_dict_of(of, "threading", address_of(module)));
	of->runtime[5] = minor < 13 ? of->runtime[5] : layout[minor].head;
	of->runtime[8] = minor < 13 ? 0 : 7264;
	if (minor >= 13)
		of->runtime[minor == 13 ? 11 : 12] = layout[minor].modules;
}

/* "41=MainThread 42=loader " */
static void read_forged(const struct forged_python *of, char ret[256])
{
	struct runtime_row row = {.kind = RUNTIME_PYTHON};
	struct python_row *python = (void *)row.words;
	struct bytes_buf read = {0};
	python->version = (uint8_t)(of->minor | (of->more ? PYTHON_FREE_THREADED : 0));
	python->runtime = address_of(of->runtime) + 0x1000;
	python_threads_read((uint32_t)getpid(), 0x1000, &row, &read);
	struct bytes_cursor cursor = bytes_cursor(read.data, read.len);
	ret[0] = '\0';
	while (bytes_left(&cursor)) {
		uint32_t tid = bytes_get_u32(&cursor), len = bytes_get_u32(&cursor);
		const char *name = (const char *)bytes_get(&cursor, len);
		if (!name)
			return;
		snprintf(ret + strlen(ret), 256 - strlen(ret), "%u=%.*s ", tid, (int)len, name);
	}
	bytes_buf_deinit(&read);
}

TEST(threads_have_the_names_that_python_gives_them)
{
	static const struct {
		uint8_t minor;
		bool is_free_threaded;
	} cases[] = {{8, false}, {9, false}, {10, false}, {11, false}, {12, false}, {13, false},
		{13, true}, {14, false}, {14, true}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct forged_python python;
		char got[256];
		forge_python(&python, cases[i].minor, cases[i].is_free_threaded);
		read_forged(&python, got);
		CHECK_STR(got, "41=MainThread 42=loader ");
	}
}

TEST(keys_behind_one_that_cannot_be_read_are_found)
{
	struct forged_python python;
	char got[256];
	forge_python(&python, 12, false);
	put_u64(python.attribute_keys, 40, 8); /* of the last thread */
	read_forged(&python, got);
	CHECK_STR(got, "41=MainThread 42=loader ");
}

/* It wrote what it likes: tables of any size, lists in a circle, addresses that are none. */
TEST(a_hostile_python_has_no_names)
{
	struct forged_python python;
	char got[256];
	forge_python(&python, 11, false);
	put_u64(python.active_keys, 24, UINT64_MAX);
	read_forged(&python, got);
	CHECK_STR(got, "");
	forge_python(&python, 11, false);
	put_u64(python.active_keys, 8, 0xff00);
	read_forged(&python, got);
	CHECK_STR(got, "");
	forge_python(&python, 9, false);
	put_u64(python.active_keys, 8, UINT64_MAX);
	read_forged(&python, got);
	CHECK_STR(got, "");
	forge_python(&python, 12, false);
	put_u64(python.active_keys, 40 + 16, 0x10);
	read_forged(&python, got);
	CHECK_STR(got, "42=loader ");
	forge_python(&python, 9, false);
	uint64_t *interpreter = (uint64_t *)(uintptr_t)python.runtime[4];
	put_u64(interpreter, 0, address_of(interpreter));
	read_forged(&python, got); /* ends */
	CHECK(strstr(got, "42=loader "));
	forge_python(&python, 13, false);
	python.runtime[5] = UINT64_MAX / 2;
	read_forged(&python, got);
	CHECK_STR(got, "");
}
