/* What each writer makes of one and the same difference, whose names try to break out of it. */
#include <math.h>
#include <string.h>

#include "report/compare/diff_lists.h"
#include "report/model/text/byte_sink.h"
#include "report/write/diff/diff_words.h"
#include "report/write/diff/diff_writer.h"
#include "tests/unit/unit.h"

#define HOSTILE "a|b\\|`c``d`<img src=x>[l](http://e.f) @me ##[error]g\n::error::h\xff"
#define LOOSE   "::warning::%0A,x:y\xef\xbf\xbe"
#define FORMULA "=HYPERLINK(\"a\",b)"

static struct diff_judgement make_judgement(double base, double new, enum diff_verdict verdict)
{
	return (struct diff_judgement){
		.sides = {{(uint64_t)(base * 1000), base, base * 2e9},
			{(uint64_t)(new * 2000), new, new * 3e9}},
		.is_tested = true,
		.effect = base > 0 ? new / base - 1 : INFINITY,
		.low = new > 0 ? 0.125 : -1,
		.high = base > 0 ? 0.5 : INFINITY,
		.half_width = base > 0 ? 0.2 : INFINITY,
		.p = 0.0001,
		.adjusted_p = 0.0025,
		.dispersion = 1,
		.detectable = 0.25,
		.verdict = verdict,
	};
}

static void add_row(struct difference *diff, const char *name, const char *file,
	const struct diff_judgement *self)
{
	struct diff_row row = {
		.name = name,
		.object = "lib|x.so",
		.file = file,
		.line = file ? 12 : 0,
		.is_known = true,
		.self = *self,
		.total = *self,
	};
	vec_push(&diff->rows, row);
}

static void diff_init(struct difference *diff)
{
	*diff = (struct difference){
		.options = {DIFF_BY_FUNCTION, DIFF_SHARE, DIFF_ALPHA,
			DIFF_MIN_EFFECT_PERCENT / 100., DIFF_MIN_SHARE_PERCENT / 100., false,
			false},
		.event = "cpu-clock",
		.unit = "ns",
		.is_cpu_time = true,
		.nr_entities = 9,
		.program = make_judgement(1, 1, DIFF_INCONCLUSIVE),
		.program_reason = "needs two runs a side",
		.judged_share = 0.9,
		.visible_share = 0.8,
		.verdict = DIFF_REGRESSION,
	};
	for (int side = 0; side < MATCH_SIDES; side++) {
		struct diff_run run = {
			.name = "",
			.samples = 1000 * (uint64_t)(side + 1),
			.value = 1e9,
			.is_whole_command = true,
		};
		vec_push(&diff->sides[side].runs, run);
		diff->sides[side].samples = diff->sides[side].known = run.samples;
		diff->sides[side].value = run.value;
	}
}

static void diff_deinit(struct difference *diff)
{
	vec_deinit(&diff->rows);
	for (int side = 0; side < MATCH_SIDES; side++)
		vec_deinit(&diff->sides[side].runs);
}

static void put_rows(struct difference *diff)
{
	struct diff_judgement slower = make_judgement(0.25, 0.375, DIFF_REGRESSION);
	struct diff_judgement fresh = make_judgement(0, 0.125, DIFF_REGRESSION);
	struct diff_judgement gone = make_judgement(0.125, 0, DIFF_IMPROVEMENT);
	struct diff_judgement vague = make_judgement(0.0625, 0.0625, DIFF_INCONCLUSIVE);
	struct diff_judgement same = make_judgement(0.25, 0.25, DIFF_SAME);
	struct diff_judgement little = make_judgement(0.001, 0.001, DIFF_SAME);
	struct diff_judgement untested = {.sides = {{1, 0.001, 1e6}, {1, 0.0005, 1e6}}};
	add_row(diff, HOSTILE, "/work/./src/../a,b:c.c", &slower);
	add_row(diff, LOOSE, "/elsewhere/d%.c", &fresh);
	add_row(diff, FORMULA, NULL, &gone);
	add_row(diff, "vague", "rel/e.c", &vague);
	add_row(diff, "same", "/work/f.c", &same);
	add_row(diff, "little", "/work/f.c", &little);
	add_row(diff, "untested", NULL, &untested);
}

