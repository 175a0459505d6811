#include "cmd/metrics.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "format/base/caller.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "format/base/output_file.h"

enum {
	FILE_EVERY_MS = 5000,
	CLIENT_MS = 2000, /* for a request and its answer */
	REQUEST_BYTES = 4096,
	PUSHER_BYTES = 16 << 10, /* of one pusher's counters */
	LISTEN_EVERY_MS = 50,    /* to an address that another recorder has still */
	ADDRESS_MS = 10 * 1000,  /* it has it for so long at most, as it has the ring */
};

struct metrics {
	char *where, *path; /* of the file; NULL: it is HTTP */
	int listener, end_fd;
	bool waits_for_text;       /* the file is another recorder's still */
	uint64_t address_until_ns; /* 0: nobody waits for it */
	const char *ring;
	bool is_running;
	pthread_t thread;
	pthread_mutex_t lock; /* of `text` */
	struct str text;
};

/* ---- where to ---- */

static bool is_file_name(const char *where)
{
	size_t len = strlen(where);
	return len > 5 && strcmp(where + len - 5, ".prom") == 0;
}

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool parse_address(const char *where, union address *ret, socklen_t *len)
{
	const char *colon = strrchr(where, ':');
	char *end = NULL;
	long port = colon ? strtol(colon + 1, &end, 10) : -1;
	if (!colon || colon == where || !end || end == colon + 1 || *end || port < 0 ||
		port > 65535)
		return false;
	bool has_brackets = where[0] == '[' && colon[-1] == ']';
	CLEANUP_FREE char *host = has_brackets ? mem_strndup(where + 1, (size_t)(colon - where) - 2)
					       : mem_strndup(where, (size_t)(colon - where));
	*ret = (union address){0};
	if (!has_brackets && inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1) {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*len = sizeof(ret->v4);
		return true;
	}
	if (!has_brackets || inet_pton(AF_INET6, host, &ret->v6.sin6_addr) != 1)
		return false;
	ret->v6.sin6_family = AF_INET6;
	ret->v6.sin6_port = htons((uint16_t)port);
	*len = sizeof(ret->v6);
	return true;
}

static struct err *listen_at(const char *where, int *ret)
{
	union address address;
	socklen_t len;
	int on = 1;
	if (!parse_address(where, &address, &len))
		return err_new(ERR_USAGE,
			"--metrics: \"%s\" is neither ADDRESS:PORT, such as 127.0.0.1:9188, nor "
			"the name of a file that ends with .prom",
			where);
	CLEANUP_FD int fd =
		socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_sys(errno, "--metrics %s", where);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &address.any, len) || listen(fd, 16))
		return err_sys(errno, "--metrics %s", where);
	*ret = steal_fd(fd);
	return NULL;
}

static struct err *open_metrics_target(const char *where, bool may_wait, struct metrics *metrics)
{
	metrics->end_fd = eventfd(0, EFD_CLOEXEC);
	if (metrics->end_fd < 0)
		return err_sys(errno, "eventfd");
	metrics->where = mem_strdup(where);
	if (is_file_name(where)) {
		metrics->path = mem_strdup(where);
		return NULL;
	}
	struct err *err = listen_at(where, &metrics->listener);
	if (!err || !may_wait || err_errnum(err) != EADDRINUSE)
		return err;
	err_destroy(err); /* metrics_start() knows whether it is to be waited for */
	return NULL;
}

struct err *metrics_open(const char *where, bool may_wait, struct metrics **ret)
{
	struct metrics *metrics = mem_zalloc(sizeof(*metrics));
	metrics->listener = metrics->end_fd = -1;
	pthread_mutex_init(&metrics->lock, NULL);
	struct err *err = open_metrics_target(where, may_wait, metrics);
	if (err)
		metrics_close(metrics);
	else
		*ret = metrics;
	return err;
}

/* ---- what is served ---- */

