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
		/* JDK 26 */
		{"Stub Generator ", "stub"},
		{"Shared Runtime deopt_blob", "deoptimization stub"},
		{"Shared Runtime polling_page_", "safepoint stub"},
		{"C2 Runtime uncommon_trap_blob", "uncommon trap stub"},
		{"C2 Runtime exception_blob", "exception stub"},
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

/* Where in a name the descriptor of its parameters begins; its end if there is none, or part of it
 * is missing. */
static size_t descriptor_start(const struct str *name, bool *is_whole)
{
	const char *text = str_text(name), *start = strrchr(text, '(');
	const char *end = start ? strchr(start, ')') : NULL;
	size_t dimensions = end ? strspn(end + 1, "[") : 0;
	char last = text[name->len - 1];
	*is_whole = end && end[1] && (last == ';' || end + 1 + dimensions == text + name->len - 1);
	return start ? (size_t)(start - text) : name->len;
}

void java_names_put_texts(struct str *name, struct str *file)
{
	if (!file->len && !strchr(str_text(name), '.')) {
		put_stub_name(name);
		return;
	}
	if (!name->len)
		return;
	if (file->len)
		put_package(name, file);
	/* In place: it only gets shorter. */
	bool has_descriptor;
	size_t len = descriptor_start(name, &has_descriptor), to = 0;
	char *text = name->data;
	const char *dot = memrchr(text, '.', len);
	for (size_t i = 0; i < len;) {
		size_t address = hidden_address(text + i);
		if (!address)
			text[to++] = text[i] == '/' && dot && text + i < dot ? '.' : text[i];
		i += address ? address : 1;
	}
	size_t left = has_descriptor ? name->len - len : 0;
	memmove(text + to, text + len, left);
	str_truncate(name, to + left);
}
