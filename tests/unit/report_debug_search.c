/* Where debug files are looked for, in which order, and what is refused: over folders made here. */
#include <elf.h>
#include <fcntl.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "format/base/bytes.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/name/debugfile/debug_search.h"
#include "report/name/symbol/symbol_file.h"
#include "tests/unit/unit.h"

/* ---- files ---- */

struct part {
	const char *name; /* NULL ends a list */
	uint32_t type;
	const void *bytes;
	size_t len;
};

enum {
	PARTS_MAX = 8,
	CODE_AT = 0x1000,
};

static const uint32_t note_right[] = {4, 8, NT_GNU_BUILD_ID, 0x554e47, 0x04030201, 0x08070605};
static const uint32_t note_other[] = {4, 8, NT_GNU_BUILD_ID, 0x554e47, 0x04030201, 0x09090909};
static const uint8_t build_id[] = {1, 2, 3, 4, 5, 6, 7, 8};
#define NOTE \
	{ \
		".note.gnu.build-id", SHT_NOTE, note_right, sizeof(note_right) \
	}
#define NOTE_OTHER \
	{ \
		".note.gnu.build-id", SHT_NOTE, note_other, sizeof(note_other) \
	}
#define DWARF \
	{ \
		".debug_info", SHT_PROGBITS, "x", 1 \
	}
#define END_OF_LIST \
	{ \
		NULL, 0, NULL, 0 \
	}

/* A relocatable-like file of sections alone; a symbol table's names stand in the section behind it.
 */
static void put_elf(struct bytes_buf *out, const struct part *parts)
{
	Elf64_Shdr headers[PARTS_MAX + 2] = {{0}};
	struct bytes_buf body = {0}, names = {0};
	uint32_t count = 1;
	bytes_put_u8(&names, 0);
	for (; parts->name; parts++, count++) {
		headers[count] = (Elf64_Shdr){.sh_name = (uint32_t)names.len,
			.sh_type = parts->type,
			.sh_offset = sizeof(Elf64_Ehdr) + body.len,
			.sh_size = parts->len,
			.sh_link = count + 1,
			.sh_addr = parts->type == SHT_NOBITS ? CODE_AT : 0,
			.sh_flags = parts->type == SHT_NOBITS ? SHF_ALLOC | SHF_EXECINSTR : 0,
			.sh_entsize = parts->type == SHT_SYMTAB || parts->type == SHT_DYNSYM
					      ? sizeof(Elf64_Sym)
					      : 0};
		bytes_put(&names, parts->name, strlen(parts->name) + 1);
		if (parts->type != SHT_NOBITS)
			bytes_put(&body, parts->bytes, parts->len);
	}
	headers[count] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
		.sh_offset = sizeof(Elf64_Ehdr) + body.len,
		.sh_size = names.len};
	bytes_put(&body, names.data, names.len);
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_shoff = sizeof(Elf64_Ehdr) + body.len,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)(count + 1),
		.e_shstrndx = (uint16_t)count};
	bytes_put(out, &header, sizeof(header));
	bytes_put(out, body.data, body.len);
	bytes_put(out, headers, (count + 1) * sizeof(*headers));
	bytes_buf_deinit(&body);
	bytes_buf_deinit(&names);
}

/* One function of 16 bytes in a table of this type; needs a section of code in front. */
static void put_function(struct part *parts, uint32_t type, const char *name, Elf64_Sym symbols[2])
{
	memset(symbols, 0, 2 * sizeof(*symbols));
	symbols[1] = (Elf64_Sym){.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 1,
		.st_value = CODE_AT + (type == SHT_SYMTAB ? 16 : 0),
		.st_size = 16};
	const char *table = type == SHT_SYMTAB ? ".symtab" : ".dynsym";
	parts[0] = (struct part){table, type, symbols, 2 * sizeof(*symbols)};
	parts[1] = (struct part){".names", SHT_STRTAB, name, strlen(name + 1) + 2};
}

/* ---- a machine in a folder ---- */

struct machine {
	char root[64];
	struct symbol_file_options options;
	struct debug_attempts attempts;
	struct debug_identity identity;
	size_t nr_taken;
};

static struct machine machine_make(void)
{
	struct machine machine = {.root = "/tmp/ebprof-unit.XXXXXX",
		.identity = {.build_id = build_id, .build_id_len = sizeof(build_id)}};
	CHECK(mkdtemp(machine.root));
	CHECK_INT(unsetenv("HOME"), 0);
	return machine;
}

