/* What all reports of a diff for people have in common: numbers, and sentences. */
#ifndef EBPROF_DIFF_WORDS_H
#define EBPROF_DIFF_WORDS_H

#include "report/diff/difference.h"

/* "+12.3%", "x4.5", "new", "gone". */
void diff_put_effect(struct str *out, double effect);
/* "+9.8% .. +14.9%" */
void diff_put_interval(struct str *out, const struct diff_finding *finding);
/* The share, "12.34%", or by CPU time the seconds of a run, "1.234 s". */
void diff_put_amount(
	struct str *out, const struct difference *diff, const struct diff_amount *amount);
/* A p-value: "0.0123", "4e-12". */
void diff_put_p(struct str *out, double p);

/* The verdict in one sentence, with the numbers. Names in it are escaped. */
void diff_put_verdict(struct str *out, const struct difference *diff);
/* What of the whole program: one sentence. */
void diff_put_program(struct str *out, const struct difference *diff);
/* How small a slowdown would have been seen: one sentence. */
void diff_put_detectable(struct str *out, const struct difference *diff);
/* What a reader has to know before believing it: a sentence, or nothing. */
void diff_put_caveats(struct str *out, const struct difference *diff);

/* Escaped: the name; by line and by stack what tells it from others, too. */
void diff_put_name(struct str *out, const struct difference *diff, const struct diff_row *row);
/* Escaped: "file:line", without folders, or nothing. */
void diff_put_place(struct str *out, const struct diff_row *row);

/* How many rows have this verdict, by self. */
size_t diff_count(const struct difference *diff, enum diff_verdict verdict);
/* What of both sides' samples is in them. */
double diff_share_of(const struct difference *diff, enum diff_verdict verdict);

#endif
