/* What control groups there are, and which of them names stand for: groups of this machine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/cgroup/cgroup_tree.h"
#include "record/cgroup/target_cgroups.h"
#include "record/cgroup_filter.h"
#include "tests/unit/unit.h"

#define ID_ONE "aa11111111111111111111111111111111111111111111111111111111111111"
#define ID_TWO "aa22222222222222222222222222222222222222222222222222222222222222"

enum {
	FOLDER,
	WEB,
	BELOW,
	ONE,
	TWO,
	BOX,
	NR_GROUPS,
};

static const char *const names[NR_GROUPS] = {
	[FOLDER] = "",
	[WEB] = "/ebprof-web.service",
	[BELOW] = "/ebprof-web.service/below",
	[ONE] = "/docker-" ID_ONE ".scope",
	[TWO] = "/docker-" ID_TWO ".scope",
	[BOX] = "/machine-ebprof\\x2dbox.scope",
};

/* Each test runs in a process of its own. */
static struct cgroup_tree tree;
static enum event_cgroup_hierarchy made_in;
static struct str paths[NR_GROUPS]; /* from the root of the hierarchy on */

static void remove_group(size_t i)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s%s", tree.points[made_in], str_text(&paths[i]));
	rmdir(str_text(&path));
}

static void make_group(size_t i)
{
	CLEANUP(str_deinit) struct str path = {0};
	str_printf(&path, "%s%s", tree.points[made_in], str_text(&paths[i]));
	if (mkdir(str_text(&path), 0755) && errno != EEXIST)
		unit_skip("no control group can be made");
}

static void remove_groups(void)
{
	for (size_t i = NR_GROUPS; i-- > 0;)
		remove_group(i);
}

static void make_groups(void)
{
	struct err *err = cgroup_tree_open(&tree);
	if (err)
		unit_skip("no control groups are mounted");
	made_in = tree.points[EVENT_CGROUP_UNIFIED] ? EVENT_CGROUP_UNIFIED : EVENT_CGROUP_MEMORY;
	for (size_t i = 0; i < NR_GROUPS; i++) {
		str_printf(&paths[i], "/ebprof-unit-%d%s", (int)getpid(), names[i]);
		make_group(i);
	}
	atexit(remove_groups);
}

static struct target_cgroups targets;

static struct err *open_one(enum cgroup_name_kind kind, const char *text)
{
	static struct cgroup_name name;
	name = (struct cgroup_name){kind, text};
	return target_cgroups_open(&name, 1, &targets);
}

/* The name stands for the group, alone. */
static void check_is(enum cgroup_name_kind kind, const char *text, size_t group)
{
	struct cgroup_place place;
	CHECK(cgroup_tree_find(&tree, made_in, str_text(&paths[group]), &place));
	CHECK_OK(open_one(kind, text));
	CHECK_INT(targets.groups.len, 1);
	CHECK(targets.groups.len && targets.groups.data[0].id == place.key.id &&
		targets.groups.data[0].hierarchy == place.key.hierarchy);
	CHECK(targets.first_level <= place.level && place.level <= targets.last_level);
	target_cgroups_deinit(&targets);
}

static void check_missing(enum cgroup_name_kind kind, const char *text, const char *part)
{
	CHECK_ERR(open_one(kind, text), ERR_USAGE, part);
	target_cgroups_deinit(&targets);
}

TEST(control_groups_have_names)
{
	make_groups();
	check_is(CGROUP_NAME_UNIT, "ebprof-web", WEB);
	check_is(CGROUP_NAME_UNIT, "ebprof-web.service", WEB);
	check_is(CGROUP_NAME_CONTAINER, ID_ONE, ONE);
	check_is(CGROUP_NAME_CONTAINER, "aa2222", TWO);
	check_is(CGROUP_NAME_CONTAINER, "ebprof-box", BOX);
	check_is(CGROUP_NAME_PATH, str_text(&paths[BELOW]), BELOW);
	check_is(CGROUP_NAME_PATH, str_text(&paths[BELOW]) + 1, BELOW);
	CLEANUP(str_deinit) struct str whole = {0};
	str_printf(&whole, "%s%s", tree.points[made_in], str_text(&paths[WEB]));
	check_is(CGROUP_NAME_PATH, str_text(&whole), WEB);
}

