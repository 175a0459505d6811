#include "report/tui/first_run.h"

#include "format/base/cache.h"
#include "report/model/state_folder.h"

static const char kind[] = "seen", entry_name[] = "1";

/* Reading an entry keeps it; those that are left alone go after a month. */
static bool first_run_is_noted(const struct cache *cache)
{
	struct cache_entry entry;
	struct err *err = cache_entry_open(cache, entry_name, &entry);
	bool is_noted = err || entry.fd >= 0;
	cache_entry_close(&entry);
	err_destroy(err);
	return is_noted;
}

static bool first_run_note(const struct cache *cache)
{
	struct cache_piece piece = {entry_name, sizeof(entry_name)};
	struct err *err = cache_store(cache, entry_name, &piece, 1);
	err_destroy(err);
	return !err;
}

bool first_run_begins(void)
{
	CLEANUP(str_deinit) struct str path = {0};
	if (!state_folder_put(kind, &path))
		return false;
	struct cache *cache = NULL;
	struct cache_options options = {.kind = kind, .folder = str_text(&path)};
	struct err *err = cache_open(&options, &cache);
	bool begins = !err && cache && !first_run_is_noted(cache) && first_run_note(cache);
	cache_close(cache);
	err_destroy(err);
	return begins;
}
