#include "report/tui/view.h"

extern const struct view view_top;
extern const struct view view_heat;
extern const struct view view_processes;

const struct view *const views[VIEW_COUNT] = {
	[VIEW_TOP] = &view_top,
	[VIEW_HEAT] = &view_heat,
	[VIEW_PROCESSES] = &view_processes,
};