static void write_as(
	const struct difference *diff, enum diff_format format, size_t limit, struct str *out)
{
	struct diff_writer_options options = {
		.limit = limit,
		.width = 100,
		.base_name = "`old`|.data",
		.new_name = "new <b>.data",
		.source_root = "/work/",
	};
	struct byte_sink sink = byte_sink_to_text(out);
	CHECK_OK(diff_writers[format].write(diff, &options, sink));
}

static void check_written(enum diff_format format, const char *want)
{
	struct difference diff;
	CLEANUP(str_deinit) struct str out = {0};
	diff_init(&diff);
	put_rows(&diff);
	write_as(&diff, format, 20, &out);
	CHECK_STR(str_text(&out), want);
	diff_deinit(&diff);
}

TEST(diff_markdown_of_hostile_names)
{
	check_written(DIFF_MARKDOWN,
		"**REGRESSION**: ```a|b\\|`c``d`<img src=x>[l](http://e.f) @me "
		"\\x23#[error]g\\x0a::error::h\\xff``` takes 50.0% longer (99% interval +12.5% "
		".. +50.0%), if the rest takes as long as before and runs do not "
		"differ by themselves; 1 other function takes longer, too.\n"
		"\n"
		"Compared: `` `old`|.data `` (1 run, 1000 samples) with `new <b>.data` (1 run, "
		"2000 samples).\n"
		"\n"
		"The whole program: 2.000 s -> 3.000 s of CPU a run, +0.0% (no verdict: needs "
		"two runs a side).\n"
		"\n"
		"One run a side: how runs differ by themselves is not known, twice what "
		"chance makes was "
		"allowed for; where one part grew, others have less (--metric cpu-s, of two "
		"runs a side, compares times).\n"
		"\n"
		"### Regressions (2)\n"
		"\n"
		"| before | new | change | 99% interval | p | function | where |\n"
		"|--:|--:|--:|--:|--:|:--|:--|\n"
		"| 25.00% | 37.50% | +50.0% | +12.5% .. +50.0% | 0.0025 | "
		"```a\\|b\\\\x7c`c``d`<img src=x>[l](http://e.f) @me "
		"\\x23#[error]g\\x0a::error::h\\xff``` | `a,b:c.c:12` |\n"
		"| 0.00% | 12.50% | new | +12.5% .. any | 0.0025 | "
		"`::warning::%0A,x:y\357\277\276` | `d%.c:12` |\n"
		"\n"
		"### Improvements (1)\n"
		"\n"
		"| before | new | change | 99% interval | p | function | where |\n"
		"|--:|--:|--:|--:|--:|:--|:--|\n"
		"| 12.50% | 0.00% | removed | -100% .. +50.0% | 0.0025 | `=HYPERLINK(\"a\",b)` | "
		"`lib\\|x.so` |\n"
		"\n"
		"<details><summary>Inconclusive: 1, with 6.2% of the samples</summary>\n"
		"\n"
		"| before | new | change | 99% interval | p | function | where |\n"
		"|--:|--:|--:|--:|--:|:--|:--|\n"
		"| 6.25% | 6.25% | +0.0% | +12.5% .. +50.0% | 0.0025 | `vague` | `e.c:12` |\n"
		"\n"
		"</details>\n"
		"\n"
		"<details><summary>Not changed: 2, with 25.1% of the samples</summary>\n"
		"\n"
		"| before | new | change | 99% interval | p | function | where |\n"
		"|--:|--:|--:|--:|--:|:--|:--|\n"
		"| 25.00% | 25.00% | +0.0% | +12.5% .. +50.0% | 0.0025 | `same` | `f.c:12` |\n"
		"| 0.10% | 0.10% | +0.0% | +12.5% .. +50.0% | 0.0025 | `little` | `f.c:12` |\n"
		"\n"
		"</details>\n"
		"\n"
		"Not changed by 5%: 2, with 25.1% of the samples. Too small to be judged: 3.\n"
		"\n"
		"Smallest changes that 95 of 100 such comparisons detect: +25.0% in what takes "
		"25%, +25.0% in "
		"what takes 6.2%.\n");
}

