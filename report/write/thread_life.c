#include "report/write/thread_life.h"

#include "report/model/event_value.h"
#include "report/model/text/json.h"

struct thread_life {
	uint64_t life_ns, running_ns, queued_ns, blocked_ns;
	/* Of those parts that the kernel has accounts of, as we and it have them. */
	uint64_t known_running_ns, known_queued_ns, kernel_running_ns, kernel_queued_ns;
	uint64_t voluntary, involuntary;
};

static void add_thread_times(struct thread_life *life, const struct layout_thread_times *times)
{
	uint64_t running_ns = times->life_ns - times->queued_ns - times->blocked_ns;
	life->life_ns += times->life_ns;
	life->running_ns += running_ns;
	life->queued_ns += times->queued_ns;
	life->blocked_ns += times->blocked_ns;
	if (!times->has_kernel)
		return;
	life->known_running_ns += running_ns;
	life->known_queued_ns += times->queued_ns;
	life->kernel_running_ns += times->kernel_on_ns;
	life->kernel_queued_ns += times->kernel_queued_ns;
	life->voluntary += times->voluntary;
	life->involuntary += times->involuntary;
}

/* Of each thread, whichever names it had: the first of its ids in the file stands for it. */
struct thread_lives {
	struct map by_key; /* of the thread -> index of: */
	VEC(struct thread_life_of {
		uint32_t thread;
		struct thread_life life;
	}) lives;
};

static void find_thread_lives(const struct profile *profile, struct thread_lives *ret)
{
	*ret = (struct thread_lives){0};
	vec_each(&profile->thread_times, times) {
		bool is_new;
		uint64_t key = profile_thread_key(profile, times->thread);
		uint64_t *index = map_put(&ret->by_key, key, &is_new);
		if (is_new) {
			*index = ret->lives.len;
			vec_push(&ret->lives, (struct thread_life_of){.thread = times->thread});
		}
		add_thread_times(&ret->lives.data[*index].life, times);
	}
}

static void thread_lives_deinit(struct thread_lives *lives)
{
	map_deinit(&lives->by_key);
	vec_deinit(&lives->lives);
}

static struct thread_life life_of_all(const struct profile *profile)
{
	struct thread_life all = {0};
	vec_each(&profile->thread_times, times)
		add_thread_times(&all, times);
	return all;
}

static void put_life_ns(uint64_t ns, const char *what, struct str *out)
{
	static const struct profile_event event = {.unit = LAYOUT_UNIT_NS};
	event_value_put(&event, ns, false, out);
	str_puts(out, what);
}

/* CPU time is known by three measures, whose figures differ. */
static void put_sampled(const struct profile *profile, struct str *out)
{
	const char *name = NULL;
	uint64_t sampled_ns = 0;
	vec_each(&profile->samples, sample) {
		const struct profile_event *event = &profile->events.data[sample->event];
		if (!event->period || !event_value_is_cpu_time(event))
			continue;
		name = event->name;
		sampled_ns += profile_sample_value(profile, sample);
	}
	str_printf(out, "%-14s running was measured at each switch between threads", "");
	if (name) {
		str_printf(out, "; by the samples of %s it is ", name);
		put_life_ns(sampled_ns, "", out);
	}
	str_putc(out, '\n');
}

void thread_life_put(const struct profile *profile, struct str *out)
{
	if (!profile->thread_times.len)
		return;
	struct thread_life all = life_of_all(profile);
	str_printf(out, "%-14s ", "threads' time");
	put_life_ns(all.life_ns, " = ", out);
	put_life_ns(all.running_ns, " running + ", out);
	put_life_ns(all.queued_ns, " in run queues + ", out);
	put_life_ns(all.blocked_ns, " blocked\n", out);
	str_printf(out, "%-14s by the kernel's own accounts ", "");
	put_life_ns(all.kernel_running_ns, " running (here ", out);
	put_life_ns(all.known_running_ns, "), ", out);
	put_life_ns(all.kernel_queued_ns, " in run queues (here ", out);
	put_life_ns(all.known_queued_ns, ")\n", out);
	put_sampled(profile, out);
	str_printf(out, "%-14s left a CPU %llu times to wait, %llu times for others\n", "",
		(unsigned long long)all.voluntary, (unsigned long long)all.involuntary);
}

static void put_json_life(const struct thread_life *life, struct str *out)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{"life_ns", life->life_ns},
		{"running_ns", life->running_ns},
		{"queued_ns", life->queued_ns},
		{"blocked_ns", life->blocked_ns},
		{"kernel_running_ns", life->kernel_running_ns},
		{"kernel_queued_ns", life->kernel_queued_ns},
		{"voluntary", life->voluntary},
		{"involuntary", life->involuntary},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		str_printf(out, "%s\"%s\": %llu", i ? ", " : "", rows[i].name,
			(unsigned long long)rows[i].value);
}

void thread_life_put_json(const struct profile *profile, struct str *out)
{
	if (!profile->thread_times.len)
		return;
	struct thread_lives each;
	struct thread_life all = life_of_all(profile);
	find_thread_lives(profile, &each);
	str_puts(out, "  \"thread_times\": {\n    ");
	put_json_life(&all, out);
	str_puts(out, ",\n    \"threads\": [");
	vec_each(&each.lives, it) {
		const struct profile_thread *thread = &profile->threads.data[it->thread];
		str_printf(out, "%s\n      {\"pid\": %u, \"tid\": %u, \"comm\": ",
			it == each.lives.data ? "" : ",", thread->pid, thread->tid);
		json_quote(out, thread->comm);
		str_puts(out, ", ");
		put_json_life(&it->life, out);
		str_putc(out, '}');
	}
	str_puts(out, "\n    ]\n  },\n");
	thread_lives_deinit(&each);
}
