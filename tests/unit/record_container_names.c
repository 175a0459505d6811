/* Names of containers by the files of their runtimes: trees that stand for those. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/base/str.h"
#include "record/cgroup/container_names.h"
#include "tests/unit/unit.h"

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void make_file(const char *path, const char *text)
{
	CLEANUP(str_deinit) struct str folder = {0};
	for (const char *at = path; (at = strchr(at + 1, '/'));) {
		str_truncate(&folder, 0);
		str_write(&folder, path, (size_t)(at - path));
		mkdir(str_text(&folder), 0755);
	}
	FILE *file = fopen(path, "we");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* name, image, namespace/pod/container */
static void check_names(const char *want)
{
	struct container_names names = {.root = "."};
	const struct container_name *name = container_names_find(&names, ID, 1);
	CLEANUP(str_deinit) struct str got = {0};
	str_printf(&got, "%s %s %s/%s/%s", name->name ? name->name : "-",
		name->image ? name->image : "-", name->k8s_namespace ? name->k8s_namespace : "-",
		name->pod ? name->pod : "-", name->k8s_container ? name->k8s_container : "-");
	CHECK_STR(str_text(&got), want);
	container_names_deinit(&names);
}

TEST(docker_names_containers)
{
	make_file("./var/lib/docker/containers/" ID "/config.v2.json",
		"{\"Name\":\"/web\",\"Config\":{\"Image\":\"nginx:1\",\"Labels\":{\"x\":\"y\"}}}");
	check_names("web nginx:1 -/-/-");
	make_file("./var/lib/docker/containers/" ID "/config.v2.json",
		"{\"Name\":\"/k8s_app_shop-7d_prod_2b801b7a_0\",\"Config\":{}}");
	check_names("- - prod/shop-7d/app");
}

TEST(docker_has_its_data_elsewhere)
{
	make_file("./srv/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web\"}");
	check_names("- - -/-/-");
	make_file("./etc/docker/daemon.json", "{\"data-root\":\"srv/docker\"}");
	check_names("- - -/-/-");
	make_file("./etc/docker/daemon.json", "{\"data-root\":\"/srv/docker\"}");
	check_names("web - -/-/-");
	make_file("./var/snap/docker/common/var-lib-docker/containers/" ID "/config.v2.json",
		"{\"Name\":\"/snapped\"}");
	check_names("snapped - -/-/-");
}

#define LIST_OF(NAME) "[{\"id\":\"" ID "\",\"names\":[\"" NAME "\"]}]"

TEST(podman_has_its_storage_elsewhere)
{
	make_file("./srv/pods/overlay-containers/containers.json", LIST_OF("web"));
	make_file("./etc/containers/storage.conf",
		"# graphroot = \"/srv/pods\"\n[storage.options]\ngraphroot = \"/srv/pods\"\n"
		"[storage]\ngraphroots = \"/srv/pods\"\ngraphroot = /srv/pods\n");
	check_names("- - -/-/-");
	make_file("./etc/containers/storage.conf",
		"[storage]\ndriver = \"overlay\"\n  graphroot=\"/srv/pods\" # moved\n");
	check_names("web - -/-/-");
	make_file("./etc/containers/storage.conf", "[storage]\ngraphroot = \"/srv/pods");
	check_names("- - -/-/-");
}

TEST(podman_has_its_storage_elsewhere_for_users)
{
	make_file("./srv/amy/of-amy/vfs-containers/volatile-containers.json", LIST_OF("brief"));
	make_file("./home/amy/.profile", "");
	check_names("- - -/-/-");
	make_file("./usr/share/containers/storage.conf",
		"[storage]\nrootless_storage_path = \"/srv/$USER/of-amy\"\n");
	check_names("brief - -/-/-");
	make_file("./home/amy/.config/containers/storage.conf",
		"[storage]\ngraphroot = \"$HOME/pods\"\n");
	check_names("- - -/-/-");
	make_file("./home/amy/pods/overlay-containers/containers.json", LIST_OF("own"));
	check_names("own - -/-/-");
}

TEST(ecs_names_containers_by_their_task)
{
	struct container_names names = {.root = "."};
	make_file("./var/lib/docker/containers/" ID "/config.v2.json",
		"{\"Name\":\"/ecs-shop-3-web-a0b1\",\"Config\":{\"Labels\":{"
		"\"com.amazonaws.ecs.container-name\":\"web\","
		"\"com.amazonaws.ecs.task-definition-family\":\"shop\"}}}");
	check_names("web - -/-/-");
	CHECK_STR(container_names_find(&names, ID, 1)->ecs_family, "shop");
	container_names_deinit(&names);
}

