#include "report/write/cause_words.h"

#include <stddef.h>

const char *cause_of_truncation(enum layout_truncation cause)
{
	static const char *const sentences[LAYOUT_TRUNCATED_END] = {
		[LAYOUT_TRUNCATED_UNKNOWN] = "the recording does not say why",
		[LAYOUT_TRUNCATED_FRAME_POINTER] =
			"the chain of frame pointers ended before the root",
		[LAYOUT_TRUNCATED_UNREADABLE] = "a part of the stack was not in memory",
		[LAYOUT_TRUNCATED_DEPTH] = "the stack is deeper than the recorder goes",
		[LAYOUT_TRUNCATED_NO_REGISTERS] =
			"the kernel did not tell where the thread left user code",
		[LAYOUT_TRUNCATED_NO_TABLE] =
			"code without call frame information, or of a file that was not opened",
		[LAYOUT_TRUNCATED_NO_RULE] =
			"no rule of its covers the code, and reading that found no caller",
		[LAYOUT_TRUNCATED_UNSUPPORTED] = "a rule of a kind that ebprof does not follow",
		[LAYOUT_TRUNCATED_REGISTER] =
			"a rule needs a register whose value is not known there",
		[LAYOUT_TRUNCATED_JIT] =
			"code made at run time, without rules, and reading it found no caller",
		[LAYOUT_TRUNCATED_TABLE_PENDING] =
			"its rules came too late, and no copy of the stack was kept",
		[LAYOUT_TRUNCATED_NO_MAPPING] =
			"the return address lies outside of all executable memory",
		[LAYOUT_TRUNCATED_LEFT_OUT] = "rare frames are left out of a baseline",
	};
	return sentences[cause];
}

const char *cause_of_unnamed_script(uint32_t failure)
{
	static const char pending[] =
		"it was not known yet that the process is an interpreter: that is over in a "
		"moment, record for longer";
	static const char *const sentences[LAYOUT_SCRIPT_FAILURES_END] = {
		[LAYOUT_SCRIPT_NO_STATE] = "the interpreter's state of the thread was not found",
		[LAYOUT_SCRIPT_UNREADABLE] = "a frame was not in memory",
		[LAYOUT_SCRIPT_TORN] = "the interpreter was just changing the frame",
		[LAYOUT_SCRIPT_NO_NAME] = "the name was not in memory",
		[LAYOUT_SCRIPT_PENDING] = pending,
		[LAYOUT_SCRIPT_NO_NUMBER] =
			"there were too many functions, or no room to send a name",
		[LAYOUT_SCRIPT_DEEP] = "there were more frames than the recorder keeps",
		[LAYOUT_SCRIPT_GIVEN_UP] =
			"the process's memory could not be read in time: its CPU or disk is busy",
	};
	return failure < LAYOUT_SCRIPT_FAILURES_END ? sentences[failure] : NULL;
}

const char *cause_of_frame(const struct profile_frame *frame, const struct profile_object *objects)
{
	if (!frame->object)
		return frame->offset < LAYOUT_TRUNCATED_END
			       ? cause_of_truncation((enum layout_truncation)frame->offset)
			       : NULL;
	return profile_frame_is_script(frame, objects) && frame->offset < LAYOUT_SCRIPT_FAILURES_END
		       ? cause_of_unnamed_script((uint32_t)frame->offset)
		       : NULL;
}

const char *cause_of_counter(enum layout_counter counter)
{
	static const char ring[] = "lost: the ring buffer was full; a larger one (-m) or a lower "
				   "frequency (-F) helps";
	static const char unresolved[] = "lost: their stacks never arrived";
	static const char writing[] = "lost: the output could not be written, or was full";
	static const char sideband[] =
		"the kernel's records of mappings, execs and forks that were lost: names may be "
		"missing or wrong around them; -m makes more room";
	static const char mappings[] =
		"mappings that were left out, since a process has too many or keeps /proc "
		"waiting: frames there may lack names";
	static const char without_scripts[] =
		"waits that went on at the end and are without functions of scripts: the kernel "
		"refused what reads these, which later kernels take";
	static const char skipped[] =
		"times that the kernel skipped one of the recorder's programs, which was under way "
		"on the CPU: tasks may be missing, or waits, labels and calls of theirs";
	static const char unread[] =
		"steps through code without unwind rules that were guessed: much of such code was "
		"new at once, and there was no time to read it, or no room in the ring buffer for "
		"copies of stacks; a larger one (-m) or a lower frequency (-F) helps";
	static const char without_probes[] =
		"ms without the probes of allocations, which had taken more of the CPU time than "
		"--max-overhead: what was allocated then is missing, and what is shown in use was "
		"so when they were taken off";
	static const char without_library[] =
		"programs that the command started without the library that counts allocations, "
		"as static ones, or with another environment or LD_PRELOAD: what they allocated "
		"is missing";
	static const char *const sentences[LAYOUT_COUNTER_COUNT] = {
		[LAYOUT_COUNTER_LOST_RING] = ring,
		[LAYOUT_COUNTER_LOST_UNRESOLVED] = unresolved,
		[LAYOUT_COUNTER_LOST_WRITE] = writing,
		[LAYOUT_COUNTER_SIDEBAND_LOST] = sideband,
		[LAYOUT_COUNTER_TARGETS_FULL] =
			"processes or control groups that were not followed: there were too many",
		[LAYOUT_COUNTER_FILES_FULL] =
			"frames in files beyond those that get a number: they have no names",
		[LAYOUT_COUNTER_HITS_LOST_RING] = ring,
		[LAYOUT_COUNTER_HITS_LOST_BUSY] =
			"lost: they came in the midst of other tasks' hits on the same CPU",
		[LAYOUT_COUNTER_HITS_LOST_UNRESOLVED] = unresolved,
		[LAYOUT_COUNTER_HITS_LOST_WRITE] = writing,
		[LAYOUT_COUNTER_GAP_SAMPLES] = "samples from while the kernel's records were lost",
		[LAYOUT_COUNTER_CODE_GIVEN_UP] =
			"functions whose name, file or lines took too long to read",
		[LAYOUT_COUNTER_MAPPINGS_FULL] = mappings,
		[LAYOUT_COUNTER_WAITS_WITHOUT_SCRIPTS] = without_scripts,
		[LAYOUT_COUNTER_PROGRAMS_SKIPPED] = skipped,
		[LAYOUT_COUNTER_CODE_UNREAD] = unread,
		[LAYOUT_COUNTER_HEAP_UNSEEN_MS] = without_probes,
		[LAYOUT_COUNTER_HEAP_PROGRAMS_MISSED] = without_library,
		[LAYOUT_COUNTER_CPUS_BACK] = "times that CPUs came online, or the machine woke",
	};
	return sentences[counter];
}

const char *cause_of_lost_events(enum layout_event_counter counter)
{
	static const char *const sentences[LAYOUT_EVENT_COUNTER_COUNT] = {
		[LAYOUT_EVENTS_LOST_RING] =
			"lost: the ring buffer was full; a larger one (-m) or fewer samples (-c, "
			"--wait-period) help",
		[LAYOUT_EVENTS_LOST_BUSY] = "lost: they came in the midst of others on the same "
					    "CPU, or were over before "
					    "they could be looked at",
		[LAYOUT_EVENTS_LOST_UNRESOLVED] = "lost: their stacks never arrived",
		[LAYOUT_EVENTS_LOST_WRITE] = "lost: the output could not be written, or was full",
	};
	return sentences[counter];
}
