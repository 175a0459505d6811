#include "format/merge/merge_chains.h"

struct chain_map *merge_chains_of(struct merge_chains *chains, uint32_t object)
{
	bool added;
	uint64_t *index = map_put(&chains->of_source, object, &added);
	if (added) {
		*index = chains->parts.len;
		vec_push(&chains->parts, (struct merge_chains_part){.object = object});
	}
	return &chains->parts.data[*index].chains;
}

void merge_chains_end_source(struct merge_chains *chains)
{
	map_clear(&chains->of_source);
}

/* The least that was asked of each object: more is promised of none of its places. */
static void find_details(const struct merge_chains *chains, struct map *details)
{
	vec_each(&chains->parts, part) {
		bool added;
		uint64_t *detail = map_put(details, part->object, &added);
		if (added || part->chains.detail < *detail)
			*detail = part->chains.detail;
	}
}

static struct err *write_part(
	struct merge_chains_part *part, enum chain_map_detail detail, struct writer *writer)
{
	part->chains.detail = detail;
	writer_chains(writer, part->object, &part->chains);
	chain_map_deinit(&part->chains);
	part->chains = (struct chain_map){0};
	return writer_flush(writer); /* chains do not wait in the writer's tables */
}

/*
 * A later chain replaces an earlier one, so those with more detail come later. A reader
 * that has files at hand asks them again if they tell more than the least.
 */
struct err *merge_chains_write(struct merge_chains *chains, struct writer *writer)
{
	struct map details = {0};
	struct err *err = NULL;
	find_details(chains, &details);
	CLEANUP_FREE uint8_t *asked = mem_zalloc_array(chains->parts.len, 1);
	for (size_t i = 0; i < chains->parts.len; i++)
		asked[i] = (uint8_t)chains->parts.data[i].chains.detail;
	for (int detail = 0; detail < CHAIN_MAP_DETAIL_END; detail++)
		for (size_t i = 0; !err && i < chains->parts.len; i++) {
			struct merge_chains_part *part = &chains->parts.data[i];
			if (asked[i] == detail)
				err = write_part(part,
					(enum chain_map_detail) * map_get(&details, part->object),
					writer);
		}
	map_deinit(&details);
	return err;
}

void merge_chains_deinit(struct merge_chains *chains)
{
	vec_each(&chains->parts, part)
		chain_map_deinit(&part->chains);
	vec_deinit(&chains->parts);
	map_deinit(&chains->of_source);
}
