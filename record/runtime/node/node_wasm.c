/*
 * An instance has the address of its module's jump table, in which each function has a jump to its
 * code: so code that begins where such a jump leads is that function's. A compiler that may be
 * followed by a better one puts the function's number into the code itself (V8 13 and later),
 * unless functions of WebAssembly are not inlined (--no-wasm-inlining); else the code of the
 * earlier compiler is known only if the table led to it when it was read before, or, on arm64, by
 * the budget that it counts down.
 *
 * The module's bytes, which have the names, V8 keeps in an object of C++, whose layout differs from
 * version to version: the NativeModule. It is searched for from the instance on, the nearest first,
 * and known by its jump table, a WasmCode, which leads both to the table and back to it. Shortly
 * ahead of the pointer to that it has the one to what has the bytes.
 *
 * Sources: src/wasm/{jump-table-assembler,wasm-objects,wasm-code-manager}.h of V8 10.2, 11.3, 12.4,
 * 13.6, 14.6; seen in Node.js 18.20, 20.20, 22.23, 24.21, 26.10: the bytes are 2 words ahead, the
 * NativeModule is among the first 720 places that are looked at.
 */
#include "record/runtime/node/node_wasm.h"

#include <string.h>

#include "format/base/bytes.h"
#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/base/vec.h"
#include "format/machine/arm64_insn.h"
#include "format/unwind/unwind_machine.h"
#include "record/runtime/node/wasm_module.h"
#include "record/runtime/runtime_memory.h"
#include "record/runtime/runtime_pages.h"

enum {
	LINE_BYTES = 64, /* of the jump table, which begins with one */
	CHUNK_BYTES = 4096,
	MAX_SLOTS = 1 << 20,
	JUMP = 0xe9, /* x86-64: jmp, and how far from its end */
	JUMP_BYTES = 5,
	ARM64_NUMBER_REGISTER = 8,
	ARM64_FRAME_INSNS = 4, /* that make a frame */
	ARM64_CODE_ALIGNMENT = 32,
	ARM64_BUDGET_INSNS = 6,          /* that count one down, at most */
	ARM64_SEARCHED_BYTES = 16 << 10, /* of code, for its budget */
	MAX_CODE_DISTANCE = 0x7fffffff,

	MAP_OBJECT_WORDS = 8, /* of a map: its objects' size, a byte */
	MAX_OBJECT_WORDS = 64,
	MAX_PLACES = 1 << 15, /* of the search */
	MAX_SEARCHED_PAGES = 1 << 14,
	BYTES_AHEAD = 8, /* words in which what has the bytes is looked for */

	HEAD_BYTES = 64, /* of a module */
	MAX_SECTIONS = 64,
	MAX_SECTION_BYTES = 4 << 20,
	MAX_KEPT_BYTES = 16 << 20,
	MAX_KEPT_MODULES = 32,
	MAX_KEPT_STARTS = 1 << 18,
};

static const uint8_t module_magic[] = {0, 'a', 's', 'm', 1, 0, 0, 0};

struct kept_module {
	uint32_t pid;
	uint64_t table;    /* its jump table's address */
	uint32_t nr_slots; /* of that */
	bool is_searched;
	bool is_found;            /* the bytes */
	uint64_t bytes;           /* ... where they are, */
	uint8_t head[HEAD_BYTES]; /* ... and how they begin */
	struct wasm_module module;
	struct bytes_buf sections[WASM_SECTIONS];
	struct map starts; /* of code -> its function's number in the table */
};

struct node_wasm {
	VEC(struct kept_module *) modules;
	size_t nr_bytes, nr_starts;
	struct runtime_pages *pages; /* of the function at hand: what leads to its module */
};

struct node_wasm *node_wasm_create(void)
{
	struct node_wasm *wasm = mem_zalloc(sizeof(*wasm));
	wasm->pages = runtime_pages_create();
	return wasm;
}

