/* Labels that all samples of a process have. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "record/label/label_file.h"
#include "record/label/process_labels.h"
#include "tests/unit/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void write_labels(const char *text)
{
	FILE *file = fopen("new.json", "we");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
	CHECK(rename("new.json", "labels.json") == 0);
}

static void check_file_refused(const char *text, const char *why)
{
	struct label_file file;
	write_labels(text);
	CHECK_ERR(label_file_open(&file, "labels.json"), ERR_FORMAT, why);
	label_file_deinit(&file);
}

static void put_many_targets(struct str *out, unsigned count)
{
	for (unsigned i = 1; i <= count; i++)
		str_printf(
			out, "%s{\"labels\":{\"__process_pid__\":\"%u\"}}", i > 1 ? "," : "[", i);
	str_puts(out, "]");
}

TEST(a_file_of_too_many_targets_is_refused)
{
	struct label_file file;
	CLEANUP(str_deinit) struct str most = {0}, more = {0};
	put_many_targets(&most, 65536);
	put_many_targets(&more, 65537);
	check_file_refused(
		str_text(&more), "labels.json: more than 65536 processes and containers");
	write_labels(str_text(&most));
	CHECK_OK(label_file_open(&file, "labels.json"));
	CHECK_INT(file.targets.len, 65536);
	label_file_deinit(&file);
}

static const char *value_of(const struct label_target *target, const char *key)
{
	for (size_t i = 0; target && i < target->nr_labels; i++)
		if (strcmp(target->labels[i].key, key) == 0)
			return target->labels[i].value;
	return "";
}

TEST(a_file_of_labels_names_processes_and_containers)
{
	struct label_file file;
	write_labels("[{\"targets\":[\"a\"],\"labels\":{\"__container_id__\":\"docker://" ID
		     "\",\"tier\":\"front\",\"__meta_x\":\"no\"}},"
		     "{\"targets\":[],\"labels\":{\"__process_pid__\":\"42\",\"tier\":\"back\"}},"
		     "{\"targets\":[\"b\"]}]");
	CHECK_OK(label_file_open(&file, "labels.json"));
	CHECK_STR(value_of(label_file_find(&file, 7, ID), "tier"), "front");
	CHECK_INT(label_file_find(&file, 7, ID)->nr_labels, 1);
	CHECK_STR(value_of(label_file_find(&file, 42, ID), "tier"), "back");
	CHECK(!label_file_find(&file, 7, ""));
	CHECK(!label_file_renew(&file, 1000000000));
	write_labels("[");
	CHECK(!label_file_renew(&file, 2000000000)); /* what was read before holds */
	CHECK_ERR(steal_ptr(file.last), ERR_FORMAT, "no JSON at byte 1");
	CHECK_STR(value_of(label_file_find(&file, 42, ID), "tier"), "back");
	write_labels("[{\"labels\":{\"__process_pid__\":\"42\",\"tier\":\"new\"}}]");
	CHECK(label_file_renew(&file, 3000000000));
	CHECK_STR(value_of(label_file_find(&file, 42, ID), "tier"), "new");
	label_file_deinit(&file);
}

