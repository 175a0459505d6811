/*
 * The index of all addresses on disk says what the debug information says, for every single byte
 * of a program's code; damaged, it says nothing.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/err.h"
#include "format/base/mem.h"
#include "report/name/symbol/address_index.h"
#include "report/name/symbol/address_index_writer.h"
#include "report/name/symbol/symbol_resolver.h"
#include "tests/unit/unit.h"

static const char name[] = "0123abcd";

/* Templates, lambdas, local classes, cold parts: C++ that is inlined into itself. */
static const char source[] =
	"#include <algorithm>\n#include <functional>\n#include <map>\n#include <string>\n"
	"#include <vector>\nstatic std::map<std::string, int> seen;\n"
	"__attribute__((noinline)) static int count(const std::vector<std::string> &words) {\n"
	"	struct adder { static int add(int a, int b) { if (a < 0) throw b; return a + b; } "
	"};\n"
	"	int sum = 0;\n"
	"	std::for_each(words.begin(), words.end(), [&](const std::string &word) {\n"
	"		seen[word]++; sum = adder::add(sum, (int)word.size()); });\n"
	"	return sum;\n}\n"
	"int main(int argc, char **argv) {\n"
	"	std::vector<std::string> words(argv, argv + argc);\n"
	"	std::sort(words.begin(), words.end());\n"
	"	std::function<int()> f = [&] { return count(words); };\n"
	"	return f() + (int)seen.size() == 0;\n}\n";

struct fixture {
	char folder[64], file[128];
	struct cache *cache;
	int fd;
	struct elf_file *elf;
	uint64_t *addresses;
	struct chain *direct, *indexed;
	size_t count;
};

/* False where there is no such compiler, or it has no such option. */
static bool compile(const char *command)
{
	char line[512];
	FILE *file = fopen("source.cc", "we");
	CHECK(file);
	fputs(source, file);
	fclose(file);
	snprintf(line, sizeof(line), "%s source.cc -o program 2>/dev/null", command);
	return system(line) == 0;
}

/* Every address of the executable sections, and some around them. */
static void list_addresses(struct fixture *fixture)
{
	const struct elf_section *sections;
	size_t count, bytes = 0;
	CHECK_OK(elf_file_sections(fixture->elf, &sections, &count));
	for (size_t i = 0; i < count; i++)
		if (sections[i].flags & 4 /* SHF_EXECINSTR */)
			bytes += sections[i].size + 2;
	fixture->addresses = mem_zalloc_array(bytes, sizeof(*fixture->addresses));
	fixture->direct = mem_zalloc_array(bytes, sizeof(*fixture->direct));
	fixture->indexed = mem_zalloc_array(bytes, sizeof(*fixture->indexed));
	uint64_t last = 0;
	for (size_t i = 0; i < count; i++)
		for (uint64_t at = 0; sections[i].flags & 4 && at < sections[i].size + 2; at++) {
			uint64_t address = sections[i].addr + at - 1;
			if (fixture->count && address <= last)
				continue;
			fixture->addresses[fixture->count++] = last = address;
		}
}

static void setup(struct fixture *fixture, const char *path)
{
	*fixture = (struct fixture){.folder = "cache.XXXXXX"};
	CHECK(mkdtemp(fixture->folder));
	snprintf(fixture->file, sizeof(fixture->file), "%s/%s.index", fixture->folder, name);
	CHECK_OK(address_index_cache_open(fixture->folder, &fixture->cache));
	fixture->fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK(fixture->fd >= 0);
	CHECK_OK(elf_file_open(fixture->fd, &fixture->elf));
	list_addresses(fixture);
}

