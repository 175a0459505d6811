#include "report/tui/terminal.h"

#include <errno.h>
#include <langinfo.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "format/base/err.h"
#include "format/base/mem.h"

struct terminal {
	SCREEN *screen;
	FILE *in, *out;
	bool is_ascii;
	short pairs[STYLE_COUNT]; /* 0: no colour */
	attr_t attributes[STYLE_COUNT];
};

/* ---- whatever ends the program ---- */

/*
 * A handler may not call ncurses. So the bytes that give the terminal back are
 * made beforehand.
 */
static struct {
	struct termios modes;
	char bytes[256];
	size_t len;
	volatile sig_atomic_t is_taken, is_ending;
} restore;

static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static const int ending[] = {SIGTERM, SIGHUP};

static void give_back(int signal_number)
{
	if (restore.is_taken) {
		restore.is_taken = 0;
		(void)!write(STDOUT_FILENO, restore.bytes, restore.len);
		tcsetattr(STDIN_FILENO, TCSANOW, &restore.modes);
	}
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void note_ending(int signal_number)
{
	(void)signal_number;
	restore.is_ending = 1;
}

bool terminal_is_ending(void)
{
	return restore.is_ending;
}

static void add_restore(const char *bytes)
{
	size_t len = bytes && bytes != (char *)-1 ? strlen(bytes) : 0;
	if (restore.len + len > sizeof(restore.bytes))
		return;
	if (len)
		memcpy(restore.bytes + restore.len, bytes, len);
	restore.len += len;
}

static const char mouse_on[] = "\033[?1002h\033[?1006h";
static const char mouse_off[] = "\033[?1002l\033[?1006l";

static void prepare_restore(void)
{
	restore.len = 0;
	add_restore(mouse_off);
	add_restore(tigetstr("sgr0"));
	add_restore(tigetstr("cnorm"));
	add_restore(tigetstr("rmkx"));
	add_restore(tigetstr("rmcup"));
	restore.is_taken = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = give_back, .sa_flags = (int)SA_RESETHAND};
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		sigaction(deadly[i], &action, NULL);
	action = (struct sigaction){.sa_handler = note_ending};
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &action, NULL);
}