TEST(names_that_stand_for_nothing_are_refused)
{
	make_groups();
	check_missing(CGROUP_NAME_UNIT, "ebprof-wep", "is \"ebprof-web\" meant?");
	check_missing(CGROUP_NAME_UNIT, "ebprof-web.scope", "no unit");
	check_missing(CGROUP_NAME_CONTAINER, "ebprof-bx", "is \"ebprof-box\" meant?");
	check_missing(CGROUP_NAME_CONTAINER, "aa", "several containers: aa");
	check_missing(CGROUP_NAME_PATH, "/no/such/group/at/all", "no control group");
	check_missing(CGROUP_NAME_PATH, "/../../etc", "no control group");
	CLEANUP(str_deinit) struct str wrong = {0};
	str_printf(&wrong, "%s.", str_text(&paths[WEB]));
	check_missing(CGROUP_NAME_PATH, str_text(&wrong), str_text(&paths[WEB]));
}

/* A unit that is started again has a group of another number. */
TEST(names_stand_for_what_has_them_now)
{
	make_groups();
	CHECK_OK(open_one(CGROUP_NAME_UNIT, "ebprof-web"));
	uint64_t first = targets.groups.data[0].id;
	CHECK(!target_cgroups_renew(&targets));
	remove_group(BELOW);
	remove_group(WEB);
	CHECK(target_cgroups_renew(&targets));
	CHECK_INT(targets.groups.len, 0);
	make_group(WEB);
	CHECK(target_cgroups_renew(&targets));
	CHECK_INT(targets.groups.len, 1);
	CHECK(targets.groups.data[0].id != first);
	target_cgroups_deinit(&targets);
}

TEST(groups_without_room_are_counted)
{
	enum {
		MORE = 5,
	};
	VEC(struct cgroup_name) all = {0};
	make_groups();
	for (size_t i = 0; i < EVENT_MAX_CGROUPS + MORE; i++)
		vec_push(&all, (struct cgroup_name){CGROUP_NAME_PATH, str_text(&paths[WEB])});
	CHECK_ERR(target_cgroups_open(all.data, all.len, &targets), ERR_USAGE,
		"more than 4095 control groups have these names");
	target_cgroups_renew(&targets);
	CHECK_INT(targets.groups.len, EVENT_MAX_CGROUPS);
	CHECK_INT(targets.nr_left_out, MORE);
	targets.nr_names = 1;
	CHECK(target_cgroups_renew(&targets));
	CHECK_INT(targets.nr_left_out, 0);
	target_cgroups_deinit(&targets);
	vec_deinit(&all);
}

TEST(targets_are_described)
{
	static const struct cgroup_name all[] = {{CGROUP_NAME_UNIT, "nginx"},
		{CGROUP_NAME_CONTAINER, "web"}, {CGROUP_NAME_PATH, "/user.slice"}};
	CLEANUP(str_deinit) struct str text = {0};
	target_cgroups_describe(all, 3, &text);
	CHECK_STR(str_text(&text), "unit nginx, container web, cgroup /user.slice");
}

TEST(no_filter_does_nothing)
{
	struct cgroup_filter filter = {0};
	CHECK_OK(cgroup_filter_open(&filter, &(struct session_options){0}, NULL));
	CHECK_OK(cgroup_filter_renew(&filter, 1));
	cgroup_filter_deinit(&filter);
}

/* A container that stands there for each of its ports is one. */
TEST(labelled_targets_are_those_of_the_file)
{
	static const struct label_target labelled[] = {{.pid = 42}, {.container_id = "web"},
		{.container_id = "web"}, {.container_id = "db"}};
	struct label_file file = {.nr_reads = 1};
	struct cgroup_filter filter = {0};
	vec_append(&file.targets, labelled, 4);
	CHECK_OK(cgroup_filter_open(
		&filter, &(struct session_options){.target = SESSION_LABELLED}, &file));
	CHECK_INT(filter.pids.len, 1);
	CHECK_INT(filter.pids.data[0], 42);
	CHECK_INT(filter.targets.nr_names, 2);
	CHECK_STR(filter.targets.names[1].text, "db");
	CHECK_INT(filter.targets.groups.len, 0);
	cgroup_filter_deinit(&filter);
	vec_deinit(&file.targets);
}
