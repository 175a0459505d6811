#include "report/tui/view.h"

extern const struct view view_top;

const struct view *const views[VIEW_COUNT] = {
	[VIEW_TOP] = &view_top,
};
