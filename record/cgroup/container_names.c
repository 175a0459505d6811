#include "record/cgroup/container_names.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/fd.h"
#include "format/base/json_value.h"
#include "format/base/str.h"

enum {
	ID_DIGITS = 64,
	MAX_KNOWN = 16 << 10,
	MAX_FILE_BYTES = 8 << 20,
	MAX_NAME_BYTES = 512,
	MAX_TRIES = 8,
	RETRY_NS = 500 * 1000 * 1000, /* twice as long after each try */
};

/* grafana.com, Pyroscope, "Set the service name": of pods. */
#define SERVICE_ANNOTATION "pyroscope.io/service_name"

struct known_container {
	char *id;
	struct container_name name;
	struct arena arena; /* of the texts */
	unsigned tries;
	uint64_t next_try_ns;
};

/* Where the mount namespace of the recorder is not the host's, the host's may be reached so. */
static const char *const roots[] = {"", "/proc/1/root"};

/* ---- files ---- */

/* Only a regular one, whatever stands there by now. */
static bool read_small_file(const char *path, struct str *ret)
{
	struct stat stat_of;
	CLEANUP_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat_of) || !S_ISREG(stat_of.st_mode) ||
		stat_of.st_size > MAX_FILE_BYTES)
		return false;
	char chunk[16 << 10];
	ssize_t len;
	while (ret->len <= MAX_FILE_BYTES && (len = read(fd, chunk, sizeof(chunk))) > 0)
		str_write(ret, chunk, (size_t)len);
	return ret->len && ret->len <= MAX_FILE_BYTES;
}

/* NULL: there is no such file, or it is no JSON. */
static const struct json_value *read_json(const char *path, struct arena *arena)
{
	CLEANUP(str_deinit) struct str text = {0};
	const struct json_value *value = NULL;
	if (!read_small_file(path, &text))
		return NULL;
	struct err *err = json_value_parse(str_text(&text), text.len, arena, &value);
	err_destroy(err);
	return value;
}

/* What is known already stays. */
static void put_container_name(
	struct known_container *known, const char **member, const char *text, size_t len)
{
	if (!*member && text && len && len <= MAX_NAME_BYTES)
		*member = arena_strndup(&known->arena, text, len);
}

static void put_text_name(struct known_container *known, const char **member, const char *text)
{
	put_container_name(known, member, text, text ? strlen(text) : 0);
}

/* ---- what each runtime keeps ---- */

/*
 * "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT": what the kubelet's runtimes call containers; the names
 * in it have no underscores.
 */
static bool take_kubelet_name(struct known_container *known, const char *name)
{
	const char *parts[4], *at = name;
	size_t lens[4];
	for (int i = 0; i < 4; i++) {
		parts[i] = at;
		lens[i] = strcspn(at, "_");
		if (!at[lens[i]])
			return false;
		at += lens[i] + 1;
	}
	if (lens[0] != 3 || strncmp(parts[0], "k8s", 3) != 0)
		return false;
	put_container_name(known, &known->name.k8s_container, parts[1], lens[1]);
	put_container_name(known, &known->name.pod, parts[2], lens[2]);
	put_container_name(known, &known->name.k8s_namespace, parts[3], lens[3]);
	return true;
}

/* CRI-O has all that a pod is annotated with as a text of JSON. */
static void take_annotations_of_pod(
	struct known_container *known, const struct json_value *annotations)
{
	struct arena arena = {0};
	const struct json_value *pod = NULL;
	const char *text =
		json_value_text(json_value_member(annotations, "io.kubernetes.cri-o.Annotations"));
	struct err *err = text ? json_value_parse(text, strlen(text), &arena, &pod) : NULL;
	err_destroy(err); /* then it has none */
	put_text_name(known, &known->name.service,
		json_value_text(json_value_member(pod, SERVICE_ANNOTATION)));
	arena_deinit(&arena);
}

