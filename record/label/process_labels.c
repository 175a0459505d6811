#include "record/label/process_labels.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "format/base/cgroup_path.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "record/label/label_source.h"

enum {
	MAX_LISTS = 64 << 10,
	MAX_SETS = 256 << 10,
	MAX_ENVIRONMENT_BYTES = 256 << 10,
	MAX_VALUE_BYTES = 256,
	READ_MS = 50, /* of an environment: what takes longer is no one's own */
};

#define SERVICE_NAME "service_name"
/* opentelemetry.io, specification, "Environment Variable Specification" */
#define OTEL_SERVICE   "OTEL_SERVICE_NAME"
#define OTEL_RESOURCE  "OTEL_RESOURCE_ATTRIBUTES"
#define OTEL_ATTRIBUTE "service.name="

void process_labels_init(struct process_labels *labels)
{
	*labels = (struct process_labels){0};
	process_contexts_init(&labels->contexts);
	strtab_intern(&labels->lists, "", 0);
}

/* ---- environments ---- */

/* In the worker, since a process chooses what memory its environment is in: all of it. */
static void read_environment(void **kept, const void *request, size_t len, struct bytes_buf *ret)
{
	uint32_t pid;
	char path[64];
	(void)kept;
	if (len != sizeof(pid))
		return;
	memcpy(&pid, request, sizeof(pid));
	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t chunk[16 << 10];
	ssize_t got = -1;
	bytes_put_u8(ret, false);
	while (fd >= 0 && ret->len < MAX_ENVIRONMENT_BYTES &&
		(got = fd_read(fd, chunk, sizeof(chunk))) > 0)
		bytes_put(ret, chunk, (size_t)got);
	ret->data[0] = got >= 0; /* it is there */
}

static bool wants_service(const struct process_labels *labels)
{
	return labels->options.sources >> EVENT_LABEL_SERVICE & 1;
}

static bool wants_containers(const struct process_labels *labels)
{
	return labels->options.sources >> EVENT_LABEL_CONTAINER & 1;
}

static bool wants_resource(const struct process_labels *labels)
{
	return labels->options.sources >> EVENT_LABEL_RESOURCE & 1;
}

/*
 * Variables with NULs behind them. False: it could not be read, or in no time; then the answer that
 * comes yet is passed over by the next one who asks.
 */
static bool ask_for_environment(struct process_labels *labels, uint32_t pid, struct str *ret)
{
	const struct bytes_buf *answer = NULL;
	uint64_t until_ns = clock_now_ns() + (uint64_t)READ_MS * 1000 * 1000;
	target_reader_submit(&labels->reader, pid, &pid, sizeof(pid));
	target_reader_send(&labels->reader);
	labels->nr_asked++;
	while (labels->nr_answers < labels->nr_asked && clock_now_ns() < until_ns) {
		if (target_reader_take(&labels->reader, &answer)) {
			labels->nr_answers++;
			continue;
		}
		struct pollfd fd = {.fd = target_reader_fd(&labels->reader), .events = POLLIN};
		poll(&fd, 1, 5);
	}
	if (labels->nr_answers < labels->nr_asked || !answer || !answer->len || !answer->data[0])
		return false;
	str_write(ret, answer->data + 1, answer->len - 1);
	return true;
}

/*
 * ... of the process's program: as it was executed, or as /proc has it. False: some may be missing.
 */
static bool find_environment(
	struct process_labels *labels, const struct process *process, struct str *ret)
{
	if (!labels->has_reader)
		return true;
	CLEANUP(str_deinit) struct str all = {0};
	enum environments_known known = environments_find(&labels->environments, process, ret);
	if (known == ENVIRONMENT_WHOLE)
		return true;
	if (!ask_for_environment(labels, process->pid, &all))
		return false;
	str_truncate(ret, 0);
	str_write(ret, str_text(&all), all.len);
	return true;
}

size_t process_labels_variables(
	const struct process_labels *labels, struct event_variable variables[EVENT_MAX_VARIABLES])
{
	size_t count = labels->options.nr_variables, of_service = wants_service(labels) ? 2 : 0;
	if (count + of_service > EVENT_MAX_VARIABLES)
		return 0;
	for (size_t i = 0; i < count; i++)
		variables[i] = environments_variable(labels->options.variables[i]);
	if (of_service) {
		variables[count++] = environments_variable(OTEL_SERVICE);
		variables[count++] = environments_variable(OTEL_RESOURCE);
	}
	return count;
}

/* NULL: there is none of that name. */
static const char *find_variable(const struct str *environment, const char *name)
{
	size_t len = strlen(name);
	const char *at = environment->data, *end = at + environment->len;
	for (; at && at < end; at += strlen(at) + 1)
		if (strncmp(at, name, len) == 0 && at[len] == '=')
			return at + len + 1;
	return NULL;
}

/* ---- lists ---- */

