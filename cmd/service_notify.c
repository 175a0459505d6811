#include "cmd/service_notify.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/mem.h"
#include "format/base/str.h"

/* "@name" is an abstract one. */
static int connect_to(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || len >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, len);
	if (path[0] == '@')
		address.sun_path[0] = '\0';
	CLEANUP_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, size))
		return -1;
	return steal_fd(fd);
}

/* WATCHDOG_PID: whom it is for; else it is for us. */
static uint64_t find_watchdog(void)
{
	const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
		return 0;
	return strtoull(usec, NULL, 10) * NS_PER_US;
}

void service_notify_open(struct service_notify *ret)
{
	const char *path = getenv("NOTIFY_SOCKET");
	*ret = (struct service_notify){
		.fd = path ? connect_to(path) : -1, .watchdog_ns = find_watchdog()};
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void service_notify_close(struct service_notify *notify)
{
	mem_close_fd(&notify->fd);
}

/* A full socket is no reason to wait: what matters is sent again. */
static void send_note(const struct service_notify *notify, const char *text)
{
	if (notify->fd >= 0 && send(notify->fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		return;
}

void service_notify_ready(const struct service_notify *notify, const char *status)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "READY=1\nSTATUS=%s", status);
	send_note(notify, str_text(&text));
}

void service_notify_reloaded(const struct service_notify *notify)
{
	CLEANUP(str_deinit) struct str text = {0};
	str_printf(&text, "RELOADING=1\nMONOTONIC_USEC=%llu",
		(unsigned long long)(clock_now_ns() / NS_PER_US));
	send_note(notify, str_text(&text));
	send_note(notify, "READY=1");
}

void service_notify_stopping(const struct service_notify *notify)
{
	send_note(notify, "STOPPING=1");
}

void service_notify_alive(struct service_notify *notify)
{
	uint64_t now_ns = clock_now_ns();
	if (notify->fd < 0 || !notify->watchdog_ns ||
		now_ns - notify->sent_ns < notify->watchdog_ns / 4)
		return;
	notify->sent_ns = now_ns;
	send_note(notify, "WATCHDOG=1");
}
