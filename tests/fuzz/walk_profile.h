/* Everything that the recording's fuzz targets do with a file, after making it. */
#ifndef EBPROF_WALK_PROFILE_H
#define EBPROF_WALK_PROFILE_H

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/base/err.h"
#include "report/load/load.h"
#include "report/model/profile.h"
#include "report/name/archive.h"
#include "report/name/listing/annotation.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/export/export.h"
#include "report/write/info.h"

#define WALK_ASSERT(condition) \
	do { \
		if (!(condition)) \
			abort(); \
	} while (0)

static inline void walk_stacks(const struct profile *profile)
{
	vec_each(&profile->samples, sample) {
		WALK_ASSERT(sample->stack < profile->stacks.len);
		WALK_ASSERT(sample->thread < profile->threads.len);
		WALK_ASSERT(sample->event < profile->events.len);
		WALK_ASSERT(sample->time_ns >= profile->first_ns);
		WALK_ASSERT(sample->time_ns <= profile->last_ns);
	}
	for (uint32_t stack = 0; stack < profile->stacks.len; stack++) {
		struct profile_walk walk = profile_walk(profile, stack);
		size_t depth = 0;
		for (uint32_t frame; (frame = profile_walk_next(&walk)); depth++)
			WALK_ASSERT(frame < profile->frames.len &&
				    profile->frames.data[frame].object < profile->objects.len);
		WALK_ASSERT(depth <= 2 * LAYOUT_MAX_DEPTH);
		WALK_ASSERT(profile_stack_truncation(profile, stack) < LAYOUT_TRUNCATED_END);
	}
}

static inline ERR_MUST_CHECK struct err *drop(void *context, const void *bytes, size_t len)
{
	(void)context, (void)bytes, (void)len;
	return NULL;
}

/* Whatever the stacks are, a line has at most what its function has. */
static inline void annotate_functions(const struct profile *profile)
{
	enum {
		MAX_FUNCTIONS = 8
	};
	struct annotation_names names = {
		.frames = profile->frames.data,
		.nr_frames = profile->frames.len,
		.functions = profile->functions.data,
	};
	struct slice slice;
	slice_init_all(&slice, profile);
	for (uint32_t i = 1; i < profile->functions.len && i <= MAX_FUNCTIONS; i++) {
		struct annotation *annotation = annotation_create(profile, &names, &slice, i, NULL);
		vec_each(&annotation->lines, line)
			WALK_ASSERT(line->weight.samples <= annotation->whole.samples &&
				    line->weight.self_samples <= line->weight.samples);
		WALK_ASSERT(annotation->whole.samples <= slice.whole.samples);
		annotation_destroy(annotation);
	}
	slice_deinit(&slice);
}

/* A format may have no room for what was recorded, and says so. */
static inline void export_all_formats(const struct profile *profile)
{
	size_t count;
	const struct exporter *exporters = export_all(&count);
#define X(label, bit, word) | label
	struct export_options options = {.labels = 0 EXPORT_LABELS(X)};
#undef X
	for (size_t i = 0; i < count; i++)
		err_destroy(
			exporters[i].write(profile, &options, (struct byte_sink){.write = drop}));
	struct export_baseline itself = {profile, "old", "new", NULL};
	options.baseline = &itself;
	for (size_t i = 0; i < count; i++)
		if (exporters[i].traits & EXPORT_COMPARES)
			err_destroy(exporters[i].write(
				profile, &options, (struct byte_sink){.write = drop}));
}

/* By what the recording itself has: no file of this machine is looked at. */
static inline void name_and_archive(struct profile *profile)
{
	struct symbolize_options options = {.files.symfs = "/nonexistent", .cache_folder = ""};
	struct archive_result result;
	symbolize(profile, &options);
	walk_stacks(profile);
	annotate_functions(profile);
	export_all_formats(profile);
	err_destroy(archive_write(profile, (struct writer_sink){.write = drop}, &result));
}

static inline int walk_recording(const void *bytes, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	WALK_ASSERT(
		fd >= 0 && write(fd, bytes, len) == (ssize_t)len && lseek(fd, 0, SEEK_SET) == 0);
	struct profile *profile;
	struct profile_options options = {.unwinds_here = true}; /* crashes are to be seen */
	struct err *err = profile_load(fd, &options, &profile);
	close(fd);
	if (err) {
		err_destroy(err);
		return 0;
	}
	walk_stacks(profile);
	struct str text = {0};
	info_put_text(profile, true, &text);
	for (size_t i = 0; i < text.len; i++)
		WALK_ASSERT((unsigned char)text.data[i] >= 0x20 || text.data[i] == '\n');
	text.len = 0;
	info_put_json(profile, &text);
	str_deinit(&text);
	name_and_archive(profile);
	profile_destroy(profile);
	return 0;
}

#endif
