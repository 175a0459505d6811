#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/console.h"
#include "cmd/input.h"
#include "cmd/naming.h"
#include "cmd/select.h"
#include "cmd/select_check.h"
#include "format/base/nearest.h"
#include "report/analyse/filter.h"
#include "report/analyse/frame_kind.h"
#include "report/analyse/own_code.h"
#include "report/model/event_value.h"
#include "report/name/listing/listing.h"
#include "report/name/symbol/symbolizer.h"
#include "report/tui/model.h"

struct annotate_options {
	struct input_option input;
	const char *symbol, *event;
	struct debug_dirs source_dirs;
	enum listing_layout layout;
	bool has_layout, is_intel;
	struct select_options select; /* but for its events, files and symbols */
};

static const struct opt_word layouts[] = {
	{"source", LISTING_LAYOUT_SOURCE, false},
	{"assembly", LISTING_LAYOUT_CODE, false},
	{"both", LISTING_LAYOUT_BOTH, false},
	{0},
};

static struct err *parse_layout(const struct opt *row, const char *text, void *member)
{
	struct annotate_options *options = member;
	options->has_layout = true;
	return opt_word(row, text, &options->layout);
}

#define FIELD(name) offsetof(struct annotate_options, name)

static const struct opt rows[] = {
	INPUT_ROW(struct annotate_options, input, "FILE|-", "Input"),
	{"symbol", 'S', "SYM", opt_string, FIELD(symbol),
		.help = "this function, as the first operand does (the hottest of own code)"},
	{"source-dir", 0, "DIR", naming_parse_dir, FIELD(source_dirs),
		.help = "look for source files below DIR first; repeatable"},
	{"quiet", 'q', NULL, opt_quiet, 0, .help = "say nothing but errors"},
	{"layout", 0, "*", parse_layout, 0,
		.help = "what is printed (source, or assembly where there is none)",
		.words = layouts, .group = "What is shown"},
	{"intel", 0, NULL, opt_flag, FIELD(is_intel), .help = "x86 instructions in Intel's syntax"},
	{"event", 'e', "EVENT", opt_string, FIELD(event),
		.help = "of this event (that with the most samples)"},
	SELECT_TASK_ROWS(struct annotate_options, select),
	NAMING_FILE_ROWS(struct annotate_options, select.naming),
	NAMING_SHOW_ROWS(struct annotate_options, select.naming),
	{0},
};

static const struct opt_foreign foreign[] = {
	{"-M", "the syntax of instructions: --intel"},
	{"-s", "the function is chosen with -S"},
	{"--tui", "ebprof report has it as a view: key 7"},
	{"--no-source", "--layout assembly"},
	{"--asm-raw", "bytes of instructions are not shown"},
	{"-d", "the hottest function of a name is shown, of whichever file"},
	{"--files", "the hottest function of a name is shown, of whichever file"},
	{"--dsos", "the hottest function of a name is shown, of whichever file"},
	{"--asm", "--layout assembly"},
	{"--lines", "--layout source"},
	{"--percent-limit", "hot lines are marked; what stands between them is shown, too"},
	{"--percent-type", "percents are of the function; the first line has those of all"},
	{"--list", "the function is the operand: ebprof annotate FUNCTION FILE"},
	{"-n", NULL},
	{"--group", NULL},
	{"--skip-missing", NULL},
	{"-P", NULL},
	{"--full-paths", NULL},
	{"-v", NULL},
	{"-l", NULL},
	{"--print-line", NULL},
	{"--stdio", NULL},
	{"--stdio2", NULL},
	{"--source", NULL},
	{"-f", NULL},
	{"--force", NULL},
	{0},
};

static bool is_hotter(const struct function_weight *row, const struct function_weight *than)
{
	return !than || row->self > than->self ||
	       (row->self == than->self && row->total > than->total);
}

/* "ns::A::run" names "ns::A::run(int) const", and what is declared in that only by the way. */
static bool is_named_exactly(const char *name, const char *symbol)
{
	size_t len = strlen(symbol), depth = 0;
	if (strncmp(name, symbol, len) != 0 || (name[len] && name[len] != '('))
		return false;
	for (const char *at = name + len; *at; at++) {
		depth += *at == '(';
		depth -= *at == ')';
		if (!depth && at[0] == ':' && at[1] == ':')
			return false;
	}
	return true;
}

