#include "record/generated/registered_mono.h"

#include <string.h>
#include <sys/uio.h>

#include "format/base/map.h"
#include "format/base/mem.h"
#include "format/clr/clr_names.h"
#include "format/dwarf/cfi_operations.h"
#include "format/dwarf/dwarf_cursor.h"
#include "format/elf/elf_dynsym.h"
#include "record/generated/registered_mono_lines.h"
#include "record/runtime/runtime_memory.h"

enum {
	CODE_BYTES = 160, /* of the function that loads the list of domains */
	MAX_DOMAINS = 64,
	DOMAIN_TABLE = 0x148,
	TABLE_CHUNKS = 0x10,
	CHUNK_METHODS = 64,
	CHUNK_DATA = 0x18,
	METHOD_TOKEN = 4,
	METHOD_CLASS = 8,
	METHOD_NAME = 0x18,
	METHOD_BITS = 0x20,
	CLASS_OUTER = 0x30,
	CLASS_IMAGE = 0x38,
	CLASS_NAME = 0x40,
	CLASS_SPACE = 0x48,
	TRAMPOLINE_NAME = 0x10,
	MAX_NESTED = 8,
	MAX_NAME = 512, /* bytes of one of its parts */
	READS = 256,    /* pieces of memory at once */
	SAMPLES = 8,    /* methods by which the list of call frame instructions is known */
	MIN_SAMPLES = 3,
	SEARCHED = 256 << 10,    /* bytes on both sides of the list of domains */
	MAX_COMPARED = 16 << 10, /* methods, in one search */
	WINDOW = 4096,
	MAX_CODE = 16 << 20, /* bytes of a method */
};

static bool is_address(uint64_t word)
{
	return word >= 4096 && word < 1ULL << 47;
}

/* ---- MonoJitInfo ---- */

enum {
	INFO_BYTES = 0x38,
	INFO_POINTS = 0x30, /* MonoSeqPointInfo */
	CLAUSE_BYTES = 64,
	GENERIC_BYTES = 32,
	HOLE_BYTES = 8,
};

struct mono_info {
	uint64_t method, start;
	uint32_t frames; /* number of its call frame instructions */
	uint32_t size, bits, zero;
};

enum mono_bits {
	MONO_CLAUSES = 0x7fff,
	MONO_GENERIC = 1 << 16,
	MONO_HOLES = 1 << 17,
	MONO_EPILOGUE = 1 << 18,
	MONO_OWN_FRAMES = 1 << 20,
	MONO_FROM_FILE = 1 << 21, /* compiled ahead of time: the file has its rules and names */
	MONO_TRAMPOLINE = 1 << 28,
};

static struct mono_info take_info(const uint8_t bytes[INFO_BYTES])
{
	struct bytes_cursor cursor = bytes_cursor(bytes, INFO_BYTES);
	struct mono_info info = {.method = bytes_get_u64(&cursor)};
	bytes_get_u64(&cursor);
	info.start = bytes_get_u64(&cursor);
	info.frames = bytes_get_u32(&cursor);
	info.size = bytes_get_u32(&cursor);
	info.bits = bytes_get_u32(&cursor);
	return info;
}

static bool is_sound(const struct mono_info *info)
{
	bool has_name = info->method || info->bits & MONO_TRAMPOLINE; /* else it was removed */
	return has_name && is_address(info->start) && info->size && info->size <= MAX_CODE &&
	       !(info->bits & MONO_FROM_FILE);
}

static uint64_t sum_of(const struct mono_info *info)
{
	uint64_t sum = map_hash_bytes(info, sizeof(*info), 1);
	return sum ? sum : 1;
}

/* ---- where the list of domains is ---- */

static uint64_t rip_target(uint64_t address, const uint8_t *code, size_t at, size_t len)
{
	int32_t distance;
	memcpy(&distance, code + at + len - sizeof(distance), sizeof(distance));
	return address + at + len + (uint64_t)(int64_t)distance;
}

