#include "record/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/base/mem.h"
#include "record/lines.h"
#include "record/sampled_addresses.h"

enum {
	MAX_FILE_BYTES = 64 << 20, /* a large Java server's has 20 MB; 60 ms */
	MAX_NAME_BYTES = 4096,
};

/*
 * Lines may cover anything, and all of them the same addresses, so each address must not be
 * looked at for each line. A tree over the addresses: node n stands for those below its children
 * 2n and 2n + 1, the addresses are the nodes from `count` on. A line is noted at the few nodes
 * that make up its range, and what holds for an address is the newest of all nodes above it.
 */
struct newest_lines {
	const uint64_t *addresses;
	size_t count;
	uint64_t *nodes; /* of the newest line, its offset in the file plus 1 */
};

static void skip_spaces(const char **at, const char *end)
{
	while (*at < end && **at == ' ')
		++*at;
}

/* Some writers begin numbers with 0x. */
static bool get_number(const char **at, const char *end, uint64_t *ret)
{
	skip_spaces(at, end);
	if (end - *at > 2 && (*at)[0] == '0' && (*at)[1] == 'x')
		*at += 2;
	return lines_get_hex(at, end, ret) && *at < end && **at == ' ';
}

static bool parse(const struct line *line, struct perf_map_entry *ret)
{
	const char *at = line->start, *end = line->end;
	if (!get_number(&at, end, &ret->start) || !get_number(&at, end, &ret->size))
		return false;
	if (!ret->size || ret->start + ret->size < ret->start)
		return false;
	skip_spaces(&at, end);
	ret->name = at;
	ret->name_len = strnlen(at, (size_t)(end - at));
	if (ret->name_len > MAX_NAME_BYTES)
		ret->name_len = MAX_NAME_BYTES;
	return ret->name_len > 0;
}

static bool note_line(void *context, const struct line *line)
{
	struct newest_lines *lines = context;
	struct perf_map_entry entry;
	if (!parse(line, &entry))
		return true;
	size_t low =
		sampled_addresses_below(lines->addresses, lines->count, entry.start) + lines->count;
	size_t high =
		sampled_addresses_below(lines->addresses, lines->count, entry.start + entry.size) +
		lines->count;
	for (; low < high; low /= 2, high /= 2) {
		if (low & 1)
			lines->nodes[low++] = line->offset + 1;
		if (high & 1)
			lines->nodes[--high] = line->offset + 1;
	}
	return true;
}

/* 0: none holds it. Lines come in the order of their offsets. */
static uint64_t newest_of(const struct newest_lines *lines, size_t index)
{
	uint64_t newest = 0;
	for (size_t node = index + lines->count; node; node /= 2)
		if (lines->nodes[node] > newest)
			newest = lines->nodes[node];
	return newest;
}

static int compare_offsets(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;
	return *x < *y ? -1 : *x > *y;
}

/* Reads a line again: its writer may have changed it meanwhile, then it is what it is now. */
static void tell_line(int fd, uint64_t offset, perf_map_fn *fn, void *context)
{
	char bytes[MAX_NAME_BYTES + 64];
	ssize_t got = pread(fd, bytes, sizeof(bytes), (off_t)offset);
	if (got <= 0)
		return;
	const char *newline = memchr(bytes, '\n', (size_t)got);
	struct line line = {bytes, newline ? newline : bytes + got, offset};
	struct perf_map_entry entry;
	if (parse(&line, &entry))
		fn(context, &entry);
}

void perf_map_read(int fd, const uint64_t *addresses, size_t count, perf_map_fn *fn, void *context)
{
	if (!count)
		return;
	CLEANUP_FREE uint64_t *nodes = mem_zalloc_array(2 * count, sizeof(*nodes));
	CLEANUP_FREE uint64_t *found = mem_zalloc_array(count, sizeof(*found));
	struct newest_lines lines = {addresses, count, nodes};
	lines_read(fd, MAX_FILE_BYTES, note_line, &lines);
	for (size_t i = 0; i < count; i++)
		found[i] = newest_of(&lines, i);
	qsort(found, count, sizeof(*found), compare_offsets);
	for (size_t i = 0; i < count; i++)
		if (found[i] && (!i || found[i] != found[i - 1]))
			tell_line(fd, found[i] - 1, fn, context);
}