void metrics_update(struct metrics *metrics, const struct session_summary *health)
{
	struct str text = {0};
	metrics_put_text(health, &text);
	if (!pthread_mutex_trylock(&metrics->lock)) { /* else the text before that one will do */
		struct str old = metrics->text;
		metrics->text = text;
		text = old;
		pthread_mutex_unlock(&metrics->lock);
	}
	str_deinit(&text);
}

static void put_pushers_file(int folder, const char *name, struct str *out)
{
	CLEANUP_FD int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	CLEANUP_FREE char *text = mem_zalloc(PUSHER_BYTES);
	ssize_t got = fd < 0 ? -1 : fd_read_fully(fd, text, PUSHER_BYTES);
	if (got > 0 && got < PUSHER_BYTES)
		str_write(out, text, (size_t)got);
}

/* One pusher's as they are; of several the names would come twice, which Prometheus refuses. */
static void put_pushers(const char *ring, struct str *out)
{
	DIR *folder = ring ? opendir(ring) : NULL;
	bool has_one = false;
	for (const struct dirent *entry; folder && !has_one && (entry = readdir(folder));) {
		const char *dot = strrchr(entry->d_name, '.');
		has_one = dot && strncmp(entry->d_name, "push-", 5) == 0 &&
			  strcmp(dot, ".metrics") == 0;
		if (has_one)
			put_pushers_file(dirfd(folder), entry->d_name, out);
	}
	if (folder)
		closedir(folder);
}

static void put_all(struct metrics *metrics, struct str *out)
{
	pthread_mutex_lock(&metrics->lock);
	str_write(out, str_text(&metrics->text), metrics->text.len);
	pthread_mutex_unlock(&metrics->lock);
	put_pushers(metrics->ring, out);
}

/* ---- a file ---- */

/* Without a text it is only seen whether it could be written. */
static struct err *write_metrics_file(struct metrics *metrics)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct output_file_options options = {
		.path = metrics->path, .owner = caller_find(), .is_for_all = true};
	struct output_file *file;
	put_all(metrics, &text);
	try(output_file_create(&options, &file));
	struct err *err = NULL;
	if (write(output_file_fd(file), str_text(&text), text.len) != (ssize_t)text.len)
		err = err_sys(errno, "%s", metrics->path);
	if (!err && (text.len || !metrics->waits_for_text))
		err = output_file_publish(file);
	output_file_destroy(file);
	return err;
}

/* ---- HTTP ---- */

struct client {
	int fd, end_fd; /* the end of the server does not wait for a client */
	uint64_t until_ns;
};

static bool is_client_ready(const struct client *client, short what)
{
	uint64_t now_ns = clock_now_ns();
	struct pollfd fds[] = {
		{.fd = client->fd, .events = what}, {.fd = client->end_fd, .events = POLLIN}};
	return now_ns < client->until_ns &&
	       poll(fds, 2, (int)((client->until_ns - now_ns) / NS_PER_MS)) > 0 && fds[0].revents;
}

/* Up to the empty line. False: it did not come in time, or is too long. */
static bool read_request(const struct client *client, char *text)
{
	size_t len = 0;
	while (len < REQUEST_BYTES - 1 && is_client_ready(client, POLLIN)) {
		ssize_t got = recv(client->fd, text + len, REQUEST_BYTES - 1 - len, 0);
		if (got <= 0)
			return false;
		len += (size_t)got;
		text[len] = '\0';
		if (strstr(text, "\r\n\r\n"))
			return true;
	}
	return false;
}

static void send_answer(const struct client *client, const struct str *text)
{
	size_t sent = 0;
	while (sent < text->len && is_client_ready(client, POLLOUT)) {
		ssize_t got = send(client->fd, text->data + sent, text->len - sent, MSG_NOSIGNAL);
		if (got <= 0)
			return;
		sent += (size_t)got;
	}
}

