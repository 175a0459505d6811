#include "report/compare/baseline/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "format/base/safe_folder.h"
#include "report/compare/baseline/store_file.h"

enum {
	MAX_REF_BYTES = 4 << 20,
};

struct store {
	struct store_folder folder;
};

static struct err *store_open_folder(const char *path, int *ret)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_new(ERR_USAGE, "there is no folder %s: baseline save makes one", path);
	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	*ret = fd;
	return NULL;
}

struct err *store_open(const struct store_options *options, struct store **ret)
{
	struct caller owner = {options->has_owner, options->uid, options->gid};
	CLEANUP_FD int fd = -1;
	if (options->creates)
		try(safe_folder_make(options->folder, 0777, &owner, &fd, NULL));
	else
		try(store_open_folder(options->folder, &fd));
	struct store *store = mem_zalloc(sizeof(*store));
	store->folder = (struct store_folder){
		.fd = steal_fd(fd),
		.path = mem_strdup(options->folder),
		.has_owner = options->has_owner,
		.uid = options->uid,
		.gid = options->gid,
	};
	*ret = store;
	return NULL;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	mem_close_fd(&store->folder.fd);
	mem_free(store->folder.path);
	mem_free(store);
}

/* ---- names ---- */

static void put_object_name(struct str *out, const char *hash)
{
	str_printf(out, "objects/%.2s/%s.ebprof", hash, hash);
}

static struct err *put_ref_name(struct str *out, const struct store_key *key)
{
	str_puts(out, "refs/");
	try(store_ref_put_file_name("job", key->job, out));
	str_putc(out, '/');
	try(store_ref_put_file_name("branch", key->branch, out));
	str_putc(out, '/');
	return store_ref_put_file_name("CPU model", key->cpu_model, out);
}

/* ---- refs ---- */

static struct err *read_ref(struct store *store, const char *name, struct store_ref **ret)
{
	struct bytes_buf bytes = {0};
	struct store_ref ref;
	bool found;
	*ret = NULL;
	try(store_file_read(&store->folder, name, MAX_REF_BYTES, &found, &bytes));
	if (!found)
		return NULL;
	struct err *err = store_ref_decode((const char *)bytes.data, bytes.len, &ref);
	bytes_buf_deinit(&bytes);
	if (err)
		return err_wrap(err, "%s/%s", store->folder.path, name);
	*ret = mem_zalloc(sizeof(**ret));
	**ret = ref;
	return NULL;
}

void store_ref_destroy(struct store_ref *ref)
{
	if (ref)
		store_ref_deinit(ref);
	mem_free(ref);
}

static struct err *write_ref(struct store *store, const char *name, const struct store_ref *ref)
{
	CLEANUP(str_deinit) struct str text = {0};
	store_ref_encode(ref, &text);
	return store_file_write(&store->folder, name, str_text(&text), text.len);
}

static bool is_of(const struct store_ref *ref, const struct store_key *key)
{
	return strcmp(ref->job, key->job) == 0 && strcmp(ref->branch, key->branch) == 0 &&
	       strcmp(ref->cpu_model, key->cpu_model) == 0;
}

static struct err *find_ref(
	struct store *store, const char *name, const struct store_key *key, struct store_ref **ret)
{
	struct store_ref *ref;
	try(read_ref(store, name, &ref));
	if (ref && !is_of(ref, key)) {
		store_ref_destroy(ref);
		return err_new(ERR_FORMAT, "%s/%s is of another job, branch or CPU model",
			store->folder.path, name);
	}
	*ret = ref;
	return NULL;
}

struct err *store_find(struct store *store, const struct store_key *key, struct store_ref **ret)
{
	CLEANUP(str_deinit) struct str name = {0};
	try(put_ref_name(&name, key));
	return find_ref(store, str_text(&name), key, ret);
}

/* ---- what a killed process left behind ---- */

