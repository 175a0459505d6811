/* Which runtimes are loaded before a command runs. */
#include "record/unwind/runtime_forecast.h"

#include <unistd.h>

#include "record/runtime/runtime.h"
#include "tests/unit/unit.h"

TEST(runtime_forecast_of_a_program_that_starts_no_other)
{
	if (access("/usr/bin/true", X_OK) == 0)
		CHECK_INT(runtime_forecast_command("true"), 0);
	CHECK_INT(runtime_forecast_command("/nowhere/at/all"), 0);
}

TEST(runtime_forecast_of_a_program_that_may_start_any)
{
	static const char *const programs[] = {"sh", "env", "/usr/bin/perl", "/usr/bin/ldd"};
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		if (programs[i][0] != '/' || access(programs[i], X_OK) == 0)
			CHECK_INT(runtime_forecast_command(programs[i]), runtimes_all());
}