static const char *answer_to(const char *request)
{
	if (strncmp(request, "GET ", 4) != 0)
		return "405 Method Not Allowed";
	bool is_ours = strncmp(request + 4, "/metrics ", 9) == 0 ||
		       strncmp(request + 4, "/metrics?", 9) == 0;
	return is_ours ? "200 OK" : "404 Not Found";
}

static void serve_client(struct metrics *metrics, int fd)
{
	char request[REQUEST_BYTES] = "";
	CLEANUP(str_deinit) struct str body = {0}, text = {0};
	struct client client = {
		fd, metrics->end_fd, clock_now_ns() + (uint64_t)CLIENT_MS * NS_PER_MS};
	bool is_whole = read_request(&client, request);
	const char *status = is_whole ? answer_to(request) : "400 Bad Request";
	if (strcmp(status, "200 OK") == 0)
		put_all(metrics, &body);
	else
		str_printf(&body, "%s: metrics are at /metrics\n", status);
	str_printf(&text,
		"HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
		"Content-Length: %zu\r\nConnection: close\r\n\r\n",
		status, body.len);
	str_write(&text, str_text(&body), body.len);
	send_answer(&client, &text);
}

/* ---- the thread ---- */

static void wait_for_address(struct metrics *metrics)
{
	struct err *err = listen_at(metrics->where, &metrics->listener);
	if (!err)
		__atomic_store_n(&metrics->address_until_ns, 0, __ATOMIC_RELAXED);
	err_destroy(err); /* the next time */
}

static void *serve_metrics(void *context)
{
	struct metrics *metrics = context;
	for (;;) {
		bool has_address = metrics->path || metrics->listener >= 0;
		int every_ms = metrics->path ? FILE_EVERY_MS : -1;
		struct pollfd fds[] = {{.fd = metrics->end_fd, .events = POLLIN},
			{.fd = metrics->listener, .events = POLLIN}};
		poll(fds, 2, has_address ? every_ms : LISTEN_EVERY_MS);
		if (!has_address)
			wait_for_address(metrics);
		if (metrics->path)
			err_destroy(write_metrics_file(metrics)); /* next time perhaps */
		if (fds[0].revents)
			return NULL;
		int fd = metrics->path ? -1
				       : accept4(metrics->listener, NULL, NULL,
						 SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd >= 0)
			serve_client(metrics, fd);
		mem_close_fd(&fd);
	}
}

struct err *metrics_start(struct metrics *metrics, const char *ring, bool takes_over)
{
	metrics->ring = ring;
	metrics->waits_for_text = takes_over;
	if (!metrics->path && metrics->listener < 0) {
		if (!takes_over)
			return listen_at(metrics->where, &metrics->listener);
		metrics->address_until_ns = clock_now_ns() + (uint64_t)ADDRESS_MS * NS_PER_MS;
	}
	if (metrics->path)
		try(write_metrics_file(metrics)); /* that it cannot be is said now */
	int errnum = pthread_create(&metrics->thread, NULL, serve_metrics, metrics);
	metrics->is_running = !errnum;
	return errnum ? err_sys(errnum, "--metrics: a thread") : NULL;
}

bool metrics_lacks_address(struct metrics *metrics)
{
	uint64_t until_ns = __atomic_load_n(&metrics->address_until_ns, __ATOMIC_RELAXED);
	if (!until_ns || clock_now_ns() < until_ns)
		return false;
	__atomic_store_n(&metrics->address_until_ns, 0, __ATOMIC_RELAXED);
	return true;
}

void metrics_close(struct metrics *metrics)
{
	uint64_t one = 1;
	if (!metrics)
		return;
	if (metrics->is_running && write(metrics->end_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(metrics->thread, NULL);
	mem_close_fd(&metrics->listener);
	mem_close_fd(&metrics->end_fd);
	pthread_mutex_destroy(&metrics->lock);
	str_deinit(&metrics->text);
	mem_free(metrics->path);
	mem_free(metrics->where);
	mem_free(metrics);
}