static void machine_remove(struct machine *machine)
{
	char command[100];
	snprintf(command, sizeof(command), "rm -rf '%s'", machine->root);
	CHECK_INT(system(command), 0); /* NOLINT(cert-env33-c) */
	debug_attempts_deinit(&machine->attempts);
	vec_deinit(&machine->options.debug_dirs);
}

static void write_bytes(
	const struct machine *machine, const char *path, const struct bytes_buf *bytes)
{
	CLEANUP(str_deinit) struct str whole = {0};
	str_printf(&whole, "%s%s", machine->root, path);
	for (char *at = whole.data + 1; (at = strchr(at, '/')); at++) {
		*at = 0;
		mkdir(whole.data, 0700);
		*at = '/';
	}
	CLEANUP_FD int fd = open(whole.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, bytes->data, bytes->len), bytes->len);
}

static void write_elf(const struct machine *machine, const char *path, const struct part *parts)
{
	struct bytes_buf bytes = {0};
	put_elf(&bytes, parts);
	write_bytes(machine, path, &bytes);
	bytes_buf_deinit(&bytes);
}

static bool count_taken(
	void *context, const struct debug_attempt *attempt, struct elf_file *elf, int fd)
{
	struct machine *machine = context;
	bool is_enough = debug_file_has_dwarf(elf);
	(void)attempt;
	machine->nr_taken++;
	elf_file_destroy(elf);
	close(fd);
	return is_enough;
}

static struct debug_search search_of(struct machine *machine)
{
	return (struct debug_search){.options = &machine->options,
		.take = count_taken,
		.context = machine,
		.attempts = &machine->attempts};
}

/* The attempts as lines "place verdict path", paths without the root. */
static void put_attempts(const struct machine *machine, struct str *out)
{
	static const char *const places[] = {
		"own", "dir", "system", "link", "dwz", "perf", "debuginfod"};
	size_t len = strlen(machine->root);
	vec_each(&machine->attempts.list, attempt) {
		bool is_below = strncmp(attempt->path, machine->root, len) == 0;
		str_printf(out, "%s %s %s\n", places[attempt->place],
			attempt->verdict == DEBUG_ABSENT     ? "-"
			: attempt->verdict == DEBUG_ACCEPTED ? "yes"
							     : "no",
			attempt->path + (is_below ? len : 0));
	}
}

static void check_search(struct machine *machine, const char *object, const char *want)
{
	struct debug_search search = search_of(machine);
	machine->options.symfs = machine->root;
	debug_search_object(&search, object, &machine->identity);
	CLEANUP(str_deinit) struct str got = {0};
	put_attempts(machine, &got);
	CHECK_STR(str_text(&got), want);
}

static const char *add_dir(struct machine *machine, const char *name, char *path, size_t len)
{
	snprintf(path, len, "%s%s", machine->root, name);
	vec_push(&machine->options.debug_dirs, path);
	return path;
}

/* ---- the order ---- */

static void put_link(struct bytes_buf *out, const char *name, uint32_t crc)
{
	bytes_put(out, name, strlen(name) + 1);
	while (out->len % 4)
		bytes_put_u8(out, 0);
	bytes_put_u32(out, crc);
}

TEST(every_place_is_tried_in_order)
{
	struct machine machine = machine_make();
	char one[100], two[100], home[100];
	add_dir(&machine, "/one", one, sizeof(one));
	add_dir(&machine, "/two", two, sizeof(two));
	snprintf(home, sizeof(home), "%s/home", machine.root);
	CHECK_INT(setenv("HOME", home, 1), 0);
	struct bytes_buf link = {0};
	put_link(&link, "prog.debug", 1);
	const struct part own[] = {
		NOTE, {".gnu_debuglink", SHT_PROGBITS, link.data, link.len}, END_OF_LIST};
	write_elf(&machine, "/usr/bin/prog", own);
	check_search(&machine, "/usr/bin/prog",
		"own yes /usr/bin/prog\n"
		"dir - /one/.build-id/01/02030405060708.debug\n"
		"dir - /one/01/02030405060708.debug\n"
		"dir - /one/usr/bin/prog.debug\n"
		"dir - /two/.build-id/01/02030405060708.debug\n"
		"dir - /two/01/02030405060708.debug\n"
		"dir - /two/usr/bin/prog.debug\n"
		"system - /usr/lib/debug/.build-id/01/02030405060708.debug\n"
		"link - /usr/bin/prog.debug\n"
		"link - /usr/bin/.debug/prog.debug\n"
		"link - /usr/lib/debug/usr/bin/prog.debug\n"
		"perf - /home/.debug/.build-id/01/02030405060708/debug\n"
		"perf - /home/.debug/.build-id/01/02030405060708/elf\n"
		"perf - /home/.debug/.build-id/01/02030405060708\n");
	bytes_buf_deinit(&link);
	machine_remove(&machine);
}

