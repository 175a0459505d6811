#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/export_labels.h"
#include "cmd/input.h"
#include "cmd/push_ring.h"
#include "cmd/select.h"
#include "cmd/select_check.h"
#include "format/base/clock.h"
#include "format/base/fd.h"
#include "report/analyse/refine_stacks.h"
#include "report/name/symbol/symbolizer.h"
#include "report/write/export/export_names.h"
#include "report/write/push/push.h"

enum {
	EXIT_UNAVAILABLE = 3,
	MAX_TOKEN_BYTES = 64 << 10,
};

static const char token_variable[] = "EBPROF_TOKEN", user_variable[] = "EBPROF_USER";

struct push_command {
	struct input_option input;
	const char *token_file;
	bool is_quiet;
	const char *ring;
	uint64_t every_ns;
	VEC(struct export_attribute) labels; /* keys are ours to free */
	char *token, *service;
	struct push_options push;
	struct select_options select;
};

/* ---- labels ---- */

struct label_list {
	struct export_attribute *data;
	size_t len, cap;
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
static const char name_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789";

static bool is_label_name(const char *name, size_t len)
{
	return len && strchr(letters, name[0]) && strspn(name, name_bytes) == len &&
	       strncmp(name, "__", 2) != 0;
}

/* Servers want UTF-8, people want to see what they get. */
static bool is_clean(const char *value)
{
	CLEANUP(str_deinit) struct str safe = {0};
	str_puts_escaped(&safe, value);
	return value[0] && strcmp(str_text(&safe), value) == 0;
}

static struct err *parse_label(const struct opt *row, const char *text, void *member)
{
	struct label_list *labels = member;
	(void)row;
	size_t len = strcspn(text, "=");
	if (!text[len] || !is_label_name(text, len) || !is_clean(text + len + 1))
		return err_new(ERR_USAGE,
			"\"%s\" is no label: NAME=VALUE, the name of letters, digits, '_' and '.'",
			text);
	CLEANUP_FREE char *key = mem_strndup(text, len);
	vec_each(labels, label)
		if (strcmp(label->key, key) == 0)
			return err_new(ERR_USAGE, "the label %s is given twice", key);
	vec_push(labels, (struct export_attribute){steal_ptr(key), text + len + 1});
	return NULL;
}

/* uint64_t ms: what libcurl counts in, with 31 bits. */
static struct err *parse_limit(const struct opt *row, const char *text, void *member)
{
	uint64_t ns;
	try(opt_duration(row, text, &ns));
	*(uint64_t *)member = ns / NS_PER_MS;
	return NULL;
}

#define FIELD(name) offsetof(struct push_command, name)

static const struct opt rows[] = {
	{"to", 0, "URL", opt_string, FIELD(push.url), .help = "the server", .group = "Where to"},
	{"protocol", 0, "NAME", opt_string, FIELD(push.protocol),
		.help = "pyroscope, otlp or parca (by the URL's path, if that tells)"},
	{"token-file", 0, "FILE", opt_string, FIELD(token_file),
		.help = "the token is in FILE (else in EBPROF_TOKEN)"},
	{"tenant", 0, "ID", opt_string, FIELD(push.tenant), .help = "send X-Scope-OrgID: ID"},
	{"ca-file", 0, "FILE", opt_string, FIELD(push.ca_file),
		.help = "believe certificates by these authorities (the system's)"},
	{"allow-http", 0, NULL, opt_flag, FIELD(push.allows_http),
		.help = "also without encryption, if there is no token"},
	{"label", 'l', "NAME=VALUE", parse_label, FIELD(labels),
		.help = "a label of the profile; repeatable (service_name=COMMAND)",
		.group = "What it is called"},
	{"sample-labels", 0, "LIST", export_labels_parse, FIELD(push.sample_labels),
		.help = "labels that keep samples apart: *",
		.standard = "comm,thread,container,cgroup,unit,pod,label",
		.words = export_labels_words},
	{"shift-time", 0, NULL, opt_flag, FIELD(push.shifts_time),
		.help = "as if the recording had ended now"},
	{"max-size", 0, "SIZE", opt_size, FIELD(push.max_bytes),
		.help = "of a request, uncompressed (pyroscope: 4M, others: 16M)", .group = "How"},
	{"timeout", 0, "TIME", parse_limit, FIELD(push.timeout_ms), .help = "for a request",
		.standard = "60s", .least = "1ms", .most = "596h"},
	{"retries", 0, "N", opt_u32, FIELD(push.retries),
		.help = "how often to try again what may work later", .standard = "5"},
	{"give-up", 0, "TIME", parse_limit, FIELD(push.give_up_ms),
		.help = "end after so long without a delivery", .standard = "1m", .least = "1ms",
		.most = "596h"},
	{"force", 0, NULL, opt_flag, FIELD(push.is_forced), .help = "also what was pushed before"},
	{"state-dir", 0, "DIR", opt_cache_folder, FIELD(push.state_folder),
		.help = "where it is noted what was pushed, or \"none\""},
	{"quiet", 'q', NULL, opt_flag, FIELD(is_quiet), .help = "say nothing but errors"},
	INPUT_ROW(struct push_command, input, "FILE|-", "Input"),
	{"ring", 0, "DIR", opt_string, FIELD(ring),
		.help = "all files that record --ring wrote there, each once"},
	{"every", 0, "TIME", opt_duration, FIELD(every_ns),
		.help = "with --ring: and those to come, as soon as they have ended",
		.least = "1s"},
	SELECT_ROWS(struct push_command, select),
	{0},
};

/* ---- the token ---- */

static struct err *read_token(const char *path, char **ret)
{
	CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(errno, "cannot open %s", path);
	CLEANUP_FREE char *text = mem_zalloc(MAX_TOKEN_BYTES + 1);
	ssize_t got = fd_read_fully(fd, text, MAX_TOKEN_BYTES);
	if (got < 0)
		return err_sys(errno, "%s: read", path);
	size_t len = (size_t)got;
	if (strlen(text) != len)
		return err_new(ERR_USAGE, "%s does not hold a token", path);
	while (len && strchr(" \t\r\n", text[len - 1]))
		text[--len] = '\0';
	if (!len || len > MAX_TOKEN_BYTES / 2)
		return err_new(ERR_USAGE, "%s does not hold a token", path);
	*ret = steal_ptr(text);
	return NULL;
}

static struct err *find_token(struct push_command *command)
{
	const char *token = getenv(token_variable);
	if (command->token_file)
		try(read_token(command->token_file, &command->token));
	else if (token && token[0])
		command->token = mem_strdup(token);
	command->push.token = command->token;
	command->push.user = getenv(user_variable);
	if (command->push.user && !command->push.user[0])
		command->push.user = NULL;
	if (command->push.user && !command->push.token)
		return err_new(ERR_USAGE, "EBPROF_USER is set, but there is no token");
	return NULL;
}

/* ---- the push ---- */

static void cmd_push_say(void *context, bool is_passing, const char *text)
{
	const struct push_command *command = context;
	if (command->is_quiet)
		return;
	console_show_end();
	if (is_passing)
		console_show("%s", text);
	else
		console_say("%s", text);
}

static void add_service(struct push_command *command, const struct profile *profile)
{
	vec_each(&command->labels, label)
		if (strcmp(label->key, "service_name") == 0)
			return;
	CLEANUP(str_deinit) struct str name = {0};
	const char *service = export_service_name(profile);
	str_puts_escaped(&name, service);
	command->service = str_steal(&name);
	vec_push(&command->labels,
		(struct export_attribute){mem_strdup("service_name"), command->service});
}

static void cmd_push_say_done(const struct push_command *command, const struct push_result *result)
{
	CLEANUP(str_deinit) struct str text = {0};
	if (command->is_quiet)
		return;
	if (!result->samples && result->samples_before) {
		console_say("already pushed to %s (--force pushes it again)", command->push.url);
		return;
	}
	console_put_count(&text, result->samples);
	str_printf(&text, " %s -> %s (", str_plural(result->samples, "sample", "samples"),
		command->push.url);
	console_put_bytes(&text, result->bytes);
	if (result->parts != 1)
		str_printf(&text, ", %llu %s", (unsigned long long)result->parts,
			str_plural(result->parts, "part", "parts"));
	str_putc(&text, ')');
	if (result->samples_before) {
		str_puts(&text, "; before: ");
		console_put_count(&text, result->samples_before);
	}
	console_say("%s", str_text(&text));
}

static struct err *cmd_push(struct push_command *command, const struct profile *profile)
{
	struct push_result result;
	add_service(command, profile);
	command->push.labels = command->labels.data;
	command->push.nr_labels = command->labels.len;
	command->push.say = cmd_push_say;
	command->push.context = command;
	struct err *err = push_profile(profile, &command->push, &result);
	console_show_end();
	if (!err)
		cmd_push_say_done(command, &result);
	else if (result.samples + result.samples_before)
		err = err_wrap(err, "%llu of %llu %s pushed, a repeated push goes on there",
			(unsigned long long)(result.samples + result.samples_before),
			(unsigned long long)profile->samples.len,
			str_plural(profile->samples.len, "sample was", "samples were"));
	return err;
}

static struct err *load_and_push(struct push_command *command, const struct input *input)
{
	struct profile *profile;
	try(select_load(&command->select, input, command->ring, &profile));
	struct filter filter = select_filter(&command->select);
	naming_begin(&command->select.naming);
	symbolize(profile, &command->select.naming.symbolize);
	refine_stacks(profile);
	struct err *err =
		command->ring ? NULL : select_check_functions(&command->select, input, profile);
	console_show_end();
	filter_samples(profile, &filter);
	filter_stacks(profile, &filter);
	if (!err)
		err = cmd_push(command, profile);
	naming_end(&command->select.naming);
	profile_destroy(profile);
	return err;
}

static struct err *push_input(struct push_command *command, int argc, char **argv, int rest)
{
	CLEANUP(input_deinit) struct input input = {0};
	try(input_open_all(&command->input, argc, argv, rest, &input));
	return load_and_push(command, &input);
}

static int cmd_push_exit_code(struct err *err)
{
	if (!err)
		return CONSOLE_OK;
	bool is_unavailable = err_code(err) == ERR_UNAVAILABLE;
	int code = console_fail(err);
	return is_unavailable ? EXIT_UNAVAILABLE : code;
}

static void push_command_deinit(struct push_command *command)
{
	vec_each(&command->labels, label)
		mem_free((void *)label->key);
	vec_deinit(&command->labels);
	mem_free(command->token);
	mem_free(command->service);
	select_deinit(&command->select);
}

/* ---- all files of a ring ---- */

static struct err *load_and_push_path(struct push_command *command, const char *path)
{
	CLEANUP(input_deinit) struct input input = {0};
	try(input_open_paths(&path, 1, &input));
	return load_and_push(command, &input);
}

static enum push_outcome push_file_of_ring(void *context, const char *path)
{
	struct push_command *command = context;
	command->is_quiet = true;
	switch (cmd_push_exit_code(load_and_push_path(command, path))) {
	case CONSOLE_OK:
		return PUSH_TAKEN;
	case EXIT_UNAVAILABLE:
		return PUSH_UNAVAILABLE;
	default:
		return PUSH_REFUSED;
	}
}

/* What a server tells apart. */
static void put_push_target(const struct push_command *command, struct str *out)
{
	const char *texts[] = {command->push.url, command->push.protocol, command->push.tenant};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		str_printf(out, "%s\n", texts[i] ? texts[i] : "");
	vec_each(&command->labels, label)
		str_printf(out, "%s=%s\n", label->key, label->value);
}

static int push_files_of_ring(struct push_command *command)
{
	CLEANUP(str_deinit) struct str target = {0};
	enum push_outcome outcome = PUSH_TAKEN;
	put_push_target(command, &target);
	if (command->every_ns) /* the next round is the next try */
		command->push.retries = 0;
	struct push_ring_options options = {
		.folder = command->ring,
		.target = str_text(&target),
		.url = command->push.url,
		.every_ns = command->every_ns,
		.is_quiet = command->is_quiet,
		.push = push_file_of_ring,
		.context = command,
	};
	struct err *err = push_ring(&options, &outcome);
	return err ? console_fail(err) : (int)outcome;
}

static struct err *check_push(const struct push_command *command, int nr_operands)
{
	if (!command->push.url)
		return err_new(ERR_USAGE, "push where to? Say --to URL");
	if (command->ring && (nr_operands || command->input.is_given))
		return err_new(ERR_USAGE, "--ring names the recordings: no other beside it");
	if (command->ring && (command->push.is_forced || command->push.shifts_time))
		return err_new(ERR_USAGE, "--ring pushes each file once, with its own time: not "
					  "with --force and --shift-time");
	if (command->every_ns && !command->ring)
		return err_new(ERR_USAGE, "--every goes with --ring DIR");
	return NULL;
}

static int push_as_asked(struct push_command *command, int argc, char **argv, int rest)
{
	struct err *err = check_push(command, argc - rest);
	if (!err)
		err = find_token(command);
	if (!err && command->ring)
		return push_files_of_ring(command);
	if (!err)
		err = push_input(command, argc, argv, rest);
	return cmd_push_exit_code(err);
}

static int cmd_push_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(push_command_deinit)
	struct push_command options = {0};
	int rest, code;
	bool begins = opt_begin(command, argc, argv, &options, &rest, &code);
	if (options.is_quiet)
		console_be_quiet();
	return begins ? push_as_asked(&options, argc, argv, rest) : code;
}

const struct command command_push = {
	.name = "push",
	.summary = "send a recording to Pyroscope, Parca or an OpenTelemetry Collector",
	.usage = "--to URL [OPTIONS] [FILE]",
	.description = "Names the functions of a recording and sends it to a server. What was "
		       "delivered is\n"
		       "noted: a push that is repeated delivers the rest, or nothing.",
	.examples = "  ebprof push --to https://pyroscope.example --protocol pyroscope\n"
		    "  ebprof push --to http://localhost:4318/v1development/profiles server.data\n"
		    "  ebprof push --to http://localhost:7070 --protocol parca -l env=test\n"
		    "  ebprof push --to https://pyroscope.example --ring /var/lib/ebprof/ring "
		    "--every 15s\n",
	.exit_status = "  0  pushed, now or before\n"
		       "  1  the recording could not be read, or the server refused it\n"
		       "  2  the request is invalid\n"
		       "  3  the server could not be reached or had no time until push gave up;\n"
		       "     the recording is kept, and it may work later\n",
	.options = rows,
	.run = cmd_push_run,
};