TEST(diff_junit_of_hostile_names)
{
	check_written(DIFF_JUNIT,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites>\n"
		"<testsuite name=\"ebprof diff\" tests=\"6\" failures=\"2\" errors=\"0\" "
		"skipped=\"2\">\n"
		"<properties>\n"
		"<property name=\"verdict\" value=\"regression\"/>\n"
		"<property name=\"base\" value=\"`old`|.data\"/>\n"
		"<property name=\"new\" value=\"new &lt;b&gt;.data\"/>\n"
		"<property name=\"by\" value=\"function\"/>\n"
		"<property name=\"metric\" value=\"share\"/>\n"
		"<property name=\"min-effect\" value=\"5%\"/>\n"
		"<property name=\"min-share\" value=\"0.5%\"/>\n"
		"<property name=\"alpha\" value=\"1%\"/>\n"
		"</properties>\n"
		"<testcase classname=\"ebprof.program\" name=\"the whole program\" "
		"time=\"3.000\">\n"
		"<skipped message=\"The whole program: 2.000 s -&gt; 3.000 s of CPU a run, "
		"+0.0% (no verdict: needs two runs a side).\"/>\n"
		"</testcase>\n"
		"<testcase classname=\"ebprof.function\" name=\"a|b\\|`c``d`&lt;img "
		"src=x&gt;[l](http://e.f) @me \\x23#[error]g\\x0a::error::h\\xff (a,b:c.c, "
		"lib|x.so)\" time=\"1.125\">\n"
		"<failure type=\"regression\" message=\"takes 50.0% longer (99% interval +12.5% "
		".. +50.0%): 25.00% -&gt; 37.50%, p 0.0025\">a|b\\|`c``d`&lt;img "
		"src=x&gt;[l](http://e.f) @me \\x23#[error]g\\x0a::error::h\\xff takes 50.0% "
		"longer (99% interval +12.5% .. +50.0%): 25.00% -&gt; 37.50%, p 0.0025; "
		"/work/./src/../a,b:c.c:12</failure>\n"
		"</testcase>\n"
		"<testcase classname=\"ebprof.function\" "
		"name=\"::warning::%0A,x:y\\xef\\xbf\\xbe (d%.c, lib|x.so)\" time=\"0.375\">\n"
		"<failure type=\"regression\" message=\"is new, and takes 12.50%: 0.00% -&gt; "
		"12.50%, p 0.0025\">::warning::%0A,x:y\\xef\\xbf\\xbe is new, and takes 12.50%: "
		"0.00% -&gt; 12.50%, p 0.0025; /elsewhere/d%.c:12</failure>\n"
		"</testcase>\n"
		"<testcase classname=\"ebprof.function\" name=\"=HYPERLINK(&quot;a&quot;,b) "
		"(lib|x.so)\" time=\"0.000\"/>\n"
		"<testcase classname=\"ebprof.function\" name=\"vague (e.c, lib|x.so)\" "
		"time=\"0.188\">\n"
		"<skipped message=\"inconclusive: +12.5% .. +50.0%\"/>\n"
		"</testcase>\n"
		"<testcase classname=\"ebprof.function\" name=\"same (f.c, lib|x.so)\" "
		"time=\"0.750\"/>\n"
		"<system-out>REGRESSION: a|b\\|`c``d`&lt;img src=x&gt;[l](http://e.f) @me "
		"\\x23#[error]g\\x0a::error::h\\xff takes 50.0% longer (99% interval +12.5% .. "
		"+50.0%), if the rest takes as long as before and runs do not "
		"differ by themselves; 1 other function takes longer, too.\n"
		"The whole program: 2.000 s -&gt; 3.000 s of CPU a run, +0.0% (no verdict: "
		"needs two runs a side).\n"
		"One run a side: how runs differ by themselves is not known, twice what "
		"chance makes was "
		"allowed for; where one part grew, others have less (--metric cpu-s, of two "
		"runs a side, compares times).\n"
		"Not changed by 5%: 2, with 25.1% of the samples. Too small to be judged: 3.\n"
		"Smallest changes that 95 of 100 such comparisons detect: +25.0% in what takes "
		"25%, +25.0% in "
		"what takes 6.2%.\n"
		"</system-out>\n"
		"</testsuite>\n"
		"</testsuites>\n");
}

