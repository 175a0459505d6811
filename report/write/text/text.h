/* Reports as text, for --stdio. Every foreign byte is escaped. */
#ifndef EBPROF_TEXT_H
#define EBPROF_TEXT_H

#include "format/base/str.h"
#include "report/analyse/filter.h"
#include "report/analyse/table.h"
#include "report/model/main_event.h"

/* What stands in front of a row's columns. */
enum text_field {
	TEXT_FIELD_SELF,  /* percent of all */
	TEXT_FIELD_TOTAL, /* likewise */
	TEXT_FIELD_SAMPLES,
	TEXT_FIELD_VALUE, /* of self, as the event counts: "1.23 s" */
	TEXT_FIELD_TOTAL_SAMPLES,
	TEXT_FIELD_TOTAL_VALUE,
	TEXT_FIELDS,
};

struct text_options {
	double percent_limit; /* rows and branches below are left out, and counted */
	uint32_t max_depth;   /* of the tree; 0: no limit */
	size_t max_bytes;     /* of the tree; 0: no limit; branches beyond are counted */
	/* Of the terminal: names are shortened to fit, and chains of calls without a branch share a
	 * line. 0: text for programs, with whole names. */
	unsigned columns;
	bool shows_most; /* rows below the limit, too, until they are most of the time */
	enum text_field fields[TEXT_FIELDS]; /* in this order */
	size_t nr_fields;                    /* 0: percents, of tables samples, too */
	uint32_t event;                      /* whose values they are */
	const struct filter *filter;         /* of rows, by dso and symbol */
	bool use_color;
	bool is_empty;       /* the recording has no samples: no filter is to blame */
	bool is_event_empty; /* ... of the event */
};

/* What a report is of. */
struct text_head {
	uint32_t event; /* that is shown; the profile has samples of no other */
	const struct event_choices *choices; /* of all events, before that one was chosen */
	uint64_t samples, samples_before_filter, samples_of_all_events;
	bool is_filtered; /* samples or their weights are not all that were recorded */
	bool has_percent; /* what follows has: of the profile's samples, all or those left */
};

/*
 * "# ..." lines: what was recorded, and what is to be known before believing it; which other events
 * can be shown.
 */
void text_put_head(const struct profile *profile, const struct text_head *head, struct str *out);
/* Where functions are rows, those that the filter does not want are taken out of the table. */
void text_put_table(const struct profile *profile, struct table *table,
	const struct table_options *table_options, const struct text_options *options,
	struct str *out);
/* The call tree of all samples, from the outermost functions or, inverted, from the leaves. */
void text_put_tree(const struct profile *profile, bool is_inverted,
	const struct text_options *options, struct str *out);

/* Below either: a line on what the recording lacks of what processes did, where it does, and of
 * what the shown event counts. */
void text_put_losses(const struct profile *profile, uint32_t event, struct str *out);
/* Below either: a line on --no-native, where it would change what is seen. */
void text_put_script_hint(
	const struct profile *profile, const struct filter *filter, struct str *out);

/* For a terminal: lines of more columns lose their ends, but sentences, which begin with '#'. */
void text_cut_lines(struct str *text, size_t columns);

#endif
