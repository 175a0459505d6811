/* Lines of .NET's code that was compiled ahead of time: which PDB is taken, and what it says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/str.h"
#include "report/name/symbol/clr_lines.h"
#include "tests/unit/forged_clr.h"
#include "tests/unit/forged_pdb.h"
#include "tests/unit/unit.h"

static void write_file(const char *path, const struct bytes_buf *bytes)
{
	FILE *file = fopen(path, "w");
	if (!file || fwrite(bytes->data, 1, bytes->len, file) != bytes->len || fclose(file))
		unit_skip("cannot write to /tmp");
}

static void put_chain(struct str *out, const struct chain *chain)
{
	if (chain->count)
		str_printf(out, "%s:%u;", chain->frames->file, chain->frames->line);
	else
		str_puts(out, "-;");
}

/* Function 2 is method 3's, its IL of 0 and 12 begins 19 and 63 bytes into it. */
static void check_lines(const char *folder, uint32_t stamp, const char *want)
{
	CLEANUP(str_deinit) struct str path = {0};
	CLEANUP(str_deinit) struct str got = {0};
	struct bytes_buf image = forged_clr_make(), pdb = forged_pdb_make(stamp);
	struct elf_file *elf;
	uint64_t code = FORGED_CLR_ADDRESS + FORGED_CLR_CODE + 2 * FORGED_CLR_FUNCTION_BYTES;
	const uint64_t addresses[] = {code - 1, code, code + 20, code + 63, code + 64};
	struct chain chains[5];
	str_printf(&path, "%s/forged.pdb", folder);
	write_file(str_text(&path), &pdb);
	str_truncate(&path, strlen(folder));
	str_puts(&path, "/shape.dll");
	CHECK_OK(elf_file_open_memory(image.data, image.len, &elf));
	struct clr_lines_place place = {.elf = elf, .path = str_text(&path)};
	struct clr_lines *lines = clr_lines_open(&place);
	if (lines) {
		clr_lines_run(lines, addresses, 5, chains);
		for (size_t i = 0; i < 5; i++)
			put_chain(&got, &chains[i]);
	}
	CHECK_STR(str_text(&got), want);
	clr_lines_close(lines);
	elf_file_destroy(elf);
	str_truncate(&path, strlen(folder));
	str_puts(&path, "/forged.pdb");
	unlink(str_text(&path));
	bytes_buf_deinit(&image);
	bytes_buf_deinit(&pdb);
}

TEST(clr_lines_by_the_pdb_beside)
{
	char folder[] = "/tmp/ebprof-clr-XXXXXX";
	if (!mkdtemp(folder))
		unit_skip("cannot make folders here");
	check_lines(folder, FORGED_CLR_PDB_STAMP, "-;/src/a.cs:20;/src/a.cs:20;/src/b.cs:25;-;");
	check_lines(folder, FORGED_CLR_PDB_STAMP + 1, ""); /* another build's */
	rmdir(folder);
}
