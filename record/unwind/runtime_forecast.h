/*
 * Which runtimes a command may map: what finds their script frames is loaded before sampling
 * begins, so that the first samples have them. Other runtimes are loaded when a file with one is
 * sampled first, which is too late for some samples.
 */
#ifndef EBPROF_RUNTIME_FORECAST_H
#define EBPROF_RUNTIME_FORECAST_H

#include <stdint.h>

#include "record/session_options.h"

/*
 * Bits of enum runtime_kind: of the command's program, the interpreter that it names if it is a
 * script, and its libraries; all runtimes, when one of these can start other programs or load
 * libraries by name, as shells do: it links with what does that, or it is linked statically.
 */
uint32_t runtime_forecast_command(const char *program);
/*
 * Those that are found from the begin of a session on. Without frames of scripts what finds them is
 * not loaded. The whole system has interpreters sooner or later, and loading what finds their
 * frames takes the builder of tables away from all other files for as long.
 */
uint32_t runtime_forecast_session(const struct session_options *options);

#endif
