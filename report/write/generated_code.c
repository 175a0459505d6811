#include "report/write/generated_code.h"

#include <ctype.h>
#include <string.h>

enum {
	MAX_FILES = 4,
};

/*
 * By what its code is known: how the names of files begin, or the object that stands for its
 * methods. NULL: what helps for any code.
 */
struct generated_code_runtime {
	const char *files[MAX_FILES];
	const char *names, *callers;
};

/* Their V8 has compressed pointers, and no words about itself. */
#define CHROMIUM "Chromium, Electron: "
#define AGAIN    "record again, what its first process tells is kept (--unwind-cache)"

static const struct generated_code_runtime runtimes[] = {
	{{"libjvm.so", "[java]"}, "Java 11 or later: " AGAIN,
		"Java 11 or later: " AGAIN "; older: java -XX:+PreserveFramePointer"},
	{{"node", "nodejs", "libnode.so", "[node]"},
		"Node.js 18 or later: " AGAIN "; older: node --perf-basic-prof", NULL},
	{{"chromium", "chrome", "electron"},
		CHROMIUM "run it with --no-sandbox --js-flags=--perf-basic-prof",
		CHROMIUM "their code is read while it is there: record with less beside it"},
	{{"libcoreclr.so", "[dotnet]"}, ".NET: DOTNET_PerfMapEnabled=1", NULL},
	{{"beam.smp", "[erlang]"}, "Erlang: erl +JPperf true (OTP 24 or later)", NULL},
	{{"python", "libpython", "[python]"}, "Python: python3 -X perf (3.12 or later)", NULL},
	{{"php", "libphp", "[php]"}, "PHP: php -d opcache.jit_debug=16",
		"PHP: php -d opcache.jit_debug=256 registers it with GDB's JIT interface"},
	{{"ruby", "libruby", "[ruby]"}, "Ruby: ruby --yjit --yjit-perf (3.3 or later)",
		"Ruby: ruby --yjit --yjit-perf (3.3 or later) keeps frame pointers"},
	{{"mono", "libmonosgen"}, "Mono: mono --jitmap", NULL},
	{{"wasmtime"}, "wasmtime: wasmtime run --profile perfmap",
		"wasmtime: wasmtime run -D debug-info registers it with GDB's JIT interface"},
};

/* Whether a file's name is that, perhaps with a version behind it. */
static bool is_named(const char *name, const char *begin)
{
	size_t len = strlen(begin);
	return strncmp(name, begin, len) == 0 && !isalpha((unsigned char)name[len]) &&
	       name[len] != '_';
}

static bool has_file(const struct profile *profile, const char *begin)
{
	for (uint32_t i = 0; i < profile->objects.len; i++) {
		const char *path = profile->objects.data[i].path,
			   *slash = path ? strrchr(path, '/') : NULL;
		const char *name = slash ? slash + 1 : path;
		if (name && is_named(name, begin))
			return true;
	}
	return false;
}

static bool has_runtime(const struct profile *profile, const struct generated_code_runtime *runtime)
{
	for (int k = 0; k < MAX_FILES && runtime->files[k]; k++)
		if (has_file(profile, runtime->files[k]))
			return true;
	return false;
}

void generated_code_put_remedy(
	const struct profile *profile, enum generated_code_lack lack, struct str *out)
{
	static const char *const others[] = {
		[GENERATED_CODE_LACKS_NAMES] = "let its runtime write a perf map or a jitdump",
		[GENERATED_CODE_LACKS_CALLERS] = "let its runtime register the code for debuggers "
						 "(GDB's JIT interface), or keep "
						 "frame pointers",
	};
	size_t begin = out->len;
	bool is_other = false;
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++) {
		const struct generated_code_runtime *runtime = &runtimes[i];
		const char *text =
			lack == GENERATED_CODE_LACKS_NAMES ? runtime->names : runtime->callers;
		if (!has_runtime(profile, runtime))
			continue;
		if (text)
			str_printf(out, "%s%s", out->len > begin ? "; " : "", text);
		is_other |= !text;
	}
	if (out->len == begin || is_other)
		str_printf(out, "%s%s", out->len > begin ? "; " : "", others[lack]);
}
