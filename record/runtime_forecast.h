/*
 * Which runtimes the targets have mapped already, or a command is going to map: what finds their
 * script frames is loaded before sampling begins, so that the first samples have them. Other
 * runtimes are loaded when a file with one is sampled first.
 */
#ifndef EBPROF_RUNTIME_FORECAST_H
#define EBPROF_RUNTIME_FORECAST_H

#include <stdint.h>

struct target_files;

/* Bits of enum runtime_kind: of the command's program and its libraries, and of programs that its
 * arguments name, as those of env(1), timeout(1), `sh -c` and the like do. Ends with NULL. */
uint32_t runtime_forecast_command(char *const *argv);
/* Of what the process has mapped. */
uint32_t runtime_forecast_process(struct target_files *files, uint32_t pid);

#endif