/* The first of a key stays. */
static bool has_list_key(const struct str *list, const char *key)
{
	const char *at = list->data, *end = at + list->len;
	while (at && at < end) {
		if (strcmp(at, key) == 0)
			return true;
		at += strlen(at) + 1;
		at += strlen(at) + 1;
	}
	return false;
}

static void put_process_label(struct str *list, const char *key, const char *value, size_t len)
{
	if (!value || !len || has_list_key(list, key))
		return;
	str_write(list, key, strlen(key) + 1);
	str_write(list, value, len < MAX_VALUE_BYTES ? len : MAX_VALUE_BYTES);
	str_write(list, "", 1);
}

static void put_list_text(struct str *list, const char *key, const char *value)
{
	put_process_label(list, key, value, value ? strlen(value) : 0);
}

static void put_variables(
	const struct process_labels *labels, const struct str *environment, struct str *list)
{
	for (size_t i = 0; i < labels->options.nr_variables; i++) {
		const char *name = labels->options.variables[i];
		put_list_text(list, name, find_variable(environment, name));
	}
}

/* OpenTelemetry's names of what is known. */
static void put_container(const struct container_name *name, struct str *list)
{
	put_list_text(list, "container.name", name->name);
	put_list_text(list, "container.image.name", name->image);
	put_list_text(list, "k8s.pod.name", name->pod);
	put_list_text(list, "k8s.namespace.name", name->k8s_namespace);
	put_list_text(list, "k8s.container.name", name->k8s_container);
	put_list_text(list, "aws.ecs.task.family", name->ecs_family);
}

/* NULL: it publishes none. */
static const char *find_attribute(const struct process_context *context, const char *key)
{
	const char *at = str_text(&context->attributes), *end = at + context->attributes.len;
	while (at < end) {
		const char *value = at + strlen(at) + 1;
		if (strcmp(at, key) == 0)
			return value;
		at = value + strlen(value) + 1;
	}
	return NULL;
}

static void put_attributes(const struct process_context *context, struct str *list)
{
	const char *at = str_text(&context->attributes), *end = at + context->attributes.len;
	while (at < end) {
		const char *value = at + strlen(at) + 1;
		put_list_text(list, at, value);
		at = value + strlen(value) + 1;
	}
}

/* "service.name" among the resource's attributes. */
static const char *find_resource_service(const struct str *environment, size_t *len)
{
	const char *at = find_variable(environment, OTEL_RESOURCE);
	for (; at && *at; at += *at == ',') {
		bool is_service = strncmp(at, OTEL_ATTRIBUTE, strlen(OTEL_ATTRIBUTE)) == 0;
		size_t part_len = strcspn(at, ",");
		if (is_service) {
			*len = part_len - strlen(OTEL_ATTRIBUTE);
			return at + strlen(OTEL_ATTRIBUTE);
		}
		at += part_len;
	}
	return NULL;
}

/* The first that there is: as Pyroscope's agent has it, and then the unit. */
static void put_service(struct process_labels *labels, const struct process *process,
	const struct str *environment, const struct container_name *name,
	const struct label_target *target, struct str *list)
{
	CLEANUP(str_deinit) struct str unit = {0}, pod = {0};
	size_t len = 0;
	const struct process_context *context = process_contexts_find(&labels->contexts, process);
	if (context)
		put_list_text(list, SERVICE_NAME, find_attribute(context, "service.name"));
	put_list_text(list, SERVICE_NAME, find_variable(environment, OTEL_SERVICE));
	const char *resource = find_resource_service(environment, &len);
	put_process_label(list, SERVICE_NAME, resource, len);
	if (target)
		put_list_text(list, SERVICE_NAME, target->service);
	put_list_text(list, SERVICE_NAME, name->service);
	if (name->k8s_namespace && name->k8s_container) {
		str_printf(&pod, "ebpf/%s/%s", name->k8s_namespace, name->k8s_container);
		put_list_text(list, SERVICE_NAME, str_text(&pod));
	}
	put_list_text(list, SERVICE_NAME, name->name);
	cgroup_put_unit(process->cgroup, &unit);
	put_list_text(list, SERVICE_NAME, str_text(&unit));
	put_list_text(list, SERVICE_NAME, "unspecified");
}

