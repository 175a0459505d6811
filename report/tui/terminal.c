#include "report/tui/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "format/base/clock.h"
#include "format/base/err.h"
#include "format/base/mem.h"
#include "report/model/text/base64.h"
#include "report/tui/input_decoder.h"
#include "report/tui/palette.h"
#include "report/tui/terminal_restore.h"

enum {
	ESCAPE_MS = 25, /* longer than the bytes of one key are apart */
};

struct terminal {
	SCREEN *screen;
	FILE *in, *out;
	bool is_ascii;
	bool is_modern; /* it has a mouse, and ignores what it does not know */
	bool is_gone;
	short pairs[STYLE_COUNT]; /* 0: no colour */
	attr_t attributes[STYLE_COUNT];
	struct input_decoder decoder;
	struct grid shown; /* on the screen; no cells: unknown */
};

/* The mouse while a button is held, in numbers (1006); pasted text in brackets. */
static const char modes_on[] = "\033[?1002h\033[?1006h\033[?2004h";
static const char modes_off[] = "\033[?1002l\033[?1006l\033[?2004l";
/* Nothing is to be seen of what is drawn until it is whole (DEC mode 2026). */
static const char update_begins[] = "\033[?2026h";
static const char update_ends[] = "\033[?2026l";

static void write_modes(const struct terminal *terminal, const char *bytes)
{
	if (terminal->is_modern)
		(void)!write(fileno(terminal->out), bytes, strlen(bytes));
}

/* ---- what this terminal can ---- */

struct err *terminal_check(void)
{
	const char *name = getenv("TERM");
	int status;
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return err_new(ERR_UNSUPPORTED, "standard input or output is no terminal");
	if (!name || !name[0] || setupterm(NULL, STDOUT_FILENO, &status) != OK)
		return err_new(ERR_UNSUPPORTED,
			"TERM=%s is not known here (the package ncurses-term knows more)",
			name ? name : "");
	const char *place = tigetstr("cup"), *clear = tigetstr("clear");
	bool can_place = place && place != (char *)-1 && clear && clear != (char *)-1;
	del_curterm(cur_term);
	if (!can_place)
		return err_new(ERR_UNSUPPORTED, "TERM=%s cannot place its cursor", name);
	return NULL;
}

/* These have no more than the characters of their ROM, in any locale. */
static bool has_few_characters(const char *name)
{
	static const char *const few[] = {"linux", "vt", "ansi", "cons", "sun"};
	for (size_t i = 0; i < sizeof(few) / sizeof(*few); i++)
		if (strncmp(name, few[i], strlen(few[i])) == 0)
			return true;
	return false;
}

static bool has_string(const char *capability)
{
	const char *value = tigetstr(capability);
	return value && value != (char *)-1;
}

static void prepare_colours(struct terminal *terminal)
{
	const char *no_color = getenv("NO_COLOR");
	bool has_colours = has_colors() && !(no_color && no_color[0]);
	bool has_own = false;
	if (has_colours) {
		start_color(); /* COLORS is 0 before */
		has_colours = COLORS >= 8;
		has_own = use_default_colors() == OK;
	}
	for (int i = 0; i < STYLE_COUNT; i++) {
		const struct palette_row *row = &palette[i];
		bool is_rich = COLORS >= 256;
		short ink = is_rich ? row->rich : row->poor;
		short ground = is_rich ? row->rich_ground : row->poor_ground;
		bool is_coloured = has_colours && (ink >= 0 || ground >= 0);
		if (!has_own) {
			ink = ink < 0 ? COLOR_WHITE : ink;
			ground = ground < 0 ? COLOR_BLACK : ground;
		}
		if (is_coloured && init_pair((short)(i + 1), ink, ground) == OK)
			terminal->pairs[i] = (short)(i + 1);
		/* A ground of its own needs no reversing, an ink of its own is no dim one. */
		bool is_plain = !terminal->pairs[i];
		bool is_bold =
			row->flags & PALETTE_BOLD || (is_plain && row->flags & PALETTE_STRONG);
		terminal->attributes[i] =
			(is_bold ? A_BOLD : 0) |
			(is_plain && row->flags & PALETTE_DIM ? A_DIM : 0) |
			(is_plain && row->flags & PALETTE_REVERSE ? A_REVERSE : 0);
	}
}

