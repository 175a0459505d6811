#include "report/name/symbol/native_aot.h"

#include <ctype.h>
#include <elf.h>
#include <string.h>

enum {
	MAX_NAME_BYTES = 4096,
	MAX_ASSEMBLY_BYTES = 256,
};

/* A part of a name: [from, to). */
struct part {
	const char *from, *to;
};

static size_t part_len(struct part part)
{
	return (size_t)(part.to - part.from);
}

static bool part_begins_with(struct part part, const char *text)
{
	size_t len = strlen(text);
	return part_len(part) >= len && memcmp(part.from, text, len) == 0;
}

/* The last place of a text that is within no brackets; NULL: there is none. */
static const char *find_last(struct part part, const char *text)
{
	size_t len = strlen(text);
	int depth = 0;
	for (const char *at = part.to; at-- > part.from;) {
		depth += (*at == '>') - (*at == '<');
		if (!depth && (size_t)(part.to - at) >= len && memcmp(at, text, len) == 0)
			return at;
	}
	return NULL;
}

/* ---- types ---- */

/* Without the assembly's name: "S_P_CoreLib_", or that of a library, whose types mostly begin with
 * it once more. */
static struct part without_assembly(struct part type, const char *program)
{
	static const char *const spaces[] = {"_System_", "_Internal_", "_Microsoft_", "_Interop"};
	size_t len = program ? strlen(program) : 0;
	if (len && len < part_len(type) && part_begins_with(type, program) && type.from[len] == '_')
		return (struct part){type.from + len + 1, type.to};
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
		bool is_library = part_begins_with(type, "S_P_") ||
				  part_begins_with(type, "System_") ||
				  part_begins_with(type, "Microsoft_");
		const char *found = memmem(type.from, part_len(type), spaces[i], strlen(spaces[i]));
		const char *bracket = memchr(type.from, '<', part_len(type));
		if (is_library && found && (!bracket || found < bracket))
			return (struct part){found + 1, type.to};
	}
	return type;
}

static void put_aot_type(struct part type, const char *program, struct str *out);

/* Arguments, which are apart by "__"; where a name has that itself, they stay as they are. */
static void put_aot_arguments(struct part part, const char *program, struct str *out)
{
	static const char canon[] = "System___Canon";
	bool is_odd = memmem(part.from, part_len(part), "_d__", 4) ||
		      memmem(part.from, part_len(part), "__c__", 5) ||
		      memchr(part.from, '<', part_len(part));
	while (!is_odd && part.from < part.to) {
		bool is_canon = part_begins_with(part, canon);
		const char *from = part.from + (is_canon ? sizeof(canon) - 1 : 0);
		const char *next = memmem(from, (size_t)(part.to - from), "__", 2);
		struct part one = {part.from, next ? next : part.to};
		if (is_canon)
			str_puts(out, "__Canon");
		else
			put_aot_type(one, program, out);
		if (next)
			str_putc(out, ',');
		part.from = next ? next + 2 : part.to;
	}
	str_write(out, part.from, part_len(part));
}

/* "_1" ahead of arguments is how many there are. */
static const char *arity_end(const char *at, const char *end)
{
	const char *digit = at + 1;
	while (digit < end && isdigit((unsigned char)*digit))
		digit++;
	return digit > at + 1 && digit < end && *digit == '<' ? digit : NULL;
}

static void put_aot_type(struct part type, const char *program, struct str *out)
{
	type = without_assembly(type, program);
	for (const char *at = type.from; at < type.to; at++) {
		const char *arity = *at == '_' ? arity_end(at, type.to) : NULL;
		at = arity ? arity : at;
		if (*at != '<') {
			str_putc(out, *at == '_' ? '.' : *at);
			continue;
		}
		int depth = 0;
		const char *close = at;
		while (close < type.to && (depth += (*close == '<') - (*close == '>')))
			close++;
		str_putc(out, '<');
		put_aot_arguments((struct part){at + 1, close}, program, out);
		str_putc(out, '>');
		at = close;
	}
}

/* What the compiler keeps a method's variables in is no type that people wrote. */
static struct part without_closure(struct part type)
{
	const char *closure = find_last(type, "___c");
	if (closure && (closure + 4 == type.to || closure[4] == '_' || closure[4] == '<'))
		type.to = closure;
	return type;
}

/* ---- methods ---- */

static bool is_number_part(struct part part)
{
	for (const char *at = part.from; at < part.to; at++)
		if (!isdigit((unsigned char)*at) && *at != '_')
			return false;
	return part.from < part.to;
}

