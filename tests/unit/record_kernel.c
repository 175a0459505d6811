/* What /proc/kallsyms and /proc/modules say, given as text. */
#include <stdio.h>
#include <string.h>

#include "record/host/kallsyms.h"
#include "record/task/kernel.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

typedef unsigned long long ull;

/* ---- lines ---- */

static bool log_line(void *context, const struct kallsyms_symbol *symbol)
{
	str_printf(context, "%llx %c %.*s\n", (ull)symbol->address, symbol->type,
		(int)symbol->name_len, symbol->name);
	return !kallsyms_has_name(symbol, "enough");
}

static void check_lines_of(const char *text, size_t len, const char *want)
{
	CLEANUP(str_deinit) struct str log = {0};
	CLEANUP_FD int fd = forged_fd(text, len);
	kallsyms_read(fd, log_line, &log);
	CHECK_STR(str_text(&log), want);
}

static void check_lines(const char *text, const char *want)
{
	check_lines_of(text, strlen(text), want);
}

TEST(kallsyms_lines_are_read)
{
	check_lines("", "");
	check_lines("ffffffff81000000 T _text\n0000000000000000 A fixed_percpu_data\n",
		"ffffffff81000000 T _text\n0 A fixed_percpu_data\n");
}

TEST(kallsyms_modules_stand_in_brackets)
{
	check_lines("ffffffffc0000000 t init\t[ext4]\nffffffffc0000010 t bpf_prog_1_x\t[bpf]\n",
		"ffffffffc0000000 t init\nffffffffc0000010 t bpf_prog_1_x\n");
}

TEST(kallsyms_lines_without_sense_are_skipped)
{
	check_lines("\n"
		    " \n"
		    "T _text\n"
		    " T _text\n"
		    "10\n"
		    "10 \n"
		    "10 T\n"
		    "10 T \n"
		    "10 T \t[module]\n"
		    "10T x\n"
		    "10 TT x\n"
		    "10  T x\n"
		    "g0 T x\n"
		    "-1 T x\n"
		    "0x10 T x\n"
		    "10000000000000000 T more_than_64_bits\n"
		    "00000000000000001 T likewise\n"
		    "20 T good\n",
		"20 T good\n");
}

TEST(kallsyms_line_without_end_is_none)
{
	check_lines("10 T whole\n20 T bro", "10 T whole\n");
}

TEST(kallsyms_bytes_of_any_value)
{
	static const char text[] = "10 \xff \x80\xff\n\0\0 T x\n20 T name\n";
	check_lines_of(text, sizeof(text) - 1, "10 \xff \x80\xff\n20 T name\n");
}

TEST(kallsyms_reading_ends_when_it_is_enough)
{
	check_lines("10 T a\n20 T enough\n30 T b\n", "10 T a\n20 T enough\n");
}

/* Lines across the ends of the buffer, at every place of a line in turn. */
TEST(kallsyms_of_many_buffers)
{
	CLEANUP(str_deinit) struct str text = {0}, want = {0};
	for (unsigned i = 1; i < 20000; i++) {
		str_printf(&text, "%016x t name_%u\n", i, i);
		str_printf(&want, "%x t name_%u\n", i, i);
	}
	CHECK(text.len > 4 * (64 << 10));
	check_lines_of(text.data, text.len, want.data);
}

/* The rest of such a line could be taken for a line of its own. */
TEST(kallsyms_line_longer_than_the_buffer_is_skipped)
{
	static const size_t lengths[] = {65000, 65520, 65536, 65537, 131072, 200000};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		CLEANUP(str_deinit) struct str line = {0}, text = {0}, want = {0};
		str_puts(&line, "20 T ");
		str_pad(&line, 'x', lengths[i]);
		str_puts(&line, "30 T y\n");
		str_printf(&text, "10 T a\n%s40 T b\n", line.data);
		str_printf(&want, "10 T a\n%s40 T b\n", line.len < 65536 ? line.data : "");
		check_lines_of(text.data, text.len, want.data);
	}
}

/* ---- symbols ---- */

static void read_symbols(struct kernel_symbols *symbols, const char *text)
{
	CLEANUP_FD int fd = forged_fd(text, strlen(text));
	*symbols = (struct kernel_symbols){0};
	kernel_symbols_read(symbols, fd);
}

/* "name address+size", "-" for none. */
static void check_symbol(struct kernel_symbols *symbols, uint64_t address, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	struct kernel_symbol symbol;
	if (kernel_symbols_find(symbols, address, &symbol))
		str_printf(
			&got, "%s %llx+%llx", symbol.name, (ull)symbol.address, (ull)symbol.size);
	CHECK_STR(got.len ? str_text(&got) : "-", want);
}

