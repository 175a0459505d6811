#include "record/runtime/runtime_names.h"

#include <string.h>

#include "format/base/str.h"
#include "record/runtime/runtime.h"

static bool runtime_names_is_name(const char *name, const char *text, size_t len)
{
	return strlen(name) == len && memcmp(name, text, len) == 0;
}

static bool runtime_names_is_called(const struct runtime *runtime, const char *text, size_t len)
{
	return runtime && (runtime_names_is_name("all", text, len) ||
				  runtime_names_is_name(runtime->name, text, len));
}

static struct err *unknown_name(const char *text, size_t len)
{
	CLEANUP(str_deinit) struct str known = {0};
	for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++)
		if (runtime_of(kind))
			str_printf(&known, ", %s", runtime_of(kind)->name);
	return err_new(ERR_USAGE, "\"%.*s\" is none of all%s", (int)len, text, str_text(&known));
}

struct err *runtime_names_parse(const char *text, uint32_t *kinds)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		uint32_t bits = 0;
		for (enum runtime_kind kind = RUNTIME_NONE + 1; kind < RUNTIME_MAX_KINDS; kind++)
			if (runtime_names_is_called(runtime_of(kind), text, len))
				bits |= 1U << kind;
		if (!bits)
			return unknown_name(text, len);
		*kinds |= bits;
		if (!text[len])
			return NULL;
		text += len + 1;
	}
}
