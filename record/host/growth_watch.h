/*
 * A thread that looks how long files are: each few milliseconds while they grow, less often while
 * they do not. Without files it costs nothing: the thread begins with the first one.
 */
#ifndef EBPROF_GROWTH_WATCH_H
#define EBPROF_GROWTH_WATCH_H

#include "record/host/file_growth.h"

struct growth_watch;

struct growth_watch *growth_watch_create(void);
void growth_watch_destroy(struct growth_watch *watch);

/* From now on until it is removed, `growth` is the thread's. Both are borrowed. */
void growth_watch_add(struct growth_watch *watch, struct file_growth *growth, int fd);
/* Nothing happens if it was not added. */
void growth_watch_remove(struct growth_watch *watch, const struct file_growth *growth);

#endif