TEST(kernel_symbols_are_found)
{
	struct kernel_symbols symbols;
	read_symbols(&symbols, "1000 T _text\n1100 t b\n1200 W c\n1300 w d\n");
	check_symbol(&symbols, 0, "-");
	check_symbol(&symbols, 0xfff, "-");
	check_symbol(&symbols, 0x1000, "_text 1000+100");
	check_symbol(&symbols, 0x10ff, "_text 1000+100");
	check_symbol(&symbols, 0x1100, "b 1100+100");
	check_symbol(&symbols, 0x12ff, "c 1200+100");
	check_symbol(&symbols, 0x1300, "d 1300+0");
	check_symbol(&symbols, UINT64_MAX, "d 1300+0");
	kernel_symbols_deinit(&symbols);
}

TEST(kernel_symbols_are_functions_only)
{
	struct kernel_symbols symbols;
	read_symbols(&symbols, "800 A absolute\n1000 T f\n1010 D data\n1020 r table\n1030 B bss\n"
			       "1040 V weak_object\n1050 T g\n");
	check_symbol(&symbols, 0x900, "-");
	check_symbol(&symbols, 0x1048, "f 1000+50");
	kernel_symbols_deinit(&symbols);
}

/* Linkers and aliases give one place several names. */
TEST(kernel_symbols_at_one_address)
{
	struct kernel_symbols symbols;
	read_symbols(
		&symbols, "1000 T first\n1000 T second\n1000 t third\n1010 T f\n1010 W alias\n");
	check_symbol(&symbols, 0x1000, "first 1000+10");
	check_symbol(&symbols, 0x100f, "first 1000+10");
	check_symbol(&symbols, 0x1010, "f 1010+0");
	kernel_symbols_deinit(&symbols);
}

/* Modules lie behind the kernel on x86-64 and ahead of it on arm64, in the order of symtabs. */
TEST(kernel_symbols_of_modules_are_put_in_order)
{
	struct kernel_symbols symbols;
	read_symbols(&symbols, "ffffffff81000000 T _text\n"
			       "ffffffff81000100 T g\n"
			       "ffffffffc0000200 t b\t[m]\n"
			       "ffffffffc0000100 t a\t[m]\n"
			       "ffffffffc0000200 t b_again\t[m]\n"
			       "ffff800000000000 t low\t[n]\n"
			       "ffffffffc0000100 t a_again\t[m]\n");
	check_symbol(&symbols, 0xffff800000000010, "low ffff800000000000+7fff81000000");
	check_symbol(&symbols, 0xffffffff81000000, "_text ffffffff81000000+100");
	check_symbol(&symbols, 0xffffffff81000101, "g ffffffff81000100+3f000000");
	check_symbol(&symbols, 0xffffffffc0000100, "a ffffffffc0000100+100");
	check_symbol(&symbols, 0xffffffffc0000fff, "b ffffffffc0000200+0");
	kernel_symbols_deinit(&symbols);
}

TEST(kernel_symbols_in_any_order)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct kernel_symbols symbols;
	uint64_t number = 1;
	for (int i = 0; i < 5000; i++) {
		number = number * 6364136223846793005 + 1442695040888963407;
		str_printf(&text, "%llx t s%llx\n", (ull)number, (ull)number);
	}
	read_symbols(&symbols, str_text(&text));
	CHECK_INT(symbols.list.entries.len, 5000);
	for (size_t i = 0; i < symbols.list.entries.len; i++) {
		char want[32];
		const struct kernel_symbols_entry *entry = &symbols.list.entries.data[i];
		snprintf(want, sizeof(want), "s%llx", (ull)entry->address);
		CHECK_STR(symbols.list.names.data + entry->name, want);
		CHECK(!i || entry[-1].address < entry->address);
	}
	kernel_symbols_deinit(&symbols);
}

TEST(kernel_symbols_hidden_are_none)
{
	struct kernel_symbols symbols;
	read_symbols(&symbols, "0000000000000000 T _text\n0000000000000000 t f\n"
			       "0000000000000000 T _etext\n0000000000000000 t g\t[m]\n");
	CHECK_INT(symbols.list.entries.len, 0);
	CHECK_INT(kernel_symbols_text_end(&symbols), 0);
	check_symbol(&symbols, 0, "-");
	check_symbol(&symbols, UINT64_MAX, "-");
	kernel_symbols_deinit(&symbols);
}