/* Where terminfo knows of keys that are not xterm's. */
static void prepare_keys(struct input_decoder *decoder)
{
	static const struct {
		const char *capability;
		uint32_t key;
	} keys[] = {{"kcuu1", INPUT_UP}, {"kcud1", INPUT_DOWN}, {"kcub1", INPUT_LEFT},
		{"kcuf1", INPUT_RIGHT}, {"kpp", INPUT_PAGE_UP}, {"knp", INPUT_PAGE_DOWN},
		{"khome", INPUT_HOME}, {"kend", INPUT_END}, {"kdch1", INPUT_DELETE},
		{"kcbt", INPUT_BACK_TAB}, {"kf1", INPUT_F1}, {"kent", INPUT_ENTER}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		input_decoder_add(decoder, tigetstr(keys[i].capability), keys[i].key);
}

/* ---- opening and closing ---- */

static struct err *open_screen(struct terminal *terminal)
{
	int in = dup(STDIN_FILENO), out = dup(STDOUT_FILENO);
	terminal->in = in < 0 ? NULL : fdopen(in, "r");
	terminal->out = out < 0 ? NULL : fdopen(out, "w");
	if (!terminal->in || !terminal->out)
		return err_sys(errno, "cannot open the terminal");
	terminal->screen = newterm(NULL, terminal->out, terminal->in);
	if (!terminal->screen)
		return err_new(ERR_UNSUPPORTED, "cannot use this terminal");
	return NULL;
}

static void prepare_restore(const struct terminal *terminal)
{
	if (terminal->is_modern) {
		restore_add(modes_off);
		restore_add(update_ends);
	}
	static const char *const capabilities[] = {"sgr0", "op", "cnorm", "rmkx", "rmcup"};
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++)
		restore_add(tigetstr(capabilities[i]));
	if (!has_string("rmcup"))
		restore_add("\r\n");
	restore_arm();
}

static void prepare_screen(struct terminal *terminal)
{
	const char *codeset = nl_langinfo(CODESET), *name = getenv("TERM");
	terminal->is_ascii = strcmp(codeset, "UTF-8") != 0 || has_few_characters(name);
	terminal->is_modern = has_string("kmous");
	terminal->decoder.is_ascii = strcmp(codeset, "UTF-8") != 0;
	raw(); /* ^C and ^Z are keys, ^S stops nothing */
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	typeahead(-1); /* it would read what is ours */
	prepare_colours(terminal);
	prepare_keys(&terminal->decoder);
	prepare_restore(terminal);
	write_modes(terminal, modes_on);
}

static void terminal_free(struct terminal *terminal)
{
	if (terminal->in)
		fclose(terminal->in);
	if (terminal->out)
		fclose(terminal->out);
	input_decoder_deinit(&terminal->decoder);
	grid_deinit(&terminal->shown);
	mem_free(terminal);
}

struct err *terminal_open(struct terminal **ret)
{
	struct terminal *terminal = mem_zalloc(sizeof(*terminal));
	restore_begin(); /* before newterm(), which else catches signals, too */
	struct err *err = open_screen(terminal);
	if (err) {
		restore_end();
		terminal_free(terminal);
		return err;
	}
	prepare_screen(terminal);
	*ret = terminal;
	return NULL;
}

static void terminal_leave(struct terminal *terminal)
{
	write_modes(terminal, modes_off);
	if (!has_string("rmcup")) { /* the screen stays as it is: the shell goes on at its end */
		move(LINES - 1, 0);
		clrtoeol();
		refresh();
	}
	endwin();
	restore_disarm();
}

void terminal_close(struct terminal *terminal)
{
	terminal_leave(terminal);
	restore_end();
	delscreen(terminal->screen);
	terminal_free(terminal);
}

int terminal_ending(void)
{
	return restore_ending();
}