TEST(debug_information_ends_the_search)
{
	struct machine machine = machine_make();
	char one[100];
	add_dir(&machine, "/one", one, sizeof(one));
	write_elf(&machine, "/prog", (const struct part[]){NOTE, END_OF_LIST});
	write_elf(&machine, "/one/01/02030405060708.debug",
		(const struct part[]){NOTE, DWARF, END_OF_LIST});
	check_search(&machine, "/prog",
		"own yes /prog\n"
		"dir - /one/.build-id/01/02030405060708.debug\n"
		"dir yes /one/01/02030405060708.debug\n");
	CHECK_INT(machine.nr_taken, 2);
	machine_remove(&machine);
}

/* An unstripped copy that was called otherwise, among others. */
TEST(copies_with_the_build_id_have_any_name)
{
	struct machine machine = machine_make();
	char copies[100];
	add_dir(&machine, "/copies", copies, sizeof(copies));
	write_elf(&machine, "/prog", (const struct part[]){NOTE, END_OF_LIST});
	write_elf(&machine, "/copies/prog", (const struct part[]){NOTE_OTHER, DWARF, END_OF_LIST});
	write_elf(&machine, "/copies/prog-1.2-unstripped",
		(const struct part[]){NOTE, DWARF, END_OF_LIST});
	write_elf(&machine, "/copies/below/prog", (const struct part[]){NOTE, DWARF, END_OF_LIST});
	check_search(&machine, "/prog",
		"own yes /prog\n"
		"dir - /copies/.build-id/01/02030405060708.debug\n"
		"dir - /copies/01/02030405060708.debug\n"
		"dir - /copies/prog.debug\n"
		"dir yes /copies/prog-1.2-unstripped\n");
	CHECK_INT(machine.nr_taken, 2);
	machine_remove(&machine);
}

TEST(other_builds_and_other_formats_are_refused)
{
	struct machine machine = machine_make();
	write_elf(&machine, "/prog", (const struct part[]){NOTE_OTHER, DWARF, END_OF_LIST});
	struct bytes_buf text = {0};
	bytes_put(&text, "no ELF", 6);
	write_bytes(&machine, "/usr/lib/debug/.build-id/01/02030405060708.debug", &text);
	check_search(&machine, "/prog",
		"own no /prog\n"
		"system no /usr/lib/debug/.build-id/01/02030405060708.debug\n");
	CHECK_INT(machine.attempts.list.data[0].verdict, DEBUG_OTHER_BUILD);
	CHECK_INT(machine.attempts.list.data[1].verdict, DEBUG_NOT_ELF);
	CHECK_INT(machine.nr_taken, 0);
	bytes_buf_deinit(&text);
	machine_remove(&machine);
}

TEST(relative_paths_are_not_tried)
{
	struct machine machine = machine_make();
	check_search(
		&machine, "prog", "system - /usr/lib/debug/.build-id/01/02030405060708.debug\n");
	machine_remove(&machine);
}

/* A folder or a pipe is no file, and a pipe must not be waited for. */
TEST(only_regular_files_are_opened)
{
	struct machine machine = machine_make();
	char path[100];
	snprintf(path, sizeof(path), "%s/prog", machine.root);
	CHECK_INT(mkfifo(path, 0600), 0);
	check_search(&machine, "/prog",
		"own no /prog\nsystem - /usr/lib/debug/.build-id/01/02030405060708.debug\n");
	CHECK_INT(machine.attempts.list.data[0].verdict, DEBUG_NOT_REGULAR);
	machine_remove(&machine);
}