/* Its type is that of whatever section comes next: R on arm64. */
TEST(kernel_symbols_tell_the_end_of_text)
{
	struct kernel_symbols symbols;
	read_symbols(&symbols, "1000 T _text\n2000 R _etext\n3000 T _einittext\n");
	CHECK_INT(kernel_symbols_text_end(&symbols), 0x2000);
	kernel_symbols_deinit(&symbols);
}

/* The real ones, by the thread and without it; here they may be hidden. */
TEST(kernel_symbols_of_this_kernel)
{
	struct kernel_symbols threaded = {0}, plain = {0};
	kernel_symbols_start(&threaded, "");
	kernel_symbols_wait(&plain);
	kernel_symbols_wait(&threaded);
	kernel_symbols_wait(&threaded); /* again: at once */
	CHECK(threaded.is_ready && !threaded.has_thread);
	struct kernel_symbol symbol;
	if (plain.list.entries.len)
		CHECK(kernel_symbols_find(&threaded, plain.list.entries.data[0].address, &symbol));
	kernel_symbols_start(&threaded, ""); /* anew */
	CHECK(!threaded.is_ready);
	kernel_symbols_wait(&threaded);
	/* BPF programs come and go meanwhile. */
	CHECK(threaded.list.entries.len + 1000 > plain.list.entries.len);
	kernel_symbols_deinit(&threaded);
	kernel_symbols_deinit(&plain);
}

TEST(kernel_symbols_that_nobody_wants_are_dropped)
{
	for (int i = 0; i < 20; i++) {
		struct kernel_symbols symbols = {0};
		kernel_symbols_start(&symbols, "");
		if (i % 2)
			usleep((useconds_t)i * 200);
		kernel_symbols_deinit(&symbols);
		CHECK(!symbols.has_thread && !symbols.list.entries.data);
	}
}

/* ---- where the kernel is ---- */

static void check_base(const char *text, uint64_t base, bool is_hidden)
{
	CLEANUP_FD int fd = forged_fd(text, strlen(text));
	bool got_hidden = !is_hidden;
	CHECK_INT(kallsyms_read_base(fd, &got_hidden), base);
	CHECK_INT(got_hidden, is_hidden);
}

TEST(kernel_base_is_text)
{
	check_base("1000 T _stext\n1000 T _text\n1010 T f\n", 0x1000, false);
	check_base("1000 T _text\n11000 T _stext\n", 0x1000, false); /* arm64 */
	check_base("1000 t _head\n1000 T _text\n9 T _text\n", 0x1000, false);
	check_base("0 A fixed_percpu_data\n1f000 A __per_cpu_end\n" /* x86 before 6.15 */
		   "ffffffff81000000 T startup_64\nffffffff81000000 T _text\n",
		0xffffffff81000000, false);
}

TEST(kernel_base_without_text)
{
	check_base("1000 T _stext\n1010 T f\n", 0x1000, false);
	check_base("1000 T f\n", 0, false);
	check_base("", 0, true);
	CLEANUP(str_deinit) struct str text = {0};
	for (int i = 0; i < 5000; i++) /* too far down is as good as not there */
		str_puts(&text, "10 T f\n");
	str_puts(&text, "1000 T _text\n");
	check_base(str_text(&text), 0, false);
}

TEST(kernel_base_that_is_hidden)
{
	check_base("0000000000000000 T _stext\n0000000000000000 T _text\n", 0, true);
	check_base("0000000000000000 A x\n0000000000000000 T f\n", 0, true);
}

/* ---- modules and addresses ---- */

struct fixture {
	struct object_table objects;
	struct kernel kernel;
};

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.kernel.objects = &fixture->objects};
	struct object *object =
		object_table_special(&fixture->objects, LAYOUT_OBJECT_KERNEL, "[kernel.kallsyms]");
	object->info.base = 0x100000;
	fixture->kernel.object = object;
	fixture->kernel.symbols.is_ready = true;
}

static void teardown(struct fixture *fixture)
{
	kernel_deinit(&fixture->kernel);
	object_table_deinit(&fixture->objects);
}

static bool take_modules(struct fixture *fixture, const char *text)
{
	CLEANUP_FREE char *copy = mem_strdup(text);
	return kernel_take_modules(&fixture->kernel, copy);
}

static void check_at(struct fixture *fixture, uint64_t address, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	uint64_t offset;
	struct object *object = kernel_resolve(&fixture->kernel, address, 1, &offset);
	str_printf(&got, "%s+%llx", object->path, (ull)offset);
	CHECK_STR(str_text(&got), want);
}

