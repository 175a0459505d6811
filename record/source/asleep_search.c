#include "record/source/asleep_search.h"

#include <errno.h>
#include <unistd.h>

#include "bpf/event.h"
#include "bpf/runtime/runtime_row.h"
/* Behind what it knows of. */
#include "bpf/sample.skel.h"
#include "format/base/clock.h"
#include "format/base/mem.h"

/* What the kernel's verifier says of a program; all else has to do with something else. */
static bool is_verifiers(const struct err *err)
{
	int errnum = err_errnum(err);
	return errnum == EINVAL || errnum == EACCES || errnum == E2BIG || errnum == ENOSPC;
}

/* Each by itself: of some kernels the verifier takes some runtimes and not others. */
static uint32_t find_refused(const struct asleep_search *search, uint32_t runtimes)
{
	uint32_t refused = 0;
	if (!(runtimes & (runtimes - 1)))
		return runtimes;
	for (uint32_t rest = runtimes; rest; rest &= rest - 1) {
		uint32_t one = rest & -rest;
		struct asleep *asleep;
		struct err *err = asleep_create(search->bpf, one, &asleep);
		if (err && is_verifiers(err))
			refused |= one;
		if (!err)
			asleep_destroy(asleep);
		err_destroy(err);
	}
	return refused;
}

/* For those of these that the kernel takes, or none: what there is is replaced. */
static struct err *load_for(struct asleep_search *search, uint32_t runtimes)
{
	struct asleep *asleep;
	uint32_t wanted = runtimes & ~search->refused;
	__atomic_store_n(&search->has_found, false, __ATOMIC_RELAXED);
	struct err *err = asleep_create(search->bpf, wanted, &asleep);
	for (int i = 0; err && wanted && is_verifiers(err); i++) {
		err_destroy(err);
		search->refused |= i ? wanted : find_refused(search, wanted);
		wanted = i ? 0 : runtimes & ~search->refused;
		err = asleep_create(search->bpf, wanted, &asleep);
	}
	if (err) {
		search->has_failed = true;
		str_truncate(&search->failure, 0);
		str_puts(&search->failure, err_message(err));
		return err;
	}
	asleep_destroy(search->asleep);
	search->asleep = asleep;
	return NULL;
}

void asleep_search_renew(struct asleep_search *search)
{
	uint32_t may_be_met = __atomic_load_n(search->runtimes, __ATOMIC_RELAXED),
		 runtimes = may_be_met & search->bpf->bss->row_kinds & ~search->refused;
	bool is_wanted = search->asleep ? runtimes != asleep_runtimes(search->asleep)
					: may_be_met || search->is_needed;
	if (is_wanted && !search->has_failed)
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
	bool are_marked = false, seeks = true;
	while (seeks && !is_ending(search)) {
		asleep_search_renew(search);
		if (search->asleep && !are_marked)
			asleep_mark_waits(search->bpf);
		are_marked |= search->asleep != NULL;
		bool has_found = !search->asleep || !seek_once(search);
		__atomic_store_n(&search->has_found, has_found, __ATOMIC_RELAXED);
		seeks = search->goes_on || (!has_found && clock_now_ns() < until_ns);
		if (seeks)
			usleep(PAUSE_US);
	}
	return NULL;
}

bool asleep_search_has_found(const struct asleep_search *search)
{
	return !search->has_thread || __atomic_load_n(&search->has_found, __ATOMIC_RELAXED);
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

uint32_t asleep_search_lacking(const struct asleep_search *search)
{
	uint32_t met = __atomic_load_n(search->runtimes, __ATOMIC_RELAXED);
	if (!search->has_failed)
		return search->refused;
	if (!search->asleep)
		return met ? UINT32_MAX : search->refused;
	/* Loaded before the failure: what was met since is lacking. */
	return search->refused |
	       (met & search->bpf->bss->row_kinds & ~asleep_runtimes(search->asleep));
}

void asleep_search_put_lacking(const struct asleep_search *search, struct str *out)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} runtimes[] = {
#define X(constant, number, name) {1U << (number), #name},
		RUNTIMES(X)
#undef X
	};
	static const char begin[] =
		"threads that waited when the recording ended are shown without functions of "
		"scripts";
	const char *comma = "";
	if (search->has_failed && !search->asleep && *search->runtimes)
		str_printf(out, "%s: %s", begin, str_text(&search->failure));
	if (!search->refused || (search->has_failed && !search->asleep))
		return;
	str_printf(out, "%s of these runtimes: ", begin);
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (search->refused & runtimes[i].bit) {
			str_printf(out, "%s%s", comma, runtimes[i].name);
			comma = ", ";
		}
	str_puts(out, "; this kernel refuses the program that reads them");
}

void asleep_search_deinit(struct asleep_search *search)
{
	asleep_search_end(search);
	asleep_destroy(search->asleep);
	str_deinit(&search->failure);
	*search = (struct asleep_search){0};
}