/* The section headers, which stand at the end, are what a file that was cut off lacks. */
TEST(what_is_cut_off_is_said_to_be)
{
	struct machine machine = machine_make();
	struct bytes_buf whole = {0}, big_endian = {0};
	put_elf(&whole, (const struct part[]){NOTE, DWARF, END_OF_LIST});
	bytes_put(&big_endian, whole.data, whole.len);
	big_endian.data[EI_DATA] = ELFDATA2MSB;
	whole.len -= 8;
	write_bytes(&machine, "/prog", &whole);
	write_bytes(&machine, "/usr/lib/debug/.build-id/01/02030405060708.debug", &big_endian);
	check_search(&machine, "/prog",
		"own no /prog\nsystem no /usr/lib/debug/.build-id/01/02030405060708.debug\n");
	CHECK_INT(machine.attempts.list.data[0].verdict, DEBUG_DAMAGED);
	CHECK_INT(machine.attempts.list.data[1].verdict, DEBUG_OTHER_ORDER);
	bytes_buf_deinit(&whole);
	bytes_buf_deinit(&big_endian);
	machine_remove(&machine);
}

/* ---- what was kept while recording ---- */

TEST(kept_files_and_their_roots_come_first)
{
	struct machine machine = machine_make();
	char path[100], root[100];
	struct symbol_file_kept kept[] = {
		{.build_id = (const uint8_t[]){9}, .build_id_len = 1, .path = "/wrong"},
		{.build_id = build_id, .build_id_len = sizeof(build_id), .path = path},
		{.build_id = build_id,
			.build_id_len = sizeof(build_id),
			.path = path,
			.root = root},
	};
	snprintf(path, sizeof(path), "%s/descriptor", machine.root);
	snprintf(root, sizeof(root), "%s/container", machine.root);
	machine.options.kept = kept;
	machine.options.nr_kept = 3;
	struct bytes_buf link = {0};
	put_link(&link, "prog.debug", 1);
	const struct part own[] = {
		NOTE, {".gnu_debuglink", SHT_PROGBITS, link.data, link.len}, END_OF_LIST};
	write_elf(&machine, "/descriptor", own);
	write_elf(&machine, "/prog", (const struct part[]){NOTE_OTHER, DWARF, END_OF_LIST});
	write_elf(&machine, "/container/usr/lib/debug/prog.debug",
		(const struct part[]){NOTE, DWARF, END_OF_LIST});
	check_search(&machine, "/prog",
		"own yes /descriptor\n"
		"system - /container/usr/lib/debug/.build-id/01/02030405060708.debug\n"
		"link - /container/prog.debug\n"
		"link - /container/.debug/prog.debug\n"
		"link yes /container/usr/lib/debug/prog.debug\n");
	CHECK_STR(debug_search_root(&machine.options, &machine.identity), root);
	bytes_buf_deinit(&link);
	machine_remove(&machine);
}

TEST(kept_files_of_another_build_are_refused)
{
	struct machine machine = machine_make();
	char path[100];
	struct symbol_file_kept kept = {
		.build_id = build_id, .build_id_len = sizeof(build_id), .path = path};
	snprintf(path, sizeof(path), "%s/descriptor", machine.root);
	machine.options.kept = &kept;
	machine.options.nr_kept = 1;
	write_elf(&machine, "/descriptor", (const struct part[]){NOTE_OTHER, DWARF, END_OF_LIST});
	check_search(&machine, "/prog",
		"own no /descriptor\n"
		"own - /prog\n"
		"system - /usr/lib/debug/.build-id/01/02030405060708.debug\n");
	CHECK_STR(debug_search_root(&machine.options, &machine.identity), machine.root);
	machine_remove(&machine);
}

/* ---- .gnu_debuglink ---- */

/* Without build IDs: the object is known by size and time, its debug file by checksum. */
static void check_link(const char *name, bool is_crc_right, const char *want)
{
	struct machine machine = machine_make();
	struct bytes_buf debug = {0}, link = {0}, own = {0};
	put_elf(&debug, (const struct part[]){DWARF, END_OF_LIST});
	uint32_t crc = (uint32_t)crc32(0, debug.data, (uInt)debug.len);
	put_link(&link, name, is_crc_right ? crc : crc + 1);
	put_elf(&own, (const struct part[]){
			      {".gnu_debuglink", SHT_PROGBITS, link.data, link.len}, END_OF_LIST});
	write_bytes(&machine, "/bin/prog", &own);
	write_bytes(&machine, "/bin/.debug/p.debug", &debug);
	write_bytes(&machine, "/p.debug", &debug);
	char path[100];
	struct stat st;
	snprintf(path, sizeof(path), "%s/bin/prog", machine.root);
	CHECK_INT(stat(path, &st), 0);
	machine.identity = (struct debug_identity){.size_bytes = (uint64_t)st.st_size,
		.mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec};
	check_search(&machine, "/bin/prog", want);
	bytes_buf_deinit(&debug);
	bytes_buf_deinit(&link);
	bytes_buf_deinit(&own);
	machine_remove(&machine);
}

