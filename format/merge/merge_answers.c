#include "format/merge/merge_answers.h"

struct answers *merge_answers_of(struct merge_answers *answers, uint32_t object)
{
	bool added;
	uint64_t *index = map_put(&answers->of_source, object, &added);
	if (added) {
		*index = answers->parts.len;
		vec_push(&answers->parts, (struct merge_answers_part){.object = object});
	}
	return &answers->parts.data[*index].answers;
}

void merge_answers_end_source(struct merge_answers *answers)
{
	map_clear(&answers->of_source);
}

/* The least that was asked of each object: more is promised of none of its places. */
static void find_details(const struct merge_answers *answers, struct map *details)
{
	vec_each(&answers->parts, part) {
		bool added;
		uint64_t *detail = map_put(details, part->object, &added);
		if (added || part->answers.detail < *detail)
			*detail = part->answers.detail;
	}
}

static struct err *write_part(
	struct merge_answers_part *part, enum answers_detail detail, struct writer *writer)
{
	part->answers.detail = detail;
	writer_answers(writer, part->object, &part->answers);
	answers_deinit(&part->answers);
	part->answers = (struct answers){0};
	return writer_flush(writer); /* answers do not wait in the writer's tables */
}

/*
 * A later answer replaces an earlier one, so what was asked with more detail comes later. A reader
 * that has files at hand asks them again if they tell more than the least.
 */
struct err *merge_answers_write(struct merge_answers *answers, struct writer *writer)
{
	struct map details = {0};
	struct err *err = NULL;
	find_details(answers, &details);
	CLEANUP_FREE uint8_t *asked = mem_zalloc_array(answers->parts.len, 1);
	for (size_t i = 0; i < answers->parts.len; i++)
		asked[i] = (uint8_t)answers->parts.data[i].answers.detail;
	for (int detail = 0; detail < ANSWERS_DETAIL_END; detail++)
		for (size_t i = 0; !err && i < answers->parts.len; i++) {
			struct merge_answers_part *part = &answers->parts.data[i];
			if (asked[i] == detail)
				err = write_part(part,
					(enum answers_detail) * map_get(&details, part->object),
					writer);
		}
	map_deinit(&details);
	return err;
}

void merge_answers_deinit(struct merge_answers *answers)
{
	vec_each(&answers->parts, part)
		answers_deinit(&part->answers);
	vec_deinit(&answers->parts);
	map_deinit(&answers->of_source);
}
