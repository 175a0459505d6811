#include "format/import/perf_space.h"

#include "format/base/bisect.h"

struct perf_space *perf_space_create(void)
{
	struct perf_space *space = mem_zalloc(sizeof(*space));
	space->owners = 1;
	return space;
}

struct perf_space *perf_space_share(struct perf_space *space)
{
	space->owners++;
	return space;
}

void perf_space_release(struct perf_space *space)
{
	if (!space || --space->owners)
		return;
	vec_deinit(&space->mappings);
	mem_free(space);
}

/* Returns how many mappings were copied. */
static size_t make_own(struct perf_space **space)
{
	struct perf_space *shared = *space;
	if (shared->owners == 1)
		return 0;
	*space = perf_space_create();
	vec_append(&(*space)->mappings, shared->mappings.data, shared->mappings.len);
	perf_space_release(shared);
	return (*space)->mappings.len;
}

/* The first that ends behind the address. */
static size_t first_behind(const struct perf_space *space, uint64_t address)
{
	const struct perf_mapping *mappings = space->mappings.data;
	return bisect(space->mappings.len, i, mappings[i].end <= address);
}

size_t perf_space_map(struct perf_space **space, const struct perf_mapping *mapping)
{
	size_t added = make_own(space), old_len = (*space)->mappings.len;
	__typeof__((*space)->mappings) *mappings = &(*space)->mappings;
	size_t first = first_behind(*space, mapping->start), last = first;
	struct perf_mapping pieces[3];
	size_t nr_pieces = 0;
	if (first < old_len && mappings->data[first].start < mapping->start) {
		pieces[nr_pieces] = mappings->data[first];
		pieces[nr_pieces++].end = mapping->start;
	}
	pieces[nr_pieces++] = *mapping;
	while (last < old_len && mappings->data[last].start < mapping->end)
		last++;
	if (last > first && mappings->data[last - 1].end > mapping->end) {
		struct perf_mapping *tail = &pieces[nr_pieces++];
		*tail = mappings->data[last - 1];
		tail->offset += mapping->end - tail->start;
		tail->start = mapping->end;
	}
	size_t behind = old_len - last;
	vec_reserve(mappings, nr_pieces);
	memmove(mappings->data + first + nr_pieces, mappings->data + last,
		behind * sizeof(*mappings->data));
	memcpy(mappings->data + first, pieces, nr_pieces * sizeof(*pieces));
	mappings->len = first + nr_pieces + behind;
	return added + (mappings->len > old_len ? mappings->len - old_len : 0);
}

const struct perf_mapping *perf_space_find(const struct perf_space *space, uint64_t address)
{
	size_t at = first_behind(space, address);
	bool is_inside = at < space->mappings.len && space->mappings.data[at].start <= address;
	return is_inside ? &space->mappings.data[at] : NULL;
}