/* movzwl count(%rip), %e..; then mov list(%rip), %r.. */
static bool find_domains(
	uint64_t address, const uint8_t code[CODE_BYTES], struct registered_descriptor *ret)
{
	uint64_t count = 0;
	for (size_t i = 0; i + 7 <= CODE_BYTES; i++) {
		if (!count && code[i] == 0x0f && code[i + 1] == 0xb7 && (code[i + 2] & 0xc7) == 5)
			count = rip_target(address, code, i, 7);
		if (!count || code[i] != 0x48 || code[i + 1] != 0x8b || (code[i + 2] & 0xc7) != 5)
			continue;
		ret->address = rip_target(address, code, i, 7);
		ret->registry = REGISTRY_MONO;
		ret->more = (uint32_t)(count - ret->address);
		return true;
	}
	return false;
}

bool registered_mono_find(
	uint32_t pid, struct elf_file *elf, uint64_t bias, struct registered_descriptor *ret)
{
	static const char *const names[] = {"mono_domain_get_by_id"};
	struct elf_dynsym function = {0};
	uint8_t code[CODE_BYTES];
	struct err *err = elf_dynsym_find(elf, names, 1, &function);
	bool is_found = !err && function.address;
	err_destroy(err);
	return is_found && runtime_read_process(pid, bias + function.address, code, sizeof(code)) &&
	       find_domains(bias + function.address, code, ret);
}

/* ---- the table ---- */

struct mono_reader {
	uint32_t pid;
	bool is_cut;
	uint32_t compared;   /* methods, while call frame instructions are searched for */
	VEC(uint64_t) infos; /* addresses of MonoJitInfo */
	VEC(uint8_t) bytes;  /* of each, where it could be read; else zeroes */
};

static void mono_reader_deinit(struct mono_reader *reader)
{
	vec_deinit(&reader->infos);
	vec_deinit(&reader->bytes);
}

static bool read_chunk(struct mono_reader *reader, uint64_t address)
{
	uint8_t bytes[CHUNK_DATA + 8 * CHUNK_METHODS];
	uint32_t count;
	if (!runtime_read_process(reader->pid, address, bytes, sizeof(bytes)))
		return false;
	memcpy(&count, bytes + 4, sizeof(count));
	if (count > CHUNK_METHODS)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t info;
		memcpy(&info, bytes + CHUNK_DATA + 8 * (size_t)i, sizeof(info));
		reader->is_cut |= reader->infos.len >= REGISTERED_MONO_MAX_METHODS;
		if (is_address(info) && reader->infos.len < REGISTERED_MONO_MAX_METHODS)
			vec_push(&reader->infos, info);
	}
	return true;
}

/* A table says whose it is. True: it was read, or the domain has none. */
static bool read_domain(struct mono_reader *reader, uint64_t domain)
{
	uint64_t table, head[2], again;
	if (!runtime_read_process(reader->pid, domain + DOMAIN_TABLE, &table, sizeof(table)))
		return false;
	if (!table)
		return true;
	if (!is_address(table) || !runtime_read_process(reader->pid, table, head, sizeof(head)) ||
		head[0] != domain)
		return false;
	uint32_t count = (uint32_t)head[1];
	reader->is_cut |= count > REGISTERED_MONO_MAX_METHODS / 8;
	for (uint32_t i = 0; i < count && !reader->is_cut; i++) {
		uint64_t chunk;
		if (!runtime_read_process(reader->pid, table + TABLE_CHUNKS + 8 * (uint64_t)i,
			    &chunk, sizeof(chunk)) ||
			!read_chunk(reader, chunk))
			return false;
	}
	return runtime_read_process(reader->pid, domain + DOMAIN_TABLE, &again, sizeof(again)) &&
	       again == table;
}

static bool read_domains(struct mono_reader *reader, const struct registered_request *request)
{
	uint64_t list, domains[MAX_DOMAINS];
	uint16_t count;
	uint64_t count_at = request->descriptor + (uint64_t)(int64_t)(int32_t)request->more;
	reader->infos.len = 0;
	reader->is_cut = false;
	if (!runtime_read_process(reader->pid, request->descriptor, &list, sizeof(list)) ||
		!runtime_read_process(reader->pid, count_at, &count, sizeof(count)))
		return false;
	reader->is_cut = count > MAX_DOMAINS;
	count = count > MAX_DOMAINS ? MAX_DOMAINS : count;
	if (!runtime_read_process(reader->pid, list, domains, 8 * (size_t)count))
		return false;
	for (uint16_t i = 0; i < count; i++)
		if (domains[i] && !read_domain(reader, domains[i]))
			return false;
	return true;
}