static size_t sections_len(const struct bytes_buf *sections)
{
	size_t len = 0;
	for (int i = 0; i < WASM_SECTIONS; i++)
		len += sections[i].len;
	return len;
}

static void deinit_sections(struct bytes_buf *sections)
{
	for (int i = 0; i < WASM_SECTIONS; i++)
		bytes_buf_deinit(&sections[i]);
}

static void forget_module(struct node_wasm *wasm, size_t at)
{
	struct kept_module *kept = wasm->modules.data[at];
	wasm->nr_bytes -= sections_len(kept->sections);
	wasm->nr_starts -= kept->starts.len;
	wasm_module_deinit(&kept->module);
	deinit_sections(kept->sections);
	map_deinit(&kept->starts);
	mem_free(kept);
	wasm->modules.len--;
	memmove(wasm->modules.data + at, wasm->modules.data + at + 1,
		(wasm->modules.len - at) * sizeof(*wasm->modules.data));
}

void node_wasm_destroy(struct node_wasm *wasm)
{
	if (!wasm)
		return;
	while (wasm->modules.len)
		forget_module(wasm, 0);
	vec_deinit(&wasm->modules);
	runtime_pages_destroy(wasm->pages);
	mem_free(wasm);
}

/* Makes room for one more: however large they are, they are read once, not for each function. */
static void trim_modules(struct node_wasm *wasm)
{
	while (wasm->modules.len &&
		(wasm->nr_bytes > MAX_KEPT_BYTES || wasm->modules.len >= MAX_KEPT_MODULES ||
			wasm->nr_starts > MAX_KEPT_STARTS))
		forget_module(wasm, 0);
}

/* ---- the jump table ---- */

struct jump_table {
	uint64_t address;
	uint32_t slot_bytes, nr_slots;
	bool is_arm64;
};

/* What code begins with on arm64, see node_begins_wasm(): mov x16, #, as the first compiler has it.
 */
static bool is_first_code_of_arm64(uint64_t head)
{
	const uint32_t set_x16 = 0xd2800010, of_set_x16 = 0xffe0001f;
	return ((uint32_t)head & of_set_x16) == set_x16;
}

/* ... or stp x29, x30, [sp, #-16]! */
static bool is_code_of_arm64(uint64_t head)
{
	const uint32_t push_frame = 0xa9bf7bfd;
	return (uint32_t)head == push_frame || is_first_code_of_arm64(head);
}

static bool get_jump(
	const struct jump_table *table, const uint8_t *slot, uint64_t address, uint64_t *target)
{
	int32_t distance;
	if (table->is_arm64) {
		struct arm64_insn insn = arm64_insn_decode(slot, ARM64_INSN_BYTES, address);
		*target = insn.value;
		return insn.kind == ARM64_JUMP;
	}
	memcpy(&distance, slot + 1, sizeof(distance));
	*target = address + JUMP_BYTES + (uint64_t)(int64_t)distance;
	return *slot == JUMP;
}

static uint64_t slot_address(const struct jump_table *table, uint32_t number)
{
	uint32_t in_line = LINE_BYTES / table->slot_bytes;
	return table->address + (uint64_t)(number / in_line) * LINE_BYTES +
	       (uint64_t)(number % in_line) * table->slot_bytes;
}

/* Where a slot leads now; 0: it cannot be read. */
static uint64_t jump_of_slot(uint32_t pid, const struct jump_table *table, uint32_t number)
{
	uint8_t slot[JUMP_BYTES];
	size_t len = table->slot_bytes < JUMP_BYTES ? table->slot_bytes : JUMP_BYTES;
	uint64_t target, address = slot_address(table, number);
	bool is_read = number < table->nr_slots && runtime_read_process(pid, address, slot, len) &&
		       get_jump(table, slot, address, &target);
	return is_read ? target : 0;
}