TEST(diff_github_of_hostile_names)
{
	check_written(DIFF_GITHUB,
		"::error file=a%2Cb%3Ac.c,line=12,title=a|b\\|`c``d`<img "
		"src=x>[l](http%3A//e.f) @me \\x23#[error]g\\x0a%3A%3Aerror%3A%3Ah\\xff%3A "
		"+50.0%25::a|b\\|`c``d`<img src=x>[l](http://e.f) @me "
		"\\x23#[error]g\\x0a::error::h\\xff takes 50.0%25 longer (99%25 interval "
		"+12.5%25 .. +50.0%25): 25.00%25 -> 37.50%25, p 0.0025\n"
		"::error file=/elsewhere/d%25.c,line=12,title=%3A%3Awarning%3A%3A%250A%2Cx%3Ay"
		"\357\277\276%3A new::::warning::%250A,x:y\357\277\276 is new, and takes "
		"12.50%25: 0.00%25 -> 12.50%25, p 0.0025\n"
		"::notice title==HYPERLINK(\"a\"%2Cb)%3A removed::=HYPERLINK(\"a\",b) has no "
		"samples "
		"any more; it took 12.50%25: 12.50%25 -> 0.00%25, p 0.0025\n");
}

TEST(diff_gitlab_of_hostile_names)
{
	check_written(DIFF_GITLAB,
		"[\n"
		"{\"description\":\"a|b\\\\|`c``d`<img src=x>[l](http://e.f) @me "
		"\\\\x23#[error]g\\\\x0a::error::h\\\\xff takes 50.0% longer (99% interval "
		"+12.5% .. +50.0%): 25.00% -> 37.50%, p 0.0025\",\"check_name\":\"ebprof diff\","
		"\"fingerprint\":\"2a9fde86e0683f3e\",\"severity\":\"major\","
		"\"location\":{\"path\":\"a,b:c.c\",\"lines\":{\"begin\":12}}},\n"
		"{\"description\":\"::warning::%0A,x:y\357\277\276 is new, and takes 12.50%: "
		"0.00% -> 12.50%, p 0.0025\",\"check_name\":\"ebprof diff\","
		"\"fingerprint\":\"29b5858a47127ae2\",\"severity\":\"major\","
		"\"location\":{\"path\":\"/elsewhere/d%.c\",\"lines\":{\"begin\":12}}}]\n");
}

TEST(diff_csv_of_hostile_names)
{
	check_written(DIFF_CSV,
		"verdict,name,object,file,line,base_samples,base_share,base_value,new_samples,ne"
		"w_share,new_value,effect,low,high,p,adjusted_p,detectable,base_total_samples,ba"
		"se_total_share,base_total_value,new_total_samples,new_total_share,new_total_val"
		"ue,unit\r\n"
		"regression,a|b\\|`c``d`<img src=x>[l](http://e.f) @me "
		"\\x23#[error]g\\x0a::error::h\\xff,lib|x.so,\"/work/./src/../a,b:c.c\",12,250,0"
		".25,500000000,750,0.375,1.125e+09,0.5,0.125,0.5,0.0001,0.0025,0.25,250,0.25,500"
		"000000,750,0.375,1.125e+09,ns\r\n"
		"regression,\"::warning::%0A,x:y\357\277\276\",lib|x.so,/elsewhere/d%.c,12,0,0,0"
		",250,0.125,375000000,,0.125,,0.0001,0.0025,0.25,0,0,0,250,0.125,375000000,ns\r\n"
		"improvement,\"\\x3dHYPERLINK(\"\"a\"\",b)\",lib|x.so,,,125,0.125,250000000,0,0,"
		"0,-1,-1,0.5,0.0001,0.0025,0.25,125,0.125,250000000,0,0,0,ns\r\n"
		"inconclusive,vague,lib|x.so,rel/e.c,12,62,0.0625,125000000,125,0.0625,187500000"
		",0,0.125,0.5,0.0001,0.0025,0.25,62,0.0625,125000000,125,0.0625,187500000,ns\r\n"
		"same,same,lib|x.so,/work/f.c,12,250,0.25,500000000,500,0.25,750000000,0,0.125,0"
		".5,0.0001,0.0025,0.25,250,0.25,500000000,500,0.25,750000000,ns\r\n"
		"same,little,lib|x.so,/work/f.c,12,1,0.001,2000000,2,0.001,3000000,0,0.125,0.5,0"
		".0001,0.0025,0.25,1,0.001,2000000,2,0.001,3000000,ns\r\n"
		",untested,lib|x.so,,,1,0.001,1000000,1,0.0005,1000000,,,,,,,1,0.001,1000000,1,0"
		".0005,1000000,ns\r\n");
}

