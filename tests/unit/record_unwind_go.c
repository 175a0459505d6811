/* Rules for Go's own code, of the Go program that is on every machine with Go: go itself. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "format/elf/go_pclntab.h"
#include "record/unwind/unwind_table.h"
#include "tests/unit/unit.h"

struct fixture {
	int fd;
	struct elf_file *elf;
	struct go_pclntab *functions;
	struct unwind_table table;
};

static void setup(struct fixture *fixture)
{
	*fixture = (struct fixture){.fd = open("/usr/bin/go", O_RDONLY)};
	if (fixture->fd < 0)
		unit_skip("no go here");
	CHECK_OK(elf_file_open(fixture->fd, &fixture->elf));
	CHECK_OK(go_pclntab_open(fixture->elf, &fixture->functions));
	if (!fixture->functions)
		unit_skip("/usr/bin/go is no Go program");
	CHECK_OK(unwind_table_build(fixture->elf, &fixture->table));
	CHECK_OK(unwind_table_check(&fixture->table));
}

static void teardown(struct fixture *fixture)
{
	unwind_table_deinit(&fixture->table);
	go_pclntab_destroy(fixture->functions);
	elf_file_destroy(fixture->elf);
	mem_close_fd(&fixture->fd);
}

/* The rule `into` bytes behind a function's start. */
static const struct unwind_rule *rule_at(const struct fixture *fixture, const char *name, int into)
{
	struct go_function function;
	size_t count;
	uint64_t offset, left;
	const struct elf_segment *segments = elf_file_segments(fixture->elf, &count);
	for (uint32_t i = 0; i < go_pclntab_count(fixture->functions); i++)
		if (go_pclntab_function(fixture->functions, i, &function) &&
			strcmp(go_pclntab_name(fixture->functions, function.name), name) == 0 &&
			elf_segments_vaddr_to_offset(
				segments, count, function.start, &offset, &left))
			return unwind_table_find(&fixture->table, offset + (uint64_t)(int64_t)into);
	return unwind_table_find(&fixture->table, 0);
}

TEST(unwind_go_knows_where_stacks_end)
{
	struct fixture fixture;
	setup(&fixture);
	static const char *const names[] = {"runtime.goexit", "runtime.mstart", "runtime.rt0_go",
		"runtime.mcall", "runtime.morestack", "_rt0_amd64_linux"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		CHECK_INT(rule_at(&fixture, names[i], 0)->cfa, UNWIND_CFA_REGISTER);
		CHECK_INT(rule_at(&fixture, names[i], 0)->ra, UNWIND_UNDEFINED);
	}
	teardown(&fixture);
}

TEST(unwind_go_follows_frames)
{
	struct fixture fixture;
	setup(&fixture);
	static const char *const names[] = {"runtime.main", "runtime.mallocgc", "runtime.schedule"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct unwind_rule *first = rule_at(&fixture, names[i], 0);
		CHECK_INT(first->cfa_register, 7);
		CHECK_INT(first->cfa_offset, 8);
		CHECK_INT(first->fp, UNWIND_SAME);
		const struct unwind_rule *inner = rule_at(&fixture, names[i], 80);
		CHECK_INT(inner->cfa_register, 7);
		CHECK(inner->cfa_offset > 16);
		CHECK_INT(inner->ra, UNWIND_AT_CFA);
		CHECK_INT(inner->ra_offset, -8);
		CHECK_INT(inner->fp, UNWIND_AT_CFA);
		CHECK_INT(inner->fp_offset, -16);
	}
	teardown(&fixture);
}

TEST(unwind_go_crosses_stacks)
{
	struct fixture fixture;
	setup(&fixture);
	static const char *const names[] = {"runtime.systemstack", "runtime.asmcgocall"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct unwind_rule *rule = rule_at(&fixture, names[i], 32);
		CHECK_INT(rule->cfa_register, 6);
		CHECK_INT(rule->cfa_offset, 16);
		CHECK_INT(rule->fp, UNWIND_AT_CFA);
		CHECK_INT(rule->fp_offset, -16);
	}
	CHECK_INT(rule_at(&fixture, "runtime.asyncPreempt", 40)->flags, UNWIND_SIGNAL_FRAME);
	teardown(&fixture);
}

/* A handler returns to the first byte, and is looked up by the byte before it. */
TEST(unwind_go_returns_from_signals)
{
	struct fixture fixture;
	setup(&fixture);
	const char *name = "runtime.sigreturn";
	if (rule_at(&fixture, name, 0)->cfa == UNWIND_CFA_NONE)
		name = "runtime.sigreturn__sigaction";
	for (int into = -1; into < 1; into++) {
		CHECK_INT(rule_at(&fixture, name, into)->cfa, UNWIND_CFA_DEREF);
		CHECK_INT(rule_at(&fixture, name, into)->ra, UNWIND_AT_SP);
		CHECK_INT(rule_at(&fixture, name, into)->flags, UNWIND_SIGNAL_FRAME);
	}
	CHECK(rule_at(&fixture, name, -2)->cfa != UNWIND_CFA_DEREF);
	teardown(&fixture);
}
