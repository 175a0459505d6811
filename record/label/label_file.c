#include "record/label/label_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/json_value.h"
#include "format/base/str.h"

enum {
	MAX_FILE_BYTES = 16 << 20,
	MAX_TARGETS = 64 << 10,
	MAX_LABELS_OF_TARGET = 32,
	MAX_LABEL_BYTES = 1024,
	LOOK_INTERVAL_NS = 500 * 1000 * 1000,
};

/* ---- reading ---- */

static struct err *read_label_file(const char *path, struct stat *stat_of, struct str *ret)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, stat_of))
		return err_sys(errno, "%s", path);
	if (!S_ISREG(stat_of->st_mode))
		return err_new(ERR_FORMAT, "%s: no regular file", path);
	if (stat_of->st_size > MAX_FILE_BYTES)
		return err_new(ERR_FORMAT, "%s: larger than %d MiB", path, MAX_FILE_BYTES >> 20);
	char chunk[16 << 10];
	ssize_t len;
	while (ret->len <= MAX_FILE_BYTES && (len = fd_read(fd, chunk, sizeof(chunk))) > 0)
		str_write(ret, chunk, (size_t)len);
	return NULL;
}

/* "docker://ID", "containerd://ID": the ID. */
static const char *cut_scheme(const char *id)
{
	const char *found = strstr(id, "://");
	return found ? found + strlen("://") : id;
}

static const char *id_of_container(const struct json_value *labels)
{
	static const char *const keys[] = {"__container_id__", "__meta_docker_container_id",
		"__meta_kubernetes_pod_container_id"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		const char *id = json_value_text(json_value_member(labels, keys[i]));
		if (id && *id)
			return cut_scheme(id);
	}
	return NULL;
}

static uint32_t pid_of_target(const struct json_value *labels)
{
	const struct json_value *pid = json_value_member(labels, "__process_pid__");
	char *end;
	if (!pid || !pid->text)
		return 0;
	unsigned long number = strtoul(pid->text, &end, 10);
	return *end || number > INT32_MAX ? 0 : (uint32_t)number;
}

/* What is put of a target's labels. */
static void take_pairs(
	struct label_file *file, const struct json_value *labels, struct label_target *target)
{
	struct label_pair *pairs = arena_alloc(&file->arena, MAX_LABELS_OF_TARGET * sizeof(*pairs));
	for (const struct json_value *it = labels->first;
		it && target->nr_labels < MAX_LABELS_OF_TARGET; it = it->next) {
		const char *value = json_value_text(it);
		bool is_put = value && *it->key && strncmp(it->key, "__", 2) != 0 &&
			      strlen(it->key) + strlen(value) <= MAX_LABEL_BYTES;
		if (is_put)
			pairs[target->nr_labels++] = (struct label_pair){it->key, value};
	}
	target->labels = pairs;
}

static const char *text_of_label(const struct json_value *labels, const char *key)
{
	const char *text = json_value_text(json_value_member(labels, key));
	return text && *text && strlen(text) <= MAX_LABEL_BYTES ? text : NULL;
}

/* In the order of inferServiceName() of alloy, ebpf/discovery/target.go. */
static const char *find_target_service(struct label_file *file, const struct json_value *labels)
{
	static const char *const docker[] = {"__meta_docker_container_name",
		"__meta_dockerswarm_container_label_service_name",
		"__meta_dockerswarm_service_name"};
	const char *found =
		text_of_label(labels, "__meta_kubernetes_pod_annotation_pyroscope_io_service_name");
	const char *space = text_of_label(labels, "__meta_kubernetes_namespace");
	const char *container = text_of_label(labels, "__meta_kubernetes_pod_container_name");
	if (!found && space && container) {
		CLEANUP(str_deinit) struct str name = {0};
		str_printf(&name, "ebpf/%s/%s", space, container);
		return arena_strndup(&file->arena, str_text(&name), name.len);
	}
	for (size_t i = 0; i < sizeof(docker) / sizeof(*docker) && !found; i++)
		found = text_of_label(labels, docker[i]);
	return found && *found == '/' ? found + 1 : found;
}

