#include "cmd/record_rate.h"

#include <string.h>

#include "cmd/console.h"
#include "format/base/clock.h"
#include "format/base/str.h"
#include "record/tick_cost.h"

enum {
	TRIED_HZ = 8000,           /* less is cheap wherever this was measured: 30 us a tick */
	USUAL_TICK_NS = 20 * 1000, /* where trying gave no figure */
	TYPICAL_CPU_HZ = 2000 * 1000 * 1000,
};

/* Ticks a second of a CPU that is busy; those of a period of cycles are a guess. */
static uint64_t asked_hz(const struct session_options *options)
{
	bool is_clock = options->event == SESSION_EVENT_CPU_CLOCK;
	if (!options->period)
		return options->frequency_hz;
	return (is_clock ? NS_PER_S : TYPICAL_CPU_HZ) / options->period;
}

/* Two digits are as much as is known of it. */
static uint32_t round_down(uint32_t hz)
{
	uint32_t unit = 1;
	while (hz / unit >= 100)
		unit *= 10;
	return hz / unit * unit;
}

static void say_chosen(uint32_t hz, uint64_t tick_ns)
{
	console_say(
		"-F max: %u Hz, which takes up to %d%% of the CPU time (%.1f us a tick here, on a "
		"stack of 50 frames)",
		hz, TICK_COST_MAX_PERCENT, (double)tick_ns / 1e3);
}

static void warn(uint64_t hz, uint32_t cheap_hz, uint64_t tick_ns)
{
	double share = 100.0 * (double)hz * (double)tick_ns / NS_PER_S;
	CLEANUP(str_deinit) struct str text = {0};
	if (share < 100)
		str_printf(&text, "%.0f%% of", share);
	else
		str_puts(&text, "all of");
	console_say(
		"warning: %llu ticks a second may take %s the CPU time (%.1f us a tick here, on a "
		"stack of 50 frames); -F %u takes up to %d%%",
		(unsigned long long)hz, str_text(&text), (double)tick_ns / 1e3, cheap_hz,
		TICK_COST_MAX_PERCENT);
}

void record_rate_choose(struct session_options *options, bool is_max, bool quiet)
{
	uint64_t hz = asked_hz(options), tick_ns;
	if (options->event == SESSION_EVENT_NONE || (!is_max && hz < TRIED_HZ))
		return;
	struct err *err = tick_cost_try(options, &tick_ns);
	if (err) { /* so will recording, and that says why */
		err_destroy(err);
		return;
	}
	if (!tick_ns)
		tick_ns = USUAL_TICK_NS;
	uint32_t cheap_hz = round_down(tick_cost_frequency(tick_ns));
	if (hz <= cheap_hz)
		return;
	if (is_max)
		options->frequency_hz = cheap_hz;
	if (!quiet && is_max)
		say_chosen(cheap_hz, tick_ns);
	else if (!quiet)
		warn(hz, cheap_hz, tick_ns);
}
