#include "report/export/numbering.h"

#include "format/base/mem.h"

void numbering_init(struct numbering *numbering, size_t len)
{
	*numbering =
		(struct numbering){.numbers = mem_zalloc_array(len, sizeof(*numbering->numbers))};
}

void numbering_deinit(struct numbering *numbering)
{
	mem_free(numbering->numbers);
	vec_deinit(&numbering->used);
}

uint32_t numbering_of(struct numbering *numbering, uint32_t entry)
{
	uint32_t *number = &numbering->numbers[entry];
	if (!*number) {
		vec_push(&numbering->used, entry);
		*number = (uint32_t)numbering->used.len;
	}
	return *number - 1;
}
