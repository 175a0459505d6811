#include "report/write/export/dense_ids.h"
#include "tests/unit/unit.h"

TEST(ids_come_in_the_order_of_first_use)
{
	struct dense_ids ids;
	dense_ids_init(&ids, 5);
	CHECK_INT(ids.used.len, 0);
	CHECK_INT(dense_ids_use(&ids, 4), 1);
	CHECK_INT(dense_ids_use(&ids, 0), 2);
	CHECK_INT(dense_ids_use(&ids, 4), 1);
	CHECK_INT(dense_ids_use(&ids, 2), 3);
	CHECK_INT(dense_ids_use(&ids, 0), 2);
	CHECK_INT(ids.used.len, 3);
	CHECK_INT(ids.used.data[0], 4);
	CHECK_INT(ids.used.data[1], 0);
	CHECK_INT(ids.used.data[2], 2);
	CHECK_INT(ids.id_of[1], 0);
	CHECK_INT(ids.id_of[3], 0);
	dense_ids_deinit(&ids);
}
