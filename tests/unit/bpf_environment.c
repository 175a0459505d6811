/* Variables of environments, taken at an exec: from the kernel's program to a process's labels. */
#include <stdio.h>
#include <string.h>

#include "bpf/event.h"
#include "record/label/environments.h"
#include "tests/unit/emulate/kernel.h"
#include "tests/unit/unit.h"

enum {
	ENVIRONMENT = 0x7ffd00000000,
};

/* Without a NUL. */
static void put_bytes(char *to, const char *text)
{
	while (*text)
		*to++ = *text++;
}

/* `text` has NULs in it. */
static const struct event_environment *exec_with(const char *text, size_t len)
{
	const struct event_variable wanted[] = {
		environments_variable("TEAM"), environments_variable("LONG_NAME")};
	emulate_boot(EMULATED_5_10);
	emulated.pid = emulated.tid = 42;
	emulated.start_ns = 1000;
	emulated.exec_id = 3;
	emulate_memory(ENVIRONMENT, text, len);
	emulate_exec(wanted, sizeof(wanted) / sizeof(*wanted), ENVIRONMENT, ENVIRONMENT + len);
	CHECK_INT(emulated_count(EVENT_ENVIRONMENT), 1);
	return emulated_record(EVENT_ENVIRONMENT, 0);
}

static void check_known(const struct environments *environments, const struct process *process,
	enum environments_known want, const char *text, size_t len)
{
	struct str found = {0};
	CHECK_INT(environments_find(environments, process, &found), want);
	CHECK_INT(found.len, len);
	CHECK(!len || memcmp(found.data, text, len) == 0);
	str_deinit(&found);
}

static void check_found(const struct environments *environments, const struct process *process,
	const char *text, size_t len)
{
	check_known(environments, process, ENVIRONMENT_WHOLE, text, len);
}

/* Of others there are those alone that begin alike: TEAM=, and 8 bytes of the longer name. */
TEST(environment_has_the_wanted_variables)
{
	static const char text[] =
		"PATH=/bin\0TEAM=shop\0TEAMS=x\0LONG_NAME=y\0LONG_NAMED=z\0XTEAM=n";
	static const char wanted[48] = "TEAM=shop\0\0\0\0\0\0\0"
				       "LONG_NAME=y\0\0\0\0\0"
				       "LONG_NAMED=z";
	const struct event_environment *event = exec_with(text, sizeof(text));
	CHECK_INT(event->pid, 42);
	CHECK_INT(event->start_ns, 1000);
	CHECK_INT(event->exec_id, 3);
	CHECK_INT(event->is_cut, 0);
	CHECK_INT(event->bytes, sizeof(wanted));
	CHECK(memcmp(event->text, wanted, sizeof(wanted)) == 0);
	static const char whole[] = "TEAM=shop\0LONG_NAME=y\0LONG_NAMED=z";
	struct environments environments = {0};
	struct process process = {.pid = 42, .start_ns = 1000, .exec_id = 3, .has_exec_id = true};
	CHECK(!environments_find(&environments, &process, &(struct str){0}));
	environments_take(&environments, event);
	check_found(&environments, &process, whole, sizeof(whole));
	struct process child = {.pid = 43,
		.parent_pid = 42,
		.start_ns = event->exec_ns + 1,
		.exec_id = 3,
		.has_exec_id = true};
	check_found(&environments, &child, whole, sizeof(whole));
	child.start_ns = event->exec_ns - 1; /* it was forked by what its parent ran before */
	CHECK(!environments_find(&environments, &child, &(struct str){0}));
	child.start_ns = event->exec_ns + 1;
	child.exec_id = 4; /* it has executed another program */
	CHECK(!environments_find(&environments, &child, &(struct str){0}));
	process.start_ns = 2000; /* another process with that number */
	CHECK(!environments_find(&environments, &process, &(struct str){0}));
	environments_deinit(&environments);
}

/* What is cut is not kept, what came whole is; /proc has all of it. */
TEST(environment_that_is_cut_is_said_to_be)
{
	static char text[4096];
	static const char whole[] = "TEAM=shop";
	memset(text, 'x', sizeof(text));
	put_bytes(text, "TEAM=shop");
	text[sizeof(whole) - 1] = '\0';
	put_bytes(text + sizeof(whole), "LONG_NAME=");
	const struct event_environment *event = exec_with(text, 2000);
	CHECK_INT(event->is_cut, 1);
	struct environments environments = {0};
	struct process process = {.pid = 42, .start_ns = 1000, .exec_id = 3, .has_exec_id = true};
	environments_take(&environments, event);
	check_known(&environments, &process, ENVIRONMENT_IN_PART, whole, sizeof(whole));
	environments_deinit(&environments);
}

/* Exec ids are counted from the parent's on: that of a program which the parent executed later may
 * be the child's own. */
TEST(environment_of_a_parent_is_that_of_the_fork)
{
	struct environments environments = {0};
	struct event_environment parents = {.type = EVENT_ENVIRONMENT,
		.pid = 42,
		.start_ns = 1000,
		.exec_ns = 5000,
		.exec_id = 4,
		.bytes = 16};
	struct event_environment childs = {.type = EVENT_ENVIRONMENT,
		.pid = 43,
		.start_ns = 3000,
		.exec_ns = 4000,
		.exec_id = 4,
		.is_cut = 1};
	struct process child = {
		.pid = 43, .parent_pid = 42, .start_ns = 3000, .exec_id = 4, .has_exec_id = true};
	memcpy(parents.text, "TEAM=parent", 12);
	environments_take(&environments, &parents);
	check_known(&environments, &child, ENVIRONMENT_UNKNOWN, "", 0); /* its own was lost */
	environments_take(&environments, &childs);
	check_known(&environments, &child, ENVIRONMENT_IN_PART, "", 0);
	environments_deinit(&environments);
}

/* A long one that is not wanted is passed over; what follows in it is no variable. */
TEST(environment_passes_over_long_variables)
{
	static char text[2048];
	memset(text, 'x', 1500);
	put_bytes(text, "LS_COLORS=");
	put_bytes(text + EVENT_MAX_VARIABLE_BYTES - 1, "TEAM=no");
	memcpy(text + 1501, "TEAM=shop", 10);
	const struct event_environment *event = exec_with(text, 1511);
	CHECK_INT(event->is_cut, 0);
	CHECK_STR((const char *)event->text, "TEAM=shop");
}

TEST(environments_of_many_execs_replace_older_ones)
{
	struct environments environments = {0};
	struct event_environment event = {.type = EVENT_ENVIRONMENT, .bytes = 8};
	memcpy(event.text, "A=b", 4);
	for (uint32_t pid = 1; pid <= 100000; pid++) {
		event.pid = pid;
		event.start_ns = pid;
		environments_take(&environments, &event);
	}
	struct process process = {.pid = 100000, .start_ns = 100000, .has_exec_id = true};
	check_found(&environments, &process, "A=b", 4);
	process.pid = 1;
	process.start_ns = 1;
	CHECK(!environments_find(&environments, &process, &(struct str){0}));
	/* Nor are they kept where they are large. */
	event.bytes = 4 * EVENT_MAX_VARIABLE_BYTES;
	memset(event.text, 'x', sizeof(event.text));
	for (uint32_t i = 1; i <= 4; i++)
		event.text[i * EVENT_MAX_VARIABLE_BYTES - 8] = '\0';
	for (uint32_t pid = 1; pid <= 10000; pid++) {
		event.pid = pid;
		environments_take(&environments, &event);
	}
	CHECK(environments.latest.texts.len + environments.before.texts.len < 3 << 20);
	environments_deinit(&environments);
}