static void make_list(struct process_labels *labels, struct process *process, uint64_t now_ns)
{
	static const struct container_name none;
	CLEANUP(str_deinit) struct str environment = {0}, list = {0}, id = {0};
	const struct container_name *name = &none;
	cgroup_put_container(process->cgroup, &id);
	const struct label_target *target =
		label_file_find(&labels->file, process->pid, str_text(&id));
	for (size_t i = 0; target && i < target->nr_labels; i++)
		put_list_text(&list, target->labels[i].key, target->labels[i].value);
	bool is_read = find_environment(labels, process, &environment);
	if (environment.len)
		str_putc(&environment, '\0');
	put_variables(labels, &environment, &list);
	if (id.len && (wants_containers(labels) || wants_service(labels)))
		name = container_names_find(&labels->containers, str_text(&id), now_ns);
	if (wants_containers(labels))
		put_container(name, &list);
	if (wants_service(labels))
		put_service(labels, process, &environment, name, target, &list);
	const struct process_context *context = process_contexts_find(&labels->contexts, process);
	if (context && wants_resource(labels))
		put_attributes(context, &list);
	uint32_t number;
	bool has_room = labels->lists.entries.len < MAX_LISTS ||
			strtab_find(&labels->lists, str_text(&list), list.len, &number);
	process->label_list =
		has_room ? strtab_intern(&labels->lists, str_text(&list), list.len) : 0;
	process->lacks_labels = !is_read || !has_room || (context && context->is_short);
	process->label_generation = labels->generation;
}

/* ---- sets ---- */

static bool has_set_key(const struct label_table *table, uint32_t set, const char *key)
{
	size_t len = strlen(key);
	for (; set; set = table->sets.data[set].rest) {
		const struct strtab_entry *known =
			&table->texts.entries.data[table->sets.data[set].key];
		if (known->len == len && memcmp(known->bytes, key, len) == 0)
			return true;
	}
	return false;
}

/* The set of those of a list whose keys the sample's own set has not. */
static uint32_t put_list(
	struct label_table *table, const struct strtab_entry *list, uint32_t own, bool *is_short)
{
	uint32_t set = 0;
	const char *at = list->bytes, *end = at + list->len;
	while (at < end) {
		const char *key = at, *value = key + strlen(key) + 1;
		at = value + strlen(value) + 1;
		if (has_set_key(table, own, key))
			continue;
		uint32_t with = label_table_add(
			table, set, key, strlen(key), LAYOUT_LABEL_TEXT, value, strlen(value));
		*is_short |= with == set;
		set = with;
	}
	return set;
}

uint32_t process_labels_add(struct process_labels *labels, struct label_table *table,
	struct process *process, uint32_t set, uint64_t now_ns, bool *is_short)
{
	bool is_added;
	bool is_wanted = labels->has_reader || labels->options.sources || labels->file.path;
	if (!is_wanted)
		return set;
	if (process->label_generation != labels->generation)
		make_list(labels, process, now_ns);
	if (!process->label_list)
		return set;
	if (labels->sets_epoch != table->epoch || labels->sets.len > MAX_SETS) {
		map_clear(&labels->sets);
		labels->sets_epoch = table->epoch;
	}
	uint64_t both = (uint64_t)process->label_list << 32 | set;
	uint64_t *known = map_put(&labels->sets, both, &is_added);
	if (!is_added)
		return (uint32_t)*known;
	/* Below the sample's own, of which there may be others with each sample. */
	uint32_t list =
		put_list(table, &labels->lists.entries.data[process->label_list], set, is_short);
	*known = label_table_join(table, list, set, is_short);
	return (uint32_t)*known;
}

/* ---- all of it ---- */

struct err *process_labels_begin(
	struct process_labels *labels, const struct process_label_options *options)
{
	labels->options = *options;
	const uint32_t of_threads =
		1 << EVENT_LABEL_TRACE | 1 << EVENT_LABEL_SPAN | 1 << EVENT_LABEL_THREAD;
	labels->options.sources &= ~label_sources_in_kernel();
	labels->generation = 1;
	try(label_file_open(&labels->file, options->file));
	labels->has_reader = options->nr_variables || wants_service(labels);
	if (labels->has_reader) {
		target_reader_init(&labels->reader, read_environment);
		target_reader_start(&labels->reader);
	}
	if (wants_resource(labels) || options->sources & of_threads)
		process_contexts_begin(&labels->contexts);
	return NULL;
}

void process_labels_on_context(struct process_labels *labels, thread_context_fn *fn, void *context)
{
	labels->contexts.fn = fn;
	labels->contexts.fn_context = context;
}

const char *process_labels_file_error(const struct process_labels *labels)
{
	return labels->file.last ? err_message(labels->file.last) : NULL;
}

void process_labels_deinit(struct process_labels *labels)
{
	if (labels->has_reader)
		target_reader_deinit(&labels->reader);
	environments_deinit(&labels->environments);
	container_names_deinit(&labels->containers);
	process_contexts_deinit(&labels->contexts);
	label_file_deinit(&labels->file);
	strtab_deinit(&labels->lists);
	map_deinit(&labels->sets);
}

void process_labels_renew(struct process_labels *labels, uint64_t now_ns)
{
	bool are_other = label_file_renew(&labels->file, now_ns);
	are_other |= container_names_renew(&labels->containers, now_ns);
	labels->generation += are_other;
}

void process_labels_read_again(struct process_labels *labels, uint64_t now_ns)
{
	label_file_expect_other(&labels->file);
	process_labels_renew(labels, now_ns);
	labels->generation++;
}
