/* What the recorder makes of Java's names, lines, and methods that are inlined in each other. */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/event.h"
#include "bpf/runtime/java/java_row.h"
#include "format/file/layout.h"
#include "record/runtime/java/java_layout.h"
#include "record/runtime/java/java_lines.h"
#include "record/runtime/java/java_names.h"
#include "record/runtime/java/java_scopes.h"
#include "record/runtime/java/java_stubs.h"
#include "record/runtime/runtime_inlined.h"
#include "record/script/script_table.h"
#include "tests/unit/unit.h"

static void check_texts(
	const char *name, const char *file, const char *want_name, const char *want_file)
{
	CLEANUP(str_deinit) struct str names = {0};
	CLEANUP(str_deinit) struct str files = {0};
	str_write(&names, name, strlen(name));
	str_write(&files, file, strlen(file));
	java_names_put_texts(&names, &files);
	CHECK_STR(str_text(&names), want_name);
	CHECK_STR(str_text(&files), want_file);
}

TEST(names_of_methods_have_dots_and_files_their_package)
{
	check_texts("java/util/HashMap.put", "HashMap.java", "java.util.HashMap.put",
		"java/util/HashMap.java");
	check_texts("Main.main", "Main.java", "Main.main", "Main.java");
	check_texts("a/Main$$Lambda/0x00007f.run", "", "a.Main$$Lambda.run", "");
	check_texts("a/Main$$Lambda+0x00007f.run", "", "a.Main$$Lambda.run", "");
	check_texts("a/Main/0x.run", "", "a.Main.0x.run", "");
	check_texts("a/B.of([Lc/D;I)V", "B.java", "a.B.of([Lc/D;I)V", "a/B.java");
	check_texts("a/B.of([Lc/D;I)[Lc/D", "", "a.B.of", ""); /* cut */
	check_texts("a/B.of([Lc/D", "", "a.B.of", "");
	check_texts("a/B.a (b/c)([Lc/D;)[[I", "", "a.B.a (b/c)([Lc/D;)[[I", "");
	check_texts("a/b+0x1/0x2.c/d.e(Lf/G;)V", "", "a.b+0x1.c.d.e(Lf/G;)V", "");
	check_texts("", "B.java", "", "B.java");
	check_texts("StubRoutines (1)", "", "stub", "");
	check_texts("vtable chunks", "", "vtable stub", "");
	check_texts("Shared Runtime deopt_blob", "", "deoptimization stub", "");
	check_texts("jint_fill", "", "jint_fill", "");
}

static uint32_t java_line_at(uint8_t version, const char *bytes, size_t len, uint32_t place)
{
	struct runtime_lines lines = {
		.version = version, .bytes = (const uint8_t *)bytes, .len = len};
	struct runtime_line_marks marks;
	runtime_line_marks_init(&marks, &lines, java_lines_next);
	uint32_t line = runtime_line_marks_find(&marks, &lines, java_lines_next, place);
	runtime_line_marks_deinit(&marks);
	return line;
}

/* (0, 7), (4, 9), then by whole numbers (10, 8): a line back. */
TEST(lines_of_java_count_on_from_each_other)
{
	static const char table[] = "\x07\x22\xff\x0c\x01\0", later[] = "\x07\x22\xff\x0d\x02\0";
	CHECK_INT(java_line_at(17, table, 6, 0), 7);
	CHECK_INT(java_line_at(17, table, 6, 3), 7);
	CHECK_INT(java_line_at(17, table, 6, 4), 9);
	CHECK_INT(java_line_at(17, table, 6, 10), 8);
	CHECK_INT(java_line_at(17, table, 6, 1000), 8);
	CHECK_INT(java_line_at(21, later, 6, 10), 8);
	CHECK_INT(java_line_at(17, table, 3, 10), 9); /* cut */
	CHECK_INT(java_line_at(17, "", 0, 0), 0);
}