/* A writer holds the lock, which is ours: the process that made the file is gone. */
static struct err *each_unfinished(const struct store_folder *folder,
	struct err *(*each)(void *context, const char *name), void *context)
{
	struct store_names names;
	struct err *err = NULL;
	try(store_file_list(folder, ".", &names));
	for (size_t i = 0; i < names.len && !err; i++)
		if (store_file_is_unfinished(names.data[i]))
			err = each(context, names.data[i]);
	store_names_deinit(&names);
	return err;
}

static struct err *remove_unfinished(void *context, const char *name)
{
	return store_file_remove(context, name);
}

/* ---- saving ---- */

/* One that is there and damaged is written anew. */
static struct err *write_object(
	struct store *store, const struct store_entry *entry, const void *bytes)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct bytes_buf old = {0};
	put_object_name(&name, entry->hash);
	struct err *err = store_read(store, entry->hash, &old);
	bytes_buf_deinit(&old);
	if (!err)
		return NULL;
	err_destroy(err);
	return store_file_write(&store->folder, str_text(&name), bytes, (size_t)entry->bytes);
}

struct err *store_save(struct store *store, const struct store_key *key,
	const struct store_entry *entry, const void *bytes)
{
	CLEANUP(str_deinit) struct str name = {0};
	CLEANUP_FD int lock = -1;
	struct store_ref *ref;
	try(put_ref_name(&name, key));
	try(store_file_lock(&store->folder, &lock));
	try(each_unfinished(&store->folder, remove_unfinished, &store->folder));
	try(find_ref(store, str_text(&name), key, &ref));
	struct err *err = write_object(store, entry, bytes);
	if (!err && !ref) {
		ref = mem_zalloc(sizeof(*ref));
		store_ref_init(ref, key);
	}
	if (!err) {
		store_ref_add(ref, entry);
		err = write_ref(store, str_text(&name), ref);
	}
	store_ref_destroy(ref);
	return err;
}

/* ---- reading ---- */

static struct err *check_hash(const char *hash, const struct bytes_buf *bytes)
{
	char found[SHA256_DIGITS + 1];
	sha256_of(bytes->data, bytes->len, found);
	if (strcmp(found, hash) == 0)
		return NULL;
	return err_new(ERR_FORMAT, "it is damaged: its SHA-256 is %.12s... now", found);
}

struct err *store_read(struct store *store, const char *hash, struct bytes_buf *ret)
{
	CLEANUP(str_deinit) struct str name = {0};
	struct bytes_buf bytes = {0};
	bool found;
	put_object_name(&name, hash);
	try(store_file_read(
		&store->folder, str_text(&name), STORE_MAX_OBJECT_BYTES, &found, &bytes));
	struct err *err = found ? check_hash(hash, &bytes) : err_new(ERR_FORMAT, "it is missing");
	if (err)
		bytes_buf_deinit(&bytes);
	else
		*ret = bytes;
	return err_wrap(err, "%s/%s", store->folder.path, str_text(&name));
}

/* ---- all refs ---- */

/* Calls `each` with the path of all files three folders below refs. */
struct walk {
	struct store *store;
	void *context;
	struct err *(*each)(void *context, const char *name);
};

static struct err *walk_folder(const struct walk *walk, const char *folder, int depth)
{
	struct store_names names;
	struct err *err = NULL;
	try(store_file_list(&walk->store->folder, folder, &names));
	for (size_t i = 0; i < names.len && !err; i++) {
		CLEANUP(str_deinit) struct str name = {0};
		str_printf(&name, "%s/%s", folder, names.data[i]);
		err = depth ? walk_folder(walk, str_text(&name), depth - 1)
			    : walk->each(walk->context, str_text(&name));
	}
	store_names_deinit(&names);
	return err;
}

struct visit {
	struct store *store;
	const struct store_visitor *visitor;
};

static struct err *visit_ref(void *context, const char *name)
{
	const struct visit *visit = context;
	const struct store_visitor *visitor = visit->visitor;
	struct store_ref *ref = NULL;
	struct err *err = read_ref(visit->store, name, &ref);
	if (err && visitor->damaged)
		visitor->damaged(visitor->context, name, err_message(err));
	if (ref)
		visitor->ref(visitor->context, ref);
	err_destroy(err);
	store_ref_destroy(ref);
	return NULL;
}