/* Annotations of containerd's plugin for Kubernetes, of CRI-O, and of nerdctl. */
static void take_annotations(struct known_container *known, const struct json_value *annotations)
{
	struct container_name *name = &known->name;
	const struct {
		const char *key;
		const char **member;
	} keys[] = {
		{"io.kubernetes.cri.container-name", &name->k8s_container},
		{"io.kubernetes.cri.sandbox-name", &name->pod},
		{"io.kubernetes.cri.sandbox-namespace", &name->k8s_namespace},
		{"io.kubernetes.cri.image-name", &name->image},
		{"io.kubernetes.container.name", &name->k8s_container},
		{"io.kubernetes.pod.name", &name->pod},
		{"io.kubernetes.pod.namespace", &name->k8s_namespace},
		{"io.kubernetes.cri-o.ImageName", &name->image}, {"nerdctl/name", &name->name},
		{"com.amazonaws.ecs.task-definition-family", &name->ecs_family},
		{SERVICE_ANNOTATION, &name->service},
		{"annotation." SERVICE_ANNOTATION, &name->service}, /* of cri-dockerd's */
	};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		put_text_name(known, keys[i].member,
			json_value_text(json_value_member(annotations, keys[i].key)));
	take_annotations_of_pod(known, annotations);
}

/*
 * docker/daemon/container: {"Name": "/web", "Config": {"Image": ..., "Labels": {...}}}. False: it
 * is not in that folder.
 */
static bool look_into_docker(struct known_container *known, const char *root, const char *folder)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct arena arena = {0};
	str_printf(&path, "%s%s/containers/%s/config.v2.json", root, folder, known->id);
	const struct json_value *file = read_json(str_text(&path), &arena);
	const struct json_value *config = json_value_member(file, "Config");
	const struct json_value *labels = json_value_member(config, "Labels");
	/* Of Amazon's ECS, whose agent makes a longer name of it for docker. */
	put_text_name(known, &known->name.name,
		json_value_text(json_value_member(labels, "com.amazonaws.ecs.container-name")));
	const char *name = json_value_text(json_value_member(file, "Name"));
	if (name && *name == '/')
		name++;
	if (name && !take_kubelet_name(known, name))
		put_text_name(known, &known->name.name, name);
	put_text_name(
		known, &known->name.image, json_value_text(json_value_member(config, "Image")));
	take_annotations(known, labels);
	arena_deinit(&arena);
	return file != NULL;
}

/* Where its data are, unless its configuration has them elsewhere; dockerd(8), "data-root". */
static void look_for_docker(struct known_container *known, const char *root)
{
	static const char *const usual[] = {
		"/var/lib/docker", "/var/snap/docker/common/var-lib-docker"};
	static const char *const configured[] = {
		"/etc/docker/daemon.json", "/var/snap/docker/current/config/daemon.json"};
	struct arena arena = {0};
	bool is_found = false;
	for (size_t i = 0; i < 2 && !is_found; i++)
		is_found = look_into_docker(known, root, usual[i]);
	for (size_t i = 0; i < 2 && !is_found; i++) {
		CLEANUP(str_deinit) struct str path = {0};
		str_printf(&path, "%s%s", root, configured[i]);
		const struct json_value *daemon = read_json(str_text(&path), &arena);
		const char *folder = json_value_text(json_value_member(daemon, "data-root"));
		if (!folder)
			folder = json_value_text(
				json_value_member(daemon, "graph")); /* until 17.05 */
		is_found = folder && *folder == '/' && look_into_docker(known, root, folder);
	}
	arena_deinit(&arena);
}

