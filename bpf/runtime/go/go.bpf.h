/*
 * Go: the goroutine that a thread runs, and its labels. A thread has its g in its thread-local
 * storage: that of the goroutine, of the scheduler, or of signals. All lead to the thread's m, and
 * that to the goroutine that it runs (m.curg), whichever stack is in use: as Go's own profiler
 * takes the labels (runtime/proc.go, sigprof()).
 *
 * A set of labels never changes, and while the thread is interrupted nothing else sets those of its
 * goroutine. Sets that are no longer used are freed, so that others come to lie at their place.
 *
 * Sources: runtime/runtime2.go (g, m), runtime/pprof/label.go, runtime/map.go (hmap, bmap) of Go
 * 1.15, 1.19, 1.23, 1.24 and 1.27.
 */
#ifndef EBPROF_GO_BPF_H
#define EBPROF_GO_BPF_H

#include "bpf/label/label_record.bpf.h"
#include "bpf/runtime/go/go_row.h"
#include "bpf/runtime/runtime_walk.bpf.h"
#include "bpf/runtime/thread.bpf.h"

#include <bpf/bpf_helpers.h>

enum {
	GO_MAX_LABELS = 32,
	GO_BUCKET_PAIRS = 8,
	GO_MIN_TOP_HASH = 5, /* what is less says that there is no pair, here or any more */
	GO_MAX_BUCKETS = 16,
	GO_SAME_SIZE_GROW = 8,    /* flag of an hmap */
	GO_MAX_BUCKET_SHIFT = 20, /* nobody has so many labels */
};

struct go_text {
	__u64 bytes, len;
};

struct go_pair {
	struct go_text key, value;
};

struct go_slice {
	__u64 data, len, cap;
};

struct go_bucket { /* bmap of map[string]string */
	__u8 top_hash[GO_BUCKET_PAIRS];
	struct go_text keys[GO_BUCKET_PAIRS], values[GO_BUCKET_PAIRS];
	__u64 overflow;
};

struct go_map { /* hmap, up to 1.23 */
	__u64 count;
	__u8 flags, bucket_shift;
	__u16 nr_overflow;
	__u32 seed;
	__u64 buckets, old_buckets;
};

/* How far the labels of a goroutine are read: in memory, and a step at a time, since the verifier
 * would follow each way through a loop that has it in registers. */
struct go_walk {
	__u64 next, left;    /* of a slice its pairs, of a map its buckets */
	__u64 old, old_left; /* buckets */
	__u64 overflow;      /* of the bucket that was read last; 0: none */
	struct go_bucket bucket;
};

_Static_assert(sizeof(struct go_walk) <= LABEL_ROOM_WORDS * sizeof(__u64), "it has room");

static __always_inline void put_go_text(const struct go_text *key, const struct go_text *value)
{
	label_put_text(EVENT_LABEL_GO, key->bytes, key->len, value->bytes, value->len);
}

/* The next pair of a slice. 0: that was the last. Global functions: the verifier looks once. */
__noinline int put_go_pair(void);
__noinline int put_go_pair(void)
{
	struct label_record *record = get_label_record();
	struct go_pair pair;
	if (!record)
		return 0;
	struct go_walk *walk = (void *)record->room;
	if (bpf_probe_read_user(&pair, sizeof(pair), (const void *)walk->next))
		record->flags |= EVENT_LABELS_UNREAD;
	else
		put_go_text(&pair.key, &pair.value);
	walk->next += sizeof(pair);
	return --walk->left != 0;
}

static __always_inline void put_go_slice(struct label_record *record, __u64 address)
{
	struct go_slice slice;
	struct go_walk *walk = (void *)record->room;
	if (bpf_probe_read_user(&slice, sizeof(slice), (const void *)address) ||
		slice.len > slice.cap) {
		record->flags |= EVENT_LABELS_UNREAD;
		return;
	}
	if (!slice.len)
		return;
	if (slice.len > GO_MAX_LABELS)
		record->flags |= EVENT_LABELS_CUT;
	walk->next = slice.data;
	walk->left = slice.len;
	for (int i = 0; i < GO_MAX_LABELS; i++)
		if (!put_go_pair())
			break;
}

/*
 * The pairs of the next bucket: of what overflowed from the one before, else of the map, else of
 * those that it had before it grew. 0: that was the last.
 */
