#include "record/label/label_source.h"

#include <string.h>

static void put_erlang_pid(uint64_t number, struct str *ret)
{
	str_printf(ret, "<0.%u.%u>", (uint32_t)number, (uint32_t)(number >> 32));
}

/* In brackets, as no name of a process is. */
static void put_erlang_scheduler(uint64_t number, struct str *ret)
{
	static const char *const names[EVENT_LABEL_SCHEDULERS] = {
		[EVENT_LABEL_SCHEDULER] = "(scheduler)",
		[EVENT_LABEL_SCHEDULER_OF_CPU] = "(dirty CPU scheduler)",
		[EVENT_LABEL_SCHEDULER_OF_IO] = "(dirty I/O scheduler)",
	};
	str_puts(ret, number < EVENT_LABEL_SCHEDULERS ? names[number] : "(unknown)");
}

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
	[EVENT_LABEL_ERLANG_PID] =
		{
			.name = "erlang-pid",
			.key = "erlang-pid",
			.is_standard = true,
			.put_text = put_erlang_pid,
			.help = "identifier of the process of Erlang's that ran",
		},
	[EVENT_LABEL_ERLANG_PROCESS] =
		{
			.name = "erlang-process",
			.key = "erlang-process",
			.is_standard = true,
			.put_text = put_erlang_scheduler,
			.help = "its registered name, or the function that it began with",
		},
	[EVENT_LABEL_CONTAINER] =
		{
			.name = "container",
			.is_standard = true,
			.help = "names of containers and pods, by the files of their runtimes",
		},
	[EVENT_LABEL_SERVICE] =
		{
			.name = "service",
			.key = "service_name",
			.help = "what a process is part of: by its environment, container or unit",
		},
	[EVENT_LABEL_TRACE] =
		{
			.name = "trace",
			.key = "trace_id",
			.is_standard = true,
			.help = "the trace that the thread works at, as OpenTelemetry publishes it",
		},
	[EVENT_LABEL_SPAN] =
		{
			.name = "span",
			.key = "span_id",
			.is_standard = true,
			.help = "... the span of it",
		},
	[EVENT_LABEL_THREAD] =
		{
			.name = "thread",
			.is_standard = true,
			.help = "... and its attributes",
		},
	[EVENT_LABEL_RESOURCE] =
		{
			.name = "resource",
			.is_standard = true,
			.help = "what a process publishes of itself by OpenTelemetry's process "
				"context",
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

uint32_t label_sources_in_kernel(void)
{
	return ~(uint32_t)(1 << EVENT_LABEL_CONTAINER | 1 << EVENT_LABEL_SERVICE |
			   1 << EVENT_LABEL_RESOURCE);
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