/* [{"id": ..., "names": ["web"], "metadata": "{\"image-name\": ...}"}] */
static void look_into_storage(struct known_container *known, const char *path)
{
	struct arena arena = {0};
	const struct json_value *file = read_json(path, &arena), *found = NULL;
	if (file && file->kind == JSON_ARRAY)
		found = file->first;
	for (; found; found = found->next) {
		const char *id = json_value_text(json_value_member(found, "id"));
		if (id && strcmp(id, known->id) == 0)
			break;
	}
	const struct json_value *names = json_value_member(found, "names"), *metadata = NULL;
	const char *name =
		names && names->kind == JSON_ARRAY ? json_value_text(names->first) : NULL;
	if (name && !take_kubelet_name(known, name))
		put_text_name(known, &known->name.name, name);
	const char *inner = json_value_text(json_value_member(found, "metadata"));
	struct err *err = inner ? json_value_parse(inner, strlen(inner), &arena, &metadata) : NULL;
	err_destroy(err); /* then it has no image */
	put_text_name(known, &known->name.image,
		json_value_text(json_value_member(metadata, "image-name")));
	arena_deinit(&arena);
}

/* Calls fn for the names in a folder, until it has what it wants. */
typedef bool folder_name_fn(void *context, const char *name);

static void each_name(const char *folder, folder_name_fn *fn, void *context)
{
	DIR *dir = opendir(folder);
	if (!dir)
		return;
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] != '.' && !fn(context, entry->d_name))
			break;
	closedir(dir);
}

/* ---- where podman and CRI-O have their storage ---- */

struct look {
	struct known_container *known;
	const char *root;
	const char *rootless; /* rootless_storage_path of the system, or NULL */
};

/* The text behind `key = "` in the table [storage], up to the quote; containers-storage.conf(5). */
static bool find_storage_key(const struct str *conf, const char *key, struct str *ret)
{
	bool is_in_table = false;
	size_t key_len = strlen(key);
	for (const char *line = str_text(conf), *next; *line; line = next) {
		size_t len = strcspn(line, "\n");
		next = line + len + (line[len] == '\n');
		line += strspn(line, " \t");
		if (*line == '[')
			is_in_table = strncmp(line, "[storage]", strlen("[storage]")) == 0;
		if (!is_in_table || strncmp(line, key, key_len) != 0)
			continue;
		const char *at = line + key_len + strspn(line + key_len, " \t");
		if (*at++ != '=')
			continue;
		at += strspn(at, " \t");
		size_t value_len = *at == '"' ? strcspn(at + 1, "\"\n") : 0;
		if (!value_len || at[1 + value_len] != '"')
			continue;
		str_write(ret, at + 1, value_len);
		return true;
	}
	return false;
}

static void put_uid_of_home(const char *root, const char *home, struct str *ret)
{
	CLEANUP(str_deinit) struct str path = {0};
	struct stat st;
	str_printf(&path, "%s%s", root, home);
	if (!stat(str_text(&path), &st))
		str_printf(ret, "%u", st.st_uid);
}

/* With what $HOME, $USER and $UID are for that user, as a path for all users has them. */
static void put_users_path(
	const struct look *look, const char *pattern, const char *user, struct str *ret)
{
	CLEANUP(str_deinit) struct str home = {0}, uid = {0};
	str_printf(&home, "/home/%s", user);
	put_uid_of_home(look->root, str_text(&home), &uid);
	const struct {
		const char *name, *value;
	} variables[] = {{"$HOME", str_text(&home)}, {"$USER", user}, {"$UID", str_text(&uid)}};
	for (const char *at = pattern; *at;) {
		size_t len = 1;
		const char *text = NULL;
		for (size_t i = 0; i < sizeof(variables) / sizeof(*variables) && !text; i++)
			if (strncmp(at, variables[i].name, strlen(variables[i].name)) == 0) {
				len = strlen(variables[i].name);
				text = variables[i].value;
			}
		str_write(ret, text ? text : at, text ? strlen(text) : len);
		at += len;
	}
}

/*
 * Containers that are removed when they end are in a list of their own (containers/storage, since
 * 1.43), and the folder is called after the storage's driver.
 */