/* Many at once; one that cannot be read is left out. */
static void read_infos(struct mono_reader *reader)
{
	struct iovec here[READS], there[READS];
	size_t count = reader->infos.len, done = 0;
	vec_resize(&reader->bytes, count * INFO_BYTES);
	if (count)
		memset(reader->bytes.data, 0, reader->bytes.len);
	while (done < count) {
		size_t n = count - done < READS ? count - done : READS;
		for (size_t i = 0; i < n; i++) {
			uint8_t *to = reader->bytes.data + (done + i) * INFO_BYTES;
			uint64_t from = reader->infos.data[done + i];
			here[i] = (struct iovec){to, INFO_BYTES};
			there[i] = (struct iovec){(void *)(uintptr_t)from, INFO_BYTES};
		}
		ssize_t got = process_vm_readv((pid_t)reader->pid, here, n, there, n, 0);
		size_t whole = got > 0 ? (size_t)got / INFO_BYTES : 0;
		done += whole < n ? whole + 1 : n;
	}
}

static struct mono_info info_at(const struct mono_reader *reader, size_t index)
{
	return take_info(reader->bytes.data + index * INFO_BYTES);
}

/* ---- where the call frame instructions are ---- */

/* Each begins with: the CFA is rsp + 8; of code that is jumped to behind a push, + 16. */
static bool has_frames(uint32_t pid, uint64_t list, uint32_t number)
{
	uint64_t at;
	uint8_t bytes[7];
	return runtime_read_process(pid, list + 8 * (uint64_t)number, &at, sizeof(at)) &&
	       is_address(at) && runtime_read_process(pid, at, bytes, sizeof(bytes)) && !bytes[2] &&
	       !bytes[3] && bytes[4] == DW_CFA_def_cfa && bytes[5] == 7 &&
	       (bytes[6] == 8 || bytes[6] == 16);
}

static bool has_sample(const uint32_t *list, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == number)
			return true;
	return false;
}

/* Different ones, those with the highest numbers first: few lists are as long. */
static size_t take_samples(const struct mono_reader *reader, uint32_t ret[SAMPLES])
{
	size_t count = 0;
	for (size_t i = 0; i < reader->infos.len; i++) {
		struct mono_info info = info_at(reader, i);
		if (!is_sound(&info) || info.bits & MONO_OWN_FRAMES ||
			has_sample(ret, count, info.frames))
			continue;
		bool is_full = count == SAMPLES;
		if (is_full && ret[SAMPLES - 1] >= info.frames)
			continue;
		size_t at = is_full ? SAMPLES - 1 : count++;
		for (; at && ret[at - 1] < info.frames; at--)
			ret[at] = ret[at - 1];
		ret[at] = info.frames;
	}
	return count;
}

/*
 * Mono numbers its call frame instructions from 0 on and leaves none out. The samples alone would
 * not tell the list from what the heap holds just before it: each of them would only be another's
 * number there, and the rules those of other methods.
 */
static bool is_frames_list(
	struct mono_reader *reader, uint64_t list, const uint32_t samples[SAMPLES], size_t count)
{
	if (!is_address(list) || list % 8 || samples[0] >= MAX_COMPARED)
		return false;
	for (size_t i = 0; i < count; i++)
		if (reader->compared++ >= MAX_COMPARED ||
			!has_frames(reader->pid, list, samples[i]))
			return false;
	for (uint32_t number = 0; number < samples[0]; number++)
		if (reader->compared++ >= MAX_COMPARED || !has_frames(reader->pid, list, number))
			return false;
	return true;
}

/* A window that points to the list, or 0. */
static uint64_t find_frames_at(
	struct mono_reader *reader, uint64_t window, const uint32_t samples[SAMPLES], size_t count)
{
	uint64_t words[WINDOW / 8];
	if (!runtime_read_process(reader->pid, window, words, sizeof(words)))
		return 0;
	for (size_t i = 0; i < WINDOW / 8; i++)
		if (is_frames_list(reader, words[i], samples, count))
			return window + 8 * i;
	return 0;
}

