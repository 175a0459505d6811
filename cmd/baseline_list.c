#include "cmd/baseline_list.h"

#include "cmd/console.h"
#include "report/model/text/byte_sink.h"
#include "report/model/text/json.h"

enum {
	SCHEMA_VERSION = 1, /* described in man/ebprof-baseline.1; new members do not change it */
};

struct listing {
	struct str out;
	struct json json; /* into `out` */
	uint64_t nr_damaged;
};

static void baseline_list_say_damaged(void *context, const char *file, const char *why)
{
	struct listing *listing = context;
	(void)file;
	listing->nr_damaged++;
	console_say("skipped: %s", why);
}

/* ---- lines ---- */

static void baseline_list_put_lines(void *context, const struct store_ref *ref)
{
	struct str *out = &((struct listing *)context)->out;
	for (size_t i = ref->entries.len; i-- > 0;) {
		const struct store_entry *entry = &ref->entries.data[i];
		str_printf(out, "%.12s  ", entry->hash);
		console_put_date(out, entry->time_s);
		str_printf(out, "  %3llu %-4s  ", (unsigned long long)entry->runs,
			str_plural(entry->runs, "run", "runs"));
		console_put_count(out, entry->samples);
		str_printf(out, " %s, ", str_plural(entry->samples, "sample", "samples"));
		console_put_bytes(out, entry->bytes);
		str_puts(out, "  ");
		str_puts_escaped(out, ref->job);
		str_puts(out, " on ");
		str_puts_escaped(out, ref->branch);
		str_puts(out, "  ");
		str_puts_escaped(out, entry->event);
		str_puts(out, "  ");
		str_puts_escaped(out, ref->cpu_model);
		str_putc(out, '\n');
	}
}

/* ---- JSON ---- */

static void put_members(void *context, const struct store_ref *ref)
{
	struct json *json = &((struct listing *)context)->json;
	for (size_t i = ref->entries.len; i-- > 0;) {
		const struct store_entry *entry = &ref->entries.data[i];
		json_line(json);
		json_object(json);
		json_put_text(json, "job", ref->job);
		json_put_text(json, "branch", ref->branch);
		json_put_text(json, "cpu_model", ref->cpu_model);
		json_put_text(json, "event", entry->event);
		json_put_text(json, "sha256", entry->hash);
		json_put_exact(json, "saved", entry->time_s);
		json_put_exact(json, "runs", entry->runs);
		json_put_exact(json, "samples", entry->samples);
		json_put_exact(json, "bytes", entry->bytes);
		json_object_end(json);
	}
}

static struct err *put_json(struct store *store, struct listing *listing)
{
	struct store_visitor visitor = {listing, put_members, baseline_list_say_damaged};
	struct json *json = &listing->json;
	json->sink = byte_sink_to_text(&listing->out);
	json_object(json);
	json_put_text(json, "schema", "ebprof-baselines");
	json_put_number(json, "version", SCHEMA_VERSION);
	json_put_array(json, "baselines");
	struct err *err = store_each_ref(store, &visitor);
	json_array_end(json);
	json_line(json);
	json_put_number(json, "damaged_keys", listing->nr_damaged);
	json_object_end(json);
	struct err *written = json_finish(json);
	if (!err)
		return written;
	err_destroy(written);
	return err;
}

/* ---- */

static struct err *baseline_list_put_list(
	struct store *store, bool is_json, struct listing *listing)
{
	struct store_visitor visitor = {
		listing, baseline_list_put_lines, baseline_list_say_damaged};
	return is_json ? put_json(store, listing) : store_each_ref(store, &visitor);
}

struct err *baseline_list(struct store *store, bool is_json)
{
	struct listing listing = {0};
	struct err *err = baseline_list_put_list(store, is_json, &listing);
	if (!err && console_print(&listing.out))
		err = err_new(ERR_IO, "not all was listed");
	str_deinit(&listing.out);
	return err;
}
