/*
 * Which runtimes a command may map: what finds their script frames is loaded before sampling
 * begins, so that the first samples have them. Other runtimes are loaded when a file with one is
 * sampled first, which is too late for some samples.
 */
#ifndef EBPROF_RUNTIME_FORECAST_H
#define EBPROF_RUNTIME_FORECAST_H

#include <stdint.h>

/*
 * Bits of enum runtime_kind: of the command's program, the interpreter that it names if it is a
 * script, and its libraries; all runtimes, when one of these can start other programs or load
 * libraries by name, as shells do: it links with what does that, or it is linked statically.
 */
uint32_t runtime_forecast_command(const char *program);

#endif