/* The address of what points to the list, from the nearest on; 0: there is none. */
static uint64_t find_frames(struct mono_reader *reader, uint64_t near)
{
	uint32_t samples[SAMPLES];
	size_t count = take_samples(reader, samples);
	uint64_t first = near & ~(uint64_t)(WINDOW - 1), found = 0;
	if (count < MIN_SAMPLES)
		return 0;
	for (uint64_t away = 0; away < SEARCHED && !found && reader->compared < MAX_COMPARED;
		away += WINDOW) {
		found = find_frames_at(reader, first - away, samples, count);
		if (!found && away)
			found = find_frames_at(reader, first + away, samples, count);
	}
	return found;
}

/* ---- the list ---- */

static void list_infos(const struct mono_reader *reader, struct registered_list *ret)
{
	for (size_t i = 0; i < reader->infos.len; i++) {
		struct mono_info info = info_at(reader, i);
		struct registered_entry entry = {
			reader->infos.data[i], info.start, info.size, sum_of(&info)};
		if (is_sound(&info))
			vec_push(&ret->entries, entry);
	}
}

bool registered_mono_list(const struct registered_request *request, struct registered_list *ret)
{
	enum {
		TRIES = 3 /* it changes whenever a method is compiled */
	};
	struct mono_reader reader = {.pid = request->pid};
	bool is_read = false;
	for (int i = 0; i < TRIES && !is_read; i++)
		is_read = read_domains(&reader, request);
	if (!is_read || !reader.infos.len) {
		mono_reader_deinit(&reader);
		return false;
	}
	ret->head = (struct registered_head){.relevant = request->known.relevant,
		.first = reader.infos.len,
		.sum = map_hash_bytes(
			reader.infos.data, reader.infos.len * sizeof(*reader.infos.data), 1)};
	ret->is_same = ret->head.relevant && request->known.sum == ret->head.sum;
	if (!ret->is_same) {
		read_infos(&reader);
		if (!ret->head.relevant)
			ret->head.relevant = find_frames(&reader, request->descriptor);
		if (ret->head.relevant)
			list_infos(&reader, ret);
		ret->is_cut = reader.is_cut || !ret->head.relevant;
	}
	mono_reader_deinit(&reader);
	return true;
}

/* ---- names ---- */

static void put_text(uint32_t pid, uint64_t address, struct str *ret)
{
	char text[64];
	size_t from = ret->len;
	for (size_t len; ret->len - from < MAX_NAME; address += len) {
		len = sizeof(text) - address % sizeof(text); /* no page's end is crossed */
		if (!is_address(address) || !runtime_read_process(pid, address, text, len))
			return;
		size_t part = strnlen(text, len);
		str_write(ret, text, part);
		if (part < len)
			return;
	}
}

static uint64_t read_word(uint32_t pid, uint64_t address)
{
	uint64_t word;
	return is_address(address) && runtime_read_process(pid, address, &word, sizeof(word)) ? word
											      : 0;
}

/* Namespace.Outer.Inner; the classes that C#'s compiler keeps lambdas in are left out. */
static void put_mono_class(uint32_t pid, uint64_t class, int depth, struct str *ret)
{
	CLEANUP(str_deinit) struct str name = {0};
	uint64_t outer = depth < MAX_NESTED ? read_word(pid, class + CLASS_OUTER) : 0;
	put_text(pid, read_word(pid, class + CLASS_NAME), &name);
	if (outer) {
		put_mono_class(pid, outer, depth + 1, ret);
		if (strncmp(str_text(&name), "<>c", 3) == 0)
			return;
	} else {
		put_text(pid, read_word(pid, class + CLASS_SPACE), ret);
	}
	if (ret->len && name.len)
		str_putc(ret, '.');
	clr_names_put_readable(str_text(&name), name.len, ret);
}

/*
 * mcs has lambdas that use variables in "<Method>c__AnonStorey0" as "<>m__0", and the code of
 * iterators and async methods in "<Method>c__Iterator0" as "MoveNext" (csc in "<Method>d__0"): the
 * method is what people wrote. False: the class is another one.
 */
