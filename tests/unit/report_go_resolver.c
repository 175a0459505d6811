/* Chains of inlined functions of Go, by tables forged in each of their versions. */
#include <string.h>

#include "format/base/err.h"
#include "format/base/str.h"
#include "report/name/demangle/demangle.h"
#include "report/name/symbol/go_resolver.h"
#include "report/name/symbol/symbol_resolver.h"
#include "tests/unit/forged_go.h"
#include "tests/unit/unit.h"

enum {
	TEXT = FORGED_GO_TEXT,
	CALLS_AT = FORGED_GO_OFFSET + FORGED_GO_CALLS,
};

struct fixture {
	struct bytes_buf file;
	struct elf_file *elf;
	struct go_resolver *resolver;
};

static void open_file(struct fixture *fixture)
{
	CHECK_OK(elf_file_open_memory(fixture->file.data, fixture->file.len, &fixture->elf));
	fixture->resolver = go_resolver_create(fixture->elf);
}

static void setup(struct fixture *fixture, int version)
{
	*fixture = (struct fixture){0};
	forged_go_put(&fixture->file, &(struct forged_go){.version = version, .text_start = TEXT});
	open_file(fixture);
	CHECK(fixture->resolver);
}

static void close_file(struct fixture *fixture)
{
	go_resolver_destroy(fixture->resolver);
	elf_file_destroy(fixture->elf);
}

static void teardown(struct fixture *fixture)
{
	close_file(fixture);
	bytes_buf_deinit(&fixture->file);
}

/* A chain in a line: "FUNCTION FILE:LINE DECL_LINE < ...", innermost first. */
static void check_chain(const struct chain *chain, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	for (uint32_t i = 0; i < chain->count; i++) {
		const struct chain_frame *frame = &chain->frames[i];
		CHECK_INT(frame->is_inlined, i + 1 < chain->count);
		CHECK_INT(!frame->decl_file, !frame->decl_line);
		str_printf(&text, "%s%s %s:%u %u", i ? " < " : "", frame->function,
			frame->file ? frame->file : "-", frame->line, frame->decl_line);
	}
	CHECK_STR(str_text(&text), want);
}

static const uint64_t addresses[] = {
	TEXT - 1, TEXT, TEXT + 8, TEXT + 0x10, TEXT + 0x2f, TEXT + 0x30, TEXT + 0x40, TEXT + 0x60};

enum {
	COUNT = sizeof(addresses) / sizeof(addresses[0]),
};

static void check_version(int version, const char *const *want)
{
	struct fixture fixture;
	struct chain chains[COUNT];
	setup(&fixture, version);
	for (int again = 0; again < 2; again++) {
		go_resolver_run(fixture.resolver, addresses, COUNT, chains);
		for (size_t i = 0; i < COUNT; i++)
			check_chain(&chains[i], want[i]);
	}
	teardown(&fixture);
}

TEST(go_resolver_of_every_version)
{
	static const char *const old[] = {"", "main.a /a.go:10 0", "main.a /a.go:12 0",
		"main.inl /b.go:300 0 < main.a /a.go:12 0",
		"main.deep /b.go:310 0 < main.inl /b.go:300 0 < main.a /a.go:12 0",
		"main.a /a.go:13 0", "runtime.goexit -:0 0", ""};
	static const char *const told[] = {"", "main.a /a.go:10 9", "main.a /a.go:12 9",
		"main.inl /b.go:300 290 < main.a /a.go:12 9",
		"main.deep /b.go:310 305 < main.inl /b.go:300 290 < main.a /a.go:12 9",
		"main.a /a.go:13 9", "runtime.goexit -:0 0", ""};
	check_version(2, old);
	check_version(16, old);
	check_version(18, old);
	check_version(20, told);
}

/* As many as are shared out to several threads. */
TEST(go_resolver_of_many_addresses)
{
	enum {
		MANY = 1024
	};
	static uint64_t asked[MANY * COUNT];
	static struct chain chains[MANY * COUNT];
	struct fixture fixture;
	setup(&fixture, 20);
	for (size_t i = 0; i < MANY * COUNT; i++)
		asked[i] = addresses[i / MANY];
	go_resolver_run(fixture.resolver, asked, MANY * COUNT, chains);
	for (size_t i = 0; i < MANY; i++) {
		CHECK_INT(chains[i].count, 0);
		check_chain(&chains[MANY + i], "main.a /a.go:10 9");
		check_chain(&chains[4 * MANY + i],
			"main.deep /b.go:310 305 < main.inl /b.go:300 290 < main.a /a.go:12 9");
		CHECK_INT(chains[7 * MANY + i].count, 0);
	}
	teardown(&fixture);
}

/* The chain of main.deep, when its call says that it was made from elsewhere. */
static struct chain chain_called_from(struct fixture *fixture, uint8_t call)
{
	struct chain chains[COUNT];
	fixture->file.data[CALLS_AT + 16 + 8] = call;
	close_file(fixture);
	open_file(fixture);
	go_resolver_run(fixture->resolver, addresses, COUNT, chains);
	return chains[4];
}

