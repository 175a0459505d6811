/* Where BEAM keeps its atoms and modules: found in this process, which has the like of them. */
#include "record/runtime/erlang/erlang_layout.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/runtime/erlang/erlang_row.h"
#include "tests/unit/unit.h"

enum {
	FILE_DATA = 0x5000, /* where the data are in the file */
	ATOM_TABLE = 64,    /* words of the data: the table's name, */
	RANGES = 128,       /* ... three tables of modules */
	WORDS = 256,
	ENTRIES = 1024,
	PAGES = 32,
	PAGE = 4096,
	MODULE = 16 * PAGE, /* in the code */
	FUNCTIONS_AT = 136,
	INFO = 256,
	FUNCTION_BYTES = 64,
	NR_FUNCTIONS = 4,
	OWN_ATOM = 700,
	EXIT_ATOM = 701,
};

struct beam_atom {
	uint64_t slot[3];
	int16_t len, latin1;
	int32_t ordinal;
	uint64_t text;
};

struct boxed_text {
	uint64_t header[2];
	char text[16];
};

struct beam {
	uint64_t words[WORDS];
	char name[16];
	uint64_t modules[4]; /* one that is gone, and one */
	uint64_t segments[1], segment[ENTRIES];
	struct beam_atom atoms[2];
	struct boxed_text texts[2];
	uint8_t *code;
};

static const uint8_t scheduler[] = {0x48, 0x81, 0xec, 0x40, 0x60, 0, 0, 0x48, 0x83, 0xe4, 0xc0,
	0x48, 0x89, 0x27, 0x48, 0x8d, 0x5c, 0x24, 0x40, 0x90, 0x49, 0x89, 0x95, 0xf8, 0, 0, 0};

static void make_layout_atoms(struct beam *beam)
{
	static const char *const texts[] = {"erts_beamasm", "normal_exit"};
	for (size_t i = 0; i < 2; i++) {
		memcpy(beam->texts[i].text, texts[i], strlen(texts[i]));
		beam->atoms[i].len = (int16_t)strlen(texts[i]);
		beam->atoms[i].text = (uintptr_t)&beam->texts[i] + 2;
		beam->segment[OWN_ATOM + i] = (uintptr_t)&beam->atoms[i];
	}
	strcpy(beam->name, "atom_tab");
	for (int i = 1; i <= 7; i++)
		beam->words[ATOM_TABLE - i] = (uintptr_t)beam - 4096; /* functions */
	uint64_t *table = &beam->words[ATOM_TABLE];
	table[0] = (uintptr_t)beam->name;
	table[6] = (uint64_t)ENTRIES << 32;
	table[7] = (uintptr_t)beam->segments;
	beam->segments[0] = (uintptr_t)beam->segment;
}

static void make_layout_module(struct beam *beam)
{
	uint8_t *module = beam->code + MODULE;
	uint64_t *functions = (uint64_t *)(module + FUNCTIONS_AT), count = NR_FUNCTIONS;
	memcpy(beam->code + 2 * PAGE + 100, scheduler, sizeof(scheduler));
	memcpy(module, &count, sizeof(count));
	for (uint64_t i = 0; i <= NR_FUNCTIONS; i++)
		functions[i] = (uintptr_t)module + INFO + i * FUNCTION_BYTES;
	beam->modules[0] = beam->modules[1] = (uintptr_t)beam->code;
	beam->modules[2] = (uintptr_t)module;
	beam->modules[3] = (uintptr_t)module + PAGE;
	for (int i = 0; i < 3; i++) {
		uint64_t *table = &beam->words[RANGES + 4 * i];
		table[0] = (uintptr_t)beam->modules;
		table[1] = table[2] = 2;
		table[3] = (uintptr_t)&beam->modules[2];
	}
}