TEST(kernel_modules_are_found)
{
	struct fixture fixture;
	setup(&fixture);
	CHECK(take_modules(&fixture, "nf_x 4096 2 nf_y,nf_z, Live 0x0000000000500000 (OE)\n"
				     "ext4 8192 1 - Live 0x0000000000400000\n"));
	check_at(&fixture, 0x3fffff, "[kernel.kallsyms]+2fffff");
	check_at(&fixture, 0x400000, "[ext4]+0");
	check_at(&fixture, 0x401fff, "[ext4]+1fff");
	check_at(&fixture, 0x402000, "[kernel.kallsyms]+302000");
	check_at(&fixture, 0x500800, "[nf_x]+800");
	check_at(&fixture, 0x501000, "[kernel.kallsyms]+401000");
	check_at(&fixture, 0x100010, "[kernel.kallsyms]+10");
	teardown(&fixture);
}

/* Reading the modules anew leaves programs where they are; of two at one place the later one is. */
TEST(kernel_programs_are_found)
{
	struct fixture fixture;
	setup(&fixture);
	kernel_add_program(&fixture.kernel, 0x600000, 0x100, "bpf_prog_1_a");
	kernel_add_program(&fixture.kernel, 0x700000, 0x100, "bpf_prog_2_b");
	kernel_add_program(&fixture.kernel, 0x600080, 0x100, "bpf_prog_3_c");
	kernel_add_program(&fixture.kernel, 0x800000, 0, "bpf_prog_4_empty");
	kernel_add_program(&fixture.kernel, UINT64_MAX, 2, "bpf_prog_5_wraps");
	kernel_add_program(&fixture.kernel, 0x900000, 16, "");
	take_modules(&fixture, "ext4 8192 1 - Live 0x0000000000400000\n");
	check_at(&fixture, 0x600010, "[bpf_prog_1_a]+10");
	check_at(&fixture, 0x600080, "[bpf_prog_3_c]+0");
	check_at(&fixture, 0x7000ff, "[bpf_prog_2_b]+ff");
	check_at(&fixture, 0x700100, "[kernel.kallsyms]+600100");
	check_at(&fixture, 0x800000, "[kernel.kallsyms]+700000");
	check_at(&fixture, 0x900000, "[kernel.kallsyms]+800000");
	check_at(&fixture, 0x400001, "[ext4]+1");
	teardown(&fixture);
}

/* One object, whose places count from where each of them begins; its base is the newest one's. */
TEST(kernel_programs_that_were_loaded_twice)
{
	struct fixture fixture;
	setup(&fixture);
	kernel_add_program(&fixture.kernel, 0x600000, 0x100, "bpf_prog_1_a");
	kernel_add_program(&fixture.kernel, 0x700000, 0x100, "bpf_prog_1_a");
	check_at(&fixture, 0x600010, "[bpf_prog_1_a]+10");
	check_at(&fixture, 0x700020, "[bpf_prog_1_a]+20");
	teardown(&fixture);
}

static void check_program_line(struct fixture *fixture, uint64_t address, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	uint64_t offset;
	const char *file = "?";
	uint32_t line = 0;
	struct object *object = kernel_resolve(&fixture->kernel, address, 1, &offset);
	if (kernel_program_line(&fixture->kernel, object, offset, &file, &line))
		str_printf(&got, "%s:%u", file, line);
	CHECK_STR(got.len ? str_text(&got) : "-", want);
}

TEST(kernel_programs_have_lines)
{
	struct fixture fixture;
	setup(&fixture);
	kernel_add_program(&fixture.kernel, 0x600000, 0x100, "bpf_prog_1_a");
	kernel_add_program(&fixture.kernel, 0x600100, 0x100, "bpf_prog_1_F");
	struct bpf_lines *lines = &fixture.kernel.programs.data[0].lines;
	uint32_t a = strtab_intern(&lines->files, "a.c", 3);
	vec_push(&lines->list, (struct bpf_line){0x600110, a, 9});
	vec_push(&lines->list, (struct bpf_line){0x600020, a, 7});
	vec_push(&lines->list, (struct bpf_line){0x600010, a, 5});
	bpf_lines_sort(lines);
	fixture.kernel.programs.data[0].are_lines_read = true;
	check_program_line(&fixture, 0x60000f, "-");
	check_program_line(&fixture, 0x600010, "a.c:5");
	check_program_line(&fixture, 0x60001f, "a.c:5");
	check_program_line(&fixture, 0x6000ff, "a.c:7");
	check_program_line(
		&fixture, 0x600110, "-"); /* of another function, whose lines are not known */
	fixture.kernel.programs.data[1].lines.list.len = 0;
	vec_push(&fixture.kernel.programs.data[1].lines.list, (struct bpf_line){0x6000f0, 0, 8});
	check_program_line(&fixture, 0x600100, "-"); /* a line of the function before */
	teardown(&fixture);
}

