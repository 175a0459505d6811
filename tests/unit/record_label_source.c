/* What gives samples labels: how they are chosen, and which texts stand for their numbers. */
#include "record/label/label_source.h"

#include <string.h>

#include "tests/unit/unit.h"

TEST(sources_are_chosen_by_name)
{
	uint32_t sources = 99;
	CHECK_OK(label_sources_parse("go,go-creator", &sources));
	CHECK_INT(sources, 1 << EVENT_LABEL_GO | 1 << EVENT_LABEL_GO_CREATOR);
	CHECK_OK(label_sources_parse("none", &sources));
	CHECK_INT(sources, 0);
	CHECK_OK(label_sources_parse(
		"go,goroutine,erlang-pid,erlang-process,container,trace,span,thread,resource",
		&sources));
	CHECK_INT(sources, label_sources_standard());
	CHECK_ERR(label_sources_parse("go,gopher", &sources), ERR_USAGE,
		"\"gopher\" is none of none, go, goroutine, go-creator, erlang-pid, "
		"erlang-process, container, service, trace, span, thread, resource");
	CHECK_ERR(label_sources_parse("", &sources), ERR_USAGE, "none of");
	CHECK_ERR(label_sources_parse("go,", &sources), ERR_USAGE, "none of");
}

TEST(every_source_has_a_row)
{
	for (uint32_t i = 0; i < EVENT_LABEL_SOURCES; i++) {
		const struct label_source *source = label_source_of(i);
		CHECK(source && source->name && source->help);
		CHECK(!source->put_text || source->key); /* a number has no key of its own */
	}
	CHECK(!label_source_of(EVENT_LABEL_SOURCES));
}

static const char *text_of(enum event_label_source number, uint64_t value, struct str *text)
{
	str_deinit(text);
	*text = (struct str){0};
	label_source_of(number)->put_text(value, text);
	return str_text(text);
}

TEST(numbers_of_erlang_are_texts)
{
	CLEANUP(str_deinit) struct str text = {0};
	CHECK_STR(text_of(EVENT_LABEL_ERLANG_PID, 12ULL << 32 | 345, &text), "<0.345.12>");
	CHECK_STR(text_of(EVENT_LABEL_ERLANG_PROCESS, EVENT_LABEL_SCHEDULER, &text), "(scheduler)");
	CHECK_STR(text_of(EVENT_LABEL_ERLANG_PROCESS, EVENT_LABEL_SCHEDULER_OF_IO, &text),
		"(dirty I/O scheduler)");
	CHECK_STR(text_of(EVENT_LABEL_ERLANG_PROCESS, EVENT_LABEL_SCHEDULERS, &text), "(unknown)");
}
