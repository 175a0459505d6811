/*
 * The same things in a newer state of a recording that goes on: each has ids of its own. Functions,
 * threads and the like are found again by what they are called and where they stand.
 */
#ifndef EBPROF_RENEWAL_H
#define EBPROF_RENEWAL_H

#include "report/analyse/scope.h"
#include "report/tui/model.h"
#include "report/tui/model_path.h"

struct renewal;

/* Both models are borrowed as long as it lives. */
struct renewal *renewal_create(const struct model *old, const struct model *next);
/* NULL is safe. */
void renewal_destroy(struct renewal *renewal);

/* Each gives the id in the newer one; 0: it is not there any more, or was 0. */
uint32_t renewal_frame(const struct renewal *renewal, uint32_t frame);
uint32_t renewal_object(const struct renewal *renewal, uint32_t object);
uint32_t renewal_thread(const struct renewal *renewal, uint32_t thread);
uint32_t renewal_process(const struct renewal *renewal, uint32_t process);
uint32_t renewal_event(const struct renewal *renewal, uint32_t event);
/* What a container or cgroup is called, by the string of its name in the profile. */
uint32_t renewal_string(const struct renewal *renewal, uint32_t string);
/* The name of a container or cgroup that scope_container() gave; NULL: it is not there any more. */
const char *renewal_container(const struct renewal *renewal, const char *container);
/* A time since the recording's beginning, which is another one now; not before it. */
uint64_t renewal_time(const struct renewal *renewal, uint64_t time_ns);
/* In place, as far as its frames are there. */
void renewal_path(const struct renewal *renewal, struct path *path);
/*
 * In place. Threads and processes are meant by their numbers from then on, functions and files by
 * their names: such a filter outlives that nothing of it was sampled for a while. Of a stack that
 * is not there any more nothing is seen.
 */
void renewal_term(const struct renewal *renewal, struct scope_term *term);

#endif