/* The hottest of those that are called so, or of all; NULL: none was sampled. */
static const struct function_weight *find_hottest(const struct model *model, const char *symbol)
{
	struct filter filter = {.symbols = {&symbol, symbol ? 1 : 0}};
	const struct function_weight *best = NULL;
	CLEANUP_FREE bool *is_wanted = filter_functions(model->profile, &filter);
	bool is_exact = false;
	vec_each(&model->functions, row) {
		if (!is_wanted[row->function])
			continue;
		bool is_named =
			symbol &&
			is_named_exactly(model_function(model, row->function)->name, symbol);
		if (is_named > is_exact || (is_named == is_exact && is_hotter(row, best)))
			best = row;
		is_exact |= is_named;
	}
	return best;
}

static bool is_word_byte(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_';
}

/* "run" is a word of "A.run" and of "ns::run<int>". */
static bool has_word(const char *name, const char *word)
{
	size_t len = strlen(word);
	for (const char *at = name; (at = strstr(at, word)); at++)
		if ((at == name || !is_word_byte(at[-1])) && !is_word_byte(at[len]))
			return true;
	return false;
}

/*
 * The hottest of those whose names have this word, else one that is spelled like it, else the
 * hottest of those whose names have it anywhere.
 */
static const char *meant_name(const struct model *model, const char *symbol)
{
	const struct function_weight *of_word = NULL, *of_part = NULL;
	struct nearest nearest = nearest_to(symbol);
	vec_each(&model->functions, row) {
		const char *name = model_function(model, row->function)->name;
		nearest_offer(&nearest, name);
		if (has_word(name, symbol) && (!of_word || row->total > of_word->total))
			of_word = row;
		if (strcasestr(name, symbol) && (!of_part || row->total > of_part->total))
			of_part = row;
	}
	if (of_word)
		return model_function(model, of_word->function)->name;
	if (nearest.word || !of_part)
		return nearest.word;
	return model_function(model, of_part->function)->name;
}

static struct err *refuse_symbol(const struct model *model, const char *symbol)
{
	const char *meant = meant_name(model, symbol);
	if (meant)
		return err_new(ERR_USAGE, "no sample has a function %s: did you mean \"%s\"?",
			symbol, meant);
	return err_new(
		ERR_USAGE, "no sample has a function %s: ebprof report lists what was met", symbol);
}

static void cmd_annotate_put_head(const struct model *model, bool is_chosen, struct str *out)
{
	const struct annotation_weight *whole = &model->annotation->whole;
	const struct profile_function *function =
		model_function(model, model->annotation->function);
	const char *object = model_object(model, function->object)->name;
	uint64_t all = model->slice.whole.value, inlined = model->annotation->whole_inlined.self;
	const char *name = profile_function_own_name(function);
	str_puts(out, "# ");
	str_puts_escaped(out, name);
	str_puts(out, "  ");
	str_puts_escaped(out, object);
	if (is_chosen)
		str_puts(out, "  (none was named; another one: ebprof annotate FUNCTION [FILE])");
	str_printf(out, "\n# self %.2f%%, ", profile_percent(whole->self, all));
	if (inlined)
		str_printf(out, "inlined into it %.2f%%, ", profile_percent(inlined, all));
	str_printf(out, "total %.2f%% of ", profile_percent(whole->total, all));
	if (model->names->events.list.len > 1) {
		const char *event = main_event_name_of(model->profile, model->event);
		event_value_put(&model->profile->events.data[model->event], all, false, out);
		str_puts(out, " of ");
		str_puts_escaped(out, event);
		str_puts(out, ", ");
	}
	str_printf(out, "%llu %s", (unsigned long long)model->slice.whole.samples,
		str_plural(model->slice.whole.samples, "sample", "samples"));
	str_puts(out, "; below, percent of the function\n");
	if (inlined)
		str_puts(out, "# what was inlined into a line has rows of its own below it\n");
}

