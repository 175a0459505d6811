#include "report/write/health.h"

#include <string.h>

#include "format/base/path.h"
#include "format/base/str.h"
#include "format/file/own_heap.h"
#include "report/write/cause_words.h"
#include "report/write/ticks_share.h"

static void health_put_cut(const struct reader_result *file, double cut_s, struct str *out)
{
	str_puts(out, "recording cut");
	if (cut_s >= 0)
		str_printf(out, " at %.3f s", cut_s);
	if (file->damage.truncated)
		str_printf(out, " (offset %llu, inside a chunk)",
			(unsigned long long)file->damage.cut_offset);
	str_puts(out, ": the recorder was killed, or still runs");
}

void health_put_file(const struct reader_result *file, double cut_s, struct str *out)
{
	const struct chunk_damage *damage = &file->damage;
	const char *separator = "";
	if (damage->regions) {
		str_printf(out,
			"%s%llu damaged %s skipped (%llu bytes), the first at offset %llu: %s",
			separator, (unsigned long long)damage->regions,
			str_plural(damage->regions, "place", "places"),
			(unsigned long long)damage->bytes, (unsigned long long)damage->first_offset,
			damage->what);
		separator = "; ";
	}
	if (file->bad_chunks) {
		str_printf(out,
			"%s%llu %s with contents that the reader cannot decode, the first at "
			"offset "
			"%llu: %s",
			separator, (unsigned long long)file->bad_chunks,
			str_plural(file->bad_chunks, "chunk", "chunks"),
			(unsigned long long)file->bad_offset, file->bad_what);
		separator = "; ";
	}
	if (!file->ended) {
		str_puts(out, separator);
		health_put_cut(file, cut_s, out);
	}
}

static double seconds_in(const struct profile *profile, uint64_t time_ns)
{
	return (double)(time_ns - profile->first_ns) / 1e9;
}

uint64_t health_count_unwind_losses(const struct profile *profile)
{
	const struct profile_unwind_losses *losses = &profile->unwind_losses;
	return losses->crashed + losses->hung + losses->abandoned;
}

/* No damage of the file perhaps, but as good as that: stacks of it are cut. False: none. */
static bool put_unwind_losses(const struct profile *profile, const char *separator, struct str *out)
{
	const struct profile_unwind_losses *losses = &profile->unwind_losses;
	uint64_t all = health_count_unwind_losses(profile);
	if (!all)
		return false;
	str_printf(out,
		"%s%llu %s could not be unwound: unwinding crashed over %llu and took too long "
		"over %llu",
		separator, (unsigned long long)all, str_plural(all, "snapshot", "snapshots"),
		(unsigned long long)losses->crashed, (unsigned long long)losses->hung);
	if (losses->abandoned)
		str_printf(out, ", %llu were not tried", (unsigned long long)losses->abandoned);
	return true;
}

