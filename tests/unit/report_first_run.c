#include "report/tui/first_run.h"

#include <stdlib.h>

#include "format/base/str.h"
#include "report/model/state_folder.h"
#include "tests/unit/unit.h"

TEST(state_folder_follows_xdg)
{
	CLEANUP(str_deinit) struct str path = {0};
	setenv("XDG_STATE_HOME", "/x/state", 1);
	CHECK(state_folder_put("seen", &path));
	CHECK_STR(str_text(&path), "/x/state/ebprof/seen");
}

TEST(first_run_is_once)
{
	char folder[] = "/tmp/ebprof-state.XXXXXX";
	CHECK(mkdtemp(folder));
	setenv("XDG_STATE_HOME", folder, 1);
	CHECK(first_run_begins());
	CHECK(!first_run_begins());
	setenv("XDG_STATE_HOME", "/dev/null", 1);
	CHECK(!first_run_begins());
	CLEANUP(str_deinit) struct str command = {0};
	str_printf(&command, "rm -r %s", folder);
	CHECK_INT(system(str_text(&command)), 0);
}