__noinline int put_go_bucket(void);
__noinline int put_go_bucket(void)
{
	struct label_record *record = get_label_record();
	if (!record)
		return 0;
	struct go_walk *walk = (void *)record->room;
	struct go_bucket *bucket = &walk->bucket;
	__u64 address = walk->overflow;
	if (!address && walk->left) {
		address = walk->next;
		walk->next += sizeof(*bucket);
		walk->left--;
	} else if (!address) {
		address = walk->old;
		walk->old += sizeof(*bucket);
		walk->old_left--;
	}
	walk->overflow = 0;
	if (bpf_probe_read_user(bucket, sizeof(*bucket), (const void *)address)) {
		record->flags |= EVENT_LABELS_UNREAD;
	} else {
		walk->overflow = bucket->overflow;
		for (int i = 0; i < GO_BUCKET_PAIRS; i++)
			if (bucket->top_hash[i] >= GO_MIN_TOP_HASH)
				put_go_text(&bucket->keys[i], &bucket->values[i]);
	}
	return walk->overflow || walk->left || walk->old_left;
}

/* While a map grows, the pairs that were not moved yet are in its old buckets, and there alone. */
static __always_inline void put_go_map(struct label_record *record, __u64 address)
{
	struct go_map map;
	struct go_walk *walk = (void *)record->room;
	__u64 at;
	if (!read_word(address, &at) ||
		(at && (bpf_probe_read_user(&map, sizeof(map), (const void *)at) ||
			       map.bucket_shift > GO_MAX_BUCKET_SHIFT))) {
		record->flags |= EVENT_LABELS_UNREAD;
		return;
	}
	if (!at || !map.count)
		return;
	walk->next = map.buckets;
	walk->left = 1ULL << (map.bucket_shift & 31);
	walk->old = map.old_buckets;
	walk->old_left = 0;
	if (map.old_buckets)
		walk->old_left = walk->left >> !(map.flags & GO_SAME_SIZE_GROW);
	walk->overflow = 0;
	for (int i = 0; i < GO_MAX_BUCKETS; i++)
		if (!put_go_bucket())
			return;
	record->flags |= EVENT_LABELS_CUT;
}

/* What the thread keeps of its goroutine; walks leave that register as it was. */
static __always_inline bool find_g(const struct go_row *row, __u64 *ret)
{
#if defined(__TARGET_ARCH_arm64)
	enum {
		GOROUTINE = 28,
	};
	struct scratch *scratch = get_scratch();
	if (!row->tls) {
		*ret = scratch ? scratch->walk.regs.reg[GOROUTINE] : 0;
		return true;
	}
#endif
	return read_word(thread_pointer() + row->tls, ret);
}

/* The goroutine that the thread runs. 0: none, or it is just being switched. */
static __always_inline __u64 go_current(struct label_record *record, const struct go_row *row)
{
	__u64 g = 0, m = 0, current = 0, m_of_current = 0;
	if (!find_g(row, &g) || !g)
		return 0; /* a thread that Go does not know, or not yet */
	if (!read_word(g + row->m, &m))
		record->flags |= EVENT_LABELS_UNREAD;
	if (m && !read_word(m + row->curg, &current))
		record->flags |= EVENT_LABELS_UNREAD;
	if (current && !read_word(current + row->m, &m_of_current))
		record->flags |= EVENT_LABELS_UNREAD;
	return m_of_current == m ? current : 0;
}

static __always_inline void go_labels(
	struct label_record *record, const struct runtime_row *it, __u64 delta)
{
	if (!it || it->kind != RUNTIME_GO)
		return;
	const struct go_row *row = (const void *)it->words;
	__u64 current = row->is_known ? go_current(record, row) : 0, word;
	if (!row->is_known)
		record->flags |= EVENT_LABELS_UNKNOWN;
	if (!current)
		return;
	if (wants_label(EVENT_LABEL_GO) && row->layout != GO_LABELS_NONE) {
		if (!read_word(current + row->labels, &word))
			record->flags |= EVENT_LABELS_UNREAD;
		else if (word && row->layout == GO_LABELS_SLICE)
			put_go_slice(record, word);
		else if (word)
			put_go_map(record, word);
	}
	if (wants_label(EVENT_LABEL_GOROUTINE) && read_word(current + row->goid, &word))
		label_put_word(record, EVENT_LABEL_GOROUTINE, EVENT_LABEL_NUMBER, word);
	if (wants_label(EVENT_LABEL_GO_CREATOR) && row->creator &&
		read_word(current + row->creator, &word) && word)
		label_put_word(record, EVENT_LABEL_GO_CREATOR, EVENT_LABEL_PLACE, word);
}

static const struct runtime_hooks go_hooks = {.labels = go_labels};

#endif
