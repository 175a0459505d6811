#include "record/runtime/java/java_names.h"

#include <string.h>

#include "format/base/mem.h"

/* The file lies where its class's package says, below some folder of sources. */
static void put_package(const struct str *name, struct str *file)
{
	CLEANUP(str_deinit) struct str path = {0};
	const char *text = str_text(name), *end = text + strcspn(text, ".");
	while (end > text && end[-1] != '/')
		end--;
	str_write(&path, text, (size_t)(end - text));
	str_write(&path, str_text(file), file->len);
	str_truncate(file, 0);
	str_write(file, str_text(&path), path.len);
}

void java_names_put_texts(struct str *name, struct str *file)
{
	if (file->len)
		put_package(name, file);
	CLEANUP(str_deinit) struct str dotted = {0};
	const char *text = str_text(name);
	/* Behind a hidden class's name stands its address: Main$$Lambda+0x00007f8a1c000a00 */
	for (size_t i = 0; i < name->len; i++) {
		bool is_package = text[i] == '/' && strchr(text + i, '.');
		str_write(&dotted, is_package ? "." : text + i, 1);
	}
	str_truncate(name, 0);
	str_write(name, str_text(&dotted), dotted.len);
}