/* ---- limits ---- */

TEST(diff_text_says_why_it_is_inconclusive)
{
	struct difference diff;
	struct diff_judgement vague = make_judgement(0.5, 0.5, DIFF_INCONCLUSIVE);
	CLEANUP(str_deinit) struct str few = {0};
	CLEANUP(str_deinit) struct str apart = {0}, few_runs = {0};
	diff_init(&diff);
	diff.verdict = DIFF_INCONCLUSIVE;
	diff.knows_dispersion = true;
	vague.low = -0.9;
	vague.high = 0.9;
	add_row(&diff, "f", "/work/f.c", &vague);
	write_as(&diff, DIFF_TEXT, 0, &few_runs);
	CHECK(strstr(str_text(&few_runs), "there are too few runs: "));
	CHECK(strstr(str_text(&few_runs), "Record 3 runs a side or more"));
	CHECK(strstr(str_text(&few_runs), " ? "));
	CHECK(strstr(str_text(&few_runs), "?: too little is left to compare it with"));
	for (int i = 0; i < 4; i++)
		vec_push(&diff.sides[i % 2].runs, diff.sides[i % 2].runs.data[0]);
	write_as(&diff, DIFF_TEXT, 0, &few);
	CHECK(strstr(str_text(&few), "there are too few samples: "));
	CHECK(strstr(str_text(&few), "times as many"));
	vec_each(&diff.rows, row) {
		row->self.dispersion = 6.1;
	}
	write_as(&diff, DIFF_TEXT, 0, &apart);
	CHECK(strstr(str_text(&apart), "the runs of a side differ too much (6.1 times"));
	CHECK(strstr(str_text(&apart), "Record"));
	diff_deinit(&diff);
}

/* What is sure comes first. */
TEST(diff_text_names_improvements_where_it_is_inconclusive)
{
	struct difference diff;
	struct diff_judgement vague = make_judgement(0.4, 0.4, DIFF_INCONCLUSIVE);
	struct diff_judgement faster = make_judgement(0.2, 0.1, DIFF_IMPROVEMENT);
	CLEANUP(str_deinit) struct str out = {0};
	faster.low = -0.6;
	faster.high = -0.4;
	diff_init(&diff);
	diff.verdict = DIFF_INCONCLUSIVE;
	add_row(&diff, "f", "/work/f.c", &vague);
	add_row(&diff, "g", "/work/f.c", &faster);
	add_row(&diff, "h", "/work/f.c", &faster);
	diff_put_verdict(&out, &diff);
	CHECK(strstr(str_text(&out), "INCONCLUSIVE: g"));
	CHECK(strstr(str_text(&out), "-60.0% .. -40.0%"));
	CHECK(strstr(str_text(&out), ", if the rest takes as long as before and runs do not differ "
				     "by themselves; 1 other function takes less, too; no "
				     "regression was found, but "));
	diff_deinit(&diff);
}

/* The verdict names its conditions: with shares that the rest takes as long, with one run a side
 * that runs do not differ. */
TEST(diff_verdict_says_its_condition)
{
	struct diff_judgement slower = make_judgement(0.2, 0.4, DIFF_REGRESSION);
	static const char *const conditions[2][2] = {
		{"), if runs do not differ by themselves.",
			"), if the rest takes as long as before and runs do not differ by "
			"themselves."},
		{").", "), if the rest takes as long as before."},
	};
	for (int i = 0; i < 2 * DIFF_METRIC_COUNT; i++) {
		bool has_runs = i % 2, is_share = i / 2 == DIFF_SHARE;
		struct difference diff;
		CLEANUP(str_deinit) struct str out = {0};
		diff_init(&diff);
		diff.knows_dispersion = has_runs;
		diff.options.metric = (enum diff_metric)(i / 2);
		diff.verdict = DIFF_REGRESSION;
		add_row(&diff, "f", "/work/f.c", &slower);
		diff_put_verdict(&out, &diff);
		CHECK(strstr(str_text(&out), "f takes "));
		const char *end = strstr(str_text(&out), "%)");
		CHECK_STR(end ? end + 1 : "none", conditions[has_runs][is_share]);
		diff_deinit(&diff);
	}
}

