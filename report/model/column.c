#include "report/model/column.h"

#include <string.h>

static const struct column_info infos[COLUMN_COUNT] = {
	[COLUMN_SYM] = {"sym", "symbol", true, false},
	[COLUMN_DSO] = {"dso", "dso", true, false},
	[COLUMN_FILE] = {"file", "file", true, false},
	[COLUMN_COMM] = {"comm", "comm", false, false},
	[COLUMN_PID] = {"pid", "pid", false, true},
	[COLUMN_TID] = {"tid", "tid", false, true},
	[COLUMN_CPU] = {"cpu", "cpu", false, true},
	[COLUMN_CONTAINER] = {"container", "container", false, false},
	[COLUMN_ORIGIN] = {"origin", "origin", false, false},
};

static const struct {
	const char *name;
	enum column column;
} synonyms[] = {
	{"symbol", COLUMN_SYM},
	{"thread", COLUMN_TID},
	{"process", COLUMN_PID},
	{"command", COLUMN_COMM},
	{"cgroup", COLUMN_CONTAINER},
};

const struct column_info *column_info(enum column column)
{
	return &infos[column];
}

static bool column_is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && memcmp(name, text, len) == 0;
}

enum column column_find(const char *name, size_t len)
{
	for (int i = 0; i < COLUMN_COUNT; i++)
		if (column_is_name(infos[i].name, name, len))
			return (enum column)i;
	for (size_t i = 0; i < sizeof(synonyms) / sizeof(*synonyms); i++)
		if (column_is_name(synonyms[i].name, name, len))
			return synonyms[i].column;
	return COLUMN_COUNT;
}