static void release_signals(void)
{
	for (size_t i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		signal(deadly[i], SIG_DFL);
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		signal(ending[i], SIG_DFL);
}

/* ---- colours ---- */

struct colour {
	short rich, poor; /* of 256, of 8; -1: the terminal's own */
	short rich_ground, poor_ground;
	attr_t attributes; /* also where there are no colours */
};

static const struct colour colours[STYLE_COUNT] = {
	[STYLE_NORMAL] = {-1, -1, -1, -1, 0},
	[STYLE_DIM] = {245, -1, -1, -1, A_DIM},
	[STYLE_TITLE] = {255, COLOR_WHITE, 24, COLOR_BLUE, A_REVERSE},
	[STYLE_HEADER] = {110, COLOR_CYAN, -1, -1, 0},
	[STYLE_KEY] = {222, COLOR_YELLOW, -1, -1, A_BOLD},
	[STYLE_BAR] = {67, COLOR_BLUE, -1, -1, 0},
	[STYLE_HOT] = {203, COLOR_RED, -1, -1, A_BOLD},
	[STYLE_WARM] = {179, COLOR_YELLOW, -1, -1, 0},
	[STYLE_KERNEL] = {174, COLOR_MAGENTA, -1, -1, 0},
	[STYLE_INLINED] = {108, COLOR_GREEN, -1, -1, 0},
	[STYLE_UNKNOWN] = {245, -1, -1, -1, A_DIM},
	[STYLE_WARNING] = {214, COLOR_YELLOW, -1, -1, A_BOLD},
	[STYLE_WORSE] = {203, COLOR_RED, -1, -1, 0},
	[STYLE_BETTER] = {75, COLOR_BLUE, -1, -1, 0},
	[STYLE_CODE] = {150, COLOR_GREEN, -1, -1, 0},
	[STYLE_FLAME] = {16, COLOR_BLACK, 215, COLOR_YELLOW, A_REVERSE},
	[STYLE_FLAME + 1] = {16, COLOR_BLACK, 209, COLOR_RED, A_REVERSE},
	[STYLE_FLAME + 2] = {16, COLOR_BLACK, 179, COLOR_YELLOW, A_REVERSE},
	[STYLE_FLAME + 3] = {16, COLOR_BLACK, 150, COLOR_GREEN, A_REVERSE},
	[STYLE_FLAME + 4] = {16, COLOR_BLACK, 116, COLOR_CYAN, A_REVERSE},
	[STYLE_FLAME + 5] = {16, COLOR_BLACK, 146, COLOR_CYAN, A_REVERSE},
	[STYLE_FLAME + 6] = {16, COLOR_BLACK, 181, COLOR_WHITE, A_REVERSE},
	[STYLE_FLAME + 7] = {16, COLOR_BLACK, 174, COLOR_MAGENTA, A_REVERSE},
	[STYLE_HEAT] = {238, COLOR_BLUE, 234, COLOR_BLACK, 0},
	[STYLE_HEAT + 1] = {240, COLOR_WHITE, 52, COLOR_BLACK, 0},
	[STYLE_HEAT + 2] = {16, COLOR_WHITE, 88, COLOR_BLUE, 0},
	[STYLE_HEAT + 3] = {16, COLOR_WHITE, 130, COLOR_BLUE, 0},
	[STYLE_HEAT + 4] = {16, COLOR_WHITE, 166, COLOR_MAGENTA, 0},
	[STYLE_HEAT + 5] = {16, COLOR_WHITE, 202, COLOR_RED, 0},
	[STYLE_HEAT + 6] = {16, COLOR_BLACK, 214, COLOR_YELLOW, A_BOLD},
	[STYLE_HEAT + 7] = {16, COLOR_BLACK, 226, COLOR_WHITE, A_REVERSE},
};

static void prepare_colours(struct terminal *terminal)
{
	const char *no_color = getenv("NO_COLOR");
	bool has_colours = has_colors() && !(no_color && no_color[0]);
	if (has_colours) {
		start_color();
		use_default_colors();
	}
	for (int i = 0; i < STYLE_COUNT; i++) {
		const struct colour *colour = &colours[i];
		bool is_rich = COLORS >= 256;
		short ink = is_rich ? colour->rich : colour->poor;
		short ground = is_rich ? colour->rich_ground : colour->poor_ground;
		bool is_coloured = has_colours && (ink >= 0 || ground >= 0);
		if (is_coloured && init_pair((short)(i + 1), ink, ground) == OK)
			terminal->pairs[i] = (short)(i + 1);
		/* A ground of its own needs no reversing. */
		terminal->attributes[i] =
			terminal->pairs[i] ? colour->attributes & A_BOLD : colour->attributes;
	}
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
		return err_new(ERR_UNSUPPORTED,
			"this terminal is not known (TERM=%s): use --stdio, or install "
			"ncurses-term",
			getenv("TERM") ? getenv("TERM") : "");
	return NULL;
}

static void prepare_screen(struct terminal *terminal)
{
	raw();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	mouseinterval(0);
	mousemask(ALL_MOUSE_EVENTS | REPORT_MOUSE_POSITION, NULL);
	prepare_colours(terminal);
	if (tigetstr("kmous") != (char *)-1 && tigetstr("kmous"))
		(void)!write(fileno(terminal->out), mouse_on, sizeof(mouse_on) - 1);
}

struct err *terminal_open(struct terminal **ret)
{
	struct terminal *terminal = mem_zalloc(sizeof(*terminal));
	tcgetattr(STDIN_FILENO, &restore.modes);
	struct err *err = open_screen(terminal);
	if (err) {
		terminal_close(terminal);
		return err;
	}
	terminal->is_ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
	prepare_restore();
	catch_signals();
	prepare_screen(terminal);
	*ret = terminal;
	return NULL;
}

void terminal_close(struct terminal *terminal)
{
	if (terminal->screen) {
		(void)!write(fileno(terminal->out), mouse_off, sizeof(mouse_off) - 1);
		endwin();
		restore.is_taken = 0;
		release_signals();
		delscreen(terminal->screen);
	}
	if (terminal->in)
		fclose(terminal->in);
	if (terminal->out)
		fclose(terminal->out);
	mem_free(terminal);
}

/* ---- output ---- */

void terminal_grid(const struct terminal *terminal, struct grid *ret)
{
	grid_init(ret, COLS, LINES, terminal->is_ascii);
	ret->colours = !terminal->pairs[STYLE_HEAT] ? GRID_MONO
		       : COLORS < 256               ? GRID_POOR
						    : GRID_RICH;
}

static attr_t attributes_of(const struct terminal *terminal, unsigned style)
{
	attr_t attributes = terminal->attributes[style & STYLE_MASK];
	if (style & STYLE_SELECTED)
		attributes ^= A_REVERSE;
	if (style & STYLE_BOLD)
		attributes |= A_BOLD;
	if (style & STYLE_MATCH)
		attributes |= A_UNDERLINE | A_BOLD;
	return attributes;
}

void terminal_show(struct terminal *terminal, const struct grid *grid)
{
	for (int y = 0; y < grid->height && y < LINES; y++)
		for (int x = 0; x < grid->width && x < COLS; x++) {
			const struct cell *cell =
				&grid->cells[(size_t)y * (size_t)grid->width + (size_t)x];
			if (!cell->code_point)
				continue;
			wchar_t text[2] = {(wchar_t)cell->code_point, 0};
			cchar_t shown;
			setcchar(&shown, text, attributes_of(terminal, cell->style),
				terminal->pairs[cell->style & STYLE_MASK], NULL);
			mvadd_wch(y, x, &shown);
		}
	refresh();
}

void terminal_redraw(struct terminal *terminal)
{
	(void)terminal;
	clearok(stdscr, TRUE);
}

void terminal_copy(struct terminal *terminal, const char *text, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	CLEANUP(str_deinit) struct str out = {0};
	str_puts(&out, "\033]52;c;");
	for (size_t i = 0; i < len; i += 3) {
		uint32_t three = (uint32_t)(uint8_t)text[i] << 16;
		three |= i + 1 < len ? (uint32_t)(uint8_t)text[i + 1] << 8 : 0;
		three |= i + 2 < len ? (uint8_t)text[i + 2] : 0;
		for (size_t digit = 0; digit < 4; digit++)
			str_putc(&out,
				i + digit <= len ? digits[three >> (18 - 6 * digit) & 63] : '=');
	}
	str_putc(&out, '\a');
	(void)!write(fileno(terminal->out), str_text(&out), out.len);
}

/* ---- input ---- */

int terminal_fd(const struct terminal *terminal)
{
	return fileno(terminal->in);
}

static uint32_t key_of(wint_t code)
{
	static const struct {
		int code;
		uint32_t key;
	} keys[] = {{KEY_UP, INPUT_UP}, {KEY_DOWN, INPUT_DOWN}, {KEY_LEFT, INPUT_LEFT},
		{KEY_RIGHT, INPUT_RIGHT}, {KEY_PPAGE, INPUT_PAGE_UP}, {KEY_NPAGE, INPUT_PAGE_DOWN},
		{KEY_HOME, INPUT_HOME}, {KEY_END, INPUT_END}, {KEY_BACKSPACE, INPUT_BACKSPACE},
		{KEY_DC, INPUT_DELETE}, {KEY_BTAB, INPUT_BACK_TAB}, {KEY_F(1), INPUT_F1},
		{KEY_ENTER, INPUT_ENTER}};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if ((wint_t)keys[i].code == code)
			return keys[i].key;
	return INPUT_OTHER;
}

static struct input read_mouse(void)
{
	static const struct {
		mmask_t mask;
		enum input_kind kind;
	} kinds[] = {{BUTTON1_DOUBLE_CLICKED, INPUT_DOUBLE}, {BUTTON1_PRESSED, INPUT_PRESS},
		{BUTTON1_CLICKED, INPUT_PRESS}, {BUTTON1_RELEASED, INPUT_RELEASE},
		{BUTTON3_PRESSED, INPUT_MENU}, {BUTTON3_CLICKED, INPUT_MENU},
		{BUTTON4_PRESSED, INPUT_WHEEL_UP}, {BUTTON5_PRESSED, INPUT_WHEEL_DOWN},
		{REPORT_MOUSE_POSITION, INPUT_DRAG}};
	MEVENT event;
	struct input input = {0};
	if (getmouse(&event) != OK)
		return input;
	input.x = event.x;
	input.y = event.y;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !input.kind; i++)
		if (event.bstate & kinds[i].mask)
			input.kind = kinds[i].kind;
	return input;
}

struct input terminal_read(struct terminal *terminal)
{
	(void)terminal;
	wint_t code;
	int result = get_wch(&code);
	if (result == ERR)
		return (struct input){0};
	if (result == OK)
		return (struct input){.kind = INPUT_KEY, .key = code == '\r' ? INPUT_ENTER : code};
	if (code == KEY_RESIZE)
		return (struct input){.kind = INPUT_RESIZE};
	if (code == KEY_MOUSE)
		return read_mouse();
	return (struct input){.kind = INPUT_KEY, .key = key_of(code)};
}
