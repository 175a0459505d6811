#include "report/model/pattern.h"

#include <ctype.h>
#include <string.h>

#include "format/base/mem.h"

bool pattern_init(struct pattern *pattern, const char *text)
{
	*pattern = (struct pattern){.ignores_case = true};
	for (const char *at = text; *at; at++)
		pattern->ignores_case &= !isupper((unsigned char)*at);
	if (!text[strcspn(text, ".[]()*+?{}|^$\\")]) {
		pattern->literal = mem_strdup(text);
		return true;
	}
	int flags = REG_EXTENDED | REG_NOSUB | (pattern->ignores_case ? REG_ICASE : 0);
	return regcomp(&pattern->regex, text, flags) == 0;
}

bool pattern_matches(const struct pattern *pattern, const char *name)
{
	if (!pattern->literal)
		return regexec(&pattern->regex, name, 0, NULL, 0) == 0;
	return pattern->ignores_case ? strcasestr(name, pattern->literal) != NULL
				     : strstr(name, pattern->literal) != NULL;
}

char *pattern_between_slashes(const char *text)
{
	size_t len = strlen(text);
	bool is_between = len > 2 && text[0] == '/' && text[len - 1] == '/';
	return is_between ? mem_strndup(text + 1, len - 2) : NULL;
}

void pattern_deinit(struct pattern *pattern)
{
	if (pattern->literal)
		mem_free(pattern->literal);
	else
		regfree(&pattern->regex);
}