/* ---- without a name ---- */

enum user_code {
	USER_CODE_NONE, /* the kernel's, why a thread waits, the mark of a truncated stack */
	USER_CODE_LIBRARY,
	USER_CODE_PROGRAM, /* of the system */
	USER_CODE_OWN,     /* own_code_has() */
};

/* What is shown where the user names nothing: these functions, the best first. */
struct choices {
	const struct model *all;
	uint64_t *own_times; /* of own_code_weigh() */
	uint8_t *codes;      /* by function, enum user_code; USER_CODE_NONE: also what was tried */
	uint64_t least;      /* time below which a function is nothing that the user looks for */
};

static enum user_code user_code_of(const struct model *model, uint32_t number)
{
	const struct profile_function *function = model_function(model, number);
	const struct profile_object *object = model_object(model, function->object);
	enum frame_kind kind = frame_kind_of_function(function, object);
	if (!function->object || kind == FRAME_KERNEL || kind == FRAME_WAIT)
		return USER_CODE_NONE;
	if (own_code_has(function, object))
		return USER_CODE_OWN;
	return kind == FRAME_LIBRARY ? USER_CODE_LIBRARY : USER_CODE_PROGRAM;
}

static uint64_t time_of_choice(const struct choices *choices, const struct function_weight *row)
{
	return choices->codes[row->function] == USER_CODE_OWN ? choices->own_times[row->function]
							      : row->self;
}

/*
 * Own code comes before all other, then what took more. Of threads that only waited no user code
 * ran: then it is the program's function that was there longest, and of those that were there as
 * long the innermost, whose row is behind its callers'.
 */
static bool is_better_choice(const struct choices *choices, const struct function_weight *row,
	const struct function_weight *than)
{
	if (!than)
		return true;
	uint8_t code = choices->codes[row->function], other = choices->codes[than->function];
	uint64_t time = time_of_choice(choices, row), others = time_of_choice(choices, than);
	if ((code == USER_CODE_OWN) != (other == USER_CODE_OWN))
		return code == USER_CODE_OWN;
	if (time != others)
		return time > others;
	if (!time && code != other)
		return code > other;
	return row->total >= than->total;
}

static const struct function_weight *next_choice(const struct choices *choices)
{
	const struct function_weight *best = NULL;
	vec_each(&choices->all->functions, row)
		if (choices->codes[row->function] != USER_CODE_NONE &&
			time_of_choice(choices, row) >= choices->least &&
			is_better_choice(choices, row, best))
			best = row;
	return best;
}

static void choices_init(struct choices *choices, const struct model *all)
{
	enum {
		SMALL = 10, /* times less than the most: own code that hardly ran is not chosen */
	};
	struct own_code_request request = {
		.tree = &all->names->tree,
		.weights = all->weights,
		.frames = all->names->frames.data,
		.functions = all->names->functions.data,
		.nr_functions = all->names->functions.len,
		.objects = all->names->objects.data,
	};
	uint64_t most = 0;
	*choices = (struct choices){
		.all = all,
		.own_times = own_code_weigh(&request),
		.codes = mem_zalloc_array(request.nr_functions, sizeof(*choices->codes)),
	};
	vec_each(&all->functions, row) {
		uint8_t code = (uint8_t)user_code_of(all, row->function);
		choices->codes[row->function] = code;
		uint64_t time = code != USER_CODE_NONE ? time_of_choice(choices, row) : 0;
		most = time > most ? time : most;
	}
	choices->least = most / SMALL;
}

static void choices_deinit(struct choices *choices)
{
	mem_free(choices->own_times);
	mem_free(choices->codes);
}

/* Another function has more time, but is not what the user can change, or cannot be shown. */
static void put_hotter(
	const struct model *model, const struct function_weight *hottest, struct str *out)
{
	const struct profile_function *function = model_function(model, hottest->function);
	const char *object = model_object(model, function->object)->name;
	const char *name = profile_function_own_name(function);
	if (hottest->function == model->annotation->function)
		return;
	str_puts(out, "# the hottest is another one: ");
	str_puts_escaped(out, name);
	str_puts(out, "  ");
	str_puts_escaped(out, object);
	str_printf(
		out, "  self %.2f%%\n", profile_percent(hottest->self, model->slice.whole.value));
}