TEST(diff_text_says_what_its_columns_are)
{
	struct difference diff;
	CLEANUP(str_deinit) struct str out = {0}, times = {0};
	diff_init(&diff);
	put_rows(&diff);
	write_as(&diff, DIFF_TEXT, 20, &out);
	CHECK(strstr(str_text(&out), ", 1 run, 1000 samples\n"));
	CHECK(strstr(
		str_text(&out), "\nBefore and new are shares of a side's samples; change is "));
	diff.options.metric = DIFF_CPU_S;
	write_as(&diff, DIFF_TEXT, 20, &times);
	CHECK(!strstr(str_text(&times), "Before and new are shares"));
	diff_deinit(&diff);
}

TEST(intervals_have_one_unit)
{
	CLEANUP(str_deinit) struct str out = {0};
	diff_put_interval(&out, &(struct diff_judgement){.low = 1.236, .high = 9});
	str_puts(&out, "; ");
	diff_put_interval(&out, &(struct diff_judgement){.low = 9, .high = 19});
	CHECK_STR(str_text(&out), "+123.6% .. +900%; x10.0 .. x20.0");
}

TEST(diff_text_shortens_names_as_lists_do)
{
	static const struct profile_function function = {
		.name = "java.util.concurrent.ThreadPoolExecutor$Worker.runTask",
		.is_script = true,
		.scope_mark = '.',
	};
	struct difference diff;
	struct diff_judgement slower = make_judgement(0.25, 0.375, DIFF_REGRESSION);
	CLEANUP(str_deinit) struct str out = {0};
	diff_init(&diff);
	add_row(&diff, function.name, "/work/ThreadPoolExecutor.java", &slower);
	diff.rows.data[0].function = &function;
	write_as(&diff, DIFF_TEXT, 0, &out);
	CHECK(strstr(str_text(&out), "  concurrent.ThreadPoolExecutor$Worker.runTask\n"));
	diff_deinit(&diff);
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;
	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

TEST(diff_github_shows_ten_of_a_kind)
{
	struct difference diff;
	struct diff_judgement slower = make_judgement(0.01, 0.02, DIFF_REGRESSION);
	CLEANUP(str_deinit) struct str out = {0};
	diff_init(&diff);
	for (int i = 0; i < 25; i++)
		add_row(&diff, "f", "/work/f.c", &slower);
	write_as(&diff, DIFF_GITHUB, 0, &out);
	CHECK_INT(count_of(str_text(&out), "::error "), 10);
	CHECK_INT(
		count_of(str_text(&out), "::error file=f.c,line=12,title=f%3A +100.0%25::f takes "),
		9);
	CHECK_INT(count_of(str_text(&out), "::error title=16 more::16 more are not shown here"), 1);
	diff_deinit(&diff);
}

TEST(diff_github_tells_of_the_whole)
{
	struct difference diff;
	CLEANUP(str_deinit) struct str out = {0};
	diff_init(&diff);
	diff.verdict = DIFF_INCONCLUSIVE;
	write_as(&diff, DIFF_GITHUB, 0, &out);
	diff.verdict = DIFF_SAME;
	write_as(&diff, DIFF_GITHUB, 0, &out);
	diff.verdict = diff.program.verdict = DIFF_REGRESSION;
	diff.program_reason = NULL;
	write_as(&diff, DIFF_GITHUB, 0, &out);
	CHECK_INT(
		count_of(str_text(&out), "::warning title=ebprof%3A inconclusive::INCONCLUSIVE: "),
		1);
	CHECK_INT(count_of(str_text(&out), "::notice title=ebprof::OK: "), 1);
	CHECK_INT(count_of(str_text(&out), "::error title=the whole program::The whole program: "),
		1);
	CHECK_INT(count_of(str_text(&out), "\n"), 3);
	diff_deinit(&diff);
}

/* Names of thousands of bytes, most of which are pipes, and more rows than there is room for. */
TEST(diff_markdown_stays_small)
{
	struct difference diff;
	struct diff_judgement slower = make_judgement(0.01, 0.02, DIFF_REGRESSION);
	char name[4000];
	CLEANUP(str_deinit) struct str out = {0};
	memset(name, '|', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	diff_init(&diff);
	for (int i = 0; i < 20000; i++)
		add_row(&diff, name, "/work/f.c", &slower);
	write_as(&diff, DIFF_MARKDOWN, 0, &out);
	CHECK(out.len > 900000 && out.len <= 1 << 20);
	CHECK_INT(count_of(str_text(&out),
			  " more are left out: a summary holds no more than 1 MiB.\n"),
		1);
	str_truncate(&out, 0);
	write_as(&diff, DIFF_MARKDOWN, 20, &out);
	CHECK(out.len < 20000);
	CHECK_INT(count_of(str_text(&out), "\n19980 more are left out (--limit).\n"), 1);
	diff_deinit(&diff);
}

TEST(diff_junit_of_nothing)
{
	struct difference diff;
	CLEANUP(str_deinit) struct str out = {0};
	diff_init(&diff);
	write_as(&diff, DIFF_JUNIT, 0, &out);
	CHECK_INT(count_of(str_text(&out), "tests=\"1\" failures=\"0\" errors=\"0\" skipped=\"1\""),
		1);
	CHECK_INT(count_of(str_text(&out), "<testcase "), 1);
	diff_deinit(&diff);
}

/* Wherever a sentence is wrapped. */
TEST(diff_text_begins_no_line_with_a_command)
{
	static const char *const words[] = {
		"::error::x", "\xc2\xa0::error::x", "\xe3\x80\x80::error::x"};
	struct diff_judgement slower = make_judgement(0.25, 0.375, DIFF_REGRESSION);
	for (size_t word = 0; word < sizeof(words) / sizeof(*words); word++)
		for (size_t len = 1; len < 120; len++) {
			struct difference diff;
			CLEANUP(str_deinit) struct str name = {0}, out = {0}, line = {0};
			str_pad(&name, 'n', len);
			str_printf(&name, " %s", words[word]);
			str_printf(&line, "\n%s", words[word]);
			diff_init(&diff);
			add_row(&diff, str_text(&name), NULL, &slower);
			write_as(&diff, DIFF_TEXT, 20, &out);
			CHECK_INT(count_of(str_text(&out), str_text(&line)), 0);
			diff_deinit(&diff);
		}
}

/* Two programs share little but the C library; that a function was renamed is a guess. */
TEST(diff_says_that_little_is_common)
{
	struct diff_judgement new = make_judgement(0, 0.9, DIFF_REGRESSION);
	struct diff_judgement renamed = make_judgement(0.9, 0.05, DIFF_IMPROVEMENT);
	struct diff_judgement common = make_judgement(0.1, 0.05, DIFF_INCONCLUSIVE);
	for (int i = 0; i < 2; i++) {
		struct difference diff;
		CLEANUP(str_deinit) struct str out = {0};
		diff_init(&diff);
		add_row(&diff, "a", "/work/f.c", &new);
		add_row(&diff, "b", "/work/f.c", &renamed);
		diff.rows.data[diff.rows.len - 1].old_name = i ? NULL : "c";
		add_row(&diff, "malloc", "/work/f.c", &common);
		diff_put_caveats(&out, &diff);
		CHECK_INT(strstr(str_text(&out), "both sides have take 10% of the samples: are "
						 "these recordings of one program?") != NULL,
			!i);
		diff_deinit(&diff);
	}
}

TEST(diff_of_one_function_advises_times)
{
	struct diff_judgement all = make_judgement(0.99, 0.99, DIFF_INCONCLUSIVE);
	for (int i = 0; i < 2; i++) {
		struct difference diff;
		CLEANUP(str_deinit) struct str out = {0};
		diff_init(&diff);
		diff.verdict = DIFF_INCONCLUSIVE;
		diff.options.metric = i ? DIFF_CPU_S : DIFF_SHARE;
		add_row(&diff, "hot", "/work/f.c", &all);
		diff_put_verdict(&out, &diff);
		CHECK_INT(strstr(str_text(&out), "What takes 99.0% has no rest") != NULL, !i);
		diff_deinit(&diff);
	}
}