/* "_2" behind a method: several are called so. Its own arguments stay. */
static void put_method_name(struct part method, const char *program, struct str *out)
{
	const char *open = memchr(method.from, '<', part_len(method));
	struct part word = {method.from, open ? open : method.to};
	const char *last = find_last(word, "_");
	if (last > word.from && is_number_part((struct part){last + 1, word.to}))
		word.to = last;
	bool is_constructor = part_begins_with(word, "_ctor") || part_begins_with(word, "_cctor");
	str_write(out, is_constructor ? "." : "", is_constructor);
	str_write(out, word.from + is_constructor, part_len(word) - is_constructor);
	if (!open || method.to[-1] != '>')
		return;
	str_putc(out, '<');
	put_aot_arguments((struct part){open + 1, method.to - 1}, program, out);
	str_putc(out, '>');
}

/* A lambda or a local function: TYPE "___" METHOD, then "_b__" or "_g__" and the rest. */
static bool put_inner(struct part name, const char *mark, const char *program, struct str *out)
{
	const char *at = find_last(name, mark);
	struct part ahead = {name.from, at ? at : name.from};
	const char *split = at ? find_last(ahead, "___") : NULL;
	if (!split || split == name.from)
		return false;
	put_aot_type(without_closure((struct part){name.from, split}), program, out);
	str_putc(out, '.');
	str_write(out, split + 3, (size_t)(at - split - 3));
	if (mark[1] == 'b') {
		str_puts(out, " lambda");
		return true;
	}
	struct part local = {at + strlen(mark), name.to};
	const char *bracket = memchr(local.from, '<', part_len(local));
	local.to = bracket ? bracket : local.to;
	const char *number = find_last(local, "_");
	while (number && is_number_part((struct part){number + 1, local.to})) {
		local.to = number;
		number = find_last(local, "_");
	}
	str_putc(out, '.');
	str_write(out, local.from, part_len(local));
	return true;
}

/* What an iterator or an async method became: TYPE "__" METHOD "_d__" NUMBER "__MoveNext". */
static bool put_moved(struct part name, const char *program, struct str *out)
{
	const char *moved = find_last(name, "__MoveNext");
	struct part ahead = {name.from, moved ? moved : name.from};
	const char *at = moved ? find_last(ahead, "_d__") : NULL;
	ahead.to = at ? at : name.from;
	const char *split = at ? find_last(ahead, "__") : NULL;
	if (!split || split == name.from)
		return false;
	put_aot_type((struct part){name.from, split}, program, out);
	str_putc(out, '.');
	str_write(out, split + 2, (size_t)(at - split - 2));
	return true;
}

bool native_aot_put_name(const char *name, const char *program, struct str *out)
{
	struct part whole = {name, name + strnlen(name, MAX_NAME_BYTES)};
	if (part_len(whole) == MAX_NAME_BYTES || part_begins_with(whole, "_"))
		return false;
	if (put_inner(whole, "_b__", program, out) || put_inner(whole, "_g__", program, out) ||
		put_moved(whole, program, out))
		return true;
	const char *split = find_last(whole, "__");
	while (split && split > name && split[-1] == '_') /* ".ctor" is "_ctor" */
		split--;
	if (!split || split == name || split + 2 == whole.to)
		return false;
	put_aot_type((struct part){name, split}, program, out);
	str_putc(out, '.');
	put_method_name((struct part){split + 2, whole.to}, program, out);
	return true;
}

/* ---- files ---- */

/* "/usr/bin/my-program.dbg": "my_program" */
static void put_aot_program(const char *path, struct str *out)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path ? path : "";
	size_t len = strnlen(name, MAX_ASSEMBLY_BYTES);
	if (len > 4 && strcmp(name + len - 4, ".dbg") == 0)
		len -= 4;
	for (size_t i = 0; i < len; i++)
		str_putc(out, (char)(isalnum((unsigned char)name[i]) ? name[i] : '_'));
}

/* Debug files have the section without contents. */
static const struct elf_section *find_managed(struct elf_file *elf)
{
	const struct elf_section *sections;
	size_t count = 0;
	err_destroy(elf_file_sections(elf, &sections, &count));
	for (size_t i = 1; i < count; i++)
		if (strcmp(sections[i].name, "__managedcode") == 0)
			return &sections[i];
	return NULL;
}

void native_aot_add(struct elf_file *elf, const struct elf_symbols *symbols, const char *path,
	struct symbol_index *index)
{
	CLEANUP(str_deinit) struct str program = {0};
	CLEANUP(str_deinit) struct str name = {0};
	const struct elf_section *managed = find_managed(elf);
	if (!managed)
		return;
	put_aot_program(path, &program);
	vec_each(&symbols->symbols, symbol) {
		str_truncate(&name, 0);
		if (symbol->size && symbol->address - managed->addr < managed->size &&
			native_aot_put_name(
				elf_symbols_name(symbols, symbol), str_text(&program), &name))
			symbol_index_add(index, symbol->address, symbol->size, str_text(&name),
				STB_GLOBAL, STT_FUNC);
	}
}
