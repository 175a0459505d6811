#include "report/analyse/flame.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/unit.h"

enum {
	FUNCTIONS = 64
};

/* A tree without a recording: nodes are added, then weighed. */
struct forest {
	struct tree tree;
	VEC(struct tree_weight) weights;
	struct profile_function functions[FUNCTIONS];
	char names[FUNCTIONS][8];
	struct focus focus;
	struct flame flame;
};

static void forest_init(struct forest *forest)
{
	*forest = (struct forest){0};
	for (int i = 0; i < FUNCTIONS; i++) {
		/* Names in another order than functions. */
		snprintf(forest->names[i], sizeof(*forest->names), "f%02d", i * 37 % FUNCTIONS);
		forest->functions[i].name = forest->names[i];
		forest->functions[i].is_known = true;
	}
	vec_push(&forest->tree.nodes, (struct tree_node){0});
	vec_push(&forest->weights, (struct tree_weight){0});
}

static uint32_t forest_add(struct forest *forest, uint32_t parent, uint32_t function, uint64_t self)
{
	uint32_t node = (uint32_t)forest->tree.nodes.len;
	struct tree_node fresh = {
		.function = function,
		.frame = function,
		.parent = parent,
		.next_sibling = forest->tree.nodes.data[parent].first_child,
	};
	vec_push(&forest->tree.nodes, fresh);
	vec_push(&forest->weights,
		(struct tree_weight){.self = self, .total = self, .self_samples = 1, .samples = 1});
	forest->tree.nodes.data[parent].first_child = node;
	return node;
}

static void forest_weigh(struct forest *forest)
{
	for (size_t i = forest->weights.len; i-- > 1;) {
		struct tree_weight *parent =
			&forest->weights.data[forest->tree.nodes.data[i].parent];
		parent->total += forest->weights.data[i].total;
		parent->samples += forest->weights.data[i].samples;
	}
}

static void forest_lay(struct forest *forest, uint32_t width, enum flame_order order)
{
	struct flame_options options = {.width = width, .least = 1, .order = order};
	flame_deinit(&forest->flame);
	focus_deinit(&forest->focus);
	focus_init(&forest->focus, &forest->tree, forest->weights.data, forest->functions,
		FOCUS_CALLEES);
	flame_init(&forest->flame, &forest->focus, 0, &options);
	flame_grow(&forest->flame, SIZE_MAX);
	CHECK(forest->flame.is_complete);
}

static void forest_deinit(struct forest *forest)
{
	flame_deinit(&forest->flame);
	focus_deinit(&forest->focus);
	vec_deinit(&forest->tree.nodes);
	vec_deinit(&forest->weights);
}

/* "name:x+width" of each box of a row. */
static void check_row(const struct forest *forest, size_t row, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	size_t count;
	const struct flame_box *boxes = flame_row(&forest->flame, row, &count);
	for (size_t i = 0; i < count; i++) {
		const struct focus_node *node = &forest->focus.nodes.data[boxes[i].node];
		if (boxes[i].count > 1)
			str_printf(&text, "(%u)", boxes[i].count);
		else
			str_puts(&text, forest->functions[node->function].name);
		str_printf(&text, ":%u+%u ", boxes[i].x, boxes[i].width);
	}
	CHECK_STR(str_text(&text), want);
}

TEST(edges_are_rounded_not_widths)
{
	struct forest forest;
	forest_init(&forest);
	for (uint32_t i = 1; i <= 7; i++)
		forest_add(&forest, 0, i, 1000);
	forest_weigh(&forest);
	/* Each is 2.86 wide. */
	forest_lay(&forest, 20, FLAME_BY_NAME);
	check_row(&forest, 1, "f03:0+3 f10:3+3 f20:6+3 f30:9+2 f37:11+3 f47:14+3 f57:17+3 ");
	forest_deinit(&forest);
}

TEST(narrow_siblings_share_a_box_at_the_end)
{
	struct forest forest;
	forest_init(&forest);
	forest_add(&forest, 0, 1, 5000);                  /* f37 */
	uint32_t small = forest_add(&forest, 0, 2, 4000); /* f10 */
	for (uint32_t i = 10; i < 20; i++)
		forest_add(&forest, 0, i, 100);
	forest_add(&forest, small, 3, 1); /* too narrow for any box */
	forest_weigh(&forest);
	forest_lay(&forest, 20, FLAME_BY_NAME);
	check_row(&forest, 1, "f10:0+8 f37:8+10 (10):18+2 ");
	check_row(&forest, 2, "");
	CHECK_INT(forest.flame.rows.len, 2);
	forest_lay(&forest, 20, FLAME_BY_TOTAL);
	check_row(&forest, 1, "f37:0+10 f10:10+8 (10):18+2 ");
	/* Where there is room, each stands alone. */
	forest_lay(&forest, 200, FLAME_BY_TOTAL);
	size_t count;
	flame_row(&forest.flame, 1, &count);
	CHECK_INT(count, 12);
	forest_deinit(&forest);
}

