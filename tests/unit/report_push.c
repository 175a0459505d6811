/* What pushing rests on: URLs, the record of what was delivered, parts of a profile. */
#include <string.h>

#include "report/model/text/base64.h"
#include "report/write/push/push_ledger.h"
#include "report/write/push/push_part.h"
#include "report/write/push/push_protocol.h"
#include "report/write/push/push_url.h"
#include "tests/unit/report_export_fixture.h"
#include "tests/unit/unit.h"

static void check_url(const char *text, const char *origin, const char *path, bool is_loopback)
{
	struct push_url url;
	CHECK_OK(push_url_parse(text, &url));
	CHECK_STR(url.origin, origin);
	CHECK_STR(url.path, path);
	CHECK_INT(url.is_loopback, is_loopback);
	CHECK_INT(url.is_https, strncasecmp(text, "https", 5) == 0);
	push_url_deinit(&url);
}

TEST(push_url_parts)
{
	check_url("https://a.example", "https://a.example", "", false);
	check_url("HTTP://LocalHost:80/a/b//", "HTTP://LocalHost:80", "/a/b", true);
	check_url("http://127.255.0.1/", "http://127.255.0.1", "", true);
	check_url("http://[::1]:4318/x", "http://[::1]:4318", "/x", true);
	check_url("http://[::2]/x@y", "http://[::2]", "/x@y", false);
	check_url("http://127.0.0.1.example/", "http://127.0.0.1.example", "", false);
	check_url("http://127.1/", "http://127.1", "", false); /* a resolver might agree or not */
}

TEST(push_url_refused)
{
	static const char *const bad[] = {"", "a.example", "file:///x", "http://", "http:///x",
		"http://a b", "http://a\n", "http://a:0", "http://a:65536",
		"http://a:", "http://a?q", "http://a/#f", "http://a\\@b", "http://[::1",
		"http://[x]", "http://u@h", "http://u:p@h", "http://\xc3\xa4", "http://a:1x"};
	struct push_url url;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_ERR(push_url_parse(bad[i], &url), ERR_USAGE, "");
}

TEST(push_base64)
{
	static const char *const vectors[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"\xff\xfe", "//4="}}; /* RFC 4648, 10 */
	for (size_t i = 0; i < sizeof(vectors) / sizeof(*vectors); i++) {
		CLEANUP(str_deinit) struct str text = {0};
		base64_put(&text, vectors[i][0], strlen(vectors[i][0]));
		CHECK_STR(str_text(&text), vectors[i][1]);
	}
}

/* "from-to" of all that is left of `count` samples. */
static void check_left(const struct push_ledger *ledger, uint32_t count, const char *want)
{
	CLEANUP(str_deinit) struct str text = {0};
	struct push_span span;
	for (uint32_t from = 0; push_ledger_next(ledger, from, count, &span); from = span.to)
		str_printf(&text, "%s%u-%u", text.len ? " " : "", span.from, span.to);
	CHECK_STR(str_text(&text), want);
}

TEST(push_ledger_is_kept)
{
	static const uint8_t key[16] = {1}, other[16] = {2};
	struct push_ledger ledger;
	CHECK_OK(push_ledger_open("ledger", key, 100, false, &ledger));
	check_left(&ledger, 100, "0-100");
	CHECK_OK(push_ledger_add(&ledger, (struct push_span){40, 50}));
	CHECK_OK(push_ledger_add(&ledger, (struct push_span){0, 10}));
	CHECK_OK(push_ledger_add(&ledger, (struct push_span){90, 100}));
	CHECK_OK(push_ledger_add(&ledger, (struct push_span){20, 30}));
	check_left(&ledger, 100, "10-20 30-40 50-90");
	CHECK_OK(push_ledger_add(&ledger, (struct push_span){30, 40}));
	check_left(&ledger, 100, "10-20 50-90");
	push_ledger_close(&ledger);
	CHECK_OK(push_ledger_open("ledger", key, 100, false, &ledger));
	check_left(&ledger, 100, "10-20 50-90");
	push_ledger_close(&ledger);
	CHECK_OK(push_ledger_open("ledger", other, 100, false, &ledger));
	check_left(&ledger, 100, "0-100");
	push_ledger_close(&ledger);
	CHECK_OK(push_ledger_open("ledger", key, 100, true, &ledger));
	check_left(&ledger, 100, "0-100");
	push_ledger_close(&ledger);
	/* Of another recording: its key could not be the same. */
	CHECK_ERR(push_ledger_open("ledger", key, 95, false, &ledger), ERR_FORMAT, "out of order");
	CHECK_OK(push_ledger_open("", key, 100, false, &ledger));
	CHECK_OK(push_ledger_add(&ledger, (struct push_span){0, 100}));
	check_left(&ledger, 100, "");
	push_ledger_close(&ledger);
}

