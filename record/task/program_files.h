/*
 * What files a command is going to map, known ahead: its program as PATH has it, the interpreters
 * that "#!" lines name, and libraries. What is opened later is not known. And which file is meant
 * by such a name.
 */
#ifndef EBPROF_PROGRAM_FILES_H
#define EBPROF_PROGRAM_FILES_H

typedef void program_file_fn(void *context, const char *path);

/* Calls fn with each; with none when there is no such command. A name with a slash is a path. */
void program_files_each(const char *name, program_file_fn *fn, void *context);

/*
 * The file that a user names, without symbolic links: a path, a program as shells find it, or a
 * library where ld.so looks, "libc.so.6", or "libc", of several versions the highest. NULL, errno:
 * there is none. From malloc().
 */
char *program_files_path(const char *name);

#endif
