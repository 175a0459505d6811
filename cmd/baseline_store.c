#include "cmd/baseline_store.h"

#include <string.h>
#include <time.h>

#include "cmd/console.h"
#include "format/base/caller.h"

struct err *baseline_store_open(const char *folder, bool creates, struct store **ret)
{
	struct caller owner = caller_find();
	struct store_options options = {
		.folder = folder,
		.creates = creates,
		.has_owner = owner.is_set,
		.uid = owner.uid,
		.gid = owner.gid,
	};
	return store_open(&options, ret);
}

/* ---- of another CPU model ---- */

struct search {
	const struct baseline_store_wanted *wanted;
	char *cpu_model; /* of the newest baseline that was found; NULL: none */
	uint64_t time_s;
};

static void look_at_ref(void *context, const struct store_ref *ref)
{
	struct search *search = context;
	bool is_of_branch = strcmp(ref->job, search->wanted->job) == 0 &&
			    strcmp(ref->branch, search->wanted->branch) == 0;
	if (!is_of_branch || !ref->entries.len)
		return;
	uint64_t time_s = ref->entries.data[ref->entries.len - 1].time_s;
	if (search->cpu_model && time_s < search->time_s)
		return;
	mem_free(search->cpu_model);
	search->cpu_model = mem_strdup(ref->cpu_model);
	search->time_s = time_s;
}

static void baseline_store_say_damaged(void *context, const char *file, const char *why)
{
	(void)context, (void)file;
	console_say("skipped: %s", why);
}

static struct err *find_foreign(
	struct store *store, const struct baseline_store_wanted *wanted, struct store_ref **ret)
{
	struct search search = {.wanted = wanted};
	struct store_visitor visitor = {&search, look_at_ref, baseline_store_say_damaged};
	*ret = NULL;
	struct err *err = store_each_ref(store, &visitor);
	bool is_refused = search.cpu_model && !wanted->is_forced;
	if (!err && is_refused && !wanted->needs_none)
		err = err_new(ERR_USAGE,
			"the baseline of %s on %s is of another CPU model, %s: this one is %s "
			"(--force takes it)",
			wanted->job, wanted->branch, search.cpu_model, wanted->cpu_model);
	struct store_key key = {wanted->job, wanted->branch, search.cpu_model};
	if (!err && search.cpu_model && !is_refused) {
		console_say("taken by force: its CPU model is %s", search.cpu_model);
		err = store_find(store, &key, ret);
	}
	mem_free(search.cpu_model);
	return err;
}

/* ---- the newest ---- */

static struct err *check_event(
	const struct baseline_store_wanted *wanted, const struct store_entry *entry)
{
	if (!wanted->event || strcmp(wanted->event, entry->event) == 0)
		return NULL;
	if (!wanted->is_forced)
		return err_new(ERR_USAGE,
			"the baseline of %s on %s was sampled by %s, not by %s (--force takes it)",
			wanted->job, wanted->branch, entry->event, wanted->event);
	console_say("taken by force: it was sampled by %s, not by %s", entry->event, wanted->event);
	return NULL;
}

struct err *baseline_store_find(struct store *store, const struct baseline_store_wanted *wanted,
	struct baseline_store_found *ret)
{
	struct baseline_store_found found = {0};
	struct store_key key = {wanted->job, wanted->branch, wanted->cpu_model};
	try(store_find(store, &key, &found.ref));
	if (!found.ref || !found.ref->entries.len) {
		store_ref_destroy(steal_ptr(found.ref));
		try(find_foreign(store, wanted, &found.ref));
	}
	if (found.ref && found.ref->entries.len) {
		found.entry = &found.ref->entries.data[found.ref->entries.len - 1];
		struct err *err = check_event(wanted, found.entry);
		if (err) {
			store_ref_destroy(found.ref);
			return err;
		}
	}
	*ret = found;
	return NULL;
}

/* ---- saving ---- */

static void say_saved(const struct baseline_store_target *target, const struct store_entry *entry,
	const struct slim_result *result)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "baseline of %s on %s: %llu %s, ", target->job, target->branch,
		(unsigned long long)result->runs, str_plural(result->runs, "run", "runs"));
	console_put_count(&text, result->samples);
	str_printf(&text, " %s, ", str_plural(result->samples, "sample", "samples"));
	console_put_bytes(&text, entry->bytes);
	str_printf(&text, " -> %.12s", entry->hash);
	console_say("%s", str_text(&text));
	if (!result->cut_samples)
		return;
	str_truncate(&text, 0);
	str_puts(&text, "to be that small, the stacks of ");
	console_put_count(&text, result->cut_samples);
	str_printf(&text, " samples were cut: those that fewer than %llu had",
		(unsigned long long)result->cut_below);
	console_say_more("%s", str_text(&text));
}

static struct err *save_file(
	const struct baseline_store_target *target, const struct baseline_file *file)
{
	struct store *store;
	struct store_entry entry = {
		.time_s = (uint64_t)time(NULL),
		.runs = file->result.runs,
		.samples = file->result.samples,
		.bytes = file->bytes.len,
		.event = file->facts.event.data,
	};
	struct store_key key = {target->job, target->branch, str_text(&file->facts.cpu_model)};
	sha256_of(file->bytes.data, file->bytes.len, entry.hash);
	try(baseline_store_open(target->folder, true, &store));
	struct err *err = store_save(store, &key, &entry, file->bytes.data);
	store_close(store);
	if (!err && !target->is_quiet)
		say_saved(target, &entry, &file->result);
	return err;
}

struct err *baseline_store_save(
	const struct baseline_store_target *target, const struct baseline_file_options *options)
{
	struct baseline_file file;
	try(baseline_file_make(options, &file));
	struct err *err = save_file(target, &file);
	baseline_file_deinit(&file);
	return err;
}
