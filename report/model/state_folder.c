#include "report/model/state_folder.h"

#include <stdlib.h>
#include <unistd.h>

bool state_folder_put(const char *kind, struct str *path)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (state && state[0] == '/') /* relative ones are to be ignored, says XDG */
		str_puts(path, state);
	else if (geteuid() == 0)
		str_puts(path, "/var/lib");
	else if (home && home[0] == '/')
		str_printf(path, "%s/.local/state", home);
	else
		return false;
	str_printf(path, "/ebprof/%s", kind);
	return true;
}
