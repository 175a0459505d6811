/*
 * A cached unwind table: any bytes as the file, and, since its checksum keeps a fuzzer out, any
 * bytes as pages, rows and rules. What is accepted can be searched.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/err.h"
#include "record/unwind/table_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static const uint8_t name[4] = {0xab, 0xcd, 0xef, 0x01};
static char folder[] = "/tmp/ebprof-fuzz.XXXXXX", path[64];
static struct cache *cache;

static void remove_folder(void)
{
	unlink(path);
	rmdir(folder);
}

static void open_cache(void)
{
	if (cache)
		return;
	struct err *err = mkdtemp(folder) ? table_cache_open(folder, &cache) : NULL;
	if (err || !cache)
		abort();
	snprintf(path, sizeof(path), "%s/abcdef01.unwind", folder);
	atexit(remove_folder);
}

static void search(const struct unwind_table *table)
{
	volatile unsigned sum = 0;
	uint64_t start = (uint64_t)table->first_page << UNWIND_PAGE_SHIFT;
	for (uint64_t into = 0; into < 20 << UNWIND_PAGE_SHIFT; into += 511)
		sum += unwind_table_find(table, start + into)->cfa;
	(void)sum;
}

/* With a file of any kind, here the entry itself: its places are read wherever they are. */
static void compare(const struct table_inputs *inputs, const uint8_t *bytes, size_t len)
{
	struct elf_file *elf;
	uint8_t *copy = malloc(len + sizeof(Elf64_Ehdr));
	Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}};
	if (!copy)
		abort();
	memcpy(copy, &header, sizeof(header));
	memcpy(copy + sizeof(header), bytes, len);
	struct err *err = elf_file_open_memory(copy, sizeof(header) + len, &elf);
	if (!err) {
		table_inputs_match(inputs, elf);
		elf_file_destroy(elf);
	}
	err_destroy(err);
	free(copy);
}

static void load(const uint8_t *bytes, size_t len)
{
	open_cache();
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
	struct unwind_table table;
	struct table_inputs inputs;
	bool is_found;
	struct err *err = table_cache_load(cache, name, sizeof(name), &table, &inputs, &is_found);
	if (is_found) {
		search(&table);
		compare(&inputs, bytes, len);
		table_inputs_deinit(&inputs);
		unwind_table_deinit(&table);
	}
	err_destroy(err);
}

static size_t take(const uint8_t **bytes, size_t *left, size_t count, size_t size, void *to)
{
	if (count > *left / size)
		count = *left / size;
	if (count)
		memcpy(to, *bytes, count * size);
	*bytes += count * size;
	*left -= count * size;
	return count;
}

/* Two counts, the first page, then rules, pages, rows. */
static void check(const uint8_t *bytes, size_t len)
{
	struct unwind_table table = {.first_page = bytes[2] | (uint32_t)bytes[3] << 24};
	size_t nr_rules = bytes[0], nr_pages = bytes[1];
	bytes += 4;
	len -= 4;
	vec_reserve(&table.rules, nr_rules + 1);
	table.rules.data[0] = (struct unwind_rule){0};
	table.rules.len =
		1 + take(&bytes, &len, nr_rules, sizeof(struct unwind_rule), table.rules.data + 1);
	vec_reserve(&table.pages, nr_pages + 1);
	table.pages.len =
		take(&bytes, &len, nr_pages, sizeof(struct unwind_page), table.pages.data);
	vec_reserve(&table.rows, len / 4 + 1);
	table.rows.len = take(&bytes, &len, len / 4, 4, table.rows.data);
	struct err *err = unwind_table_check(&table);
	if (!err)
		search(&table);
	err_destroy(err);
	unwind_table_deinit(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	if (len && bytes[0] & 1)
		load(bytes + 1, len - 1);
	else if (len > 5)
		check(bytes + 1, len - 1);
	return 0;
}