static void look_into_graph_root(
	struct known_container *known, const char *root, const char *folder)
{
	static const char *const drivers[] = {"overlay", "vfs", "btrfs", "zfs"};
	static const char *const lists[] = {"containers.json", "volatile-containers.json"};
	for (size_t i = 0; i < sizeof(drivers) / sizeof(*drivers); i++) {
		CLEANUP(str_deinit) struct str config = {0};
		struct arena arena = {0};
		for (size_t list = 0; list < 2; list++) {
			CLEANUP(str_deinit) struct str path = {0};
			str_printf(&path, "%s%s/%s-containers/%s", root, folder, drivers[i],
				lists[list]);
			look_into_storage(known, str_text(&path));
		}
		str_printf(&config, "%s%s/%s-containers/%s/userdata/config.json", root, folder,
			drivers[i], known->id);
		take_annotations(known,
			json_value_member(read_json(str_text(&config), &arena), "annotations"));
		arena_deinit(&arena);
	}
}

static bool look_into_home(void *context, const char *user)
{
	const struct look *look = context;
	CLEANUP(str_deinit) struct str path = {0}, conf = {0}, own = {0}, folder = {0};
	str_printf(&path, "%s/home/%s/.config/containers/storage.conf", look->root, user);
	if (read_small_file(str_text(&path), &conf) && find_storage_key(&conf, "graphroot", &own))
		put_users_path(look, str_text(&own), user, &folder);
	else if (look->rootless)
		put_users_path(look, look->rootless, user, &folder);
	if (folder.len && *str_text(&folder) == '/')
		look_into_graph_root(look->known, look->root, str_text(&folder));
	str_truncate(&folder, 0);
	put_users_path(look, "$HOME/.local/share/containers/storage", user, &folder);
	look_into_graph_root(look->known, look->root, str_text(&folder));
	return !look->known->name.name;
}

/* podman, also without root, and CRI-O; whose OCI configurations have annotations. */
static void look_for_storage(struct known_container *known, const char *root)
{
	static const char *const usual[] = {
		"/var/lib/containers/storage", "/run/containers/storage"};
	static const char *const configured[] = {
		"/etc/containers/storage.conf", "/usr/share/containers/storage.conf"};
	static const char *const keys[] = {"graphroot", "runroot"};
	CLEANUP(str_deinit) struct str conf = {0}, rootless = {0};
	for (size_t i = 0; i < 2; i++)
		look_into_graph_root(known, root, usual[i]);
	for (size_t i = 0; i < 2 && !conf.len; i++) {
		CLEANUP(str_deinit) struct str path = {0};
		str_printf(&path, "%s%s", root, configured[i]);
		if (!read_small_file(str_text(&path), &conf))
			str_truncate(&conf, 0);
	}
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(str_deinit) struct str folder = {0};
		if (find_storage_key(&conf, keys[i], &folder) && *str_text(&folder) == '/')
			look_into_graph_root(known, root, str_text(&folder));
	}
	bool has_rootless = find_storage_key(&conf, "rootless_storage_path", &rootless);
	if (!known->name.name && !known->name.pod) {
		CLEANUP(str_deinit) struct str home = {0};
		struct look look = {known, root, has_rootless ? str_text(&rootless) : NULL};
		str_printf(&home, "%s/home", root);
		each_name(str_text(&home), look_into_home, &look);
	}
}

/* A namespace of containerd's: k8s.io, moby, default. */
static bool look_into_namespace(void *context, const char *name)
{
	const struct look *look = context;
	CLEANUP(str_deinit) struct str path = {0};
	struct arena arena = {0};
	str_printf(&path, "%s/run/containerd/io.containerd.runtime.v2.task/%s/%s/config.json",
		look->root, name, look->known->id);
	const struct json_value *config = read_json(str_text(&path), &arena);
	take_annotations(look->known, json_value_member(config, "annotations"));
	arena_deinit(&arena);
	return !config;
}

