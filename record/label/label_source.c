#include "record/label/label_source.h"

#include <string.h>

static const struct label_source sources[EVENT_LABEL_SOURCES] = {
	[EVENT_LABEL_GO] =
		{
			.name = "go",
			.is_standard = true,
			.help = "what Go programs set by runtime/pprof: Do(), SetGoroutineLabels()",
		},
	[EVENT_LABEL_GOROUTINE] =
		{
			.name = "goroutine",
			.key = "goroutine",
			.is_standard = true,
			.help = "number of the goroutine",
		},
	[EVENT_LABEL_GO_CREATOR] =
		{
			.name = "go-creator",
			.key = "go-creator",
			.help = "function that began the goroutine",
		},
};

const struct label_source *label_source_of(uint32_t number)
{
	return number < EVENT_LABEL_SOURCES ? &sources[number] : NULL;
}

uint32_t label_sources_standard(void)
{
	uint32_t standard = 0;
	for (uint32_t i = 0; i < EVENT_LABEL_SOURCES; i++)
		standard |= sources[i].is_standard ? 1U << i : 0;
	return standard;
}

static struct err *find_label_source(const char *text, size_t len, uint32_t *ret)
{
	CLEANUP(str_deinit) struct str known = {0};
	for (uint32_t i = 0; i < EVENT_LABEL_SOURCES; i++) {
		if (strlen(sources[i].name) == len && memcmp(sources[i].name, text, len) == 0) {
			*ret |= 1U << i;
			return NULL;
		}
		str_printf(&known, ", %s", sources[i].name);
	}
	return err_new(ERR_USAGE, "\"%.*s\" is none of none%s", (int)len, text, str_text(&known));
}

struct err *label_sources_parse(const char *text, uint32_t *ret)
{
	uint32_t sources_named = 0;
	if (strcmp(text, "none") != 0)
		for (;; text++) {
			size_t len = strcspn(text, ",");
			try(find_label_source(text, len, &sources_named));
			text += len;
			if (!*text)
				break;
		}
	*ret = sources_named;
	return NULL;
}
