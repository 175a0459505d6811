#include "report/write/export/otlp_links.h"

#include <string.h>

#include "format/base/hex.h"
#include "report/model/label_sets.h"
#include "report/write/export/protobuf.h"

enum {
	LINK_TRACE_ID = 1,
	LINK_SPAN_ID = 2,
	TRACE_ID_BYTES = 16,
	SPAN_ID_BYTES = 8,
	LINK_BYTES = TRACE_ID_BYTES + SPAN_ID_BYTES,
};

void otlp_links_init(struct otlp_links *links, const struct profile *profile)
{
	static const char none[LINK_BYTES];
	*links = (struct otlp_links){.profile = profile};
	strtab_intern(&links->ids, none, sizeof(none));
}

void otlp_links_deinit(struct otlp_links *links)
{
	strtab_deinit(&links->ids);
	map_deinit(&links->of_labels);
}

bool otlp_links_have(const char *key)
{
	return strcmp(key, PROFILE_LABEL_TRACE) == 0 || strcmp(key, PROFILE_LABEL_SPAN) == 0;
}

/* False: the set has no such label, or it is no ID of that length. */
static bool take_id(
	const struct profile *profile, uint32_t set, const char *key, char *ret, size_t len)
{
	uint32_t label = label_sets_find(profile, set, key);
	CLEANUP(str_deinit) struct str text = {0};
	if (label)
		label_put_value(profile, label, &text);
	if (text.len != 2 * len)
		return false;
	for (size_t i = 0; i < len; i++) {
		int high = hex_digit_value(text.data[2 * i]),
		    low = hex_digit_value(text.data[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		ret[i] = (char)(high << 4 | low);
	}
	return true;
}

uint32_t otlp_links_index(struct otlp_links *links, uint32_t labels)
{
	char ids[LINK_BYTES];
	bool is_new;
	if (!labels)
		return 0;
	uint64_t *known = map_put(&links->of_labels, labels, &is_new);
	if (!is_new)
		return (uint32_t)*known;
	if (take_id(links->profile, labels, PROFILE_LABEL_TRACE, ids, TRACE_ID_BYTES) &&
		take_id(links->profile, labels, PROFILE_LABEL_SPAN, ids + TRACE_ID_BYTES,
			SPAN_ID_BYTES))
		*known = strtab_intern(&links->ids, ids, sizeof(ids));
	return (uint32_t)*known;
}

void otlp_links_put(const struct otlp_links *links, uint32_t field, struct bytes_buf *out)
{
	struct bytes_buf link = {0};
	vec_each(&links->ids.entries, ids) {
		protobuf_put_bytes(&link, LINK_TRACE_ID, ids->bytes, TRACE_ID_BYTES);
		protobuf_put_bytes(&link, LINK_SPAN_ID, ids->bytes + TRACE_ID_BYTES, SPAN_ID_BYTES);
		protobuf_put_message(out, field, &link);
	}
	bytes_buf_deinit(&link);
}
