#include "report/write/info_origins.h"

#include <string.h>

#include "report/model/text/json.h"
#include "report/write/info.h"

static const char *origin_meta(const struct profile_origin *origin, const char *key)
{
	for (uint32_t i = 0; i < origin->info.nr_meta; i++)
		if (strcmp(origin->meta[i].key, key) == 0)
			return origin->meta[i].value;
	return NULL;
}

static void put_origin_row(const struct profile_origin *origin, struct str *out)
{
	const char *keys[] = {LAYOUT_META_HOST, LAYOUT_META_TARGET, LAYOUT_META_COMMAND};
	str_puts(out, "  ");
	str_put_escaped(out, origin->name, strlen(origin->name));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *value = origin_meta(origin, keys[i]);
		if (!value)
			continue;
		str_puts(out, ", ");
		str_put_escaped(out, value, strlen(value));
	}
	if (origin->info.shift_ns)
		str_printf(out, ", its clock %.6f s later", (double)origin->info.shift_ns / 1e9);
	str_puts(out, origin->info.flags & LAYOUT_ORIGIN_CUT ? ", cut" : "");
	str_puts(out, origin->info.flags & LAYOUT_ORIGIN_DAMAGED ? ", damaged" : "");
	str_putc(out, '\n');
}

void info_put_origins(const struct profile *profile, struct str *out)
{
	if (!profile_nr_origins(profile))
		return;
	str_puts(out, "\nmerged of:\n");
	size_t limit = out->len + INFO_MAX_LIST_BYTES;
	for (size_t i = 1; i < profile->origins.len; i++) {
		if (out->len > limit) {
			str_printf(out, "  ... and %zu more\n", profile->origins.len - i);
			return;
		}
		put_origin_row(&profile->origins.data[i], out);
	}
}

void info_put_json_meta(const struct profile_meta *meta, size_t count, struct str *out)
{
	str_puts(out, "\"meta\": {");
	for (size_t i = 0; i < count; i++) {
		str_puts(out, i ? ", " : "");
		json_quote(out, meta[i].key);
		str_puts(out, ": ");
		json_quote(out, meta[i].value);
	}
	str_puts(out, "}");
}

static void put_json_origin(const struct profile_origin *origin, struct str *out)
{
	str_puts(out, "{\"name\": ");
	json_quote(out, origin->name);
	str_printf(out, ", \"shift_ns\": \"%llu\", \"cut\": %s, \"damaged\": %s, ",
		(unsigned long long)origin->info.shift_ns,
		origin->info.flags & LAYOUT_ORIGIN_CUT ? "true" : "false",
		origin->info.flags & LAYOUT_ORIGIN_DAMAGED ? "true" : "false");
	info_put_json_meta(origin->meta, origin->info.nr_meta, out);
	str_putc(out, '}');
}

void info_put_json_origins(const struct profile *profile, struct str *out)
{
	str_puts(out, "  \"origins\": [");
	size_t limit = out->len + INFO_MAX_LIST_BYTES, i;
	for (i = 1; i < profile->origins.len && out->len <= limit; i++) {
		str_puts(out, i > 1 ? ",\n    " : "\n    ");
		put_json_origin(&profile->origins.data[i], out);
	}
	str_puts(out, "],\n");
	str_printf(out, "  \"origins_omitted\": %zu,\n", profile->origins.len - i);
}
