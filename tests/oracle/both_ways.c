/*
 * A recording of `record --call-graph both` has every sample twice: unwound by the BPF program, and
 * from a snapshot by the report. Are they the same?
 *   both_ways RECORDING
 * Prints how many stacks and frames were compared, and how many differ.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "report/load/load.h"
#include "report/model/profile.h"
#include "report/name/symbol/symbol_file.h"

struct tally {
	uint64_t stacks, cut, different_stacks, frames, different_frames;
};

static uint32_t user_frames(const struct profile *profile, uint32_t stack, uint32_t *frames)
{
	uint32_t count = 0, frame;
	struct profile_walk walk = profile_walk(profile, stack);
	while ((frame = profile_walk_next(&walk)))
		if (count < LAYOUT_MAX_DEPTH && profile->frames.data[frame].object &&
			!profile_is_kernel(profile, profile->frames.data[frame].object))
			frames[count++] = frame;
	return count;
}

static bool is_same_place(const struct profile *profile, uint32_t a, uint32_t b)
{
	const struct profile_frame *x = &profile->frames.data[a], *y = &profile->frames.data[b];
	return x->object == y->object && x->offset == y->offset;
}

static void print_frame(const struct profile *profile, char side, uint32_t index, uint32_t frame)
{
	const struct profile_frame *it = &profile->frames.data[frame];
	printf("  %c%u %s+0x%llx\n", side, index, profile->objects.data[it->object].path,
		(unsigned long long)it->offset);
}

static uint32_t sure_frames(const struct profile *profile, const uint32_t *frames, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (profile->frames.data[frames[i]].flags & LAYOUT_FRAME_GUESSED)
			return i;
	return len;
}

static void compare(struct tally *tally, const struct profile *profile,
	const struct profile_sample *ours, const struct profile_sample *theirs)
{
	static uint32_t a[LAYOUT_MAX_DEPTH], b[LAYOUT_MAX_DEPTH];
	uint32_t len = user_frames(profile, ours->stack, a);
	uint32_t other = user_frames(profile, theirs->stack, b);
	/* Snapshots end after 128 KiB, a file may be gone, and where there is no rule (.fini) the
	 * report guesses, and says so: up to there they must agree. */
	uint32_t sure = sure_frames(profile, b, other);
	bool is_cut =
		profile_stack_truncation(profile, theirs->stack) != LAYOUT_COMPLETE || sure < other;
	other = sure;
	tally->stacks++;
	tally->cut += is_cut;
	uint32_t common = is_cut || other < len ? other : len;
	bool is_different = !is_cut && len != other;
	tally->frames += common;
	for (uint32_t i = 0; i < common; i++) {
		if (i < len && is_same_place(profile, a[i], b[i]))
			continue;
		is_different = true;
		tally->different_frames += common - i;
		if (tally->different_stacks < 5) {
			printf("at %.6f s, frame %u of %u and %u:\n", (double)ours->time_ns / 1e9,
				i, len, other);
			for (uint32_t j = i ? i - 1 : 0; j < i + 2; j++) {
				if (j < len)
					print_frame(profile, '<', j, a[j]);
				if (j < other)
					print_frame(profile, '>', j, b[j]);
			}
		}
		break;
	}
	tally->different_stacks += is_different;
}

static uint32_t event_named(const struct profile *profile, const char *name)
{
	for (uint32_t i = 0; i < profile->events.len; i++)
		if (profile->events.data[i].name && strcmp(profile->events.data[i].name, name) == 0)
			return i;
	return 0;
}

static void compare_all(struct tally *tally, const struct profile *profile)
{
	uint32_t snapshot = event_named(profile, LAYOUT_EVENT_SECOND);
	const struct profile_sample *samples = profile->samples.data;
	for (size_t i = 0; i + 1 < profile->samples.len; i++)
		for (size_t j = i + 1;
			j < profile->samples.len && samples[j].time_ns == samples[i].time_ns; j++) {
			if (samples[i].thread != samples[j].thread ||
				samples[i].event == samples[j].event)
				continue;
			bool is_second = samples[j].event == snapshot;
			compare(tally, profile, &samples[is_second ? i : j],
				&samples[is_second ? j : i]);
		}
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	int fd = open(argv[1], O_RDONLY);
	struct profile *profile;
	const struct profile_options options = {.with_second_samples = true};
	struct err *err = profile_load(fd, &options, &profile);
	if (err) {
		printf("%s\n", err_message(err));
		err_destroy(err);
		return 1;
	}
	struct tally tally = {0};
	compare_all(&tally, profile);
	printf("stacks %llu, of which %llu are cut on the report's side, different %llu; "
	       "frames %llu, different %llu\n",
		(unsigned long long)tally.stacks, (unsigned long long)tally.cut,
		(unsigned long long)tally.different_stacks, (unsigned long long)tally.frames,
		(unsigned long long)tally.different_frames);
	profile_destroy(profile);
	close(fd);
	return 0;
}
