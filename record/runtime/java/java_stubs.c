/*
 * Sources: src/java/share/runtime/stubCodeGenerator.{hpp,cpp} of JDK 11, 17, 21, 25: class
 * StubCodeDesc begins with the same five words in all of them. In 26 names say which generator made
 * the stub, and that it is one: "Stub Generator call_stub_stub".
 */
#include "record/runtime/java/java_stubs.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/runtime/java/java_row.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "format/unwind/unwind_machine.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

enum {
	MAX_STUBS = 4096,
	MAX_READS = 1 << 16,
	MAX_STUB_BYTES = 1 << 20,
	NAME_BYTES = 64,
	CHUNK_BYTES = 4096,
	/* The variables around one of them: .data ahead of it, .bss behind. */
	SEARCHED_BEHIND = 512 << 10,
	SEARCHED_AHEAD = 1 << 20,
	LIBRARY_BYTES = 64 << 20, /* at most: texts lie in it, the list itself does not */
};

struct stub {
	uint64_t next;
	uint64_t group, name;
	uint64_t start, end;
};

static bool is_near(uint64_t address, uint64_t variable)
{
	return address - variable + LIBRARY_BYTES < 2 * (uint64_t)LIBRARY_BYTES;
}

/* What a stub would look like, as far as it can be said without knowing the others. */
static bool is_stub(const struct stub *stub, uint64_t variable)
{
	return is_near(stub->group, variable) && is_near(stub->name, variable) &&
	       stub->start <= stub->end && stub->end - stub->start < MAX_STUB_BYTES;
}

struct search {
	uint32_t pid;
	uint64_t variable, call_stub_return;
	uint32_t reads_left; /* what points to no list may point to long ones of something else */
};

/* Whether the list that begins there is one, with the stub that is looked for. */
static bool is_list(struct search *search, uint64_t first)
{
	bool is_found = false;
	uint64_t at = first;
	for (int i = 0; at && i < MAX_STUBS; i++) {
		struct stub stub;
		if (at % sizeof(uint64_t) || !search->reads_left ||
			!runtime_read_process(search->pid, at, &stub, sizeof(stub)) ||
			!is_stub(&stub, search->variable))
			return false;
		search->reads_left--;
		is_found |= search->call_stub_return >= stub.start &&
			    search->call_stub_return <= stub.end;
		at = stub.next;
	}
	return is_found && !at;
}

/* In one piece of the variables: the one that points to the list; 0: none does. */
static uint64_t search_chunk(struct search *search, uint64_t chunk)
{
	uint64_t words[CHUNK_BYTES / sizeof(uint64_t)];
	if (!runtime_read_process(search->pid, chunk, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < CHUNK_BYTES / sizeof(*words); i++) {
		uint64_t word = words[i];
		bool may_be = word % sizeof(word) == 0 && word >> 16 &&
			      !(word >> UNWIND_ADDRESS_BITS) && !is_near(word, search->variable);
		if (may_be && is_list(search, word))
			return chunk + i * sizeof(*words);
	}
	return 0;
}

uint64_t java_stubs_find(uint32_t pid, uint64_t variable, uint64_t call_stub_return)
{
	struct search search = {pid, variable, call_stub_return, MAX_READS};
	uint64_t middle = variable - variable % CHUNK_BYTES;
	for (uint64_t i = 0; i < SEARCHED_AHEAD / CHUNK_BYTES; i++) {
		uint64_t list = search_chunk(&search, middle + i * CHUNK_BYTES);
		if (!list && i && i <= SEARCHED_BEHIND / CHUNK_BYTES)
			list = search_chunk(&search, middle - i * CHUNK_BYTES);
		if (list)
			return list;
	}
	return 0;
}

/* ---- reading ---- */

static int compare_stubs(const void *a, const void *b)
{
	const struct stub *left = a, *right = b;
	return left->start < right->start ? -1 : left->start > right->start;
}

static void put_place(struct runtime_inlined *made, uint64_t offset, uint32_t scope)
{
	struct runtime_inlined_place place = {.offset = (uint32_t)offset, .scope = scope};
	vec_push(&made->places, place);
}

/* As versions before 26 call it. */
static const char *shorten_stub_name(char name[NAME_BYTES])
{
	static const char generator[] = "Stub Generator ", kind[] = "_stub";
	size_t skipped = sizeof(generator) - 1, len = strnlen(name, NAME_BYTES - 1);
	name[len] = '\0';
	if (strncmp(name, generator, skipped) != 0)
		return name;
	if (len > skipped + sizeof(kind) - 1 && strcmp(name + len - (sizeof(kind) - 1), kind) == 0)
		name[len - (sizeof(kind) - 1)] = '\0';
	return name + skipped;
}

/* The stub ends where the next begins, and between them nothing is known. */
static void put_stub(struct runtime_inlined *made, const struct stub *stub, uint64_t code,
	uint64_t *known_to, const char *name)
{
	struct runtime_inlined_function function = {
		.name = name, .name_len = strlen(name), .file = ""};
	struct runtime_inlined_scope scope = {.function = (uint32_t)made->functions.len};
	if (stub->start < *known_to)
		return;
	if (stub->start > *known_to)
		put_place(made, stub->start - 1 - code, RUNTIME_INLINED_NONE);
	vec_push(&made->functions, function);
	vec_push(&made->scopes, scope);
	put_place(made, stub->end - 1 - code, (uint32_t)made->scopes.len);
	*known_to = stub->end;
}

bool java_stubs_read(uint32_t pid, const void *given, struct bytes_buf *ret)
{
	struct java_stubs stubs;
	VEC(struct stub) found = {0};
	CLEANUP(strtab_deinit) struct strtab texts = {0};
	struct runtime_inlined made = {.has_ranges = true, .knows_leaves = true};
	struct stub stub;
	uint64_t at = 0;
	memcpy(&stubs, given, sizeof(stubs));
	runtime_read_process(pid, stubs.list, &at, sizeof(at));
	for (int i = 0; at && i < MAX_STUBS; i++, at = stub.next) {
		if (!runtime_read_process(pid, at, &stub, sizeof(stub)))
			break;
		if (stub.start >= stubs.code && stub.end <= stubs.end && stub.start < stub.end)
			vec_push(&found, stub);
	}
	if (found.len)
		qsort(found.data, found.len, sizeof(*found.data), compare_stubs);
	uint64_t known_to = stubs.code;
	vec_each(&found, it) {
		char name[NAME_BYTES];
		if (!runtime_read_process(pid, it->name, name, sizeof(name)) || !*name)
			continue;
		const char *text = shorten_stub_name(name);
		uint32_t id = strtab_intern(&texts, text, strlen(text));
		put_stub(&made, it, stubs.code, &known_to, strtab_get(&texts, id));
	}
	runtime_inlined_put(ret, &made);
	bool is_read = made.places.len;
	runtime_inlined_deinit(&made);
	vec_deinit(&found);
	return is_read;
}
