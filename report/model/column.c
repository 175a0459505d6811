#include "report/model/column.h"

static const struct column_info infos[COLUMN_COUNT] = {
#define X(column, name, title, is_of_frame, is_number) {name, title, is_of_frame, is_number},
	COLUMNS(X)
#undef X
};

const struct column_info *column_info(enum column column)
{
	return &infos[column];
}
