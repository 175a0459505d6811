/*
 * What the page of --html is made from: the call tree, and of each of its nodes
 * how much ran there, by thread and by span of time, so that the page can select
 * by both without the recording.
 *
 * All numbers are varints, all texts blobs (bytes.h) in valid UTF-8 without
 * control characters. In this order:
 *
 *   version    HTML_DATA_VERSION
 *   columns    of weights: 1, or 2 where two recordings are compared: the new one and the one it
 *              is compared with. Of each in turn:
 *              texts: file (empty where there is one column), title, event, unit, host, kernel,
 *              recorder, damage, stacks (how many may lack callers; empty where none do);
 *              period, units that a weight of 1 stands for; frequency_hz;
 *              begin, milliseconds since 1970, 0: unknown; span, nanoseconds;
 *              samples of the event; other_samples, of other events; lost;
 *              folded, the weight below nodes that were too many
 *   events     count; each: name, unit: of which the page has data, this one's among them
 *   system     1: all of a system was recorded
 *   folded     nodes that were too many
 *   verdict    an enum diff_verdict and a text: of two columns, what `ebprof diff` says first,
 *              or why it refuses to compare
 *   changes    of two columns alone; behind it both parts once more, as they are with the sides
 *              swapped, where the first column is the one that is compared with: what `ebprof diff`
 * lists. Count of lists, 0: the sides cannot be compared; each (enum diff_list): how many rows it
 * has, count of those that are here; each: 1 + function, 0: none of the page; texts: name, before,
 * new, change, interval. Behind the lists, where there are some, count of sentences; each: a text,
 *              which may be empty
 *   kinds      of frames: count; each: text, is of scripts, is the kernel's, colours of it and
 *              where it is inlined, 0xRRGGBB
 *   objects    count; each: name
 *   files      count; each: path. File 0 is no file
 *   functions  count; each: name, shorter forms of it (count; each a text: see
 *              report/name/short_names.h), object, file, line, kind. Function 0 stands for what
 *              was folded. Where there are two columns, also of its self and of its total, what
 *              `ebprof diff` says of the whole recordings (report/compare/compare.h): an enum
 *              diff_verdict; of a regression or an improvement then a ratio in millionths: by
 *              which the new share is to be multiplied so that it is the old one where nothing
 *              changed; then both once more with the sides swapped
 *   causes     of functions that stand for frames that are missing, or have no name: count; each:
 *              function, text (report/write/cause_words.h)
 *   threads    count; each: pid, tid (0: all of that name, and of that name of the process), comm,
 *              container, name of the process; then how many the last one stands for, 0: for
 *              itself; then how many there are
 *   slices     of time: count; nanoseconds of each
 *   parts      count; each: name, is of waits: the events that this one is the sum of
 *   nodes      count; then of all of them, each before its callees, from node 0, which is the
 *              root: how far the caller of each is up from the node before, 0: it is that one;
 *              then of all: functions that were met up to here, less the function (0: the next
 *              new one), << 1 | is inlined
 *   entries    of each column in turn: of each node how many; then of all of them, zigzag:
 *              (slice * threads + thread) * parts + part, less the one of the entry before; then
 *              of all: the weight
 *   code       count; each: function, its self and total in the event's unit, rows that were too
 *              many; then count of rows; each: enum listing_row_kind, line (address of an
 *              instruction), text, self, total
 *   waits      the longest of one column's event: a text, what stands above the others; count;
 *              each: thread, function that waits ("": none), text; then a text about the rest
 *
 * Columns of equal things compress much better than rows.
 *
 * What does not fit is made coarser, and the page says so: small branches are folded into one, time
 * slices get longer, threads that did little are put together.
 */
#ifndef EBPROF_HTML_DATA_H
#define EBPROF_HTML_DATA_H

#include <stdint.h>

#include "format/base/bytes.h"
#include "report/compare/difference.h"
#include "report/model/main_event.h"

enum {
	HTML_DATA_VERSION = 15,
};

struct export_code;

struct html_data_side {
	const struct profile *profile;
	const char *name; /* of the file, where there are two */
	uint32_t event;
	const struct event_choices *events; /* that can be chosen; NULL: none but this one */
	const struct export_code *code;     /* of one recording alone; NULL: none */
};

struct html_data_limits {
	uint32_t nodes, entries, threads, slices;
};

/* What browsers draw at once, and pages of some megabytes. */
extern const struct html_data_limits html_data_limits;
/* The same of two recordings: of them it is less of interest when something ran. */
extern const struct html_data_limits html_data_limits_of_two;

/*
 * Of one recording, or of one and another that it is compared with, by the same event; `judging`:
 * as compare_judge() has it.
 */
void html_data_put(const struct html_data_side *sides, size_t nr_sides,
	const struct html_data_limits *limits, const struct diff_options *judging,
	struct bytes_buf *out);

#endif