/* The screen is ours once more; what it shows is not known. */
static void take_again(struct terminal *terminal)
{
	struct winsize size;
	if (ioctl(fileno(terminal->out), TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	terminal_redraw(terminal);
	reset_prog_mode();
	restore_arm();
	write_modes(terminal, modes_on);
}

static void terminal_stop(struct terminal *terminal, bool whole_group)
{
	terminal_leave(terminal);
	restore_stop(whole_group);
	take_again(terminal);
}

/* ---- output ---- */

void terminal_grid(const struct terminal *terminal, struct grid *ret)
{
	grid_init(ret, COLS, LINES, terminal->is_ascii);
	ret->colours = !terminal->pairs[STYLE_HEAT] ? GRID_MONO
		       : COLORS < 256               ? GRID_POOR
						    : GRID_RICH;
}

/* With colours, a selected line has one colour, not the reverse of each that it is made of. */
static unsigned shown_style(const struct terminal *terminal, unsigned style)
{
	unsigned own = style & STYLE_MASK;
	if (!(style & STYLE_SELECTED) || !terminal->pairs[STYLE_SELECTION])
		return own;
	return own == STYLE_BAR ? STYLE_SELECTED_BAR : STYLE_SELECTION;
}

static attr_t terminal_attributes_of(const struct terminal *terminal, unsigned style)
{
	attr_t attributes = terminal->attributes[style & STYLE_MASK];
	if (style & STYLE_SELECTED && terminal->pairs[STYLE_SELECTION])
		attributes &= A_BOLD;
	else if (style & STYLE_SELECTED)
		attributes = (attributes ^ A_REVERSE) & ~A_DIM;
	if (style & STYLE_BOLD)
		attributes |= A_BOLD;
	if (style & STYLE_MATCH)
		attributes |= A_UNDERLINE | A_BOLD;
	return attributes;
}

static void terminal_put_line(const struct terminal *terminal, const struct grid *grid, int y)
{
	const struct cell *cells = &grid->cells[(size_t)y * (size_t)grid->width];
	for (int x = 0; x < grid->width && x < COLS; x++) {
		const struct cell *cell = &cells[x];
		if (!cell->code_point)
			continue;
		wchar_t text[2] = {(wchar_t)cell->code_point, 0};
		cchar_t shown;
		setcchar(&shown, text, terminal_attributes_of(terminal, cell->style),
			terminal->pairs[shown_style(terminal, cell->style)], NULL);
		mvadd_wch(y, x, &shown);
	}
}

static bool has_line(const struct terminal *terminal, const struct grid *grid, int y)
{
	const struct grid *shown = &terminal->shown;
	size_t begin = (size_t)y * (size_t)grid->width;
	if (!shown->cells || shown->width != grid->width || shown->height != grid->height)
		return false;
	for (int x = 0; x < grid->width; x++) {
		const struct cell *a = &shown->cells[begin + (size_t)x];
		const struct cell *b = &grid->cells[begin + (size_t)x];
		if (a->code_point != b->code_point || a->style != b->style)
			return false;
	}
	return true;
}

void terminal_show(struct terminal *terminal, struct grid *grid)
{
	int changed = 0;
	for (int y = 0; y < grid->height && y < LINES; y++)
		if (!has_line(terminal, grid, y)) {
			terminal_put_line(terminal, grid, y);
			changed++;
		}
	bool is_torn = changed > 2; /* less than that is drawn too fast to be seen */
	if (is_torn)
		write_modes(terminal, update_begins);
	if (changed)
		refresh();
	if (is_torn)
		write_modes(terminal, update_ends);
	grid_deinit(&terminal->shown);
	terminal->shown = *grid;
	*grid = (struct grid){0};
}

void terminal_redraw(struct terminal *terminal)
{
	grid_deinit(&terminal->shown);
	clearok(curscr, TRUE);
}

void terminal_copy(struct terminal *terminal, const char *text, size_t len)
{
	CLEANUP(str_deinit) struct str out = {0};
	str_puts(&out, "\033]52;c;");
	base64_put(&out, text, len);
	str_putc(&out, '\a');
	(void)!write(fileno(terminal->out), str_text(&out), out.len);
}

/* ---- input ---- */

static int64_t terminal_now_ms(void)
{
	return (int64_t)(clock_now_ns() / NS_PER_MS);
}

bool terminal_wait(struct terminal *terminal, const int *others, size_t count)
{
	struct pollfd fds[2 + TERMINAL_WAITS_MAX] = {
		{.fd = fileno(terminal->in), .events = POLLIN},
		{.fd = restore_fd(), .events = POLLIN},
	};
	for (size_t i = 0; i < count && i < TERMINAL_WAITS_MAX; i++)
		fds[2 + i] = (struct pollfd){.fd = others[i], .events = POLLIN};
	poll(fds, 2 + (count < TERMINAL_WAITS_MAX ? count : TERMINAL_WAITS_MAX), -1);
	if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
		terminal->is_gone = true;
	return !terminal->is_gone;
}

/* Waits for the rest of a sequence that has begun. False: nothing came. */
static bool terminal_read_bytes(struct terminal *terminal)
{
	char bytes[4096];
	int timeout = input_decoder_is_open(&terminal->decoder) ? ESCAPE_MS : 0;
	struct pollfd fd = {.fd = fileno(terminal->in), .events = POLLIN};
	if (poll(&fd, 1, timeout) <= 0 || !(fd.revents & POLLIN))
		return false;
	ssize_t len = read(fd.fd, bytes, sizeof(bytes));
	if (len > 0)
		input_decoder_feed(&terminal->decoder, bytes, (size_t)len);
	else if (len == 0 || (errno != EINTR && errno != EAGAIN))
		terminal->is_gone = true;
	return len > 0;
}

/* What the signals said. */
static struct input read_events(struct terminal *terminal)
{
	unsigned events = restore_take_events();
	if (events & TERMINAL_STOPPED)
		terminal_stop(terminal, false);
	else if (events & TERMINAL_CONTINUED)
		endwin(); /* the modes are the shell's, also after SIGSTOP */
	if (!events)
		return (struct input){0};
	take_again(terminal);
	return (struct input){.kind = INPUT_RESIZE};
}

struct input terminal_read(struct terminal *terminal)
{
	struct input input = read_events(terminal);
	if (input.kind)
		return input;
	struct input_decoder *decoder = &terminal->decoder;
	input = input_decoder_next(decoder, terminal_now_ms(), false);
	while (!input.kind && !terminal->is_gone) {
		bool ends = !terminal_read_bytes(terminal);
		input = input_decoder_next(decoder, terminal_now_ms(), ends);
		if (ends)
			break;
	}
	if (input.kind == INPUT_KEY && input.key == INPUT_CTRL('z')) {
		terminal_stop(terminal, true);
		input = (struct input){.kind = INPUT_RESIZE};
	}
	return input;
}