/* outer() [line 5] has inner() [line 9] inlined in it at place 16, and is alone at 32. */
static void put_inlined(struct bytes_buf *out, bool knows_leaves)
{
	struct runtime_inlined inlined = {.knows_leaves = knows_leaves};
	static const struct runtime_inlined_function functions[] = {
		{"A.outer", "A.java", 7, 6}, {"b/B.inner", "B.java", 9, 6}};
	static const struct runtime_inlined_scope scopes[] = {{0, 5, 0}, {1, 9, 1}, {0, 6, 0}};
	static const struct runtime_inlined_place places[] = {{16, 2}, {32, 3}};
	for (size_t i = 0; i < 2; i++)
		vec_push(&inlined.functions, functions[i]);
	for (size_t i = 0; i < 3; i++)
		vec_push(&inlined.scopes, scopes[i]);
	for (size_t i = 0; i < 2; i++)
		vec_push(&inlined.places, places[i]);
	runtime_inlined_put(out, &inlined);
	runtime_inlined_deinit(&inlined);
}

TEST(inlined_functions_are_found_by_place)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	struct runtime_inlined inlined;
	bool is_exact;
	put_inlined(&bytes, false);
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	CHECK_INT(runtime_inlined_find(&inlined, 16, false, &is_exact), 2);
	CHECK(is_exact);
	CHECK_INT(runtime_inlined_find(&inlined, 17, false, &is_exact), 3);
	CHECK(!is_exact);
	CHECK_INT(runtime_inlined_find(&inlined, 33, false, &is_exact), RUNTIME_INLINED_NONE);
	runtime_inlined_deinit(&inlined);
	for (size_t len = 0; len < bytes.len; len++)
		CHECK(!runtime_inlined_get(bytes.data, len, &inlined));
}

/* Where code was interrupted, the next place is a guess, or where the code before it ends. */
TEST(inlined_functions_of_a_leaf_are_guessed_or_known)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	struct runtime_inlined inlined;
	bool is_exact;
	for (int knows_leaves = 0; knows_leaves < 2; knows_leaves++) {
		bytes.len = 0;
		put_inlined(&bytes, knows_leaves);
		CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
		CHECK_INT(runtime_inlined_find(&inlined, 15, true, &is_exact), 2);
		CHECK_INT(is_exact, knows_leaves);
		CHECK_INT(runtime_inlined_find(&inlined, 16, true, &is_exact), 2 + knows_leaves);
		CHECK_INT(is_exact, knows_leaves);
		CHECK_INT(
			runtime_inlined_find(&inlined, 33, true, &is_exact), RUNTIME_INLINED_NONE);
		CHECK(!is_exact);
		runtime_inlined_deinit(&inlined);
	}
}

/* Where a compiler knows other places of leaves than of calls, the former are ranges. */
TEST(leaves_may_have_places_of_their_own)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf without = {0}, bytes = {0};
	struct runtime_inlined inlined;
	bool is_exact;
	put_inlined(&without, false);
	CHECK(runtime_inlined_get(without.data, without.len, &inlined));
	static const struct runtime_inlined_place leaves[] = {{20, 1}, {40, 2}};
	for (size_t i = 0; i < 2; i++)
		vec_push(&inlined.leaf_places, leaves[i]);
	runtime_inlined_put(&bytes, &inlined);
	struct runtime_inlined read;
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &read));
	CHECK_INT(runtime_inlined_find(&read, 16, true, &is_exact), 1);
	CHECK(!is_exact);
	CHECK_INT(runtime_inlined_find(&read, 21, true, &is_exact), 2);
	CHECK_INT(runtime_inlined_find(&read, 41, true, &is_exact), RUNTIME_INLINED_NONE);
	CHECK_INT(runtime_inlined_find(&read, 16, false, &is_exact), 2);
	CHECK(is_exact);
	for (size_t len = 0; len < bytes.len; len++) {
		struct runtime_inlined cut;
		CHECK(!runtime_inlined_get(bytes.data, len, &cut));
	}
	runtime_inlined_deinit(&read);
	runtime_inlined_deinit(&inlined);
}

