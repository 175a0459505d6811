#include "report/write/push/http.h"

#include <string.h>

#include "format/base/mem.h"
#include "format/base/str.h"
#include "report/write/push/curl_library.h"

enum {
	CONNECT_TIMEOUT_MS = 10000,
	ERROR_BUFFER_BYTES = 256,   /* CURL_ERROR_SIZE */
	MAX_ANSWER_BYTES = 4 << 20, /* what OTLP recommends a client to bear */
	GLOBAL_ALL = 3,
	HTTP_1_1 = 2,
	PROTOCOLS_HTTP = 1 | 2,
	VERIFY_NAME = 2,
};

struct http {
	struct curl_library curl;
	void *easy;
	struct str answer;
	char error[ERROR_BUFFER_BYTES];
};

static size_t http_take_answer(char *bytes, size_t size, size_t count, void *context)
{
	struct str *answer = context;
	size_t len = size * count;
	if (len > MAX_ANSWER_BYTES - answer->len)
		return 0;
	str_write(answer, bytes, len);
	return len;
}

static void set_up(struct http *http, const struct http_options *options)
{
	const struct curl_library *curl = &http->curl;
	curl->easy_setopt(http->easy, CURL_NO_SIGNAL, 1L);
	curl->easy_setopt(http->easy, CURL_PROTOCOLS, (long)PROTOCOLS_HTTP);
	curl->easy_setopt(http->easy, CURL_HTTP_VERSION, (long)HTTP_1_1);
	curl->easy_setopt(http->easy, CURL_FOLLOW_LOCATION, 0L);
	curl->easy_setopt(http->easy, CURL_VERIFY_PEER, 1L);
	curl->easy_setopt(http->easy, CURL_VERIFY_HOST, (long)VERIFY_NAME);
	curl->easy_setopt(http->easy, CURL_USER_AGENT, "ebprof/" EBPROF_VERSION);
	curl->easy_setopt(http->easy, CURL_ERROR_BUFFER, http->error);
	curl->easy_setopt(http->easy, CURL_WRITE_FUNCTION, http_take_answer);
	curl->easy_setopt(http->easy, CURL_WRITE_DATA, &http->answer);
	curl->easy_setopt(http->easy, CURL_CONNECT_TIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	if (options->ca_file)
		curl->easy_setopt(http->easy, CURL_CA_INFO, options->ca_file);
	if (options->is_direct)
		curl->easy_setopt(http->easy, CURL_NO_PROXY, "*");
}

struct err *http_open(const struct http_options *options, struct http **ret)
{
	struct curl_library curl;
	if (!curl_library_is_possible())
		return err_new(ERR_UNSUPPORTED, "a static ebprof cannot load libcurl: use ebprof "
						"convert and curl, or another build");
	if (!curl_library_load(&curl))
		return err_new(ERR_UNSUPPORTED, "there is no libcurl here (Debian: libcurl4)");
	if (curl.global_init(GLOBAL_ALL))
		return err_new(ERR_UNSUPPORTED, "libcurl does not start");
	void *easy = curl.easy_init();
	if (!easy)
		return err_new(ERR_UNSUPPORTED, "libcurl does not start");
	struct http *http = mem_zalloc(sizeof(*http));
	http->curl = curl;
	http->easy = easy;
	set_up(http, options);
	*ret = http;
	return NULL;
}

void http_close(struct http *http)
{
	if (!http)
		return;
	http->curl.easy_cleanup(http->easy);
	str_deinit(&http->answer);
	mem_free(http);
}

/* What no server will do better the next time. */
static bool is_final(int code)
{
	switch (code) {
	case CURL_UNSUPPORTED_PROTOCOL:
	case CURL_BAD_URL:
	case CURL_WRITE_ERROR:
	case CURL_BAD_CERTIFICATE:
	case CURL_BAD_CIPHER:
	case CURL_PEER_NOT_VERIFIED:
	case CURL_BAD_CA_FILE:
		return true;
	default:
		return false;
	}
}

static const char *http_problem_of(const struct http *http, int code)
{
	if (code == CURL_WRITE_ERROR)
		return "the answer is longer than 4 MiB";
	return http->error[0] ? http->error : http->curl.easy_strerror(code);
}

static struct http_response response_of(struct http *http, int code)
{
	struct http_response response = {.status = 0};
	if (code) {
		response.is_final = is_final(code);
		response.problem = http_problem_of(http, code);
		return response;
	}
	char *location = NULL;
	int64_t retry_after_s = 0;
	http->curl.easy_getinfo(http->easy, CURL_RESPONSE_CODE, &response.status);
	http->curl.easy_getinfo(http->easy, CURL_REDIRECT_URL, &location);
	http->curl.easy_getinfo(http->easy, CURL_RETRY_AFTER, &retry_after_s);
	response.location = location;
	response.retry_after_s = retry_after_s > 0 ? retry_after_s : 0;
	response.body = str_text(&http->answer);
	response.len = http->answer.len;
	return response;
}

struct http_response http_post(struct http *http, const struct http_request *request)
{
	const struct curl_library *curl = &http->curl;
	/* Else libcurl asks first whether it may send much, and waits a second for an answer. */
	struct curl_slist *headers = curl->slist_append(NULL, "Expect:");
	for (const char *const *header = request->headers; *header; header++)
		headers = curl->slist_append(headers, *header);
	str_truncate(&http->answer, 0);
	http->error[0] = '\0';
	curl->easy_setopt(http->easy, CURL_URL, request->url);
	curl->easy_setopt(http->easy, CURL_TIMEOUT_MS, (long)request->timeout_ms);
	curl->easy_setopt(http->easy, CURL_HTTP_HEADER, headers);
	curl->easy_setopt(http->easy, CURL_POST_FIELDS, request->body);
	curl->easy_setopt(http->easy, CURL_POST_FIELD_SIZE, (int64_t)request->len);
	int code = curl->easy_perform(http->easy);
	curl->easy_setopt(http->easy, CURL_HTTP_HEADER, NULL);
	curl->slist_free_all(headers);
	return response_of(http, code);
}
