/* Foreign files as recordings, and these as text, for tests of imports. */
#ifndef EBPROF_IMPORT_FIXTURE_H
#define EBPROF_IMPORT_FIXTURE_H

#include <stdio.h>

#include "format/file/reader.h"
#include "format/import/import.h"
#include "tests/unit/forged.h"
#include "tests/unit/unit.h"

struct import_seen {
	VEC(char *) strings;
	VEC(struct layout_object) objects;
	VEC(struct layout_process) processes;
	VEC(struct layout_thread) threads;
	VEC(struct layout_frame) frames;
	VEC(struct layout_node) nodes;
	VEC(struct layout_sample) samples;
	VEC(struct layout_event) events;
	VEC(struct layout_snapshot) snapshots;
	VEC(struct layout_symbol) symbols;
	struct chain_map chains[16];
	uint64_t lost;
	struct reader_result file;
	struct import_result result;
};

FORGED_MAYBE_UNUSED static ERR_MUST_CHECK struct err *import_seen_write(
	void *context, const void *bytes, size_t len)
{
	bytes_put(context, bytes, len);
	return NULL;
}

/* Ids begin at 1: index 0 of each table is empty. */
#define IMPORT_SEEN(name, member, type) \
	FORGED_MAYBE_UNUSED static void import_seen_on_##name( \
		void *context, uint32_t id, const struct type *it) \
	{ \
		struct import_seen *seen = context; \
		vec_resize(&seen->member, (size_t)id + 1); \
		seen->member.data[id] = *it; \
	}
IMPORT_SEEN(object, objects, layout_object)
IMPORT_SEEN(process, processes, layout_process)
IMPORT_SEEN(thread, threads, layout_thread)
IMPORT_SEEN(frame, frames, layout_frame)
IMPORT_SEEN(node, nodes, layout_node)
IMPORT_SEEN(event, events, layout_event)
IMPORT_SEEN(snapshot, snapshots, layout_snapshot)
#undef IMPORT_SEEN

FORGED_MAYBE_UNUSED static void import_seen_on_string(
	void *context, uint32_t id, const char *bytes, size_t len)
{
	struct import_seen *seen = context;
	vec_resize(&seen->strings, (size_t)id + 1);
	seen->strings.data[id] = mem_strndup(bytes, len);
}

FORGED_MAYBE_UNUSED static void import_seen_on_sample(
	void *context, const struct layout_sample *sample)
{
	struct import_seen *seen = context;
	vec_push(&seen->samples, *sample);
}

FORGED_MAYBE_UNUSED static void import_seen_on_symbol(
	void *context, const struct layout_symbol *symbol)
{
	struct import_seen *seen = context;
	vec_push(&seen->symbols, *symbol);
}

FORGED_MAYBE_UNUSED static struct chain_map *import_seen_on_chains(void *context, uint32_t object)
{
	return &((struct import_seen *)context)->chains[object % 16];
}

FORGED_MAYBE_UNUSED static void import_seen_on_tally(
	void *context, const struct layout_event_tally *tally)
{
	if (tally->counter == LAYOUT_EVENTS_LOST_RING)
		((struct import_seen *)context)->lost += tally->count;
}

/* What an import of these bytes makes. */
FORGED_MAYBE_UNUSED static ERR_MUST_CHECK struct err *import_see_as(enum import_as as,
	const void *bytes, size_t len, const struct import_host *host, struct import_seen *seen)
{
	static const struct reader_visitor visitor = {
		.string = import_seen_on_string,
		.event = import_seen_on_event,
		.object = import_seen_on_object,
		.process = import_seen_on_process,
		.thread = import_seen_on_thread,
		.frame = import_seen_on_frame,
		.node = import_seen_on_node,
		.snapshot = import_seen_on_snapshot,
		.sample = import_seen_on_sample,
		.symbol = import_seen_on_symbol,
		.chains = import_seen_on_chains,
		.event_tally = import_seen_on_tally,
	};
	struct bytes_buf made = {0};
	int fd = forged_fd(bytes, len);
	struct err *err = import_write(
		fd, as, host, (struct writer_sink){import_seen_write, &made}, &seen->result);
	close(fd);
	if (err)
		return err;
	fd = forged_fd(made.data, made.len);
	CHECK_OK(reader_read(fd, &visitor, seen, &seen->file));
	close(fd);
	bytes_buf_deinit(&made);
	return NULL;
}

/* `host` may be NULL. */
FORGED_MAYBE_UNUSED static ERR_MUST_CHECK struct err *import_see(
	const void *bytes, size_t len, const struct import_host *host, struct import_seen *seen)
{
	return import_see_as(IMPORT_AS_IT_BEGINS, bytes, len, host, seen);
}

FORGED_MAYBE_UNUSED static void import_seen_deinit(struct import_seen *seen)
{
	vec_each(&seen->strings, text)
		mem_free(*text);
	for (size_t i = 0; i < sizeof(seen->chains) / sizeof(*seen->chains); i++)
		chain_map_deinit(&seen->chains[i]);
	vec_deinit(&seen->strings);
	vec_deinit(&seen->objects);
	vec_deinit(&seen->processes);
	vec_deinit(&seen->threads);
	vec_deinit(&seen->frames);
	vec_deinit(&seen->nodes);
	vec_deinit(&seen->samples);
	vec_deinit(&seen->events);
	vec_deinit(&seen->snapshots);
	vec_deinit(&seen->symbols);
	import_result_deinit(&seen->result);
}

/* "path+0xoffset path+0x..." of a stack, the innermost first. */
FORGED_MAYBE_UNUSED static const char *import_seen_stack(
	const struct import_seen *seen, uint32_t node)
{
	static char text[1024];
	size_t len = 0;
	text[0] = '\0';
	for (; node; node = seen->nodes.data[node].parent) {
		const struct layout_frame *frame = &seen->frames.data[seen->nodes.data[node].frame];
		const char *path = "cut";
		if (frame->object)
			path = seen->strings.data[seen->objects.data[frame->object].path];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s+%#llx",
			len ? " " : "", path, (unsigned long long)frame->offset);
	}
	return text;
}

/* The innermost function of each place of a stack, "inner;outer", the innermost first. */
FORGED_MAYBE_UNUSED static const char *import_seen_names(
	const struct import_seen *seen, uint32_t node)
{
	static char text[1024];
	size_t len = 0;
	text[0] = '\0';
	for (; node; node = seen->nodes.data[node].parent) {
		const struct layout_frame *frame = &seen->frames.data[seen->nodes.data[node].frame];
		struct chain chain = {0};
		chain_map_find(&seen->chains[frame->object % 16], frame->offset, &chain);
		for (uint32_t i = 0; i < chain.count; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s",
				len ? ";" : "", chain.frames[i].function,
				chain.frames[i].is_inlined ? "*" : "");
	}
	return text;
}

#endif
