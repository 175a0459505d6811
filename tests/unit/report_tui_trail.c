#include <string.h>

#include "report/tui/trail.h"
#include "tests/unit/unit.h"

static void add(struct trail *trail, const char *text)
{
	struct trail_step step = {.term = {.kind = SCOPE_PATTERN, .text = (char *)text}};
	trail_add(trail, &step);
}

TEST(steps_are_undone_and_done_again)
{
	struct trail trail = {0};
	CHECK(!trail_undo(&trail));
	add(&trail, "a");
	add(&trail, "b");
	CHECK(trail_undo(&trail));
	CHECK_INT(trail.done.len, 1);
	CHECK(trail_redo(&trail));
	CHECK_STR(trail.done.data[1].term.text, "b");
	CHECK(!trail_redo(&trail));
	CHECK(trail_reset(&trail));
	CHECK(!trail_reset(&trail));
	CHECK(trail_redo(&trail));
	CHECK_STR(trail.done.data[0].term.text, "a");
	add(&trail, "c"); /* what was undone is forgotten */
	CHECK(!trail_redo(&trail));
	struct scope scope;
	trail_scope(&trail, &scope);
	CHECK_INT(scope.terms.len, 2);
	CHECK_STR(scope.terms.data[1].text, "c");
	scope_deinit(&scope);
	trail_deinit(&trail);
}
