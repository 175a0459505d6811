/*
 * What a person searches for: an extended regular expression; letters of either case where
 * it has no capital.
 */
#ifndef EBPROF_PATTERN_H
#define EBPROF_PATTERN_H

#include <regex.h>
#include <stdbool.h>

struct pattern {
	regex_t regex;
	char *literal; /* where it is plain text, which is found faster; else NULL */
	bool ignores_case;
};

/* False, and nothing to deinit, when it is no expression (yet). */
bool pattern_init(struct pattern *pattern, const char *text);
bool pattern_matches(const struct pattern *pattern, const char *name);
void pattern_deinit(struct pattern *pattern);

/* The expression of "/EXPRESSION/", to be freed; NULL: the text is none. */
char *pattern_between_slashes(const char *text);

#endif