static void make_beam(struct beam *beam)
{
	memset(beam, 0, sizeof(*beam));
	beam->code = mmap(
		NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(beam->code != MAP_FAILED);
	make_layout_atoms(beam);
	make_layout_module(beam);
}

/* False: it is not found. */
static bool complete(struct beam *beam, struct erlang_row *ret)
{
	struct runtime_row row = {.kind = RUNTIME_ERLANG};
	uint64_t delta = FILE_DATA - (uintptr_t)beam->words;
	*ret = (struct erlang_row){.version = 29,
		.data = FILE_DATA,
		.data_end = FILE_DATA + sizeof(beam->words),
		.atoms_name = (uint32_t)((uintptr_t)beam->name + delta)};
	memcpy(row.words, ret, sizeof(*ret));
	bool is_complete = erlang_layout_complete((uint32_t)getpid(), delta, &row);
	memcpy(ret, row.words, sizeof(*ret));
	CHECK_INT(ret->is_complete, is_complete);
	return is_complete;
}

TEST(atoms_and_modules_are_found_by_what_they_look_like)
{
	static struct beam beam;
	struct erlang_row row;
	make_beam(&beam);
	CHECK(complete(&beam, &row));
	CHECK_INT(row.flags, ERLANG_BOXED_ATOMS);
	CHECK_INT(row.own_module, OWN_ATOM << 6 | 0xb);
	CHECK_INT(row.normal_exit, EXIT_ATOM << 6 | 0xb);
	CHECK_INT(row.atoms, FILE_DATA + (ATOM_TABLE + 7) * 8);
	CHECK_INT(row.ranges, FILE_DATA + RANGES * 8);
	CHECK_INT(row.functions_at, FUNCTIONS_AT);
	CHECK_INT(row.registers_bytes, 0x6040);
	CHECK_INT(row.registers_at, 0x40);
	CHECK_INT(row.resume_at, 0xf8);
	munmap(beam.code, PAGES * PAGE);
}

/* Where a scheduler begins on arm64: of Debian's 27.3.4.1, with a store in between. */
TEST(registers_and_where_processes_go_on_are_found_in_code_of_arm64)
{
	static const uint32_t code[] = {0xa9bf7bfd, 0x910003e8, 0xd1034108, 0xd1401108, 0x927ae508,
		0x9100011f, 0x910003fd, 0xf9000008, 0x910003f3, 0xf900e6a8, 0xf9007aa2};
	static struct beam beam;
	struct erlang_row row;
	make_beam(&beam);
	memset(beam.code + 2 * PAGE + 100, 0, sizeof(scheduler));
	memcpy(beam.code + 2 * PAGE + 100, code, sizeof(code));
	CHECK(complete(&beam, &row));
	CHECK_INT(row.registers_bytes, 16384 + 208);
	CHECK_INT(row.registers_at, 0);
	CHECK_INT(row.resume_at, 240);
	memset(beam.code + 2 * PAGE + 100 + 16, 0, 4); /* it is not aligned */
	CHECK(!complete(&beam, &row));
	munmap(beam.code, PAGES * PAGE);
}

/* Before the first module is loaded, or of another version. */
TEST(what_is_not_there_yet_leaves_the_row_as_it_was)
{
	static struct beam beam;
	struct erlang_row row;
	make_beam(&beam);
	uint64_t *table = &beam.words[RANGES];
	memset(table, 0, 12 * 8);
	CHECK(!complete(&beam, &row));
	make_layout_module(&beam);
	beam.segment[EXIT_ATOM] = 0;
	CHECK(!complete(&beam, &row));
	beam.segment[EXIT_ATOM] = (uintptr_t)&beam.atoms[1];
	memset(beam.code + 2 * PAGE + 100, 0x90, sizeof(scheduler));
	CHECK(!complete(&beam, &row));
	memcpy(beam.code + 2 * PAGE + 100, scheduler, sizeof(scheduler));
	CHECK(complete(&beam, &row));
	munmap(beam.code, PAGES * PAGE);
}

TEST(words_that_lead_nowhere_are_no_tables)
{
	static struct beam beam;
	struct erlang_row row;
	make_beam(&beam);
	uint64_t *table = &beam.words[RANGES];
	table[2] = table[6] = table[10] = 1ULL << 40; /* allocated */
	CHECK(!complete(&beam, &row));
	for (int i = 0; i < 3; i++) {
		table[4 * i + 2] = 2;
		table[4 * i] = table[4 * i + 3] = 0x123456789000;
	}
	CHECK(!complete(&beam, &row));
	make_layout_module(&beam);
	beam.modules[2] = (uintptr_t)beam.code - PAGE; /* ahead of the one before */
	CHECK(!complete(&beam, &row));
	beam.modules[2] = (uintptr_t)beam.code + MODULE;
	*(uint64_t *)(beam.code + MODULE) = 1ULL << 40; /* functions */
	CHECK(!complete(&beam, &row));
	munmap(beam.code, PAGES * PAGE);
}
