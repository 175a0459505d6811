#include "record/label/label_table.h"

#include <stdlib.h>
#include <string.h>

#include "format/base/hex.h"
#include "record/label/label_source.h"

enum {
	MAX_HASHES = 64 * 1024,
	KIND_SHIFT = 62,
	KEY_SHIFT = 31, /* texts are few enough: each takes a byte */
};

void label_table_deinit(struct label_table *table)
{
	strtab_deinit(&table->texts);
	vec_deinit(&table->sets);
	map_deinit(&table->values);
	map_deinit(&table->nr_values);
	map_deinit(&table->labels);
	map_deinit(&table->by_label);
	map_deinit(&table->by_hash);
}

/* ---- adding ---- */

/* False: there is no room for another one. */
static bool label_table_text(
	struct label_table *table, const void *bytes, size_t len, uint32_t *ret)
{
	enum {
		ENTRY_BYTES = 64, /* with what finds it */
	};
	if (strtab_find(&table->texts, bytes, len, ret))
		return true;
	if (table->text_bytes + len + ENTRY_BYTES > LABEL_TABLE_MAX_TEXT_BYTES)
		return false;
	table->text_bytes += len + ENTRY_BYTES;
	*ret = strtab_intern(&table->texts, bytes, len);
	return true;
}

/* False: the key has too many values already. */
static bool may_have_value(struct label_table *table, uint32_t key, uint32_t value)
{
	uint64_t both = (uint64_t)key << 32 | value;
	if (map_get(&table->values, both))
		return true;
	uint64_t *count = map_put(&table->nr_values, key, NULL);
	if (*count == LABEL_TABLE_MAX_VALUES)
		return false;
	++*count;
	map_put(&table->values, both, NULL);
	return true;
}

static uint32_t number_of_label(
	struct label_table *table, uint32_t key, enum layout_label_kind kind, uint32_t value)
{
	bool added;
	uint64_t all = (uint64_t)kind << KIND_SHIFT | (uint64_t)key << KEY_SHIFT | value;
	uint64_t *number = map_put(&table->labels, all, &added);
	if (added)
		*number = table->labels.len;
	return (uint32_t)*number;
}

/* The set with a label whose texts are there; without it, if there is no room. */
static uint32_t put_set(struct label_table *table, const struct label_set *set)
{
	uint32_t label = number_of_label(table, set->key, set->kind, set->value);
	uint64_t edge = (uint64_t)set->rest << 32 | label;
	const uint64_t *known = map_get(&table->by_label, edge);
	if (known || table->sets.len > LABEL_TABLE_MAX_SETS)
		return known ? (uint32_t)*known : set->rest;
	*map_put(&table->by_label, edge, NULL) = table->sets.len;
	vec_push(&table->sets, *set);
	return (uint32_t)table->sets.len - 1;
}

uint32_t label_table_add(struct label_table *table, uint32_t rest, const char *key, size_t key_len,
	enum layout_label_kind kind, const void *bytes, size_t len)
{
	struct label_set set = {.rest = rest, .kind = kind};
	if (!table->sets.len)
		vec_push(&table->sets, (struct label_set){0});
	if (!label_table_text(table, key, key_len, &set.key) ||
		!label_table_text(table, bytes, len, &set.value) ||
		!may_have_value(table, set.key, set.value))
		return rest;
	return put_set(table, &set);
}

uint32_t label_table_join(struct label_table *table, uint32_t rest, uint32_t other, bool *is_short)
{
	uint32_t labels[LAYOUT_MAX_LABELS], count = 0;
	for (; other && count < LAYOUT_MAX_LABELS; other = table->sets.data[other].rest)
		labels[count++] = other;
	while (count) {
		const struct label_set *it = &table->sets.data[labels[--count]];
		struct label_set set = {
			.rest = rest, .key = it->key, .value = it->value, .kind = it->kind};
		uint32_t with = put_set(table, &set);
		*is_short |= with == rest;
		rest = with;
	}
	return rest;
}

/* ---- what the BPF side sends ---- */

struct received_label {
	const struct event_label *head;
	const char *key; /* none: it is the source's */
	const void *value;
};

struct received {
	struct received_label labels[LAYOUT_MAX_LABELS];
	size_t count;
};

