/*
 * What the recorder calls methods of .NET, against the runtime's own perf map: every method of the
 * map that is still there is read by its address.
 *   DOTNET_PerfMapEnabled=1 DOTNET_ReadyToRun=0 program &
 *   dotnet_names PID MAJOR_VERSION [MAP]      MAP: /tmp/perf-PID.map
 * Prints how many were read, and each that differs. Status 1: some do.
 *
 * The map has no arguments of generic methods, and says ours as the compiler called it: so
 * arguments are left out of both, and of what the compiler has made only what people wrote is
 * looked for.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/runtime/dotnet/dotnet_row.h"
#include "format/base/mem.h"
#include "format/base/str.h"
#include "record/runtime/dotnet/dotnet_method.h"
#include "record/runtime/runtime_inlined.h"
#include "record/runtime/runtime_memory.h"

struct tally {
	unsigned read, gone, different;
};

/* Without what is in brackets of a kind. */
static void put_without(const char *from, size_t len, char open, char close, struct str *out)
{
	int depth = 0;
	for (size_t i = 0; i < len; i++) {
		depth += from[i] == open;
		if (!depth)
			str_putc(out, from[i]);
		depth -= depth && from[i] == close;
	}
}

/* "Outer`1+Inner[int]" becomes "Outer.Inner". */
static void put_type(const char *from, size_t len, struct str *out)
{
	CLEANUP(str_deinit) struct str plain = {0};
	put_without(from, len, '[', ']', &plain);
	for (size_t i = 0; i < plain.len; i++) {
		char c = str_text(&plain)[i];
		if (c == '`')
			while (i + 1 < plain.len && isdigit(str_text(&plain)[i + 1]))
				i++;
		else
			str_putc(out, c == '+' || c == '/' ? '.' : c);
	}
}

/* What people wrote of "Outer.<>c.<Method>b__0": the types outside, and the word within. */
static bool is_made_of(const char *want, const char *name)
{
	const char *open = want;
	while ((open = strchr(open, '<')) && !isalpha(open[1]))
		open++;
	size_t outside = strcspn(want, "<");
	CLEANUP(str_deinit) struct str plain = {0};
	put_without(name, strlen(name), '<', '>', &plain);
	if (plain.len + 1 < outside || strncmp(want, str_text(&plain), outside - 1) != 0)
		return false;
	if (!open)
		return true;
	size_t len = strcspn(open + 1, ">");
	return memmem(name, strlen(name), open + 1, len);
}

static bool is_same(const char *want, const char *name)
{
	CLEANUP(str_deinit) struct str plain = {0};
	CLEANUP(str_deinit) struct str plain_want = {0};
	if (strstr(want, ".<") && strstr(want, ">"))
		return is_made_of(want, name);
	put_without(name, strlen(name), '<', '>', &plain);
	put_without(want, strlen(want), '<', '>', &plain_want); /* of an interface's method */
	return strcmp(str_text(&plain_want), str_text(&plain)) == 0;
}

static bool read_name(uint32_t pid, uint8_t version, uint64_t start, struct str *ret)
{
	static void *kept;
	struct dotnet_code code = {.start = start, .row.version = version};
	CLEANUP(bytes_buf_deinit) struct bytes_buf bytes = {0};
	CLEANUP(runtime_inlined_deinit) struct runtime_inlined inlined = {0};
	if (!runtime_read_process(pid, start - 8, &code.header, sizeof(code.header)) ||
		!runtime_read_process(pid, code.header + 24, &code.method, sizeof(code.method)) ||
		!dotnet_method_read(&kept, pid, &code, sizeof(code), &bytes) ||
		!runtime_inlined_get(bytes.data, bytes.len, &inlined) || !inlined.functions.len)
		return false;
	str_write(ret, inlined.functions.data[0].name, inlined.functions.data[0].name_len);
	return true;
}

/* "instance void [Library] Space.Type::Method(int32)[Tier]" becomes "Space.Type.Method". */
static bool take_wanted(const char *text, struct str *ret)
{
	const char *colons = strstr(text, "::");
	if (strncmp(text, "stub ", 5) == 0 || !colons || strstr(text, "dynamicClass::"))
		return false;
	const char *type = colons;
	while (type > text && type[-1] != ' ')
		type--;
	const char *method = colons + 2, *end = strchr(method, '(');
	put_type(type, (size_t)(colons - type), ret);
	str_putc(ret, '.');
	str_write(ret, method, end ? (size_t)(end - method) : strlen(method));
	return true;
}

static void judge(uint32_t pid, uint8_t version, char *line, struct tally *tally)
{
	CLEANUP(str_deinit) struct str want = {0};
	CLEANUP(str_deinit) struct str name = {0};
	unsigned long long start, len;
	int at = 0;
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "%llx %llx %n", &start, &len, &at) < 2 || !take_wanted(line + at, &want))
		return;
	if (!read_name(pid, version, start, &name)) {
		tally->gone++;
		return;
	}
	tally->read++;
	if (is_same(str_text(&want), str_text(&name)))
		return;
	tally->different++;
	printf("%llx: %s, not %s (%s)\n", start, str_text(&name), str_text(&want), line + at);
}

int main(int argc, char **argv)
{
	char path[64], *line = NULL;
	size_t cap = 0;
	struct tally tally = {0};
	if (argc < 3) {
		fprintf(stderr, "usage: dotnet_names PID MAJOR_VERSION [MAP]\n");
		return 2;
	}
	uint32_t pid = (uint32_t)strtoul(argv[1], NULL, 10);
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	FILE *map = fopen(argc > 3 ? argv[3] : path, "r");
	if (!map) {
		perror(path);
		return 2;
	}
	while (getline(&line, &cap, map) > 0)
		judge(pid, (uint8_t)strtoul(argv[2], NULL, 10), line, &tally);
	free(line);
	fclose(map);
	printf("%u read, %u gone, %u different\n", tally.read, tally.gone, tally.different);
	return tally.different != 0;
}