static bool put_made_method(uint32_t pid, uint64_t class, const char *method, struct str *ret)
{
	CLEANUP(str_deinit) struct str name = {0};
	put_text(pid, read_word(pid, class + CLASS_NAME), &name);
	const char *text = str_text(&name), *end = strstr(text, ">c__");
	end = end ? end : strstr(text, ">d__");
	uint64_t outer = read_word(pid, class + CLASS_OUTER);
	if (!outer || text[0] != '<' || !end || end == text + 1)
		return false;
	put_mono_class(pid, outer, 0, ret);
	str_putc(ret, '.');
	clr_names_put_readable(text + 1, (size_t)(end - text - 1), ret);
	if (strncmp(method, "<>m__", 5) == 0)
		str_puts(ret, " lambda");
	else if (strcmp(method, "MoveNext") != 0)
		str_printf(ret, ".%s", method);
	return true;
}

/* What Mono calls the code that leads from one kind of method to another. */
static const char *wrapper_of(uint32_t bits)
{
	static const char *const names[] = {NULL, "delegate-invoke", "delegate-begin-invoke",
		"delegate-end-invoke", "runtime-invoke", "native-to-managed", "managed-to-native",
		"managed-to-managed", "remoting-invoke", "remoting-invoke-with-check",
		"xdomain-invoke", "xdomain-dispatch", "ldfld", "stfld", "synchronized",
		"dynamic-method", "castclass", "proxy_isinst", "stelemref", "unbox", "ldflda",
		"write-barrier", "unknown", "cominterop-invoke", "cominterop", "alloc"};
	uint32_t kind = bits >> 2 & 31;
	return kind < sizeof(names) / sizeof(*names) ? names[kind] : "other";
}

static void put_mono_method(uint32_t pid, const struct mono_info *info, struct str *ret)
{
	CLEANUP(str_deinit) struct str name = {0};
	if (info->bits & MONO_TRAMPOLINE) {
		put_text(pid, read_word(pid, info->method + TRAMPOLINE_NAME), ret);
		str_puts(ret, ret->len ? "" : "[trampoline]");
		return;
	}
	const char *wrapper = wrapper_of((uint32_t)read_word(pid, info->method + METHOD_BITS));
	put_text(pid, read_word(pid, info->method + METHOD_NAME), &name);
	if (!name.len)
		return;
	uint64_t class = read_word(pid, info->method + METHOD_CLASS);
	if (!put_made_method(pid, class, str_text(&name), ret)) {
		put_mono_class(pid, class, 0, ret);
		if (ret->len)
			str_putc(ret, '.');
		clr_names_put_readable(str_text(&name), name.len, ret);
	}
	if (wrapper)
		str_printf(ret, " [%s]", wrapper);
}

/* ---- rules ---- */

enum {
	DW_CFA_mono_epilogue = 0x1c, /* from here on the rules hold where the epilogue begins */
};

static uint64_t get_fixed(struct bytes_cursor *cursor, size_t len)
{
	uint64_t value = 0;
	for (size_t i = 0; i < len; i++)
		value |= (uint64_t)bytes_get_u8(cursor) << 8 * i;
	return value;
}

static bool copy_operands(struct bytes_cursor *cursor, int count)
{
	for (int i = 0; i < count; i++)
		dwarf_uleb(cursor);
	return !cursor->overrun;
}

bool registered_mono_frames(
	const uint8_t *bytes, size_t len, uint64_t epilogue, struct bytes_buf *ret)
{
	struct bytes_cursor cursor = bytes_cursor(bytes, len);
	uint64_t at = 0;
	while (bytes_left(&cursor)) {
		const uint8_t *begin = cursor.pos;
		uint8_t op = bytes_get_u8(&cursor);
		bool is_known = true;
		if (op == DW_CFA_mono_epilogue) {
			if (epilogue < at || epilogue - at > MAX_CODE)
				return true;
			bytes_put_u8(ret, DW_CFA_advance_loc4);
			bytes_put_u32(ret, (uint32_t)(epilogue - at));
			at = epilogue;
			continue;
		}
		if ((op & 0xc0) == DW_CFA_advance_loc)
			at += op & 0x3f;
		else if (op == DW_CFA_advance_loc1)
			at += get_fixed(&cursor, 1);
		else if (op == DW_CFA_advance_loc2)
			at += get_fixed(&cursor, 2);
		else if (op == DW_CFA_advance_loc4)
			at += get_fixed(&cursor, 4);
		else if (op == DW_CFA_def_cfa)
			is_known = copy_operands(&cursor, 2);
		else if ((op & 0xc0) == DW_CFA_offset || op == DW_CFA_def_cfa_register ||
			 op == DW_CFA_def_cfa_offset || op == DW_CFA_same_value)
			is_known = copy_operands(&cursor, 1);
		else
			is_known = op == DW_CFA_nop || op == DW_CFA_remember_state ||
				   op == DW_CFA_restore_state;
		if (!is_known || cursor.overrun)
			return false;
		bytes_put(ret, begin, (size_t)(cursor.pos - begin));
	}
	return true;
}

