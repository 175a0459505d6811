/* Filters on the fields of tracepoints, and where tracefs says that these are. */
#include "record/event/trace_filter.h"
#include "record/event/trace_glob.h"

#include <string.h>

#include "tests/unit/unit.h"

static const char format[] = "name: made_up\nID: 7\nformat:\n"
			     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
			     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
			     "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
			     "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
			     "\tfield:__data_loc char[] path;\toffset:28;\tsize:4;\tsigned:0;\n"
			     "\tfield:unsigned long args[6];\toffset:32;\tsize:48;\tsigned:0;\n"
			     "\nprint fmt: \"pid=%d\", REC->pid\n";

static struct tracepoint_fields fields;
static struct event_trace_point point;
static struct trace_globs globs;

static void parse(const char *text)
{
	if (!fields.len)
		tracepoint_fields_parse(format, &fields);
	point = (struct event_trace_point){.period = 1};
	CHECK_OK(trace_filter_parse(text, &fields, &globs, &point));
}

static void refuse(const char *text, const char *words)
{
	if (!fields.len)
		tracepoint_fields_parse(format, &fields);
	struct err *err = trace_filter_parse(text, &fields, &globs, &point);
	CHECK(err && err_code(err) == ERR_USAGE);
	if (err && !strstr(err_message(err), words))
		unit_fail(__FILE__, __LINE__, "%s: %s", text, err_message(err));
	err_destroy(err);
}

/* With the truth of each comparison as a bit. */
static bool passes(uint32_t truths)
{
	uint32_t at = 0, steps = 0;
	while (at < point.nr_terms && steps++ < EVENT_TRACE_MAX_TERMS)
		at = truths >> at & 1 ? point.terms[at].yes : point.terms[at].no;
	CHECK(at == EVENT_TRACE_PASSES || at == EVENT_TRACE_FAILS);
	return at == EVENT_TRACE_PASSES;
}

TEST(trace_filter_fields)
{
	tracepoint_fields_parse(format, &fields);
	CHECK_INT(fields.len, 6);
	CHECK_STR(fields.data[2].name, "comm");
	CHECK(fields.data[2].is_text && !fields.data[2].is_located);
	CHECK_INT(fields.data[2].offset, 8);
	CHECK(fields.data[3].is_signed && !fields.data[3].is_text);
	CHECK_STR(fields.data[4].name, "path");
	CHECK(fields.data[4].is_text && fields.data[4].is_located);
	CHECK_STR(fields.data[5].name, "args");
	CHECK(!fields.data[5].is_text);
	CHECK_INT(fields.data[5].bytes, 48);
}

TEST(trace_filter_comparisons)
{
	parse("pid >= -3");
	CHECK_INT(point.nr_terms, 1);
	CHECK_INT(point.terms[0].offset, 24);
	CHECK_INT(point.terms[0].bytes, 4);
	CHECK_INT(point.terms[0].operation, EVENT_TRACE_AT_LEAST);
	CHECK_INT(point.terms[0].value, (uint64_t)-3);
	CHECK(passes(1) && !passes(0));
	parse("comm == sh");
	CHECK_STR(point.terms[0].text, "sh");
	CHECK_INT(point.terms[0].bytes, 0);
	parse("path != \"a b\"");
	CHECK_STR(point.terms[0].text, "a b");
	CHECK(point.terms[0].is_located);
}

TEST(trace_filter_joins)
{
	parse("pid == 1 && pid == 2 && pid == 3");
	for (uint32_t truths = 0; truths < 8; truths++)
		CHECK_INT(passes(truths), truths == 7);
	parse("pid == 1 || pid == 2 || pid == 3");
	for (uint32_t truths = 0; truths < 8; truths++)
		CHECK_INT(passes(truths), truths != 0);
	parse("pid==1&&pid==2||pid==3");
	for (uint32_t truths = 0; truths < 8; truths++)
		CHECK_INT(passes(truths), (truths & 3) == 3 || truths & 4);
	parse("pid == 1 && !(pid == 2 || !(pid == 3 && pid == 4)) || !pid == 5");
	for (uint32_t truths = 0; truths < 32; truths++) {
		bool a = truths & 1, b = truths & 2, c = truths & 4, d = truths & 8,
		     e = truths & 16;
		CHECK_INT(passes(truths), (a && !(b || !(c && d))) || !e);
	}
}

/* As the BPF program does. */
static bool matches(const char *pattern, const char *text)
{
	struct event_trace_glob glob;
	uint64_t states = 1;
	CHECK(trace_glob_compile(pattern, strlen(pattern), &glob));
	for (; *text; text++)
		states = (states & glob.parts_of[(uint8_t)*text]) << 1 | (states & glob.stars);
	return states >> glob.nr_parts & 1;
}

TEST(trace_filter_patterns)
{
	parse("comm ~ \"s*\" || path ~ '*a b' || comm ~ \"s*\"");
	CHECK_INT(point.terms[0].operation, EVENT_TRACE_LIKE);
	CHECK_INT(point.terms[0].bytes_in_place, 16);
	CHECK_INT(point.terms[0].glob, 0);
	CHECK_INT(point.terms[1].glob, 1);
	CHECK_INT(point.terms[2].glob, 0);
	CHECK_INT(globs.len, 2);
	CHECK(matches("", "") && !matches("", "a") && matches("*", "") && matches("*", "abc"));
	CHECK(matches("a*c", "ac") && matches("a*c", "abcbc") && !matches("a*c", "abcb"));
	CHECK(matches("**b**", "abc") && !matches("a?", "a") && matches("?b?", "abc"));
	CHECK(matches("[a-cx]*", "x1") && !matches("[a-cx]*", "d") && matches("[!a-c]", "d"));
	CHECK(!matches("[!a-c]", "b") && matches("[]-]", "]") && matches("[a-]", "-"));
	CHECK(matches("[a", "[a") && matches("\\*", "*") && !matches("\\*", "a"));
	CHECK(matches("*ab*ab", "abab") && matches("*aab", "aaab") && !matches("*aab", "aba"));
}

TEST(trace_filter_refusals)
{
	refuse("", "no name");
	refuse("pidd == 1", "did you mean pid");
	refuse("nothing == 1", "there are: comm, pid, path, args");
	refuse("pid = 1", "none of ==");
	refuse("pid == 1 pid == 2", "what is this");
	refuse("pid == 99999999999999999999", "no number");
	refuse("common_type == 1", "overwritten");
	refuse("args == 1", "neither number nor text");
	refuse("comm > sh", "with ==, != and ~");
	refuse("comm == \"sh", "no closing quote");
	refuse("comm == 0123456789abcdef", "more than 15");
	refuse("pid ~ \"1*\"", "~ cannot compare");
	refuse("comm ~ 0123456789012345678901234567890123456789012345678901234567890123",
		"more than 62");
	refuse("(((((((((((((((((((pid == 1)))))))))))))))))))", "too many brackets");
	refuse("pid==1||pid==1||pid==1||pid==1||pid==1||pid==1||pid==1||pid==1||pid==1||pid==1||"
	       "pid==1"
	       "||pid==1||pid==1||pid==1||pid==1||pid==1||pid==1",
		"more than 16");
}
