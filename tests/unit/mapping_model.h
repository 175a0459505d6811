/*
 * What a mapping table is to hold, in the simplest way: what stands at each page. A random or
 * fuzzed sequence of operations goes to some tables and to their models, which must agree.
 */
#ifndef EBPROF_MAPPING_MODEL_H
#define EBPROF_MAPPING_MODEL_H

#include <stdlib.h>
#include <string.h>

#include "record/task/mapping_table.h"

enum {
	MODEL_TABLES = 4,
	MODEL_PAGES = 1024, /* a mapping each: many blocks, below every bound */
	MODEL_STEP_BYTES = 6,
};

struct mapping_model {
	struct mapping_pool pool;
	struct mapping_table tables[MODEL_TABLES];
	struct model_page {
		uint32_t mapping; /* its number, from 1; 0: none */
		uint64_t offset;
	} pages[MODEL_TABLES][MODEL_PAGES];
	uint32_t nr_mappings;
};

static inline void model_init(struct mapping_model *model)
{
	memset(model, 0, sizeof(*model));
	for (int i = 0; i < MODEL_TABLES; i++)
		model->tables[i].pool = &model->pool;
}

static inline void model_put(struct mapping_model *model, int table, uint32_t start, uint32_t pages)
{
	uint32_t end = start + pages < MODEL_PAGES ? start + pages : MODEL_PAGES;
	struct mapping mapping = {
		.start = start,
		.end = end,
		.offset = (uint64_t)++model->nr_mappings << 20,
		.time_ns = model->nr_mappings,
	};
	if (!mapping_table_put(&model->tables[table], &mapping))
		abort();
	for (uint32_t i = start; i < end; i++)
		model->pages[table][i] =
			(struct model_page){model->nr_mappings, mapping.offset + i - start};
}

static inline void model_check(const struct mapping_model *model, int table)
{
	size_t count = 0, seen = 0;
	uint64_t end = 0;
	for (uint32_t i = 0; i < MODEL_PAGES; i++) {
		const struct model_page *page = &model->pages[table][i];
		const struct mapping *found = mapping_table_find(&model->tables[table], i);
		if (!found != !page->mapping)
			abort();
		if (found && (found->time_ns != page->mapping ||
				     i - found->start + found->offset != page->offset))
			abort();
		bool is_other = page->mapping && (!i || page[-1].mapping != page->mapping);
		count += is_other;
	}
	struct mapping_cursor cursor = {0};
	for (const struct mapping *it; (it = mapping_table_next(&model->tables[table], &cursor));
		seen++) {
		if (it->start < end || it->end <= it->start)
			abort();
		end = it->end;
	}
	if (count != seen || seen != mapping_table_count(&model->tables[table]))
		abort();
}

/* One operation; a byte says which, another which table. */
static inline void model_step(struct mapping_model *model, const uint8_t bytes[MODEL_STEP_BYTES])
{
	int table = bytes[1] % MODEL_TABLES, other = bytes[2] % MODEL_TABLES;
	uint32_t start = (bytes[2] | (uint32_t)bytes[3] << 8) % MODEL_PAGES;
	if (bytes[0] < 8) {
		mapping_table_share(&model->tables[table], &model->tables[other]);
		memmove(model->pages[table], model->pages[other], sizeof(model->pages[table]));
	} else if (bytes[0] < 10) {
		mapping_table_clear(&model->tables[table]);
		memset(model->pages[table], 0, sizeof(model->pages[table]));
	} else { /* mostly small ones */
		uint32_t pages = bytes[0] < 32 ? 1 + bytes[4] * 4U : 1 + bytes[4] % 3U;
		model_put(model, table, start, pages);
	}
}

/* All is given back. */
static inline void model_deinit(struct mapping_model *model)
{
	for (int i = 0; i < MODEL_TABLES; i++)
		mapping_table_clear(&model->tables[i]);
	if (model->pool.held)
		abort();
}

#endif