/* What else was meant by the name, hottest first. */
static void put_others_meant(const struct model *all, const char *symbol,
	const struct function_weight *shown, struct str *out)
{
	enum {
		MOST = 5, /* of a template there may be hundreds */
	};
	struct filter filter = {.symbols = {&symbol, 1}};
	CLEANUP_FREE bool *is_left = filter_functions(all->profile, &filter);
	const struct function_weight *hottest = shown;
	for (int count = 0; count <= MOST; count++) {
		is_left[hottest->function] = false;
		hottest = NULL;
		vec_each(&all->functions, row)
			if (is_left[row->function] && is_hotter(row, hottest))
				hottest = row;
		if (!hottest)
			return;
		if (count == MOST) {
			str_puts(out, "# and more: ebprof report -S lists them\n");
			return;
		}
		const struct profile_function *function = model_function(all, hottest->function);
		const char *name = profile_function_own_name(function);
		const char *object = model_object(all, function->object)->name;
		str_puts(out, "# also meant by that: ");
		str_puts_escaped(out, name);
		str_puts(out, "  ");
		str_puts_escaped(out, object);
		str_printf(out, "  self %.2f%%\n",
			profile_percent(hottest->self, all->slice.whole.value));
	}
}

/* ---- printing ---- */

static struct listing *make_listing(
	const struct annotate_options *options, const struct model *model)
{
	struct listing_request request = {
		.profile = model->profile,
		.functions = model->names->functions.data,
		.objects = model->names->objects.data,
		.annotation = model->annotation,
		.files = &options->select.naming.symbolize.files,
		.source_dirs = &options->source_dirs,
		.demangle = options->select.naming.symbolize.demangle,
		.is_intel = options->is_intel,
	};
	return listing_create(&request);
}

/* Whether there is more to show than weights. */
static bool has_text(const struct listing *listing)
{
	vec_each(&listing->sources, source)
		if (source_file_count(&source->file))
			return true;
	return listing_has(listing, LISTING_LAYOUT_CODE);
}

/* A function of the samples of a model. */
struct shown {
	struct model *model;
	struct listing *listing;
};

static struct shown show_function(const struct annotate_options *options, const struct model *all,
	const struct function_weight *row)
{
	struct model_wish wish = {.event = all->event, .annotated = row->frame};
	struct shown shown = {
		.model = model_renew(all->sums, all->profile, all->names, &wish, NULL)};
	shown.listing = make_listing(options, shown.model);
	return shown;
}

static void shown_deinit(struct shown *shown)
{
	listing_release(shown->listing);
	model_release(shown->model);
	*shown = (struct shown){0};
}

/* The best choice that can be shown; else the best of all. */
static struct shown choose_function(const struct annotate_options *options, const struct model *all,
	const struct function_weight *hottest)
{
	enum {
		TRIED_MAX = 8, /* each reads files, and runs objdump */
	};
	CLEANUP(choices_deinit) struct choices choices;
	choices_init(&choices, all);
	const struct function_weight *first = next_choice(&choices);
	for (int i = 0; i < TRIED_MAX; i++) {
		const struct function_weight *row = next_choice(&choices);
		if (!row)
			break;
		struct shown shown = show_function(options, all, row);
		if (has_text(shown.listing))
			return shown;
		shown_deinit(&shown);
		choices.codes[row->function] = USER_CODE_NONE;
	}
	return show_function(options, all, first ? first : hottest);
}

/* others: what is said of functions that are not shown. */
static void put_listing(const struct annotate_options *options, const struct shown *shown,
	const struct str *others, struct str *out)
{
	const struct annotation *annotation = shown->model->annotation;
	struct listing_view view = {.layout = options->has_layout
						      ? options->layout
						      : listing_usual_layout(shown->listing)};
	struct listing_rows list = {0};
	listing_put_rows(shown->listing, annotation, &view, &list);
	cmd_annotate_put_head(shown->model, !options->symbol, out);
	str_puts(out, str_text(others));
	listing_put_text(&list, annotation, out);
	vec_deinit(&list);
}

