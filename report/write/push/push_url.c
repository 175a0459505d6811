#include "report/write/push/push_url.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "format/base/mem.h"

static const char digits[] = "0123456789";
static const char host_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
static const char path_bytes[] =
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_~/%+=:,@!$&()*;";

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (strcasecmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static struct err *bad(const char *text, const char *why)
{
	return err_new(ERR_USAGE, "\"%s\" is no URL to push to: %s", text, why);
}

/* [::1] or a name; the length of it, 0 when it is neither. `name` without brackets is yours. */
static size_t read_host(const char *at, char **name)
{
	if (*at != '[') {
		size_t len = strspn(at, host_bytes);
		*name = mem_strndup(at, len);
		return len;
	}
	size_t len = strspn(at + 1, "0123456789abcdefABCDEF:.");
	*name = mem_strndup(at + 1, len);
	struct in6_addr address;
	return at[1 + len] == ']' && inet_pton(AF_INET6, *name, &address) == 1 ? len + 2 : 0;
}

static struct err *read_port(const char *text, const char **at)
{
	if (**at != ':')
		return NULL;
	size_t len = strspn(*at + 1, digits);
	if (!len || len > 5 || atoi(*at + 1) > 65535 || !atoi(*at + 1))
		return bad(text, "its port is no number from 1 to 65535");
	*at += 1 + len;
	return NULL;
}

struct err *push_url_parse(const char *text, struct push_url *ret)
{
	bool is_https = strncasecmp(text, "https://", 8) == 0;
	if (!is_https && strncasecmp(text, "http://", 7) != 0)
		return bad(text, "it begins neither with https:// nor with http://");
	const char *host = text + (is_https ? 8 : 7), *at = host;
	if (strchr(host, '@') && strcspn(host, "@") < strcspn(host, "/?#"))
		return err_new(ERR_USAGE,
			"a URL must not hold a user or a password, which everybody "
			"can see here: use EBPROF_USER and EBPROF_TOKEN");
	CLEANUP_FREE char *name = NULL;
	size_t len = read_host(at, &name);
	if (!len)
		return bad(text, "it has no host");
	at += len;
	try(read_port(text, &at));
	size_t path_len = strspn(at, path_bytes);
	if (at[path_len] || (path_len && *at != '/'))
		return bad(text, "it may have a path, but nothing else behind the host");
	const char *path = at;
	while (path_len && path[path_len - 1] == '/')
		path_len--;
	*ret = (struct push_url){
		.origin = mem_strndup(text, (size_t)(at - text)),
		.path = mem_strndup(path, path_len),
		.is_https = is_https,
		.is_loopback = is_loopback(name),
	};
	return NULL;
}

void push_url_deinit(struct push_url *url)
{
	mem_free(url->origin);
	mem_free(url->path);
}
