#include "report/write/push/push.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "format/base/clock.h"
#include "report/model/text/base64.h"
#include "report/write/push/http.h"
#include "report/write/push/push_ledger.h"
#include "report/write/push/push_part.h"
#include "report/write/push/push_protocol.h"
#include "report/write/push/push_url.h"

enum {
	FIRST_WAIT_MS = 500,
	LONGEST_WAIT_MS = 30000,
	MAX_HEADERS = 6,
	MAX_LABELS = 28, /* Pyroscope takes 30, two are ours */
	EXCERPT_BYTES = 300,
};

struct push {
	const struct profile *profile;
	const struct push_options *options;
	struct push_result *result;
	struct push_url url;
	const struct push_protocol *protocol;
	struct str target; /* the URL with the endpoint */
	struct http *http;
	struct push_ledger ledger;
	uint64_t max_bytes;
	uint64_t began_ns; /* wall clock */
	uint64_t tried_ms; /* in requests and between them, since a part was delivered */
	bool has_given_up; /* options->give_up_ms has passed, or would */
	struct str header_text[MAX_HEADERS];
	const char *headers[MAX_HEADERS + 1];
	size_t nr_headers;
};

static void push_say(const struct push *push, bool is_passing, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void push_say(const struct push *push, bool is_passing, const char *fmt, ...)
{
	CLEANUP(str_deinit) struct str text = {0};
	va_list args;
	va_start(args, fmt);
	str_vprintf(&text, fmt, args);
	va_end(args);
	push->options->say(push->options->context, is_passing, str_text(&text));
}

/* ---- headers ---- */

static struct str *add_header(struct push *push, const char *name)
{
	struct str *text = &push->header_text[push->nr_headers++];
	str_printf(text, "%s: ", name);
	return text;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			return false;
	return true;
}

static struct err *add_authorization(struct push *push)
{
	const struct push_options *options = push->options;
	if (!options->token)
		return NULL;
	if (!options->token[0] || !is_printable(options->token) ||
		(options->user && !is_printable(options->user)))
		return err_new(ERR_USAGE, "the token or the user is no line of printable ASCII");
	if (!push->url.is_https && !push->url.is_loopback)
		return err_new(ERR_USAGE, "a token is sent over https:// only, or to this machine");
	struct str *header = add_header(push, "Authorization");
	if (!options->user) {
		str_printf(header, "Bearer %s", options->token);
		return NULL;
	}
	CLEANUP(str_deinit) struct str pair = {0};
	str_printf(&pair, "%s:%s", options->user, options->token);
	str_puts(header, "Basic ");
	base64_put(header, str_text(&pair), pair.len);
	return NULL;
}

static struct err *add_headers(struct push *push)
{
	const char *tenant = push->options->tenant;
	try(add_authorization(push));
	str_puts(add_header(push, "Content-Type"), push->protocol->content_type);
	if (push->protocol->is_gzip)
		str_puts(add_header(push, "Content-Encoding"), "gzip");
	if (strcmp(push->protocol->content_type, "application/proto") == 0)
		str_puts(add_header(push, "Connect-Protocol-Version"), "1");
	if (tenant && (!tenant[0] || !is_printable(tenant)))
		return err_new(ERR_USAGE, "the tenant is no line of printable ASCII");
	if (tenant)
		str_puts(add_header(push, "X-Scope-OrgID"), tenant);
	for (size_t i = 0; i < push->nr_headers; i++)
		push->headers[i] = str_text(&push->header_text[i]);
	return NULL;
}

/* ---- one part ---- */

static uint64_t push_now_ms(void)
{
	return clock_now_ns() / NS_PER_MS;
}

static void wait_ms(struct push *push, uint64_t ms)
{
	struct timespec left = clock_to_timespec(ms * NS_PER_MS);
	while (nanosleep(&left, &left) && errno == EINTR)
		;
	push->tried_ms += ms;
}

static uint64_t left_ms(const struct push *push)
{
	uint64_t give_up_ms = push->options->give_up_ms;
	return push->tried_ms < give_up_ms ? give_up_ms - push->tried_ms : 0;
}

static struct http_response push_attempt(struct push *push, struct http_request request)
{
	uint64_t left = left_ms(push), began_ms = push_now_ms();
	request.timeout_ms = push->options->timeout_ms < left ? push->options->timeout_ms : left;
	struct http_response response = http_post(push->http, &request);
	push->tried_ms += push_now_ms() - began_ms;
	return response;
}

/* Doubles, and differs from what others who failed at the same moment wait. */
static uint64_t back_off_ms(uint32_t failures)
{
	uint64_t wait = FIRST_WAIT_MS;
	for (uint32_t i = 0; i < failures && wait < LONGEST_WAIT_MS; i++)
		wait *= 2;
	if (wait > LONGEST_WAIT_MS)
		wait = LONGEST_WAIT_MS;
	return wait * 3 / 4 + map_random_seed() % (wait / 2);
}

/* docs/specification.md of opentelemetry-proto 1.11.0, "Retryable Response Codes". */
static bool is_temporary(const struct http_response *response)
{
	switch (response->status) {
	case 0:
		return !response->is_final;
	case 429:
	case 502:
	case 503:
	case 504:
		return true;
	default:
		return false;
	}
}

/* "503: what it said" */
static void push_put_answer(struct str *out, const struct http_response *response)
{
	if (!response->status) {
		str_puts(out, response->problem);
		return;
	}
	str_printf(out, "status %ld", response->status);
	if (response->location && response->status / 100 == 3)
		str_printf(out, ", it points to %s", response->location);
	else if (response->len)
		str_printf(out, ": %.*s", EXCERPT_BYTES, response->body);
	while (out->len && out->data[out->len - 1] == '\n')
		str_truncate(out, out->len - 1);
}

static struct err *failure(const struct push *push, const struct http_response *response)
{
	CLEANUP(str_deinit) struct str text = {0};
	push_put_answer(&text, response);
	if (push->has_given_up)
		str_printf(&text,
			"; gave up: in %.1f s nothing was delivered (--give-up); the recording is "
			"kept, a later push may work",
			(double)push->tried_ms / 1000);
	if (is_temporary(response))
		return err_new(ERR_UNAVAILABLE, "%s: %s", str_text(&push->target), str_text(&text));
	if (response->status == 401 || response->status == 403)
		str_puts(&text, push->options->token
					? " (the token is not accepted)"
					: " (no token: see --token-file and EBPROF_TOKEN)");
	return err_new(ERR_IO, "%s: %s", str_text(&push->target), str_text(&text));
}

/* The answer that stays, after all attempts. Some time is left for the first one. */
static struct http_response post(struct push *push, const struct http_request *request)
{
	for (uint32_t failures = 0;; failures++) {
		struct http_response response = push_attempt(push, *request);
		if (!is_temporary(&response) || failures == push->options->retries)
			return response;
		uint64_t wait = response.retry_after_s ? (uint64_t)response.retry_after_s * 1000
						       : back_off_ms(failures);
		uint64_t left = left_ms(push);
		if (!response.retry_after_s && wait >= left) /* tries on until that is used up */
			wait = left / 2;
		if (wait >= left || left < FIRST_WAIT_MS) {
			push->has_given_up = true;
			return response;
		}
		CLEANUP(str_deinit) struct str text = {0};
		push_put_answer(&text, &response);
		push_say(push, false, "%s; again in %.1f s", str_text(&text), (double)wait / 1000);
		wait_ms(push, wait);
	}
}

static struct err *send_body(struct push *push, const struct push_body *body, bool *is_too_large)
{
	CLEANUP(str_deinit) struct str url = {0};
	str_puts(&url, str_text(&push->target));
	str_puts(&url, str_text(&body->query));
	struct http_request request = {
		.url = str_text(&url),
		.headers = push->headers,
		.body = body->bytes.data,
		.len = body->bytes.len,
	};
	struct http_response response = post(push, &request);
	*is_too_large = response.status == 413;
	if (*is_too_large && left_ms(push))
		return NULL; /* smaller ones may do */
	push->has_given_up |= *is_too_large;
	if (response.status / 100 != 2)
		return failure(push, &response);
	if (push->protocol->check)
		try(err_wrap(push->protocol->check(&response), "%s", str_text(&push->target)));
	push->result->bytes += body->bytes.len;
	return NULL;
}

static struct err *push_encode(struct push *push, struct push_span span, struct push_body *ret)
{
	struct profile part = push_part(push->profile, span);
	uint8_t id[EXPORT_ID_BYTES];
	if (push->options->shifts_time) /* as if the recording had ended now */
		part.first_clock = (struct layout_clock){push->profile->last_ns, push->began_ns};
	push_part_key(push->profile, span, (const char *const[]){"id", NULL}, id);
	struct push_input input = {
		.profile = &part,
		.labels = push->options->labels,
		.nr_labels = push->options->nr_labels,
		.id = id,
		.sample_labels = push->options->sample_labels,
	};
	return push_protocol_encode(push->protocol, &input, ret);
}

static bool is_over_limit(const struct push *push, const struct push_body *body)
{
	uint64_t max_samples = push->protocol->max_samples;
	return body->plain_bytes > push->max_bytes ||
	       (max_samples && body->nr_samples > max_samples);
}

static struct err *deliver(struct push *push, struct push_span span, bool *is_too_large)
{
	struct push_body body = {0};
	struct err *err = push_encode(push, span, &body);
	if (!err) {
		*is_too_large = is_over_limit(push, &body);
		push_say(push, true, "%u %s, %.1f MB", span.to - span.from,
			str_plural(span.to - span.from, "sample", "samples"),
			(double)body.bytes.len / 1e6);
		if (!*is_too_large)
			err = send_body(push, &body, is_too_large);
	}
	push_body_deinit(&body);
	if (err || *is_too_large)
		return err;
	push->tried_ms = 0;
	push->result->parts++;
	push->result->samples += span.to - span.from;
	return push_ledger_add(&push->ledger, span);
}

/* ---- all parts ---- */

/* Halves what is too large. The depth is that of halving: 32 at most. */
static struct err *deliver_span(struct push *push, struct push_span span)
{
	bool is_too_large = false;
	try(deliver(push, span, &is_too_large));
	if (!is_too_large)
		return NULL;
	if (span.to - span.from == 1)
		return err_new(ERR_IO, "%s: a single sample is more than it takes",
			str_text(&push->target));
	uint32_t middle = push_part_middle(push->profile, span);
	try(deliver_span(push, (struct push_span){span.from, middle}));
	return deliver_span(push, (struct push_span){middle, span.to});
}

static struct err *deliver_all(struct push *push)
{
	uint32_t count = (uint32_t)push->profile->samples.len, from = 0;
	uint64_t left = 0;
	struct push_span span;
	for (; push_ledger_next(&push->ledger, from, count, &span); from = span.to)
		left += span.to - span.from;
	push->result->samples_before = count - left;
	for (from = 0; push_ledger_next(&push->ledger, from, count, &span); from = span.to)
		try(deliver_span(push, span));
	return NULL;
}

/* What was pushed where; a token, a limit or a name that is found today changes nothing. */
static struct err *open_ledger(struct push *push)
{
	uint8_t key[PUSH_KEY_BYTES];
	uint32_t count = (uint32_t)push->profile->samples.len;
	const struct push_options *options = push->options;
	VEC(const char *) salt = {0};
	vec_push(&salt, str_text(&push->target));
	vec_push(&salt, options->tenant ? options->tenant : "");
	for (size_t i = 0; i < options->nr_labels; i++) {
		vec_push(&salt, options->labels[i].key);
		vec_push(&salt, options->labels[i].value);
	}
	vec_push(&salt, NULL);
	push_part_key(push->profile, (struct push_span){0, count}, salt.data, key);
	vec_deinit(&salt);
	return push_ledger_open(
		options->state_folder, key, count, options->is_forced, &push->ledger);
}

static void warn_of_age(const struct push *push)
{
	uint64_t end_s = profile_wall_ns(push->profile, push->profile->last_ns) / NS_PER_S;
	uint64_t now_s = push->began_ns / NS_PER_S, max_age_s = push->protocol->max_age_s;
	if (max_age_s && end_s && end_s + max_age_s < now_s)
		push_say(push, false,
			"the recording ended %.1f hours ago, and Pyroscope refuses what is older "
			"than one unless its configuration allows it; --shift-time pushes the "
			"recording as if it had ended now",
			(double)(now_s - end_s) / 3600);
}

static struct err *choose_target(struct push *push)
{
	const struct push_options *options = push->options;
	bool is_endpoint = false;
	try(push_url_parse(options->url, &push->url));
	try(push_protocol_find(options->protocol, push->url.path, &push->protocol, &is_endpoint));
	str_printf(&push->target, "%s%s%s", push->url.origin, push->url.path,
		is_endpoint ? "" : push->protocol->endpoint);
	if (!push->url.is_https && !push->url.is_loopback && !options->allows_http)
		return err_new(ERR_USAGE, "%s is not encrypted: use https://, or say --allow-http",
			push->url.origin);
	if (options->nr_labels > MAX_LABELS)
		return err_new(
			ERR_USAGE, "%zu labels are more than %d", options->nr_labels, MAX_LABELS);
	push->max_bytes = options->max_bytes ? options->max_bytes : push->protocol->max_bytes;
	return NULL;
}

static struct err *push_run(struct push *push)
{
	struct http_options http = {
		.ca_file = push->options->ca_file,
	};
	try(choose_target(push));
	try(add_headers(push));
	http.is_direct = push->url.is_loopback;
	try(http_open(&http, &push->http));
	try(open_ledger(push));
	if (!push->options->shifts_time)
		warn_of_age(push);
	return deliver_all(push);
}

struct err *push_profile(const struct profile *profile, const struct push_options *options,
	struct push_result *result)
{
	*result = (struct push_result){0};
	if (profile->samples.len > UINT32_MAX)
		return err_new(ERR_UNSUPPORTED, "more samples than can be pushed");
	struct push push = {.profile = profile, .options = options, .result = result};
	push.began_ns = clock_read_ns(CLOCK_REALTIME);
	struct err *err = push_run(&push);
	http_close(push.http);
	push_ledger_close(&push.ledger);
	push_url_deinit(&push.url);
	str_deinit(&push.target);
	for (size_t i = 0; i < MAX_HEADERS; i++)
		str_deinit(&push.header_text[i]);
	return err;
}
