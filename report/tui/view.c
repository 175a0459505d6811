#include "report/tui/view.h"

extern const struct view view_top;
extern const struct view view_heat;

const struct view *const views[VIEW_COUNT] = {
	[VIEW_TOP] = &view_top,
	[VIEW_HEAT] = &view_heat,
};