static struct err *put_annotation(
	const struct annotate_options *options, struct profile *profile, struct str *out)
{
	const char *symbol = options->symbol;
	struct filter filter = select_filter(&options->select);
	uint32_t event;
	size_t recorded = profile->samples.len;
	filter_samples(profile, &filter);
	if (recorded && !profile->samples.len)
		return err_new(ERR_USAGE, "no sample is left by these options");
	try(select_find_event(profile, options->event, &event));
	symbolize(profile, &options->select.naming.symbolize);
	struct model_names *names =
		model_names_create(profile, 0, options->select.naming.symbolize.no_inline);
	struct model *all =
		model_create(profile, names, &(struct model_wish){.event = event}, NULL);
	const struct function_weight *hottest = find_hottest(all, symbol);
	struct err *err = NULL;
	if (!hottest) {
		err = symbol ? refuse_symbol(all, symbol)
			     : err_new(ERR_USAGE, "there are no samples");
	} else {
		CLEANUP(shown_deinit)
		struct shown shown = symbol ? show_function(options, all, hottest)
					    : choose_function(options, all, hottest);
		CLEANUP(str_deinit) struct str others = {0};
		if (symbol)
			put_others_meant(all, symbol, hottest, &others);
		else
			put_hotter(shown.model, hottest, &others);
		put_listing(options, &shown, &others, out);
	}
	model_release(all);
	model_names_release(names);
	return err;
}

/* In other commands the recording is the first operand, so it is named here by mistake. */
static int cmd_annotate_fail(const char *operand, struct err *err)
{
	int code = console_fail(err);
	if (operand && access(operand, F_OK) == 0)
		console_say("%s was taken for a function; the file comes after it, or with -i",
			operand);
	return code;
}

static int cmd_annotate(struct annotate_options *options, int argc, char **argv, int rest)
{
	const char *operand = NULL;
	if (!options->symbol && rest < argc) {
		options->symbol = argv[rest++];
		operand = rest == argc ? options->symbol : NULL;
	}
	struct profile *profile;
	CLEANUP(input_deinit) struct input input = {0};
	struct err *err = input_open_all(&options->input, argc, argv, rest, &input);
	if (!err)
		err = select_load(&options->select, &input, false, &profile);
	if (err)
		return cmd_annotate_fail(operand, err);
	CLEANUP(str_deinit) struct str text = {0};
	naming_begin(&options->select.naming);
	err = put_annotation(options, profile, &text);
	console_show_end();
	int code = err ? cmd_annotate_fail(operand, err) : console_print(&text);
	naming_end(&options->select.naming);
	profile_destroy(profile);
	return code;
}

static void annotate_options_deinit(struct annotate_options *options)
{
	vec_deinit(&options->source_dirs);
	select_deinit(&options->select);
}

static int cmd_annotate_run(const struct command *command, int argc, char **argv)
{
	CLEANUP(annotate_options_deinit) struct annotate_options options = {0};
	int rest, code;
	bool begins = opt_begin(command, argc, argv, &options, &rest, &code);
	return begins ? cmd_annotate(&options, argc, argv, rest) : code;
}

const struct command command_annotate = {
	.name = "annotate",
	.summary = "show the lines and instructions of a function, with their time",
	.usage = "[OPTIONS] [SYMBOL [FILE]]",
	.description =
		"Prints the source of a function, with the share of its time that each line took: "
		"if "
		"none\n"
		"is named, of the program's own one that takes most with the libraries that it "
		"calls.\n"
		"Where there is no source, its instructions, which objdump of binutils finds in "
		"the\n"
		"binary that was recorded.",
	.examples = "  ebprof annotate\n"
		    "  ebprof annotate main server.data\n"
		    "  ebprof annotate -S 'parse(char const*)' --layout both --source-dir ~/src\n",
	.exit_status = "  0  the function was printed\n"
		       "  1  the recording could not be read; 2: wrong usage, no such function\n",
	.options = rows,
	.foreign = foreign,
	.run = cmd_annotate_run,
};
