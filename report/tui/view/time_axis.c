#include "report/tui/view/time_axis.h"

#include <time.h>

#include "report/tui/style.h"

#define SECOND_NS 1000000000ULL
#define MINUTE_NS (60 * SECOND_NS)
#define HOUR_NS   (60 * MINUTE_NS)

enum {
	COLUMNS_PER_TICK = 10, /* at least: room for a label and a gap */
};

/* The smallest round time that is no less: 1, 2, 5 of a power of ten; whole minutes and hours. */
static uint64_t round_step(uint64_t least_ns)
{
	static const uint64_t longer[] = {30 * SECOND_NS, MINUTE_NS, 2 * MINUTE_NS, 5 * MINUTE_NS,
		10 * MINUTE_NS, 30 * MINUTE_NS, HOUR_NS, 2 * HOUR_NS, 6 * HOUR_NS, 12 * HOUR_NS};
	for (uint64_t power = 1; power <= 10 * SECOND_NS; power *= 10)
		for (uint64_t digit = 1; digit <= 5; digit += digit == 1 ? 1 : 3)
			if (digit * power >= least_ns && digit * power <= 20 * SECOND_NS)
				return digit * power;
	for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++)
		if (longer[i] >= least_ns)
			return longer[i];
	uint64_t step = 24 * HOUR_NS;
	while (step < least_ns && step < UINT64_MAX / 2)
		step *= 2;
	return step;
}

void time_axis_put(struct str *out, uint64_t at_ns, uint64_t step_ns)
{
	if (step_ns >= HOUR_NS) {
		str_printf(out, "%llu h", (unsigned long long)(at_ns / HOUR_NS));
	} else if (step_ns >= MINUTE_NS) {
		str_printf(out, "%llu min", (unsigned long long)(at_ns / MINUTE_NS));
	} else {
		int decimals = 0;
		for (uint64_t unit = SECOND_NS; unit > step_ns && unit > 1; unit /= 10)
			decimals++;
		str_printf(out, "%.*f s", decimals, (double)at_ns / 1e9);
	}
}

void time_axis_draw(struct grid *grid, struct rect line, uint64_t from_ns, uint64_t column_ns)
{
	if (!column_ns || column_ns > UINT64_MAX / COLUMNS_PER_TICK)
		return;
	uint64_t step_ns = round_step(column_ns * COLUMNS_PER_TICK);
	uint64_t past_ns = from_ns % step_ns ? step_ns - from_ns % step_ns : 0;
	for (int tick = 0; tick <= line.width / COLUMNS_PER_TICK; tick++, past_ns += step_ns) {
		CLEANUP(str_deinit) struct str label = {0};
		str_puts(&label, grid_glyph(grid, GLYPH_WALL));
		time_axis_put(&label, from_ns + past_ns, step_ns);
		uint64_t column = past_ns / column_ns;
		if (column >= (uint64_t)line.width)
			return;
		int room = line.width - (int)column;
		bool fits = grid_text_width(grid, str_text(&label)) <= room;
		grid_put(grid, line.x + (int)column, line.y, fits ? room : 1, STYLE_HEADER,
			fits ? str_text(&label) : grid_glyph(grid, GLYPH_WALL));
	}
}

void time_axis_put_wall(struct str *out, const struct profile *profile, uint64_t at_ns)
{
	uint64_t wall_ns = profile_wall_ns(profile, profile->first_ns + at_ns);
	time_t seconds = (time_t)(wall_ns / SECOND_NS);
	struct tm utc;
	char text[64];
	if (!wall_ns || !gmtime_r(&seconds, &utc))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &utc);
	str_printf(out, "%s.%03u UTC", text, (unsigned)(wall_ns % SECOND_NS / 1000000));
}