bool health_put_sideband_losses(const struct profile *profile, struct str *out)
{
	uint64_t lost = profile->counters[LAYOUT_COUNTER_SIDEBAND_LOST];
	uint64_t samples = profile->counters[LAYOUT_COUNTER_GAP_SAMPLES];
	if (!lost)
		return false;
	if (!samples) {
		str_printf(out,
			"%llu record%s of mappings and execs %s lost, and no sample was taken "
			"meanwhile: the recorder did not come to read its buffers",
			(unsigned long long)lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were");
		return true;
	}
	str_printf(out,
		"%llu record%s of mappings and execs %s lost while %llu sample%s %s taken, whose "
		"frames may lack names or have wrong ones",
		(unsigned long long)lost, lost == 1 ? "" : "s", lost == 1 ? "was" : "were",
		(unsigned long long)samples, samples == 1 ? "" : "s",
		samples == 1 ? "was" : "were");
	return true;
}

void health_put_own_heaps(const struct profile *profile, struct str *out)
{
	CLEANUP(strtab_deinit) struct strtab said = {0};
	vec_each(&profile->objects, object) {
		const char *objects = object->is_used ? own_heap_of(object->path) : NULL;
		size_t nr_said = said.entries.len;
		if (!objects || strtab_intern(&said, objects, strlen(objects)) < nr_said)
			continue;
		const char *remedy = own_heap_remedy(object->path);
		str_printf(out, "# not among these: %s, on its own heap%s%s\n", objects,
			remedy ? ", unless it ran with " : "", remedy ? remedy : "");
	}
}

/* Seen by a function or file that is in every stack of theirs which waits. Sources: proc.go of
 * Go 1.14 to 1.24; JEP 444. */
static const struct own_threads {
	const char *function, *file, *what, *remedy;
} own_threads[] = {
	{"runtime.notesleep", NULL, "goroutines", "Go's block and mutex profiles have them"},
	{"runtime.netpoll", NULL, "goroutines", "Go's block and mutex profiles have them"},
	{"runtime.usleep", NULL, "goroutines", "Go's block and mutex profiles have them"},
	{"java.lang.VirtualThread.run", NULL, "Java's virtual threads",
		"jcmd PID Thread.dump_to_file has them"},
	{NULL, "beam.smp", "Erlang's processes", "erlang:process_info/2 has them"},
};

static bool knows_function(const struct profile *profile, const char *name)
{
	vec_each(&profile->functions, function)
		if (strcmp(function->name, name) == 0)
			return true;
	return false;
}

static bool has_used_file(const struct profile *profile, const char *name)
{
	vec_each(&profile->objects, object)
		if (object->is_used && strcmp(path_last_part(object->path), name) == 0)
			return true;
	return false;
}

void health_put_own_threads(const struct profile *profile, struct str *out)
{
	const char *said = "";
	for (size_t i = 0; i < sizeof(own_threads) / sizeof(*own_threads); i++) {
		const struct own_threads *it = &own_threads[i];
		if (strcmp(it->what, said) == 0 ||
			!(it->function ? knows_function(profile, it->function)
				       : has_used_file(profile, it->file)))
			continue;
		said = it->what;
		str_printf(out, "# not among these: waits of %s, which have no thread then: %s\n",
			it->what, it->remedy);
	}
}

void health_put_damage(const struct profile *profile, struct str *out)
{
	health_put_file(&profile->file, seconds_in(profile, profile->last_ns), out);
	const char *separator = out->len ? "; " : "";
	if (profile->end.reason == LAYOUT_END_WRITE_ERROR) {
		str_printf(out, "%sthe recorder stopped at %.3f s because it could not write",
			separator, seconds_in(profile, profile->end.time_ns));
		separator = "; ";
	}
	if (put_unwind_losses(profile, separator, out))
		separator = "; ";
	if (profile->counters[LAYOUT_COUNTER_SIDEBAND_LOST]) {
		str_puts(out, separator);
		health_put_sideband_losses(profile, out);
		separator = "; ";
	}
	uint64_t back = profile->counters[LAYOUT_COUNTER_CPUS_BACK];
	if (back) {
		str_printf(out,
			"%sCPUs came online %llu %s: of what they ran until the recorder saw it, "
			"at most a second each, samples or names are missing",
			separator, (unsigned long long)back, str_plural(back, "time", "times"));
		separator = "; ";
	}
	uint64_t unseen_ms = profile->counters[LAYOUT_COUNTER_HEAP_UNSEEN_MS];
	if (unseen_ms) {
		str_printf(out, "%s%llu %s", separator, (unsigned long long)unseen_ms,
			cause_of_counter(LAYOUT_COUNTER_HEAP_UNSEEN_MS));
		separator = "; ";
	}
	uint64_t missed = profile->counters[LAYOUT_COUNTER_HEAP_PROGRAMS_MISSED];
	if (missed) {
		str_printf(out, "%s%llu %s", separator, (unsigned long long)missed,
			cause_of_counter(LAYOUT_COUNTER_HEAP_PROGRAMS_MISSED));
		separator = "; ";
	}
	if (profile->dangling) {
		str_printf(out, "%s%llu %s missing", separator,
			(unsigned long long)profile->dangling,
			str_plural(profile->dangling, "reference to a table entry that is",
				"references to table entries that are"));
		separator = "; ";
	}
	if (profile->too_large)
		str_printf(out, "%s%llu %s too large to be added up, counted as 0", separator,
			(unsigned long long)profile->too_large,
			str_plural(profile->too_large, "sample with a value that is",
				"samples with values that are"));
}

bool health_is_whole(const struct profile *profile)
{
	const struct reader_result *file = &profile->file;
	vec_each(&profile->origins, origin)
		if (origin->info.flags & (LAYOUT_ORIGIN_CUT | LAYOUT_ORIGIN_DAMAGED) ||
			origin->info.reason == LAYOUT_END_WRITE_ERROR)
			return false;
	return file->ended && !file->damage.regions && !file->damage.truncated &&
	       !file->bad_chunks && !profile->dangling && !profile->too_large &&
	       profile->end.reason != LAYOUT_END_WRITE_ERROR;
}

static const char *cause_of_skipped(const struct profile *profile)
{
	const char *code = profile_meta(profile, LAYOUT_META_CODE);
	if (!code)
		return "the CPU was idle, or its timer was late";
	return strcmp(code, LAYOUT_CODE_USER) == 0
		       ? "they were in the kernel, which --all-user leaves out, or the CPU was idle"
		       : "they were in programs, which --all-kernel leaves out, or the CPU was "
			 "idle";
}

/* Skipped ticks are no lost samples: it is not known what ran, or whether anything did. */
void health_put_losses(const struct profile *profile, struct str *out)
{
	const uint64_t *counters = profile->counters;
	uint64_t lost = profile_lost(profile), ticks = counters[LAYOUT_COUNTER_TICKS];
	uint64_t skipped = counters[LAYOUT_COUNTER_SKIPPED], due = ticks + skipped;
	uint64_t taken = lost;
	for (size_t i = 0; i < profile_nr_sources(profile); i++)
		taken += profile_source_count(profile, i, LAYOUT_EVENTS_SAMPLES);
	str_printf(out, "%-14s %llu of %llu %s (%.1f%%)\n", "lost", (unsigned long long)lost,
		(unsigned long long)taken, str_plural(taken, "sample", "samples"),
		profile_percent(lost, taken));
	CLEANUP(str_deinit) struct str share = {0};
	const struct profile_event *ticked = ticks_share_event(profile);
	if (ticked && ticks_share_put_of(profile, ticked, &share))
		str_printf(out, "%-14s %s\n", "sampled", str_text(&share));
	if (skipped)
		str_printf(out, "%-14s about %llu of %llu %s due (%.1f%%): %s\n", "skipped",
			(unsigned long long)skipped, (unsigned long long)due,
			str_plural(due, "tick that was", "ticks that were"),
			profile_percent(skipped, due), cause_of_skipped(profile));
}
