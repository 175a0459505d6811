#include "format/merge/merge_source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "format/base/path.h"

enum {
	MAX_META_BYTES =
		1 << 20, /* of one origin: it has to fit into a chunk. The rest is dropped */
};

static struct layout_text copy(struct merge_source *source, const char *bytes, size_t len)
{
	return (struct layout_text){arena_strndup(&source->arena, len ? bytes : "", len), len};
}

static bool merge_source_is_equal(const struct layout_text *text, const char *bytes, size_t len)
{
	return text->len == len && (!len || memcmp(text->bytes, bytes, len) == 0);
}

static void merge_source_on_meta(
	void *context, const char *key, size_t key_len, const char *value, size_t len)
{
	struct merge_source *source = context;
	source->meta_bytes += key_len + len;
	if (source->meta_bytes > MAX_META_BYTES)
		return;
	struct layout_text copied = copy(source, value, len);
	vec_each(&source->self.meta, meta) {
		if (merge_source_is_equal(&meta->key, key, key_len)) {
			meta->value = copied;
			return;
		}
	}
	vec_push(&source->self.meta,
		(struct layout_origin_meta){copy(source, key, key_len), copied});
}

static void merge_source_on_origin(void *context, uint32_t id, const struct layout_origin *origin)
{
	struct merge_source *source = context;
	struct merge_origin out = {.info = *origin, .id = id};
	out.info.name = copy(source, origin->name.bytes, origin->name.len);
	size_t bytes = 0;
	for (uint32_t i = 0; i < origin->nr_meta; i++) {
		const struct layout_origin_meta *meta = &origin->meta[i];
		bytes += meta->key.len + meta->value.len;
		if (bytes > MAX_META_BYTES)
			break;
		struct layout_origin_meta copied = {
			copy(source, meta->key.bytes, meta->key.len),
			copy(source, meta->value.bytes, meta->value.len),
		};
		vec_push(&out.meta, copied);
	}
	vec_push(&source->origins, out);
}

static void merge_source_on_clock(void *context, const struct layout_clock *clock)
{
	struct merge_source *source = context;
	if (!source->clock.realtime_ns)
		source->clock = *clock;
}

static void merge_source_on_end(void *context, const struct layout_end *end)
{
	((struct merge_source *)context)->end = *end;
}

static const struct reader_visitor visitor = {
	.meta = merge_source_on_meta,
	.origin = merge_source_on_origin,
	.clock = merge_source_on_clock,
	.end = merge_source_on_end,
};

static const struct layout_text *boot_of(const struct merge_origin *origin)
{
	vec_each(&origin->meta, meta)
		if (merge_source_is_equal(&meta->key, LAYOUT_META_BOOT, strlen(LAYOUT_META_BOOT)))
			return &meta->value;
	return NULL;
}

/* The clock of a merged recording is that of the origin whose times were not moved. */
static void find_boot(struct merge_source *source)
{
	if (!source->origins.len)
		source->boot = boot_of(&source->self);
	vec_each(&source->origins, origin)
		if (!origin->info.shift_ns && !source->boot)
			source->boot = boot_of(origin);
}

static void describe_self(struct merge_source *source)
{
	const char *name = path_last_part(source->input->name);
	struct layout_origin *info = &source->self.info;
	info->name = (struct layout_text){name, strlen(name)};
	info->reason = source->end.reason;
	info->clock = source->clock;
	if (!source->result->file.ended && !source->input->is_open)
		info->flags |= LAYOUT_ORIGIN_CUT;
}

struct err *merge_source_scan(struct merge_source *source)
{
	const struct merge_input *input = source->input;
	if (lseek(input->fd, 0, SEEK_SET) < 0)
		return err_sys(errno, "%s", input->name);
	try(err_wrap(reader_read(input->fd, &visitor, source, &source->result->file), "%s",
		input->name));
	describe_self(source);
	find_boot(source);
	bool is_damaged = source->result->file.missing_chunks || source->result->file.bad_chunks ||
			  source->result->file.damage.regions;
	if (is_damaged)
		source->self.info.flags |= LAYOUT_ORIGIN_DAMAGED;
	vec_each(&source->origins, origin)
		origin->info.flags |=
			source->self.info.flags; /* whose part is missing is not known */
	return NULL;
}

void merge_source_deinit(struct merge_source *source)
{
	vec_deinit(&source->self.meta);
	vec_each(&source->origins, origin)
		vec_deinit(&origin->meta);
	vec_deinit(&source->origins);
	arena_deinit(&source->arena);
}

bool merge_source_is_damaged(const struct merge_source *source)
{
	return source->self.info.flags || !source->result->file.ended;
}

size_t merge_source_nr_origins(const struct merge_source *source)
{
	return source->origins.len ? source->origins.len : 1;
}

struct merge_origin *merge_source_origin(struct merge_source *source, size_t index)
{
	return source->origins.len ? &source->origins.data[index] : &source->self;
}