/* How far the slots of a table are apart that begins so; 0: it is none. */
static uint32_t slot_bytes_of(const struct jump_table *table, const uint8_t *begin)
{
	uint64_t target;
	if (!get_jump(table, begin, table->address, &target))
		return 0;
	if (table->is_arm64)
		return ARM64_INSN_BYTES;
	return begin[5] == JUMP || begin[8] != JUMP ? 5 : 8; /* 8 from V8 13 on */
}

/* The table at ret->address, of ret->is_arm64, and, if `starts` is not NULL, where its slots lead.
 * False: none is there. */
static bool read_jump_table(uint32_t pid, struct jump_table *ret, struct map *starts)
{
	uint8_t chunk[CHUNK_BYTES];
	ret->nr_slots = 0;
	if (!runtime_read_process(pid, ret->address, chunk, LINE_BYTES))
		return false;
	ret->slot_bytes = slot_bytes_of(ret, chunk);
	if (!ret->slot_bytes)
		return false;
	uint32_t in_chunk = CHUNK_BYTES / LINE_BYTES * (LINE_BYTES / ret->slot_bytes);
	uint64_t target;
	for (uint32_t number = 0; number < MAX_SLOTS; number++) {
		uint64_t at = slot_address(ret, number);
		if (number % in_chunk == 0) {
			size_t len = CHUNK_BYTES;
			while (len && !runtime_read_process(pid, at, chunk, len))
				len -= LINE_BYTES; /* where it ends, memory may */
			memset(chunk + len, 0, CHUNK_BYTES - len);
		}
		if (!get_jump(ret, chunk + (at - ret->address) % CHUNK_BYTES, at, &target))
			break;
		if (starts)
			*map_put(starts, target, NULL) = number;
		ret->nr_slots = number + 1;
	}
	return true;
}

static bool is_near_code(uint64_t a, uint64_t b)
{
	return a - b <= MAX_CODE_DISTANCE || b - a <= MAX_CODE_DISTANCE;
}

/* The words of an object, no more than MAX_OBJECT_WORDS; 0: it is none, or of no fixed size. */
static uint32_t read_object(struct runtime_pages *pages, uint64_t pointer, uint64_t *words)
{
	uint64_t map, place = pointer - 1;
	uint8_t count;
	if (runtime_pages_read(pages, place, &map, sizeof(map)) != sizeof(map) || (map & 3) != 1 ||
		!runtime_pages_read(pages, map - 1 + MAP_OBJECT_WORDS, &count, sizeof(count)))
		return 0;
	if (count > MAX_OBJECT_WORDS)
		count = MAX_OBJECT_WORDS;
	size_t len = count * sizeof(*words);
	return runtime_pages_read(pages, place, words, len) == len ? count : 0;
}

/* The jump table of the code's instance, which is near the code. */
static bool find_jump_table(struct runtime_pages *pages, uint32_t pid, const struct node_code *code,
	struct jump_table *ret)
{
	uint64_t words[MAX_OBJECT_WORDS];
	uint32_t count = read_object(pages, code->deopt_data, words);
	*ret = (struct jump_table){.is_arm64 = is_code_of_arm64(code->positions)};
	for (uint32_t i = 1; i < count; i++) {
		ret->address = words[i];
		bool may_be = words[i] && words[i] % LINE_BYTES == 0 &&
			      is_near_code(words[i], code->start);
		if (may_be && read_jump_table(pid, ret, NULL))
			return true;
	}
	return false;
}

/* ---- the module's bytes ---- */