TEST(annotations_of_pods_name_services)
{
	struct container_names names = {.root = "."};
	make_file("./run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		"{\"annotations\":{\"io.kubernetes.pod.name\":\"shop-1\","
		"\"io.kubernetes.cri-o.Annotations\":"
		"\"{\\\"pyroscope.io/service_name\\\":\\\"shop\\\"}\"}}");
	CHECK_STR(container_names_find(&names, ID, 1)->service, "shop");
	container_names_deinit(&names);
	names = (struct container_names){.root = "."};
	make_file("./var/lib/docker/containers/" ID "/config.v2.json",
		"{\"Name\":\"/x\",\"Config\":{\"Labels\":{"
		"\"annotation.pyroscope.io/service_name\":\"cart\"}}}");
	CHECK_STR(container_names_find(&names, ID, 1)->service, "cart");
	container_names_deinit(&names);
}

TEST(podman_names_containers)
{
	make_file("./var/lib/containers/storage/overlay-containers/containers.json",
		"[{\"id\":\"f00\",\"names\":[\"no\"]},{\"id\":\"" ID "\",\"names\":[\"db\"],"
		"\"metadata\":\"{\\\"image-name\\\":\\\"docker.io/postgres\\\"}\"}]");
	check_names("db docker.io/postgres -/-/-");
}

TEST(podman_without_root_names_containers)
{
	make_file("./home/al/.local/share/containers/storage/overlay-containers/containers.json",
		"[{\"id\":\"" ID "\",\"names\":[\"db\"]}]");
	check_names("db - -/-/-");
}

TEST(crio_names_containers)
{
	make_file("./var/lib/containers/storage/overlay-containers/containers.json",
		"[{\"id\":\"" ID "\",\"names\":[\"k8s_app_shop-1_prod_2b801b7a_0\"]}]");
	make_file("./run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		"{\"annotations\":{\"io.kubernetes.cri-o.ImageName\":\"quay.io/app\"}}");
	check_names("- quay.io/app prod/shop-1/app");
}

TEST(containerd_names_containers)
{
	make_file("./run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		"{\"annotations\":{\"io.kubernetes.cri.container-name\":\"app\","
		"\"io.kubernetes.cri.sandbox-name\":\"shop-0\","
		"\"io.kubernetes.cri.sandbox-namespace\":\"prod\","
		"\"io.kubernetes.cri.image-name\":\"ghcr.io/shop:2\"}}");
	check_names("- ghcr.io/shop:2 prod/shop-0/app");
}

TEST(nerdctl_names_containers)
{
	make_file("./run/containerd/io.containerd.runtime.v2.task/default/" ID "/config.json",
		"{\"annotations\":{\"nerdctl/name\":\"cache\"}}");
	check_names("cache - -/-/-");
}

TEST(logs_of_kubernetes_name_containers)
{
	make_file("./var/log/containers/x_y_z-123.log", "");
	make_file("./var/log/containers/shop-7d_prod_app-2-" ID ".log", "");
	check_names("- - prod/shop-7d/app-2");
}

TEST(names_of_machines_are_their_ids)
{
	struct container_names names = {.root = "."};
	CHECK_STR(container_names_find(&names, "debian", 1)->name, "debian");
	container_names_deinit(&names);
}

/* Each costs nothing but the name. */
TEST(hostile_files_of_runtimes_name_nothing)
{
	check_names("- - -/-/-");
	make_file("./var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/web");
	check_names("- - -/-/-");
	make_file("./var/lib/docker/containers/" ID "/config.v2.json",
		"{\"Name\":[\"/web\"],\"Config\":3}");
	check_names("- - -/-/-");
	CHECK(unlink("./var/lib/docker/containers/" ID "/config.v2.json") == 0);
	CHECK(mkfifo("./var/lib/docker/containers/" ID "/config.v2.json", 0600) == 0);
	check_names("- - -/-/-");
	make_file("./var/log/containers/-" ID ".log", "");
	make_file("./var/log/containers/a_b-" ID ".log", "");
	check_names("- - -/-/-");
	make_file("./var/lib/containers/storage/overlay-containers/containers.json",
		"{\"id\":\"" ID "\"}");
	check_names("- - -/-/-");
}

TEST(names_that_come_late_are_found)
{
	struct container_names names = {.root = "."};
	const struct container_name *name = container_names_find(&names, ID, 1);
	CHECK(!name->name);
	make_file("./var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/late\"}");
	CHECK(!container_names_renew(&names, 2)); /* too early */
	CHECK(container_names_renew(&names, 2000000000));
	CHECK_STR(name->name, "late");
	CHECK(!container_names_renew(&names, 4000000000));
	container_names_deinit(&names);
}