static void look_for_containerd(struct known_container *known, const char *root)
{
	struct look look = {.known = known, .root = root};
	CLEANUP(str_deinit) struct str folder = {0};
	str_printf(&folder, "%s/run/containerd/io.containerd.runtime.v2.task", root);
	each_name(str_text(&folder), look_into_namespace, &look);
}

/* POD_NAMESPACE_CONTAINER-ID.log */
static bool look_at_log(void *context, const char *file)
{
	const struct look *look = context;
	struct known_container *known = look->known;
	size_t len = strlen(file), id_len = strlen(known->id), end = id_len + strlen("-.log");
	if (len <= end || strcmp(file + len - strlen(".log"), ".log") != 0 ||
		strncmp(file + len - end + 1, known->id, id_len) != 0)
		return true;
	const char *space = strchr(file, '_'), *container = space ? strchr(space + 1, '_') : NULL;
	if (!container || container >= file + len - end)
		return true;
	put_container_name(known, &known->name.pod, file, (size_t)(space - file));
	put_container_name(
		known, &known->name.k8s_namespace, space + 1, (size_t)(container - space - 1));
	put_container_name(known, &known->name.k8s_container, container + 1,
		(size_t)(file + len - end - container - 1));
	return false;
}

static void look_for_logs(struct known_container *known, const char *root)
{
	struct look look = {.known = known, .root = root};
	CLEANUP(str_deinit) struct str folder = {0};
	str_printf(&folder, "%s/var/log/containers", root);
	each_name(str_text(&folder), look_at_log, &look);
}

/* ---- all of them ---- */

static bool has_container_name(const struct container_name *name)
{
	return name->name || name->pod || name->k8s_container;
}

static void look_everywhere(const struct container_names *names, struct known_container *known)
{
	static void (*const looks[])(struct known_container *, const char *) = {
		look_for_docker, look_for_storage, look_for_containerd, look_for_logs};
	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots) && !has_container_name(&known->name);
		i++) {
		CLEANUP(str_deinit) struct str root = {0};
		str_printf(&root, "%s%s", names->root ? names->root : "", roots[i]);
		for (size_t look = 0; look < sizeof(looks) / sizeof(*looks); look++)
			if (!known->name.pod || !known->name.k8s_container)
				looks[look](known, str_text(&root));
	}
}

static void look_again(
	const struct container_names *names, struct known_container *known, uint64_t now_ns)
{
	known->next_try_ns = now_ns + ((uint64_t)RETRY_NS << known->tries++);
	if (strlen(known->id) == ID_DIGITS)
		look_everywhere(names, known);
	else
		put_text_name(known, &known->name.name, known->id); /* a machine's, or ECS's */
}

const struct container_name *container_names_find(
	struct container_names *names, const char *id, uint64_t now_ns)
{
	static const struct container_name none;
	vec_each(&names->known, known)
		if (strcmp((*known)->id, id) == 0)
			return &(*known)->name;
	if (names->known.len >= MAX_KNOWN)
		return &none;
	struct known_container *known = mem_zalloc(sizeof(*known));
	known->id = mem_strdup(id);
	vec_push(&names->known, known);
	look_again(names, known, now_ns);
	return &known->name;
}

bool container_names_renew(struct container_names *names, uint64_t now_ns)
{
	bool has_found = false;
	vec_each(&names->known, it) {
		struct known_container *known = *it;
		if (has_container_name(&known->name) || known->tries >= MAX_TRIES ||
			now_ns < known->next_try_ns)
			continue;
		look_again(names, known, now_ns);
		has_found |= has_container_name(&known->name);
	}
	return has_found;
}

void container_names_deinit(struct container_names *names)
{
	vec_each(&names->known, known) {
		mem_free((*known)->id);
		arena_deinit(&(*known)->arena);
		mem_free(*known);
	}
	vec_deinit(&names->known);
}