static bool read_module_sections(uint32_t pid, uint64_t address, struct bytes_buf *sections)
{
	address += sizeof(module_magic);
	for (int i = 0; i < MAX_SECTIONS; i++) {
		uint8_t head[WASM_HEAD_BYTES];
		enum wasm_section section;
		size_t head_len, len = sizeof(head);
		uint64_t body_len;
		while (len && !runtime_read_process(pid, address, head, len))
			len--; /* behind the last one there may be nothing */
		if (!wasm_section_head(head, len, &section, &head_len, &body_len))
			break;
		address += head_len;
		uint64_t wanted = section == WASM_SECTION_FUNCTIONS && body_len > 8 ? 8 : body_len;
		if (section != WASM_SECTION_OTHER && wanted <= MAX_SECTION_BYTES &&
			!sections[section].len && wanted) {
			uint8_t *bytes = mem_alloc(wanted);
			if (runtime_read_process(pid, address, bytes, wanted))
				bytes_put(&sections[section], bytes, wanted);
			mem_free(bytes);
		}
		if (section == WASM_SECTION_NAMES)
			break;
		address += body_len;
	}
	return sections[WASM_SECTION_FUNCTIONS].len;
}

/* The module whose bytes are there becomes the kept one's, if it has as many functions. */
static bool take_module(struct kept_module *kept, uint64_t address)
{
	if (!runtime_read_process(kept->pid, address, kept->head, sizeof(kept->head)) ||
		!read_module_sections(kept->pid, address, kept->sections) ||
		!wasm_module_init(&kept->module, kept->sections) ||
		kept->module.nr_declared != kept->nr_slots) {
		wasm_module_deinit(&kept->module);
		deinit_sections(kept->sections);
		return false;
	}
	kept->bytes = address;
	kept->is_found = true;
	return true;
}

struct search {
	VEC(uint64_t) places; /* pointers to objects of V8, and addresses */
	struct map seen;
};

static void search_add(struct search *search, uint64_t word)
{
	bool is_new;
	if ((word & 7 && (word & 3) != 1) || !(word >> 12) || word >> UNWIND_ADDRESS_BITS ||
		search->places.len == MAX_PLACES)
		return;
	map_put(&search->seen, word, &is_new);
	if (is_new)
		vec_push(&search->places, word);
}

static uint32_t read_words(struct runtime_pages *pages, uint64_t word, uint64_t *words)
{
	size_t len = MAX_OBJECT_WORDS * sizeof(*words);
	return word & 1 ? read_object(pages, word, words)
			: (uint32_t)(runtime_pages_read(pages, word, words, len) / sizeof(*words));
}

/* The bytes of a NativeModule, whose jump table that WasmCode is. False: it is none. */
static bool take_native_module(struct runtime_pages *pages, struct kept_module *kept,
	uint64_t native_module, uint64_t wasm_code)
{
	uint64_t words[MAX_OBJECT_WORDS], bytes;
	uint8_t magic[sizeof(module_magic)];
	uint32_t count = read_words(pages, native_module, words), at = 0;
	while (at < count && words[at] != wasm_code)
		at++;
	for (uint32_t i = 1; at < count && i <= BYTES_AHEAD && i <= at; i++)
		if (runtime_read_process(kept->pid, words[at - i], &bytes, sizeof(bytes)) &&
			runtime_read_process(kept->pid, bytes, magic, sizeof(magic)) &&
			memcmp(magic, module_magic, sizeof(magic)) == 0)
			return take_module(kept, bytes);
	return false;
}

static void find_native_module(
	struct runtime_pages *pages, struct kept_module *kept, uint64_t instance)
{
	struct search search = {.places.len = 0};
	uint64_t words[MAX_OBJECT_WORDS];
	search_add(&search, instance);
	for (size_t at = 0; at < search.places.len && !kept->is_found; at++) {
		uint64_t place = search.places.data[at];
		uint32_t count = read_words(pages, place, words);
		bool may_be_code = !(place & 7) && count > 1 && words[1] == kept->table;
		if (may_be_code && take_native_module(pages, kept, words[0], place))
			break;
		for (uint32_t i = 0; i < count; i++)
			search_add(&search, words[i]);
	}
	vec_deinit(&search.places);
	map_deinit(&search.seen);
}