TEST(a_checksum_decides_where_there_is_no_build_id)
{
	check_link("p.debug", true,
		"own yes /bin/prog\nlink - /bin/p.debug\nlink yes /bin/.debug/p.debug\n");
	check_link("p.debug", false,
		"own yes /bin/prog\nlink - /bin/p.debug\nlink no /bin/.debug/p.debug\n"
		"link - /usr/lib/debug/bin/p.debug\n");
}

/* perf's table of build IDs lacks libraries in which no sample ended: the file itself has its own.
 */
TEST(the_file_says_which_build_it_is)
{
	struct machine machine = machine_make();
	const struct part own[] = {NOTE, END_OF_LIST}, debug[] = {NOTE, DWARF, END_OF_LIST};
	char path[100];
	struct stat st;
	write_elf(&machine, "/lib/libc.so.6", own);
	write_elf(&machine, "/usr/lib/debug/.build-id/01/02030405060708.debug", debug);
	snprintf(path, sizeof(path), "%s/lib/libc.so.6", machine.root);
	CHECK_INT(stat(path, &st), 0);
	machine.identity = (struct debug_identity){.size_bytes = (uint64_t)st.st_size,
		.mtime_ns =
			(uint64_t)st.st_mtim.tv_sec * 1000000000ULL + (uint64_t)st.st_mtim.tv_nsec};
	check_search(&machine, "/lib/libc.so.6",
		"own yes /lib/libc.so.6\n"
		"system yes /usr/lib/debug/.build-id/01/02030405060708.debug\n");
	machine_remove(&machine);
}

TEST(links_with_a_slash_are_refused)
{
	check_link("../p.debug", true, "own yes /bin/prog\nlink no ../p.debug\n");
	check_link("..", true, "own yes /bin/prog\nlink no ..\n");
}

/* ---- perf's cache and dwz ---- */

TEST(perfs_cache_has_folders_and_files)
{
	struct machine machine = machine_make();
	char home[100], link[200];
	snprintf(home, sizeof(home), "%s/home", machine.root);
	CHECK_INT(setenv("HOME", home, 1), 0);
	write_elf(&machine, "/home/.debug/bin/prog/0102/elf",
		(const struct part[]){NOTE, DWARF, END_OF_LIST});
	snprintf(link, sizeof(link), "%s/.debug/.build-id", home);
	CHECK_INT(mkdir(link, 0700), 0);
	snprintf(link, sizeof(link), "%s/.debug/.build-id/01", home);
	CHECK_INT(mkdir(link, 0700), 0);
	snprintf(link, sizeof(link), "%s/.debug/.build-id/01/02030405060708", home);
	CHECK_INT(symlink("../../bin/prog/0102", link), 0);
	check_search(&machine, "/prog",
		"own - /prog\n"
		"system - /usr/lib/debug/.build-id/01/02030405060708.debug\n"
		"perf - /home/.debug/.build-id/01/02030405060708/debug\n"
		"perf yes /home/.debug/.build-id/01/02030405060708/elf\n");
	machine_remove(&machine);
}

TEST(what_dwz_moved_out_is_found_below_dwz)
{
	struct machine machine = machine_make();
	char one[100];
	add_dir(&machine, "/one", one, sizeof(one));
	machine.options.symfs = machine.root;
	write_elf(&machine, "/usr/lib/debug/.dwz/x86/p.debug",
		(const struct part[]){NOTE, DWARF, END_OF_LIST});
	struct debug_search search = search_of(&machine);
	debug_search_alt(&search, "/cache/debuginfo", "../../.dwz/x86/p.debug", &machine.identity);
	CLEANUP(str_deinit) struct str got = {0};
	put_attempts(&machine, &got);
	CHECK_STR(str_text(&got), "link - /cache/../../.dwz/x86/p.debug\n"
				  "dir - /one/.build-id/01/02030405060708.debug\n"
				  "dir - /one/01/02030405060708.debug\n"
				  "dir - /one/.dwz/x86/p.debug\n"
				  "system - /usr/lib/debug/.build-id/01/02030405060708.debug\n"
				  "dwz yes /usr/lib/debug/.dwz/x86/p.debug\n");
	machine_remove(&machine);
}

