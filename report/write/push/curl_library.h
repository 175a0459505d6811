/*
 * libcurl, loaded with the first push: a machine without it must still run a report, and a static
 * binary cannot have it, since it loads half a system's libraries behind it. Its numbers never
 * change (curl.h: "never reuse" them), so its headers are not needed to build.
 *
 * Source: curl/curl.h of 7.66, the first that knows Retry-After.
 */
#ifndef EBPROF_CURL_LIBRARY_H
#define EBPROF_CURL_LIBRARY_H

#include <stdbool.h>

struct curl_slist; /* theirs */

enum curl_option {
	CURL_WRITE_DATA = 10001,
	CURL_URL = 10002,
	CURL_ERROR_BUFFER = 10010, /* of 256 bytes */
	CURL_POST_FIELDS = 10015,
	CURL_USER_AGENT = 10018,
	CURL_HTTP_HEADER = 10023,
	CURL_CA_INFO = 10065,
	CURL_NO_PROXY = 10177,
	CURL_WRITE_FUNCTION = 20011,
	CURL_POST_FIELD_SIZE = 30120, /* a curl_off_t: int64_t */
	CURL_FOLLOW_LOCATION = 52,
	CURL_VERIFY_PEER = 64,
	CURL_VERIFY_HOST = 81,
	CURL_HTTP_VERSION = 84, /* 2: 1.1 */
	CURL_NO_SIGNAL = 99,
	CURL_TIMEOUT_MS = 155,
	CURL_CONNECT_TIMEOUT_MS = 156,
	CURL_PROTOCOLS = 181, /* 1: HTTP, 2: HTTPS */
};

enum curl_info {
	CURL_RESPONSE_CODE = 0x200002, /* long */
	CURL_REDIRECT_URL = 0x10001f,  /* char * */
	CURL_RETRY_AFTER = 0x600039,   /* curl_off_t, seconds */
};

enum curl_error {
	CURL_UNSUPPORTED_PROTOCOL = 1,
	CURL_BAD_URL = 3,
	CURL_WRITE_ERROR = 23, /* our write function had enough */
	CURL_BAD_CERTIFICATE = 58,
	CURL_BAD_CIPHER = 59,
	CURL_PEER_NOT_VERIFIED = 60,
	CURL_BAD_CA_FILE = 77,
};

struct curl_library {
	int (*global_init)(long flags); /* 3: all */
	void *(*easy_init)(void);
	void (*easy_cleanup)(void *easy);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_perform)(void *easy);
	int (*easy_getinfo)(void *easy, int info, ...);
	const char *(*easy_strerror)(int code);
	struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
	void (*slist_free_all)(struct curl_slist *list);
};

/* False when there is none. It stays loaded. */
bool curl_library_load(struct curl_library *ret);

/* Whether this program can load a library at all. */
bool curl_library_is_possible(void);

#endif