static size_t padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

static void unpack(const struct event_labels *event, size_t len, struct received *ret)
{
	const uint8_t *at = (const uint8_t *)(event + 1), *end = (const uint8_t *)event + len;
	ret->count = 0;
	if (event->bytes < (size_t)(end - at))
		end = at + event->bytes;
	while ((size_t)(end - at) >= sizeof(struct event_label) && ret->count < LAYOUT_MAX_LABELS) {
		const struct event_label *head = (const void *)at;
		size_t key_bytes = padded(head->key_bytes),
		       bytes = sizeof(*head) + key_bytes + padded(head->value_bytes);
		if (bytes > (size_t)(end - at))
			return;
		const char *key = (const char *)(head + 1);
		ret->labels[ret->count++] = (struct received_label){head, key, key + key_bytes};
		at += bytes;
	}
}

/* By key, those of fixed keys last: of these most sets have others. */
static int compare_received(const void *a, const void *b)
{
	const struct received_label *x = a, *y = b;
	size_t x_len = x->head->key_bytes, y_len = y->head->key_bytes;
	if (!x_len || !y_len)
		return x_len || y_len ? (x_len ? -1 : 1) : x->head->source - y->head->source;
	int order = memcmp(x->key, y->key, x_len < y_len ? x_len : y_len);
	if (order || x_len != y_len)
		return order ? order : (int)x_len - (int)y_len;
	return x->head < y->head ? -1 : 1; /* the last of a key counts */
}

static bool is_key_received(const struct received *received, const char *key)
{
	size_t len = strlen(key);
	for (size_t i = 0; i < received->count; i++)
		if (received->labels[i].head->key_bytes == len &&
			memcmp(received->labels[i].key, key, len) == 0)
			return true;
	return false;
}

/* False: the address is in no file that the process has mapped. */
static bool find_label_place(const struct label_table *table, const struct event_labels *event,
	uint64_t address, struct label_place *ret)
{
	struct process *process = process_table_get(table->processes, event->pid, event->time_ns);
	const struct mapping *mapping =
		process_find_mapping(table->processes, process, address, event->time_ns, false);
	if (!mapping || mapping->object->info.kind != LAYOUT_OBJECT_FILE)
		return false;
	*ret = (struct label_place){
		mapping->object->serial, address - mapping->start + mapping->offset};
	return true;
}

/* A number of a source that has texts for them. */
static uint32_t add_text_of_number(struct label_table *table, uint32_t rest,
	const struct label_source *source, uint64_t number)
{
	CLEANUP(str_deinit) struct str text = {0};
	source->put_text(number, &text);
	return label_table_add(table, rest, source->key, strlen(source->key), LAYOUT_LABEL_TEXT,
		str_text(&text), text.len);
}

static uint32_t add_digits(
	struct label_table *table, uint32_t rest, const char *key, const void *bytes, size_t len)
{
	CLEANUP(str_deinit) struct str text = {0};
	hex_put(&text, bytes, len);
	return label_table_add(
		table, rest, key, strlen(key), LAYOUT_LABEL_TEXT, str_text(&text), text.len);
}

/* The process has a number for it; NULL: it has no key of that number. */
static const char *key_of_attribute(struct label_table *table, const struct event_labels *event,
	const struct received_label *label)
{
	struct process *process = process_table_find(table->processes, event->pid);
	const char *key = process && table->contexts && label->head->key_bytes
				  ? process_contexts_key(table->contexts, process,
					    (uint8_t)label->key[0], event->time_ns)
				  : NULL;
	return key && *key ? key : NULL;
}

static uint32_t add_thread_attribute(struct label_table *table, const struct event_labels *event,
	uint32_t rest, const struct received_label *label)
{
	const char *key = key_of_attribute(table, event, label);
	return label_table_add(table, rest, key, strlen(key), LAYOUT_LABEL_TEXT, label->value,
		label->head->value_bytes);
}

