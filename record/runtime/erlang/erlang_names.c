#include "record/runtime/erlang/erlang_names.h"

#include <string.h>

void erlang_names_put_texts(struct str *name, struct str *file)
{
	static const char prefix[] = "Elixir.";
	const size_t prefix_len = sizeof(prefix) - 1;
	(void)file;
	const char *text = str_text(name), *colon = strchr(text, ':');
	if (strncmp(text, prefix, prefix_len) != 0 || !colon)
		return;
	CLEANUP(str_deinit) struct str elixir = {0};
	str_write(&elixir, text + prefix_len, (size_t)(colon - text) - prefix_len);
	str_write(&elixir, ".", 1);
	str_write(&elixir, colon + 1, strlen(colon + 1));
	str_truncate(name, 0);
	str_write(name, str_text(&elixir), elixir.len);
}