static struct profile *make_profile(unsigned samples)
{
	struct fixture fixture;
	fixture_init(&fixture);
	uint32_t thread = fixture_thread(&fixture, fixture_process(&fixture, 1, 0), 1, "x");
	fixture_samples(&fixture, thread, 0, 0, samples);
	return fixture_profile(&fixture);
}

TEST(push_parts_make_the_whole)
{
	struct profile *profile = make_profile(9);
	uint32_t middle = push_part_middle(profile, (struct push_span){0, 9});
	CHECK(middle > 0 && middle < 9);
	CHECK_INT(push_part_middle(profile, (struct push_span){3, 5}), 4);
	struct profile first = push_part(profile, (struct push_span){0, middle});
	struct profile second = push_part(profile, (struct push_span){middle, 9});
	CHECK_INT(first.samples.len + second.samples.len, 9);
	CHECK_INT(first.first_ns, profile->first_ns);
	CHECK_INT(first.last_ns, second.first_ns);
	CHECK_INT(second.last_ns, profile->last_ns);
	for (size_t i = 1; i < 9; i++) /* where there is no time between them */
		profile->samples.data[i].time_ns = profile->samples.data[0].time_ns;
	CHECK_INT(push_part_middle(profile, (struct push_span){0, 9}), 4);
	profile_destroy(profile);
}

TEST(push_keys_tell_apart)
{
	static const char *const here[] = {"here", NULL}, *const there[] = {"there", NULL};
	struct profile *profile = make_profile(3000); /* more than are hashed at a time */
	struct push_span whole = {0, 3000};
	uint8_t key[PUSH_KEY_BYTES], again[PUSH_KEY_BYTES], other[PUSH_KEY_BYTES];
	push_part_key(profile, whole, here, key);
	push_part_key(profile, whole, here, again);
	CHECK(memcmp(key, again, sizeof(key)) == 0);
	push_part_key(profile, whole, there, other);
	CHECK(memcmp(key, other, sizeof(key)) != 0);
	push_part_key(profile, (struct push_span){0, 2999}, here, other);
	CHECK(memcmp(key, other, sizeof(key)) != 0);
	profile->samples.data[10].time_ns++;
	push_part_key(profile, whole, here, other);
	CHECK(memcmp(key, other, sizeof(key)) != 0);
	profile_destroy(profile);
}

TEST(push_protocol_by_path_or_name)
{
	const struct push_protocol *protocol;
	bool is_endpoint;
	CHECK_OK(push_protocol_find(NULL, "/x/ingest", &protocol, &is_endpoint));
	CHECK_STR(protocol->endpoint, "/ingest");
	CHECK(is_endpoint);
	CHECK_OK(push_protocol_find("pyroscope", "/x", &protocol, &is_endpoint));
	CHECK_STR(protocol->endpoint, "/push.v1.PusherService/Push");
	CHECK(!is_endpoint);
	CHECK_OK(push_protocol_find("otlp", "/ingest", &protocol, &is_endpoint));
	CHECK(!is_endpoint);
	CHECK_ERR(push_protocol_find(NULL, "", &protocol, &is_endpoint), ERR_USAGE, "--protocol");
	CHECK_ERR(push_protocol_find("http", "", &protocol, &is_endpoint), ERR_USAGE, "none of");
}

static void check_answer(const void *bytes, size_t len, const char *want)
{
	const struct push_protocol *protocol;
	bool is_endpoint;
	CHECK_OK(push_protocol_find("otlp", "", &protocol, &is_endpoint));
	struct http_response response = {.status = 200, .body = bytes, .len = len};
	struct err *err = protocol->check(&response);
	CHECK_STR(err ? err_message(err) : "", want);
	err_destroy(err);
}

TEST(push_otlp_responses)
{
	check_answer("", 0, "");
	check_answer("\x0a\x00", 2, "");
	check_answer("\x0a\x04\x12\x02hi", 6, ""); /* a warning: nothing was rejected */
	check_answer("\x0a\x06\x08\x01\x12\x02no", 8, "the server rejected 1 profile: no");
	check_answer("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x08\x01", 13, "");
	check_answer("{\"partialSuccess\":{}}", 21, "");
}
