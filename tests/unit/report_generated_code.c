/* What helps where generated code has no names, by whose code it is. */
#include <string.h>

#include "report/write/generated_code.h"
#include "tests/unit/unit.h"

static void check_remedy(const char *path, enum generated_code_lack lack, const char *part)
{
	CLEANUP(str_deinit) struct str out = {0};
	struct profile profile = {0};
	vec_push(&profile.objects, (struct profile_object){.path = ""});
	vec_push(&profile.objects, (struct profile_object){.path = path});
	generated_code_put_remedy(&profile, lack, &out);
	vec_deinit(&profile.objects);
	if (!strstr(str_text(&out), part))
		unit_fail(__FILE__, __LINE__, "%s: %s", path, str_text(&out));
}

TEST(the_remedy_is_that_of_the_runtime)
{
	check_remedy("/usr/lib/jvm/x/lib/server/libjvm.so", GENERATED_CODE_LACKS_NAMES, "Java 11");
	check_remedy("[java]", GENERATED_CODE_LACKS_CALLERS, "-XX:+PreserveFramePointer");
	check_remedy("/usr/bin/node", GENERATED_CODE_LACKS_NAMES, "--perf-basic-prof");
	check_remedy("/usr/lib/chromium/chromium", GENERATED_CODE_LACKS_NAMES,
		"--no-sandbox --js-flags=--perf-basic-prof");
	check_remedy(
		"/opt/app/electron", GENERATED_CODE_LACKS_CALLERS, "record with less beside it");
	check_remedy("/usr/bin/chrome_crashpad_handler", GENERATED_CODE_LACKS_NAMES,
		"let its runtime write");
	check_remedy("/opt/libcoreclr.so", GENERATED_CODE_LACKS_NAMES, "DOTNET_PerfMapEnabled=1");
	check_remedy("[dotnet]", GENERATED_CODE_LACKS_NAMES, "DOTNET_PerfMapEnabled=1");
	check_remedy("/usr/bin/php8.2", GENERATED_CODE_LACKS_NAMES, "opcache.jit_debug=16");
	check_remedy("/lib/libpython3.13.so.1.0", GENERATED_CODE_LACKS_NAMES, "-X perf");
	check_remedy("/usr/bin/python3.13", GENERATED_CODE_LACKS_CALLERS, "GDB's JIT interface");
	check_remedy("/usr/bin/node_exporter", GENERATED_CODE_LACKS_NAMES, "let its runtime write");
	check_remedy("/bin/x", GENERATED_CODE_LACKS_CALLERS, "or keep frame pointers");
}