static uint32_t add_received(struct label_table *table, const struct event_labels *event,
	uint32_t rest, const struct received_label *label, const struct label_source *source)
{
	const char *fixed_key = label->head->key_bytes || !source ? NULL : source->key;
	const char *key = fixed_key ? fixed_key : label->key;
	size_t key_len = fixed_key ? strlen(fixed_key) : label->head->key_bytes;
	size_t len = label->head->value_bytes;
	struct label_place place;
	uint64_t number;
	if (label->head->source == EVENT_LABEL_THREAD)
		return add_thread_attribute(table, event, rest, label);
	if (label->head->kind == EVENT_LABEL_BYTES && fixed_key)
		return add_digits(table, rest, fixed_key, label->value, len);
	if (label->head->kind == EVENT_LABEL_TEXT)
		return label_table_add(
			table, rest, key, key_len, LAYOUT_LABEL_TEXT, label->value, len);
	if (len != sizeof(number))
		return rest;
	memcpy(&number, label->value, sizeof(number));
	if (label->head->kind == EVENT_LABEL_NUMBER && fixed_key && source->put_text)
		return add_text_of_number(table, rest, source, number);
	if (label->head->kind == EVENT_LABEL_NUMBER)
		return label_table_add(
			table, rest, key, key_len, LAYOUT_LABEL_NUMBER, &number, sizeof(number));
	if (label->head->kind != EVENT_LABEL_PLACE ||
		!find_label_place(table, event, number, &place))
		return rest;
	return label_table_add(
		table, rest, key, key_len, LAYOUT_LABEL_PLACE, &place, sizeof(place));
}

void label_table_take(struct label_table *table, const struct event_labels *event, size_t len)
{
	static const uint64_t short_bit = 1ULL << 32;
	struct received received;
	uint64_t set = 0, is_short = 0;
	unpack(event, len, &received);
	if (received.count)
		qsort(received.labels, received.count, sizeof(*received.labels), compare_received);
	for (size_t i = 0; i < received.count; i++) {
		const struct received_label *label = &received.labels[i];
		const struct label_source *source = label_source_of(label->head->source);
		const char *fixed_key = label->head->key_bytes || !source ? NULL : source->key;
		if (!label->head->key_bytes &&
			(!fixed_key || is_key_received(&received, fixed_key)))
			continue; /* the program has such a label itself */
		if (label->head->source == EVENT_LABEL_THREAD &&
			!key_of_attribute(table, event, label))
			continue; /* to be ignored, says OTEP 4947 */
		uint32_t with = add_received(table, event, (uint32_t)set, label, source);
		is_short |= with == set ? short_bit : 0;
		set = with;
	}
	*map_put(&table->by_hash, event->hash, NULL) = set | is_short;
}

uint32_t label_table_find(const struct label_table *table, uint64_t hash, bool *is_short)
{
	const uint64_t *found = map_get(&table->by_hash, hash);
	*is_short = !found || *found >> 32;
	return found ? (uint32_t)*found : 0;
}

/* ---- forgetting ---- */

void label_table_begin_file(struct label_table *table)
{
	bool is_large = table->sets.len > LABEL_TABLE_MAX_SETS / LABEL_TABLE_KEPT_PART ||
			table->text_bytes > LABEL_TABLE_MAX_TEXT_BYTES / LABEL_TABLE_KEPT_PART;
	size_t cursor = 0;
	for (struct map_slot *slot; (slot = map_next(&table->nr_values, &cursor));)
		is_large |= slot->value > LABEL_TABLE_MAX_VALUES / LABEL_TABLE_KEPT_PART;
	if (!is_large)
		return;
	struct label_table next = {.processes = table->processes,
		.contexts = table->contexts,
		.epoch = table->epoch + 1,
		.is_forgotten = true};
	label_table_deinit(table);
	*table = next;
}

bool label_table_wants_all(const struct label_table *table)
{
	return table->is_forgotten || table->by_hash.len > MAX_HASHES;
}

void label_table_forget_hashes(struct label_table *table)
{
	map_deinit(&table->by_hash);
	table->is_forgotten = false;
}

void label_table_mark_objects(const struct label_table *table, const struct object_table *objects)
{
	vec_each(&table->sets, set) {
		struct label_place place;
		if (set->kind != LAYOUT_LABEL_PLACE)
			continue;
		memcpy(&place, strtab_get(&table->texts, set->value), sizeof(place));
		struct object *object = object_table_get(objects, (uint32_t)place.serial);
		if (object)
			object->is_used = true;
	}
}
