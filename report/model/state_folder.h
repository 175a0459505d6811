/*
 * Where is kept what a user has done, which cannot be made again: $XDG_STATE_HOME/ebprof/KIND, else
 * /var/lib/ebprof/KIND for root and ~/.local/state/ebprof/KIND for others.
 */
#ifndef EBPROF_STATE_FOLDER_H
#define EBPROF_STATE_FOLDER_H

#include <stdbool.h>

#include "format/base/str.h"

/* Appends the path; false: there is no home folder. */
bool state_folder_put(const char *kind, struct str *path);

#endif