/* A scope that is inlined in one behind it, and a place of a scope that there is not. */
TEST(inlined_functions_that_make_no_sense_are_refused)
{
	struct runtime_inlined inlined;
	CHECK(!runtime_inlined_get((const uint8_t *)"\1\1a\0\1\0\1\1\0\0\0\0", 12, &inlined));
	CHECK(!runtime_inlined_get((const uint8_t *)"\1\1a\0\1\0\1\0\0\0\1\4\2\0", 14, &inlined));
	CHECK(!runtime_inlined_get((const uint8_t *)"\1\1a\0\1\1\1\0\0\0\0\0", 12, &inlined));
	CHECK(!runtime_inlined_get(
		(const uint8_t *)"\1\1a\0\1\0\1\0\0\0\1\4\1\1\4\2", 16, &inlined));
	CHECK(runtime_inlined_get((const uint8_t *)"\1\1a\0\1\0\1\0\0\0\1\4\1\0", 14, &inlined));
	runtime_inlined_deinit(&inlined);
}

/* ---- what is read of a process: this one ---- */

struct symbol {
	uint16_t len;
	char text[30];
};

struct class
{
	uint64_t name;
};

struct pool {
	uint64_t holder;
	uint16_t source_file, zero[3];
	uint64_t symbols[4];
};

struct const_method {
	uint64_t constants;
	uint16_t name, bytes, flags, zero;
	uint8_t bytecodes[16];
	uint8_t lines[32];
};

struct method {
	uint64_t const_method;
};

static struct symbol outer_name = {5, "outer"}, inner_name = {5, "inner"}, class_name = {3, "a/B"},
		     file_name = {6, "B.java"};
static struct class class_of_both;
static struct pool pool;
static struct const_method outer_const, inner_const;
static struct method outer_method, inner_method;

static void make_methods(void)
{
	class_of_both.name = (uintptr_t)&class_name;
	pool = (struct pool){.holder = (uintptr_t)&class_of_both,
		.source_file = 2,
		.symbols = {
			(uintptr_t)&outer_name, (uintptr_t)&inner_name, (uintptr_t)&file_name | 1}};
	outer_const = (struct const_method){.constants = (uintptr_t)&pool,
		.bytes = 16,
		.flags = 1,
		.lines = {0x07, 0x22}}; /* 7; from place 4 on 9 */
	inner_const = outer_const;
	inner_const.name = 1;
	inner_const.lines[0] = 0x06;
	outer_method.const_method = (uintptr_t)&outer_const;
	inner_method.const_method = (uintptr_t)&inner_const;
}