static void teardown(struct fixture *fixture)
{
	cache_close(fixture->cache);
	elf_file_destroy(fixture->elf);
	mem_close_fd(&fixture->fd);
	mem_free(fixture->addresses);
	mem_free(fixture->direct);
	mem_free(fixture->indexed);
	unlink(fixture->file);
	CHECK_INT(rmdir(fixture->folder), 0); /* nothing unfinished is left */
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_frame(const struct chain_frame *x, const struct chain_frame *y)
{
	return is_same_text(x->function, y->function) && is_same_text(x->file, y->file) &&
	       is_same_text(x->decl_file, y->decl_file) && x->line == y->line &&
	       x->column == y->column && x->decl_line == y->decl_line && x->start == y->start &&
	       x->is_inlined == y->is_inlined;
}

static bool is_same(const struct chain *a, const struct chain *b)
{
	bool is_it = a->count == b->count;
	for (uint32_t i = 0; is_it && i < a->count; i++)
		is_it = is_same_frame(&a->frames[i], &b->frames[i]);
	return is_it;
}

static struct dwarf_resolver *open_resolver(const struct fixture *fixture, const char *path)
{
	return dwarf_resolver_create(
		fixture->elf, &(struct dwarf_resolver_options){.path = path, .nr_threads = 2});
}

/* Ten thousand at a time, so that batches differ from the one that made the index. */
static void ask_directly(struct fixture *fixture, struct dwarf_resolver *resolver)
{
	enum {
		BATCH = 10000,
	};
	for (size_t at = 0; at < fixture->count; at += BATCH) {
		size_t left = fixture->count - at;
		dwarf_resolver_run(resolver, fixture->addresses + at, left < BATCH ? left : BATCH,
			fixture->direct + at);
	}
}

static void compare(const struct fixture *fixture)
{
	size_t inlined = 0, shown = 0;
	for (size_t i = 0; i < fixture->count; i++) {
		inlined += fixture->direct[i].count > 1;
		if (!is_same(&fixture->direct[i], &fixture->indexed[i]) && shown++ < 5)
			unit_fail(__FILE__, __LINE__, "%#llx has other frames: %u, %u",
				(unsigned long long)fixture->addresses[i], fixture->direct[i].count,
				fixture->indexed[i].count);
	}
	CHECK(inlined > 100);
}

static void check_all_addresses(const char *path)
{
	struct fixture fixture;
	setup(&fixture, path);
	struct dwarf_resolver *resolver = open_resolver(&fixture, path);
	CHECK(resolver);
	CHECK(!address_index_open(fixture.cache, name));
	CHECK(address_index_write(fixture.cache, name, resolver));
	struct address_index *index = address_index_open(fixture.cache, name);
	CHECK(index);
	CHECK(address_index_run(index, fixture.addresses, fixture.count, fixture.indexed));
	ask_directly(&fixture, resolver);
	compare(&fixture);
	/* Jumping about must not matter either: backwards, a block is opened again. */
	struct chain chain;
	for (size_t i = fixture.count; i-- > 0;) {
		if (i % 97)
			continue;
		CHECK(address_index_run(index, &fixture.addresses[i], 1, &chain));
		CHECK(is_same(&chain, &fixture.direct[i]));
	}
	address_index_close(index);
	dwarf_resolver_destroy(resolver);
	teardown(&fixture);
}

TEST(every_byte_of_this_program)
{
	check_all_addresses("/proc/self/exe");
}

TEST(compilers_and_versions)
{
	static const char *const commands[] = {
		"g++ -O2 -g",
		"g++ -O2 -gdwarf-4 -ffunction-sections -Wl,--gc-sections",
		"g++ -O3 -gdwarf-3 -gstrict-dwarf",
		"g++ -O2 -gdwarf-2 -gstrict-dwarf",
		"g++ -O2 -g -gz=zlib",
		"g++ -O2 -g -flto",
		"g++ -O2 -g -gsplit-dwarf",
		"clang++ -O2 -g",
		"clang++ -O2 -gdwarf-4 -gsplit-dwarf",
		"clang++ -O2 -g -fuse-ld=lld -Wl,--icf=all -ffunction-sections",
	};
	size_t done = 0;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (compile(commands[i])) {
			check_all_addresses("program");
			done++;
		}
	if (!done)
		unit_skip("no g++ and no clang++");
}

/* What a .dwo would have told must not be taken for nothing. */
TEST(a_missing_dwo_makes_no_index)
{
	if (!compile("g++ -O2 -g -gsplit-dwarf")) {
		unit_skip("no g++");
		return;
	}
	CHECK_INT(system("rm -f *.dwo"), 0);
	struct fixture fixture;
	setup(&fixture, "program");
	struct dwarf_resolver *resolver = open_resolver(&fixture, "program");
	CHECK(!address_index_write(fixture.cache, name, resolver));
	CHECK(!address_index_open(fixture.cache, name));
	dwarf_resolver_destroy(resolver);
	teardown(&fixture);
}

TEST(without_a_cache_there_is_none)
{
	struct fixture fixture;
	setup(&fixture, "/proc/self/exe");
	struct dwarf_resolver *resolver = open_resolver(&fixture, NULL);
	CHECK(!address_index_write(NULL, name, resolver));
	CHECK(!address_index_write(fixture.cache, "", resolver));
	CHECK(!address_index_open(NULL, name));
	dwarf_resolver_destroy(resolver);
	teardown(&fixture);
}

/* A byte changed anywhere: it is noticed wherever it matters, and nothing wrong is said. */
TEST(damage_is_noticed)
{
	struct fixture fixture;
	setup(&fixture, "/proc/self/exe");
	struct dwarf_resolver *resolver = open_resolver(&fixture, NULL);
	CHECK(address_index_write(fixture.cache, name, resolver));
	ask_directly(&fixture, resolver);
	int fd = open(fixture.file, O_RDWR | O_CLOEXEC);
	struct stat st;
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	size_t noticed = 0, tried = 0;
	/* But for the checksum of the whole, which only those read who read the whole. */
	for (off_t at = 0; at < st.st_size - 8; at += st.st_size / 61) {
		uint8_t was, is;
		CHECK(pread(fd, &was, 1, at) == 1);
		is = was ^ 0x10;
		CHECK(pwrite(fd, &is, 1, at) == 1);
		struct address_index *index = address_index_open(fixture.cache, name);
		bool is_sound = index && address_index_run(index, fixture.addresses, fixture.count,
						 fixture.indexed);
		noticed += !is_sound;
		tried++;
		address_index_close(index);
		CHECK(pwrite(fd, &was, 1, at) == 1);
	}
	CHECK_INT(noticed, tried);
	close(fd);
	dwarf_resolver_destroy(resolver);
	teardown(&fixture);
}

TEST(cut_short_at_any_length)
{
	struct fixture fixture;
	setup(&fixture, "/proc/self/exe");
	struct dwarf_resolver *resolver = open_resolver(&fixture, NULL);
	CHECK(address_index_write(fixture.cache, name, resolver));
	struct stat st;
	CHECK(stat(fixture.file, &st) == 0);
	for (off_t len = st.st_size - 1; len > 0; len -= len / 3 + 1) {
		CHECK(truncate(fixture.file, len) == 0);
		CHECK(!address_index_open(fixture.cache, name));
	}
	dwarf_resolver_destroy(resolver);
	teardown(&fixture);
}
