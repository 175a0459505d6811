#include "record/source/asleep_search.h"

#include <unistd.h>

#include "bpf/event.h"
/* Behind what it knows of. */
#include "bpf/sample.skel.h"
#include "format/base/clock.h"
#include "format/base/mem.h"

/* For these, or none: what there is is replaced. */
static struct err *load_for(struct asleep_search *search, uint32_t runtimes)
{
	struct asleep *asleep;
	struct err *err = asleep_create(search->bpf, runtimes, &asleep);
	if (err && runtimes) {
		search->refused = runtimes;
		if (search->asleep) {
			err_destroy(err);
			return NULL;
		}
		err_destroy(err);
		err = asleep_create(search->bpf, 0, &asleep);
	}
	if (err)
		return err;
	asleep_destroy(search->asleep);
	search->asleep = asleep;
	return NULL;
}

void asleep_search_renew(struct asleep_search *search)
{
	uint32_t may_be_met = __atomic_load_n(search->runtimes, __ATOMIC_RELAXED),
		 runtimes = may_be_met & search->bpf->bss->row_kinds;
	bool is_wanted = search->asleep ? runtimes != asleep_runtimes(search->asleep)
					: may_be_met || search->is_needed;
	if (is_wanted && (!runtimes || runtimes != search->refused))
		err_destroy(load_for(search, runtimes));
}

struct err *asleep_search_try(struct asleep_search *search)
{
	struct err *err = load_for(search, *search->runtimes);
	if (!err || err_code(err) != ERR_UNSUPPORTED)
		return err;
	err_destroy(err);
	return NULL;
}

static bool is_ending(const struct asleep_search *search)
{
	return __atomic_load_n(&search->is_ending, __ATOMIC_RELAXED);
}

/* Whether the walks came to what is not there yet. */
static bool seek_once(const struct asleep_search *search)
{
	char sleepers[256];
	CLEANUP_FD int fd = asleep_begin(search->asleep, true);
	ssize_t len = 1;
	while (fd >= 0 && len > 0 && !is_ending(search))
		len = read(fd, sleepers, sizeof(sleepers));
	return asleep_end(search->asleep, fd >= 0 && !len);
}

static void *search_sleepers(void *context)
{
	enum {
		MAX_SEEKING_NS = 2000000000,
		PAUSE_US = 20000, /* in which the recorder's thread has tables made */
	};
	struct asleep_search *search = context;
	uint64_t until_ns = clock_now_ns() + MAX_SEEKING_NS;
	asleep_search_renew(search);
	if (search->asleep)
		asleep_mark_waits(search->bpf);
	while (search->asleep && !is_ending(search) && seek_once(search) &&
		clock_now_ns() < until_ns) {
		usleep(PAUSE_US);
		asleep_search_renew(search);
	}
	return NULL;
}

void asleep_search_begin(struct asleep_search *search)
{
	if (search->has_begun)
		return;
	search->has_begun = true;
	search->has_thread = !pthread_create(&search->thread, NULL, search_sleepers, search);
}

void asleep_search_end(struct asleep_search *search)
{
	search->has_begun = true;
	__atomic_store_n(&search->is_ending, true, __ATOMIC_RELAXED);
	if (search->has_thread)
		pthread_join(search->thread, NULL);
	search->has_thread = false;
}

bool asleep_search_lacks_runtimes(const struct asleep_search *search)
{
	uint32_t walked = search->asleep ? asleep_runtimes(search->asleep) : 0;
	return search->refused & ~walked;
}

void asleep_search_deinit(struct asleep_search *search)
{
	asleep_search_end(search);
	asleep_destroy(search->asleep);
	*search = (struct asleep_search){0};
}
