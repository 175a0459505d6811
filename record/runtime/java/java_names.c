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

/*
 * Behind a hidden class's name stands where it is, which says nothing and is another place in each
 * run: Main$$Lambda+0x00007f8a1c000a00.run, or with a slash before JDK 21. 0: nothing of that.
 */
static size_t hidden_address(const char *text)
{
	if ((*text != '+' && *text != '/') || text[1] != '0' || text[2] != 'x')
		return 0;
	size_t digits = strspn(text + 3, "0123456789abcdef");
	return digits && text[3 + digits] == '.' ? 3 + digits : 0;
}

/* What pieces of code of the virtual machine are for; a name of its own says more. */
static void put_stub_name(struct str *name)
{
	static const struct {
		const char *prefix, *text;
	} readable[] = {
		{"StubRoutines", "stub"},
		{"vtable chunks", "vtable stub"},
		{"I2C/C2I adapters", "I2C/C2I adapter"},
		{"adapters", "I2C/C2I adapter"},
		{"MethodHandlesAdapterBlob", "method handle adapter"},
		{"MethodHandles adapters", "method handle adapter"},
		{"DeoptimizationBlob", "deoptimization stub"},
		{"UncommonTrapBlob", "uncommon trap stub"},
		{"ExceptionBlob", "exception stub"},
		{"SafepointBlob", "safepoint stub"},
		{"InlineCacheBuffer", "inline cache stub"},
	};
	for (size_t i = 0; i < sizeof(readable) / sizeof(*readable); i++) {
		size_t len = strlen(readable[i].prefix);
		if (name->len < len || memcmp(str_text(name), readable[i].prefix, len) != 0)
			continue;
		str_truncate(name, 0);
		str_puts(name, readable[i].text);
		return;
	}
}

void java_names_put_texts(struct str *name, struct str *file)
{
	if (!file->len && !strchr(str_text(name), '.')) {
		put_stub_name(name);
		return;
	}
	if (file->len)
		put_package(name, file);
	CLEANUP(str_deinit) struct str dotted = {0};
	const char *text = str_text(name);
	for (size_t i = 0; i < name->len;) {
		size_t address = hidden_address(text + i);
		bool is_package = text[i] == '/' && strchr(text + i, '.');
		if (!address)
			str_write(&dotted, is_package ? "." : text + i, 1);
		i += address ? address : 1;
	}
	str_truncate(name, 0);
	str_write(name, str_text(&dotted), dotted.len);
}
