#include "record/generated/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/map.h"

#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/generated/sampled_addresses.h"
#include "record/host/lines.h"

enum {
	MAX_FILE_BYTES = 64 << 20, /* a large Java server's has 20 MB; 60 ms */
	MAX_NAME_BYTES = 4096,
	MAX_VISITS = 4 << 20,   /* of addresses, by lines that hold them: 20 ms */
	MAX_CLAIMS = 256 << 10, /* besides one for each address */
};

/* A function had an address from some time on. */
struct claim {
	uint64_t line;             /* its offset in the file */
	uint64_t name;             /* a hash of it */
	uint32_t older;            /* the address's claim before, plus 1 */
	uint32_t first_step, step; /* of the file's growth, between which its line was written */
	bool is_shared;            /* there were other functions at the address in these steps */
};

/*
 * Lines are read in the file's order, so the newest claim of an address is the last one.
 *
 * Lines may cover anything, and all of them the same addresses, so each address must not be
 * looked at for each line without limit. Beyond it there is a tree over the addresses: node n
 * stands for those below its children 2n and 2n + 1, the addresses are the nodes from `count` on.
 * A line is noted at the few nodes that make up its range, and what holds for an address is the
 * newest of all nodes above it; what stood there between is lost, which its claim says.
 */
struct reading {
	const struct perf_map_wanted *wanted;
	const struct file_growth *growth;
	uint64_t seed;
	size_t step;     /* that of the line which is read */
	bool is_delayed; /* the writer was seen to have written a part of a line */
	uint64_t visits;
	uint32_t *newest; /* of each address, its claim plus 1 */
	VEC(struct claim) claims;
	uint64_t *nodes; /* of the newest line, its offset in the file plus 1; NULL: no limit met */
	size_t limit_step; /* where it was met */
	uint64_t until_ns; /* of CPU time */
	uint64_t nr_lines;
	uint64_t end; /* what lies behind was not read */
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

static bool perf_map_parse(const struct line *line, struct perf_map_entry *ret)
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

/* ---- who had an address ---- */

static void claim_address(struct reading *reading, size_t index, const struct claim *claim)
{
	uint32_t *newest = &reading->newest[index];
	struct claim *before = *newest ? &reading->claims.data[*newest - 1] : NULL;
	if (before && before->name == claim->name && !claim->is_shared)
		return; /* written again */
	if (before && before->step == claim->step) {
		uint32_t older = before->older;
		*before = *claim;
		before->older = older;
		before->is_shared = true;
		return;
	}
	vec_push(&reading->claims, *claim);
	struct claim *added = &reading->claims.data[reading->claims.len - 1];
	added->older = *newest;
	*newest = (uint32_t)reading->claims.len;
}

static void note_at_nodes(struct reading *reading, size_t low, size_t high, uint64_t offset)
{
	size_t count = reading->wanted->count;
	if (!reading->nodes) {
		reading->nodes = mem_zalloc_array(2 * count, sizeof(*reading->nodes));
		reading->limit_step = reading->step;
	}
	for (low += count, high += count; low < high; low /= 2, high /= 2) {
		if (low & 1)
			reading->nodes[low++] = offset + 1;
		if (high & 1)
			reading->nodes[--high] = offset + 1;
	}
}

/* The growth of the file up to this line. A step that ends within it: the writer collects. */
static void follow_growth(struct reading *reading, const struct line *line)
{
	const struct file_growth *growth = reading->growth;
	uint64_t end = line->offset + (uint64_t)(line->end - line->start) + 1;
	while (reading->step < growth->steps.len && growth->steps.data[reading->step].bytes < end) {
		reading->is_delayed |= growth->steps.data[reading->step].bytes > line->offset;
		reading->step++;
	}
}

static bool is_time_over(struct reading *reading)
{
	enum {
		LINES = 256 /* between looks at the clock */
	};
	return reading->nr_lines++ % LINES == 0 &&
	       clock_read_ns(CLOCK_THREAD_CPUTIME_ID) >= reading->until_ns;
}

static bool note_line(void *context, const struct line *line)
{
	struct reading *reading = context;
	const struct perf_map_wanted *wanted = reading->wanted;
	struct perf_map_entry entry;
	if (is_time_over(reading)) {
		reading->end = line->offset;
		return false;
	}
	follow_growth(reading, line);

	if (!perf_map_parse(line, &entry))
		return true;
	size_t low = sampled_addresses_below(wanted->addresses, wanted->count, entry.start);
	size_t high =
		sampled_addresses_below(wanted->addresses, wanted->count, entry.start + entry.size);
	if (low == high)
		return true;
	reading->visits += high - low;
	bool is_too_much =
		reading->visits > MAX_VISITS || reading->claims.len > MAX_CLAIMS + wanted->count;
	if (is_too_much) {
		note_at_nodes(reading, low, high, line->offset);
		return true;
	}
	struct claim claim = {
		.line = line->offset,
		.name = map_hash_bytes(entry.name, entry.name_len, reading->seed),
		.first_step = (uint32_t)reading->step,
		.step = (uint32_t)reading->step,
	};
	for (size_t i = low; i < high; i++)
		claim_address(reading, i, &claim);
	return true;
}

/* ---- telling ---- */

/* Reads a line again: its writer may have changed it meanwhile, then it is what it is now. */
struct line_reader {
	int fd;
	uint64_t offset; /* of what was read, plus 1 */
	bool is_valid;
	struct perf_map_entry entry;
	char bytes[MAX_NAME_BYTES + 64];
};

static const struct perf_map_entry *read_line(struct line_reader *reader, uint64_t offset)
{
	if (reader->offset != offset + 1) {
		ssize_t got =
			pread(reader->fd, reader->bytes, sizeof(reader->bytes), (off_t)offset);
		size_t len = got < 0 ? 0 : (size_t)got;
		const char *newline = memchr(reader->bytes, '\n', len);
		struct line line = {reader->bytes, newline ? newline : reader->bytes + len, offset};
		reader->is_valid = perf_map_parse(&line, &reader->entry);
		reader->offset = offset + 1;
	}
	return reader->is_valid ? &reader->entry : NULL;
}

/* 0: none holds it. Lines come in the order of their offsets. */
static uint64_t newest_at_nodes(const struct reading *reading, size_t index)
{
	uint64_t newest = 0;
	for (size_t node = index + reading->wanted->count; node; node /= 2)
		if (reading->nodes[node] > newest)
			newest = reading->nodes[node];
	return newest;
}

/* The newest functions of those that came beyond the limit. */
static void claim_beyond_limit(struct reading *reading, struct line_reader *reader)
{
	for (size_t i = 0; reading->nodes && i < reading->wanted->count; i++) {
		uint64_t newest = newest_at_nodes(reading, i);
		const struct perf_map_entry *entry = newest ? read_line(reader, newest - 1) : NULL;
		if (!entry)
			continue;
		struct claim claim = {
			.line = newest - 1,
			.name = map_hash_bytes(entry->name, entry->name_len, reading->seed),
			.first_step = (uint32_t)reading->limit_step,
			.step = (uint32_t)file_growth_step_of(reading->growth, newest),
			.is_shared = true,
		};
		claim_address(reading, i, &claim);
	}
}

/*
 * A line of the map that the caller gets: as the name of one of the addresses that it wants, from a
 * time on, or as a symbol, that is, the name of all of the line's addresses at all times.
 */
struct message {
	uint64_t line;
	size_t index; /* of the wanted address; of a symbol: the number of wanted addresses */
	uint64_t time_ns, sure_ns; /* as in struct code_place; of a symbol 0 */
};

struct messages {
	VEC(struct message) list;
};

static uint64_t from_ns(const struct reading *reading, size_t step)
{
	return file_growth_window_of(reading->growth, step, reading->is_delayed).from_ns;
}

/* Whether nothing else can have been there, as far as the file tells. */
static bool is_sure(const struct reading *reading, size_t index, const struct claim *claim)
{
	return !claim->older && !claim->is_shared &&
	       reading->wanted->first_ns[index] >= from_ns(reading, claim->step);
}

static void put_claims(const struct reading *reading, size_t index, struct messages *out)
{
	const struct claim *claim;
	for (uint32_t at = reading->newest[index]; at; at = claim->older) {
		claim = &reading->claims.data[at - 1];
		struct message message = {
			.line = claim->line,
			.index = index,
			.time_ns = from_ns(reading, claim->first_step),
		};
		bool is_second = claim->older || claim->is_shared;
		message.sure_ns = is_second ? file_growth_window_of(reading->growth, claim->step,
						      reading->is_delayed)
						      .until_ns
					    : message.time_ns;
		vec_push(&out->list, message);
	}
}

/* From when on the file had more than is read of it; 0: it has not. */
static uint64_t unread_ns(const struct reading *reading, int fd)
{
	struct stat st;
	bool is_longer = !fstat(fd, &st) && (uint64_t)st.st_size > reading->end;
	size_t step = file_growth_step_of(reading->growth, reading->end + 1);
	return is_longer ? from_ns(reading, step) + 1 : 0;
}

static void collect_messages(const struct reading *reading, int fd, struct messages *out)
{
	size_t count = reading->wanted->count;
	uint64_t unread = unread_ns(reading, fd);
	for (size_t i = 0; i < count; i++) {
		if (!reading->newest[i])
			continue;
		const struct claim *newest = &reading->claims.data[reading->newest[i] - 1];
		if (!unread && is_sure(reading, i, newest)) {
			vec_push(&out->list, (struct message){newest->line, count, 0, 0});
			continue;
		}
		put_claims(reading, i, out);
		if (unread)
			vec_push(&out->list, (struct message){newest->line, i, unread, UINT64_MAX});
	}
}

static int compare_messages(const void *a, const void *b)
{
	const struct message *x = a, *y = b;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static void perf_map_tell_place(const struct perf_map_wanted *wanted, const struct message *message,
	const struct perf_map_entry *entry, const struct perf_map_names *names)
{
	CLEANUP(str_deinit) struct str name = {0};
	str_write(&name, entry->name, entry->name_len);
	struct code_place place = {
		.index = message->index,
		.address = wanted->addresses[message->index],
		.start = entry->start,
		.time_ns = message->time_ns,
		.sure_ns = message->sure_ns,
		.name = str_text(&name),
	};
	names->place(names->context, &place);
}

static void tell(const struct perf_map_wanted *wanted, struct messages *messages,
	struct line_reader *reader, const struct perf_map_names *names)
{
	const struct message *before = NULL;
	if (messages->list.len)
		qsort(messages->list.data, messages->list.len, sizeof(*messages->list.data),
			compare_messages);
	vec_each(&messages->list, message) {
		const struct perf_map_entry *entry = read_line(reader, message->line);
		bool is_symbol = message->index == wanted->count;
		bool is_again = is_symbol && before && before->line == message->line &&
				before->index == message->index;
		before = message;
		if (!entry || is_again)
			continue;
		if (is_symbol)
			names->symbol(names->context, entry);
		else
			perf_map_tell_place(wanted, message, entry, names);
	}
}

static size_t perf_map_count_unnamed(const struct reading *reading)
{
	size_t count = 0;
	for (size_t i = 0; i < reading->wanted->count; i++)
		count += !reading->newest[i];
	return count;
}

size_t perf_map_read(int fd, const struct file_growth *growth, const struct perf_map_wanted *wanted,
	uint64_t max_ns, const struct perf_map_names *names)
{
	if (!wanted->count || lseek(fd, 0, SEEK_SET))
		return 0;
	CLEANUP_FREE uint32_t *newest = mem_zalloc_array(wanted->count, sizeof(*newest));
	CLEANUP_FREE struct line_reader *reader = mem_zalloc(sizeof(*reader));
	struct reading reading = {
		.wanted = wanted,
		.growth = growth,
		.seed = map_random_seed(),
		.newest = newest,
		.until_ns = clock_read_ns(CLOCK_THREAD_CPUTIME_ID) + max_ns,
		.end = MAX_FILE_BYTES,
	};
	struct messages messages = {0};
	reader->fd = fd;
	lines_read(fd, MAX_FILE_BYTES, note_line, &reading);
	claim_beyond_limit(&reading, reader);
	collect_messages(&reading, fd, &messages);
	tell(wanted, &messages, reader, names);
	size_t left = reading.end < MAX_FILE_BYTES ? perf_map_count_unnamed(&reading) : 0;
	vec_deinit(&messages.list);
	vec_deinit(&reading.claims);
	mem_free(reading.nodes);
	return left;
}
