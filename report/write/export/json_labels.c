#include "report/write/export/json_labels.h"

#include "format/base/mem.h"
#include "report/model/text/json.h"
#include "report/write/export/labels.h"

static void put_label_key(struct str *out, const char *key)
{
	str_puts(out, out->len > 1 ? "," : "");
	json_quote(out, key);
	str_putc(out, ':');
}

static void put_label_text(void *context, const char *key, const char *value)
{
	struct str *out = context;
	put_label_key(out, key);
	json_quote(out, value);
}

static void put_label_number(void *context, const char *key, uint64_t value)
{
	struct str *out = context;
	put_label_key(out, key);
	bool is_long = value >> 53; /* see json_exact() */
	str_printf(out, is_long ? "\"%llu\"" : "%llu", (unsigned long long)value);
}

static void put_label_number_as_text(void *context, const char *key, uint64_t value)
{
	struct str *out = context;
	put_label_key(out, key);
	str_printf(out, "\"%llu\"", (unsigned long long)value);
}

static struct label_visitor visitor_into(const struct json_labels *labels, struct str *text)
{
	return (struct label_visitor){put_label_text,
		labels->are_texts ? put_label_number_as_text : put_label_number, text};
}

void json_labels_init(
	struct json_labels *labels, const struct profile *profile, uint32_t wanted, bool are_texts)
{
	*labels = (struct json_labels){
		.profile = profile,
		.wanted = wanted,
		.are_texts = are_texts,
		.set_of_thread = mem_zalloc_array(profile->threads.len, sizeof(uint32_t)),
	};
	CLEANUP(str_deinit) struct str text = {0};
	struct label_visitor visitor = visitor_into(labels, &text);
	struct process_names names;
	process_names_init(&names, profile);
	CLEANUP_FREE bool *is_sampled = mem_zalloc_array(profile->threads.len, sizeof(bool));
	vec_each(&profile->samples, sample)
		is_sampled[sample->thread] = true;
	for (size_t i = 0; i < profile->threads.len; i++) {
		if (!is_sampled[i])
			continue;
		str_truncate(&text, 0);
		str_putc(&text, '{');
		labels_visit(&names, wanted, &profile->threads.data[i], &visitor);
		str_putc(&text, '}');
		labels->set_of_thread[i] = strtab_intern(&labels->sets, str_text(&text), text.len);
	}
	process_names_deinit(&names);
}

uint32_t json_labels_of(struct json_labels *labels, const struct profile_sample *sample)
{
	uint32_t set = labels->set_of_thread[sample->thread];
	if (!sample->labels || !(labels->wanted & EXPORT_LABEL_SAMPLE))
		return set;
	bool added;
	uint64_t *joined = map_put(&labels->joined, (uint64_t)set << 32 | sample->labels, &added);
	if (!added)
		return (uint32_t)*joined;
	CLEANUP(str_deinit) struct str text = {0};
	struct label_visitor visitor = visitor_into(labels, &text);
	str_puts(&text, strtab_get(&labels->sets, set));
	str_truncate(&text, text.len - 1); /* the bracket that closes it */
	labels_visit_set(labels->profile, labels->wanted, sample->labels, &visitor);
	str_putc(&text, '}');
	*joined = strtab_intern(&labels->sets, str_text(&text), text.len);
	return (uint32_t)*joined;
}

void json_labels_deinit(struct json_labels *labels)
{
	strtab_deinit(&labels->sets);
	mem_free(labels->set_of_thread);
	map_deinit(&labels->joined);
}
