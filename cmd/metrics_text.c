#include <inttypes.h>

#include "cmd/metrics.h"
#include "format/base/clock.h"

static void put_head(struct str *out, const char *name, const char *type, const char *help)
{
	str_printf(out, "# HELP ebprof_%s %s\n# TYPE ebprof_%s %s\n", name, help, name, type);
}

static void put_figure(
	struct str *out, const char *name, const char *type, const char *help, double value)
{
	put_head(out, name, type, help);
	str_printf(out, "ebprof_%s %.17g\n", name, value);
}

static void put_event_outcome(
	struct str *out, const struct session_source *source, const char *outcome, uint64_t count)
{
	str_printf(out, "ebprof_events_total{event=\"%s\",outcome=\"%s\"} %" PRIu64 "\n",
		source->name, outcome, count);
}

/* What became of each event: their sum is the number of them, but for those on their way. */
static void put_events(struct str *out, const struct session_summary *health)
{
	put_head(out, "events_total", "counter", "Events by what became of them.");
	for (size_t i = 0; i < health->nr_sources; i++) {
		const struct session_source *source = &health->sources[i];
		put_event_outcome(out, source, "sample", source->samples);
		put_event_outcome(out, source, "idle", source->idle);
		put_event_outcome(out, source, "filtered", source->filtered);
		put_event_outcome(out, source, "below", source->below);
		put_event_outcome(out, source, "lost", source->lost);
	}
}

static void put_stacks(struct str *out, const struct session_summary *health)
{
	uint64_t cut = 0;
	for (size_t i = 0; i < sizeof(health->truncated) / sizeof(*health->truncated); i++)
		cut += health->truncated[i];
	put_head(out, "stacks_total", "counter", "Stacks by how whole they are.");
	str_printf(out,
		"ebprof_stacks_total{state=\"complete\"} %" PRIu64 "\n"
		"ebprof_stacks_total{state=\"guessed\"} %" PRIu64 "\n"
		"ebprof_stacks_total{state=\"kernel\"} %" PRIu64 "\n"
		"ebprof_stacks_total{state=\"cut\"} %" PRIu64 "\n",
		health->complete, health->by_guesses, health->kernel_only, cut);
}

void metrics_put_text(const struct session_summary *health, struct str *out)
{
	const struct turn *turn = &health->longest_turn;
	put_events(out, health);
	put_stacks(out, health);
	put_figure(out, "lost_ring_buffer_total", "counter",
		"Samples that were lost because the ring buffer was full.",
		(double)health->lost_ring);
	put_figure(out, "lost_sideband_total", "counter",
		"Records of mappings and execs that were lost.", (double)health->sideband_lost);
	put_figure(out, "cpu_seconds_total", "counter", "CPU time of the recorder.", health->cpu_s);
	put_figure(out, "resident_bytes", "gauge", "Memory of the recorder.",
		(double)health->resident_bytes);
	put_figure(out, "open_files", "gauge", "Descriptors of the recorder.",
		(double)health->open_files);
	put_figure(out, "up_seconds", "gauge", "Since sampling began.", health->final.elapsed_s);
	put_figure(out, "written_bytes_total", "counter", "Of recordings.",
		(double)health->final.bytes);
	put_figure(out, "files_total", "counter", "Files that were begun.", health->files);
	put_figure(out, "longest_turn_seconds", "gauge",
		"The longest time that the recorder was away from its ring buffer.",
		(double)(turn->cpu_ns + turn->blocked_ns + turn->starved_ns) / NS_PER_S);
	if (!health->is_ring)
		return;
	put_figure(out, "ring_files", "gauge", "Files in the ring.", health->files_kept);
	put_figure(out, "ring_bytes", "gauge", "Of the files in the ring.",
		(double)health->ring_bytes);
	put_figure(out, "ring_removed_files_total", "counter", "Files that were removed.",
		(double)health->files_removed);
	put_figure(out, "ring_removed_early_files_total", "counter",
		"Of these, because the disk was full.", (double)health->files_for_room);
}