struct err *store_each_ref(struct store *store, const struct store_visitor *visitor)
{
	struct visit visit = {store, visitor};
	struct walk walk = {store, &visit, visit_ref};
	return walk_folder(&walk, "refs", 2);
}

/* ---- what is not needed any more ---- */

struct gc {
	struct store *store;
	const struct store_gc_options *options;
	struct strtab kept; /* hashes */
	bool is_checking;   /* nothing is removed yet: first everything has to be readable */
};

static bool store_is_kept(const struct gc *gc, const struct store_ref *ref, size_t index)
{
	const struct store_gc_options *options = gc->options;
	bool is_new = !options->keep || ref->entries.len - index <= options->keep;
	return is_new && ref->entries.data[index].time_s >= options->before_s;
}

static struct err *remove_file(void *context, const char *name)
{
	const struct gc *gc = context;
	const struct store_gc_options *options = gc->options;
	struct store_file_facts facts;
	if (!store_file_look(&gc->store->folder, name, &facts))
		return NULL;
	options->removed(options->context, name, facts.bytes);
	return options->is_dry_run ? NULL : store_file_remove(&gc->store->folder, name);
}

/* One that has no baseline left goes, too. */
static struct err *shrink_ref(struct gc *gc, const char *name, struct store_ref *ref)
{
	size_t count = ref->entries.len, kept = 0;
	struct store_entry *entries = ref->entries.data;
	for (size_t i = 0; i < count; i++) {
		if (!store_is_kept(gc, ref, i)) {
			gc->options->dropped(gc->options->context, ref, &entries[i]);
			continue;
		}
		strtab_intern(&gc->kept, entries[i].hash, SHA256_DIGITS);
		struct store_entry swapped = entries[kept];
		entries[kept++] = entries[i];
		entries[i] = swapped;
	}
	store_ref_drop(ref, kept, count - kept);
	if (!kept)
		return remove_file(gc, name);
	bool is_same = kept == count || gc->options->is_dry_run;
	return is_same ? NULL : write_ref(gc->store, name, ref);
}

static struct err *sweep_ref(void *context, const char *name)
{
	struct gc *gc = context;
	struct store_ref *ref;
	try(err_wrap(read_ref(gc->store, name, &ref), "nothing was removed"));
	struct err *err = ref && !gc->is_checking ? shrink_ref(gc, name, ref) : NULL;
	store_ref_destroy(ref);
	return err;
}

static bool is_object_kept(struct gc *gc, const char *name)
{
	const char *hash = strrchr(name, '/') + 1;
	size_t len = strcspn(hash, "."), count = gc->kept.entries.len;
	/* What is interned here in vain is no hash of a file that comes later. */
	return strtab_intern(&gc->kept, hash, len) < count;
}

static struct err *sweep_object(void *context, const char *name)
{
	struct gc *gc = context;
	return is_object_kept(gc, name) ? NULL : remove_file(gc, name);
}

static struct err *sweep(struct gc *gc)
{
	struct walk refs = {gc->store, gc, sweep_ref}, objects = {gc->store, gc, sweep_object};
	gc->is_checking = true;
	try(walk_folder(&refs, "refs", 2));
	gc->is_checking = false;
	try(walk_folder(&refs, "refs", 2));
	try(walk_folder(&objects, "objects", 1));
	return each_unfinished(&gc->store->folder, remove_file, gc);
}

struct err *store_gc(struct store *store, const struct store_gc_options *options)
{
	struct gc gc = {.store = store, .options = options};
	CLEANUP_FD int lock = -1;
	if (!options->is_dry_run)
		try(store_file_lock(&store->folder, &lock));
	struct err *err = sweep(&gc);
	strtab_deinit(&gc.kept);
	return err;
}