/* Where the epilogue begins, from the method's start; UINT64_MAX: that is not known. */
static uint64_t read_epilogue(uint32_t pid, uint64_t address, const struct mono_info *info)
{
	uint32_t words[2]; /* bytes of the stack, of the epilogue */
	uint64_t at = address + INFO_BYTES + CLAUSE_BYTES * (uint64_t)(info->bits & MONO_CLAUSES);
	at += info->bits & MONO_GENERIC ? GENERIC_BYTES : 0;
	if (!(info->bits & MONO_EPILOGUE))
		return UINT64_MAX;
	if (info->bits & MONO_HOLES) {
		uint16_t holes;
		if (!runtime_read_process(pid, at, &holes, sizeof(holes)))
			return UINT64_MAX;
		at += 4 + HOLE_BYTES * (uint64_t)holes;
	}
	bool is_read = runtime_read_process(pid, at, words, sizeof(words));
	return is_read && words[1] <= info->size ? info->size - words[1] : UINT64_MAX;
}

static bool read_frames_of(const struct registered_request *request, const struct mono_info *info,
	struct bytes_buf *ret)
{
	uint32_t pid = request->pid, len;
	uint8_t bytes[REGISTERED_MONO_MAX_FRAME_BYTES];
	uint64_t list = read_word(pid, request->known.relevant);
	uint64_t at = read_word(pid, list + 8 * (uint64_t)info->frames);
	return !(info->bits & MONO_OWN_FRAMES) && is_address(at) &&
	       runtime_read_process(pid, at, &len, sizeof(len)) && len <= sizeof(bytes) &&
	       runtime_read_process(pid, at + sizeof(len), bytes, len) &&
	       registered_mono_frames(
		       bytes, len, read_epilogue(pid, request->entry.address, info), ret);
}

/* ---- a method ---- */

static void read_lines_of(void **kept, const struct registered_request *request,
	const struct mono_info *info, const uint8_t bytes[INFO_BYTES], struct registered_lines *ret,
	struct str *file)
{
	struct mono_method_place place = {
		.pid = request->pid, .start = info->start, .size = info->size};
	uint64_t class = read_word(request->pid, info->method + METHOD_CLASS);
	if (info->bits & MONO_TRAMPOLINE)
		return;
	place.token = (uint32_t)read_word(request->pid, info->method + METHOD_TOKEN);
	place.image = read_word(request->pid, class + CLASS_IMAGE);
	memcpy(&place.points, bytes + INFO_POINTS, sizeof(place.points));
	registered_mono_lines(kept, &place, ret, file);
}

bool registered_mono_image(
	void **kept, const struct registered_request *request, struct registered_image *ret)
{
	uint8_t bytes[INFO_BYTES];
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP(str_deinit) struct str file = {0};
	struct registered_lines lines = {0};
	struct bytes_buf frames = {0};
	if (!runtime_read_process(request->pid, request->entry.address, bytes, sizeof(bytes)))
		return false;
	struct mono_info info = take_info(bytes);
	if (!is_sound(&info) || sum_of(&info) != request->entry.sum)
		return false;
	put_mono_method(request->pid, &info, &name);
	if (!read_frames_of(request, &info, &frames))
		frames.len = 0;
	read_lines_of(kept, request, &info, bytes, &lines, &file);
	struct registered_function function = {.start = info.start,
		.size = info.size,
		.name = name.len ? str_text(&name) : NULL,
		.frames = frames.data,
		.frames_len = frames.len,
		.file = file.len ? str_text(&file) : NULL,
		.lines = lines.list.data,
		.nr_lines = lines.list.len};
	registered_image_of_function(&function, ret);
	vec_deinit(&lines.list);
	bytes_buf_deinit(&frames);
	return true;
}
