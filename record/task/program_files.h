/*
 * What files a command is going to map, known ahead: its program as PATH has it, the interpreters
 * that "#!" lines name, and libraries. What is opened later is not known.
 */
#ifndef EBPROF_PROGRAM_FILES_H
#define EBPROF_PROGRAM_FILES_H

typedef void program_file_fn(void *context, const char *path);

/* Calls fn with each; with none when there is no such command. A name with a slash is a path. */
void program_files_each(const char *name, program_file_fn *fn, void *context);

#endif
