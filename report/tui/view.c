#include "report/tui/view.h"

extern const struct view view_top, view_butterfly, view_tree, view_flame, view_heat, view_processes,
	view_source, view_diff, view_symbols;

const struct view *const views[VIEW_COUNT] = {
	[VIEW_TOP] = &view_top,
	[VIEW_BUTTERFLY] = &view_butterfly,
	[VIEW_TREE] = &view_tree,
	[VIEW_FLAME] = &view_flame,
	[VIEW_HEAT] = &view_heat,
	[VIEW_PROCESSES] = &view_processes,
	[VIEW_SOURCE] = &view_source,
	[VIEW_DIFF] = &view_diff,
	[VIEW_SYMBOLS] = &view_symbols,
};
