/* Stacks that are named once more when what they began is over. */
#include "record/kept_stacks.h"

#include "tests/unit/unit.h"

TEST(a_stack_is_found_by_its_hash)
{
	struct kept_stacks kept = {0};
	kept_stacks_put(&kept, 11, &(struct kept_stack){.stack.node = 1, .epoch = 1});
	kept_stacks_put(&kept, 12, &(struct kept_stack){.stack.node = 2, .epoch = 1});
	kept_stacks_put(&kept, 11, &(struct kept_stack){.stack.node = 3, .epoch = 2});
	CHECK(!kept_stacks_find(&kept, 13, 1));
	CHECK_INT(kept_stacks_find(&kept, 11, 1)->stack.node, 3);
	CHECK_INT(kept_stacks_find(&kept, 12, 9)->stack.node, 2);
	kept_stacks_deinit(&kept);
}

/* A snapshot stands in one file. */
TEST(what_is_left_to_a_reader_is_of_its_file_alone)
{
	struct kept_stacks kept = {0};
	struct kept_stack left = {.stack.is_left = true, .snapshot = 7, .epoch = 4};
	kept_stacks_put(&kept, 11, &left);
	CHECK_INT(kept_stacks_find(&kept, 11, 4)->snapshot, 7);
	CHECK(!kept_stacks_find(&kept, 11, 5));
	kept_stacks_deinit(&kept);
}

TEST(stacks_move_to_another_table)
{
	struct stack_table from, to;
	struct kept_stacks kept = {0};
	stack_table_init(&from);
	stack_table_init(&to);
	uint32_t outer = stack_table_node(&from, 0, stack_table_frame(&from, NULL, 1, 0));
	uint32_t inner = stack_table_node(&from, outer, stack_table_frame(&from, NULL, 2, 0));
	kept_stacks_put(&kept, 11, &(struct kept_stack){.stack.node = inner});
	kept_stacks_put(&kept, 12, &(struct kept_stack){.stack.node = outer});
	stack_table_node(&to, 0, stack_table_frame(&to, NULL, 3, 0)); /* numbers are others */
	kept_stacks_move(&kept, &to, &from);
	uint32_t moved = kept_stacks_find(&kept, 11, 0)->stack.node;
	CHECK_INT(to.nodes.data[moved].parent, kept_stacks_find(&kept, 12, 0)->stack.node);
	CHECK_INT(to.frames.data[to.nodes.data[moved].frame].offset, 2);
	kept_stacks_deinit(&kept);
	stack_table_deinit(&to);
	stack_table_deinit(&from);
}