/* Another module may come to be where one was. */
static bool is_module_there(const struct kept_module *kept)
{
	uint8_t head[HEAD_BYTES];
	return !kept->is_found ||
	       (runtime_read_process(kept->pid, kept->bytes, head, sizeof(head)) &&
		       memcmp(head, kept->head, sizeof(head)) == 0);
}

static struct kept_module *module_of(
	struct node_wasm *wasm, uint32_t pid, const struct jump_table *table)
{
	for (size_t i = 0; i < wasm->modules.len; i++) {
		struct kept_module *known = wasm->modules.data[i];
		if (known->pid != pid || known->table != table->address ||
			known->nr_slots != table->nr_slots)
			continue;
		if (is_module_there(known))
			return known;
		forget_module(wasm, i--);
	}
	trim_modules(wasm);
	struct kept_module *kept = mem_zalloc(sizeof(*kept));
	kept->pid = pid;
	kept->table = table->address;
	kept->nr_slots = table->nr_slots;
	vec_push(&wasm->modules, kept);
	return kept;
}

static void search_module(struct node_wasm *wasm, struct kept_module *kept, uint64_t instance)
{
	if (kept->is_searched)
		return;
	kept->is_searched = true;
	find_native_module(wasm->pages, kept, instance);
	wasm->nr_bytes += sections_len(kept->sections);
}

/* ---- functions ---- */

/* The same of arm64: behind the instructions that make its frame mov w8, number; bl. */
static bool number_in_code_of_arm64(uint32_t pid, uint64_t start, uint32_t *number)
{
	uint8_t bytes[(ARM64_FRAME_INSNS + 3) * ARM64_INSN_BYTES];
	struct arm64_values values = {.known = 0};
	if (!runtime_read_process(pid, start, bytes, sizeof(bytes)))
		return false;
	for (size_t at = ARM64_FRAME_INSNS * ARM64_INSN_BYTES; at < sizeof(bytes);
		at += ARM64_INSN_BYTES) {
		struct arm64_insn insn = arm64_insn_decode(bytes + at, sizeof(bytes) - at, at);
		bool is_known = values.known >> ARM64_NUMBER_REGISTER & 1;
		if (insn.kind == ARM64_CALL && is_known) {
			*number = (uint32_t)values.value[ARM64_NUMBER_REGISTER];
			return true;
		}
		if (insn.reg != ARM64_NUMBER_REGISTER ||
			(insn.kind != ARM64_CONSTANT && insn.kind != ARM64_INSERT))
			return false;
		arm64_values_run(&values, &insn);
	}
	return false;
}

/*
 * The number of the counter whose place in the module's list of budgets an instruction loads, as
 * the first compiler's code does where it may be time for better code:
 *     ldr x, list; ldr w, [x, 4 * number]; subs w, w, #; str w, [x, 4 * number]; b.mi
 * or, to V8 12, where the addition is left out for number 0:
 *     ldr x, list; add x, x, 4 * number; ldr w, [x]; subs w, w, #; b.mi; str w, [x]
 */
static bool arm64_budget_at(const uint8_t *bytes, uint32_t *number)
{
	const uint32_t load = 0xb9400000, store = 0xb9000000, of_place = 0xffc00000;
	const uint32_t count = 0x71000000, of_count = 0xff800000, if_less = 0x54000004;
	const uint32_t load_list = 0xf8400000, of_load_list = 0xfec00000;
	const uint32_t add = 0x91000000, of_add = 0xffc00000, place_shift = 10, place = 0xfff;
	uint32_t insn[ARM64_BUDGET_INSNS], at = 0;
	memcpy(insn, bytes, sizeof(insn));
	uint32_t list = insn[at] & 0x1f;
	if ((insn[at++] & of_load_list) != load_list)
		return false;
	bool is_added = (insn[at] & of_add) == add && (insn[at] & 0x3ff) == (list << 5 | list);
	uint32_t added = is_added ? insn[at++] >> place_shift & place : 0;
	uint32_t loads = insn[at++], counts = insn[at++], reg = loads & 0x1f;
	bool is_stored_first = insn[at] == loads - load + store;
	uint32_t stores = insn[at + !is_stored_first], branches = insn[at + is_stored_first];
	*number = added / 4 + (loads >> place_shift & place);
	return (loads & of_place) == load && (loads >> 5 & 0x1f) == list &&
	       stores == loads - load + store && (counts & of_count) == count &&
	       (counts & 0x3ff) == (reg << 5 | reg) && (branches & 0xff00001f) == if_less;
}