TEST(kernel_modules_without_sense_are_skipped)
{
	struct fixture fixture;
	setup(&fixture);
	CHECK(!take_modules(&fixture, "\n"
				      "x\n"
				      "hidden 4096 0 - Live 0x0000000000000000\n"
				      "empty 0 0 - Live 0x1000\n"
				      "huge 18446744073709551615 0 - Live 0x1000\n"
				      "words many 0 - Live 0x1000\n"
				      "short 4096 0 -\n"));
	CHECK_INT(fixture.kernel.modules.len, 0);
	CHECK(take_modules(&fixture,
		"0123456789012345678901234567890123456789012345678901234567890123"
		"4567890 1 2 - Live 0x10\n"
		"good 16 0 - Live 0x2000\n"));
	CHECK_INT(fixture.kernel.modules.len, 1);
	check_at(&fixture, 0x2001, "[good]+1");
	teardown(&fixture);
}

TEST(kernel_modules_read_again)
{
	struct fixture fixture;
	setup(&fixture);
	CHECK(take_modules(&fixture, "a 4096 0 - Live 0x400000\n"));
	check_at(&fixture, 0x400001, "[a]+1");
	CHECK(!take_modules(&fixture, "a 4096 0 - Live 0x400000\n"));
	CHECK(fixture.kernel.modules.data[0].is_identified);
	CHECK(take_modules(&fixture, "b 4096 0 - Live 0x500000\na 4096 1 b, Live 0x400000\n"));
	CHECK_INT(fixture.kernel.modules.len, 2);
	CHECK(fixture.kernel.modules.data[0].is_identified);
	CHECK(!fixture.kernel.modules.data[1].is_identified);
	check_at(&fixture, 0x500001, "[b]+1");
	/* Gone, and back somewhere else. */
	CHECK(!take_modules(&fixture, "b 4096 0 - Live 0x500000\n"));
	check_at(&fixture, 0x400001, "[kernel.kallsyms]+300001");
	CHECK(take_modules(&fixture, "b 4096 0 - Live 0x500000\na 4096 0 - Live 0x600000\n"));
	check_at(&fixture, 0x600001, "[a]+1");
	teardown(&fixture);
}

static void resolve_at(struct fixture *fixture, uint64_t address, uint64_t now_ns)
{
	uint64_t offset;
	kernel_resolve(&fixture->kernel, address, now_ns, &offset);
}

TEST(kernel_modules_are_read_again_once_in_a_second)
{
	enum {
		SECOND = 1000000000
	};
	struct fixture fixture;
	struct kernel *kernel = &fixture.kernel;
	setup(&fixture);
	kernel->modules_read_ns = 5 * (uint64_t)SECOND;
	resolve_at(&fixture, 0x900000, 7 * (uint64_t)SECOND);
	CHECK(kernel->modules_read_ns == 5 * (uint64_t)SECOND); /* where text ends is not known */
	kernel->symbols.text_end = 0x200000;
	resolve_at(&fixture, 0x1fffff, 7 * (uint64_t)SECOND);
	CHECK(kernel->modules_read_ns == 5 * (uint64_t)SECOND); /* inside */
	resolve_at(&fixture, 0x200000, 6 * (uint64_t)SECOND - 1);
	resolve_at(&fixture, 0x200000, 4 * (uint64_t)SECOND); /* another CPU's is a bit older */
	CHECK(kernel->modules_read_ns == 5 * (uint64_t)SECOND);
	resolve_at(&fixture, 0x200000, 6 * (uint64_t)SECOND);
	CHECK(kernel->modules_read_ns == 6 * (uint64_t)SECOND);
	resolve_at(&fixture, 0xfffff, 8 * (uint64_t)SECOND); /* below */
	CHECK(kernel->modules_read_ns == 8 * (uint64_t)SECOND);
	teardown(&fixture);
}

static bool is_function(char type, const char *name)
{
	struct kallsyms_symbol symbol = {
		.address = 16, .type = type, .name = name, .name_len = strlen(name)};
	return kallsyms_is_function(&symbol);
}

/* arm64's kernel lists the mapping symbols of modules, which would hide the functions behind them.
 */
TEST(kallsyms_functions_are_told_from_labels)
{
	CHECK(is_function('t', "local") && is_function('T', "global") && is_function('W', "weak"));
	CHECK(!is_function('d', "data") && !is_function('A', "absolute"));
	CHECK(!is_function('t', "$x") && !is_function('t', "$d.12") && !is_function('t', ".Lloop"));
}
