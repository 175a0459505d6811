#include "record/runtime_forecast.h"

#include <unistd.h>

#include "bpf/runtime/runtime_row.h"
#include "tests/unit/unit.h"

static const char perl[] = "/usr/bin/perl";

TEST(runtime_forecast_of_words)
{
	if (access(perl, X_OK))
		return;
	char *const program[] = {"/usr/bin/perl", "x", NULL};
	char *const argument[] = {"env", "-i", "A=/usr/bin/perl", "/usr/bin/perl", NULL};
	char *const script[] = {"sh", "-c", "cd /;(exec /usr/bin/perl x)&", NULL};
	char *const none[] = {"true", "--/usr/bin/perl", "A=/usr/bin/perl", "/nowhere", NULL};
	uint32_t bit = 1U << RUNTIME_PERL;
	CHECK_INT(runtime_forecast_command(program), bit);
	CHECK_INT(runtime_forecast_command(argument), bit);
	CHECK_INT(runtime_forecast_command(script), bit);
	CHECK_INT(runtime_forecast_command(none), 0);
}

TEST(runtime_forecast_of_a_process)
{
	CHECK_INT(runtime_forecast_process(NULL, (uint32_t)getpid()), 0);
	CHECK_INT(runtime_forecast_process(NULL, 0x7fffffff), 0); /* there is none */
}