/* The function that counts down its budget in the code, which ends where other code begins. */
static bool number_by_budget(uint32_t pid, uint64_t start, uint32_t *number)
{
	enum {
		PATTERN_BYTES = ARM64_BUDGET_INSNS * ARM64_INSN_BYTES,
	};
	CLEANUP_FREE uint8_t *bytes = mem_alloc(ARM64_SEARCHED_BYTES);
	size_t len = ARM64_SEARCHED_BYTES;
	while (len && !runtime_read_process(pid, start, bytes, len))
		len /= 2; /* where it ends, memory may */
	for (size_t at = 0; at + PATTERN_BYTES <= len; at += ARM64_INSN_BYTES) {
		uint64_t head;
		memcpy(&head, bytes + at, sizeof(head));
		if (at && at % ARM64_CODE_ALIGNMENT == 0 && is_code_of_arm64(head))
			return false;
		if (arm64_budget_at(bytes + at, number))
			return true;
	}
	return false;
}

/* The number that the code itself has: mov r12d, number, or xor r12d, r12d; call. */
static bool number_in_code(uint32_t pid, const struct node_code *code, uint32_t *number)
{
	uint64_t head = code->positions;
	if (is_code_of_arm64(head))
		return is_first_code_of_arm64(head) &&
		       number_in_code_of_arm64(pid, code->start, number);
	bool is_first = (uint32_t)head == 0xe8e43145;
	*number = is_first ? 0 : (uint32_t)(head >> 16);
	return is_first || ((head & 0xffff) == 0xbc41 && (head >> 48 & 0xff) == 0xe8);
}

/* The function in the table whose code begins there, or did when the table was read before. */
static bool number_by_table(struct node_wasm *wasm, struct kept_module *kept,
	struct jump_table *table, uint64_t start, uint32_t *number)
{
	const uint64_t *known = map_get(&kept->starts, start);
	if (!known || jump_of_slot(kept->pid, table, (uint32_t)*known) != start) {
		size_t before = kept->starts.len;
		read_jump_table(kept->pid, table, &kept->starts);
		wasm->nr_starts += kept->starts.len - before;
		known = map_get(&kept->starts, start);
	}
	*number = known ? (uint32_t)*known : 0;
	return known;
}

bool node_wasm_read_name(
	struct node_wasm *wasm, uint32_t pid, const struct node_code *code, struct str *name)
{
	uint64_t instance = code->deopt_data;
	struct jump_table table;
	uint32_t number;
	runtime_pages_begin(wasm->pages, pid, MAX_SEARCHED_PAGES);
	if ((instance & 3) != 1 || !find_jump_table(wasm->pages, pid, code, &table))
		return false;
	struct kept_module *kept = module_of(wasm, pid, &table);
	/* Ahead of the search, which takes a while: V8 may replace the code meanwhile. */
	if (!number_in_code(pid, code, &number) &&
		!number_by_table(wasm, kept, &table, code->start, &number) &&
		!(table.is_arm64 && number_by_budget(pid, code->start, &number)))
		return false;
	search_module(wasm, kept, instance);
	if (!kept->is_found || number >= table.nr_slots)
		return false;
	uint32_t function = kept->module.nr_imported + number;
	const struct wasm_name *known = wasm_module_name(&kept->module, function);
	if (known)
		str_write(name, known->text, known->len);
	else
		str_printf(name, "wasm-function[%u]", function);
	return true;
}