static struct err *take_targets(struct label_file *file, const struct json_value *list)
{
	if (list->kind != JSON_ARRAY)
		return err_new(ERR_FORMAT, "%s: no list of targets, as Prometheus' file_sd has it",
			file->path);
	for (const struct json_value *it = list->first; it; it = it->next) {
		const struct json_value *labels = json_value_member(it, "labels");
		if (it->kind != JSON_OBJECT || (labels && labels->kind != JSON_OBJECT))
			return err_new(ERR_FORMAT,
				"%s: an entry is no object with \"targets\" and \"labels\"",
				file->path);
		struct label_target target = {
			.pid = labels ? pid_of_target(labels) : 0,
			.container_id = labels ? id_of_container(labels) : NULL,
		};
		if (!target.pid && !target.container_id)
			continue;
		if (file->targets.len == MAX_TARGETS)
			return err_new(ERR_FORMAT, "%s: more than %d processes and containers",
				file->path, MAX_TARGETS);
		take_pairs(file, labels, &target);
		target.service = find_target_service(file, labels);
		if (target.pid)
			*map_put(&file->by_pid, target.pid, NULL) = file->targets.len;
		vec_push(&file->targets, target);
	}
	return NULL;
}

static void forget_targets(struct label_file *file)
{
	arena_deinit(&file->arena);
	vec_deinit(&file->targets);
	map_deinit(&file->by_pid);
}

static uint64_t mtime_ns_of(const struct stat *stat_of)
{
	return (uint64_t)stat_of->st_mtim.tv_sec * 1000000000 + (uint64_t)stat_of->st_mtim.tv_nsec;
}

/* Into an empty one. */
static struct err *read_targets(struct label_file *file)
{
	struct stat stat_of;
	CLEANUP(str_deinit) struct str text = {0};
	const struct json_value *list = NULL;
	try(read_label_file(file->path, &stat_of, &text));
	file->inode = stat_of.st_ino;
	file->mtime_ns = mtime_ns_of(&stat_of);
	file->bytes = (uint64_t)stat_of.st_size;
	try(err_wrap(json_value_parse(str_text(&text), text.len, &file->arena, &list), "%s",
		file->path));
	return take_targets(file, list);
}

struct err *label_file_open(struct label_file *file, const char *path)
{
	*file = (struct label_file){.path = path, .nr_reads = 1};
	return path ? read_targets(file) : NULL;
}

void label_file_deinit(struct label_file *file)
{
	forget_targets(file);
	err_destroy(file->last);
}

void label_file_expect_other(struct label_file *file)
{
	file->inode = 0; /* that no file has */
	file->looked_ns = 0;
}

bool label_file_renew(struct label_file *file, uint64_t now_ns)
{
	struct stat stat_of;
	if (!file->path || now_ns - file->looked_ns < LOOK_INTERVAL_NS)
		return false;
	file->looked_ns = now_ns;
	if (stat(file->path, &stat_of))
		return false; /* it may be on its way: what replaces it is renamed */
	if (stat_of.st_ino == file->inode && mtime_ns_of(&stat_of) == file->mtime_ns &&
		(uint64_t)stat_of.st_size == file->bytes)
		return false;
	struct label_file other = {
		.path = file->path, .looked_ns = now_ns, .nr_reads = file->nr_reads + 1};
	struct err *err = read_targets(&other);
	if (err) {
		forget_targets(&other);
		file->inode = other.inode;
		file->mtime_ns = other.mtime_ns;
		file->bytes = other.bytes;
		err_destroy(file->last);
		file->last = err;
		return false;
	}
	label_file_deinit(file);
	*file = other;
	return true;
}

const struct label_target *label_file_find(
	const struct label_file *file, uint32_t pid, const char *container_id)
{
	const uint64_t *index = map_get(&file->by_pid, pid);
	if (index)
		return &file->targets.data[*index];
	if (!*container_id)
		return NULL;
	vec_each(&file->targets, target)
		if (target->container_id && strcmp(target->container_id, container_id) == 0)
			return target;
	return NULL;
}
