/* Any bytes as what a store knows of a job: what is read is sound, and stays so when written. */
#include <stdlib.h>
#include <string.h>

#include "report/compare/baseline/store_ref.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

static void want(bool is_so)
{
	if (!is_so)
		abort();
}

static bool is_name(const char *name)
{
	return *name && strlen(name) <= STORE_MAX_NAME_BYTES;
}

/* A name of a file that is no other folder's. */
static void check_file_name(const char *name)
{
	CLEANUP(str_deinit) struct str file = {0};
	struct err *err = store_ref_put_file_name("job", name, &file);
	want(!err);
	want(file.len && file.len < 256 && file.data[0] != '.' && !strchr(file.data, '/'));
}

static void check(const struct store_ref *ref)
{
	want(is_name(ref->job) && is_name(ref->branch) && is_name(ref->cpu_model));
	check_file_name(ref->job);
	vec_each(&ref->entries, entry)
		want(is_name(entry->event) && strlen(entry->hash) == SHA256_DIGITS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct store_ref ref, again;
	CLEANUP(str_deinit) struct str once = {0}, twice = {0};
	struct err *err = store_ref_decode((const char *)bytes, len, &ref);
	if (err) {
		err_destroy(err);
		return 0;
	}
	check(&ref);
	store_ref_encode(&ref, &once);
	want(!store_ref_decode(str_text(&once), once.len, &again));
	store_ref_encode(&again, &twice);
	want(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
	want(again.entries.len == ref.entries.len);
	store_ref_deinit(&ref);
	store_ref_deinit(&again);
	return 0;
}
