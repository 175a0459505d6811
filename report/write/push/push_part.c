#include "report/write/push/push_part.h"

#include <string.h>

#include "format/base/bisect.h"
#include "format/base/bytes.h"
#include "format/base/cache.h"

enum {
	PIECE_BYTES = 64 << 10,
};

struct profile push_part(const struct profile *profile, struct push_span span)
{
	struct profile part = *profile;
	part.samples.data += span.from;
	part.samples.len = span.to - span.from;
	if (span.from)
		part.first_ns = part.samples.data[0].time_ns;
	if (span.to < profile->samples.len)
		part.last_ns = profile->samples.data[span.to].time_ns;
	return part;
}

uint32_t push_part_middle(const struct profile *profile, struct push_span span)
{
	const struct profile_sample *samples = profile->samples.data;
	uint64_t first_ns = samples[span.from].time_ns;
	uint64_t middle_ns = first_ns + (samples[span.to - 1].time_ns - first_ns) / 2;
	/* The first one behind the middle. */
	uint32_t low = span.from + (uint32_t)bisect(span.to - span.from, i,
					   samples[span.from + i].time_ns <= middle_ns);
	return low > span.from && low < span.to ? low : span.from + (span.to - span.from) / 2;
}

/* ---- the key ---- */

struct hash {
	uint64_t sums[2];
	struct bytes_buf piece;
};

static void push_part_flush(struct hash *hash)
{
	for (size_t i = 0; i < 2; i++)
		hash->sums[i] = cache_checksum(hash->sums[i], hash->piece.data, hash->piece.len);
	hash->piece.len = 0;
}

static void push_part_put_word(struct hash *hash, const char *word)
{
	bytes_put_blob(&hash->piece, word ? word : "", word ? strlen(word) : 0);
}

static void push_part_put_sample(
	struct hash *hash, const struct profile *profile, const struct profile_sample *sample)
{
	const struct profile_thread *thread = &profile->threads.data[sample->thread];
	bytes_put_u64(&hash->piece, sample->time_ns);
	bytes_put_u64(&hash->piece, sample->weight);
	bytes_put_u32(&hash->piece, thread->pid);
	bytes_put_u32(&hash->piece, thread->tid);
	bytes_put_u32(&hash->piece, sample->cpu);
	bytes_put_u32(&hash->piece, sample->event);
	if (hash->piece.len > PIECE_BYTES)
		push_part_flush(hash);
}

void push_part_key(const struct profile *profile, struct push_span span, const char *const *salt,
	uint8_t ret[PUSH_KEY_BYTES])
{
	struct hash hash = {.sums = {0x70757368, 0x6b6579}};
	for (; *salt; salt++)
		push_part_put_word(&hash, *salt);
	push_part_put_word(&hash, profile_meta(profile, LAYOUT_META_HOST));
	push_part_put_word(&hash, profile_meta(profile, LAYOUT_META_COMMAND));
	bytes_put_u64(&hash.piece, profile->first_clock.monotonic_ns);
	bytes_put_u64(&hash.piece, profile->first_clock.realtime_ns);
	for (uint32_t i = span.from; i < span.to; i++)
		push_part_put_sample(&hash, profile, &profile->samples.data[i]);
	push_part_flush(&hash);
	hash.piece.len = 0;
	bytes_put_u64(&hash.piece, hash.sums[0]);
	bytes_put_u64(&hash.piece, hash.sums[1]);
	memcpy(ret, hash.piece.data, PUSH_KEY_BYTES);
	bytes_buf_deinit(&hash.piece);
}
