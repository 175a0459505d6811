#include "report/tui/tui.h"
#include "report/analyse/hidden_frames.h"

#include <signal.h>

#include "format/base/err.h"
#include "report/tui/app.h"
#include "report/tui/code_reader.h"
#include "report/tui/first_run.h"
#include "report/tui/live.h"
#include "report/tui/print.h"
#include "report/tui/quiet_thread.h"
#include "report/tui/terminal.h"
#include "report/tui/worker.h"

enum {
	FAREWELL_MS = 50, /* how long it may take to leave */
};

struct tui {
	struct terminal *terminal;
	struct worker *worker;
	struct live *live; /* NULL: the recording is a file */
	struct code_reader *code;
	struct app app;
	unsigned wished; /* serial of the newest wish that the worker has */
	unsigned listed; /* of the newest wish that the code reader has */
	unsigned cancels;
	bool is_left; /* a thread could not be stopped */
};

static void draw(struct tui *tui)
{
	struct grid grid;
	terminal_grid(tui->terminal, &grid);
	app_draw(&tui->app, &grid);
	terminal_show(tui->terminal, &grid);
}

static struct err *take_news(struct tui *tui)
{
	struct worker_news news;
	worker_take(tui->worker, &news);
	tui->app.loaded = news.loaded;
	tui->app.busy = news.busy;
	tui->app.naming = news.naming;
	if (news.model)
		app_update(&tui->app, news.model);
	struct listing *listing = code_reader_take(tui->code);
	if (listing)
		app_update_listing(&tui->app, listing);
	return news.err;
}

static void take_inputs(struct tui *tui)
{
	for (;;) {
		struct input input = terminal_read(tui->terminal);
		if (!input.kind)
			return;
		bool redraws = input.kind == INPUT_KEY && key_action(input.key) == ACTION_REDRAW;
		if (redraws)
			terminal_redraw(tui->terminal);
		app_input(&tui->app, &input);
	}
}

static void write_print(struct app *app)
{
	struct err *err = print_write(app->to_print.path, &app->to_print.text);
	if (err)
		app_warn(app, "%s", err_message(err));
	else
		app_say(app, "written: %s", app->to_print.path);
	err_destroy(err);
	app_print_deinit(&app->to_print);
}

static void tui_pass_on(struct tui *tui)
{
	struct app *app = &tui->app;
	if (app->wish.serial != tui->wished) {
		worker_wish(tui->worker, &app->wish);
		tui->wished = app->wish.serial;
	}
	if (app->listing_wish != tui->listed)
		code_reader_wish(tui->code, app->model, app->is_intel);
	tui->listed = app->listing_wish;
	if (app->cancels != tui->cancels) {
		worker_cancel(tui->worker);
		code_reader_cancel(tui->code);
	}
	tui->cancels = app->cancels;
	if (app->to_copy.len)
		terminal_copy(tui->terminal, str_text(&app->to_copy), app->to_copy.len);
	str_truncate(&app->to_copy, 0);
	if (app->to_print.path)
		write_print(app);
	if (tui->live)
		live_save(tui->live, app, tui->worker);
}

/* Behind tui_pass_on(): the worker knows what is wished for. */
static struct err *renew(struct tui *tui)
{
	struct worker *worker = tui->worker;
	if (!tui->live)
		return NULL;
	struct err *err = live_step(tui->live, &tui->app, &tui->worker, tui->code, &tui->is_left);
	if (tui->worker != worker)
		tui->wished = tui->app.model->wish_serial;
	return err;
}

static bool wait_for_news(struct tui *tui)
{
	int fds[2 + LIVE_FDS] = {worker_fd(tui->worker), code_reader_fd(tui->code)};
	size_t count = 2;
	if (tui->live)
		count += live_fds(tui->live, fds + count);
	return terminal_wait(tui->terminal, fds, count);
}

static struct err *loop(struct tui *tui)
{
	tui_pass_on(tui); /* before anything is computed that is not wished for */
	while (!tui->app.is_over && !terminal_ending()) {
		draw(tui);
		if (!wait_for_news(tui))
			return NULL;
		try(take_news(tui));
		take_inputs(tui);
		tui_pass_on(tui);
		try(renew(tui));
	}
	return NULL;
}

static struct err *run_in_terminal(struct tui *tui, const struct app_options *app, bool opens_tree)
{
	try(terminal_open(&tui->terminal));
	app_init(&tui->app, app);
	if (opens_tree)
		tui->app.view = VIEW_TREE;
	if (first_run_begins())
		app_say(&tui->app, "New here? Enter goes in, Esc back, 1-9 are views, : finds "
				   "commands, ? is help, q quits");
	struct err *err = loop(tui);
	terminal_close(tui->terminal);
	if (terminal_ending() && !tui->live) /* as it would have without a screen */
		raise(terminal_ending());
	app_deinit(&tui->app);
	return err;
}

/* False: threads still run. The code reader uses what the worker has, so it goes first. */
static bool end_threads(struct tui *tui)
{
	struct timespec deadline = quiet_thread_deadline(FAREWELL_MS);
	if (tui->worker)
		worker_cancel(tui->worker);
	return !tui->is_left && (!tui->code || code_reader_destroy(tui->code, &deadline)) &&
	       live_destroy(tui->live, &deadline) &&
	       (!tui->worker || worker_destroy(tui->worker, &deadline));
}

int tui_ending(void)
{
	return terminal_ending();
}

struct err *tui_check(void)
{
	return terminal_check();
}

struct err *tui_run(const struct tui_options *options, bool *is_left)
{
	struct tui tui = {0};
	struct worker_options work = {
		.fd = options->fd,
		.symbolize = options->symbolize,
		.filter = options->filter,
		.judging = options->judging,
		.import = options->import,
	};
	work.filter.hidden = 0; /* they are hidden, and can be shown again */
	struct code_options code = {
		.files = options->symbolize.files,
		.source_dirs = options->source_dirs,
		.demangle = options->symbolize.demangle,
	};
	struct err *err = options->live ? live_create(options->live, &work, &tui.live) : NULL;
	if (tui.live)
		work = live_worker_options(tui.live);
	if (!err)
		err = worker_create(&work, &tui.worker);
	if (!err)
		err = code_reader_create(&code, &tui.code);
	if (!err) {
		struct app_options app = {
			.file_name = options->file_name,
			.is_inverted = options->is_inverted,
			.hides_native = options->filter.hidden & HIDDEN_NATIVE,
			.hides_kernel = options->filter.hidden & HIDDEN_KERNEL,
			.code = &code,
			.baseline = options->baseline,
			.baseline_name = options->baseline_name,
			.files = &options->symbolize.files,
			.is_live = options->live,
		};
		err = run_in_terminal(&tui, &app, options->opens_tree);
	}
	*is_left = !end_threads(&tui);
	return err;
}
