/* What all reports of a diff for people have in common: numbers, and sentences. */
#ifndef EBPROF_DIFF_WORDS_H
#define EBPROF_DIFF_WORDS_H

#include "report/compare/difference.h"

/* "+12.3%", "x4.5", "new", "removed". */
void diff_put_effect(struct str *out, double effect);
/* The same of a row; "?" where its interval is too wide for an estimate. */
void diff_put_change(struct str *out, const struct diff_judgement *judgement);
/* Of what both sides have: "takes 12.3% longer", "takes 4.5 times as long"; by another unit than
 * "ns" "12.3% more", "times as much". */
void diff_put_takes(struct str *out, double effect, const char *unit);
/* "+9.8% .. +14.9%" */
void diff_put_interval(struct str *out, const struct diff_judgement *judgement);
/* The share, "12.34%", or by CPU time the seconds of a run, "1.234 s". */
void diff_put_amount(
	struct str *out, const struct difference *diff, const struct diff_amount *amount);
/* A p-value: "0.0123", "4e-12". */
void diff_put_p(struct str *out, double p);

/* "takes 12.3% longer (...): 1.23% -> 1.40%, p 0.0012" */
void diff_put_judgement(
	struct str *out, const struct difference *diff, const struct diff_judgement *judgement);

/* How a name is written into a sentence. */
typedef void diff_name_fn(
	struct str *out, const struct difference *diff, const struct diff_row *row);

/* How names of rows, and of files and programs, are written into sentences. */
struct diff_naming {
	diff_name_fn *put_name;
	void (*put_text)(struct str *out, const char *text);
};

extern const struct diff_naming diff_naming_plain; /* escaped */

/* The verdict in one sentence, with the numbers. Names in it are escaped. */
void diff_put_verdict(struct str *out, const struct difference *diff);
/* The same; the caller says how foreign text is put. */
void diff_put_verdict_naming(
	struct str *out, const struct difference *diff, const struct diff_naming *naming);
/* What makes the verdict a regression while none of its parts surely is: nothing, or a clause. */
void diff_put_replacements(struct str *out, const struct difference *diff);
/* What the columns of a list are: sentences. */
void diff_put_columns(struct str *out, const struct difference *diff);
/* Whether options chose samples: what is compared is not the whole program. */
bool diff_is_of_chosen(const struct difference *diff);
/* What the sides are as a whole: "the whole program", unless samples were chosen. */
const char *diff_whole_word(const struct difference *diff);
/* How the time of the whole program changed: one sentence. */
void diff_put_program(struct str *out, const struct difference *diff);
/* How small a slowdown would have been seen: one sentence. */
void diff_put_detectable(struct str *out, const struct difference *diff);
/* How much has not changed, how much is too little to be judged: two sentences. */
void diff_put_same(struct str *out, const struct difference *diff);
/* What a reader has to know before believing it: a sentence, or nothing. */
void diff_put_caveats(struct str *out, const struct difference *diff);
void diff_put_caveats_naming(
	struct str *out, const struct difference *diff, const struct diff_naming *naming);

/* Escaped: the name; by line and by stack what tells it from others, too. */
diff_name_fn diff_put_name;
/* Escaped: the place, or else the file that it is in, if the name does not say that. */
diff_name_fn diff_put_whereabouts;

/* The same in so many code points: of a stack the innermost functions. */
void diff_put_name_within(
	struct str *out, const struct difference *diff, const struct diff_row *row, size_t width);
/* Text of UTF-8 in so many code points: without its middle. The end of a name says more. */
void diff_put_elided(struct str *out, const char *text, size_t len, size_t width);
size_t diff_count_points(const char *text, size_t len);

#endif
