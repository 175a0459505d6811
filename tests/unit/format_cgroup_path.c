/* Paths of control groups as container engines and systemd make them, and as nobody does. */
#include "format/base/cgroup_path.h"
#include "tests/unit/unit.h"

#define ID   "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_2 "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID  "2b801b7a-5266-4386-864e-45ed71136371"
#define UID_ "2b801b7a_5266_4386_864e_45ed71136371"

static void check_path(const char *path, const char *container, const char *pod, const char *unit)
{
	struct str got[3] = {{0}};
	cgroup_put_container(path, &got[0]);
	cgroup_put_pod(path, &got[1]);
	cgroup_put_unit(path, &got[2]);
	CHECK_STR(str_text(&got[0]), container);
	CHECK_STR(str_text(&got[1]), pod);
	CHECK_STR(str_text(&got[2]), unit);
	for (int i = 0; i < 3; i++)
		str_deinit(&got[i]);
}

TEST(paths_of_systemd)
{
	check_path("/", "", "", "");
	check_path("/init.scope", "", "", "init.scope");
	check_path("/system.slice/nginx.service", "", "", "nginx.service");
	check_path("/system.slice/system-getty.slice/getty@tty1.service", "", "",
		"getty@tty1.service");
	check_path("/user.slice/user-1000.slice/session-2.scope", "", "", "session-2.scope");
	check_path("/user.slice/user-1000.slice/user@1000.service/app.slice/firefox.service/sub",
		"", "", "firefox.service");
	check_path("/user.slice/user-1000.slice/user@1000.service/app.slice/app-a\\x2db.scope", "",
		"", "app-a-b.scope");
}

TEST(paths_of_docker)
{
	check_path("/docker/" ID, ID, "", "");
	check_path("/system.slice/docker-" ID ".scope", ID, "", "");
	check_path("/docker/" ID "/docker/" ID_2, ID_2, "", "");
	check_path("/docker/" ID "/system.slice/cron.service", ID, "", "cron.service");
}

TEST(paths_of_podman)
{
	check_path("/machine.slice/libpod-" ID ".scope/container", ID, "", "");
	check_path("/libpod_parent/libpod-" ID, ID, "", "");
	check_path(
		"/machine.slice/libpod-conmon-" ID ".scope", "", "", "libpod-conmon-" ID ".scope");
	check_path("/system.slice/web.service/libpod-payload-" ID, ID, "", "web.service");
	check_path("/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
		ID, "", "user@1000.service");
}

TEST(paths_of_kubernetes)
{
	check_path("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		   ".slice/cri-containerd-" ID ".scope",
		ID, UID, "");
	check_path("/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope", ID, UID, "");
	check_path("/kubepods.slice/kubepods-pod" UID_ ".slice/crio-conmon-" ID ".scope", "", UID,
		"crio-conmon-" ID ".scope");
	check_path("/kubepods/besteffort/pod" UID "/" ID, ID, UID, "");
	check_path("/kubepods/pod" UID "/crio-" ID, ID, UID, "");
	check_path("/docker/" ID_2 "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
		   ".slice/cri-containerd-" ID ".scope",
		ID, UID, "");
	check_path("/system.slice/containerd.service/kubepods-burstable-pod" UID_
		   ".slice:cri-containerd:" ID,
		ID, UID, "containerd.service");
	/* Those of files on the node are called by a hash. */
	check_path("/kubepods/pod0123456789abcdef0123456789abcdef/" ID, ID,
		"0123456789abcdef0123456789abcdef", "");
}

TEST(paths_of_others)
{
	check_path("/machine.slice/machine-debian\\x2d12.scope", "debian-12", "", "");
	check_path("/lxc.payload.web", "web", "", "");
	check_path(
		"/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567890",
		"0123456789abcdef0123456789abcdef-1234567890", "", "");
	check_path("/default/" ID, ID, "", ""); /* containerd's namespace, and the ID */
}

TEST(paths_that_say_nothing)
{
	check_path("", "", "", "");
	check_path("//", "", "", "");
	check_path("/docker/" ID "0", "", "", "");
	check_path("/machine-.scope", "", "", "machine-.scope");
	check_path("/pod/podium/pod" UID "x", "", UID, "");
	check_path("/pod2b801b7a", "", "", "");
	check_path("/a\\x", "", "", "");
	check_path("/a\\x0a.scope", "", "", "a\\x0a.scope"); /* no line may be broken by a name */
}