/* ---- what is taken of the files ---- */

static struct symbol_file find_object(struct machine *machine, const char *path)
{
	struct profile_object object = {.path = path, .name = path};
	memcpy(object.info.build_id, build_id, sizeof(build_id));
	object.info.build_id_len = sizeof(build_id);
	machine->options.symfs = machine->root;
	struct symbol_file file;
	symbol_file_find(&object, &machine->options, &file);
	return file;
}

static const char *name_at(struct symbol_file *file, uint64_t address)
{
	struct symbol_hit hit = {0};
	return symbol_index_lookup(symbol_file_index(file), address, &hit) ? hit.name : "";
}

/* What is in .gnu_debugdata comes from a compressed file with a symbol table. */
static void put_mini(struct bytes_buf *out)
{
	struct bytes_buf inner = {0};
	Elf64_Sym symbols[2];
	struct part parts[4] = {{".text", SHT_NOBITS, NULL, 64}};
	put_function(parts + 1, SHT_SYMTAB, "\0mini", symbols);
	put_elf(&inner, parts);
	uint8_t packed[4096];
	size_t len = 0;
	CHECK_INT(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL, inner.data, inner.len, packed,
			  &len, sizeof(packed)),
		LZMA_OK);
	bytes_put(out, packed, len);
	bytes_buf_deinit(&inner);
}

TEST(minidebuginfo_counts_unless_there_is_a_symbol_table)
{
	struct machine machine = machine_make();
	struct bytes_buf mini = {0};
	Elf64_Sym dynamic[2], symbols[2];
	put_mini(&mini);
	struct part own[PARTS_MAX] = {{".text", SHT_NOBITS, NULL, 64}};
	put_function(own + 1, SHT_DYNSYM, "\0exported", dynamic);
	own[3] = (struct part)NOTE;
	own[4] = (struct part){".gnu_debugdata", SHT_PROGBITS, mini.data, mini.len};
	write_elf(&machine, "/prog", own);
	struct symbol_file file = find_object(&machine, "/prog");
	CHECK_INT(file.level, SYMBOL_LEVEL_MINI);
	CHECK_STR(name_at(&file, CODE_AT), "exported");
	CHECK_STR(name_at(&file, CODE_AT + 16), "mini");
	symbol_file_deinit(&file);

	struct part debug[PARTS_MAX] = {{".text", SHT_NOBITS, NULL, 64}};
	put_function(debug + 1, SHT_SYMTAB, "\0whole", symbols);
	debug[3] = (struct part)NOTE;
	write_elf(&machine, "/usr/lib/debug/.build-id/01/02030405060708.debug", debug);
	file = find_object(&machine, "/prog");
	CHECK_INT(file.level, SYMBOL_LEVEL_SYMTAB);
	CHECK_STR(name_at(&file, CODE_AT), "exported");
	CHECK_STR(name_at(&file, CODE_AT + 16), "whole");
	CHECK(strstr(file.path, "/usr/lib/debug"));
	symbol_file_deinit(&file);
	bytes_buf_deinit(&mini);
	machine_remove(&machine);
}

/* Damage in the packed bytes costs these symbols and nothing else. */
TEST(damaged_minidebuginfo_is_none)
{
	struct machine machine = machine_make();
	struct bytes_buf mini = {0};
	Elf64_Sym dynamic[2];
	put_mini(&mini);
	for (size_t cut = 0; cut < mini.len; cut += 7) {
		mini.data[cut] ^= 0x55;
		struct part own[PARTS_MAX] = {{".text", SHT_NOBITS, NULL, 64}};
		put_function(own + 1, SHT_DYNSYM, "\0exported", dynamic);
		own[3] = (struct part)NOTE;
		own[4] = (struct part){".gnu_debugdata", SHT_PROGBITS, mini.data, mini.len - cut};
		write_elf(&machine, "/prog", own);
		struct symbol_file file = find_object(&machine, "/prog");
		CHECK_STR(name_at(&file, CODE_AT), "exported");
		symbol_file_deinit(&file);
		mini.data[cut] ^= 0x55;
	}
	bytes_buf_deinit(&mini);
	machine_remove(&machine);
}