TEST(a_box_of_many_is_not_opened)
{
	struct forest forest;
	forest_init(&forest);
	forest_add(&forest, 0, 1, 100000);
	for (uint32_t i = 10; i < 20; i++)
		forest_add(&forest, forest_add(&forest, 0, i, 0), i + 10, 100);
	forest_weigh(&forest);
	forest_lay(&forest, 10, FLAME_BY_NAME);
	check_row(&forest, 1, "f37:0+10 ");
	/* The root and its 11 children, but none of theirs but the wide one's, which has none. */
	CHECK_INT(forest.focus.nodes.len, 12);
	forest_deinit(&forest);
}

TEST(a_node_is_found_in_its_box)
{
	struct forest forest;
	forest_init(&forest);
	forest_add(&forest, 0, 1, 900);
	for (uint32_t i = 10; i < 20; i++)
		forest_add(&forest, 0, i, 10);
	forest_weigh(&forest);
	forest_lay(&forest, 20, FLAME_BY_NAME);
	const struct flame_box *wide = flame_box_of(&forest.flame, 1, 1);
	const struct flame_box *rest = flame_box_of(&forest.flame, 1, 11);
	CHECK(wide && wide->count == 1);
	CHECK(rest && rest->count == 10 && rest->node == 2);
	CHECK(!flame_box_of(&forest.flame, 1, 12));
	CHECK(!flame_box_of(&forest.flame, 2, 1));
	forest_deinit(&forest);
}

/* ---- whatever the tree ---- */

/* All of one caller's, in a row: they begin where it begins and touch one another. */
static void check_children(const struct flame *flame, const struct flame_box *boxes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct flame_box *parent = &flame->boxes.data[boxes[i].parent];
		bool is_first = !i || boxes[i - 1].parent != boxes[i].parent;
		CHECK(boxes[i].width > 0);
		CHECK(boxes[i].x >= parent->x);
		CHECK(boxes[i].x + boxes[i].width <= parent->x + parent->width);
		CHECK_INT(boxes[i].x, is_first ? parent->x : boxes[i - 1].x + boxes[i - 1].width);
	}
}

static void check_flame(const struct flame *flame)
{
	uint32_t width = flame->options.width;
	double whole = (double)flame->boxes.data[0].total;
	for (size_t row = 1; row < flame->rows.len; row++) {
		size_t count;
		const struct flame_box *boxes = flame_row(flame, row, &count);
		check_children(flame, boxes, count);
	}
	vec_each(&flame->boxes, box) {
		double exact = (double)box->total * width / whole;
		CHECK((double)box->width > exact - 1.0001 && (double)box->width < exact + 1.0001);
	}
}

/* Every child that is as wide as a unit has a box, whatever stands beside it. */
static void check_none_vanished(const struct forest *forest)
{
	const struct flame *flame = &forest->flame;
	const struct focus_node *nodes = forest->focus.nodes.data;
	for (size_t i = 1; i < forest->focus.nodes.len; i++) {
		double exact = (double)nodes[i].total * flame->options.width /
			       (double)flame->boxes.data[0].total;
		if (exact >= 1.0001)
			CHECK(flame_box_of(flame, nodes[i].depth, (uint32_t)i));
	}
}

TEST(widths_add_up_in_any_tree)
{
	static const uint32_t widths[] = {1, 2, 7, 20, 80, 200, 11800};
	srand(4711);
	for (int round = 0; round < 20; round++) {
		struct forest forest;
		forest_init(&forest);
		for (int i = 0; i < 300; i++) {
			uint32_t parent = (uint32_t)rand() % (uint32_t)forest.tree.nodes.len;
			forest_add(&forest, parent, 1 + (uint32_t)rand() % (FUNCTIONS - 1),
				(uint64_t)rand() % (rand() % 8 ? 50 : 5000));
		}
		forest_weigh(&forest);
		for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
			forest_lay(&forest, widths[i], (enum flame_order)(i & 1));
			check_flame(&forest.flame);
			check_none_vanished(&forest);
		}
		forest_deinit(&forest);
	}
}

TEST(sums_that_overflow_stay_inside)
{
	struct forest forest;
	forest_init(&forest);
	uint32_t parent = forest_add(&forest, 0, 1, 100);
	for (uint32_t i = 2; i < 12; i++)
		forest_add(&forest, parent, i, UINT64_MAX / 3);
	forest_weigh(&forest);
	forest_lay(&forest, 80, FLAME_BY_NAME);
	for (size_t row = 1; row < forest.flame.rows.len; row++) {
		size_t count;
		const struct flame_box *boxes = flame_row(&forest.flame, row, &count);
		check_children(&forest.flame, boxes, count);
	}
	forest_deinit(&forest);
}

TEST(nothing_has_no_boxes)
{
	struct forest forest;
	forest_init(&forest);
	forest_lay(&forest, 80, FLAME_BY_NAME);
	CHECK_INT(forest.flame.boxes.len, 1);
	CHECK_INT(forest.flame.rows.len, 1);
	forest_deinit(&forest);
}
