#include "report/load/unwind/address_space.h"

#include "format/base/bisect.h"

enum {
	DISPLACED_MAX = 1 << 20, /* a recording made to be a nuisance would take its square */
};

void address_space_add(struct address_space *space, const struct layout_mapping *mapping)
{
	struct layout_mapping added = *mapping;
	size_t at = space->mappings.len;
	vec_push(&space->mappings, added);
	struct layout_mapping *first = space->mappings.data;
	for (; at && first[at - 1].time_ns > added.time_ns; at--) {
		if (space->displaced++ >= DISPLACED_MAX) {
			added.time_ns = first[at - 1].time_ns;
			break;
		}
		first[at] = first[at - 1];
	}
	first[at] = added;
	map_deinit(&space->places); /* clearing would take as long as it once was large */
}

size_t address_space_state(const struct address_space *space, uint64_t time_ns)
{
	return bisect(space->mappings.len, i, space->mappings.data[i].time_ns <= time_ns);
}

/* Index + 1, or 0. */
static size_t address_space_search(struct address_space *space, uint64_t address, size_t state)
{
	for (; state; state--, space->scanned++) {
		const struct layout_mapping *it = &space->mappings.data[state - 1];
		if (address - it->start < it->length)
			return state;
	}
	return 0;
}

const struct layout_mapping *address_space_find(
	struct address_space *space, uint64_t address, size_t state)
{
	size_t found;
	if (state == space->mappings.len) {
		bool added;
		uint64_t *place = map_put(&space->places, address, &added);
		if (added)
			*place = address_space_search(space, address, state);
		found = (size_t)*place;
	} else {
		found = address_space_search(space, address, state);
	}
	return found ? &space->mappings.data[found - 1] : NULL;
}

void address_space_deinit(struct address_space *space)
{
	vec_deinit(&space->mappings);
	map_deinit(&space->places);
}
