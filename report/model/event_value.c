#include "report/model/event_value.h"

#include <string.h>

static void put_time(uint64_t ns, struct str *out)
{
	if (ns >= 1000000000)
		str_printf(out, "%.2f s", (double)ns / 1e9);
	else
		str_printf(out, "%.1f ms", (double)ns / 1e6);
}

static void put_bytes(uint64_t bytes, struct str *out)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	size_t unit = 0;
	for (; value >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
		value /= 1024;
	str_printf(out, unit && value < 100 ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

bool event_value_is_cpu_time(const struct profile_event *event)
{
	return !event->source && !event->is_second && !event->is_sum &&
	       strcmp(event->unit, LAYOUT_UNIT_NS) == 0;
}

void event_value_put(
	const struct profile_event *event, uint64_t value, bool is_short, struct str *out)
{
	if (strcmp(event->unit, LAYOUT_UNIT_NS) == 0) {
		put_time(value, out);
		return;
	}
	if (strcmp(event->unit, "bytes") == 0) {
		put_bytes(value, out);
		return;
	}
	str_printf(out, "%llu", (unsigned long long)value);
	if (is_short)
		return;
	str_putc(out, ' ');
	str_puts_escaped(out, event->unit);
}

bool event_value_is_of_heap(const struct profile_event *event)
{
	static const char *const beginnings[] = {"alloc_", "inuse_", "peak_"};
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (strncmp(event->name, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}
