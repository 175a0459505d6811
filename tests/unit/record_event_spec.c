/* Events as -e names them. */
#include "record/event/event_spec.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>

#include "tests/unit/unit.h"

static struct event_specs specs;

static const struct event_spec *parse(const char *text)
{
	event_specs_deinit(&specs);
	specs.nr_groups = 0;
	CHECK_OK(event_specs_parse(&specs, text));
	return specs.data;
}

static void refuse(const char *text, const char *words)
{
	struct event_specs refused = {0};
	struct err *err = event_specs_parse(&refused, text);
	CHECK(err && err_code(err) == ERR_USAGE);
	if (err && !strstr(err_message(err), words))
		unit_fail(__FILE__, __LINE__, "%s: %s", text, err_message(err));
	err_destroy(err);
	event_specs_deinit(&refused);
}

TEST(event_spec_names)
{
	const struct event_spec *spec = parse("page-faults");
	CHECK_INT(specs.len, 1);
	CHECK_INT(spec->kind, EVENT_SPEC_COUNTER);
	CHECK_INT(spec->type, PERF_TYPE_SOFTWARE);
	CHECK_INT(spec->config, PERF_COUNT_SW_PAGE_FAULTS);
	CHECK_STR(spec->unit, "faults");
	spec = parse("cs,branches,L1-dcache-load-misses,r1a8,rFF");
	CHECK_INT(specs.len, 5);
	CHECK_INT(spec[0].config, PERF_COUNT_SW_CONTEXT_SWITCHES);
	CHECK_STR(spec[0].name, "cs");
	CHECK_INT(spec[1].config, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	CHECK_INT(spec[2].type, PERF_TYPE_HW_CACHE);
	CHECK_INT(spec[2].config, PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
	CHECK_INT(spec[3].type, PERF_TYPE_RAW);
	CHECK_INT(spec[3].config, 0x1a8);
	CHECK_INT(spec[4].config, 0xff);
}

TEST(event_spec_of_the_timer_and_waits)
{
	const struct event_spec *spec = parse("auto,cpu-cycles:k,wall,runq");
	CHECK_INT(spec[0].kind, EVENT_SPEC_TIMER);
	CHECK_INT(spec[0].timer, SESSION_EVENT_AUTO);
	CHECK_INT(spec[1].timer, SESSION_EVENT_CYCLES);
	CHECK(spec[1].modifiers.kernel && !spec[1].modifiers.user);
	CHECK_INT(spec[2].kind, EVENT_SPEC_WAITS);
	CHECK_INT(spec[2].waits, SESSION_WAIT_OFF_CPU | SESSION_WAIT_RUN_QUEUE);
	CHECK(spec[2].has_timer && !spec[3].has_timer);
}

TEST(event_spec_modifiers)
{
	const struct event_spec *spec = parse("instructions:ukpp,cycles:u,branch-misses:PGD");
	CHECK(spec[0].modifiers.user && spec[0].modifiers.kernel);
	CHECK_INT(spec[0].modifiers.precise, 2);
	CHECK(spec[1].modifiers.user && !spec[1].modifiers.kernel);
	CHECK(spec[2].modifiers.is_most_precise && spec[2].modifiers.guest &&
		spec[2].modifiers.is_pinned);
	spec = parse("cycles:pp");
	CHECK_INT(spec->kind, EVENT_SPEC_COUNTER);
	CHECK_INT(spec->config, PERF_COUNT_HW_CPU_CYCLES);
	refuse("cpu-clock:p", ":u and :k only");
	refuse("cycles:", "no modifier");
	refuse("cycles:z", "modifier z");
	refuse("instructions:pppp", "more than three");
	refuse("page-faults:p", "always precise");
	refuse("offcpu:u", "no modifiers");
	refuse("cs:S", "behind a group");
}

TEST(event_spec_terms)
{
	const struct event_spec *spec =
		parse("cpu/event=0x3c,umask=1,period=1000,name=mine/ukp,cs/freq=99/:u");
	CHECK_INT(specs.len, 2);
	CHECK_INT(spec[0].kind, EVENT_SPEC_PMU);
	CHECK_STR(spec[0].text, "cpu");
	CHECK_STR(spec[0].name, "mine");
	CHECK_INT(spec[0].terms.len, 2);
	CHECK_STR(spec[0].terms.data[1].name, "umask");
	CHECK_STR(spec[0].terms.data[1].value, "1");
	CHECK_INT(spec[0].period, 1000);
	CHECK_INT(spec[0].modifiers.precise, 1);
	CHECK_INT(spec[1].frequency_hz, 99);
	CHECK(spec[1].modifiers.user);
	spec = parse("msr/tsc/");
	CHECK_STR(spec->terms.data[0].name, "tsc");
	CHECK(!spec->terms.data[0].value);
	refuse("cpu/event=1", "no /");
	refuse("cs/period=x/", "not a number");
	refuse("cs/period=0/", "from 1");
	refuse("cs/period=1,freq=1/", "exclude");
	refuse("cs/event=1/", "its terms");
	refuse("cpu/=1/", "name=value");
	refuse("cpu/call-graph=fp/", "not supported");
}

TEST(event_spec_breakpoints)
{
	const struct event_spec *spec = parse("mem:0x1000,mem:4096/8:w:u,mem:0x20:x");
	CHECK_INT(spec[0].type, PERF_TYPE_BREAKPOINT);
	CHECK_INT(spec[0].config1, 0x1000);
	CHECK_INT(spec[0].config2, 4);
	CHECK_INT(spec[0].breakpoint_type, HW_BREAKPOINT_RW);
	CHECK_INT(spec[1].config1, 4096);
	CHECK_INT(spec[1].config2, 8);
	CHECK_INT(spec[1].breakpoint_type, HW_BREAKPOINT_W);
	CHECK(spec[1].modifiers.user);
	CHECK_INT(spec[2].config2, sizeof(long));
	refuse("mem:", "no address");
	refuse("mem:0x1000/9", "from 1 to 8");
	refuse("mem:0x1000:rx", "does not go with");
}

TEST(event_spec_probes_and_tracepoints)
{
	const struct event_spec *spec =
		parse("usdt:/usr/bin/php8.2:php:error,uretprobe:./a.out:main,sched:sched_*,cs");
	CHECK_INT(specs.len, 4);
	CHECK_INT(spec[0].kind, EVENT_SPEC_USDT);
	CHECK_STR(spec[0].text, "/usr/bin/php8.2:php:error");
	CHECK_INT(spec[1].kind, EVENT_SPEC_URETPROBE);
	CHECK_STR(spec[1].text, "./a.out:main");
	CHECK_INT(spec[2].kind, EVENT_SPEC_TRACEPOINT);
	CHECK_STR(spec[2].text, "sched:sched_*");
	refuse("uprobe:main", "PATH:FUNCTION");
	refuse("sched:", "is no event");
	refuse(":switch", "is no event");
	refuse("a:b:c", "is no event");
}

TEST(event_spec_durations)
{
	const struct event_spec *spec =
		parse("duration:/usr/lib/libc.so.6:malloc,syscalls/period=5000/,syscall:read");
	CHECK_INT(spec[0].kind, EVENT_SPEC_CALL);
	CHECK_STR(spec[0].text, "/usr/lib/libc.so.6:malloc");
	CHECK_INT(spec[1].kind, EVENT_SPEC_SYSCALLS);
	CHECK(spec[1].text == NULL);
	CHECK_INT(spec[1].period, 5000);
	CHECK_INT(spec[2].kind, EVENT_SPEC_SYSCALLS);
	CHECK_STR(spec[2].text, "read");
	refuse("duration:malloc", "duration:PATH:FUNCTION");
	refuse("syscall:", "syscall:NAME");
	refuse("syscall:read/period=1/k", "system calls have no modifiers");
	CHECK_INT(parse("syscalls:sys_enter_read")->kind, EVENT_SPEC_TRACEPOINT);
	CHECK_INT(parse("lock:contention_begin")->kind, EVENT_SPEC_TRACEPOINT);
	CHECK_INT(parse("lock/period=7/")->kind, EVENT_SPEC_LOCKS);
	CHECK_INT(parse("blk-io/period=7/")->kind, EVENT_SPEC_BLOCK_IO);
	CHECK_INT(parse("blk-io/period=7/")->period, 7);
}

TEST(event_spec_values_of_tracepoints)
{
	const struct event_spec *spec = parse("sched:sched_stat_runtime/value=runtime,period=10/");
	CHECK_INT(spec->kind, EVENT_SPEC_TRACEPOINT);
	CHECK_STR(spec->text, "sched:sched_stat_runtime");
	CHECK_STR(spec->value_field, "runtime");
	CHECK_INT(spec->period, 10);
	refuse("sched:sched_switch/freq=9/", "not a freq=");
	refuse("cs/value=x/", "period=, freq= and name=");
	refuse("sycalls", "did you mean syscalls");
}

TEST(event_spec_groups)
{
	const struct event_spec *spec =
		parse("{cs,page-faults/period=1,name=x/}:uS,migrations,{cs}");
	CHECK_INT(specs.len, 4);
	CHECK_INT(spec[0].group, 1);
	CHECK_INT(spec[1].group, 1);
	CHECK(spec[1].modifiers.is_read_with_group && spec[1].modifiers.user);
	CHECK_INT(spec[2].group, 0);
	CHECK_INT(spec[3].group, 2);
	refuse("{cs:S,faults}", "behind the group");
	refuse("{cs", "no }");
	refuse("{cs}x", "behind a group");
	refuse("{}", "without a name");
	refuse("{cs}:", "no modifier");
}

/* The first one samples; the timer's are counted like others there. */
TEST(event_spec_groups_that_are_read_together)
{
	const struct event_spec *spec = parse("migrations,{cycles,cpu-clock}:S,{cs,faults}:S,{cs}");
	CHECK_INT(spec[1].kind, EVENT_SPEC_COUNTER);
	CHECK_INT(spec[1].type, PERF_TYPE_HARDWARE);
	CHECK_STR(spec[1].unit, "cycles");
	CHECK_INT(spec[2].kind, EVENT_SPEC_COUNTER);
	CHECK_INT(spec[2].type, PERF_TYPE_SOFTWARE);
	CHECK_INT(spec[2].config, PERF_COUNT_SW_CPU_CLOCK);
	CHECK_STR(spec[2].unit, "ns");
	const size_t leaders[] = {0, 1, 1, 3, 3, 5};
	for (size_t i = 0; i < 6; i++)
		CHECK_INT(event_spec_leader(spec, i), leaders[i]);
	spec = parse("{cs,faults}");
	CHECK_INT(event_spec_leader(spec, 1), 1);
	CHECK_INT(parse("{cycles,cs}")->kind, EVENT_SPEC_TIMER);
	CHECK_STR(parse("cycles")->unit, "cycles");
	CHECK_STR(parse("cpu-clock")->unit, "ns");
}

TEST(event_spec_mistyped)
{
	refuse("", "without a name");
	refuse("cs,", "without a name");
	refuse("page-fault", "did you mean page-faults");
	refuse("ofcpu", "did you mean offcpu");
	refuse("no such thing", "is no event");
	refuse("cpu", "it is cpu-clock, the default");
	refuse("alloc", "allocated memory is --heap");
}
