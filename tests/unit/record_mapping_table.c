#include "tests/unit/mapping_model.h"

#include "tests/unit/unit.h"

/* The same sequences always. */
static uint8_t next_byte(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint8_t)(*state >> 56);
}

TEST(random_operations_agree_with_a_simple_model)
{
	enum {
		SEQUENCES = 20,
		STEPS = 2000,
	};
	uint64_t state = 1;
	for (int sequence = 0; sequence < SEQUENCES; sequence++) {
		struct mapping_model model;
		model_init(&model);
		for (int i = 0; i < STEPS; i++) {
			uint8_t bytes[MODEL_STEP_BYTES];
			for (int j = 0; j < MODEL_STEP_BYTES; j++)
				bytes[j] = next_byte(&state);
			model_step(&model, bytes);
			if (i % 16 == 0)
				model_check(&model, bytes[1] % MODEL_TABLES);
		}
		for (int i = 0; i < MODEL_TABLES; i++)
			model_check(&model, i);
		model_deinit(&model);
	}
}

/* A page each, every other one, so that none covers another. */
static void put_pages(struct mapping_table *table, size_t first, size_t count)
{
	for (size_t i = first; i < first + count; i++)
		mapping_table_put(table, &(struct mapping){.start = 2 * i, .end = 2 * i + 1});
}

TEST(forks_share_what_they_do_not_change)
{
	enum {
		COUNT = 10000,
		FORKS = 400,
	};
	struct mapping_pool pool = {0};
	struct mapping_table parent = {&pool, NULL}, children[FORKS];
	put_pages(&parent, 0, COUNT);
	for (size_t i = 0; i < FORKS; i++) {
		children[i] = (struct mapping_table){&pool, NULL};
		mapping_table_share(&children[i], &parent);
	}
	CHECK_INT(pool.held, COUNT);
	put_pages(&children[0], COUNT, 1); /* one block of its own */
	CHECK(pool.held <= COUNT + 65);
	CHECK_INT(mapping_table_count(&children[0]), COUNT + 1);
	CHECK_INT(mapping_table_count(&parent), COUNT);
	mapping_table_clear(&parent);
	CHECK(mapping_table_find(&children[1], 2 * (COUNT - 1)));
	for (size_t i = 0; i < FORKS; i++)
		mapping_table_clear(&children[i]);
	CHECK_INT(pool.held, 0);
}

TEST(a_table_is_bounded_and_counts_beyond)
{
	struct mapping_pool pool = {0};
	struct mapping_table table = {&pool, NULL};
	put_pages(&table, 0, MAPPING_TABLE_MAX + 1000);
	CHECK_INT(mapping_table_count(&table), MAPPING_TABLE_MAX);
	CHECK_INT(pool.refused, 1000);
	/* What is refused still ends what it covers. */
	mapping_table_put(&table, &(struct mapping){.start = 2, .end = 3, .offset = 1});
	CHECK_INT(mapping_table_find(&table, 2)->offset, 1);
	put_pages(&table, MAPPING_TABLE_MAX, 1);
	CHECK(!mapping_table_find(&table, 2 * MAPPING_TABLE_MAX));
	mapping_table_clear(&table);
	CHECK_INT(pool.held, 0);
}

/* Holes make two mappings of one. */
TEST(holes_do_not_grow_a_table_beyond_its_bound)
{
	struct mapping_pool pool = {0};
	struct mapping_table table = {&pool, NULL};
	mapping_table_put(&table, &(struct mapping){.start = 0, .end = 1 << 20, .offset = 7});
	put_pages(&table, 0, 2 * MAPPING_TABLE_MAX);
	CHECK(mapping_table_count(&table) <= MAPPING_TABLE_MAX);
	mapping_table_clear(&table);
}

TEST(large_tables_leave_room_for_small_ones)
{
	enum {
		LARGE = 20,
	};
	struct mapping_pool pool = {0};
	struct mapping_table large[LARGE], small = {&pool, NULL};
	for (size_t i = 0; i < LARGE; i++) {
		large[i] = (struct mapping_table){&pool, NULL};
		put_pages(&large[i], 0, MAPPING_TABLE_MAX);
	}
	CHECK(pool.held <= MAPPING_POOL_MAX / 2 + LARGE * MAPPING_TABLE_SMALL);
	uint64_t refused = pool.refused;
	put_pages(&small, 0, MAPPING_TABLE_SMALL);
	CHECK_INT(mapping_table_count(&small), MAPPING_TABLE_SMALL);
	CHECK_INT(pool.refused, refused);
	for (size_t i = 0; i < LARGE; i++)
		mapping_table_clear(&large[i]);
	mapping_table_clear(&small);
	CHECK_INT(pool.held, 0);
}

static void count_visit(void *context, const struct mapping *mapping)
{
	(void)mapping;
	++*(size_t *)context;
}

TEST(a_visit_meets_what_is_shared_once)
{
	struct mapping_pool pool = {0};
	struct mapping_table a = {&pool, NULL}, b = {&pool, NULL};
	size_t count = 0;
	put_pages(&a, 0, 1000);
	mapping_table_share(&b, &a);
	put_pages(&b, 1000, 1);
	mapping_table_visit(&a, 1, count_visit, &count);
	CHECK_INT(count, 1000);
	mapping_table_visit(&b, 1, count_visit, &count);
	CHECK(count > 1000 && count <= 1000 + 65);
	mapping_table_clear(&a);
	mapping_table_clear(&b);
}