/* A call that was made by itself: the chain ends all the same. */
TEST(go_resolver_of_a_circle)
{
	struct fixture fixture;
	setup(&fixture, 20);
	struct chain chain = chain_called_from(&fixture, 0x20);
	CHECK_INT(chain.count, 257);
	CHECK_STR(chain.frames[255].function, "main.deep");
	CHECK_STR(chain.frames[256].function, "main.a");
	chain = chain_called_from(&fixture, 0x40); /* not in the function */
	check_chain(&chain, "main.a /b.go:310 9");
	teardown(&fixture);
}

/* Where lists of calls are not found names and lines are still there. */
TEST(go_resolver_without_the_linkers_record)
{
	struct fixture fixture = {0};
	struct chain chains[COUNT];
	forged_go_put(&fixture.file,
		&(struct forged_go){.version = 20, .text_start = TEXT, .has_no_record = true});
	open_file(&fixture);
	CHECK(fixture.resolver);
	go_resolver_run(fixture.resolver, addresses, COUNT, chains);
	check_chain(&chains[4], "main.a /b.go:310 9");
	teardown(&fixture);
}

/* By all that the file has, where that has no symbols. */
static void resolve(struct elf_file *elf, struct chain_map *known)
{
	struct resolver_place places[COUNT];
	struct symbol_index *none = symbol_index_create();
	symbol_index_build(none);
	for (size_t i = 0; i < COUNT; i++)
		places[i] = (struct resolver_place){addresses[i], addresses[i], addresses[i]};
	struct resolver_sources sources = {.symbols = none, .go = elf, .debug = elf};
	CHECK(resolver_run(&sources, places, COUNT, known));
	symbol_index_destroy(none);
}

static void check_answer(const struct chain_map *known, uint64_t address, const char *want)
{
	struct chain chain;
	CHECK(chain_map_find(known, address, &chain));
	check_chain(&chain, want);
}

TEST(go_resolver_of_other_files)
{
	struct fixture fixture = {0};
	static const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64};
	bytes_put(&fixture.file, &header, sizeof(header));
	open_file(&fixture);
	CHECK(!fixture.resolver);
	for (int i = 0; i < 2; i++) {
		struct chain_map known = {0};
		resolve(i ? fixture.elf : NULL, &known);
		CHECK_INT(known.detail, CHAIN_MAP_SYMBOLS);
		check_answer(&known, addresses[3], "");
		chain_map_deinit(&known);
	}
	teardown(&fixture);
}

TEST(resolver_asks_go)
{
	struct fixture fixture;
	struct chain_map known = {0};
	setup(&fixture, 18);
	resolve(fixture.elf, &known);
	CHECK_INT(known.detail, CHAIN_MAP_INLINED);
	check_answer(&known, addresses[3], "main.inl /b.go:300 0 < main.a /a.go:12 0");
	check_answer(&known, addresses[0], "");
	chain_map_deinit(&known);
	teardown(&fixture);
}

/* Whatever is flipped: no crash, nothing outside of the file is read (sanitizers). */
TEST(go_resolver_survives_damage)
{
	static const int versions[] = {2, 16, 18, 20};
	struct chain chains[COUNT];
	for (size_t v = 0; v < 4; v++) {
		struct fixture fixture;
		setup(&fixture, versions[v]);
		for (size_t bit = FORGED_GO_OFFSET * 8; bit < fixture.file.len * 8; bit++) {
			close_file(&fixture);
			fixture.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			open_file(&fixture);
			if (fixture.resolver)
				go_resolver_run(fixture.resolver, addresses, COUNT, chains);
			fixture.file.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			for (size_t i = 0; fixture.resolver && i < COUNT; i++)
				CHECK(chains[i].count <= 257);
		}
		teardown(&fixture);
	}
}

/* Go's names are meant for people as they are. */
TEST(go_names_are_not_demangled)
{
	static const char *const names[] = {"main.main", "runtime.goexit", "go:buildid",
		"type:.eq.[2]string", "main.(*T).f-fm", "main.f[go.shape.int_0].func1",
		"_rt0_amd64_linux", "_cgo_77133bf98b3a_Cfunc_burn", "main._Cfunc_burn.abi0",
		"github.com/a/b%2ec.(*X).Y.gowrap1", "slices.SortFunc[...]"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CLEANUP(str_deinit) struct str text = {0};
		if (demangle(names[i], DEMANGLE_FULL, &text))
			unit_fail(__FILE__, __LINE__, "%s becomes %s", names[i], str_text(&text));
	}
	CLEANUP(str_deinit) struct str text = {0};
	CHECK(demangle(
		"main._Cfunc_burn.abi0", DEMANGLE_USUAL, &text)); /* as stripped programs say */
	CHECK_STR(str_text(&text), "main._Cfunc_burn");
	CHECK(!demangle("main.main", DEMANGLE_USUAL, &text) &&
		!demangle(".abi0", DEMANGLE_USUAL, &text));
}