TEST(service_discovery_names_services)
{
	static const struct {
		const char *labels, *want;
	} rows[] = {
		{"\"__meta_kubernetes_namespace\":\"prod\","
		 "\"__meta_kubernetes_pod_container_name\":\"app\"",
			"ebpf/prod/app"},
		{"\"__meta_kubernetes_namespace\":\"prod\","
		 "\"__meta_kubernetes_pod_container_name\":\"app\","
		 "\"__meta_kubernetes_pod_annotation_pyroscope_io_service_name\":\"shop\"",
			"shop"},
		{"\"__meta_docker_container_name\":\"/web\"", "web"},
		{"\"__meta_dockerswarm_service_name\":\"db\"", "db"},
		{"\"__meta_kubernetes_namespace\":\"prod\"", NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct label_file file;
		CLEANUP(str_deinit) struct str text = {0};
		str_printf(&text, "[{\"labels\":{\"__process_pid__\":\"42\",%s}}]", rows[i].labels);
		write_labels(str_text(&text));
		CHECK_OK(label_file_open(&file, "labels.json"));
		const char *service = label_file_find(&file, 42, "")->service;
		CHECK_STR(service ? service : "none", rows[i].want ? rows[i].want : "none");
		label_file_deinit(&file);
	}
}

TEST(hostile_files_of_labels_are_refused)
{
	struct label_file file;
	check_file_refused("{}", "no list of targets");
	check_file_refused("[1]", "an entry is no object");
	check_file_refused("[{\"labels\":[]}]", "an entry is no object");
	check_file_refused("[{\"labels\":", "no JSON");
	CHECK_ERR(label_file_open(&file, "."), ERR_FORMAT, "no regular file");
	label_file_deinit(&file);
	CHECK_ERR(label_file_open(&file, "absent"), ERR_IO, "absent");
	label_file_deinit(&file);
}

static struct label_table table;
static struct process_labels labels;

/* "key=value key=value", the last added first. */
static void check_labels(uint32_t set, const char *want)
{
	CLEANUP(str_deinit) struct str got = {0};
	for (; set; set = table.sets.data[set].rest)
		str_printf(&got, "%s%s=%s", got.len ? " " : "",
			strtab_get(&table.texts, table.sets.data[set].key),
			strtab_get(&table.texts, table.sets.data[set].value));
	CHECK_STR(str_text(&got), want);
}

static uint32_t labels_of(struct process *process, uint32_t set)
{
	bool is_short = false;
	uint32_t ret = process_labels_add(&labels, &table, process, set, 1, &is_short);
	CHECK(!is_short);
	return ret;
}

static void end_labels(void)
{
	process_labels_deinit(&labels);
	label_table_deinit(&table);
}

TEST(processes_have_labels_of_their_environment)
{
	static const char *const variables[] = {"TEAM", "ABSENT"};
	struct process_label_options options = {
		.variables = variables, .nr_variables = 2, .sources = 1 << EVENT_LABEL_SERVICE};
	setenv("TEAM", "late", true); /* /proc has what a program began with */
	process_labels_init(&labels);
	CHECK_OK(process_labels_begin(&labels, &options));
	pid_t child = fork();
	if (child == 0) {
		execle("/bin/sleep", "sleep", "30", NULL,
			(char *const[]){"TEAM=shop", "TEAMS=no", "OTEL_SERVICE_NAME=cart", NULL});
		_exit(1);
	}
	struct process process = {.pid = (uint32_t)child, .cgroup = (char *)""};
	for (int i = 0; i < 1000 && (i == 0 || !process.label_list); i++) {
		usleep(20000); /* until it is sleep */
		process.label_generation = 0;
		labels_of(&process, 0);
		if (strstr(strtab_get(&labels.lists, process.label_list), "TEAM"))
			break;
	}
	check_labels(labels_of(&process, 0), "service_name=cart TEAM=shop");
	uint32_t own = label_table_add(&table, 0, "TEAM", 4, LAYOUT_LABEL_TEXT, "mine", 4);
	check_labels(labels_of(&process, own), "TEAM=mine service_name=cart");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	CHECK(!process.lacks_labels);
	process.label_generation = 0;
	labels_of(&process, 0);
	CHECK(process.lacks_labels);
	end_labels();
}

TEST(services_have_the_first_name_that_there_is)
{
	struct process_label_options options = {
		.sources = 1 << EVENT_LABEL_SERVICE | 1 << EVENT_LABEL_CONTAINER,
		.file = "labels.json"};
	struct process process = {.pid = (uint32_t)getpid()};
	write_labels("[{\"labels\":{\"__container_id__\":\"" ID "\",\"service_name\":\"given\"}}]");
	unsetenv("OTEL_SERVICE_NAME");
	process_labels_init(&labels);
	labels.containers.root = ".";
	CHECK_OK(process_labels_begin(&labels, &options));
	static const struct {
		const char *cgroup, *want;
	} rows[] = {
		{"/", "service_name=unspecified"},
		{"/system.slice/nginx.service", "service_name=nginx.service"},
		{"/machine.slice/machine-box.scope", "service_name=box container.name=box"},
		{"/docker/" ID, "service_name=given"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		process.cgroup = (char *)rows[i].cgroup;
		process.label_generation = 0;
		check_labels(labels_of(&process, 0), rows[i].want);
	}
	write_labels("[{\"labels\":{\"__container_id__\":\"" ID "\",\"service_name\":\"other\"}}]");
	process_labels_renew(&labels, 1000000000);
	check_labels(labels_of(&process, 0), "service_name=other");
	end_labels();
}

/* Of the same size and time as before, in the same place. */
TEST(labels_are_read_again_when_that_is_asked_for)
{
	struct process process = {.pid = 42, .cgroup = (char *)"/"};
	struct stat st;
	write_labels("[{\"labels\":{\"__process_pid__\":\"42\",\"team\":\"shop\"}}]");
	process_labels_init(&labels);
	CHECK_OK(process_labels_begin(
		&labels, &(struct process_label_options){.file = "labels.json"}));
	check_labels(labels_of(&process, 0), "team=shop");
	CHECK(stat("labels.json", &st) == 0);
	FILE *file = fopen("labels.json", "r+e");
	CHECK(file && fseek(file, -8, SEEK_END) == 0 && fputs("cart\"}}]", file) >= 0);
	CHECK(fclose(file) == 0);
	const struct timespec times[] = {st.st_atim, st.st_mtim};
	CHECK(utimensat(AT_FDCWD, "labels.json", times, 0) == 0);
	process_labels_renew(&labels, 1000000000);
	check_labels(labels_of(&process, 0), "team=shop");
	process_labels_read_again(&labels, 1000000001);
	check_labels(labels_of(&process, 0), "team=cart");
	end_labels();
}

TEST(nothing_is_added_unless_it_is_wanted)
{
	struct process process = {.cgroup = (char *)"/docker/" ID};
	process_labels_init(&labels);
	CHECK_OK(process_labels_begin(&labels, &(struct process_label_options){0}));
	CHECK_INT(labels_of(&process, 5), 5);
	end_labels();
}
