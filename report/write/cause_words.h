/*
 * Why something is missing in a recording, as sentences with what helps: one table of them for
 * info, the terminal interface and pages. JSON has the words of the format instead.
 */
#ifndef EBPROF_CAUSE_WORDS_H
#define EBPROF_CAUSE_WORDS_H

#include "format/file/layout.h"
#include "report/model/profile.h"

/* Why stacks end before their root, in code of any file. */
const char *cause_of_truncation(enum layout_truncation cause);
/* Why frames of a program that an interpreter runs have no name. */
const char *cause_of_unnamed_script(uint32_t failure);
/* Either of them: why a frame stands for others that are missing, or has no name; NULL: it is none
 * of these. */
const char *cause_of_frame(const struct profile_frame *frame, const struct profile_object *objects);
/* What a counter counts, to stand behind its number; NULL: nothing that is missing. */
const char *cause_of_counter(enum layout_counter counter);
/* The same of a source's events: why they are lost. */
const char *cause_of_lost_events(enum layout_event_counter counter);

#endif
