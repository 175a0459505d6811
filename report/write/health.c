#include "report/write/health.h"

static void put_cut(const struct reader_result *file, double cut_s, struct str *out)
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
		put_cut(file, cut_s, out);
	}
}