TEST(inlined_methods_are_read)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	struct runtime_inlined inlined;
	bool is_exact;
	make_methods();
	/* At 1: outer, place 5. At 4: inner in it, place 0. The numbers are of JDK 17. */
	static const uint8_t data[] = {0, 0, 1, 6, 1, 2, 1};
	const int32_t places[3][4] = {{-1, 0}, {16, 4}, {32, 1}};
	const uint64_t metadata[2] = {(uintptr_t)&outer_method, (uintptr_t)&inner_method};
	/* The block's length and whether it is in use, then the compiled method. */
	uint64_t block[] = {5, 1, 0x1234, 77};
	struct java_scopes given = {.at = (uintptr_t)&block[2],
		.method = 0x1234,
		.number = 77,
		.compile_id = 8,
		.places = (uintptr_t)places,
		.places_end = (uintptr_t)places + sizeof(places),
		.data = (uintptr_t)data,
		.data_end = (uintptr_t)data + sizeof(data),
		.metadata = (uintptr_t)metadata,
		.name_index = 8,
		.bytecode_bytes = 10,
		.method_flags = 12,
		.source_file_index = 8,
		.symbol_body = 2,
		.const_method_bytes = 16,
		.pool_bytes = 16,
		.version = 17,
		.signature_index = JAVA_NOT_FOUND};
	CHECK(java_scopes_read((uint32_t)getpid(), &given, sizeof(given), &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	uint32_t scope = runtime_inlined_find(&inlined, 16, false, &is_exact);
	CHECK(is_exact && scope);
	if (scope) {
		const struct runtime_inlined_scope *inner = &inlined.scopes.data[scope - 1];
		const struct runtime_inlined_function *function =
			&inlined.functions.data[inner->function];
		CHECK_INT(inner->line, 6);
		CHECK_INT(function->name_len, 9);
		CHECK(memcmp(function->name, "a/B.inner", 9) == 0);
		CHECK(memcmp(function->file, "B.java", 6) == 0);
		CHECK_INT(inlined.scopes.data[inner->caller - 1].line, 9);
	}
	runtime_inlined_deinit(&inlined);
	for (int i = 1; i < 4; i++) { /* freed, of another method, or another compilation */
		uint64_t word = block[i];
		block[i] = 0;
		CHECK(!java_scopes_read((uint32_t)getpid(), &given, sizeof(given), &bytes));
		block[i] = word;
	}
	given.places_end = given.places - 16;
	CHECK(!java_scopes_read((uint32_t)getpid(), &given, sizeof(given), &bytes));
	given.data = 8;
	CHECK(!java_scopes_read((uint32_t)getpid(), &given, sizeof(given), &bytes));
	CHECK(!java_scopes_read((uint32_t)getpid(), &given, 7, &bytes));
}

/* ---- stubs ---- */

struct stub {
	struct stub *next;
	const char *group, *name;
	uint64_t start, end;
};

/* Variables of a virtual machine, one of which points to its stubs; far from there they lie. */
static struct {
	uint64_t heaps, other;
	struct stub *list;
} variables;

TEST(stubs_are_found_and_called_by_their_names)
{
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	struct runtime_inlined inlined;
	bool is_exact;
	uint64_t heaps = (uintptr_t)&variables;
	void *far_away = (void *)(((uintptr_t)&variables & ~0xffffUL) + (1UL << 30));
	struct stub *stubs =
		mmap(far_away, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stubs != MAP_FAILED);
	stubs[0] = (struct stub){
		&stubs[1], "StubRoutines", "Stub Generator jint_fill_stub", 0x1040, 0x1060};
	stubs[1] = (struct stub){&stubs[2], "StubRoutines", "mask", 0x1038, 0x1038};
	stubs[2] = (struct stub){NULL, "StubRoutines", "call_stub", 0x1000, 0x1030};
	variables.other = (uintptr_t)&stubs[4]; /* what is no list */
	variables.list = stubs;
	CHECK_INT(java_stubs_find((uint32_t)getpid(), heaps, 0x1010), (uintptr_t)&variables.list);
	CHECK_INT(java_stubs_find((uint32_t)getpid(), heaps, 0x1100), 0); /* none has it */
	struct java_stubs given = {
		.list = (uintptr_t)&variables.list, .code = 0x1000, .end = 0x1080};
	CHECK(java_stubs_read((uint32_t)getpid(), &given, &bytes));
	CHECK(runtime_inlined_get(bytes.data, bytes.len, &inlined));
	uint32_t first = runtime_inlined_find(&inlined, 0, true, &is_exact);
	CHECK(is_exact && first);
	CHECK_INT(runtime_inlined_find(&inlined, 0x2f, false, &is_exact), first);
	CHECK_INT(runtime_inlined_find(&inlined, 0x30, true, &is_exact), RUNTIME_INLINED_NONE);
	uint32_t second = runtime_inlined_find(&inlined, 0x40, true, &is_exact);
	CHECK(second && second != first);
	CHECK_INT(runtime_inlined_find(&inlined, 0x60, true, &is_exact), RUNTIME_INLINED_NONE);
	const struct runtime_inlined_function *function =
		second ? &inlined.functions.data[inlined.scopes.data[second - 1].function] : NULL;
	CHECK(function && function->name_len == 9 && memcmp(function->name, "jint_fill", 9) == 0);
	runtime_inlined_deinit(&inlined);
	stubs[2].next = stubs; /* a circle ends */
	CHECK_INT(java_stubs_find((uint32_t)getpid(), heaps, 0x1010), 0);
	given.list = 8;
	CHECK(!java_stubs_read((uint32_t)getpid(), &given, &bytes));
	variables.list = NULL;
	munmap(stubs, 4096);
}

/* ---- what the script table makes of it ---- */

TEST(a_frame_is_that_of_all_functions_inlined_there)
{
	struct object_table objects = {0};
	struct script_table scripts;
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	script_table_init(&scripts, &objects);
	put_inlined(&bytes, false);
	struct {
		struct event_code head;
		char text[128];
	} code = {.head = {.type = EVENT_CODE,
			  .number = 9,
			  .kind = RUNTIME_JAVA,
			  .version = 17,
			  .is_inlined = true,
			  .bytes = {7, 0, 4},
			  .whole_bytes = {7, 0, 0}}};
	memcpy(code.text, "A.outer", 7);
	/* No process is read, for want of an address: what leads there is no table. */
	script_table_take(&scripts, &code.head, sizeof(code));
	uint64_t word = 9ULL << RUNTIME_FRAME_CODE_SHIFT | 16;
	struct script_frame frames[8];
	struct object *object;
	CHECK_INT(script_table_find_inlined(&scripts, word, &object, frames, 8), 1);
	struct script_place place;
	script_table_describe(&scripts, frames[0].offset, &place);
	CHECK_STR(place.name, "A.outer");
	script_table_deinit(&scripts);
	object_table_deinit(&objects);
}

/* Without the tables of a virtual machine there is nothing that completes a row. */
TEST(a_process_without_tables_completes_no_row)
{
	struct runtime_row row = {.kind = RUNTIME_JAVA}, before = row;
	static const uint64_t nothing[64];
	struct java_row *java = (void *)row.words;
	for (int i = 0; i < JAVA_SYMBOLS; i++)
		java->symbols[i] = (uint32_t)(i * 8);
	before = row;
	CHECK(!java_layout_complete((uint32_t)getpid(), -(uint64_t)(uintptr_t)nothing, &row));
	CHECK(memcmp(&row, &before, sizeof(row)) == 0);
}

/* ---- a row that is completed ---- */

struct vm_field {
	const char *type, *field;
	uint32_t is_static, zero;
	uint64_t offset;
	const void *address;
};

struct vm_type {
	const char *name;
	uint64_t size;
};

/* As they are kept for jstat: a head, one counter that is not looked for, and the one that is. */
struct vm_counter {
	int32_t bytes, name, elements;
	uint8_t type, flags, unit, variability;
	int32_t value;
	char text[28];
	int64_t count;
};

struct vm_counters {
	uint32_t magic, version;
	int32_t used, overflow;
	int64_t changed_ns;
	int32_t first, count;
	struct vm_counter counters[2];
};

static struct {
	uint64_t symbols[JAVA_SYMBOLS];
	struct vm_field fields[64];
	struct vm_type types[8];
	uint64_t heaps, call_stub_return, counters;
	uint32_t version;
} vm;

static void put_static(size_t *n, const char *type, const char *field, const void *address)
{
	vm.fields[(*n)++] =
		(struct vm_field){.type = type, .field = field, .is_static = 1, .address = address};
}

static void make_vm(const struct vm_counters *counters)
{
	size_t nr_fields = 0, nr_types = 0;
	static const uint64_t symbols[JAVA_SYMBOLS] = {
		[JAVA_STRUCTS_STRIDE] = sizeof(struct vm_field),
		[JAVA_STRUCTS_FIELD_NAME] = offsetof(struct vm_field, field),
		[JAVA_STRUCTS_IS_STATIC] = offsetof(struct vm_field, is_static),
		[JAVA_STRUCTS_OFFSET] = offsetof(struct vm_field, offset),
		[JAVA_STRUCTS_ADDRESS] = offsetof(struct vm_field, address),
		[JAVA_TYPES_STRIDE] = sizeof(struct vm_type),
		[JAVA_TYPES_SIZE] = offsetof(struct vm_type, size),
	};
	memset(&vm, 0, sizeof(vm));
	memcpy(vm.symbols, symbols, sizeof(symbols));
	vm.symbols[JAVA_STRUCTS] = (uintptr_t)vm.fields;
	vm.symbols[JAVA_TYPES] = (uintptr_t)vm.types;
#define X(member, of, name) \
	vm.fields[nr_fields] = \
		(struct vm_field){.type = of, .field = name, .offset = 8 * nr_fields}; \
	nr_fields++;
	JAVA_OFFSETS(X)
#undef X
	put_static(&nr_fields, "CodeCache", "_heaps", &vm.heaps);
	put_static(&nr_fields, "StubRoutines", "_call_stub_return_address", &vm.call_stub_return);
	put_static(&nr_fields, "Abstract_VM_Version", "_vm_major_version", &vm.version);
	put_static(&nr_fields, "PerfMemory", "_start", &vm.counters);
#define X(member, name) vm.types[nr_types++] = (struct vm_type){name, 16};
	JAVA_SIZES(X)
#undef X
	vm.call_stub_return = 0x1010;
	vm.version = 17;
	vm.counters = (uintptr_t)counters;
}

static bool complete_vm_row(struct java_row *ret)
{
	struct runtime_row row = {.kind = RUNTIME_JAVA};
	struct java_row *java = (void *)row.words;
	for (int i = 0; i < JAVA_SYMBOLS; i++)
		java->symbols[i] = (uint32_t)((uintptr_t)&vm.symbols[i] - (uintptr_t)&vm);
	bool is_complete =
		java_layout_complete((uint32_t)getpid(), -(uint64_t)(uintptr_t)&vm, &row);
	*ret = *java;
	return is_complete;
}

TEST(a_process_completes_a_row)
{
	struct vm_counters counters = {
		.magic = 0xc0c0feca, .first = offsetof(struct vm_counters, counters), .count = 2};
	struct java_row row;
	for (size_t i = 0; i < 2; i++)
		counters.counters[i] = (struct vm_counter){.bytes = sizeof(struct vm_counter),
			.name = offsetof(struct vm_counter, text),
			.value = offsetof(struct vm_counter, count)};
	memcpy(counters.counters[1].text, JAVA_STOPS_NAME, sizeof(JAVA_STOPS_NAME));
	make_vm(&counters);
	CHECK(complete_vm_row(&row));
	CHECK(row.is_complete);
	CHECK_INT(row.version, 17);
	CHECK_INT(row.counters, (uintptr_t)&vm.counters - (uintptr_t)&vm);
	CHECK_INT(row.stops_counter, offsetof(struct vm_counters, counters[1].text));
	/* Counters that make no sense, or none: the row is complete without. */
	counters.counters[0].bytes = 0;
	CHECK(complete_vm_row(&row));
	CHECK_INT(row.stops_counter, 0);
	counters.counters[0].bytes = sizeof(struct vm_counter);
	counters.counters[1].value++;
	CHECK(complete_vm_row(&row));
	CHECK_INT(row.stops_counter, 0);
	counters.counters[1].value--;
	counters.magic++;
	CHECK(complete_vm_row(&row));
	CHECK_INT(row.stops_counter, 0);
	vm.counters = 0;
	CHECK(complete_vm_row(&row));
	CHECK_INT(row.counters, 0);
}
